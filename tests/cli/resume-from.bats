# Training goes over to PyTorch and back: checkpoints of tc-train as torch.save's, and resume_from:, to the same bits.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >model.py <<'PY'
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 16)
        self.b = nn.Linear(16, 4)

    def forward(self, x):
        return self.b(self.a(x.float()).relu())
PY
    printf 'emma\nolivia\nava\nisabella\nsophia\ncharlotte\nmia\namelia\nharper\nevelyn\n' >names.txt
    cat >r.yaml <<'YAML'
model: model.py:Net
input: x=Bx3xi64
seed: 3
data: {names: names.txt, context: 3}
batch: 8
steps: 8
loss: F.cross_entropy(out, y % 4)
param_groups: "[{'params': [p for p in m.parameters() if p.dim() > 1]}, {'params': [p for p in m.parameters() if p.dim() < 2], 'lr': 0.02}]"
optimizer: torch.optim.AdamW(groups, lr=0.01)
scheduler: torch.optim.lr_scheduler.StepLR(opt, step_size=3, gamma=0.5)
checkpoint: {every: 4}
YAML
}

@test "a checkpoint written for PyTorch is gone on from to the same bits" {
    sed '/^param_groups/d' r.yaml >whole.yaml
    for optimizer in 'torch.optim.AdamW(groups, lr=0.01)' 'torch.optim.SGD(groups, lr=0.1, momentum=0.9)' 'torch.optim.RMSprop(groups, lr=0.01, momentum=0.5)' \
        'torch.optim.LBFGS(list(m.parameters()), lr=0.1, max_iter=4)'; do
        [[ "$optimizer" == *groups* ]] && recipe=r.yaml || recipe=whole.yaml
        rm -rf full rest
        tc-train -q $recipe optimizer="$optimizer" -o full
        tc-ckpt convert full/step-4 -o half.pt
        tc-train -q $recipe optimizer="$optimizer" resume_from=half.pt -o rest
        tc-ckpt diff full/latest rest/latest
    done
}

@test "LBFGS goes on from a checkpoint of PyTorch and back, where its list of alphas is as long as the history may be" {
    sed -i '/^\(param_groups\|scheduler\)/d' r.yaml
    # torch.save of two steps: one direction of a hundred, and al, a list of a number and 99 None
    tc-train -q r.yaml optimizer='torch.optim.LBFGS(m.parameters(), lr=0.1, max_iter=2)' resume_from="$BATS_TEST_DIRNAME/fixtures/lbfgs.pt" -o run
    tc-ckpt convert run/latest -o back.pt
    tc-ckpt ls back.pt >held
    grep -q 'optimizer.state.0.ro.2' held
    run ! grep 'optimizer.state.0.al' held
}

@test "schedules made of others, with functions, and with numbers as keys go over and back" {
    L=torch.optim.lr_scheduler
    for schedule in "$L.SequentialLR(opt, [$L.ConstantLR(opt, 0.3, 2), $L.ExponentialLR(opt, 0.8)], milestones=[3])" \
        "$L.ChainedScheduler([$L.MultiStepLR(opt, [2, 6, 6, 97]), $L.LinearLR(opt, 0.5, total_iters=7)])" \
        "$L.LambdaLR(opt, [lambda s: 0.9 ** s, lambda s: 1 / (1 + s)])" "$L.MultiplicativeLR(opt, lambda s: 0.9)" \
        "$L.CyclicLR(opt, 1e-3, 1e-2, step_size_up=3, cycle_momentum=False)"; do
        rm -rf full rest
        tc-train -q r.yaml scheduler="\"$schedule\"" -o full
        tc-ckpt convert full/step-4 -o half.pt
        tc-train -q r.yaml scheduler="\"$schedule\"" resume_from=half.pt -o rest
        tc-ckpt diff full/latest rest/latest
        case $schedule in # what PyTorch's load_state_dict takes out, and milestones that are no strings
        *Lambda* | *Multiplicative*) tc-ckpt show half.pt scheduler.lr_lambdas ;;
        *Cyclic*) tc-ckpt show half.pt scheduler._scale_fn_custom ;;
        *Chained*)
            tc-ckpt show half.pt scheduler._schedulers.0.milestones.6
            LC_ALL=C run ! grep -aqP 'X\x02\x00\x00\x0097' half.pt ;;
        esac
    done
}

@test "texts and infinities of an optimiser's own state go over as they are" {
    sed -i '/^\(param_groups\|optimizer\|scheduler\)/d' r.yaml
    cat >>r.yaml <<'YAML'
optimizer: Own(m.parameters(), lr=0.1)
functions: |
  class Own(torch.optim.Optimizer):
      def __init__(self, params, lr):
          super().__init__(params, {'lr': lr})
      def step(self):
          for p in self.param_groups[0]['params']:
              self.state[p]['mode'], self.state[p]['least'] = 'infinite descent', float('-inf')
              p.data.sub_(p.grad * 0.1)
YAML
    tc-train -q r.yaml -o run
    tc-ckpt convert run/latest --to pt -o run.pt
    grep -aq 'infinite descent' run.pt
    run ! grep -aq -e '-inf' run.pt # a float
}

@test "milestones are those of PyTorch's checkpoint, and of the recipe that a run goes on by" {
    M=torch.optim.lr_scheduler.MultiStepLR
    tc-train -q r.yaml scheduler="$M(opt, [2, 6])" -o full
    tc-ckpt convert full/step-4 -o half.pt
    tc-train -q r.yaml scheduler="$M(opt, [2, 5, 7])" resume_from=half.pt -o rest
    tc-ckpt diff full/latest rest/latest
    rm -r full/step-8 full/latest && ln -s step-4 full/latest
    tc-train -q full scheduler="$M(opt, [2, 5, 7])" --resume
    tc-train -q r.yaml scheduler="$M(opt, [2, 5, 7])" -o other
    tc-ckpt diff full/latest other/latest
}

@test "rates that are tensors come out of a checkpoint of PyTorch" {
    # torch.save of Adam with lr=torch.tensor(0.1) and betas of tensors after 4 steps; the rates are PyTorch's of the steps that follow
    L=torch.optim.lr_scheduler
    tc-train -q r.yaml param_groups='list(m.parameters())' resume_from="$BATS_TEST_DIRNAME/fixtures/tensor-rate.pt" \
        optimizer='torch.optim.Adam(groups, lr=torch.tensor(0.5), betas=(torch.tensor(0.5), torch.tensor(0.5)))' \
        scheduler="\"$L.SequentialLR(opt, [$L.ConstantLR(opt, 0.3, 3), $L.MultiStepLR(opt, [2], 0.9)], milestones=[3])\"" -o rest
    [ "$(grep -o '"lr": [^ ]*' rest/metrics.jsonl | tr '\n' ' ')" = '"lr": [0.10000000149011612], "lr": [0.08999999612569809], "lr": [0.08999999612569809], "lr": [0.08999999612569809], ' ]
    [[ "$(cat rest/step-8/state.json)" == *'"betas", 0, 0.800000011920929'* ]]
    tc-ckpt convert rest/latest -o back.pt # and go back into one
    tc-ckpt show back.pt optimizer.param_groups.0.{lr,betas.0,eps} scheduler._last_lr.0 >values
    diff values - <<'END'
optimizer.param_groups.0.lr = tensor(0.0900)
optimizer.param_groups.0.betas.0 = tensor(0.8000)
optimizer.param_groups.0.eps = 1e-08
scheduler._last_lr.0 = tensor(0.0900)
END
}

@test "the state of a GradScaler goes through a run, as the script left it" {
    # torch.save of a script that made 4 steps of SGD
    tc-train -q r.yaml param_groups='list(m.parameters())' optimizer='torch.optim.SGD(groups, lr=0.1)' resume_from="$BATS_TEST_DIRNAME/fixtures/scaler.pt" -o run
    tc-train -q run steps=9 --resume
    tc-ckpt convert run/latest -o back.pt
    tc-ckpt show back.pt | grep " scaler" >values
    diff values <(tc-ckpt show "$BATS_TEST_DIRNAME/fixtures/scaler.pt" | grep " scaler")
    [ "$(wc -l <values)" -eq 5 ]
    for scale in Infinity -Infinity NaN; do # as an overflow may leave it
        sed -i "s/\"scale\": [^,]*,/\"scale\": \"$scale\",/" run/latest/state.json
        tc-ckpt convert run/latest -o odd.pt
        [ "$(tc-ckpt show odd.pt | grep ' scaler.scale:')" = "  scaler.scale: \"$scale\"" ]
        rm -rf odd
        tc-train -q r.yaml param_groups='list(m.parameters())' optimizer='torch.optim.SGD(groups, lr=0.1)' resume_from=odd.pt steps=12 -o odd
        tc-ckpt convert odd/latest -o again.pt
        diff <(tc-ckpt show odd.pt | grep ' scaler') <(tc-ckpt show again.pt | grep ' scaler')
    done
}

@test "its containers are those of a training script" {
    tc-train r.yaml -o full 2>err
    run ! grep 'operator by operator' err # groups that the recipe wrote are changed in captured steps as others are
    tc-ckpt convert full/step-4 -o half.pt
    run tc-ckpt ls half.pt
    [[ "$output" == *"  model.a.weight"* && "$output" == *"  optimizer.state.3.exp_avg_sq"* && "$output" == *"  optimizer.state.3.step"* ]]
    run tc-ckpt show half.pt optimizer.param_groups.1.params step optimizer.state.0.step
    [ "${lines[0]}" = "optimizer.param_groups.1.params = [2, 3]" ]
    [ "${lines[1]}" = "step = 4" ]
    [ "${lines[2]}" = "optimizer.state.0.step = tensor(4.)" ]
    tc-ckpt convert full/step-4 --rename 's/^x/x/' -o flat.pt
    tc-ckpt diff --all flat.pt full/step-4
}

@test "momentum comes along" {
    tc-train -q r.yaml optimizer='torch.optim.SGD(groups, lr=0.1, momentum=0.9)' -o full
    tc-ckpt convert full/step-4 -o half.pt
    tc-train -q r.yaml optimizer='torch.optim.SGD(groups, lr=0.1, momentum=0.9)' steps=5 resume_from=half.pt -o rest
    tc-ckpt verify rest/step-5
}

@test "a checkpoint that does not fit is refused" {
    tc-train -q r.yaml -o full
    tc-ckpt convert full/step-4 -o half.pt
    run --separate-stderr tc-train -q r.yaml param_groups='list(m.parameters())' resume_from=half.pt -o rest
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"group 0 of its optimiser has 2 parameters, the recipe's 4"* ]]
    run --separate-stderr tc-train -q r.yaml steps=4 resume_from=half.pt -o rest
    [ "$status" -eq 2 ]
    tc-ckpt consolidate full/step-4 -o w.safetensors
    run --separate-stderr tc-train -q r.yaml resume_from=w.safetensors -o rest
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"no optimiser's state"* ]]
}

@test "parameters whose names are numbers are found by position, where the file has no names" {
    cat >model.py <<'PY'
import torch
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("1", nn.Parameter(torch.full((4,), 0.5)))
        self.register_parameter("0", nn.Parameter(torch.tensor([0.1, 0.2, 0.3, 0.4])))

    def forward(self, x):
        one, zero = self.parameters()
        return x.float().mean(1, keepdim=True) * one + zero
PY
    sed -i '/^param_groups/d; s/groups, lr/m.parameters(), lr/' r.yaml
    tc-train -q r.yaml -o full
    tc-ckpt convert full/step-4 -o half.pt
    tc-train -q r.yaml resume_from=half.pt -o rest
    tc-ckpt diff full/latest rest/latest
}

@test "a sharded checkpoint of PyTorch, saved under tensor parallelism, is gone on from: weights and state by name" {
    # torch.distributed.checkpoint.save({"model": ..., "optim": ..., "step": 3}) of get_state_dict by two ranks with ColwiseParallel and
    # RowwiseParallel, the optimiser's parameters in reverse order; the losses are PyTorch's of the steps that follow
    saved=$TC_ROOT/tests/cli/fixtures/dcp-train
    cat >model.py <<'PY'
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Linear(4, 2)

    def forward(self, x):
        return self.b(self.a(x).relu())
PY
    { echo a,b,c,y; for i in 0 1 2 3 4 5 6 7; do
        for k in 0 1 2; do awk -v n=$((3 * i + k)) 'BEGIN { printf "%g,", ((n * 5) % 7 - 3) / 2 }'; done
        echo $((i % 2))
    done; } >d.csv
    cat >r.yaml <<'YAML'
model: model.py:Net
input: x=Bx3xf32
data: {csv: d.csv, columns: [a, b, c], target: y, order: sequential}
batch: 8
steps: 6
loss: F.cross_entropy(out, y.view(-1).long())
optimizer: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.5)
log_every: 1
YAML
    tc-export model.py:Net --input x=2x3xf32 --weights "$saved" -o n.pt2
    tc-train -q r.yaml resume_from="$saved" -o run
    [ "$(sed -n 's/.*"step": \([0-9]*\),.*"loss": \([0-9.]*\),.*/\1 \2/p' run/metrics.jsonl | awk '{ printf "%d %.5f ", $1, $2 }')" = \
        "4 0.76243 5 0.72887 6 0.70395 " ]
}
