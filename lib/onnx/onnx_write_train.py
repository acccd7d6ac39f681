# What programs of training have besides: the gradients of a convolution, the CTC loss.
import math
import _onnx
from onnx_write_formula import X
from onnx_write_nn import each
from onnx_write_values import INT64, Sym, Val

END = 2**63 - 1


def convolved(w, op, x, weight, stride, dilation, groups, pads=None):
    k = len(stride)
    return w.e(op, [x, weight], {"strides": stride, "dilations": dilation, "pads": pads or [0] * 2 * k, "group": groups})


def cut(w, x, begin, sizes):
    """The last dimensions of x from `begin` on; zeros where they end before `sizes`."""
    k, rank = len(sizes), len(sizes) + 2
    end = w.e("Add", [w.sizes(sizes), w.ints(begin)])
    short = w.e("Max", [w.e("Sub", [end, w.e("Shape", [x], {"start": 2, "end": rank})]), w.ints([0])])
    x = w.e("Pad", [x, w.e("Concat", [w.ints([0] * (rank + 2)), short], {"axis": 0})])
    return w.e("Slice", [x, w.ints(begin), end, w.ints(list(range(2, rank)))])


def weight_gradient(w, x, g, sizes, stride, pads, dilation, groups):
    """x and g with the batch as channels: g is the kernel that slides over x."""
    k, rest = len(stride), list(range(2, len(stride) + 2))
    channels, n = x.sizes[1] // groups, x.sizes[0]
    many = Sym(("mul", n.expr, groups)) if isinstance(n, Sym) else n * groups
    apart = w.e("Reshape", [x, w.sizes([n, groups, channels] + x.sizes[2:])])
    apart = w.e("Transpose", [apart], {"perm": [2, 1, 0] + [d + 1 for d in rest]})
    data = w.e("Reshape", [apart, w.sizes([channels, many] + x.sizes[2:])])
    y = convolved(w, "Conv", data, w.e("Transpose", [g], {"perm": [1, 0] + rest}), dilation, stride, groups, pads + pads)
    return cut(w, w.e("Transpose", [y], {"perm": [1, 0] + rest}), [0] * k, sizes)


def convolution_backward(w, outs, g, x, weight, bias_sizes, stride, padding, dilation, transposed, output_padding, groups, mask):
    k = weight.rank() - 2
    stride, pads, dilation = each(stride, k), each(padding, k), each(dilation, k)
    if x.rank() != k + 2 or isinstance(x.sizes[1], Sym) or isinstance(g.sizes[1], Sym):
        _onnx.unsupported("the gradient of a convolution whose channels are symbolic")
    dx = dw = db = None
    if mask[0] and transposed:
        dx = cut(w, convolved(w, "Conv", g, weight, stride, dilation, groups, pads + pads), [0] * k, x.sizes[2:])
    elif mask[0]:
        dx = cut(w, convolved(w, "ConvTranspose", g, weight, stride, dilation, groups), pads, x.sizes[2:])
    if mask[1]:
        data, kernel = (g, x) if transposed else (x, g)
        dw = weight_gradient(w, data, kernel, weight.sizes[2:], stride, pads, dilation, groups)
    if mask[2]:
        db = w.e("ReduceSum", [g, w.ints([0] + list(range(2, k + 2)))], {"keepdims": 0})
    return dx, dw, db


# ---- the CTC loss ----
def added(w, code, values):
    """log(exp(a) + exp(b) + ...)"""
    most = X(w, w.e("Max", [v.name for v in values]), code)
    safe = (most.is_(-math.inf)).pick(0.0, most)
    return X(w, w.e("Sum", [(v - safe).of("Exp").name for v in values]), code).of("Log") + safe


def padded_targets(w, targets, lengths, most, blank):
    """[batch, most]: from [batch, any], or from those of all samples in a row."""
    if targets.rank() == 2:
        return w.e("Slice", [w.cast(targets, INT64), w.ints([0]), most, w.ints([1])])
    row = w.e("Concat", [w.cast(targets, INT64), w.ints([blank])], {"axis": 0})
    begin = w.e("CumSum", [lengths, w.const(0, INT64)], {"exclusive": 1})
    steps = w.e("Range", [w.const(0, INT64), w.e("Squeeze", [most, w.ints([0])]), w.const(1, INT64)])
    at = w.e("Add", [w.e("Unsqueeze", [begin, w.ints([1])]), steps])
    return w.e("Gather", [row, w.e("Min", [at, w.scalar(targets.sizes[0], INT64)])])


def ctc_loss(w, outs, p, targets, times, lengths, blank=0, *rest):
    """The forward variables over the targets with blanks between them; log_alpha of the steps after a sample's last one is -inf."""
    code, batch, long = p.code, p.sizes[1], w.number(outs[1].sizes[2])
    times, lengths = [w.cast(v, INT64) if isinstance(v, Val) else w.ints(v) for v in (times, lengths)]
    column = lambda v: w.e("Unsqueeze", [v, w.ints([-1])])
    part = lambda v, a, b: w.e("Slice", [v, a, b, w.ints([1])])
    filled = lambda v, n, code: w.e("Expand", [w.const(v, code), w.sizes([batch, n])])
    labels = padded_targets(w, targets, lengths, w.e("Div", [long, w.ints([2])]), blank)
    pairs = [w.e("Expand", [w.const(blank, INT64), w.e("Shape", [column(labels)])]), column(labels)]
    labels = w.e("Reshape", [w.e("Concat", pairs, {"axis": -1}), w.ints([0, -1])])
    labels = w.e("Concat", [labels, filled(blank, 1, INT64)], {"axis": 1})
    before = part(w.e("Concat", [filled(-1, 2, INT64), labels], {"axis": 1}), w.ints([0]), long)
    labels = X(w, labels, INT64)
    skips = ((labels.is_(blank)).either(labels.is_(X(w, before, INT64)))).of("Not")
    index = w.e("Expand", [w.e("Unsqueeze", [labels.name, w.ints([0])]), w.e("Concat", [w.number(p.sizes[0]), w.sizes([batch]), long], {"axis": 0})])
    seen = w.e("GatherElements", [p, index], {"axis": 2})
    never = w.e("Expand", [w.const(-math.inf, code), w.e("Concat", [w.sizes([batch]), w.e("Sub", [long, w.ints([1])])], {"axis": 0})])
    first = w.e("Concat", [filled(0.0, 1, code), never], {"axis": 1})
    t, a, e = w.fresh("t"), w.fresh("in"), w.fresh("in")

    def run():
        old = X(w, a, code)
        back = lambda k: X(w, part(w.e("Concat", [filled(-math.inf, k, code), a], {"axis": 1}), w.ints([0]), long), code)
        new = added(w, code, [old, back(1), skips.pick(back(2), -math.inf)]) + X(w, e, code)
        going = X(w, column(times), INT64) > X(w, t, INT64)
        return [(w.e("Add", [t, w.const(1, INT64)]), INT64, 0), (going.pick(new, old).name, code, 2), (going.pick(new, -math.inf).name, code, 2)]

    body = w.body_of([[t, INT64, 0], [a, code, 2], [e, code, 2]], run)
    _, last, alpha = w.e("Scan", [w.const(0, INT64), first, seen], {"body": body, "num_scan_inputs": 1, "scan_output_axes": [1]}, 3)
    end = X(w, column(lengths), INT64) * 2
    at = lambda k: X(w, w.e("GatherElements", [last, (end - k).of("Max", 0).name], {"axis": 1}), code)
    loss = -added(w, code, [at(0), (end > 0).pick(at(1), -math.inf)])
    return w.e("Squeeze", [loss.name, w.ints([1])]), alpha


TABLE = {"aten.convolution_backward.default": convolution_backward, "aten._ctc_loss.default": ctc_loss, "aten._ctc_loss.Tensor": ctc_loss}
