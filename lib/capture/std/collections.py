# collections: dicts keep their order, so OrderedDict is a dict that says so.
from _abc import MutableMapping
from _lang import namedtuple


class OrderedDict(dict):
    def __repr__(self):
        return f"{type(self).__name__}({list(self.items())!r})" if self else f"{type(self).__name__}()"

    @classmethod
    def fromkeys(cls, iterable, value=None):
        made = cls()
        for key in iterable:
            made[key] = value
        return made

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __eq__(self, other):
        if isinstance(other, OrderedDict) and list(self) != list(other):
            return False
        return dict(self) == other

    def popitem(self, last=True):
        if not self:
            raise KeyError("dictionary is empty")
        key = list(self)[-1 if last else 0]
        return key, self.pop(key)

    def copy(self):
        return self.__class__(self)


class defaultdict(dict):
    def __init__(self, default_factory=None, /, *args, **kw):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable or None")
        super().__init__(*args, **kw)
        self.default_factory = default_factory

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        value = self[key] = self.default_factory()
        return value

    def copy(self):
        return type(self)(self.default_factory, self)

    def __or__(self, other):
        made = self.copy()
        made.update(other)
        return made

    def __repr__(self):
        return f"{type(self).__name__}({self.default_factory!r}, {dict(self)!r})"


class Counter(dict):
    def __init__(self, iterable=None, /, **kw):
        super().__init__()
        self.update(iterable, **kw)

    def __missing__(self, key):
        return 0

    def _add(self, sign, iterable, kw):
        for pairs in (iterable, kw):
            if isinstance(pairs, dict):
                for k, v in pairs.items():
                    self[k] = self[k] + sign * v
            elif pairs is not None:
                for k in pairs:
                    self[k] = self[k] + sign

    def update(self, iterable=None, /, **kw):
        self._add(1, iterable, kw)

    def subtract(self, iterable=None, /, **kw):
        self._add(-1, iterable, kw)

    def most_common(self, n=None):
        items = sorted(self.items(), key=lambda kv: kv[1], reverse=True)
        return items if n is None else items[:n]

    def elements(self):
        return [k for k, v in self.items() for _ in range(v)]

    def total(self):
        return sum(self.values())

    def copy(self):
        return Counter(self)

    def _merge(self, other, of):
        out = Counter()
        for k in list(self) + [k for k in other if k not in self]:
            n = of(self[k], other[k])
            if n > 0:
                out[k] = n
        return out

    def __add__(self, other):
        return self._merge(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._merge(other, lambda a, b: a - b)

    def __and__(self, other):
        return self._merge(other, min)

    def __or__(self, other):
        return self._merge(other, max)

    def __pos__(self):
        return self + Counter()

    def __neg__(self):
        return Counter() - self

    def __delitem__(self, key):
        if key in self:
            super().__delitem__(key)

    def __eq__(self, other):
        if not isinstance(other, Counter):
            return dict(self) == other
        return all(self[k] == other[k] for k in list(self) + list(other))

    def __le__(self, other):
        return all(self[k] <= other[k] for k in list(self) + list(other))

    def __ge__(self, other):
        return other <= self

    def __lt__(self, other):
        return self <= other and self != other

    def __gt__(self, other):
        return other < self

    def __repr__(self):
        return f"Counter({dict(self.most_common())!r})" if self else "Counter()"


class deque:
    def __init__(self, iterable=(), maxlen=None):
        if maxlen is not None and maxlen < 0:
            raise ValueError("maxlen must be non-negative")
        self.maxlen = maxlen
        self._items = []
        self.extend(iterable)

    def append(self, x):
        self._items.append(x)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop(0)

    def appendleft(self, x):
        self._items.insert(0, x)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            self._items.pop()

    def extend(self, iterable):
        for x in list(iterable) if iterable is self else iterable:
            self.append(x)

    def extendleft(self, iterable):
        for x in list(iterable) if iterable is self else iterable:
            self.appendleft(x)

    def insert(self, i, x):
        if self.maxlen is not None and len(self._items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self._items.insert(i, x)

    def remove(self, x):
        if x not in self._items:
            raise ValueError("deque.remove(x): x not in deque")
        self._items.remove(x)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop(0)

    def clear(self):
        self._items.clear()

    def reverse(self):
        self._items.reverse()

    def count(self, x):
        return self._items.count(x)

    def index(self, x, *bounds):
        return self._items.index(x, *bounds)

    def copy(self):
        return deque(self._items, self.maxlen)

    def rotate(self, n=1):
        if self._items:
            n %= len(self._items)
            self._items = self._items[-n:] + self._items[:-n]

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __reversed__(self):
        return reversed(self._items)

    def __getitem__(self, i):
        return self._items[self._at(i)]

    def __setitem__(self, i, x):
        self._items[self._at(i)] = x

    def __delitem__(self, i):
        del self._items[self._at(i)]

    def _at(self, i):
        if not -len(self._items) <= i < len(self._items):
            raise IndexError("deque index out of range")
        return i

    def __contains__(self, x):
        return x in self._items

    def __add__(self, other):
        return deque(self._items + list(other), self.maxlen)

    def __iadd__(self, other):
        self.extend(other)
        return self

    def __mul__(self, n):
        return deque(self._items * n, self.maxlen)

    def __eq__(self, other):
        return isinstance(other, deque) and self._items == other._items

    def __lt__(self, other):
        return self._items < other._items

    def __le__(self, other):
        return self._items <= other._items

    def __gt__(self, other):
        return self._items > other._items

    def __ge__(self, other):
        return self._items >= other._items

    def __repr__(self):
        return f"deque({self._items!r})" if self.maxlen is None else f"deque({self._items!r}, maxlen={self.maxlen})"


class UserDict(MutableMapping):
    def __init__(self, dict=None, /, **kwargs):
        self.data = {}
        self.update(() if dict is None else dict, **kwargs)

    def __len__(self):
        return len(self.data)

    def __getitem__(self, key):
        if key in self.data:
            return self.data[key]
        if hasattr(type(self), "__missing__"):
            return type(self).__missing__(self, key)
        raise KeyError(key)

    def __setitem__(self, key, item):
        self.data[key] = item

    def __delitem__(self, key):
        del self.data[key]

    def __iter__(self):
        return iter(self.data)

    def __contains__(self, key):
        return key in self.data

    def __repr__(self):
        return repr(self.data)

    def __or__(self, other):
        return self.__class__(self.data | dict(other))

    def copy(self):
        return self.__class__(self.data)


class ChainMap:
    def __init__(self, *maps):
        self.maps = list(maps) or [{}]

    def new_child(self, m=None):
        return ChainMap({} if m is None else m, *self.maps)

    @property
    def parents(self):
        return ChainMap(*self.maps[1:])

    def _joined(self):
        out = {}
        for m in reversed(self.maps):
            out.update(m)
        return out

    def __getitem__(self, key):
        for m in self.maps:
            if key in m:
                return m[key]
        raise KeyError(key)

    def get(self, key, default=None):
        return self[key] if key in self else default

    def __setitem__(self, key, value):
        self.maps[0][key] = value

    def __delitem__(self, key):
        del self.maps[0][key]

    def __contains__(self, key):
        return any(key in m for m in self.maps)

    def __iter__(self):
        return iter(self._joined())

    def __len__(self):
        return len(self._joined())

    def keys(self):
        return self._joined().keys()

    def values(self):
        return self._joined().values()

    def items(self):
        return self._joined().items()

    def __repr__(self):
        return f"ChainMap({', '.join(repr(m) for m in self.maps)})"
