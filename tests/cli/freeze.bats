# tc-compile --freeze and --require: what follows a product goes into its weights where it may, and results agree to rounding.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.register_buffer("mean", torch.randn(n) * 0.3)
        self.register_buffer("var", torch.rand(n) + 0.5)
        self.weight = nn.Parameter(torch.randn(n))
        self.bias = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return F.batch_norm(x, self.mean, self.var, self.weight, self.bias, False, 0.1, 1e-5)


class All(nn.Module):  # 5 norms and 6 operations go
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 6, 3, groups=2, bias=False)
        self.b = nn.ConvTranspose2d(6, 4, 3, groups=2, stride=2)
        self.c = nn.Conv1d(20, 3, 1)
        self.d = nn.Linear(15, 5)
        self.e = nn.Conv2d(4, 4, 3, padding="same")
        self.na, self.nb, self.nc, self.nd, self.ne = Norm(6), Norm(4), Norm(3), Norm(5), Norm(4)
        self.scale = nn.Parameter(torch.rand(4, 1, 1) + 0.5)
        self.gain = nn.Parameter(torch.rand(5))

    def forward(self, x):
        y = self.na(self.a(x)).relu()
        y = self.ne(self.e(self.nb(self.b(y)) * self.scale)) / 3.0
        z = self.nc(self.c(y.flatten(2)[:, :, :25].reshape(2, 20, 5))) - 0.25
        return self.nd(self.d(z.reshape(2, 15))), 2 * self.d(z.reshape(2, 15)) + self.gain - 1


class Stays(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv1d(4, 4, 3)
        self.n = Norm(4)

    def forward(self, x):
        y = self.a(x.reshape(2, 4, -1))
        return self.n(y), y, y * x[0, 0, 0, 0]


class Late(nn.Module):  # the factor is computed after the product; the weight of one result is a row
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 6, 3)
        self.log = nn.Parameter(torch.rand(6, 1, 1))
        self.row = nn.Parameter(torch.rand(6))
        self.gain = nn.Parameter(torch.rand(4))

    def forward(self, x):
        y = self.a(x)
        s = torch.exp(self.log) * 2
        return (y * s - 1) / s, F.linear(x[0], self.row) * self.gain[:1], F.linear(x[0, :, 0], self.row) * self.gain


class Small(nn.Module):  # all weights of the program are one layer's
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(6, 5, bias=False)

    def forward(self, x):
        return self.a(x) * 3.0 + 1.0


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.n, self.m = nn.Conv1d(4, 4, 3), nn.Conv1d(4, 4, 3), Norm(4), Norm(4)
        self.row = nn.Parameter(torch.rand(1))

    def forward(self, x):
        y = self.a(x.reshape(2, 4, -1))
        return self.n(y) + y, self.m(self.b(y)), torch.relu(self.row + 1).expand(3)
PY
}

agree() { # CLASS RESULTS: frozen, interpreted and compiled, against the program as it is
    tc-export m.py:$1 --input x=2x4x6x6xf32 -o $1.pt2
    tc-compile $1.pt2 --freeze -v -o $1-frozen.pt2 2>$1.log
    tc-run $1.pt2 --input x=@x.npy --to safetensors -o want.safetensors
    tc-run $1-frozen.pt2 --input x=@x.npy --executor interpreted --to safetensors -o a.safetensors
    tc-run $1-frozen.pt2 --input x=@x.npy --stance fail_on_recompile --to safetensors -o b.safetensors
    cmp a.safetensors b.safetensors
    local k expect=()
    for k in $(seq 0 $(($2 - 1))); do expect+=(--expect "out.$k=@want.safetensors#out.$k"); done
    tc-run $1-frozen.pt2 --input x=@x.npy "${expect[@]}" --rtol 1e-5 --atol 1e-5
}

input() {
    printf 'import torch\nfrom torch import nn\nclass In(nn.Module):\n    def forward(self, i):\n        return torch.sin(torch.arange(288.0) * 7.7).view(2, 4, 6, 6) * i\n' >in.py
    tc-export in.py:In --input i=f32 | tc-run --input i=f32=1 -o x.npy
}

@test "norms and operations a channel go into the weights of convolutions and linear layers" {
    input
    agree All 2
    grep -q "5 batch norms and 6 operations a channel went into weights" All.log
    tc-export All-frozen.pt2 --print >graph
    run grep -cE "batch_norm|aten.(mul|div|sub|add)" graph
    [ "$output" = 0 ]
    run grep -c " in *buffer" graph
    [ "$output" = 0 ]
    tc-compile All.pt2 --freeze --to exe -o all
}

@test "what others read stays, and what depends on weights alone is computed" {
    input
    agree Mixed 3
    grep -q "1 batch norms and 0 operations" Mixed.log
    tc-export Mixed-frozen.pt2 --print >graph
    [ "$(grep -c aten.batch_norm graph)" = 1 ]
    [ "$(grep -c aten.relu graph)" = 0 ]
}

@test "factors that are computed after the product, weights of one row, programs of one layer" {
    input
    agree Late 3
    grep -q "0 batch norms and 3 operations" Late.log
    tc-export Late-frozen.pt2 --print >graph
    [ "$(grep -cE 'aten.exp|aten.(mul|div|sub)' graph)" = 2 ]
    agree Small 1
    tc-export Small-frozen.pt2 --print >graph
    [ "$(grep -cE 'aten.(reshape|_to_copy|mul|full|expand)' graph)" = 0 ]
}

@test "without --freeze weights can be given to the compiled program" {
    tc-export m.py:All --input x=2x4x6x6xf32 -o All.pt2
    tc-export m.py:All --input x=2x4x6x6xf32 --seed 1 -o other.pt2
    input
    tc-ckpt convert other.pt2 -o other.safetensors
    tc-compile All.pt2 -o c.pt2
    tc-run other.pt2 --input x=@x.npy --to safetensors -o want.safetensors
    tc-run c.pt2 --weights other.safetensors --input x=@x.npy --stance fail_on_recompile --to safetensors -o got.safetensors
    cmp want.safetensors got.safetensors
}

@test "--require says what was not done" {
    tc-export m.py:Stays --input x=2x4x6x6xf32 -o Stays.pt2
    run --separate-stderr tc-compile Stays.pt2 --require=freeze -o x.pt2
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"--require=freeze: 1 batch norms of model stay"* ]]
    [ ! -e x.pt2 ]
    tc-export m.py:All --input x=2x4x6x6xf32 -o All.pt2
    tc-compile All.pt2 --require=freeze,code -o x.pt2
    [ "$(tc-export x.pt2 --print | grep -c batch_norm)" = 0 ]
    run --separate-stderr tc-compile All.pt2 --require=code --cc false --no-cache -o y.pt2
    [ "$status" -eq 1 ]
    [ ! -e y.pt2 ]
    run --separate-stderr tc-compile All.pt2 --require=speed -o y.pt2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"there are freeze, code"* ]]
}

@test "--require=code counts the loops of the sizes that --dim fixes" {
    printf 'from torch import nn\nclass Sum(nn.Module):\n    def forward(self, x):\n        return x - x.sum(-1, keepdim=True)\n' >sum.py
    tc-export sum.py:Sum --input x=nx6xf32 --dim n=2..9 -o n.pt2
    tc-compile n.pt2 --dim n=4 --require=code -v -o y.pt2 2>log
    grep -q "[1-9][0-9]* loops, .* 0 interpreted" log
}

@test "--require=freeze on a program of training alone" {
    tc-export m.py:All --input x=2x4x9x9xf32 --mode train -o train.pt2
    run -1 tc-compile train.pt2 --model train --require=freeze -o out.pt2
    [[ "$output" == *"--require=freeze: the archive holds the program of training alone"* ]]
    [ ! -e out.pt2 ]
}

@test "what makes a result infinite stays an operation" {
    cat >inf.py <<'PY'
import torch
from torch import nn


class Inf(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c, self.d = nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(3, 4), nn.Linear(3, 4)
        with torch.no_grad():
            for l in (self.a, self.b, self.c, self.d):
                l.weight[0] = 0.0
        self.register_buffer("zero", torch.tensor([1.0, 0.0, 2.0, 4.0]))
        self.register_buffer("inf", torch.tensor([float("inf"), 0.0, 2.0, 4.0]))

    def forward(self, x):
        return self.a(x) / 0.0, self.b(x) * float("inf"), self.c(x) / self.zero, self.d(x) * self.inf
PY
    tc-export inf.py:Inf --input x=2x3xf32 -o inf.pt2
    tc-compile inf.pt2 --freeze -o frozen.pt2
    tc-run inf.pt2 --input x=2x3xf32=1,2,3,-1,0,2 --to safetensors -o want.safetensors
    tc-run frozen.pt2 --input x=2x3xf32=1,2,3,-1,0,2 --to safetensors -o got.safetensors
    cmp got.safetensors want.safetensors
}
