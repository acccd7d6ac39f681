# Views, indexing and creation of tensors as ONNX.
import _onnx
from onnx_write_math import Val_of, least, operand
from onnx_write_values import BOOL, DOUBLE, FLOAT, HALF, INT64, Sym, Val


def same(w, outs, x, *rest):
    return w.e("Identity", [x])


def reshaped(w, outs, x, *rest):
    return w.reshape(x, outs[0].sizes)


def permute(w, outs, x, dims):
    return w.e("Transpose", [x], {"perm": [d + x.rank() if d < 0 else d for d in dims]})


def transpose(w, outs, x, a=0, b=1):
    perm = list(range(x.rank()))
    if x.rank() == 0 or x.rank() == 1 and b == 1:  # t of a vector
        return w.e("Identity", [x])
    perm[a], perm[b] = perm[b], perm[a]
    return w.e("Transpose", [x], {"perm": perm})


def unsqueeze(w, outs, x, dim):
    return w.e("Unsqueeze", [x, w.ints([dim])])


def squeeze(w, outs, x, dims=None):
    dims = [dims] if isinstance(dims, int) else dims
    r = x.rank()
    if r == outs[0].rank():
        return w.e("Identity", [x])
    axes = [d + r if d < 0 else d for d in (list(range(r)) if dims is None else dims)]
    if x.rank() - outs[0].rank() != len(axes):
        axes = [d for d in axes if not isinstance(x.sizes[d], Sym) and x.sizes[d] == 1]
    return w.e("Squeeze", [x, w.ints(axes)]) if axes else w.e("Identity", [x])


def expand(w, outs, x, *rest):
    return w.e("Expand", [x, w.sizes(outs[0].sizes)])


def select(w, outs, x, dim, index):
    return w.e("Gather", [x, w.scalar(index, INT64)], {"axis": dim})


def slice_(w, outs, x, dim=0, start=None, end=None, step=1):
    start = 0 if start is None else start
    end = 2**63 - 1 if end is None else end
    return w.e("Slice", [x, w.number(start), w.number(end), w.ints([dim]), w.number(step)])


def as_strided(w, outs, x, size, stride, offset=None):
    """The elements at offset + the sum of index times stride in the row-major order of all elements."""
    at = w.number(0 if offset is None else offset)
    for d, (n, s) in enumerate(zip(size, stride)):
        steps = w.e("Mul", [w.e("Range", [w.const(0, INT64), w.scalar(n, INT64), w.const(1, INT64)]), w.number(s)])
        behind = list(range(1, len(size) - d))
        at = w.e("Add", [at, w.e("Unsqueeze", [steps, w.ints(behind)]) if behind else steps])
    return w.e("Gather", [w.e("Reshape", [x, w.ints([-1])]), at if size else w.e("Squeeze", [at, w.ints([0])])], {"axis": 0})


def narrow(w, outs, x, dim, start, length):
    s = w.number(start) if not isinstance(start, Val) else w.e("Reshape", [start, w.ints([1])])
    return w.e("Slice", [x, s, w.e("Add", [s, w.number(length)]), w.ints([dim])])


def cat(w, outs, xs, dim=0):
    rank = outs[0].rank()
    xs = [x for x in xs if x.rank() == rank]  # as in PyTorch, empty vectors are left out
    return w.e("Concat", [w.cast(x, outs[0].code) for x in xs], {"axis": dim})


def stack(w, outs, xs, dim=0):
    dim = dim + outs[0].rank() if dim < 0 else dim
    return w.e("Concat", [w.e("Unsqueeze", [w.cast(x, outs[0].code), w.ints([dim])]) for x in xs], {"axis": dim})


def pieces(w, outs, x, sizes, dim=0):
    """A single list result: gives its elements."""
    dim = dim + x.rank() if dim < 0 else dim
    got = w.e("Split", [x, w.sizes(sizes)], {"axis": dim}, len(sizes))
    return [got] if isinstance(got, str) else got


def split_sizes(w, outs, x, sizes, dim=0):
    return pieces(w, outs, x, sizes, dim)


def split(w, outs, x, size, dim=0):
    return pieces(w, outs, x, [v.sizes[dim] for v in outs], dim)


def unbind(w, outs, x, dim=0):
    return [w.e("Squeeze", [p, w.ints([dim])]) for p in pieces(w, outs, x, [1] * len(outs), dim)]


def flip(w, outs, x, dims):
    k = len(dims)
    return w.e("Slice", [x, w.ints([-1] * k), w.ints([-(2**63) + 1] * k), w.ints(dims), w.ints([-1] * k)]) if k else w.e("Identity", [x])


def roll(w, outs, x, shifts, dims=None):
    if not dims:
        flat = Val_of(w, w.e("Reshape", [x, w.ints([-1])]), x.code, [None])
        return w.e("Reshape", [roll(w, outs, flat, shifts, [0]), w.e("Shape", [x])])
    y = w.name(x)
    for s, d in zip(shifts, dims):
        at = w.e("Neg", [w.number(s)])
        y = w.e("Concat", [w.e("Slice", [y, at, w.ints([2**63 - 1]), w.ints([d])]), w.e("Slice", [y, w.ints([0]), at, w.ints([d])])], {"axis": d})
    return y


def repeat(w, outs, x, reps):
    if x.rank() < len(reps):
        x = w.reshape(x, [1] * (len(reps) - x.rank()) + x.sizes)
    return w.e("Tile", [x, w.sizes(reps)])


# ---- making ----
def filled(w, outs, value):
    v = w.scalar(value, outs[0].code)
    return w.e("Expand", [v, w.sizes(outs[0].sizes)]) if outs[0].rank() else w.e("Identity", [v])


def full(w, outs, size, value=0, *rest):
    return filled(w, outs, value)


def constant(value):
    return lambda w, outs, *rest: filled(w, outs, value)


def full_like(w, outs, x, value, *rest):
    return filled(w, outs, value)


def new_full(w, outs, x, size, value, *rest):
    return filled(w, outs, value)


def arange(w, outs, start, end=None, step=1, *rest):
    code, count = outs[0].code, outs[0].sizes[0]
    if not isinstance(count, Sym) and (code in (HALF, FLOAT, DOUBLE) or any([isinstance(v, float) for v in (start, end, step)])):  # Range counts with rounded numbers
        wide = FLOAT if code == HALF else code
        start, step = [int(v) if wide == INT64 and isinstance(v, float) else v for v in (start, step)]
        like = Val(None, wide, [count])
        return w.cast(steps(w, [like], w.scalar(start, wide), w.scalar(step, wide)), code, wide)
    return w.e("Range", [w.scalar(start, code), w.scalar(end, code), w.scalar(step, code)])


def steps(w, outs, start, step):
    """start, start + step, ...: as many elements as the result has."""
    code = outs[0].code
    at = w.e("Cast", [w.e("Range", [w.const(0, INT64), w.scalar(outs[0].sizes[0], INT64), w.const(1, INT64)])], {"to": code})
    return w.e("Add", [w.e("Mul", [at, step]), start])


def range_(w, outs, start, end, step=1, *rest):
    return steps(w, outs, w.scalar(start, outs[0].code), w.scalar(step if isinstance(step, (int, float)) else 1, outs[0].code))


def linspace(w, outs, start, end, count, *rest):
    """In the second half indices count from the end."""
    code = outs[0].code
    first, last, count = operand(w, start, code), operand(w, end, code), w.scalar(outs[0].sizes[0], INT64)
    gaps = w.e("Max", [w.e("Sub", [count, w.const(1, INT64)]), w.const(1, INT64)])
    step = w.e("Div", [w.e("Sub", [last, first]), w.e("Cast", [gaps], {"to": code})])
    at = w.e("Range", [w.const(0, INT64), count, w.const(1, INT64)])
    times = lambda n: w.e("Mul", [w.e("Cast", [n], {"to": code}), step])
    back = w.e("Sub", [last, times(w.e("Sub", [gaps, at]))])
    return w.e("Where", [w.e("Less", [at, w.e("Div", [count, w.const(2, INT64)])]), w.e("Add", [first, times(at)]), back])


def logspace(w, outs, start, end, count, base=10.0, *rest):
    return w.e("Pow", [w.scalar(float(base), outs[0].code), linspace(w, outs, start, end, count)])


def arange_end(w, outs, end, *rest):
    return arange(w, outs, 0, end, 1)


def arange_start(w, outs, start, end, *rest):
    return arange(w, outs, start, end, 1)


def scalar_tensor(w, outs, value, *rest):
    return w.e("Identity", [w.scalar(value, outs[0].code)])


def tri(upper):
    def rule(w, outs, x, k=0):
        y = w.cast(x, INT64) if x.code == BOOL else w.name(x)
        y = w.e("Trilu", [y, w.const(k, INT64)], {"upper": upper})
        return w.e("Cast", [y], {"to": BOOL}) if x.code == BOOL else y

    return rule


def pads(w, x, pad, mode="constant", value=0):
    rank = x.rank()
    begin, end = [0] * rank, [0] * rank
    for i in range(len(pad) // 2):
        begin[rank - 1 - i], end[rank - 1 - i] = pad[2 * i], pad[2 * i + 1]
    names = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
    code = x.code
    y = w.cast(x, INT64) if code == BOOL else w.name(x)
    for d in range(rank):
        a, b = [0 if isinstance(p[d], Sym) else p[d] for p in (begin, end)]
        if mode == "circular" and (isinstance(begin[d], Sym) or isinstance(end[d], Sym)):
            _onnx.unsupported("circular padding by a symbolic size")
        if mode == "replicate" and not isinstance(x.sizes[d], Sym):  # an element stays, whatever is cut
            last = x.sizes[d] - 1
            a, b = max(a, -last), b + min(a + last, 0)
            a, b = a + min(b + last, 0), max(b, -last)
            begin[d], end[d] = [old if isinstance(old, Sym) else new for old, new in ((begin[d], a), (end[d], b))]
        if a < 0 or b < 0:  # cut first: ONNX Runtime pads with what is cut off
            y = w.e("Slice", [y, w.ints([max(-a, 0)]), w.ints([b if b < 0 else 2**63 - 1]), w.ints([d])])
            begin[d], end[d] = max(a, 0) if a < 0 else begin[d], max(b, 0) if b < 0 else end[d]
        if mode == "circular" and (a > 0 or b > 0):  # not by Pad: ONNX Runtime has no kernel
            part = lambda i, j: w.e("Slice", [y, w.ints([i]), w.ints([j]), w.ints([d])])
            y = w.e("Concat", ([part(-a, 2**63 - 1)] if a > 0 else []) + [y] + ([part(0, b)] if b > 0 else []), {"axis": d})
    if mode == "circular":
        return w.e("Cast", [y], {"to": BOOL}) if code == BOOL else y
    c = w.scalar(0 if value is None else value, INT64 if code == BOOL else code) if mode == "constant" else None
    y = w.e("Pad", [y, w.sizes(begin + end), c], {"mode": names[mode]})
    return w.e("Cast", [y], {"to": BOOL}) if code == BOOL else y


def pad_nd(w, outs, x, pad, value=0):
    return pads(w, x, pad, "constant", value)


def pad_any(w, outs, x, pad, mode="constant", value=None):
    return pads(w, x, pad, mode, value)


# ---- indexing ----
def embedding(w, outs, weight, indices, *rest):
    return w.e("Gather", [weight, indices], {"axis": 0})


def index_select(w, outs, x, dim, index):
    if not x.rank():
        return w.e("Identity", [x])
    return w.e("Gather", [x, index], {"axis": dim})


def gather(w, outs, x, dim, index, *rest):
    if not x.rank():
        return w.e("Expand", [x, w.e("Shape", [index])])
    return w.e("GatherElements", [x, index], {"axis": dim})


def positions(w, x, indices):
    """(x with the indexed dimensions in front, [..., k] positions, rank of the positions, first indexed dimension, adjacent)"""
    dims = [i for i, t in enumerate(indices) if t is not None]
    if any([indices[d].code == BOOL for d in dims]):
        if len(dims) != 1:
            _onnx.unsupported("a mask beside other indices")
        d = dims[0]
        m = indices[d]
        perm = list(range(d, d + m.rank())) + list(range(d)) + list(range(d + m.rank(), x.rank()))
        y = w.name(x) if d == 0 else w.e("Transpose", [x], {"perm": perm})
        return y, w.e("Transpose", [w.e("NonZero", [m])], {"perm": [1, 0]}), 1, d, True, m.rank()
    perm = dims + [i for i in range(x.rank()) if i not in dims]
    y = w.name(x) if perm == list(range(x.rank())) else w.e("Transpose", [x], {"perm": perm})
    rank = max([indices[d].rank() for d in dims])
    parts = [indices[d] for d in dims]
    shape = None
    if len(parts) > 1:
        total = w.cast(parts[0], INT64)
        for p in parts[1:]:
            total = w.e("Add", [total, w.cast(p, INT64)])
        shape = w.e("Shape", [total])
    columns = []
    for p in parts:
        c = w.cast(p, INT64)
        c = c if shape is None else w.e("Expand", [c, shape])
        columns.append(w.e("Unsqueeze", [c, w.ints([-1])]))
    at = columns[0] if len(columns) == 1 else w.e("Concat", columns, {"axis": -1})
    adjacent = dims[-1] - dims[0] == len(dims) - 1
    return y, at, rank, dims[0], adjacent, len(dims)


def index(w, outs, x, indices):
    dims = [i for i, t in enumerate(indices) if t is not None]
    if len(dims) == 1 and indices[dims[0]].code != BOOL:
        return w.e("Gather", [x, indices[dims[0]]], {"axis": dims[0]})
    y, at, rank, first, adjacent, k = positions(w, x, indices)
    y = w.e("GatherND", [y, at])
    if adjacent and first:  # the indexed dimensions move back to their position
        r = outs[0].rank()
        perm = list(range(rank, rank + first)) + list(range(rank)) + list(range(rank + first, r))
        y = w.e("Transpose", [y], {"perm": perm})
    return y


def index_put(w, outs, x, indices, values, accumulate=False):
    y, at, rank, first, adjacent, k = positions(w, x, indices)
    dims = [i for i, t in enumerate(indices) if t is not None]
    whole = w.e("Concat", [w.e("Shape", [at], {"start": 0, "end": rank}), w.e("Shape", [y], {"start": k})], {"axis": 0})
    v = w.cast(values, x.code)
    if adjacent and first and values.rank():  # the indexed dimensions of values move to the front
        s = [w.e("Shape", [y], {"start": k, "end": k + first}), w.e("Shape", [at], {"start": 0, "end": rank}), w.e("Shape", [y], {"start": k + first})]
        total = rank + x.rank() - k
        perm = list(range(first, first + rank)) + list(range(first)) + list(range(first + rank, total))
        v = w.e("Transpose", [w.e("Expand", [v, w.e("Concat", s, {"axis": 0})])], {"perm": perm})
    else:
        v = w.e("Expand", [v, whole])
    y = w.e("ScatterND", [y, at, v], {"reduction": "add"} if accumulate else {})
    if first or dims != list(range(len(dims))):
        if len(dims) == 1 and indices[dims[0]].code == BOOL:
            m = indices[dims[0]].rank()
            perm = list(range(first, first + m)) + list(range(first)) + list(range(first + m, x.rank()))
        else:
            perm = dims + [i for i in range(x.rank()) if i not in dims]
        back = [0] * x.rank()
        for i, p in enumerate(perm):
            back[p] = i
        y = w.e("Transpose", [y], {"perm": back})
    return y


def scatter(reduction=None):
    def rule(w, outs, x, dim, index, src, *rest):
        s = src if isinstance(src, Val) else w.e("Expand", [w.scalar(src, x.code), w.e("Shape", [index])])
        if isinstance(src, Val):
            s = w.e("Slice", [s, w.ints([0] * index.rank()), w.e("Shape", [index]), w.ints(list(range(index.rank())))]) if index.rank() else s
        return w.e("ScatterElements", [x, index, s], {"axis": dim, "reduction": reduction} if reduction else {"axis": dim})

    return rule


def scatter_by(w, outs, x, dim, index, src, *rest):
    """The last argument is the reduction: "add" or "multiply"."""
    return scatter("add" if rest[-1] == "add" else "mul")(w, outs, x, dim, index, src)


def put(w, outs, x, index, src, accumulate=False):
    flat = lambda v: w.e("Reshape", [v, w.ints([-1])])
    y = w.e("ScatterElements", [flat(x), flat(index), flat(src)], {"axis": 0, "reduction": "add"} if accumulate else {"axis": 0})
    return w.e("Reshape", [y, w.e("Shape", [x])])


def into_zeros(rule):
    """The gradient of a view: the incoming gradient at its place among zeros."""

    def backward(w, outs, g, sizes, *place):
        return rule(w, outs, Val_of(w, filled(w, outs, 0), outs[0].code, outs[0].sizes), g, *place)

    return backward


def of_number(f):
    """f(w, outs, x, dim, index, src, ...), which scatters along a dimension, also for x without dimensions."""

    def rule(w, outs, x, dim, index, src, *rest):
        if x.rank():
            return f(w, outs, x, dim, index, src, *rest)
        vectors = [Val_of(w, w.e("Reshape", [v, w.ints([-1])]), v.code, [1]) if isinstance(v, Val) else v for v in (x, index, src)]
        return w.e("Reshape", [f(w, outs, vectors[0], 0, vectors[1], vectors[2], *rest), w.ints([])])

    return rule


def index_add(w, outs, x, dim, index, src, alpha=1):
    """Adds rows of src to the rows of x given by index: a scatter whose indices are expanded along the rows."""
    dim = dim % max(x.rank(), 1)
    if alpha != 1:
        src = Val_of(w, w.e("Mul", [src, w.scalar(alpha, x.code)]), src.code, src.sizes)
    at = w.e("Reshape", [index, w.ints([1] * dim + [-1] + [1] * (x.rank() - dim - 1))])
    return w.e("ScatterElements", [x, w.e("Expand", [w.cast(Val_of(w, at, index.code, []), INT64), w.e("Shape", [src])]), src], {"axis": dim, "reduction": "add"})


def fill(w, outs, x, value):
    return filled(w, outs, value) if not isinstance(value, Val) else w.e("Expand", [w.cast(value, outs[0].code), w.sizes(outs[0].sizes)])


def copy(w, outs, x, src, *rest):
    return w.e("Expand", [w.cast(src, outs[0].code), w.sizes(outs[0].sizes)])


def scatter_reduce(w, outs, x, dim, index, src, reduce, include_self=True):
    """Without x itself the reduction starts from its identity; a mean is a sum divided by the number of elements."""
    code, how = x.code, {"sum": "add", "mean": "add", "prod": "mul", "amax": "max", "amin": "min"}[reduce]
    if not include_self:
        x = Val_of(w, scatter()(w, outs, x, dim, index, {"mul": 1, "max": least(code), "min": least(code, 1)}.get(how, 0)), code, x.sizes)
    y = scatter(how)(w, outs, x, dim, index, src)
    if reduce != "mean":
        return y
    ones = Val_of(w, w.e("Expand", [w.const(int(include_self), code), w.e("Shape", [x])]), code, x.sizes)
    one = Val_of(w, w.e("Expand", [w.const(1, code), w.e("Shape", [index])]), code, index.sizes)
    count = w.e("Max", [scatter("add")(w, outs, ones, dim, index, one), w.const(1, code)])
    return w.e("Div", [y, count]) if outs[0].is_float() else w.e("Div", [w.e("Sub", [y, w.e("Mod", [y, count])]), count])


def index_reduce(w, outs, x, dim, index, src, reduce, include_self=True):
    dim = dim % max(x.rank(), 1)
    at = w.e("Expand", [w.e("Reshape", [w.cast(index, INT64), w.ints([-1] + [1] * (x.rank() - dim - 1))]), w.e("Shape", [src])])
    return scatter_reduce(w, outs, x, dim, Val_of(w, at, INT64, src.sizes), src, reduce, include_self)


# ---- diagonals ----
def on_diagonal(w, rank, offset, a, b, length):
    """(the dimensions with a and b in front, the positions of the diagonal in those two)"""
    a, b = a % rank, b % rank
    steps = w.e("Unsqueeze", [w.e("Range", [w.const(0, INT64), w.scalar(length, INT64), w.const(1, INT64)]), w.ints([1])])
    return [a, b] + [d for d in range(rank) if d not in (a, b)], w.e("Add", [steps, w.ints([max(-offset, 0), max(offset, 0)])])


def first_last(w, v, rank, to_last):
    moved = list(range(1, rank)) + [0] if to_last else [rank - 1] + list(range(rank - 1))
    return w.e("Transpose", [v], {"perm": moved})


def diagonal(w, outs, x, offset=0, dim1=0, dim2=1):
    perm, at = on_diagonal(w, x.rank(), offset, dim1, dim2, outs[0].sizes[-1])
    return first_last(w, w.e("GatherND", [w.e("Transpose", [x], {"perm": perm}), at]), x.rank() - 1, True)


def diagonal_scatter(w, outs, x, src, offset=0, dim1=0, dim2=1):
    perm, at = on_diagonal(w, outs[0].rank(), offset, dim1, dim2, src.sizes[-1])
    y = w.e("ScatterND", [w.e("Transpose", [x], {"perm": perm}), at, first_last(w, w.cast(src, outs[0].code), src.rank(), False)])
    return w.e("Transpose", [y], {"perm": [perm.index(d) for d in range(len(perm))]})


def diagonal_backward(w, outs, grad, sizes, *rest):
    return diagonal_scatter(w, outs, filled(w, outs, 0), grad, *rest)


def select_scatter(w, outs, x, src, dim, index):
    s = w.e("Unsqueeze", [w.cast(src, x.code), w.ints([dim])])
    at = w.number(index)
    if not isinstance(index, Sym) and index < 0:
        at = w.e("Add", [at, w.number(x.sizes[dim])])
    return put_between(w, x, s, dim, at, w.e("Add", [at, w.ints([1])]))


def slice_scatter(w, outs, x, src, dim=0, start=None, end=None, step=1):
    src, start = w.cast(src, x.code), 0 if start is None else start
    length = w.number(x.sizes[dim])

    def place(v, default):
        if v is None:
            return default
        p = w.number(v)
        if not isinstance(v, Sym) and v < 0:
            p = w.e("Add", [p, length])
        return w.e("Max", [w.e("Min", [p, length]), w.ints([0])])

    a = place(start, w.ints([0]))
    if step != 1:
        d, one = dim % x.rank(), lambda v: w.e("Squeeze", [v, w.ints([0])])
        at = w.e("Range", [one(a), one(place(end, length)), one(w.number(step))])
        at = w.e("Reshape", [at, w.ints([1] * d + [-1] + [1] * (x.rank() - d - 1))])
        return w.e("ScatterElements", [x, w.e("Expand", [at, w.e("Shape", [src])]), src], {"axis": d})
    return put_between(w, x, src, dim, a, w.e("Add", [a, w.e("Shape", [src], {"start": dim % x.rank(), "end": dim % x.rank() + 1})]))


def put_between(w, x, src, dim, a, b):
    axes = w.ints([dim])
    return w.e("Concat", [w.e("Slice", [x, w.ints([0]), a, axes]), src, w.e("Slice", [x, b, w.ints([2**63 - 1]), axes])], {"axis": dim})


def masked_select(w, outs, x, mask):
    shape = w.e("Shape", [w.e("And", [w.cast(mask, BOOL), w.e("Equal", [x, x])])]) if x.sizes != mask.sizes else None
    if shape is not None:
        x, mask = Val_of(w, w.e("Expand", [x, shape]), x.code, []), Val_of(w, w.e("Expand", [mask, shape]), mask.code, [])
    return w.e("Compress", [w.e("Reshape", [x, w.ints([-1])]), w.e("Reshape", [w.cast(mask, BOOL), w.ints([-1])])])


def eye(w, outs, *rest):
    return w.e("EyeLike", [w.e("Expand", [w.const(0, INT64), w.sizes(outs[0].sizes)])], {"dtype": outs[0].code})


def nonzero(w, outs, x):
    if not x.rank():  # places of no dimension, as many as the number is not 0
        return w.e("Slice", [w.e("Transpose", [w.e("NonZero", [w.e("Reshape", [x, w.ints([1])])])], {"perm": [1, 0]}), w.ints([0]), w.ints([0]), w.ints([1])])
    return w.e("Transpose", [w.e("NonZero", [x])], {"perm": [1, 0]})


def item(w, outs, x):
    """A number: other values refer to it by its symbol."""
    y = w.e("Reshape", [x, w.ints([1])])
    v = outs[0]
    if v.symbol is not None:
        to = DOUBLE if x.is_float() else INT64
        w.numbers[f"{v.symbol}"] = y if x.code == to else w.e("Cast", [y], {"to": to})
        w.real[f"{v.symbol}"] = to == DOUBLE
    return y


def size_of(w, outs, x, dim=None):
    y = w.number(x.sizes[dim])
    if outs[0].symbol is not None:
        w.numbers[f"{outs[0].symbol}"] = y
    return y


TABLE = {}
for _n in ("alias.default", "detach.default", "clone.default", "contiguous.default", "lift_fresh_copy.default", "lift_fresh.default",
           "detach_.default", "positive.default", "resolve_conj.default", "resolve_neg.default", "conj_physical.default", "alias_copy.default", "lift.default",
           "detach_copy.default"):
    TABLE["aten." + _n] = same
for _n in ("view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints", "unflatten.int", "view_as.default", "_reshape_alias.default"):
    TABLE["aten." + _n] = reshaped
for _k, _v in {
    "permute.default": permute, "transpose.int": transpose, "t.default": transpose, "swapaxes.default": transpose, "unsqueeze.default": unsqueeze,
    "squeeze.dim": squeeze, "squeeze.dims": squeeze, "squeeze.default": squeeze, "expand.default": expand, "expand_as.default": expand,
    "select.int": select, "slice.Tensor": slice_, "as_strided.default": as_strided, "narrow.default": narrow, "cat.default": cat, "stack.default": stack,
    "split_with_sizes.default": split_sizes, "split.Tensor": split, "chunk.default": split, "unbind.int": unbind, "flip.default": flip, "roll.default": roll,
    "repeat.default": repeat, "full.default": full, "zeros.default": constant(0), "ones.default": constant(1), "zeros_like.default": constant(0),
    "ones_like.default": constant(1), "new_zeros.default": constant(0), "new_ones.default": constant(1), "empty.memory_format": constant(0),
    "empty_like.default": constant(0), "new_empty.default": constant(0), "empty_strided.default": constant(0), "new_empty_strided.default": constant(0),
    "empty_permuted.default": constant(0),
    "full_like.default": full_like, "new_full.default": new_full, "arange.default": arange_end, "arange.start": arange_start, "arange.start_step": arange,
    "scalar_tensor.default": scalar_tensor, "tril.default": tri(0), "triu.default": tri(1), "constant_pad_nd.default": pad_nd, "pad.default": pad_any,
    "embedding.default": embedding, "index_select.default": index_select, "gather.default": gather, "index.Tensor": index, "index_put.default": index_put,
    "scatter.reduce": of_number(scatter_by), "scatter.value_reduce": of_number(scatter_by), "put.default": put, "range.default": range_, "range.step": range_,
    "scatter.src": of_number(scatter()), "scatter.value": of_number(scatter()), "scatter_add.default": of_number(scatter("add")), "scatter_reduce.two": of_number(scatter_reduce),
    "index_add.default": of_number(index_add), "fill.Scalar": fill, "fill.Tensor": fill, "index_reduce.default": of_number(index_reduce), "diagonal.default": diagonal, "diagonal_copy.default": diagonal,
    "diagonal_scatter.default": diagonal_scatter, "diagonal_backward.default": diagonal_backward, "copy.default": copy, "select_scatter.default": select_scatter, "slice_scatter.default": slice_scatter,
    "select_backward.default": into_zeros(select_scatter), "slice_backward.default": into_zeros(slice_scatter), "masked_select.default": masked_select, "eye.default": eye, "eye.m": eye, "nonzero.default": nonzero, "item.default": item,
    "_local_scalar_dense.default": item, "sym_size.int": size_of, "_assert_async.msg": lambda w, outs, *r: [], "_assert_scalar.default": lambda w, outs, *r: [],
}.items():
    TABLE["aten." + _k] = _v
for _n in ("default", "Tensor_Tensor", "Tensor_Scalar", "Scalar_Tensor"):
    TABLE["aten.linspace." + _n] = linspace
    TABLE["aten.logspace." + _n] = logspace
# Operators whose kernels take any type: bfloat16 is kept.
MOVES = ["aten." + _k for _k in (
    "alias.default", "detach.default", "clone.default", "contiguous.default", "lift_fresh_copy.default", "lift_fresh.default",
    "view.default", "reshape.default", "_unsafe_view.default", "flatten.using_ints", "unflatten.int", "view_as.default", "_reshape_alias.default",
    "permute.default", "transpose.int", "t.default", "swapaxes.default", "unsqueeze.default", "squeeze.dim", "squeeze.dims", "squeeze.default",
    "select.int", "slice.Tensor", "narrow.default", "cat.default", "stack.default", "split_with_sizes.default", "split.Tensor", "chunk.default",
    "unbind.int", "flip.default", "roll.default", "embedding.default", "index_select.default", "gather.default", "index.Tensor",
    "_to_copy.default", "to.dtype", "to.dtype_layout", "to.device", "type_as.default")]
