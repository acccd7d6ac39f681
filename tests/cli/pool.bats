# Programs with two threads over loops and products that are large enough to be shared: the same bits as one thread; under `make tsan` no race.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >net.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(1, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(8 * 14 * 14, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.norm(self.conv(x))), 2)
        return self.out(self.drop(x.flatten(1)))


class Mix(nn.Module):
    def forward(self, a, b):
        q = (a @ b).softmax(-1)
        q = F.scaled_dot_product_attention(q[None], a[None], b[None])
        return q.sum(), q.cumsum(1).amax(), torch.sort(a.flatten())[0][:4], a.sigmoid().mean(0)
PY
}

@test "tc-train with two threads" {
    cat >r.yaml <<YAML
model: net.py:Net
input: x=Bx1x28x28xf32
data:
  normalize: {x: {divide: 255}}
  shape: {x: [1, 28, 28]}
  train: {idx: {x: $TC_ROOT/tc-train/examples/data/fashion-test-images.idx.gz, y: $TC_ROOT/tc-train/examples/data/fashion-test-labels.idx.gz}, limit: 256}
batch: 64
steps: 3
loss: F.cross_entropy(out, y)
optimizer: torch.optim.AdamW(m.parameters(), lr=0.01)
clip_grad_norm: 1.0
checkpoint: {every: 1}
YAML
    tc-train -q r.yaml --threads 1 -o one
    tc-train -q r.yaml --threads 2 -o two
    tc-ckpt diff one/latest two/latest
}

@test "tc-run with two threads" {
    tc-export net.py:Mix --input a=256x256xf32 --input b=256x256xf32 -o p.pt2
    tc-run p.pt2 --threads 1 --input a=256x256xf32=0.01 --input b=256x256xf32=0.5 --to safetensors -o one.safetensors
    tc-run p.pt2 --threads 2 --input a=256x256xf32=0.01 --input b=256x256xf32=0.5 --to safetensors -o two.safetensors
    tc-ckpt diff one.safetensors two.safetensors
}
