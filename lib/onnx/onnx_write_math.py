# Elementwise operators, comparisons, reductions as ONNX.
import math
import _onnx
from onnx_write_values import BOOL, DOUBLE, FLOAT, INT64, RANK, UINT8, Sym, Val


def code_of(*vs):
    """The type that operands are compared in."""
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
    """A formula over w.e with constants of the result's type."""

    def rule(w, outs, x, *rest):
        code = outs[0].code
        return f(lambda op, *v, **attrs: w.e(op, [w.const(float(i), code) if isinstance(i, (int, float)) else i for i in v], attrs), w.cast(x, code), *rest)

    return rule


def silu(e, x):
    return e("Mul", x, e("Sigmoid", x))


def softplus(e, x, beta=1, threshold=20):
    if beta == 1:
        return e("Softplus", x)
    return e("Div", e("Softplus", e("Mul", x, beta)), beta)


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


def elu(w, outs, x, alpha=1, scale=1, input_scale=1):
    if scale != 1 or input_scale != 1:
        _onnx.unsupported("elu with scale and input_scale")
    return w.e("Elu", [x], {"alpha": float(alpha)})


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
    """_to_copy, to: at is the place of dtype."""

    def rule(w, outs, x, *rest):
        return w.cast(x, outs[0].code) if x.code != outs[0].code else w.e("Identity", [x])

    return rule


# ---- reductions ----
def reduction(op, dtype=None):
    def rule(w, outs, x, dim=None, keepdim=False, *rest):
        if isinstance(keepdim, (Val, float)) or not isinstance(dim, (list, int)) or isinstance(dim, bool):
            dim, keepdim = (None, False) if not isinstance(dim, list) and (dim is None or isinstance(dim, bool)) else (dim, keepdim)
        dims = [dim] if isinstance(dim, int) and not isinstance(dim, bool) else dim
        y = w.cast(x, outs[0].code)
        if x.rank() == 0:
            return w.e("Identity", [y])
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


def any_all(op):
    def rule(w, outs, x, dim=None, keepdim=False):
        y = w.e("Cast", [w.cast(x, BOOL)], {"to": INT64})
        z = reduction(op)(w, [Val("", INT64, [])], Val_of(w, y, INT64, x.sizes), dim, keepdim)
        return w.e("Cast", [z], {"to": BOOL})

    return rule


def Val_of(w, name, code, sizes):
    v = Val(name, code, sizes)
    w.names[name] = name
    return v


def variance(w, outs, x, dim=None, correction=1, keepdim=False):
    return moments(w, outs[0].code, x, dim, correction, keepdim)[0]


def moments(w, code, x, dim, correction, keepdim):
    dims = list(range(x.rank())) if not dim else dim
    axes = w.ints(dims)
    mean = w.e("ReduceMean", [x, axes], {"keepdims": 1})
    d = w.e("Sub", [x, mean])
    s = w.e("ReduceSum", [w.e("Mul", [d, d]), axes], {"keepdims": int(keepdim)})
    count = w.number(1)
    for k in dims:
        count = w.e("Mul", [count, w.number(x.sizes[k])])
    c = w.e("Sub", [w.e("Cast", [w.e("Squeeze", [count, w.ints([0])])], {"to": code}), w.const(float(1 if correction is None else correction), code)])
    m = w.e("ReduceMean", [x, axes], {"keepdims": int(keepdim)})
    return w.e("Div", [s, w.e("Max", [c, w.const(0.0, code)])]), m


def arg(op):
    def rule(w, outs, x, dim=None, keepdim=False):
        if dim is None:
            y = w.e(op, [w.e("Reshape", [x, w.ints([-1])])], {"axis": 0, "keepdims": 0})
            return w.reshape(y, outs[0].sizes)
        return w.e(op, [x], {"axis": dim, "keepdims": int(keepdim)})

    return rule


def extreme_dim(op):
    def rule(w, outs, x, dim, keepdim=False):
        attrs = {"axis": dim, "keepdims": 1}
        at = w.e("ArgMax" if op == "ReduceMax" else "ArgMin", [x], attrs)
        v = w.e("GatherElements", [x, at], {"axis": dim})
        if keepdim:
            return v, at
        return w.e("Squeeze", [v, w.ints([dim])]), w.e("Squeeze", [at, w.ints([dim])])

    return rule


def topk(w, outs, x, k, dim=-1, largest=True, sorted=True):
    return w.e("TopK", [x, w.number(k)], {"axis": dim, "largest": int(largest), "sorted": 1}, 2)


def kthvalue(w, outs, x, k, dim=-1, keepdim=False):
    if not x.rank():
        return w.e("Identity", [x]), w.const(0, INT64)
    got = w.e("TopK", [x, w.number(k)], {"axis": dim, "largest": 0, "sorted": 1}, 2)
    last = [w.e("Slice", [g, w.ints([-1]), w.ints([2**63 - 1]), w.ints([dim])]) for g in got]
    return last if keepdim else [w.e("Squeeze", [g, w.ints([dim])]) for g in last]


def median(w, outs, x, dim, keepdim=False):
    n = x.sizes[dim] if x.rank() else 1
    if isinstance(n, Sym):
        _onnx.unsupported("a median over a size that is not constant")
    return kthvalue(w, outs, x, (n + 1) // 2, dim, keepdim)


def mode(w, outs, x, dim=-1, keepdim=False):
    """The smallest of the most frequent elements and the last of its places: every two elements of a row are compared."""
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


def unique_dim(w, outs, x, dim, sorted=True, inverse=False, counts=False):
    got = w.e("Unique", [x], {"sorted": 1, "axis": dim}, 4)
    return got[0], got[2], got[3]


def sort(w, outs, x, dim=-1, descending=False):
    return w.e("TopK", [x, w.number(x.sizes[dim])], {"axis": dim, "largest": int(descending), "sorted": 1}, 2)


def sort_stable(w, outs, x, stable=None, dim=-1, descending=False):
    return sort(w, outs, x, dim, descending)


def cumsum(w, outs, x, dim, dtype=None):
    return w.e("CumSum", [w.cast(x, outs[0].code), w.const(dim, INT64)])


def softmax(op):
    def rule(w, outs, x, dim, *rest):
        return w.e(op, [w.cast(x, outs[0].code)], {"axis": dim})

    return rule


def vector_norm(w, outs, x, ord=2, dim=None, keepdim=False, dtype=None):
    if ord not in (1, 2):
        _onnx.unsupported(f"a norm of order {ord}")
    return reduction("ReduceL1" if ord == 1 else "ReduceL2")(w, outs, x, dim, keepdim)


TABLE = {}
for _k, _op in {"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "sin": "Sin", "cos": "Cos", "tan": "Tan", "asin": "Asin", "acos": "Acos", "atan": "Atan",
                "sinh": "Sinh", "cosh": "Cosh", "tanh": "Tanh", "asinh": "Asinh", "acosh": "Acosh", "atanh": "Atanh", "erf": "Erf", "sigmoid": "Sigmoid",
                "reciprocal": "Reciprocal", "relu": "Relu", "abs": "Abs", "neg": "Neg", "sign": "Sign", "floor": "Floor", "ceil": "Ceil", "round": "Round",
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
    for _n in (f"aten.__{_k}__.Tensor", f"aten.__{_k}__.Scalar", f"aten.bitwise_{_k}.Tensor", f"aten.bitwise_{_k}.Scalar"):
        TABLE[_n] = bits(_a, _b)
    TABLE[f"aten.logical_{_k}.default"] = logical(_a)
for _k, _v in {
    "logical_not.default": lambda w, outs, x: w.e("Not", [w.cast(x, BOOL)]), "bitwise_not.default": not_, "rsub.Scalar": rsub, "rsub.Tensor": rsub,
    "pow.Tensor_Scalar": power, "pow.Tensor_Tensor": power, "pow.Scalar": power, "div.Tensor_mode": div_mode, "div.Scalar_mode": div_mode,
    "floor_divide.default": lambda w, outs, a, b: div_mode(w, outs, a, b, "floor"), "remainder.Tensor": remainder, "remainder.Scalar": remainder,
    "fmod.Tensor": fmod, "fmod.Scalar": fmod, "maximum.default": binary("Max"), "minimum.default": binary("Min"), "where.self": where,
    "where.ScalarSelf": where, "where.ScalarOther": where, "where.Scalar": where, "masked_fill.Scalar": masked_fill, "masked_fill.Tensor": masked_fill,
    "clamp.default": clamp, "clamp.Tensor": clamp, "clamp_min.default": lambda w, outs, x, a: clamp(w, outs, x, a, None),
    "clamp_max.default": lambda w, outs, x, a: clamp(w, outs, x, None, a), "rsqrt.default": chain(lambda e, x: e("Reciprocal", e("Sqrt", x))),
    "silu.default": chain(silu), "gelu.default": gelu, "softplus.default": chain(softplus), "elu.default": elu,
    "celu.default": lambda w, outs, x, alpha=1.0: w.e("Celu", [x], {"alpha": float(alpha)}), "selu.default": keep("Selu"),
    "leaky_relu.default": lambda w, outs, x, s=0.01: w.e("LeakyRelu", [x], {"alpha": float(s)}), "hardtanh.default": hardtanh,
    "relu6.default": lambda w, outs, x: clamp(w, outs, x, 0, 6), "hardsigmoid.default": lambda w, outs, x: w.e("HardSigmoid", [x], {"alpha": 1.0 / 6}),
    "log_sigmoid.default": chain(lambda e, x: e("Neg", e("Softplus", e("Neg", x)))), "log1p.default": chain(lambda e, x: e("Log", e("Add", x, 1))),
    "expm1.default": chain(lambda e, x: e("Sub", e("Exp", x), 1)), "square.default": chain(lambda e, x: e("Mul", x, x)),
    "log2.default": chain(lambda e, x: e("Div", e("Log", x), math.log(2))), "log10.default": chain(lambda e, x: e("Div", e("Log", x), math.log(10))),
    "erfc.default": chain(lambda e, x: e("Sub", 1, e("Erf", x))), "trunc.default": lambda w, outs, x: truncated(w, x, x.code),
    "frac.default": lambda w, outs, x: w.e("Sub", [x, truncated(w, x, x.code)]), "isnan.default": keep("IsNaN"), "isinf.default": keep("IsInf"),
    "prelu.default": prelu, "_prelu_kernel.default": prelu, "addcmul.default": addcmul("Mul"), "addcdiv.default": addcmul("Div"), "lerp.Scalar": lerp,
    "lerp.Tensor": lerp, "_to_copy.default": convert(1), "to.dtype": convert(1), "to.dtype_layout": convert(1), "to.device": convert(1),
    "type_as.default": convert(1), "softsign.default": keep("Softsign"),
    "sum.dim_IntList": reduction("ReduceSum"), "sum.default": total("ReduceSum"), "mean.dim": reduction("ReduceMean"), "mean.default": total("ReduceMean"),
    "amax.default": reduction("ReduceMax"), "amin.default": reduction("ReduceMin"), "max.default": total("ReduceMax"), "min.default": total("ReduceMin"),
    "prod.default": total("ReduceProd"), "prod.dim_int": reduction("ReduceProd"), "logsumexp.default": reduction("ReduceLogSumExp"),
    "any.dim": any_all("ReduceMax"), "all.dim": any_all("ReduceMin"), "any.default": any_all("ReduceMax"), "all.default": any_all("ReduceMin"),
    "var.correction": variance, "var_mean.correction": lambda w, outs, x, dim=None, correction=1, keepdim=False: moments(w, outs[0].code, x, dim, correction, keepdim),
    "std.correction": lambda w, outs, x, *rest: w.e("Sqrt", [variance(w, outs, x, *rest)]), "argmax.default": arg("ArgMax"), "argmin.default": arg("ArgMin"),
    "max.dim": extreme_dim("ReduceMax"), "min.dim": extreme_dim("ReduceMin"), "topk.default": topk, "kthvalue.default": kthvalue, "median.dim": median, "mode.default": mode, "_unique2.default": unique, "unique_dim.default": unique_dim, "sort.default": sort, "sort.stable": sort_stable, "cumsum.default": cumsum,
    "softmax.int": softmax("Softmax"), "_softmax.default": softmax("Softmax"), "log_softmax.int": softmax("LogSoftmax"),
    "_log_softmax.default": softmax("LogSoftmax"), "linalg_vector_norm.default": vector_norm,
}.items():
    TABLE["aten." + _k] = _v
