# torch.func and torch._higher_order_ops in a model: each output is True where the transform gives what the plain form of the same sum gives.
load common

# holds FILE:Class N SIZES: each of the N outputs is one True, at two sizes where SIZES are symbols.
holds() {
    tc-export "$1" --input "x=$3xf32" -o m.pt2
    for shape in 3x2 $([ "$3" = 3x2 ] || echo 5x4); do
        tc-run m.pt2 --input "x=${shape}xf32=0.75" --to safetensors -o out.safetensors
        [ "$(tail -c "$2" out.safetensors | od -An -v -tu1 | tr -d ' \n')" = "$(printf '1%.0s' $(seq "$2"))" ]
    done
}

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >head.py <<'PY'
import torch
from torch import nn
from torch._higher_order_ops import associative_scan
from torch._higher_order_ops.map import map as tmap
from torch._higher_order_ops.scan import scan
from torch.func import functional_call, grad, hessian, jacfwd, jacrev, jvp, linearize, stack_module_state, vmap


def near(a, b):
    return ((a - b).abs() < 1e-4).all()


class Base(nn.Module):
    def near(self, x, f, g):
        # f and g agree on x, and so do the gradients of their squares
        x = (x * torch.arange(1, x.shape[0] + 1)[:, None] / 4).detach().requires_grad_()
        with torch.enable_grad():
            a, b = f(x), g(x)
            da, db = [torch.autograd.grad(y.pow(2).sum(), x)[0] for y in (a, b)]
        return near(a, b), near(da, db)
PY
}

# same_gradients_of_archive DETACHED ARGUMENT...: n.py:Net's gradients are those of its archive, which holds DETACHED aten.detach.
same_gradients_of_archive() {
    tc-export n.py:Net --input x=2x3xf32 -o n.pt2
    tc-export n.py:Net --input x=2x3xf32 --joint -o source.pt2
    tc-export n.pt2 --joint -o archive.pt2
    [ "$(tc-export n.pt2 --print | grep -c aten.detach)" -eq "$1" ]
    for name in source archive; do
        tc-run $name.pt2 --input x=2x3xf32=1,2,3,4,5,6 --input tangents.out.0=2x3xf32=1,0,2,1,3,1 "${@:2}" --to safetensors -o $name.safetensors
    done
    cmp source.safetensors archive.safetensors
}

@test "the mask of attention gets its gradient in an archive, whose inputs say nothing of gradients" {
    cd "$BATS_TEST_TMPDIR"
    cat >n.py <<'PY'
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        y = x[None, None]
        return torch.nn.functional.scaled_dot_product_attention(y, y, y, (x[:, :2] * 2)[None, None])[0, 0]
PY
    same_gradients_of_archive 0
}

@test "a second torch.autograd.grad through tensors that the first freed is refused at its line, as PyTorch refuses it" {
    cd "$BATS_TEST_TMPDIR"
    model() { # y, then how the first gradient is asked for, then what the second is of
        printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        x = x.requires_grad_()\n        h = x.exp()\n        y = %s\n' "$1" >m.py
        printf '        g, = torch.autograd.grad(y.sum(), x%s)\n        return g + torch.autograd.grad(%s, x)[0]\n' "$2" "$3" >>m.py
    }
    again="Trying to backward through the graph a second time: the tensors that m.py"
    model "h * h" "" "y.sum()"
    fails 3 "m.py:8:35: RuntimeError: $again:6 kept" tc-export m.py:M --input x=3xf32 --print
    model "torch.nn.functional.mse_loss(x + 1, x.detach())" "" "y.sum()"
    fails 3 "m.py:8:35: RuntimeError: $again:6 kept" tc-export m.py:M --input x=3xf32 --print
    model "h + 1" ", retain_graph=False" "(h - 1).sum()"
    fails 3 "m.py:8:35: RuntimeError: $again:5 kept" tc-export m.py:M --input x=3xf32 --print
    for retain in ", retain_graph=True" ", create_graph=True"; do
        model "h * h" "$retain" "y.sum()"
        tc-export m.py:M --input x=3xf32 --print | grep -q 'aten.add.Tensor'
    done
    model "(x + 1).view_as(x.detach()).view(1, -1).mean(1)" "" "y.sum()" # nothing is kept for it
    tc-export m.py:M --input x=3xf32 --print | grep -q 'aten.add.Tensor'
    model "h * h" "" "x.sin().sum()"
    tc-export m.py:M --input x=3xf32 --print | grep -q 'aten.add.Tensor'
}

@test "scan, associative_scan and map equal the sums they spell, with gradients" {
    { cat head.py; cat <<'PY'; } >m.py
class M(Base):
    def forward(self, x):
        def add(c, v):
            return c + v, (c + v) * 1
        start = torch.zeros(x.shape[1])
        side = torch.zeros(x.shape[0])
        pair = lambda l, r: (l[0] * r[0], l[1] * r[0] + r[1])
        return (
            self.near(x, lambda t: scan(add, start, t)[1], lambda t: t.cumsum(0)),
            self.near(x, lambda t: scan(add, start, t)[0], lambda t: t.sum(0)),
            self.near(x, lambda t: scan(add, side, t, dim=1, reverse=True)[1], lambda t: t.flip(1).cumsum(1).flip(1)),
            self.near(x, lambda t: scan(lambda c, _: (c * 2, c + 0), t, None, length=3)[0], lambda t: t * 8),
            self.near(x, lambda t: associative_scan(torch.add, t, 0), lambda t: t.cumsum(0)),
            self.near(x, lambda t: associative_scan(torch.mul, t, -1, reverse=True, combine_mode="generic"), lambda t: t.flip(1).cumprod(1).flip(1)),
            self.near(x, lambda t: associative_scan(pair, (t * 0 + 0.5, t), 0)[1], lambda t: scan(lambda c, v: (c * 0.5 + v, c * 0.5 + v + 0), start, t)[1]),
            self.near(x, lambda t: tmap(lambda r, k: r.sin() * k, t, t[0]), lambda t: t.sin() * t[0]),
        )
PY
    holds m.py:M 16 TxB
}

@test "what scan, vmap and grad refuse names the function and the sizes" {
    { cat head.py; cat <<'PY'; } >m.py
class Carry(nn.Module):
    def forward(self, x):
        return scan(lambda c, v: (torch.cat([c, v]), v), x[0], x)
class Sizes(nn.Module):
    def forward(self, x):
        return vmap(lambda a, b: a + b)(x, torch.ones(7, 2))
class Scalar(nn.Module):
    def forward(self, x):
        return grad(lambda v: v * 2)(x)
class Draw(nn.Module):
    def forward(self, x):
        return vmap(lambda a: a + torch.rand_like(a), randomness=self.mode)(x)
    def __init__(self, mode="error"):
        super().__init__()
        self.mode = mode
class Number(nn.Module):
    def forward(self, x):
        return vmap(lambda a: 3)(x)
PY
    fails 3 "m.py:23:16: RuntimeError: scan: the carry must keep its metadata: init is torch.float32[2], the new carry torch.float32[4]" tc-export m.py:Carry --input x=3x2xf32 -o m.pt2
    fails 3 "same size in the mapped dimension, got sizes [3, 7]" tc-export m.py:Sizes --input x=3x2xf32 -o m.pt2
    fails 3 "m.py:29:16: RuntimeError: grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with 2 dims" tc-export m.py:Scalar --input x=3x2xf32 -o m.pt2
    fails 3 "vmap: called random operation while in randomness error mode" tc-export m.py:Draw --input x=3x2xf32 -o m.pt2
    fails 3 "randomness='same' is not part of the model language" tc-export m.py:Draw --arg 'mode="same"' --input x=3x2xf32 -o m.pt2
    tc-export m.py:Draw --arg 'mode="different"' --input x=3x2xf32 -o m.pt2
    fails 3 "must only return Tensors, got type <class 'int'>" tc-export m.py:Number --input x=3x2xf32 -o m.pt2
}

@test "Jacobians of several results, auxiliary values, linearize, and stacked states as leaves" {
    { cat head.py; cat <<'PY'; } >m.py
class M(Base):
    def __init__(self):
        super().__init__()
        self.ms = nn.ModuleList(nn.Linear(1, 1) for _ in range(3))

    def forward(self, x):
        x = x[:, :1]
        both, aux = jacrev(lambda v: ({"s": v.sin(), "t": v.sum()}, v * 2), has_aux=True)(x)
        out, push = linearize(torch.sin, x)
        moved = vmap(lambda v, k: (v * k, v.sum()), in_dims=(0, None), out_dims=(1, 0))(x, torch.full((1,), 2.0))
        params, _ = stack_module_state(list(self.ms))
        with torch.enable_grad():
            y = vmap(lambda p, v: functional_call(self.ms[0], p, (v,)), in_dims=(0, None))(params, x)
            g = torch.autograd.grad(y.sum(), params["weight"])[0]
        return (
            near(both["s"][0, 0, 0, 0], x[0, 0].cos()),
            near(both["t"], torch.ones_like(x)),
            near(aux, x * 2),
            near(push(x), x.cos() * x),
            near(moved[0], x.t() * 2),
            near(g, x.sum().expand(3, 1, 1)),
        )
PY
    holds m.py:M 6 3x2
}

@test "backward hooks of modules: before, behind, on no input with a history, for all modules; taken away they are gone" {
    cat >h.py <<'PY'
import torch
from torch import nn
from torch.nn.modules.module import register_module_full_backward_pre_hook


class Two(nn.Module):
    def forward(self, a, k, b):
        return a * b, a + k


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.l, self.two = nn.Linear(1, 1), nn.Linear(1, 1), Two()
        for m in (self.f, self.l):
            nn.init.constant_(m.weight, 2.0)
            nn.init.zeros_(m.bias)
        self.l.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3 + go[0],))
        self.l.register_full_backward_pre_hook(lambda m, go: (go[0] * 0.5,))
        self.l.register_full_backward_hook(lambda m, gi, go: None)
        self.l.register_full_backward_hook(lambda m, gi, go: (gi[0] * 0,)).remove()
        self.two.register_full_backward_hook(lambda m, gi, go: (gi[0] + go[1] * 100, None, gi[2]))

    def forward(self, x):
        with torch.no_grad():
            self.l(x)
        y = self.l(self.f(x))
        a, b = self.two(y, 1, y.detach())
        return b + a * 0


class Everywhere(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(1, 1)
        nn.init.ones_(self.f.weight)
        self.handle = register_module_full_backward_pre_hook(lambda m, go: (go[0] * 10,) if m is self.f else None)

    def forward(self, x):
        return self.f(x)
PY
    tc-export h.py:Net --input x=1x1xf32 --joint -o j.pt2
    # the tangent 4 reaches two as (0, 4): 4 + 100 * 4; halved before l: 202; behind it 3 * 2 * 202 + 202
    tc-run j.pt2 --input x=1x1xf32=5 --input tangents.out.0=1x1xf32=4 --output grad.l.bias=@b.npy --output grad.f.bias=@f.npy --output grad.f.weight=@w.npy
    printf 'from torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n        return x * 1\n' >m.py
    tc-export m.py:M --input x=Nxf32 -o m.pt2
    tc-run m.pt2 --input x=@b.npy --expect @<(tc-run m.pt2 --input x=1xf32=202)
    tc-run m.pt2 --input x=@f.npy --expect @<(tc-run m.pt2 --input x=1xf32=1414)
    tc-export h.py:Everywhere --input x=1x1xf32 --joint -o e.pt2
    tc-run e.pt2 --input x=1x1xf32=5 --input tangents.out.0=1x1xf32=4 --output grad.f.bias=@b.npy --output 0=@y.npy
    tc-run m.pt2 --input x=@b.npy --expect @<(tc-run m.pt2 --input x=1xf32=40)
}

@test "backward hooks leave masks masks; hooks of all modules that forward adds end with its capture" {
    cat >h.py <<'PY'
import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook


class Masked(nn.Module):
    def forward(self, x, m):
        return x.masked_fill(m, 0.0), m


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.k = nn.Linear(1, 1), Masked()
        nn.init.ones_(self.f.weight)
        nn.init.zeros_(self.f.bias)
        self.k.register_full_backward_hook(lambda m, gi, go: (gi[0] * 3, gi[1]))

    def forward(self, x):
        y, m = self.k(self.f(x), x > 100)
        return torch.where(m, 0.0, y)


class Adds(Net):
    def forward(self, x):
        register_module_forward_hook(lambda m, i, o: o * 2 if m is self.f else None)
        return self.f(x + self.training)
PY
    tc-export h.py:Net --input x=1x1xf32 --joint -o j.pt2
    tc-run j.pt2 --input x=1x1xf32=5 --input tangents.out.0=1x1xf32=4 --output grad.f.bias=@b.npy
    [ "$(tail -c 4 b.npy | od -An -tf4 | tr -d " ")" = 12 ]
    tc-export h.py:Adds --input x=1x1xf32 -o a.pt2
    for want in model:10 train:12; do
        tc-run a.pt2 --model ${want%:*} --input x=1x1xf32=5 -o y.npy
        [ "$(tail -c 4 y.npy | od -An -tf4 | tr -d " ")" = ${want#*:} ]
    done
}

@test "what stands in a no_grad region has no gradient in an archive either" {
    cat >n.py <<'PY'
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 3)

    def forward(self, x):
        with torch.no_grad():
            a, b, c = self.f(x).chunk(3, 1)
            t = torch.cat([a + b, c], 1)
        return self.f(x) * t.sum() + a
PY
    same_gradients_of_archive 2
}

@test "autograd.grad has a history only with create_graph; what it differentiates keeps its own" {
    cat >once.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self, create):
        super().__init__()
        self.create = create
        self.w = nn.Parameter(torch.full((1,), 3.0))
        self.l = nn.Linear(1, 1, bias=False)
        with torch.no_grad():
            self.l.weight.fill_(5)

    def forward(self, x):
        z = x * self.w
        y = self.l(z)
        g, = torch.autograd.grad((y * y).sum(), z, create_graph=self.create, retain_graph=True)
        return (z * g + y).sum()
PY
    for create in False True; do # x = 2, z = 6, y = 30, g = 2 * 25 z = 300; y alone gives w 5 x = 10
        tc-export once.py:M --arg create=$create --input x=1xf32 -o once.pt2
        for model in once.py:M\ --arg\ create=$create\ --input\ x=1xf32 once.pt2; do
            tc-export $model --joint=out.0 -o joint.pt2
            tc-run joint.pt2 --input x=1xf32=2 --output grad.w=@g.npy
            [ "$(tail -c 4 g.npy | od -An -tf4 | tr -d ' ')" = "$([ $create = True ] && echo 1210 || echo 610)" ]
        done
    done
}

@test "what is returned from a no_grad region, and what stands in one in a branch, has no gradient in an archive" {
    cat >n.py <<'PY'
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Linear(3, 3)

    def forward(self, x):
        def yes(x):
            with torch.no_grad():
                a, b = self.f(x), self.f(x) * 2
            return a * self.f(x), b

        with torch.no_grad():
            t = self.f(x)
        a, b = torch.cond(x.sum() > 0, yes, lambda x: (x * 1, x * 2), (x,))
        return self.f(x) + a * b, t
PY
    same_gradients_of_archive 3 --input tangents.t=2x3xf32=3,1,4,1,5,9
}

@test "branches and bodies use numbers and sizes from data around them, and one operand twice; they may not write to what is outside" {
    { cat head.py; cat <<'PY'; } >m.py
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))

    def forward(self, x):
        k = (x > 0).sum().item()  # all of them
        r = x.sum().item()
        few = x[x > 0]
        both = torch.cond(x.sum() > 0, lambda a, b: a + b * k, lambda a, b: a * b, (x, x))
        away = torch.cond(x.sum() < 0, lambda a: a * k, lambda a: a - r, (x,))
        size = torch.cond(x.sum() > 0, lambda a: a * few.shape[0] + torch.arange(k).sum(), lambda a: a + 0, (x,))
        nested = torch.cond(x.sum() > 0, lambda a: torch.cond(a.sum() > 1e9, lambda b: b + k, lambda b: b - k, (a,)), lambda a: a + 0, (x,))
        i, y = torch.while_loop(lambda i, y: i < k, lambda i, y: (i + 1, y + i * r), (torch.tensor(0), x))
        z = torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y + few[: k - 1].sum()), (torch.tensor(0), x))[1]
        s = scan(lambda c, v: (c + v * k, v - r), x[0], x)
        n = x.numel()
        return (
            near(both, x + x * n),
            near(away, x - x.sum()),
            near(size, x * n + n * (n - 1) / 2),
            near(nested, x - n),
            near(i, n + x[0, 0] * 0),
            near(y, x + x.sum() * n * (n - 1) / 2),
            near(z, x + 3 * x.flatten()[: n - 1].sum()),
            near(s[0], x[0] + x.sum(0) * n),
            near(s[1], x - x.sum()),
        )


class Writes(M):
    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda a: self.n.add_(1) + a, lambda a: a - self.n, (x,))


class Operand(M):
    def forward(self, x):
        return torch.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, y[:1].mul_(2) + y), (torch.tensor(0), x))[1]


class Own(M):
    def forward(self, x):
        def branch(a):
            b = a * 1
            b[0].add_(1)
            return b

        y = torch.cond(x.sum() > 0, branch, lambda a: a * 1, (x,))
        return near(y[0], x[0] + 1), near(y[1:], x[1:])
PY
    holds m.py:M 9 TxB
    tc-compile m.pt2 -o c.pt2
    tc-run c.pt2 --input x=3x2xf32=0.75 --to safetensors -o c.safetensors
    tc-run m.pt2 --input x=3x2xf32=0.75 --to safetensors -o out.safetensors
    cmp c.safetensors out.safetensors
    tc-export m.pt2 -o again.pt2
    tc-run again.pt2 --input x=3x2xf32=0.75 --to safetensors -o again.safetensors
    cmp again.safetensors out.safetensors
    holds m.py:Own 2 TxB
    fails 3 "torch.cond: a branch or body may not write to a tensor from outside of it: b_n" tc-export m.py:Writes --input x=3x2xf32 -o w.pt2
    fails 3 "torch.while_loop: a branch or body may not write to a tensor from outside of it" tc-export m.py:Operand --input x=3x2xf32 -o w.pt2
}

@test "custom functions: one inside the forward of another needs no backward, a gradient may be None, operands may be written and marked dirty" {
    { cat head.py; cat <<'PY'; } >m.py
class Round(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        raise RuntimeError("called")


class Straight(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, scale):
        assert not torch.is_grad_enabled()
        ctx.save_for_backward(scale)
        return Round.apply(x * scale)

    @staticmethod
    def backward(ctx, g):
        (scale,) = ctx.saved_tensors
        return g * scale, None


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.full((2,), 1.5))

    def forward(self, x):
        return Straight.apply(self.w, x)


class Less(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, y):
        x -= x.max()
        y.mul_(x).add_(3)
        ctx.save_for_backward(x, y)
        ctx.mark_dirty(y)
        return x.sum(), y

    @staticmethod
    def backward(ctx, g, h):
        x, y = ctx.saved_tensors
        return g + h * y, h * x


class Writes(M):
    def forward(self, x):
        a, b = self.w * x, self.w + x
        view = b[1:]
        total, c = Less.apply(a, b)
        assert c is b
        return torch.cat([total[None], a, b, view]), a * view
PY
    tc-export m.py:Writes --input x=2xf32 --joint -o w.pt2
    tc-run w.pt2 --input x=2xf32=3,5 --input tangents.out.0=6xf32=1,10,100,1000,1e4,1e5 --input tangents.out.1=2xf32=2,-1 --output 0=@0.npy --output 1=@1.npy --output grad.w=@g.npy
    [ "$(for f in 0.npy 1.npy g.npy; do tail -c +129 $f | od -An -w24 -tf4 | xargs; done | paste -sd,)" = "-3 -3 0 -10.5 3 3,-9 0,-34449 1.6504e+06" ]
    tc-export m.py:M --input x=2xf32 -o m.pt2
    tc-export m.pt2 --joint -o j.pt2
    tc-run j.pt2 --input x=2xf32=3,5 --input tangents.out.0=2xf32=1,10 --output 0=@y.npy --output grad.w=@g.npy
    [ "$(cat <(tail -c 8 y.npy) <(tail -c 8 g.npy) | od -An -tf4 | xargs)" = "4 8 3 50" ]
}

@test "custom functions: backward() recomputes with tensors of its own, and adds to the gradients of parameters" {
    { cat head.py; cat <<'PY'; } >m.py
class Reversible(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, f, g, n):
        a, b = x.chunk(2, 1)
        for _ in range(n):
            a = a + f(b)
            b = b + g(a)
        ctx.y, ctx.parts = torch.cat([a, b], 1).detach(), (f, g, n)
        return ctx.y

    @staticmethod
    def backward(ctx, dy):
        f, g, n = ctx.parts
        (y1, y2), (d1, d2) = ctx.y.chunk(2, 1), dy.chunk(2, 1)
        for _ in range(n):
            with torch.enable_grad(), torch.random.fork_rng(devices=[]):
                y1.requires_grad = True
                gy1 = g(y1)
                torch.autograd.backward(gy1, d2)
            with torch.no_grad():
                x2 = y2 - gy1
                d1 = d1 + y1.grad
                y1.grad = None
            with torch.enable_grad():
                x2.requires_grad = True
                fx2 = f(x2)
                fx2.backward(d1, retain_graph=True, inputs=[x2, *f.parameters()])
            with torch.no_grad():
                d2 = d2 + x2.grad
                y1, y2 = y1 - fx2, x2.detach()
        return torch.cat([d1, d2], 1), None, None, None


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.f, self.g = nn.Sequential(nn.Linear(3, 3), nn.Tanh()), nn.Sequential(nn.LayerNorm(3), nn.Linear(3, 3))
        self.scale = nn.Parameter(torch.full((3,), 0.5))

    def plain(self, x, w):
        a, b = x.chunk(2, 1)
        for _ in range(2):
            a = a + self.f(b)
            b = b + self.g(a) * w
        return torch.cat([a, b], 1)

    def forward(self, x):
        w, all = self.scale.exp(), list(self.parameters())
        x = x.requires_grad_()
        y = Reversible.apply(x, self.f, lambda t: self.g(t) * w, 2)
        got = torch.autograd.grad((y * y).sum(), [x, *all], retain_graph=True)
        y = self.plain(x, w)
        want = torch.autograd.grad((y * y).sum(), [x, *all])
        return torch.stack([((a - b).abs() < 1e-4).all() for a, b in zip(got, want)]).all()


class Drops(M):
    def __init__(self, p):
        super().__init__()
        self.f = nn.Dropout(p)

    def forward(self, x):
        return Reversible.apply(x.requires_grad_(), self.f, self.g, 1).sum()


class Refused(M):
    def forward(self, x):
        self.f(x).sum().backward()
        return x.grad
PY
    tc-export m.py:M --input x=Bx6xf32 --mode train -o m.pt2
    tc-run m.pt2 --input x=2x6xf32=0.1,-0.2,0.3,0.4,0.5,-0.6,0.7,0.8,0.9,1,-1.1,1.2 --output 0=@y.npy
    [ "$(tail -c 1 y.npy | od -An -tu1 | xargs)" = 1 ]
    tc-export m.py:Drops --arg p=0.0 --input x=2x6xf32 --mode train --joint -o d.pt2
    fails 3 "in a backward that sets the generator's state does not draw what its forward drew" tc-export m.py:Drops --arg p=0.5 --input x=2x6xf32 --mode train --joint -o d.pt2
    fails 3 "backward() is what tc-train does: inside forward use torch.autograd.grad" tc-export m.py:Refused --input x=2x3xf32 -o r.pt2
}

@test "--joint of sizes from data: every partition, and sizes that are sums" {
    cat >m.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, x, b):
        y = x / torch.bincount(b, minlength=x.shape[0]).clamp(min=1).view(-1, 1)
        few = y[x > 0].exp()
        k = int(b.max()) + 1
        return y.new_zeros(k, 2).index_add(0, b, y) * few.sum(), few
PY
    tc-export m.py:M --input x=Nx2xf32 --input b=Nxi64 -o m.pt2
    input=(--input x=3x2xf32=1,-1,2,-2,3,-3 --input b=3xi64=0,1,1)
    back=(--input tangents.out.0=2x2xf32=1,2,3,4 --input tangents.few=3xf32=1,2,3)
    tc-export m.pt2 --joint -o j.pt2
    tc-run j.pt2 "${input[@]}" "${back[@]}" --output 0=@y.npy --output grad.x=@g.npy --output few=@f.npy
    tc-run m.pt2 "${input[@]}" --expect 0=@y.npy --expect few=@f.npy
    fails 3 "these sizes break a condition of the program: T1 == u0" tc-run j.pt2 "${input[@]}" --input tangents.out.0=2x2xf32=1 --input tangents.few=4xf32=1 --output grad.x=@no.npy
    for policy in save-all recompute-all min-cut; do
        tc-export m.pt2 --joint --partition "$policy" -o p.pt2
        tc-run p.pt2 --model forward "${input[@]}" --to safetensors -o saved.safetensors
        tc-run p.pt2 --model backward --input @saved.safetensors "${back[@]}" --output grad.x=@again.npy
        cmp again.npy g.npy
    done
}

@test "an error of a branch or custom function that the model catches leaves the capture where the try stands" {
    { cat head.py; cat <<'PY'; } >m.py
class Fails(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        raise RuntimeError("not today")

    @staticmethod
    def backward(ctx, g):
        return g


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(2))
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        try:
            y = torch.cond(x.sum() > 0, lambda a: self.n.add_(1) + a, lambda a: a - self.n, (x,))
        except RuntimeError:
            y = x * 2
        try:
            z = Fails.apply(self.w * x)
        except RuntimeError:
            z = self.w * x
        assert z.requires_grad
        return near(y, x * 2), near(z, x), near(self.n, x[0] * 0)
PY
    holds m.py:M 3 3x2
}

@test "a gradient that comes to a custom function in another order of memory is laid as its capture took it" {
    cat >o.py <<'PY'
import torch
from torch import nn


class Pad(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x.new(x.size(0), x.size(1) + 1).fill_(0)
        out.narrow(1, 1, x.size(1)).copy_(x)
        return out

    @staticmethod
    def backward(ctx, g):
        assert g.is_contiguous()
        return g.view(-1).view(g.shape).narrow(1, 1, g.size(1) - 1) * 2


class M(nn.Module):
    def forward(self, x):
        return Pad.apply(x).t().contiguous()


class W(nn.Module):
    def forward(self, t):
        return t.t()[:, 1:] * 2
PY
    tc-export o.py:M --input x=Bx3xf32 --mode train --joint -o j.pt2
    tc-export o.py:W --input t=4xBxf32 -o w.pt2
    tc-run j.pt2 --input x=2x3xf32=1 --input tangents.out.0=4x2xf32=1,2,3,4,5,6,7,8 --output out.0=@y.npy --output grad.x=@g.npy
    tc-run w.pt2 --input t=4x2xf32=1,2,3,4,5,6,7,8 --expect @g.npy
}

@test "a custom function whose backward cannot be captured computes its forward; who asks for gradients gets the message" {
    { cat head.py; cat <<'PY'; } >m.py
class Half(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.state = None
        return x / 2

    @staticmethod
    def backward(ctx, g):
        return g * len(ctx.state)


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        y = Half.apply(self.w * x)
        return y if self.training else near(y, x / 2)
PY
    holds m.py:M 1 3x2
    fails 3 "the backward of an autograd.Function cannot be captured: m.py:29:20: TypeError: object of type" tc-export m.py:M --input x=Bx2xf32 --mode train --joint -o j.pt2
}

@test "what is computed of torch.tensor(NUMBER) alone is known to branches and indices, until a write through any of its views" {
    { cat head.py; cat <<'PY'; } >m.py
class M(nn.Module):
    def forward(self, x):
        n = torch.ceil(torch.as_tensor(x.shape[1] / 1.5)).long()
        n += 1
        y = x[:, : n - 2] * 2 if n == 3 else x
        pair = torch.tensor([1, 2])
        pair[:1].add_(5)
        other = torch.tensor([1, 2])
        other.unbind()[1].fill_(9)
        same = (pair == torch.tensor(pair.tolist())).all(), (torch.tensor([1, 9]) == torch.tensor(other.tolist())).all()
        return torch.tensor(y.shape[1] == 1), near(y, x[:, :1] * 2), *same
PY
    holds m.py:M 4 3x2
}

@test "gradients of while_loop, none to many steps, and of loops, scans, maps and branches within each other, are those of the steps written out" {
    cat >loops.py <<'PY'
import torch
from torch._higher_order_ops.map import map
from torch._higher_order_ops.scan import scan


def loop(x, w, n):
    step = lambda i, v: (i + 1, torch.sin(v) * w + v)
    return torch.while_loop(lambda i, v: i < n, step, (torch.zeros((), dtype=torch.int64), x))[1]


def steps(x, w, n):
    for _ in range(n):
        x = torch.sin(x) * w + x
    return x


def twice(f, x):
    return torch.while_loop(lambda i, v: i < 2, lambda i, v: (i + 1, f(v, i)), (torch.zeros((), dtype=torch.int64), x))[1]


def comb(c, t, w):
    return c * t + w, c + t


def scanned(v, w):
    ys = []
    for t in (w, w * 0.1):
        v, y = comb(v, t, w)
        ys.append(y)
    return v + torch.stack(ys).mean(0)


def scans(v, w):
    c, y = scan(lambda c, t: comb(c, t, w), v, torch.stack([w, w * 0.1]))
    return c + y.mean(0)


def branch(v, w):
    return torch.cond(v.sum() > 7, lambda v, w: v * w, lambda v, w: torch.exp(v * 0.1) + w, (v, w))


def chosen(v, w):
    return torch.where(v.sum() > 7, v * w, torch.exp(v * 0.1) + w)


def outer(x, w, inner):
    c = x
    y = 0
    for t in (x, w):
        c = inner(c, w, 2) * 0.5 + t
        y = y + c * w
    return c + y


def first(f):
    def g(x, w):
        y = f(x, w)
        return torch.autograd.grad((y * y).sum(), [x], create_graph=True)[0]
    return g


def scan_of_loops(x, w):
    def step(c, t):
        c = loop(c, w, 2) * 0.5 + t
        return c, c * w
    c, y = scan(step, x, torch.stack([x, w]))
    return c + y.sum(0)


PAIRS = [
    (lambda x, w: loop(x, w, (x.sum() * 0).long()) * w, lambda x, w: x * w),
    (lambda x, w: loop(x, w, 5), lambda x, w: steps(x, w, 5)),
    (lambda x, w: twice(lambda v, i: loop(v, w, i + 1), x), lambda x, w: steps(x, w, 3)),
    (lambda x, w: twice(lambda v, i: branch(v, w), x), lambda x, w: chosen(chosen(x, w), w)),
    (lambda x, w: twice(lambda v, i: scans(v, w), x), lambda x, w: scanned(scanned(x, w), w)),
    (lambda x, w: torch.cond(x.sum() > 0, lambda x, w: loop(x, w, 3), lambda x, w: x * w, (x, w)), lambda x, w: steps(x, w, 3)),
    (scan_of_loops, lambda x, w: outer(x, w, steps)),
    (lambda x, w: map(lambda t, w: branch(loop(t, w, 2), w), torch.stack([x, w]), w), lambda x, w: torch.stack([chosen(steps(t, w, 2), w) for t in (x, w)])),
    (first(lambda x, w: loop(x, w, 3)), first(lambda x, w: steps(x, w, 3))),
]


class M(torch.nn.Module):
    def forward(self, x, w):
        x = x.clone().requires_grad_()
        w = w.clone().requires_grad_()
        far = []
        for a, b in PAIRS:
            both = []
            for f in (a, b):
                y = f(x, w)
                both.append([y] + list(torch.autograd.grad((y * y).sum(), [x, w])))
            far.append(torch.stack([(p - q).abs().max() / q.abs().max() for p, q in zip(*both)]))
        return torch.stack(far) < 1e-13


class Unchanged(torch.nn.Module):
    def forward(self, x, n):
        a = torch.while_loop(lambda i, a: i < n, lambda i, a: (i + 1, a * 2), (torch.zeros((), dtype=torch.int64), x * 3))[1]
        return a, x * 7, x * 8
PY
    tc-export loops.py:M --input x=3xf64 --input w=3xf64 -o m.pt2
    tc-run m.pt2 --input x=3xf64=1,2,3 --input w=3xf64=0.5,1,2 --output @far.npy
    [ "$(tail -c 27 far.npy | od -An -v -tu1 | tr -s ' \n' '\n' | grep -c 1)" = 27 ]
    tc-export loops.py:Unchanged --input x=2xf32 --input n=i64 -o u.pt2
    tc-run u.pt2 --input x=2xf32=1,2 --input n=i64=0 --output 0=@u.npy
    [ "$(tail -c 8 u.npy | od -An -v -tf4 | xargs)" = "3 6" ]
}

@test "torch.vmap is that of torch.func, and refuses sizes that data decide" {
    cat >v.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        return torch.vmap(torch.dot, in_dims=(0, 1))(x, x)
class U(torch.nn.Module):
    def forward(self, x):
        return torch.vmap(lambda t: torch.unique(t).sum())(x)
PY
    tc-export v.py:M --input x=2x2xf32 -o v.pt2
    tc-run v.pt2 --input x=2x2xf32=1,2,3,4 --output @v.npy
    [ "$(tail -c 8 v.npy | od -An -v -tf4 | xargs)" = "7 22" ]
    fails 3 "v.py:7:22: RuntimeError: vmap: We do not support batching operators that can output dynamic shape. Attempted to vmap over aten._unique2" \
        tc-export v.py:U --input x=2x2xf32 --print
}

@test "forward mode of as_strided_scatter is linear in both arguments; backward mode has PyTorch's gradient" {
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        put = lambda a: torch.as_strided_scatter(a * a, a[:2], (2,), (2,), 1)
        rate = torch.func.jvp(put, (x,), (torch.ones(5),))[1]
        return torch.stack([rate, torch.func.vjp(put, x)[1](torch.ones(5))[0], torch.func.jacrev(put)(x).sum(1)])
PY
    tc-export m.py:M --input x=5xf32 -o m.pt2
    tc-run m.pt2 --input x=5xf32=1,2,3,4,5 --output @y.npy
    [ "$(tail -c 60 y.npy | od -An -v -tf4 -w60 | xargs)" = "2 1 6 1 10 1 5 0 8 0 0 5 0 9 0" ]
}

@test "vmap takes combinations whose number the sizes say, and dropout that draws nothing" {
    cat >v.py <<'PY'
import torch
import torch.nn.functional as F
class M(torch.nn.Module):
    def forward(self, x):
        rows = torch.vmap(lambda t: torch.combinations(t, r=1))(x), torch.vmap(torch.combinations)(x)
        for p, drop in (1.0, F.dropout3d), (0.0, F.dropout1d), (1.0, F.dropout), (1.0, F.alpha_dropout):
            rows += (torch.vmap(lambda t: drop(t, p=p))(x[:, None, None, None] if drop is F.dropout3d else x[:, None] if drop is F.dropout1d else x),)
        return torch.stack([t.sum() for t in rows])
class Draw(torch.nn.Module):
    def forward(self, x):
        return torch.vmap(lambda t: F.dropout3d(t, p=0.5))(x[:, None, None, None])
PY
    tc-export v.py:M --input x=2x3xf32 -o v.pt2
    tc-run v.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output @v.npy
    [ "$(tail -c 24 v.npy | od -An -v -tf4 -w24 | xargs)" = "21 42 0 21 0 21" ]
    fails 3 "called random operation while in randomness error mode" tc-export v.py:Draw --input x=2x3xf32 -o v.pt2
}

@test "a gradient that needs what was written to since is refused, as PyTorch's version counters refuse it" {
    cd "$BATS_TEST_TMPDIR"
    model() { # lines of forward between x = a * 1 and the gradient of y by a and w
        { cat <<'PY'; printf '        %s\n' "$@"; printf '        return torch.autograd.grad(y.sum(), [a, w], allow_unused=True)\n'; } >m.py
import torch
import torch.nn.functional as F
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x
    @staticmethod
    def backward(ctx, g):
        return 2 * ctx.saved_tensors[0] * g
class M(torch.nn.Module):
    def forward(self, a, w):
        a, w = a.requires_grad_(), w.requires_grad_()
        x = a * 1
PY
    }
    refused() { # what, at which line it was written to
        fails 3 "one of the variables needed for gradient computation has been modified by an inplace operation: $1 was written to at m.py:$2 " \
            tc-export m.py:M --input a=3x4xf32 --input w=3x4xf32 --print
    }
    taken() { tc-export m.py:M --input a=3x4xf32 --input w=3x4xf32 -o m.pt2; }
    model 'y = x * w' 'x.add_(1)'; refused 'self of aten.mul.Tensor' 16
    model 'y = x * w' 'with torch.no_grad():' '    x[0].add_(1)'; refused 'self of aten.mul.Tensor' 17
    model 'y = x.exp()' 'y += 1'; refused 'its result of aten.exp.default' 16
    model 'y = x.exp_()' 'y += 1'; refused 'its result of aten.exp.default' 16
    model 'x.mul_(x)' 'y = x'; refused 'other of aten.mul.Tensor' 15
    model 'y = F.linear(x, w)' 'x.zero_()'; refused 'input of aten.linear.default' 16
    model 'y = Square.apply(x)' 'x.add_(1)'; refused 'an operand of tc.autograd_function.default' 16
    model 'out = torch.zeros(3, 4)' 'out[0] = a[0]' 'out[1] = out[0] * w[1]' 'y = out'; refused 'self of aten.mul.Tensor' 17
    local call='y = torch.utils.checkpoint.checkpoint(lambda u: (u * w).tanh(), x, use_reentrant=False)'
    model 'y = x.prod()' 'y.mul_(2)'; refused 'its result of aten.prod.default' 16
    model 'y = x.gather(0, torch.zeros(1, 4, dtype=torch.long))' 'x.add_(1)'; refused 'self of aten.gather.default' 16
    model 'y = x.cummax(0).values' 'x.add_(1)'; refused 'self of aten.cummax.default' 16
    model 'y = x.cummax(0).values' 'y.mul_(2)'; taken
    model "$call" 'x.add_(1)'; refused 'self of aten.mul.Tensor' 16
    model "$call" 'y += x'; taken # its inside is computed again
    model 'y = x.sin()' 'x.data.add_(0)'; taken
    model 'y = x + w' 'x.mul_(2)'; taken
    model 'y = x.relu()' 'x.mul_(2)'; taken
    model 'y = w / x' 'y.mul_(2)'; taken
    model 'out = torch.zeros(3, 4)' 'out[0] = a[0]' 'out[1] = out[0] + w[1]' 'y = out'; taken
    model 'y = F.batch_norm(x, torch.zeros(4), torch.ones(4), training=True)' 'y.mul_(2)'; taken
}

@test "a gradient by a tensor counts what was computed of it before it was written to under no_grad or by .data" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, w):
        w = w.requires_grad_()
        h = w * 1
        y, z = w * 2, h * 7
        with torch.no_grad():
            w.clamp_(-1, 1)
        h.data.mul_(2)
        w.data[0].mul_(2)
        y = y + w * 3
        g = torch.cat(torch.autograd.grad(y.sum() + z.sum(), [w, h]))
        return (g + ord('A')).to(torch.uint8)
PY
    tc-export m.py:M --input w=2xf32 -o m.pt2
    [ "$(tc-run m.pt2 --input w=2xf32=4,5 --output 0:text=-)" = MMHH ] # 12, 12, 7, 7
}

@test "what a function writes to its arguments under vmap is in them afterwards, and in gradients" {
    cat >m.py <<'PY'
import torch
from torch.func import grad, vmap
class M(torch.nn.Module):
    def forward(self, x):
        def body(a, b):
            a[1:].mul_(2)
            vmap(lambda r: r.mul_(3).sum())(a[:, None])
            b.zero_()
            return a.sum() + grad(lambda z: (z * z * a).sum())(a + 0)[0]
        def through(t):
            t = t * 1
            vmap(lambda a: a.mul_(2))(t)
            return (t * t).sum()
        u, v = x.clone(), x[0].clone()
        y = vmap(body, in_dims=(1, 0))(u, v)
        return torch.cat([y, u.view(-1), v, grad(through)(x).view(-1)])
class Leaf(torch.nn.Module):
    def forward(self, x):
        x = x.clone().detach().requires_grad_()
        return vmap(lambda a: a.mul_(2))(x)
class Needed(torch.nn.Module):
    def forward(self, x):
        def f(t):
            t = t * 1
            vmap(lambda a: a.mul_(a))(t)
            return t.sum()
        return grad(f)(x)
PY
    tc-export m.py:M --input x=2x2xf32 -o m.pt2
    tc-run m.pt2 --input x=2x2xf32=1,2,3,4 --output @y.npy
    [ "$(tail -c 48 y.npy | od -An -v -tf4 -w48 | xargs)" = "39 102 3 6 18 24 0 0 8 16 24 32" ]
    fails 3 "a view of a leaf Variable that requires grad is being used in an in-place operation" tc-export m.py:Leaf --input x=2x2xf32 -o m.pt2
    fails 3 "has been modified by an inplace operation" tc-export m.py:Needed --input x=2x2xf32 -o m.pt2
}

@test "distances have PyTorch's gradients where differences tie and where they are 0, second ones too" {
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        x = x.detach().clone().requires_grad_()
        rows = []
        for p in 0.5, 1.5, 2.0, float("inf"):
            for f in lambda a: torch.cdist(a, a[:1].detach() * torch.tensor([1.0, 1.0, -1.0]), p), lambda a: torch.pdist(a, p):
                d = f(x)
                g, = torch.autograd.grad((d.flatten() * torch.arange(1.0, 4.0)).sum(), x, create_graph=True)
                rows.append(g.sum(1)[1])
                if p < 9:
                    rows.append(torch.autograd.grad(g.pow(2).sum(), x)[0].sum(1)[1])
        return torch.stack(rows)
PY
    tc-export m.py:M --input x=3x3xf32 -o m.pt2
    tc-run m.pt2 --input x=3x3xf32=1,2,0,3,4,0,1,2,5 --output @y.npy
    [ "$(tail -c 56 y.npy | od -An -v -tf4 -w56 | xargs printf '%.3f ' | sed 's|-0.000|0.000|g')" = "8.000 0.000 18.692 -114.560 3.175 0.000 2.281 1.863 2.828 0.000 0.892 -0.638 4.000 -1.000 " ]
}

@test "the gradient of celu divides by alpha in float32, as PyTorch's does" {
    cat >celu.py <<'PY'
import torch
import torch.nn.functional as F
class M(torch.nn.Module):
    def forward(self, x):
        x = x.detach().requires_grad_()
        g, = torch.autograd.grad(F.celu(x, 0.9).sum(), x)
        return (g - torch.tensor([0.45942582674051052, 0.10836801971317418, 1.0], dtype=torch.float64)).abs().max() < 1e-15
PY
    tc-export celu.py:M --input x=3xf64 -o celu.pt2
    tc-run celu.pt2 --input 3xf64=-0.7,-2,0.3 -o near.npy
    [ "$(tail -c 1 near.npy | od -An -tu1 | tr -d ' ')" = 1 ]
}

@test "set_() in a program: a tensor that is emptied or given other memory, its views and what was computed of it stay as they were" {
    cat >freed.py <<'PY'
import torch


class Freed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        a, b = (h.contiguous() for h in torch.chunk(x, 2, 1))
        y = torch.cat((a + b, b), 1)
        a.set_()
        b.set_(y)
        assert a.shape == (0,) and b.shape == y.shape
        return y

    @staticmethod
    def backward(ctx, g):
        return torch.cat((g[:, :1], g.sum(1, keepdim=True)), 1)


class Model(torch.nn.Module):
    def forward(self, x):
        h = x * 1
        y = Freed.apply(h)
        h.data.set_()
        return y + h
PY
    tc-export -q freed.py:Model --input x=Bx2xf32 --joint -o freed.pt2
    tc-run freed.pt2 --input x=1x2xf32=1,2 --input tangents.out.0=1x2xf32=1,10 --output out.0=@y.npy --output grad.x=@g.npy
    tail -c 8 y.npy | cmp - <(printf '\0\0\200@\0\0\200@') # 4, 4
    tail -c 8 g.npy | cmp - <(printf '\0\0\0@\0\0\250A')   # 2, 21
}
