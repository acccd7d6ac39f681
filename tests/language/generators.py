from collections import deque
from contextlib import contextmanager


def count(n):
    i = 0
    try:
        while i < n:
            got = yield i
            if got:
                i += got
            i += 1
    finally:
        print("fin", n)
    return "done"


def outer():
    r = yield from count(3)
    print("r", r)
    x = yield from [7, 8]
    print(x)


def walk(t):
    if isinstance(t, list):
        for a in t:
            yield from walk(a)
    else:
        yield t


print(list(outer()), list(walk([1, [2, [3, 4], 5], [[6]]])))
g = count(10)
print(next(g), g.send(3), next(g))
try:
    g.throw(ValueError("x"))
except ValueError as e:
    print("caught", e)
print(list(g))
g = count(5)
next(g)
g.close()
print(next(g, "none"))
try:
    g = count(0)
    next(g)
except StopIteration as e:
    print("stop", e.value)


def bad():
    yield 1
    raise StopIteration


try:
    print(list(bad()))
except RuntimeError as e:
    print(e)


def inf():
    n = 0
    while True:
        yield n
        n += 1


print(
    [a for a, _ in zip(inf(), range(4))],
    dict(enumerate(walk(["a", ["b"]]))),
    max(walk([3, [9]])),
    sum(count(4)),
)


def primes():
    found = []
    for n in inf():
        if n > 1 and all(n % p for p in found):
            found.append(n)
            yield n


import itertools

print(list(itertools.islice(primes(), 8)), list(itertools.takewhile(lambda p: p < 20, primes())))


class T:
    def __init__(s, *k):
        s.k = k

    def __iter__(s):
        yield s
        for a in s.k:
            yield from a


print(len(list(T(T(), T(T())))))


@contextmanager
def cm(x):
    print("in", x)
    try:
        yield x * 2
    except KeyError:
        print("swallowed")
    finally:
        print("out", x)


with cm(1) as a, cm(2) as b:
    print(a, b)
with cm(3):
    raise KeyError("z")


@cm(5)
def deco():
    print("deco")
    return 4


print(deco(), deco())
m = cm(9)
print(m.__enter__())
m.__exit__(None, None, None)


def nested():
    for i in range(2):
        try:
            x = yield i
            yield (yield x)
        except ValueError as e:
            print("nv", e)
            yield "v"


g = nested()
print(next(g), g.send("s"), g.send("t"), next(g), g.throw(ValueError, "q"))
print((yield_ for yield_ in walk([1])).__class__.__name__, type(g).__name__)


# what goes on from another depth than it began at, recursion, and an error with its place
def deep(n):
    return deep(n - 1) if n else next(resumed)


def climbing():
    for i in range(3):
        try:
            yield i
        except ValueError:
            yield -1


resumed = climbing()
print([deep(0), deep(50), deep(3)])


def depth_first(n):
    if n:
        yield from depth_first(n - 1)
        yield n


print(sum(depth_first(150)))


def itself():
    yield next(me)


me = itself()
try:
    next(me)
except ValueError as e:
    print(e)
try:
    climbing().send(1)
except TypeError as e:
    print(e)


finished = []


def ignores():
    while True:
        try:
            yield 1
        except GeneratorExit:
            if finished:
                raise


stubborn = ignores()
next(stubborn)
try:
    stubborn.close()
except RuntimeError as e:
    print(e)
with contextmanager(lambda: count(1))() as v:
    print(v)
try:
    with contextmanager(lambda: count(2))():
        pass
except RuntimeError as e:
    print(e)
finished.append(1)

# An iterator that looks at the list it extends sees what it has given.
grown, more, queue = [1], [1], deque([1])
grown.extend(grown[-1] + n for n in range(1, 4))
more += (sum(more) for _ in range(3))
more += more
queue.extend(queue[-1] * 2 for _ in range(3))
queue.extend(queue)
queue.extendleft(queue[0] - 1 for _ in range(2))
print(grown, more, queue)


def closed():
    try:
        yield "a"
    finally:
        print("closed")


def returns():
    yield 1
    return 5


g = closed()
next(g)
g.close()
for g in (g, returns()):
    for _ in range(3):
        try:
            print(next(g))
        except StopIteration as e:
            print("end", e.value)
