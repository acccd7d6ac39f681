# tc-export --joint, --partition and --split: programs with gradients, and programs cut into pieces that compose.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm1d(n)
        self.fc = nn.Linear(n, n)

    def forward(self, x):
        return x + torch.sigmoid(self.fc(torch.tanh(self.bn(x))))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block(8) for _ in range(3)])
        self.drop = nn.Dropout(0.3)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        for b in self.blocks:
            x = self.drop(b(x))
        return self.head(x)


class Loss(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, t):
        return F.cross_entropy(self.net(x), t)


class Cube(nn.Module):
    def forward(self, x, y):
        return x * x * x, (x * y).sum()


class Count(nn.Module):
    def forward(self, n):
        return n / 2


class Sizes(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(()))

    def forward(self, pair, n: int):
        x, y = pair["x"], pair["y"][0]
        old = self.count.clone()
        self.count += 1
        z = torch.cat([x.reshape(-1), y.reshape(-1)])
        picked = torch.nonzero(z > 0.5).squeeze(1)
        parts = torch.split(z.repeat(2), z.shape[0])
        k = (x > 0).sum().item()
        torch._check(k >= 0)
        torch._check(k < 1000)
        top = x.max().item()
        return {"top": y * top, "picked": picked, "sum": parts[1] + old, "ones": torch.ones(k) * x.shape[0] * n, "size": x.shape[1] * y.shape[0], "name": "sizes"}
PY
    x=$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "%s%.3f", i ? "," : "", sin(i * 7 + 1) }')
}


numbers() { # FILE.npy N: its N elements
    tail -c $((4 * $2)) "$1" | od -An -tf4 | awk '{ $1 = $1; print }'
}

chain() { # ARCHIVE OUT INPUT...: runs the pieces in order, each on the results of the one before
    local archive=$1 out=$2 name first=1
    shift 2
    for name in $(tc-export "$archive" --print | awk '$1 == "program" { print $2 }'); do
        if [ "$first" ]; then tc-run "$archive" --model "$name" "$@" --to safetensors -o this.st
        else tc-run "$archive" --model "$name" --input @last.st --to safetensors -o this.st; fi
        first=
        mv this.st last.st
    done
    mv last.st "$out"
}

# ---- --joint ----
@test "a joint program says of every input and output what it is" {
    tc-export m.py:Net --input x=Bx8xf32 --joint -o joint.pt2
    tc-export joint.pt2 --print >text
    grep -q '^program joint' text
    [ "$(grep -c '^  in ' text)" -eq "$(grep -cE '^  in   (parameter|buffer|input) [a-z]' text)" ]
    [ "$(grep -c '^  out ' text)" -eq "$(grep -cE '^  out  (output|buffer|gradient of parameter|gradient of input) [a-z]' text)" ]
    grep -q 'in   input tangents.out.0 %tangents: f32\[B, 3\]' text
    [ "$(grep -c 'out  gradient of parameter' text)" -eq "$(grep -c 'in   parameter' text)" ]
    grep -q 'out  gradient of input x' text
    grep -q 'out  buffer blocks.2.bn.running_var' text
}

@test "--joint of a source: inputs require gradients for an autograd.Function, and may be written" {
    cat >ste.py <<'PY'
import torch


class Ste(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.round()

    @staticmethod
    def backward(ctx, g):
        return g * 5


class Net(torch.nn.Module):
    def forward(self, x):
        assert x.requires_grad
        y = Ste.apply(x).sum()
        x[0] = 2.0
        return y + x.square().sum()
PY
    tc-export ste.py:Net --input x=3xf32 --joint -o ste.pt2
    tc-run ste.pt2 --input x=3xf32=0.25,1.5,4 --input tangents.out.0=f32=1 --output grad.x=@gx.npy
    [ "$(numbers gx.npy 3)" = "5 8 13" ] # the write cuts the first element off the squares
}

@test "gradients of a joint program are those of its formula" {
    tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint -o joint.pt2
    tc-run joint.pt2 --input x=2xf32=1,2 --input y=2xf32=5,7 --input tangents.out.0=2xf32=1,10 --input tangents.out.1=f32=2 \
        --output grad.x=@gx.npy --output grad.y=@gy.npy --output 1=@sum.npy
    [ "$(numbers gx.npy 2)" = "13 134" ] # 3 x^2 t + 2 y
    [ "$(numbers gy.npy 2)" = "2 4" ]
    [ "$(numbers sum.npy 1)" = 19 ]
}

@test "the gradient of one result needs no tangent" {
    tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint=out.1 --print >text
    run ! grep -q tangents text
    grep -q 'out  loss out.1' text
    fails 2 "there are out.0, out.1" tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint=loss -o j.pt2
    fails 3 "only for scalar outputs" tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint=out.0 -o j.pt2
}

# Cube's module is the program itself: its values go by the names that --print gives them.
@test "a gradient can be asked of any value" {
    tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint=out.0 --dim N=1..1 --grad-of mul --grad-of x -o of.pt2
    tc-run of.pt2 --input x=1xf32=3 --input y=1xf32=7 --output grad.mul=@gm.npy --output grad.x=@gx.npy --output out.0=@y.npy
    [ "$(numbers gm.npy 1) $(numbers gx.npy 1)" = "3 27" ] # of x^2 in x^2 x, of x in x^3
    tc-export m.py:Net --input x=Bx8xf32 --joint --grad-of blocks.1 --print >text
    grep -q 'out  output grad.blocks.1 = ' text
    run ! grep -q 'out  gradient of' text
    fails 2 "no input, value (see --print) or module of this name" tc-export m.py:Net --input x=Bx8xf32 --joint --grad-of blocks.7 -o no.pt2
    fails 2 "--grad-of x is given twice" tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint=out.0 --dim N=1..1 --grad-of x --grad-of x -o no.pt2
    fails 3 "does not depend on y" tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --joint=out.0 --dim N=1..1 --grad-of y -o no.pt2
    fails 3 "t: only tensors of floating point" tc-export m.py:Loss --input x=Bx8xf32 --input t=Bxi64 --joint=out.0 --grad-of t -o no.pt2
    fails 2 "--grad-of needs --joint" tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --grad-of x -o no.pt2
}

@test "--jvp: the derivative along a direction, that of the gradients" {
    tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --jvp -o jvp.pt2
    tc-run jvp.pt2 --input x=2xf32=1,2 --input y=2xf32=5,7 --input tangents.x=2xf32=1,10 --input tangents.y=2xf32=3,1 \
        --output jvp.out.0=@cube.npy --output jvp.out.1=@sum.npy --output out.1=@value.npy
    [ "$(numbers cube.npy 2)" = "3 120" ]  # 3 x^2 t
    [ "$(numbers sum.npy 1)" = 80 ]        # y . tx + x . ty
    [ "$(numbers value.npy 1)" = 19 ]
    tc-export jvp.pt2 --print >text
    run ! grep -q ones_like text # nothing of the gradient program that was only its means
    fails 3 "no input of floating point" tc-export m.py:Count --input n=Nxi64 --jvp -o no.pt2
    fails 2 "--jvp and --joint cannot be used together" tc-export m.py:Cube --input x=Nxf32 --input y=Nxf32 --jvp --joint -o no.pt2
}

# ---- --partition ----
steps() { # POLICY: forward and backward of a training step, gradients in grad.st, what is said in said
    tc-export m.py:Loss --input x=Bx8xf32 --input t=Bxi64 --dim B=1..64 --joint=out.0 --partition="$1" -v -o both.pt2 2>said
    tc-run both.pt2 --model forward --input x=5x8xf32="$x" --input t=5xi64=0,1,2,0,1 --to safetensors -o forward.st
    tc-run both.pt2 --model backward --input @forward.st --to safetensors -o grad.st
}

@test "each policy gives the same gradients, from fewer bytes, as many as it says" {
    for policy in save-all recompute-all min-cut; do
        steps $policy
        [[ "$(cat said)" =~ "saves "([0-9]+)" values, "([0-9]+)"*B + "([0-9]+)" bytes" ]]
        said=$((BASH_REMATCH[2] * 5 + BASH_REMATCH[3]))
        bytes=$(tc-ckpt ls forward.st | awk '$NF ~ /^saved\./ { n += $2 } END { print n }')
        [ "$said" -eq "$bytes" ] || { echo "$policy: said $said, there are $bytes"; false; }
        eval "${policy/-/_}=$bytes"
        mv grad.st "$policy.st"
    done
    cmp save-all.st recompute-all.st
    cmp save-all.st min-cut.st
    [ "$recompute_all" -lt "$min_cut" ] && [ "$min_cut" -lt "$save_all" ]
    tc-ckpt ls forward.st | awk '$NF ~ /^saved\./ { print substr($NF, 7) }' >list # what min-cut saves, inputs too
    grep -x x list
    steps list
    cmp grad.st min-cut.st
}

@test "--saved-as hands over fewer bytes, by the figure that it prints, and says nothing where there are none to gain" {
    local net=(m.py:Loss --input x=64x8xf32 --input t=64xi64 --mode eval --joint=out.0)
    bytes() { sed -n 's/.*saves [0-9]* values, \([0-9]*\) bytes/\1/p' said; }
    for policy in save-all min-cut; do
        tc-export "${net[@]}" --partition=$policy -v -o j.pt2 2>said
        before=$(bytes)
        tc-export "${net[@]}" --partition=$policy --saved-as f8e4m3 -v -o j8.pt2 2>said
        read -r fewer more < <(sed -n 's/.* values for the backward as float8_e4m3fn: \([0-9]*\) bytes instead of \([0-9]*\)/\1 \2/p' said)
        [ "$fewer" -lt "$more" ]
        [ $((before - $(bytes))) -eq $((more - fewer)) ]
    done
    tc-export "${net[@]}" --partition=recompute-all --saved-as f8e4m3 -o j8.pt2 2>said
    [ ! -s said ]
    tc-export "${net[@]}" -o j.pt2
    tc-export "${net[@]}" --saved-as f8e5m2 -q -o j8.pt2
    tc-run j.pt2 --input x=64x8xf32=0.5 --input t=64xi64=1 --to safetensors -o j.safetensors
    tc-run j8.pt2 --input x=64x8xf32=0.5 --input t=64xi64=1 --to safetensors -o j8.safetensors
    run -4 tc-ckpt diff j.safetensors j8.safetensors
    tc-ckpt diff j.safetensors j8.safetensors --rtol 0.3 --atol 0.05
    fails 2 "--saved-as needs --joint" tc-export m.py:Loss --input x=64x8xf32 --input t=64xi64 --saved-as f8e5m2 -o no.pt2
    fails 2 "--saved-as f16: expected f8e5m2 or f8e4m3" tc-export "${net[@]}" --saved-as f16 -o no.pt2
}

@test "a file says which values are saved" {
    steps save-all
    mv grad.st all.st
    echo "tanh_1 # of the second block" >keep
    steps keep
    cmp all.st grad.st
    tc-ckpt ls forward.st | grep -q 'saved\.tanh_1$'
    run ! grep -qE 'saved\.(tanh|tanh_2|sigmoid)$' <(tc-ckpt ls forward.st)
    echo tanh_9 >keep
    fails 2 "tanh_9 is not a value of the forward" tc-export m.py:Loss --input x=Bx8xf32 --input t=Bxi64 --joint=out.0 --partition=keep -o no.pt2
    fails 2 "--partition needs --joint" tc-export m.py:Loss --input x=Bx8xf32 --input t=Bxi64 --partition=min-cut -o no.pt2
    fails 1 "neither save-all, recompute-all, min-cut nor a file" \
        tc-export m.py:Loss --input x=Bx8xf32 --input t=Bxi64 --joint=out.0 --partition=nothing -o no.pt2
}

@test "the partition log lists what is saved" {
    tc-export m.py:Loss --input x=Bx8xf32 --input t=Bxi64 --joint=out.0 --partition=recompute-all --log=partition -o both.pt2 2>log
    grep -q '^  x: f32\[B, 8\], 32\*B bytes$' log
}

@test "views of weights are made again, not saved, and random numbers are saved as little as what is made of them" {
    cat >w.py <<'PY'
import torch
from torch import nn


class Views(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(4, 6))

    def forward(self, x):
        return ((x.t() @ self.w.t().reshape(2, 12).view(3, 8)).tanh() * x.t()[:, :1]).sum()


class Mask(nn.Module):
    def forward(self, x):
        return (x * (torch.rand_like(x) > 0.5)).sin().sum()
PY
    saved() { sed -n 's/^  \([a-z_0-9]*\): .*/\1/p' log | tr '\n' ' '; }
    tc-export w.py:Views --input x=3x5xf32 --joint=out.0 --partition=save-all --log=partition -o j.pt2 2>log
    [ "$(saved)" = "t tanh slice sum " ] # neither the transposed weight nor its other views
    tc-export w.py:Mask --input x=10xf32 --joint=out.0 --partition=min-cut --log=partition -o j.pt2 2>log
    grep -q '^  gt: bool\[10\], 10 bytes$' log
    run ! grep -q rand log
}

# ---- --split ----
@test "cut at every node, the pieces in order give the same bits" {
    tc-export m.py:Net --mode eval --input x=Bx8xf32 -o net.pt2
    tc-run net.pt2 --input x=5x8xf32="$x" --to safetensors -o whole.st
    tc-export net.pt2 --split=1000 -o pieces.pt2
    [ "$(tc-export pieces.pt2 --print | grep -c ^program)" -eq "$(tc-export net.pt2 --print | grep -c ' = aten')" ]
    chain pieces.pt2 parts.st --input x=5x8xf32="$x"
    cmp whole.st parts.st
}

@test "sizes of data, nested inputs, lists and buffers that are written cross a cut" {
    tc-export m.py:Sizes --input pair.x=AxBxf32 --input pair.y.0=BxCxf32 --input n=i64=2 -o sizes.pt2
    give=(--input pair.x=4x5xf32="${x%,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*,*}" --input pair.y.0=5x1xf32=1,-1,0.25,0.75,3 --input n=i64=3)
    tc-run sizes.pt2 "${give[@]}" --to safetensors -o whole.st
    for n in 2 3 1000; do
        tc-export sizes.pt2 --split=$n -o pieces.pt2
        chain pieces.pt2 parts.st "${give[@]}"
        cmp whole.st parts.st
    done
}

@test "pieces by module begin and end where the modules do" {
    tc-export m.py:Net --mode train --input x=Bx8xf32 --split='by=blocks.*' -o pieces.pt2
    [ "$(tc-export pieces.pt2 --print | grep -c ^program)" -eq 6 ] # behind each block stands a dropout
    tc-export m.py:Net --mode eval --input x=Bx8xf32 --split='by=blocks.*' --log=split -o pieces.pt2 2>log
    [ "$(tc-export pieces.pt2 --print | grep -c ^program)" -eq 4 ] # the blocks, the head
    tc-export pieces.pt2 --model model.2 --print | grep -q 'parameter blocks.2.fc.weight'
    tc-export pieces.pt2 --model model.1 --print >one
    grep -q 'parameter blocks.1.fc.weight' one
    run ! grep -q 'parameter blocks.[02]' one
    grep -q 'tanh_1 (aten.tanh.default): piece 1, as part of module blocks.1' log
    grep -q "as module 'head' does not match blocks.\*" log
}

@test "no piece is empty, and pieces are about as large as each other" {
    tc-export m.py:Net --mode eval --input x=Bx8xf32 --split=3 -o three.pt2
    [ "$(tc-export three.pt2 --print | grep -c ^program)" -eq 3 ]
    for i in 0 1 2; do [ "$(tc-export three.pt2 --model model.$i --print | grep -c ' = aten')" -ge 3 ]; done
    fails 2 "--split" tc-export m.py:Net --input x=Bx8xf32 --split=0 -o no.pt2
    fails 2 "--split" tc-export m.py:Net --input x=Bx8xf32 --split=by= -o no.pt2
    fails 2 "--split by=bloks.*: no operator of model is of a module of this name" tc-export m.py:Net --mode eval --input x=Bx8xf32 --split='by=bloks.*' -o no.pt2
}

@test "options that do not go together are refused" {
    net=(m.py:Net --mode eval --input x=Bx8xf32)
    fails 2 "one program, these are 3" tc-export "${net[@]}" --split=3 -o no.onnx
    fails 2 "one program, these are 2" tc-export "${net[@]}" --joint --partition=save-all -o no.onnx
    fails 2 "--print and --summary" tc-export "${net[@]}" --print --summary
    fails 2 "--print gives text: it does not go with no.pt2" tc-export "${net[@]}" --print -o no.pt2
    fails 2 "--summary gives text: it does not go with --to" tc-export "${net[@]}" --summary --to pt2
    fails 2 "--opset needs --to onnx" tc-export "${net[@]}" --opset=18 -o no.pt2
    fails 2 "--meta needs --to pt2" tc-export "${net[@]}" --meta a=b -o no.onnx
    [ ! -e no.pt2 ] && [ ! -e no.onnx ]
    tc-export "${net[@]}" --split=1 -o one.onnx
    tc-export "${net[@]}" --print -o text
}

# ---- --print=modules ----
@test "the tree of modules has the types of every call, of one that is called twice both" {
    cat >two.py <<'PY'
import torch
from torch import nn


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x):
        return self.fc(x).relu()


class Twice(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = Body()
        self.out = nn.Linear(4, 2, bias=False)

    def forward(self, x, flag):
        y = self.body(x)
        z = self.body(y[:2].sin())
        return torch.cond(flag, lambda v: self.out(v), lambda v: v[:, :2].clone(), (z,))
PY
    tc-export two.py:Twice --input x=Bx4xf32 --dim B=2..64 --input flag=bool --print=modules >text
    cat >want <<'END'
program model
  10 operators, 28 parameters
  body: 4 operators, 20 parameters
    f32[B, 4] -> f32[B, 4]
    f32[2, 4] -> f32[2, 4]
    body.fc: 2 operators, 20 parameters
      f32[B, 4] -> f32[B, 4]
      f32[2, 4] -> f32[2, 4]
  out: 1 operator, 8 parameters
    f32[2, 4] -> f32[2, 2]
END
    diff text want
}

# ---- --swap ----
blocks() {
    cat >blocks.py <<'PY'
import torch
from torch import nn


def filled(linear, by):
    with torch.no_grad():
        linear.weight.copy_(torch.arange(linear.weight.numel()).view_as(linear.weight).sin() * by)
        linear.bias.fill_(by)
    return linear


class Old(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = filled(nn.Linear(4, 4), 0.5)

    def forward(self, x):
        return self.fc(x).relu() + self.fc(-x)


class New(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = filled(nn.Linear(4, 6), 0.25)
        self.b = filled(nn.Linear(6, 4), -0.75)
        self.register_buffer('scale', torch.tensor([1.0, 2.0, 3.0, 4.0]))

    def forward(self, x):
        return self.b(self.a(x).tanh() + self.a(x * 2)) * self.scale


class Model(nn.Module):
    def __init__(self, new=False):
        super().__init__()
        self.block = New() if new else Old()
        self.sides = nn.ModuleList([New() if new else Old(), Old()])

    def forward(self, x, flag):
        y = self.block(self.block(x))
        z = self.block(y[:2])
        return torch.cond(flag, lambda v: self.sides[0](v * 2), lambda v: self.sides[1](v), (z,)) + y.sum()
PY
    tc-export blocks.py:Model --input x=Bx4xf32 --dim B=2..64 --input flag=bool -o old.pt2
    tc-export blocks.py:Model --arg new=True --input x=Bx4xf32 --dim B=2..64 --input flag=bool -o want.pt2
    tc-export blocks.py:New --input x=Nx4xf32 -o new.pt2
}

@test "a module of a program is swapped in every call of it, of other sizes and in the body of a branch too" {
    blocks
    tc-export old.pt2 --swap block=new.pt2 --swap sides.0=new.pt2 -o got.pt2
    for flag in 0 1; do
        tc-run want.pt2 --input x=5x4xf32=0.7 --input flag=bool=$flag -o want.npy
        tc-run got.pt2 --input x=5x4xf32=0.7 --input flag=bool=$flag --expect @want.npy
    done
    tc-export got.pt2 --print=modules | LC_ALL=C sort >got
    tc-export want.pt2 --print=modules | LC_ALL=C sort >want
    diff got want
    tc-ckpt ls got.pt2 | cut -d' ' -f1 | LC_ALL=C sort >got
    tc-ckpt ls want.pt2 | cut -d' ' -f1 | LC_ALL=C sort >want
    diff got want
    tc-export got.pt2 -o again.pt2
    cmp got.pt2 again.pt2
    tc-export blocks.py:Model --input x=Bx4xf32 --dim B=2..64 --input flag=bool --swap block=new.pt2 --swap sides.0=new.pt2 -o source.pt2
    cmp got.pt2 source.pt2
}

@test "a module that does not fit is not swapped, and says why" {
    blocks
    fails 2 "program model calls no module blok: --print=modules shows" tc-export old.pt2 --swap blok=new.pt2 -o no.pt2
    fails 2 "--swap new.pt2: expected MODULE=FILE" tc-export old.pt2 --swap new.pt2 -o no.pt2
    fails 2 "--swap block: expected MODULE=FILE" tc-export blocks.py:Model --input x=Bx4xf32 --dim B=2..64 --input flag=bool --swap block -o no.pt2
    cat >others.py <<'PY'
import torch
from torch import nn


class Wide(nn.Module):
    def forward(self, x):
        return torch.cat([x, x], 1)


class Two(nn.Module):
    def forward(self, x, y):
        return x + y


class Three(nn.Module):
    def forward(self, x):
        return x * 2


class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('n', torch.zeros(4))

    def forward(self, x):
        self.n += 1
        return x + self.n
PY
    tc-export others.py:Wide --input x=Nx4xf32 -o wide.pt2
    fails 3 "block gives f32[B, 4], the module in its place f32[N, 8]" tc-export old.pt2 --swap block=wide.pt2 -o no.pt2
    tc-export others.py:Two --input x=Nx4xf32 --input y=Nx4xf32 -o two.pt2
    fails 3 "block takes f32[B, 4], the module in its place f32[N, 4], f32[N, 4]" tc-export old.pt2 --swap block=two.pt2 -o no.pt2
    tc-export others.py:Three --input x=3x4xf32 -o three.pt2
    fails 3 "block@2 takes f32[2, 4], the module in its place f32[3, 4]" tc-export old.pt2 --swap block=three.pt2 -o no.pt2
    tc-export others.py:Counts --input x=Nx4xf32 -o counts.pt2
    fails 5 "sides.0 writes to its buffer n in the body of a branch or loop" tc-export old.pt2 --swap sides.0=counts.pt2 -o no.pt2
    tc-export old.pt2 --swap block=counts.pt2 -o counted.pt2
    tc-run counted.pt2 --input x=2x4xf32=0 --input flag=bool=1 >/dev/null
    tc-export counted.pt2 --print | grep -q "buffer block.n = %add_1_3"
    [ ! -e no.pt2 ]
}

@test "an archive names every module and numbers the calls, as torch.export.unflatten wants it" {
    blocks
    tc-export old.pt2 --print=json >json
    grep -q 'L__self__block@2,block,torch.nn.Module;L__self__block.fc@5,block.fc,torch.nn.Module' json
    grep -q '"fqn": "sides.0", "signature": null' json
}

@test "a module with two inputs of one type is swapped by what its call took and gave, which archives keep" {
    cat >two.py <<'PY'
import torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(4, 4)
    def forward(self, a, b, *, c):
        h = self.l(b) - a
        return {"first": h.relu(), "second": (h + c * 0, a)}
class Model(torch.nn.Module):
    def __init__(self, block=Block):
        super().__init__()
        self.one, self.two = Block(), block()
    def forward(self, x, y):
        p = self.one(y, x, c=x)
        q = self.two(p["second"][0], p["first"], c=x)
        return q["first"] - 2 * q["second"][0]
class New(torch.nn.Module):
    def forward(self, a, b, c):
        return {"first": a - 2 * b + c, "second": (a * 3 - c, a)}
class Swapped(Model):
    def __init__(self):
        super().__init__(Block)
        self.two = New()
PY
    tc-export two.py:New --input a=Bx4xf32 --input b=Bx4xf32 --input c=Bx4xf32 -o new.pt2
    inputs="--input x=Bx4xf32 --input y=Bx4xf32"
    tc-export two.py:Swapped $inputs -o want.pt2
    tc-export two.py:Model $inputs --swap two=new.pt2 -o swapped.pt2
    tc-export two.py:Model $inputs --preserve-signature one --preserve-signature two -o kept.pt2
    tc-export kept.pt2 -o again.pt2 # functional already: the same bytes
    cmp kept.pt2 again.pt2
    [ "$(tc-export kept.pt2 --print=json | grep -o '"fqn": "two", "signature": {"inputs": \[{"as_tensor"' | wc -l)" = 1 ]
    tc-export again.pt2 --swap two=new.pt2 -o later.pt2
    printf '0.5 -1 2 3 1 1 -4 0.25\n' | tr ' ' ',' >values
    for p in want swapped later; do tc-run $p.pt2 --input x=2x4xf32=$(cat values) --input y=2x4xf32=2 -o $p.npy; done
    cmp want.npy swapped.npy
    cmp want.npy later.npy
    tc-export two.py:Model $inputs -o plain.pt2
    fails 3 "--preserve-signature of tc-export" tc-export plain.pt2 --swap two=new.pt2 -o no.pt2
    fails 2 "the model has no module three" tc-export two.py:Model $inputs --preserve-signature three -o no.pt2
    fails 2 "for FILE.py:CLASS" tc-export plain.pt2 --preserve-signature one -o no.pt2
}
