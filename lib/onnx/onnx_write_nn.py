# Matrix products, convolution, pooling, normalisation, attention, recurrent networks and control flow as ONNX.
import math
import _onnx
from onnx_write_math import Val_of, least
from onnx_write_random import dropped
from onnx_write_values import BOOL, FLOAT, INT32, INT64, Sym, Val


def flipped(rank):
    p = list(range(rank))
    p[-1], p[-2] = p[-2], p[-1]
    return p


def matmul(w, outs, a, b):
    """ONNX multiplies integers of 32 bits and more; narrower ones wrap when they are cast back."""
    wide = outs[0].code if outs[0].is_float() or outs[0].code in (INT32, INT64) else INT32
    return w.cast(w.e("MatMul", [w.cast(a, wide), w.cast(b, wide)]), outs[0].code, wide)


def int_mm(w, outs, a, b):
    if a.sizes[1] == 0:
        return w.e("Expand", [w.const(0, outs[0].code), w.sizes(outs[0].sizes)])
    return w.e("MatMulInteger", [a, b])


def linear(w, outs, x, weight, bias=None):
    if x.rank() == 2 and x.is_float():
        return w.e("Gemm", [x, weight, bias], {"transB": 1})
    y = w.e("MatMul", [x, w.e("Transpose", [weight], {"perm": [1, 0]})])
    return y if bias is None else w.e("Add", [y, bias])


def addmm(w, outs, c, a, b, beta=1, alpha=1):
    if not a.is_float():
        return baddbmm(w, outs, c, a, b, beta, alpha)
    return w.e("Gemm", [a, b, c], {"alpha": float(alpha), "beta": float(beta)})


def baddbmm(w, outs, c, a, b, beta=1, alpha=1):
    code = outs[0].code
    y = w.e("MatMul", [a, b])
    if alpha != 1:
        y = w.e("Mul", [y, w.scalar(alpha, code)])
    return w.e("Add", [y, c if beta == 1 else w.e("Mul", [c, w.scalar(beta, code)])])


def einsum(w, outs, equation, operands, *rest):
    return w.e("Einsum", operands, {"equation": equation})


# ---- windows ----
def each(v, k):
    v = [v] if isinstance(v, int) else list(v)
    return v * k if len(v) == 1 else v


def batched(w, x, rank, f):
    """ONNX's operators require a batch dimension: adds one where PyTorch needs none."""
    if x.rank() == rank:
        return f(x)
    y = f(Val_of(w, w.e("Unsqueeze", [x, w.ints([0])]), x.code, [1] + x.sizes))
    return w.e("Squeeze", [y, w.ints([0])])


def convolution(w, outs, x, weight, bias, stride, padding, dilation, transposed=False, output_padding=None, groups=1):
    k = weight.rank() - 2
    pads = each(padding, k)
    attrs = {"strides": each(stride, k), "pads": pads + pads, "dilations": each(dilation, k), "group": groups}
    if transposed:
        more = attrs["output_padding"] = each(output_padding or [0], k)
        wide = [int(more[i] >= attrs["strides"][i]) for i in range(k)]
        if any(wide):  # not in ONNX: a tap of zeros at the end makes the result longer, by the dilation
            weight = w.e("Pad", [weight, w.ints([0] * (k + 4) + wide)])
            attrs["pads"] = pads + [pads[i] + wide[i] * (attrs["dilations"][i] - more[i]) for i in range(k)]
            attrs["output_padding"] = [0 if wide[i] else more[i] for i in range(k)]
    return batched(w, x, k + 2, lambda v: w.e("ConvTranspose" if transposed else "Conv", [v, weight, bias], attrs))


def conv(w, outs, x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    if isinstance(padding, str):
        k = weight.rank() - 2
        auto = "VALID" if padding == "valid" else None
        d, kernel = each(dilation, k), weight.sizes[2:]
        total = [0 if auto else d[i] * (kernel[i] - 1) for i in range(k)]
        attrs = {"strides": each(stride, k), "pads": [t // 2 for t in total] + [t - t // 2 for t in total], "dilations": d, "group": groups}
        return batched(w, x, k + 2, lambda v: w.e("Conv", [v, weight, bias], attrs))
    return convolution(w, outs, x, weight, bias, stride, padding, dilation, False, None, groups)


def conv_transpose(w, outs, x, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return convolution(w, outs, x, weight, bias, stride, padding, dilation, True, each(output_padding, weight.rank() - 2), groups)


def max_pool(k, indices=False):
    def rule(w, outs, x, kernel, stride=None, padding=0, dilation=1, ceil_mode=False):
        kernel = each(kernel, k)
        pads = each(padding, k)
        attrs = {"kernel_shape": kernel, "strides": each(stride, k) if stride else kernel, "pads": pads + pads, "dilations": each(dilation, k),
                 "ceil_mode": int(ceil_mode)}
        if not indices:
            return batched(w, x, k + 2, lambda v: w.e("MaxPool", [v], attrs))
        if x.rank() != k + 2:
            got = rule(w, outs, Val_of(w, w.e("Unsqueeze", [x, w.ints([0])]), x.code, [1] + x.sizes), kernel, stride, padding, dilation, ceil_mode)
            return [w.e("Squeeze", [g, w.ints([0])]) for g in got]
        y, at = w.e("MaxPool", [x], attrs, 2)
        inner = w.number(1)
        for s in x.sizes[2:]:
            inner = w.e("Mul", [inner, w.number(s)])
        return y, w.e("Mod", [at, inner])  # ONNX counts from the start of the tensor

    return rule


def avg_pool(k):
    def rule(w, outs, x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=True, divisor_override=None):
        kernel = each(kernel, k)
        pads, strides = each(padding, k), each(stride, k) if stride else kernel
        if divisor_override is not None:  # the sum of all windows, of zeros outside
            fill = [w.const([0] * (x.rank() - k) + pads + [0] * (x.rank() - k), INT64)]
            for d, n in enumerate(outs[0].sizes[-k:]):
                need = w.e("Add", [w.e("Mul", [w.e("Sub", [w.number(n), w.ints([1])]), w.ints([strides[d]])]), w.ints([kernel[d] - pads[d]])])
                fill.append(w.e("Max", [w.e("Sub", [need, w.number(x.sizes[d - k])]), w.ints([0])]))
            x = Val_of(w, w.e("Pad", [x, w.e("Concat", fill, {"axis": 0}), w.const(0, x.code)]), x.code, x.sizes)
            pads, ceil_mode = [0] * k, False
        attrs = {"kernel_shape": kernel, "strides": strides, "pads": pads + pads, "ceil_mode": int(ceil_mode), "count_include_pad": int(count_include_pad)}
        y = batched(w, x, k + 2, lambda v: w.e("AveragePool", [v], attrs))
        return y if divisor_override is None else w.e("Mul", [y, w.const(math.prod(kernel) / divisor_override, x.code)])

    return rule


def windows(w, have, size):
    """For each position and window: is it inside? And the lengths of the windows."""
    n, m = w.scalar(have, INT64), w.scalar(size, INT64)
    steps = lambda n: w.e("Range", [w.const(0, INT64), n, w.const(1, INT64)])
    out, row = steps(m), w.e("Unsqueeze", [steps(n), w.ints([1])])
    begin = w.e("Div", [w.e("Mul", [out, n]), m])
    end = w.e("Div", [w.e("Add", [w.e("Mul", [w.e("Add", [out, w.const(1, INT64)]), n]), w.e("Sub", [m, w.const(1, INT64)])]), m])
    return w.e("And", [w.e("LessOrEqual", [begin, row]), w.e("Less", [row, end])]), w.e("Sub", [end, begin])


def averaged(w, x, k, size, have):
    """Windows of different lengths: a product with the matrix of their weights, one dimension after the other."""
    y, rank = x, x.rank()
    for i in range(k):
        inside, length = windows(w, have[i], size[i])
        d = rank - k + i
        perm = [a for a in range(rank) if a != d] + [d]
        back = [perm.index(a) for a in range(rank)]
        matrix = w.e("Div", [w.e("Cast", [v], {"to": x.code}) for v in (inside, length)])
        y = w.e("Transpose", [w.e("MatMul", [w.e("Transpose", [y], {"perm": perm}), matrix])], {"perm": back})
    return y


def largest(w, x, k, size, have):
    """Windows of different lengths: the largest element and its index, the last dimension first."""
    y, at, stride, rank = w.name(x), None, w.const(1, INT64), x.rank()
    for i in reversed(range(k)):
        d = rank - k + i
        inside = w.e("Unsqueeze", [windows(w, have[i], size[i])[0], w.ints(list(range(2, rank - d + 1)))]) if d < rank - 1 else windows(w, have[i], size[i])[0]
        several = w.e("Where", [inside, w.e("Unsqueeze", [y, w.ints([d + 1])]), w.const(least(x.code), x.code)])
        best = w.e("ArgMax", [several], {"axis": d, "keepdims": 1})
        out = lambda v: w.e("Squeeze", [v, w.ints([d])])
        y = out(w.e("GatherElements", [several, best], {"axis": d}))
        if at is not None:
            at = w.e("Expand", [w.e("Unsqueeze", [at, w.ints([d + 1])]), w.e("Shape", [several])])
            at = out(w.e("GatherElements", [at, best], {"axis": d}))
        step = w.e("Mul", [out(best), stride])
        at = step if at is None else w.e("Add", [at, step])
        stride = w.e("Mul", [stride, w.scalar(have[i], INT64)])
    return y, at


def uneven(size, have):
    return any([isinstance(s, Sym) or isinstance(h, Sym) or h % s for s, h in zip(size, have)])


def adaptive_avg(k):
    def rule(w, outs, x, size):
        size, have = each(size, k), x.sizes[-k:]
        if all([not isinstance(s, Sym) and s == 1 for s in size]):
            return w.e("ReduceMean", [x, w.ints(list(range(-k, 0)))], {"keepdims": 1})
        if uneven(size, have):
            return averaged(w, x, k, size, have)
        kernel = [h // s for s, h in zip(size, have)]
        return batched(w, x, k + 2, lambda v: w.e("AveragePool", [v], {"kernel_shape": kernel, "strides": kernel}))

    return rule


def adaptive_max(k):
    def rule(w, outs, x, size):
        size, have = each(size, k), x.sizes[-k:]
        if uneven(size, have):
            return largest(w, x, k, size, have)
        return max_pool(k, True)(w, outs, x, [h // v for v, h in zip(size, have)])

    return rule


def nms(w, outs, boxes, scores, threshold):
    """torchvision's nms, as a single class of a single image; all boxes that are kept, best first."""
    most = w.e("Shape", [scores])
    found = w.e("NonMaxSuppression", [w.e("Unsqueeze", [boxes, w.ints([0])]), w.e("Unsqueeze", [scores, w.ints([0, 1])]), most, w.const([threshold], FLOAT)])
    return w.e("Gather", [found, w.const(2, INT64)], {"axis": 1})


def upsample(mode, k):
    def rule(w, outs, x, size, *rest):
        corners = rest[0] if mode != "nearest" and rest and isinstance(rest[0], bool) else False
        how = "asymmetric" if mode == "nearest" else "align_corners" if corners else "pytorch_half_pixel" if mode == "linear" else "half_pixel"
        factors = [f for f in rest if isinstance(f, list)]
        attrs = {"mode": mode, "coordinate_transformation_mode": how}
        if mode == "nearest":
            attrs["nearest_mode"] = "floor"
        if mode == "cubic":
            attrs["cubic_coeff_a"] = -0.75
        if factors and factors[0] and not corners:
            return w.e("Resize", [x, None, w.const([1.0, 1.0] + [float(f) for f in factors[0]], FLOAT)], attrs)
        return w.e("Resize", [x, None, None, w.sizes(outs[0].sizes)], attrs)

    return rule


def pixel_shuffle(w, outs, x, r):
    return w.e("DepthToSpace", [x], {"blocksize": r, "mode": "CRD"})


def grid_sampler(w, outs, x, grid, mode, padding, corners):
    modes = ["linear", "nearest", "cubic"] if w.opset >= 20 else ["bilinear", "nearest", "bicubic"]
    return w.e("GridSample", [x, grid], {"mode": modes[mode], "padding_mode": ["zeros", "border", "reflection"][padding], "align_corners": int(corners)})


# ---- normalisation ----
def ones(w, v, like, value):
    return v if v is not None else w.e("Expand", [w.const(value, like.code), w.sizes([like.sizes[1]])])


def batch_norm(w, outs, x, weight, bias, mean, var, training, momentum, eps, *rest):
    if training and mean is None:
        return batch_statistics(w, outs, x, weight, bias, training, momentum, eps)[0]
    if training:
        _onnx.unsupported("batch_norm in training")
    return w.e("BatchNormalization", [x, ones(w, weight, x, 1.0), ones(w, bias, x, 0.0), mean, var], {"epsilon": float(eps)})


def native_batch_norm(w, outs, x, weight, bias, mean, var, momentum, eps):
    return [batch_norm(w, outs, x, weight, bias, mean, var, False, momentum, eps)] + [w.const([], x.code) for v in outs[1:]]


def batch_statistics(w, outs, x, weight, bias, training, momentum, eps):
    """With the mean and variance of the batch: the normalised values, the mean, 1 / sqrt(variance + eps)."""
    if not training:
        _onnx.unsupported("a batch norm without statistics outside training")
    axes, column = w.ints([0] + list(range(2, x.rank()))), [-1] + [1] * (x.rank() - 2)
    mean = w.e("ReduceMean", [x, axes], {"keepdims": 1})
    off = w.e("Sub", [x, mean])
    scale = w.e("Reciprocal", [w.e("Sqrt", [w.e("Add", [w.e("ReduceMean", [w.e("Mul", [off, off]), axes], {"keepdims": 1}), w.const(float(eps), x.code)])])])
    y = w.e("Mul", [off, scale])
    if weight is not None:
        y = w.e("Mul", [y, w.e("Reshape", [weight, w.ints(column)])])
    if bias is not None:
        y = w.e("Add", [y, w.e("Reshape", [bias, w.ints(column)])])
    return y, w.e("Reshape", [mean, w.ints([-1])]), w.e("Reshape", [scale, w.ints([-1])])


def native_batch_norm_of_both(w, outs, x, weight, bias, mean, var, training, momentum, eps):
    rule = batch_statistics if training else native_batch_norm
    return rule(w, outs, x, weight, bias, *([training] if training else [mean, var]), momentum, eps)


def nll_loss2d(w, outs, x, target, weight, reduction, ignored):
    """Each pixel's own class times its weight; the second result is the sum of the weights."""
    t, code = w.cast(target, INT64), x.code
    kept = w.e("Not", [w.e("Equal", [t, w.const(ignored, INT64)])])
    at = w.e("Where", [kept, t, w.const(0, INT64)])
    by = w.e("Cast", [kept], {"to": code}) if weight is None else w.e("Where", [kept, w.e("Gather", [weight, at]), w.const(0.0, code)])
    own = w.e("Squeeze", [w.e("GatherElements", [x, w.e("Unsqueeze", [at, w.ints([1])])], {"axis": 1}), w.ints([1])])
    loss = w.e("Neg", [w.e("Mul", [own, by])])
    if reduction == 0:
        return loss, w.const(0.0, code)
    total, count = [w.e("ReduceSum", [v], {"keepdims": 0}) for v in (loss, by)]
    return w.e("Div", [total, count]) if reduction == 1 else total, count


def scale_shift(w, outs, x, scale, shift):
    """x scale + shift for each channel, in the type of the computation."""
    pairs = [w.e("Reshape", [v, w.ints([-1] + [1] * (x.rank() - 2))]) for v in (scale, shift)]
    y = w.e("Add", [w.e("Mul", [w.cast(x, scale.code), pairs[0]]), pairs[1]])
    return w.cast(y, outs[0].code, scale.code)


def layer_norm(w, outs, x, shape, weight=None, bias=None, eps=1e-5, *rest):
    scale = weight if weight is not None else w.e("Expand", [w.const(1.0, x.code), w.sizes(shape)])
    return w.e("LayerNormalization", [x, scale, bias], {"axis": -len(shape), "epsilon": float(eps)})


def native_layer_norm(w, outs, x, shape, weight, bias, eps):
    scale = weight if weight is not None else w.e("Expand", [w.const(1.0, x.code), w.sizes(shape)])
    y, *moments = w.e("LayerNormalization", [x, scale, bias], {"axis": -len(shape), "epsilon": float(eps)}, 3)
    return [y] + [w.cast(t, o.code, FLOAT) if o is not None else t for t, o in zip(moments, outs[1:])]


def rms_norm(w, outs, x, shape, weight=None, eps=None):
    eps = 1.1920928955078125e-07 if eps is None else eps
    scale = weight if weight is not None else w.e("Expand", [w.const(1.0, x.code), w.sizes(shape)])
    if w.opset >= 23:
        return w.e("RMSNormalization", [x, scale], {"axis": -len(shape), "epsilon": float(eps)})
    mean = w.e("ReduceMean", [w.e("Mul", [x, x]), w.ints(list(range(-len(shape), 0)))], {"keepdims": 1})
    return w.e("Mul", [w.e("Div", [x, w.e("Sqrt", [w.e("Add", [mean, w.const(float(eps), x.code)])])]), scale])


def group_norm(w, outs, x, groups, weight=None, bias=None, eps=1e-5, *rest):
    """Each group is an instance of an instance norm; then one scale for each channel."""
    g = w.e("Reshape", [x, w.ints([0, groups, -1])])
    y = w.e("InstanceNormalization", [g, w.const([1.0] * groups, x.code), w.const([0.0] * groups, x.code)], {"epsilon": float(eps)})
    y = w.reshape(y, x.sizes)
    column = [x.sizes[1]] + [1] * (x.rank() - 2)
    y = y if weight is None else w.e("Mul", [y, w.reshape(weight, column)])
    return y if bias is None else w.e("Add", [y, w.reshape(bias, column)])


def instance_norm(w, outs, x, weight, bias, mean, var, use_input, momentum, eps, *rest):
    if not use_input:
        return batch_norm(w, outs, x, weight, bias, mean, var, False, momentum, eps)
    return w.e("InstanceNormalization", [x, ones(w, weight, x, 1.0), ones(w, bias, x, 0.0)], {"epsilon": float(eps)})


# ---- attention ----
def expr(size):
    return size.expr if isinstance(size, Sym) else size


def broadcast(w, t, sizes):
    return t if [expr(s) for s in t.sizes] == [expr(s) for s in sizes] else w.e("Expand", [t, w.sizes(sizes)])


def grouped(w, t, q):
    """Repeats each head of keys or values for every query head of its group."""
    heads, kv = q.sizes[-3], t.sizes[-3]
    if expr(heads) == expr(kv):
        return t
    lead, tail = t.sizes[:-3], t.sizes[-2:]
    each = Sym(("floordiv", expr(heads), expr(kv))) if isinstance(heads, Sym) or isinstance(kv, Sym) else heads // kv
    y = w.e("Expand", [w.reshape(t, lead + [kv, 1] + tail), w.sizes(lead + [kv, each] + tail)])
    return Val_of(w, w.reshape(y, lead + [heads] + tail), t.code, lead + [heads] + tail)


def sdpa(w, outs, q, k, v, mask=None, dropout=0.0, causal=False, scale=None, gqa=False):
    code, root = q.code, None
    if scale is None and isinstance(q.sizes[-1], Sym):
        root = w.e("Pow", [w.scalar(q.sizes[-1], code), w.const(-0.25, code)])
    elif scale is None:
        scale = 1.0 / math.sqrt(q.sizes[-1])
    keys = k.sizes[-2]  # an Attention takes at least one
    if w.opset >= 23 and q.rank() == 4 and not dropout and (root or scale > 0) and (isinstance(keys, Sym) or keys):
        m = mask
        if m is not None:  # runtimes require the full last two sizes
            m = w.e("Expand", [m, w.sizes(m.sizes[:-2] + [q.sizes[-2], k.sizes[-2]])])
        q, k, v = [broadcast(w, t, outs[0].sizes[:1] + (t if gqa else outs[0]).sizes[1:2] + t.sizes[2:]) for t in (q, k, v)]
        return w.e("Attention", [q, k, v, m], {"is_causal": int(causal)} if root else {"is_causal": int(causal), "scale": float(scale)})
    if gqa:
        k, v = grouped(w, k, q), grouped(w, v, q)
    kt = w.e("Transpose", [k], {"perm": flipped(k.rank())})
    left, right = (root, root) if root else (w.const(math.copysign(math.sqrt(abs(scale)), scale), code), w.const(math.sqrt(abs(scale)), code))
    s = w.e("MatMul", [w.e("Mul", [q, left]), w.e("Mul", [kt, right])])
    low = w.const(float("-inf"), code)
    if causal:
        rows, cols = w.scalar(q.sizes[-2], INT64), w.scalar(k.sizes[-2], INT64)
        zero, one = w.const(0, INT64), w.const(1, INT64)
        i = w.e("Unsqueeze", [w.e("Range", [zero, rows, one]), w.ints([1])])
        j = w.e("Unsqueeze", [w.e("Range", [zero, cols, one]), w.ints([0])])
        s = w.e("Where", [w.e("LessOrEqual", [j, i]), s, low])
    if mask is not None:
        s = w.e("Where", [mask, s, low]) if mask.code == BOOL else w.e("Add", [s, mask])
    p = w.e("Softmax", [s], {"axis": -1})
    if mask is not None:  # rows without any key give 0
        none = w.e("Equal", [w.e("ReduceMax", [s, w.ints([-1])], {"keepdims": 1}), low])
        p = w.e("Where", [none, w.const(0.0, code), p])
    if dropout:
        p = dropped(w, p, dropout)
    return w.e("MatMul", [p, v])


# ---- recurrent networks ----
def reordered(w, t, order, hidden):
    axes, parts = w.ints([0]), []
    for g in order:
        parts.append(w.e("Slice", [t, w.ints([g * hidden]), w.ints([(g + 1) * hidden]), axes]))
    return parts[0] if len(parts) == 1 else w.e("Concat", parts, {"axis": 0})


def projected(w, x, params, order, h, c, reverse):
    """One direction of an LSTM with h = w_hr m, m = o tanh(c): the layer runs on m, with w_hh w_hr for its state. h0 enters with the input, as
    columns that are zero but at the first step. x: T B I; h: 1 B P; c: 1 B H. -> (y: T B P, h, c)"""
    w_ih, w_hh, hr = params[0], params[1], w.e("Transpose", [params[-1]], {"perm": [1, 0]})
    hidden, none = w_ih.sizes[0] // 4, w.ints([0])
    rest = w.e("Sub", [w.e("Shape", [x], {"start": 0, "end": 1}), w.ints([1])])
    columns = w.e("Pad", [h, w.e("Concat", [rest if reverse else none, none, none, none if reverse else rest, none, none], {"axis": 0})])
    x = w.e("Concat", [x, columns], {"axis": 2})
    wide = w.e("Concat", [reordered(w, w_ih, order, hidden), reordered(w, w_hh, order, hidden)], {"axis": 1})
    state = w.e("MatMul", [reordered(w, w_hh, order, hidden), params[-1]])
    b = w.e("Concat", [reordered(w, p, order, hidden) for p in params[2:4]], {"axis": 0}) if len(params) > 3 else None
    ins = [w.e("Unsqueeze", [t, none]) if t is not None else None for t in (wide, state, b)]
    got = w.e("LSTM", [x] + ins + [None, None, c], {"hidden_size": hidden, "direction": "reverse" if reverse else "forward"}, 3)
    return w.e("MatMul", [w.e("Squeeze", [got[0], w.ints([1])]), hr]), w.e("MatMul", [got[1], hr]), got[2]


def projected_network(w, y, h, c, params, layers, dirs, order, dropout):
    """All layers of an LSTM with projections, dropout between them: (y, h, c)."""
    hs, cs, per = [], [], len(params) // (layers * dirs)
    join = lambda v, axis: v[0] if len(v) == 1 else w.e("Concat", v, {"axis": axis})
    for layer in range(layers):
        ys = []
        for d in range(dirs):
            k = layer * dirs + d
            own = [w.e("Slice", [t, w.ints([k]), w.ints([k + 1]), w.ints([0])]) for t in (h, c)]
            got = projected(w, y, params[k * per:(k + 1) * per], order, own[0], own[1], d == 1)
            ys.append(got[0])
            hs.append(got[1])
            cs.append(got[2])
        y = join(ys, 2)
        if dropout and layer < layers - 1:
            y = dropped(w, y, dropout)
    return y, join(hs, 0), join(cs, 0)


def recurrent(kind, order, activation=None):
    def rule(w, outs, x, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first):
        h, c = (hx[0], hx[1]) if kind == "LSTM" else (hx, None)
        dirs, per = 2 if bidirectional else 1, 4 if has_biases else 2
        dropout = dropout if train else 0
        y = w.e("Transpose", [x], {"perm": [1, 0, 2]}) if batch_first else w.name(x)
        if len(params) != layers * dirs * per:
            y, hn, cn = projected_network(w, y, h, c, params, layers, dirs, order, dropout)
            return (w.e("Transpose", [y], {"perm": [1, 0, 2]}) if batch_first else y), hn, cn
        hs, cs = [], []
        for layer in range(layers):
            ws, rs, bs = [], [], []
            for d in range(dirs):
                p = params[(layer * dirs + d) * per:(layer * dirs + d + 1) * per]
                hidden = p[1].sizes[1]
                ws.append(w.e("Unsqueeze", [reordered(w, p[0], order, hidden), w.ints([0])]))
                rs.append(w.e("Unsqueeze", [reordered(w, p[1], order, hidden), w.ints([0])]))
                if has_biases:
                    b = w.e("Concat", [reordered(w, p[2], order, hidden), reordered(w, p[3], order, hidden)], {"axis": 0})
                    bs.append(w.e("Unsqueeze", [b, w.ints([0])]))
            join = lambda v: v[0] if len(v) == 1 else w.e("Concat", v, {"axis": 0})
            part = lambda t: w.name(t) if layers == 1 else w.e("Slice", [t, w.ints([layer * dirs]), w.ints([(layer + 1) * dirs]), w.ints([0])])
            attrs = {"hidden_size": hidden, "direction": "bidirectional" if bidirectional else "forward"}
            if kind == "GRU":
                attrs["linear_before_reset"] = 1
            if activation:
                attrs["activations"] = [activation] * dirs
            ins = [y, join(ws), join(rs), join(bs) if bs else None, None, part(h)] + ([part(c)] if c is not None else [])
            got = w.e(kind, ins, attrs, 3 if kind == "LSTM" else 2)
            y = w.e("Reshape", [w.e("Transpose", [got[0]], {"perm": [0, 2, 1, 3]}), w.ints([0, 0, -1])])
            if dropout and layer < layers - 1:
                y = dropped(w, y, dropout)
            hs.append(got[1])
            if kind == "LSTM":
                cs.append(got[2])
        y = w.e("Transpose", [y], {"perm": [1, 0, 2]}) if batch_first else y
        last = lambda v: v[0] if len(v) == 1 else w.e("Concat", v, {"axis": 0})
        return (y, last(hs), last(cs)) if kind == "LSTM" else (y, last(hs))

    return rule


# ---- images ----
def decode_image(w, outs, data, mode, orientation=False):
    if mode != 3 or orientation:
        _onnx.unsupported("decode_image in a mode other than RGB")
    return w.e("Transpose", [w.e("ImageDecoder", [data], {"pixel_format": "RGB"})], {"perm": [2, 0, 1]})


# ---- control flow ----
def inner(w, graph, operands):
    """A subgraph as an attribute; its inputs have the names of the operands."""
    outer, w.nodes = w.nodes, []
    numbers, w.numbers = w.numbers, dict(w.numbers)
    places = dict(w.places)
    for i, v in zip(graph["inputs"], operands):
        w.values[i[0]] = Val(i[0], i[1], [Sym(s) if isinstance(s, tuple) else s for s in i[2]])
        w.names[i[0]] = w.name(v)
    outs = [w.e("Identity", [o]) for o in w.run(w, graph)]
    nodes, w.nodes = w.nodes, outer
    w.numbers, w.places = numbers, places
    reads = [i for n in nodes for i in n[2]]
    return {"nodes": nodes, "inputs": [], "outputs": [[o, t[0], len(t[1])] for o, t in zip(outs, graph["output_types"])], "reads": reads}


def bound(w, inputs, names):
    """From here on these names are the inputs of a subgraph."""
    for i, name in zip(inputs, names):
        v = Val(i[0], i[1], [Sym(s) if isinstance(s, tuple) else s for s in i[2]])
        w.values[i[0]] = v
        w.names[i[0]] = name


def scan(w, outs, graph, init, xs, more=None):
    more = more or []
    k, own = len(init), [[w.fresh("in"), i[1], len(i[2])] for i in graph["inputs"][:len(init) + len(xs)]]

    def run():
        bound(w, graph["inputs"], [o[0] for o in own] + [w.name(v) for v in more])
        return [(o, t[0], len(t[1])) for o, t in zip(w.run(w, graph), graph["output_types"])]

    body = w.body_of(own, run)
    return w.e("Scan", list(init) + list(xs), {"body": body, "num_scan_inputs": len(xs)}, len(outs))


def associative_scan(w, outs, graph, xs, more=None):
    """associative_scan one element after the other: the first elements are the initial state."""
    from_one = [w.ints([1]), w.ints([2**63 - 1]), w.ints([0])]
    first = [w.e("Slice", [x, w.ints([0]), w.ints([1]), w.ints([0])]) for x in xs]
    own = [[w.fresh("in"), x.code, x.rank() - 1] for x in xs + xs]

    def run():
        bound(w, graph["inputs"], [o[0] for o in own] + [w.name(v) for v in more or []])
        got = w.run(w, graph)
        return [(n, o[1], o[2]) for n, o in zip(got + got, own)]

    state = [w.e("Squeeze", [f, w.ints([0])]) for f in first]
    got = w.e("Scan", state + [w.e("Slice", [x] + from_one) for x in xs], {"body": w.body_of(own, run), "num_scan_inputs": len(xs)}, 2 * len(xs))
    return [w.e("Concat", [f, g], {"axis": 0}) for f, g in zip(first, got[len(xs):])]


def map_impl(w, outs, graph, xs, more=None):
    return scan(w, outs, graph, [], xs, more)


def while_loop(w, outs, test, graph, carried, more=None):
    more = [w.name(v) for v in more or []]
    bound(w, test["inputs"], [w.name(v) for v in carried] + more)
    first = w.run(w, test)[0]
    own = [[w.fresh("in"), i[1], len(i[2])] for i in graph["inputs"][:len(carried)]]

    def run():
        bound(w, graph["inputs"], [o[0] for o in own] + more)
        new = w.run(w, graph)
        bound(w, test["inputs"], new + more)
        go = w.run(w, test)[0]
        return [(go, BOOL, 0)] + [(o, t[0], len(t[1])) for o, t in zip(new, graph["output_types"])]

    body = w.body_of([[w.fresh("i"), INT64, 0], [w.fresh("go"), BOOL, 0]] + own, run)
    return w.e("Loop", [None, first] + [w.name(v) for v in carried], {"body": body}, len(outs))


def grouped_mm(w, outs, a, b, offs=None, *rest):
    """Each step of a loop multiplies the rows or columns of one group; those after the last group are 0."""
    if a.rank() == 3 and b.rank() == 3:
        return w.e("MatMul", [a, b])
    code, ends = outs[0].code, w.cast(offs, INT64)
    axis = 0 if b.rank() == 3 else 1
    y_rank = 2 if a.rank() + b.rank() == 5 else 0
    i, go, begin, y = w.fresh("i"), w.fresh("go"), w.fresh("in"), w.fresh("in")

    def run():
        end = w.e("Reshape", [w.e("Gather", [ends, i]), w.ints([1])])
        part = lambda x, d: w.e("Slice", [x, begin, end, w.ints([d])])
        x = w.e("Gather", [a, i]) if a.rank() == 3 else part(a, 0 if y_rank else 1)
        product = w.e("MatMul", [x, w.e("Gather", [b, i]) if b.rank() == 3 else part(b, axis if y_rank else 0)])
        made = w.e("Concat", [y, product], {"axis": axis}) if y_rank else product
        return [(go, BOOL, 0), (end, INT64, 1), (made, code, 2)]

    body = w.body_of([[i, INT64, 0], [go, BOOL, 0], [begin, INT64, 1]] + ([[y, code, 2]] if y_rank else []), run)
    times, zero = w.scalar(offs.sizes[0], INT64), w.const(0, code)
    none = [w.e("Expand", [zero, w.sizes([0 if d == axis else s for d, s in enumerate(outs[0].sizes)])])] if y_rank else []
    end, made = w.e("Loop", [times, None, w.ints([0])] + none, {"body": body}, 2)
    if not y_rank:
        return made
    left = [w.e("Sub", [w.number(s), end]) if d == axis else w.number(s) for d, s in enumerate(outs[0].sizes)]
    return w.e("Concat", [made, w.e("Expand", [zero, w.e("Concat", left, {"axis": 0})])], {"axis": axis})


def cond(w, outs, pred, yes, no, operands=None):
    test = w.condition(pred) if isinstance(pred, Sym) else w.cast(pred, BOOL) if isinstance(pred, Val) else w.const(pred, BOOL)
    got = w.e("If", [test], {"then_branch": inner(w, yes, operands or []), "else_branch": inner(w, no, operands or [])}, len(outs))
    return got


TABLE = {
    "image.decode_image.default": (20, decode_image), "torchvision.nms.default": nms,
    "aten.matmul.default": matmul, "aten.mm.default": matmul, "aten._int_mm.default": int_mm, "aten.bmm.default": matmul, "aten.linear.default": linear, "aten.addmm.default": addmm,
    "aten._grouped_mm.default": grouped_mm, "tc.grouped_mm.default": grouped_mm, "aten.baddbmm.default": baddbmm, "aten.einsum.default": einsum, "aten.convolution.default": convolution, "aten.conv1d.default": conv,
    "aten.conv2d.default": conv, "aten.conv3d.default": conv, "aten.conv1d.padding": conv, "aten.conv2d.padding": conv, "aten.conv3d.padding": conv,
    "aten.conv_transpose1d.default": conv_transpose, "aten.conv_transpose2d.input": conv_transpose, "aten.conv_transpose3d.input": conv_transpose,
    "aten.max_pool1d.default": max_pool(1), "aten.max_pool2d.default": max_pool(2), "aten.max_pool3d.default": max_pool(3),
    "aten.max_pool2d_with_indices.default": max_pool(2, True), "aten.max_pool3d_with_indices.default": max_pool(3, True), "aten.avg_pool1d.default": avg_pool(1), "aten.avg_pool2d.default": avg_pool(2),
    "aten.avg_pool3d.default": avg_pool(3), "aten.adaptive_avg_pool1d.default": adaptive_avg(1), "aten.adaptive_avg_pool2d.default": adaptive_avg(2), "aten._adaptive_avg_pool2d.default": adaptive_avg(2), "aten._adaptive_avg_pool3d.default": adaptive_avg(3),
    "aten.adaptive_avg_pool3d.default": adaptive_avg(3), "aten.adaptive_max_pool2d.default": adaptive_max(2), "aten.adaptive_max_pool3d.default": adaptive_max(3), "aten.upsample_nearest1d.vec": upsample("nearest", 1), "aten.upsample_nearest2d.vec": upsample("nearest", 2),
    "aten.upsample_linear1d.vec": upsample("linear", 1), "aten.upsample_bilinear2d.vec": upsample("linear", 2),
    "aten.upsample_trilinear3d.vec": upsample("linear", 3), "aten.upsample_bicubic2d.vec": upsample("cubic", 2), "aten.pixel_shuffle.default": pixel_shuffle,
    "aten.grid_sampler.default": grid_sampler, "aten.batch_norm.default": batch_norm, "aten._native_batch_norm_legit_no_training.default": native_batch_norm, "aten._native_batch_norm_legit.no_stats": batch_statistics,
    "tc.scale_shift.default": scale_shift, "aten.native_batch_norm.default": native_batch_norm_of_both, "aten.nll_loss2d_forward.default": nll_loss2d,
    "aten.layer_norm.default": layer_norm, "aten.native_layer_norm.default": native_layer_norm, "aten.rms_norm.default": rms_norm,
    "aten.group_norm.default": group_norm, "aten.instance_norm.default": instance_norm, "aten.scaled_dot_product_attention.default": sdpa,
    "aten.lstm.input": recurrent("LSTM", [0, 3, 1, 2]), "aten.gru.input": recurrent("GRU", [1, 0, 2]), "aten.rnn_tanh.input": recurrent("RNN", [0]), "aten.rnn_relu.input": recurrent("RNN", [0], "Relu"),
    "higher_order.cond.default": cond, "higher_order.scan.default": scan, "higher_order.associative_scan.default": associative_scan, "higher_order.map_impl.default": map_impl,
    "higher_order.while_loop.default": while_loop,
}
