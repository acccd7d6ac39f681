"""Programs as ONNX: checked by onnx.checker, run by ONNX Runtime on stored inputs, compared with stored outputs.

Usage: peer-onnx.py TC_EXPORT FOLDER OPSET [NAME]: FOLDER is an oracle of PT2 archives (index.tsv) or a folder of ONNX models (models.tsv).
The last line is "N passed, N failed, N not yet"; not yet is what tc-export itself answers "not supported" to."""
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime as ort

TYPES = {"F64": np.float64, "F32": np.float32, "F16": np.float16, "I64": np.int64, "I32": np.int32, "I16": np.int16, "I8": np.int8, "U8": np.uint8,
         "BOOL": np.bool_}


def safetensors(path):
    with open(path, "rb") as f:
        n = int.from_bytes(f.read(8), "little")
        head, data, out = json.loads(f.read(n)), f.read(), {}
    for k, v in head.items():
        if k != "__metadata__" and v["dtype"] in TYPES:
            a, b = v["data_offsets"]
            out[k] = np.frombuffer(data[a:b], TYPES[v["dtype"]]).reshape(v["shape"])
    return out


def numbered(d, prefix):
    return {int(k[len(prefix):]): v for k, v in d.items() if re.fullmatch(prefix + r"\d+", k)}


def run(path, inputs, outputs, tol):
    m = onnx.load(path)
    onnx.checker.check_model(m, full_check=True)
    o = ort.SessionOptions()
    o.log_severity_level = 4
    s = ort.InferenceSession(path, o)
    names = [i.name for i in s.get_inputs()]
    if len(names) > len(inputs):
        return f"{len(names)} inputs, {len(inputs)} given"
    got = s.run(None, dict(zip(names, inputs)))
    for i, want in outputs.items():
        if i >= len(got):
            return f"output {i} is missing"
        if got[i].shape != want.shape or got[i].dtype != want.dtype:
            return f"output {i} is {got[i].dtype}{got[i].shape}, expected {want.dtype}{want.shape}"
        if not np.allclose(got[i].astype(np.float64), want.astype(np.float64), tol, tol, equal_nan=True):
            return f"output {i} differs by {np.nanmax(np.abs(got[i].astype(np.float64) - want.astype(np.float64)))}"
    return None


def cases(folder):
    if os.path.exists(folder + "/index.tsv"):
        rows = [line.rstrip("\n").split("\t") for line in open(folder + "/index.tsv")]
        col = {c: i for i, c in enumerate(rows[0])}
        for r in rows[1:]:
            io, pt2 = r[col["io"]], f"{folder}/{r[col['name']]}.pt2"
            sets = []
            for k in ("", "2"):
                a, b = f"{folder}/{io}.inputs{k}.safetensors", f"{folder}/{io}.outputs{k}.safetensors"
                if os.path.exists(a) and os.path.exists(b):
                    i = numbered(safetensors(a), "in")
                    sets.append(([i[k] for k in sorted(i)], numbered(safetensors(b), "out")))
            yield r[col["name"]], pt2, sets, 2e-2 if "16" in r[col["dtype"]] else 1e-4
    else:
        for d in sorted(glob.glob(folder + "/*/model.onnx")):
            sets = []
            for s in sorted(glob.glob(os.path.dirname(d) + "/set[0-9]*")):
                ins = [np.load(f"{s}/input_{i}.npy") for i in range(99) if os.path.exists(f"{s}/input_{i}.npy")]
                outs = {i: np.load(f"{s}/output_{i}.npy") for i in range(99) if os.path.exists(f"{s}/output_{i}.npy")}
                sets.append((ins, outs))
            yield os.path.basename(os.path.dirname(d)), d, sets, 1e-3


tool, folder, opset = sys.argv[1], sys.argv[2], sys.argv[3]
count = {"pass": 0, "fail": 0, "notyet": 0}
with tempfile.TemporaryDirectory() as tmp:
    for name, path, sets, tol in cases(folder):
        if len(sys.argv) > 4 and name != sys.argv[4]:
            continue
        out = f"{tmp}/m.onnx"
        r = subprocess.run([tool, path, "--to", "onnx", "--opset", opset, "-o", out], capture_output=True, text=True)
        if r.returncode:
            verdict, why = ("notyet" if r.returncode == 5 else "fail"), r.stderr.strip().split("\n")[0]
        else:
            verdict, why = "pass", None
            try:
                for ins, outs in sets:
                    why = why or run(out, ins, outs, tol)
            except Exception as e:  # what the checker or the runtime refuses
                why = str(e).replace("\n", " ")[:300]
            verdict = "fail" if why else "pass"
        count[verdict] += 1
        if verdict != "pass":
            print(verdict, name, why)
print(f"{count['pass']} passed, {count['fail']} failed, {count['notyet']} not yet")
