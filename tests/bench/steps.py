"""Training steps: tc-train against PyTorch eager, the example models and recipes, the same batch and threads, alternately. Optional: needs PyTorch.

    python3 tests/bench/steps.py BUILD THREADS [mlp|cnn|gpt|lstm...]      prints a table for tests/bench/RESULTS.md

A round is PyTorch, then tc-train; the least wall time of a step, over windows of 8 steps, is compared (what disturbs only slows), the median stands beside it.
PyTorch's step: zero_grad, forward, loss, backward, clipping where the recipe has it, optimiser, scheduler, loss.item() (tc-train reads its loss too);
batches are made before. tc-train's: the time between two steps' ends, batches and metrics included."""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

BUILD, THREADS = os.path.abspath(sys.argv[1]), int(sys.argv[2])
os.environ["OMP_NUM_THREADS"] = str(THREADS)
EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tc-train/examples")
sys.path.insert(0, EXAMPLES)

import torch
import torch.nn.functional as F

torch.set_num_threads(THREADS)
S = torch.optim.lr_scheduler
STEPS, ROUNDS = {"mlp": 300, "cnn": 40, "gpt": 40, "lstm": 120}, 3
WINDOW = 8  # metrics are in whole milliseconds


def mlp():
    from mlp import MLP
    m = MLP()
    opt = torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.9, nesterov=True, weight_decay=1e-4)
    return m, opt, S.CosineAnnealingLR(opt, T_max=1000), F.cross_entropy, None, (torch.randn(128, 1, 28, 28), torch.randint(10, (128,)))


def cnn():
    from cnn import CNN
    m = CNN()
    opt = torch.optim.AdamW(m.parameters(), lr=4e-3, weight_decay=0.01)
    loss = lambda out, y: F.cross_entropy(out, y, label_smoothing=0.05)
    return m, opt, S.OneCycleLR(opt, max_lr=8e-3, total_steps=10000), loss, None, (torch.randn(64, 1, 28, 28), torch.randint(10, (64,)))


def gpt():
    from gpt import GPT
    m = GPT(n_layer=4)
    ps = list(m.parameters())
    groups = [{"params": [p for p in ps if p.dim() >= 2], "weight_decay": 0.1}, {"params": [p for p in ps if p.dim() < 2], "weight_decay": 0.0}]
    opt = torch.optim.AdamW(groups, lr=3e-3, betas=(0.9, 0.95))
    loss = lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten())
    return m, opt, S.LambdaLR(opt, lambda s: 1 / (s + 1)), loss, 1.0, (torch.randint(256, (16, 64)), torch.randint(256, (16, 64)))


def lstm():
    from lstm import LSTM
    m = LSTM()
    opt = torch.optim.AdamW(m.parameters(), lr=5e-3, weight_decay=0.01)
    loss = lambda out, y: F.cross_entropy(out.flatten(0, 1), y.flatten())
    return m, opt, S.LinearLR(opt, start_factor=1.0, end_factor=0.1, total_iters=1000), loss, 1.0, (torch.randint(27, (64, 12)), torch.randint(27, (64, 12)))


def windows(ends):
    """Times of a step in windows of WINDOW steps, the first steps left out."""
    ends = ends[4:]
    return [(b - a) / WINDOW for a, b in zip(ends, ends[WINDOW:])]


def eager(make, steps):
    m, opt, scheduler, loss_of, clip, (x, y) = make()
    ends = []
    for _ in range(steps):
        opt.zero_grad()
        loss = loss_of(m(x), y)
        loss.backward()
        if clip:
            torch.nn.utils.clip_grad_norm_(m.parameters(), clip)
        opt.step()
        scheduler.step()
        loss.item()
        ends.append(time.perf_counter())
    time.sleep(0.03)  # its threads spin on after it returns
    return windows(ends)


def ours(name, steps, folder, data):
    """The recipe of the example, on the batch that PyTorch had, again and again."""
    from safetensors.torch import save_file
    path = os.path.join(folder, name + ".safetensors")
    save_file({k: v.unsqueeze(0).contiguous() for k, v in zip("xy", data)}, path)
    tool = lambda t: os.path.join(BUILD, "bin", t)
    args = ["-q", "--threads", str(THREADS), f"{EXAMPLES}/{name}.yaml", f"steps={steps}", "epochs=%d" % (2 * steps), "checkpoint={}", "validate={}",
            "data={safetensors: %s, batches: true}" % path, "-o", os.path.join(folder, f"{name}-run")]
    stdin = None
    if name == "gpt":
        stdin = subprocess.run([tool("tc-export"), f"{EXAMPLES}/gpt.py:GPT", "--arg", "n_layer=4", "--input", "idx=BxTxi64", "--dim", "B=1..64", "--dim", "T=1..256"],
                               capture_output=True, check=True).stdout
    subprocess.run(["rm", "-rf", args[-1]], check=True)
    subprocess.run([tool("tc-train"), *args], input=stdin, check=True)
    ends = [json.loads(l)["seconds"] for l in open(args[-1] + "/metrics.jsonl") if '"loss"' in l]
    return windows(ends)


def main():
    print(f"PyTorch {torch.__version__}, {THREADS} thread(s); milliseconds a step: least (median)\n")
    print("| model | PyTorch eager | tc-train | eager / tc |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for name in sys.argv[3:] or STEPS:
            make, found = globals()[name], {"eager": [], "tc": []}
            torch.manual_seed(0)
            data = make()[5]
            for _ in range(ROUNDS):
                found["eager"] += eager(make, STEPS[name])
                found["tc"] += ours(name, STEPS[name], folder, data)
            e, t = [(min(x) * 1e3, statistics.median(x) * 1e3) for x in found.values()]
            print(f"| {name} | {e[0]:.2f} ({e[1]:.2f}) | {t[0]:.2f} ({t[1]:.2f}) | {e[0] / t[0]:.2f}x ({e[1] / t[1]:.2f}x) |", flush=True)


main()
