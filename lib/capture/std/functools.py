# functools, as far as models use it.
from _lang import hint, namedtuple, signature


class partial:
    def __init__(self, func, /, *args, **keywords):
        if isinstance(func, partial):
            args = func.args + args
            keywords = {**func.keywords, **keywords}
            func = func.func
        self.func, self.args, self.keywords = func, args, keywords

    def __call__(self, /, *args, **keywords):
        return self.func(*self.args, *args, **{**self.keywords, **keywords})


class partialmethod:
    def __init__(self, func, /, *args, **keywords):
        self.func, self.args, self.keywords = func, args, keywords

    def __get__(self, obj, cls=None):
        return partial(self.func.__get__(obj, cls) if hasattr(self.func, "__get__") else partial(self.func, obj), *self.args, **self.keywords)


def reduce(function, sequence, *initial):
    it = iter(sequence)
    if initial:
        value = initial[0]
    else:
        value = next(it, reduce)
        if value is reduce:
            raise TypeError("reduce() of empty iterable with no initial value")
    for x in it:
        value = function(value, x)
    return value


def update_wrapper(wrapper, wrapped, assigned=None, updated=None):
    for name in ("__name__", "__qualname__", "__doc__"):
        if hasattr(wrapped, name):
            setattr(wrapper, name, getattr(wrapped, name))
    wrapper.__wrapped__ = wrapped
    return wrapper


def wraps(wrapped, assigned=None, updated=None):
    return lambda wrapper: update_wrapper(wrapper, wrapped)


CacheInfo = namedtuple("CacheInfo", "hits misses maxsize currsize")


def lru_cache(maxsize=128, typed=False):
    def decorate(f):
        kept = {}  # the last used at the end
        hits = misses = 0

        @wraps(f)
        def inner(*args, **kwargs):
            nonlocal hits, misses
            key = (args, tuple(kwargs.items()))
            if typed:
                key += (tuple(type(v) for v in args), tuple(type(v) for v in kwargs.values()))
            if key in kept:
                hits += 1
                if maxsize is not None:
                    kept[key] = kept.pop(key)
                return kept[key]
            misses += 1
            value = f(*args, **kwargs)
            if maxsize is None or maxsize > 0:
                kept[key] = value
                if maxsize is not None and len(kept) > maxsize:
                    del kept[next(iter(kept))]
            return value

        def clear():
            nonlocal hits, misses
            hits = misses = 0
            kept.clear()

        inner.cache_info = lambda: CacheInfo(hits, misses, maxsize, len(kept))
        inner.cache_parameters = lambda: {"maxsize": maxsize, "typed": typed}
        inner.cache_clear = clear
        return inner

    if callable(maxsize):
        f, maxsize = maxsize, 128
        return decorate(f)
    return decorate


cache = lru_cache(None)


class cached_property:
    def __init__(self, func):
        self.func = func

    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, obj, cls=None):
        if obj is None:
            return self
        value = self.func(obj)
        object.__setattr__(obj, self.name, value)
        return value


def total_ordering(cls):
    if "__lt__" in cls.__dict__:
        lt = cls.__lt__
        cls.__gt__ = lambda a, b: not lt(a, b) and a != b
        cls.__le__ = lambda a, b: lt(a, b) or a == b
        cls.__ge__ = lambda a, b: not lt(a, b)
    elif "__gt__" in cls.__dict__:
        gt = cls.__gt__
        cls.__lt__ = lambda a, b: not gt(a, b) and a != b
        cls.__ge__ = lambda a, b: gt(a, b) or a == b
        cls.__le__ = lambda a, b: not gt(a, b)
    else:
        raise ValueError("must define at least one ordering operation: < >")
    return cls


def cmp_to_key(compare):
    class Key:
        def __init__(self, obj):
            self.obj = obj

        def __lt__(self, other):
            return compare(self.obj, other.obj) < 0

        def __eq__(self, other):
            return compare(self.obj, other.obj) == 0

    return Key


def _registry(default):
    kinds = {object: default}

    def dispatch(cls):
        for base in cls.mro():
            if base in kinds:
                return kinds[base]
        return default

    def register(cls, func=None):
        if func is None and not isinstance(cls, type) and not _classes(cls):  # of a function, whose first annotation says the class
            func, cls = cls, _hint(cls)
        if not _classes(cls):
            raise TypeError(f"Invalid first argument to `register()`: {cls!r}. Use either `@register(some_class)` or plain `@register` on an annotated function.")
        if func is None:
            return lambda f: register(cls, f)
        for kind in _classes(cls):
            kinds[kind] = func
        return func

    return dispatch, register, kinds


def _classes(cls):  # those of a union, or the one
    parts = [cls] if isinstance(cls, type) else list(getattr(cls, "__args__", ()))
    return parts if all(isinstance(part, type) for part in parts) else []


def _hint(func):
    func = func.func if isinstance(func, singledispatchmethod) else func
    names = [name for name, _, _ in signature(func) or [] if name != "self" and name != "cls"]
    return hint(func, names[0]) if names else None


def singledispatch(func):
    dispatch, register, kinds = _registry(func)

    @wraps(func)
    def call(*args, **kwargs):
        return dispatch(type(args[0]))(*args, **kwargs)

    call.dispatch, call.register, call.registry = dispatch, register, kinds
    return call


class singledispatchmethod:
    def __init__(self, func):
        self.func = func
        self.dispatch, self.register, _ = _registry(func)

    def __get__(self, obj, cls=None):
        def call(*args, **kwargs):
            return partialmethod(self.dispatch(type(args[0]))).__get__(obj, cls)(*args, **kwargs)

        return call
