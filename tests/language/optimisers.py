# Optimisers against PyTorch 2.15, where options change how they compute: rates and betas that are tensors, lists of tensors, the ways of a line search.
import torch
from torch import optim


# The losses of a small regression before each of five steps, and the parameters behind the last.
def fit(make, dtype=torch.float64):
    w = torch.nn.Parameter(torch.tensor([[0.5, -1.0, 2.0], [1.5, 0.25, -0.75]], dtype=dtype))
    x = torch.linspace(-1, 1, 14, dtype=torch.float64).sin().reshape(7, 2).to(dtype)
    y = torch.linspace(-2, 2, 21, dtype=torch.float64).cos().reshape(7, 3).to(dtype)
    o = make([w])
    losses = []

    def closure():
        with torch.no_grad():
            z = torch.tanh(x @ w)
            loss = ((z - y) * (z - y).conj()).sum().real
            w.grad = x.t().conj() @ (2 * (z - y) * (1 - z * z).conj())
        losses.append(float(loss))
        return loss

    for _ in range(5):
        o.step(closure)
    real = torch.view_as_real(w) if w.is_complex() else w
    print(len(losses), ["%.8g" % v for v in losses[-3:]], ["%.8g" % v for v in real.flatten().tolist()])


fit(lambda p: optim.Adam(p, lr=torch.tensor(0.01), weight_decay=0.1))
fit(lambda p: optim.AdamW(p, lr=torch.tensor([0.01]), amsgrad=True))
fit(lambda p: optim.Adam(p, lr=torch.tensor(0.01), betas=(torch.tensor(0.8), torch.tensor(0.9))))
fit(lambda p: optim.SGD(p, lr=torch.tensor([[0.01]]), momentum=0.9))
fit(lambda p: optim.ASGD(p, lr=0.01, t0=2, weight_decay=0.1))
fit(lambda p: optim.ASGD(p, lr=0.01, t0=2, lambd=0.3, weight_decay=0.1, foreach=True))
fit(lambda p: optim.ASGD(p, lr=0.01, t0=2, lambd=0.3, maximize=True, foreach=True))
fit(lambda p: optim.LBFGS(p, max_iter=6, line_search_fn="strong_wolfe"))
fit(lambda p: optim.LBFGS(p, max_iter=20, max_eval=4, line_search_fn="strong_wolfe"))
fit(lambda p: optim.LBFGS(p, max_iter=20, max_eval=1, line_search_fn="strong_wolfe"))
fit(lambda p: optim.LBFGS(p, lr=0.01, max_iter=2, maximize=True))
fit(lambda p: optim.LBFGS(p, lr=0.1, max_iter=3), torch.complex128)
try:
    optim.LBFGS([torch.nn.Parameter(torch.ones(2))], lr=-1)
except ValueError as e:
    print(e)
