# grad_scaler: of a recipe, the scale of the loss under float16. Figures are those of torch.amp.GradScaler in a script that trains the same model:
# unscale_, clip_grad_norm_, step, update, scheduler.step.
load common

setup() {
    scratch
    cat >net.py <<'PY'
import torch.nn as nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 8)
        self.b = nn.Linear(8, 1)

    def forward(self, x):
        return self.b(self.a(x).tanh()).squeeze(-1)
PY
    awk 'BEGIN { print "u,v,w"; for (i = 0; i < 32; i++) printf "%g,%g,%d\n", i % 5 / 2, (i * 7) % 11 / 4, (i * 3) % 8 }' >d.csv
    cat >r.yaml <<'YAML'
model: net.py:Net
input: x=Bx2xf32
seed: 3
data: {csv: d.csv, columns: [u, v], target: w, order: sequential}
batch: 4
steps: 16
loss: F.mse_loss(out, y, reduction="sum")
optimizer: torch.optim.Adam(m.parameters(), lr=0.02)
scheduler: torch.optim.lr_scheduler.StepLR(opt, 3, 0.8)
clip_grad_norm: 10
precision: f16
grad_scaler: {init_scale: 100000, growth_factor: 1.7, backoff_factor: 0.6, growth_interval: 3}
YAML
}

same() { # RUN RUN: checkpoints and metrics
    tc-ckpt diff "$1/latest" "$2/latest"
    cmp <(sed 's/, "seconds.*//' "$1/metrics.jsonl") <(sed 's/, "seconds.*//' "$2/metrics.jsonl")
}

@test "the scale follows PyTorch's, steps whose gradients overflow are skipped" {
    tc-train r.yaml -o run 2>said
    [ "$(grep -o '"scale": [^,]*' run/metrics.jsonl | cut -d' ' -f2 | tr '\n' ' ')" = "60000.0 36000.0 21600.0 12960.0 7776.0 4665.60009765625 \
2799.360107421875 1679.6160888671875 1679.6160888671875 1679.6160888671875 2855.347412109375 1713.20849609375 1713.20849609375 1713.20849609375 \
2912.454345703125 1747.47265625 " ]
    [ "$(grep -o '"grad_norm": [^,]*' run/metrics.jsonl | cut -d' ' -f2 | cut -c1-4 | tr '\n' ' ')" = \
        "null null null null null null null null 46.9 73.7 40.8 null 46.8 75.4 42.1 null " ]
    [ "$(grep -c 'is skipped: the gradient of' said)" -eq 10 ]
    grep -q 'step 12 is skipped: the gradient of b.weight is not finite at a loss scale of 2855.35' said
    [ "$(tc-ckpt show run/latest model.a.bias)" = 'model.a.bias = tensor([-0.5123,  0.5779,  0.4335,  0.5863,  0.1527, -0.4610,  0.5785, -0.6337])' ]
    tc-ckpt convert run/latest -o back.pt
    [ "$(tc-ckpt show back.pt optimizer.state.0.step)" = 'optimizer.state.0.step = tensor(6.)' ]
    [ "$(tc-ckpt show back.pt | grep -E 'scaler|  step' | tr -d ' \n')" = \
        'scaler.scale:1747.47265625scaler.growth_factor:1.7scaler.backoff_factor:0.6scaler.growth_interval:3scaler._growth_tracker:0step:16' ]
}

@test "a run that goes on has the same scale, count and optimiser's steps, before the first update and after" {
    tc-train -q r.yaml ema_decay=0.9 -o full
    for k in 3 8 10 12; do
        rm -rf rest
        tc-train -q r.yaml ema_decay=0.9 steps="$k" -o rest
        tc-train -q rest steps=16 --resume
        same full rest
    done
    tc-ckpt convert rest/step-12 -o half.pt # through PyTorch's file: its optimiser has made 3 steps of 12
    tc-train -q r.yaml resume_from=half.pt steps=4 grad_scaler=null -o more
    [[ "$(cat more/metrics.jsonl)" == *'"scale": 1713.20849609375,'* ]]
    [[ "$(cat more/latest/state.json)" == *'"growth_factor": 1.7, "backoff_factor": 0.6, "growth_interval": 3, "_growth_tracker": 1'* ]]
}

@test "a step that is skipped leaves buffers as PyTorch does: changed once by its forward" {
    sed -i 's/self.a(x).tanh()/self.n(self.a(x)).tanh()/; s/^        self.b = .*/&\n        self.n = nn.BatchNorm1d(8)/' net.py
    tc-train -q r.yaml steps=3 -o run
    [ "$(tc-ckpt show run/latest model.n.num_batches_tracked)" = 'model.n.num_batches_tracked = tensor(3)' ]
    tc-train -q r.yaml steps=3 precision=f32 grad_scaler=false optimizer='torch.optim.SGD(m.parameters(), lr=0.0)' -o none
    tc-ckpt diff run/latest none/latest --rtol 1e-2 --atol 1e-2
}

@test "float16 scales without being told, from 65536; other precisions do when told, to the bits of none where nothing overflows" {
    tc-train -q r.yaml grad_scaler=null loss='F.mse_loss(out, y) / 1000' -o half
    [[ "$(head -1 half/metrics.jsonl)" == *'"scale": 65536.0,'* ]]
    tc-train -q r.yaml grad_scaler=false loss='F.mse_loss(out, y) / 1000' -o plain
    [[ "$(head -1 plain/metrics.jsonl)" != *scale* ]]
    run -4 tc-ckpt diff half/latest plain/latest # small gradients were lost
    tc-train -q r.yaml grad_scaler=null precision=f32 -o none
    [[ "$(head -1 none/metrics.jsonl)" != *scale* ]]
    tc-train -q r.yaml grad_scaler='{init_scale: 1024}' precision=f32 -o scaled
    cmp none/latest/shard-* scaled/latest/shard-*
}

@test "gradients that no scale makes finite are exit 6; settings that GradScaler refuses are refused" {
    fails 6 'step 1: the gradient of a.weight is NaN' tc-train -q r.yaml loss='(out * 0).sqrt().sum()'
    fails 2 'growth_factor:1:1: found 1, expected more than 1' tc-train -q r.yaml grad_scaler.growth_factor=1
    fails 2 'backoff_factor:1:1: found 1, expected more than 0 and less than 1' tc-train -q r.yaml grad_scaler.backoff_factor=1
    fails 2 'growth_interval:1:1: found 0, expected 1 or more' tc-train -q r.yaml grad_scaler.growth_interval=0
    fails 2 'init_scale:1:1: found 0, expected a scale' tc-train -q r.yaml grad_scaler.init_scale=0
    fails 2 'expected true, false or {init_scale' tc-train -q r.yaml grad_scaler=on
    fails 2 'growth_intervall' tc-train -q r.yaml grad_scaler.growth_intervall=3
    fails 2 'expected false' tc-train -q r.yaml optimizer='torch.optim.LBFGS(m.parameters())'
    tc-train -q r.yaml optimizer='torch.optim.LBFGS(m.parameters())' grad_scaler=null steps=1 -o closure
}
