# torch.autocast("cpu", dtype=torch.bfloat16): which types its operators compute in, in a model file and by precision: of a recipe.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Types(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4, 4))

    def forward(self, a, h):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            mm = a @ a
            twice = F.linear(F.linear(a, self.w), self.w)
            prod = torch.prod(h, 1)
            cat = torch.cat([a, h])
            norm = F.layer_norm(a, (4,))
            einsum = torch.einsum("ij,jk->ik", a, a)
            outer = torch.einsum("i,j->ij", a[0], a[1])
            cov = torch.cov(a)
            wide = torch.mm(a.double(), a.double())
            pad = F.pad(h[None], (1, 1), mode="reflect")
            lstm = torch.lstm_cell(a, (a, a), torch.ones(16, 4), torch.ones(16, 4))[0]
            mixed = torch.lstm_cell(mm, (a, a), torch.ones(16, 4), torch.ones(16, 4))[1]
            cell = torch.lstm_cell(a, (a, mm), torch.ones(16, 4), torch.ones(16, 4))[1]
            margin = F.multi_margin_loss(h, torch.tensor([0, 1, 2, 3]))
            dist = torch.cdist(h, h)
            pool = F.avg_pool3d(h.view(1, 1, 2, 2, 4), 2)
            alias = torch.linalg.matmul(a, a)
            grid = F.affine_grid(a[:1, :3].expand(2, 3)[None], [1, 1, 2, 2])
            adaptive = nn.AdaptiveLogSoftmaxWithLoss(4, 4, [2]).log_prob(a)
            with torch.autocast("cpu", enabled=False):
                off = a @ a
        after = a @ a
        return dict(mm=mm, twice=twice, prod=prod, cat=cat, norm=norm, einsum=einsum, outer=outer, cov=cov, wide=wide, pad=pad, lstm=lstm, off=off,
                    after=after, mixed=mixed, cell=cell, margin=margin, dist=dist, pool=pool, alias=alias, grid=grid, adaptive=adaptive)
PY
}

@test "operators compute in the types of PyTorch's lists" {
    tc-export m.py:Types --input a=4x4xf32 --input h=4x4xbf16 -o m.pt2
    tc-run m.pt2 --signature >signature
    for want in mm:bf16 twice:bf16 prod:f32 cat:f32 norm:f32 einsum:bf16 outer:f32 cov:bf16 wide:f64 pad:f32 lstm:f32 mixed:f32 cell:bf16 margin:f32 dist:f32 pool:f32 alias:bf16 grid:bf16 adaptive:f32 off:f32 after:f32; do
        grep -qE "\b${want%:*}\b.*\b${want#*:}\b" signature || { cat signature; echo "expected $want"; false; }
    done
}

@test "a type that autocast does not have turns it off, with a warning, as in PyTorch" {
    cat >w.py <<'PY'
import torch
import torch.nn as nn


class M(nn.Module):
    def forward(self, a, h):
        with torch.autocast("cpu", dtype=torch.float64):
            return a @ a, h @ h
PY
    tc-export w.py:M --input a=4x4xf32 --input h=4x4xbf16 --print=short >graph 2>err
    [ "$(grep -c _to_copy graph)" -eq 0 ]
    grep -q 'dtype is torch.float64, expected torch.bfloat16 or torch.float16: disabled' err
}

@test "a weight is cast once, however often it is used" {
    tc-export m.py:Types --input a=4x4xf32 --input h=4x4xbf16 --print >graph
    [ "$(grep -c '_to_copy.default(%p_w' graph)" -eq 1 ]
}

@test "precision: bfloat16 trains float32 weights with products in bfloat16, to the same bits with any number of threads" {
    cat >net.py <<'PY'
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 8)
        self.b = nn.Linear(8, 4)

    def forward(self, x):
        return self.b(self.a(x.float()).relu())
PY
    printf 'emma\nolivia\nava\nisabella\nsophia\ncharlotte\n' >names.txt
    cat >r.yaml <<'YAML'
model: net.py:Net
input: x=Bx3xi64
data: {names: names.txt, context: 3, train: {limit: 16}, val: {limit: 8}}
batch: 8
steps: 4
loss: F.cross_entropy(out, y % 4)
optimizer: torch.optim.AdamW(m.parameters(), lr=0.01)
precision: bfloat16
YAML
    tc-train r.yaml --threads 1 -o one --log micro --log eval 2>log
    tc-train -q r.yaml --threads 3 -o three
    tc-ckpt diff one/latest three/latest
    grep -q 'bf16.*aten.*mm' log
    tc-ckpt show one/latest | grep -qv bf16
    tc-train -q r.yaml precision=float32 -o full
    tc-train -q r.yaml precision=bf16 -o short
    tc-ckpt diff one/latest short/latest
    tc-train -q r.yaml precision=f16 grad_scaler=false -o half
    run -4 tc-ckpt diff one/latest half/latest
    tc-ckpt diff half/latest full/latest --rtol 0.1 --atol 0.005
    run -4 tc-ckpt diff one/latest full/latest
    tc-ckpt diff one/latest full/latest --rtol 0.1 --atol 0.02
}

@test "precision: bfloat16 runs the model's own forward: types it asks tensors for, buffers it assigns, checkpointed classes" {
    cat >net.py <<'PY'
import torch
import torch.nn as nn


class Part(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 8)

    def forward(self, x):
        return self.a(x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.part = Part()
        self.b = nn.Linear(8, 4)
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        h = self.part(x.float())
        self.seen = self.seen + x.size(0)
        return self.b(torch.zeros(2, 8, dtype=h.dtype).index_add(0, x[:, 0] % 2, h))[x[:, 0] % 2]
PY
    printf 'emma\nolivia\nava\nisabella\nsophia\ncharlotte\n' >names.txt
    cat >r.yaml <<'YAML'
model: net.py:Net
input: x=8x3xi64
data: {names: names.txt, context: 3, train: {limit: 16}}
batch: 8
steps: 3
loss: F.cross_entropy(out, y % 4)
optimizer: torch.optim.SGD(m.parameters(), lr=0.1)
precision: bfloat16
YAML
    tc-train -q r.yaml -o run
    tc-ckpt show run/latest model.seen --json >seen
    grep -q 24 seen
    tc-train -q r.yaml activation_checkpointing=Part -o again
    tc-ckpt diff run/latest again/latest
    run -3 --separate-stderr tc-train -q r.yaml loss='F.cross_entropy(out, y) + torch.nope(out)' -o none
    run -3 --separate-stderr tc-train -q r.yaml activation_checkpointing=Port -o none
    [[ $stderr == *"argument activation_checkpointing: the model has no module of class 'Port'; it has "*Part* ]]
}

@test "autocast of another device than the CPU is disabled with a warning, and leaves the CPU's as it is" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
from torch.cuda.amp import autocast

class M(torch.nn.Module):
    @autocast()
    def none(self, x):
        return x @ x

    def forward(self, x):
        with torch.autocast('cpu'):
            with autocast(False), torch.autocast('cuda', dtype=torch.float16):
                a = x @ x
        with torch.cpu.amp.autocast():
            b = x @ x
        return a, b, self.none(x)
PY
    run --separate-stderr tc-export m.py:M --input x=2x2xf32 --print
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"torch.autocast: no device is of type 'cuda': disabled"* ]]
    [ "$(grep -o '[a-z0-9]*\[2, 2\] = aten.matmul' <<<"$output" | tr '\n' ' ')" = "bf16[2, 2] = aten.matmul bf16[2, 2] = aten.matmul f32[2, 2] = aten.matmul " ]
}

@test "backward_autocast: off and same are PyTorch's two backwards" {
    # torch.compile under autocast with torch._functorch.config.backward_pass_autocast, one step of SGD: the weights afterwards
    cat >lin.py <<'PY'
import torch
class Inv(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.tensor([[2.0, 0.3], [-0.7, 1.1]]))
    def forward(self, x):
        return x @ torch.linalg.inv(self.w)
PY
    printf '%s\n' a,b,y 1,2,3 0.5,-1.5,-1 >d.csv
    printf '%s\n' 'model: lin.py:Inv' 'input: x=Bx2xf32' 'data: {csv: d.csv, columns: [a, b], target: y, order: sequential}' 'batch: 2' 'steps: 1' \
        'loss: ((out[:, 0] - y) ** 2).mean() + out[:, 1].float().sin().mean()' 'optimizer: torch.optim.SGD(groups, lr=1.0)' 'precision: bf16' >r.yaml
    weights() { tc-ckpt consolidate "$1/latest" -o - | tail -c 16 | od -An -v -tf4 | awk '{ for (i = 1; i <= NF; i++) printf "%.5f ", $i }'; }
    tc-train -q r.yaml -o plain
    tc-train -q r.yaml backward_autocast=off -o off
    tc-train -q r.yaml backward_autocast=same -o same
    tc-ckpt diff plain/latest off/latest
    [ "$(weights off)" = "0.99588 -0.34510 -2.53480 -0.19668 " ]
    [ "$(weights same)" = "0.99219 -0.34844 -2.53594 -0.19687 " ]
    fails 2 "argument backward_autocast:1:1: found 'on', expected off or same" tc-train -q r.yaml backward_autocast=on -o x
}

@test "saved_as: float8_e5m2 and float8_e4m3fn train to about the same, and are silent where nothing is kept in fewer bytes" {
    cat >lin.py <<'PY'
import torch.nn as nn
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 32), nn.Linear(32, 1)
    def forward(self, x):
        return self.b(self.a(x).tanh())
class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 1)
    def forward(self, x):
        return self.a(x)
PY
    printf '%s\n' a,b,y 1,2,3 0.5,-1.5,-1 >d.csv
    printf '%s\n' 'model: lin.py:Net' 'input: x=Bx2xf32' 'data: {csv: d.csv, columns: [a, b], target: y, order: sequential}' 'batch: 2' 'steps: 3' \
        'loss: ((out[:, 0] - y) ** 2).mean()' 'optimizer: torch.optim.SGD(groups, lr=0.01)' >r.yaml
    tc-train -q r.yaml -o plain
    for t in float8_e5m2 float8_e4m3fn; do
        run --separate-stderr tc-train r.yaml saved_as=$t -o $t
        [[ "$stderr" == *" values for the backward as $t: "*" bytes instead of "* ]]
        run -4 tc-ckpt diff plain/latest $t/latest
        tc-ckpt diff plain/latest $t/latest --rtol 0.1 --atol 0.005
    done
    run --separate-stderr tc-train r.yaml model=lin.py:Lin loss='out.mean() + 0 * y.mean()' saved_as=float8_e5m2 -o silent
    [[ "$stderr" != *"for the backward"* ]]
    fails 2 "argument saved_as:1:1: found 'f32', expected float8_e5m2 or float8_e4m3fn" tc-train -q r.yaml saved_as=f32 -o x
}
