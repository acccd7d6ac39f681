# Reductions, extremes, sorting.
import _onnx
import torch
from onnx_shape import axis_of


def axes_of(n, x, axes):
    """The reduced dimensions, or None: nothing is reduced."""
    if axes is None:
        axes = n.get("axes", None)
    if not axes:
        if n.get("noop_with_empty_axes", 0) == 1:
            return None
        return list(range(x.dim()))
    return sorted([axis_of(a, x.dim()) for a in axes])


def over(f, before=None, after=None):
    """f(x, axes, keepdim), with a function applied before and one after, which also apply if no axis is reduced."""

    def rule(n, x, axes=None):
        axes = axes_of(n, x, axes)
        if before:
            x = before(x)
        if axes is None or x.dim() == 0:
            y = x
        else:
            y = f(x, axes, n.get("keepdims", 1) == 1)
        return after(y) if after else y

    return rule


def total(x, axes, keep):
    return torch.sum(x, axes, keep, dtype=x.dtype)


def average(x, axes, keep):
    if x.dtype.is_floating_point:
        return torch.mean(x, axes, keep)
    count = 1
    for a in axes:
        count = count * x.shape[a]
    return torch.div(torch.sum(x, axes, keep, dtype=x.dtype), count, rounding_mode="trunc").to(x.dtype)


def product(x, axes, keep):
    for a in reversed(axes):
        x = torch.prod(x, a, keep, dtype=x.dtype)
    return x


def lowest(dtype):
    if dtype.is_floating_point:
        return float("-inf")
    return 0 if dtype in (torch.bool, torch.uint8) else torch.iinfo(dtype).min


def highest(dtype):
    if dtype.is_floating_point:
        return float("inf")
    return 1 if dtype == torch.bool else torch.iinfo(dtype).max


def extreme(f, logical, limit):
    def reduce(x, axes, keep):
        empty = False
        for a in axes:
            if _onnx.from_data(x.shape[a]):  # maybe empty
                more = [1 if d == a else x.shape[d] for d in range(x.dim())]
                x = torch.cat([x, torch.full(more, limit(x.dtype), dtype=x.dtype)], a)
            else:
                empty = empty or _onnx.truth(x.shape[a] == 0)
        if empty:
            shape = [1 if d in axes else x.shape[d] for d in range(x.dim()) if keep or d not in axes]
            return torch.full(shape, limit(x.dtype), dtype=x.dtype)
        if x.dtype == torch.bool:
            for a in reversed(axes):
                x = logical(x, a, keep)
            return x
        return f(x, axes, keep)

    return reduce


def log_sum_exp(x, axes, keep):
    return torch.logsumexp(x, axes, keep) if x.dtype.is_floating_point else torch.log(torch.sum(torch.exp(x.to(torch.float32)), axes, keep)).to(x.dtype)


def log_of(x):
    return torch.log(x) if x.dtype.is_floating_point else torch.log(x.to(torch.float32)).to(x.dtype)


def root_of(x):
    return torch.sqrt(x) if x.dtype.is_floating_point else torch.sqrt(x.to(torch.float32)).to(x.dtype)




def square(x):
    return x * x


def norm2(n, x, axes=None):
    axes = axes_of(n, x, axes)
    if axes is None or x.dim() == 0:
        return torch.abs(x)
    return root_of(torch.sum(x * x, axes, n.get("keepdims", 1) == 1, dtype=x.dtype))


def log_sum_exp_rule(n, x, axes=None):
    axes = axes_of(n, x, axes)
    return x if axes is None else log_sum_exp(x, axes, n.get("keepdims", 1) == 1)


def arg(f):
    def rule(n, x):
        axis, keep = axis_of(n.get("axis", 0), x.dim()), n.get("keepdims", 1) == 1
        if n.get("select_last_index", 0):
            return x.shape[axis] - 1 - f(torch.flip(x, [axis]), axis, keep)
        return f(x, axis, keep)

    return rule


def first_few(x, k, axis, largest):
    """The first k along axis, of equal ones those with the least index: not what torch.topk takes."""
    v, i = torch.sort(x, dim=axis, descending=largest, stable=True)
    return torch.narrow(v, axis, 0, k), torch.narrow(i, axis, 0, k)


def topk_1(n, x):
    return first_few(x, n.get("k"), n.get("axis", -1), True)


def topk(n, x, k):
    return first_few(x, k[0], n.get("axis", -1), bool(n.get("largest", 1)))


def two(f):
    def rule(n, *args):
        a, b = f(n, *args)
        return a, b

    return rule


TABLE = [
    ("", "ReduceSum", 1, over(total), "Th"), ("", "ReduceMean", 1, over(average), "Th"), ("", "ReduceProd", 1, over(product), "Th"),
    ("", "ReduceMax", 1, over(extreme(torch.amax, torch.any, lowest)), "Th"), ("", "ReduceMin", 1, over(extreme(torch.amin, torch.all, highest)), "Th"),
    ("", "ReduceSumSquare", 1, over(total, square), "Th"), ("", "ReduceL1", 1, over(total, torch.abs), "Th"), ("", "ReduceL2", 1, norm2, "Th"),
    ("", "ReduceLogSum", 1, over(total, None, log_of), "Th"), ("", "ReduceLogSumExp", 1, log_sum_exp_rule, "Th"),
    ("", "ArgMax", 1, arg(torch.argmax), "T"), ("", "ArgMin", 1, arg(torch.argmin), "T"),
    ("", "TopK", 1, two(topk_1), "T"), ("", "TopK", 10, two(topk), "TS"),
]
