# What exceptions say, in Python's words, and the special methods of built-in types called by name.
class A:
    x = 1

    def m(self, a):
        pass


def says(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)


for f in (lambda: [1, 2][5], lambda: (1,)[3], lambda: "abc"["a"], lambda: [1]["a"], lambda: [1] * 1.5, lambda: 1 in 5, lambda: 3 in A(), lambda: dict([1]),
          lambda: dict([(1, 2, 3)]), lambda: float(None), lambda: range(1.0), lambda: 1 % 0, lambda: divmod(1, 0), lambda: 1.5 % 0, lambda: pow(2, -1, 4),
          lambda: isinstance(1, 2), lambda: A(1), lambda: A().m(1, 2), lambda: A.m(), lambda: (lambda a, b=1: 0)(1, 2, 3), lambda: (lambda a, b, c: 0)(),
          lambda: (1,).index(5), lambda: reversed(5), lambda: ord("ab"), lambda: ord(1), lambda: max([]), lambda: int(float("inf")), lambda: 2.0**5000,
          lambda: print(1, foo=2), lambda: "%s" % (1, 2), lambda: {}["k"]):
    says(f)
try:
    a, b = 1, 2, 3
except ValueError as e:
    print(e)
try:
    with A():
        pass
except TypeError as e:
    print(e)
try:
    try:
        1 / 0
    except ZeroDivisionError:
        raise RuntimeError("x") from None
except RuntimeError as e:
    e.add_note("more")
    print(e.__suppress_context__, type(e.__context__).__name__, e.__notes__)
print(pow(3, -1, 7), hash(1.0) == hash(1) == hash(True), hash((1, 2.0)) == hash((1.0, 2)))


class D(dict):
    def __repr__(self):
        return "D" + super().__repr__()

    def __or__(self, other):
        return D(super().__or__(other))

    def __eq__(self, other):
        return super().__eq__(other)


class L(list):
    def __repr__(self):
        return "L" + super().__repr__()

    def __setitem__(self, i, v):
        super().__setitem__(i, v * 2)

    def __add__(self, other):
        return L(super().__add__(other))


class E(Exception):
    def __str__(self):
        return f"<{super().__str__()}>"

    def __repr__(self):
        return "!" + super().__repr__()


some = L([3, 1])
some[0] = 5
print(D(a=1), D(a=1) | {"b": 2}, D(a=1) == {"a": 1}, some, some + [2], some == [10, 1], str(E("m")), repr(E("m", 2)))
print((2.5).__repr__(), "a".__repr__(), str.__str__("x"), [1].__add__([2]), (3).__add__(4), {1}.__or__({2}) == {1, 2}, "b".__lt__("c"), (5).__and__(4), (7.5).__floordiv__(2.0))


class Attr(dict):
    __getattr__ = dict.get
    __setattr__ = dict.__setitem__
    __delattr__ = dict.__delitem__


import copy
import types

o = Attr(x=1)
o.y = 2
del o.x
c = copy.deepcopy(o)
print(o, o.y, o.none, c, c is o, hasattr(o, "anything"))


class Base:
    @property
    def v(self):
        return "base"


class Derived(Base):
    @property
    def v(self):
        return "derived " + Base.v.fget(self)

    def __init__(self):
        self.m = types.MethodType(lambda self, x: (self.v, x), self)


print(Derived().v, Derived().m(3), Base.v.fset)
for made in (types.FunctionType, types.GeneratorType, type(len)):
    try:
        made()
        print("made")
    except TypeError as e:
        print("refused")

print("é ß".upper(), "ÀÉ".lower(), "straße".title(), "привет".capitalize(), "ΣΑΣ".lower(), "日本 x".upper(), ascii("é€😀\n"), f"{'é'!a}", "%a" % "ü", "Ab Cd".istitle(), "Ab cd".istitle(),
      "a\nb\r\nc".splitlines(True), "x\t".isprintable())
print(f"{1+2j:.2f} {3.0+0j:>12.1e}|")


for marks in ({"sep": 3}, {"end": []}, {"sep": None, "end": None}, {"sep": "-", "flush": True}):
    try:
        print(1, 2, **marks)
    except TypeError as e:
        print(e)
