"""A GPT on bytes: causal self-attention, pre-norm, dropout, tied embedding; and Generate, which samples from it inside the
program with a key/value cache. A plain PyTorch file: the same file runs under PyTorch and under tc."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Attention(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.dropout = dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(dropout)

    def split(self, x):
        """Queries, keys and values as [B, heads, T, width / heads]."""
        B, T, C = x.shape
        return [t.view(B, T, self.heads, C // self.heads).transpose(1, 2) for t in self.qkv(x).split(C, dim=2)]

    def join(self, y):
        B, H, T, D = y.shape
        return self.drop(self.proj(y.transpose(1, 2).reshape(B, T, H * D)))

    def forward(self, x):
        q, k, v = self.split(x)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0, is_causal=True)
        return self.join(y)

    def step(self, x, pos, keys, values):
        """One token at position pos: its key and value enter the cache [B, heads, block, width / heads]; positions after pos are masked."""
        q, k, v = self.split(x)
        here = (torch.arange(keys.shape[2]) == pos).view(1, 1, -1, 1)
        keys = torch.where(here, k, keys)
        values = torch.where(here, v, values)
        mask = (torch.arange(keys.shape[2]) <= pos).view(1, 1, 1, -1)
        y = F.scaled_dot_product_attention(q, keys, values, attn_mask=mask)
        return self.join(y), keys, values


class MLP(nn.Module):
    def __init__(self, width, dropout):
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.drop(self.down(F.gelu(self.up(x))))


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.ln1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, dropout)
        self.ln2 = nn.LayerNorm(width)
        self.mlp = MLP(width, dropout)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))

    def step(self, x, pos, keys, values):
        y, keys, values = self.attn.step(self.ln1(x), pos, keys, values)
        x = x + y
        return x + self.mlp(self.ln2(x)), keys, values


class GPT(nn.Module):
    def __init__(self, vocab=256, block=256, width=64, n_layer=4, heads=4, dropout=0.1):
        super().__init__()
        self.block = block
        self.wte = nn.Embedding(vocab, width)
        self.wpe = nn.Embedding(block, width)
        self.drop = nn.Dropout(dropout)
        self.h = nn.ModuleList([Block(width, heads, dropout) for _ in range(n_layer)])
        self.ln = nn.LayerNorm(width)
        self.head = nn.Linear(width, vocab, bias=False)
        self.head.weight = self.wte.weight
        self.apply(self._init_weights)
        for name, p in self.named_parameters():
            if name.endswith("proj.weight") or name.endswith("down.weight"):
                nn.init.normal_(p, mean=0.0, std=0.02 / math.sqrt(2 * n_layer))

    def _init_weights(self, m):
        if isinstance(m, (nn.Linear, nn.Embedding)):
            nn.init.normal_(m.weight, mean=0.0, std=0.02)
        if isinstance(m, nn.Linear) and m.bias is not None:
            nn.init.zeros_(m.bias)

    def forward(self, idx):
        B, T = idx.shape
        x = self.drop(self.wte(idx) + self.wpe(torch.arange(T)))
        for block in self.h:
            x = block(x)
        logits = self.head(self.ln(x))
        return logits


class Generate(GPT):
    """idx [1, T] -> [1, T + tokens]: the prompt and what follows it, sampled at a temperature from the best top_k bytes.
    T + tokens may not exceed block. The weights are GPT's, under the same names."""

    def __init__(self, vocab=256, block=256, width=64, n_layer=4, heads=4, tokens=120, temperature=0.8, top_k=40):
        super().__init__(vocab, block, width, n_layer, heads, dropout=0.0)
        self.tokens = tokens
        self.temperature = temperature
        self.top_k = top_k

    def step(self, token, pos, keys, values):
        """Logits [1, vocab] after `token` at position pos, and the caches [layer, 1, heads, block, width / heads]."""
        x = self.wte(token.view(1, 1)) + self.wpe(pos.view(1, 1))
        new_keys, new_values = [], []
        for i, block in enumerate(self.h):
            x, k, v = block.step(x, pos, keys[i], values[i])
            new_keys.append(k)
            new_values.append(v)
        return self.head(self.ln(x))[:, -1, :], torch.stack(new_keys), torch.stack(new_values)

    def forward(self, idx):
        B, T = idx.shape
        width, heads = self.wte.weight.shape[1], self.h[0].attn.heads
        total = T + self.tokens
        where = torch.arange(total)
        out = F.pad(idx, (0, self.tokens))
        keys = torch.zeros(len(self.h), 1, heads, self.block, width // heads)
        values = torch.zeros_like(keys)

        def more(pos, out, keys, values):
            return pos < total - 1

        def advance(pos, out, keys, values):
            logits, keys, values = self.step(out.index_select(1, pos.view(1)), pos, keys, values)
            best, index = torch.topk(logits / self.temperature, self.top_k)
            drawn = index.gather(1, torch.multinomial(best.softmax(-1), 1))
            next = (where == pos + 1) & (pos + 1 >= T)
            return pos + 1, torch.where(next, drawn, out), keys, values

        start = torch.zeros((), dtype=torch.long)
        pos, out, keys, values = torch.while_loop(more, advance, (start, out, keys, values))
        return out
