# weakref. Nothing is freed while a model is captured, so these hold what they name; a proxy keeps a module from being registered in another.


class ref:
    def __init__(self, of, callback=None):
        self.__dict__["_of"] = of

    def __call__(self):
        return self._of

    def __eq__(self, other):
        return self._of == other._of if isinstance(other, ref) else NotImplemented

    def __hash__(self):
        return hash(self._of)


ReferenceType = WeakMethod = ref


class _Proxy:
    def __init__(self, of):
        self.__dict__["_of"] = of

    def __getattr__(self, name):
        return getattr(self._of, name)

    def __setattr__(self, name, value):
        setattr(self._of, name, value)

    def __call__(self, *args, **kwargs):
        return self._of(*args, **kwargs)

    def __getitem__(self, key):
        return self._of[key]

    def __len__(self):
        return len(self._of)

    def __iter__(self):
        return iter(self._of)


def proxy(of, callback=None):
    return _Proxy(of)


class WeakKeyDictionary(dict):
    pass


class WeakValueDictionary(dict):
    pass


class WeakSet(set):
    pass
