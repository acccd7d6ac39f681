import numpy as np
import torch
from numpy.random import RandomState
r = np.random.RandomState(42)
print(r.randint(0, 10, size=8).tolist(), r.randint(5), r.permutation(7).tolist(), r.rand(2, 2).tolist(), r.uniform(-1, 1), r.randn(3).tolist(), r.normal(2, 3, size=(2,)).tolist())
print(r.permutation([5, 6, 7, 8]).tolist(), r.choice(5, 3, replace=False).tolist(), r.choice([9, 8, 7], (2, 2)).tolist(), r.random_sample(), r.randint(0, 2**40), r.randint(3, 4))
x = [1, 2, 3, 4, 5]
r.shuffle(x)
a = np.arange(6).reshape(3, 2)
r.shuffle(a)
print(x, a.tolist(), RandomState(7).permutation(a).tolist())
np.random.seed(3)
print(np.random.rand(2).tolist(), np.random.randint(0, 100, 3).tolist(), np.random.permutation(4).tolist(), np.random.standard_normal())
try:
    np.random.RandomState(-1)
except ValueError as e:
    print(e)
try:
    np.random.choice(3, 5, replace=False)
except ValueError as e:
    print(str(e)[:48])
print(torch.sparse.torch.eye(2).tolist())
print(np.random.RandomState(5).rand() == (np.random.seed(5), np.random.rand())[1], np.random.rand(3).shape)
