# Complex numbers in ONNX: a value is two tensors, its real and its imaginary parts, named by a tuple. What moves elements or is linear does so with
# each part; what the model takes and gives is one tensor with the parts along a last dimension of 2, as torch.onnx has it.
#
# A rule is rule(w, values, *args) as in onnx_write.py and gives a pair of names for every complex result.
import itertools
import math

import _onnx
import onnx_write_shape
from onnx_write_formula import X, below, exp, log, magnitude, sqrt
from onnx_write_math import Val_of, vector_norm
from onnx_write_values import DOUBLE, FLOAT, Sym, Val

PART = {14: FLOAT, 15: DOUBLE}


def is_complex(v):
    return isinstance(v, Val) and v.code in PART


def any_complex(items):
    return any([is_complex(v) or isinstance(v, complex) or isinstance(v, list) and any_complex(v) for v in items])


def zeros(w, sizes, code):
    return w.e("Expand", [w.const(0.0, code), w.sizes(sizes)])


def numbers(v):
    return (v, 0.0) if isinstance(v, Sym) else (complex(v).real, complex(v).imag)


def pair(w, v, code):
    """The parts of a number or tensor as tensors of this type."""
    if is_complex(v):
        return tuple([w.cast(n, code, PART[v.code]) for n in w.names[v.id]])
    if isinstance(v, Val):
        return w.cast(v, code), zeros(w, v.sizes, code)
    return tuple([w.scalar(n, code) for n in numbers(v)])


def join(w, parts):
    """One tensor with the parts along a last dimension."""
    return w.e("Concat", [w.e("Unsqueeze", [p, w.ints([-1])]) for p in parts], {"axis": -1})


def split(w, t):
    return tuple([w.e("Gather", [t, w.const(k, 7)], {"axis": -1}) for k in (0, 1)])


# ---- Fourier transforms ----
def length_of(x, d):
    s = x.sizes[d]
    return s.expr if isinstance(s, Sym) else s


def scaled(w, parts, lengths, norm, inverse, code):
    """PyTorch's normalisation: 0 none, 1 by the square root of the lengths, 2 by the lengths; ONNX's inverse divides by them already."""
    if norm == (2 if inverse else 0):
        return parts
    n = w.cast(w.number(Sym(("mul", 1) + tuple(lengths))), code, 7)
    by = n if norm == 0 else w.e("Sqrt", [n])
    return tuple([w.e("Mul" if inverse else "Div", [p, n if norm == 2 and not inverse else by]) for p in parts])


def dft(w, t, d, inverse=False, onesided=False):
    """t has both parts, or only the real one, along its last dimension."""
    attrs = {"inverse": int(inverse), "onesided": int(onesided)}
    if w.opset < 20:
        attrs["axis"] = d
        return w.e("DFT", [t], attrs)
    return w.e("DFT", [t, None, w.const(d, 7)], attrs)


def fft_c2c(w, values, x, dims, norm, forward):
    code = PART[x.code]
    t = join(w, w.names[x.id])
    for d in dims:
        t = dft(w, t, d % x.rank(), not forward)
    return [scaled(w, split(w, t), [length_of(x, d) for d in dims], norm, not forward, code)]


def fft_r2c(w, values, x, dims, norm, onesided):
    t = dft(w, w.e("Unsqueeze", [x, w.ints([-1])]), dims[-1] % x.rank(), False, onesided)
    for d in dims[:-1]:
        t = dft(w, t, d % x.rank())
    return [scaled(w, split(w, t), [length_of(x, d) for d in dims], norm, False, x.code)]


def fft_c2r(w, values, x, dims, norm, last):
    """Appends the missing half of the last dimension, the reversed conjugate of the other: ONNX has no inverse of half a spectrum there."""
    code, d = PART[x.code], dims[-1] % x.rank()
    n = last.expr if isinstance(last, Sym) else last
    t = join(w, w.names[x.id])
    for o in dims[:-1]:
        t = dft(w, t, o % x.rank(), True)
    parts = [w.e("Slice", [p, w.ints([0]), w.sizes([Sym(("add", ("floordiv", n, 2), 1))]), w.ints([d])]) for p in split(w, t)]
    rest = [w.e("Slice", [p, w.sizes([Sym(("floordiv", ("add", n, -1), 2))]), w.ints([0]), w.ints([d]), w.ints([-1])]) for p in parts]
    rest[1] = w.e("Neg", [rest[1]])
    whole = [w.e("Concat", [a, b], {"axis": d}) for a, b in zip(parts, rest)]
    out = split(w, dft(w, join(w, whole), d, True))[0]
    lengths = [length_of(x, o) for o in dims[:-1]] + [n]
    return scaled(w, (out,), lengths, norm, True, code)[0]


# ---- arithmetic ----
def elementwise(fn):
    def rule(w, values, *operands):
        return [fn(w, *[pair(w, v, PART[values[0].code]) for v in operands])]

    return rule


def plus(op):
    def rule(w, values, a, b, alpha=1):
        code = PART[values[0].code]
        a, b = pair(w, a, code), pair(w, b, code)
        if alpha != 1:
            b = product(w, b, pair(w, alpha, code))
        return [(w.e(op, [a[0], b[0]]), w.e(op, [a[1], b[1]]))]

    return rule


def rsub(w, values, a, b, alpha=1):
    return plus("Sub")(w, values, b, a, alpha)


def product(w, a, b, op="Mul"):
    return (w.e("Sub", [w.e(op, [a[0], b[0]]), w.e(op, [a[1], b[1]])]), w.e("Add", [w.e(op, [a[0], b[1]]), w.e(op, [a[1], b[0]])]))


def einsum(w, values, equation, operands, *rest):
    """Each choice of parts: with k imaginary ones it counts i to the k."""
    code = PART[values[0].code]
    parts, sums = [pair(w, v, code) for v in operands], [None, None]
    for choice in itertools.product((0, 1), repeat=len(parts)):
        k, y = sum(choice), w.e("Einsum", [p[c] for p, c in zip(parts, choice)], {"equation": equation})
        if sums[k % 2]:
            y = w.e("Sub" if k % 4 > 1 else "Add", [sums[k % 2], y])
        elif k % 4 > 1:
            y = w.e("Neg", [y])
        sums[k % 2] = y
    return [(sums[0], sums[1])]


def product_and(w, c, a, b, beta, alpha, code):
    """beta c + alpha a b, of matrices."""
    y = product(w, a, b, "MatMul")
    y = y if alpha == 1 else product(w, y, pair(w, alpha, code))
    c = c if beta == 1 else product(w, c, pair(w, beta, code))
    return [tuple([w.e("Add", [p, q]) for p, q in zip(y, c)])]


def addmm(w, values, c, a, b, beta=1, alpha=1):
    code = PART[values[0].code]
    return product_and(w, *[pair(w, v, code) for v in (c, a, b)], beta, alpha, code)


def linear(w, values, x, weight, bias=None):
    code = PART[values[0].code]
    x, turned = pair(w, x, code), tuple([w.e("Transpose", [p], {"perm": [1, 0]}) for p in pair(w, weight, code)])
    return [product(w, x, turned, "MatMul")] if bias is None else product_and(w, pair(w, bias, code), x, turned, 1, 1, code)


def quotient(w, a, b):
    d = w.e("Add", [w.e("Mul", [b[0], b[0]]), w.e("Mul", [b[1], b[1]])])
    return tuple([w.e("Div", [p, d]) for p in product(w, a, (b[0], w.e("Neg", [b[1]])))])


def reciprocal(w, values, x):
    code = PART[x.code]
    return [quotient(w, pair(w, 1, code), pair(w, x, code))]


def absolute(w, values, x):
    return w.e("ReduceL2", [join(w, w.names[x.id]), w.ints([-1])], {"keepdims": 0})


def arctangent(w, y, x, code):
    """atan2: for zeros the sign of x decides, for two infinities NaN; -0 is below the axis."""
    pi, zero = w.const(math.pi, code), w.const(0.0, code)
    flat = w.e("Equal", [x, zero])
    a = w.e("Atan", [w.e("Div", [y, w.e("Where", [flat, w.const(1.0, code), x])])])
    back = w.e("Where", [below(X(w, y, code)).name, w.e("Sub", [a, pi]), w.e("Add", [a, pi])])
    a = w.e("Where", [w.e("Less", [x, zero]), back, a])
    return w.e("Where", [flat, w.e("Mul", [w.e("Sign", [y]), w.const(math.pi / 2, code)]), a])


def angle(w, values, x):
    if is_complex(x):
        re, im = w.names[x.id]
        return arctangent(w, im, re, PART[x.code])
    code = values[0].code
    x, zero = w.cast(x, code), w.const(0.0, code)
    return w.e("Where", [w.e("Less", [x, zero]), w.const(math.pi, code), w.e("Where", [w.e("Equal", [x, x]), zero, x])])


def polar(w, values, r, a):
    return [(w.e("Mul", [r, w.e("Cos", [a])]), w.e("Mul", [r, w.e("Sin", [a])]))]


def exponential(w, values, x):
    re, im = w.names[x.id]
    e = w.e("Exp", [re])
    return [(w.e("Mul", [e, w.e("Cos", [im])]), w.e("Mul", [e, w.e("Sin", [im])]))]


def conjugate(w, values, x):
    if not is_complex(x):
        return w.name(x)
    re, im = w.names[x.id]
    return [(re, w.e("Neg", [im]))]


def converted(w, values, x, *rest):
    code = values[0].code
    if code not in PART:  # the imaginary part is dropped
        return w.cast(w.names[x.id][0], code, PART[x.code])
    return [pair(w, x, PART[code])]


def filled(at, value=None):
    """Every element is the number or value given as argument."""

    def rule(w, values, *args):
        v = args[at] if value is None else value
        if not is_complex(values[0]):  # a tensor of another type, like a complex one
            return onnx_write_shape.filled(w, values, v)
        return [tuple([w.e("Expand", [p, w.sizes(values[0].sizes)]) for p in pair(w, v, PART[values[0].code])])]

    return rule


def padded(w, values, x, pad, mode="constant", value=None):
    parts = [Val_of(w, n, PART[x.code], x.sizes) for n in w.names[x.id]]
    return [tuple([onnx_write_shape.pads(w, p, pad, mode, n) for p, n in zip(parts, numbers(0 if value is None else value))])]


def where(w, values, cond, a, b):
    code = PART[values[0].code]
    return [tuple([w.e("Where", [cond, p, q]) for p, q in zip(pair(w, a, code), pair(w, b, code))])]


# ---- functions: formulas over the parts (onnx_write_formula.py) ----
class Z:
    """A complex value in a formula."""

    def __init__(self, re, im):
        self.re, self.im = re, im

    def lift(self, v):
        return v if isinstance(v, Z) else Z(self.re.number(complex(v).real), self.re.number(complex(v).imag))

    def __add__(self, o):
        o = self.lift(o)
        return Z(self.re + o.re, self.im + o.im)

    def __sub__(self, o):
        o = self.lift(o)
        return Z(self.re - o.re, self.im - o.im)

    def __rsub__(self, o):
        return self.lift(o) - self

    def __mul__(self, o):
        o = self.lift(o)
        return Z(self.re * o.re - self.im * o.im, self.re * o.im + self.im * o.re)

    def __truediv__(self, o):
        o = self.lift(o)
        d = o.re * o.re + o.im * o.im
        return self * Z(o.re / d, -o.im / d)

    def size(self):
        return sqrt(self.re * self.re + self.im * self.im)


    def turned(self):  # i z
        return Z(-self.im, self.re)

    def conjugate(self):
        return Z(self.re, -self.im)


def real_atan2(y, x):
    return X(y.w, arctangent(y.w, y.name, x.name, y.code), y.code)


def z_log(z):
    return Z(log(z.size()), real_atan2(z.im, z.re))


def z_exp(z):
    e = exp(z.re)
    return Z(e * z.im.of("Cos"), e * z.im.of("Sin"))


def z_sqrt(z):
    a = sqrt((z.size() + magnitude(z.re)) * 0.5)
    b = (a.is_(0)).pick(0.0, z.im / (2 * a))
    right = z.re >= 0
    return Z(right.pick(a, magnitude(b)), right.pick(b, below(z.im).pick(-a, a)))


def one_and(z):
    return Z(z.re + 1, z.im)


def one_without(z):
    return Z(1 - z.re, -z.im)


def z_sinh(z):
    return Z(z.re.of("Sinh") * z.im.of("Cos"), z.re.of("Cosh") * z.im.of("Sin"))


def z_cosh(z):
    return Z(z.re.of("Cosh") * z.im.of("Cos"), z.re.of("Sinh") * z.im.of("Sin"))


def z_tanh(z):
    a, b = 2 * z.re, 2 * z.im
    d = a.of("Cosh") + b.of("Cos")
    return Z(a.of("Sinh") / d, b.of("Sin") / d)


def z_asin(z):
    a, b = z_sqrt(one_without(z)), z_sqrt(one_and(z))
    return Z(real_atan2(z.re, (a * b).re), (a.conjugate() * b).im.of("Asinh"))


def z_acos(z):
    a, b = z_sqrt(one_without(z)), z_sqrt(one_and(z))
    return Z(2 * real_atan2(a.re, b.re), (b.conjugate() * a).im.of("Asinh"))


def z_acosh(z):
    a, b = z_sqrt(Z(z.re - 1, z.im)), z_sqrt(one_and(z))
    return Z((a.conjugate() * b).re.of("Asinh"), 2 * real_atan2(a.im, b.re))


def z_atanh(z):
    return (z_log(one_and(z)) - z_log(one_without(z))) * 0.5


def by_i(f):
    """sin from sinh and the like: -i f(i z)."""

    def g(z):
        y = f(z.turned())
        return Z(y.im, -y.re)

    return g


def z_sinc(z):
    t = z * math.pi
    y = by_i(z_sinh)(t) / t
    none = z.size().is_(0)
    return Z(none.pick(1.0, y.re), none.pick(0.0, y.im))


def z_pow(a, b):
    zero = a.size().is_(0)
    y = z_exp(b * z_log(a))
    one = (b.size().is_(0)).pick(y.re.number(1.0), 0.0)
    return Z(zero.pick(one, y.re), zero.pick(0.0, y.im))


def z_sgn(z):
    n = z.size()
    none = n.is_(0)
    return Z(none.pick(0.0, z.re / n), none.pick(0.0, z.im / n))


def of_parts(f):
    def rule(w, values, *operands):
        code = PART[values[0].code]
        y = f(*[Z(*[X(w, p, code) for p in pair(w, v, code)]) for v in operands])
        return [(y.re.name, y.im.name)]

    return rule


def test_of_parts(op, either):
    """isnan and the like: of either part, or of both."""

    def rule(w, values, x):
        return w.e("Or" if either else "And", [op(w, n, PART[x.code]) for n in w.names[x.id]])

    return rule


def finite(w, n, code):
    return w.e("Not", [w.e("Or", [w.e("IsNaN", [n]), w.e("IsInf", [n])])])


def norm(w, values, x, *rest):
    n = Val_of(w, absolute(w, values, x), PART[x.code], x.sizes)
    return vector_norm(w, values, n, *rest)


# Of these, complex numbers alone have a form: whether the operator is decomposed does not hang on its operands.
ONLY = {
    "_fft_c2c.default": fft_c2c, "_fft_r2c.default": fft_r2c, "_fft_c2r.default": fft_c2r, "polar.default": polar, "angle.default": angle,
    "view_as_real.default": lambda w, values, x: join(w, w.names[x.id]), "view_as_complex.default": lambda w, values, x: [split(w, x)],
    "complex.default": lambda w, values, a, b: [tuple([w.e("Expand", [v, w.sizes(values[0].sizes)]) for v in (a, b)])], "conj.default": conjugate, "_conj.default": conjugate,
    "conj_physical.default": conjugate, "_conj_physical.default": conjugate, "resolve_conj.default": lambda w, values, x: [w.names[x.id]],
    "real.default": lambda w, values, x: w.names[x.id][0] if is_complex(x) else w.name(x), "imag.default": lambda w, values, x: w.names[x.id][1]}
ONLY = {"aten." + _k: _v for _k, _v in ONLY.items()}
BOTH = {
    "add.Tensor": plus("Add"), "add.Scalar": plus("Add"), "sub.Tensor": plus("Sub"), "sub.Scalar": plus("Sub"), "rsub.Tensor": rsub, "rsub.Scalar": rsub,
    "mul.Tensor": elementwise(product), "mul.Scalar": elementwise(product), "div.Tensor": elementwise(quotient), "div.Scalar": elementwise(quotient),
    "reciprocal.default": reciprocal, "abs.default": absolute, "exp.default": exponential, "_to_copy.default": converted, "to.dtype": converted, "pad.default": padded,
    "constant_pad_nd.default": lambda w, values, x, pad, v=0: padded(w, values, x, pad, "constant", v),
    "masked_fill.Scalar": lambda w, values, x, m, v: where(w, values, m, v, x), "masked_fill.Tensor": lambda w, values, x, m, v: where(w, values, m, v, x)}
for _k, _f in {
    "log": z_log, "sqrt": z_sqrt, "rsqrt": lambda z: z.lift(1) / z_sqrt(z), "log2": lambda z: z_log(z) * (1 / math.log(2)), "log10": lambda z: z_log(z) * (1 / math.log(10)),
    "log1p": lambda z: z_log(z + 1), "expm1": lambda z: z_exp(z) - 1, "exp2": lambda z: z_exp(z * math.log(2)), "square": lambda z: z * z,
    "sinh": z_sinh, "cosh": z_cosh, "tanh": z_tanh, "sin": by_i(z_sinh), "cos": lambda z: z_cosh(z.turned()), "tan": by_i(z_tanh), "asin": z_asin,
    "asinh": by_i(z_asin), "acos": z_acos, "acosh": z_acosh, "atanh": z_atanh, "atan": by_i(z_atanh), "sinc": z_sinc, "sigmoid": lambda z: z.lift(1) / (z_exp(z * -1) + 1), "sgn": z_sgn}.items():
    BOTH[_k + ".default"] = of_parts(_f)
for _k in ("Tensor_Tensor", "Tensor_Scalar", "Scalar"):
    BOTH["pow." + _k] = of_parts(z_pow)
BOTH["addcmul.default"] = of_parts(lambda x, a, b, value=1: x + a * b * value)
BOTH["addcdiv.default"] = of_parts(lambda x, a, b, value=1: x + a / b * value)
BOTH["lerp.Tensor"] = BOTH["lerp.Scalar"] = of_parts(lambda a, b, t: a + (b - a) * t)
BOTH["isnan.default"] = test_of_parts(lambda w, n, code: w.e("IsNaN", [n]), True)
BOTH["isinf.default"] = test_of_parts(lambda w, n, code: w.e("IsInf", [n]), True)
BOTH["isfinite.default"] = test_of_parts(finite, False)
BOTH["logical_not.default"] = test_of_parts(lambda w, n, code: w.e("Equal", [n, w.const(0.0, code)]), False)
BOTH["linalg_vector_norm.default"] = norm
for _k in ("self", "Scalar", "ScalarSelf", "ScalarOther"):
    BOTH["where." + _k] = where
for _k in ("mm", "bmm", "matmul"):
    BOTH[_k + ".default"] = elementwise(lambda w, a, b: product(w, a, b, "MatMul"))
BOTH["einsum.default"], BOTH["linear.default"] = einsum, linear
BOTH["addmm.default"] = BOTH["baddbmm.default"] = addmm
for _k, _at in (("full.default", 1), ("full_like.default", 1), ("new_full.default", 2), ("fill.Scalar", 1), ("fill.Tensor", 1)):
    BOTH[_k] = filled(_at)
for _k, _v in (("zeros", 0), ("ones", 1)):
    for _form in (_k, _k + "_like", "new_" + _k):
        BOTH[_form + ".default"] = filled(0, _v)
BOTH = {"aten." + _k: _v for _k, _v in BOTH.items()}
# With each part by itself, beside what only moves elements.
LINEAR = ["aten." + _k for _k in (
    "neg.default", "sum.default", "sum.dim_IntList", "mean.default", "mean.dim", "cumsum.default", "expand.default", "repeat.default",
    "slice_scatter.default", "select_scatter.default", "index_add.default", "index_put.default", "as_strided.default",
    "unfold.default", "copy.default", "squeeze.default", "fft_fftshift.default", "fft_ifftshift.default")]
# Their integers and booleans say where; those of others are elements too.
INDEXED = ["aten." + _k for _k in (
    "embedding.default", "index_select.default", "gather.default", "index.Tensor", "index_add.default", "index_put.default")]


def call(w, op, rule, values, args):
    """The names of the results; a pair for a complex one."""
    if op in ONLY or op in BOTH:
        names = (ONLY[op] if op in ONLY else BOTH[op])(w, values, *args)
        return names if isinstance(names, list) else [names]
    if op not in onnx_write_shape.MOVES and op not in LINEAR:
        _onnx.unsupported(f"{op} of complex numbers has no form in ONNX")

    def part(v, k):
        if isinstance(v, complex):
            _onnx.unsupported(f"{op} with the number {v} has no form in ONNX")
        if isinstance(v, list):
            return [part(x, k) for x in v]
        if is_complex(v):
            return Val_of(w, w.names[v.id][k], PART[v.code], v.sizes)
        if not k or not isinstance(v, Val) or (op in INDEXED and not v.is_float()):
            return v
        code = v.code if v.is_float() else FLOAT
        return Val_of(w, zeros(w, v.sizes, code), code, v.sizes)

    two = []
    for k in (0, 1):
        names = rule(w, [Val(v.id, PART.get(v.code, v.code), v.sizes) if v is not None else v for v in values], *[part(a, k) for a in args])
        two.append(list(names) if isinstance(names, (tuple, list)) else [names])
    return [(a, b) if is_complex(v) else a for v, a, b in zip(values, two[0], two[1])]
