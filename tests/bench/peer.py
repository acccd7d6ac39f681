"""tc against PyTorch on this machine: single operators, same threads, alternately. Optional: needs PyTorch; never part of make check.

    python3 tests/bench/peer.py [BUILD] [THREADS]        prints a table for tests/bench/RESULTS.md

A round is PyTorch eager, then tc interpreted and compiled; the best of the rounds' medians is shown, since what disturbs only slows."""
import json
import os
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
ROUNDS = 3

CASES = [  # a call for tc-bench, the same in PyTorch, its inputs
    ("add(f32[4096,1024], f32[4096,1024])", torch.add, [(4096, 1024), (4096, 1024)]),
    ("exp(f32[4096,1024])", torch.exp, [(4096, 1024)]),
    ("gelu(f32[4096,1024])", F.gelu, [(4096, 1024)]),
    ("_softmax(f32[4096,1024], 1, False)", lambda x: torch.softmax(x, 1), [(4096, 1024)]),
    ("_softmax(f32[16,256,1024], 1, False)", lambda x: torch.softmax(x, 1), [(16, 256, 1024)]),
    ("native_layer_norm(f32[4096,1024], [1024], f32[1024], f32[1024], 1e-5)", lambda x, w, b: F.layer_norm(x, [1024], w, b, 1e-5), [(4096, 1024), (1024,), (1024,)]),
    ("sum(f32[4096,1024], [0])", lambda x: x.sum(0), [(4096, 1024)]),
    ("sum(f32[4096,1024], [1])", lambda x: x.sum(1), [(4096, 1024)]),
    ("mm(f32[1024,1024], f32[1024,1024])", torch.mm, [(1024, 1024), (1024, 1024)]),
]


def eager(fn, shapes):
    xs = [torch.rand(s) * 2 - 1 for s in shapes]
    for _ in range(3):
        fn(*xs)
    times, end = [], time.perf_counter() + 0.3
    while time.perf_counter() < end or len(times) < 3:
        start = time.perf_counter()
        fn(*xs)
        times.append(time.perf_counter() - start)
    time.sleep(0.03)  # its threads spin on after it returns
    return sorted(times)[len(times) // 2]


def ours(call):
    out = subprocess.run([os.path.join(BUILD, "bin/tc-bench"), "--op", call, "--compare", "interpreted,compiled", "--threads", str(THREADS), "--min-time", "0.3", "--json"],
                         capture_output=True, text=True, check=True).stdout
    return {row["executor"]: row["median"] for row in map(json.loads, out.splitlines())}


def main():
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    print(f"PyTorch {torch.__version__}, {THREADS} thread(s); milliseconds, best of {ROUNDS} medians\n")
    print("| case | PyTorch eager | tc interpreted | tc compiled | eager / interpreted |\n|---|---|---|---|---|")
    for call, fn, shapes in CASES:
        best = {}
        for _ in range(ROUNDS):
            found = {"eager": eager(fn, shapes), **ours(call)}
            best = {k: min(v, best.get(k, v)) for k, v in found.items()}
        print(f"| `{call}` | {best['eager'] * 1e3:.3f} | {best['interpreted'] * 1e3:.3f} | {best['compiled'] * 1e3:.3f} | {best['eager'] / best['interpreted']:.2f}x |", flush=True)


main()
