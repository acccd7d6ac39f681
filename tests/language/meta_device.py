# What is made on the device "meta" has no numbers and draws none: what is drawn after it is what it would be without it.
import torch
import torch.nn as nn


def draws(make):
    torch.manual_seed(5)
    with torch.no_grad():
        made = make()
    first = torch.rand(2).tolist()
    torch.manual_seed(5)
    return first != torch.rand(2).tolist(), made


def under(make):
    def run():
        with torch.device("meta"):
            return make()
    return run


def shown(t):
    return t.is_meta, t.is_cpu, str(t.device), tuple(t.shape)


makes = [lambda: torch.zeros(2).to("meta").normal_(), lambda: torch.randn_like(torch.empty(3, device="meta")),
         lambda: torch.empty(4, device="meta").uniform_(), lambda: nn.Linear(2, 3, device="meta").weight.data, lambda: torch.rand(3, device="cpu"),
         lambda: nn.init.trunc_normal_(torch.empty(3, device="meta")), lambda: nn.Embedding(3, 3, device=torch.device("meta")).weight.detach()[1:]]
for make in makes:
    drawn, made = draws(make)
    print(drawn, *shown(made))
layer = nn.Linear(2, 2)
for make in (lambda: nn.Linear(2, 2).bias, lambda: torch.rand(3), lambda: nn.init.normal_(layer.weight), lambda: torch.rand(3, device="cpu")):
    drawn, made = draws(under(make))
    print(drawn, *shown(made))
with torch.device("meta"):
    with torch.device("cpu"):
        print(*shown(torch.ones(1)))
    print(*shown(torch.ones(1)))
print(*shown(torch.ones(1)), *shown(nn.Linear(2, 2, device="meta").to_empty(device="cpu").weight), *shown(nn.Linear(2, 2).to("meta").weight))
for name in "cpu:1", "cuda:01", "cuda:", "cuda:-1", "hpu", "privateuseone:2", "nonsense", "cud":
    try:
        print(repr(torch.device(name)))
    except RuntimeError as e:
        print(e)
