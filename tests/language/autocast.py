import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
fc = nn.Linear(3, 4)
x = torch.randn(2, 3)
with torch.autocast("cpu", dtype=torch.bfloat16):
    y = fc(x)
    z = torch.cat((y, x[:, :1]), 1)
    print(y.dtype, (x @ x.t()).dtype, torch.relu(y).dtype, z.dtype, torch.cat((y, y)).dtype, y.softmax(-1).dtype, F.mse_loss(y, y).dtype, (x + 1).dtype)
    print(y.float().sum().item(), F.conv1d(x[None], torch.ones(1, 2, 1)).dtype, x.double().mm(x.double().t()).dtype, y.requires_grad, F.layer_norm(y, (4,)).dtype)
    with torch.autocast("cpu", enabled=False):
        print(fc(x).dtype)
    l, _ = nn.LSTM(3, 4)(x[None])
    print(l.dtype, nn.GRU(3, 4)(x[None])[0].dtype, torch.stack([y[0], x.new_ones(4)]).dtype)
print(fc(x).dtype)

with torch.autocast("cpu", dtype=torch.bfloat16):
    e = nn.Embedding(3, 4)(torch.tensor([0, 2]))
    print(e.dtype, nn.Linear(4, 2)(e).dtype, F.scaled_dot_product_attention(e[None], e[None], e[None]).dtype, (e * 2).sum().dtype, nn.LayerNorm(4)(e).dtype)

# the right side of a triangular system has any type: it is cast to that of the matrix
lower = torch.tensor([[2.0, 0.0], [1.0, 4.0]])
for dtype in (torch.bfloat16, torch.float64, torch.int64):
    print(torch.linalg.solve_triangular(lower, torch.tensor([[2, 6], [1, 4]], dtype=dtype), upper=False))
