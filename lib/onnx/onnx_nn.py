# Convolution, pooling, normalisation, attention, recurrent networks, losses.
import math
import torch
import torch.nn.functional as F
from onnx_shape import axis_of, product
from onnx_values import numbers
import _onnx


# ---- windows ----
def same_pads(n, x, kernel, stride, dilation):
    """Paddings (begins, ends) of auto_pad SAME_UPPER or SAME_LOWER."""
    begin, end = [], []
    for i in range(len(kernel)):
        length = x.shape[2 + i]
        out = (length + stride[i] - 1) // stride[i]
        total = (out - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 - length
        total = torch.sym_max(total, 0)
        small = total // 2
        if n.get("auto_pad") == "SAME_UPPER":
            begin.append(small)
            end.append(total - small)
        else:
            begin.append(total - small)
            end.append(small)
    return begin, end


def windows(n, x, kernel):
    """Strides, dilations and paddings of a window operator over x [N, C, ...]."""
    k, pads = len(kernel), n.get("pads", None)
    if x.dim() != k + 2:
        n.fail(f"a kernel of {k} dimensions for an input of rank {x.dim()}")
    stride, dilation = n.get("strides", None) or [1] * k, n.get("dilations", None) or [1] * k
    auto = n.get("auto_pad", "NOTSET")
    if auto in ("SAME_UPPER", "SAME_LOWER"):
        begin, end = same_pads(n, x, kernel, stride, dilation)
    elif auto == "VALID":
        begin, end = [0] * k, [0] * k
    else:
        pads = pads or [0] * (2 * k)
        begin, end = pads[:k], pads[k:]
    for v in (stride, dilation, begin, end):
        if len(v) != k:
            n.fail(f"{len(v)} numbers for {k} dimensions")
    return stride, dilation, begin, end


def equal(a, b):
    for x, y in zip(a, b):
        if not _onnx.number(x) or not _onnx.number(y) or x != y:
            return False
    return True


def padded(x, begin, end, value=0):
    flat = []
    for b, e in zip(reversed(begin), reversed(end)):
        flat = flat + [b, e]
    return F.pad(x, flat, value=value)


def convolve(n, x, w, b):
    kernel = n.get("kernel_shape", None) or list(w.shape[2:])
    for k, size in zip(kernel, w.shape[2:]):
        if len(kernel) != w.dim() - 2 or not _onnx.require(k == size):
            n.fail(f"kernel_shape {kernel} for weights of sizes {list(w.shape)}")
    stride, dilation, begin, end = windows(n, x, kernel)
    if not equal(begin, end):
        x = padded(x, begin, end)
        begin = [0] * len(kernel)
    return torch.ops.aten.convolution(x, w, b, stride, begin, dilation, False, [0] * len(kernel), n.get("group", 1))


def conv(n, x, w, b=None):
    return convolve(n, x, w, b)


def conv_transpose(n, x, w, b=None):
    kernel, k = list(w.shape[2:]), w.dim() - 2
    stride, dilation = n.get("strides", None) or [1] * k, n.get("dilations", None) or [1] * k
    extra = n.get("output_padding", None) or [0] * k
    auto, wanted = n.get("auto_pad", "NOTSET"), n.get("output_shape", None)
    full = [(x.shape[2 + i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 + extra[i] for i in range(k)]
    if wanted or auto in ("SAME_UPPER", "SAME_LOWER"):
        wanted = wanted or [x.shape[2 + i] * stride[i] for i in range(k)]
        total = [torch.sym_max(full[i] - wanted[i], 0) for i in range(k)]
        # the odd element goes to the end for SAME_UPPER
        begin = [t // 2 if auto == "SAME_UPPER" else t - t // 2 for t in total]
        end = [t - s for t, s in zip(total, begin)]
        if wanted and auto not in ("SAME_UPPER", "SAME_LOWER"):
            begin = [t // 2 for t in total]
            end = [t - s for t, s in zip(total, begin)]
            if auto == "NOTSET":
                begin, end = [t - t // 2 for t in total], [t // 2 for t in total]
        grow = [torch.sym_max(wanted[i] - full[i], 0) for i in range(k)]
    elif auto == "VALID":
        begin, end, grow = [0] * k, [0] * k, [0] * k
    else:
        pads = n.get("pads", None) or [0] * (2 * k)
        begin, end, grow = pads[:k], pads[k:], [0] * k
    small = True
    for i in range(k):
        small = small and extra[i] < max(stride[i], dilation[i])
    zero = [0] * k
    if equal(begin, end) and small and equal(grow, zero):
        return torch.ops.aten.convolution(x, w, b, stride, begin, dilation, True, extra, n.get("group", 1))
    # extended by output_padding and output_shape, where nothing is added, and cropped
    y = torch.ops.aten.convolution(x, w, None, stride, zero, dilation, True, zero, n.get("group", 1))
    more = [extra[i] + grow[i] for i in range(k)]
    if not equal(more, zero):
        y = padded(y, zero, more)
    for i in range(k):
        y = y.narrow(2 + i, begin[i], y.shape[2 + i] - begin[i] - end[i])
    return y if b is None else y + column(b, y)


# ---- pooling ----
def pool_size(n, length, kernel, stride, dilation, begin, end):
    """Windows along one dimension; with ceil_mode, those that begin in the end padding are left out."""
    span = length + begin + end - dilation * (kernel - 1) - 1
    if not n.get("ceil_mode", 0):
        return span // stride + 1
    out = (span + stride - 1) // stride + 1
    if _onnx.number(out) and (out - 1) * stride >= length + begin:
        out = out - 1
    return out


def max_pool_native(x, kernel, stride, pad, dilation, ceil, indices):
    k = len(kernel)
    f = (F.max_pool1d, F.max_pool2d, F.max_pool3d)[k - 1]
    return f(x, kernel, stride, pad, dilation, ceil, indices)


def max_pool(n, x):
    kernel, dtype = n.get("kernel_shape"), x.dtype
    k = len(kernel)
    stride, dilation, begin, end = windows(n, x, kernel)
    sizes = list(x.shape[2:])
    out = [pool_size(n, sizes[i], kernel[i], stride[i], dilation[i], begin[i], end[i]) for i in range(k)]
    native = equal(begin, end) and k <= 3
    for i in range(k):
        native = native and _onnx.number(begin[i]) and 2 * begin[i] <= kernel[i]
    y = x if dtype.is_floating_point else x.to(torch.float32)
    if k > 3:
        n.unsupported(f"pooling over {k} dimensions")
    if native:
        y, at = max_pool_native(y, kernel, stride, begin, dilation, bool(n.get("ceil_mode", 0)), True) if n.wants(1) else (
            max_pool_native(y, kernel, stride, begin, dilation, bool(n.get("ceil_mode", 0)), False), None)
        wide, shift = sizes, [0] * k
    else:
        last = [(out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 for i in range(k)]
        tail = [torch.sym_max(last[i] - sizes[i] - begin[i], 0) for i in range(k)]
        y = padded(y, begin, tail, float("-inf"))
        wide, shift = list(y.shape[2:]), begin
        y, at = max_pool_native(y, kernel, stride, [0] * k, dilation, False, True) if n.wants(1) else (
            max_pool_native(y, kernel, stride, [0] * k, dilation, False, False), None)
        for i in range(k):
            if not _onnx.number(y.shape[2 + i]) or not _onnx.number(out[i]) or y.shape[2 + i] != out[i]:
                y = y.narrow(2 + i, 0, out[i])
                at = None if at is None else at.narrow(2 + i, 0, out[i])
    y = y.to(dtype)
    if at is None:
        return y
    # positions in one channel of the padded input to positions in the whole input
    parts, rest = [], at
    for i in range(k - 1, -1, -1):
        parts.insert(0, torch.remainder(rest, wide[i]) - shift[i])
        rest = torch.div(rest, wide[i], rounding_mode="floor")
    order = list(range(k)) if not n.get("storage_order", 0) else list(range(k - 1, -1, -1))
    flat = None
    for i in order:
        flat = parts[i] if flat is None else flat * sizes[i] + parts[i]
    channel = torch.arange(x.shape[0] * x.shape[1]).reshape([x.shape[0], x.shape[1]] + [1] * k)
    return y, flat + channel * product(sizes)


def window_sums(x, kernel, stride, dilation):
    """Sums of x [N, C, ...] over windows: a convolution of every channel with ones."""
    k = len(kernel)
    flat = x.reshape([x.shape[0] * x.shape[1], 1] + list(x.shape[2:]))
    y = torch.ops.aten.convolution(flat, torch.ones([1, 1] + kernel, dtype=x.dtype), None, stride, [0] * k, dilation, False, [0] * k, 1)
    return y.reshape([x.shape[0], x.shape[1]] + list(y.shape[2:]))


def sum_windows(n, x, kernel):
    """(sums, sums of ones over the input and, with count_include_pad, its padding)"""
    k = len(kernel)
    stride, dilation, begin, end = windows(n, x, kernel)
    sizes = list(x.shape[2:])
    out = [pool_size(n, sizes[i], kernel[i], stride[i], dilation[i], begin[i], end[i]) for i in range(k)]
    tail = [torch.sym_max((out[i] - 1) * stride[i] + dilation[i] * (kernel[i] - 1) + 1 - sizes[i] - begin[i], 0) for i in range(k)]
    ones = torch.ones([1, 1] + sizes, dtype=x.dtype)
    if n.get("count_include_pad", 0):
        ones = padded(ones, begin, end, 1.0)
        ones = padded(ones, [0] * k, [torch.sym_max(tail[i] - end[i], 0) for i in range(k)])
    else:
        ones = padded(ones, begin, tail)
    y = window_sums(padded(x, begin, tail), kernel, stride, dilation)
    c = window_sums(ones, kernel, stride, dilation)
    for i in range(k):
        y, c = y.narrow(2 + i, 0, out[i]), c.narrow(2 + i, 0, out[i])
    return y, c


def average_pool(n, x):
    kernel = n.get("kernel_shape")
    k = len(kernel)
    stride, dilation, begin, end = windows(n, x, kernel)
    native = equal(begin, end) and k <= 3
    for i in range(k):
        native = native and dilation[i] == 1 and _onnx.number(begin[i]) and 2 * begin[i] <= kernel[i]
    if native:
        f = (F.avg_pool1d, F.avg_pool2d, F.avg_pool3d)[k - 1]
        return f(x, kernel, stride, begin, bool(n.get("ceil_mode", 0)), bool(n.get("count_include_pad", 0)))
    y, c = sum_windows(n, x, kernel)
    return y / c


def lp_pool(n, x):
    p = n.get("p", 2)
    y, _ = sum_windows(n, torch.pow(torch.abs(x), p), n.get("kernel_shape"))
    return torch.pow(y, 1.0 / p)


def spatial(x):
    return list(range(2, x.dim()))


def global_lp(n, x):
    p = n.get("p", 2)
    return torch.pow(torch.sum(torch.pow(torch.abs(x), p), spatial(x), True), 1.0 / p)


def max_unpool(n, x, indices, to=None):
    kernel = n.get("kernel_shape")
    k = len(kernel)
    stride, pads = n.get("strides", None) or [1] * k, n.get("pads", None) or [0] * (2 * k)
    sizes = [(x.shape[2 + i] - 1) * stride[i] + kernel[i] - pads[i] - pads[k + i] for i in range(k)]
    full = [x.shape[0], x.shape[1]] + sizes
    flat = indices.reshape([-1])
    if to:
        # indices refer to the smaller output
        rest, parts = flat, []
        for i in range(len(full) - 1, -1, -1):
            parts.insert(0, torch.remainder(rest, full[i]))
            rest = torch.div(rest, full[i], rounding_mode="floor")
        flat = parts[0]
        for i in range(1, len(full)):
            flat = flat * to[i] + parts[i]
        full = list(to)
    y = torch.zeros([product(full)], dtype=x.dtype)
    return torch.scatter(y, 0, flat, x.reshape([-1])).reshape(full)


# ---- normalisation ----
def column(t, x):
    return t.reshape([1, -1] + [1] * (x.dim() - 2))


def batch_norm(n, x, scale, bias, mean, var):
    eps, momentum = n.get("epsilon", 1e-5), n.get("momentum", 0.9)
    training = n.get("training_mode", 0) if n.version >= 14 else n.wants(1) and not n.get("is_test", 0)
    whole = n.version < 9 and not n.get("spatial", 1)  # one scale, mean and so on for each element of a sample
    wide = torch.promote_types(x.dtype, torch.promote_types(scale.dtype, mean.dtype))
    v, scale, bias = x.to(wide), scale.to(wide), bias.to(wide)
    each = (lambda p: p) if whole else (lambda p: column(p, x))
    if not training:
        if x.dim() > 1 and not whole:
            return F.batch_norm(v, mean.to(wide), var.to(wide), scale, bias, False, 0.1, eps).to(x.dtype)
        y = (v - each(mean.to(wide))) / torch.sqrt(each(var.to(wide)) + eps)
        return (y * each(scale) + each(bias)).to(x.dtype)
    dims = [0] if whole else [0] + spatial(x)
    now = torch.mean(v, dims)
    spread = torch.mean(torch.square(v - each(now)), dims)
    y = ((v - each(now)) / torch.sqrt(each(spread) + eps) * each(scale) + each(bias)).to(x.dtype)
    running = (mean * momentum + now.to(mean.dtype) * (1 - momentum), var * momentum + spread.to(var.dtype) * (1 - momentum))
    return (y, *running) if n.version >= 14 else (y, *running, now, spread)


def instance_norm(n, x, scale, bias):
    return F.instance_norm(x, None, None, scale, bias, True, 0.1, n.get("epsilon", 1e-5))


def layer_norm(n, x, scale, bias=None):
    axis, eps = axis_of(n.get("axis", -1), x.dim()), n.get("epsilon", 1e-5)
    tail = list(x.shape[axis:])
    plain = not n.wants(1) and not n.wants(2) and x.dtype == torch.float32 and scale.dim() == len(tail) and (bias is None or bias.dim() == len(tail))
    for d, s in zip(tail, scale.shape):
        plain = plain and _onnx.number(d) and _onnx.number(s) and d == s
    if plain:
        return F.layer_norm(x, tail, scale, bias, eps)
    dims = list(range(axis, x.dim()))
    v = x.to(torch.float32) if n.get("stash_type", 1) == 1 else x
    mean = torch.mean(v, dims, True)
    c = v - mean
    inv = torch.rsqrt(torch.mean(c * c, dims, True) + eps)
    y = (c * inv).to(x.dtype) * scale
    return y if bias is None else y + bias, mean, inv


def rms_norm(n, x, scale):
    axis, eps = axis_of(n.get("axis", -1), x.dim()), n.get("epsilon", 1e-5)
    dims = list(range(axis, x.dim()))
    v = x.to(torch.float32) if n.get("stash_type", 1) == 1 else x
    inv = torch.rsqrt(torch.mean(v * v, dims, True) + eps)
    return (v * inv).to(x.dtype) * scale


def group_norm(n, x, scale, bias):
    g, eps = n.get("num_groups"), n.get("epsilon", 1e-5)
    if n.version < 21:  # one scale for each group
        per = x.shape[1] // g
        scale, bias = torch.repeat_interleave(scale, per), torch.repeat_interleave(bias, per)
    if x.dtype == torch.float32:
        return F.group_norm(x, g, scale, bias, eps)
    return F.group_norm(x.to(torch.float32), g, scale.to(torch.float32), bias.to(torch.float32), eps).to(x.dtype)


def lp_norm(n, x):
    axis, p = n.get("axis", -1), n.get("p", 2)
    size = torch.sum(torch.abs(x), [axis], True) if p == 1 else torch.sqrt(torch.sum(x * x, [axis], True))
    return torch.where(size == 0, torch.zeros_like(x), x / size)


def mean_variance(n, x):
    axes = n.get("axes", [0, 2, 3])
    c = x - torch.mean(x, axes, True)
    return c / (torch.sqrt(torch.mean(c * c, axes, True)) + 1e-9)


def lrn(n, x):
    size, alpha, beta, bias = n.get("size"), n.get("alpha", 1e-4), n.get("beta", 0.75), n.get("bias", 1.0)
    before = (size - 1) // 2
    sq = padded(torch.square(x), [before] + [0] * (x.dim() - 2), [size - 1 - before] + [0] * (x.dim() - 2))
    total = sq.narrow(1, 0, x.shape[1])
    for i in range(1, size):
        total = total + sq.narrow(1, i, x.shape[1])
    return x / torch.pow(total * (alpha / size) + bias, beta)


# ---- losses ----
def reduced(n, loss, weights):
    how = n.get("reduction", "mean")
    if how == "none":
        return loss
    if how == "sum":
        return torch.sum(loss)
    return torch.mean(loss) if weights is None else torch.sum(loss) / torch.sum(weights)


def nll(n, x, target, weight=None):
    """-x[target] * weight[target]; targets equal to ignore_index do not count."""
    ignore = n.get("ignore_index", None)
    t = target.to(torch.int64)
    safe = t if ignore is None else torch.where(t == ignore, torch.zeros_like(t), t)
    loss = -torch.gather(x, 1, safe.unsqueeze(1)).squeeze(1)
    w = None if weight is None else weight[safe]
    if ignore is not None:
        ones = torch.ones_like(loss) if w is None else w
        w = torch.where(t == ignore, torch.zeros_like(ones), ones)
    return reduced(n, loss if w is None else loss * w, w)


def softmax_cross_entropy(n, x, target, weight=None):
    logs = torch.log_softmax(x, 1)
    return nll(n, logs, target, weight), logs


# ---- attention ----
def heads(x, count):
    """[B, T, H*D] to [B, H, T, D]"""
    return x.reshape([x.shape[0], x.shape[1], count, x.shape[2] // count]).transpose(1, 2)


def attention(n, q, k, v, mask=None, past_k=None, past_v=None, filled=None):
    from onnx_import import DTYPES

    three, dtype = q.dim() == 3, q.dtype
    if three:
        q, k, v = heads(q, n.get("q_num_heads")), heads(k, n.get("kv_num_heads")), heads(v, n.get("kv_num_heads"))
    if past_k is not None:
        k, v = torch.cat([past_k, k], 2), torch.cat([past_v, v], 2)
    present_k, present_v = k, v
    groups = q.shape[1] // k.shape[1]
    if not _onnx.number(groups) or groups != 1:
        k, v = torch.repeat_interleave(k, groups, 1), torch.repeat_interleave(v, groups, 1)
    scale = n.get("scale", None)
    if scale is None:
        scale = 1.0 / math.sqrt(q.shape[3])
    causal, cap = n.get("is_causal", 0), n.get("softcap", 0.0)
    left, right = n.get("left_window_size", -1), n.get("right_window_size", -1)
    mode, rows, cols = n.get("qk_matmul_output_mode", 0), q.shape[2], k.shape[2]
    windowed = left >= 0 or right >= 0
    if mask is not None:
        short = cols - mask.shape[-1]
        if not _onnx.number(short) or short > 0:
            if mask.dtype == torch.bool:
                mask = F.pad(mask.to(torch.uint8), [0, short]).to(torch.bool)
            else:
                mask = F.pad(mask, [0, short], value=float("-inf"))
    if not n.wants(3) and not cap and filled is None and not windowed and plain_attention(n, mask, causal, past_k, q):
        y = F.scaled_dot_product_attention(q, k, v, None, 0.0, bool(causal), scale=scale)
        return merged(y, three), present_k, present_v
    bias = None if mask is None else additive(mask, dtype)
    offset = past_k.shape[2] if past_k is not None else 0
    if causal or windowed or filled is not None:
        i, j = torch.arange(rows).unsqueeze(1), torch.arange(cols).unsqueeze(0)
        if filled is not None:
            filled = filled.to(torch.int64).reshape([-1, 1, 1, 1])
            at = i + (filled - rows if past_k is None else offset)
        else:
            at = i + offset
        ok = None
        if causal:
            ok = j <= at
        if left >= 0:
            ok = both(ok, at - j <= left)
        if right >= 0:
            ok = both(ok, j - at <= right)
        if filled is not None:
            ok = both(ok, j < filled)
        allowed = additive(ok, dtype)
        bias = allowed if bias is None else bias + allowed
    root = math.sqrt(scale)
    scores = torch.matmul(q * root, k.transpose(2, 3) * root)
    out = scores
    if cap:
        scores = torch.tanh(scores / cap) * cap
        if mode == 1:
            out = scores
    if bias is not None:
        scores = scores + bias
    if mode == 2:
        out = scores
    precision = n.get("softmax_precision", 0)
    if precision:
        scores = scores.to(DTYPES[precision])
    p = torch.softmax(scores, -1)
    if bias is not None:  # rows without any allowed key give 0
        none = torch.amax(bias, [-1], True) == float("-inf")
        p = torch.where(none, torch.zeros_like(p), p)
    p = p.to(dtype)
    if mode == 3:
        out = p
    return merged(torch.matmul(p, v), three), present_k, present_v, out


def plain_attention(n, mask, causal, past, q):
    return mask is None and (not causal or past is None) and q.dtype == torch.float32


def merged(y, three):
    return y.transpose(1, 2).reshape([y.shape[0], y.shape[2], y.shape[1] * y.shape[3]]) if three else y


def both(a, b):
    return b if a is None else torch.logical_and(a, b)


def additive(mask, dtype):
    if mask.dtype != torch.bool:
        return mask
    zero = torch.zeros_like(mask, dtype=dtype)
    return torch.where(mask, zero, float("-inf"))


def flex_attention(n, q, k, v):
    from onnx_import import DTYPES

    dtype = q.dtype
    groups = q.shape[1] // k.shape[1]
    if groups != 1:
        k, v = torch.repeat_interleave(k, groups, 1), torch.repeat_interleave(v, groups, 1)
    precision = n.get("softmax_precision", 0)
    compute = DTYPES[precision] if precision else torch.float32 if dtype in (torch.float16, torch.bfloat16) else dtype
    scale = n.get("scale", None)
    scale = 1.0 / math.sqrt(q.shape[3]) if scale is None else scale
    scores = torch.matmul(q.to(compute), k.to(compute).transpose(2, 3)) * scale
    model, scope = n.scope.model, n.scope
    if n.has("score_mod"):
        scores = changed(n, "score_mod", scores).to(compute)
    p = torch.softmax(scores, -1)
    if n.has("prob_mod"):
        p = changed(n, "prob_mod", p).to(compute)
    return torch.matmul(p, v.to(compute)).to(dtype)


def changed(n, name, t):
    from onnx_values import tensor

    graph = n.get(name)
    return tensor(n.scope.model.run_body(n.scope, graph, [t])[0])


def rotary(n, x, cos, sin, at=None):
    shape, three = x.shape, x.dim() == 3
    if three:
        x = x.reshape([shape[0], shape[1], n.get("num_heads"), -1])
    else:
        x = x.transpose(1, 2)
    size = n.get("rotary_embedding_dim", 0) or x.shape[3]
    rot, rest = x[:, :, :, :size], x[:, :, :, size:] if size != x.shape[3] else None
    if at is not None:
        cos, sin = cos[at], sin[at]
    cos, sin = cos.unsqueeze(2), sin.unsqueeze(2)
    if n.get("interleaved", 0):
        a, b = rot[:, :, :, 0::2], rot[:, :, :, 1::2]
    else:
        a, b = rot[:, :, :, : size // 2], rot[:, :, :, size // 2:]
    real, imag = cos * a - sin * b, sin * a + cos * b
    if n.get("interleaved", 0):
        y = torch.stack([real, imag], -1).reshape(rot.shape)
    else:
        y = torch.cat([real, imag], -1)
    if rest is not None:
        y = torch.cat([y, rest], -1)
    return y.reshape(shape) if three else y.transpose(1, 2)


def linear_attention(n, q, k, v, past=None, decay=None, beta=None):
    rule, hq, hk, dtype = n.get("update_rule", "gated_delta"), n.get("q_num_heads"), n.get("kv_num_heads"), q.dtype
    gating, delta = rule in ("gated", "gated_delta"), rule in ("delta", "gated_delta")
    q, k, v = [heads(t, h).to(torch.float32) for t, h in ((q, hq), (k, hk), (v, hk))]
    steps, size = q.shape[2], k.shape[3]
    if gating:
        decay = heads(decay, hk).to(torch.float32)
    if delta:
        beta = heads(beta, beta.shape[2]).to(torch.float32)
    state_type = dtype if past is None else past.dtype
    state = torch.zeros([q.shape[0], hk, size, v.shape[3]], dtype=torch.float32) if past is None else past.to(torch.float32)
    scale = n.get("scale", 0.0) or 1.0 / math.sqrt(size)
    groups = hq // hk

    def step(s, xs):
        qt, kt, vt = xs[0], xs[1], xs[2]
        if gating:
            s = s * torch.exp(xs[3]).unsqueeze(-1)
        if delta:
            vt = xs[-1] * (vt - torch.matmul(kt.unsqueeze(-2), s).squeeze(-2))
        s = s + kt.unsqueeze(-1) * vt.unsqueeze(-2)
        read = s if groups == 1 else torch.repeat_interleave(s, groups, 1)
        return s, torch.matmul(qt.unsqueeze(-2), read).squeeze(-2) * scale

    xs = [q, k, v] + ([decay] if gating else []) + ([beta] if delta else [])
    from onnx_control import scan_over

    state, y = scan_over(step, state, [t.permute([2, 0, 1, 3]) for t in xs])
    y = y.permute([1, 0, 2, 3])
    return y.reshape([y.shape[0], steps, hq * v.shape[3]]).to(dtype), state.to(state_type)


def causal_conv(n, x, w, bias=None, past=None):
    k = w.shape[2]
    wide = F.pad(x, [k - 1, 0]) if past is None else torch.cat([past, x], 2)
    y = F.conv1d(wide, w, bias, 1, 0, 1, x.shape[1])
    if n.get("activation", "none") != "none":
        f = y.to(torch.float32)
        y = (f * torch.sigmoid(f)).to(x.dtype)
    return y, wide.narrow(2, wide.shape[2] - (k - 1), k - 1)


TABLE = [
    ("", "Conv", 1, conv, "TTt"), ("", "ConvTranspose", 1, conv_transpose, "TTt"), ("", "MaxPool", 1, max_pool, "T"),
    ("", "AveragePool", 1, average_pool, "T"), ("", "LpPool", 1, lp_pool, "T"), ("", "MaxUnpool", 9, max_unpool, "TTh"),
    ("", "GlobalAveragePool", 1, lambda n, x: torch.mean(x, spatial(x), True), "T"),
    ("", "GlobalMaxPool", 1, lambda n, x: torch.amax(x, spatial(x), True), "T"), ("", "GlobalLpPool", 1, global_lp, "T"),
    ("", "BatchNormalization", 1, batch_norm, "TTTCC"), ("", "InstanceNormalization", 1, instance_norm, "TTT"),
    ("", "LayerNormalization", 1, layer_norm, "TTt"), ("", "RMSNormalization", 23, rms_norm, "TT"),
    ("", "GroupNormalization", 18, group_norm, "TTT"), ("", "LpNormalization", 1, lp_norm, "T"),
    ("", "MeanVarianceNormalization", 9, mean_variance, "T"), ("", "LRN", 1, lrn, "T"),
    ("", "NegativeLogLikelihoodLoss", 12, nll, "TTt"), ("", "SoftmaxCrossEntropyLoss", 12, softmax_cross_entropy, "TTt"),
    ("", "Attention", 23, attention, "TTTtttt"), ("", "RotaryEmbedding", 23, rotary, "TTTt"), ("ai.onnx.preview", "FlexAttention", 1, flex_attention, "TTT"),
    ("", "LinearAttention", 1, linear_attention, "TTTttt"), ("", "CausalConvWithState", 1, causal_conv, "TTtt"),
]
