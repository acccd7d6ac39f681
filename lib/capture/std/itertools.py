# itertools. The endless ones are objects with __next__, the others lists.


class count:
    def __init__(self, start=0, step=1):
        self.n, self.step = start, step

    def __iter__(self):
        return self

    def __next__(self):
        n = self.n
        self.n = n + self.step
        return n

    def __repr__(self):
        return f"count({self.n})" if self.step == 1 else f"count({self.n}, {self.step})"


class cycle:
    def __init__(self, iterable):
        self.items, self.i = list(iterable), 0

    def __iter__(self):
        return self

    def __next__(self):
        if not self.items:
            raise StopIteration
        x = self.items[self.i % len(self.items)]
        self.i += 1
        return x


class _Forever:
    def __init__(self, x):
        self.x = x

    def __iter__(self):
        return self

    def __next__(self):
        return self.x


def repeat(object, times=None):
    return _Forever(object) if times is None else iter([object] * times)


class chain:
    def __init__(self, *iterables):
        self.sources = iter(iterables)
        self.current = iter(())

    @classmethod
    def from_iterable(cls, iterables):
        r = cls()
        r.sources = iter(iterables)
        return r

    def __iter__(self):
        return self

    def __next__(self):
        while True:
            x = next(self.current, chain)
            if x is not chain:
                return x
            self.current = iter(next(self.sources))


def islice(iterable, *args):
    s = slice(*args)
    start, stop, step = s.start or 0, s.stop, s.step or 1
    out, want = [], start
    it = iter(iterable)
    i = 0
    while stop is None or i < stop:
        x = next(it, islice)
        if x is islice:
            break
        if i == want:
            out.append(x)
            want += step
        i += 1
    return iter(out)


def product(*iterables, repeat=1):
    pools = [tuple(p) for p in iterables] * repeat
    result = [()]
    for pool in pools:
        result = [x + (y,) for x in result for y in pool]
    return iter(result)


def permutations(iterable, r=None):
    pool = tuple(iterable)
    r = len(pool) if r is None else r
    return iter([tuple(pool[i] for i in t) for t in product(range(len(pool)), repeat=r) if len(set(t)) == r])


def combinations(iterable, r):
    pool = tuple(iterable)
    return iter([tuple(pool[i] for i in t) for t in permutations(range(len(pool)), r) if sorted(t) == list(t)])


def combinations_with_replacement(iterable, r):
    pool = tuple(iterable)
    return iter([tuple(pool[i] for i in t) for t in product(range(len(pool)), repeat=r) if sorted(t) == list(t)])


def accumulate(iterable, func=None, *, initial=None):
    out = [] if initial is None else [initial]
    for x in iterable:
        out.append(x if not out else out[-1] + x if func is None else func(out[-1], x))
    return iter(out)


def zip_longest(*iterables, fillvalue=None):
    lists = [list(x) for x in iterables]
    n = max([len(x) for x in lists], default=0)
    return iter([tuple(x[i] if i < len(x) else fillvalue for x in lists) for i in range(n)])


def starmap(function, iterable):
    return (function(*a) for a in iterable)


def pairwise(iterable):
    x = list(iterable)
    return iter(list(zip(x, x[1:])))


def takewhile(predicate, iterable):
    out = []
    for x in iterable:
        if not predicate(x):
            break
        out.append(x)
    return iter(out)


def dropwhile(predicate, iterable):
    out, on = [], False
    for x in iterable:
        on = on or not predicate(x)
        if on:
            out.append(x)
    return iter(out)


def filterfalse(predicate, iterable):
    return (x for x in iterable if not (x if predicate is None else predicate(x)))


def compress(data, selectors):
    return (d for d, s in zip(data, selectors) if s)


def groupby(iterable, key=None):
    out = []
    for x in iterable:
        k = x if key is None else key(x)
        if out and out[-1][0] == k:
            out[-1][1].append(x)
        else:
            out.append((k, [x]))
    return iter([(k, iter(g)) for k, g in out])


def tee(iterable, n=2):
    x = list(iterable)
    return tuple(iter(x) for _ in range(n))
