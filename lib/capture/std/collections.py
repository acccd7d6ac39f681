# collections: dicts keep their order, so OrderedDict is a dict that says so.
from _lang import namedtuple, defaultdict


class OrderedDict(dict):
    def __repr__(self):
        return f"{type(self).__name__}({dict(self)!r})" if self else f"{type(self).__name__}()"


class Counter(dict):
    def __init__(self, iterable=None, /, **kw):
        super().__init__()
        self.update(iterable, **kw)

    def __missing__(self, key):
        return 0

    def update(self, iterable=None, /, **kw):
        if isinstance(iterable, dict):
            for k, v in iterable.items():
                self[k] = self[k] + v
        elif iterable is not None:
            for k in iterable:
                self[k] = self[k] + 1
        for k, v in kw.items():
            self[k] = self[k] + v

    def most_common(self, n=None):
        items = sorted(self.items(), key=lambda kv: kv[1], reverse=True)
        return items if n is None else items[:n]

    def elements(self):
        return [k for k, v in self.items() for _ in range(v)]

    def total(self):
        return sum(self.values())


class deque:
    def __init__(self, iterable=(), maxlen=None):
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
        for x in iterable:
            self.append(x)

    def extendleft(self, iterable):
        for x in iterable:
            self.appendleft(x)

    def pop(self):
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        return self._items.pop(0)

    def clear(self):
        self._items.clear()

    def rotate(self, n=1):
        if self._items:
            n %= len(self._items)
            self._items = self._items[-n:] + self._items[:-n]

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, i):
        return self._items[i]

    def __setitem__(self, i, x):
        self._items[i] = x

    def __contains__(self, x):
        return x in self._items

    def __eq__(self, other):
        return isinstance(other, deque) and self._items == other._items

    def __repr__(self):
        return f"deque({self._items!r})"


class UserDict(dict):
    pass


class ChainMap(dict):
    def __init__(self, *maps):
        super().__init__()
        for m in reversed(maps):
            self.update(m)
