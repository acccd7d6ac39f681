# types: what models use of it.
from typing import Union, get_origin


class SimpleNamespace:
    def __init__(self, /, **kwargs):
        self.__dict__.update(kwargs)

    def __eq__(self, other):
        return isinstance(other, SimpleNamespace) and self.__dict__ == other.__dict__

    def __repr__(self):
        return f"namespace({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


class MappingProxyType:
    def __init__(self, mapping):
        self.__dict__["_of"] = mapping

    def __getattr__(self, name):
        if name not in ("keys", "values", "items", "get", "copy"):
            raise AttributeError(f"'mappingproxy' object has no attribute '{name}'")
        return getattr(self._of, name)

    def __getitem__(self, key):
        return self._of[key]

    def __setitem__(self, key, value):
        raise TypeError("'mappingproxy' object does not support item assignment")

    def __contains__(self, key):
        return key in self._of

    def __iter__(self):
        return iter(self._of)

    def __len__(self):
        return len(self._of)

    def __or__(self, other):
        return self._of | dict(other)

    def __ror__(self, other):
        return other | self._of

    def __eq__(self, other):
        return self._of == (other._of if isinstance(other, MappingProxyType) else other)

    def __repr__(self):
        return f"mappingproxy({self._of!r})"

    def __str__(self):
        return str(self._of)


NoneType = type(None)
FunctionType = LambdaType = type(lambda: None)
MethodType = type(SimpleNamespace().__eq__)
BuiltinFunctionType = BuiltinMethodType = type(len)
GeneratorType = type(i for i in ())


class _Modules(type):
    def __instancecheck__(cls, x):
        return issubclass(type(x), cls) or (cls is ModuleType and type(x) is _module)


_module = type(__import__("math"))


class ModuleType(metaclass=_Modules):  # whose instances a file makes
    def __init__(self, name, doc=None):
        self.__dict__.update(__name__=name, __doc__=doc)


class _Unions(type):
    def __instancecheck__(cls, x):
        return get_origin(x) is Union


class UnionType(metaclass=_Unions):  # int | str
    pass


class CodeType:  # of what the language has no objects
    pass


class FrameType:
    pass


class TracebackType:
    pass


class CoroutineType:
    pass
