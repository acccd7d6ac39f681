import torch
from torch import Tensor


class Rows(list):
    def __len__(self):
        return list.__len__(self) + 10

    def __getitem__(self, i):
        return super().__getitem__(i) * 2

    def __iter__(self):
        return reversed(list(super().__iter__()))

    def __contains__(self, x):
        return not super().__contains__(x)


class Name(str):
    def __len__(self):
        return 2 * super().__len__()


r = Rows([1, 2, 3])
print(len(r), r[1], [x for x in r], 2 in r, 7 in r, len(Name("abc")))
try:
    r[9]
except IndexError as e:
    print(type(e).__name__, len(r), type(r).__name__)

x = torch.tensor([[1.0, -2.0], [3.0, 4.0]])
for f in (Tensor.__add__, Tensor.__sub__, Tensor.__rsub__, Tensor.__mul__, Tensor.__truediv__, Tensor.__rpow__, Tensor.__lt__, Tensor.__eq__, Tensor.__mod__):
    print(f(x, 2).tolist())
print(Tensor.__matmul__(x, x).tolist(), Tensor.__neg__(x).tolist(), Tensor.__abs__(x).tolist(), Tensor.__getitem__(x, (0, 1)).item(), Tensor.__len__(x))
print(x.__add__(1).tolist(), x.__rtruediv__(2).tolist(), Tensor.__invert__(x > 0).tolist(), (x > 0).__and__(x > 2).tolist(), (x > 0).__ror__(True).tolist())
y = x.clone()
y.__iadd__(1)
Tensor.__setitem__(y, 0, 5.0)
print(y.tolist(), [Tensor.__float__(v) for v in y[0]], x[0, 0].__bool__(), hasattr(x, "__call__"), hasattr(x, "__len__"), hasattr(Tensor, "__ge__"))
print(torch.stack(list(map(Tensor.__pos__, [x, x]))).shape)


class Hashed:
    def __init__(self, n):
        self.n = n

    def __hash__(self):
        return self.n

    def __eq__(self, other):
        return self.n == other.n


print(hash(Hashed(7)), hash(5), hash(-3), hash(Hashed(7)) == hash(Hashed(7)), {Hashed(1): "a"}[Hashed(1)])

square = torch.tensor([[1.0, 2.0], [3.0, 4.0]])  # a tensor has no __imatmul__: x @= y binds x anew
before = square
square @= torch.tensor([[0.0, 1.0], [1.0, 0.0]])
print(square.tolist(), before.tolist(), hasattr(torch.Tensor, "__imatmul__"))
