"""Attention with masks and scores that the model computes: tc against PyTorch eager and torch.compile, one thread, processor time.
Optional: needs PyTorch with a C++ compiler; never part of make check.

    cc -O2 -shared -fPIC -o cputime.so tests/bench/cputime.c
    python3 tests/bench/flex.py BUILD DIR [MODEL...]          least milliseconds of each; programs are written to DIR"""
import json
import os
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

HEADS, LENGTH, SIZE = 8, 2048, 64


def masked(q, k, v, rule):
    return flex_attention(q, k, v, block_mask=create_block_mask(rule, None, None, q.shape[-2], k.shape[-2], device="cpu"))


class Causal(nn.Module):
    def forward(self, q, k, v):
        return masked(q, k, v, lambda b, h, i, j: i >= j)


class Window(nn.Module):
    def forward(self, q, k, v):
        return masked(q, k, v, lambda b, h, i, j: (i >= j) & (i - j < 256))


class Scattered(nn.Module):  # no block is empty or full
    def forward(self, q, k, v):
        return masked(q, k, v, lambda b, h, i, j: (i + j) % 3 != 0)


class Alibi(nn.Module):
    def forward(self, q, k, v):
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: s + (j - i) * 0.1 * (h + 1))


class Capped(nn.Module):
    def forward(self, q, k, v):
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: 20 * torch.tanh(s / 20))


class CappedCausal(nn.Module):
    def forward(self, q, k, v):
        mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, q.shape[-2], k.shape[-2], device="cpu")
        return flex_attention(q, k, v, score_mod=lambda s, b, h, i, j: 20 * torch.tanh(s / 20), block_mask=mask)


class Written(nn.Module):  # by hand, with a causal mask
    def forward(self, q, k, v):
        mask = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).tril()
        return (q @ k.transpose(-2, -1) * 0.125).masked_fill(~mask, float("-inf")).softmax(-1) @ v


TABLE = {m.__name__: m for m in (Causal, Window, Scattered, Alibi, Capped, CappedCausal, Written)}


def measure(f, seconds=4.0):
    for _ in range(2):
        f()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 4:
        t = time.process_time()
        f()
        times.append(time.process_time() - t)
    return min(times)


def main():
    tools, folder = os.path.join(os.path.abspath(sys.argv[1]), "bin/"), sys.argv[2]
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    os.makedirs(folder, exist_ok=True)
    shape = f"1x{HEADS}x{LENGTH}x{SIZE}xf32"
    q, k, v = (torch.randn(1, HEADS, LENGTH, SIZE) for _ in range(3))
    env = dict(os.environ, LD_PRELOAD=os.path.abspath("cputime.so"))
    for name in sys.argv[3:] or TABLE:
        model, path = TABLE[name](), os.path.join(folder, name + ".pt2")
        torch._dynamo.reset()
        fast = torch.compile(model, dynamic=False)
        found = {"eager": measure(lambda: model(q, k, v)), "torch.compile": measure(lambda: fast(q, k, v))}
        subprocess.run([tools + "tc-export", f"{__file__}:{name}", *(f"--input={x}={shape}" for x in "qkv"), "-o", path], check=True)
        for executor in "interpreted", "compiled":
            run = [tools + "tc-bench", path, "--threads", "1", "--min-time", "2", "--json", "--executor", executor]
            found["tc " + executor] = json.loads(subprocess.run(run, capture_output=True, text=True, check=True, env=env).stdout)["best"]
        print(name, *(f"{k} {v * 1e3:.1f}" for k, v in found.items()), sep="  ", flush=True)


if __name__ == "__main__":
    main()
