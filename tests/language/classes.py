class A:
    def __init__(s):
        s.v = 1

    def __getattr__(s, n):
        return "ga:" + n

    @property
    def p(s):
        return s.v + 1

    @p.setter
    def p(s, v):
        s.v = v

    @staticmethod
    def st(x):
        return x * 2

    @classmethod
    def cm(cls):
        return cls.__name__


class B(A):
    @property
    def p(s):
        return super().p * 10


b = B()
print(b.p, b.q, B.st(3), b.cm(), isinstance(b, A), issubclass(B, A), [c.__name__ for c in B.__mro__])
a = A()
a.p = 5
print(a.p, vars(a), hasattr(a, "zzz"))


class X:
    def __repr__(s):
        return "X!"

    def __eq__(s, o):
        return True

    def __hash__(s):
        return 1

    def __len__(s):
        return 0

    def __call__(s, *a):
        return a

    def __getitem__(s, i):
        return i

    def __contains__(s, x):
        return x == 3

    def __iter__(s):
        return iter([1, 2])

    def __add__(s, o):
        return "add"

    def __radd__(s, o):
        return "radd"

    def __lt__(s, o):
        return True

    def __neg__(s):
        return "neg"

    def __bool__(s):
        return False

    def __enter__(s):
        print("in")
        return s

    def __exit__(s, *a):
        print("out", a[0] is None)
        return True


x = X()
print(x, [x], x == 5, bool(x), x(1, 2), x[1:2, 3], 3 in x, list(x), x + 1, 1 + x, x < 1, -x)
with x as y:
    raise ValueError("q")


class Meta(type):
    pass


print(abs(-2.5), [1].__len__(), int(3).real, (3).numerator, 1_000_000, 0x_FF, 1e-3, 3j)

import copy
import abc


class Base(abc.ABC):
    @abc.abstractmethod
    def f(self): ...
class Imp(Base):
    def f(self):
        return 1


print(Imp().f())
try:
    Base()
except TypeError as e:
    print(type(e).__name__)


class Desc:
    def __set_name__(self, o, n):
        self.n = n

    def __get__(self, i, o):
        return self if i is None else i.__dict__.get(self.n, "unset")

    def __set__(self, i, v):
        i.__dict__[self.n] = v * 2


class U:
    d = Desc()


u = U()
print(u.d)
u.d = 4
print(u.d, u.__dict__)


class Sub:
    reg = []

    def __init_subclass__(cls, **k):
        super().__init_subclass__()
        Sub.reg.append((cls.__name__, k))


class S1(Sub, tag=1):
    pass


print(Sub.reg)
print(type("Dyn", (Sub,), {"v": 3})().v, Sub.reg)


class I:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        self.n += 1
        if self.n > 3:
            raise StopIteration
        return self.n


print(list(I()), sum(I()), max(I()), dict(zip(I(), "abc")), next(iter([]), "dflt"), list(iter([1, 2])), tuple(I()), [*I()], {*I()})

try:
    assert 1 == 2, "msg"
except AssertionError as e:
    print(e)
try:
    {}["k"]
except KeyError as e:
    print(e)
try:
    int("x")
except ValueError as e:
    print(e)
try:
    None.foo
except AttributeError as e:
    print(e)
try:
    1 + "a"
except TypeError as e:
    print(e)
try:
    f_undefined
except NameError as e:
    print(e)
try:
    (1, 2, 3)[5]
except (IndexError, KeyError) as e:
    print(type(e).__name__)
try:
    raise NotImplementedError
except NotImplementedError as e:
    print(repr(e))


class MyE(Exception):
    def __init__(self, m, c):
        super().__init__(m)
        self.c = c


try:
    raise MyE("m", 3)
except Exception as e:
    print(e, e.c, isinstance(e, MyE))


class I(int):
    def twice(self):
        return self * 2


print(I(3) + 1, I(3).twice(), isinstance(I(2), int), I(5) == 5, range(I(3)), [1, 2, 3][I(1)], repr(I(4)))


class L(list):
    def last(self):
        return self[-1]


class D(dict):
    __getattr__ = dict.get

    def __setattr__(self, k, v):
        self[k] = v


class F(float):
    pass


class T(tuple):
    def __new__(cls, *a):
        return super().__new__(cls, a)


class S(str):
    def shout(self):
        return self.upper() + "!"


l = L([1, 2])
l.append(3)
print(l, l.last(), len(l))
d = D(a=1)
d.b = 2
print(d, d.a, d.b, d.zz)
print(F(1.5) + 1, T(1, 2), S("a").shout(), isinstance(S("x"), str), {S("a"): 1}["a"])


class UD(dict):
    def __missing__(self, k):
        return k * 2

    def __setitem__(self, k, v):
        super().__setitem__(k, v + 1)


u = UD()
u[1] = 1
print(u, u[5], u.get(7), len(u), 1 in u)


class A:
    x = 1

    def m(self):
        return "A"


class B(A):
    def m(self):
        return "B" + super().m()


class C(A):
    def m(self):
        return "C" + super().m()


class D(B, C):
    def m(self):
        return "D" + super().m()


print(D().m(), D.__mro__[1].__name__, D.x, super(B, D()).m(), A.m(D()), D.__name__, D().__class__.__name__)
A.x = 5
print(D().x)
D.x = 6
print(A.x)
d = D()
d.x = 7
del d.x
print(d.x, D.__dict__["x"], "m" in dir(d))


class P:
    def __init__(self):
        self._v = 0

    def g(self):
        return self._v

    def s(self, v):
        self._v = v

    def d(self):
        self._v = "deleted"

    v = property(g, s, d, "doc")


p = P()
p.v = 3
print(p.v)
del p.v
print(p.v)


class RO:
    @property
    def z(self):
        return 1


try:
    RO().z = 2
except AttributeError as e:
    print("AE")


class V:
    def __init__(self, *c):
        self.c = c

    def __add__(s, o):
        return V(*[a + b for a, b in zip(s.c, o.c)])

    def __mul__(s, k):
        return V(*[a * k for a in s.c]) if isinstance(k, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __eq__(s, o):
        return s.c == o.c

    def __repr__(s):
        return f"V{s.c}"

    def __matmul__(s, o):
        return sum(a * b for a, b in zip(s.c, o.c))

    def __iadd__(s, o):
        s.c = (s + o).c
        return s

    def __abs__(s):
        return 9

    def __round__(s, n=0):
        return "r"

    def __int__(s):
        return 4

    def __float__(s):
        return 4.5

    def __index__(s):
        return 2

    def __getattr__(s, n):
        if n == "w":
            return "W"
        raise AttributeError(n)

    def __format__(s, spec):
        return "F" + spec

    def __reversed__(s):
        return reversed(s.c)

    def __setitem__(s, i, v):
        s.c = s.c[:i] + (v,) + s.c[i + 1 :]

    def __delitem__(s, i):
        s.c = s.c[:i] + s.c[i + 1 :]

    def __len__(s):
        return len(s.c)

    def __ne__(s, o):
        return not s == o

    def __le__(s, o):
        return True

    def __divmod__(s, o):
        return "dm"

    def __pow__(s, o):
        return "pw"

    def __invert__(s):
        return "inv"

    def __and__(s, o):
        return "and"


v = V(1, 2)
print(
    v + V(3, 4),
    v * 2,
    3 * v,
    v @ V(1, 1),
    v == V(1, 2),
    v != V(1, 2),
    abs(v),
    int(v),
    float(v),
    [5, 6, 7][v],
    v.w,
    f"{v:x}",
    list(reversed(v)),
)
v += V(1, 1)
v[0] = 9
print(v)
del v[0]
print(v, len(v), v <= 1, divmod(v, 1), v**2, ~v, v & 1, hasattr(v, "q"), round(v))

x = 10


def o():
    x = 1

    class K:
        y = x

        def m(self):
            return x

    def i():
        return x

    x = 2
    return K.y, K().m(), i()


print(o())
print(
    [x for x in range(3)],
    x,
    {k: v for k, v in {"a": 1}.items()},
    [(i, j) for i in range(2) for j in "ab" if i],
    [lambda: i for i in range(2)][0](),
)

try:
    raise ValueError("a", "b")
except ValueError as e:
    print(e.args, str(e), repr(e))


def r():
    try:
        return 1
    finally:
        print("f")


print(r())


def r2():
    for i in range(3):
        try:
            if i == 1:
                continue
            if i == 2:
                break
            print(i)
        finally:
            print("fin", i)


r2()
try:
    try:
        raise KeyError("x")
    except KeyError:
        raise
except Exception as e:
    print("re", repr(e))
try:
    raise RuntimeError("z") from None
except RuntimeError as e:
    print(e.__cause__)


class E1(ValueError):
    pass


try:
    raise E1
except (TypeError, ValueError) as e:
    print(type(e).__name__)
else:
    print("else")
try:
    pass
except Exception:
    pass
else:
    print("else2")
finally:
    print("f2")


class F(float):
    def half(self):
        return self / 2


print(F(3).half())


class A:
    def __init__(self, v):
        self.v = v

    def __eq__(self, o):
        return isinstance(o, A) and self.v == o.v


a = A(1)
print(a == A(1), a != A(2), a in [A(1)], [A(1)].index(a), [A(1)].count(a))
try:
    hash(a)
except TypeError as e:
    print("unhashable")


class B:
    def __lt__(self, o):
        return False

    def __str__(self):
        return "strB"


print(str(B()), f"{B()}", "%s" % B(), "{}".format(B()), sorted([B(), B()]) is not None)
print(getattr(A(3), "v"), getattr(A(3), "w", "dflt"), hasattr(A, "v"))
setattr(a, "z", 4)
print(a.z, vars(a), a.__dict__)
delattr(a, "z")
print(hasattr(a, "z"))


class C:
    n = 0

    def __new__(cls, *a):
        o = super().__new__(cls)
        cls.n += 1
        return o

    def __init__(self, *a):
        self.a = a

    def __getattribute__(self, k):
        return object.__getattribute__(self, k)

    def __delattr__(self, k):
        print("del", k)
        super().__delattr__(k)


c = C(1, 2)
print(C.n, c.a)
del c.a


class Ctx:
    def __enter__(self):
        return 1

    def __exit__(self, t, v, tb):
        print(t.__name__ if t else None, v)
        return False


try:
    with Ctx() as z:
        raise KeyError(z)
except KeyError:
    print("prop")


class Node:
    count = 0

    def __init__(self, val, *kids):
        self.val = val
        self.kids = kids
        Node.count += 1
        self.__priv = 3

    def depth(self):
        return 1 + max((k.depth() for k in self.kids), default=0)

    def walk(self):
        return [self.val] + [v for k in self.kids for v in k.walk()]

    def getp(self):
        return self.__priv


n = Node(1, Node(2, Node(3)), Node(4))
print(n.depth(), n.walk(), Node.count, n.getp(), n._Node__priv, hasattr(n, "__priv"))


def rec(n):
    return 1 if n <= 1 else n * rec(n - 1)


print(rec(20), rec(30))


def deep(n):
    return 0 if n == 0 else 1 + deep(n - 1)


print(deep(900))


def told(kind, **words):
    try:
        raise kind("not here", **words)
    except (AttributeError, NameError, TypeError) as e:
        return type(e).__name__, str(e), getattr(e, "name", None), getattr(e, "obj", None)


print(told(AttributeError, name="x", obj=[1]), told(NameError, name="y"), told(AttributeError))


# __slots__
class Point:
    __slots__ = ("x", "y", "__seen")

    def __init__(self):
        self.x, self.__seen = 1, True


class Named(Point):
    __slots__ = "name"


class Loose(Point):
    pass


class Mapped(Point):
    __slots__ = ("__dict__",)


for kind in (Point, Named, Loose, Mapped):
    p = kind()
    for name in ("y", "name", "z"):
        try:
            setattr(p, name, 2)
            print(kind.__name__, name, getattr(p, name))
        except AttributeError as e:
            print(e)
    print(hasattr(p, "__dict__"))
p = Point()
del p.x
try:
    vars(p)
except TypeError as e:
    print(e)
print(copy.copy(Point()).x, copy.deepcopy(Named()).x)
for read in (lambda: p.x, lambda: p.y):
    try:
        read()
    except AttributeError:
        print("not set")
try:
    p.kind = 1
except AttributeError as e:
    print(e)
try:

    class Both:
        __slots__ = ["a"]
        a = 1
except ValueError as e:
    print(e)


class Documented:
    @property
    def f(self):
        "of f"

    @f.setter
    def f(self, v):
        pass

    g = property(lambda self: 1, doc="of g")

    def __pow__(self, exponent, modulus=None):
        return exponent, modulus


print(Documented.f.__doc__, Documented.g.__doc__, pow(Documented(), 2, 5), pow(Documented(), 2))


# __bases__ of a class of the file: read, and assigned as a decorator of fairseq does
class Counted:
    def __init__(self):
        super().__init__()
        self.tag = "counted"


def with_counted(cls):
    cls.__bases__ = (Counted,) + tuple(b for b in cls.__bases__ if b != Counted)
    return cls


class Plain:
    def m(self):
        return "plain"


@with_counted
class Tagged(Plain):
    pass


print(Tagged().tag, Tagged().m(), [b.__name__ for b in Tagged.__bases__], [c.__name__ for c in Tagged.__mro__], isinstance(Tagged(), Counted))
for bad in ("x", ()):
    try:
        Plain.__bases__ = bad
    except TypeError as e:
        print(e)
