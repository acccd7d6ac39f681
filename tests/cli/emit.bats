# Programs as C (tc-compile --to c, so, a, o, exe): every kernel with a C form has the bits of tc-run; what a run changes stays in the
# caller's memory; one object holds several instruction sets; the bytes depend on the program alone.
load common

setup() {
    oracle=$TC_ROOT/tests/oracle/pt2
    mlp=$oracle/mlp.pt2
    scratch
}

same() { # CLASS: the filter that m.py:CLASS becomes gives the bits of tc-run for x, 6 rows of 40 numbers, every result and two records
    tc-export m.py:$1 --input x=6x40xf32 -o $1.pt2
    tc-compile $1.pt2 --to exe -o $1
    local out=() want=() k=0
    for name in $(./$1 --help | sed -n 's/^  output  \([^:]*\):.*/\1/p'); do
        out+=(-o $name=got$k.npy) want+=(--output $k=@want$k.npy)
        k=$((k + 1))
    done
    cat x.npy x.npy >two.npy
    tc-run $1.pt2 --input x=@two.npy "${want[@]}"
    ./$1 x=two.npy "${out[@]}"
    while [ $k -gt 0 ]; do
        k=$((k - 1))
        cmp got$k.npy want$k.npy || { echo "$1: result $k differs"; return 1; }
    done
}

numbers() { # x.npy: 6x40, with equal ones among them
    cat >in.py <<'PY'
import torch
from torch import nn


class In(nn.Module):
    def forward(self, i):
        return torch.round(torch.sin(torch.arange(240.0) * 7.7) * 16).view(6, 40) / 8 * i
PY
    tc-export in.py:In --input i=f32 | tc-run --input i=f32=1 -o x.npy
}

@test "recurrent layers as C" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, kind, **more):
        super().__init__()
        self.net = kind(8, 5, batch_first=True, **more)

    def forward(self, x):
        y = self.net(x.view(6, 5, 8))
        return y[0], y[1]


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.LSTM(8, 5, num_layers=2, bidirectional=True)

    def forward(self, x):
        y, (h, c) = self.net(x.view(5, 6, 8))
        return y, h, c


class Gru(Net):
    def __init__(self):
        super().__init__(nn.GRU, bidirectional=True)


class NoBias(Net):
    def __init__(self):
        super().__init__(nn.GRU, bias=False)


class Half(Lstm):
    def __init__(self):
        super().__init__()
        self.net = self.net.half()

    def forward(self, x):
        return super().forward(x.half())


class HalfGru(Net):
    def __init__(self):
        super().__init__(nn.GRU)
        self.net = self.net.half()

    def forward(self, x):
        return super().forward(x.half())


class Rnn(Net):
    def __init__(self):
        super().__init__(nn.RNN, nonlinearity="relu")


class Tanh(Net):
    def __init__(self):
        super().__init__(nn.RNN)


class HalfTanh(HalfGru):
    def __init__(self):
        super().__init__()
        self.net = nn.RNN(8, 5).half()


class AutoGru(Gru):
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.float16):
            return super().forward(x)
PY
    for class in Lstm Gru NoBias Half HalfGru Rnn Tanh HalfTanh AutoGru; do same $class; done
}

@test "control flow as C: while_loop, cond, one within the other" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class While(nn.Module):
    """What is carried: a counter, a matrix whose values end the loop, the operand itself, a number of Python."""

    def forward(self, x):
        def keep(i, acc, same, k):
            return (i < 5) & (acc.abs().max() < 50.0)

        def body(i, acc, same, k):
            return i + 1, acc * 1.5 + same * k, same, k + 2

        return torch.while_loop(keep, body, (torch.zeros((), dtype=torch.int64), torch.zeros_like(x), x, 1))[:3]


class Never(nn.Module):
    def forward(self, x):
        return torch.while_loop(lambda a: a.sum() > 1e9, lambda a: a.t().contiguous().t() + 1, (x.t(),))


class Cond(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(40, 40), nn.Linear(40, 40)

    def forward(self, x):
        y = torch.cond(x.sum() > 0, lambda t: self.a(t).relu(), lambda t: self.b(t) * 2, (x,))

        def inner(t):
            return torch.cond(t.mean() > 0.1, lambda u: u + 1, lambda u: u - 1, (t,))

        return y, torch.cond(y.sum() > 3, inner, lambda t: t.neg(), (x.t(),))


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(40, 40)

    def forward(self, x):
        def body(i, a):
            def more(j, b):
                return j + 1, torch.tanh(self.l(b))

            j, b = torch.while_loop(lambda j, b: j < i, more, (torch.zeros((), dtype=torch.int64), a + 1))
            return i + 1, torch.cond(b.sum() > 0, lambda t: t * 2, lambda t: t.clone(), (b,))

        return torch.while_loop(lambda i, a: i < 3, body, (torch.zeros((), dtype=torch.int64), x))


class Generate(nn.Module):
    """Greedy decoding of 11 tokens behind the first."""

    def __init__(self):
        super().__init__()
        self.emb, self.head, self.rnn = nn.Embedding(17, 40), nn.Linear(40, 17), nn.GRUCell(40, 40)

    def forward(self, x):
        def body(i, h, out):
            h = self.rnn(self.emb(torch.index_select(out, 1, i.view(1)).squeeze(1)), h)
            return i + 1, h, out.index_copy(1, (i + 1).view(1), self.head(h).argmax(-1).unsqueeze(1))

        i, h, out = torch.while_loop(
            lambda i, h, out: i < 11, body, (torch.zeros((), dtype=torch.int64), x, torch.zeros(6, 12, dtype=torch.int64))
        )
        return out, h
PY
    same While && same Never && same Cond && same Nested && same Generate
    tc-compile Generate.pt2 --to c -o generate
    cc -std=c11 -Wall -Wextra -pedantic -Werror -ffp-contract=off -march=native -c generate.c
}

@test "scans as C" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch._higher_order_ops.associative_scan import associative_scan
from torch._higher_order_ops.map import map as each


class Scan(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(40, 40)

    def forward(self, x):
        def step(h, t):
            h = torch.tanh(self.l(h) + t)
            return h, h * 2

        return scan(step, torch.zeros(40), x, dim=0)


class Turned(nn.Module):
    def forward(self, x):
        return scan(lambda c, t: (c + t.sum(), c * t), torch.zeros(()), x, dim=1, reverse=True)


class Recurrence(nn.Module):
    def forward(self, x):
        return associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (x.tanh(), x), dim=1, combine_mode="pointwise")


class Each(nn.Module):
    def forward(self, x):
        return each(lambda row, w: torch.softmax(row * w, -1), x, x[0])
PY
    same Scan && same Turned && same Recurrence && same Each
}

@test "numbers out of tensors as C, and what they may not be" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class Item(nn.Module):
    def forward(self, x):
        n = (x.sum() * 8).to(torch.int64).abs().item()
        f = x.max().item()
        torch._check(n < 100000)
        return x * f + n, x - n // 3, torch.where(x > f / 2, x, x * (n % 6))


class Less(nn.Module):
    def forward(self, x):
        n = x.sum().to(torch.int64).item()
        torch._check(n < 7)
        return x + n


class Count(nn.Module):
    def forward(self, x):
        n = x.max().to(torch.int64).item()
        return x + 1, x.shape[0] * 3, n + x.shape[1], x.sum().item() * 0.5


class Sure(nn.Module):
    def forward(self, x):
        torch._assert_async(x.max() < 1.5, "too large")
        return x + 1
PY
    same Item
    tc-export m.py:Less --input x=2x3xf32 -o less.pt2
    tc-compile less.pt2 --to exe -o less
    cat >small.py <<'PY'
import torch
from torch import nn


class Fill(nn.Module):
    def forward(self, i):
        return torch.ones(2, 3) * i
PY
    tc-export small.py:Fill --input i=f32 -o fill.pt2
    tc-run fill.pt2 --input i=f32=1 | ./less -o y.npy
    tc-run fill.pt2 --input i=f32=1 -o x.npy
    tc-run less.pt2 --input x=@x.npy -o want.npy
    cmp y.npy want.npy
    tc-run fill.pt2 --input i=f32=2 -o x.npy
    fails 3 "none that the program allows" ./less x=x.npy
    tc-export m.py:Count --input x=Bx3xf32 -o count.pt2
    tc-compile count.pt2 --dim B=2 --to exe -o count
    ./count x=x.npy -o out_0=0.npy -o out_1=1.npy -o out_2=2.npy -o out_3=3.npy
    tc-run count.pt2 --input x=@x.npy --expect 0=@0.npy --expect 1=@1.npy --expect 2=@2.npy --expect 3=@3.npy
    tc-export m.py:Sure --input x=2x3xf32 -o sure.pt2
    tc-compile sure.pt2 --to exe -o sure
    fails 3 "none that the program allows" ./sure x=x.npy
    tc-run fill.pt2 --input i=f32=1 | ./sure -o y.npy
    tc-run fill.pt2 --input i=f32=2 -o want.npy
    cmp y.npy want.npy
}

@test "order and search as C" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class Order(nn.Module):
    def forward(self, x):
        v, i = torch.sort(x, dim=0, descending=True, stable=True)
        w, j = torch.topk(x, 7, dim=1)
        s, k = torch.topk(x.to(torch.int32), 3, dim=0, largest=False)
        few, at = (r[:2] for r in torch.sort(torch.round(x), dim=0, stable=True))
        t, l = torch.topk(torch.round(x), 5, dim=0, sorted=False)
        return v, i, w, j, s, k, torch.sort(x > 0, dim=1)[1], few, at, t, l


class Middle(nn.Module):
    def forward(self, x):
        n = torch.where(x > 1.5, torch.nan, x)
        a, b, c, d, e = (torch.median(x, 1), torch.median(n, 1), torch.nanmedian(n, 1), torch.mode(x, 1), torch.kthvalue(x, 3, 0))
        s = torch.sort(x, dim=1)[0]
        return a[0], a[1], b[0], c[0], c[1], d[0], d[1], e[0], e[1], torch.searchsorted(s, x), torch.searchsorted(s[0], x, right=True)
PY
    same Order
    same Middle
}

@test "writing and adding by index as C" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class Scatter(nn.Module):
    def forward(self, x):
        i = (x * 8).to(torch.int64) % 6
        z = torch.zeros(6, 40)
        d = torch.ones(6, 40, dtype=torch.float64)
        return (
            z.scatter_add(0, i, x), z.scatter(0, i, x), z.scatter(0, i, 2.5), d.scatter_reduce(0, i, x.double(), "mean", include_self=False),
            z.scatter_reduce(0, i, x, "amax"), z.to(torch.int32).scatter_reduce(0, i, i.to(torch.int32), "sum"),
        )


class Long(nn.Module):  # more than a leaf of sources for a place
    def forward(self, x):
        y = x.repeat(1, 40).view(-1)
        i = (torch.arange(9600) * 37 // 11) % 7
        return torch.zeros(7).index_add(0, i, y, alpha=0.5), torch.zeros(7).scatter_add(0, i, y), torch.ones(7).index_reduce(0, i, y, "prod")


class Put(nn.Module):
    def forward(self, x):
        i = torch.tensor([[0, 3], [-1, 3]])
        y = x.clone()
        y[:, i] = x[:, :4].reshape(6, 2, 2)
        z = x.clone().index_put((i, i.t()), x[:2, :2], accumulate=True)
        w = x.clone().index_put((torch.tensor([1, 1, 2]),), x[0], accumulate=True)
        return y, z, w, x.index_copy(1, torch.tensor([2, 0]), x[:, 5:7]), x.put(torch.tensor([7, -1]), torch.tensor([1.0, 2.0]))
PY
    for class in Scatter Long Put; do same $class; done
    cat >m.py <<'PY'
import torch
from torch import nn


class Bad(nn.Module):
    def forward(self, x):
        return torch.zeros(2, 40).scatter_add(0, x.to(torch.int64).abs() + 2, x)
PY
    tc-export m.py:Bad --input x=6x40xf32 -o Bad.pt2
    tc-compile Bad.pt2 --to exe -o Bad
    fails 3 "index was out of bounds" ./Bad x.npy
}

@test "gradients of convolutions as C: all three, or those that are asked for" {
    numbers
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Both(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(2, 36, 3, stride=2, padding=1, groups=2)
        self.b = nn.ConvTranspose2d(36, 3, 3, stride=2, padding=1, output_padding=1, dilation=2)

    def forward(self, x):
        x = x.view(3, 2, 8, 5).detach().requires_grad_()
        y = self.b(self.a(x).tanh()).square().mean()
        return (y, x, *torch.autograd.grad(y, [x, self.a.weight, self.a.bias, self.b.weight, self.b.bias]))


class Weights(nn.Module): # neither input nor bias
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(1, 17, 5, padding=9, dilation=3, bias=False)

    def forward(self, x):
        (g,) = torch.autograd.grad(self.a(x.repeat(1, 20).unsqueeze(1)).sin().sum(), [self.a.weight])
        return g, g.argmax()


class Inputs(nn.Module): # the input alone, of bfloat16
    def forward(self, x):
        x = x.to(torch.bfloat16).view(1, 6, 40).detach().requires_grad_()
        w = torch.arange(72.0).sin().view(4, 6, 3).to(torch.bfloat16)
        (g,) = torch.autograd.grad(F.conv1d(x, w).float().sum(), [x])
        return g.float(), g.float().sum()
PY
    for class in Both Weights Inputs; do same $class; done
}

@test "products of narrow floats and of integers as C" {
    numbers
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Narrow(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(40, 300)
        self.b = nn.Linear(300, 3)
        self.c = nn.Conv1d(6, 4, 3)

    def forward(self, x):
        h = F.linear(x.to(torch.bfloat16), self.a.weight.to(torch.bfloat16), self.a.bias.to(torch.bfloat16))
        y = F.linear(torch.relu(h).to(torch.float16), self.b.weight.to(torch.float16))
        z = F.conv1d(x.to(torch.bfloat16)[None], self.c.weight.to(torch.bfloat16), self.c.bias.to(torch.bfloat16))
        q = x.to(torch.bfloat16).view(1, 3, 4, 20)
        return h.float(), y, z.float(), F.scaled_dot_product_attention(q, q, q, is_causal=True).float(), torch.baddbmm(q[0], q[0] @ q[0].mT, q[0]).float()


class Whole(nn.Module):
    def forward(self, x):
        i = (x * 8).to(torch.int64)
        return i @ i.t(), torch.mm((i * 7).to(torch.int8), i.t().to(torch.int8)), torch.addmm(i[:, :6].to(torch.int32), i.to(torch.int32), i.t().to(torch.int32), alpha=3, beta=2)
PY
    TC_ISA=avx512 same Narrow # by way of float32, as C does
    same Whole
}

@test "what a run changes is the caller's memory" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class Cache(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(6, 40))
        self.register_buffer("steps", torch.tensor(3))
        self.register_buffer("older", torch.ones(6, 40))
        self.weight = nn.Parameter(torch.arange(40.0))

    def forward(self, x):
        self.older.copy_(self.seen)
        self.seen[1:3] += x[:2] * self.weight
        self.steps += 2
        return self.seen + self.steps, self.older * 2
PY
    same Cache
    tc-compile Cache.pt2 -o net.so
    cat >main.c <<'C'
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static float x[240], y[240], z[240];
int main(void) {
    void *arena = aligned_alloc(64, (net_ARENA_BYTES + 63) / 64 * 64), *state[2];
    float first = 0;
    for (int i = 0; i < 240; i++) x[i] = 1;
    for (int k = 0; k < 2; k++) {
        state[k] = aligned_alloc(64, (net_STATE_BYTES + 63) / 64 * 64);
        memcpy(state[k], net_weights, net_STATE_BYTES);
    }
    for (int k = 0; k < 4; k++) { /* two streams: each remembers its own */
        net_inputs in = {.x = x, .state = state[k % 2]};
        if (net_run(net_weights, &in, &(net_outputs){.out_0 = y, .out_1 = z}, arena)) return 1;
        if (k == 0) first = y[41];
        if (k == 1 && y[41] != first) return 2;
    }
    printf("%g %g\n", (double)first, (double)y[41]);
    /* other weights at the next call, while the old ones are still there */
    unsigned char *w = aligned_alloc(64, (net_WEIGHTS_BYTES + 63) / 64 * 64);
    memcpy(w, net_weights, net_WEIGHTS_BYTES);
    memset(w + net_STATE_BYTES, 0, net_WEIGHTS_BYTES - net_STATE_BYTES);
    memcpy(state[0], net_weights, net_STATE_BYTES);
    if (net_run(w, &(net_inputs){.x = x, .state = state[0]}, &(net_outputs){.out_0 = y, .out_1 = z}, arena)) return 3;
    printf("%g\n", (double)y[41]);
    return 0;
}
C
    gcc -Wall -Werror main.c ./net.so -o main
    [ "$(./main)" = $'6 9\n5' ]
}

@test "one object for several instruction sets" {
    tc-run "$mlp" --input x=5x16xf32=0.3 -o want.npy
    cat >in.py <<'PY'
import torch
from torch import nn


class In(nn.Module):
    def forward(self, i):
        return torch.full((5, 16), 0.3) * i
PY
    tc-export in.py:In --input i=f32 | tc-run --input i=f32=1 -o x.npy
    tc-compile "$mlp" --to exe -o all --dim s77=5 --targets portable,avx512,avx2
    ./all x.npy | cmp - want.npy
    if command -v qemu-x86_64 >/dev/null; then qemu-x86_64 -cpu Nehalem ./all x.npy 2>/dev/null | cmp - want.npy; fi
    for form in so a o; do
        tc-compile "$mlp" -o net.$form --dim s77=5 --targets portable,avx2
        cat >main.c <<'C'
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
static float x[80], y[50];
int main(void) {
    void *arena = aligned_alloc(64, (net_ARENA_BYTES + 63) / 64 * 64);
    for (int i = 0; i < 80; i++) x[i] = 0.3f;
    if (net_run(net_weights, &(net_inputs){.x = x}, &(net_outputs){.out_0 = y}, arena)) return 1;
    fwrite(y, 1, sizeof y, stdout);
    return 0;
}
C
        gcc main.c ./net.$form -o by-$form -lm
        ./by-$form | cmp - <(tail -c 200 want.npy)
    done
    tc-compile "$mlp" -o two.pt2 --targets portable,avx2
    for isa in portable avx2; do
        TC_ISA=$isa tc-run two.pt2 --input x=5x16xf32=0.3 --stance=fail_on_recompile --expect @want.npy
    done
    fails 2 "no instruction set is called 'mmx'; there are portable, avx2, avx512, neon" tc-compile "$mlp" -o x.pt2 --targets avx2,mmx
    fails 2 "is given twice" tc-compile "$mlp" -o x.pt2 --targets avx2,avx2
    fails 1 "compiler that is not for aarch64" tc-compile "$mlp" --to exe -o x --dim s77=5 --targets neon --cc gcc
}

@test "for another processor: aarch64 under qemu" {
    command -v aarch64-linux-gnu-gcc >/dev/null || skip "aarch64-linux-gnu-gcc is not installed"
    command -v qemu-aarch64 >/dev/null || skip "qemu-aarch64 (qemu-user) is not installed"
    numbers
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(8, 5, batch_first=True)
        self.lin = nn.Linear(300, 33)
        self.norm = nn.LayerNorm(40)

    def forward(self, x):
        h = F.softmax(self.norm(x), -1)
        y = self.lin(h.repeat(1, 8)[:, :300])
        return torch.exp(x), F.gelu(y), self.rnn(h.view(6, 5, 8))[0], torch.topk(y, 4)[0], y.sum(), y.std(0), y.to(torch.float16)
PY
    tc-export m.py:Net --input x=6x40xf32 -o Net.pt2
    CC=aarch64-linux-gnu-gcc tc-compile Net.pt2 --to exe -o Net --targets neon
    run -0 od -An -tx1 -j18 -N2 Net
    [ "$output" = " b7 00" ] # EM_AARCH64
    out=() want=()
    k=0
    for name in $(qemu-aarch64 -L /usr/aarch64-linux-gnu ./Net --help | sed -n 's/^  output  \([^:]*\):.*/\1/p'); do
        out+=(-o $name=got$k.npy) want+=(--output $k=@want$k.npy)
        k=$((k + 1))
    done
    [ $k -eq 7 ]
    tc-run Net.pt2 --input x=@x.npy "${want[@]}"
    qemu-aarch64 -L /usr/aarch64-linux-gnu ./Net x=x.npy "${out[@]}"
    for i in 0 1 2 3 4 5 6; do cmp got$i.npy want$i.npy; done
}

@test "names in C begin with --prefix" {
    tc-compile "$mlp" --to c -o my-net --dim s77=5 --prefix lib1
    grep -q '^#include "my-net.h"' my-net.c
    grep -q '^int lib1_run(' my-net.h
    gcc -std=c11 -O1 -ffp-contract=off -c my-net.c -o net.o
    run nm -g --defined-only net.o
    [[ "$output" == *" lib1_run"* && "$output" == *" lib1_weights"* && "$output" != *my* ]]
    tc-compile "$mlp" -o net.so --dim s77=5 --prefix=other
    run nm -D --defined-only net.so
    [[ "$output" == *" other_run"* ]]
    fails 2 "cannot stand in C" tc-compile "$mlp" --to c -o 'a"b' --dim s77=5
    tc-compile --op 'aminmax(f32[B,T], dim=1)' -o free.pt2
    fails 2 "C needs the size of B, T: --dim B=N --dim T=N" tc-compile free.pt2 --to c -o free
}

@test "names of inputs and results that C or its compilers take" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Names(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(3))

    def forward(self, state, linux, asm, bool, NULL, float, _Bool, out, arena):
        self.b += state
        s = self.b + linux + asm + bool + NULL + float + _Bool + out + arena
        return {"é è": s, "a b": s * 2, "a_b": s * 3, "int": s * 4, "state": s * 5, "unix": s * 6}
PY
    cat >three.py <<'PY'
import torch
from torch import nn


class Three(nn.Module):
    def forward(self, i):
        return torch.arange(3.0) + i
PY
    tc-export three.py:Three --input i=f32 -o three.pt2
    printf '#!/bin/sh\nexec gcc -fsanitize=address "$@"\n' >leaks
    chmod +x leaks
    in=()
    for name in state linux asm bool NULL float _Bool out arena; do in+=(--input $name=3xf32); done
    tc-export m.py:Names "${in[@]}" -o names.pt2
    tc-compile names.pt2 --to exe --cc "$PWD/leaks" -o names # with the names of tc-run, or those in C
    given=() want=() got=() k=0
    for name in state linux asm bool NULL float _Bool out arena; do
        tc-run three.pt2 --input i=f32=$((k += 1)) -o $k.npy
        given+=($name=$k.npy) want+=(--input $name=@$k.npy)
    done
    for name in "é è" "a b" a_b out_int state out_unix; do got+=(-o "$name=got$((k += 1)).npy"); done
    ./names "${given[@]}" "${got[@]}"
    k=9
    for name in "é è" "a b" a_b int state unix; do
        k=$((k + 1))
        tc-run names.pt2 "${want[@]}" --output "$name=-" | cmp - got$k.npy
    done
    tc-compile names.pt2 --to c -o unit
    # the least of whole numbers; a sum that reads memory beside one that does not; weights that end in an odd byte; a name that C has no letters for
    cat >least.py <<'PY'
import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("on", torch.tensor([True, False, True]))

    def forward(self, größe):
        return größe.int().argmin(0), größe.relu().mean() + größe.mean(), self.on & (größe[:3] > 0)
PY
    tc-export least.py:M --input größe=9xf32 | tc-compile --to c -o least
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        for std in c11 gnu17 gnu2x; do $cc -std=$std -Wall -Wextra -Werror -O1 -ffp-contract=off -c unit.c -o unit.o; done
        $cc -std=c11 -Wall -Wextra -Werror -ffp-contract=off -fsyntax-only least.c
    done
    grep -q 'const float \*state_2;' unit.h # beside the state itself
    grep -q 'float \*a_b_2;' unit.h
}

@test "short rows between padding have their values, though gcc could unroll them" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return torch.nn.functional.pad(x, (0, 0, 5, 3), value=1.5)\n' >pad.py
    tc-export pad.py:M --input x=21x2xf32 -o pad.pt2
    tc-run pad.pt2 --input x=21x2xf32=7 -o want.npy
    tc-compile pad.pt2 --targets avx2,avx512 -o code.pt2
    for isa in avx2 avx512; do TC_ISA=$isa tc-run code.pt2 --input x=21x2xf32=7 --expect @want.npy; done
}

@test "float16 and bfloat16 as C: moved as they are, converted in blocks, NaN, infinities and subnormal numbers among them" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn
from torch.nn import functional as F


def narrow(x, dtype):  # 6x40 with NaN, infinities, subnormal numbers, numbers that overflow and that round to even
    y = torch.cat([x / x.abs().relu(), x * 70000, x * 2e-7, x * 1.0009765625 + 0.5, x])
    return y.to(dtype)


class Moved(nn.Module):
    dtype = torch.float16

    def forward(self, x):
        y = narrow(x, self.dtype)
        i = torch.arange(39, -1, -1)
        return (F.pad(y, (1, 2, -1, 3), value=1.5), torch.cat([y, y[:3]]), y.index_select(1, i), torch.where(x[0] > 0, y, y.flip(1)),
                y.tril(), y.t().contiguous(), y.roll(3, 1), torch.stack([y, y + 1]))


class Computed(nn.Module):
    dtype = torch.float16

    def forward(self, x):
        y, z = narrow(x, self.dtype), narrow(x.flip(1), self.dtype)
        n = y.nan_to_num(1, 2, 3)
        return (F.gelu(y) * z + 1, y.clamp(-0.5, 0.5), F.relu(y) - y.sin(), y.float() + z, (x.sum(1, keepdim=True).to(y.dtype) + y[:6]) * y[:6],
                n.sum(1), n.softmax(0), n.amax(1), n.cumsum(0), F.layer_norm(n, (40,)), y.long() if x.dim() == 1 else y > z, n[:, ::3] * 2)


class Scaled(nn.Module):
    def forward(self, x):
        return F.relu6(x * 3)


class MovedB(Moved):
    dtype = torch.bfloat16

    def forward(self, x):
        return tuple(y.view(torch.int16) for y in super().forward(x))


class ComputedB(Computed):
    dtype = torch.bfloat16

    def forward(self, x):
        return tuple(y.float() for y in super().forward(x))
PY
    for class in Moved Computed MovedB ComputedB; do
        same $class
    done
    tc-export m.py:Scaled --input x=BxTxf16 --dim B=1..3 --dim T=1..5 -o Scaled.pt2
    for class in Moved Computed Scaled; do
        tc-compile $class.pt2 --to c -o c
        for cc in gcc clang; do
            command -v $cc >/dev/null || continue
            $cc -std=c11 -O1 -Wall -Wextra -Werror -ffp-contract=off -c c.c -o c.o
            [ "$(uname -m)" != x86_64 ] || $cc -std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -mavx2 -mfma -mf16c -c c.c -o c.o
        done
    done
}

@test "reductions over columns as C: means and deviations, places of maxima, leaves of 256 rows" {
    numbers
    cat >m.py <<'PY'
import torch
from torch import nn


class Columns(nn.Module):
    def forward(self, x):
        y = torch.cat([x * (1 + k / 64) + k % 7 for k in range(100)])  # 600 rows
        z = torch.where(y > 9, torch.nan, y)
        return (y.var(0), y[:256].std(0), y[:5].double().var(0), torch.var_mean(y[:513].bfloat16().float(), 0)[1], y.view(20, 30, 40).var(1),
                y.view(4, 150, 40).var((0, 1)), z.argmax(0), z.argmin(0), (y * 2).int().argmax(0), y.double().argmin(0),
                z.argmax(1), (y * 4).to(torch.uint8).argmax(1), y.view(-1, 8).argmin(1), y.view(-1, 3).argmax(1))


class Divided(nn.Module):
    def forward(self, x):
        big = torch.where(x > 1, x * 1e30, x)
        y = x.flip(0) + 0.125
        return (x % y, x.fmod(y), torch.floor_divide(x, y), big % y, big.fmod(y), torch.floor_divide(big, y), (x % y).sin() % 0.3, x % 0, x // 0)
PY
    same Columns
    same Divided
}

@test "steps for arguments that are rarely so large are written once, however many loops call them" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Chain(nn.Module):
    def forward(self, x):
        for i in range(7):
            x = torch.fmod(torch.sin(x) * 3, 0.7 + x.cos() * 1e18)
        return x
PY
    numbers
    same Chain
    tc-compile Chain.pt2 --to c -o c
    for name in sin cos fmod; do
        [ "$(grep -c "= tc_whole_${name}_f32(" c.c)" -eq 7 ]
        [ "$(grep -c "tc_x_${name}_f32(" c.c)" -eq 2 ] # its definition, and the one call
    done
}

@test "programs whose results are empty as C" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Empty(nn.Module):
    def forward(self, x):
        return torch.outer(x[0, :2], x[0, :0]), x[:, :0] + 1, x[:0].sum(0), x[:0].softmax(1), x[:, :0].amin(0) * 2, x + 1
PY
    numbers
    same Empty
    tc-compile Empty.pt2 --to c -o c
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        $cc -std=c11 -O2 -Wall -Wextra -Werror -ffp-contract=off -c c.c -o c.o
    done
}

@test "the bytes depend on the program alone: not on folder, user, locale, threads or addresses" {
    other=$BATS_TEST_TMPDIR/an-other-place
    mkdir -p "$other/home"
    cp "$mlp" "$other/copy.pt2"
    for form in c so a o exe; do
        tc-compile "$mlp" --to $form -o net-$form --dim s77=5 --no-cache
        (cd "$other" && HOME=$other/home USER=somebody LC_ALL=de_DE.UTF-8 LANG=tr_TR.UTF-8 TMPDIR=$other TC_NUM_THREADS=1 \
            setarch -R tc-compile copy.pt2 --to $form -o net-$form --dim s77=5 --no-cache)
    done
    tc-compile "$mlp" -o net.pt2 --no-cache --threads 2
    (cd "$other" && TMPDIR=$other LC_ALL=C setarch -R tc-compile copy.pt2 -o net.pt2 --no-cache --threads 1)
    for f in net-c.c net-c.h net-so net-a net-o net-exe net.pt2; do cmp $f "$other/$f"; done
}

@test "C on threads of the caller, and weights replaced by name between runs" {
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.lin = nn.Linear(256, 40)
        self.head = nn.Linear(40, 40)

    def forward(self, x):
        y = torch.relu(self.conv(x)).flatten(2)
        q = self.lin(y)
        z = F.scaled_dot_product_attention(q, q, torch.softmax(self.head(q), -1), is_causal=True)
        return z.exp().cumsum(1)
PY
    tc-export m.py:Net --input x=4x3x16x16xf32 -o m.pt2
    tc-compile m.pt2 --to c -o net
    tc-compile m.pt2 --to so --targets=avx2,portable -o lib.so --prefix net
    cat >main.c <<'C'
#include "net.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
enum { X = 4 * 3 * 16 * 16, Y = 4 * 8 * 40 };
static int calls;
typedef struct {
    void (*fn)(void *, int64_t, int64_t, int);
    void *ctx;
    int64_t begin, end;
    int worker;
} job;
static void *go(void *p) {
    job *j = p;
    j->fn(j->ctx, j->begin, j->end, j->worker);
    return NULL;
}
static void parallel(void *pool, int64_t count, int64_t grain, void (*fn)(void *, int64_t, int64_t, int), void *ctx) {
    int n = *(int *)pool, k = 0;
    pthread_t t[16];
    job j[16];
    int64_t each = (count + n - 1) / n < grain ? grain : (count + n - 1) / n;
    calls++;
    for (int64_t b = 0; b < count; b += each, k++) {
        j[k] = (job){fn, ctx, b, b + each < count ? b + each : count, k};
        pthread_create(&t[k], NULL, go, &j[k]);
    }
    for (int i = 0; i < k; i++) pthread_join(t[i], NULL);
}
int main(void) {
    static float x[X], y[Y], z[Y];
    int n = 4;
    for (int i = 0; i < X; i++) x[i] = 0.01f * (float)(i % 97) - 0.4f;
    void *arena = aligned_alloc(64, (net_ARENA_BYTES_FOR(4) + 63) / 64 * 64);
    net_threads threads = {4, parallel, &n};
    if (net_run(net_weights, &(net_inputs){x}, &(net_outputs){y}, arena)) return 1;
    if (net_run_on(&threads, net_weights, &(net_inputs){x}, &(net_outputs){z}, arena)) return 2;
    if (memcmp(y, z, sizeof y) || calls < 3) return 3;
    unsigned char *copy = aligned_alloc(64, (net_WEIGHTS_BYTES + 63) / 64 * 64);
    memcpy(copy, net_weights, net_WEIGHTS_BYTES);
    float ones[40];
    for (int i = 0; i < 40; i++) ones[i] = 1;
    if (net_set_weight(copy, "nothing", ones, sizeof ones) != 1 || net_set_weight(copy, "lin.bias", ones, 4) != 2) return 4;
    if (memcmp(copy, net_weights, net_WEIGHTS_BYTES)) return 5;
    if (net_set_weight(copy, "lin.bias", ones, sizeof ones)) return 6;
    int others = 0;
    for (const net_weight *w = net_weight_list; w->name; w++)
        others += strcmp(w->name, "lin.bias") && memcmp(copy + w->offset, net_weights + w->offset, w->bytes);
    if (others) return 7;
    if (net_run_on(&threads, copy, &(net_inputs){x}, &(net_outputs){z}, arena) || !memcmp(y, z, sizeof y)) return 8;
    return fwrite(y, sizeof y, 1, stdout) != 1 || fwrite(z, sizeof z, 1, stdout) != 1;
}
C
    for cc in gcc clang-14; do
        command -v $cc >/dev/null || continue
        $cc -std=c11 -O2 -ffp-contract=off -Wall -Wextra -Werror main.c net.c -o net -lm -lpthread
        ./net >$cc.bin
    done
    gcc -std=c11 -O2 -I. main.c ./lib.so -o shared -lm -lpthread
    ./shared >so.bin
    for f in clang-14.bin so.bin; do [ ! -e $f ] || cmp gcc.bin $f; done
    # without weights: the caller sets each by name
    tc-compile m.pt2 --to so -o bare.so --store-weights=none
    [ -e bare.h ] && [ ! -e bare.weights ]
    cat >set.c <<'C'
#include "bare.h"
#include "net.h"
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    static float x[4 * 3 * 16 * 16], y[4 * 8 * 40];
    for (int i = 0; i < 4 * 3 * 16 * 16; i++) x[i] = 0.01f * (float)(i % 97) - 0.4f;
    void *arena = aligned_alloc(64, (bare_ARENA_BYTES + 63) / 64 * 64), *weights = aligned_alloc(64, (bare_WEIGHTS_BYTES + 63) / 64 * 64);
    for (const net_weight *w = net_weight_list; w->name; w++)
        if (bare_set_weight(weights, w->name, net_weights + w->offset, w->bytes)) return 1;
    if (bare_run(weights, &(bare_inputs){x}, &(bare_outputs){y}, arena)) return 2;
    return fwrite(y, sizeof y, 1, stdout) != 1;
}
C
    gcc -std=c11 -O2 -I. set.c ./bare.so ./lib.so -o set -lm -lpthread
    ./set | cmp - <(head -c 5120 gcc.bin)
    # the bits of tc-run
    cat >x.py <<'PY'
import torch
import torch.nn as nn


class X(nn.Module):
    def forward(self, i):
        return (torch.arange(3072) % 97).float().view(4, 3, 16, 16) * 0.01 * i - 0.4
PY
    tc-export x.py:X --input i=f32 | tc-run --input i=f32=1 -o x.npy
    tc-run m.pt2 --input x=@x.npy -o want.npy
    cmp <(tail -c 5120 want.npy) <(head -c 5120 gcc.bin)
}
