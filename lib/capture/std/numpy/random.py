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

    def _upto(self, top):  # 0 .. top: words under a mask, those above top drawn again
        mask, value = (1 << top.bit_length()) - 1, top + 1
        while top and value > top:
            value = (self._word() if top < 2**32 else self._word() << 32 | self._word()) & mask
        return value if top else 0

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
            j = self._upto(i)
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


_of_module = RandomState()


def __getattr__(name):
    if name.startswith("_"):
        raise AttributeError("module 'numpy.random' has no attribute '" + name + "'")
    return getattr(_of_module, name, lambda *args, **kwargs: _refused(name))
