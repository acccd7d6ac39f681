# What a class that extends int or float has of it: an object that holds the number, with the number's operations. The class statement puts
# Int (Float) before int (float) in the order of bases, so isinstance() holds.


def _plain(x):
    return x._value_ if isinstance(x, (Int, Float)) else x


class _Number:
    def __float__(self):
        return float(self._value_)

    def __int__(self):
        return int(self._value_)

    def __bool__(self):
        return self._value_ != 0

    def __hash__(self):
        return hash(self._value_)

    def __repr__(self):
        return repr(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)

    def __eq__(self, other):
        return self._value_ == _plain(other)

    def __ne__(self, other):
        return self._value_ != _plain(other)

    def __lt__(self, other):
        return self._value_ < _plain(other)

    def __le__(self, other):
        return self._value_ <= _plain(other)

    def __gt__(self, other):
        return self._value_ > _plain(other)

    def __ge__(self, other):
        return self._value_ >= _plain(other)

    def __add__(self, other):
        return self._value_ + _plain(other)

    def __radd__(self, other):
        return other + self._value_

    def __sub__(self, other):
        return self._value_ - _plain(other)

    def __rsub__(self, other):
        return other - self._value_

    def __mul__(self, other):
        return self._value_ * _plain(other)

    def __rmul__(self, other):
        return other * self._value_

    def __truediv__(self, other):
        return self._value_ / _plain(other)

    def __rtruediv__(self, other):
        return other / self._value_

    def __floordiv__(self, other):
        return self._value_ // _plain(other)

    def __rfloordiv__(self, other):
        return other // self._value_

    def __mod__(self, other):
        return self._value_ % _plain(other)

    def __rmod__(self, other):
        return other % self._value_

    def __divmod__(self, other):
        return divmod(self._value_, _plain(other))

    def __pow__(self, other):
        return self._value_ ** _plain(other)

    def __rpow__(self, other):
        return other ** self._value_

    def __neg__(self):
        return -self._value_

    def __pos__(self):
        return +self._value_

    def __abs__(self):
        return abs(self._value_)

    def __round__(self, *digits):
        return round(self._value_, *digits)

    def is_integer(self):
        return self._value_.is_integer()

    def conjugate(self):
        return self._value_

    @property
    def real(self):
        return self._value_

    @property
    def imag(self):
        return self._value_.imag


class Int(_Number):
    def __new__(cls, *args):
        self = object.__new__(cls)
        self._value_ = int(*args)
        return self

    def __index__(self):
        return self._value_

    def __and__(self, other):
        return self._value_ & _plain(other)

    def __rand__(self, other):
        return other & self._value_

    def __or__(self, other):
        return self._value_ | _plain(other)

    def __ror__(self, other):
        return other | self._value_

    def __xor__(self, other):
        return self._value_ ^ _plain(other)

    def __rxor__(self, other):
        return other ^ self._value_

    def __lshift__(self, other):
        return self._value_ << _plain(other)

    def __rlshift__(self, other):
        return other << self._value_

    def __rshift__(self, other):
        return self._value_ >> _plain(other)

    def __rrshift__(self, other):
        return other >> self._value_

    def __invert__(self):
        return ~self._value_

    def bit_length(self):
        return self._value_.bit_length()

    def bit_count(self):
        return self._value_.bit_count()


class Float(_Number):
    def __new__(cls, *args):
        self = object.__new__(cls)
        self._value_ = float(*args)
        return self


def _ratio(x):  # as_integer_ratio of an int or float
    if x != x:
        raise ValueError("cannot convert NaN to integer ratio")
    if abs(x) == float("inf"):
        raise OverflowError("cannot convert Infinity to integer ratio")
    denominator = 1
    while x != int(x):
        x, denominator = x * 2, denominator * 2
    return int(x), denominator


def _inverse(a, m):  # of a modulo m
    r, t, s, u = a % m, m, 1, 0
    while t:
        q = r // t
        r, t, s, u = t, r - q * t, u, s - q * u
    if r != 1:
        raise ValueError("base is not invertible for the given modulus")
    return s % m
