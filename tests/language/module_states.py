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

# hooks that are called always see what fails, once each, without a result
said = []


class Failing(nn.Module):
    def forward(self, x):
        return x / 0


m = nn.Sequential(nn.Identity(), Failing())
every = nn.modules.module.register_module_forward_hook(lambda mod, a, kw, o: said.append((type(mod).__name__, kw)), with_kwargs=True)
m.register_forward_hook(lambda mod, a, o: said.append(("always", o)), always_call=True)
m.register_forward_hook(lambda mod, a, o: said.append("never"))
m[1].register_forward_hook(lambda mod, a, kw, o: said.append((kw, o)), with_kwargs=True, always_call=True)
try:
    m(1)
except ZeroDivisionError as e:
    print(e, said)
every.remove()
f = nn.Linear(2, 1)
print(torch.func.functional_call(f, {"new": torch.ones(1), "bias": torch.ones(1), "weight": torch.ones(1, 2)}, torch.ones(1, 2)), hasattr(f, "new"))
try:
    torch.func.functional_call(f, {"new": torch.ones(1), "bias": torch.ones(1)}, torch.ones(1, 2), strict=True)
except RuntimeError as e:
    print(e)
