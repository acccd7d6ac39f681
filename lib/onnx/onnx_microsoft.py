# com.microsoft: what ONNX Runtime's optimiser and quantiser write; and operators of old experimental sets.
import math
import torch
import torch.nn.functional as F
from onnx_math import gemm
from onnx_ml import floats
from onnx_nn import average_pool, convolve, rms_norm, rotary, spatial
from onnx_quant import RANGE, code_of, dequantize, dynamic_quantize, integers, matmul_integer, plain, quantize


# ---- com.microsoft ----
def skip_layer_norm(n, x, skip, gamma, beta=None, bias=None):
    s = x + skip
    if bias is not None:
        s = s + bias
    y = F.layer_norm(s, [s.shape[-1]], gamma, beta, n.get("epsilon", 1e-12))
    return y, None, None, s


def embed_layer_norm(n, ids, segments, words, places, kinds, gamma, beta, mask=None, at=None):
    steps = ids.shape[1]
    e = F.embedding(ids.to(torch.int64), words)
    p = F.embedding(at.to(torch.int64), places) if at is not None else places[:steps]
    e = e + p
    if kinds is not None and segments is not None:
        e = e + F.embedding(segments.to(torch.int64), kinds)
    y = F.layer_norm(e, [e.shape[-1]], gamma, beta, n.get("epsilon", 1e-12))
    sums = torch.sum(mask.to(torch.int32), [1], dtype=torch.int32) if mask is not None else torch.zeros([ids.shape[0]], dtype=torch.int32)
    return y, sums, e


def ms_attention(n, x, w, b=None, mask=None, past=None, bias=None, past_length=None):
    heads = n.get("num_heads")
    sizes = n.get("qkv_hidden_sizes", None) or [w.shape[1] // 3] * 3
    a = torch.matmul(x, w)
    a = a if b is None else a + b
    q, k, v = torch.split(a, sizes, -1)

    def parted(t, size):
        return t.reshape([t.shape[0], t.shape[1], heads, size // heads]).transpose(1, 2)

    q, k, v = parted(q, sizes[0]), parted(k, sizes[1]), parted(v, sizes[2])
    before = 0
    if past is not None:
        before = past.shape[3]
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
    scores = torch.matmul(q, k.transpose(2, 3)) * (n.get("scale", 0.0) or 1.0 / math.sqrt(sizes[0] // heads))
    rows, cols = q.shape[2], k.shape[2]
    low = n.get("mask_filter_value", -10000.0)
    if n.get("unidirectional", 0):
        ok = torch.arange(cols).unsqueeze(0) <= torch.arange(rows).unsqueeze(1) + before
        scores = torch.where(ok, scores, torch.full([], low, dtype=scores.dtype))
    if mask is not None:
        if mask.dim() == 1:
            n.unsupported("an attention mask of lengths")
        m = mask.unsqueeze(1).unsqueeze(1) if mask.dim() == 2 else mask.unsqueeze(1) if mask.dim() == 3 else mask
        scores = scores + (1.0 - m.to(scores.dtype)) * low
    if bias is not None:
        scores = scores + bias
    y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
    return y.reshape([y.shape[0], y.shape[1], sizes[2]]), torch.stack([k, v], 0)


def fast_gelu(n, x, b=None):
    return F.gelu(x if b is None else x + b, approximate="tanh")


def bias_gelu(n, x, b):
    return F.gelu(x + b)


def fused_matmul(n, a, b):
    a = a.transpose(-1, -2) if n.get("transA", 0) else a
    b = b.transpose(-1, -2) if n.get("transB", 0) else b
    y, alpha = torch.matmul(a, b), n.get("alpha", 1.0)
    return y if alpha == 1.0 else y * alpha


def quick_gelu(n, x):
    return x * torch.sigmoid(x * n.get("alpha", 1.702))


def skip_rms_norm(n, x, skip, gamma, bias=None):
    s = x + skip
    if bias is not None:
        s = s + bias
    return rms_norm(n, s, gamma), None, None, s


def ms_rotary(n, x, at, cos, sin):
    """Places are one a step, or the first one of all; without num_heads a head has twice the columns of cos."""
    shape, steps = x.shape, x.shape[1] if x.dim() == 3 else x.shape[2]
    if at.dim() == 1:
        at = (at.reshape([1, 1]) + torch.arange(steps)).expand([shape[0], steps])
    if x.dim() == 4:
        return rotary(n, x, cos, sin, at)
    size = shape[2] // n.get("num_heads") if n.get("num_heads", 0) else 2 * cos.shape[1]
    y = rotary(n, x.reshape([shape[0], steps, -1, size]).transpose(1, 2), cos, sin, at)
    return y.transpose(1, 2).reshape(shape)


def multi_head(n, q, k=None, v=None, bias=None, keep=None, extra=None, past_k=None, past_v=None):
    """Query [B, S, H]; key and value [B, L, H] or, already parted, [B, heads, L, D]. keep: the keys [B, L] that count."""
    heads = n.get("num_heads")
    if k is None or v is None or q.dim() != 3:
        n.unsupported("packed queries, keys and values")
    if keep is not None and keep.dim() != 2:
        n.unsupported("an attention mask of lengths")
    if bias is not None:
        wide = q.shape[2]
        q = q + bias[:wide]
        if k.dim() == 3:
            k, v = k + bias[wide:wide + k.shape[2]], v + bias[wide + k.shape[2]:]

    def parted(t):
        return t.reshape([t.shape[0], t.shape[1], heads, t.shape[2] // heads]).transpose(1, 2) if t.dim() == 3 else t

    q, k, v = parted(q), parted(k), parted(v)
    if past_k is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    scores = torch.matmul(q, k.transpose(2, 3)) * (n.get("scale", 0.0) or 1.0 / math.sqrt(q.shape[3]))
    low = torch.full([], n.get("mask_filter_value", -10000.0), dtype=scores.dtype)
    if n.get("unidirectional", 0):
        rows, cols = q.shape[2], k.shape[2]
        scores = torch.where(torch.arange(cols).unsqueeze(0) <= torch.arange(rows).unsqueeze(1) + (cols - rows), scores, low)
    if keep is not None:
        scores = scores + torch.where(keep.unsqueeze(1).unsqueeze(1) != 0, torch.zeros_like(low), low)
    if extra is not None:
        scores = scores + extra
    y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
    return torch.flatten(y, 2), k, v


# ---- fused with an activation ----
def activated(n, y, p):
    """p: the activation's numbers."""
    how = n.get("activation", "")
    if how == "":
        return y
    if how == "LeakyRelu":
        return F.leaky_relu(y, p[0] if p else 0.01)
    if how == "Clip":
        return torch.clamp(y, p[0], p[1])
    if how == "HardSigmoid":
        return torch.clamp(y * (p[0] if p else 0.2) + (p[1] if len(p) > 1 else 0.5), 0.0, 1.0)
    plain_ones = {"Relu": torch.relu, "Tanh": torch.tanh, "Sigmoid": torch.sigmoid, "HardSwish": F.hardswish}
    if how not in plain_ones:
        n.unsupported(f"the activation {how}")
    return plain_ones[how](y)


def fused_conv(n, x, w, b=None, added=None):
    y = convolve(n, x, w, b)
    return activated(n, y if added is None else y + added, n.get("activation_params", []))


def fused_gemm(n, a, b, c=None):
    p = [n.get(k) for k in ("activation_alpha", "activation_beta") if n.has(k)]
    return activated(n, gemm(n, a, b, c), p)


# ---- quantised ----
def real(x, scale, zero=None):
    """The numbers that x stands for."""
    x = plain(x).to(torch.float32)
    return (x if zero is None else x - plain(zero).to(torch.float32)) * plain(scale)


def coded(y, scale, zero, like):
    """y as integers of the type of its zero point, without one of `like`."""
    to = code_of(like if zero is None else zero)
    q = torch.round(y / plain(scale))
    if zero is not None:
        q = q + plain(zero).to(torch.float32)
    low, high = RANGE[to]
    return integers(torch.clamp(q, low, high), to)


def q_unary(f):
    return lambda n, x, sx, zx, sy, zy=None: coded(f(n, real(x, sx, zx)), sy, zy, x)


def q_binary(f):
    return lambda n, a, sa, za, b, sb, zb, sy, zy=None: coded(f(real(a, sa, za), real(b, sb, zb)), sy, zy, a)


def q_softmax(n, x):
    axis = n.get("axis", -1)
    if n.get("opset", 13) >= 13:
        return torch.softmax(x, axis)
    return torch.softmax(torch.flatten(x, axis), -1).reshape(x.shape)


def q_concat(n, scale, zero, *xs):
    parts = [real(xs[i], xs[i + 1], xs[i + 2]) for i in range(0, len(xs), 3)]
    return coded(torch.cat(parts, n.get("axis")), scale, zero, xs[0])


def q_where(n, c, x, sx, zx, y, sy, zy, sz, zz=None):
    return coded(torch.where(c, real(x, sx, zx), real(y, sy, zy)), sz, zz, x)


def q_gemm(n, a, sa, za, b, sb, zb, c=None, sy=None, zy=None):
    """Exact in float64; c has the scale of the product. Without sy the result is float."""
    x, w = plain(a).to(torch.float64) - plain(za).to(torch.float64), plain(b).to(torch.float64)
    x = x.t() if n.get("transA", 0) else x
    w = (w.t() if n.get("transB", 0) else w) - plain(zb).to(torch.float64)
    acc = torch.matmul(x, w)
    if c is not None:
        acc = acc + plain(c).to(torch.float64)
    y = acc * (plain(sa).to(torch.float64) * plain(sb).to(torch.float64) * n.get("alpha", 1.0))
    return y.to(torch.float32) if sy is None else coded(y, sy, zy, a)


def matmul_to_float(n, a, b, sa, sb, za=None, zb=None, bias=None):
    y = matmul_integer(n, a, b, za, zb).to(torch.float32) * (plain(sa) * plain(sb))
    return y if bias is None else y + bias


def dynamic_matmul(n, a, b, sb, zb=None, bias=None):
    q, sa, za = dynamic_quantize(n, a)
    return matmul_to_float(n, q, b, sa, sb, za, zb, bias)


def q_attention(n, x, w, bias, sx, sw, mask=None, zx=None, zw=None, past=None):
    return ms_attention(n, real(x, sx, zx), real(w, sw, zw), bias, mask, past)


def fields(t, bits):
    """Bytes [..., N] as numbers of 2, 4 or 8 bits, the low ones first: [..., N * 8 / bits]."""
    t = plain(t).to(torch.int32)
    parts = [torch.bitwise_and(torch.bitwise_right_shift(t, bits * i), (1 << bits) - 1) for i in range(8 // bits)]
    return torch.flatten(torch.stack(parts, -1), -2)


def matmul_nbits(n, a, b, scales, zeros=None, order=None, bias=None):
    """Weights of few bits [N, blocks, bytes], a scale and a zero point a block."""
    bits, k, cols, size = n.get("bits", 4), n.get("K"), n.get("N"), n.get("block_size")
    if bits not in (2, 4, 8) or order is not None:
        n.unsupported(f"{bits} bits" if order is None else "weights out of order (g_idx)")
    blocks = (k + size - 1) // size
    w = fields(b, bits).reshape([cols, blocks, size]).to(torch.float32)
    if zeros is None:
        w = w - float(1 << (bits - 1))
    elif plain(zeros).dtype.is_floating_point:
        w = w - plain(zeros).to(torch.float32).reshape([cols, blocks, 1])
    else:
        w = w - fields(plain(zeros).reshape([cols, -1]), bits)[:, :blocks].unsqueeze(-1).to(torch.float32)
    w = (w * plain(scales).to(torch.float32).reshape([cols, blocks, 1])).reshape([cols, -1])[:, :k]
    return F.linear(a, w.to(a.dtype), bias)


# ---- experimental operators of opsets below 9 ----
def image_scaler(n, x):
    return x * n.get("scale", 1.0) + floats(n.get("bias", [0.0])).reshape([1, -1, 1, 1])


def crop(n, x):
    left, top, right, bottom = n.get("border")
    size = n.get("scale", None)
    if size:
        return x[:, :, top:top + size[0], left:left + size[1]]
    return x.narrow(2, top, x.shape[2] - top - bottom).narrow(3, left, x.shape[3] - left - right)


def affine(n, x):
    return x * n.get("alpha", 1.0) + n.get("beta", 0.0)


def scaled_tanh(n, x):
    return torch.tanh(x * n.get("beta", 1.0)) * n.get("alpha", 1.0)


def parametric_softplus(n, x):
    return F.softplus(x * n.get("beta", 1.0)) * n.get("alpha", 1.0)


MS = "com.microsoft"
TABLE = [
    (MS, "SkipLayerNormalization", 1, skip_layer_norm, "TTTtt"), (MS, "EmbedLayerNormalization", 1, embed_layer_norm, "TtTTtTTtt"),
    (MS, "Attention", 1, ms_attention, "TTtttt"), (MS, "FastGelu", 1, fast_gelu, "Tt"), (MS, "BiasGelu", 1, bias_gelu, "TT"),
    (MS, "Gelu", 1, lambda n, x: F.gelu(x), "T"), (MS, "FusedMatMul", 1, fused_matmul, "TT"),
    ("", "ImageScaler", 1, image_scaler, "T"), ("", "Crop", 1, crop, "T"), ("", "Affine", 1, affine, "T"), ("", "ScaledTanh", 1, scaled_tanh, "T"),
    ("", "ParametricSoftplus", 1, parametric_softplus, "T"),
    (MS, "QuickGelu", 1, quick_gelu, "T"), ("", "SimplifiedLayerNormalization", 1, rms_norm, "TT"), (MS, "SimplifiedLayerNormalization", 1, rms_norm, "TT"),
    (MS, "SkipSimplifiedLayerNormalization", 1, skip_rms_norm, "TTTt"), (MS, "RotaryEmbedding", 1, ms_rotary, "TTTT"),
    (MS, "MultiHeadAttention", 1, multi_head, "Tttttttt"), (MS, "FusedConv", 1, fused_conv, "TTtt"), (MS, "FusedGemm", 1, fused_gemm, "TTt"),
    (MS, "QuantizeLinear", 1, quantize, "TRr"), (MS, "DequantizeLinear", 1, dequantize, "RRr"),
    (MS, "QLinearAdd", 1, q_binary(lambda a, b: a + b), "RRrRRrRr"), (MS, "QLinearMul", 1, q_binary(lambda a, b: a * b), "RRrRRrRr"),
    (MS, "QLinearSigmoid", 1, q_unary(lambda n, x: torch.sigmoid(x)), "RRrRr"),
    (MS, "QLinearLeakyRelu", 1, q_unary(lambda n, x: F.leaky_relu(x, n.get("alpha", 0.01))), "RRrRr"), (MS, "QLinearSoftmax", 1, q_unary(q_softmax), "RRrRr"),
    (MS, "QLinearAveragePool", 1, q_unary(average_pool), "RRrRr"),
    (MS, "QLinearGlobalAveragePool", 1, q_unary(lambda n, x: torch.mean(x, spatial(x), True)), "RRrRr"),
    (MS, "QLinearConcat", 1, q_concat, "Rrr"), (MS, "QLinearWhere", 1, q_where, "TRRrRRrRr"), (MS, "QGemm", 1, q_gemm, "RRRRRRrrr"),
    (MS, "DynamicQuantizeMatMul", 1, dynamic_matmul, "TRRrt"), (MS, "MatMulIntegerToFloat", 1, matmul_to_float, "RRRRrrt"),
    (MS, "QAttention", 1, q_attention, "RRTRRtrrt"), (MS, "MatMulNBits", 1, matmul_nbits, "TRRrrt"),
]
