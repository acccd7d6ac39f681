# --fp32-precision: what factors of float32 products are rounded to, on every instruction set, and what tc-bench --accuracy prints of it.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


def ieee(x):
    return x


def bf16(x):
    return x.bfloat16().float()


def tf32(x):
    u = x.view(torch.int32)
    return ((u + 0xFFF + ((u >> 13) & 1)) & ~0x1FFF).view(torch.float32)


def product(a, b, how):
    """bf16x3: without the product of the lower parts."""
    if how == "bf16x3":
        p, q = bf16(a), bf16(b)
        return bf16(a - p) @ q + p @ bf16(b - q) + p @ q
    return {"ieee": ieee, "bf16": bf16, "tf32": tf32}[how](a) @ {"ieee": ieee, "bf16": bf16, "tf32": tf32}[how](b)


class M(nn.Module):
    """Products of every layout, with terms to add and what follows; how: rounded here."""

    def __init__(self, how="ieee"):
        super().__init__()
        self.how = how
        self.w = nn.Parameter(torch.randn(90, 300))
        self.b = nn.Parameter(torch.randn(90))

    def forward(self, x, y):
        n = x.size(1)
        p = lambda a, b: product(a, b, self.how)
        return (
            F.relu(p(x, self.w.t()) + self.b),
            p(x.transpose(1, 2), y),
            p(x[:, :1], self.w.t()[:, ::2]),
            p(y.transpose(1, 2)[:, ::2, :5], x[:, :5, 3:50]),
        )


class C(nn.Module):
    def __init__(self, how="ieee"):
        super().__init__()
        self.how = {"ieee": ieee, "bf16": bf16, "tf32": tf32}[how]
        self.w = nn.Parameter(torch.randn(20, 16, 3, 3))
        self.d = nn.Parameter(torch.randn(16, 1, 3, 3))
        self.t = nn.Parameter(torch.randn(16, 24, 2, 2))
        self.b = nn.Parameter(torch.randn(20))

    def forward(self, x):
        h = self.how
        return (
            F.relu(F.conv2d(h(x), h(self.w), self.b, stride=2, padding=1)),
            F.conv2d(h(x), h(self.w[:, :, :1, :1])),
            F.conv2d(h(x), h(self.d), groups=16, padding=1),
            F.conv_transpose2d(h(x), h(self.t), stride=2),
        )
PY
}

run_all() { # CLASS MODE INPUTS... : rounded by the program, and by the model
    local class=$1 mode=$2
    shift 2
    tc-run $class.pt2 --seed 1 "$@" --fp32-precision $mode --to safetensors -o by-option.st
    tc-run $class-$mode.pt2 --seed 1 "$@" --rtol 2e-5 --atol 2e-5 --expect out.0=@by-option.st#out.0 --expect out.1=@by-option.st#out.1 \
        --expect out.2=@by-option.st#out.2 --expect out.3=@by-option.st#out.3
}

@test "--fp32-precision rounds the factors of products and convolutions as a model that does it itself" {
    tc-export m.py:M --input x=Bx33x300xf32 --input y=Bx33x70xf32 -o M.pt2
    tc-export m.py:C --input x=Bx16xHxWxf32 -o C.pt2
    cat >in.py <<'PY'
import torch
from torch import nn


class In(nn.Module):
    def forward(self, n):
        return {"x": torch.randn(3, 33, 300), "y": torch.randn(3, 33, 70), "i": torch.randn(2, 16, 9, 11)}
PY
    tc-export in.py:In --input n=1xf32 | tc-run - --input n=1xf32=0 --to safetensors -o in.st
    for mode in ieee bf16x3 tf32 bf16; do
        tc-export m.py:M --arg how="'$mode'" --input x=Bx33x300xf32 --input y=Bx33x70xf32 -o M-$mode.pt2
        [ $mode = bf16x3 ] || tc-export m.py:C --arg how="'$mode'" --input x=Bx16xHxWxf32 -o C-$mode.pt2
        for isa in portable avx2 "avx512" amx; do
            export TC_ISA=$isa
            tc-run --version >/dev/null 2>&1 || continue
            run_all M $mode --input x=@in.st#x --input y=@in.st#y
            [ $mode = bf16x3 ] || run_all C $mode --input x=@in.st#i
        done
        unset TC_ISA
    done
}

@test "--fp32-precision: kept weights, records and threads give the same bits; a kind is set alone; none and nothing are ieee" {
    tc-export m.py:M --input x=Bx33x300xf32 --input y=Bx33x70xf32 -o M.pt2
    tc-export m.py:C --input x=Bx16xHxWxf32 -o C.pt2
    given="--input x=2x33x300xf32=0.7 --input y=2x33x70xf32=0.3 --output out.0=@o.npy --output out.1=- --output out.2=@2.npy --output out.3=@3.npy"
    for mode in bf16x3 tf32 bf16; do
        tc-run M.pt2 $given --fp32-precision $mode --threads 1 >one.npy && cp o.npy first.npy
        tc-run M.pt2 $given --fp32-precision matmul=$mode,conv=ieee --threads 3 >three.npy
        cmp one.npy three.npy && cmp o.npy first.npy
        tc-run C.pt2 --input x=2x16x9x11xf32=0.7 --fp32-precision matmul=$mode --to safetensors -o a.st
        tc-run C.pt2 --input x=2x16x9x11xf32=0.7 --fp32-precision none --to safetensors -o b.st
        tc-run C.pt2 --input x=2x16x9x11xf32=0.7 --to safetensors -o c.st
        cmp a.st b.st && cmp b.st c.st
    done
    tc-run M.pt2 $given >plain.npy
    run ! cmp -s first.npy o.npy
    # the second and third record read what the first has left packed
    cat >x.py <<'PY'
import torch
from torch import nn


class X(nn.Module):
    def forward(self, n):
        return torch.randn(2, 33, 300)
PY
    tc-export x.py:X --input n=1xf32 | tc-run - --input n=1xf32=0 -o x.npy
    cat x.npy x.npy x.npy >xxx.npy
    for mode in bf16x3 tf32 bf16; do
        rest="--input y=2x33x70xf32=0.3 --output out.1=@1.npy --output out.2=@2.npy --output out.3=@3.npy --fp32-precision $mode"
        tc-run M.pt2 --input x=@x.npy $rest --output out.0=@one.npy
        tc-run M.pt2 --input x=@xxx.npy $rest --output out.0=@three.npy
        cat one.npy one.npy one.npy | cmp - three.npy
    done
    fails 2 "expected ieee, bf16x3, tf32, bf16 or none" tc-run M.pt2 $given --fp32-precision fp8
    fails 2 "matmul=tf33: expected ieee" tc-run M.pt2 $given --fp32-precision bf16,matmul=tf33
}

@test "--fp32-precision in gradients: as those of factors that are rounded before, and a bias is summed as it is" {
    cat >g.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class G(nn.Module):
    def forward(self, x, w, b, a):
        return F.conv2d(x, w, b, padding=1).sum() + (a @ w.flatten(1).t()).sum()


class Round(nn.Module):
    def __init__(self, how):
        super().__init__()
        self.how = how

    def forward(self, x):
        if self.how == "bf16":
            return x.bfloat16().float()
        u = x.view(torch.int32)
        return ((u + 0xFFF + ((u >> 13) & 1)) & ~0x1FFF).view(torch.float32)


class In(nn.Module):
    def forward(self, n):
        return {"x": torch.randn(2, 16, 9, 11), "w": torch.randn(20, 16, 3, 3), "b": torch.randn(20), "a": torch.randn(30, 144)}
PY
    tc-export g.py:In --input n=1xf32 | tc-run - --input n=1xf32=0 --to safetensors -o in.st
    tc-export g.py:G --joint --grad-of x --grad-of w --grad-of b --grad-of a --input x=2x16x9x11xf32 --input w=20x16x3x3xf32 --input b=20xf32 \
        --input a=30x144xf32 -o g.pt2
    tc-run g.pt2 --signature | grep -q tangents
    for mode in tf32 bf16; do
        for v in x w a; do
            case $v in x) size=2x16x9x11 ;; w) size=20x16x3x3 ;; a) size=30x144 ;; esac
            tc-export g.py:Round --arg how="'$mode'" --input x=${size}xf32 | tc-run - --input x=@in.st#$v -o $v.npy
        done
        tc-run g.pt2 --input x=@in.st#x --input w=@in.st#w --input b=@in.st#b --input a=@in.st#a --input tangents.out.0=f32=1 --fp32-precision $mode \
            --to safetensors -o by-option.st
        tc-run g.pt2 --input x=@x.npy --input w=@w.npy --input b=@in.st#b --input a=@a.npy --input tangents.out.0=f32=1 --rtol 1e-5 --atol 1e-4 \
            --expect grad.x=@by-option.st#grad.x --expect grad.w=@by-option.st#grad.w --expect grad.b=@by-option.st#grad.b \
            --expect grad.a=@by-option.st#grad.a --output out.0=@l.npy
    done
}

@test "tc-train --fp32-precision: recorded, told when it changes, resumed to the same bits" {
    cat >mlp.py <<'PY'
from torch import nn


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 1))
PY
    awk 'BEGIN { srand(1); print "a,b,c,y"; for (i = 0; i < 50; i++) printf "%.3f,%.3f,%.3f,%.3f\n", rand() - .5, rand(), rand(), rand() }' >d.csv
    cat >r.yaml <<'Y'
model: mlp.py:Net
input: input=Bx3xf32
data: {csv: d.csv, columns: [a, b, c], target: y}
forward: m(x)
batch: 10
steps: 12
loss: F.mse_loss(out[:, 0], y)
optimizer: torch.optim.Adam(m.parameters(), lr=1e-2)
checkpoint: {every: 6}
Y
    tc-train r.yaml -o whole --fp32-precision bf16 2>/dev/null
    grep -q '"numerics": "strict, matmul bf16, conv bf16"' whole/environment
    tc-train r.yaml -o half steps=6 --fp32-precision bf16 2>/dev/null
    tc-train r.yaml -o half --resume --fp32-precision bf16 2>err
    run ! grep -q numerics err
    tc-ckpt diff whole/step-12 half/step-12
    tc-train r.yaml -o half steps=14 --resume 2>err
    grep -q 'numerics: strict, matmul bf16, conv bf16 -> strict' err
}

# bats test_tags=slow
@test "tc-bench --accuracy: every function and every mode, within bounds; --compare takes the modes" {
    tc-bench --accuracy --json >a.json
    has() { grep -q "^{\"function\": \"$1\", \"type\": \"$2\", " a.json; }
    for mode in ieee bf16x3 tf32 bf16; do has "mm 512" $mode; done
    for f in exp erfinv lgamma digamma j0 y1 k1e igamma zeta chebyshev_w hermite_he laguerre_l legendre_p; do has $f f32 && has $f f64; done
    [ "$(grep -c '"same_bits": true' a.json)" -eq "$(wc -l <a.json)" ]
    fails 2 "--op cannot be used with --accuracy, which only measures the library" tc-bench --accuracy --op gelu
    tc-bench --op 'mm(f32[64,64], f32[64,64])' --compare interpreted,bf16,bf16x3,tf32 --repeat 2 --to csv -o b.csv
    [ "$(sed 's/.*",//; s/,.*//' b.csv | tail -n +2 | xargs)" = "interpreted bf16 bf16x3 tf32" ]
}
