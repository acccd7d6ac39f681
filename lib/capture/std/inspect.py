# inspect: what models ask of functions.
from _lang import namedtuple, signature as _signature, kind


class _empty:
    pass


class Parameter:
    empty = _empty
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
    while hasattr(f, "__wrapped__"):
        f = f.__wrapped__
        bound = bound or kind(f) == "method"
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


FullArgSpec = namedtuple("FullArgSpec", "args varargs varkw defaults kwonlyargs kwonlydefaults annotations")


def getfullargspec(f):
    parameters = _signature(f.__init__ if isinstance(f, type) else f if kind(f) in ("function", "method") else type(f).__call__)
    if parameters is None:
        raise TypeError("unsupported callable")
    of = {k: [(n, d) for n, kind, d in parameters if kind == k] for k in range(5)}
    places, names = of[0] + of[1], of[3]
    given = {n: d for n, d in names if d is not ...}
    return FullArgSpec([n for n, _ in places], of[2][0][0] if of[2] else None, of[4][0][0] if of[4] else None,
                       tuple(d for _, d in places if d is not ...) or None, [n for n, _ in names], given or None, {})
