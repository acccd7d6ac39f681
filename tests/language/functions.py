fs = [lambda x: x * i for i in range(3)]
print([f(10) for f in fs])


def mk():
    n = 0

    def inc():
        nonlocal n
        n += 1
        return n

    return inc


a = mk()
a()
print(a())


def f(*args, **kw):
    return args, kw


print(f(1, *[2, 3], 4, a=1, **{"b": 2}), f(*"ab"), (lambda *a, k=1: (a, k))(1, 2, k=3), (lambda: 5)())


def f(x, acc=[]):
    acc.append(x)
    return acc


f(1)
print(f(2))
print(f.__defaults__, f.__name__, f.__kwdefaults__, (lambda *, k=3, q, z=(1,): 0).__kwdefaults__)


def g(a, *, b=1, **kw) -> int:
    """doc"""
    return a + b


print(g.__doc__)

import inspect


def f(a, b=1, *c, d, e=2, **k):
    pass


s = inspect.signature(f)
print(
    list(s.parameters),
    s.parameters["b"].default,
    s.parameters["a"].default is inspect.Parameter.empty,
    s.parameters["d"].kind == inspect.Parameter.KEYWORD_ONLY,
    inspect.isfunction(f),
    inspect.isclass(int),
    "b" in s.parameters,
)

print(
    [i for i in range(20) if i % 2 == 0 and i % 3 == 0],
    [a + b for a, b in [(1, 2), (3, 4)]],
    [[j for j in range(i)] for i in range(3)],
    {k: [v for v in range(k)] for k in range(3)},
    [x if x else -1 for x in [0, 1]],
    [*map(lambda x: x**2, range(3))],
    sorted({3: 1, 1: 2}),
    [x for x, in [(1,), (2,)]],
    [f"{k}={v}" for k, v in dict(a=1).items()],
)


async def fetch(url, *, n: int = 3):
    async with session.get(url) as r:
        async for line in r:
            await put(line)
    return [x async for x in r]


class Server:
    async def go(self): await self.x

    @staticmethod
    async def stop():
        if True:
            await x

        else: pass

    kind = 3


print(fetch.__name__, Server.kind, callable(Server.go), fetch.__kwdefaults__)
