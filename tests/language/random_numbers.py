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


import torch


# Bounds that do not fit the type, types without a kernel, and ranges of 16-bit floats beyond the integers that these hold.
def said(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


for t in (torch.uint8, torch.int8, torch.uint16, torch.bool):
    print(t, said(lambda: torch.randint(-1, 2, (2,), dtype=t).shape), said(lambda: torch.zeros(2, dtype=t).random_(300).shape),
          said(lambda: torch.zeros(2, dtype=t).random_(-1, 2).shape), said(lambda: torch.zeros(2, dtype=t).random_().shape),
          said(lambda: torch.randperm(300, dtype=t).shape), said(lambda: torch.randperm(2, dtype=t).shape))
for t, low, high in ((torch.bfloat16, -5, 300), (torch.bfloat16, -513, 1000), (torch.float16, 0, 4099), (torch.float32, 0, 2**24 + 3)):
    torch.manual_seed(1)
    print(torch.zeros(6, dtype=t).random_(low, high).tolist(), said(lambda: torch.zeros(1, dtype=t).random_(2**24, 2**24 + 1).shape))
torch.manual_seed(2)
print(torch.zeros(6, dtype=torch.float64).exponential_(0.7).tolist())
g = torch.Generator().manual_seed(3)
print(torch.randperm(7, generator=g, dtype=torch.int32).tolist(), torch.randint_like(torch.zeros(4), 9, generator=g).tolist(),
      torch.randint_like(torch.zeros(4), 2, 9, generator=g).tolist())
