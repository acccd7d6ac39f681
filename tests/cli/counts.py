import torch
import torch.nn.functional as F
from torch import nn


class Counts(nn.Module):
    """25 computations on a number of elements that only the data decide."""

    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
        self.norm = nn.LayerNorm(3)

    def forward(self, x, w):
        rows = (x[:, 0] > 0).nonzero().squeeze(1)
        picked = torch.masked_select(x, x > 0)
        part = x[rows]
        n = (x[:, 0] > 0).sum().item()
        torch._check(n >= 0)
        torch._check(n <= 5)
        head = x[:n]
        times = (x[:, 0] > 0).long()
        r = {}
        r["where"] = torch.where(x > 0)[1]
        r["unary"] = picked.exp().tanh()
        r["binary"] = part * 2 + part.sigmoid()
        r["sum"] = part.sum(0) + part.sum()
        r["mean"] = part.sum(1, keepdim=True) / 3
        r["linear"] = self.fc(part)
        r["matmul"] = part @ part.t()
        r["softmax"] = part.softmax(-1)
        r["norm"] = self.norm(part)
        leaf = part.detach()
        r["norm_backward"] = torch.func.grad(lambda v: (F.layer_norm(v, (3,)) * v.cos()).sum())(leaf)
        r["cat"] = torch.cat([part, x, part * 3])
        r["masked_fill"] = part.masked_fill(part > 0.5, -1.0)
        r["slice"] = head * 2
        r["ones"] = torch.ones(n, 2).cumsum(0)
        r["arange"] = torch.arange(n) * 3
        r["repeat"] = torch.repeat_interleave(x, times, dim=0)
        r["index_put"] = x.clone().index_put((rows,), part * 10)
        r["scatter"] = torch.zeros(5).index_add(0, rows, part[:, 1])
        r["gather"] = torch.gather(part, 1, torch.zeros_like(part[:, :1], dtype=torch.int64))
        r["embedding"] = F.embedding(rows, w)
        r["sort"] = picked.sort(descending=True)[0]
        r["unique"] = torch.unique((x * 2).round().flatten())
        r["reshape"] = part.reshape(-1).unsqueeze(0).expand(2, -1).contiguous()
        r["transpose"] = part.transpose(0, 1).contiguous().flatten()
        r["pad"] = F.pad(part, (1, 2, 0, 1), value=4.0)
        return r
