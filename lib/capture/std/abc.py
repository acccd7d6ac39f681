# abc: a class with methods that are still abstract has no instances.


def _is_abstract(member):
    return any(getattr(f, "__isabstractmethod__", False) for f in (member, getattr(member, "fget", None), getattr(member, "func", None)))


class ABCMeta(type):
    @property
    def __abstractmethods__(cls):
        return frozenset(name for name in dir(cls) if _is_abstract(getattr(cls, name, None)))

    def __call__(cls, *args, **kwargs):
        todo = sorted(cls.__abstractmethods__)
        if todo:
            raise TypeError(f"Can't instantiate abstract class {cls.__name__} with abstract method{'s' if len(todo) > 1 else ''} {', '.join(todo)}")
        return super().__call__(*args, **kwargs)

    def register(cls, subclass):
        raise NotImplementedError("ABCMeta.register is not part of the model language")


class ABC(metaclass=ABCMeta):
    __slots__ = ()


def abstractmethod(f):
    f.__isabstractmethod__ = True
    return f


abstractproperty = property
