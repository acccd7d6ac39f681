# com.microsoft: what ONNX Runtime's optimiser and quantiser write; and operators of old experimental sets.
import math
import _onnx
import torch
import torch.nn.functional as F
from onnx_control import LSTM, Bytes
from onnx_math import gemm
from onnx_ml import floats
from onnx_image import grid_sample
from onnx_nn import average_pool, convolve, max_pool, rms_norm, rotary, spatial
from onnx_quant import RANGE, code_of, dequantize, dynamic_matmul, integers, matmul_to_float, plain, q_conv, quantize, vector
from onnx_shape import axis_of, trilu
from onnx_values import tensor


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


def within(mask, batch, cols):
    """A 1-D mask as the keys [B, cols] that count: the lengths [B], the ends and then the starts [2 B], or the lengths and then offsets of queries
    and keys [3 B + 2]."""
    if mask is None or mask.dim() != 1:
        return mask
    at, ends = torch.arange(cols).unsqueeze(0), mask.unsqueeze(-1)
    if _onnx.truth(mask.shape[0] == batch):
        return at < ends
    if _onnx.truth(mask.shape[0] == 2 * batch):
        return torch.logical_and(at < ends[:batch], at >= ends[batch:])
    return at < ends[:batch]


def masked(n, scores, mask, before):
    """scores [B, heads, rows, cols]: masked keys get mask_filter_value added. In a unidirectional node row i sees the keys up to before + i, except
    that the last row sees all, as in ONNX Runtime."""
    rows, cols = scores.shape[2], scores.shape[3]
    mask = within(mask, scores.shape[0], cols)
    if mask is not None:
        m = mask.unsqueeze(1).unsqueeze(1) if mask.dim() == 2 else mask.unsqueeze(1) if mask.dim() == 3 else mask
        low = torch.full([], n.get("mask_filter_value", -10000.0), dtype=scores.dtype)
        scores = scores + torch.where(m > 0, torch.zeros_like(low), low)
    if n.get("unidirectional", 0):
        i = torch.arange(rows).unsqueeze(1)
        ok = torch.arange(cols).unsqueeze(0) <= i + before
        if not _onnx.truth(cols == rows + before):
            ok = torch.logical_or(ok, i == rows - 1)
        scores = torch.where(ok, scores, torch.full([], float("-inf"), dtype=scores.dtype))
    return scores


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
    scores = masked(n, scores, mask, before)
    if bias is not None:
        scores = scores + bias
    y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
    present = torch.stack([k, v], 0) if sizes[1] == sizes[2] else None
    return y.reshape([y.shape[0], y.shape[1], sizes[2]]), present


def fast_gelu(n, x, b=None):
    return F.gelu(x if b is None else x + b, approximate="tanh")


def bias_gelu(n, x, b):
    return F.gelu(x + b)


def fused_matmul(n, a, b):
    def turned(t, which):
        """transBatch: the rows come before the batch; one dimension stays."""
        t = t.movedim(0, -2) if n.get("transBatch" + which, 0) else t
        return t.transpose(-1, -2) if n.get("trans" + which, 0) and t.dim() > 1 else t

    y, alpha = torch.matmul(turned(a, "A"), turned(b, "B")), n.get("alpha", 1.0)
    return y if alpha == 1.0 else y * alpha


def quick_gelu(n, x):
    return x * torch.sigmoid(x * n.get("alpha", 1.702))


def skip_rms_norm(n, x, skip, gamma, bias=None):
    s = x + skip
    if bias is not None:
        s = s + bias
    return rms_norm(n, s, gamma), None, None, s


def ms_rotary(n, x, at, cos, sin):
    """Positions: one for each step, or the first one of all; without num_heads a head has twice the columns of cos."""
    shape, steps = x.shape, x.shape[1] if x.dim() == 3 else x.shape[2]
    if at.dim() == 1:
        at = (at.reshape([1, 1]) + torch.arange(steps)).expand([shape[0], steps])
    if x.dim() == 4:
        return rotary(n, x, cos, sin, at)
    size = shape[2] // n.get("num_heads") if n.get("num_heads", 0) else 2 * cos.shape[1]
    y = rotary(n, x.reshape([shape[0], steps, -1, size]).transpose(1, 2), cos, sin, at)
    return y.transpose(1, 2).reshape(shape)


def multi_head(n, q, k=None, v=None, bias=None, keep=None, extra=None, past_k=None, past_v=None):
    """Query [B, S, H]; key and value [B, L, H] or, already split, [B, heads, L, D]; or all in one, [B, S, heads, 3, D], or key and value in one, [B,
    L, heads, 2, D]. keep: the keys [B, L] that count."""
    heads = n.get("num_heads")
    if q.dim() == 5:
        q, k, v = [torch.flatten(t, 2) for t in torch.unbind(q, 3)]
    elif k is not None and k.dim() == 5:
        k, v = [torch.flatten(t, 2) for t in torch.unbind(k, 3)]
    if k is None or v is None or q.dim() != 3:
        n.fail("a query alone that is not packed with its keys and values, [batch, steps, heads, 3, size]")
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
    scores = masked(n, scores, keep, 0 if past_k is None else past_k.shape[2])
    if extra is not None:
        scores = scores + extra
    y = torch.matmul(torch.softmax(scores, -1), v).transpose(1, 2)
    return torch.flatten(y, 2), k, v


def placed(past, new, at, length):
    """past [B, heads, P, D], extended to `length` positions, with the steps of new [B, heads, S, D] written at positions at [B, S]."""
    if past is None:
        past = new.narrow(2, 0, 0)
    wide = F.pad(past, [0, 0, 0, length - past.shape[2]])
    return torch.scatter(wide, 2, at.unsqueeze(1).unsqueeze(-1).expand(list(new.shape)), new)


def with_sink(scores, sink):
    """softmax over the last dimension with one additional score for each head, which takes its share of the weights: sink [heads]."""
    last = sink.to(scores.dtype).reshape([1, -1, 1, 1]).expand(list(scores.shape[:3]) + [1])
    return torch.softmax(torch.cat([scores, last], -1), -1).narrow(3, 0, scores.shape[3])


def group_query(n, q, k, v, past_k, past_v, last, total, cos=None, sin=None, at=None, bias=None, sink=None):
    """Query [B, S, heads * D], or with keys and values packed after it. last [B]: the position of each last step; the cache holds `total`."""
    heads, groups = n.get("num_heads"), n.get("kv_num_heads")
    if any([n.get(kind, "NONE") != "NONE" for kind in ("k_quant_type", "v_quant_type")]) or n.get("kv_cache_bit_width", 0):
        n.unsupported("a quantised cache")
    if k is None:
        size = q.shape[2] // (heads + 2 * groups)
        q, k, v = torch.split(q, [heads * size, groups * size, groups * size], -1)
    batch, steps, size = q.shape[0], q.shape[1], q.shape[2] // heads
    q, k, v = [t.reshape([batch, steps, -1, size]).transpose(1, 2) for t in (q, k, v)]
    first = torch.clamp(last.to(torch.int64).reshape([-1, 1]) + 1 - steps, min=0)
    places = first + torch.arange(steps).unsqueeze(0)
    if n.get("do_rotary", 0):
        turned = places if at is None else at
        n.attrs = dict(n.attrs, interleaved=n.get("rotary_interleaved", 0), rotary_embedding_dim=2 * cos.shape[1])
        q, k = rotary(n, q, cos, sin, turned), rotary(n, k, cos, sin, turned)
    held = 0 if past_k is None else past_k.shape[2]
    length = torch.sym_max(held, total[0])
    k, v = placed(past_k, k, places, length), placed(past_v, v, places, length)
    each = heads // groups
    wide_k, wide_v = (k, v) if each == 1 else [torch.repeat_interleave(t, each, 1) for t in (k, v)]
    scores = torch.matmul(q, wide_k.transpose(2, 3)) * (n.get("scale", 0.0) or 1.0 / math.sqrt(size))
    cap, window = n.get("softcap", 0.0), n.get("local_window_size", -1)
    if cap:
        scores = torch.tanh(scores / cap) * cap
    if bias is not None:
        scores = scores + F.pad(bias, [0, length - bias.shape[3]])
    j, row = torch.arange(length).reshape([1, 1, 1, -1]), places.unsqueeze(1).unsqueeze(-1)
    ok = j <= row if n.get("causal", 1) else j <= last.to(torch.int64).reshape([-1, 1, 1, 1])
    if window > 0:
        ok = torch.logical_and(ok, j > row - window)
    scores = torch.where(ok, scores, torch.full([], float("-inf"), dtype=scores.dtype))
    if sink is None and n.get("smooth_softmax", 0) == 1:
        sink = torch.zeros([heads], dtype=scores.dtype)
    p = torch.softmax(scores, -1) if sink is None else with_sink(scores, sink)
    return torch.flatten(torch.matmul(p, wide_v).transpose(1, 2), 2), k, v


def cdist(n, a, b):
    d = torch.cdist(a, b)
    return d if n.get("metric", "sqeuclidean") == "euclidean" else d * d


# ---- fused with an activation ----
def activated(n, y, p):
    """p: the activation's parameters."""
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
    """Dequantises x."""
    x = plain(x).to(torch.float32)
    return (x if zero is None else x - plain(zero).to(torch.float32)) * plain(scale)


def coded(y, scale, zero, like):
    """Quantises y to the type of its zero point, or of `like` without one."""
    to = code_of(like if zero is None else zero)
    q = torch.round(y / plain(scale))
    if zero is not None:
        q = q + plain(zero).to(torch.float32)
    low, high = RANGE[to]
    return integers(torch.clamp(q, low, high), to)


def channels_first(n, x, f, last=False):
    """f of x with channels second; they are last if the node, or the caller, says so."""
    if not n.get("channels_last", 0) and not last:
        return f(x)
    return f(x.movedim(-1, 1)).movedim(1, -1)


def ms_q_conv(n, x, *rest):
    return channels_first(n, plain(x), lambda t: q_conv(n, t, *rest))


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


def dynamic_lstm(n, x, w, r, b, lengths, h0, c0, peep, w_scale, w_zero, r_scale, r_zero=None):
    w, r = Bytes(n, tensor(w), tensor(w_scale), tensor(w_zero)), Bytes(n, tensor(r), tensor(r_scale), tensor(r_zero))
    return LSTM(n, x, w, r, b, lengths, h0, c0, peep)


def q_attention(n, x, w, bias, sx, sw, mask=None, zx=None, zw=None, past=None):
    return ms_attention(n, real(x, sx, zx), real(w, sw, zw), bias, mask, past)


def fields(t, bits):
    """Bytes [..., N] unpacked to numbers of 2, 4 or 8 bits, low bits first: [..., N * 8 / bits]."""
    t = plain(t).to(torch.int32)
    parts = [torch.bitwise_and(torch.bitwise_right_shift(t, bits * i), (1 << bits) - 1) for i in range(8 // bits)]
    return torch.flatten(torch.stack(parts, -1), -2)


def matmul_nbits(n, a, b, scales, zeros=None, order=None, bias=None):
    """Weights of few bits [N, blocks, bytes], with a scale and a zero point for each block."""
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


def blockwise(codes, scales, zeros, axis, size):
    """Dequantises codes with a scale, and a zero point, for each `size` of them along `axis`."""
    def spread(t):
        return torch.repeat_interleave(t, size, axis).narrow(axis, 0, codes.shape[axis])

    w = codes.to(scales.dtype)
    return (w if zeros is None else w - spread(zeros.to(scales.dtype))) * spread(scales)


def gather_blocks(n, data, at, scales, zeros=None):
    """Rows of a table of few bits with a scale for each block. Bytes hold several codes along the last dimension."""
    bits, size, rows = n.get("bits", 4), n.get("block_size", 128), n.get("gather_axis", 0)
    packed, codes, zeros = code_of(data) == 2, plain(data), None if zeros is None else plain(zeros)
    along = axis_of(n.get("quantize_axis", 1), codes.dim())
    if size == 0 or rows == along:
        n.unsupported("blocks along the gathered axis" if rows == along else "one block a row")

    def picked(t):
        return torch.index_select(t, rows, index)

    index = at.reshape([-1]).to(torch.int64)
    index = torch.where(index < 0, index + codes.shape[rows], index)
    codes, scales, zeros = picked(codes), picked(plain(scales)), None if zeros is None else picked(zeros)
    if packed:
        codes = fields(codes, bits)
        zeros = torch.full([], 1 << (bits - 1)).expand(list(scales.shape)) if zeros is None else fields(zeros, bits).narrow(along, 0, scales.shape[along])
    y = blockwise(codes, scales, zeros, along, size)
    return y.reshape(list(y.shape[:rows]) + list(at.shape) + list(y.shape[rows + 1:]))


NF4 = [-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334, -0.09105003625154495, 0.0,
       0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1.0]
FP4 = [0.0, 0.0052083333, 0.66666667, 1.0, 0.33333333, 0.5, 0.16666667, 0.25]


def matmul_bnb4(n, a, b, scales):
    """Weights [N, K] of 4-bit codes into a table, the first of two in the high bits, with a scale for each block of the flattened weights."""
    k, cols, size = n.get("K"), n.get("N"), n.get("block_size")
    table = vector(NF4 if n.get("quant_type", 1) else FP4 + [-v for v in FP4], torch.float32)
    w = torch.index_select(table, 0, torch.flip(fields(b, 4).reshape([-1, 2]), [1]).reshape([-1])[:k * cols])
    w = blockwise(w, plain(scales).to(torch.float32).reshape([-1]), None, 0, size).reshape([cols, k]).to(a.dtype)
    return F.linear(a, w) if n.get("transB", 1) else n.unsupported("weights that are not transposed")


def q_embed_layer_norm(n, ids, segments, words, places, kinds, gamma, beta, mask, sw, sp, sk, sg, sb, zw, zp, zk, zg, zb):
    real_kinds = None if kinds is None else real(kinds, sk, zk)
    return embed_layer_norm(n, ids, segments, real(words, sw, zw), real(places, sp, zp), real_kinds, real(gamma, sg, zg), real(beta, sb, zb), mask)[:2]


def own_layout(n, *xs):
    n.unsupported("the layout of one CPU (NCHWc): save the model with ONNX Runtime's optimisations up to level extended, which every CPU reads")


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


MS, NCHWC = "com.microsoft", "com.microsoft.nchwc"
TABLE = [
    (MS, "SkipLayerNormalization", 1, skip_layer_norm, "TTTtt"), (MS, "EmbedLayerNormalization", 1, embed_layer_norm, "TtTTtTTtt"),
    (MS, "Attention", 1, ms_attention, "TTtttt"), (MS, "FastGelu", 1, fast_gelu, "Tt"), (MS, "BiasGelu", 1, bias_gelu, "TT"),
    (MS, "Gelu", 1, lambda n, x: F.gelu(x), "T"), (MS, "FusedMatMul", 1, fused_matmul, "TT"),
    ("", "ImageScaler", 1, image_scaler, "T"), ("", "Crop", 1, crop, "T"), ("", "Affine", 1, affine, "T"), ("", "ScaledTanh", 1, scaled_tanh, "T"),
    ("", "ParametricSoftplus", 1, parametric_softplus, "T"),
    (MS, "QuickGelu", 1, quick_gelu, "T"), ("", "SimplifiedLayerNormalization", 1, rms_norm, "TT"), (MS, "SimplifiedLayerNormalization", 1, rms_norm, "TT"),
    (MS, "SkipSimplifiedLayerNormalization", 1, skip_rms_norm, "TTTt"), (MS, "RotaryEmbedding", 1, ms_rotary, "TTTT"),
    (MS, "TransposeMatMul", 1, fused_matmul, "TT"),
    (MS, "GroupQueryAttention", 1, group_query, "TttttTStttt"), (MS, "QEmbedLayerNormalization", 1, q_embed_layer_norm, "TtRRrRRtRRrRRRRrRR"),
    (MS, "GatherBlockQuantized", 1, gather_blocks, "RTRr"), (MS, "MatMulBnb4", 1, matmul_bnb4, "TRR"),
    (MS, "Inverse", 1, lambda n, x: torch.linalg.inv(x), "T"), (MS, "Trilu", 1, trilu, "Th"), (MS, "GridSample", 1, grid_sample, "TT"), (MS, "CDist", 1, cdist, "TT"),
    (MS, "MultiHeadAttention", 1, multi_head, "Tttttttt"), (MS, "FusedConv", 1, fused_conv, "TTtt"), (MS, "FusedGemm", 1, fused_gemm, "TTt"),
    (MS, "QuantizeLinear", 1, quantize, "TRr"), (MS, "DequantizeLinear", 1, dequantize, "RRr"),
    (MS, "QLinearAdd", 1, q_binary(lambda a, b: a + b), "RRrRRrRr"), (MS, "QLinearMul", 1, q_binary(lambda a, b: a * b), "RRrRRrRr"),
    (MS, "QLinearSigmoid", 1, q_unary(lambda n, x: torch.sigmoid(x)), "RRrRr"),
    (MS, "QLinearLeakyRelu", 1, q_unary(lambda n, x: F.leaky_relu(x, n.get("alpha", 0.01))), "RRrRr"), (MS, "QLinearSoftmax", 1, q_unary(q_softmax), "RRrRr"),
    (MS, "QLinearAveragePool", 1, q_unary(lambda n, x: channels_first(n, x, lambda t: average_pool(n, t))), "RRrRr"),
    (MS, "QLinearGlobalAveragePool", 1, q_unary(lambda n, x: channels_first(n, x, lambda t: torch.mean(t, spatial(t), True))), "RRrRr"),
    (MS, "QLinearConv", 1, ms_q_conv, "RRRRRRRRr"),
    (MS, "NhwcMaxPool", 1, lambda n, x: channels_first(n, x, lambda t: max_pool(n, t), True), "T"),
    (MS, "QLinearConcat", 1, q_concat, "Rrr"), (MS, "QLinearWhere", 1, q_where, "TRRrRRrRr"), (MS, "QGemm", 1, q_gemm, "RRRRRRrrr"),
    (MS, "DynamicQuantizeMatMul", 1, dynamic_matmul, "TRRrt"), (MS, "MatMulIntegerToFloat", 1, matmul_to_float, "RRRRrrt"),
    (MS, "DynamicQuantizeLSTM", 1, dynamic_lstm, "TRRtttttRrRr"),
    (MS, "QAttention", 1, q_attention, "RRTRRtrrt"), (MS, "MatMulNBits", 1, matmul_nbits, "TRRrrt"),
] + [(NCHWC, op, 1, own_layout, "r") for op in ("Conv", "MaxPool", "AveragePool", "GlobalMaxPool", "GlobalAveragePool", "Upsample", "ReorderInput", "ReorderOutput")]
