# numpy.random: RandomState and the functions of the module give NumPy's own numbers for a seed (its mt19937 is torch.Generator's); without one,
# torch's decides. A program has no use for numbers that forward would draw anew in each call; those of a seed that forward gives are the same.
import math

import numpy
import torch


def _refused(name, why="use torch.rand and the like, which the seed decides"):
    raise NotImplementedError("numpy.random." + name + "() is not part of the model language: " + why)


class RandomState:
    def __init__(self, seed=None):
        self._generator = self._kept = None
        if seed is not None:
            self.seed(seed)

    def seed(self, seed=None):
        if seed is None:
            seed = torch.initial_seed() % 2**32
        if isinstance(seed, bool) or not isinstance(seed, int):
            _refused("seed", "with a seed that is no int")
        if not 0 <= seed < 2**32:
            raise ValueError("Seed must be between 0 and 2**32 - 1")
        self._generator, self._kept, self._of_forward = torch.Generator(), None, torch._C.capturing()
        self._generator.manual_seed(seed)

    def _word(self):
        if self._generator is None:
            self.seed()
        if torch._C.capturing() and not self._of_forward:
            _refused("RandomState", "in forward, which does not seed it; use torch.rand and the like, which the seed decides")
        return self._generator._u32()

    def _double(self):
        a = self._word() >> 5
        return (a * 67108864.0 + (self._word() >> 6)) / 9007199254740992.0

    def _gauss(self):
        if self._kept is not None:
            kept, self._kept = self._kept, None
            return kept
        r = 0.0
        while r >= 1.0 or r == 0.0:
            x = 2.0 * self._double() - 1.0
            y = 2.0 * self._double() - 1.0
            r = x * x + y * y
        f = math.sqrt(-2.0 * math.log(r) / r)
        self._kept = f * x
        return f * y

    def _long(self):
        return self._word() << 32 | self._word()

    def _masked(self, top):  # 0 .. top: words under a mask, those above top drawn again
        mask, value = (1 << top.bit_length()) - 1, top + 1
        while top and value > top:
            value = (self._word() if top < 2**32 else self._long()) & mask
        return value if top else 0

    _upto = _masked

    def _many(self, draw, size, dtype=numpy.float64):
        if size is None:
            return draw()
        size = (size,) if isinstance(size, int) else tuple(size)
        return numpy.array([draw() for _ in range(math.prod(size))], dtype=dtype).reshape(size)

    def random_sample(self, size=None):
        return self._many(self._double, size)

    random = random_sample

    def rand(self, *shape):
        return self.random_sample(shape if shape else None)

    def uniform(self, low=0.0, high=1.0, size=None):
        return self._many(lambda: low + (high - low) * self._double(), size)

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._many(lambda: loc + scale * self._gauss(), size)

    def standard_normal(self, size=None):
        return self._many(self._gauss, size)

    def randn(self, *shape):
        return self.standard_normal(shape if shape else None)

    def randint(self, low, high=None, size=None):
        low, high = (0, low) if high is None else (low, high)
        if low >= high:
            raise ValueError("low >= high")
        return self._many(lambda: low + self._upto(high - 1 - low), size, numpy.int64)

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self._masked(i)
            if isinstance(x, list):
                x[i], x[j] = x[j], x[i]
            else:
                kept = numpy.array(x[i])
                x[i] = x[j]
                x[j] = kept

    def permutation(self, x):
        at = list(range(x if isinstance(x, int) else len(x)))
        self.shuffle(at)
        at = numpy.array(at, dtype=numpy.int64)
        return at if isinstance(x, int) else numpy.array(x)[at]

    def choice(self, a, size=None, replace=True, p=None):
        if p is not None:
            _refused("choice", "with p")
        n = a if isinstance(a, int) else len(a)
        if replace:
            at = self.randint(0, n, size=size)
        else:
            many = 1 if size is None else size if isinstance(size, int) else math.prod(size)
            if many > n:
                raise ValueError("Cannot take a larger sample than population when replace is False")
            at = self.permutation(n)[:many]
            at = at[0] if size is None else at.reshape(size)
        return at if isinstance(a, int) else numpy.array(a)[at]


# ---- default_rng ----
def _spread(entropy):  # NumPy's SeedSequence: the four 64-bit words that it makes of a seed
    words = [entropy >> 32 * i & 0xFFFFFFFF for i in range(max(1, (entropy.bit_length() + 31) // 32))]
    turn = [0x43B0D7E5]

    def hashed(value, factor=0x931E8875):
        value ^= turn[0]
        turn[0] = turn[0] * factor & 0xFFFFFFFF
        value = value * turn[0] & 0xFFFFFFFF
        return value ^ value >> 16

    def mixed(x, y):
        x = 0xCA01F9DD * x - 0x4973F715 * y & 0xFFFFFFFF
        return x ^ x >> 16

    pool = [hashed(words[i] if i < len(words) else 0) for i in range(4)]
    for i in range(4):
        for j in range(4):
            if i != j:
                pool[j] = mixed(pool[j], hashed(pool[i]))
    for word in words[4:]:
        pool = [mixed(p, hashed(word)) for p in pool]
    turn[0] = 0x8B51F9DD
    out = [hashed(pool[i % 4], 0x58F38DED) for i in range(8)]
    return [out[i] | out[i + 1] << 32 for i in range(0, 8, 2)]


class Generator(RandomState):  # PCG64
    def seed(self, seed=None):
        seed = torch.initial_seed() if seed is None else seed
        if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
            _refused("default_rng", "with a seed that is no int of 0 or more")
        a, b, c, d = _spread(seed)
        self._step = (c << 64 | d) << 1 & 2**128 - 1 | 1
        self._state, self._half, self._generator, self._of_forward = self._step + (a << 64 | b), None, self, torch._C.capturing()
        self._advance()

    def _advance(self):
        self._state = self._state * 0x2360ED051FC65DA44385DF649FCCF645 + self._step & 2**128 - 1

    def _long(self):
        if self._generator is None:
            self.seed()
        if torch._C.capturing() and not self._of_forward:
            _refused("default_rng", "in forward, which does not seed it; use torch.rand and the like, which the seed decides")
        self._advance()
        x, turn = self._state >> 64 ^ self._state & 2**64 - 1, self._state >> 122
        return (x >> turn | x << 64 - turn) & 2**64 - 1

    def _word(self):
        half, self._half = self._half, None
        if half is None:
            both = self._long()
            half, self._half = both & 0xFFFFFFFF, both >> 32
        return half

    def _double(self):
        return (self._long() >> 11) / 9007199254740992.0

    def _upto(self, top):  # the high half of a product; those products whose low half is too small are drawn again
        bits, draw = (32, self._word) if top < 2**32 else (64, self._long)
        if top in (0, 2**bits - 1):
            return draw() if top else 0
        m = draw() * (top + 1)
        while m & 2**bits - 1 < (2**bits - 1 - top) % (top + 1):
            m = draw() * (top + 1)
        return m >> bits

    def _gauss(self):
        _refused("default_rng", "for normal numbers; numpy.random.RandomState(seed) and torch.randn have them")

    def integers(self, low, high=None, size=None, dtype=numpy.int64, endpoint=False):
        low, high = (0, low) if high is None else (low, high)
        if low >= high + endpoint:
            raise ValueError("low >= high")
        if numpy.dtype(dtype) is not torch.int64:
            _refused("default_rng", "for integers of another type than int64")
        return self._many(lambda: low + self._upto(high + endpoint - 1 - low), size, numpy.int64)

    def choice(self, a, size=None, replace=True, p=None, axis=0, shuffle=True):
        n, many = a if isinstance(a, int) else len(a), 1 if size is None else size if isinstance(size, int) else math.prod(size)
        if replace:
            return super().choice(a, size, True, p)
        if p is not None or not shuffle or axis:
            _refused("default_rng", "for a choice with p, axis or shuffle")
        if many > n:
            raise ValueError("Cannot take a larger sample than population when replace is False")
        if n > 10000 and many > n // 50:
            at = list(range(n))
            for i in range(n - 1, max(n - many, 1) - 1, -1):
                j = self._upto(i)
                at[i], at[j] = at[j], at[i]
            at = at[n - many:]
        else:
            at, seen = [], set()
            for j in range(n - many, n):
                k = self._upto(j)
                k = j if k in seen else k
                seen.add(k)
                at.append(k)
            for i in range(many - 1, 0, -1):
                j = self._upto(i)
                at[i], at[j] = at[j], at[i]
        at = numpy.array(at, dtype=numpy.int64)
        at = at[0] if size is None else at.reshape(size)
        return at if isinstance(a, int) else numpy.array(a)[at]

    def randint(self, low, high=None, size=None):  # of choice()
        return self.integers(low, high, size)


def default_rng(seed=None):
    return seed if isinstance(seed, Generator) else Generator(seed)


_of_module = RandomState()


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError("module 'numpy.random' has no attribute '" + name + "'")
    return getattr(_of_module, name, lambda *args, **kwargs: _refused(name))
