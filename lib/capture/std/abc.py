# abc: a class with methods that are still abstract has no instances.


class ABCMeta(type):
    def __call__(cls, *args, **kwargs):
        todo = [name for name in dir(cls) if getattr(getattr(cls, name, None), "__isabstractmethod__", False)]
        if todo:
            raise TypeError(f"Can't instantiate abstract class {cls.__name__} without an implementation for abstract method{'s' if len(todo) > 1 else ''} {', '.join(repr(n) for n in todo)}")
        return super().__call__(*args, **kwargs)

    def register(cls, subclass):
        raise NotImplementedError("ABCMeta.register is not part of the model language")


class ABC(metaclass=ABCMeta):
    pass


def abstractmethod(f):
    f.__isabstractmethod__ = True
    return f


abstractproperty = property
