# Loaded by the test files that look at profiles.

# Writes m.py, of whose groups one is a product and one a softmax with what follows it, in line 7.
softmax_model() {
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 4)
    def forward(self, x):
        return torch.softmax(self.a(x), -1).exp()
PY
}
