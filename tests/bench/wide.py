"""Every family of operators at a million elements: tc interpreted against PyTorch eager, one thread, warm outputs, alternately, processor time.
Needs PyTorch and a C compiler (cputime.c).

    python3 tests/bench/wide.py [BUILD] [NAME...]        ratios from the worst to the best, then geometric means by family

The calls are tc-bench's (lib/op/sample.h); PyTorch runs the same overload, in its out= form where there is one. Least processor time of the rounds."""
import json
import math
import os
import subprocess
import sys
import tempfile
import time

import torch

BUILD = sys.argv[1] if len(sys.argv) > 1 else "build"
ONLY = sys.argv[2:]
ROUNDS = 2
N = 1 << 20
UNARY = """neg abs sign floor ceil trunc round frac square sqrt rsqrt reciprocal exp exp2 expm1 sin cos tan sinh cosh tanh asin acos atan asinh
    atanh erf erfc sigmoid relu logical_not isnan isfinite signbit sinc deg2rad""".split()
POSITIVE = "log log2 log10 log1p lgamma digamma special_entr".split()
SPECIAL = "acosh erfinv special_ndtri special_i0 special_i0e special_i1 special_i1e special_erfcx special_log_ndtr".split()
BINARY = "add sub mul div maximum minimum fmax fmin atan2 hypot copysign fmod remainder floor_divide nextafter eq lt logical_and logaddexp".split()
ACTIVATIONS = "silu hardtanh hardswish hardsigmoid leaky_relu elu gelu softplus log_sigmoid_forward mish celu selu".split()
X, M = "f32[1048576]", "f32[1024,1024]"


def cases():
    for op in UNARY:
        yield "unary", f"{op}({X}{':-0.99..0.99' if op in ('asin', 'acos', 'atanh') else ':-10..10' if op in ('sin', 'cos', 'tan') else ''})"
    for op in POSITIVE:
        yield "unary", f"{op}({X}:0.1..20)"
    yield "special", f"acosh({X}:1..20)"
    yield "special", f"erfinv({X}:-0.99..0.99)"
    yield "special", f"special_ndtri({X}:0.01..0.99)"
    for op in SPECIAL[3:]:
        yield "special", f"{op}({X}:-4..4)"
    yield "special", f"polygamma(1, {X}:0.5..5)"
    for op in BINARY:
        yield "binary", f"{op}({X}:0.5..3, {X}:0.5..3)"
    yield "binary", f"pow({X}:0.1..3, {X}:-3..3)"
    yield "binary", f"pow({X}:0.1..3, 2.5)"
    yield "binary", f"pow({X}, 3)"
    yield "binary", f"xlogy({X}:0.5..3, {X}:0.5..3)"
    yield "ternary", f"where(bool[1048576], {X}, {X})"
    yield "ternary", f"addcmul({X}, {X}, {X})"
    yield "ternary", f"lerp({X}, {X}, {X})"
    yield "ternary", f"clamp({X}, -0.5, 0.5)"
    yield "ternary", f"nan_to_num({X})"
    for op in ACTIVATIONS:
        yield "activation", f"{op}({X})"
    yield "activation", f"glu({M})"
    yield "activation", f"_prelu_kernel({M}, f32[1024])"
    for dims in ("[0]", "[1]", "[0,1]"):
        for op in "sum mean amax amin".split():
            yield "reduction", f"{op}({M}, {dims})"
        yield "reduction", f"var({M}, {dims})"
        yield "reduction", f"logsumexp({M}, {dims})"
        yield "reduction", f"linalg_vector_norm({M}, 2, {dims})"
    for dim in "01":
        yield "reduction", f"argmax({M}, {dim})"
        yield "reduction", f"prod({M}, {dim})"
        yield "reduction", f"any({M}, {dim})"
        yield "softmax", f"_softmax({M}, {dim}, False)"
        yield "softmax", f"_log_softmax({M}, {dim}, False)"
        yield "scan", f"cumsum({M}, {dim})"
        yield "scan", f"cumprod({M}, {dim})"
        yield "scan", f"cummax({M}, {dim})"
        yield "scan", f"logcumsumexp({M}, {dim})"
        yield "order", f"sort({M}, {dim})"
        yield "order", f"topk({M}, 8, {dim})"
        yield "order", f"median({M}, {dim})"
        yield "order", f"kthvalue({M}, 5, {dim})"
        yield "index", f"index_select({M}, {dim}, i64[1024]:0..1024)"
        yield "index", f"gather({M}, {dim}, i64[1024,1024]:0..1024)"
        yield "index", f"scatter_add({M}, {dim}, i64[1024,1024]:0..1024, {M})"
        yield "index", f"index_add({M}, {dim}, i64[1024]:0..1024, {M})"
        yield "move", f"cat([{M}, {M}], {dim})"
        yield "move", f"flip({M}, [{dim}])"
        yield "move", f"roll({M}, [3], [{dim}])"
    yield "norm", f"native_layer_norm({M}, [1024], f32[1024], f32[1024], 1e-5)"
    yield "norm", "native_group_norm(f32[16,64,32,32], f32[64], f32[64], 16, 64, 1024, 8, 1e-5)"
    yield "norm", "native_batch_norm(f32[16,64,32,32], f32[64], f32[64], f32[64], f32[64]:0.5..2, False, 0.1, 1e-5)"
    yield "norm", "_native_batch_norm_legit.no_stats(f32[16,64,32,32], f32[64], f32[64], True, 0.1, 1e-5)"
    yield "move", "clone(f32[1024,1024])"
    yield "move", f"constant_pad_nd({M}, [1, 1, 1, 1])"
    yield "move", f"tril({M})"
    yield "move", f"repeat({M}, [2, 1])"
    yield "index", "embedding(f32[10000,256], i64[4096]:0..10000)"
    yield "index", "embedding_dense_backward(f32[4096,256], i64[4096]:0..10000, 10000, -1, False)"
    yield "index", f"masked_fill({M}, bool[1024,1024], 1.0)"
    yield "order", "sort(f32[1048576])"
    yield "order", "topk(f32[1048576], 100)"
    yield "order", "bincount(i64[1048576]:0..1000)"
    yield "order", "searchsorted(f32[1000]:0..1, f32[1048576]:0..1)"
    yield "pool", "max_pool2d_with_indices(f32[16,64,32,32], [2, 2], [2, 2])"
    yield "pool", "max_pool2d_with_indices(f32[16,64,32,32], [3, 3], [2, 2], [1, 1])"
    yield "pool", "avg_pool2d(f32[16,64,32,32], [2, 2], [2, 2])"
    yield "pool", "avg_pool2d(f32[16,64,32,32], [3, 3], [1, 1], [1, 1])"
    yield "pool", "_adaptive_avg_pool2d(f32[16,64,32,32], [1, 1])"
    yield "pool", "_adaptive_avg_pool2d(f32[16,64,32,32], [7, 7])"
    yield "pool", "upsample_nearest2d(f32[16,16,32,32], [64, 64])"
    yield "pool", "upsample_bilinear2d(f32[16,16,32,32], [64, 64], False)"
    yield "pool", "pixel_shuffle(f32[16,64,32,32], 2)"
    yield "loss", f"mse_loss({M}, {M})"
    yield "loss", f"smooth_l1_loss({M}, {M})"
    yield "loss", f"binary_cross_entropy({M}:0.1..0.9, {M}:0..1)"
    yield "loss", f"binary_cross_entropy_with_logits({M}, {M}:0..1)"
    yield "loss", f"nll_loss_forward({M}, i64[1024]:0..1024, None, 1, -100)"
    yield "fft", "_fft_c2c(c64[1024,1024], [1], 0, True)"
    yield "fft", "_fft_r2c(f32[1024,1024], [1], 0, True)"
    yield "fft", "_fft_c2c(c64[1048576], [0], 0, True)"
    yield "fft", "_fft_c2c(c64[1000,1000], [1], 0, True)"


def tensor(text):
    """A tensor of tc-bench's notation with random values in its range."""
    kind, rest = text.split("[", 1)
    sizes, _, span = rest.partition("]")
    sizes = [int(s) for s in sizes.split(",")] if sizes else []
    lo, hi = (float(v) for v in span[1:].split("..")) if span else (-2.0, 2.0)
    if kind == "bool":
        return torch.rand(sizes) < 0.5
    if kind == "i64":
        return torch.randint(int(lo), max(int(hi), int(lo) + 1), sizes)
    u = torch.rand(sizes) * (hi - lo) + lo
    return u if kind == "f32" else torch.complex(u, torch.rand(sizes) * (hi - lo) + lo)


def arguments(text):
    """Python values of a call's arguments: tensors are made, the rest is Python already."""
    out, depth, start = [], 0, 0
    for i, c in enumerate(text + ","):
        depth += (c in "[(") - (c in "])")
        if c == "," and not depth:
            out.append(text[start:i].strip())
            start = i + 1

    def value(t):
        if t.startswith("[") and any(k in t for k in ("f32[", "i64[", "c64[")):
            return arguments(t[1:-1])
        return tensor(t) if t.split("[")[0] in ("f32", "i64", "c64", "bool") and "[" in t else eval(t)

    return [value(t) for t in out]


def eager(call):
    name, text = call.split("(", 1)
    args = arguments(text[:-1])
    fn = getattr(torch.ops.aten, name.split(".")[0])
    if "." in name:
        fn = getattr(fn, name.split(".")[1])
    result = fn(*args)
    if isinstance(result, torch.Tensor):
        try:
            fn(*args, out=result)
            plain, fn = fn, lambda *a: plain(*a, out=result)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            pass
    best, end, count = math.inf, time.thread_time() + 0.15, 0
    while time.thread_time() < end or count < 3:
        start = time.thread_time()
        fn(*args)
        best = min(best, time.thread_time() - start)
        count += 1
    return best


def clock():
    """The environment in which tc-bench's clock tells processor time."""
    so = os.path.join(tempfile.mkdtemp(), "cputime.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", os.path.join(os.path.dirname(os.path.abspath(__file__)), "cputime.c"), "-o", so], check=True)
    return {**os.environ, "LD_PRELOAD": so}


def ours(call, env):
    run = subprocess.run([os.path.join(BUILD, "bin/tc-bench"), "--op", call, "--threads", "1", "--executor", "interpreted", "--min-time", "0.15", "--json"],
                         capture_output=True, text=True, env=env)
    if run.returncode:
        return None
    return json.loads(run.stdout.splitlines()[0])["best"]


def main():
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    rows, env = [], clock()
    for family, call in cases():
        if ONLY and not any(o == call.split("(")[0] or o == family for o in ONLY):
            continue
        e, t = math.inf, math.inf
        for _ in range(ROUNDS):
            e = min(e, eager(call))
            mine = ours(call, env)
            t = math.nan if mine is None else min(t, mine)
        rows.append((e / t, family, call, e, t))
    rows.sort(key=lambda r: r[0])
    for ratio, family, call, e, t in rows:
        print(f"{ratio:6.2f}x  eager {e * 1e6:9.1f} us  tc {t * 1e6:9.1f} us  {call}")
    print()
    for family in sorted({r[1] for r in rows}):
        logs = [math.log(r[0]) for r in rows if r[1] == family and r[0] == r[0]]
        if logs:
            print(f"{family:12s} {math.exp(sum(logs) / len(logs)):.2f}x over {len(logs)}")
    logs = [math.log(r[0]) for r in rows if r[0] == r[0]]
    print(f"{'all':12s} {math.exp(sum(logs) / len(logs)):.2f}x over {len(logs)}")


if __name__ == "__main__":
    main()
