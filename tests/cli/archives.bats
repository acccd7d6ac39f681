# Archives as PyTorch reads them: forms that torch.export has for what programs do.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
}

@test "what is written under no_grad stands in a region, which gradients pass and signatures leave to it; reading and writing again changes nothing" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Average(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.e = nn.Linear(4, 4)

    def forward(self, x):
        with torch.no_grad():
            self.e.weight.lerp_(self.a.weight, 0.1)
        h = self.a(x) * 2
        with torch.no_grad():
            h.clamp_(-1, 1)
        return self.e(x) + h
PY
    tc-export -q m.py:Average --input x=3x4xf32 -o a.pt2
    tc-export --print=json a.pt2 >a.json
    [ "$(grep -o '"torch.ops.higher_order.wrap_with_set_grad_enabled"' a.json | wc -l)" -eq 3 ]
    grep -q '"verifiers": \["TRAINING"\]' a.json
    run grep -q parameter_mutation a.json # a copy to a parameter with gradients on is refused by PyTorch
    [ "$status" -eq 1 ]
    tc-export a.pt2 -o b.pt2
    tc-export b.pt2 -o c.pt2
    cmp b.pt2 c.pt2
    tc-export --print a.pt2 | grep -q 'parameter e.weight = '
    tc-run a.pt2 --input x=3x4xf32=1,2,3,4,5,6,7,8,9,10,11,12 -o y.npy
    tc-run c.pt2 --input x=3x4xf32=1,2,3,4,5,6,7,8,9,10,11,12 --expect 0=@y.npy
    # trained from an archive and from the source: the same bits
    tc-ckpt convert a.pt2 -o w.safetensors
    cat >r.yaml <<'YAML'
data: {csv: d.csv, columns: [p, q, r, s], target: t}
batch: 3
steps: 3
loss: (out - y[:, None]).square().mean()
optimizer: torch.optim.SGD(m.parameters(), lr=0.1)
YAML
    printf 'p,q,r,s,t\n1,2,0.5,-1,0.5\n2.5,0.25,-1,0.75,1\n0,1,2,-3,2.5\n' >d.csv
    tc-train -q r.yaml model=m.py:Average input=x=3x4xf32 weights=w.safetensors -o source
    tc-train -q r.yaml -o archive <c.pt2
    tc-ckpt diff source/latest archive/latest
}

@test "what --print=json shows is read back as a program without weights" {
    printf 'from torch import nn\n\n\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.a = nn.Linear(2, 3)\n\n    def forward(self, x):\n        return self.a(x).relu()\n' >m.py
    tc-export m.py:M --input x=Bx2xf32 -o m.pt2
    tc-export m.pt2 --print=json >m.json
    tc-export m.json --print=json | cmp - m.json
    tc-export - --print=full <m.json | diff - <(tc-export m.pt2 --print=full)
    fails 3 "a.weight has no value" tc-run m.json --input x=1x2xf32=1
    tc-ckpt convert m.pt2 -o w.safetensors
    tc-run m.json --weights w.safetensors --input x=1x2xf32=1,2 --expect @<(tc-run m.pt2 --input x=1x2xf32=1,2)
    head -c 500 m.json >cut.json
    fails 3 "cut.json:models/model.json:1:501: the text ends" tc-export cut.json
}

@test "a value that takes a clone of itself under no_grad keeps its history" {
    cat >m.py <<'PY'
import torch


class Same(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(4, 4)

    def forward(self, x):
        h = self.a(x) * 2
        with torch.no_grad():
            h.copy_(h.clone())
        return h * h
PY
    tc-export -q m.py:Same --input x=3x4xf32 -o a.pt2
    tc-export --print=json a.pt2 >a.json
    [ "$(grep -o '"torch.ops.higher_order.wrap_with_set_grad_enabled"' a.json | wc -l)" -eq 1 ]
}

@test "branches return tuples, as torch.export has them" {
    cat >m.py <<'PY'
import torch


class Either(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(4, 4)

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda x: self.a(x), lambda x: x * 2, (x,))
PY
    tc-export -q m.py:Either --input x=3x4xf32 -o a.pt2
    tc-export --print=json a.pt2 >a.json
    run grep -qE '"is_(hop_)?single_tensor_return": true' a.json
    [ "$status" -eq 1 ]
    tc-run a.pt2 --input x=3x4xf32=0,0,0,0,0,0,0,0,0,0,0,-1 -o y.npy
    run tc-run a.pt2 --input x=@y.npy --trace -o y.npy # -2 and so on: the second branch, which doubles
    [[ "$output" == *"-4"* ]]
}

@test "the context of a container is written as it was read, an object or text" {
    tc-export "$TC_ROOT/tests/oracle/pt2/containers.pt2" -o a.pt2
    tc-export --print=json a.pt2 >a.json
    grep -qF '\"context\": {\"default_factory_module\": \"builtins\", \"default_factory_name\": \"list\", \"dict_context\": [\"padded\", \"sum\"]}' a.json
}

@test "in ONNX a weight that is called as an input gets another name" {
    cat >m.py <<'PY'
import torch


class Both(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.x = torch.nn.Parameter(torch.ones(2, 2))
        self.register_buffer("x_1", torch.zeros(2))

    def forward(self, x):
        return self.x * x + self.x_1
PY
    tc-export -q m.py:Both --input x=2xf32 -o a.pt2
    tc-export a.pt2 --to onnx -o a.onnx
    tc-run a.pt2 --input x=2xf32=3,4 -o y.npy
    tc-run a.onnx --input x=2xf32=3,4 --expect @y.npy
}

@test "no name in an archive is a word of Python or of the code that PyTorch writes, or twice among the arguments" {
    printf '%s\n' 'import torch' 'class Named(torch.nn.Module):' '    def forward(self, x, device, torch_1, torch):' '        inf = x + device' \
        '        return inf * torch_1 - torch' >m.py
    tc-export m.py:Named --input x=3xf32 --input device=3xf32 --input torch_1=3xf32 --input torch=3xf32 -o m.pt2
    tc-export m.pt2 --print=json >j
    grep -qF '"forward_arg_names": ["x", "device_1", "torch_1", "torch_2"]' j || { grep -o '"forward_arg_names": [^]]*]' j; return 1; }
    grep -E '"name": "(device|torch|inf)"' j && return 1
    tc-run m.pt2 --input x=3xf32=1 --input device=3xf32=2 --input torch_1=3xf32=4 --input torch=3xf32=5 -o y.npy # their own names are kept
    tc-export m.pt2 | cmp - m.pt2
}

@test "what a no_grad region of torch.export keeps from gradients is kept when the archive is written again" {
    p=$TC_ROOT/tests/oracle/pt2/no_grad_region
    tc-export "$p.pt2" -o a.pt2
    for f in "$p.pt2" a.pt2; do
        tc-export "$f" --joint=out.0 -o joint.pt2
        tc-run joint.pt2 --input @"$p.inputs.safetensors#in0" --output grad.a.bias=@bias.npy --output grad.a.weight=@weight.npy --output grad.w=@w.npy
        tc-ckpt show bias.npy tensor | grep -q '1.5000, 1.5000' # through the second use alone: 0.5 for each of 3 rows
        cat bias.npy weight.npy w.npy >"${f##*/}.grads"
    done
    cmp no_grad_region.pt2.grads a.pt2.grads
}

@test "an export of an export is byte-identical, and an archive without programs says so" {
    for p in "$TC_ROOT"/tests/oracle/pt2/*.pt2 "$TC_ROOT"/tests/cli/fixtures/last-columns.pt2; do # of the last, a guard bounds a size that begins a slice
        tc-export "$p" -o a.pt2
        tc-export a.pt2 -o b.pt2
        cmp a.pt2 b.pt2
    done
    for n in 4 5; do # names of sizes in any order of their first use
        printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x, y):\n        return y.sum(0), x + 1\n' >m.py
        tc-export m.py:M --input x=BxTxf32 --input y=Sx${n}xf32 -o a.pt2
        tc-export a.pt2 -o b.pt2
        cmp a.pt2 b.pt2
    done
    for made in 'train --mode train' 'joint --joint'; do # as the only program each is called model for PyTorch, and by its name here
        tc-export m.py:M --input x=2x3xf32 --input y=2x3xf32 ${made#* } -o a.pt2
        for f in models/model.json data/weights/model_weights_config.json data/constants/model_constants_config.json data/sample_inputs/model.pt; do
            grep -aq "archive/$f" a.pt2
        done
        tc-export a.pt2 --model ${made% --*} -o b.pt2
        cmp a.pt2 b.pt2
    done
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x.exp().sum()\n' >s.py
    tc-export s.py:M --input x=2x3xf32 --joint --partition=save-all -o two.pt2 # the first of several
    grep -aq archive/models/model.json two.pt2
    grep -aq archive/data/sample_inputs/model.pt two.pt2
    tc-run two.pt2 --model forward --signature | grep -q saved
    fails 2 "it has forward, backward" tc-run two.pt2 --model model
    tc-export two.pt2 -o again.pt2
    cmp two.pt2 again.pt2
    grep -a '"out_spec": ' a.pt2 | sed 's/.*"out_spec": "//; s/", "forward_arg.*//' >tree # two results, two gradients
    [ "$(grep -ao 'type\\": null' tree | wc -l)" -eq 4 ]
    perl -0777 -pe 's{models/model\.json}{models_model_json}g' a.pt2 >none.pt2
    run --separate-stderr tc-export none.pt2 -o c.pt2
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"none.pt2 holds no program (no models/NAME.json)"* ]]
    perl -0777 -pe 's{models/model\.json}{data/aotinductor/}g' a.pt2 >aoti.pt2
    fails 5 "aoti.pt2 is a package of AOTInductor: it holds machine code and no program" tc-export aoti.pt2 -o c.pt2
}

@test "weights keep the order of their elements, and views the one storage that they share, as torch.export writes them" {
    cat >m.py <<'PY'
import torch


class Views(torch.nn.Module):
    def __init__(self):
        super().__init__()
        base = torch.arange(3000000.)
        self.w = torch.nn.Parameter(torch.arange(6.).view(2, 3).t())
        self.c = torch.nn.Conv2d(2, 3, 2).to(memory_format=torch.channels_last)
        self.register_buffer('p', base[5:])
        self.register_buffer('q', base.view(3, -1).t())

    def forward(self, x):
        return x @ self.w, self.c(x.view(1, 2, 3, 1).expand(1, 2, 3, 4)), self.p.sum() - self.q.sum()
PY
    tc-export -q m.py:Views --input x=2x3xf32 -o a.pt2
    [ "$(stat -c %s a.pt2)" -lt 12100000 ]
    tc-ckpt ls --json a.pt2 >ls
    grep -q '"name": "w",.*"stride": \[1, 3\]' ls
    grep -q '"name": "c.weight",.*"stride": \[8, 1, 4, 2\]' ls
    grep -q '"name": "q",.*"stride": \[1, 1000000\]' ls
    [ "$(sed -n 's/.*"name": "p",.*"offset": \([0-9]*\),.*/\1/p' ls)" -eq $(($(sed -n 's/.*"name": "q",.*"offset": \([0-9]*\),.*/\1/p' ls) + 20)) ]
    tc-run a.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output 0=@y.npy --output 1=@c.npy --output 2=@s.npy
    [ "$(tc-ckpt show y.npy tensor | tr -d ' \n')" = 'tensor=tensor([[8.,26.],[17.,62.]])' ]
    tc-compile -q a.pt2 -o b.pt2
    tc-run b.pt2 --input x=2x3xf32=1,2,3,4,5,6 --expect 0=@y.npy --expect 1=@c.npy --expect 2=@s.npy
    printf '        return self.w.view(-1)\n' >tail
    sed '/return x/d' m.py | cat - tail >v.py
    run --separate-stderr tc-export -q v.py:Views --input x=2x3xf32 -o v.pt2 # as in PyTorch
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"view"* ]]
    # what one of them writes the other would have to see
    sed 's/return x @.*/self.p.add_(1)\n        return x + self.q.sum()/' m.py >w.py
    run --separate-stderr tc-export -q w.py:Views --input x=2x3xf32 -o w.pt2
    [ "$status" -eq 5 ]
    [[ "$stderr" == *"the program writes to p, whose memory is in part that of q"* ]]
    sed 's/return x @.*/return x + self.p.as_strided((2, 3), (3, 1), 0)/' m.py >s.py
    run --separate-stderr tc-export -q s.py:Views --input x=2x3xf32 -o s.pt2
    [ "$status" -eq 5 ]
    [[ "$stderr" == *"of p, which begins at element 5 of its storage"* ]]
}

@test "names of shared weights that torch.export's strict form leaves out of the graph are kept when the archive is written again" {
    tied=$TC_ROOT/tests/cli/fixtures/tied.pt2
    tc-export "$tied" -o again.pt2
    tc-ckpt ls "$tied" | awk '{ print $1, $4 }' | sort >want
    tc-ckpt ls again.pt2 | awk '{ print $1, $4 }' | sort >got
    grep -q h.weight want
    diff got want
    [ "$(tc-ckpt ls again.pt2 | awk '/(e|h).weight/ { print $3 }' | sort -u | wc -l)" = 1 ]
    tc-run "$tied" --input 2xi64=1,2 -o want.npy
    tc-run again.pt2 --input 2xi64=1,2 --expect @want.npy
    tc-export again.pt2 -o third.pt2
    cmp again.pt2 third.pt2
}

@test "arguments and graphs are written as PyTorch calls them: None without a default, bounds that are numbers, the condition of a loop's gradient" {
    cat >m.py <<'PY'
import torch
class Div(torch.nn.Module):
    def forward(self, x):
        return torch.div(x, 2, rounding_mode=None)
class Clamp(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, -2, 3).sum()
class Loop(torch.nn.Module):
    def forward(self, x):
        def test(i, y): return i < 3
        def body(i, y): return i + 1, y * 1.5
        return torch._higher_order_ops.while_loop(test, body, (torch.zeros((), dtype=torch.int64), x))[1].sum()
class Norm(torch.nn.Module):
    def forward(self, x):
        return torch.cat([torch.norm_except_dim(x, 2, 0), torch._weight_norm(x, x * 2, 0), torch.norm_except_dim(x, 2, -1).reshape(1)])
PY
    tc-export m.py:Div --input x=4xf32 --print=json | grep -q '"name": *"rounding_mode", *"arg": *{"as_none": *true}'
    tc-export m.py:Clamp --input x=4xf32 --joint=out.0 --print >clamp
    grep -q 'aten.gt.Scalar(%x, -2)' clamp
    grep -q 'aten.lt.Scalar(%x, 3)' clamp
    # the loop, and the one that counts its steps, have a condition that is a tensor, as is what the loop is called by
    tc-export m.py:Loop --input x=4xf32 --print=json >one
    tc-export m.py:Loop --input x=4xf32 --joint=out.0 --print=json >joint
    [ "$(grep -o '"is_single_tensor_return": *true' one | wc -l)" -eq 1 ]
    [ "$(grep -o '"is_single_tensor_return": *true' joint | wc -l)" -ge 1 ]
    tc-export m.py:Norm --input x=4xf32 -o n.pt2
    tc-run n.pt2 --input x=4xf32=3,-4,84,12 -o n.npy
    [ "$(tail -c 36 n.npy | od -An -v -tf4 | xargs)" = "3 4 84 12 6 8 168 24 85" ]
}

# tests/cli/fixtures/guards.pt2 is of PyTorch: x[A] and y[B], the sum of both; "if x.shape[0] + y.shape[0] > 5" took the branch.
@test "the conditions in PyTorch's guards_code are checked before a run, kept by an export, and left out by --check-guards=no" {
    tc-export "$TC_ROOT/tests/cli/fixtures/guards.pt2" -o again.pt2
    for f in "$TC_ROOT/tests/cli/fixtures/guards.pt2" again.pt2; do
        tc-run "$f" --input x=3xf32=1 --input y=3xf32=1 -o y.npy
        [ "$(tail -c 4 y.npy | od -An -tf4 | xargs)" = 6 ]
        run --separate-stderr tc-run "$f" --input x=2xf32=1 --input y=2xf32=1
        [ "$status" -eq 3 ] && [[ "$stderr" == *"these sizes break a condition of the program: 6 <= s77 + s17"* ]]
        tc-run "$f" --check-guards=no --input x=2xf32=1 --input y=2xf32=1 -o y.npy
        [ "$(tail -c 4 y.npy | od -An -tf4 | xargs)" = 4 ]
    done
    tc-export again.pt2 | cmp - again.pt2
    grep -aqF "\"guards_code\": [\"6 <= L['flat_args'][0].size()[0] + L['flat_args'][1].size()[0]\"]" again.pt2 # for other readers
}

# The file has x[A] and y[B] with A and B from 2 on, as torch.export says of every free size.
@test "programs of PyTorch run on sizes of 0 and 1, where 2 is no bound; of tc's own it is one" {
    tc-export "$TC_ROOT/tests/cli/fixtures/guards.pt2" -o again.pt2
    for f in "$TC_ROOT/tests/cli/fixtures/guards.pt2" again.pt2; do
        for n in 0 1; do
            tc-run "$f" --input x=6xf32=1 --input y=${n}xf32=1 -o y.npy
            [ "$(tail -c 4 y.npy | od -An -tf4 | xargs)" = $((6 + n)) ]
        done
    done
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n' >m.py
    tc-export m.py:M --input x=Bxf32 --dim B=2..9 | tc-export -o m.pt2
    fails 3 "x.size(0)=1, expected 2..9" tc-run m.pt2 --input x=1xf32=1
}

# tests/cli/fixtures/empty-key.pt2 is of PyTorch: it returns {"": [x + 1, x + 2], "b": x}.
@test "what lies under an empty key is named by the key and its place" {
    tc-run "$TC_ROOT/tests/cli/fixtures/empty-key.pt2" --signature >out
    [ "$(sed -n '/outputs/,/tc-run/ s/ *f32\[.*//p' out | xargs)" = ".0 .1 b" ]
    tc-run "$TC_ROOT/tests/cli/fixtures/empty-key.pt2" --input x=2xf32=1 --output .1=@y.npy
    [ "$(tail -c 8 y.npy | od -An -tf4 | xargs)" = "3 3" ]
}

# tests/cli/fixtures/guards-names.pt2 is of PyTorch: a list x of two, x_1, and d of the keys 0 and -1. Its conditions:
# (x_1 if x_1 > 4 else x[0]) > 5, d[-1] & 2 != 0, x[1] + 2*x_1 > 15 and sym_max(x[0], d[0]) < 9, of the lengths.
@test "conditions in guards_code find inputs of like names and keys that are numbers, and choose, mask and compare as Python does" {
    sizes() { # x[0] x[1] x_1 d[0] d[-1]
        tc-run "$TC_ROOT/tests/cli/fixtures/guards-names.pt2" --input x.0=$1xf32=1 --input x.1=$2xf32=1 --input x_1=$3xf32=1 --input d.0=$4xf32=1 \
            --input d.-1=$5xf32=1 -o y.npy
    }
    for good in "3 4 6 5 7" "2 8 7 8 2" "6 12 2 2 3"; do sizes $good; done
    for bad in "8 8 5 5 7" "5 30 4 5 7" "3 3 6 5 7" "3 4 6 5 8" "3 4 6 9 7" "9 4 6 5 7"; do
        run --separate-stderr sizes $bad
        [ "$status" -eq 3 ] && [[ "$stderr" == *"these sizes break a condition of the program"* ]]
    done
}

@test "a condition that has no value for sizes, as a remainder of 0, is broken by them" {
    cat >m.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x, y):
        if x.shape[0] % (y.shape[0] - 1) == 0:
            return x * 2
        return x
EOF
    tc-export m.py:M --input x=Axf32 --input y=Bxf32 -o m.pt2
    tc-run m.pt2 --input x=8xf32=1 --input y=4xf32=1 -o y.npy
    run --separate-stderr tc-run m.pt2 --input x=8xf32=1 --input y=1xf32=1
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"these sizes break a condition of the program: A % (B - 1) != 0 (m.py:4): division by zero"* ]]
    tc-run m.pt2 --signature | grep -qx '  tc-run m.pt2 --input x=1xf32=0 --input y=3xf32=0'
    cp m.pt2 "it's \$(touch made) m.pt2" # the command is for a shell
    eval "$(tc-run "it's \$(touch made) m.pt2" --model model --signature | tail -1) -o z.npy" # with the program that was asked for
    [ -s z.npy ] && [ ! -e made ]
    tc-run m.pt2 --model model --signature | grep -q '^  tc-run m.pt2 --model model --input x='
}

@test "--check-guards=no leaves out what the model asserts of values, and no condition on sizes that the program rests on" {
    cat >m.py <<'EOF'
import torch
from torch import nn
class M(nn.Module):
    def forward(self, x, y):
        torch._assert_async((x > 0).all(), "x must be positive")
        return x + y
EOF
    tc-export m.py:M --input x=Axf32 --input y=Axf32 -o m.pt2
    run --separate-stderr tc-run m.pt2 --input x=2xf32=-1 --input y=2xf32=1
    [ "$status" -eq 3 ] && [[ "$stderr" == *"x must be positive"* ]]
    tc-run m.pt2 --check-guards=no --input x=2xf32=-1 --input y=2xf32=1 -o y.npy
    run --separate-stderr tc-run m.pt2 --check-guards=no --input x=2xf32=-1 --input y=3xf32=1
    [ "$status" -eq 3 ]
}

@test "--to-device names a device for weights, values and arguments, shared weights once; it is kept until another is named" {
    cat >m.py <<'EOF'
import torch
from torch import nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = self.a
    def forward(self, x):
        return self.b(self.a(x)) + torch.full((4,), 2.0)
EOF
    devices() { tc-export "$1" --print=json | grep -o '"device": *{[^}]*}' | sort -u; }
    tc-export m.py:M --input x=Ax4xf32 -o cpu.pt2
    tc-export cpu.pt2 --to-device cuda:1 -o cuda.pt2
    [ "$(devices cuda.pt2 | tr -d ' ')" = '"device":{"type":"cuda","index":1}' ]
    grep -aq '"weight_1"' cuda.pt2
    run ! grep -aq '"weight_2"' cuda.pt2
    run ! grep -a '"type": *"cpu"' cuda.pt2
    tc-export cuda.pt2 | cmp - cuda.pt2
    tc-export cuda.pt2 --to-device cpu | cmp - cpu.pt2
    tc-run cpu.pt2 --input x=3x4xf32=1 -o y.npy
    tc-run cuda.pt2 --input x=3x4xf32=1 --expect @y.npy
    for bad in '' 0 cuda: cuda:x CUDA cuda:1:2 nonsense cud; do
        run tc-export cpu.pt2 --to-device "$bad" -o out.pt2
        [ "$status" -eq 2 ] && [[ "$output" == *"expected one of cpu, cuda,"* ]]
    done
    run tc-export cpu.pt2 --to-device cuda --to onnx -o out.onnx
    [ "$status" -eq 2 ]
}

# tests/cli/fixtures/split.pt2 is of PyTorch: torch.split(x, y.shape[0]) of x[A,4], whose two pieces it unpacks.
@test "a split by a symbolic size has as many pieces as the archive has names for, which is checked before a run" {
    tc-export "$TC_ROOT/tests/cli/fixtures/split.pt2" -o again.pt2
    tc-export again.pt2 | cmp - again.pt2
    for f in "$TC_ROOT/tests/cli/fixtures/split.pt2" again.pt2; do
        tc-run "$f" --input x=7x4xf32=1 --input y=4xf32=1 --output out.0=@a.npy --output out.1=@b.npy
        grep -aq "'shape': (4, 4)" a.npy
        grep -aq "'shape': (3, 4)" b.npy
        run --separate-stderr tc-run "$f" --check-guards=no --input x=9x4xf32=1 --input y=4xf32=1 -o out.safetensors
        [ "$status" -eq 3 ] && [[ "$stderr" == *"these sizes break a condition of the program"*"sp.py:9"* ]]
    done
}

# tests/cli/fixtures/pieces.pt2 is of PyTorch: chunk(x, 5) gives 3, unsafe_split(x, y.shape[0]) and split_copy 2, unbind(x[y.shape[0] - 2:y.shape[0]]) 2.
@test "as many pieces as the archive names is what each operator that cuts a symbolic size promises" {
    local x=x=6x2xf32=0,1,2,3,4,5,6,7,8,9,10,11
    tc-export "$TC_ROOT/tests/cli/fixtures/pieces.pt2" -o again.pt2
    tc-export again.pt2 | cmp - again.pt2
    for f in "$TC_ROOT/tests/cli/fixtures/pieces.pt2" again.pt2; do
        tc-run "$f" --input "$x" --input y=4xf32=1 --output 0=@0.npy --output 1=@1.npy --output 2=@2.npy --output 3=@3.npy
        [ "$(tail -c 16 0.npy | od -An -tf4 | tr -s ' ')" = " 22 26 26 30" ]
        [ "$(tail -c 8 1.npy | od -An -tf4 | tr -s ' ')" = " 48 56" ]
        [ "$(tail -c 8 2.npy | od -An -tf4 | tr -s ' ')" = " -6 -4" ]
        [ "$(tail -c 8 3.npy | od -An -tf4 | tr -s ' ')" = " -2 -2" ]
        run --separate-stderr tc-run "$f" --check-guards=no --input x=7x2xf32=0 --input y=4xf32=1 -o out.safetensors
        [ "$status" -eq 3 ] && [[ "$stderr" == *"these sizes break a condition of the program"*"pieces.py:5"* ]]
    done
}

@test "a condition that became the range of a size keeps its line when the archive is written again" {
    cat >m.py <<'PY'
from torch import nn


class M(nn.Module):
    def forward(self, x, y):
        assert x.shape[0] <= 64
        return x.sum(0) + y[:-3].sum()
PY
    tc-export m.py:M --input x=Bx4xf32 --input y=Nxf32 --dim B=1..100 -o a.pt2
    tc-export a.pt2 -o b.pt2
    cmp a.pt2 b.pt2
    run --separate-stderr tc-run b.pt2 --input x=65x4xf32=1 --input y=9xf32=1
    [ "$status" -eq 3 ] && [[ "$stderr" == *"x.size(0)=65, expected 1..64 (m.py:6)"* ]]
}

@test "keys of results that are no strings are written as PyTorch's pytree has them, name the results and are found by a loss" {
    cat >m.py <<'PY'
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 2)

    def forward(self, x):
        return {3: self.l(x), "a": x, 1.5: x * 2, None: x * 3, True: x * 4}
PY
    tc-export m.py:M --input x=2x2xf32 -o a.pt2
    tc-export --print=json a.pt2 | grep -qF '[3, \\\"a\\\", 1.5, null, true]'
    tc-export a.pt2 | cmp - a.pt2
    for key in 3 a 1.5 None True; do tc-run a.pt2 --input x=2x2xf32=1 --output "$key=@$key.npy"; done
    [ "$(tail -c 4 True.npy | od -An -tf4 | tr -d ' ')" = 4 ]
    printf 't,p,q\n0,1,2\n1,3,4\n' >d.csv
    printf '%s\n' 'data: {csv: d.csv, columns: [p, q], target: t}' 'batch: 2' 'steps: 1' \
        'loss: out[3].sum() + out["a"].sum() + out[1.5].sum() + out[None].sum() + out[True].sum()' \
        'optimizer: torch.optim.SGD(m.parameters(), lr=0.1)' >r.yaml
    tc-train -q r.yaml -o run <a.pt2
}

@test "models/NAME.json has PyTorch's operators alone, and the backward of an autograd.Function is kept beside it as long as nothing else changed it" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch


class Odd(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, g):
        return g * 7


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.p = torch.nn.Parameter(torch.full((2,), 3.0))

    def forward(self, x):
        return torch.cond(x.sum() > 0, lambda: Odd.apply(self.p), lambda: self.p * 1) * x
PY
    gradient() { tc-export "$1" --joint | tc-run --input x=2xf32=1,2 --input tangents.out.0=2xf32=1 --output grad.p=@g.npy && tail -c 8 g.npy | od -An -tf4 | xargs; }
    tc-export m.py:M --input x=2xf32 -o m.pt2
    [ "$(gradient m.pt2)" = "7 14" ]
    LC_ALL=C sed -E 's!(extra/tc/model)[.][0-9a-f]{8}!\1.00000000!g' m.pt2 >other.pt2 # as if models/model.json had another checksum
    [ "$(gradient other.pt2)" = "6 12" ]
    tc-export other.pt2 -o plain.pt2
    run ! grep -aq 'torch[.]ops[.]tc[.]' plain.pt2
    tc-run m.pt2 --input x=2xf32=1,2 | tc-run plain.pt2 --input x=2xf32=1,2 --expect @/dev/stdin
}

@test "PyTorch finds the arguments of a decorated forward in their places, and no name twice" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch


class M(torch.nn.Module):
    @torch.no_grad()
    def forward(self, x, y):
        return x.max(0)[0], torch.max(x, y)
PY
    tc-export m.py:M --input y=2xf32 --input x=2xf32 -o m.pt2
    tc-export m.pt2 --print | grep '^  in' | cut -d' ' -f7 | xargs | grep -qx 'x y'
    run ! grep -aq '"name": "max"' m.pt2 # torch.export.load() would call the tuple max_1, as the other is called
    grep -aq 'torch.ops.aten.max.dim.*"name": "max_1".*torch.ops.aten.max.other.*"name": "max_1_1"' m.pt2
}

entry() { # FILE PATH: the bytes of a stored entry below the root of an archive
    ENTRY=$2 perl -0777 -ne 'while (/PK\x01\x02.{16}(.{4}).{4}(..).{12}(.{4})/sg) {
        my ($size, $n, $at) = (unpack("V", $1), unpack("v", $2), unpack("V", $3));
        next if substr($_, pos, $n) !~ m{^[^/]+/\Q$ENV{ENTRY}\E$};
        print substr($_, $at + 30 + unpack("v", substr($_, $at + 26, 2)) + unpack("v", substr($_, $at + 28, 2)), $size)}' "$1"
}

@test "example inputs of an archive are kept as long as they are inputs of the program, as data" {
    local examples=data/sample_inputs/model.pt
    for p in pytree names while_loop; do
        entry "$TC_ROOT/tests/oracle/pt2/$p.pt2" $examples >theirs.pt
        tc-export "$TC_ROOT/tests/oracle/pt2/$p.pt2" -o a.pt2
        entry a.pt2 $examples >ours.pt
        tc-ckpt diff theirs.pt ours.pt
        tc-compile a.pt2 -o b.pt2
        entry b.pt2 $examples | cmp ours.pt
    done
    tc-export "$TC_ROOT/tests/oracle/pt2/mlp.pt2" --jvp -o more.pt2 # has further inputs
    [ -z "$(entry more.pt2 data/sample_inputs/jvp.pt)" ]
}

@test "a size that conditions leave no other value than 1 repeats its element" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        s = x[:, 1:2:2]\n        return s + x, torch.topk(s, 1, dim=1)[0]\n' >one.py
    tc-export one.py:M --input x=AxBxf32 -o one.pt2
    tc-run one.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output 1=@/dev/null --output 0=@sum.npy
    [ "$(tail -c 24 sum.npy | od -An -tf4 | xargs)" = "3 4 5 9 10 11" ]
}

@test "the form of PyTorch 2.8 and older is read: weights, constants, texts, example inputs; it is written in the newer one" {
    local old=$BATS_TEST_DIRNAME/fixtures/older.pt2 # by PyTorch: two layers of one weight, a buffer, a constant of bools, a parameter that is not read
    tc-run "$old" --input 2x2xf32=1,1,0,2 >y.npy
    [ "$(tc-ckpt show y.npy tensor | tr -d '\n ')" = "tensor=tensor([[27.,21.],[30.,22.]])" ]
    tc-export "$old" -o new.pt2
    tc-run new.pt2 --input 2x2xf32=1,1,0,2 | cmp y.npy
    tc-ckpt diff --all "$old" new.pt2
    [ "$(tc-ckpt ls "$old" | awk '{ print $1, $4 }' | head -3 | paste -sd,)" = "2xf32 b,2x2xf32 l.weight,1xf32 unread" ]
    tc-export "$old" --print | grep -q "parameter unread"
    [ "$(entry new.pt2 extra/note.txt)" = "of old" ]
    entry new.pt2 data/sample_inputs/model.pt >examples.pt
    [ "$(tc-ckpt show examples.pt 0.0 | tr -d '\n ')" = "0.0=tensor([[1.,1.],[0.,2.]])" ]
    head -c 9000 "$old" >cut.pt2
    fails 3 "no end record of a ZIP archive" tc-run cut.pt2
    perl -0777 -pe 's/serialized_constants\.pt/serialized_constants_pt/g' "$old" >lacks.pt2
    fails 3 "lacks.pt2: serialized_constants.pt holds no dict of tensors" tc-run lacks.pt2
}

@test "a field of a program that contradicts the others is refused with the name of its node or input" {
    cat >m.py <<'PY'
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 3)

    def forward(self, x, y):
        h = self.a(x).relu()
        return h.sum(0), h.view(-1) * y
PY
    tc-export m.py:M --input x=Bx2xf32 --input y=Nxf32 -o m.pt2
    tc-export m.pt2 --print=json >m.json
    while IFS='|' read -r change message; do
        perl -pe "s/$change/ or die 'no such text'" m.json >c.json
        fails 3 "$message" tc-export c.json -o /dev/null </dev/null
    done <<'ROWS'
"relu": ."dtype": \K7/8|node relu: torch.ops.aten.relu.default gives f32[B, 3], the file says f64[B, 3]
"relu": .*?"as_int": \K3/4|node relu: torch.ops.aten.relu.default gives f32[B, 3], the file says f32[B, 4]
"relu": .*?expr_str": "\K/Mul(Integer(2), |node relu: expression
"relu": .*?expr_str": "\K(Symbol.*?\))/Mul(Integer(2), $1)|node relu: torch.ops.aten.relu.default gives f32[B, 3], the file says f32[2*B, 3]
"relu": .*?Symbol..\KB/Q|node relu: relu: no input has the size Q
"relu": .*?\Kas_int": 3/as_ints": 3|node relu: a symbolic number of kind as_ints
"relu": .*?strides": .."as_int": \K3/-3|node relu: relu: stride 0 is negative
"relu": .*?strides": .."as_int": \K3/4|node relu: torch.ops.aten.relu.default gives other strides than the file's, which leave gaps or overlap
"relu": .*?strides": .."as_int": \K3/0|node relu: torch.ops.aten.relu.default gives other strides than the file's
"relu": .*?strides": .\K."as_int": 3., /|node relu: relu has 2 sizes and 1 strides
"relu": .*?storage_offset": .\K.*?}/}|node relu: an empty symbolic number
"relu": .*?storage_offset": ."as_int": \K0/-1|node relu: the storage offset of a tensor is negative
"x": .*?storage_offset": ."as_int": \K0/-1|input x: the storage offset of a tensor is negative
"relu": .*?device": \K.*?}/7|node relu: found '7', expected an object
"mul": .*?"expr_str": "Mul.Integer.\K3/2|node mul: torch.ops.aten.mul.Tensor gives f32[3*B], the file says f32[2*B]
"x": .*?as_int": 4.*?as_int": \K2/-2|input x: dimension 1 of a tensor has a negative size or stride
"x": .*?sizes": .\K.+?(?=., "requires)/|input x: a tensor of 0 sizes and 2 strides
"x": ."dtype": \K7/null|input x: found 'n', expected a number
"p_a_bias": .*?sizes": .."as_int": \K3/2|node linear: aten.linear.default: The size of tensor a (3) must match the size of tensor b (2)
inputs": .\K."as_tensor": ."name": "p_a_weight"../{}|input 0 of the graph is nothing
"linear".., "kind": \K1/3|node relu: kind 3 of an argument
"linear".., "kind": \K1/"1"|node relu: found '"', expected a number
"name": "\Kother"/others"|node mul: torch.ops.aten.mul.Tensor: there is no argument others
target": "torch.ops.aten.\Krelu/rel|node relu: there is no operator aten.rel
outputs": .."as_tensor": ."name": "\Krelu/linear|node relu: linear is made twice
"name": "\Krelu"}, ."target"/x"}, {"target"|node x: the name is taken
"name": "\Krelu"}, ."target"/linear"}, {"target"|node linear: the name is taken
"self", "arg": ."as_tensor": ."name": "\Klinear/relu|node relu: relu is used before anything makes it
"as_ints": .\K0/2|node sum: IndexError: aten.sum.dim_IntList: Dimension out of range
"as_ints": .\K-1/4|node view: aten.view.default: shape is invalid
"as_ints": .\K0/null|node sum: found 'n', expected a number
ROWS
}

@test "a guard on a number from data that the file holds as a constant is not taken for one on another number of that name" {
    cat >packed.py <<'PY'
import torch


class Packed(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(2))

    def forward(self, x):
        rows = torch.repeat_interleave(torch.ones(2).cumsum(0) - 1, torch.tensor([1, 2]))  # as many as the 3 that it is compared with
        return x[torch.arange(3) * 0 + rows < 1] * self.w
PY
    tc-export -q packed.py:Packed --input x=3x2xf32 --joint -o packed.pt2
    run tc-export packed.pt2 --print=full
    [[ "$output" == *"size T0: 0.."* && "$output" == *"guard u0 == 3 "* ]]
    tc-run packed.pt2 --input x=3x2xf32=1,2,3,4,5,6 --input tangents.out.0=1x2xf32=1 --output grad.w=@w.npy
    tail -c 8 w.npy | cmp - <(printf '\0\0\200?\0\0\0@') # 1, 2
}
