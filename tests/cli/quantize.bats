# tc-compile --quantize: products with weights of 8 and 4 bits.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, kind=torch.float32):
        super().__init__()
        self.t = nn.Embedding(50, 320, dtype=kind)
        self.a, self.b = nn.Linear(320, 960, dtype=kind), nn.Linear(960, 320, bias=False, dtype=kind)
        self.small, self.odd = nn.Linear(320, 8, dtype=kind), nn.Linear(320, 77, dtype=kind)
        self.c = nn.Parameter((torch.randn(320, 96) * 0.1).to(kind))

    def forward(self, i):
        x = self.t(i)
        x = x + self.b(torch.relu(self.a(x)))
        return torch.cat([self.odd(x), self.small(x), x @ self.c, 0.05 * (x @ self.t.weight.t())], -1)
PY
    tc-export m.py:Net --input i=BxTxi64 --dim i.0=B:1..64 --dim i.1=T:1..64 -o f32.pt2
}

# What $1 gives for six words.
run_all() {
    tc-run "$1" --input i=1x6xi64=3,1,4,49,0,26 "${@:3}" --output @"$2" --to safetensors
}

@test "each weight is named, and archive and results are as small and as near as 8 and 4 bits make them" {
    run_all f32.pt2 want.st
    for form in w8a16 w4a16 w4a16:32; do
        tc-compile f32.pt2 --quantize $form -v -o q.pt2 2>log
        grep -q "a.weight is quantised" log
        grep -q " c is quantised" log
        grep -q "small.weight stays as it is: it is smaller than 16 x 32" log
        grep -q "t.weight stays as it is: aten.embedding.default reads it, too" log
        run_all q.pt2 got.st
        run tc-run f32.pt2 --input i=1x6xi64=3,1,4,49,0,26 --expect @got.st#out.0 --rtol 0 --atol "$([ $form = w8a16 ] && echo 0.1 || echo 1.5)"
        [ "$status" -eq 0 ] || { echo "$form: $output"; return 1; }
        run tc-run f32.pt2 --input i=1x6xi64=3,1,4,49,0,26 --expect @got.st#out.0
        [ "$status" -eq 4 ]
        shrink=$(sed -n 's/.*shrink by \([0-9]*\) bytes.*/\1/p' log)
        without=$(tc-compile f32.pt2 -q | wc -c) with=$(wc -c <q.pt2)
        [ $((without - with)) -gt $((shrink * 98 / 100)) ] && [ $((without - with)) -lt $((shrink * 102 / 100)) ]
    done
}

@test "the same bits for any number of threads and instruction set" {
    for kind in float32 bfloat16 float16; do
        tc-export m.py:Net --arg kind=torch.$kind --input i=BxTxi64 --dim i.0=B:1..64 --dim i.1=T:1..64 -o f.pt2
        for form in w8a16 w4a16; do
            tc-compile f.pt2 -q --quantize $form -o q.pt2
            run_all q.pt2 want.st
            for isa in portable avx2; do
                TC_ISA=$isa run_all q.pt2 got.st --threads 3
                cmp want.st got.st || { echo "$kind $form $isa"; return 1; }
            done
        done
    done
}

@test "as C a quantised program gives the interpreter's bits" {
    for form in w8a16 w4a16:32; do
        tc-compile f32.pt2 -q --quantize $form -o q.pt2
        tc-run q.pt2 --input i=1x6xi64=3,1,4,49,0,26 -o want.npy
        tc-compile f32.pt2 -q --quantize $form --dim B=1 --dim T=6 --to exe -o filter
        printf 'import torch\n\n\nclass I(torch.nn.Module):\n    def forward(self, i):\n        return i * 1\n' >i.py
        tc-export i.py:I --input i=1x6xi64 | tc-run --input i=1x6xi64=3,1,4,49,0,26 -o i.npy
        ./filter <i.npy >got.npy
        cmp want.npy got.npy
    done
}

@test "one row has the bits that it has among others, whether weights were packed or not" {
    for form in w8a16 w4a16; do
        tc-compile f32.pt2 -q --quantize $form -o q.pt2
        printf 'import torch\n\n\nclass I(torch.nn.Module):\n    def forward(self, i):\n        return (torch.arange(6) * i %% 50).view(1, 6)\n' >i.py
        tc-export i.py:I --input i=i64 | tc-run --input i=i64=9 -o i.npy
        cat i.npy i.npy i.npy >three.npy # the second run packs
        tc-run q.pt2 --input i=@three.npy -o got.npy
        tc-run q.pt2 --input i=@i.npy -o once.npy
        cat once.npy once.npy once.npy | cmp - got.npy
        tc-run q.pt2 --input i=1x1xi64=9 -o row.npy
        tail -c +129 row.npy >row
        tail -c +129 once.npy | tail -c +$((1 + $(wc -c <row))) | head -c "$(wc -c <row)" | cmp - row
    done
}

@test "a weight of several products is there once, and one that only other things name is no refusal" {
    cat >s.py <<'PY'
import torch
from torch import nn


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(256, 256)
        self.w = nn.Parameter(torch.randn(256, 256) * 0.1)

    def forward(self, x):
        for _ in range(8):
            x = torch.tanh(self.l(x)) + torch.tanh(x @ self.w.t())
        return x


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.t = nn.Embedding(96, 64)

    def forward(self, i):
        return nn.functional.linear(self.t(i), self.t.weight)


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.v, self.g = nn.Parameter(torch.randn(48, 64)), nn.Parameter(torch.ones(48, 1))

    def forward(self, x):
        return nn.functional.linear(x, self.v * (self.g / self.v.norm(dim=1, keepdim=True)))
PY
    tc-export s.py:Shared --input x=Bx256xf32 -o shared.pt2
    tc-export s.py:Tied --input i=6xi64 -o tied.pt2
    tc-export s.py:Normed --input x=5x64xf32 -o normed.pt2
    for form in w8a16 w4a16; do
        tc-compile shared.pt2 -q --quantize $form -o q.pt2
        [ "$(wc -c <q.pt2)" -lt $((2 * 256 * 256 * 2)) ]
        tc-run shared.pt2 --input x=3x256xf32=0.3 -o want.npy
        tc-run q.pt2 --input x=3x256xf32=0.3 --expect @want.npy --rtol 0 --atol 2
        tc-compile tied.pt2 --quantize $form -o q.pt2 2>log
        grep -q "weights grow by [0-9]* bytes" log
        tc-export q.pt2 --print | grep -q _weight_int
        tc-compile normed.pt2 -q --quantize $form -o q.pt2
        tc-export q.pt2 --print | grep -q _weight_int
    done
}

@test "refusals" {
    fails 2 "expected w8a16 or w4a16" tc-compile f32.pt2 --quantize int8 -o q.pt2
    fails 2 "a group of 32, 64, 128 or 256" tc-compile f32.pt2 --quantize w4a16:48 -o q.pt2
    printf 'import torch\n\n\nclass I(torch.nn.Module):\n    def forward(self, i):\n        return i * 1\n' >i.py
    tc-export i.py:I --input i=1x6xi64 -o i.pt2
    fails 5 "no product with a weight" tc-compile i.pt2 --quantize w8a16 -o q.pt2
}

@test "what a quantised weight is computed from counts as quantised" {
    cat >w.py <<'PY'
import torch
from torch import nn


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.v, self.g = nn.Parameter(torch.randn(64, 96)), nn.Parameter(torch.randn(64, 1))
        self.idle = nn.Parameter(torch.randn(3, 4))

    def forward(self, x):
        w = self.v * (self.g / torch.linalg.vector_norm(self.v, dim=1, keepdim=True))
        return nn.functional.linear(x, w), x @ w.t()
PY
    tc-export w.py:Normed --input x=5x96xf32 -o w.pt2
    tc-compile w.pt2 --quantize w8a16 -v -o q.pt2 2>log
    grep -q "v is quantised" log
    grep -q "g is quantised" log
    grep -q "idle stays as it is: nothing reads it" log
    grep -q "2 of 3 weights in 8 bits" log
}
