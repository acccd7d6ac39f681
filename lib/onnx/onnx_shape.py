# Operators that create, move and select elements.
import torch
import torch.nn.functional as F
from onnx_values import Coded, Host, Strings, numbers, sizes_of, tensor
import _onnx


def product(xs):
    n = 1
    for x in xs:
        n = n * x
    return n


def axis_of(axis, rank):
    if not -rank <= axis < (rank or 1):
        raise ValueError(f"axis {axis} of a tensor of rank {rank}")
    return axis + rank if axis < 0 else axis


def given(n, name, value, default=None):
    """A list that is an attribute in older opsets and an input in newer ones."""
    if value is not None:
        return value
    return n.get(name, default)


# ---- shapes ----
def shape(n, x):
    s = sizes_of(x)
    start, end = n.get("start", 0), n.get("end", None)
    s = s[start:] if end is None else s[start:end]
    return Host([len(s)], s, torch.int64)


def size(n, x):
    return Host([], [product(sizes_of(x))], torch.int64)


def reshape(n, x, to=None):
    to = given(n, "shape", to)
    if to is None:
        n.fail("it has no sizes")
    out, free = [], None
    for i, d in enumerate(to):
        if _onnx.number(d) and d == 0 and not n.get("allowzero", 0):
            if i >= x.dim():
                n.fail(f"size {i} is 0 (copied), the input has {x.dim()} dimensions")
            d = x.shape[i]
        elif _onnx.number(d) and d == -1:
            if free is not None:
                n.fail("two sizes are -1")
            free = i
        out.append(d)
    if free is not None and 0 in [d for d in out if _onnx.number(d)]:
        out[free] = 0
    return x.reshape(out)


def flatten(n, x):
    axis = n.get("axis", 1)
    axis = axis + x.dim() if axis < 0 else axis
    return x.reshape([product(x.shape[:axis]), product(x.shape[axis:])])


def squeeze(n, x, axes=None):
    axes = given(n, "axes", axes)
    if axes is None:
        return x.squeeze()
    for a in sorted([axis_of(a, x.dim()) for a in axes], reverse=True):
        if not _onnx.require(x.shape[a] == 1):
            n.fail(f"dimension {a} is {x.shape[a]}, expected 1")
        x = x.select(a, 0)
    return x


def unsqueeze(n, x, axes=None):
    axes = given(n, "axes", axes)
    rank = x.dim() + len(axes)
    axes = sorted([axis_of(a, rank) for a in axes])
    for i, a in enumerate(axes):
        if i and axes[i - 1] == a:
            n.fail(f"axis {a} stands twice")
        x = x.unsqueeze(a)
    return x


def transpose(n, x):
    perm = n.get("perm", None)
    return x.permute(perm if perm else list(range(x.dim() - 1, -1, -1)))


def concat(n, *xs):
    axis = n.get("axis", 1 if n.version < 4 else 0)
    if len(xs) == 1:
        return xs[0]
    return torch.cat(list(xs), axis)


def split(n, x, sizes=None):
    axis = axis_of(n.get("axis", 0), x.dim())
    sizes = given(n, "split", sizes)
    sizes = sizes and [int(s) for s in sizes] if n.version < 2 else sizes  # an input of opset 1 is of the type of x
    length = x.shape[axis]
    if sizes is None:
        parts = n.get("num_outputs", len(n.outputs))
        step = (length + parts - 1) // parts
        if not _onnx.number(length):
            step = length // parts if n.version < 18 else step
            sizes = [step] * (parts - 1) + [length - step * (parts - 1)]
        else:
            sizes = [max(0, min(step, length - step * i)) for i in range(parts)]
    return tuple(torch.split(x, sizes, axis))


def expand(n, x, to):
    rank = max(x.dim(), len(to))
    to = [1] * (rank - len(to)) + list(to)
    have = [1] * (rank - x.dim()) + list(x.shape)
    out = []
    for h, t in zip(have, to):
        if _onnx.number(t) and t == 1:
            out.append(h)
        elif _onnx.number(h) and h == 1:
            out.append(t)
        elif _onnx.number(h) or _onnx.number(t):
            out.append(h if _onnx.number(h) else t)
        elif _onnx.require(h == t):  # two free sizes
            out.append(h)
        elif _onnx.truth(t == 1) or _onnx.truth(h == 1):
            out.append(max(h, t))
        else:
            n.fail(f"sizes {list(x.shape)} do not become {to}")
    return x.expand(out)


def tile_1(n, x, tiles, axis):
    reps = [1] * x.dim()
    reps[axis[0]] = tiles[0]
    return x.repeat(reps)


def tile(n, x, reps):
    return x.repeat(list(reps))


# ---- making ----
def constant(n):
    if n.has("value"):
        v = n.tensor_attr("value")
        if n.scope.model.weights_in_constants and isinstance(v, torch.Tensor) and v.dtype.is_floating_point and v.numel() > 1:
            return n.scope.model.weight(v, n.outputs[0])
        return v
    if n.has("sparse_value"):
        return n.tensor_attr("sparse_value")
    for name, dtype in (("value_float", torch.float32), ("value_int", torch.int64)):
        if n.has(name):
            return _onnx.eager(_make, n.get(name), dtype)
    for name, dtype in (("value_floats", torch.float32), ("value_ints", torch.int64)):
        if n.has(name):
            return _onnx.eager(_make, n.get(name), dtype)
    if n.has("value_string"):
        return Strings([], [n.get("value_string")])
    if n.has("value_strings"):
        return Strings([len(n.get("value_strings"))], n.get("value_strings"))
    n.fail("it has no value")


def _make(v, dtype):
    return torch.tensor(v, dtype=dtype)


def constant_of_shape(n, to):
    value, dtype, code = 0.0, torch.float32, None
    if n.has("value"):
        t = n.tensor_attr("value")
        if isinstance(t, Coded):
            t, code = t.t, t.code
        value, dtype = numbers(t)[0], t.dtype
    y = torch.full(list(to), value, dtype=dtype)
    return y if code is None else Coded(code, y)


def eye_like(n, x):
    from onnx_import import DTYPES

    dtype = DTYPES[n.get("dtype")] if n.has("dtype") else x.dtype
    rows, cols, k = x.shape[0], x.shape[1], n.get("k", 0)
    i = torch.arange(rows).unsqueeze(1)
    j = torch.arange(cols).unsqueeze(0)
    return (i + k == j).to(dtype)


def range_(n, start, limit, step):
    dtype = start.dtype
    a, b, d = n.known(0), n.known(1), n.known(2)
    if a is None:
        a = [start.item()]
    if b is None:
        b = [limit.item()]
    if d is None:
        d = [step.item()]
    if dtype.is_floating_point:
        import math

        count = max(0, math.ceil((b[0] - a[0]) / d[0]))
        return (torch.arange(count, dtype=torch.float64) * d[0] + a[0]).to(dtype)
    if _onnx.number(a[0]) and _onnx.number(b[0]) and d[0] and (b[0] - a[0]) * d[0] <= 0:
        return torch.zeros([0], dtype=dtype)  # the limit is before the start
    return torch.arange(a[0], b[0], d[0], dtype=dtype)


def one_hot(n, indices, depth, values):
    axis = n.get("axis", -1)
    depth = depth[0]
    depth = int(depth) if isinstance(depth, float) else depth
    indices = indices.to(torch.int64)
    indices = torch.where(indices < 0, indices + depth, indices)
    axis = axis_of(axis, indices.dim() + 1)
    shape = [1] * (indices.dim() + 1)
    shape[axis] = depth
    hit = indices.unsqueeze(axis) == torch.arange(depth).reshape(shape)
    return torch.where(hit, values[1], values[0])


# ---- selecting ----
def slice_(n, x, starts, ends, axes=None, steps=None):
    axes = list(range(len(starts))) if axes is None else axes
    steps = [1] * len(starts) if steps is None else steps
    for k in range(len(starts)):
        a = axis_of(axes[k], x.dim())
        length, s, e, d = x.shape[a], starts[k], ends[k], steps[k]
        if not _onnx.number(d) or d == 0:
            n.fail(f"a step of {d}")
        if d > 0:
            if _onnx.number(s) and s == 0 and _onnx.number(e) and e >= 2**31 - 1 and d == 1:
                continue
            x = torch.ops.aten.slice.Tensor(x, a, s, min(e, 2**63 - 1) if _onnx.number(e) else e, d)
            continue
        # backwards: the elements are those of a forward slice of the flipped dimension; ONNX Runtime takes the greatest end as no end
        if _onnx.number(e) and e in (2**31 - 1, 2**63 - 1):
            e = -(2**31)
        if not _onnx.number(s) or not _onnx.number(e):
            n.unsupported("a slice backwards between sizes that are not known")
        if _onnx.number(length):
            s, e = max(0, min(length - 1, s + length if s < 0 else s)), e + length if e < 0 else e
            idx = list(range(s, max(e, -1), d)) if length else []
            x = torch.index_select(x, a, torch.tensor(idx, dtype=torch.int64))
            continue
        first = torch.sym_min(-1 - s, length - 1) if s < 0 else torch.sym_max(length - 1 - s, 0)
        last = -1 - e if e < 0 else torch.sym_max(length - 1 - e, 0)
        x = torch.ops.aten.slice.Tensor(torch.flip(x, [a]), a, first, last, -d)
    return x


def slice_by_data(x, starts, ends, axes, steps):
    """Axes and steps are known at run time only: selects, in every dimension, the positions that are inside, counted from the start."""
    axes = torch.where(axes < 0, axes + x.dim(), axes)
    for d in range(x.dim()):
        here, length = axes == d, x.shape[d]
        pick = lambda v, default: torch.where(here.any(), torch.sum(torch.where(here, v, torch.zeros_like(v))), torch.full([], default, dtype=torch.int64))
        s, e, step = pick(starts, 0), pick(ends, 2**63 - 1), pick(steps, 1)
        back = step < 0
        e = torch.where(torch.logical_and(back, torch.logical_or(e == 2**31 - 1, e == 2**63 - 1)), -(2**31), e)
        s, e = torch.where(s < 0, s + length, s), torch.where(e < 0, e + length, e)
        s = torch.where(back, torch.clamp(s, max=length - 1), torch.clamp(s, min=0))
        i = torch.arange(length)
        away = torch.where(back, s - i, i - s)
        inside = torch.logical_and(torch.where(back, i > e, i < e), torch.logical_and(away >= 0, torch.remainder(away, torch.abs(step)) == 0))
        at = torch.nonzero(inside).reshape([-1])
        x = torch.index_select(x, d, torch.where(back, torch.flip(at, [0]), at))
    return x


def slice_10(n, x, *where):
    unknown = False
    for k, v in enumerate(where[2:]):
        unknown = unknown or (isinstance(v, torch.Tensor) and not _onnx.known(v) and n.known(3 + k) is None)
    if not unknown:
        return slice_(n, x, *[n.scope.model.numbers_of(n, 1 + k, v, "s" if k < 2 else "h") for k, v in enumerate(where)])
    starts, ends, axes, steps = [tensor(v).to(torch.int64) if v is not None else None for v in list(where) + [None] * (4 - len(where))]
    axes = torch.arange(starts.shape[0]) if axes is None else axes
    return slice_by_data(x, starts, ends, axes, torch.ones_like(starts) if steps is None else steps)


def slice_1(n, x):
    return slice_(n, x, n.get("starts"), n.get("ends"), n.get("axes"))


def wrap(indices, length):
    """Negative indices count from the end."""
    indices = indices.to(torch.int64)
    if _onnx.known(indices):
        if min(numbers(indices) + [0]) >= 0:
            return indices
        if _onnx.number(length):
            return _onnx.eager(lambda i: torch.where(i < 0, i + length, i), indices)
    return torch.where(indices < 0, indices + length, indices)


def column(indices, j, length):
    """Number j of each index, counted from the beginning; computed here if it is known."""
    def pick(i):
        return torch.select(i, -1, j)
    return wrap(_onnx.eager(pick, indices) if _onnx.known(indices) else pick(indices), length)


def gather(n, x, indices):
    axis = axis_of(n.get("axis", 0), x.dim())
    if _onnx.known(indices) and indices.dim() == 0:
        return torch.select(x, axis, numbers(indices)[0])
    indices = wrap(indices, x.shape[axis])
    if axis == 0 and x.dim() == 2 and x.dtype.is_floating_point:
        return F.embedding(indices, x)
    if indices.dim() == 1:
        return torch.index_select(x, axis, indices)
    lead, rest = list(x.shape[:axis]), list(x.shape[axis + 1:])
    y = torch.index_select(x, axis, indices.reshape([-1]))
    return y.reshape(lead + list(indices.shape) + rest)


def gather_elements(n, x, indices):
    axis = axis_of(n.get("axis", 0), x.dim())
    return torch.gather(x, axis, wrap(indices, x.shape[axis]))


def gather_nd(n, x, indices):
    b, k = n.get("batch_dims", 0), indices.shape[-1]
    index = []
    for d in range(b):
        shape = [1] * (indices.dim() - 1)
        shape[d] = x.shape[d]
        index.append(torch.arange(x.shape[d]).reshape(shape))
    for j in range(k):
        index.append(column(indices, j, x.shape[b + j]))
    return x[tuple(index)]


REDUCE = {"add": "sum", "mul": "prod", "max": "amax", "min": "amin"}


def scatter_elements(n, x, indices, updates):
    axis = axis_of(n.get("axis", 0), x.dim())
    how = n.get("reduction", "none")
    indices = wrap(indices, x.shape[axis])
    if how == "none":
        return torch.scatter(x, axis, indices, updates)
    if how == "add":
        return torch.scatter_add(x, axis, indices, updates)
    return torch.scatter_reduce(x, axis, indices, updates, REDUCE[how], include_self=True)


def scatter_nd(n, x, indices, updates):
    how = n.get("reduction", "none")
    k = indices.dim() - 1 + x.dim() - updates.dim()  # of an index
    if not _onnx.require(indices.shape[-1] == k):
        n.fail(f"indices of sizes {list(indices.shape)} and updates of sizes {list(updates.shape)} for sizes {list(x.shape)}")
    index = tuple([column(indices, j, x.shape[j]) for j in range(k)])
    if how == "none":
        return torch.index_put(x, index, updates)
    if how == "add":
        return torch.index_put(x, index, updates, accumulate=True)
    flat = index[0]
    for j in range(1, k):
        flat = flat * x.shape[j] + index[j]
    inner = product(x.shape[k:])
    flat = (flat.reshape([-1, 1]) * inner + torch.arange(inner).reshape([1, -1])).reshape([-1])
    return torch.scatter_reduce(x.reshape([-1]), 0, flat, updates.reshape([-1]), REDUCE[how], include_self=True).reshape(x.shape)


def compress(n, x, condition):
    at = torch.nonzero(condition).reshape([-1])
    if n.has("axis"):
        return torch.index_select(x, n.get("axis"), at)
    return torch.index_select(x.reshape([-1]), 0, at)


def nonzero(n, x):
    return torch.nonzero(x).t()


def where(n, c, a, b):
    return torch.where(c, a, b)


def trilu(n, x, k=None):
    k = k[0] if k else 0
    f = torch.triu if n.get("upper", 1) else torch.tril
    if x.dtype == torch.bool:
        return f(x.to(torch.uint8), k).to(torch.bool)
    return f(x, k)


def unique(n, x):
    axis, ordered = n.get("axis", None), n.get("sorted", 1)
    if axis is None:
        values, inverse, counts = torch.unique(x.reshape([-1]), sorted=True, return_inverse=True, return_counts=True)
        length = x.numel()
    else:
        values, inverse, counts = torch.unique(x, sorted=True, return_inverse=True, return_counts=True, dim=axis)
        length = x.shape[axis]
    k = counts.shape[0]
    first = torch.scatter_reduce(torch.full([k], length, dtype=torch.int64), 0, inverse, torch.arange(length), "amin", include_self=True)
    if not ordered:
        order = torch.argsort(first)
        rank = torch.argsort(order)
        values = torch.index_select(values, 0 if axis is None else axis, order)
        first, counts, inverse = first[order], counts[order], rank[inverse]
    return values, first, inverse, counts


def reverse_sequence(n, x, lengths):
    t, b = n.get("time_axis", 0), n.get("batch_axis", 1)
    steps = x.shape[t]
    shape = [1] * x.dim()
    shape[t] = steps
    at = torch.arange(steps).reshape(shape)
    shape = [1] * x.dim()
    shape[b] = x.shape[b]
    long = lengths.to(torch.int64).reshape(shape)
    index = torch.where(at < long, long - 1 - at, at).expand(list(x.shape))
    return torch.gather(x, t, index)


def depth_to_space(n, x):
    s = n.get("blocksize")
    b, c, h, w = x.shape
    if n.get("mode", "DCR") == "CRD":
        return F.pixel_shuffle(x, s)
    y = x.reshape([b, s, s, c // (s * s), h, w]).permute([0, 3, 4, 1, 5, 2])
    return y.reshape([b, c // (s * s), h * s, w * s])


def space_to_depth(n, x):
    s = n.get("blocksize")
    b, c, h, w = x.shape
    y = x.reshape([b, c, h // s, s, w // s, s]).permute([0, 3, 5, 1, 2, 4])
    return y.reshape([b, c * s * s, h // s, w // s])


def pad_of(n, x, pads, mode, value, axes):
    rank = x.dim()
    axes = list(range(rank)) if axes is None else [axis_of(a, rank) for a in axes]
    k = len(axes)
    if len(pads) != 2 * k:
        n.fail(f"{len(pads)} paddings for {k} axes")
    begin, end = [0] * rank, [0] * rank
    for i, a in enumerate(axes):
        begin[a], end[a] = pads[i], pads[k + i]
    if mode == "constant":
        flat = []
        for d in range(rank - 1, -1, -1):
            flat = flat + [begin[d], end[d]]
        while len(flat) > 2 and _onnx.number(flat[-1]) and _onnx.number(flat[-2]) and flat[-1] == 0 and flat[-2] == 0:
            flat = flat[:-2]
        if x.dtype == torch.bool:
            return F.pad(x.to(torch.uint8), flat, value=1 if value else 0).to(torch.bool)
        return F.pad(x, flat, value=value)
    for d in range(rank):
        a, e, length = begin[d], end[d], x.shape[d]
        if _onnx.number(a) and _onnx.number(e) and a == 0 and e == 0:
            continue
        at = torch.arange(length + a + e) - a
        if mode == "edge":
            at = torch.clamp(at, 0, length - 1)
        elif mode == "wrap":
            cut = torch.sym_max(-a, 0)  # around what remains after negative padding, as in ONNX Runtime
            at = torch.remainder(at - cut, length - cut - torch.sym_max(-e, 0)) + cut
        elif mode == "reflect":
            period = torch.sym_max(2 * (length - 1), 1)
            at = torch.remainder(at, period)
            at = torch.where(at >= length, period - at, at)
        else:
            n.unsupported(f"padding '{mode}'")
        x = torch.index_select(x, d, at)
    return x


def pad(n, x, pads, value=None, axes=None):
    mode, known = n.get("mode", "constant"), n.known(2)
    if value is None or known or mode != "constant":
        return pad_of(n, x, pads, mode, known[0] if known else 0, axes)
    inside = pad_of(n, torch.ones_like(x, dtype=torch.bool), pads, mode, 0, axes)
    return torch.where(inside, pad_of(n, x, pads, mode, 0, axes), value.reshape([]))


def pad_2(n, x):
    return pad_of(n, x, n.get("pads", n.get("paddings")), n.get("mode", "constant"), n.get("value", 0.0), None)


def center_crop_pad(n, x, to):
    axes = n.get("axes", None)
    axes = list(range(x.dim())) if axes is None else axes
    for a, t in zip(axes, to):
        a = axis_of(a, x.dim())
        have = x.shape[a]
        if bool(have > t):
            x = x.narrow(a, (have - t) // 2, t)
        elif bool(have < t):
            before = (t - have) // 2
            pads = [0, 0] * (x.dim() - 1 - a) + [before, t - have - before]
            x = F.pad(x, pads)
    return x


def tensor_scatter(n, past, update, at=None):
    axis = axis_of(n.get("axis", -2), past.dim())
    length, steps = past.shape[axis], update.shape[axis]
    shape = [1] * past.dim()
    shape[axis] = steps
    index = torch.arange(steps).reshape(shape)
    if at is not None:
        index = index + at.to(torch.int64).reshape([-1] + [1] * (past.dim() - 1))
    if n.get("mode", "linear") == "circular":
        index = torch.remainder(index, length)
    return torch.scatter(past, axis, index.expand(list(update.shape)), update)


def col2im(n, x, image, block):
    k = len(block)
    dil, pads, stride = n.get("dilations", [1] * k), n.get("pads", [0] * (2 * k)), n.get("strides", [1] * k)
    b, length = x.shape[0], x.shape[2]
    c = x.shape[1] // product(block)
    counts = [(image[i] + pads[i] + pads[k + i] - dil[i] * (block[i] - 1) - 1) // stride[i] + 1 for i in range(k)]
    full = [image[i] + pads[i] + pads[k + i] for i in range(k)]
    # positions in the padded image of (block offset, window)
    flat = None
    for i in range(k):
        at = (torch.arange(block[i]) * dil[i]).reshape([-1, 1]) + (torch.arange(counts[i]) * stride[i]).reshape([1, -1])
        shape = [1] * (2 * k)
        shape[i], shape[k + i] = block[i], counts[i]
        at = at.reshape(shape)
        flat = at if flat is None else flat * full[i] + at
    flat = flat.reshape([-1])
    y = torch.zeros([b, c, product(full)], dtype=x.dtype)
    y = torch.index_add(y, 2, flat, x.reshape([b, c, -1])).reshape([b, c] + full)
    for i in range(k):
        y = y.narrow(2 + i, pads[i], image[i])
    return y


def identity(n, x):
    return x


def dropout(n, x, ratio=None, training=None):
    """Identity at inference, whatever the ratio; in training mode, an input since opset 12, the mask is drawn. Before opset 12 the mask was not
    filled, which is 0 in ONNX Runtime, and before 10 it had the input's type."""
    r = None
    if training and training[0]:
        r = 0.5 if ratio is None else n.scope.model.numbers_of(n, 1, ratio, "h")[0]
    if not r:
        if not n.wants(1):
            return x, None
        return x, torch.full_like(x, n.version >= 12, dtype=torch.bool if n.version >= 10 else x.dtype)
    y, mask = torch.native_dropout(x, r, True)
    return y, mask


TABLE = [
    ("", "Shape", 1, shape, "R"), ("", "Size", 1, size, "R"), ("", "Reshape", 1, reshape, "Ts"), ("", "Flatten", 1, flatten, "T"),
    ("", "Squeeze", 1, squeeze, "Th"), ("", "Unsqueeze", 1, unsqueeze, "Th"), ("", "Transpose", 1, transpose, "T"), ("", "Concat", 1, concat, "Tt"),
    ("", "Split", 1, split, "Ts"), ("", "Expand", 8, expand, "TS"), ("", "Tile", 1, tile_1, "TSH"), ("", "Tile", 6, tile, "TS"),
    ("", "Constant", 1, constant, ""), ("", "ConstantOfShape", 9, constant_of_shape, "S"), ("", "EyeLike", 9, eye_like, "T"),
    ("", "Range", 11, range_, "TTT"), ("", "OneHot", 9, one_hot, "TST"), ("", "Slice", 1, slice_1, "T"), ("", "Slice", 10, slice_10, "TRR"),
    ("", "Gather", 1, gather, "TT"), ("", "GatherElements", 11, gather_elements, "TT"), ("", "GatherND", 11, gather_nd, "TT"),
    ("", "Scatter", 9, scatter_elements, "TTT"), ("", "ScatterElements", 11, scatter_elements, "TTT"), ("", "ScatterND", 11, scatter_nd, "TTT"),
    ("", "Compress", 9, compress, "TT"), ("", "NonZero", 9, nonzero, "T"), ("", "Where", 9, where, "TTT"), ("", "Trilu", 14, trilu, "Th"),
    ("", "Unique", 11, unique, "T"), ("", "ReverseSequence", 10, reverse_sequence, "TT"), ("", "DepthToSpace", 1, depth_to_space, "T"),
    ("", "SpaceToDepth", 1, space_to_depth, "T"), ("", "Pad", 1, pad_2, "T"), ("", "Pad", 11, pad, "TSth"),
    ("", "CenterCropPad", 18, center_crop_pad, "TS"), ("", "TensorScatter", 24, tensor_scatter, "TTt"), ("", "Col2Im", 18, col2im, "THH"),
    ("", "Identity", 1, identity, "R"), ("", "Dropout", 1, dropout, "Trh"),
]
