# Elementwise arithmetic, comparisons, activations, matrix products of ai.onnx.
import torch
import torch.nn.functional as F
from onnx_values import Host, Strings, numbers
import _onnx


# ---- broadcasting ----
def legacy(n, a, b):
    """Before opset 7 the second operand is aligned by `axis` when `broadcast` is set."""
    if n.version >= 7 or not n.get("broadcast", 0):
        return b
    axis = n.get("axis", a.dim() - b.dim())
    if axis < 0:
        axis += a.dim()
    while axis + b.dim() < a.dim():
        b = b.unsqueeze(-1)
    return b


def is_number(t, like):
    """A constant of one element that is no weight and does not change the shape of the result."""
    return isinstance(t, torch.Tensor) and _onnx.known(t) and not t.requires_grad and not _onnx.known(like) and t.numel() == 1 and t.dim() <= like.dim()


def scalar(t, like):
    """A constant of one element as a number, if that does not change the shape of the result."""
    if is_number(t, like) and t.dtype == like.dtype:
        if t.dtype.is_floating_point or t.dtype in (torch.int64, torch.int32):
            return numbers(t)[0]
    return t


def binary(f, same=True):
    def rule(n, a, b):
        b = legacy(n, a, b)
        if a.dtype != b.dtype:
            n.fail(f"operands of types {a.dtype} and {b.dtype}")
        s = scalar(b, a)
        if isinstance(s, torch.Tensor):
            r = scalar(a, b)
            if not isinstance(r, torch.Tensor) and f in SWAPPED:
                return SWAPPED[f](r, b)
        return f(a, s)

    return rule


def add(a, b):
    return a + b


def sub(a, b):
    return a - b


def mul(a, b):
    return a * b


def div(a, b):
    dtype = a.dtype
    if dtype.is_floating_point or dtype.is_complex:
        return a / b
    return torch.div(a, b, rounding_mode="trunc")


SWAPPED = {add: lambda s, b: b + s, mul: lambda s, b: b * s, sub: lambda s, b: torch.rsub(b, s)}


def power(n, a, b):
    b = legacy(n, a, b)
    s = numbers(b)[0] if is_number(b, a) else None
    if s is not None and (a.dtype.is_floating_point or s == int(s)) and (s >= 0 or a.dtype.is_floating_point):
        return torch.pow(a, int(s) if s == int(s) else s).to(a.dtype)
    if a.dtype == b.dtype:
        return torch.pow(a, b)
    common = torch.promote_types(a.dtype, b.dtype)
    return torch.pow(a.to(common), b.to(common)).to(a.dtype)


def modulo(n, a, b):
    if n.get("fmod", 0):
        return torch.fmod(a, b)
    return torch.remainder(a, b)


def shift(n, a, b):
    """Unsigned shift; a count of at least the width gives 0."""
    wide = a.dtype != torch.uint64
    x, k = (a.to(torch.int64), b.to(torch.int64)) if wide else (a.view(torch.int64), b.view(torch.int64))
    if n.get("direction") == "LEFT":
        y = torch.bitwise_left_shift(x, k)
    elif wide:
        y = torch.bitwise_right_shift(x, k)
    else:  # int64 shifts copy the sign: those bits are cleared
        y = torch.bitwise_right_shift(x, k)
        keep = torch.bitwise_left_shift(torch.full_like(x, -1), 64 - k)
        y = torch.where(k == 0, x, torch.bitwise_and(y, torch.bitwise_not(keep)))
    return y.to(a.dtype) if wide else y.view(torch.uint64)


def variadic(f):
    def rule(n, *args):
        out = args[0]
        for a in args[1:]:
            out = f(out, a)
        return out

    return rule


def mean(n, *args):
    out = args[0]
    for a in args[1:]:
        out = out + a
    return out / len(args)



def compare(f):
    def rule(n, a, b):
        return f(a, legacy(n, a, b))

    return rule


def equal(n, a, b):
    if isinstance(a, Strings) and isinstance(b, Strings):
        from onnx_strings import together

        shape, pairs = together(a, b)
        return Host(shape, [x == y for x, y in pairs], torch.bool)
    return torch.eq(a, legacy(n, a, b))


def logical(f):
    def rule(n, a, b):
        return f(a, legacy(n, a, b))

    return rule


def is_inf(n, x):
    neg, pos = n.get("detect_negative", 1), n.get("detect_positive", 1)
    if neg and pos:
        return torch.isinf(x)
    if pos:
        return x == float("inf")
    if neg:
        return x == float("-inf")
    return torch.zeros_like(x, dtype=torch.bool)


# ---- activations ----
def relu(n, x):
    return torch.relu(x) if x.dtype.is_floating_point else torch.clamp(x, min=0)


def leaky_relu(n, x):
    return F.leaky_relu(x, n.get("alpha", 0.01))


def elu(n, x):
    return F.elu(x, n.get("alpha", 1.0))


def celu(n, x):
    return F.celu(x, n.get("alpha", 1.0))


def selu(n, x):
    a = n.get("alpha", 1.6732 if n.version < 6 else 1.67326319217681884765625)
    g = n.get("gamma", 1.0507 if n.version < 6 else 1.05070102214813232421875)
    return torch.where(x > 0, x, torch.expm1(torch.clamp(x, max=0)) * a) * g


def thresholded_relu(n, x):
    return torch.where(x > n.get("alpha", 1.0), x, torch.zeros_like(x))


def hard_sigmoid(n, x):
    return torch.clamp(x * n.get("alpha", 0.2) + n.get("beta", 0.5), 0.0, 1.0)


def shrink(n, x):
    l, b = n.get("lambd", 0.5), n.get("bias", 0.0)
    return torch.where(x < -l, (x + b).to(x.dtype), torch.where(x > l, (x - b).to(x.dtype), torch.zeros_like(x)))


def prelu(n, x, slope):
    if n.version < 7 and slope.dim() == 1 and x.dim() > 1:
        slope = slope.reshape([-1] + [1] * (x.dim() - 2))
    return torch.where(x < 0, x * slope, x)


def clip(n, x, low=None, high=None):
    if n.version < 11:
        lo, hi = n.get("min"), n.get("max")
        return torch.clamp(x, lo, hi) if lo is not None or hi is not None else x
    lo, hi = n.known(1) if low is not None else None, n.known(2) if high is not None else None
    if (low is None or lo) and (high is None or hi):
        if low is None and high is None:
            return x
        return torch.clamp(x, lo[0] if lo else None, hi[0] if hi else None)
    if low is not None:
        x = torch.maximum(x, low)
    return torch.minimum(x, high) if high is not None else x


def softmax(f):
    def rule(n, x):
        if n.version >= 13:
            return f(x, n.get("axis", -1))
        axis = n.get("axis", 1)
        axis = axis + x.dim() if axis < 0 else axis
        if axis == x.dim() - 1:
            return f(x, -1)
        return f(torch.flatten(x, axis), -1).reshape(x.shape)

    return rule


def hardmax(n, x):
    axis = n.get("axis", -1 if n.version >= 13 else 1)
    shape = x.shape
    if n.version < 13:
        x = torch.flatten(x, axis)
        axis = -1
    at = torch.argmax(x, axis, True)
    return torch.zeros_like(x).scatter(axis, at, 1.0).reshape(shape)


def gelu(n, x):
    return F.gelu(x, approximate=n.get("approximate", "none"))


def swish(n, x):
    a = n.get("alpha", 1.0)
    return F.silu(x) if a == 1.0 else x * torch.sigmoid(x * a)



def swiglu(n, a, b):
    return a * torch.sigmoid(a * n.get("alpha", 1.0)) * b


# ---- matrix products ----
def matmul(n, a, b):
    if a.dtype.is_floating_point:
        return torch.matmul(a, b)
    d = a.dtype
    return torch.matmul(a.to(torch.int64), b.to(torch.int64)).to(d)


def gemm(n, a, b, c=None):
    alpha, beta = n.get("alpha", 1.0), n.get("beta", 1.0)
    ta, tb = n.get("transA", 0), n.get("transB", 0)
    d = a.dtype
    if not d.is_floating_point:
        a, b, c = a.to(torch.float64), b.to(torch.float64), None if c is None else c.to(torch.float64)
    if ta:
        a = a.t()
    if alpha == 1.0 and (c is None or (beta == 1.0 and c.dim() == 1)) and tb and d.is_floating_point:
        return F.linear(a, b, c)
    if tb:
        b = b.t()
    if c is not None and alpha == 1.0 and beta == 1.0 and c.dim() <= 2 and d.is_floating_point:
        return torch.addmm(c, a, b)
    y = torch.mm(a, b)
    if alpha != 1.0:
        y = y * alpha
    if c is not None and beta != 0.0:
        y = y + (c if beta == 1.0 else c * beta)
    return y.to(d)


def einsum(n, *args):
    return torch.einsum(n.get("equation"), *args)


def det(n, x):
    return torch.linalg.det(x.float()).to(x.dtype) if x.dtype in (torch.float16, torch.bfloat16) else torch.linalg.det(x)


def cum(f, start):
    def rule(n, x, axis):
        axis = axis[0]
        y = torch.flip(x, [axis]) if n.get("reverse", 0) else x
        length = x.shape[axis]
        if n.get("exclusive", 0):
            shape = list(x.shape)
            shape[axis] = 1
            y = torch.cat([torch.full(shape, start, dtype=x.dtype), y.narrow(axis, 0, length - 1)], axis)
        y = f(y, axis, dtype=x.dtype)
        return torch.flip(y, [axis]) if n.get("reverse", 0) else y

    return rule


def u(f):
    return lambda n, x: f(x)





def absolute(x):
    return x if x.dtype in (torch.uint8, torch.uint16, torch.uint32, torch.uint64) else torch.abs(x)


def integral(f):
    """Rounding does nothing to integers."""
    return lambda n, x: f(x) if x.dtype.is_floating_point else x


def unary_table():
    fs = {"Neg": torch.neg, "Sign": torch.sign, "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Reciprocal": torch.reciprocal,
          "Sin": torch.sin, "Cos": torch.cos, "Tan": torch.tan, "Asin": torch.asin, "Acos": torch.acos, "Atan": torch.atan,
          "Sinh": torch.sinh, "Cosh": torch.cosh, "Tanh": torch.tanh, "Asinh": torch.asinh, "Acosh": torch.acosh, "Atanh": torch.atanh,
          "Erf": torch.erf, "Sigmoid": torch.sigmoid, "Not": torch.logical_not, "BitwiseNot": torch.bitwise_not, "IsNaN": torch.isnan,
          "Softsign": F.softsign, "Softplus": F.softplus, "Mish": F.mish, "HardSwish": F.hardswish, "Abs": absolute}
    rows = [("", k, 1, u(f), "T") for k, f in fs.items()]
    for k, f in {"Floor": torch.floor, "Ceil": torch.ceil, "Round": torch.round}.items():
        rows.append(("", k, 1, integral(f), "T"))
    return rows


TABLE = unary_table() + [
    ("", "Add", 1, binary(add), "TT"), ("", "Sub", 1, binary(sub), "TT"), ("", "Mul", 1, binary(mul), "TT"), ("", "Div", 1, binary(div), "TT"),
    ("", "Pow", 1, power, "TT"), ("", "Mod", 10, modulo, "TT"), ("", "BitShift", 11, shift, "TT"),
    ("", "BitwiseAnd", 18, logical(torch.bitwise_and), "TT"), ("", "BitwiseOr", 18, logical(torch.bitwise_or), "TT"),
    ("", "BitwiseXor", 18, logical(torch.bitwise_xor), "TT"),
    ("", "And", 1, logical(torch.logical_and), "TT"), ("", "Or", 1, logical(torch.logical_or), "TT"), ("", "Xor", 1, logical(torch.logical_xor), "TT"),
    ("", "Equal", 1, equal, "TT"), ("", "Less", 1, compare(torch.lt), "TT"), ("", "Greater", 1, compare(torch.gt), "TT"),
    ("", "LessOrEqual", 12, compare(torch.le), "TT"), ("", "GreaterOrEqual", 12, compare(torch.ge), "TT"),
    ("", "Max", 1, variadic(torch.maximum), "Tt"), ("", "Min", 1, variadic(torch.minimum), "Tt"), ("", "Sum", 1, variadic(add), "Tt"),
    ("", "Mean", 1, mean, "Tt"), ("", "IsInf", 10, is_inf, "T"),
    ("", "Relu", 1, relu, "T"), ("", "LeakyRelu", 1, leaky_relu, "T"), ("", "Elu", 1, elu, "T"), ("", "Celu", 12, celu, "T"),
    ("", "Selu", 1, selu, "T"), ("", "ThresholdedRelu", 10, thresholded_relu, "T"), ("", "HardSigmoid", 1, hard_sigmoid, "T"),
    ("", "Shrink", 9, shrink, "T"), ("", "PRelu", 1, prelu, "TT"), ("", "Clip", 1, clip, "Ttt"),
    ("", "Softmax", 1, softmax(torch.softmax), "T"), ("", "LogSoftmax", 1, softmax(torch.log_softmax), "T"), ("", "Hardmax", 1, hardmax, "T"),
    ("", "Gelu", 20, gelu, "T"), ("", "Swish", 24, swish, "T"), ("", "SwiGLU", 1, swiglu, "TT"),
    ("", "MatMul", 1, matmul, "TT"), ("", "Gemm", 1, gemm, "TTt"), ("", "Einsum", 12, einsum, "Tt"), ("", "Det", 11, det, "T"),
    ("", "CumSum", 11, cum(torch.cumsum, 0), "TH"), ("", "CumProd", 26, cum(torch.cumprod, 1), "TH"),
]
