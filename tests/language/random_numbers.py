import random
from random import Random, randint

random.seed(42)
print([random.random() for _ in range(3)], random.randint(1, 6), random.randrange(10), random.randrange(2, 20, 3), random.uniform(-1, 1))
print(random.choice("abcdef"), random.choices([1, 2, 3], k=4), random.choices("xyz", weights=[1, 2, 7], k=5), random.getrandbits(7), random.getrandbits(70))
x = list(range(10))
random.shuffle(x)
print(x, random.sample(range(5), 3), random.sample(range(1000), 8), random.sample(list("abcdefgh"), 8))
print(["%.15g" % v for v in (random.gauss(0, 1), random.gauss(1, 2), random.normalvariate(0, 1), random.expovariate(2), random.triangular(0, 10, 3))])
for seed in (0, -7, 2**32, 2**100 + 3):
    r = Random(seed)
    print(seed, r.random(), r.randrange(10**12))
state = random.getstate()
a = [randint(0, 9) for _ in range(700)]
random.setstate(state)
print(a == [random.randint(0, 9) for _ in range(700)], sum(a))
for bad in (lambda: random.randrange(0), lambda: random.choice([]), lambda: random.sample([1], 2)):
    try:
        bad()
    except (ValueError, IndexError) as e:
        print(type(e).__name__)
