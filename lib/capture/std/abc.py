# abc: abstract methods are only marked.


class ABC:
    pass


def abstractmethod(f):
    f.__isabstractmethod__ = True
    return f


abstractproperty = property
