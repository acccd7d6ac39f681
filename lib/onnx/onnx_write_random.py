# Random operators as ONNX's, which draw their own numbers: RandomNormalLike, RandomUniformLike, Dropout.
import math
import _onnx
from onnx_write_shape import filled, same
from onnx_write_values import BF16, BOOL, DOUBLE, FLOAT, HALF, INT64, Sym, Val

STEPS = {HALF: 2048.0, BF16: 256.0}  # numbers of [0, 1) that PyTorch draws in half types: as many as their digits tell apart


def real(v):
    if isinstance(v, Sym):
        _onnx.unsupported("a random number whose law depends on sizes")
    return float(v)


def drawn(w, op, out, code, attrs):
    """Random numbers with the sizes of `out`, computed in a type that ONNX Runtime has, as `code`."""
    kind = code if code in (FLOAT, DOUBLE) else FLOAT
    like = filled(w, [Val(None, kind, out.sizes)], 0)
    attrs["dtype"] = kind
    return w.cast(w.e(op, [like], attrs), code, kind)


def normal(w, out, mean=0.0, std=1.0):
    return drawn(w, "RandomNormalLike", out, out.code, {"mean": real(mean), "scale": real(std)})


def uniform(w, out, low=0.0, high=1.0, code=None):
    code, low, high = out.code if code is None else code, real(low), real(high)
    if code not in STEPS:
        return drawn(w, "RandomUniformLike", out, code, {"low": low, "high": high})
    y = w.e("Floor", [drawn(w, "RandomUniformLike", out, FLOAT, {"low": 0.0, "high": STEPS[code]})])
    y = w.e("Mul", [y, w.scalar((high - low) / STEPS[code], FLOAT)])
    return w.cast(w.e("Add", [y, w.scalar(low, FLOAT)]), code, FLOAT)


def around(w, outs, mean, std, *rest):
    """normal(mean, std) of tensors: mean + std z"""
    code = outs[0].code
    scale = w.cast(std, code) if isinstance(std, Val) else w.scalar(std, code)
    middle = w.cast(mean, code) if isinstance(mean, Val) else w.scalar(mean, code)
    return w.e("Add", [w.e("Mul", [normal(w, outs[0]), scale]), middle])


def whole(w, outs, low, high, *rest):
    """randint(low, high): low and the floor of float64 numbers in [0, high - low)"""
    if high is None:
        _onnx.unsupported("random integers without a bound")
    count = w.e("Sub", [w.scalar(high, DOUBLE), w.scalar(low, DOUBLE)])
    y = w.e("Floor", [w.e("Mul", [uniform(w, outs[0], code=DOUBLE), count])])
    return w.cast(w.e("Add", [w.cast(y, INT64, DOUBLE), w.scalar(low, INT64)]), outs[0].code, INT64)


def order(w, outs, n, *rest):
    """randperm(n): the order of n numbers"""
    return w.cast(w.e("TopK", [uniform(w, outs[0], code=DOUBLE), w.sizes(outs[0].sizes)], n=2)[1], outs[0].code, INT64)


def exponential(w, outs, x, rate=1.0, *rest):
    """-log(1 - u) / rate; half types are computed in float32, in which 1 - u is never 0"""
    kind = DOUBLE if outs[0].code == DOUBLE else FLOAT
    y = w.e("Log", [w.e("Sub", [w.scalar(1.0, kind), uniform(w, outs[0], code=kind)])])
    return w.cast(w.e("Mul", [y, w.scalar(-1.0 / real(rate), kind)]), outs[0].code, kind)


def of_uniform(f):
    """f(w, u, numbers...) of uniform numbers u in [0, 1); half types in float32."""

    def rule(w, outs, x, *rest):
        kind = DOUBLE if outs[0].code == DOUBLE else FLOAT
        e = lambda op, *v: w.e(op, [w.scalar(float(i), kind) if isinstance(i, (int, float)) else i for i in v])
        return w.cast(f(e, uniform(w, outs[0], code=kind), *[real(v) for v in rest if v is not None]), outs[0].code, kind)

    return rule


def cauchy(e, u, median=0.0, sigma=1.0):
    return e("Add", e("Mul", e("Tan", e("Mul", e("Sub", u, 0.5), math.pi)), sigma), median)


def geometric(e, u, p):
    return e("Max", e("Ceil", e("Div", e("Log", e("Sub", 1, u)), math.log1p(-p))), 1) if p < 1 else e("Add", e("Mul", u, 0), 1)


def log_normal(w, outs, x, mean=1.0, std=2.0, *rest):
    return w.e("Exp", [normal(w, outs[0], mean, std)])


def bernoulli_of(w, outs, x, p, *rest):
    return w.cast(w.e("Less", [uniform(w, outs[0], code=FLOAT), w.cast(p, FLOAT)]), outs[0].code, BOOL)


def bernoulli(w, outs, x, *rest):
    return bernoulli_of(w, outs, x, x)


def bernoulli_p(w, outs, x, p=0.5, *rest):
    return w.cast(w.e("Less", [uniform(w, outs[0], code=FLOAT), w.scalar(real(p), FLOAT)]), outs[0].code, BOOL)


def dropped(w, x, p):
    """Dropout in training; with p = 1 the result is 0, since ONNX does not allow that ratio"""
    if real(p) == 1:
        return w.e("Sub", [x, x])
    return w.e("Dropout", [x, w.scalar(real(p), FLOAT), w.scalar(True, BOOL)])


def dropout(w, outs, x, p, train):
    return dropped(w, x, p) if train and real(p) != 0 else same(w, outs, x)


DRAWN = {  # take sizes and numbers only, in a type of their choice
    "aten.randn.default": lambda w, outs, *rest: normal(w, outs[0]), "aten.randn_like.default": lambda w, outs, *rest: normal(w, outs[0]),
    "aten.rand.default": lambda w, outs, *rest: uniform(w, outs[0]), "aten.rand_like.default": lambda w, outs, *rest: uniform(w, outs[0]),
    "aten.normal_functional.default": lambda w, outs, x, mean=0.0, std=1.0, *rest: normal(w, outs[0], mean, std),
    "aten.uniform.default": lambda w, outs, x, low=0.0, high=1.0, *rest: uniform(w, outs[0], low, high), "aten.exponential.default": exponential,
    "aten.randint.low": whole, "aten.randint.default": lambda w, outs, high, *rest: whole(w, outs, 0, high),
    "aten.random.from": lambda w, outs, x, low, high, *rest: whole(w, outs, low, high),
    "aten.random.to": lambda w, outs, x, high, *rest: whole(w, outs, 0, high), "aten.randperm.default": order}
TABLE = {
    **DRAWN, "aten.normal.Tensor_float": around, "aten.normal.float_Tensor": around, "aten.normal.Tensor_Tensor": around,
    "aten.cauchy.default": of_uniform(cauchy), "aten.geometric.default": of_uniform(geometric), "aten.log_normal.default": log_normal,
    "aten.bernoulli.Tensor": bernoulli_of, "aten.bernoulli.default": bernoulli, "aten.bernoulli.p": bernoulli_p, "aten.dropout.default": dropout}
