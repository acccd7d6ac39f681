# numpy, as far as it is arithmetic on Python numbers; there are no arrays.
import math
from math import pi, e, inf, nan, sqrt, exp, log, log2, log10, sin, cos, tan, tanh, ceil, floor, isnan, isinf

float32, float64, int32, int64, bool_ = float, float, int, int, bool
ndarray = ()
integer, floating, number = int, float, (int, float)


def prod(a):
    return math.prod(a)


def sum(a):
    total = 0
    for x in a:
        total = total + x
    return total


def mean(a):
    return sum(a) / len(a)


def log1p(x):
    return math.log1p(x)


def power(a, b):
    return a ** b


def linspace(start, stop, num=50):
    return [start + (stop - start) * i / (num - 1) if num > 1 else start for i in range(num)]


def cumsum(a):
    out, total = [], 0
    for x in a:
        total = total + x
        out.append(total)
    return out
