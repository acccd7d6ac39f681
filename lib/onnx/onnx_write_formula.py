# Operators that ONNX lacks, as formulas over those that it has: special functions (polynomials of Abramowitz and Stegun and the like, good to
# about 1e-7), gradients of activations, arithmetic of two numbers.
import math
from onnx_write_math import operand
from onnx_write_values import BF16, BOOL, DOUBLE, FLOAT, HALF, INT64, Val


class X:
    """A value in a formula: x * x + 1 makes nodes of one type."""

    def __init__(self, w, name, code):
        self.w, self.name, self.code = w, name, code

    def of(self, op, *others, **attrs):
        names = [o.name if isinstance(o, X) else self.w.scalar(o, self.code) for o in others]
        return X(self.w, self.w.e(op, [self.name] + names, attrs), self.code)

    def number(self, v):
        return X(self.w, self.w.scalar(v, self.code), self.code)

    def test(self, op, other):
        return X(self.w, self.of(op, other).name, BOOL)

    def pick(self, a, b):
        """Selects by a boolean: a if true, else b; at least one of them is a value."""
        like = a if isinstance(a, X) else b
        a, b = [v if isinstance(v, X) else like.number(v) for v in (a, b)]
        return X(self.w, self.w.e("Where", [self.name, a.name, b.name]), like.code)

    def to(self, code):
        return X(self.w, self.w.cast(self.name, code, self.code), code)

    def __add__(self, o):
        return self.of("Add", o)

    def __radd__(self, o):
        return self.of("Add", o)

    def __sub__(self, o):
        return self.of("Sub", o)

    def __rsub__(self, o):
        return self.number(o).of("Sub", self)

    def __mul__(self, o):
        return self.of("Mul", o)

    def __rmul__(self, o):
        return self.of("Mul", o)

    def __truediv__(self, o):
        return self.of("Div", o)

    def __rtruediv__(self, o):
        return self.number(o).of("Div", self)

    def __neg__(self):
        return self.of("Neg")

    def __lt__(self, o):
        return self.test("Less", o)

    def __le__(self, o):
        return self.test("LessOrEqual", o)

    def __gt__(self, o):
        return self.test("Greater", o)

    def __ge__(self, o):
        return self.test("GreaterOrEqual", o)

    def is_(self, o):
        return self.test("Equal", o)

    def both(self, o):
        return self.of("And", o)

    def either(self, o):
        return self.of("Or", o)


def formula(f):
    """f of the operands as values of the result's type; other arguments unchanged."""

    def rule(w, outs, *args):
        code = outs[0].code
        return f(*[X(w, w.cast(a, code), code) if isinstance(a, Val) else a for a in args]).name

    return rule


def numbers(f):
    """The same for two operands, of which one may be a number."""
    return lambda w, outs, a, b, *rest: f(*[X(w, operand(w, v, outs[0].code), outs[0].code) for v in (a, b)], *rest).name


def horner(x, *c):
    """c[0] + c[1] x + c[2] x^2 ..."""
    y = c[-1]
    for k in reversed(c[:-1]):
        y = y * x + k
    return y


def magnitude(x):
    return x.of("Abs")


def log(x):
    return x.of("Log")


def exp(x):
    return x.of("Exp")


def sqrt(x):
    return x.of("Sqrt")


def below(x):
    """x < 0, or x is -0, which its reciprocal shows."""
    return (x.is_(0)).pick(1 / x, x) < 0


# ---- the error function's relatives ----
def erfcx(x):
    a = magnitude(x)
    t = 1 / (a * 0.5 + 1)
    y = t * exp(horner(t, -1.26551223, 1.00002368, 0.37409196, 0.09678418, -0.18628806, 0.27886807, -1.13520398, 1.48851587, -0.82215223, 0.17087277))
    return (x < 0).pick(2 * exp(x * x) - y, y)


def erfc(x):
    return (x < 1).pick(1 - x.of("Erf"), erfcx(x) * exp(-(x * x)))


def quantile(q, tail):
    """The normal distribution's quantile at 0.5 + q, where tail is the smaller of the two sides."""
    r = q * q
    middle = q * horner(r, 2.506628277459239, -30.66479806614716, 138.357751867269, -275.9285104469687, 220.9460984245205, -39.69683028665376) / horner(
        r, 1.0, -13.28068155288572, 66.80131188771972, -155.6989798598866, 161.5858368580409, -54.47609879822406)
    s = sqrt(-2 * log(tail))
    outer = horner(s, 2.938163982698783, 4.374664141464968, -2.549732539343734, -2.400758277161838, -0.3223964580411365, -0.007784894002430293) / horner(
        s, 1.0, 3.754408661907416, 2.445134137142996, 0.3224671290700398, 0.007784695709041462)
    outer = (tail.is_(0)).pick(-math.inf, outer)
    return (tail < 0.02425).pick((q < 0).pick(outer, -outer), middle)


def ndtri(p):
    return quantile(p - 0.5, p.of("Min", 1 - p))


def erfinv(x):
    return quantile(x * 0.5, (1 - magnitude(x)) * 0.5) * math.sqrt(0.5)


def log_ndtr(x):
    t = x * math.sqrt(0.5)
    return (x < -1).pick(log(erfcx(-t) * 0.5) - t * t, log(1 - erfc(t) * 0.5))


# ---- the gamma function's relatives ----
def log_gamma(x):
    y = (x < 0.5).pick(1 - x, x)
    t = y + 5.5
    series = 1.000000000190015
    for k, c in enumerate([76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.001208650973866179, -0.000005395239384953]):
        series = c / (y + (k + 1.0)) + series
    up = log(2.5066282746310005 * series / y) - (t - (y + 0.5) * log(t))
    up = (y.is_(math.inf)).pick(math.inf, up)
    up = (x < 0.5).pick(math.log(math.pi) - log(magnitude((x * math.pi).of("Sin"))) - up, up)
    return whole_below(x, 0).pick(math.inf, up)


def whole_below(x, bound):
    return (x.is_(x.of("Floor"))).both(x <= bound)


def digamma(x):
    y = (x < 0.5).pick(1 - x, x)
    z = y + 6.0
    r = 1 / (z * z)
    up = log(z) - 0.5 / z - r * horner(r, 1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132)
    for k in range(6):
        up = up - 1 / (y + float(k))
    turned = up - math.pi / (x * math.pi).of("Tan")
    return (x.is_(0)).pick(-1 / x, (whole_below(x, -1)).pick(math.nan, (x < 0.5).pick(turned, up)))


def zeta(s, q):
    """The sum of (q + k) ** -s: ten terms and the Euler-Maclaurin remainder."""
    total = 0.0
    for k in range(10):
        total = (q + float(k)).of("Pow", -s) + total
    a = q + 10.0
    power = a.of("Pow", -s)
    total = total + a * power / (s - 1.0) + power * 0.5
    rise, power = s, power / a
    for k, c in enumerate([1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160]):
        total = total + rise * power * c
        rise, power = rise * (s + (2 * k + 1.0)) * (s + (2 * k + 2.0)), power / (a * a)
    at_pole = (whole_below(q, 0)).pick(math.inf, ((q <= 0).both((s.is_(s.of("Floor"))).of("Not"))).pick(math.nan, total))
    return (s.is_(1)).pick(math.inf, (s < 1).pick(math.nan, at_pole))


def polygamma(n, x):
    if n == 0:
        return digamma(x)
    if n > 1:
        return zeta(x.number(n + 1.0), x) * float((-1) ** (n + 1) * math.factorial(n))
    low = x < 0.5
    up = zeta(x.number(2.0), low.pick(1 - x, x))
    s = math.pi / (x * math.pi).of("Sin")
    return low.pick(s * s - up, up)


# ---- Bessel functions ----
def cylinder(rational, shift, p, q, sign):
    """J (sign -1: cos p - sin q) and Y (1: sin p + cos q) for x > 8."""

    def f(x):
        a = magnitude(x)
        z, t = 8 / a, a - shift
        y = z * z
        one, two = (t.of("Cos"), t.of("Sin")) if sign < 0 else (t.of("Sin"), t.of("Cos"))
        far = sqrt(0.636619772 / a) * (one * horner(y, *p) + sign * z * two * horner(y, *q))
        return a, (a < 8), far, rational(x, x * x)

    return f


P0 = (1.0, -0.1098628627e-2, 0.2734510407e-4, -0.2073370639e-5, 0.2093887211e-6)
Q0 = (-0.1562499995e-1, 0.1430488765e-3, -0.6911147651e-5, 0.7621095161e-6, -0.934935152e-7)
P1 = (1.0, 0.183105e-2, -0.3516396496e-4, 0.2457520174e-5, -0.240337019e-6)
Q1 = (0.04687499995, -0.2002690873e-3, 0.8449199096e-5, -0.88228987e-6, 0.105787412e-6)


def near_j0(x, y):
    return horner(y, 57568490574.0, -13362590354.0, 651619640.7, -11214424.18, 77392.33017, -184.9052456) / horner(
        y, 57568490411.0, 1029532985.0, 9494680.718, 59272.64853, 267.8532712, 1.0)


def near_j1(x, y):
    return x * horner(y, 72362614232.0, -7895059235.0, 242396853.1, -2972611.439, 15704.48260, -30.16036606) / horner(
        y, 144725228442.0, 2300535178.0, 18583304.74, 99447.43394, 376.9991397, 1.0)


def near_y0(x, y):
    return horner(y, -2957821389.0, 7062834065.0, -512359803.6, 10879881.29, -86327.92757, 228.4622733) / horner(
        y, 40076544269.0, 745249964.8, 7189466.438, 47447.26470, 226.1030244, 1.0) + 0.636619772 * near_j0(x, y) * log(x)


def near_y1(x, y):
    return x * horner(y, -0.4900604943e13, 0.1275274390e13, -0.5153438139e11, 0.7349264551e9, -0.4237922726e7, 0.8511937935e4) / horner(
        y, 0.2499580570e14, 0.4244419664e12, 0.3733650367e10, 0.2245904002e8, 0.1020426050e6, 0.3549632885e3, 1.0) + 0.636619772 * (
            near_j1(x, y) * log(x) - 1 / x)


def bessel_j0(x):
    a, near, far, value = cylinder(near_j0, 0.785398164, P0, Q0, -1)(x)
    return near.pick(value, far)


def bessel_j1(x):
    a, near, far, value = cylinder(near_j1, 2.356194491, P1, Q1, -1)(x)
    return near.pick(value, (x < 0).pick(-far, far))


def second_kind(rational, shift, p, q):
    def f(x):
        a, near, far, value = cylinder(rational, shift, p, q, 1)(x)
        return (x < 0).pick(math.nan, (x.is_(0)).pick(-math.inf, near.pick(value, far)))

    return f


def modified(order, scaled):
    """I0 and I1, scaled: times exp(-|x|)."""

    def f(x):
        a = magnitude(x)
        t, u = a / 3.75, 3.75 / a
        y = t * t
        if order == 0:
            near = horner(y, 1.0, 3.5156229, 3.0899424, 1.2067492, 0.2659732, 0.0360768, 0.0045813)
            far = horner(u, 0.39894228, 0.01328592, 0.00225319, -0.00157565, 0.00916281, -0.02057706, 0.02635537, -0.01647633, 0.00392377)
        else:
            near = a * horner(y, 0.5, 0.87890594, 0.51498869, 0.15084934, 0.02658733, 0.00301532, 0.00032411)
            far = horner(u, 0.39894228, -0.03988024, -0.00362018, 0.00163801, -0.01031555, 0.02282967, -0.02895312, 0.01787654, -0.00420059)
        if scaled:
            near = near * exp(-a)
        else:
            far = far * exp(a)
        y = (a < 3.75).pick(near, far / sqrt(a))
        return (x < 0).pick(-y, y) if order else y

    return f


def modified_second(order, scaled):
    """K0 and K1, scaled: times exp(x)."""

    def f(x):
        y, u = x * x / 4.0, 2 / x
        if order == 0:
            near = horner(y, -0.57721566, 0.42278420, 0.23069756, 0.03488590, 0.00262698, 0.00010750, 0.00000740) - log(x / 2.0) * modified(0, False)(x)
            far = horner(u, 1.25331414, -0.07832358, 0.02189568, -0.01062446, 0.00587872, -0.00251540, 0.00053208)
        else:
            near = log(x / 2.0) * modified(1, False)(x) + horner(
                y, 1.0, 0.15443144, -0.67278579, -0.18156897, -0.01919402, -0.00110404, -0.00004686) / x
            far = horner(u, 1.25331414, 0.23498619, -0.03655620, 0.01504268, -0.00780353, 0.00325614, -0.00068245)
        far = far / sqrt(x)
        near, far = (near * exp(x), far) if scaled else (near, far * exp(-x))
        return (x < 0).pick(math.nan, (x.is_(0)).pick(math.inf, (x <= 2).pick(near, far)))

    return f


# ---- orthogonal polynomials ----
def polynomial(first, step, shifted=False):
    """Degrees differ by element: all up to the largest are computed in turn. first(x): degree 1; step(x, k, p, before): the next degree."""

    def rule(w, outs, x, n):
        code = outs[0].code
        x = X(w, operand(w, x, code), code)
        x = 2 * x - 1 if shifted else x
        degree = X(w, operand(w, n, INT64), INT64)
        zero = w.e("Expand", [w.scalar(0.0, code), w.sizes(outs[0].sizes)])
        x = x + X(w, zero, code)
        own = [[w.fresh("k"), INT64, 0], [w.fresh("go"), BOOL, 0]] + [[w.fresh("in"), code, outs[0].rank()] for _ in range(3)]

        def run():
            k, before, p, y = [X(w, own[i][0], c) for i, c in ((0, INT64), (2, code), (3, code), (4, code))]
            kept = (degree.is_(k)).pick(before, y)
            following = step(x, (k + 1).to(code), p, before)
            return [(own[1][0], BOOL, 0)] + [(v.name, code, outs[0].rank()) for v in (p, following, kept)]

        most = w.e("ReduceMax", [degree.name], {"keepdims": 0})
        times = w.e("Add", [most, w.const(1, INT64)])
        return w.e("Loop", [times, None, (x * 0 + 1).name, first(x).name, zero], {"body": w.body_of(own, run)}, 3)[2]

    return rule


POLYNOMIALS = {
    "hermite_polynomial_h": (lambda x: 2 * x, lambda x, k, p, q: 2 * x * p - 2 * k * q), "hermite_polynomial_he": (lambda x: x, lambda x, k, p, q: x * p - k * q),
    "laguerre_polynomial_l": (lambda x: 1 - x, lambda x, k, p, q: ((2 * k + 1 - x) * p - k * q) / (k + 1)),
    "legendre_polynomial_p": (lambda x: x, lambda x, k, p, q: ((2 * k + 1) * x * p - k * q) / (k + 1))}
for _k, _f in {"t": lambda x: x, "u": lambda x: 2 * x, "v": lambda x: 2 * x - 1, "w": lambda x: 2 * x + 1}.items():
    POLYNOMIALS["chebyshev_polynomial_" + _k] = (_f, lambda x, k, p, q: 2 * x * p - q)


# ---- pairs of numbers ----
def common_divisor(w, outs, a, b):
    """Euclid's algorithm until all remainders are 0."""
    code, rank = outs[0].code, outs[0].rank()
    a, b = [w.e("Expand", [w.e("Abs", [operand(w, v, code)]), w.sizes(outs[0].sizes)]) for v in (a, b)]
    left = lambda v: w.e("ReduceMax", [w.e("Cast", [v], {"to": INT64})], {"keepdims": 0})
    go = lambda v: w.e("Greater", [left(v), w.const(0, INT64)])
    own = [[w.fresh("k"), INT64, 0], [w.fresh("go"), BOOL, 0], [w.fresh("in"), code, rank], [w.fresh("in"), code, rank]]

    def run():
        x, y = X(w, own[2][0], code), X(w, own[3][0], code)
        some = y > 0
        rest = some.pick(x.of("Mod", some.pick(y, 1)), 0)
        return [(go(rest.name), BOOL, 0), (some.pick(y, x).name, code, rank), (rest.name, code, rank)]

    return w.e("Loop", [None, go(b), a, b], {"body": w.body_of(own, run)}, 2)[0]


def common_multiple(w, outs, a, b):
    code = outs[0].code
    d = X(w, common_divisor(w, outs, a, b), code)
    a, b = [X(w, operand(w, v, code), code) for v in (a, b)]
    none = d.is_(0)
    return none.pick(0, magnitude(a / none.pick(1, d) * b)).name


def xlogy(plus):
    def f(x, y):
        return (y.is_(y)).pick((x.is_(0)).pick(0.0, x * log(y + plus if plus else y)), math.nan)

    return numbers(f)


def logaddexp2(a, b):
    big = a.of("Max", b)
    y = big + log(1 + (-math.log(2) * magnitude(a - b)).of("Exp")) / math.log(2)
    return (a.is_(b)).pick(a + 1, y)


def copysign(x, s):
    return below(s).pick(-magnitude(x), magnitude(x))


def nan_to_num(x, nan=None, high=None, low=None):
    most = {10: 65504.0, 1: 3.4028234663852886e38, 11: 1.7976931348623157e308}.get(x.code, 3.3895313892515355e38)
    y = (x.is_(x)).pick(x, 0.0 if nan is None else nan)
    y = (y.is_(math.inf)).pick(most if high is None else high, y)
    return (y.is_(-math.inf)).pick(-most if low is None else low, y)


def sinc(x):
    t = x * math.pi
    return (x.is_(0)).pick(1.0, t.of("Sin") / t)


def scaled(x, power):
    """x * 2 ** -power in two steps, since the power alone may overflow."""
    part = (power * 0.5).of("Floor")
    return x * x.number(2.0).of("Pow", -part) * x.number(2.0).of("Pow", part - power)


def exponent_of(x, flat):
    """The exponent of x = m * 2 ** exponent, |m| in [1/2, 1); 0 where flat."""
    power = (log(flat.pick(1.0, magnitude(x))) / math.log(2)).of("Floor") + 1
    m = magnitude(scaled(x, power))
    return flat.pick(0.0, (m >= 1).pick(power + 1, (m < 0.5).pick(power - 1, power)))


def not_finite(x):
    return (x - x).is_(0).of("Not")


def frexp(w, outs, x):
    """x = mantissa * 2 ** exponent, the mantissa in [1/2, 1)."""
    x = X(w, w.name(x), x.code)
    flat = (x.is_(0)).either(not_finite(x))
    power = exponent_of(x, flat)
    return flat.pick(x, scaled(x, power)).name, power.to(outs[1].code).name


FORMATS = {HALF: (11, -24, 65504.0), BF16: (8, -133, 3.3895313892515355e38), FLOAT: (24, -149, 3.4028234663852886e38), DOUBLE: (53, -1074, 1.7976931348623157e308)}


def nextafter(w, outs, x, y):
    """One unit in the last place of x away, computed as doubles, which hold it exactly."""
    code = outs[0].code
    digits, lowest, most = FORMATS[code]
    x, y = [X(w, w.cast(v, code), code).to(DOUBLE) for v in (x, y)]
    way = (y < x).pick(x.number(-1.0), 1.0)
    outward = (x * way).test("GreaterOrEqual", 0)
    power = exponent_of(x, (x.is_(0)).either(not_finite(x)))
    edge = (magnitude(scaled(x, power)).is_(0.5)).both(outward.of("Not"))  # below a power of two units are half as large
    power = (edge.pick(power - 1, power) - float(digits)).of("Max", float(lowest))
    z = x + way * (x.is_(0)).pick(x.number(2.0 ** lowest), x.number(2.0).of("Pow", power))
    z = (magnitude(x).is_(math.inf)).pick(x.of("Sign") * most, z)
    nan = (x.is_(x)).both(y.is_(y)).of("Not")
    return nan.pick(x + y, (x.is_(y)).pick(y, z)).to(code).name


# ---- gradients ----
def sigmoid(x):
    return x.of("Sigmoid")


def silu_backward(g, x):
    s = sigmoid(x)
    return g * s * (1 + x * (1 - s))


def mish_backward(g, x):
    t = x.of("Softplus").of("Tanh")
    return g * (t + x * sigmoid(x) * (1 - t * t))


def softplus_backward(g, x, beta=1, threshold=20):
    return (x * beta > threshold).pick(g, g * sigmoid(x * beta))


def gelu_backward(g, x, approximate="none"):
    if approximate == "none":
        return g * (0.5 * (1 + (x * math.sqrt(0.5)).of("Erf")) + x * exp(-0.5 * x * x) * (1 / math.sqrt(2 * math.pi)))
    k = math.sqrt(2 / math.pi)
    t = (k * (x + 0.044715 * x * x * x)).of("Tanh")
    return g * (0.5 * (1 + t) + 0.5 * x * (1 - t * t) * k * (1 + 3 * 0.044715 * x * x))


def elu(x, alpha=1, scale=1, inner=1):
    return (x > 0).pick(x * scale, (exp(x * inner) - 1) * (alpha * scale))


def elu_backward(g, alpha, scale, inner, of_result, x):
    below = (x + alpha * scale) * inner if of_result else exp(x * inner) * (inner * alpha * scale)
    return g * (x <= 0).pick(below, scale)


def hardswish_backward(g, x):
    return g * (x <= -3).pick(0.0, (x < 3).pick(x / 3.0 + 0.5, 1.0))


def between(g, x, low, high, slope=1.0):
    return ((x > low).both(x < high)).pick(g * slope, 0.0)


def softmax_backward(logarithm):
    def rule(w, outs, g, y, dim, *rest):
        code = outs[0].code
        g, y = [X(w, w.cast(v, code), code) for v in (g, y)]
        over = lambda v: X(w, w.e("ReduceSum", [v.name, w.ints([dim])], {"keepdims": 1}) if outs[0].rank() else v.name, code)
        return (g - exp(y) * over(g) if logarithm else y * (g - over(g * y))).name

    return rule


def embedding_backward(w, outs, g, indices, rows, padding=-1, by_frequency=False):
    code, wide = outs[0].code, outs[0].sizes[-1]
    flat = w.reshape(indices, [-1])
    at = w.e("Unsqueeze", [w.e("Cast", [flat], {"to": INT64}), w.ints([-1])])
    g = w.e("Reshape", [w.cast(g, code), w.e("Concat", [w.ints([-1]), w.number(wide)], {"axis": 0})])
    one = lambda v: w.e("Unsqueeze", [w.e("Cast", [v], {"to": code}), w.ints([-1])])
    if padding is not None and padding >= 0:
        g = w.e("Mul", [g, one(w.e("Not", [w.e("Equal", [flat, w.cast(w.const(padding, INT64), indices.code, INT64)])]))])
    if by_frequency:
        same = w.e("Equal", [at, w.e("Unsqueeze", [w.e("Cast", [flat], {"to": INT64}), w.ints([0])])])
        g = w.e("Div", [g, one(w.e("ReduceSum", [w.e("Cast", [same], {"to": INT64}), w.ints([1])], {"keepdims": 0}))])
    zero = w.e("Expand", [w.scalar(0.0, code), w.sizes(outs[0].sizes)])
    return w.e("ScatterND", [zero, at, g], {"reduction": "add"})


TABLE = {
    "erfc.default": formula(erfc), "special_erfcx.default": formula(erfcx), "erfinv.default": formula(erfinv), "special_ndtri.default": formula(ndtri),
    "special_log_ndtr.default": formula(log_ndtr), "lgamma.default": formula(log_gamma), "digamma.default": formula(digamma),
    "special_zeta.default": numbers(zeta), "special_zeta.self_scalar": numbers(zeta), "special_zeta.other_scalar": numbers(zeta),
    "polygamma.default": formula(polygamma), "special_bessel_j0.default": formula(bessel_j0), "special_bessel_j1.default": formula(bessel_j1),
    "special_bessel_y0.default": formula(second_kind(near_y0, 0.785398164, P0, Q0)), "special_bessel_y1.default": formula(second_kind(near_y1, 2.356194491, P1, Q1)),
    "i0.default": formula(modified(0, False)), "sinc.default": formula(sinc), "special_spherical_bessel_j0.default": formula(lambda x: sinc(x * (1 / math.pi))),
    "gcd.default": common_divisor, "lcm.default": common_multiple, "xlogy.Tensor": xlogy(0), "logaddexp2.default": numbers(logaddexp2),
    "copysign.Tensor": numbers(copysign), "copysign.Scalar": numbers(copysign), "nan_to_num.default": formula(nan_to_num), "frexp.Tensor": frexp, "nextafter.default": nextafter,
    "elu.default": formula(elu), "threshold_backward.default": formula(lambda g, x, t: (x <= t).pick(0.0, g)),
    "hardshrink_backward.default": formula(lambda g, x, l=0.5: ((x >= -l).both(x <= l)).pick(0.0, g)),
    "softshrink_backward.default": formula(lambda g, x, l=0.5: ((x >= -l).both(x <= l)).pick(0.0, g)),
    "leaky_relu_backward.default": formula(lambda g, x, s, of_result: (x > 0).pick(g, g * s)),
    "hardtanh_backward.default": formula(between), "hardsigmoid_backward.default": formula(lambda g, x: between(g, x, -3, 3, 1 / 6)),
    "hardswish_backward.default": formula(hardswish_backward), "silu_backward.default": formula(silu_backward), "mish_backward.default": formula(mish_backward),
    "softplus_backward.default": formula(softplus_backward), "gelu_backward.default": formula(gelu_backward), "elu_backward.default": formula(elu_backward),
    "_softmax_backward_data.default": softmax_backward(False), "_log_softmax_backward_data.default": softmax_backward(True),
    "embedding_dense_backward.default": embedding_backward}
for _k in ("0", "1"):
    for _e in ("", "e"):
        TABLE[f"special_i{_k}{_e}.default"] = formula(modified(int(_k), _e == "e"))
    TABLE[f"special_modified_bessel_i{_k}.default"] = formula(modified(int(_k), False))
    TABLE[f"special_modified_bessel_k{_k}.default"] = formula(modified_second(int(_k), False))
    TABLE[f"special_scaled_modified_bessel_k{_k}.default"] = formula(modified_second(int(_k), True))
for _a, _b in (("xlogy.Scalar_Self", "self_scalar"), ("xlogy.Scalar_Other", "other_scalar")):
    TABLE[_a] = xlogy(0)
    TABLE[f"special_xlog1py.{_b}"] = xlogy(1)
TABLE["special_xlog1py.default"] = xlogy(1)
for _k, (_first, _step) in POLYNOMIALS.items():
    TABLE[f"special_{_k}.default"] = polynomial(_first, _step)
    TABLE[f"special_shifted_{_k}.default"] = polynomial(_first, _step, True)
TABLE = {"aten." + _k: _v for _k, _v in TABLE.items()}
