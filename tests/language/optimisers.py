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


def said(f):
    try:
        return f()
    except Exception as e:
        return type(e).__name__ + ": " + str(e)


# Complex parameters are stepped as pairs of real numbers; the state is complex.
for make in (optim.Adam, optim.AdamW, optim.RMSprop, optim.Adagrad, optim.Adadelta, optim.Adamax, optim.NAdam, optim.RAdam, optim.Rprop, optim.ASGD,
             optim.Adafactor):
    w = torch.nn.Parameter(torch.tensor([1 + 2j, -0.5 + 1j]))
    o = make([w], lr=0.1)

    def steps():
        for i in range(3):
            w.grad = torch.tensor([1 - 1j * i, 0.3 + 2j])
            o.step()
        kept = {k: str(v.dtype) for k, v in o.state[w].items() if k != "step"}
        return ["%.6g" % v for v in torch.view_as_real(w.detach()).flatten().tolist()], kept

    print(make.__name__, said(steps))

# Parameters by name, state dicts with hooks, and what a constructor refuses.
a, b, c = (torch.nn.Parameter(torch.arange(1.0, n)) for n in (3, 4, 2))
o = optim.Adam([("a", a), ("b", b)], lr=0.1)
print(said(lambda: o.add_param_group({"params": [c]})), said(lambda: o.add_param_group({"params": [("c", c)], "lr": 0.5})))
print([(g["param_names"], g["lr"]) for g in o.state_dict()["param_groups"]])
o = optim.Adam([a, b], lr=0.1)
calls = []
o.register_state_dict_pre_hook(lambda opt: calls.append("before save"))
o.register_state_dict_post_hook(lambda opt, d: {**d, "extra": 1})
o.register_load_state_dict_pre_hook(lambda opt, d: calls.append(sorted(d)))
o.register_load_state_dict_pre_hook(lambda opt, d: calls.append("first"), prepend=True)
o.register_load_state_dict_post_hook(lambda opt: calls.append("after load"))
d = o.state_dict()
d["state"][0] = {"step": torch.tensor(5.0), "exp_avg": torch.ones(2, dtype=torch.float64), "exp_avg_sq": torch.ones(2)}
o.load_state_dict(d)
a.grad = torch.ones(2)
o.step()
print(calls, float(o.state[a]["step"]), o.state[a]["exp_avg"].dtype, a.detach())
for make in (lambda: optim.Adam([a], fused=True, differentiable=True), lambda: optim.SGD([a], fused=True, foreach=True),
             lambda: optim.Adam([a], lr=torch.tensor(0.1), foreach=True), lambda: optim.AdamW([a], betas=(torch.tensor(0.9), 0.99)),
             lambda: optim.RMSprop([a], lr=torch.ones(2)), lambda: optim.Adafactor([a], lr=-1), lambda: optim.SGD([a * 1], lr=0.1),
             lambda: optim.SGD([("a", a), b], lr=0.1), lambda: optim.SGD(a, lr=0.1), lambda: optim.SGD([3], lr=0.1)):
    print(said(make))
print(said(optim.SGD([a], lr=0.1, differentiable=True).step))

# State dicts of schedulers have PyTorch's entries.
schedule = optim.lr_scheduler
p = torch.nn.Parameter(torch.ones(1))
for make in (lambda o: schedule.StepLR(o, 2), lambda o: schedule.CosineAnnealingWarmRestarts(o, 3), lambda o: schedule.ReduceLROnPlateau(o),
             lambda o: schedule.OneCycleLR(o, 0.3, total_steps=9, three_phase=True), lambda o: schedule.CyclicLR(o, 0.1, 0.2),
             lambda o: optim.swa_utils.SWALR(o, 0.05, anneal_epochs=0),
             lambda o: schedule.SequentialLR(o, [schedule.LinearLR(o), optim.swa_utils.SWALR(o, 0.05, anneal_epochs=4)], [2]),
             lambda o: schedule.StepLR(3, 2), lambda o: schedule.OneCycleLR(o, [0.1, 0.2], total_steps=9)):
    o = optim.SGD([p], lr=0.5, momentum=0.9)

    def run():
        s, rates = make(o), [o.param_groups[0]["lr"]]
        for _ in range(4):
            o.step()
            s.step(*([1.0] if isinstance(s, schedule.ReduceLROnPlateau) else []))
            rates.append(o.param_groups[0]["lr"])
        kept = {k: v for k, v in s.state_dict().items() if k not in ("_schedulers", "_last_lr", "anneal_func")}
        return ["%.6g" % v for v in rates], {k: kept[k] for k in sorted(kept)}

    print(said(run))

# update_bn: the plain mean over a loader's batches
from torch.optim.swa_utils import update_bn
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
batches = [(torch.randn(8, 3), 0) for _ in range(3)]
net(batches[0][0])
net.eval()
update_bn(batches, net)
print(net.training, net[1].running_mean, net[1].running_var, net[1].num_batches_tracked, net[1].momentum)
update_bn((x for x, _ in batches[:2]), net, device="cpu")
print(net[1].running_var, net[1].num_batches_tracked)
