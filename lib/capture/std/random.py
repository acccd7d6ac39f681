# random: CPython's numbers for a seed (the mt19937 of torch.Generator, seeded by an array, and CPython's ways from words to numbers), for tables
# and choices of constructors; without a seed, that of torch decides. A program has no use for numbers that forward would draw anew in each call.
import math

import torch
from bisect import bisect
from itertools import accumulate

_MAGIC = 4 * math.exp(-0.5) / math.sqrt(2.0)  # of Kinderman and Monahan's ratio of uniforms


class Random:
    def __init__(self, x=None):
        self._generator = self._next = None  # seeded when first asked
        if x is not None:
            self.seed(x)

    def seed(self, a=None, version=2):
        if a is None:
            a = torch.initial_seed()
        if not isinstance(a, int):
            raise NotImplementedError("random.seed() of what is no int is not part of the model language")
        a = abs(a)
        self._generator, self._next = torch.Generator(), None
        self._generator._seed_key([a >> 32 * i & 0xFFFFFFFF for i in range(max(1, (a.bit_length() + 31) // 32))])

    def getstate(self):
        if self._generator is None:
            self.seed()
        return (3, self._generator.get_state(), self._next)

    def setstate(self, state):
        self._generator, self._next = torch.Generator(), state[2]
        self._generator.set_state(state[1])

    def _word(self):
        if torch._C.capturing():
            raise NotImplementedError("numbers of random in forward are not part of the model language: use torch.rand and the like, which draw anew in each run")
        if self._generator is None:
            self.seed()
        return self._generator._u32()

    def random(self):
        a = self._word() >> 5
        return (a * 67108864.0 + (self._word() >> 6)) / 9007199254740992.0

    def getrandbits(self, k):
        r = 0
        for at in range(0, k, 32):
            r |= self._word() >> max(0, 32 - (k - at)) << at
        return r

    def _below(self, n):
        r = n
        while r >= n:
            r = self.getrandbits(n.bit_length())
        return r

    def randrange(self, start, stop=None, step=1):
        if stop is None:
            start, stop = 0, start
        n = len(range(start, stop, step))
        if n <= 0:
            raise ValueError("empty range for randrange()")
        return start + step * self._below(n)

    def randint(self, a, b):
        return self.randrange(a, b + 1)

    def choice(self, seq):
        if not len(seq):
            raise IndexError("Cannot choose from an empty sequence")
        return seq[self._below(len(seq))]

    def shuffle(self, x):
        for i in range(len(x) - 1, 0, -1):
            j = self._below(i + 1)
            x[i], x[j] = x[j], x[i]

    def sample(self, population, k):
        n, result = len(population), []
        if not 0 <= k <= n:
            raise ValueError("Sample larger than population or is negative")
        if n <= 21 + (4 ** math.ceil(math.log(k * 3, 4)) if k > 5 else 0):
            pool = list(population)
            for i in range(k):
                j = self._below(n - i)
                result.append(pool[j])
                pool[j] = pool[n - i - 1]
            return result
        taken = set()
        while len(result) < k:
            j = self._below(n)
            if j not in taken:
                taken.add(j)
                result.append(population[j])
        return result

    def choices(self, population, weights=None, *, cum_weights=None, k=1):
        n = len(population)
        if weights is None and cum_weights is None:
            return [population[math.floor(self.random() * n)] for _ in range(k)]
        ends = list(accumulate(weights)) if cum_weights is None else cum_weights
        return [population[bisect(ends, self.random() * ends[-1], 0, n - 1)] for _ in range(k)]

    def uniform(self, a, b):
        return a + (b - a) * self.random()

    def triangular(self, low=0.0, high=1.0, mode=None):
        u, c = self.random(), 0.5 if mode is None else (mode - low) / (high - low)
        if u > c:
            u, c, low, high = 1.0 - u, 1.0 - c, high, low
        return low + (high - low) * math.sqrt(u * c)

    def expovariate(self, lambd=1.0):
        return -math.log(1.0 - self.random()) / lambd

    def normalvariate(self, mu=0.0, sigma=1.0):
        while True:
            u = self.random()
            v = 1.0 - self.random()
            z = _MAGIC * (u - 0.5) / v
            if z * z / 4.0 <= -math.log(v):
                return mu + z * sigma

    def gauss(self, mu=0.0, sigma=1.0):
        z, self._next = self._next, None
        if z is None:
            angle = self.random() * 2.0 * math.pi
            radius = math.sqrt(-2.0 * math.log(1.0 - self.random()))
            z, self._next = math.cos(angle) * radius, math.sin(angle) * radius
        return mu + z * sigma


_shared = Random()
_not_here = ("SystemRandom", "betavariate", "gammavariate", "paretovariate", "weibullvariate", "vonmisesvariate", "lognormvariate", "randbytes")


def __getattr__(name):
    if name in _not_here:

        def refused(*args, **kwargs):
            raise NotImplementedError("random." + name + "() is not part of the model language")

        return refused
    if name[0] == "_":
        raise AttributeError("module 'random' has no attribute '" + name + "'")
    return getattr(_shared, name)
