# Casts, element types without a dtype, quantisation.
import torch
import torch.nn.functional as F
from onnx_values import Coded, Host, Strings, Weight, constant, numbers, tensor
from onnx_shape import axis_of
import _onnx

F8E4M3, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, U4, I4, F4, E8M0, U2, I2 = 17, 18, 19, 20, 21, 22, 23, 24, 25, 26
RANGE = {U4: (0, 15), I4: (-8, 7), U2: (0, 3), I2: (-2, 1), 2: (0, 255), 3: (-128, 127), 4: (0, 65535), 5: (-32768, 32767),
         6: (-2147483648, 2147483647), 12: (0, 4294967295)}
BITS = {U4: 4, I4: 4, U2: 2, I2: 2}


# ---- small floats: value tables of the codes ----
def value_of(kind, code):
    """The value of a small float's code."""
    if kind == E8M0:
        return float("nan") if code == 255 else 2.0 ** (code - 127)
    e, m, bias = {F8E4M3: (4, 3, 7), F8E4M3FNUZ: (4, 3, 8), F8E5M2: (5, 2, 15), F8E5M2FNUZ: (5, 2, 16), F4: (2, 1, 1)}[kind]
    sign = -1.0 if code >> (e + m) & 1 else 1.0
    exponent, mantissa = code >> m & ((1 << e) - 1), code & ((1 << m) - 1)
    if kind in (F8E4M3FNUZ, F8E5M2FNUZ) and code == 0x80:
        return float("nan")
    if kind == F8E4M3 and code & 0x7F == 0x7F:
        return float("nan")
    if kind == F8E5M2 and exponent == 31:
        return float("nan") if mantissa else sign * float("inf")
    if exponent == 0:
        return sign * mantissa * 2.0 ** (1 - bias - m)
    return sign * (1.0 + mantissa * 2.0 ** -m) * 2.0 ** (exponent - bias)


CODES = {F8E4M3: 256, F8E4M3FNUZ: 256, F8E5M2: 256, F8E5M2FNUZ: 256, F4: 16, E8M0: 256}


def _vector(items, dtype):
    return torch.tensor(items, dtype=dtype)


def vector(items, dtype):
    return _onnx.eager(_vector, items, dtype)


def decode(kind, t):
    """Codes (u8) to float32."""
    table = vector([value_of(kind, c) for c in range(CODES[kind])], torch.float32)
    return torch.index_select(table, 0, t.reshape([-1]).to(torch.int64)).reshape(t.shape)


def encode(kind, x, saturate):
    """Numbers to the nearest code, ties to even; out of range to the largest, or to NaN or infinity."""
    sign_bit = CODES[kind] // 2
    finite, c = [], 0
    while c < sign_bit:
        v = value_of(kind, c)
        if v != v or v == float("inf"):
            break
        finite.append(v)
        c += 1
    top = len(finite) - 1
    step = finite[top] - finite[top - 1]
    mids = [(finite[i] + finite[i + 1]) / 2 for i in range(top)] + [finite[top] + step / 2]
    d = x.dtype if x.dtype == torch.float64 else torch.float32
    x = x.to(d)
    a = torch.abs(x)
    table = vector(mids, d)
    low = torch.bucketize(a, table)
    high = torch.bucketize(a, table, right=True)
    code = torch.where(torch.remainder(low, 2) == 0, low, high)
    nan = {F8E4M3: 0x7F, F8E4M3FNUZ: 0x80, F8E5M2: 0x7F, F8E5M2FNUZ: 0x80, F4: sign_bit}[kind]
    if saturate or kind == F4:
        code = torch.clamp(code, max=top)
    elif kind == F8E5M2:
        code = torch.clamp(code, max=0x7C)
    unsigned = kind in (F8E4M3FNUZ, F8E5M2FNUZ)
    negative = torch.signbit(x)
    if unsigned:
        negative = torch.logical_and(negative, code != 0)  # there is one zero
    out = torch.where(negative, code + sign_bit, code)
    if not saturate and kind != F8E5M2 and kind != F4:
        beyond = torch.where(negative, nan + sign_bit, nan) if not unsigned else torch.full_like(code, nan)
        out = torch.where(code > top, beyond, out)
    missing = torch.where(negative, nan + sign_bit, nan) if not unsigned and kind != F4 else torch.full_like(code, nan)
    return torch.where(torch.isnan(x), missing, out).to(torch.uint8)


def encode_scale(x, saturate, mode):
    """float8e8m0: an exponent only; 255 is NaN."""
    x = x.to(torch.float32)
    bits = x.view(torch.int32)
    exponent = torch.bitwise_and(torch.bitwise_right_shift(bits, 23), 255)
    mantissa = torch.bitwise_and(bits, 0x7FFFFF)
    if mode == "up":
        more = torch.logical_and(mantissa > 0, torch.logical_or(exponent > 0, mantissa > 0x400000))
    elif mode == "nearest":
        odd = torch.logical_and(mantissa == 0x400000, exponent > 0)
        more = torch.logical_or(mantissa > 0x400000, odd)
    else:
        more = torch.zeros_like(mantissa, dtype=torch.bool)
    e = exponent + more.to(torch.int32)
    if saturate:
        e = torch.where(exponent != 255, torch.clamp(e, max=254), e)
    return torch.clamp(torch.where(exponent == 255, torch.full_like(e, 255), e), 0, 255).to(torch.uint8)


# ---- casts ----
def wrap_bits(t, code):
    """Integers truncated to 2 or 4 bits."""
    bits = BITS[code]
    low = torch.bitwise_and(t.to(torch.int32), (1 << bits) - 1)
    if code in (I4, I2):
        return torch.where(low >= 1 << (bits - 1), low - (1 << bits), low).to(torch.int8)
    return low.to(torch.uint8)


def written(x, digits):
    if isinstance(x, bool):
        return str(int(x))
    if isinstance(x, int):
        return str(x)
    return "NaN" if x != x else ("-INF" if x < 0 else "INF") if x in (float("inf"), -float("inf")) else f"%.{digits}g" % x


def convert_strings(n, v, to):
    """Known numbers to strings and back."""
    from onnx_import import DTYPES

    if isinstance(v, Strings):
        if to == 8 or to not in DTYPES:
            return v if to == 8 else n.unsupported("a cast of strings")
        d = DTYPES[to]
        items = [float(s) if d.is_floating_point else int(s) for s in v.items]
        return constant(Host(v.shape, items, d))
    t = v if isinstance(v, Host) else tensor(v)
    if not (v.is_constant() if isinstance(v, Host) else isinstance(t, torch.Tensor) and _onnx.known(t)):
        n.unsupported("strings that depend on data")
    return Strings(t.shape, [written(x, 17 if t.dtype == torch.float64 else 8) for x in numbers(t)])


def convert(n, v, to, saturate=True, mode="up"):
    from onnx_import import DTYPES

    if isinstance(v, Coded):
        if v.code == to:
            return v
        v = decode(v.code, v.t) if v.code in CODES else v.t
    if to == 8 or isinstance(v, Strings):
        return convert_strings(n, v, to)
    t = tensor(v)
    if to in (F8E4M3FNUZ, F8E5M2FNUZ, F4):
        return Coded(to, encode(to, t, saturate))
    if to == E8M0:
        return Coded(to, encode_scale(t, saturate, mode))
    if to in BITS:
        return Coded(to, wrap_bits(t, to))
    if to in (F8E4M3, F8E5M2):
        if t.dtype == DTYPES[to]:
            return t
        return encode(to, t.to(torch.float32), saturate).view(DTYPES[to])
    if to not in DTYPES:
        n.fail(f"element type {to} is none of ONNX's")
    if t.dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        t = t.to(torch.float32)
    return t if t.dtype == DTYPES[to] else t.to(DTYPES[to])


def cast(n, v):
    to = n.get("to")
    if isinstance(to, str):
        names = {"FLOAT": 1, "UINT8": 2, "INT8": 3, "UINT16": 4, "INT16": 5, "INT32": 6, "INT64": 7, "BOOL": 9, "FLOAT16": 10, "DOUBLE": 11}
        to = names.get(to, 0)
    return convert(n, v, to, bool(n.get("saturate", 1)), n.get("round_mode", "up"))


def code_of(v):
    from onnx_import import CODED, DTYPES

    if isinstance(v, Coded):
        return v.code
    if isinstance(v, Strings):
        return 8
    d = v.data.dtype if isinstance(v, Weight) else v.dtype
    for k, x in DTYPES.items():
        if x == d and k not in CODED:
            return k
    return 1


def cast_like(n, v, like):
    return convert(n, v, code_of(like), bool(n.get("saturate", 1)), n.get("round_mode", "up"))


def bit_cast(n, v):
    from onnx_import import CODED, DTYPES

    to = n.get("to")
    if isinstance(v, Coded):
        v = v.t if v.code not in (I4, I2) else torch.bitwise_and(v.t.to(torch.int16), (1 << BITS[v.code]) - 1).to(torch.uint8)
    t = tensor(v)
    if to in (I4, I2):
        return Coded(to, wrap_bits(t, to))
    if to in CODED:
        return Coded(to, t.view(DTYPES[to]) if t.dtype != DTYPES[to] else t)
    if t.dtype == DTYPES[to]:
        return t
    if t.dtype == torch.bool:
        return t.to(torch.uint8).view(DTYPES[to])
    return t.view(torch.uint8) != 0 if to == 9 else t.view(DTYPES[to])


# ---- quantisation ----
def spread(n, s, x, axis, block):
    """A scale or zero point made broadcastable to x: one, one for each slice of `axis`, or one for each block along it."""
    if s.dim() == 0 or (s.dim() == 1 and s.shape[0] == 1):
        return s.reshape([])
    if s.dim() == 1 and not block:
        shape = [1] * x.dim()
        shape[axis_of(axis, x.dim())] = -1
        return s.reshape(shape)
    axis = axis_of(axis, x.dim())
    return torch.repeat_interleave(s, block, axis).narrow(axis, 0, x.shape[axis])


def plain(v):
    """Values of any element type as a tensor of a type that can be computed with."""
    if isinstance(v, Coded):
        return decode(v.code, v.t) if v.code in CODES else v.t
    t = tensor(v)
    return t.to(torch.float32) if t.dtype in (torch.float8_e4m3fn, torch.float8_e5m2) else t


def quantize(n, x, scale, zero=None):
    axis, block = n.get("axis", 1), n.get("block_size", 0)
    to = code_of(zero) if zero is not None else n.get("output_dtype", 0) or 2
    compute = torch.float32
    if n.get("precision", 0):
        from onnx_import import DTYPES

        compute = DTYPES[n.get("precision")]
    elif x.dtype == torch.float64:
        compute = torch.float64
    s = spread(n, plain(scale).to(compute), x, axis, block)
    y = x.to(compute) / s
    if to not in RANGE:  # floats
        return convert(n, y.to(torch.float32), to, bool(n.get("saturate", 1)))
    y = torch.round(y)
    if zero is not None:
        y = y + spread(n, plain(zero).to(compute), x, axis, block)
    low, high = RANGE[to]
    y = torch.clamp(y.to(torch.float32), low, high)
    return Coded(to, y.to(torch.int8 if to in (I4, I2) else torch.uint8)) if to in BITS else integers(y, to)


def integers(y, to):
    from onnx_import import DTYPES

    return y.to(DTYPES[to])


def dequantize(n, x, scale, zero=None):
    from onnx_import import DTYPES

    axis, block = n.get("axis", 1), n.get("block_size", 0)
    scale = plain(scale)
    out = DTYPES[n.get("output_dtype")] if n.get("output_dtype", 0) else scale.dtype
    x = plain(x)
    if x.dtype == torch.int32:
        y = x.to(torch.float64) if zero is None else x.to(torch.float64) - spread(n, plain(zero), x, axis, block).to(torch.float64)
        y = y.to(torch.float32)
    else:
        y = x.to(torch.float32)
        if zero is not None:
            y = y - spread(n, plain(zero), x, axis, block).to(torch.float32)
    return (y * spread(n, scale, x, axis, block).to(torch.float32)).to(out)


def dynamic_quantize(n, x):
    if any([_onnx.truth(size == 0) for size in x.shape]):
        return x.to(torch.uint8), torch.ones([]), torch.zeros([], dtype=torch.uint8)
    low = torch.clamp(torch.amin(x), max=0.0)
    high = torch.clamp(torch.amax(x), min=0.0)
    scale = (high - low) / 255.0
    scale = torch.where(scale == 0.0, torch.ones_like(scale), scale)
    zero = torch.clamp(torch.round(-low / scale), 0.0, 255.0)
    y = torch.clamp(torch.round(x / scale) + zero, 0.0, 255.0)
    return y.to(torch.uint8), scale, zero.to(torch.uint8)


def per_row(z):
    """A scale or zero point of a left operand: one, or one for each row."""
    return z.unsqueeze(-1) if z.dim() == 1 and z.shape[0] != 1 else z


def signed_bytes(t):
    return torch.bitwise_xor(t, 128).to(torch.int8)


def column_sums(t):
    return t.sum(0, dtype=torch.int32)


def at_once(f, t):
    """f(t), evaluated at import if t is a constant."""
    return _onnx.eager(f, t) if _onnx.known(t) else f(t)


def without_sign(t):
    return t.dtype == torch.uint8


def centred(t, zero):
    """The zero point of bytes for a product of int8: unsigned bytes become int8, lowered by 128."""
    z = torch.zeros([], dtype=torch.int32) if zero is None else plain(zero).to(torch.int32)
    return z - 128 if without_sign(t) else z


def integer_product(a, az, b, bz):
    """sum over k of (a - az) (b - bz): in int32 if the right operand is a matrix of bytes, else exactly in float64."""
    x, y = plain(a), plain(b)
    bytes_ = (torch.int8, torch.uint8)
    if x.dtype not in bytes_ or y.dtype not in bytes_ or y.dim() != 2:
        x, y = x.to(torch.float64), y.to(torch.float64)
        if az is not None:
            x = x - per_row(plain(az).to(torch.float64))
        if bz is not None:
            y = y - plain(bz).to(torch.float64)
        return torch.matmul(x, y)
    xz, yz = per_row(centred(x, az)), centred(y, bz)
    x = at_once(signed_bytes, x) if without_sign(x) else x
    y = at_once(signed_bytes, y) if without_sign(y) else y
    k, n = y.shape[0], y.shape[1]
    acc = torch._int_mm(x.reshape([-1, k]), y).reshape(list(x.shape[:-1]) + [n])
    if az is not None or without_sign(plain(a)):
        acc = acc - xz * at_once(column_sums, y)
    if bz is not None or without_sign(plain(b)):
        rows = x.sum(-1, keepdim=True, dtype=torch.int32) - k * xz
        acc = acc - (yz * rows if x.dim() > 1 else yz * rows.reshape([]))
    return acc


def matmul_integer(n, a, b, az=None, bz=None):
    return integer_product(a, az, b, bz).to(torch.int32)


def matmul_to_float(n, a, b, sa, sb, za=None, zb=None, bias=None):
    y = matmul_integer(n, a, b, za, zb).to(torch.float32) * (plain(sa) * plain(sb))
    return y if bias is None else y + bias


def dynamic_matmul(n, a, b, sb, zb=None, bias=None):
    q, sa, za = dynamic_quantize(n, a)
    return matmul_to_float(n, q, b, sa, sb, za, zb, bias)


def saturated(acc, scale, zero, to):
    """round(acc * scale) + zero in the type of the zero point, computed in float32 as in ONNX Runtime."""
    low, high = RANGE[to]
    y = torch.clamp(torch.round(acc.to(torch.float32) * scale) + zero, low, high)
    return integers(y, to)


def q_matmul(n, a, a_scale, a_zero, b, b_scale, b_zero, y_scale, y_zero):
    acc = integer_product(a, a_zero, b, b_zero)
    scale = per_row(plain(a_scale).to(torch.float32)) * plain(b_scale).to(torch.float32) / plain(y_scale).to(torch.float32)
    return saturated(acc, scale, plain(y_zero).to(torch.float32), code_of(y_zero))


def channels(t, rank):
    """One value for each output channel of a convolution."""
    return t.reshape([-1] + [1] * (rank - 2)) if t.dim() == 1 and t.shape[0] != 1 else t.reshape([])


def conv_integer(n, x, w, xz=None, wz=None):
    from onnx_nn import convolve

    a, b = plain(x).to(torch.float64), plain(w).to(torch.float64)
    if xz is not None:
        a = a - plain(xz).to(torch.float64).reshape([])
    if wz is not None:
        z = plain(wz).to(torch.float64)
        b = b - (z.reshape([-1] + [1] * (b.dim() - 1)) if z.dim() == 1 and z.shape[0] != 1 else z.reshape([]))
    return convolve(n, a, b, None).to(torch.int32)


def q_conv(n, x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias=None):
    from onnx_nn import convolve

    a = plain(x).to(torch.float64) - plain(x_zero).to(torch.float64).reshape([])
    b = plain(w).to(torch.float64)
    z = plain(w_zero).to(torch.float64)
    b = b - (z.reshape([-1] + [1] * (b.dim() - 1)) if z.dim() == 1 and z.shape[0] != 1 else z.reshape([]))
    acc = convolve(n, a, b, None)
    if bias is not None:
        acc = acc + plain(bias).to(torch.float64).reshape([-1] + [1] * (a.dim() - 2))
    scale = plain(x_scale).to(torch.float32).reshape([]) * channels(plain(w_scale).to(torch.float32), a.dim()) / plain(y_scale).to(torch.float32).reshape([])
    return saturated(acc, scale, plain(y_zero).to(torch.float32).reshape([]), code_of(y_zero))


def brevitas_quant(n, x, scale, zero, bits):
    """onnx.brevitas Quant: x rounded to `bits` bits and back."""
    signed, narrow = n.get("signed", 1), n.get("narrow", 0)
    b = n.known(3)
    b = int(b[0]) if b else n.unsupported("a number of bits that is not constant")
    high = 2.0 ** (b - 1) - 1 if signed else 2.0 ** b - 1 - (1 if narrow else 0)
    low = -(2.0 ** (b - 1)) + (1 if narrow else 0) if signed else 0.0
    y = torch.round(x / scale + zero) if n.get("rounding_mode", "ROUND") == "ROUND" else torch.trunc(x / scale + zero)
    return (torch.clamp(y, low, high) - zero) * scale


TABLE = [
    ("", "Cast", 1, cast, "R"), ("", "CastLike", 15, cast_like, "RR"), ("", "BitCast", 26, bit_cast, "R"),
    ("", "QuantizeLinear", 10, quantize, "TRr"), ("", "DequantizeLinear", 10, dequantize, "RRr"),
    ("", "DynamicQuantizeLinear", 11, dynamic_quantize, "T"), ("", "MatMulInteger", 10, matmul_integer, "RRrr"),
    ("", "QLinearMatMul", 10, q_matmul, "RRRRRRRR"), ("", "ConvInteger", 10, conv_integer, "RRrr"), ("", "QLinearConv", 10, q_conv, "RRRRRRRRr"),
    ("onnx.brevitas", "Quant", 1, brevitas_quant, "TTTT"),
]
