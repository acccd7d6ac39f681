# Complex numbers in ONNX: a value is two tensors, its real and its imaginary parts, named by a tuple. What moves elements or is linear does so with
# each part; what the model takes and gives is one tensor with the parts along a last dimension of 2, as torch.onnx has it.
#
# A rule is rule(w, values, *args) as in onnx_write.py and gives a pair of names for every complex result.
import math

import _onnx
import onnx_write_shape
from onnx_write_math import Val_of
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
    """By PyTorch's norm: 0 nothing, 1 by the square root of the lengths, 2 by them; ONNX's inverse has divided by them."""
    if norm == (2 if inverse else 0):
        return parts
    n = w.cast(w.number(Sym(("mul", 1) + tuple(lengths))), code, 7)
    by = n if norm == 0 else w.e("Sqrt", [n])
    return tuple([w.e("Mul" if inverse else "Div", [p, n if norm == 2 and not inverse else by]) for p in parts])


def dft(w, t, d, inverse=False, onesided=False):
    """t has the parts, or the real one alone, along its last dimension."""
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
    """The half that the last dimension lacks is the conjugate of what it has, backwards; there ONNX has no inverse of a half."""
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


def quotient(w, a, b):
    d = w.e("Add", [w.e("Mul", [b[0], b[0]]), w.e("Mul", [b[1], b[1]])])
    return tuple([w.e("Div", [p, d]) for p in product(w, a, (b[0], w.e("Neg", [b[1]])))])


def reciprocal(w, values, x):
    code = PART[x.code]
    return [quotient(w, pair(w, 1, code), pair(w, x, code))]


def absolute(w, values, x):
    return w.e("ReduceL2", [join(w, w.names[x.id]), w.ints([-1])], {"keepdims": 0})


def arctangent(w, y, x, code):
    """atan2, of zeros by the sign of x alone, of two infinities NaN."""
    pi, zero = w.const(math.pi, code), w.const(0.0, code)
    flat = w.e("Equal", [x, zero])
    a = w.e("Atan", [w.e("Div", [y, w.e("Where", [flat, w.const(1.0, code), x])])])
    back = w.e("Where", [w.e("Less", [y, zero]), w.e("Sub", [a, pi]), w.e("Add", [a, pi])])
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
    """Every element is the argument of this number, or this value."""

    def rule(w, values, *args):
        v = args[at] if value is None else value
        if not is_complex(values[0]):  # like a complex tensor, of another type
            return onnx_write_shape.filled(w, values, v)
        return [tuple([w.e("Expand", [p, w.sizes(values[0].sizes)]) for p in pair(w, v, PART[values[0].code])])]

    return rule


def padded(w, values, x, pad, mode="constant", value=None):
    parts = [Val_of(w, n, PART[x.code], x.sizes) for n in w.names[x.id]]
    return [tuple([onnx_write_shape.pads(w, p, pad, mode, n) for p, n in zip(parts, numbers(0 if value is None else value))])]


def where(w, values, cond, a, b):
    code = PART[values[0].code]
    return [tuple([w.e("Where", [cond, p, q]) for p, q in zip(pair(w, a, code), pair(w, b, code))])]


# Of these, complex numbers alone have a form: whether the operator is decomposed does not hang on its operands.
ONLY = {
    "_fft_c2c.default": fft_c2c, "_fft_r2c.default": fft_r2c, "_fft_c2r.default": fft_c2r, "polar.default": polar, "angle.default": angle,
    "view_as_real.default": lambda w, values, x: join(w, w.names[x.id]), "view_as_complex.default": lambda w, values, x: [split(w, x)],
    "complex.default": lambda w, values, a, b: [(w.name(a), w.name(b))], "conj.default": conjugate, "_conj.default": conjugate,
    "conj_physical.default": conjugate, "_conj_physical.default": conjugate, "resolve_conj.default": lambda w, values, x: [w.names[x.id]],
    "real.default": lambda w, values, x: w.names[x.id][0] if is_complex(x) else w.name(x), "imag.default": lambda w, values, x: w.names[x.id][1]}
ONLY = {"aten." + _k: _v for _k, _v in ONLY.items()}
BOTH = {
    "add.Tensor": plus("Add"), "add.Scalar": plus("Add"), "sub.Tensor": plus("Sub"), "sub.Scalar": plus("Sub"), "rsub.Tensor": rsub, "rsub.Scalar": rsub,
    "mul.Tensor": elementwise(product), "mul.Scalar": elementwise(product), "div.Tensor": elementwise(quotient), "div.Scalar": elementwise(quotient),
    "reciprocal.default": reciprocal, "abs.default": absolute, "exp.default": exponential, "_to_copy.default": converted, "to.dtype": converted, "pad.default": padded,
    "constant_pad_nd.default": lambda w, values, x, pad, v=0: padded(w, values, x, pad, "constant", v),
    "masked_fill.Scalar": lambda w, values, x, m, v: where(w, values, m, v, x), "masked_fill.Tensor": lambda w, values, x, m, v: where(w, values, m, v, x)}
for _k in ("self", "Scalar", "ScalarSelf", "ScalarOther"):
    BOTH["where." + _k] = where
for _k in ("mm", "bmm", "matmul"):
    BOTH[_k + ".default"] = elementwise(lambda w, a, b: product(w, a, b, "MatMul"))
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
    """The names of the results, a pair where they are complex."""
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
