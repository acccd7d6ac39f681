# abc: a class with methods that are still abstract has no instances.


class ABC:
    def __new__(cls, *args, **kwargs):
        todo = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
        if todo:
            raise TypeError(f"Can't instantiate abstract class {cls.__name__} without an implementation for abstract method{'s' if len(todo) > 1 else ''} {', '.join(repr(n) for n in todo)}")
        return object.__new__(cls)


class ABCMeta:
    _base = ABC


def abstractmethod(f):
    f.__isabstractmethod__ = True
    return f


abstractproperty = property
