# The classes of collections.abc: what counts as one, and the methods that deriving from one gives.
import collections
from collections import OrderedDict, UserDict, deque
from collections.abc import Collection, Container, Hashable, Iterable, Iterator, Mapping, MutableMapping, MutableSequence, Reversible, Sequence, Sized

import torch


class Row(Sequence):
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class Stack(MutableSequence):
    def __init__(self):
        self.items = []

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]

    def __setitem__(self, i, v):
        self.items[i] = v

    def __delitem__(self, i):
        del self.items[i]

    def insert(self, i, v):
        self.items.insert(i, v)


class Config(MutableMapping):
    def __init__(self, **kwargs):
        self.values_of = dict(kwargs)

    def __getitem__(self, k):
        return self.values_of[k]

    def __setitem__(self, k, v):
        self.values_of[k] = v

    def __delitem__(self, k):
        del self.values_of[k]

    def __iter__(self):
        return iter(self.values_of)

    def __len__(self):
        return len(self.values_of)


class Frozen(Mapping):
    def __getitem__(self, k):
        return {"a": 1, "b": 2}[k]

    def __iter__(self):
        return iter("ab")

    def __len__(self):
        return 2


class Down(Iterator):
    n = 3

    def __next__(self):
        if not self.n:
            raise StopIteration
        self.n -= 1
        return self.n


class Upper(UserDict):
    def __setitem__(self, k, v):
        super().__setitem__(k.upper(), v)


row = Row("abca")
print(list(row), "b" in row, "z" in row, row.index("c"), row.count("a"), list(reversed(row)), [*row[1:3]])
try:
    row.index("z")
except ValueError as e:
    print(repr(e))
s = Stack()
s.append(1)
s.extend([2, 3, 4])
s += (5,)
s.remove(3)
print(list(s), s.pop(), s.pop(0), len(s), 4 in s)
s.reverse()
print(s[:])
s.clear()
print(len(s))
c = Config(a=1)
c.update(b=2)
c.update({"c": 3}, d=4)
c.update([("e", 5)])
print(dict(c), {**c}, c.get("z"), c.get("a"), c.pop("a"), c.pop("q", None), c.setdefault("k", 9), "k" in c, list(c.items()), sorted(c.keys()), list(c.values()))
print(c == {"b": 2, "c": 3, "d": 4, "e": 5, "k": 9}, c != Config(), c.popitem(), len(c))
for bad in (lambda: c["zz"], lambda: c.pop("zz")):
    try:
        bad()
    except KeyError as e:
        print(repr(e))
c.clear()
print(len(c), bool(c))
f = Frozen()
print(f["a"], "a" in f, "c" in f, dict(f), f.get("q", 7), f == {"a": 1, "b": 2}, (lambda **k: k)(**f))
print(list(Down()), sum(Down()), next(Down()), iter(Down()).n)
u = Upper(a=1)
u["b"] = 2
print(u, u.data, "A" in u, dict(u), u.get("B"), u.copy(), len(u), isinstance(u, dict), isinstance(u, MutableMapping))

kinds = (Iterable, Iterator, Reversible, Sized, Container, Collection, Sequence, MutableSequence, Mapping, MutableMapping, Hashable)
values = (1, "a", [1], (1,), {1: 2}, {1}, frozenset(), range(2), iter([1]), {}.keys(), None, row, s, c, f, Down(), len, torch.zeros(1), torch.nn.ModuleDict(), torch.Size([1]))
for v in values:
    print(*(k.__name__ if hasattr(k, "__name__") else "?" for k in ()), *(int(isinstance(v, k)) for k in kinds))
print(issubclass(Row, Sequence), issubclass(Stack, Sequence), issubclass(Row, Mapping), issubclass(dict, Mapping), issubclass(int, Sized))
