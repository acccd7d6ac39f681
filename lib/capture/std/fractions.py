# fractions.
from math import gcd


def _of(x):
    if isinstance(x, str):
        top, _, bottom = x.partition("/")
        whole, _, part = top.strip().partition(".")
        return Fraction(int(whole + part), 10 ** len(part)) / int(bottom or 1)
    return Fraction(*x.as_integer_ratio()) if isinstance(x, float) else x


class Fraction:
    def __init__(self, numerator=0, denominator=None):
        a, b = _of(numerator), 1 if denominator is None else denominator
        if b == 0:
            raise ZeroDivisionError(f"Fraction({a}, 0)")
        n, d = a.numerator * b.denominator, a.denominator * b.numerator
        g = gcd(n, d) * (1 if d > 0 else -1)
        self.numerator, self.denominator = n // g, d // g

    def as_integer_ratio(self):
        return self.numerator, self.denominator

    def limit_denominator(self, max_denominator=1000000):
        if self.denominator <= max_denominator:
            return self
        p0, q0, p1, q1 = 0, 1, 1, 0
        n, d = self.numerator, self.denominator
        while q0 + n // d * q1 <= max_denominator:
            a = n // d
            p0, q0, p1, q1 = p1, q1, p0 + a * p1, q0 + a * q1
            n, d = d, n - a * d
        k = (max_denominator - q0) // q1
        far, near = Fraction(p0 + k * p1, q0 + k * q1), Fraction(p1, q1)
        return near if abs(near - self) <= abs(far - self) else far

    def __float__(self):
        return self.numerator / self.denominator

    def __int__(self):
        return self.numerator // self.denominator if self.numerator >= 0 else -(-self.numerator // self.denominator)

    __trunc__ = __int__

    def __floor__(self):
        return self.numerator // self.denominator

    def __ceil__(self):
        return -(-self.numerator // self.denominator)

    def __round__(self, digits=None):
        if digits is not None:
            return Fraction(round(self * 10**digits), 10**digits)
        low, rest = divmod(self.numerator, self.denominator)
        return low + (2 * rest > self.denominator or (2 * rest == self.denominator and low % 2 == 1))

    def __neg__(self):
        return Fraction(-self.numerator, self.denominator)

    def __abs__(self):
        return Fraction(abs(self.numerator), self.denominator)

    def __bool__(self):
        return self.numerator != 0

    def __eq__(self, other):
        return other == float(self) if isinstance(other, float) else self._with(other, lambda a, b: a == b)

    def __hash__(self):
        return hash(self.numerator) if self.denominator == 1 else hash((self.numerator, self.denominator))

    def __lt__(self, other):
        return self._with(other, lambda a, b: a < b)

    def __le__(self, other):
        return self._with(other, lambda a, b: a <= b)

    def __gt__(self, other):
        return self._with(other, lambda a, b: a > b)

    def __ge__(self, other):
        return self._with(other, lambda a, b: a >= b)

    def _with(self, other, of):  # of both over one denominator
        if isinstance(other, float):
            return of(float(self), other)
        if not isinstance(other, (int, Fraction)):
            return NotImplemented
        return of(self.numerator * other.denominator, other.numerator * self.denominator)

    def _made(self, other, numerator, real, denominator=lambda a, b: a.denominator * b.denominator):
        if isinstance(other, (float, complex)):
            return real(float(self), other)
        return Fraction(numerator(self, other), denominator(self, other)) if isinstance(other, (int, Fraction)) else NotImplemented

    def __add__(self, other):
        return self._made(other, lambda a, b: a.numerator * b.denominator + b.numerator * a.denominator, lambda a, b: a + b)

    __radd__ = __add__

    def __sub__(self, other):
        return self._made(other, lambda a, b: a.numerator * b.denominator - b.numerator * a.denominator, lambda a, b: a - b)

    def __rsub__(self, other):
        return -self + other

    def __mul__(self, other):
        return self._made(other, lambda a, b: a.numerator * b.numerator, lambda a, b: a * b)

    __rmul__ = __mul__

    def __truediv__(self, other):
        return self._made(other, lambda a, b: a.numerator * b.denominator, lambda a, b: a / b, lambda a, b: a.denominator * b.numerator)

    def __rtruediv__(self, other):
        return Fraction(other) / self if isinstance(other, int) else other / float(self)

    def __floordiv__(self, other):
        return (self / other).__floor__()

    def __mod__(self, other):
        return self - self // other * other

    def __pow__(self, n):
        if not isinstance(n, int):
            return float(self) ** n
        a, b = (self.numerator, self.denominator) if n >= 0 else (self.denominator, self.numerator)
        return Fraction(a ** abs(n), b ** abs(n))

    def __repr__(self):
        return f"Fraction({self.numerator}, {self.denominator})"

    def __str__(self):
        return str(self.numerator) if self.denominator == 1 else f"{self.numerator}/{self.denominator}"
