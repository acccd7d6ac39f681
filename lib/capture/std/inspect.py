# inspect: what models ask of functions.
from _lang import signature as _signature, kind


class Parameter:
    empty = _signature
    POSITIONAL_ONLY, POSITIONAL_OR_KEYWORD, VAR_POSITIONAL, KEYWORD_ONLY, VAR_KEYWORD = range(5)

    def __init__(self, name, kind, default):
        self.name, self.kind = name, kind
        self.default = Parameter.empty if default is ... else default
        self.annotation = Parameter.empty


class Signature:
    empty = Parameter.empty

    def __init__(self, parameters):
        self.parameters = parameters


def signature(f):
    bound = kind(f) == "method"
    if isinstance(f, type):
        f, bound = f.__init__, True
    elif kind(f) == "object":
        f, bound = type(f).__call__, True
    raw = _signature(f)
    if raw is None:
        raise ValueError(f"no signature found for {f!r}")
    return Signature({n: Parameter(n, k, d) for n, k, d in raw[1 if bound else 0:]})


def isfunction(x):
    return kind(x) == "function"


def ismethod(x):
    return kind(x) == "method"


def isclass(x):
    return isinstance(x, type)


def getfullargspec(f):
    raise NotImplementedError("inspect.getfullargspec is not part of the model language: use inspect.signature")
