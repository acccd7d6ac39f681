# tc-train: runs, run directories, resuming to the same bits, signals, limits, divergence, refusals.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >model.py <<'PY'
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.a = nn.Linear(3, hidden)
        self.drop = nn.Dropout(0.25)
        self.b = nn.Linear(hidden, 4)

    def forward(self, x):
        return self.b(self.drop(F.relu(self.a(x.float()))))
PY
    printf 'emma\nolivia\nava\nisabella\nsophia\ncharlotte\nmia\namelia\nharper\nevelyn\n' >names.txt
    cat >r.yaml <<'YAML'
model: model.py:Net
arg: {hidden: 16}
input: x=Bx3xi64
seed: 3
data:
  names: names.txt
  context: 3
  train: {rows: {every: 5, except: 4}}
  val: {rows: {every: 5, only: 4}}
batch: 8
steps: 12
loss: F.cross_entropy(out, y % 4)
optimizer: torch.optim.AdamW(m.parameters(), lr=0.01)
scheduler: torch.optim.lr_scheduler.StepLR(opt, step_size=5, gamma=0.5)
clip_grad_norm: 1.0
validate: {every: 6}
checkpoint: {every: 4}
YAML
}

without_times() { sed 's/, "seconds": [0-9.e-]*//' "$1"; }

@test "a run directory holds recipe, program, metrics, environment and checkpoints" {
    tc-train -q r.yaml -o run
    [ "$(readlink run/latest)" = step-12 ]
    for f in recipe.yaml model.pt2 metrics.jsonl environment step-4 step-8 step-12; do [ -e run/$f ]; done
    [ "$(grep -c '"loss"' run/metrics.jsonl)" -eq 12 ]
    [ "$(grep -c val_loss run/metrics.jsonl)" -eq 2 ]
    [[ "$(cat run/environment)" == *'"version": "'*'"numerics": "strict"'*'"cpu": "'*'"threads": '*'"variables": {'* ]]
    tc-ckpt verify run/latest
}

@test "--plot draws any metrics, also steps and losses out of all bounds" {
    mkdir a b
    printf '{"step": %d, "loss": %d}\n' 1 4 2 2 3 1 >a/metrics.jsonl
    printf '{"step": -100000000, "loss": 1e308}\n{"step": 4611686018427387904, "loss": -1e308}\n{"step": 3, "loss": NaN}\nhalf a li' >b/metrics.jsonl
    tc-train --plot a >a.txt
    [ "$(head -1 a.txt | tr -s ' ')" = " 4 | a " ]
    [[ "$(sed -n 20p a.txt)" == *" 1 |"*a ]]
    tc-train --plot b >b.txt
    [ "$(head -1 b.txt | tr -s ' ')" = " 1e+308 |a " ]
    [[ "$(sed -n 20p b.txt)" == *"-1e+308 |"*a ]]
    run ! grep -E 'nan|inf' b.txt
}

@test "out has the fields, keys and lists that forward returns" {
    cat >model.py <<'PY'
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
import torch.nn as nn


class ModelOutput(OrderedDict):
    def __post_init__(self):
        self.update({f.name: getattr(self, f.name) for f in fields(self)})


@dataclass
class Both(ModelOutput):
    logits: torch.Tensor
    aux: torch.Tensor


class Pair(NamedTuple):
    logits: torch.Tensor
    aux: torch.Tensor


@dataclass
class Data:
    logits: torch.Tensor
    aux: torch.Tensor


class Net(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.hidden = hidden

    def forward(self, x):
        a, b = self.a(x.float()), x.float().mean()
        return (Pair(a, b), Data(a, b), OrderedDict(logits=a, aux=b), [b, {"p": Pair(b, a)}], a, Both(a, b))[self.hidden]
PY
    outs=(out.logits 'out._asdict()["logits"]' 'out["logits"]' '(out + [0])[1]["p"].aux' out 'out["logits"] + 0 * out.logits')
    tc-train -q r.yaml arg='{hidden: 4}' -o plain
    for i in 0 1 2 3 5; do
        tc-train -q r.yaml arg="{hidden: $i}" loss="F.cross_entropy(${outs[i]}, y % 4)" -o "o$i"
        tc-ckpt diff plain "o$i"
    done
}

@test "a loss that calls the model itself runs it once" {
    cat >norm.py <<'PY'
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Norm(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.norm = nn.BatchNorm1d(4)

    def forward(self, x):
        return self.norm(self.a(x.float()))


def loss_of(m, x, y):
    return F.cross_entropy(m(x), y % 4)


def other_weights(m, x):
    double = {k: 2 * v for k, v in m.named_parameters()}
    mine = copy.deepcopy(m)
    with torch.no_grad():
        for p in mine.parameters():
            p.mul_(2)
    called, copied = torch.func.functional_call(m, double, (x,)), mine(x)
    return 10 * (called - copied).abs().max() + (called - 2 * m(x)).abs().max()
PY
    norm="model=norm.py:Norm arg=null steps=4 validate={}"
    tc-train -q r.yaml $norm -o given
    tc-train -q r.yaml $norm loss='F.cross_entropy(m(x), y % 4)' -o called
    tc-train -q r.yaml $norm loss='loss_of(m, x, y)' metrics='{right: (out.argmax(-1) == y).float().mean()}' -o passed
    tc-train -q r.yaml $norm loss='F.cross_entropy(out, y % 4) + 0 * m(x).sum()' -o twice
    tc-train -q r.yaml $norm loss='F.cross_entropy((lambda:m(*[x]))(), y % 4, reduction="out mean"[4:])' -o worded
    for run in called passed worded; do tc-ckpt diff given/latest $run/latest; done
    [ "$(tc-ckpt show given/latest model.norm.num_batches_tracked)" = "model.norm.num_batches_tracked = tensor(4)" ]
    [ "$(tc-ckpt show twice/latest model.norm.num_batches_tracked)" = "model.norm.num_batches_tracked = tensor(8)" ]
    # with other weights, and of a copy that has its own: batch norm's result is twice as large
    tc-train -q r.yaml $norm steps=1 loss='other_weights(m, x)' -o doubled
    awk -F'"loss": ' '{exit !($2 + 0 < 1e-4)}' doubled/metrics.jsonl
    # a loss that only looks at what the model keeps
    tc-train -q r.yaml $norm loss='m.a.weight.pow(2).mean() + m.norm.weight.mean(dim=0)' -o kept
    [ "$(tc-ckpt show kept/latest model.norm.num_batches_tracked)" = "model.norm.num_batches_tracked = tensor(4)" ]
}

@test "a group that is added to an optimiser has the least rate of ReduceLROnPlateau" {
    cat >plateau.py <<'PY'
import torch


class Rates(torch.nn.Module):
    def forward(self, x, least):
        p = [torch.nn.Parameter(torch.zeros(2)) for _ in range(2)]
        o = torch.optim.SGD([p[0]], lr=1.0)
        s = torch.optim.lr_scheduler.ReduceLROnPlateau(o, min_lr=least, patience=0)
        o.add_param_group({"params": [p[1]], "lr": 2.0})
        for _ in range(4):
            s.step(1.0)
        return x + torch.tensor([g["lr"] for g in o.param_groups])
PY
    tc-export plateau.py:Rates --input x=2xf32 --input least=:0.25 -o p.pt2
    tc-run p.pt2 --input x=2xf32=0 | tail -c 8 >rates
    printf '\0\0\200\076\0\0\200\076' | cmp - rates # 0.25 twice
    fails 3 "modify \`min_lrs\` to match" tc-export plateau.py:Rates --input x=2xf32 --input 'least=:[0.25]'
    sed '/^optimizer/d' r.yaml >late.yaml
    printf '%s\n' 'optimizer: torch.optim.SGD([m.a.weight], lr=0.1)' 'scheduler_step: "opt.add_param_group(dict(params=[m.a.bias]))"' >>late.yaml
    fails 3 "groups have other parameters than when the run began" tc-train -q late.yaml -o no
}

@test "a run that is resumed has the bits of one that was not" {
    tc-train -q r.yaml -o whole
    tc-train -q r.yaml steps=12 -o parts --max-time 100000
    rm -r parts/step-12 parts/latest
    tc-train -q r.yaml -o parts --resume
    cmp whole/step-12/shard-00001-model-00001-of-00001.safetensors parts/step-12/shard-00001-model-00001-of-00001.safetensors
    cmp whole/step-12/state.json parts/step-12/state.json
    cmp <(without_times whole/metrics.jsonl) <(without_times parts/metrics.jsonl)
}

@test "a run goes on by the names of its weights, also where the model has them in another order" {
    tc-train -q r.yaml steps=8 -o part
    cp -r part moved
    tc-train -q part steps=12 --resume
    sed -i '/self.a = /{h;d}; /self.b = /{p;x}' model.py # b is made first
    grep -A1 'self.b' model.py | grep -q 'self.a'
    tc-train -q moved steps=12 --resume
    tc-ckpt diff --all part/latest moved/latest --rtol 1e-6 # the norm of all gradients is added in the other order
}

@test "a norm under its limit changes no bit" {
    tc-train -q r.yaml clip_grad_norm=1e9 -o far
    tc-train -q r.yaml clip_grad_norm=0 -o none
    tc-ckpt diff --all far/latest none/latest
}

@test "every kind of optimiser state goes through a checkpoint: the resumed run has the same bits" {
    for o in 'Muon([m.a.weight, m.b.weight], lr=0.02)' 'NAdam(m.parameters(), lr=3e-3)' 'RAdam(m.parameters(), lr=1e-2)' 'ASGD(m.parameters(), lr=0.05, t0=3)' \
        'RMSprop(m.parameters(), lr=1e-3, centered=True, momentum=0.5)' 'LBFGS(m.parameters(), lr=0.5, max_iter=3, history_size=4)' \
        "LBFGS(m.parameters(), max_iter=4, line_search_fn='strong_wolfe')"; do
        rm -rf whole parts
        tc-train -q r.yaml "optimizer=torch.optim.$o" scheduler=null accumulate=2 -o whole
        cp -r whole parts
        rm -r parts/step-8 parts/step-12 parts/latest
        tc-train -q r.yaml "optimizer=torch.optim.$o" scheduler=null accumulate=2 -o parts --resume
        cmp whole/step-12/shard-00001-model-00001-of-00001.safetensors parts/step-12/shard-00001-model-00001-of-00001.safetensors
        cmp whole/step-12/state.json parts/step-12/state.json
    done
}

# bats test_tags=slow
@test "memory does not grow with the number of steps, and what is given back changes nothing" {
    waste='"[scheduler.step(), \" \" * 6000000][0]"' # 6 MB a step that nobody holds
    for o in 'Muon([m.a.weight, m.b.weight], lr=0.02)' 'LBFGS(m.parameters(), lr=0.5, max_iter=3, history_size=4)'; do
        rm -rf plain wasted
        tc-train -q r.yaml steps=60 "optimizer=torch.optim.$o" ema_decay=0.9 checkpoint=null -o plain
        tc-train -q r.yaml steps=60 "optimizer=torch.optim.$o" ema_decay=0.9 checkpoint=null "scheduler_step=$waste" --time -o wasted 2>time
        cmp plain/step-60/shard-00001-model-00001-of-00001.safetensors wasted/step-60/shard-00001-model-00001-of-00001.safetensors
        cmp plain/step-60/state.json wasted/step-60/state.json
        [ -n "${ASAN_OPTIONS-}" ] || [ "$(sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' time)" -lt 80 ]
    done
    [ -z "${ASAN_OPTIONS-}" ] || return 0
    # operators of a schedule on tensors, each with another number
    tc-train -q r.yaml steps=4000 'optimizer=torch.optim.SGD(m.parameters(), lr=torch.tensor(0.01))' checkpoint=null validate=null \
        'scheduler="torch.optim.lr_scheduler.LambdaLR(opt, lambda s: 0.999 ** s)"' --time -o many 2>time
    [ "$(sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' time)" -lt 90 ]
}

@test "clip_grad_value bounds every element of a gradient" {
    tc-train -q r.yaml steps=1 scheduler=null clip_grad_norm=null "optimizer=torch.optim.SGD(m.parameters(), lr=0.0)" -o before
    tc-train -q r.yaml steps=1 scheduler=null clip_grad_norm=null clip_grad_value=0.001 "optimizer=torch.optim.SGD(m.parameters(), lr=1)" -o after
    tc-ckpt diff before/latest after/latest --atol 0.00101
    run -4 tc-ckpt diff before/latest after/latest --atol 0.00098
    run -2 tc-train -q r.yaml clip_grad_value=0.001 -o both
}

@test "ema_decay keeps torch's exponential average, through a stop, and validates with it" {
    tc-train -q r.yaml ema_decay=0.5 steps=1 scheduler=null -o first # the first average is a copy
    tc-ckpt convert first/latest --select '^ema\.' --rename 's/^ema\.//' -o average.safetensors
    tc-ckpt consolidate first/latest -o weights.safetensors
    tc-ckpt diff average.safetensors weights.safetensors
    tc-train -q r.yaml ema_decay=0.5 -o whole
    tc-train -q r.yaml ema_decay=0.5 -o parts
    rm -r parts/step-12 parts/latest
    tc-train -q r.yaml ema_decay=0.5 -o parts --resume
    cmp whole/step-12/shard-00001-model-00001-of-00001.safetensors parts/step-12/shard-00001-model-00001-of-00001.safetensors
    tc-ckpt convert whole/latest --select '^ema\.' --rename 's/^ema\.//' -o average.safetensors
    tc-ckpt consolidate whole/latest -o weights.safetensors
    run -4 tc-ckpt diff average.safetensors weights.safetensors
    # the validation of the averages is that of a run which starts from them and does not move
    tc-train -q r.yaml weights=average.safetensors steps=1 "optimizer=torch.optim.SGD(m.parameters(), lr=0.0)" scheduler=null -o still
    [ "$(grep -o '"val_loss": [0-9.]*' still/metrics.jsonl)" = "$(tail -1 whole/metrics.jsonl | grep -o '"val_loss": [0-9.]*')" ]
}

@test "swa keeps the mean of the weights after its steps, a copy before them, and goes on with it" {
    settings=(scheduler=null checkpoint='{every: 1}' swa='{start: 3, every: 4}')
    tc-train -q r.yaml "${settings[@]}" -o run # of steps 3, 7 and 11
    averages() { tc-ckpt convert "run/step-$1" --select '^swa\.' --rename 's/^swa\.//' -o "$2.safetensors"; }
    weights() { tc-ckpt consolidate "run/step-$1" -o "$2.safetensors"; }
    averages 2 early
    weights 2 there
    tc-ckpt diff early.safetensors there.safetensors
    averages 10 before
    averages 7 two
    tc-ckpt diff before.safetensors two.safetensors
    averages 11 mean
    for step in 3 7 11; do weights $step w$step; done
    cat >mean.py <<'PY'
import torch
import torch.nn as nn


class Mean(nn.Module):
    def forward(self, a, b, c):
        a = a + (b - a) / 2
        return a + (c - a) / 3
PY
    tc-export mean.py:Mean --input a=16x3xf32 --input b=16x3xf32 --input c=16x3xf32 |
        tc-run --input a=@w3.safetensors#a.weight --input b=@w7.safetensors#a.weight --input c=@w11.safetensors#a.weight \
            --expect @mean.safetensors#a.weight
    cp -r run parts
    rm -r parts/step-[6-9] parts/step-1[0-2] parts/latest
    tc-train -q r.yaml "${settings[@]}" -o parts --resume
    cmp run/step-12/shard-00001-model-00001-of-00001.safetensors parts/step-12/shard-00001-model-00001-of-00001.safetensors
    fails 2 "swa:1:1: weights are averaged by ema_decay or by swa, not by both" tc-train r.yaml ema_decay=0.5 swa='{start: 3}'
    fails 2 "swa.every: found 0, expected 1 or more" tc-train r.yaml swa='{start: 3, every: 0}'
    fails 2 "swa:1:1: expected {start: STEP, every: N}" tc-train r.yaml swa='{every: 3}'
    fails 2 "swa:1:1: expected {start: STEP, every: N}" tc-train r.yaml swa='{start: null}'
}

@test "swa of a run that goes on from a checkpoint without it takes the weights from there on, also through a stop" {
    tc-train -q r.yaml scheduler=null checkpoint='{every: 1}' -o run
    average() { tc-ckpt convert "$1" --select '^swa\.' --rename 's/^swa\.//' -o "$2.safetensors"; }
    for step in 6 7 11; do tc-ckpt consolidate run/step-$step -o w$step.safetensors; done
    rm -r run/step-[7-9] run/step-1[0-2] run/latest
    tc-train -q r.yaml scheduler=null checkpoint='{every: 1}' swa='{start: 3, every: 4}' -o run --resume # of steps 7 and 11
    average run/step-7 copy
    tc-ckpt diff copy.safetensors w7.safetensors
    average run/step-10 copy
    tc-ckpt diff copy.safetensors w7.safetensors
    cat >mean.py <<'PY'
import torch.nn as nn


class Mean(nn.Module):
    def forward(self, a, b):
        return a + (b - a) / 2
PY
    average run/step-12 mean
    tc-export mean.py:Mean --input a=16x3xf32 --input b=16x3xf32 |
        tc-run --input a=@w7.safetensors#a.weight --input b=@w11.safetensors#a.weight --expect @mean.safetensors#a.weight
    cp -r run parts
    rm -r parts/step-9 parts/step-1[0-2] parts/latest
    tc-train -q r.yaml scheduler=null checkpoint='{every: 1}' swa='{start: 3, every: 4}' -o parts --resume
    cmp run/step-12/shard-00001-model-00001-of-00001.safetensors parts/step-12/shard-00001-model-00001-of-00001.safetensors
    cmp run/step-12/state.json parts/step-12/state.json
    grep -q '"averaged": *2' parts/step-12/state.json
}

@test "what a recipe says and nothing would read is refused with its key" {
    fails 2 "data.block:1:1: a key of text, not of names" tc-train r.yaml data.block=3
    fails 2 "data.standardize:1:1: a key of csv, not of names" tc-train r.yaml data.standardize=true
    fails 2 "data.rows:1:1: does nothing: train" tc-train r.yaml data.rows='{every: 2, only: 0}' data.train.rows='{every: 3, only: 0}' data.val=null
    fails 1 "none: cannot open the folder of sources" tc-train r.yaml source=none
    fails 2 "data.shape:1:1: expected a map of columns" tc-train r.yaml data.shape=3
    fails 2 "data.val.order:1:1: does nothing: validation goes through in order" tc-train r.yaml data.val.order=shuffle
    fails 2 "data.val:1:1: expected a map of keys" tc-train r.yaml data.val=true
    fails 2 "data.limit:1:1: found 0, expected 1 or more" tc-train r.yaml data.limit=0
    fails 2 "param_groups:1:1: optimizer does not use groups: torch.optim.AdamW" tc-train r.yaml param_groups='list(m.parameters())'
    fails 2 "optimizer does not use groups" tc-train r.yaml param_groups='list(m.parameters())' optimizer='torch.optim.AdamW(m.parameters(), lr=len("groups") / 60)'
    fails 2 "metrics.loss: val_loss is the loss" tc-train r.yaml metrics='{loss: out.mean()}'
    fails 2 "clip_grad_norm:1:1: found -1, expected a norm, or 0 for none" tc-train r.yaml clip_grad_norm=-1
    fails 2 "checkpoint.keep_last: found -1, expected 0 or more" tc-train r.yaml checkpoint='{keep_last: -1}'
    fails 2 "checkpoint.keep_best: nothing is validated" tc-train r.yaml data.val=null checkpoint='{keep_best: true}'
    run --separate-stderr tc-train r.yaml data.val=null metrics='{a: outt}' -o without # an override that leaves no validation is said
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"data has no val: nothing is validated, and metrics are not computed"* ]]
    fails 3 "argument scheduler:1:11: TypeError: ReduceLROnPlateau.step() missing" tc-train r.yaml \
        scheduler='torch.optim.lr_scheduler.ReduceLROnPlateau(opt)'
    fails 2 "argument model:1:1: found '5', expected FILE.py:CLASS" tc-train r.yaml model=5
    sed '/^input:/d' r.yaml >none.yaml
    fails 2 "Net is called with x, which no input declares: input: x=SIZES and dtype" tc-train none.yaml
    fails 3 "found int '5', expected an optimiser of torch.optim" tc-train r.yaml optimizer=5
    fails 3 "argument optimizer: found Net 'm', expected an optimiser of torch.optim" tc-train r.yaml optimizer=m
}

@test "limit takes the first samples, of words and of tables" {
    tc-train -q r.yaml data.train.limit=8 epochs=1 steps=null -o run # a batch of 8 an epoch
    [ "$(grep -c '"loss"' run/metrics.jsonl)" -eq 1 ]
    printf 'u,v\n1,2\n3,4\n5,6\n' >t.csv
    printf 'import torch.nn as nn\n\n\nclass L(nn.Linear):\n    def __init__(self):\n        super().__init__(1, 1)\n' >l.py
    run -2 --separate-stderr tc-train -q r.yaml model=l.py:L arg=null input=input=Bx1xf32 data='{csv: t.csv, columns: [u], target: v, limit: 2}' batch=3 \
        loss='F.mse_loss(out[:, 0], y)'
    [[ "$stderr" == *"a batch of 3 samples of a set of 2"* ]]
}

@test "epochs are passes over the data, also where a step takes the end of one and the beginning of the next" {
    # three batches of 8 an epoch; steps of two batches, of two epochs every second time
    tc-train -q r.yaml data.train.limit=24 epochs=4 steps=null accumulate=2 scheduler=null validate={} checkpoint={} -o run
    [ "$(sed 's/.*"epoch": \([0-9]*\).*/\1/' run/metrics.jsonl | head -6 | tr -d '\n')" = 001223 ]
    [ "$(grep -c '"loss"' run/metrics.jsonl)" -eq 6 ]
    tc-train -q r.yaml data.train.limit=24 epochs=3 steps=null accumulate=4 scheduler=null validate={} checkpoint={} -o few # nine batches
    [ "$(grep -c '"loss"' few/metrics.jsonl)" -eq 2 ]
}

@test "tables are read as spreadsheets and scripts write them; an empty cell is NaN, or with standardize the mean" {
    printf 'import torch.nn as nn\n\n\nclass L(nn.Linear):\n    def __init__(self):\n        super().__init__(1, 1)\n' >l.py
    printf '%s\n' 'model: l.py:L' 'input: input=Bx1xf32' 'data: {csv: t.csv, columns: [u], target: v, order: sequential}' 'batch: 3' 'steps: 1' \
        'loss: F.mse_loss(out[:, 0], y) + x.sum() * 1e6' 'optimizer: torch.optim.SGD(m.parameters(), lr=0.1)' >t.yaml
    printf 'u,v\n1,2\n-3,4\n5,6\n' >t.csv
    tc-train -q t.yaml -o plain
    printf '\xef\xbb\xbf"u",v\r\n 1 ,\t2\r\n"-3",4\r\n\r\n5,6 \r\n' >t.csv
    tc-train -q t.yaml -o dressed
    tc-ckpt diff plain/latest dressed/latest
    printf 'u,v\n1,2\n,4\n5,6\n' >t.csv
    fails 6 "the data are not finite: x" tc-train -q t.yaml
    tc-train -q t.yaml data.standardize=true -o mean
    awk -F'"loss": ' '{exit !($2 + 0 < 100)}' mean/metrics.jsonl
    fails 2 "no column 'uu' in t.csv; did you mean 'u'?" tc-train -q t.yaml data.columns='[uu]'
    fails 2 "argument data.target:1:1: no column 'last' in t.csv, expected one of u, v" tc-train -q t.yaml data.target=last
    fails 2 "a batch of 4 samples of a set of 3" tc-train -q t.yaml batch=4
    printf 'u,v\n1,2\n"3,4\n5,6\n' >t.csv
    fails 3 "t.csv:3: a quote that nothing closes" tc-train -q t.yaml
}

@test "threads do not change the bits" {
    tc-train -q r.yaml --threads 1 -o one
    tc-train -q r.yaml --threads 3 -o three
    cmp one/step-12/shard-00001-model-00001-of-00001.safetensors three/step-12/shard-00001-model-00001-of-00001.safetensors
}

@test "TERM saves, stops with 75, and the run goes on" {
    tc-train -q r.yaml steps=100000 scheduler=null validate=null checkpoint=null -o run &
    pid=$!
    for i in $(seq 100); do [ -s run/metrics.jsonl ] && break; sleep 0.05; done
    kill -TERM $pid
    code=0
    wait $pid || code=$?
    [ "$code" -eq 75 ]
    [ -e run/latest/checkpoint.json ]
    step=$(readlink run/latest | sed 's/step-//')
    [ "$step" -gt 0 ]
    run --separate-stderr tc-train r.yaml steps=$((step + 2)) scheduler=null validate=null checkpoint=null -o run --resume
    [ "$status" -eq 0 ]
    [ "${stderr_lines[0]}" = "tc-train: going on from run/step-$step" ]
}

@test "a signal before the first step is exit 75 too, and USR2 does not end the run" {
    sed -i 's/^model: .*//; s/^arg: .*//; s/^input: .*//' r.yaml
    mkfifo program
    exec 8<>program
    for s in USR1 TERM; do
        tc-train r.yaml -o $s <program 2>err 8>&- &
        until [ -e $s/.lock ]; do kill -0 $! && sleep 0.01 || return 1; done
        kill -USR2 $!
        kill -$s $!
        code=0
        wait $! || code=$?
        [ "$code" -eq 75 ]
        [ "$(cat err)" = "tc-train: stopped before the first step: nothing to save" ]
    done
}

@test "--max-time saves and stops before it has passed" {
    run -75 tc-train -q r.yaml steps=10000000 checkpoint=null validate=null --max-time 2 -o run
    [ -e run/latest/checkpoint.json ]
}

@test "checkpoints are not overwritten without --resume; a damaged one is passed over" {
    tc-train -q r.yaml -o run
    run --separate-stderr tc-train -q r.yaml -o run
    [ "$status" -eq 1 ]
    [ "${stderr_lines[0]}" = "tc-train: run: holds checkpoints already" ]
    printf x >>run/step-12/state.json
    run --separate-stderr tc-train r.yaml -o run --resume
    [ "$status" -eq 0 ] # and replaced when the run comes to its step again
    tc-ckpt verify run/step-12
    [[ $stderr == *"not used: run/step-12/state.json"* ]]
    [[ $stderr == *"going on from run/step-8"* ]]
}

@test "a loss that is not finite is exit 6 with the step, and the last checkpoint stays" {
    run --separate-stderr tc-train r.yaml "optimizer=torch.optim.SGD(m.parameters(), lr=1e30)" clip_grad_norm=0 checkpoint.every=1 -o run
    [ "$status" -eq 6 ]
    [[ ${stderr_lines[-2]} == *"step "*"the "*" is "* ]] # and what to do
    tc-ckpt verify run/latest
}

@test "a closed pipe ends a run that writes its program to it, and none that has a directory" {
    mkfifo p
    run --separate-stderr bash -c 'exec 8<>p 9>p 8<&-; tc-train r.yaml -q >&9'
    [ "$status" -eq 141 ]
    [ -z "$stderr" ]
    run bash -c 'exec 8<>p 9>p 8<&-; tc-train r.yaml -v -o run 2>&9 >&9'
    [ "$status" -eq 0 ]
    [ "$(readlink run/latest)" = step-12 ]
}

@test "without -o the trained program goes to stdout and runs" {
    tc-train -q <(sed 's/^steps:.*/steps: 2/' r.yaml) -o of-pipe # its files are those of the current folder
    [ -e of-pipe/step-2 ]
    tc-train -q r.yaml >trained.pt2
    tc-run trained.pt2 --input x=1x3xi64=1,2,3 --output @out.npy
    [ -s out.npy ]
}

@test "the trained program of a run directory is the checkpoint's" {
    tc-train -q r.yaml -o run
    tc-ckpt consolidate run/latest -o w.safetensors
    tc-export model.py:Net --arg hidden=16 --input x=Bx3xi64 --weights w.safetensors --mode eval -o again.pt2
    tc-run run/model.pt2 --input x=1x3xi64=1,2,3 --output @a.npy
    tc-run again.pt2 --input x=1x3xi64=1,2,3 --expect @a.npy
}

@test "recipes are refused with file, line and a suggestion" {
    sed -i 's/^optimizer/optimiser/' r.yaml
    run --separate-stderr tc-train r.yaml -o run
    [ "$status" -eq 2 ]
    [ "${stderr_lines[0]}" = "tc-train: r.yaml:13: unknown key 'optimiser'; did you mean 'optimizer'?" ]
    sed -i 's/^optimiser/optimizer/; s/^steps: 12/steps: many/' r.yaml
    run --separate-stderr tc-train r.yaml -o run
    [ "${stderr_lines[0]}" = "tc-train: r.yaml:11:8: steps: found 'many', expected a whole number" ]
    run --separate-stderr tc-train r.yaml steps=3 "loss=F.cross_entropi(out, y)" -o run
    [ "$status" -eq 3 ]
    [[ $stderr == *"cross_entropi"* ]]
    sed -i 's/^steps: many/steps: 12/' r.yaml
    fails 2 "argument data.trian:1: unknown key 'trian' in data; did you mean 'train'?" tc-train r.yaml data.trian='{limit: 3}'
    fails 2 "unknown key 'val' in data.train, expected one of idx" tc-train r.yaml data.train.val=3
    local quotes="inside { } and [ ] an expression that holds , : [ ] { or } is put in quotes" wrong
    for wrong in '{a: F.cross_entropy(out, y % 4)}' '{a: (out[0, 1])}'; do
        run -2 --separate-stderr tc-train r.yaml metrics="$wrong" -o run
        [ "${stderr_lines[-1]}" = "$quotes" ]
    done
    tc-train -q r.yaml steps=1 metrics='{a: (out.sum()), "b": "F.cross_entropy(out, y % 4)"}' -o right
    run -3 --separate-stderr tc-train -q r.yaml input=x=Bx3xf32 forward='m.b(m.a(x))' -o run
    [ "${stderr_lines[-1]}" = "the column x of the data is i64 and the model's input x is f32: data.normalize: {x: {divide: 1}} makes it floating" ]
    run -3 --separate-stderr tc-train -q r.yaml data.normalize='{x: {divide: 1}}' input=x=Bx3xf64 forward='x @ x.double().T' -o run
    [ "${stderr_lines[-1]}" = "the column x of the batch is f32 and the model's input x is f64: precision: float64 makes it f64" ]
}

@test "seeds are those that torch.manual_seed takes, to 2^64-1 and below 0" {
    local seed
    for seed in 18446744073709551615 -1 12345678901234567890; do
        rm -rf run
        tc-train -q r.yaml seed=$seed steps=1 optimizer='torch.optim.SGD(m.parameters(), lr=0.0)' -o run
        tc-train -q run steps=2 --resume # the recipe keeps it
        tc-export model.py:Net --arg hidden=16 --input x=Bx3xi64 --seed=$seed -o m.pt2
        case $seed in # PyTorch's
        1234*) [ "$(tc-ckpt show run/latest model.b.bias)" = 'model.b.bias = tensor([ 0.0673, -0.0872,  0.1064,  0.2029])' ] ;;
        *) [ "$(tc-ckpt show run/latest model.b.bias)" = 'model.b.bias = tensor([-0.1189, -0.0947, -0.0145,  0.0379])' ] ;;
        esac
        [ "$(tc-ckpt show m.pt2 b.bias)" = "$(tc-ckpt show run/latest model.b.bias | cut -c7-)" ]
    done
    fails 2 "--seed 18446744073709551616: expected a whole number from" tc-export model.py:Net --input x=Bx3xi64 --seed 18446744073709551616
    fails 2 "seed:1:1: found '1.5', expected a whole number from" tc-train r.yaml seed=1.5 -o none
}

ranks() {
    command -v mpirun >/dev/null || skip "no mpirun"
    [ -e "$TC_BUILD/bin/tc-mpi.so" ] || skip "no tc-mpi.so"
    ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe --bind-to none -n "$@"
}

@test "two ranks have one rank's bits, dropout included, where each has a whole number of leaves" {
    yes "$(cat names.txt)" | head -400 >many.txt
    tc-train -q r.yaml data.names=many.txt batch=512 steps=3 validate=null checkpoint=null -o one
    ranks 2 tc-train -q r.yaml data.names=many.txt batch=512 steps=3 validate=null checkpoint=null -o two
    cmp one/step-3/shard-00001-model-00001-of-00001.safetensors two/step-3/shard-00001-model-00001-of-00001.safetensors
    sed -i 's/self.drop(F.relu(self.a(x.float())))/F.relu(self.a(x.float()))/' model.py
    tc-train -q r.yaml data.names=many.txt batch=512 steps=3 validate=null checkpoint=null -o without
    run -4 tc-ckpt diff one/latest without/latest --rtol 1e-3 --atol 1e-3
}

@test "a batch that ranks cannot share evenly counts every sample once" {
    tc-train -q r.yaml batch=10 -o one
    ranks 3 tc-train -q r.yaml batch=10 -o three
    tc-ckpt diff one/latest three/latest --rtol 1e-4 --atol 1e-6
    run -2 --separate-stderr ranks 3 tc-train -q r.yaml batch=2 -o few
    [ "$(grep -c '^tc-train: ' <<<"$stderr")" -eq 1 ]
    run -75 --separate-stderr ranks 3 tc-train -q r.yaml steps=10000000 checkpoint=null validate=null --max-time 2 -o stopped
    [ "$(grep -c '^tc-train: .*stopped' <<<"$stderr")" -eq 1 ] # rank 0 speaks, be it before the first step
}

@test "ranks share the samples of stored micro-batches, dropout included" {
    cat >stored.py <<'PY'
import torch


class D(torch.nn.Module):
    def forward(self):
        x = torch.arange(3 * 10 * 3).reshape(3, 10, 3) % 7
        return {"x": x, "y": x.sum(2) % 4, "gain": torch.tensor([0.5, 1.0, 2.0])}


class Uneven(torch.nn.Module):
    def forward(self):
        return {"x": torch.zeros(3, 10, 3).long(), "y": torch.zeros(3, 9).long(), "gain": torch.ones(3)}
PY
    for class in D Uneven; do tc-export stored.py:$class | tc-run - --to safetensors -o $class.safetensors; done
    set -- r.yaml data='{safetensors: D.safetensors, batches: true}' forward='m(x) * gain' loss='F.cross_entropy(out, y)' steps=6
    tc-train -q "$@" validate=null -o one
    for n in 2 3; do
        ranks $n tc-train -q "$@" validate=null -o ranks$n
        tc-ckpt diff one/latest ranks$n/latest --rtol 1e-4 --atol 1e-6
    done
    tc-train -q "$@" data='{train: {safetensors: D.safetensors, batches: true}, val: {safetensors: D.safetensors, batches: true}}' -o val
    ranks 2 tc-train -q "$@" data='{train: {safetensors: D.safetensors, batches: true}, val: {safetensors: D.safetensors, batches: true}}' -o val2
    [ "$(grep -c val_loss val2/metrics.jsonl)" -eq 1 ]
    [ "$(grep val_loss val/metrics.jsonl | cut -c1-30)" = "$(grep val_loss val2/metrics.jsonl | cut -c1-30)" ]
    run -2 --separate-stderr ranks 2 tc-train -q "$@" data.safetensors=Uneven.safetensors -o none
    [[ $stderr == *"micro-batches have 10 of x and 9 of y, which ranks cannot share"* ]] || false
}

@test "an error is told once, also one of a single rank or of the command line" {
    mkdir other
    cp r.yaml model.py other
    run -1 --separate-stderr ranks 2 bash -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || cd other; exec tc-train -q r.yaml -o ../lone'
    [ "$(grep '^tc-train: ' <<<"$stderr")" = "tc-train: rank 1: data: r.yaml:6: data.names: names.txt: cannot open: No such file or directory" ]
    sed 's/names: names.txt/names: "cmd:[ $OMPI_COMM_WORLD_RANK = 1 ] || sleep 0.75; cat names.txt"/' r.yaml >late.yaml
    TC_DIST_TIMEOUT=1 run -1 --separate-stderr ranks 2 tc-train -q late.yaml -o late
    [ "$(grep '^tc-train: ' <<<"$stderr")" = "tc-train: rank 1: no answer from rank 0 in 1 s" ]
    run -2 --separate-stderr ranks 2 tc-train r.yaml --nosuch
    [ "$(grep '^tc-train: ' <<<"$stderr")" = "tc-train: unknown option --nosuch" ]
}

@test "two ranks train what one rank trains on the joined batch" {
    command -v mpirun >/dev/null || skip "no mpirun"
    [ -e "$TC_BUILD/bin/tc-mpi.so" ] || skip "no tc-mpi.so"
    sed -i 's/self.drop(F.relu(self.a(x.float())))/F.relu(self.a(x.float()))/' model.py
    tc-train -q r.yaml -o one
    ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe --bind-to none -n 2 tc-train -q r.yaml -o two
    tc-ckpt diff one/latest two/latest --rtol 1e-5 --atol 1e-6
}

@test "gradients of weights of every type are added over micro-batches and ranks" {
    cat >types.py <<'PY'
import torch
import torch.nn as nn


class Types(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(torch.ones(1, 3, dtype=d)) for d in (torch.bfloat16, torch.float16, torch.complex64, torch.float64)])

    def forward(self, x):
        return sum(torch.view_as_real(p * x + 0j).sum() if p.is_complex() else (p * x).sum().float() for p in self.w)
PY
    cat >types.yaml <<'YAML'
model: types.py:Types
input: x=Bx1xf32
data: {csv: x.csv, order: sequential, target: y, columns: [x]}
loss: out / x.shape[0]
optimizer: torch.optim.SGD(m.parameters(), lr=1.0)
YAML
    printf 'x,y\n2,0\n4,0\n6,0\n8,0\n' >x.csv
    tc-train -q types.yaml batch=4 steps=1 -o whole
    tc-train -q types.yaml batch=2 accumulate=2 steps=1 -o parts
    ranks 2 tc-train -q types.yaml batch=4 steps=1 -o two
    [ "$(tc-ckpt show whole/latest model.w.2 | tr -d ' \n')" = 'model.w.2=tensor([[-4.-5.j,-4.-5.j,-4.-5.j]])' ]
    for run in parts two; do tc-ckpt diff whole/latest $run/latest; done
}

@test "a NaN that one rank has is exit 6, told once with what that rank found" {
    cat >line.py <<'PY'
import torch.nn as nn


class Line(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(1, 1)

    def forward(self, x):
        return self.a(x)
PY
    printf 'x,y\n1,1\n2,2\n3,3\n,4\n' >x.csv # the empty cell is a NaN, of the last rank
    set -- r.yaml model=line.py:Line arg=null input=x=Bx1xf32 data='{csv: x.csv, columns: [x], target: y, order: sequential}' \
        loss='F.mse_loss(out, y)' scheduler=null validate=null checkpoint=null batch=4
    for n in 1 2 3; do
        run -6 --separate-stderr ranks $n tc-train -q "$@" -o run$n
        [ "$(grep '^tc-train: ' <<<"$stderr" | sed 's/ (rank [12])$//')" = "tc-train: step 1: the loss is NaN; the data are not finite: x" ]
    done
    [[ $stderr == *"x (rank 2)"* ]] || false
}

@test "a NaN is exit 6 naming the step and the operator that made it first" {
    cat >nan.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.a = nn.Linear(3, hidden)
        self.b = nn.Linear(hidden, 4)

    def forward(self, x):
        h = self.a(x.float())
        keep = torch.arange(h.size(-1)) < 5
        p = torch.softmax(h.masked_fill(~keep, float('-inf')), -1)  # an infinity that is meant
        scale = torch.sqrt(p.sum(-1, keepdim=True) - 3.0)
        return self.b(p) * scale
PY
    run -6 --separate-stderr tc-train -q r.yaml model=nan.py:Net -o run
    [[ "$stderr" == *"step 1: the loss is NaN; the first NaN is made by aten.sqrt.default"*"nan.py:16"* ]]
    sed -i 's/scale = .*/scale = torch.exp(50 * h.abs().sum(-1, keepdim=True) + 80)/' nan.py
    run -6 --separate-stderr tc-train -q r.yaml model=nan.py:Net -o run2
    [[ "$stderr" == *"is made by aten.exp.default"*"nan.py:16"* ]]
}

@test "a weight of another shape is refused with both" {
    tc-train -q r.yaml steps=4 -o run
    run -3 --separate-stderr tc-train -q r.yaml arg='{hidden: 8}' --resume -o run
    [ "$stderr" = "tc-train: run/step-4: the checkpoint is from another model: a.weight is 16x3xf32, the model has 8x3xf32" ]
    run -3 --separate-stderr tc-train -q r.yaml arg='{hidden: 8}' weights=run/latest -o none
    [ "$stderr" = "tc-train: run/latest: a.weight is 16x3xf32, the model has 8x3xf32" ]
}

@test "a changed model is refused where its weights fit, too; one in other words is not" {
    tc-train -q r.yaml steps=4 -o run
    sed 's/F.relu/F.gelu/' model.py >other.py
    run -3 --separate-stderr tc-train -q r.yaml model=other.py:Net steps=8 --resume -o run
    [ "${stderr_lines[0]}" = "tc-train: run/step-4: the checkpoint is from another model: the weights fit, but the operators are others" ]
    [ "$(readlink run/latest)" = step-4 ]
    sed 's/return self.b(self.drop(F.relu(self.a(x.float()))))/h = self.drop(F.relu(self.a(x.float())))\n        return self.b(h) + 0 * h.sum()/' model.py >more.py
    run -3 tc-train -q r.yaml model=more.py:Net steps=8 --resume -o run
    sed 's/        return self.b(self.drop(F.relu(\(.*\))))/        hidden = F.relu(\1)  # said otherwise\n        return self.b(self.drop(hidden))/; s/Dropout(0.25)/Dropout(0.125)/' model.py >words.py
    run ! cmp -s words.py model.py
    tc-train -q r.yaml model=words.py:Net steps=8 activation_checkpointing=Net input=x=Bx3xi32 --resume -o run
    tc-train -q run model=model.py:Net steps=9 --resume # what environment says is still of the first
}

@test "a piped model goes on from its pipe and from the run's own copy" {
    grep -Ev '^(model|arg|input):' r.yaml >piped.yaml
    made() { tc-export "$@" --arg hidden=16 --input x=Bx3xi64; }
    made model.py:Net | tc-train -q piped.yaml steps=4 -o run
    tc-train -q run steps=6 --resume
    made model.py:Net | tc-train -q piped.yaml steps=8 --resume -o run
    sed 's/F.relu/F.gelu/' model.py >other.py
    made other.py:Net >other.pt2
    run -3 --separate-stderr tc-train -q piped.yaml steps=9 --resume -o run <other.pt2
    [[ "$stderr" == *"the weights fit, but the operators are others"*"weights=run/step-8 and another -o"* ]]
    tc-train -q piped.yaml steps=9 weights=run/step-8 -o another <other.pt2
}

@test "what has changed since the checkpoint is said when a run goes on" {
    tc-train -q r.yaml steps=4 -o run
    run --separate-stderr tc-train r.yaml steps=6 -o run --resume
    [[ "$stderr" == *"changed since the checkpoint:"*"steps: 4 -> 6"* ]]
    [[ "$stderr" != *"numerics:"* ]]
    run --separate-stderr tc-train r.yaml steps=8 -o run --resume --numerics=fast
    [[ "$stderr" == *"steps: 6 -> 8"*"numerics: strict -> fast"* ]]
}

@test "a run that goes on by a changed recipe has its rates: settings of the optimiser, schedules by steps and by loss" {
    rates() { grep -o '"lr": [^]]*' "$1/metrics.jsonl" | tail -n "$2"; }
    sed -i 's/^validate:.*/validate: null/; /^scheduler:/d' r.yaml
    tc-train -q r.yaml steps=4 -o run
    tc-train -q r.yaml steps=6 optimizer='torch.optim.AdamW(m.parameters(), lr=0.5, betas=(0.8, 0.999))' -o run --resume
    [ "$(rates run 2 | sort -u)" = '"lr": [0.5' ]
    grep -q '"groups": \[\[0, "betas", 0, 0.8\], \[0, "betas", 1, 0.999\]' run/step-6/state.json
    tc-train -q run steps=8 --resume
    [ "$(rates run 1)" = '"lr": [0.5' ]
    tc-train -q run steps=9 optimizer='torch.optim.SGD(m.parameters(), lr=0.25)' --resume
    [ "$(rates run 1)" = '"lr": [0.25' ]
    grep -q '"groups": \[\[0, "dampening", -1, 0.0\], \[0, "lr", -1, 0.25\], \[0, "momentum", -1, 0.0\], \[0, "weight_decay", -1, 0.0\]\]' run/step-9/state.json
    for s in 'CosineAnnealingLR(opt, T_max=total)' 'OneCycleLR(opt, max_lr=0.1, total_steps=total)' \
        'SequentialLR(opt, [torch.optim.lr_scheduler.LinearLR(opt, 0.1, total_iters=2), torch.optim.lr_scheduler.ExponentialLR(opt, 1 - 1 / total)], [2])'; do
        tc-train -q r.yaml steps=5 scheduler="torch.optim.lr_scheduler.$s" -o "part $s"
        tc-train -q "part $s" steps=9 --resume
        tc-train -q r.yaml steps=9 scheduler="torch.optim.lr_scheduler.$s" -o "whole $s"
        [ "$(rates "part $s" 4)" = "$(rates "whole $s" 4)" ]
    done
    plateau='torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1, factor=0.5)'
    tc-train -q r.yaml steps=5 scheduler="$plateau" scheduler_step='scheduler.step(1.0)' -o flat
    tc-train -q flat steps=9 scheduler="${plateau/0.5/0.25}" --resume
    [ "$(rates flat 9 | tr '\n' ' ')" = '"lr": [0.01 "lr": [0.01 "lr": [0.01 "lr": [0.005 "lr": [0.005 "lr": [0.0025 "lr": [0.0025 "lr": [0.000625 "lr": [0.000625 ' ]
}

@test "an optimiser of another class begins with its own state, one that is derived goes on" {
    sed -i 's/^validate:.*/validate: null/; /^scheduler:/d; /^clip/d' r.yaml
    tc-train -q r.yaml steps=3 ema_decay=0.5 optimizer='torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9)' -o run
    run --separate-stderr tc-train run steps=4 optimizer='torch.optim.Adam(m.parameters(), lr=0.125)' --resume
    [[ "$stderr" == *"run/step-3: holds the state of SGD, the recipe's optimiser is Adam, whose state begins with the next step"* ]]
    [[ "$stderr" != *averages* ]]
    run -4 tc-ckpt diff run/step-3 run/step-4
    [[ "$output" == *"model.b.bias: 4 of 4 elements differ, largest error 0.125,"* ]] # the first step of Adam is lr, its count of steps 1
    tc-ckpt ls run/latest >names
    run ! grep -q momentum names
    cp -r run other
    tc-train -q run steps=7 --resume
    for n in 5 6 7; do tc-train -q other steps=$n --resume; done
    tc-ckpt diff --all run/latest other/latest
    run --separate-stderr tc-train run steps=8 optimizer='torch.optim.AdamW(m.parameters(), lr=0.125)' --resume
    [[ "$stderr" != *"holds the state of"* ]]
    run --separate-stderr tc-train run steps=9 optimizer='torch.optim.Adam(m.parameters(), lr=0.125)' --resume
    [[ "$stderr" != *"holds the state of"* ]]
}

@test "a gradient that is not finite is exit 6 before the weights are changed" {
    sed 's/return self.b.*/return self.b((F.relu(self.a(x.float())) * 0).sqrt() * 0)/' model.py >grad.py # 0 * d sqrt(0)
    run -6 --separate-stderr tc-train -q r.yaml model=grad.py:Net checkpoint='{every: 1}' -o run
    [[ "$stderr" == *"step 1: the gradient of a."*" is NaN; the first NaN is made by aten."*"grad.py:13"* ]]
    cat >one.py <<'PY'
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, at):
        super().__init__()
        self.at = at
        self.w = nn.Parameter(torch.ones(100005))

    def forward(self, x):
        one = self.w[self.at]
        return torch.where(one == one, one, (one - one).sqrt()) + self.w.mean() + 0 * x.sum()  # 0 * d sqrt(0) in one place
PY
    for at in 0 17 65535 65536 99999 100000 100004; do
        run -6 --separate-stderr tc-train -q r.yaml model=one.py:Net arg="{at: $at}" loss=out validate=null data.val=null -o one
        [[ "$stderr" == *"step 1: the gradient of w is NaN"* ]]
    done
}

@test "SIGKILL at any time loses nothing: the run that is resumed again and again has the bits of one that was not" {
    settings=(steps=400 "scheduler=torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=total)" validate=null ema_decay=0.9
        "checkpoint={every: 3, keep_last: 3}")
    tc-train -q r.yaml "${settings[@]}" checkpoint=null -o whole
    for i in 1 2 3 4 5 6 7 8; do
        tc-train -q r.yaml "${settings[@]}" -o parts --resume &
        pid=$!
        sleep "0.0$((RANDOM % 90 + 10))"
        kill -KILL $pid 2>/dev/null || true
        wait $pid || true
        for c in parts/step-*; do [ ! -e "$c" ] || tc-ckpt verify "$c" >/dev/null; done # what has its name is whole
    done
    tc-train -q r.yaml "${settings[@]}" -o parts --resume
    cmp whole/step-400/shard-00001-model-00001-of-00001.safetensors parts/step-400/shard-00001-model-00001-of-00001.safetensors
    cmp whole/step-400/state.json parts/step-400/state.json
    [ "$(grep -c grad_norm parts/metrics.jsonl)" -eq 400 ]
    [ "$(ls -A parts | grep -vc '^step-')" -eq 6 ] # .lock environment latest metrics.jsonl model.pt2 recipe.yaml
}

@test "a full disk is exit 1; what was saved stays and the run goes on when there is room" {
    mkdir disk
    mount -t tmpfs -o size=200k tmpfs disk 2>/dev/null || skip "mounting needs root"
    code=0
    tc-train -q r.yaml steps=200 scheduler=null validate=null "checkpoint={every: 2}" -o disk/run 2>err || code=$?
    verified=0
    tc-ckpt verify disk/run || verified=$?
    rm -rf disk/run/step-[2468]
    again=0
    tc-train -q r.yaml steps=200 scheduler=null validate=null "checkpoint={every: 2, keep_last: 1}" -o disk/run --resume || again=$?
    cp -r disk/run/step-200 .
    umount disk
    [ "$code" -eq 1 ]
    grep -q 'No space left on device' err
    [ "$verified" -eq 0 ]
    [ "$again" -eq 0 ]
    tc-train -q r.yaml steps=200 scheduler=null validate=null checkpoint=null -o whole
    cmp whole/step-200/shard-00001-model-00001-of-00001.safetensors step-200/shard-00001-model-00001-of-00001.safetensors
}

@test "checkpoints written behind the training are those that are written before it goes on" {
    tc-train -q r.yaml -o before
    tc-train -q r.yaml checkpoint='{every: 4, async: true}' -o behind
    for step in 4 8 12; do diff -r before/step-$step behind/step-$step; done
    [ "$(readlink behind/latest)" = step-12 ]
    tc-train -q r.yaml checkpoint='{every: 1, keep_last: 2, async: true}' ema_decay=0.9 -o few
    [ "$(ls few | grep -c step-)" -eq 2 ]
    tc-ckpt verify few/step-11 few/step-12
    run -6 --separate-stderr tc-train r.yaml "optimizer=torch.optim.SGD(m.parameters(), lr=1e30)" clip_grad_norm=0 \
        checkpoint='{every: 1, async: true}' -o none # one that ends by an error has finished what it began
    tc-ckpt verify none/latest
    [ -z "$(ls -A none | grep tmp)" ]
    tc-train -q r.yaml checkpoint='{every: 4, async: true}' steps=9 -o part
    tc-train -q part steps=12 --resume
    tc-ckpt diff --all before/step-12 part/step-12
    tc-train -v r.yaml checkpoint='{every: 4, async: true}' -o said 2>err
    grep -q 'copies for checkpoints [1-9]' err
    tc-train -v r.yaml checkpoint='{every: 4, async: true}' 2>err >none.pt2 # none are written
    run ! grep -q 'copies for checkpoints' err
    for every in 1000 0; do # the memory of the copies is made in the first steps, not when the first checkpoint waits for it
        tc-train -q r.yaml arg='{hidden: 500000}' checkpoint="{every: $every, async: $([ $every -gt 0 ] && echo true || echo false)}" --time -o of$every 2>time
        peak=$(sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' time)
        [ $every -gt 0 ] || [ -n "${ASAN_OPTIONS-}" ] || [ $peak -lt $((most - 20)) ]
        most=$peak
    done
}

@test "a checkpoint behind the training that cannot be written ends the run, and is told also where another error ends it first" {
    mkdir -p run/latest # where the link should be
    run -1 --separate-stderr tc-train -q r.yaml checkpoint='{every: 4, async: true}' -o run
    [ "$stderr" = "tc-train: run/latest: cannot set the link: Is a directory" ]
    [ ! -e run/step-8 ]
    mkdir -p none/latest
    run -6 --separate-stderr tc-train -q r.yaml "optimizer=torch.optim.SGD(m.parameters(), lr=1e30)" clip_grad_norm=0 \
        checkpoint='{every: 1, async: true}' -o none
    [[ "$stderr" == *"step 2: the loss is"*"none/latest: cannot set the link: Is a directory" ]]
}

@test "a program that cannot be written is exit 1" {
    run -1 --separate-stderr bash -c 'tc-train -q r.yaml >&-'
    [[ $stderr == *"stdout: cannot write"* ]]
    run -1 --separate-stderr bash -c 'tc-train -q r.yaml >/dev/full'
    [[ $stderr == *"No space left on device"* ]]
}

@test "m is the module of the model's file: its methods, classes and parts; keywords; siblings from the recipe's folder; autograd.Function" {
    mkdir sub
    cat >sub/parts.py <<'PY'
import torch


class Sign(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return torch.sign(x)

    @staticmethod
    def backward(ctx, g):
        return g * 2
PY
    cat >sub/net.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F
from parts import Sign


class Net(nn.Module):
    def __init__(self, k=4):
        super().__init__()
        self.a = nn.Linear(3, k)
        self.n = nn.LayerNorm(k)
        self.heads = nn.ModuleDict({"x": nn.Linear(k, 4)})
        self.scale = nn.ParameterDict({"x": nn.Parameter(torch.ones(1))})

    def forward(self, x, gain):
        return self.heads["x"](Sign.apply(self.n(self.a(x)))) * gain

    def loss(self, out, y):
        return F.cross_entropy(out * self.scale["x"], y)
PY
    cat >sub/r.yaml <<'YAML'
model: net.py:Net
arg: {k: 5}
input: [x=Bx3xf32, gain=Bx1xf32]
source: .
data: {safetensors: d.safetensors, batches: true}
steps: 3
forward: m(x, gain=g)
loss: m.loss(out, y) + 0.1 * m.scale["x"].pow(2).sum()
functions: |
  def groups_of(m):
      slow = [p for mod in m.modules() if isinstance(mod, nn.LayerNorm) for p in mod.parameters()]
      return [{"params": slow, "lr": 1e-3}, {"params": [p for p in m.parameters() if all(p is not q for q in slow)]}]
param_groups: groups_of(m)
optimizer: torch.optim.SGD(groups, lr=0.5)
YAML
    cat >data.py <<'PY'
import torch


class D(torch.nn.Module):
    def forward(self):
        x = torch.arange(4 * 6 * 3).reshape(4, 6, 3) % 7 - 3.0
        return {"x": x, "g": x[:, :, :1] * 0 + 2, "y": torch.arange(24).reshape(4, 6) % 4}
PY
    tc-export data.py:D | tc-run - --to safetensors -o sub/d.safetensors
    tc-train -q sub/r.yaml -o run
    grep -q '"lr": \[0.001, 0.5\]' run/metrics.jsonl
    # the straight-through gradient reaches the first layer: its weights have moved
    tc-train -q sub/r.yaml steps=1 optimizer='torch.optim.SGD(groups, lr=0.0)' param_groups='list(m.parameters())' -o still
    tc-ckpt consolidate run/latest -o a.safetensors
    tc-ckpt consolidate still/latest -o b.safetensors
    run -4 --separate-stderr tc-ckpt diff a.safetensors b.safetensors
    [[ $output == *a.weight* ]]
    run -3 --separate-stderr tc-train -q sub/r.yaml forward='m(x, gein=g)' -o none
    [[ $stderr == *"no input 'gein'"* ]] || false
}

@test "SequentialLR takes back the steps of schedulers inside its schedulers, and refuses ReduceLROnPlateau" {
    local S=torch.optim.lr_scheduler
    tc-train -q r.yaml steps=4 'optimizer=torch.optim.SGD(m.parameters(), lr=1.0)' \
        "scheduler=$S.SequentialLR(opt, [$S.ChainedScheduler([$S.ConstantLR(opt, 0.25, 2), $S.ExponentialLR(opt, 0.5)]), $S.StepLR(opt, 9)], milestones=[3])" -o run
    [ "$(grep -o '"lr": [^,]*' run/metrics.jsonl | tr '\n' ' ')" = '"lr": [0.125] "lr": [0.0625] "lr": [0.125] "lr": [1.0] ' ] # as PyTorch
    run -3 --separate-stderr tc-train -q r.yaml "scheduler=$S.SequentialLR(opt, [$S.ReduceLROnPlateau(opt)], milestones=[])" -o none
    [[ $stderr == *"SequentialLR does not support"* ]] || false
    run -3 --separate-stderr tc-train -q r.yaml 'optimizer=torch.optim.SGD(m.parameters(), lr=1.0)' \
        "scheduler=$S.SequentialLR(opt, [$S.StepLR(opt, 9), $S.ChainedScheduler([$S.StepLR(opt, 9)])], milestones=[3])" -o none
    [[ $stderr == *"ChainedScheduler gives no rate by itself: SequentialLR takes it as its first"* ]] || false
}

@test "ASGD steps with the rate of the step before" {
    # step 1 at rate 0.5, then the schedule sets 0: step 2 still moves, step 3 does not
    for n in 1 2 3; do
        tc-train -q r.yaml steps=$n 'optimizer=torch.optim.ASGD(m.parameters(), lr=0.5)' 'scheduler="torch.optim.lr_scheduler.LambdaLR(opt, lambda s: float(s < 1))"' -o run$n
        tc-ckpt consolidate run$n/latest -o w$n.safetensors
    done
    run -4 tc-ckpt diff w1.safetensors w2.safetensors
    tc-ckpt diff w2.safetensors w3.safetensors
}

# bytes of micro's intermediates, from --log memory
micro_bytes() { sed -n 's/.*intermediates of micro \([0-9]*\).*/\1/p' "$1" | head -1; }

@test "activation_checkpointing and torch.utils.checkpoint: less memory, the same bits, dropout included" {
    cat >deep.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


class Block(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.a, self.b, self.drop = nn.Linear(d, 4 * d), nn.Linear(4 * d, d), nn.Dropout(0.1)

    def forward(self, x):
        return x + self.drop(self.b(torch.tanh(F.gelu(self.a(x)))))


class Net(nn.Module):
    def __init__(self, use=0, layers=6):
        super().__init__()
        self.blocks = nn.ModuleList([Block(24) for _ in range(layers)])
        self.use = use

    def forward(self, x):
        x = x.float().unsqueeze(1).repeat(1, 16, 8) / 27
        for b in self.blocks:
            x = checkpoint(b, x, use_reentrant=False) if self.use else b(x)
        return x[:, 0, :4]
PY
    deep() { tc-train r.yaml --threads 1 --log memory model=deep.py:Net batch=32 steps=3 data.train='{rows: {every: 50, except: 49}}' validate=null checkpoint=null "$@"; }
    deep arg=null -o plain 2>plain.log
    deep arg=null activation_checkpointing=Block -o key 2>key.log
    deep arg='{use: 1}' -o call 2>call.log
    for r in key call; do
        cmp plain/latest/shard-00001-model-00001-of-00001.safetensors $r/latest/shard-00001-model-00001-of-00001.safetensors
        cmp <(without_times plain/metrics.jsonl) <(without_times $r/metrics.jsonl)
        [ "$(micro_bytes $r.log)" -lt $(($(micro_bytes plain.log) * 6 / 10)) ]
    done
    # the calls stay marked in an archive
    tc-export deep.py:Net --arg use=1 --input x=Bx3xi64 --seed 3 -o deep.pt2
    grep -v '^model\|^arg\|^input' r.yaml >piped.yaml
    tc-train piped.yaml --threads 1 --log memory batch=32 steps=3 data.train='{rows: {every: 50, except: 49}}' validate=null checkpoint=null -o piped <deep.pt2 2>piped.log
    cmp plain/latest/shard-00001-model-00001-of-00001.safetensors piped/latest/shard-00001-model-00001-of-00001.safetensors
    [ "$(micro_bytes piped.log)" -eq "$(micro_bytes call.log)" ]
    run -3 --separate-stderr deep arg=null activation_checkpointing=Blok -o none
    [[ $stderr == *"argument activation_checkpointing: the model has no module of class 'Blok'; it has Block, "* ]]
    run -2 --separate-stderr tc-train piped.yaml activation_checkpointing=Block -o none
    [[ $stderr == *"names classes of model:"* ]]
    # more parameters than a loop has axes: the norm of all gradients is a stack of as many numbers
    deep arg='{layers: 20}' -o many 2>many.log
}

@test "tensors among an optimiser's numbers; a null takes a key away; SparseAdam is refused" {
    tc-train -q r.yaml 'optimizer=torch.optim.Adam(m.parameters(), lr=0.01, betas=(0.8, 0.99))' -o numbers
    tc-train -q r.yaml 'optimizer=torch.optim.Adam(m.parameters(), lr=torch.tensor(0.01, dtype=torch.float64), betas=(0.8, 0.99))' epochs=null -o tensors
    cmp numbers/step-12/shard-00001-model-00001-of-00001.safetensors tensors/step-12/shard-00001-model-00001-of-00001.safetensors
    tc-train -q r.yaml 'optimizer=torch.optim.Adam(m.named_parameters(), lr=0.01, betas=(torch.tensor(0.8), torch.tensor(0.99)))' -o betas
    fails 3 "betas must be either both floats or both Tensors" \
        tc-train -q r.yaml 'optimizer=torch.optim.Adam(m.parameters(), betas=(0.8, torch.tensor(0.99)))' -o none
    run -2 --separate-stderr tc-train r.yaml steps=null -o none
    [[ "$stderr" == *"neither steps nor epochs is given"* ]]
    run -5 --separate-stderr tc-train r.yaml 'optimizer=torch.optim.SparseAdam(m.parameters())' -o sparse
    [[ "$stderr" == *"torch.optim.SparseAdam"*"no sparse tensors"* ]]
}

@test "Adafactor with a rate that is a tensor rounds its steps to the rate's type, as PyTorch does" {
    cat >lin.py <<'PY'
import torch.nn as nn


class Lin(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 1)
        nn.init.constant_(self.l.weight, 0.5)
        nn.init.constant_(self.l.bias, 0.25)

    def forward(self, x):
        return self.l(x)
PY
    printf 'a,b,y\n1,2,3\n-1,0.5,2\n0.25,3,-1\n2,-2,0.5\n' >d.csv
    printf '%s\n' 'model: lin.py:Lin' 'input: x=Bx2xf64' 'data: {csv: d.csv, columns: [a, b], target: y, order: sequential}' 'batch: 2' 'steps: 8' \
        'precision: float64' 'loss: (out.squeeze(1) - y).square().mean()' >lin.yaml
    tc-train -q lin.yaml optimizer='torch.optim.Adafactor(m.parameters(), lr=torch.tensor(0.01), weight_decay=0.1)' -o run
    [[ "$(tail -1 run/metrics.jsonl)" == *'"loss": 4.0805602579'* ]] # PyTorch: 4.080560257977521; 4.0805602548 without the rounding
}

@test "what functions and a scheduler without a state_dict keep is in a checkpoint" {
    { cat r.yaml && printf '%s' 'functions: |
  low = 1e9
  past = []
  slow, fixed = {}, [torch.ones(2)]
  class Decay:
      def __init__(self, opt):
          self.opt, self.steps = opt, 0
      def step(self):
          self.steps += 1
          self.opt.param_groups[0]["lr"] = 0.05 / self.steps
  class Count:
      n = 0
  count = Count()
  def after(m, scheduler, loss):
      global low
      for name, p in m.named_parameters():
          slow[name] = slow[name].lerp_(p.detach(), 0.3) if name in slow else p.detach().clone()
          if scheduler.steps == 4:
              p.data.copy_(slow[name])
      low = min(low, loss)
      past.append(loss - low)
      count.n += 1
      after.turns = getattr(after, "turns", 0) + 2
      scheduler.step()
      scheduler.opt.param_groups[0]["weight_decay"] = low * 0.01 + sum(past) * 0.1 + count.n * 0.001 + after.turns * 0.002
'; } >kept.yaml
    kept() { tc-train -q kept.yaml steps=6 epochs=null checkpoint='{every: 3, keep_last: 9}' 'scheduler=Decay(opt)' 'scheduler_step=after(m, scheduler, loss)' "$@"; }
    kept -o whole
    cp -r whole half && rm -r half/step-6 half/latest && ln -s step-3 half/latest
    kept -o half --resume
    tc-ckpt diff whole/latest half/latest
    cmp whole/latest/state.json half/latest/state.json
    [[ "$(tc-ckpt ls whole/latest)" == *optim.others.functions.slow.* && "$(tc-ckpt ls whole/latest)" != *functions.fixed* ]]
    grep -qF '"objects.count.n": 6, "objects.after.turns": 12' half/latest/state.json
}

@test "a rate that is a tensor of float32 is rounded to it at every step of the schedule, also after a resume" {
    shards() { cat "$1/latest/"shard-*; }
    go() { tc-train -q r.yaml steps=6 epochs=null checkpoint='{every: 3, keep_last: 9}' "$@"; }
    by_hand='functions: |
  def rounded(x):
      return torch.tensor(x).item()

  def rates(gamma):
      found = [rounded(0.03)]
      for _ in range(9):
          found.append(rounded(found[-1] * rounded(gamma)))
      return found
'
    { cat r.yaml && printf '%s' "$by_hand"; } >hand.yaml
    tc-train -q hand.yaml steps=6 epochs=null checkpoint='{every: 3}' 'optimizer=torch.optim.SGD(m.parameters(), lr=1.0, momentum=0.5)' \
        'scheduler="torch.optim.lr_scheduler.LambdaLR(opt, lambda s: rates(0.9)[s])"' -o hand
    go 'optimizer=torch.optim.SGD(m.parameters(), lr=torch.tensor(0.03), momentum=0.5)' \
        'scheduler=torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)' -o tensor
    shards hand >a && shards tensor >b && cmp a b
    tc-train -q hand.yaml steps=6 epochs=null checkpoint='{every: 3}' 'optimizer=torch.optim.SGD(m.parameters(), lr=rates(0.9)[0], momentum=0.5)' scheduler=null \
        scheduler_step='opt.param_groups[0].update(lr=rates(0.9)[step])' -o own # without a scheduler
    shards own >b && cmp a b
    # the rates that it shows, and its checkpoints' numbers
    cmp <(grep -o '"lr": [^ ]*' hand/metrics.jsonl) <(grep -o '"lr": [^ ]*' tensor/metrics.jsonl)
    cp -r tensor half && rm -r half/step-6 half/latest && ln -s step-3 half/latest
    go 'optimizer=torch.optim.SGD(m.parameters(), lr=torch.tensor(0.03), momentum=0.5)' \
        'scheduler=torch.optim.lr_scheduler.ExponentialLR(opt, 0.9)' --resume -o half
    tc-ckpt diff tensor/latest half/latest
    cmp tensor/latest/state.json half/latest/state.json
    # what follows from such a rate is rounded too: Adam's step size, betas that are tensors, every optimiser's state
    for o in 'Adam(m.parameters(), lr=torch.tensor(0.01), betas=(torch.tensor(0.8), torch.tensor(0.9)))' 'NAdam(m.parameters(), lr=torch.tensor(0.01))' \
        'Adafactor(m.parameters(), lr=torch.tensor(0.01))' 'LBFGS(m.parameters(), lr=torch.tensor(0.5), max_iter=2)'; do
        rm -rf all part
        go optimizer="torch.optim.$o" -o all
        go optimizer="torch.optim.$o" steps=3 -o part
        go optimizer="torch.optim.$o" --resume -o part
        tc-ckpt diff all/latest part/latest
    done
}

@test "errors in expressions name the recipe's line" {
    run -3 --separate-stderr tc-train -q r.yaml loss='F.cross_entropy(out, z)' -o none
    [[ ${stderr_lines[0]} == "tc-train: argument loss:1:"*"name 'z' is not defined"* ]]
    sed 's/AdamW/Adamw/' r.yaml >wrong.yaml
    run -3 --separate-stderr tc-train -q wrong.yaml -o none
    [[ ${stderr_lines[0]} == "tc-train: wrong.yaml:$(grep -n Adamw wrong.yaml | cut -d: -f1): optimizer:1:"* ]]
    printf 'functions: |\n  a = 1\n  b = zz\n' | cat r.yaml - >wrong.yaml
    run -3 --separate-stderr tc-train -q wrong.yaml -o none
    [[ ${stderr_lines[0]} == "tc-train: wrong.yaml:$(grep -n functions wrong.yaml | cut -d: -f1): functions:2:5: NameError"* ]]
    run -3 --separate-stderr tc-train -q r.yaml scheduler_step='sum(1 for i in iter(int, 1))' -o none # without an end
    [[ $stderr == *"scheduler_step:1:"*": this takes more steps than the limit"* ]]
    refused() { # EXIT KEY=VALUE WHAT: the recipe with this key has the error at the key's line
        sed "s|^${2%%=*}:.*|${2%%=*}: ${2#*=}|" r.yaml >wrong.yaml
        run -"$1" --separate-stderr tc-train -q wrong.yaml -o none
        [[ ${stderr_lines[0]} == "tc-train: "*"wrong.yaml:$(grep -n "^${2%%=*}:" wrong.yaml | cut -d: -f1):"*"$3"* ]] || { echo "$stderr"; return 1; }
    }
    refused 2 "loss=F.cross_entropy(out, y, reduction='none')" "loss: the expression gives a tensor of f32 and rank 1, expected one number"
    refused 2 "loss=y.sum()" "loss: the expression gives a tensor of i64 and rank 0, expected one number of a floating type"
    refused 2 "loss=y.float().mean()" "loss: no parameter that is trained is part of it"
    refused 3 "optimizer=3" "optimizer: found int '3', expected an optimiser"
    refused 2 "input=x=Bx3" "input: x=Bx3: '3' is not a dtype"
    sed '1a dim: B=5..2' r.yaml >wrong.yaml
    run -2 --separate-stderr tc-train -q wrong.yaml -o none
    [[ $stderr == "tc-train: wrong.yaml:2:6: dim: B=5..2: expected LO..HI"* && $stderr != *--help* ]]
    run -3 --separate-stderr tc-train -q r.yaml model="$(sed -n 's/^model: *\(.*\):.*/\1/p' r.yaml):Nett" -o none
    [[ $stderr == *"name 'Nett' is not defined; did you mean 'Net'?"* ]]
    grep -v '^model\|^arg\|^input' r.yaml >wrong.yaml
    run -3 --separate-stderr bash -c 'echo hello | tc-train -q wrong.yaml -o none'
    [[ $stderr == *"stdin is a file of unknown format, expected a program (.pt2)"* ]]
    run -2 --separate-stderr tc-train -q r.yaml clip_grad_norm=.nan -o none
    [[ $stderr == *"found nan"* ]]
}

@test "an expression's error shows the recipe's own text, and the name that was meant" {
    shown() { # the recipe with $1=$2: its error is $3, with line and caret, and ends in $4
        run -3 --separate-stderr tc-train -q r.yaml "$1=$2" -o none
        [ "$stderr" = "$(printf '%s\n' "tc-train: $3" "${@:4}")" ] || { echo "$stderr"; return 1; }
    }
    shown loss 'F.crossentropy(out, y % 4)' \
        "argument loss:1:3: AttributeError: module 'torch.nn.functional' has no attribute 'crossentropy' [TC0109]" \
        '    F.crossentropy(out, y % 4)' '      ^' "did you mean 'cross_entropy'?"
    shown loss 'F.cross_entropy(out, y % 4' "argument loss:1:16: SyntaxError: '(' was never closed [TC0101]" \
        '    F.cross_entropy(out, y % 4' '                   ^'
    shown loss $'|\n  F.cross_entropy(out,\n    yy % 4)' "argument loss:2:3: NameError: name 'yy' is not defined [TC0107]" \
        '      yy % 4)' '      ^' "did you mean 'y'?"
    shown loss 'F.cross_entropy(out, y % 4), 3' "TypeError: argument loss: found several values, expected one: F.cross_entropy(out, y % 4), 3 [TC0181]"
    shown optimizer 'torch.optim.Sgd(m.parameters(), lr=1)' \
        "argument optimizer:1:13: AttributeError: module 'torch.optim' has no attribute 'Sgd' [TC0109]" \
        '    torch.optim.Sgd(m.parameters(), lr=1)' '                ^' "did you mean 'SGD'?"
    shown optimizer 'torch.optim.SGD(m.parametres(), lr=1)' \
        "argument optimizer:1:19: AttributeError: 'Net' object has no attribute 'parametres' [TC0109]" \
        '    torch.optim.SGD(m.parametres(), lr=1)' '                      ^' "did you mean 'parameters'?"
    shown forward 'm(x).relo()' "argument forward:1:6: AttributeError: 'Tensor' object has no attribute 'relo' [TC0109]" \
        '    m(x).relo()' '         ^' "did you mean 'relu'?"
    shown optimizer 'torch.optim.SGD(mm.parameters(), lr=1)' "argument optimizer:1:17: NameError: name 'mm' is not defined [TC0107]" \
        '    torch.optim.SGD(mm.parameters(), lr=1)' '                    ^' "did you mean 'm'?"
    shown forward 'm(y)' "argument forward:1:1: RuntimeError: train expects i64[B, 3] for input x, found 1 dimensions, torch.Size([8]) [TC0162]" \
        '    m(y)' '    ^'
    shown scheduler_step 'scheduler.stp()' "argument scheduler_step:1:11: AttributeError: 'StepLR' object has no attribute 'stp' [TC0109]" \
        '    scheduler.stp()' '              ^' "did you mean 'step'?"
    run -2 --separate-stderr tc-train -q r.yaml metrics='{right: out.argmax(-1) == y}' -o none
    [ "$stderr" = "tc-train: argument metrics:1:9: metrics.right: the expression gives a tensor of bool and rank 1, expected one number" ]
    sed 's/names.txt/no.txt/' r.yaml >wrong.yaml
    run -1 --separate-stderr tc-train -q wrong.yaml -o none
    [ "${stderr%%$'\n'*}" = "tc-train: data: wrong.yaml:6: data.names: no.txt: cannot open: No such file or directory" ]
    sed 's/^steps: 12/steps 12/' r.yaml >wrong.yaml
    run -2 --separate-stderr tc-train -q wrong.yaml -o none
    [[ ${stderr_lines[0]} == "tc-train: wrong.yaml:11:1: not YAML: could not find expected ':'"* && ${stderr_lines[1]} == "    steps 12" ]]
}

@test "an embedding with max_norm is scaled as it trains, and has its gradient" {
    cat >emb.py <<'PY'
import torch.nn as nn


class Net(nn.Module):
    def __init__(self, hidden=4):
        super().__init__()
        self.e = nn.Embedding(30, hidden, max_norm=0.5)

    def forward(self, x):
        return self.e(x).sum(1)
PY
    train() { tc-train -q r.yaml model=emb.py:Net arg=null batch=30 scheduler=null clip_grad_norm=null validate=null checkpoint=null "$@"; }
    train steps=1 'optimizer=torch.optim.SGD(m.parameters(), lr=0.0)' -o scaled
    train steps=1 'optimizer=torch.optim.SGD(m.parameters(), lr=0.1)' -o moved
    run -4 tc-ckpt diff scaled/latest moved/latest
    [[ $output == *"model.e.weight: "* ]]
    tc-ckpt consolidate scaled/latest -o w.safetensors
    train steps=1 weights=w.safetensors 'optimizer=torch.optim.SGD(m.parameters(), lr=0.0)' -o twice
    tc-ckpt diff scaled/latest twice/latest --rtol 1e-6
    sed -i 's/, max_norm=0.5//' emb.py
    train steps=1 'optimizer=torch.optim.SGD(m.parameters(), lr=0.0)' -o free
    run -4 tc-ckpt diff scaled/latest free/latest
}

# The forecast of -v and what the process had at most, in KiB, of a run with these settings.
forecast_of() {
    rm -rf told
    tc-train -v --time --threads 1 -o told "$@" 2>log
    said=$(($(sed -n 's/.* needs \([0-9]*\) bytes.*/\1/p' log) / 1024))
    took=$(sed -n 's/.* \([0-9]*\)\.\([0-9]\) MiB peak/\1\2/p' log)
    took=$((took * 1024 / 10))
}

# bats test_tags=slow
@test "-v says before the first step what the run will take of memory, to 10 %" {
    [ -z "${ASAN_OPTIONS-}" ] || skip "sanitizers have memory of their own"
    for optimizer in 'SGD(m.parameters(), lr=0.01)' 'SGD(m.parameters(), lr=0.01, momentum=0.9)' 'Adam(m.parameters(), amsgrad=True)'; do
        for hidden in 16 400000; do
            forecast_of r.yaml "arg={hidden: $hidden}" optimizer="torch.optim.$optimizer" steps=7
            echo "$optimizer, $hidden: $said of $took"
            [ "$said" -gt $((took * 9 / 10)) ]
            [ "$said" -lt $((took * 11 / 10)) ]
            [ "$(sed -n 's/.* after step 7: .* update \([0-9]*\), .*/\1/p' log)" -lt 1000000 ] # the state is written in place
        done
    done
    forecast_of r.yaml 'arg={hidden: 400000}' accumulate=2 steps=4 validate=null
    echo "accumulate: $said of $took"
    [ "$said" -gt $((took * 9 / 10)) ]
    [ "$said" -lt $((took * 11 / 10)) ]
    grep -q 'with the program itself, plans and capturing it took [0-9]* bytes' log
}

# bats test_tags=slow
@test "later steps take no more memory, and the first step of an optimiser takes no more than the others" {
    [ -z "${ASAN_OPTIONS-}" ] || skip "sanitizers have memory of their own"
    forecast_of r.yaml 'arg={hidden: 400000}' steps=3 scheduler=null checkpoint=null validate=null
    short=$took
    forecast_of r.yaml 'arg={hidden: 400000}' steps=30 scheduler=null checkpoint=null validate=null
    [ "$took" -lt $((short * 11 / 10)) ]
    # weights, gradients, the two tensors of AdamW, what is 0.6 of them of intermediates, and 40 MiB for the rest
    [ "$took" -lt $((46 * 12500 + 40960)) ]
}

# bats test_tags=slow
@test "what a step takes is in proportion to how many weights there are" {
    [ -z "${ASAN_OPTIONS-}" ] || skip "sanitizers have memory of their own"
    cat >many.py <<'PY'
import torch
class Many(torch.nn.Module):
    def __init__(self, n):
        super().__init__()
        self.w = torch.nn.ParameterList([torch.nn.Parameter(torch.ones(2)) for i in range(n)])
    def forward(self):
        return torch.stack(list(self.w)).sum(0)
class Data(torch.nn.Module):
    def forward(self):
        return {"x": torch.ones(4, 2)}
PY
    tc-export many.py:Data | tc-run - -o many.safetensors
    printf '%s\n' 'model: many.py:Many' 'data: {safetensors: many.safetensors}' 'batch: 4' 'steps: 2' 'loss: (m() * x).sum()' \
        'optimizer: torch.optim.AdamW(m.parameters())' >many.yaml
    for n in 500 1500; do
        tc-train -q --time many.yaml arg.n=$n -o many-$n 2>time
        sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' time >peak-$n
    done
    [ "$(cat peak-1500)" -lt $((4 * $(cat peak-500))) ] # three times as many: 9 times where each weight looks at all
}

own_optimiser() { # LINE...: of step() for each parameter p with its state s and group g
    sed '/^\(optimizer\|scheduler\)/d' r.yaml
    cat <<'YAML'
optimizer: Own(m.parameters(), lr=0.5)
functions: |
  import torch
  class Own(torch.optim.Optimizer):
      def __init__(self, params, lr):
          super().__init__(params, {'lr': lr, 'k': 0})
          self.k = 0
      def step(self):
          for g in self.param_groups:
              for p in g['params']:
                  s = self.state[p]
                  if 'step' not in s:
                      s['step'], s['k'], s['t'], s['m'] = 0, 0, torch.zeros(()), torch.zeros_like(p)
YAML
    printf '                  %s\n' "$@"
}

@test "an optimiser of the recipe's own may put new tensors into its state, which are those that it changes in place" {
    own_optimiser "s['step'] += 1" "s['t'].add_(1)" "s['m'].mul_(0.9).add_(p.grad)" "p.data.sub_(s['m'] * (g['lr'] / s['t']))" >a.yaml
    own_optimiser "s['step'] += 1" "s['t'] = s['t'] + 1" "s['m'] = s['m'] * 0.9 + p.grad" "p.data.copy_(p.data - s['m'] * (g['lr'] / s['t']))" >b.yaml
    tc-train -q a.yaml -o a
    tc-train -q b.yaml -o b
    tc-ckpt diff --all a/latest b/latest
    own_optimiser "s['step'] += 1" "s['t'].add_(1)" "s['m'].mul_(0.9).add_(p.grad)" "p.data.sub_(s['m'] * (g['lr'] / s['step']))" >a.yaml
    tc-train -q a.yaml -o d
    tc-ckpt diff --all a/latest d/latest --rtol 1e-5
    tc-train -q b.yaml steps=5 -o c
    tc-train -q c steps=12 --resume
    tc-ckpt diff --all b/latest c/latest
    own_optimiser "s['m'] = torch.cat([s['m'], p.grad])" "p.data.sub_(s['m'].mean() * 0.01)" >own.yaml
    tc-train -q own.yaml steps=6 -o whole
    tc-train -q own.yaml steps=4 -o parts
    tc-train -q parts steps=6 --resume
    tc-ckpt diff --all whole/latest parts/latest
    own_optimiser "s['t'] = s['t'] + torch.randn(()) ** 2" "p.data.sub_(p.grad * s['t'])" >own.yaml # draws: others in every step and call
    tc-train -q own.yaml -o drawn
    tc-train -q own.yaml steps=5 -o resumed
    tc-train -q resumed steps=12 --resume
    tc-ckpt diff --all drawn/latest resumed/latest
}

@test "numbers, lists and dicts that a step of an optimiser's own changes are those of every step, and in a checkpoint" {
    local weights=shard-00001-model-00001-of-00001.safetensors
    own_optimiser "s['step'] += 1" "p.data.sub_(p.grad * (g['lr'] / s['step']))" >a.yaml
    tc-train -q a.yaml -o step
    tc-ckpt consolidate step/latest -o step.safetensors
    for counter in "s['k']" "s[0]" "s['a.0']" "s['d']['k']" "s['l'][0][1]"; do
        own_optimiser "$counter += 1" "p.data.sub_(p.grad * (g['lr'] / $counter))" |
            sed "s/s\['step'\], s\['k'\], s.* = 0, 0, /s['d'], s['l'], s['a.0'], s[0], s['step'], s['k'], s['t'], s['m'] = {'k': 0}, [[9, 0]], 0, 0, 0, 0, /" >own.yaml
        rm -rf run part
        tc-train own.yaml -o run 2>err
        grep -q "the optimiser's steps run operator by operator: update: .*step() changes state" err
        tc-ckpt consolidate run/latest -o run.safetensors
        cmp run.safetensors step.safetensors
        tc-train -q own.yaml steps=5 -o part
        tc-train -q part steps=12 --resume
        diff -r run/step-12 part/step-12
    done
    for counter in "g['k']" "g['new']" self.k self.d["'k'"] self.l[0] self.state["'all'"]["'k'"]; do # of all parameters
        own_optimiser | sed '/if .step. not in s/,$d; s/g in self.param_groups/g in [self.count()]/; s/self.k = 0/self.k, self.d, self.l = 0, {"k": 0}, [0]/' >own.yaml
        cat >>own.yaml <<YAML
                  p.data.sub_(p.grad * (g['lr'] / $counter))
      def count(self):
          g = self.param_groups[0]
          g.setdefault('new', 0)
          self.state['all'].setdefault('k', 0)
          $counter += 1
          return g
YAML
        rm -rf run part
        tc-train -q own.yaml -o run
        tc-ckpt consolidate run/latest -o run.safetensors
        cmp run.safetensors step.safetensors
        tc-train -q own.yaml steps=5 -o part
        tc-train -q part steps=12 --resume
        diff -r run/step-12 part/step-12
    done
    own_optimiser | sed '/if .step. not in s/,$d; s/self.k = 0/self.todo = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]/' >shorter.yaml
    cat >>shorter.yaml <<'YAML'
                  p.data.sub_(p.grad * (g['lr'] / (1 + len(self.todo))))
          if len(self.todo) > 1:
              self.todo.pop(0)
YAML
    own_optimiser "s['step'] += 2" "p.data.sub_(p.grad * (g['lr'] / s['step']))" >by_two.yaml
    own_optimiser "s['step'] += 1 if float(p.grad.abs().sum()) > 0.2 else 0" "p.data.sub_(p.grad * (g['lr'] / (1 + s['step'])))" >by_data.yaml
    own_optimiser "g.setdefault('best', float('inf'))" "s['k'] += 1" "p.data.sub_(p.grad * (g['lr'] / s['k']))" >infinite.yaml
    local late="(2.0 if s['step'] > 3 else 1.0)" # the same by a number, by what stands in a group from the fourth step on, or no longer
    own_optimiser "s['step'] += 1" "p.data.sub_(p.grad * (g['lr'] * $late))" >late.yaml
    own_optimiser "s['step'] += 1" "if s['step'] == 4: g['t'] = torch.tensor(2.0)" "p.data.sub_(p.grad * (g['lr'] * (g['t'].item() if 't' in g else 1.0)))" >late_tensor.yaml
    own_optimiser "s['step'] += 1" "if s['step'] == 4: g.pop('k', 0)" "p.data.sub_(p.grad * (g['lr'] * (1.0 if 'k' in g else 2.0)))" >late_none.yaml
    own_optimiser "s['step'] += 1" "g['k'] = torch.ones(4) * $late" "p.data.sub_(p.grad * (g['lr'] * g['k'].mean()))" >late_sizes.yaml
    own_optimiser "s['step'] += 1" "if p.dim() > 1: g.setdefault('l', []).append(1.0)" "g['k'] = [float(len(g['l']))]" "p.data.sub_(p.grad * (g['lr'] * (2.0 if g['k'][0] > 6 else 1.0)))" >late_list.yaml
    for name in shorter by_two by_data infinite late late_tensor late_none late_sizes late_list; do
        rm -rf part
        tc-train -q $name.yaml -o $name
        tc-train -q $name.yaml steps=5 -o part
        tc-train -q part steps=12 --resume
        [[ $name == late_* ]] || diff -r $name/step-12 part/step-12 # its later steps may be captured
        cmp $name/step-12/$weights part/step-12/$weights
    done
    tc-ckpt consolidate late/latest -o late.safetensors
    for name in tensor none sizes list; do tc-ckpt diff late_$name/latest late.safetensors; done
    rm -rf part
    cp -r infinite part
    sed -i 's/"groups": \[\[0, "best"/"groups": [[[],"best"/' part/step-12/state.json # no number of a group
    sed -i "s/\(\"state.json\".*\"blake2b\": \"\)[0-9a-f]*/\1$(b2sum -l 256 part/step-12/state.json | cut -d' ' -f1)/" part/step-12/checkpoint.json
    fails 3 "'list' object cannot be interpreted as an integer: group must be one" tc-train -q part steps=13 --resume
    for name in two data; do # the same, counted under another name
        sed "s/s\['step'\] += /s['k'] += /; s/\(lr.\] .*\)s\['step'\]/\1s['k']/" by_$name.yaml >own.yaml
        rm -rf run
        tc-train -q own.yaml -o run
        tc-ckpt consolidate run/latest -o run.safetensors
        tc-ckpt consolidate by_$name/latest -o by_$name.safetensors
        cmp run.safetensors by_$name.safetensors
    done
    own_optimiser "s['o'] = Own" "p.data.sub_(p.grad)" >own.yaml
    fails 3 "state[...]['o'] is of type type: a checkpoint keeps tensors, numbers, texts, and lists and dicts of them" tc-train -q own.yaml -o no
    own_optimiser "s[None] = 1" "p.data.sub_(p.grad)" >own.yaml
    fails 3 "the optimiser's state has the key None, expected a text or a whole number" tc-train -q own.yaml -o no
}

@test "an optimiser may hold others, keep dicts by parameter, take a closure, give parameters other data and have hooks: in every step and in a checkpoint" {
    around() { # BODY of a class around an optimiser, which is $1
        sed '/^\(optimizer\|scheduler\)/d' r.yaml
        printf 'optimizer: Own(%s)\nfunctions: |\n  import torch\n  class Own(torch.optim.Optimizer):\n      def __init__(self, *params):\n' "$1"
        printf '          super().__init__(params[0], {"lr": 0.01})\n'
        sed 's/^/      /'
    }
    around "m.parameters(), torch.optim.AdamW(m.parameters(), lr=0.01)" >inner.yaml <<'PY'
    self.inner = params[1]
@torch.no_grad()
def step(self, closure=None):
    self.inner.step(closure)
PY
    sed '/^\(optimizer\|scheduler\)/d; $a optimizer: torch.optim.AdamW(m.parameters(), lr=0.01)' r.yaml >inner_same.yaml
    around "m.parameters()" >dict.yaml <<'PY'
    self.slow = {}
def step(self):
    for p in self.param_groups[0]["params"]:
        if p not in self.slow:
            self.slow[p] = torch.zeros_like(p)
        self.slow[p] = self.slow[p] * 0.5 + p.grad
        p.data.sub_(self.slow[p] * 0.1)
PY
    own_optimiser "s['m'] = s['m'] * 0.5 + p.grad" "p.data.sub_(s['m'] * 0.1)" >dict_same.yaml
    around "m.parameters()" >closure.yaml <<'PY' # sharpness-aware
    pass
@torch.no_grad()
def step(self, closure):
    with torch.enable_grad():
        closure()
    for p in self.param_groups[0]["params"]:
        self.state[p]["old"] = p.data.clone()
        p.data = p.data + 0.05 * p.grad
    with torch.enable_grad():
        closure()
    for p in self.param_groups[0]["params"]:
        p.data = self.state[p]["old"]
        p.sub_(p.grad * 0.1)
PY
    sed 's/p.data = self.state\[p\]\["old"\]/p.copy_(self.state[p]["old"])/; s/p.data = \(.*\)/p.copy_(\1)/' closure.yaml >closure_same.yaml
    sed '/^\(optimizer\|scheduler\|clip\)/d; $a optimizer: torch.optim.SGD(m.parameters(), lr=0.125)' r.yaml >hooks_same.yaml
    { sed '$d' hooks_same.yaml && cat; } >hooks.yaml <<'YAML'
optimizer: hooked(m, torch.optim.SGD(m.parameters(), lr=0.5))
functions: |
  def hooked(m, o):
      for p in m.parameters():
          p.register_hook(lambda g: g * 0.5)
      o.register_step_pre_hook(lambda o, args, kwargs: [p.grad.mul_(0.5) for p in o.param_groups[0]["params"]] and None)
      o.register_step_post_hook(lambda o, args, kwargs: None).remove()
      return o
YAML
    for name in inner dict closure hooks; do
        rm -rf run same part
        tc-train -q $name.yaml -o run
        tc-train -q ${name}_same.yaml -o same
        tc-ckpt consolidate same/latest -o same.safetensors
        tc-ckpt diff run/latest same.safetensors
        tc-train -q $name.yaml steps=5 -o part
        tc-train -q part steps=12 --resume
        diff -r run/step-12 part/step-12
    done
    around "m.parameters()" >flat.yaml <<'PY'
    self.flat = torch.cat([p.detach().flatten() for p in self.param_groups[0]["params"]])
    self.param_groups[0]["params"][0].data = self.flat[:48].view(16, 3)
def step(self):
    self.flat.mul_(0.9)
PY
    fails 3 "holds a parameter that the model does not have" tc-train -q r.yaml optimizer='torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)' -o no
    fails 3 "makes a.weight a part of another tensor (attributes.0.flat), expected tensors of their own" tc-train -q flat.yaml -o no
}

@test "a step that uses gradients before it calls its closure, as that of SAM, has those of the step, and others where it moved the weights" {
    sed -i '/^scheduler/d; /^checkpoint/d; s/^clip_grad_norm.*/clip_grad_norm: 0.5/' r.yaml
    cat >>r.yaml <<'YAML'
functions: |
  class Sam(torch.optim.SGD):
      def step(self, closure):
          ps = [p for g in self.param_groups for p in g["params"]]
          with torch.no_grad():
              norm = torch.stack([p.grad.norm() for p in ps]).norm()
              moves = [0.3 / norm * p.grad for p in ps]
              for p, e in zip(ps, moves):
                  p.add_(e)
          self.zero_grad()
          closure()
          with torch.no_grad():
              for p, e in zip(ps, moves):
                  p.sub_(e)
          super().step()

  class Asks(Sam):
      def step(self, closure):
          self.zero_grad()
          closure()
          super().step(closure)
YAML
    tc-train -q r.yaml optimizer='Sam(m.parameters(), lr=0.1)' -o sam
    tc-train -q r.yaml optimizer='Asks(m.parameters(), lr=0.1)' -o asks
    tc-train -q r.yaml optimizer='torch.optim.SGD(m.parameters(), lr=0.1)' -o sgd
    cmp sam/latest/shard-* asks/latest/shard-*
    run -4 tc-ckpt diff sam/latest sgd/latest
    tc-ckpt diff sam/latest sgd/latest --rtol 0.5 --atol 0.1
}

@test "what forward writes is in a checkpoint as it was, though the next forward runs while the rest is copied" {
    cat >written.py <<'PY'
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a_large = nn.Parameter(torch.zeros(6000000))
        self.norm = nn.BatchNorm1d(3)
        self.out = nn.Linear(3, 4)
        self.teacher = nn.Parameter(torch.zeros(4, 3), requires_grad=False)
        self.register_buffer('z_calls', torch.zeros(()))

    def forward(self, x):
        if self.training:
            with torch.no_grad():
                self.teacher.mul_(0.9).add_(self.out.weight, alpha=0.1)
                self.z_calls.add_(1)
        return self.out(self.norm(x.float())) + self.a_large[:4] + x.float() @ self.teacher.t()
PY
    for async in false true; do
        tc-train -q r.yaml model=written.py:Net arg=null steps=6 "optimizer=torch.optim.SGD(m.parameters(), lr=0.1)" \
            "checkpoint={every: 1, keep_last: 0, async: $async}" -o $async
    done
    for step in 1 2 3 4 5 6; do tc-ckpt diff --all false/step-$step true/step-$step; done
}

@test "verify finds what is changed in checkpoint.json, of which nothing holds a checksum" {
    tc-train -q r.yaml steps=4 -o run
    cp run/step-4/checkpoint.json whole.json
    for change in 's/tc_checkpoint/tc_checkpoinu/' 's/"tc_checkpoint": 1, //' 's/"step"/"ste0"/' 's/"step": 4/"step": 5/' 's/"step": 4, //' \
        's/"files"/"filds"/' 's/"bytes"/"cytes"/' 's/"blake2b"/"blake2c"/' 's/"state.json"/"statf.json"/'; do
        sed "$change" whole.json >run/step-4/checkpoint.json
        fails 3 run/step-4 tc-ckpt verify run/step-4
    done
    sed 's/, "state.json": {[^}]*}//' whole.json >run/step-4/checkpoint.json
    fails 3 'run/step-4/checkpoint.json: "files" names no state.json' tc-ckpt verify run/step-4
    sed 's/"tc_checkpoint": 1/"tc_checkpoint": 3/' whole.json >run/step-4/checkpoint.json
    fails 5 "a checkpoint of form 3, expected 1" tc-ckpt verify run/step-4
    cp whole.json run/step-4/checkpoint.json
    tc-ckpt verify run/step-4
    rm run/step-4/*.safetensors
    echo '{"tc_checkpoint": 1, "step": 4}' >run/step-4/checkpoint.json
    fails 3 'run/step-4/checkpoint.json: "files" names no file of tensors' tc-ckpt verify run/step-4
}

# bats test_tags=slow
@test "an update takes nodes by the number of weights, beyond those that a model may have" {
    cat >many.py <<'PY'
import torch.nn as nn
import torch


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.ParameterList([nn.Parameter(torch.full((4,), i * 1e-3)) for i in range(1000)])

    def forward(self, x):
        return torch.stack(list(self.w)).sum(0) + x.sum().float()
PY
    sed '/^optimizer:/d; /^arg:/d; /^clip/d' r.yaml >own.yaml
    cat >>own.yaml <<'YAML'
optimizer: Own(m.parameters(), dict(lr=0.0625))
functions: |
  class Own(torch.optim.Optimizer):
      def step(self):
          for g in self.param_groups:
              for p in g['params']:
                  for i in range(110):
                      p.sub_(p.grad, alpha=g['lr'])
YAML
    tc-train -q own.yaml model=many.py:Net loss='out.sum() + 0 * y.sum()' steps=2 validate=null -o run
    tc-ckpt consolidate run/latest -o w.safetensors
    cat >read.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, w):
        return (w - (0.999 - 2 * 110 * 0.0625)).abs().max() < 1e-5
PY
    [ "$(tc-run <(tc-export read.py:M --input w=4xf32) --input w=@w.safetensors#w.999 | tail -c 1 | od -An -tu1)" -eq 1 ]
}

@test "what a step of an optimiser's own changes is done in every step; where no checkpoint would hold it, it is refused" {
    local n=0
    for pair in "self.h = [] | self.h.append(1) | 1 + len(self.h) |" "self.h = [1] | self.h[0] += 1 | self.h[0] |" \
        "self.d = {'n': 1} | self.d['n'] += 1 | self.d['n'] |" "pass | self.state['x'] = self.state.get('x', 0) + 1 | 1 + self.state.get('x', 0) |" \
        "self.t = torch.ones(()) | self.t = self.t + 1 | float(self.t) |" "self.t = torch.ones(()) | self.t.add_(1) | float(self.t) |" \
        "self.s = set() | self.s.add(len(self.s)) | 1 + len(self.s) | a set" \
        "self.o = Counter() | self.o.n += 1 | self.o.n | the attribute n" "self.o = [Counter()] | self.o[0].n += 1 | self.o[0].n | the attribute n" \
        "pass | COUNTER.n += 1 | COUNTER.n | the attribute n" "pass | self.defaults['lr'] *= 0.5 | self.defaults['lr'] | a dict" \
        "pass | count() | count.last() | the variable n" \
        "pass | Own.k += 1 | Own.k | the attribute k" "pass | type(self).k = self.k + 1 | self.k | the attribute k" \
        "pass | MADE.append(1) | 1 + len(MADE) | the global MADE is changed"; do
        IFS='|' read -r init change value what <<<"${pair// | /|}"
        cat r.yaml - >own.yaml <<YAML
optimizer: Own(m.parameters())
functions: |
  MADE = []
  def counter():
      n = 1
      def last():
          return n
      def count():
          nonlocal n
          n += 1
      count.last = last
      return count
  count = counter()
  class Counter:
      def __init__(self):
          self.n = 1
  COUNTER = Counter()
  class Own(torch.optim.Optimizer):
      k = 1
      def __init__(self, params, lr=0.1):
          super().__init__(params, dict(lr=lr))
          $init
      def step(self, closure=None):
          for g in self.param_groups:
              for p in g['params']:
                  p.data.sub_(p.grad * (g['lr'] / ($value)))
          $change
YAML
        sed -i '0,/^optimizer:/{/^optimizer:/d}' own.yaml
        rm -rf no part
        if [ -n "$what" ]; then
            fails 3 "$what" tc-train -q own.yaml -o no
        else
            tc-train -q own.yaml -o no
            tc-ckpt consolidate no/latest -o now.safetensors
            [ -e first.safetensors ] || mv now.safetensors first.safetensors
            [ ! -e now.safetensors ] || cmp first.safetensors now.safetensors
            tc-train -q own.yaml steps=5 -o part
            tc-train -q part steps=12 --resume
            diff -r no/step-12 part/step-12
        fi
        n=$((n + 1))
    done
    [ $n -eq 15 ]
}

@test "what a loss changes of objects of the recipe's is told" {
    sed '/^loss:/d' r.yaml >l.yaml
    cat >>l.yaml <<'YAML'
loss: anneal(F.cross_entropy(out, y % 4))
functions: |
  class Anneal:
      def __init__(self):
          self.k, self.seen = 0, []
      def __call__(self, l):
          self.k += 1
          self.seen.append(self.k)
          return l * min(1, self.k / 10) * factor()
  def falling():
      k = 0
      def factor():
          nonlocal k
          k += 1
          return 1 / k
      return factor
  factor = falling()
  anneal = Anneal()
YAML
    tc-train l.yaml -o told 2>err
    grep -q 'the attribute k of Anneal from before forward is assigned while forward is captured; the program does not do that' err
    grep -q 'a list, dict or set from before forward is changed' err
    grep -q 'the variable k of a function from before forward is changed while forward is captured; the program does not do that' err
    tc-train r.yaml -o quiet 2>err
    run ! grep -q 'from before' err
}

@test "an optimiser whose first step looks at data runs it operator by operator, with the same bits as one that is captured" {
    cat >>r.yaml <<'YAML'
functions: |
  class Looking(torch.optim.AdamW):
      def step(self, closure=None):
          p = self.param_groups[0]["params"][0]
          if not self.state[p] and float(p.grad.abs().sum()) < 0:
              return None
          return super().step(closure)
YAML
    tc-train -q r.yaml -o captured
    tc-train --log update r.yaml 'optimizer=Looking(m.parameters(), lr=0.01)' -o eager 2>log
    grep -q 'update: first: ' log
    cmp captured/step-12/shard-00001-model-00001-of-00001.safetensors eager/step-12/shard-00001-model-00001-of-00001.safetensors
}

@test "an optimiser may keep tensors in lists: resumed as one that has a key for each, also where a list changes its length" {
    cat >>r.yaml <<'YAML'
functions: |
  class Kept(torch.optim.Optimizer):
      def __init__(self, params, lr, lists, length=0):
          super().__init__(params, dict(lr=lr))
          self.lists, self.length = lists, length
      @torch.no_grad()
      def step(self, closure=None):
          for p in self.param_groups[0]["params"]:
              s = self.state[p]
              if not s:
                  if self.lists:
                      s["old"] = [torch.zeros_like(p), torch.zeros_like(p)]
                  else:
                      s["one"], s["two"] = torch.zeros_like(p), torch.zeros_like(p)
              one, two = s["old"][:2] if self.lists else (s["one"], s["two"])
              p.sub_(p.grad + one * 0.5 + two * 0.25, alpha=self.param_groups[0]["lr"])
              if self.lists:
                  s["old"] = [p.grad.clone(), one] + [two] * (len(s["old"]) - 2 + self.length)
              else:
                  s["one"], s["two"] = p.grad.clone(), one
YAML
    tc-train -q r.yaml 'optimizer=Kept(m.parameters(), lr=0.1, lists=False)' -o keys
    tc-train -q r.yaml 'optimizer=Kept(m.parameters(), lr=0.1, lists=True)' -o lists
    for of in keys lists; do tc-ckpt consolidate $of/step-12 -o $of.safetensors; done
    cmp keys.safetensors lists.safetensors
    tc-train -q r.yaml 'optimizer=Kept(m.parameters(), lr=0.1, lists=True)' steps=5 -o part
    tc-train -q part --resume steps=12
    tc-ckpt diff --all lists/step-12 part/step-12
    tc-train -q r.yaml 'optimizer=Kept(m.parameters(), lr=0.1, lists=True, length=1)' -o grows
    sed -i 's/torch.zeros_like(p), torch.zeros_like(p)]/torch.zeros_like(p) for _ in range(14)]/' r.yaml
    tc-train -q r.yaml 'optimizer=Kept(m.parameters(), lr=0.1, lists=True, length=-1)' -o shrinks
    for of in grows shrinks; do
        tc-ckpt consolidate $of/step-12 -o $of.safetensors
        cmp keys.safetensors $of.safetensors
    done
}

@test "a model that writes to what its own gradient needs is refused at its line; state that a step gives back is not such a write" {
    tc-train -q r.yaml -o run
    sed -i 's/return self.b.*/h = self.a(x.float()).exp()\n        h += 1\n        return self.b(h)/' model.py
    fails 3 "backward of exp (model.py:13): one of the variables needed for gradient computation has been modified by an inplace operation: its result of \
aten.exp.default was written to at model.py:14" tc-train -q r.yaml -o refused
    sed -i 's/h += 1/h = h + 1/; s/self.drop = .*/self.norm = nn.BatchNorm1d(hidden)/; s/return self.b(h)/return self.b(self.norm(h)) + self.b(self.norm(-h))/' model.py
    tc-train -q r.yaml -o norm
}

@test "the gradient of a linear layer's weight is a product of the weight's sizes, which no copy transposes" {
    tc-train --log micro r.yaml steps=1 -o run 2>log
    grep -q '%mm[_0-9]*: f32\[4, 16\] = aten.mm.default(%transpose' log
    grep -q '%mm[_0-9]*: f32\[16, 3\] = aten.mm.default(%transpose' log
    run ! grep -q 'f32\[3, 16\] = aten.mm' log
}
