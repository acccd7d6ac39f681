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

    def __str__(self):
        mark = {Parameter.VAR_POSITIONAL: "*", Parameter.VAR_KEYWORD: "**"}.get(self.kind, "")
        return mark + self.name + ("" if self.default is Parameter.empty else f"={self.default!r}")


class Signature:
    empty = Parameter.empty

    def __init__(self, parameters):
        self.parameters = parameters

    def bind(self, *args, **kwargs):
        return BoundArguments(self, args, kwargs, True)

    def bind_partial(self, *args, **kwargs):
        return BoundArguments(self, args, kwargs, False)

    def __str__(self):
        shown, last = [], None
        for p in self.parameters.values():
            if last == Parameter.POSITIONAL_ONLY and p.kind != last:
                shown.append("/")
            if p.kind == Parameter.KEYWORD_ONLY and last not in (Parameter.VAR_POSITIONAL, Parameter.KEYWORD_ONLY):
                shown.append("*")
            shown.append(str(p))
            last = p.kind
        return f"({', '.join(shown + ['/'] if last == Parameter.POSITIONAL_ONLY else shown)})"

    def __repr__(self):
        return f"<Signature {self}>"


class BoundArguments:
    def __init__(self, signature, args, kwargs, whole):
        self.signature, self.arguments, left = signature, {}, dict(kwargs)
        args = list(args)
        for name, p in signature.parameters.items():
            if p.kind == Parameter.VAR_POSITIONAL:
                if args:
                    self.arguments[name], args = tuple(args), []
            elif p.kind == Parameter.VAR_KEYWORD:
                if left:
                    self.arguments[name], left = left, {}
            elif args and p.kind != Parameter.KEYWORD_ONLY:
                if name in left:
                    raise TypeError(f"multiple values for argument {name!r}")
                self.arguments[name] = args.pop(0)
            elif name in left:
                self.arguments[name] = left.pop(name)
            elif whole and p.default is Parameter.empty:
                raise TypeError(f"missing a required argument: {name!r}")
        if args or left:
            raise TypeError("too many positional arguments" if args else f"got an unexpected keyword argument {next(iter(left))!r}")

    def apply_defaults(self):
        empty = {Parameter.VAR_POSITIONAL: (), Parameter.VAR_KEYWORD: {}}
        self.arguments = {n: self.arguments[n] if n in self.arguments else empty.get(p.kind, p.default)
                          for n, p in self.signature.parameters.items() if n in self.arguments or p.default is not Parameter.empty or p.kind in empty}

    @property
    def args(self):
        out = []
        for n, p in self.signature.parameters.items():
            if p.kind in (Parameter.KEYWORD_ONLY, Parameter.VAR_KEYWORD) or n not in self.arguments:
                break
            out += self.arguments[n] if p.kind == Parameter.VAR_POSITIONAL else [self.arguments[n]]
        return tuple(out)

    @property
    def kwargs(self):
        out, kinds = {}, self.signature.parameters
        for n, v in self.arguments.items():
            if kinds[n].kind == Parameter.VAR_KEYWORD:
                out.update(v)
            elif kinds[n].kind == Parameter.KEYWORD_ONLY:
                out[n] = v
        return out


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


def getdoc(x):
    doc = getattr(x, "__doc__", None)
    if doc is None:
        return None
    first, *rest = doc.split("\n")
    margin = min([len(line) - len(line.lstrip()) for line in rest if line.strip()], default=0)
    lines = [first.lstrip()] + [line[margin:] for line in rest]
    return "\n".join(lines).strip("\n")


def getmembers(x, predicate=None):
    found = [(name, getattr(x, name)) for name in dir(x) if hasattr(x, name)]
    return [(name, v) for name, v in found if predicate is None or predicate(v)]


def currentframe():
    return None


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
