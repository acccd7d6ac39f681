# numpy, as far as models compute tables and sizes with it: arrays over tensors, functions of arrays and of plain numbers. What has no
# dimensions is a Python number. Files are refused by name; random numbers are in numpy/random.py.
import math

import torch
from math import pi, e, inf, nan

# functions below hide these builtins
_all, _any, _max, _min, _total = all, any, max, min, sum

newaxis = None
euler_gamma = 0.5772156649015329


# ---- types: np.float32 is a callable and what dtype= takes ----
class generic:
    _torch = None

    def __new__(cls, x=0):
        if isinstance(x, (ndarray, torch.Tensor, list, tuple)):
            return asarray(x).astype(cls)
        return torch.tensor(x, dtype=cls._torch).item() if cls._torch is not None else x


class number(generic):
    pass


class integer(number):
    pass


class floating(number):
    pass


class bool_(generic):
    _torch = torch.bool


class int8(integer):
    _torch = torch.int8


class int16(integer):
    _torch = torch.int16


class int32(integer):
    _torch = torch.int32


class int64(integer):
    _torch = torch.int64


class uint8(integer):
    _torch = torch.uint8


class uint16(integer):
    _torch = torch.uint16


class uint32(integer):
    _torch = torch.uint32


class uint64(integer):
    _torch = torch.uint64


class float16(floating):
    _torch = torch.float16


class float32(floating):
    _torch = torch.float32


class float64(floating):
    _torch = torch.float64


class complex64(number):
    _torch = torch.complex64


class complex128(number):
    _torch = torch.complex128


int_, intp, double, single, half = int64, int64, float64, float32, float16
_types = (bool_, int8, int16, int32, int64, uint8, uint16, uint32, uint64, float16, float32, float64, complex64, complex128)


def _dtype(d):
    if d is None or isinstance(d, torch.dtype):
        return d
    if d is float or d == "float" or d == "f8" or d == "double":
        return torch.float64
    if d is int or d == "int" or d == "i8":
        return torch.int64
    if d is bool or d == "bool":
        return torch.bool
    if d is complex:
        return torch.complex128
    for t in _types:
        if d is t or d == t.__name__ or (d == "f4" and t is float32) or (d == "i4" and t is int32):
            return t._torch
    raise TypeError(f"data type {d!r} is not understood")


class dtype:
    def __new__(cls, of=None):
        return _dtype(of)


# ---- arrays ----
def _t(x):
    return x._tensor if isinstance(x, ndarray) else x


def _wrap(t):
    return ndarray(t) if t.dim() else t.item()


def _key(k):
    if isinstance(k, tuple):
        return tuple([_key(i) for i in k])
    return torch.tensor(k) if isinstance(k, list) else _t(k)


def _reach(k):  # over how many dimensions a part of an index goes
    return k.dim() if isinstance(k, torch.Tensor) and k.dtype is torch.bool else int(k is not None)


# t[key], whose slices may go backwards.
def _item(t, key):
    parts, d = [_key(k) for k in (key if isinstance(key, tuple) else (key,))], 0
    for i, k in enumerate(parts):
        if k is Ellipsis:
            d = t.dim() - _total([_reach(p) for p in parts[i + 1:]])
            continue
        if isinstance(k, slice) and k.step is not None and k.step < 0:
            t, parts[i] = t.index_select(d, torch.tensor(list(range(*k.indices(t.size(d)))), dtype=torch.int64)), slice(None)
        d += _reach(k)
    return t[tuple(parts) if isinstance(key, tuple) else parts[0]]


# Both sides as tensors in numpy's type: a Python number does not narrow an array, and a float makes integers float64.
def _pair(a, b):
    a, b = [x if isinstance(x, (int, float, bool, complex)) else asarray(x)._tensor for x in (a, b)]
    if not isinstance(a, torch.Tensor) and not isinstance(b, torch.Tensor):
        a = asarray(a)._tensor
    if isinstance(a, (float, complex)) and not (b.is_floating_point() or b.is_complex()):
        b = b.double()
    if isinstance(b, (float, complex)) and not (a.is_floating_point() or a.is_complex()):
        a = a.double()
    if not isinstance(a, torch.Tensor):
        a = torch.tensor(a, dtype=torch.complex128 if isinstance(a, complex) else b.dtype)
    if not isinstance(b, torch.Tensor):
        b = torch.tensor(b, dtype=torch.complex128 if isinstance(b, complex) else a.dtype)
    if a.dtype != b.dtype and a.is_floating_point() != b.is_floating_point():
        a, b = [x if x.is_floating_point() or x.is_complex() else x.double() for x in (a, b)]
    return a, b


def _real(a):
    return a if a.is_floating_point() or a.is_complex() else a.double()


class ndarray:
    __array_priority__ = 1000

    def __init__(self, tensor):
        self._tensor = tensor

    shape = property(lambda self: tuple(self._tensor.shape), lambda self, s: setattr(self, "_tensor", self._tensor.reshape(s)))
    ndim = property(lambda self: self._tensor.dim())
    size = property(lambda self: self._tensor.numel())
    T = property(lambda self: ndarray(self._tensor.permute(tuple(reversed(range(self._tensor.dim()))))))
    real = property(lambda self: ndarray(self._tensor.real))
    imag = property(lambda self: ndarray(self._tensor.imag))

    @property
    def dtype(self):
        for t in _types:
            if t._torch == self._tensor.dtype:
                return t
        return self._tensor.dtype

    def __len__(self):
        return len(self._tensor)

    def __iter__(self):
        return iter([self[i] for i in range(len(self._tensor))])

    def __getitem__(self, key):
        return _wrap(_item(self._tensor, key))

    def __setitem__(self, key, value):
        self._tensor[_key(key)] = _t(value) if isinstance(value, (ndarray, int, float, bool)) else asarray(value)._tensor

    def __repr__(self):
        return "array(" + repr(self._tensor.tolist()) + ")"

    def __bool__(self):
        if self.size != 1:
            raise ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
        return bool(self._tensor.item())

    def __float__(self):
        return float(self._tensor.item())

    def __int__(self):
        return int(self._tensor.item())

    def __neg__(self):
        return ndarray(-self._tensor)

    def __invert__(self):
        return ndarray(~self._tensor)

    def __abs__(self):
        return ndarray(self._tensor.abs())

    def astype(self, dtype, copy=True):
        return ndarray(self._tensor.to(_dtype(dtype)).clone())

    def reshape(self, *shape, order="C"):
        if order != "C":
            raise NotImplementedError("numpy.reshape with order is not part of the model language")
        return ndarray(self._tensor.reshape(shape[0] if len(shape) == 1 else shape))

    def transpose(self, *axes):
        return self.T if not axes else ndarray(self._tensor.permute(axes[0] if isinstance(axes[0], (tuple, list)) else axes))

    def tolist(self):
        return self._tensor.tolist()

    def item(self, *at):
        return self._tensor[at].item() if at else self._tensor.item()

    def copy(self):
        return ndarray(self._tensor.clone())

    def fill(self, value):
        self._tensor.fill_(value)

    def flatten(self):
        return ndarray(self._tensor.reshape(-1).clone())

    def ravel(self):
        return ndarray(self._tensor.reshape(-1))


def _binary(name, f):
    def forward(a, b):
        return _wrap(f(*_pair(a, b)))

    setattr(ndarray, "__" + name + "__", forward)
    if name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(ndarray, "__r" + name + "__", lambda a, b: _wrap(f(*_pair(b, a))))


for _name, _f in (("add", lambda a, b: a + b), ("sub", lambda a, b: a - b), ("mul", lambda a, b: a * b),
                  ("truediv", lambda a, b: _real(a) / _real(b)), ("floordiv", lambda a, b: a // b), ("mod", lambda a, b: a % b),
                  ("pow", lambda a, b: a ** b), ("matmul", lambda a, b: a @ b), ("and", lambda a, b: a & b), ("or", lambda a, b: a | b),
                  ("xor", lambda a, b: a ^ b), ("lt", lambda a, b: a < b), ("le", lambda a, b: a <= b), ("gt", lambda a, b: a > b),
                  ("ge", lambda a, b: a >= b), ("eq", lambda a, b: a == b), ("ne", lambda a, b: a != b)):
    _binary(_name, _f)


def asarray(a, dtype=None):
    if isinstance(a, ndarray):
        return a if dtype is None else ndarray(a._tensor.to(_dtype(dtype)))
    if not isinstance(a, torch.Tensor):
        parts = [_t(x) for x in a] if isinstance(a, (list, tuple)) else a
        if isinstance(parts, list) and parts and _all(isinstance(x, torch.Tensor) for x in parts):
            a = torch.stack(parts)
        else:
            a = torch.tensor(_plain(a))
            if a.dtype == torch.float32:
                a = torch.tensor(_plain(parts), dtype=torch.float64)
    return ndarray(a if dtype is None else a.to(_dtype(dtype)))


def _plain(a):
    if isinstance(a, (list, tuple)):
        return [_plain(x) for x in a]
    return a.tolist() if isinstance(a, (ndarray, torch.Tensor)) else a


def array(object, dtype=None, copy=True, ndmin=0):
    a = asarray(object, dtype)
    return a.copy() if isinstance(object, (ndarray, torch.Tensor)) else a


ascontiguousarray = asarray


def _made(name, default=torch.float64):
    make = getattr(torch, name)
    return lambda shape, dtype=None: ndarray(make(shape if isinstance(shape, (tuple, list)) else (shape,), dtype=_dtype(dtype) or default))


zeros, ones, empty = _made("zeros"), _made("ones"), _made("zeros")


def full(shape, fill_value, dtype=None):
    d = _dtype(dtype) or (torch.bool if isinstance(fill_value, bool) else torch.int64 if isinstance(fill_value, int) else torch.float64)
    return ndarray(torch.full(shape if isinstance(shape, (tuple, list)) else (shape,), fill_value, dtype=d))


def zeros_like(a, dtype=None):
    return ndarray(torch.zeros_like(asarray(a)._tensor, dtype=_dtype(dtype)))


def ones_like(a, dtype=None):
    return ndarray(torch.ones_like(asarray(a)._tensor, dtype=_dtype(dtype)))


def full_like(a, fill_value, dtype=None):
    return ndarray(torch.full_like(asarray(a)._tensor, fill_value, dtype=_dtype(dtype)))


empty_like = zeros_like


def eye(N, M=None, k=0, dtype=None):
    M = N if M is None else M
    return ndarray((torch.arange(M).view(1, -1) - torch.arange(N).view(-1, 1) == k).to(_dtype(dtype) or torch.float64))


def identity(n, dtype=None):
    return eye(n, dtype=dtype)


def arange(start, stop=None, step=1, dtype=None):
    start, stop = (0, start) if stop is None else (start, stop)
    whole = _all(isinstance(x, int) for x in (start, stop, step))
    n = math.ceil((stop - start) / step)
    n = n if n > 0 else 0
    t = torch.arange(n, dtype=torch.int64 if whole else torch.float64) * step + start
    return ndarray(t if dtype is None else t.to(_dtype(dtype)))


def linspace(start, stop, num=50, endpoint=True, dtype=None):
    parts = num - 1 if endpoint else num
    t = torch.arange(num, dtype=torch.float64) * ((stop - start) / parts if parts else 0.0) + start
    if endpoint and num > 1:
        t[-1] = stop
    return ndarray(t if dtype is None else t.to(_dtype(dtype)))


def logspace(start, stop, num=50, endpoint=True, base=10.0, dtype=None):
    return (base ** linspace(start, stop, num, endpoint)).astype(dtype or float64)


# ---- functions of arrays and numbers ----
def _number(x):
    return isinstance(x, (int, float)) or torch._C.is_symbolic(x)


def _unary(name, of_number=None):
    f = getattr(torch, name)

    def call(x):
        if of_number is not None and _number(x):
            return of_number(x)
        return _wrap(f(_real(asarray(x)._tensor)))

    return call


sqrt, exp, log, log2, log10, log1p = [_unary(n, getattr(math, n)) for n in ("sqrt", "exp", "log", "log2", "log10", "log1p")]
sin, cos, tan, tanh, arctan, arcsin, arccos = [_unary(t, getattr(math, m)) for t, m in
                                               (("sin", "sin"), ("cos", "cos"), ("tan", "tan"), ("tanh", "tanh"), ("atan", "atan"), ("asin", "asin"), ("acos", "acos"))]
floor = _unary("floor", lambda x: float(math.floor(x)) if isinstance(x, float) else math.floor(x))
ceil = _unary("ceil", lambda x: float(math.ceil(x)) if isinstance(x, float) else math.ceil(x))
sinh, cosh, expm1, rint, exp2, sinc, deg2rad, rad2deg = [_unary(n) for n in ("sinh", "cosh", "expm1", "round", "exp2", "sinc", "deg2rad", "rad2deg")]
radians, degrees = deg2rad, rad2deg
isnan, isinf, isfinite = _unary("isnan", math.isnan), _unary("isinf", math.isinf), _unary("isfinite", math.isfinite)


def square(x):
    return x * x if _number(x) else _wrap(asarray(x)._tensor ** 2)


def abs(x):
    return math.fabs(x) if isinstance(x, float) else x if _number(x) and x >= 0 else -x if _number(x) else _wrap(asarray(x)._tensor.abs())


absolute = fabs = abs


def sign(x):
    return _wrap(asarray(x)._tensor.sign())


def round(a, decimals=0):
    t = asarray(a)._tensor
    if decimals < 0 and not t.is_floating_point():
        raise NotImplementedError("numpy.round of integers to tens")
    return _wrap(torch.round(t, decimals=decimals) if t.is_floating_point() else t.clone())


around = round


def _two(f, of_numbers=None):
    def call(a, b):
        if of_numbers is not None and _number(a) and _number(b):
            return of_numbers(a, b)
        return _wrap(f(*_pair(a, b)))

    return call


add, subtract, multiply = _two(lambda a, b: a + b), _two(lambda a, b: a - b), _two(lambda a, b: a * b)
divide = true_divide = _two(lambda a, b: _real(a) / _real(b))
power, mod, floor_divide = _two(lambda a, b: a ** b, lambda a, b: a ** b), _two(lambda a, b: a % b), _two(lambda a, b: a // b)
maximum = _two(torch.maximum, lambda a, b: a if a > b else b)
minimum = _two(torch.minimum, lambda a, b: a if a < b else b)
arctan2 = _two(torch.atan2)
equal, not_equal, less, less_equal, greater, greater_equal = [_two(f) for f in (
    torch.eq, torch.ne, torch.lt, torch.le, torch.gt, torch.ge)]
logical_and, logical_or, logical_xor = _two(torch.logical_and), _two(torch.logical_or), _two(torch.logical_xor)
hypot, gcd, lcm, fmod, remainder = _two(torch.hypot), _two(torch.gcd, math.gcd), _two(torch.lcm, math.lcm), _two(torch.fmod), mod
dot, matmul, outer, kron, inner = _two(torch.matmul), _two(torch.matmul), _two(torch.outer), _two(torch.kron), _two(torch.inner)


def logical_not(a):
    return _wrap(torch.logical_not(asarray(a)._tensor))


def _reduced(f, of_numbers=None):
    def call(a, axis=None, dtype=None, keepdims=False):
        if of_numbers is not None and axis is None and isinstance(a, (list, tuple)) and _all(_number(x) for x in a):
            return of_numbers(a)
        t = asarray(a, dtype)._tensor
        if axis is None:
            r = f(t.reshape(-1), 0, False)
            return _wrap(r.reshape((1,) * t.dim()) if keepdims else r)
        for k in sorted([k % t.dim() for k in (axis if isinstance(axis, (tuple, list)) else (axis,))], reverse=True):
            t = f(t, k, keepdims)
        return _wrap(t)

    return call


sum = _reduced(lambda t, k, keep: t.sum(k, keepdim=keep), lambda a: _added(a))
prod = _reduced(lambda t, k, keep: t.prod(k, keepdim=keep), math.prod)
product = prod
amax = max = _reduced(lambda t, k, keep: t.amax(k, keepdim=keep))
amin = min = _reduced(lambda t, k, keep: t.amin(k, keepdim=keep))
argmax = _reduced(lambda t, k, keep: t.argmax(k, keepdim=keep))
argmin = _reduced(lambda t, k, keep: t.argmin(k, keepdim=keep))
any = _reduced(lambda t, k, keep: t.bool().any(k, keepdim=keep))
all = _reduced(lambda t, k, keep: t.bool().all(k, keepdim=keep))
mean = _reduced(lambda t, k, keep: _real(t).mean(k, keepdim=keep), lambda a: _added(a) / len(a))


def _added(a):
    total = 0
    for x in a:
        total = total + x
    return total


def var(a, axis=None, dtype=None, ddof=0, keepdims=False):
    t = _real(asarray(a, dtype)._tensor)
    return _wrap(torch.var(t, axis if axis is not None else tuple(range(t.dim())), correction=ddof, keepdim=keepdims))


def std(a, axis=None, dtype=None, ddof=0, keepdims=False):
    return sqrt(var(a, axis, dtype, ddof, keepdims))


def cumsum(a, axis=None, dtype=None):
    t = asarray(a, dtype)._tensor
    return ndarray(t.reshape(-1).cumsum(0) if axis is None else t.cumsum(axis))


def cumprod(a, axis=None, dtype=None):
    t = asarray(a, dtype)._tensor
    return ndarray(t.reshape(-1).cumprod(0) if axis is None else t.cumprod(axis))


def clip(a, a_min=None, a_max=None):
    return _wrap(asarray(a)._tensor.clamp(a_min, a_max))


def where(condition, x=None, y=None):
    if x is None:
        return tuple([ndarray(i) for i in torch.where(asarray(condition)._tensor)])
    return _wrap(torch.where(asarray(condition)._tensor, *_pair(x, y)))


def concatenate(arrays, axis=0):
    return ndarray(torch.cat([asarray(a)._tensor for a in arrays], axis))


def stack(arrays, axis=0):
    return ndarray(torch.stack([asarray(a)._tensor for a in arrays], axis))


def vstack(arrays):
    return ndarray(torch.vstack([asarray(a)._tensor for a in arrays]))


def hstack(arrays):
    return ndarray(torch.hstack([asarray(a)._tensor for a in arrays]))


def meshgrid(*xi, indexing="xy"):
    parts = [asarray(x)._tensor.reshape(-1) for x in xi]
    sizes, out = [t.numel() for t in parts], []
    for i, t in enumerate(parts):
        t = t.reshape([-1 if j == i else 1 for j in range(len(parts))]).expand(sizes)
        out.append(ndarray(t.transpose(0, 1) if indexing == "xy" and len(parts) > 1 else t))
    return out


def einsum(equation, *operands):
    return _wrap(torch.einsum(equation, *[asarray(a)._tensor for a in operands]))


def reshape(a, shape, order="C"):
    return asarray(a).reshape(shape, order=order)


def transpose(a, axes=None):
    return asarray(a).T if axes is None else asarray(a).transpose(axes)


def expand_dims(a, axis):
    return ndarray(asarray(a)._tensor.unsqueeze(axis))


def squeeze(a, axis=None):
    return ndarray(asarray(a)._tensor.squeeze() if axis is None else asarray(a)._tensor.squeeze(axis))


def tile(a, reps):
    return ndarray(asarray(a)._tensor.tile(reps if isinstance(reps, (tuple, list)) else (reps,)))


def repeat(a, repeats, axis=None):
    return ndarray(torch.repeat_interleave(asarray(a)._tensor, repeats, axis))


def flip(a, axis=None):
    t = asarray(a)._tensor
    return ndarray(t.flip(tuple(range(t.dim())) if axis is None else axis))


def roll(a, shift, axis=None):
    return ndarray(torch.roll(asarray(a)._tensor, shift, axis))


def tril(m, k=0):
    return ndarray(torch.tril(asarray(m)._tensor, k))


def triu(m, k=0):
    return ndarray(torch.triu(asarray(m)._tensor, k))


def tri(N, M=None, k=0, dtype=None):
    M = N if M is None else M
    return ndarray((torch.arange(M).view(1, -1) - torch.arange(N).view(-1, 1) <= k).to(_dtype(dtype) or torch.float64))


def tril_indices(n, k=0, m=None):
    return tuple([ndarray(i) for i in torch.tril_indices(n, n if m is None else m, k)])


def triu_indices(n, k=0, m=None):
    return tuple([ndarray(i) for i in torch.triu_indices(n, n if m is None else m, k)])


def diag_indices(n, ndim=2):
    return (arange(n),) * ndim


def indices(dimensions, dtype=None):
    ways = [torch.arange(n, dtype=_dtype(dtype) or torch.int64) for n in dimensions]
    return ndarray(torch.stack(torch.meshgrid(*ways, indexing="ij")))


# np.mgrid[a:b:step, c:d:10j]: an imaginary step is a number of points, the end among them
class _Grid:
    def __init__(self, whole):
        self.whole = whole

    def __getitem__(self, key):
        ways = [self._points(s) for s in (key if isinstance(key, tuple) else (key,))]
        kind = torch.float64 if _any(t.is_floating_point() for t in ways) else torch.int64
        if not isinstance(key, tuple):
            return ndarray(ways[0])
        found = torch.meshgrid(*[t.to(kind) for t in ways], indexing="ij") if self.whole else ix_(*[ndarray(t.to(kind)) for t in ways])
        return ndarray(torch.stack(found)) if self.whole else found

    def _points(self, s):
        start = 0 if s.start is None else s.start
        if isinstance(s.step, complex):
            return linspace(start, s.stop, int(s.step.imag))._tensor
        return arange(start, s.stop, 1 if s.step is None else s.step)._tensor


mgrid, ogrid = _Grid(True), _Grid(False)


def diag(v, k=0):
    return ndarray(torch.diag(asarray(v)._tensor, k))


def nonzero(a):
    return where(a)


def flatnonzero(a):
    return where(asarray(a).ravel())[0]


def argwhere(a):
    return ndarray(torch.argwhere(asarray(a)._tensor))


def take(a, indices, axis=None):
    t, i = asarray(a)._tensor, asarray(indices)._tensor
    if axis is None:
        return _wrap(t.reshape(-1)[i])
    return _wrap(t.movedim(axis, 0)[i].movedim(tuple(range(i.dim())), tuple(range(axis % t.dim(), axis % t.dim() + i.dim()))))


def searchsorted(a, v, side="left"):
    return _wrap(torch.searchsorted(asarray(a)._tensor, asarray(v)._tensor, right=side == "right"))


def median(a, axis=None, keepdims=False):
    return _wrap(torch.quantile(asarray(a)._tensor.double(), 0.5, axis, keepdims))


def copy(a):
    return asarray(a).copy()


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return _wrap(torch.isclose(*_pair(a, b), rtol=rtol, atol=atol, equal_nan=equal_nan))


def convolve(a, v, mode="full"):
    kind = torch.result_type(asarray(a)._tensor, asarray(v)._tensor)
    a, v = [asarray(x)._tensor.double().view(1, 1, -1) for x in (a, v)]
    n, m = [_max(a.shape[2], v.shape[2]), _min(a.shape[2], v.shape[2])]
    whole = torch.nn.functional.conv1d(a, v.flip(2), padding=v.shape[2] - 1).view(-1).to(kind)
    cut = {"full": 0, "same": (m - 1) // 2, "valid": m - 1}[mode]
    return ndarray(whole[cut:cut + {"full": n + m - 1, "same": n, "valid": n - m + 1}[mode]])


def sort(a, axis=-1):
    return ndarray(torch.sort(asarray(a)._tensor, dim=axis, stable=True)[0])


def argsort(a, axis=-1, kind=None):
    return ndarray(torch.argsort(asarray(a)._tensor, dim=axis, stable=True))


def diff(a, n=1, axis=-1):
    return ndarray(torch.diff(asarray(a)._tensor, n, axis))


def append(arr, values, axis=None):
    arr, values = asarray(arr), asarray(values)
    return concatenate([arr.ravel(), values.ravel()] if axis is None else [arr, values], 0 if axis is None else axis)


def array_split(ary, indices_or_sections, axis=0):
    return [ndarray(t) for t in torch.tensor_split(asarray(ary)._tensor, indices_or_sections, axis)]


def split(ary, indices_or_sections, axis=0):
    if isinstance(indices_or_sections, int) and asarray(ary).shape[axis] % indices_or_sections:
        raise ValueError("array split does not result in an equal division")
    return array_split(ary, indices_or_sections, axis)


def pad(array, pad_width, mode="constant", constant_values=0):
    if mode != "constant":
        raise NotImplementedError("numpy.pad with mode " + repr(mode))
    t = asarray(array)._tensor
    rows = (pad_width,) if isinstance(pad_width, int) else pad_width
    rows = [rows] if isinstance(rows[0], int) else rows  # of all dimensions, or a row for each
    rows = rows * t.dim() if len(rows) == 1 else rows
    if len(rows) != t.dim():
        raise ValueError(f"pad_width has {len(rows)} rows for {t.dim()} dimensions")
    return ndarray(torch.nn.functional.pad(t, [n for r in reversed(rows) for n in (r[0], r[-1])], value=constant_values))


def interp(x, xp, fp):
    x, xp, fp = [asarray(v)._tensor.double() for v in (x, xp, fp)]
    i = (torch.searchsorted(xp, x, right=True) - 1).clamp(max=len(xp) - 2).clamp(min=0)
    k = (i + 1).clamp(max=len(xp) - 1)
    y = fp[i] + (x - xp[i]) * ((fp[k] - fp[i]) / (xp[k] - xp[i]))
    return _wrap(torch.where(x >= xp[-1], fp[-1], torch.where(x <= xp[0], fp[0], y)))


def ix_(*args):
    return tuple([ndarray(asarray(a)._tensor.reshape([-1 if j == i else 1 for j in range(len(args))])) for i, a in enumerate(args)])


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    t = asarray(ar)._tensor
    values, inverse, counts = torch.unique(t, return_inverse=True, return_counts=True)
    n = t.numel()
    first = torch.full(values.shape, n, dtype=torch.int64).scatter_reduce(0, inverse.flatten(), torch.arange(n), "amin")
    found = [(values, True), (first, return_index), (inverse, return_inverse), (counts, return_counts)]
    asked = [ndarray(v) for v, wanted in found if wanted]
    return asked[0] if len(asked) == 1 else tuple(asked)


def nan_to_num(x, copy=True, nan=0.0, posinf=None, neginf=None):
    t = torch.nan_to_num(asarray(x)._tensor, nan, posinf, neginf)
    return _wrap(t if copy else asarray(x)._tensor.copy_(t))


def finfo(dtype):
    return torch.finfo(_dtype(dtype))


def iinfo(dtype):
    return torch.iinfo(_dtype(dtype))


def _window(f):
    return lambda M: ndarray(f(M, periodic=False, dtype=torch.float64))


hanning, hamming, blackman = _window(torch.hann_window), _window(torch.hamming_window), _window(torch.blackman_window)


# What torch has by the same name and with the same meaning of its arguments, axis= apart.
def _of_torch(f):
    def call(a, *args, **kwargs):
        kwargs = {"dim" if k == "axis" else k: _t(v) for k, v in kwargs.items()}
        a = [asarray(x)._tensor for x in a] if f in _of_several else asarray(a)._tensor
        return _wrap(f(a, *[_t(x) for x in args], **kwargs))

    return call


_of_several = (torch.column_stack, torch.dstack)
(swapaxes, moveaxis, ravel, broadcast_to, trunc, trace, flipud, fliplr, rot90, negative, bincount, cross, count_nonzero, column_stack,
 dstack, diagonal, atleast_1d, atleast_2d) = [_of_torch(f) for f in (
     torch.swapaxes, torch.moveaxis, torch.ravel, torch.broadcast_to, torch.trunc, torch.trace, torch.flipud, torch.fliplr,
     torch.rot90, torch.negative, torch.bincount, torch.linalg.cross, torch.count_nonzero, torch.column_stack, torch.dstack, torch.diagonal,
     torch.atleast_1d, torch.atleast_2d)]


def _number_as(x, dtype):  # of a Python number, which stands for a scalar of numpy
    d = _dtype(dtype)
    return int(x) if d is torch.int64 or d is torch.int32 else float(x) if d is torch.float64 else asarray(x).astype(d).item()


def ndim(a):
    return asarray(a).ndim


def shape(a):
    return asarray(a).shape


def size(a):
    return asarray(a).size


def isscalar(x):
    return isinstance(x, (int, float, complex, str))


def array_equal(a, b):
    return asarray(a).shape == asarray(b).shape and bool(all(asarray(a) == asarray(b)))


def allclose(a, b, rtol=1e-5, atol=1e-8):
    return torch.allclose(*_pair(a, b), rtol=rtol, atol=atol)


def set_printoptions(*args, **kwargs):
    pass


for _name, _f in (("sum", sum), ("prod", prod), ("max", amax), ("min", amin), ("argmax", argmax), ("argmin", argmin), ("any", any), ("all", all),
                  ("mean", mean), ("var", var), ("std", std), ("cumsum", cumsum), ("cumprod", cumprod), ("clip", clip), ("round", round),
                  ("squeeze", squeeze), ("repeat", repeat), ("dot", dot), ("argsort", argsort), ("sort", sort)):
    setattr(ndarray, _name, _f)


def __getattr__(name):
    if name in ("load", "save", "savez", "savez_compressed", "loadtxt", "savetxt", "fromfile", "memmap", "frombuffer", "genfromtxt"):
        raise NotImplementedError("numpy." + name + " is not part of the model language: it reads or writes files")
    raise AttributeError("module 'numpy' has no attribute '" + name + "'")
