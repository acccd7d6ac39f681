"""Whole models: tc against PyTorch eager, torch.compile (weights frozen, max-autotune) and ONNX Runtime. One thread is measured by processor time (what other work on the machine disturbs
least), more by wall time.
Optional: needs PyTorch with a C++ compiler, safetensors, onnxruntime; never part of make check.

    cc -O2 -shared -fPIC -o cputime.so tests/bench/cputime.c         makes tc-bench measure processor time
    [THREADS=N] [DTYPE=bf16|f16] python3 tests/bench/whole.py BUILD DIR [MODEL...]    prints least and median milliseconds of each engine

Programs are written to DIR by torch.export and read by tc-bench; ONNX Runtime gets what tc-export makes of them."""
import json
import os
import subprocess
import sys
import time

THREADS = int(os.environ.get("THREADS", 1))
os.environ["OMP_NUM_THREADS"] = str(THREADS)
import torch
from models import TABLE

DTYPE = {"": torch.float32, "bf16": torch.bfloat16, "f16": torch.float16}[os.environ.get("DTYPE", "")]
CLOCK = time.process_time if THREADS == 1 else time.perf_counter


def measure(f, seconds=3.0):
    for _ in range(3):
        f()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        t = CLOCK()
        f()
        times.append(CLOCK() - t)
    return min(times), sorted(times)[len(times) // 2]


def make(name, path):
    torch.manual_seed(0)
    model, inputs = TABLE[name]
    model = model().eval().to(DTYPE)
    torch.manual_seed(1)
    inputs = tuple(x.to(DTYPE) if x.is_floating_point() else x for x in inputs())
    torch.export.save(torch.export.export(model, inputs), path)
    return model, inputs


def onnx(tools, path, inputs):
    if subprocess.run([tools + "tc-export", path, "--to", "onnx", "-o", path + ".onnx"]).returncode:
        return None  # a model with state
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.intra_op_num_threads = THREADS
    try:
        s = ort.InferenceSession(path + ".onnx", options, providers=["CPUExecutionProvider"])
        feed = {i.name: x.numpy() for i, x in zip(s.get_inputs(), inputs)}
        s.run(None, feed)
    except Exception:  # it and numpy have no bfloat16 for most operators
        return None
    return measure(lambda: s.run(None, feed))


def compiled(model, inputs):
    from torch._inductor import config
    config.freezing = config.max_autotune = True
    torch._dynamo.reset()
    f = torch.compile(model)
    return measure(lambda: f(*inputs))


def main():
    tools, folder = os.path.join(os.path.abspath(sys.argv[1]), "bin/"), sys.argv[2]
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[3:] or TABLE:
        path = os.path.join(folder, name + ".pt2")
        model, inputs = make(name, path)
        found = {"eager": measure(lambda: model(*inputs)), "torch.compile": compiled(model, inputs), "onnxruntime": onnx(tools, path, inputs)}
        run = [tools + "tc-bench", path, "--threads", str(THREADS), "--min-time", "2", "--json", "--executor"]  # alone, as the peers: weights stay in caches
        env = dict(os.environ, LD_PRELOAD=os.path.abspath("cputime.so")) if THREADS == 1 and os.path.exists("cputime.so") else None
        for executor in "interpreted", "compiled", "fast":
            row = json.loads(subprocess.run(run + [executor], capture_output=True, text=True, check=True, env=env).stdout)
            found["tc " + executor] = row["best"], row["median"]
        print(name, *(f"{k} {v[0] * 1e3:.3f} {v[1] * 1e3:.3f}" for k, v in found.items() if v), sep="  ", flush=True)


main()
