# operator.
add = lambda a, b: a + b
sub = lambda a, b: a - b
mul = lambda a, b: a * b
truediv = lambda a, b: a / b
floordiv = lambda a, b: a // b
mod = lambda a, b: a % b
pow = lambda a, b: a ** b
concat = lambda a, b: a + b
matmul = lambda a, b: a @ b
and_ = lambda a, b: a & b
or_ = lambda a, b: a | b
xor = lambda a, b: a ^ b
lshift = lambda a, b: a << b
rshift = lambda a, b: a >> b
neg = lambda a: -a
pos = lambda a: +a
not_ = lambda a: not a
invert = lambda a: ~a
inv = invert
abs = abs
lt = lambda a, b: a < b
le = lambda a, b: a <= b
eq = lambda a, b: a == b
ne = lambda a, b: a != b
gt = lambda a, b: a > b
ge = lambda a, b: a >= b
is_ = lambda a, b: a is b
is_not = lambda a, b: a is not b
contains = lambda a, b: b in a
getitem = lambda a, b: a[b]
truth = bool
index = lambda a: range(a).stop
length_hint = lambda a, default=0: len(a) if hasattr(a, "__len__") else default
countOf = lambda a, b: sum(1 for x in a if x is b or x == b)


def indexOf(a, b):
    for i, x in enumerate(a):
        if x is b or x == b:
            return i
    raise ValueError("sequence.index(x): x not in sequence")


def call(f, /, *args, **kwargs):
    return f(*args, **kwargs)


def delitem(a, b):
    del a[b]


def iadd(a, b):
    a += b
    return a


def isub(a, b):
    a -= b
    return a


def imul(a, b):
    a *= b
    return a


def itruediv(a, b):
    a /= b
    return a


def ifloordiv(a, b):
    a //= b
    return a


def imod(a, b):
    a %= b
    return a


def ipow(a, b):
    a **= b
    return a


def imatmul(a, b):
    a @= b
    return a


def iand(a, b):
    a &= b
    return a


def ior(a, b):
    a |= b
    return a


def ixor(a, b):
    a ^= b
    return a


def ilshift(a, b):
    a <<= b
    return a


def irshift(a, b):
    a >>= b
    return a


iconcat = iadd


def setitem(a, b, c):
    a[b] = c


def itemgetter(*items):
    if len(items) == 1:
        return lambda obj: obj[items[0]]
    return lambda obj: tuple(obj[i] for i in items)


def attrgetter(*attrs):
    def one(obj, path):
        for name in path.split("."):
            obj = getattr(obj, name)
        return obj

    if len(attrs) == 1:
        return lambda obj: one(obj, attrs[0])
    return lambda obj: tuple(one(obj, a) for a in attrs)


def methodcaller(name, /, *args, **kwargs):
    return lambda obj: getattr(obj, name)(*args, **kwargs)


def _reversed(f):  # of x.__radd__
    return lambda a, b: f(b, a)


def __getattr__(name):  # __add__ is add
    names, bare = globals(), name.strip("_")
    found = names.get(bare, names.get(bare + "_")) if name == "__" + bare + "__" else None
    if found is None:
        raise AttributeError("module 'operator' has no attribute '" + name + "'")
    return found
