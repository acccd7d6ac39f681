# Dicts, views, deques, counters, named tuples and caches: what is less often used of them.
import functools
import itertools
from collections import ChainMap, Counter, OrderedDict, deque, namedtuple

d = {"a": 1}
d |= [("z", 0), ("a", 5)]
print(d)
d = {i: i * i for i in range(5)}
print(d.items() >= {(1, 1)}, d.keys() > {1}, d.keys() <= {0, 1, 2, 3, 4}, {7} < d.keys(), d.keys() == {0, 1, 2, 3, 4}, d.keys() ^ {0, 8} == {1, 2, 3, 4, 8})
a, b = Counter(a=3, b=1), Counter({"a": 1, "b": 2})
print(a <= a, a < b, a >= Counter(a=1), b > Counter(b=1), a == b)
o = OrderedDict([("a", 1), ("b", 2)])
o.move_to_end("a")
print(list(o.copy()), type(o.copy()).__name__)


class D(dict):
    pass


print(type(D(a=1).copy()).__name__)
for bad in (lambda: deque([1])[3], lambda: deque([1], -1), lambda: deque().pop(), lambda: namedtuple("P", "a a"), lambda: namedtuple("P", "class"), lambda: namedtuple("P", "1a"), lambda: namedtuple("P", "_a"), lambda: "a" * "b", lambda: [1] * [2]):
    try:
        bad()
    except Exception as e:
        print(type(e).__name__, e)
P = namedtuple("P", ["x", "def", "x", "_y"], rename=True)
print(P(1, 2, 3, 4), P._fields)
left = [3, 2, 1]
print(list(iter(left.pop, 1)), left)
try:
    next(iter([]))
except StopIteration as e:
    print(e.value, e.args)
l = [1]
l.append(l)
d = {"k": l}
d["d"] = d
print(l, d, [l, l])


@functools.lru_cache(maxsize=2)
def f(x):
    print("call", x)
    return x


f(1), f(1), f(2), f(1), f(3), f(1), f(2)
print(f.cache_info(), f.__name__, f.__wrapped__(9), f.cache_parameters())
f.cache_clear()
print(f.cache_info())


@functools.lru_cache(typed=True)
def g(x):
    return type(x).__name__


print(g(1), g(1.0), g.cache_info().currsize, functools.cache(len).cache_info().maxsize)
print(f"{8:>04d}|{8:<04d}|{8:^06d}|{-8:=05d}|{-8:05d}|{'a':>03s}|{'a':04}|{1.5:>08.2f}|{255:#06x}|{1e3:010,.1f}|{123456:>010,d}|{1234:0=10,d}|{5:x<03}|{True:05}")
print("%8.3d|%08.3d|%.3d|%-8.3d|%+8.3d|%.3x|%#8.3x" % (5, 5, -5, 5, 5, 255, 255), f"{-0.001:z.2f} {-0.6:z.0f} {-0.0:+z.1f}")
try:
    print(f"{'a':=4}")
except ValueError as e:
    print(e)
many = {}
for i in range(3000):  # a table whose entries come and go
    many[i] = i
    if i >= 20:
        del many[i - 20]
    if i % 7 == 0:
        many.popitem()
        many[i] = -i
print(len(many), sum(many), list(many)[:3], 2990 in many, 5 in many)
while many:
    many.popitem()
print(many)

import torch

p = torch.nn.ParameterDict({"q": torch.zeros(1), "a": torch.zeros(2)})  # a plain dict is sorted
p["0"] = torch.ones(1)
print(list(p), list(reversed(p)), [k for k, _ in p.named_parameters()], list(p.copy()), list(p.fromkeys(["z", "b"], torch.zeros(1))), p.popitem()[0])
p.clear()
print(len(p), list(torch.nn.ParameterDict([("q", torch.zeros(1)), ("a", torch.zeros(2))])), list(torch.nn.ParameterDict(OrderedDict(q=torch.zeros(1), a=torch.zeros(2)))))
