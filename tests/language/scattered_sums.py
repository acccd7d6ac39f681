# Sums and other reductions by index give a single element what they give one element of a longer slice, however many sources it has.
import torch

torch.manual_seed(0)
x, at = torch.randn(5000), torch.randint(0, 40, (5000,)) * 177
pair = torch.stack((x, x.flip(0)), 1)
zero = torch.zeros(8000)
rows = torch.zeros(8000, 2)
want = rows.index_add(0, at, pair)
print(torch.equal(zero.index_add(0, at, x), want[:, 0]))
print(torch.equal(zero.scatter_add(0, at, x), want[:, 0]))
print(torch.equal(zero.index_put((at,), x, accumulate=True), want[:, 0]))
print(torch.equal(zero.put(at, x, accumulate=True), want[:, 0]))
for how in ("mean", "amax", "amin", "prod"):
    for self_too in (True, False):
        few = at[:300]
        single = torch.ones(8000).index_reduce(0, few, x[:300], how, include_self=self_too)
        print(how, self_too, torch.equal(single, torch.ones(8000, 2).index_reduce(0, few, pair[:300], how, include_self=self_too)[:, 0]))

# alpha times the product and beta self, which nearly cancel, are rounded once
m, v, s = torch.tensor([[-3.25, -4.0, -8.75, -3.75, -5.5, 2.25]]), torch.tensor([-10.0, -0.25, 5.5, 5.75, -4.25, 7.25]), torch.tensor([-11.375])
print(torch.addmv(s.half(), m.half(), v.half(), beta=0.2, alpha=0.6).item())

# NaN among few numbers is found as PyTorch's insertion of them leaves it
nan = float("nan")
for few in ([nan, 1.0, 3.0], [3.0, 2.0, nan, nan, 1.0, 2.0], [2.0, nan, 2.0], [-0.0, 0.0, nan], [1.0, nan, nan]):
    print(torch.tensor(few).mode(), torch.tensor(few).half()[:, None].mode(0).indices)

# lists in a list are a tuple of indices; probabilities of a draw are broadcast
grid = torch.arange(12).view(3, 4)
print(grid[[[0, 2], [1, 3]]], grid[[[0, 1]]].shape, grid[[(0, 1), 2]], grid[[[[0, 1], [1, 2]]]].shape)
torch.manual_seed(0)
print(torch.empty(5, dtype=torch.int64).bernoulli_(torch.tensor(0.4)), torch.empty(2, 3).bernoulli_(torch.tensor([[0.1], [0.9]])))
