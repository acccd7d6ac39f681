# torch.library: operators that a file defines, called by name and by what defines them; and other parts of PyTorch that constructors use.
import torch
import torch.nn as nn
from functorch import vmap
from torch import Tensor
from torch.nn.attention.flex_attention import create_mask


@torch.library.custom_op("mylib::mulsum", mutates_args=())
def mulsum(x: Tensor, ys: list[Tensor], s: float = 2.0, *, flag: bool = False) -> Tensor:
    out = x.clone()
    for y in ys:
        out = out + y * s
    return out.neg() if flag else out


@mulsum.register_fake
def _(x, ys, s=2.0, *, flag=False):
    return torch.empty_like(x)


@torch.library.custom_op("mylib::inc", mutates_args={"x"})
def inc(x: Tensor) -> None:
    x.add_(1)


torch.library.define("mylib::lin", "(Tensor x, Tensor w) -> Tensor")


@torch.library.impl("mylib::lin", "cpu")
def lin(x, w):
    return x @ w


lib = torch.library.Library("otherlib", "FRAGMENT")
lib.define("half(Tensor x) -> Tensor")
lib.impl("half", lambda x: x * 0.5, "CompositeExplicitAutograd")
x, y = torch.arange(4.0).view(2, 2), torch.ones(2, 2)
inc(y)
print(mulsum(x, [y, x]), torch.ops.mylib.mulsum(x, [y], 3.0, flag=True), torch.ops.mylib.lin.default(x, y), torch.ops.otherlib.half(x))
try:
    torch.library.custom_op("noname", mutates_args=())(lambda x: x)
except ValueError:
    print("ValueError")


@torch.library.custom_op("mylib::times", mutates_args=())
def times(x: Tensor, s: float = 2.0) -> Tensor:
    return x * s


times.register_autograd(lambda ctx, g: (g, None))
for call in (lambda: times(x, z=3.0), lambda: times(x, 3.0, s=4.0), lambda: times(x, 3.0, 4.0), lambda: times()):
    try:
        print(call())
    except RuntimeError:
        print("RuntimeError")


@torch.library.impl(lib, "half", "Meta")
def half(x):
    return torch.empty_like(x)


@torch.library.define(lib, "twice(Tensor x) -> Tensor")
def twice(x):
    return x * 2


@torch.library.custom_op("mylib::elsewhere", mutates_args=(), device_types="cuda")
def elsewhere(x: Tensor) -> Tensor:
    return x * 3


torch.library.register_kernel("mylib::elsewhere", None, lambda x: x - 3)
lib.define("plus(Tensor x, float a=2.0) -> Tensor")
torch.library.impl(lib, "plus", "CPU")(lambda x, a=2.0: x + a)
print(torch.ops.otherlib.plus(x), torch.ops.otherlib.twice(x), torch.ops.otherlib.half(x), elsewhere(x))
lib.define("third.Tensor(Tensor x) -> Tensor")
lib.impl("third.Tensor", lambda x: x / 3, "CompositeExplicitAutograd")
print(torch.ops.otherlib.third(x * 3), torch.ops.otherlib.third.Tensor(x), times(s=3.0, x=x), hasattr(torch.ops.otherlib, "fourth"))
print(vmap(torch.sum)(x))

print(issubclass(nn.BatchNorm1d, nn.modules.batchnorm._BatchNorm), nn.modules.conv._ConvNd in nn.Conv2d.mro(), nn.modules.Linear is nn.Linear)
net = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.ReLU()))
net.set_submodule("1.0", nn.GELU())
net.set_submodule("2", nn.Tanh())
print(net)
for target, module in (("1.zero.a", nn.ReLU()), ("0.weight", nn.ReLU()), ("", nn.ReLU()), ("0", 3)):
    try:
        net.set_submodule(target, module)
    except (AttributeError, ValueError) as e:
        print(type(e).__name__)
try:
    net.set_submodule("9", nn.ReLU(), strict=True)
except AttributeError as e:
    print(e)
seen = []
handle = net.register_load_state_dict_post_hook(lambda m, keys: seen.append(list(keys.missing_keys)))
net[0].register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
net.load_state_dict({"0.weight": torch.zeros(2, 2)})
handle.remove()
net.load_state_dict({})
print(seen, net[0].weight.sum().item())
seen = []
for name, m in net.named_modules():
    m.register_load_state_dict_post_hook(lambda m, keys, name=name: seen.append(name))
net.load_state_dict(net.state_dict())
print(seen, x.is_contiguous(memory_format=torch.preserve_format), x.t().is_contiguous(memory_format=torch.preserve_format))
torch.manual_seed(0)
with torch.device("meta"):
    nn.Linear(3, 3)
a, b = torch.rand(2), nn.utils.skip_init(nn.Linear, 2, 3, bias=False)
print(a, b.weight.shape, torch.rand(1))

for mod in (lambda s, b, h, q, k: torch.where(q >= k, s, -float("inf")), lambda b, h, q, k: q >= k):
    print(create_mask(mod, 1, None, 2, 3, device="cpu"))

torch.set_default_dtype(torch.float64)
print([t.dtype for t in (torch.zeros(2), torch.full((2,), 3), torch.full((2,), 3.0), torch.full((1,), 2j), torch.arange(3), torch.arange(3.0), nn.Linear(2, 2).weight,
                         torch.linspace(0, 1, 3), torch.randint(3, (2,)), torch.eye(2), torch.randperm(3), torch.hann_window(3), torch.full((2,), True),
                         torch.tensor([1.0]), torch.empty(2), torch.zeros(2, dtype=torch.int32), torch.randn(2), torch.arange(3).new_zeros(2))])


class Three:
    def __index__(self):
        return 3


print("ab" * Three(), [1] * Three(), Three() * (1, 2))
