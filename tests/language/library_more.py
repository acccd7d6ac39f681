# Modules of Python's library that are written in the model language: heapq, json, fractions, weakref, textwrap, bisect, inspect, string.Template.
import bisect
import heapq
import inspect
import json
import string
import textwrap
import weakref
from fractions import Fraction

h = []
for v in [5, 1, 4, 2, 9, 3, 3]:
    heapq.heappush(h, v)
print(h, heapq.heappop(h), h, heapq.nsmallest(2, h), heapq.nlargest(2, [3, 9, 4]), heapq.heappushpop(h, 0), heapq.heapreplace(h, 7), h)
x = [9, 8, 7, 3, 2, 1, 6]
heapq.heapify(x)
print(x, list(heapq.merge([1, 4], [2, 3])), [heapq.heappop(x) for _ in range(len(x))])
a = [1, 3, 5]
bisect.insort(a, 4)
print(a, bisect.bisect_left(a, 3), bisect.bisect(["a", "bb", "cccc"], 2, key=len))

print(json.dumps({"a": [1, 2.5, None, True, -0.0], "b": {"c": 'x"y\n\x01', 3: ()}, "d": {}}), json.dumps("é😀/"), json.dumps({"é": 1}, ensure_ascii=False))
print(json.dumps({"b": 1, "a": [1, {"k": []}]}, indent=2, sort_keys=True), json.dumps([1, 2], separators=(",", ":")), json.dumps([float("inf"), 1e16, 1e-7]))
print(json.loads('{"a": [1, 2.0, -3e2, null, true, "s\\u00e9\\ud83d\\ude00\\n"], "b": {}, "c": [ ] }'), json.loads("7", parse_int=float), json.loads('[{"k": 1}]', object_hook=sorted))
for bad in ("", "[1,]", '{"a" 1}', "nul", '"abc', "[1] 2", '{"a": 1,}', '["\n"]'):
    try:
        print(json.loads(bad))
    except json.JSONDecodeError as e:
        print(e.pos, e)
try:
    json.dumps({"s": {1}})
except TypeError as e:
    print(e)


class Encoder(json.JSONEncoder):
    def default(self, o):
        return sorted(o) if isinstance(o, set) else super().default(o)


print(json.dumps({"s": {2, 1}}, cls=Encoder), json.dumps({1, 3}, default=list))

third = Fraction(1, 3)
print(third + Fraction(1, 6), repr(third * 3), Fraction("0.25"), Fraction("-3/6"), float(Fraction(3, 4)), third < 0.5, third == Fraction(2, 6), 1 - third, 2 / third, third**2, third**-1)
print(Fraction(0.5), Fraction(7, -2), int(Fraction(-7, 2)), round(Fraction(5, 2)), Fraction(7, 2) // 1, Fraction(7, 2) % 1, Fraction(3.14159).limit_denominator(10), {Fraction(2): "x"}[2], third + 0.5)
try:
    Fraction(1, 0)
except ZeroDivisionError as e:
    print(e)


class Node:
    def __init__(self, parent=None):
        self.parent = weakref.ref(parent) if parent else None
        self.up = weakref.proxy(parent) if parent else None
        self.v = 3


root = Node()
leaf = Node(root)
leaf.up.v = 5
print(leaf.parent() is root, leaf.up.v, root.v, len(weakref.WeakValueDictionary()), weakref.ref(root) == leaf.parent)

print(repr(textwrap.dedent("\n    a\n      b\n\n    c")), repr(textwrap.indent("x\n\ny\n", "> ")))
print(string.Template("$a is ${b}, $$5").substitute(a=1, b="x"), string.Template("$z").safe_substitute(), string.hexdigits)


def f(a, b=2, /, c=3, *args, d=4, **kw):
    """The first line.

        Indented.
    """


s = inspect.signature(f)
print(s, list(s.bind(1, 2, 3, 4, d=5, e=6).arguments.items()), inspect.getdoc(f).split("\n"), inspect.signature(lambda x, *, y=1: 0))
b = s.bind(1)
b.apply_defaults()
print(b.args, b.kwargs, s.bind_partial().arguments)
for wrong in (lambda: s.bind(), lambda: inspect.signature(lambda x: 0).bind(1, 2), lambda: inspect.signature(lambda x: 0).bind(1, y=2)):
    try:
        wrong()
    except TypeError as e:
        print(e)
print([n for n, _ in inspect.getmembers(json.JSONEncoder(), inspect.ismethod) if n in ("default", "encode", "indent")])

import torch.nn as nn

ACTIVATIONS = {k.lower(): v for k, v in vars(nn).items() if isinstance(v, type) and issubclass(v, nn.Module)}
print(ACTIVATIONS["silu"] is nn.SiLU, nn.__dict__["Conv2d"] is nn.Conv2d, "LayerNorm" in dir(nn))
