# --weights, --rename and --select: whatever holds weights fills a program, by the names that people's files have.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'P'
import torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Linear(4, 3, bias=False)
    def forward(self, x):
        return self.b(self.a(x))
class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(5, 3)
        self.out = nn.Linear(3, 5, bias=False)
        self.out.weight = self.tok.weight
    def forward(self, i):
        return self.out(self.tok(i))
P
    tc-export m.py:M --input x=2x3xf32 --seed 1 -o one.pt2
    tc-export m.py:M --input x=2x3xf32 --seed 2 -o two.pt2
    tc-ckpt convert two.pt2 -o two.safetensors
}

loads() { # FILE [OPTIONS]: fills one.pt2 with the weights of two.pt2
    tc-export one.pt2 --weights "$@" -o got.pt2
    tc-ckpt diff got.pt2 two.pt2
}

@test "safetensors, torch.save, npz, folders, indices and programs are weights" {
    loads two.safetensors
    loads two.pt2
    tc-ckpt convert two.pt2 -o w.pt && loads w.pt
    tc-ckpt convert two.pt2 -o w.npz && loads w.npz
    tc-ckpt convert two.pt2 --to hf -o hf --shard-size 20 && loads hf && loads hf/model.safetensors.index.json
    tc-ckpt convert two.pt2 --to dcp -o dcp && loads dcp
}

@test "any byte but 0 is true in the bools of any file" {
    cat >b.py <<'P'
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.tensor([True, False, True, True]))
    def forward(self, x):
        return x.long() + 10 * self.b.long()
P
    tc-export b.py:M --input x=4xbool -o b.pt2
    tc-run b.pt2 --input x=4xbool=1,0,1,1 -o right.npy
    printf '\2\0\377\1' >raw
    { printf '\x48\0\0\0\0\0\0\0%-72s' '{"b":{"dtype":"BOOL","shape":[4],"data_offsets":[0,4],"n":[1]}}' && cat raw; } >b.safetensors
    { printf '\x93NUMPY\1\0\x76\0%-117s\n' "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }" && cat raw; } >b.npy
    for x in x=@b.npy x=@b.safetensors x:raw=@raw; do tc-run b.pt2 --input $x --expect @right.npy; done
    for w in pt npz hf; do
        tc-ckpt convert b.safetensors --to $w -o w.$w
        tc-run b.pt2 --weights w.$w --input x=4xbool=1,0,1,1 --expect @right.npy
    done
    tc-export b.pt2 --weights b.safetensors -o odd.pt2
    tc-run odd.pt2 --input x=4xbool=1,0,1,1 --expect @right.npy
}

@test "what wrappers add to names is taken away" {
    tc-ckpt convert two.pt2 --rename 's/^/module./' -o w.pt && loads w.pt
    tc-ckpt convert two.pt2 --rename 's/^/_orig_mod./' -o w.pt && loads w.pt
    tc-ckpt convert two.pt2 --rename 's/^/module._orig_mod./' -o w.pt && loads w.pt
    tc-ckpt convert two.pt2 --rename 's/^a\./a._orig_mod./' -o w.safetensors && loads w.safetensors
}

@test "hooks of load_state_dict and a _load_from_state_dict of a module's own change what is loaded" {
    cat >h.py <<'P'
import torch
from torch import nn
class Frozen(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("weight", torch.ones(3))
    def _load_from_state_dict(self, state_dict, prefix, *rest):
        state_dict.pop(prefix + "num_batches_tracked", None)
        super()._load_from_state_dict(state_dict, prefix, *rest)
    def forward(self, x):
        return x * self.weight
class M(nn.Module):
    def __init__(self, apart=False):
        super().__init__()
        if apart:
            self.p, self.q = nn.Linear(3, 2, bias=False), nn.Linear(3, 1, bias=False)
            self.norm = nn.BatchNorm1d(3)
        else:
            self.pq, self.norm = nn.Linear(3, 3, bias=False), Frozen()
            self._register_load_state_dict_pre_hook(self.merge)
            self.register_load_state_dict_pre_hook(lambda m, d, prefix, *rest: d.pop(prefix + "norm.bias", None))
    def merge(self, state_dict, prefix, *rest):
        if prefix + "p.weight" in state_dict:
            p, q = state_dict.pop(prefix + "p.weight"), state_dict.pop(prefix + "q.weight")
            state_dict[prefix + "pq.weight"] = torch.cat([p, q])
        for name in ("running_mean", "running_var"):
            state_dict.pop(prefix + "norm." + name, None)
    def forward(self, x):
        return self.norm(self.pq(x) if hasattr(self, "pq") else torch.cat([self.p(x), self.q(x)], 1))
P
    tc-export h.py:M --arg apart=True --input x=2x3xf32 --mode eval -o apart.pt2
    tc-ckpt convert apart.pt2 --rename 's/^/module./' -o apart.safetensors
    tc-export h.py:M --weights apart.safetensors --input x=2x3xf32 -o h.pt2
    tc-run apart.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output 0=@y.npy
    tc-run h.pt2 --input x=2x3xf32=1,2,3,4,5,6 --expect @y.npy --rtol 1e-4
    printf '%s\n' 'model: h.py:M' 'input: x=2x3xf32' 'weights: apart.safetensors' 'steps: 1' 'batch: 2' 'data: {train: {safetensors: d.safetensors}}' \
        'loss: out.sum()' 'optimizer: torch.optim.SGD(m.parameters(), lr=0.0)' >r.yaml
    tc-run h.pt2 --input x=2x3xf32=1 --output 0=@x.npy && tc-ckpt convert x.npy -o d.safetensors --rename 's/.*/x/'
    tc-train r.yaml -o run && tc-ckpt diff run/model.pt2 h.pt2
    tc-ckpt convert apart.safetensors --rename 's/p.weight/r.weight/' -o other.safetensors
    run --separate-stderr tc-export h.py:M --weights other.safetensors --input x=2x3xf32 -o h.pt2
    [[ "$status" -eq 3 && "$stderr" == *"1 missing, 2 unexpected"* && "$stderr" == *"unexpected: q.weight, r.weight"* ]]
}

@test "hooks of what is registered and of state_dict are called in PyTorch's order" { # expected: what this source prints with PyTorch 2.15
    cat >h.py <<'P'
import torch
from torch import nn
from torch.nn.modules import module as hooks
class M(nn.Module):
    def __init__(self):
        super().__init__()
        say = lambda kind: lambda m, name, value: print(kind, type(m).__name__, name, type(value).__name__)
        by = [hooks.register_module_buffer_registration_hook(lambda m, name, b: b if b is None else b + 1),
              hooks.register_module_buffer_registration_hook(say("buffer")), hooks.register_module_module_registration_hook(say("module")),
              hooks.register_module_parameter_registration_hook(say("parameter"))]
        self.l = nn.Sequential(nn.Linear(2, 2, bias=False), nn.BatchNorm1d(2, affine=False))
        self.l[1].running_mean = torch.ones(2)
        self.l[0].weight = None
        self.l = None
        self.l = nn.BatchNorm1d(2)
        for h in by:
            h.remove()
        self.l.running_var = torch.ones(2)
        print(self.l.running_mean, self.l.running_var)
        self.l.register_state_dict_pre_hook(lambda m, prefix, keep: print("before", prefix, keep))
        self.l._register_state_dict_hook(lambda m, d, prefix, meta: print("behind", list(d), meta))
        h = self.register_state_dict_post_hook(lambda m, d, prefix, meta: d)
        try:
            self.state_dict()
        except RuntimeError as e:
            print(e)
        h.remove()
    def forward(self, x):
        return self.l(x)
P
    tc-export h.py:M --input x=2x2xf32 --mode eval -o h.pt2 2>said
    diff <(head -n 19 said) - <<'P'
parameter Linear weight Parameter
buffer BatchNorm1d running_mean Tensor
buffer BatchNorm1d running_var Tensor
buffer BatchNorm1d num_batches_tracked Tensor
module Sequential 0 Linear
module Sequential 1 BatchNorm1d
module M l Sequential
buffer BatchNorm1d running_mean Tensor
module M l NoneType
parameter BatchNorm1d weight Parameter
parameter BatchNorm1d bias Parameter
buffer BatchNorm1d running_mean Tensor
buffer BatchNorm1d running_var Tensor
buffer BatchNorm1d num_batches_tracked Tensor
module M l BatchNorm1d
tensor([0., 0.]) tensor([1., 1.])
before l. False
behind ['l.weight', 'l.bias', 'l.running_mean', 'l.running_var', 'l.num_batches_tracked'] {'version': 2}
state_dict post-hook must return None
P
}

@test "rename fits names of a file, or changes those of a program" {
    tc-ckpt convert two.pt2 --rename 's/^/net./' -o w.safetensors
    run --separate-stderr tc-export one.pt2 --weights w.safetensors -o got.pt2
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"missing: a.weight"* ]]
    loads w.safetensors --rename 's/^net\.//'
    tc-ckpt convert two.pt2 --rename 's/^(zz)?(.)/\1<\2>/' -o odd.safetensors # a group that is not there is nothing
    loads odd.safetensors --rename 's/^<(.)>/\1/'
    tc-export one.pt2 --rename 's/^a\./first./' -o named.pt2
    run tc-ckpt ls named.pt2
    [[ "$output" == *"first.weight"* && "$output" != *" a.weight"* ]]
    tc-run one.pt2 --input 2x3xf32=1 >y.npy
    tc-run named.pt2 --input 2x3xf32=1 --expect @y.npy
    run --separate-stderr tc-export one.pt2 --rename 's/.*/x/' -o x.pt2
    [ "$status" -eq 2 ]
}

@test "select takes some; the others stay" {
    tc-export one.pt2 --weights two.safetensors --select '^a\.' -o got.pt2
    tc-ckpt convert got.pt2 --select '^a\.' | tc-ckpt diff - <(tc-ckpt convert two.pt2 --select '^a\.')
    tc-ckpt convert got.pt2 --select '!^a\.' | tc-ckpt diff - <(tc-ckpt convert one.pt2 --select '!^a\.')
    run --separate-stderr tc-export one.pt2 --select a -o x.pt2
    [ "$status" -eq 2 ]
    run --separate-stderr tc-export one.pt2 --weights two.safetensors --select '^aa\.' -o x.pt2
    [ "$status" -eq 3 ]
    [[ "$stderr" == "tc-export: --select ^aa\.: none of the "*" weights that are loaded is left"* ]]
}

@test "a file may lack the count of batches of a batch norm, and nothing else of it" {
    printf 'import torch.nn as nn\nclass N(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.n = nn.BatchNorm1d(3)\n    def forward(self, x):\n        return self.n(x)\n' >n.py
    tc-export n.py:N --input x=2x3xf32 -o n.pt2
    tc-ckpt convert n.pt2 -o all.safetensors
    tc-ckpt convert all.safetensors --select 'n\.[^n].*' -o some.safetensors
    tc-export n.py:N --input x=2x3xf32 --weights some.safetensors -o got.pt2
    cmp n.pt2 got.pt2
    tc-ckpt convert all.safetensors --select 'n\.[^r].*' -o some.safetensors
    fails 3 "missing: n.running_mean, n.running_var" tc-export n.py:N --input x=2x3xf32 --weights some.safetensors -o got.pt2
}

@test "a tied weight that the file leaves out, under either name" {
    tc-export m.py:Tied --input i=2xi64 --seed 1 -o one.pt2
    tc-export m.py:Tied --input i=2xi64 --seed 2 -o two.pt2
    for left in out.weight tok.weight; do
        tc-ckpt convert two.pt2 --select "!$left" -o w.safetensors
        loads w.safetensors
    done
}

@test "weights that several modules share stay one in an archive without their bytes, and with a file that holds each name apart" {
    cat >shared.py <<'P'
import torch
from torch import nn


class Uses(nn.Module):
    def __init__(self, v):
        super().__init__()
        self.v, self.h = v, nn.Linear(3, 2)

    def forward(self, x):
        return self.h(self.v(x))


class Shared(nn.Module):
    def __init__(self):
        super().__init__()
        self.v = nn.Linear(4, 3)
        self.a, self.b = Uses(self.v), Uses(self.v)

    def forward(self, x):
        return self.a(x) + self.b(x)
P
    tc-export shared.py:Shared --input x=2x4xf32 -o inside.pt2
    tc-run inside.pt2 --input x=2x4xf32=1 --output @y.npy
    tc-export shared.py:Shared --input x=2x4xf32 --store-weights=extern -o outside.pt2
    tc-run outside.pt2 --input x=2x4xf32=1 --expect @y.npy
    tc-compile outside.pt2 --store-weights=extern -o native.pt2
    tc-run native.pt2 --input x=2x4xf32=1 --expect @y.npy
    tc-ckpt convert inside.pt2 -o apart.safetensors # 10 names, a tensor each
    [ "$(tc-ckpt ls apart.safetensors | grep -c 'x.*f32')" -eq 10 ]
    tc-export shared.py:Shared --input x=2x4xf32 --seed 2 --weights apart.safetensors -o again.pt2
    tc-run again.pt2 --input x=2x4xf32=1 --expect @y.npy
    [ "$(tc-export again.pt2 --store-weights=extern -o o.pt2 && tc-ckpt ls o.safetensors | grep -c f32)" -eq 6 ]
}

@test "what torch.save wrote is no program; the answer says what to do" {
    tc-ckpt convert two.pt2 -o w.pt
    run --separate-stderr tc-run w.pt --input 2x3xf32=1
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"weights, not a program"*"tc-export FILE.py:CLASS --weights w.pt"* ]]
}

@test "--store-weights=extern keeps weights beside the program, which finds them, compiled or not, constants staying inside" {
    cat >c.py <<'P'
import torch
import torch.nn as nn
class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.register_buffer("scale", torch.tensor([1.0, 2.0, 3.0, 4.0]), persistent=False)
    def forward(self, x):
        return self.a(x) * self.scale + torch.tensor([0.5, 0.25, 0.125, 1.0])
P
    tc-export c.py:C --input x=2x3xf32 -o inside.pt2
    tc-export c.py:C --input x=2x3xf32 --store-weights=extern -o outside.pt2
    tc-run inside.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output @y.npy
    tc-run outside.pt2 --input x=2x3xf32=1,2,3,4,5,6 --expect @y.npy
    tc-compile outside.pt2 --store-weights=extern -o native.pt2
    tc-run native.pt2 --input x=2x3xf32=1,2,3,4,5,6 --expect @y.npy
    [ "$(tc-ckpt ls outside.safetensors | grep -c 'a\.\(weight\|bias\)')" -eq 2 ]
    tc-ckpt convert inside.pt2 -o inside.safetensors # the state dictionary: constants are no weights
    for w in inside.pt2 inside.safetensors; do tc-export c.py:C --input x=2x3xf32 --weights $w | tc-run - --input x=2x3xf32=1,2,3,4,5,6 --expect @y.npy; done
    tc-export outside.pt2 -o joined.pt2 # embedded again
    rm outside.safetensors native.safetensors
    tc-run joined.pt2 --input x=2x3xf32=1,2,3,4,5,6 --expect @y.npy
    run -3 tc-run outside.pt2 --input x=2x3xf32=1,2,3,4,5,6
    run -2 bash -c 'tc-export c.py:C --input x=2x3xf32 --store-weights=extern >none.pt2'
}

@test "--store-weights=input leaves weights in the archive that was read, beside which the new one stands" {
    cat >d.py <<'P'
import torch.nn as nn
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 40)
        self.n = nn.BatchNorm1d(40)
        self.d = nn.Dropout(0.5)
    def forward(self, x):
        return self.d(self.n(self.a(x)))
P
    mkdir -p sub other
    tc-export d.py:D --input x=2x3xf32 -o sub/in.pt2 # eval and train over the same weights
    tc-compile sub/in.pt2 --store-weights=input --meta k=v -o sub/out.pt2
    x=x=2x3xf32=1,2,3,4,5,6
    tc-run sub/in.pt2 --input $x --output @y.npy
    tc-run sub/out.pt2 --input $x --expect @y.npy
    (cd sub && tc-run out.pt2 --input $x --expect @../y.npy && tc-compile in.pt2 --mode eval --store-weights=input -o one.pt2)
    tc-run sub/one.pt2 --input $x --expect @y.npy # the file has weights of two programs
    tc-export sub/out.pt2 -o joined.pt2           # embedded again; what --meta gave stays
    tc-run joined.pt2 --input $x --expect @y.npy
    tc-run --signature joined.pt2 | grep 'k.*v'
    run ! grep -aq data/weights/weight_0 sub/out.pt2
    tc-compile sub/in.pt2 --freeze --store-weights=input -o sub/frozen.pt2 # what is folded is a constant, which the archive holds
    tc-run sub/frozen.pt2 --input $x --expect @y.npy --rtol 1e-5 --atol 1e-6
    mv sub/in.pt2 other/
    run --separate-stderr tc-run sub/out.pt2 --input $x
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"sub/in.pt2, which holds the weights of sub/out.pt2, is missing"* ]]
    mv other/in.pt2 sub/
    refused() {
        run --separate-stderr tc-compile --store-weights=input "$@"
        [ "$status" -eq 2 ]
        echo "$stderr"
    }
    refused sub/in.pt2 -o sub/in.pt2 | grep 'as another file of its folder'
    refused sub/in.pt2 -o other/out.pt2 | grep 'as another file of its folder'
    refused sub/out.pt2 -o sub/f.pt2 | grep 'is not in sub/out.pt2'
    refused sub/in.pt2 --rename s/a/b/ -o sub/f.pt2 | grep 'no --weights or --rename'
    refused -o sub/f.pt2 <sub/in.pt2 | grep 'needs a PROGRAM that is a .pt2 file'
    refused sub/in.pt2 | grep 'needs -o FILE.pt2'
    run -2 tc-export d.py:D --input x=2x3xf32 --store-weights=input -o sub/f.pt2
    [ ! -e sub/f.pt2 ]
}

@test "weights that were left in another archive are those that it had: a changed one is refused, tc-ckpt follows" {
    cat >d.py <<'P'
import torch.nn as nn
class D(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
    def forward(self, x):
        return self.a(x)
P
    mkdir sub
    tc-export d.py:D --input x=2x3xf32 -o sub/in.pt2
    tc-compile sub/in.pt2 --store-weights=input -o sub/out.pt2
    run --separate-stderr tc-ckpt ls sub/out.pt2
    [ "$status" -eq 0 ]
    [ "$output" = "$(tc-ckpt ls sub/in.pt2)" ]
    [[ "$stderr" == *"sub/out.pt2: weights: stand in sub/in.pt2" ]]
    tc-ckpt ls --json sub/out.pt2 | grep '"a.bias".*"file": "sub/in.pt2"'
    tc-ckpt diff sub/in.pt2 sub/out.pt2
    tc-ckpt verify sub/out.pt2 | grep '^sub/out.pt2: ok, [0-9]* entries, 2 weights in sub/in.pt2$'
    tc-export d.py:D --input x=2x3xf32 --store-weights=none -o none.pt2
    tc-ckpt ls none.pt2 2>&1 | grep 'none.pt2: weights: 2 are outside of the archive'
    tc-ckpt verify none.pt2 | grep 'entries, 2 weights outside$'
    tc-export d.py:D --input x=2x3xf32 --store-weights=extern -o extern.pt2
    tc-ckpt verify extern.pt2 | grep 'entries, 2 weights in extern.safetensors$'
    tc-ckpt diff extern.pt2 sub/in.pt2
    mv sub/in.pt2 in.pt2
    mkfifo sub/in.pt2 # is not waited for
    run --separate-stderr timeout 60 tc-run sub/out.pt2 --input 2x3xf32=1
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"sub/in.pt2, which holds the weights of sub/out.pt2, is missing"* ]]
    rm sub/in.pt2
    tc-export d.py:D --input x=5x3xf32 -o sub/in.pt2 # another graph over the same weights
    tc-run sub/out.pt2 --input 2x3xf32=1 >y.npy
    tc-export d.py:D --input x=2x3xf32 --seed 1 -o sub/in.pt2
    for c in "tc-run sub/out.pt2 --input 2x3xf32=1" "tc-ckpt ls sub/out.pt2" "tc-ckpt verify sub/out.pt2" "tc-ckpt diff sub/out.pt2 sub/in.pt2"; do
        run --separate-stderr $c
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"sub/in.pt2 has changed since sub/out.pt2 was made of it: its weights have checksum "*", expected "* ]]
    done
}

@test "programs of one archive may have different weights of one name: outside each gets its own, or this is refused" {
    two=$TC_ROOT/tests/cli/fixtures/two.pt2 # torch.export.pt2_archive.package_pt2 wrote it: two linear layers, a and b
    cp "$two" in.pt2
    for m in a b; do tc-run in.pt2 --model $m --input 1x3xf32=1 --output @$m.npy; done
    run -4 tc-run in.pt2 --model a --input 1x3xf32=1 --expect @b.npy
    tc-compile -q in.pt2 --store-weights=input -o out.pt2
    for m in a b; do tc-run out.pt2 --model $m --input 1x3xf32=1 --expect @$m.npy; done
    tc-compile -q in.pt2 --model b --store-weights=input -o b.pt2
    tc-run b.pt2 --input 1x3xf32=1 --expect @b.npy
    run --separate-stderr tc-compile -q in.pt2 --store-weights=extern -o extern.pt2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"weight is not the same weight in all programs: choose one with --model"* ]]
    tc-compile -q in.pt2 --model b --store-weights=extern -o extern.pt2
    tc-run extern.pt2 --input 1x3xf32=1 --expect @b.npy
}

@test "a source exported with weights of a file holds them in memory once" {
    cat >m.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.ModuleList([nn.Linear(2000, 2000, bias=False) for _ in range(6)])

    def forward(self, x):
        for m in self.l:
            x = m(x)
        return x
PY
    tc-export m.py:M --input x=1x2000xf32 --seed 1 -o w.pt2 # 96 MB
    tc-export --time m.py:M --input x=1x2000xf32 --weights w.pt2 -o a.pt2 2>log
    tc-ckpt diff w.pt2 a.pt2
    [ -n "${ASAN_OPTIONS-}" ] || [ "$(sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' log)" -lt 150 ]
}

@test "a parametrised weight stays the parameter that others share, is computed once when registered, and keeps its size" {
    cat >m.py <<'PY'
import torch
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import spectral_norm


class Half(nn.Module):
    def forward(self, w):
        return w / 2

    def right_inverse(self, w):
        return w * 2


class Wide(nn.Module):
    def forward(self, w):
        return torch.cat([w, w])


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(3, 3, bias=False), nn.Linear(3, 3, bias=False)
        self.b.weight = self.a.weight
        parametrize.register_parametrization(self.a, "weight", Half())
        assert self.b.weight is self.a.parametrizations.weight.original
        try:
            parametrize.register_parametrization(nn.Linear(3, 3), "weight", Wide())
        except ValueError as e:
            assert "may not change the shape" in str(e)
        torch.manual_seed(1)  # registering computes the weight once: after the 15 steps of the power method of spectral_norm one more
        w = torch.randn(4, 5)
        l = nn.Linear(5, 4)
        l.weight.data = w
        torch.manual_seed(2)
        u, v = [nn.functional.normalize(torch.randn(n), dim=0) for n in (4, 5)]
        for _ in range(16):
            u = nn.functional.normalize(w @ v, dim=0)
            v = nn.functional.normalize(w.T @ u, dim=0)
        torch.manual_seed(2)
        spectral_norm(l)
        assert (l.parametrizations.weight[0]._v - v).abs().max() < 1e-6

    def forward(self, x):
        return self.a(x) + self.b(x)
PY
    tc-export m.py:M --input x=2x3xf32 -o m.pt2
    tc-export m.pt2 --joint --print >joint
    [ "$(grep -c "gradient of parameter" joint)" = 1 ]
}

@test "a train() of the model's own that merges weights is refused where eval and train, or a file, have one set of them" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Lora(nn.Module):
    def __init__(self, merge=True):
        super().__init__()
        self.w, self.a = nn.Parameter(torch.ones(2)), nn.Parameter(torch.full((2,), 10.0))
        self.merge, self.merged = merge, False
        self.register_buffer("empty", torch.full((2,), float("nan")))

    def train(self, mode=True):
        if self.merge and mode == self.merged:
            self.w.data += -self.a if mode else self.a
            self.merged = not mode
        return super().train(mode)

    def forward(self, x):
        return x * self.w if self.merged else x * (self.w + self.a)
PY
    one() { tc-run m.pt2 --input x=2xf32=1 | tail -c 4 | od -An -tf4 | tr -d ' '; }
    tc-export m.py:Lora --mode train --input x=2xf32 -o train.pt2
    tc-ckpt convert train.pt2 -o w.safetensors
    run -5 tc-export m.py:Lora --input x=2xf32 -o m.pt2
    [[ $output == *"train(False) of the model changes the values of w:"* ]]
    run -5 tc-export m.py:Lora --mode eval --weights w.safetensors --input x=2xf32 -o m.pt2
    tc-export m.py:Lora --mode eval --input x=2xf32 -o m.pt2
    [ "$(one)" = 11 ]
    tc-export m.py:Lora --arg merge=False --weights w.safetensors --input x=2xf32 -o m.pt2
    [ "$(one)" = 11 ]
}

@test "the refusal of weights whose names all have one prefix gives the --rename that takes it away" {
    tc-ckpt convert two.pt2 --rename 's/^/net.inner./' -o far.safetensors
    run --separate-stderr tc-export one.pt2 --weights far.safetensors -o got.pt2
    [ "$status" -eq 3 ]
    cure=$(sed -n "s/^--rename '\(.*\)' takes away what stands in front of every name$/\1/p" <<<"$stderr")
    [ "$cure" = 's/^net\.inner\.//' ]
    loads far.safetensors --rename "$cure"
    tc-ckpt convert two.pt2 --rename "s/^/net';x./" -o quote.safetensors # no text of a file that a shell would take for its own
    run --separate-stderr tc-export one.pt2 --weights quote.safetensors -o got.pt2
    [[ "$status" -eq 3 && "$stderr" == *"--rename 's/REGEX/TO/'"* ]]
    tc-ckpt convert far.safetensors --rename 's/net.inner.a/net.other.a/' -o two.safetensors
    run --separate-stderr tc-export one.pt2 --weights two.safetensors -o got.pt2
    [[ "$status" -eq 3 && "$stderr" == *"--rename 's/REGEX/TO/'"* ]]
}

@test "initial values are drawn when something reads them: the same values, and no memory where nothing does" {
    cat >late.py <<'P'
import copy, torch, torch.nn as nn
class Base(nn.Module):
    read = False
    def look(self, *tensors):
        if self.read:
            for t in tensors: float(t.detach().double().sum())
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(20, 30), nn.Linear(30, 5)
        self.look(self.a.weight, self.a.bias, self.b.weight)
        for n in 5, 16, 33, 40: # what is drawn again: only the words are taken
            for d in torch.float32, torch.float64, torch.bfloat16:
                p = torch.empty(n, dtype=d).uniform_()
                self.look(p)
                p.normal_()
                self.look(p)
                p.zero_()
        nn.init.normal_(self.a.weight, 1, 0.02)
        self.look(self.a.weight)
        nn.init.zeros_(self.a.bias)
        with torch.no_grad():
            self.a.weight.mul_(0.5).clamp_(0.49, 0.51)
            self.look(self.a.weight)
            self.b.weight[1].zero_()
            self.b.bias.copy_(self.a.weight[:5, 0])
            self.b.weight.data[:, :2] = self.b.weight[:, 2:4]
        self.c = copy.deepcopy(self.a)
        self.look(self.c.weight)
        nn.init.uniform_(self.a.weight, -1, 1)
        self.look(self.a.weight)
        self.e = nn.Embedding(7, 3, padding_idx=2)
        self.tied = nn.Linear(3, 7, bias=False)
        self.tied.weight = self.e.weight
        self.t = nn.Parameter(torch.empty(6, 4).t().normal_())
        self.s = nn.Parameter(torch.empty(9, dtype=torch.float64).uniform_(2, 3) * 2)
        self.look(self.s, self.t)
        self.h = nn.Parameter(torch.empty(40, dtype=torch.bfloat16).normal_())
        self.r = nn.Parameter(torch.randn(3) + torch.rand(1))
        torch.nn.init.trunc_normal_(self.c.bias)
        torch.nn.init.orthogonal_(self.b.weight)
        state = torch.get_rng_state()
        self.u = nn.Parameter(torch.empty(8).normal_())
        self.look(self.u)
        torch.set_rng_state(state)
        self.v = nn.Parameter(torch.empty(8).normal_())
        torch.manual_seed(3)
        self.w = nn.Parameter(torch.empty(33).exponential_())
        self.scale = self.v.data[3].item()
        self.k = torch.empty(3).normal_()
    def forward(self, x):
        return self.b(self.a(x) + self.c(x)) * self.scale + self.k.sum()
class Now(Base):
    read = True
P
    tc-export late.py:Base --input x=1x20xf32 --seed 5 -o late.pt2
    tc-export late.py:Now --input x=1x20xf32 --seed 5 -o now.pt2
    tc-ckpt diff late.pt2 now.pt2
    tc-run late.pt2 --input x=1x20xf32=1 --output @a.npy && tc-run now.pt2 --input x=1x20xf32=1 --expect @a.npy
    sed 's/normal_(self.a.weight, 1, 0.02)/normal_(self.a.weight, 1, -1)/' late.py >wrong.py
    fails 3 wrong.py:18:17 tc-export wrong.py:Base --input x=1x20xf32
    # whatever reads a tensor finds its values
    cat >reads.py <<'P'
import copy, math, torch, torch.nn as nn, torch.nn.functional as F
class Base(nn.Module):
    read = False
    def fresh(self, *size, d=torch.float32):
        t = torch.empty(size, dtype=d).normal_()
        if self.read: float(t.double().sum())
        return t
    def __init__(self):
        super().__init__()
        f, made = self.fresh, []
        for go in (lambda t: t.double(), lambda t: t.half(), lambda t: t.to(torch.float64), lambda t: t.type(torch.bfloat16), lambda t: t.type_as(f(1, d=torch.float64)),
                   lambda t: t.t(), lambda t: t.t().contiguous(), lambda t: t.T.reshape(-1), lambda t: t.flatten(), lambda t: t.chunk(2)[1].clone(),
                   lambda t: t.unbind(0)[1] * 1, lambda t: t[1:3].clone(), lambda t: t[t > 0], lambda t: t[[0, 2]], lambda t: torch.cat([t, t]), lambda t: t.t().reshape_as(torch.zeros(4, 5)), lambda t: t.t().type_as(f(1)).view_as(torch.zeros(5, 4)).clone(),
                   lambda t: torch.stack([t, f(4, 5)]), lambda t: t.sum(0), lambda t: t.sort()[0], lambda t: t.max(0)[0], lambda t: t.norm().view(1),
                   lambda t: torch.tensor(t.tolist()), lambda t: torch.tensor([t[0, 0], t[1, 1]]), lambda t: torch.as_tensor(t.numpy()), lambda t: F.normalize(t),
                   lambda t: torch.linalg.qr(t)[0], lambda t: t @ t.T, lambda t: t.cumsum(0), lambda t: t.repeat(2, 1), lambda t: t.expand(2, 4, 5).contiguous(),
                   lambda t: torch.where(t > 0, t, -t), lambda t: t.clone().fill_(t[1, 2]), lambda t: t.as_strided((3,), (2,)).clone(), lambda t: t.view(torch.int32).float(),
                   lambda t: torch.full((3,), t.mean().item()), lambda t: torch.ones(5) * float(t.std()), lambda t: copy.copy(t), lambda t: t.data.abs(),
                   lambda t: t.detach().requires_grad_().detach(), lambda t: t.index_fill(0, torch.tensor([1]), 2), lambda t: t.index_copy_(0, torch.tensor([1]), f(1, 5)),
                   lambda t: torch.zeros(4, 5).copy_(t), lambda t: torch.zeros(4, 5).add_(t), lambda t: t.masked_fill_(t > 0, 3), lambda t: t.uniform_().log(),
                   lambda t: t.resize_(2, 3), lambda t: t.swapaxes(0, 1).mul_(2), lambda t: t.requires_grad_(False).squeeze(), lambda t: t.tril(),
                   lambda t: torch.addmm(t[:, :4].clone(), t, t.T), lambda t: torch.empty(4, 5).set_(t), lambda t: t.float().bernoulli_(0.4), lambda t: F.dropout(t, 0.5),
                   lambda t: torch.bernoulli(t.sigmoid()), lambda t: torch.normal(t, t.abs()), lambda t: torch.randn_like(t), lambda t: t.new_empty(3).normal_(),
                   lambda t: torch.add(t, 1, out=torch.empty(4, 5)), lambda t: torch.nn.utils.parameters_to_vector([t, f(2)]), lambda t: t.exponential_().neg_(),
                   lambda t: nn.utils.parametrizations.weight_norm(nn.Linear(5, 4)).weight.detach(), lambda t: nn.LSTM(3, 2).double().weight_ih_l0.data):
            made.append(go(f(4, 5)))
        for n, t in enumerate(made):
            self.register_buffer(f"b{n}", t)
    def forward(self, x):
        return x + 1
class Now(Base):
    read = True
P
    tc-export reads.py:Base --input x=1xf32 --seed 5 -o late.pt2
    tc-export reads.py:Now --input x=1xf32 --seed 5 -o now.pt2
    tc-ckpt diff late.pt2 now.pt2
    cat >large.py <<'P'
import torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8192, 4096)
        self.b = nn.Linear(4096, 8192)
        self.apply(self.init)
    def init(self, m):
        if isinstance(m, nn.Linear): nn.init.normal_(m.weight, 0, 0.02), nn.init.zeros_(m.bias)
    def forward(self, x):
        return self.b(self.a(x))
P
    tc-export large.py:M --input x=1x8192xf32 --store-weights=none --time -o large.pt2 2>time
    [ -n "${ASAN_OPTIONS-}" ] || [ "$(sed -n 's/.* \([0-9]*\)[.][0-9] MiB peak/\1/p' time)" -lt 64 ]
}
