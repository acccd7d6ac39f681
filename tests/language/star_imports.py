# import * of modules of the library: names that the file has not defined are found in them, the last first; what they lack are the built-ins.
from torch.nn import *
from torch.nn.functional import *
from itertools import *
from functools import *
from collections import *
from einops import rearrange
from math import *
from dataclasses import *
import torch


def said(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__


print(Linear(2, 3), functional.relu(torch.tensor([-1.0, 2])), softmax(torch.zeros(2), 0), init.zeros_(torch.ones(1)))
print(list(chain([1], [2])), reduce(lambda a, b: a + b, [1, 2]), Counter("aab"), deque([1]), rearrange(torch.ones(2, 3), "a b -> (a b)").shape, sqrt(4))


class Net(Module):
    w = Parameter(torch.ones(2))

    def __init__(self):
        super().__init__()
        self.l = Sequential(Linear(2, 2), ReLU())
        self.p = Parameter(torch.ones(2))

    def forward(self, x):
        return relu(self.l(x)) * self.p


@dataclass
class D:
    x: int = 3


print(Net(), D(), sum([1, 2]), max(3, 4), abs(-2), int("3"), list(map(int, "12")), print is not None)
print(said(lambda: undefined_thing), said(lambda: Linear_))


def Linear(x):
    return "mine"


print(Linear(3))
print(isinstance(3, int), any([1]), round(2.5), min(2, 3), next(iter([5])), slice(1), float("2"), divmod(5, 2), len("ab"), sorted([2, 1]))
from torch import *

print(cat([zeros(2), ones(1)]), sum(tensor([1, 2])), float32, int, pi, [isinstance(x, Tensor) for x in (3, zeros(1))], round(tensor([1.5])))
from operator import *
from copy import *
from abc import *

print(abs(-2), add(1, 2), deepcopy([1]), ABC.__name__, isinstance(pow(tensor(2.0), 2), Tensor))
