# types: what models use of it.


class SimpleNamespace:
    def __init__(self, /, **kwargs):
        self.__dict__.update(kwargs)

    def __eq__(self, other):
        return isinstance(other, SimpleNamespace) and self.__dict__ == other.__dict__

    def __repr__(self):
        return f"namespace({', '.join(f'{k}={v!r}' for k, v in self.__dict__.items())})"


NoneType = type(None)
FunctionType = LambdaType = type(lambda: None)
MethodType = type(SimpleNamespace().__eq__)
BuiltinFunctionType = BuiltinMethodType = type(len)
ModuleType = type(__import__("math"))
GeneratorType = type(i for i in ())
