# Products in groups and of float8 matrices (lib/op/grouped_mm.c): torch._grouped_mm, F.grouped_mm, torch._scaled_mm, transformers' grouped_mm_fallback.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >moe.py <<'PY'
import torch
import torch.nn.functional as F
def at(sizes):
    ends, end = [], 0
    for n in sizes:
        end += n
        ends.append(end)
    return torch.tensor(ends, dtype=torch.int32)
def rows(a, b, sizes):
    out, begin = [], 0
    for g in range(len(sizes)):
        out.append(a[begin : begin + sizes[g]] @ b[g])
        begin += sizes[g]
    return torch.cat(out)
def data(dtype, *size):
    torch.manual_seed(7)
    return torch.randn(*size).to(dtype)
class Rows(torch.nn.Module):
    def __init__(self, dtype, sizes=(0, 1, 1000, 0, 23)):
        super().__init__()
        self.dtype, self.sizes = dtype, sizes
    def forward(self, zero):
        a, b = data(self.dtype, 1024, 312) + zero.to(self.dtype), data(self.dtype, 5, 312, 24) + zero.to(self.dtype)
        return F.grouped_mm(a, b, offs=at(self.sizes)), rows(a, b, self.sizes)
class Fallback(torch.nn.Module):
    """What transformers puts in the place of _grouped_mm: every type, offsets of 64 bits, any strides; and its gradient."""
    def forward(self, zero):
        a, b = data(torch.float64, 23, 5) + zero, data(torch.float64, 4, 5, 3) + zero
        a.requires_grad_(True), b.requires_grad_(True)
        sizes, fallback = (4, 0, 7, 12), torch.ops.transformers.grouped_mm_fallback
        def of(f):
            y = f()
            return torch.cat([y.flatten()] + [g.flatten() for g in torch.autograd.grad(y.sin().sum(), (a, b))])
        return of(lambda: fallback(a, b, at(sizes).long())), of(lambda: rows(a, b, sizes))
class Columns(torch.nn.Module):
    def forward(self, zero):
        a, b = data(torch.float32, 3, 16, 312) + zero, data(torch.float32, 312, 1024) + zero
        y = torch._grouped_mm(a, b, at((0, 1, 1000)))
        # behind the last group there is nothing but zeros
        return y, F.pad(torch.cat([a[1] @ b[:, :1], a[2] @ b[:, 1:1001]], 1), (0, 23))
class Inner(torch.nn.Module):
    def forward(self, zero):
        a, b = data(torch.float32, 16, 1024) + zero, data(torch.float32, 1024, 24) + zero
        y = torch._grouped_mm(a, b, at((0, 4, 1000)))
        return y, torch.stack([torch.zeros(16, 24), a[:, :4] @ b[:4], a[:, 4:1004] @ b[4:1004]])
class Batch(torch.nn.Module):
    def forward(self, zero):
        a, b = data(torch.float32, 3, 5, 8) + zero, data(torch.float32, 3, 8, 4) + zero
        return torch._grouped_mm(a, b), torch.bmm(a, b)
class Gradient(torch.nn.Module):
    def forward(self, zero):
        a, b = data(torch.float32, 64, 40) + zero, data(torch.float32, 3, 40, 12) + zero
        a.requires_grad_(True), b.requires_grad_(True)
        sizes = (20, 0, 44)
        def of(f):
            return torch.cat([g.flatten() for g in torch.autograd.grad(f().sin().sum(), (a, b))])
        return of(lambda: torch._grouped_mm(a, b, at(sizes))), of(lambda: rows(a, b, sizes))
class Wrong(torch.nn.Module):
    def __init__(self, what):
        super().__init__()
        self.what = what
    def forward(self, offs):
        a, b = torch.ones(16, 32), torch.ones(3, 32, 24)
        if self.what == "stride":
            return torch._grouped_mm(torch.ones(16, 33)[:, :32], b, offs)
        if self.what == "type":
            return torch._grouped_mm(a.double(), b.double(), offs)
        if self.what == "k":
            return torch._grouped_mm(a, torch.ones(3, 40, 24), offs)
        if self.what == "none":
            return torch._grouped_mm(a, b)
        if self.what == "groups":
            return torch._grouped_mm(a, torch.ones(2, 32, 24), offs)
        return torch._grouped_mm(a, b, offs)
class Scaled(torch.nn.Module):
    def __init__(self, form, out=torch.float32):
        super().__init__()
        self.form, self.out = form, out
    def forward(self, zero):
        a = (data(torch.float32, 16, 300) + zero).to(torch.float8_e4m3fn)
        b = (data(torch.float32, 24, 300) + zero).to(torch.float8_e4m3fn).t()
        shape = {"one": ((), ()), "line": ((16, 1), (1, 24)), "block": ((16, 3), (3, 24)), "square": ((1, 3), (3, 1)), "wrong": ((16, 2), (2, 24)),
                 "row": ((1, 1), (1, 24)), "small": ((16, 1), (1, 1))}
        if self.form == "row":
            a = a[:1]
        if self.form == "small":
            a, b = a[:, :128], b[:128]
        sa, sb = (torch.rand(s) + 0.5 for s in shape[self.form])
        bias = torch.arange(24.0)
        y = torch._scaled_mm(a, b, sa, sb, bias=bias, out_dtype=self.out)
        def wide(s, x):
            for d in range(2 if s.dim() else 0):
                if s.shape[d] != 1 and s.shape[d] != x.shape[d]:
                    s = s.repeat_interleave(128, d)
            return x.float() * (s[: x.shape[0], : x.shape[1]] if s.dim() else s)
        return y, (wide(sa, a) @ wide(sb, b) + bias).to(self.out)
PY
}

# Both results of a class, interpreted and compiled: the same bits, or within $tolerance.
both() {
    tc-export "moe.py:$1" "${@:2}" --input zero=f32 -o m.pt2
    tc-run m.pt2 --input f32=0 --cast f32 --output 0=@y.npy --output 1=@w.npy
    tc-compile m.pt2 -o c.pt2
    tc-run c.pt2 --input f32=0 --cast f32 --expect 0=@y.npy
    tc-run m.pt2 --input f32=0 --cast f32 --threads 3 --expect 0=@y.npy
}

@test "groups of 0, 1 and 1000 rows, columns and k are the same bits as a loop of products" {
    for type in float32 bfloat16 float16; do
        both Rows --arg dtype=torch.$type
        cmp y.npy w.npy || { echo $type; return 1; }
    done
    for form in Columns Inner Batch; do
        both $form
        cmp y.npy w.npy || { echo $form; return 1; }
    done
}

@test "the gradient of products in groups is that of a loop of products" {
    both Gradient
    tc-run m.pt2 --input f32=0 --output 1=@g.npy
    cmp y.npy g.npy
    both Fallback
    cmp y.npy w.npy
}

@test "products in groups go to ONNX as loops" {
    printf '%s\n' 'import torch' 'class Given(torch.nn.Module):' '    def forward(self, a, b, n):' \
        '        return torch._grouped_mm(a.sin(), b.cos(), (torch.arange(1, 4) * n).int())' >g.py
    for sizes in "Sx8 3x8x4 2" "3x5x8 8x12 3" "4x8 8x12 2"; do
        set -- $sizes
        tc-export g.py:Given --input a=${1}xf32 --input b=${2}xf32 --input n=:$3 --dim S=8..9 -o m.pt2 2>/dev/null ||
            tc-export g.py:Given --input a=${1}xf32 --input b=${2}xf32 --input n=:$3 -o m.pt2
        tc-export m.pt2 --to onnx --verify -o m.onnx 2>log || { cat log; return 1; }
        grep -q "difference 0," log
    done
}

@test "groups that do not fit are refused: strides, types, sizes, offsets" {
    for wrong in "stride|multiple of 16 bytes" "type|Expected mat_a to be" "k|contraction dimension" "none|Have to provide offsets" "groups|batch sizes have to match"; do
        fails 3 "${wrong#*|}" tc-export moe.py:Wrong --arg what="'${wrong%|*}'" --input offs=3xi32 -o w.pt2
    done
    fails 3 "Offsets have to be int32" tc-export moe.py:Wrong --arg what="''" --input offs=3xi64 -o w.pt2
    tc-export moe.py:Wrong --arg what="''" --input offs=3xi32 -o w.pt2
    tc-run w.pt2 --input offs=3xi32=4,4,16 -o y.npy
    fails 3 "offs[1] = 3, expected 4 to 16" tc-run w.pt2 --input offs=3xi32=4,3,16 -o y.npy
    fails 3 "offs[2] = 17, expected 4 to 16" tc-run w.pt2 --input offs=3xi32=4,4,17 -o y.npy
    fails 3 "offs[0] = -1" tc-run w.pt2 --input offs=3xi32=-1,4,16 -o y.npy
}

@test "float8 products: one scale, one a row and column, one a block agree with the float32 form" {
    for form in one line block square row small; do
        both Scaled --arg form="'$form'"
        tc-run m.pt2 --input f32=0 --expect 0=@w.npy --rtol 1e-4 --atol 1e-4 || { echo $form; return 1; }
    done
    both Scaled --arg form="'one'" --arg out=torch.bfloat16
    tc-run m.pt2 --input f32=0 --cast f32 --expect 0=@w.npy --rtol 1e-2 --atol 1e-2
    fails 3 "(16, 1) and (1, 24)" tc-export moe.py:Scaled --arg form="'wrong'" --input zero=f32 -o s.pt2
    grep -qF "(16 or 1, 3) and (3, 24 or 1)" <<<"$stderr"
}
