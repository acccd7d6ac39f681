"""Matrix products and attention: tc interpreted against PyTorch (MKL, oneDNN) and the OpenBLAS that comes with numpy, in one run.
Optional: needs PyTorch; never part of make check. One thread is measured by processor time, more by wall time.

    cc -O2 -shared -fPIC -o cputime.so tests/bench/cputime.c      makes tc-bench measure processor time
    python3 tests/bench/products.py BUILD [THREADS [CASE...]]     prints least times as a table"""
import ctypes
import glob
import json
import os
import subprocess
import sys
import time

BUILD = sys.argv[1]
THREADS = int(sys.argv[2]) if len(sys.argv) > 2 else 1
os.environ.update(OMP_NUM_THREADS=str(THREADS), OPENBLAS_NUM_THREADS=str(THREADS))
import numpy
import torch
import torch.nn.functional as F

ROUNDS, SECONDS = 2, 0.3
CLOCK = time.thread_time if THREADS == 1 else time.perf_counter
# mm: b as k x n; linear: b as n x k
SIZES = [("mm", n, n, n) for n in (32, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 2048, 4096)]
SIZES += [("linear", n, n, n) for n in (64, 256, 1024)]
SIZES += [(f, 1, n, k) for f in ("mm", "linear") for n, k in ((256, 256), (1024, 1024), (4096, 1024), (1024, 4096))]
SIZES += [("mm", 1024, 1, 1024), ("mm", 4096, 1, 1024), ("mm", 8, 1024, 1024), ("linear", 8, 1024, 1024), ("mm", 1024, 8, 1024),
          ("mm", 1024, 32, 1024), ("mm", 32, 1024, 1024), ("mm", 1024, 1024, 8), ("mm", 1024, 1024, 32), ("linear", 128, 784, 128)]
BATCHES = [(64, 32), (64, 64), (16, 128), (8, 256)]
R = torch.randn


def blas():
    found = glob.glob(os.path.join(os.path.dirname(numpy.__file__), "..", "numpy.libs", "*openblas64*"))
    if not found:
        return None
    lib = ctypes.CDLL(found[0])
    lib.scipy_openblas_set_num_threads64_(THREADS)
    return lib.scipy_cblas_sgemm64_


def product(form, m, n, k, sgemm):
    a, c = R(m, k), torch.empty(m, n)
    b = R(k, n) if form == "mm" else R(n, k)
    long, real = ctypes.c_int64, ctypes.c_float
    pa, pb, pc = (ctypes.c_void_p(x.data_ptr()) for x in (a, b, c))
    args = (101, 111, 111 if form == "mm" else 112, long(m), long(n), long(k), real(1), pa, long(k), pb, long(b.shape[1]), real(0), pc, long(n))
    torch_b = b if form == "mm" else b.t()
    return (f"{form}(f32[{m},{k}], f32[{b.shape[0]},{b.shape[1]}])", 2 * m * n * k, lambda: torch.mm(a, torch_b, out=c),
            sgemm and (lambda: sgemm(*args)))


def batch(z, n):
    a, b, c = R(z, n, n), R(z, n, n), torch.empty(z, n, n)
    return f"bmm(f32[{z},{n},{n}], f32[{z},{n},{n}])", 2 * z * n**3, lambda: torch.bmm(a, b, out=c), None


def int8(m, n, k):
    a, b = torch.randint(-128, 128, (m, k), dtype=torch.int8), torch.randint(-128, 128, (k, n), dtype=torch.int8)
    return f"_int_mm(i8[{m},{k}], i8[{k},{n}])", 2 * m * n * k, lambda: torch._int_mm(a, b), None


def attention(t, s, causal):
    q, k, v = R(1, 12, t, 64), R(1, 12, s, 64), R(1, 12, s, 64)
    call = f"scaled_dot_product_attention(f32[1,12,{t},64], f32[1,12,{s},64], f32[1,12,{s},64], None, 0.0, {causal})"
    return call, 4 * 12 * t * s * 64, lambda: F.scaled_dot_product_attention(q, k, v, is_causal=causal), None


def cases():
    sgemm = blas()
    for s in SIZES:
        yield lambda s=s: product(*s, sgemm)
    for b in BATCHES:
        yield lambda b=b: batch(*b)
    yield lambda: int8(1024, 1024, 1024)
    for t in (128, 512, 2048):
        yield lambda t=t: attention(t, t, False)
        yield lambda t=t: attention(t, t, True)
    yield lambda: attention(1, 2048, False)


def least(f):
    f()
    t = time.perf_counter()
    f()
    calls = 1 + int(2e-4 / (time.perf_counter() - t))  # the clock is coarse
    best, end, n = 1e9, time.perf_counter() + SECONDS, 0
    while time.perf_counter() < end or n < 4:
        t = CLOCK()
        for _ in range(calls):
            f()
        best, n = min(best, (CLOCK() - t) / calls), n + 1
    return best


def ours(call):
    env = dict(os.environ, LD_PRELOAD=os.path.abspath("cputime.so")) if THREADS == 1 and os.path.exists("cputime.so") else None
    run = [os.path.join(BUILD, "bin/tc-bench"), "--op", call, "--executor", "interpreted", "--threads", str(THREADS), "--min-time", str(SECONDS)]
    row = json.loads(subprocess.run(run + ["--json"], capture_output=True, text=True, check=True, env=env).stdout.splitlines()[-1])
    return row["best"] or row["median"] or 1e9  # 0: below what the clock tells


def main():
    torch.set_num_threads(THREADS)
    torch.set_grad_enabled(False)
    print(f"PyTorch {torch.__version__}, {THREADS} thread(s)\n\n| call | PyTorch | OpenBLAS | tc | GFLOP/s of tc | best peer / tc |\n|---|---|---|---|---|---|")
    for make in cases():
        call, flops, eager, other = make()
        if sys.argv[3:] and not any(c in call for c in sys.argv[3:]):
            continue
        best = [1e9] * 3
        for _ in range(ROUNDS):
            for i, f in enumerate((lambda: least(eager), (lambda: least(other)) if other else lambda: 1e9, lambda: ours(call))):
                best[i] = min(best[i], f())
                time.sleep(0.02)  # a peer's threads spin on
        us = [f"{b * 1e6:.1f}" if b < 1e9 else "" for b in best]
        told = (f"{flops / best[2] * 1e-9:.1f}", f"{min(best[:2]) / best[2]:.2f}x") if best[2] < 1e9 else ("", "")
        print(f"| `{call}` | {us[0]} | {us[1]} | {us[2]} | {told[0]} | {told[1]} |", flush=True)


main()
