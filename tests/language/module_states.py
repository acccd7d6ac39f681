# Loading states into modules, and lazy modules at their first use.
import torch
from torch import nn

m = nn.Sequential(nn.Linear(2, 3), nn.BatchNorm1d(3))
sd = dict(m.state_dict())
print(m.load_state_dict(sd), m.load_state_dict({"0.weight": torch.ones(3, 2)}, strict=False))
del sd["1.num_batches_tracked"]
m[1].num_batches_tracked.fill_(4)
print(m.load_state_dict(sd), m[1].num_batches_tracked)
try:
    m.load_state_dict([1])
except TypeError as e:
    print(e)
n = nn.Linear(2, 1).requires_grad_(False)
w = torch.ones(1, 2, dtype=torch.float64)
n.load_state_dict({"weight": w, "bias": nn.Parameter(torch.zeros(1))}, assign=True)
print(n.weight, n.bias)
order = []
l = nn.LazyLinear(3).double()
l.register_forward_pre_hook(lambda mod, i: order.append("pre"))
h = l.register_forward_hook(lambda mod, i, o: order.append(tuple(o.shape)), prepend=True)
print(l(torch.ones(2, 4, dtype=torch.float64)).dtype, l.weight.requires_grad, l.bias.requires_grad, order)
h.remove()
l(torch.ones(1, 4, dtype=torch.float64))
print(order, l)
