d = {"a": 1, "b": 2}
d["c"] = 3
del d["a"]
d["a"] = 9
print(d, list(d), d.popitem(), d.setdefault("z", []), d | {"q": 1}, d.get("nope", 7))
d |= {"k": 2}
print(list(reversed(d)), d.items(), sorted(d.keys() & {"b", "z"}))

for i in range(5):
    if i == 3:
        break
else:
    print("none")
for i in range(2):
    pass
else:
    print("else", i)
while True:
    i += 1
    if i < 5:
        continue
    break
print(i)

a, *b, c = range(6)
(d, e), f = (1, 2), 3
print(a, b, c, d, e, f)
[p, q] = [1, 2]
p, q = q, p
print(p, q)
x = y = []
x.append(1)
print(y)

l = list(range(10))
l[2:5] = [0]
del l[0]
l[::2] = [9] * len(l[::2])
l.insert(1, "i")
l.extend((1, 2))
l.remove(9)
print(l, l.pop(), l.pop(0), l.index(9), l.count(9))
l.reverse()
print(l, l[-3:], l[::-2])
l.clear()
print(l, l.copy(), [1, 2] * 2, [1] < [2], [1, 2] + [3])

s = {3, 1, 2}
s.add(5)
s.discard(9)
print(
    sorted(s | {7}),
    sorted(s & {1, 5}),
    sorted(s - {1}),
    sorted(s ^ {1, 99}),
    s >= {1},
    s.isdisjoint({9}),
    frozenset([1, 2]) == {1, 2},
    len(s),
)
s.update([8])
s.remove(8)
print(8 in s, sorted(s.union([10])), s.issubset(range(10)))

if (n := len("abc")) > 2:
    print(n)
print([y for x in range(5) if (y := x * x) > 3], 1 if n else 2, 1 < 2 < 3, not 1, 1 and 0 or 5, 3 is None, "a" "b", *[1, 2], sep="-")

print(
    type(1).__name__,
    type("a") is str,
    isinstance(1, (int, str)),
    isinstance(True, int),
    callable(print),
    id(None) == id(None),
    type(None).__name__,
    getattr("a", "upper")(),
    int.__name__,
    type([]).__name__,
    [].__class__.__name__,
)

import copy

a = [1, [2, 3], {"k": [4]}]
b = copy.copy(a)
c = copy.deepcopy(a)
a[1].append(9)
a[2]["k"].append(8)
print(b, c)

print(
    "\u00e9",
    "tab\tnl\\n",
    r"raw\n",
    """tri
ple""",
    len("héllo"),
)

import string, numbers

print(string.ascii_lowercase, isinstance(3, numbers.Number), isinstance(2.5, numbers.Real), isinstance(3, numbers.Integral))

import warnings, logging

warnings.filterwarnings("ignore")
log = logging.getLogger(__name__)
log.info("x")
log.debug("%s", 1)
print("ok")

print(
    list(range(5, 0, -2)),
    range(10)[2:5],
    len(range(0, 10, 3)),
    3 in range(5),
    range(5)[-1],
    list(reversed(range(3))),
    range(3) == range(0, 3),
    range(1, 4).start,
    range(2, 9, 3).index(5),
)

print(slice(1, 2), [1, 2, 3][slice(None, None, -1)], slice(1, 10, 2).indices(5), slice(3).stop)

print(str([1, "a", None, (1,), {2}, {"k": 1.0}]), repr((1,)), str(()), [()], {}, set(), frozenset(), [[]], True, None, ..., NotImplemented)

print(
    *map(str.upper, ["a", "b"]),
    list(map(int, "123")),
    sorted(["b", "A"], key=str.lower),
    ",".join(map(str, [1, 2])),
    max("abc", key=ord),
    sum(map(len, ["a", "bb"])),
    list(zip(*[[1, 2], [3, 4]])),
    dict(a=1, **{"b": 2}),
    dict([("x", 1)]),
    [*range(3)],
    {**{"a": 1}, "b": 2},
    (*[1], 2),
)

print(
    all(x > 0 for x in [1, 2]),
    any(x > 5 for x in [1, 9]),
    next(x for x in range(9) if x > 4),
    next((x for x in []), None),
    list(x for x in "ab"),
    tuple(i for i in range(2)),
    set(c for c in "aab") == {"a", "b"},
    sum(x for x in range(4)),
    " ".join(c for c in "abc"),
    dict((k, k) for k in "ab"),
)

import types

n = types.SimpleNamespace(a=1, b=[2])
n.c = 3
print(n.a, n, vars(n))

assert True, "no"
pass
...
"str expr"
if True:
    print("one-line")
for i in range(2):
    print(i, end=" ")
print()
print("a", "b", sep="", end="!\n")
i = 0
while i < 3:
    i += 1
else:
    print("while-else", i)
lst = [
    1,
    2,  # comment
]
print(lst, len(lst))
x = 1 + 2
print(x)
y = 3
print(y)

print((2.0).is_integer(), (3).bit_count(), (5).conjugate())

a = {1, 2}
b = a
b |= {3}
print(a)
a -= {1}
a &= {2, 3, 4}
a ^= {9}
print(sorted(a), b is a)
a.intersection_update({2})
a.difference_update({5})
a.symmetric_difference_update({7})
print(sorted(a), {1} | {2} > {1}, {1} <= {1}, set("aab") == {"a", "b"}, len({1, 1.0, True}), a.copy() == a)

t = (1, 2, 3)
print(
    t[1:],
    t + (4,),
    t * 2,
    t.index(2),
    t.count(1),
    (1, 2) < (1, 3),
    tuple("ab"),
    hash(t) == hash((1, 2, 3)),
    2 in t,
    t[::-1],
    min(t),
    sorted(t, reverse=True),
    () == tuple(),
    (1,) + (),
    a if (a := 5) else 0,
)

with warnings.catch_warnings():
    warnings.filterwarnings("error", message=".*bad", category=UserWarning)
    try:
        warnings.warn("something Bad")
    except UserWarning as e:
        print("raised", e)
warnings.warn("is ignored")
