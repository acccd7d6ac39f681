def f(a, /, b, *, c=3, **k):
    return a, b, c, k


print(f(1, 2), f(1, b=2, c=4, z=5), f(*[1, 2], **{"c": 1}))
try:
    f(a=1, b=2)
except TypeError as e:
    print(type(e).__name__)

try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise KeyError("k") from e
    finally:
        print("fin")
except KeyError as e:
    print(repr(e), e.args, type(e.__cause__).__name__)
else:
    print("no")

global_v = 1


def fn():
    global global_v
    global_v += 1


fn()
print(global_v)
del global_v
try:
    print(global_v)
except NameError as e:
    print(e)

d = {"b": 1, "a": 2}
print(
    sorted(d),
    sorted(d, key=d.get),
    max(d, key=d.get),
    d.pop("b"),
    d.pop("zz", None),
    dict.fromkeys("ab", 0),
    {**d},
    list(d.items()),
    d == {"a": 2},
    "a" in d.keys(),
    2 in d.values(),
    len(d.items()),
    [k for k in d],
    {v: k for k, v in d.items()},
    dict(zip("ab", [1, 2])),
    d.copy() is d,
)
d.update(b=5, **{"c": 6})
d.update([("z", 1)])
print(d, next(iter(d)), list(d.values())[-1])
d.clear()
print(d, not d)
for k in list({"x": 1}):
    print(k)
try:
    for k in d2 if False else {"x": 1, "y": 2}:
        pass
except RuntimeError:
    pass


def outer():
    x = [0]

    def inner():
        x[0] += 1
        return x[0]

    return inner


i = outer()
i()
print(i())


def kw(**k):
    return sorted(k.items())


print(kw(b=1, a=2))


def star(a, *b, c, d=4, **e):
    return a, b, c, d, e


print(star(1, 2, 3, c=5, f=6))
print(star(*(1, 2), c=3, **{"d": 9}))
try:
    star(1)
except TypeError as e:
    print(e)
try:
    star()
except TypeError as e:
    print(e)


def df(a, b):
    pass


try:
    df(1, b=2, c=3)
except TypeError as e:
    print(e)
try:
    df(1, a=2)
except TypeError as e:
    print(e)

import math

print(
    math.floor(3.7),
    math.ceil(-3.2),
    math.log(math.e),
    math.log10(1000),
    math.log1p(0),
    math.expm1(0),
    math.pow(2, 3),
    math.tau,
    math.isnan(math.nan),
    math.isinf(math.inf),
    math.isfinite(1),
    math.radians(180),
    math.sinh(0),
    math.erf(0),
    math.gamma(5),
    math.lgamma(1),
    math.nextafter(1, 2),
    math.ulp(1.0),
    math.ulp(-1e300),
    math.exp2(3),
    math.gcd(),
    math.gcd(4),
    math.lcm(2, 3, 4),
    math.prod([]),
    math.asin(1) > 1.5,
    math.floor(-0.5),
)
try:
    math.sqrt(-1)
except ValueError as e:
    print(e)
try:
    math.log(0)
except ValueError as e:
    print(e)
try:
    math.factorial(-1)
except ValueError as e:
    print("fe")
try:
    math.exp(1000)
except OverflowError as e:
    print("over")
try:
    1 // 0
except ZeroDivisionError as e:
    print(e)
try:
    1.0 / 0
except ZeroDivisionError as e:
    print(e)
try:
    5 % 0
except ZeroDivisionError as e:
    print("mod")


def down(n):
    return down(n + 1) + 1


class Endless:
    def __repr__(self):
        return repr(self)

    def __getattr__(self, name):
        return getattr(self, name + "x")


for function in (lambda: down(0), lambda: repr(Endless()), lambda: Endless().a):
    try:
        function()
    except RecursionError as e:
        print(type(e).__name__, str(e)[:32], isinstance(e, RuntimeError))


def raises(f):
    try:
        f()
    except Exception as e:
        return e


class Leaves:
    def __enter__(self):
        return self

    def __exit__(self, t, v, tb):
        [][1]


def in_finally():
    try:
        try:
            1 / 0
        finally:
            {}["a"]
    finally:
        raise ValueError("v")


def in_with():
    with Leaves():
        1 / 0


def called():
    try:
        raise KeyError("k")
    except KeyError:
        int("x")


def after():
    try:
        try:
            raise KeyError("k")
        except KeyError:
            raise RuntimeError("r")
    except RuntimeError:
        pass
    1 / 0


def returns():
    try:
        1 / 0
    finally:
        return 3


for function in (in_finally, in_with, called, after):
    e = raises(function)
    print(repr(e), repr(e.__context__), e.__context__ and repr(e.__context__.__context__), e.__cause__)
print(returns(), raises(lambda: returns() + (0).real / 0).__context__)
e = raises(lambda: Leaves().gone)
print(e.name, type(e.obj).__name__, AttributeError("x").name, AttributeError("x", name="n", obj=3).obj, raises(lambda: gone).name, NameError("x").name)
e = ImportError("m", name="k", path="p")
print(e.name, e.path, e.msg, ImportError().msg, StopIteration(4).value, SystemExit(1, 2).code, SystemExit(3).code, SystemExit().code)
for function in (lambda: ValueError("v", name="n"), lambda: ImportError(obj=2), lambda: ValueError("m").msg, lambda: ValueError("m").message, lambda: KeyError(1).name):
    print(repr(raises(function)))
print(repr(IndentationError("i")), issubclass(IndentationError, SyntaxError))


def wrong():
    raise 3


print(repr(raises(wrong)))


def again():
    first = ValueError("first")
    try:
        try:
            raise first
        except ValueError:
            raise KeyError("second")
    except KeyError:
        raise first


print(repr(raises(again).__context__), raises(again).__context__.__context__)

# The built-in exceptions and what they derive from.
families = {
    OSError: (BlockingIOError, ChildProcessError, ConnectionError, FileExistsError, InterruptedError, IsADirectoryError, NotADirectoryError, PermissionError,
              ProcessLookupError, TimeoutError),
    ConnectionError: (BrokenPipeError, ConnectionAbortedError, ConnectionRefusedError, ConnectionResetError),
    UnicodeError: (UnicodeDecodeError, UnicodeEncodeError, UnicodeTranslateError),
    Warning: (BytesWarning, EncodingWarning, ImportWarning, PendingDeprecationWarning, ResourceWarning, SyntaxWarning, UnicodeWarning),
    Exception: (BufferError, ReferenceError, StopAsyncIteration, SystemError),
    IndentationError: (TabError,),
}
for base, classes in families.items():
    print(base.__name__, [(e.__name__, issubclass(e, base), issubclass(e, ValueError)) for e in classes])
print(EnvironmentError is OSError, IOError is OSError)
