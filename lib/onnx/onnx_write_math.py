# Elementwise operators, comparisons, reductions as ONNX.
import math
import _onnx
from onnx_write_values import BF16, BOOL, DOUBLE, FLOAT, HALF, INT8, INT32, INT64, RANK, UINT8, Sym, Val


def code_of(*vs):
    """The type in which operands are compared."""
    best = None
    for v in vs:
        if isinstance(v, Val) and (best is None or RANK.get(v.code, 3) > RANK.get(best, 3)):
            best = v.code
    for v in vs:
        if isinstance(v, float) and RANK.get(best, 3) < 4:
            return FLOAT
        if not isinstance(v, (Val, float, bool)) and best == BOOL:
            return INT64
    return best


def operand(w, v, code):
    return w.cast(v, code) if isinstance(v, Val) else w.scalar(v, code)


def unary(op, **attrs):
    return lambda w, outs, x, *rest: w.e(op, [w.cast(x, outs[0].code)], attrs)


def negative(w, outs, x):
    """Neg takes no unsigned integers."""
    return w.e("Sub", [w.const(0, x.code), x]) if x.code in (UINT8, 4, 12, 13) else w.e("Neg", [x])


def keep(op):
    return lambda w, outs, x, *rest: w.e(op, [x])


def binary(op):
    return lambda w, outs, a, b, *rest: w.e(op, [operand(w, a, outs[0].code), operand(w, b, outs[0].code)])


def scaled(op):
    def rule(w, outs, a, b, alpha=1, *rest):
        code = outs[0].code
        y = operand(w, b, code)
        if alpha != 1:
            y = w.e("Mul", [y, w.scalar(alpha, code)])
        return w.e(op, [operand(w, a, code), y])

    return rule


def rsub(w, outs, a, b, alpha=1):
    code = outs[0].code
    x = operand(w, a, code)
    if alpha != 1:
        x = w.e("Mul", [x, w.scalar(alpha, code)])
    return w.e("Sub", [operand(w, b, code), x])


def rounding(op):
    return lambda w, outs, x: w.e(op if x.is_float() else "Identity", [x])


def check(op, **attrs):
    """IsNaN, IsInf; false for integers."""
    return lambda w, outs, x: w.e(op, [x if x.is_float() else w.e("Cast", [x], {"to": FLOAT})], attrs)


def finite(w, outs, x):
    return w.e("Not", [w.e("Or", [check("IsNaN")(w, outs, x), check("IsInf")(w, outs, x)])])


def signbit(w, outs, x):
    x = Val_of(w, w.cast(x, INT32), INT32, x.sizes) if x.code == BOOL else x
    zero = w.const(0, x.code)
    return w.e("Less", [w.e("Where", [w.e("Equal", [x, zero]), w.e("Reciprocal", [x]), x]) if x.is_float() else x, zero])


def number_of_two(op):
    """fmax, fmin: if one operand is NaN, the other."""

    def rule(w, outs, a, b):
        x, y = operand(w, a, outs[0].code), operand(w, b, outs[0].code)
        if not outs[0].is_float():
            return w.e(op, [x, y])
        return w.e("Where", [w.e("IsNaN", [x]), y, w.e("Where", [w.e("IsNaN", [y]), x, w.e(op, [x, y])])])

    return rule


def atan2(w, outs, y, x):
    """atan(y / x), plus or minus pi where x < 0; 0 where both are 0."""
    code = outs[0].code
    y, x, zero = w.cast(y, code), w.cast(x, code), w.const(0.0, code)
    turn = w.e("Where", [w.e("Less", [y, zero]), w.const(-math.pi, code), w.const(math.pi, code)])
    x = w.e("Where", [w.e("Equal", [x, zero]), zero, x])  # -0 is to the right of the axis too
    base = w.e("Where", [w.e("Equal", [y, zero]), zero, w.e("Atan", [w.e("Div", [y, x])])])
    return w.e("Add", [base, w.e("Where", [w.e("Less", [x, zero]), turn, zero])])


def shift(left):
    def rule(w, outs, a, b):
        """Shifts by a product or a floor division: ONNX shifts unsigned integers only, and ONNX Runtime has no powers of 8 and 16 bits."""
        code = outs[0].code if outs[0].code == INT32 else INT64
        by = w.e("Pow", [w.const(2, code), operand(w, b, code)])
        x = operand(w, a, code)
        y = w.e("Mul", [x, by]) if left else w.e("Div", [w.e("Sub", [x, w.e("Mod", [x, by])]), by])
        return y if outs[0].code == code else w.e("Cast", [y], {"to": outs[0].code})

    return rule


def searchsorted(w, outs, edges, x, out_int32=False, right=False, side=None, sorter=None):
    """The number of edges before each value, by comparing with all."""
    if sorter is not None:
        _onnx.unsupported("searchsorted with a sorter")
    code = code_of(edges, x)
    row = w.cast(edges, code) if edges.rank() == 1 else w.e("Unsqueeze", [w.cast(edges, code), w.ints([-2])])
    less = w.e("LessOrEqual" if right or side == "right" else "Less", [row, w.e("Unsqueeze", [operand(w, x, code), w.ints([-1])])])
    return w.e("ReduceSum", [w.e("Cast", [less], {"to": outs[0].code}), w.ints([-1])], {"keepdims": 0})


def running(states, step):
    """A scan along dim: step(w, state names, element, names of constants) gives the new states, which are also the results. states(w, code): their
    initial values and types."""

    def rule(w, outs, x, dim, *rest):
        code, y = outs[0].code, w.cast(x, outs[0].code)
        if not x.rank():
            return [w.e("Identity", [y]), w.const(0, INT64)][:len(outs)]
        dim, first = dim % x.rank(), states(w, code)
        shape = [s for d, s in enumerate(x.sizes) if d != dim]
        own = [[w.fresh("in"), c, len(shape)] for v, c in first + [(None, code)]]

        def run():
            new = step(w, [o[0] for o in own[:-1]], own[-1][0])
            return [(n, o[1], o[2]) for n, o in zip(new + new, own[:-1] + own[:-1])]

        init = [w.e("Expand", [v, w.sizes(shape)]) if shape else v for v, c in first]
        attrs = {"body": w.body_of(own, run), "num_scan_inputs": 1, "scan_input_axes": [dim], "scan_output_axes": [dim] * len(first)}
        return w.e("Scan", init + [y], attrs, 2 * len(first))[len(first):][:len(outs)]

    return rule


def added_logs(w, states, x):
    big = w.e("Max", [states[0], x])
    off = [w.e("Exp", [w.e("Sub", [v, big])]) for v in (states[0], x)]
    finite_ = w.e("Not", [w.e("IsInf", [big])])
    return [w.e("Where", [finite_, w.e("Add", [big, w.e("Log", [w.e("Add", off)])]), big])]


def extreme_so_far(op):
    def step(w, states, x):
        """States: the extreme, its index, the number of earlier elements."""
        new = w.e(op, [x, states[0]])
        return [w.e("Where", [new, x, states[0]]), w.e("Where", [new, states[2], states[1]]), w.e("Add", [states[2], w.const(1, INT64)])]

    return step


def counted(w, code, sign):
    return [(w.const(least(code, sign), code), code), (w.const(0, INT64), INT64), (w.const(0, INT64), INT64)]


def least(code, sign=-1):
    """A value below (sign 1: above) all numbers of a type."""
    if code in (FLOAT, DOUBLE, HALF, BF16):
        return sign * math.inf
    bits = {UINT8: 8, INT8: 7, INT32: 31, INT64: 63}.get(code, 15)
    return (0 if code == UINT8 else -(2**bits)) if sign < 0 else 2**bits - 1


def compare(op, negated=False):
    def rule(w, outs, a, b):
        code = code_of(a, b)
        if code == BOOL and op not in ("Equal",):
            code = INT64
        y = w.e(op, [operand(w, a, code), operand(w, b, code)])
        return w.e("Not", [y]) if negated else y

    return rule


def logical(op):
    return lambda w, outs, a, b: w.e(op, [w.cast(a, BOOL), operand(w, b, BOOL)])


def bits(on_bool, on_int):
    def rule(w, outs, a, b):
        code = outs[0].code
        return w.e(on_bool if code == BOOL else on_int, [operand(w, a, code), operand(w, b, code)])

    return rule


def not_(w, outs, x):
    return w.e("Not" if x.code == BOOL else "BitwiseNot", [x])


def power(w, outs, a, b):
    code = outs[0].code
    return w.e("Pow", [operand(w, a, code), operand(w, b, code)])


def div_mode(w, outs, a, b, rounding_mode=None):
    code = outs[0].code
    x, y = operand(w, a, code), operand(w, b, code)
    if rounding_mode is None:
        return w.e("Div", [x, y])
    if outs[0].is_float():
        q = w.e("Div", [x, y])
        return w.e("Floor", [q]) if rounding_mode == "floor" else truncated(w, q, code)
    if rounding_mode == "trunc":
        return w.e("Div", [x, y])
    return w.e("Div", [w.e("Sub", [x, w.e("Mod", [x, y])]), y])


def truncated(w, q, code):
    return w.e("Mul", [w.e("Sign", [q]), w.e("Floor", [w.e("Abs", [q])])])


def remainder(w, outs, a, b):
    code = outs[0].code
    x, y = operand(w, a, code), operand(w, b, code)
    if not outs[0].is_float():
        return w.e("Mod", [x, y])
    return w.e("Sub", [x, w.e("Mul", [w.e("Floor", [w.e("Div", [x, y])]), y])])


def fmod(w, outs, a, b):
    code = outs[0].code
    return w.e("Mod", [operand(w, a, code), operand(w, b, code)], {"fmod": 1})


def where(w, outs, c, a, b):
    code = outs[0].code
    return w.e("Where", [w.cast(c, BOOL), operand(w, a, code), operand(w, b, code)])


def masked_fill(w, outs, x, mask, value):
    code = outs[0].code
    return w.e("Where", [w.cast(mask, BOOL), operand(w, value, code), operand(w, x, code)])


def clamp(w, outs, x, low=None, high=None):
    code = outs[0].code
    lo = None if low is None else operand(w, low, code)
    hi = None if high is None else operand(w, high, code)
    tensors = [v for v in (low, high) if isinstance(v, Val) and v.rank() > 0]
    if tensors:
        y = w.cast(x, code)
        y = y if lo is None else w.e("Max", [y, lo])
        return y if hi is None else w.e("Min", [y, hi])
    return w.e("Clip", [w.cast(x, code), lo, hi])


def chain(f):
    """A formula of w.e with constants of the result's type."""

    def rule(w, outs, x, *rest):
        code = outs[0].code
        return f(lambda op, *v, **attrs: w.e(op, [w.const(float(i), code) if isinstance(i, (int, float)) else i for i in v], attrs), w.cast(x, code), *rest)

    return rule


def silu(e, x):
    return e("Mul", x, e("Sigmoid", x))


def softplus(e, x, beta=1, threshold=20):
    """Above the threshold x itself; at 20 and more float32 and float64 tell no difference."""
    y = x if beta == 1 else e("Mul", x, beta)
    soft = e("Softplus", y) if beta == 1 else e("Div", e("Softplus", y), beta)
    return soft if threshold >= 20 else e("Where", e("Greater", y, threshold), x, soft)


def celu(w, outs, x, alpha=1.0):
    """Celu takes float32 only: float16 is cast, and float64 computed by the formula."""
    alpha = float(alpha)
    if x.code != DOUBLE:
        return w.cast(w.e("Celu", [w.cast(x, FLOAT)], {"alpha": alpha}), x.code, FLOAT)
    return chain(lambda e, v: e("Add", e("Max", v, 0), e("Min", e("Mul", e("Sub", e("Exp", e("Div", v, alpha)), 1), alpha), 0)))(w, outs, x)


def gelu(w, outs, x, approximate="none"):
    code = outs[0].code
    if w.opset >= 20:
        return w.e("Gelu", [x], {"approximate": approximate})
    c = lambda v: w.const(v, code)
    if approximate == "none":
        t = w.e("Erf", [w.e("Mul", [x, c(math.sqrt(0.5))])])
    else:
        cube = w.e("Mul", [w.e("Mul", [x, x]), x])
        t = w.e("Tanh", [w.e("Mul", [w.e("Add", [x, w.e("Mul", [cube, c(0.044715)])]), c(math.sqrt(2 / math.pi))])])
    return w.e("Mul", [w.e("Mul", [x, c(0.5)]), w.e("Add", [t, c(1.0)])])


def hardtanh(w, outs, x, low=-1, high=1):
    return clamp(w, outs, x, low, high)


def prelu(w, outs, x, slope):
    if slope.rank() == 1 and x.rank() > 1:
        slope = w.reshape(slope, [slope.sizes[0]] + [1] * (x.rank() - 2))
    return w.e("PRelu", [x, slope])


def addcmul(op):
    def rule(w, outs, x, a, b, value=1):
        code = outs[0].code
        y = w.e(op, [w.cast(a, code), w.cast(b, code)])
        if value != 1:
            y = w.e("Mul", [y, w.scalar(value, code)])
        return w.e("Add", [w.cast(x, code), y])

    return rule


def lerp(w, outs, a, b, t):
    code = outs[0].code
    return w.e("Add", [a, w.e("Mul", [operand(w, t, code), w.e("Sub", [b, a])])])


def convert(at):
    """_to_copy, to; at: the position of dtype."""

    def rule(w, outs, x, *rest):
        return w.cast(x, outs[0].code) if x.code != outs[0].code else w.e("Identity", [x])

    return rule


# ---- reductions ----
def mean(w, y, code, x, dims, keepdim):
    """y: x in type `code`. The mean of no elements, which is NaN, ONNX leaves open."""
    attrs, over = {"keepdims": int(bool(keepdim))}, [x.sizes[d] for d in dims]
    if w.opset < 18:
        got = w.e("ReduceMean", [y], {"axes": dims, **attrs})
    else:
        got = w.e("ReduceMean", [y, w.ints(dims)], attrs)
    if not any([w.may_be_0(s) for s in over]):
        return got
    some = w.e("Cast", [w.e("ReduceProd", [w.sizes(over)], {"keepdims": 0})], {"to": BOOL})
    return w.e("Where", [some, got, w.const(math.nan, code)])


def reduction(op, dtype=None):
    def rule(w, outs, x, dim=None, keepdim=False, *rest):
        if isinstance(keepdim, (Val, float)) or not isinstance(dim, (list, int)) or isinstance(dim, bool):
            dim, keepdim = (None, False) if not isinstance(dim, list) and (dim is None or isinstance(dim, bool)) else (dim, keepdim)
        dims = [dim] if isinstance(dim, int) and not isinstance(dim, bool) else dim
        y = w.cast(x, outs[0].code)
        if x.rank() == 0:
            return w.e("Identity", [y])
        if op == "ReduceMean":
            return mean(w, y, outs[0].code, x, dims or list(range(x.rank())), keepdim)
        attrs = {"keepdims": int(bool(keepdim))}
        if w.opset < 18 and op != "ReduceSum":
            if dims:
                attrs["axes"] = dims
            return w.e(op, [y], attrs)
        return w.e(op, [y] + ([w.ints(dims)] if dims else []), attrs)

    return rule


def total(op):
    """Over all dimensions; a dtype may follow."""
    return lambda w, outs, x, *rest: reduction(op)(w, outs, x, None, False)


def any_of(w, outs, x, dim=None, keepdim=False):
    """A sum, which is 0 over no elements."""
    y = w.e("Cast", [w.cast(x, BOOL)], {"to": INT64})
    return w.e("Cast", [reduction("ReduceSum")(w, [Val("", INT64, [])], Val_of(w, y, INT64, x.sizes), dim, keepdim)], {"to": BOOL})


def all_of(w, outs, x, *rest):
    return w.e("Not", [any_of(w, outs, Val_of(w, w.e("Not", [w.cast(x, BOOL)]), BOOL, x.sizes), *rest)])


def Val_of(w, name, code, sizes):
    v = Val(name, code, sizes)
    w.names[name] = name
    return v


def variance(w, outs, x, dim=None, correction=1, keepdim=False):
    return moments(w, outs[0].code, x, dim, correction, keepdim)[0]


def moments(w, code, x, dim, correction, keepdim):
    dims = list(range(x.rank())) if not dim else dim
    axes = w.ints(dims)
    d = w.e("Sub", [x, w.e("ReduceMean", [x, axes], {"keepdims": 1})])
    s = w.e("ReduceSum", [w.e("Mul", [d, d]), axes], {"keepdims": int(keepdim)})
    count = w.number(1)
    for k in dims:
        count = w.e("Mul", [count, w.number(x.sizes[k])])
    c = w.e("Sub", [w.e("Cast", [w.e("Squeeze", [count, w.ints([0])])], {"to": code}), w.const(float(1 if correction is None else correction), code)])
    m = mean(w, w.name(x), code, x, dims, keepdim)
    return w.e("Div", [s, w.e("Max", [c, w.const(0.0, code)])]), m


def spread(root, mean):
    """var, std and with the mean: (x, unbiased) or (x, dim, unbiased, keepdim)."""

    def rule(w, outs, x, dim=None, unbiased=True, keepdim=False):
        dim, unbiased = (None, dim) if isinstance(dim, bool) else (dim, unbiased)
        v, m = moments(w, outs[0].code, x, dim, int(unbiased), keepdim)
        v = w.e("Sqrt", [v]) if root else v
        return [v, m] if mean else v

    return rule


def arg(op):
    def rule(w, outs, x, dim=None, keepdim=False):
        if dim is None or not x.rank():
            y = w.e(op, [w.e("Reshape", [x, w.ints([-1])])], {"axis": 0, "keepdims": 0})
            return w.reshape(y, outs[0].sizes)
        return w.e(op, [x], {"axis": dim, "keepdims": int(keepdim)})

    return rule


def extreme_dim(op):
    def rule(w, outs, x, dim, keepdim=False):
        if not x.rank():
            return w.e("Identity", [x]), w.const(0, INT64)
        attrs = {"axis": dim, "keepdims": 1}
        at = w.e("ArgMax" if op == "ReduceMax" else "ArgMin", [x], attrs)
        v = w.e("GatherElements", [x, at], {"axis": dim})
        if keepdim:
            return v, at
        return w.e("Squeeze", [v, w.ints([dim])]), w.e("Squeeze", [at, w.ints([dim])])

    return rule


def topk(w, outs, x, k, dim=-1, largest=True, sorted=True):
    if not x.rank():
        return w.e("Identity", [x]), w.const(0, INT64)
    return w.e("TopK", [x, w.number(k)], {"axis": dim, "largest": int(largest), "sorted": 1}, 2)


def kthvalue(w, outs, x, k, dim=-1, keepdim=False):
    if not x.rank():
        return w.e("Identity", [x]), w.const(0, INT64)
    got = w.e("TopK", [x, w.number(k)], {"axis": dim, "largest": 0, "sorted": 1}, 2)
    last = [w.e("Slice", [g, w.ints([-1]), w.ints([2**63 - 1]), w.ints([dim])]) for g in got]
    return last if keepdim else [w.e("Squeeze", [g, w.ints([dim])]) for g in last]


def median(w, outs, x, dim, keepdim=False):
    n = x.sizes[dim] if x.rank() else 1
    middle = Sym(("floordiv", ("add", n.expr, 1), 2)) if isinstance(n, Sym) else (n + 1) // 2
    return kthvalue(w, outs, x, middle, dim, keepdim)


def nanmedian(w, outs, x, dim, keepdim=False):
    """NaN sorts after all numbers; the median is at half the number of elements."""
    if not x.rank():
        return w.e("Identity", [x]), w.const(0, INT64)
    nan, along = check("IsNaN")(w, outs, x), w.ints([dim])
    filled = w.e("Where", [nan, w.const(least(x.code, 1), x.code), x])
    got = w.e("TopK", [filled, w.number(x.sizes[dim])], {"axis": dim, "largest": 0, "sorted": 1}, 2)
    count = w.e("ReduceSum", [w.e("Cast", [w.e("Not", [nan])], {"to": INT64}), along], {"keepdims": 1})
    at = w.e("Div", [w.e("Max", [w.e("Sub", [count, w.const(1, INT64)]), w.const(0, INT64)]), w.const(2, INT64)])
    value, index = [w.e("GatherElements", [g, at], {"axis": dim}) for g in got]
    if x.is_float():
        value = w.e("Where", [w.e("Equal", [count, w.const(0, INT64)]), w.const(math.nan, x.code), value])
    return (value, index) if keepdim else [w.e("Squeeze", [t, along]) for t in (value, index)]


def mode(w, outs, x, dim=-1, keepdim=False):
    """The smallest of the most frequent elements, and its last index: compares every two elements of a row."""
    if not x.rank():
        return w.e("Identity", [x]), w.const(0, INT64)
    dim = dim + x.rank() if dim < 0 else dim
    along, v = w.ints([dim]), w.cast(x, UINT8) if x.code == BOOL else w.name(x)
    pairs = w.e("Equal", [w.e("Unsqueeze", [v, w.ints([dim + 1])]), w.e("Unsqueeze", [v, along])])
    counts = w.e("ReduceSum", [w.e("Cast", [pairs], {"to": INT64}), w.ints([dim + 1])], {"keepdims": 0})
    often = w.e("Equal", [counts, w.e("ReduceMax", [counts, along])])
    least = w.e("ReduceMin", [w.e("Where", [often, v, w.e("ReduceMax", [v, along])]), along])
    at = w.e("ArgMax", [w.e("Cast", [w.e("Equal", [v, least])], {"to": INT64})], {"axis": dim, "keepdims": 1, "select_last_index": 1})
    least = w.e("Cast", [least], {"to": BOOL}) if x.code == BOOL else least
    return (least, at) if keepdim else [w.e("Squeeze", [t, along]) for t in (least, at)]


def unique(w, outs, x, sorted=True, inverse=False, counts=False):
    got = w.e("Unique", [x], {"sorted": 1}, 4)
    return got[0], w.e("Reshape", [got[2], w.e("Shape", [x])]), got[3]


def unique_consecutive(w, outs, x, inverse=False, counts=False, dim=None):
    """unique_consecutive over all elements: those that differ from the one before, and the distances between them."""
    if dim is not None and x.rank() > 1:
        _onnx.unsupported("unique_consecutive along a dimension")
    v = w.e("Reshape", [x, w.ints([-1])])
    part = lambda a, b: w.e("Slice", [v, w.ints([a]), w.ints([b]), w.ints([0])])
    new = w.e("Not", [w.e("Equal", [part(1, 2**63 - 1), part(0, -1)])])
    first = w.e("Slice", [w.e("Equal", [v, v]), w.ints([0]), w.ints([1]), w.ints([0])])
    new = w.e("Concat", [w.e("Or", [first, w.e("Not", [first])]), new], {"axis": 0})
    place = w.e("Sub", [w.e("CumSum", [w.e("Cast", [new], {"to": INT64}), w.const(0, INT64)]), w.const(1, INT64)])
    starts = w.e("Reshape", [w.e("NonZero", [new]), w.ints([-1])])
    ends = w.e("Concat", [w.e("Slice", [starts, w.ints([1]), w.ints([2**63 - 1]), w.ints([0])]), w.e("Shape", [v])], {"axis": 0})
    return w.e("Compress", [v, new], {"axis": 0}), w.e("Reshape", [place, w.e("Shape", [x])]), w.e("Sub", [ends, starts])


def unique_dim(w, outs, x, dim, sorted=True, inverse=False, counts=False):
    got = w.e("Unique", [x], {"sorted": 1, "axis": dim}, 4)
    return got[0], got[2], got[3]


def sort(w, outs, x, dim=-1, descending=False):
    if not x.rank():
        return w.e("Identity", [x]), w.const(0, INT64)
    return w.e("TopK", [x, w.number(x.sizes[dim])], {"axis": dim, "largest": int(descending), "sorted": 1}, 2)


def sort_stable(w, outs, x, stable=None, dim=-1, descending=False):
    return sort(w, outs, x, dim, descending)


def cumsum(w, outs, x, dim, dtype=None):
    y = w.cast(x, outs[0].code)
    return w.e("CumSum", [y, w.const(dim, INT64)]) if x.rank() else w.e("Identity", [y])


def softmax(op):
    def rule(w, outs, x, dim, *rest):
        return w.e(op, [w.cast(x, outs[0].code)], {"axis": dim})

    return rule


def vector_norm(w, outs, x, ord=2, dim=None, keepdim=False, dtype=None):
    if not x.rank():  # ONNX Runtime leaves the sign
        a = w.e("Abs", [w.cast(x, outs[0].code)])
        return w.e("Sign", [a]) if ord == 0 else a
    dim = list(range(x.rank())) if dim is None else dim
    if ord in (1, 2):
        return reduction("ReduceL1" if ord == 1 else "ReduceL2")(w, outs, x, dim, keepdim)
    code = outs[0].code
    a = w.e("Abs", [w.cast(x, code)])
    over = lambda op, v: reduction(op)(w, outs, Val_of(w, v, code, x.sizes), dim, keepdim)
    if ord in (float("inf"), float("-inf")):
        return over("ReduceMax" if ord > 0 else "ReduceMin", a)
    if ord == 0:
        return over("ReduceSum", w.e("Sign", [a]))
    return w.e("Pow", [over("ReduceSum", w.e("Pow", [a, w.const(float(ord), code)])), w.const(1 / ord, code)])


TABLE = {}
for _k, _op in {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
                "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid",
                "reciprocal": "Reciprocal", "abs": "Abs", "sign": "Sign", "sgn": "Sign",
                "hardswish": "HardSwish", "mish": "Mish", "logical_not": None}.items():
    if _op:
        TABLE[f"aten.{_k}.default"] = unary(_op)
for _k, _op in {"add": "Add", "sub": "Sub"}.items():
    TABLE[f"aten.{_k}.Tensor"] = scaled(_op)
    TABLE[f"aten.{_k}.Scalar"] = scaled(_op)
for _k, _op in {"mul": "Mul", "div": "Div"}.items():
    TABLE[f"aten.{_k}.Tensor"] = binary(_op)
    TABLE[f"aten.{_k}.Scalar"] = binary(_op)
for _k, _op, _n in (("eq", "Equal", False), ("ne", "Equal", True), ("lt", "Less", False), ("le", "LessOrEqual", False), ("gt", "Greater", False),
                    ("ge", "GreaterOrEqual", False)):
    TABLE[f"aten.{_k}.Tensor"] = compare(_op, _n)
    TABLE[f"aten.{_k}.Scalar"] = compare(_op, _n)
for _k, _a, _b in (("and", "And", "BitwiseAnd"), ("or", "Or", "BitwiseOr"), ("xor", "Xor", "BitwiseXor")):
    for _n in (f"aten.__{_k}__.Tensor", f"aten.__{_k}__.Scalar", f"aten.bitwise_{_k}.Tensor", f"aten.bitwise_{_k}.Scalar",
               f"aten.bitwise_{_k}.Scalar_Tensor"):
        TABLE[_n] = bits(_a, _b)
    TABLE[f"aten.logical_{_k}.default"] = logical(_a)
for _k, _v in {
    "neg.default": negative, "logical_not.default": lambda w, outs, x: w.e("Not", [w.cast(x, BOOL)]), "bitwise_not.default": not_, "rsub.Scalar": rsub, "rsub.Tensor": rsub,
    "pow.Tensor_Scalar": power, "pow.Tensor_Tensor": power, "pow.Scalar": power, "div.Tensor_mode": div_mode, "div.Scalar_mode": div_mode,
    "floor_divide.default": lambda w, outs, a, b: div_mode(w, outs, a, b, "floor"), "remainder.Tensor": remainder, "remainder.Scalar": remainder,
    "fmod.Tensor": fmod, "fmod.Scalar": fmod, "maximum.default": binary("Max"), "minimum.default": binary("Min"), "where.self": where,
    "where.ScalarSelf": where, "where.ScalarOther": where, "where.Scalar": where, "masked_fill.Scalar": masked_fill, "masked_fill.Tensor": masked_fill,
    "clamp.default": clamp, "clamp.Tensor": clamp, "clamp_min.default": lambda w, outs, x, a: clamp(w, outs, x, a, None),
    "clamp_max.default": lambda w, outs, x, a: clamp(w, outs, x, None, a), "rsqrt.default": chain(lambda e, x: e("Reciprocal", e("Sqrt", x))),
    "silu.default": chain(silu), "gelu.default": gelu, "softplus.default": chain(softplus),
    "celu.default": celu, "selu.default": keep("Selu"),
    "leaky_relu.default": lambda w, outs, x, s=0.01: w.e("LeakyRelu", [x], {"alpha": float(s)}), "hardtanh.default": hardtanh,
    "relu6.default": lambda w, outs, x: clamp(w, outs, x, 0, 6), "hardsigmoid.default": lambda w, outs, x: w.e("HardSigmoid", [x], {"alpha": 1.0 / 6}),
    "log_sigmoid.default": chain(lambda e, x: e("Neg", e("Softplus", e("Neg", x)))), "log1p.default": chain(lambda e, x: e("Log", e("Add", x, 1))),
    "expm1.default": chain(lambda e, x: e("Sub", e("Exp", x), 1)), "square.default": chain(lambda e, x: e("Mul", x, x)),
    "log2.default": chain(lambda e, x: e("Div", e("Log", x), math.log(2))), "log10.default": chain(lambda e, x: e("Div", e("Log", x), math.log(10))),
    "trunc.default": lambda w, outs, x: truncated(w, x, x.code) if x.is_float() else w.e("Identity", [x]),
    "frac.default": lambda w, outs, x: w.e("Sub", [x, truncated(w, x, x.code)]), "isnan.default": check("IsNaN"), "isinf.default": check("IsInf"),
    "isposinf.default": check("IsInf", detect_negative=0), "isneginf.default": check("IsInf", detect_positive=0), "isfinite.default": finite,
    "signbit.default": signbit, "fmax.default": number_of_two("Max"), "fmin.default": number_of_two("Min"), "atan2.default": atan2,
    "floor.default": rounding("Floor"), "ceil.default": rounding("Ceil"), "round.default": rounding("Round"),
    "relu.default": lambda w, outs, x: w.e("Relu", [x]) if x.is_float() else w.e("Max", [x, w.const(0, x.code)]),
    "exp2.default": lambda w, outs, x: w.e("Pow", [w.const(2.0, outs[0].code), w.cast(x, outs[0].code)]), "searchsorted.Tensor": searchsorted,
    "bitwise_left_shift.Tensor": shift(True), "bitwise_right_shift.Tensor": shift(False), "bitwise_left_shift.Tensor_Scalar": shift(True),
    "bitwise_right_shift.Tensor_Scalar": shift(False),
    "cumprod.default": running(lambda w, code: [(w.const(1, code), code)], lambda w, s, x: [w.e("Mul", [s[0], x])]),
    "logcumsumexp.default": running(lambda w, code: [(w.const(least(code), code), code)], added_logs),
    "cummax.default": running(lambda w, code: counted(w, code, -1), extreme_so_far("GreaterOrEqual")),
    "cummin.default": running(lambda w, code: counted(w, code, 1), extreme_so_far("LessOrEqual")),
    "prelu.default": prelu, "_prelu_kernel.default": prelu, "addcmul.default": addcmul("Mul"), "addcdiv.default": addcmul("Div"), "lerp.Scalar": lerp,
    "lerp.Tensor": lerp, "_to_copy.default": convert(1), "to.dtype": convert(1), "to.dtype_layout": convert(1), "to.device": convert(1),
    "type_as.default": convert(1), "softsign.default": keep("Softsign"),
    "sum.dim_IntList": reduction("ReduceSum"), "sum.default": total("ReduceSum"), "mean.dim": reduction("ReduceMean"), "mean.default": total("ReduceMean"),
    "amax.default": reduction("ReduceMax"), "amin.default": reduction("ReduceMin"), "max.default": total("ReduceMax"), "min.default": total("ReduceMin"),
    "prod.default": total("ReduceProd"), "prod.dim_int": reduction("ReduceProd"), "logsumexp.default": reduction("ReduceLogSumExp"),
    "any.dim": any_of, "all.dim": all_of, "any.dims": any_of, "all.dims": all_of, "any.default": any_of, "all.default": all_of,
    "var.correction": variance, "var_mean.correction": lambda w, outs, x, dim=None, correction=1, keepdim=False: moments(w, outs[0].code, x, dim, correction, keepdim),
    "std.correction": lambda w, outs, x, *rest: w.e("Sqrt", [variance(w, outs, x, *rest)]), "argmax.default": arg("ArgMax"), "argmin.default": arg("ArgMin"),
    "nanmedian.dim": nanmedian, "unique_consecutive.default": unique_consecutive, "floor_divide.Scalar": lambda w, outs, a, b: div_mode(w, outs, a, b, "floor"),
    "remainder.Scalar_Tensor": remainder, "bitwise_left_shift.Scalar_Tensor": shift(True), "bitwise_right_shift.Scalar_Tensor": shift(False),
    "max.dim": extreme_dim("ReduceMax"), "min.dim": extreme_dim("ReduceMin"), "topk.default": topk, "kthvalue.default": kthvalue, "median.dim": median, "mode.default": mode, "_unique2.default": unique, "unique_dim.default": unique_dim, "sort.default": sort, "sort.stable": sort_stable, "cumsum.default": cumsum,
    "softmax.int": softmax("Softmax"), "_softmax.default": softmax("Softmax"), "log_softmax.int": softmax("LogSoftmax"),
    "_log_softmax.default": softmax("LogSoftmax"), "linalg_vector_norm.default": vector_norm,
}.items():
    TABLE["aten." + _k] = _v
for _k in ("default", "dim"):
    for _n in ("var", "std"):
        TABLE[f"aten.{_n}.{_k}"] = spread(_n == "std", False)
        TABLE[f"aten.{_n}_mean.{_k}"] = spread(_n == "std", True)
TABLE["aten.std_mean.correction"] = lambda w, outs, x, *rest: (lambda v, m: [w.e("Sqrt", [v]), m])(*TABLE["aten.var_mean.correction"](w, outs, x, *rest))
# Booleans as numbers: a sum is "or", a product "and".
NUMBERS = ["aten." + _k for _k in (
    "add.Tensor", "mul.Tensor", "mul.Scalar", "maximum.default", "minimum.default", "where.self", "where.ScalarSelf", "where.ScalarOther",
    "masked_fill.Scalar", "masked_fill.Tensor", "sort.default", "sort.stable", "topk.default", "prod.default", "prod.dim_int", "amax.default",
    "amin.default", "max.default", "min.default", "fmax.default", "fmin.default", "cummax.default", "cummin.default", "max.dim", "min.dim", "clamp.default", "clamp.Tensor", "clamp_min.default", "clamp_max.default",
    "sign.default", "sgn.default", "abs.default", "index_add.default", "scatter_add.default", "scatter_reduce.two", "eye.default", "eye.m")]
