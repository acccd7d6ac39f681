import itertools as I

print(
    list(I.chain([1], [2, 3])),
    list(I.chain.from_iterable([[1], [2]])),
    list(I.accumulate([1, 2, 3])),
    list(I.accumulate([1, 2, 3], lambda a, b: a * b, initial=10)),
    list(I.zip_longest([1, 2], [3], fillvalue=0)),
)
print(
    list(I.product("ab", [1, 2])),
    list(I.product([0, 1], repeat=2)),
    list(I.permutations([1, 2, 3], 2)),
    list(I.combinations("abc", 2)),
    list(I.combinations_with_replacement("ab", 2)),
)
print(
    list(I.islice(I.count(3, 2), 4)),
    list(I.takewhile(lambda x: x < 3, [1, 2, 3, 1])),
    list(I.dropwhile(lambda x: x < 3, [1, 2, 3, 1])),
    list(I.repeat("x", 2)),
    [(k, list(g)) for k, g in I.groupby("aabbc")],
    list(I.starmap(pow, [(2, 3), (3, 2)])),
    list(I.compress("abc", [1, 0, 1])),
    list(I.pairwise([1, 2, 3])),
    list(I.filterfalse(None, [0, 1, 2])),
)
a, b = I.tee([1, 2, 3])
print(list(a), list(b))
c = I.cycle("ab")
print([next(c) for _ in range(5)])

import functools, operator


@functools.lru_cache(maxsize=None)
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


print(
    fib(50),
    functools.reduce(operator.mul, [1, 2, 3, 4]),
    functools.partial(pow, 2)(5),
    operator.itemgetter(1, 2)([5, 6, 7]),
    operator.attrgetter("real")(3),
    operator.concat([1], [2]),
    operator.iconcat([1], [2]),
    operator.methodcaller("upper")("a"),
    operator.add(1, 2),
    operator.truediv(1, 2),
    operator.floordiv(7, 2),
    operator.neg(3),
    operator.getitem([1, 2], 1),
    operator.contains([1], 1),
    operator.index(3),
    operator.not_(1),
    operator.xor(5, 1),
)

import functools


def deco(n):
    def w(f):
        @functools.wraps(f)
        def g(*a, **k):
            return [f(*a, **k)] * n

        return g

    return w


@deco(2)
def foo(x):
    "doc"
    return x


print(foo(3), foo.__name__, foo.__doc__)


class Cp:
    @functools.cached_property
    def v(self):
        print("once")
        return 4


c = Cp()
print(c.v, c.v)

a = [1, 2, 3]
b = a
b += [4]
print(a)
a = a + [5]
print(b)
t = (1, 2)
t += (3,)
print(t)
s = "a"
s *= 3
print(s)
x = 7
x //= 2
x **= 3
x %= 10
x <<= 2
x |= 1
x ^= 3
x &= 0xF
x -= 1
print(x)
x >>= 1
x /= 2
print(x)
import operator

m = [[1, 2], [3, 4]]
m[0][1] += 5
print(m)

from functools import reduce, partial, cmp_to_key, total_ordering, partialmethod

p = partial(lambda a, b, c=0: (a, b, c), 1, c=5)
print(p(2), p.args, p.keywords, p.func(1, 2))
print(sorted([3, 1, 2], key=cmp_to_key(lambda a, b: b - a)), reduce(lambda a, b: a + b, [1, 2], 10))


@total_ordering
class T:
    def __init__(s, v):
        s.v = v

    def __eq__(s, o):
        return s.v == o.v

    def __lt__(s, o):
        return s.v < o.v


print(T(1) <= T(2), T(3) > T(1), T(1) >= T(1))

import operator as o

print(
    o.abs(-3),
    o.iadd([1], [2]),
    o.countOf([1, 1, 2], 1),
    o.indexOf([3, 4], 4),
    o.inv(5),
    o.pos(3),
    o.is_(None, None),
    o.truth([]),
    o.imul(3, 4),
    o.isub(3, 4),
    o.length_hint([1, 2]),
    o.concat("a", "b"),
    o.call(len, [1]) if hasattr(o, "call") else 1,
)
l = [1, 2, 3]
o.setitem(l, 0, 9)
o.delitem(l, 1)
print(l, o.itemgetter("a")({"a": 1}), o.attrgetter("a.b")(type("X", (), {"a": type("Y", (), {"b": 4})})))
import torch

torch.manual_seed(0)
print(torch.func.vmap(lambda x: x + torch.rand(2), randomness="same")(torch.zeros(2, 2)).tolist(), torch.rand(1).item())
try:
    torch.func.vmap(lambda x: x + torch.rand(2))(torch.zeros(2, 2))
except RuntimeError as e:
    print(str(e)[:66])
for base, dtype in ((2, torch.float32), (10, torch.float32), (2.718281828459045, torch.float32), (10000, torch.float64)):
    print([v.hex() for v in torch.logspace(0, 2.3219280948873622, 7, base=base, dtype=dtype).tolist()])
x, y = torch.arange(6.0).reshape(2, 3), torch.ones(4)
v, data = x.view(6), x.data
x.set_()
print(x.shape, v.shape, data.shape, x.dtype, x.set_(y) is x)
y.add_(1)
data.data.set_(y)
print(x, data)
try:
    x.set_(torch.zeros(2, dtype=torch.int64))
except RuntimeError as e:
    print(str(e)[:24])
