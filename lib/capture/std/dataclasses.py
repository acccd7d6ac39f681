# dataclasses.


class _Missing:
    def __repr__(self):
        return "<MISSING>"


MISSING = _Missing()
KW_ONLY = "KW_ONLY"
InitVar = "InitVar"


class FrozenInstanceError(AttributeError):
    pass


class Field:
    def __init__(self, default, default_factory, init, repr, compare, kw_only, metadata):
        self.name, self.type = None, None
        self.default, self.default_factory, self.init, self.repr = default, default_factory, init, repr
        self.compare, self.kw_only, self.metadata = compare, kw_only, metadata


def field(*, default=MISSING, default_factory=MISSING, init=True, repr=True, hash=None, compare=True, metadata=None, kw_only=MISSING):
    if default is not MISSING and default_factory is not MISSING:
        raise ValueError("cannot specify both default and default_factory")
    return Field(default, default_factory, init, repr, compare, kw_only, {} if metadata is None else metadata)


_TYPES = {t.__name__: t for t in (int, float, bool, str, list, tuple, dict, set)}  # other annotations are not evaluated


def _collect(cls, kw_only):
    out = {}
    for base in reversed(cls.mro()[1:]):
        out.update(base.__dict__.get("__dataclass_fields__", {}))
    only = kw_only
    for name, kind in cls.__dict__.get("__annotations__", {}).items():
        if kind.startswith(("ClassVar", "typing.ClassVar")):
            continue
        if kind in ("KW_ONLY", "dataclasses.KW_ONLY"):
            only = True
            continue
        value = cls.__dict__.get(name, MISSING)
        f = value if isinstance(value, Field) else field(default=value)
        if f.default is not MISSING and isinstance(f.default, (list, dict, set)):
            raise ValueError(f"mutable default {type(f.default)} for field {name} is not allowed: use default_factory")
        f.name, f.type = name, _TYPES.get(kind, kind)
        f.kw_only = only if f.kw_only is MISSING else f.kw_only
        f.init_var = kind.startswith(("InitVar", "dataclasses.InitVar"))
        if f.default is not MISSING:
            setattr(cls, name, f.default)
        elif isinstance(value, Field):
            delattr(cls, name)
        out[name] = f
    return out


def _init(cls, all_fields):
    positional = [f for f in all_fields.values() if f.init and not f.kw_only]
    keyword = [f for f in all_fields.values() if f.init and f.kw_only]
    seen = None
    for f in positional:
        if f.default is MISSING and f.default_factory is MISSING:
            if seen:
                raise TypeError(f"non-default argument '{f.name}' follows default argument '{seen}'")
        else:
            seen = f.name
    names = {f.name for f in positional + keyword}
    post = hasattr(cls, "__post_init__")

    def __init__(self, *args, **kwargs):
        if len(args) > len(positional):
            needed = sum(f.default is MISSING and f.default_factory is MISSING for f in positional) + 1
            count = f"{needed}" if needed == len(positional) + 1 else f"from {needed} to {len(positional) + 1}"
            raise TypeError(f"{cls.__name__}.__init__() takes {count} positional argument{'' if count == '1' else 's'} but {len(args) + 1} were given")
        for name in kwargs:
            if name not in names:
                raise TypeError(f"{cls.__name__}.__init__() got an unexpected keyword argument '{name}'")
        extra, missing = [], []
        for i, f in enumerate(positional):
            if i < len(args):
                if f.name in kwargs:
                    raise TypeError(f"{cls.__name__}.__init__() got multiple values for argument '{f.name}'")
                kwargs[f.name] = args[i]
        for f in all_fields.values():
            if f.name in kwargs and f.init:
                value = kwargs[f.name]
            elif f.default_factory is not MISSING:
                value = f.default_factory()
            elif f.default is not MISSING:
                if not f.init:
                    continue
                value = f.default
            elif f.init:
                missing.append(f"'{f.name}'")
                continue
            else:
                continue
            if f.init_var:
                extra.append(value)
            else:
                object.__setattr__(self, f.name, value)
        if missing:
            few = ", ".join(missing[:-1]) + ("," if len(missing) > 2 else "") + " and " + missing[-1] if missing[1:] else missing[0]
            raise TypeError(f"{cls.__name__}.__init__() missing {len(missing)} required positional argument{'s' if len(missing) > 1 else ''}: {few}")
        if post:
            self.__post_init__(*extra)

    return __init__


def _key(self, shown):
    return tuple(getattr(self, f.name) for f in shown)


def _process(cls, init, repr_, eq, order, frozen, kw_only, unsafe_hash, slots):
    all_fields = _collect(cls, kw_only)
    cls.__dataclass_fields__ = all_fields
    cls.__match_args__ = tuple(f.name for f in all_fields.values() if f.init and not f.kw_only)
    shown = [f for f in all_fields.values() if not f.init_var]
    compared = [f for f in shown if f.compare]
    own = cls.__dict__
    if init and "__init__" not in own:
        cls.__init__ = _init(cls, all_fields)
    if repr_ and "__repr__" not in own:
        cls.__repr__ = lambda self: f"{type(self).__qualname__}({', '.join(f'{f.name}={getattr(self, f.name)!r}' for f in shown if f.repr)})"
    if eq and "__eq__" not in own:
        cls.__eq__ = lambda self, other: _key(self, compared) == _key(other, compared) if type(self) is type(other) else NotImplemented
        if frozen or unsafe_hash:
            cls.__hash__ = lambda self: hash(_key(self, compared))
        elif "__hash__" not in own:
            cls.__hash__ = None
    if order:
        cls.__lt__ = lambda self, other: _key(self, compared) < _key(other, compared)
        cls.__le__ = lambda self, other: _key(self, compared) <= _key(other, compared)
        cls.__gt__ = lambda self, other: _key(self, compared) > _key(other, compared)
        cls.__ge__ = lambda self, other: _key(self, compared) >= _key(other, compared)
    if frozen:
        def refuse(self, name, value=None):
            raise FrozenInstanceError(f"cannot assign to field '{name}'")

        cls.__setattr__ = refuse
        cls.__delattr__ = refuse
    return _with_slots(cls) if slots else cls


def _with_slots(cls):  # the class again, with __slots__, which have no defaults as attributes of the class
    if "__slots__" in cls.__dict__:
        raise TypeError(f"{cls.__name__} already specifies __slots__")
    inherited = [n for base in cls.__mro__[1:-1] for n in getattr(base, "__slots__", ())]
    body = {k: v for k, v in cls.__dict__.items() if k not in cls.__dataclass_fields__ and k not in ("__dict__", "__weakref__")}
    body["__slots__"] = tuple(f.name for f in fields(cls) if f.name not in inherited)
    return type(cls)(cls.__name__, cls.__bases__, body)


def dataclass(cls=None, /, *, init=True, repr=True, eq=True, order=False, unsafe_hash=False, frozen=False, match_args=True, kw_only=False, slots=False, weakref_slot=False):
    if cls is None:
        return lambda c: _process(c, init, repr, eq, order, frozen, kw_only, unsafe_hash, slots)
    return _process(cls, init, repr, eq, order, frozen, kw_only, unsafe_hash, slots)


def fields(obj):
    return tuple(f for f in obj.__dataclass_fields__.values() if not f.init_var)


def is_dataclass(obj):
    return hasattr(obj, "__dataclass_fields__")


def _convert(x, factory):
    if is_dataclass(x) and not isinstance(x, type):
        return factory([(f.name, _convert(getattr(x, f.name), factory)) for f in fields(x)])
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_convert(v, factory) for v in x])
    if isinstance(x, (list, tuple)):
        return type(x)([_convert(v, factory) for v in x])
    if isinstance(x, dict):
        return {k: _convert(v, factory) for k, v in x.items()}
    return x


def asdict(obj, *, dict_factory=dict):
    return _convert(obj, dict_factory)


def astuple(obj, *, tuple_factory=tuple):
    return tuple_factory([_convert(getattr(obj, f.name), lambda kv: tuple(v for _, v in kv)) for f in fields(obj)])


def replace(obj, /, **changes):
    for f in fields(obj):
        if f.init and f.name not in changes:
            changes[f.name] = getattr(obj, f.name)
    return type(obj)(**changes)


def make_dataclass(cls_name, fields, *, bases=(), namespace=None, **kw):
    ns = dict(namespace or {})
    ns["__annotations__"] = {}
    for f in fields:
        if isinstance(f, str):
            ns["__annotations__"][f] = "Any"
        else:
            ns["__annotations__"][f[0]] = str(f[1])
            if len(f) == 3:
                ns[f[0]] = f[2]
    return dataclass(type(cls_name, bases, ns), **kw)
