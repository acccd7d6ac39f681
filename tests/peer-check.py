"""Loads the archives of a folder with PyTorch, runs them on the oracle's inputs, compares with the oracle's outputs.
usage: python peer-check.py ORACLE FOLDER    (called by tests/peer-check)"""
import collections, csv, dataclasses, importlib, logging, os, re, sys, types, warnings

warnings.filterwarnings("ignore")
import torch
import torch.utils._pytree as pytree
from safetensors.torch import load_file

logging.disable(logging.CRITICAL)
torch.set_num_threads(1)
oracle, folder = sys.argv[1:]
passed = failed = skipped = 0

# classes that some programs take or return; PyTorch wants them registered before it loads such a file
model = sys.modules.setdefault("model", types.ModuleType("model"))
Batch = dataclasses.make_dataclass("Batch", [("ids", torch.Tensor), ("mask", torch.Tensor), ("scale", float, 1.0)])
Point = collections.namedtuple("Point", ["x", "y"])
for c in (Batch, Point):
    c.__module__ = "model"
    setattr(model, c.__name__, c)
pytree._register_namedtuple(Point, serialized_type_name="model.Point")
torch.export.register_dataclass(Batch, serialized_type_name="model.Batch")
needs = {"bert": "transformers.modeling_outputs", "tv_vision_ops": "torchvision"}
for library in ("torchvision", "torch.ao.quantization.fx._decomposed", "transformers.modeling_outputs"):  # they register operators and classes
    try:
        importlib.import_module(library)
    except ImportError:
        pass


def missing(name):
    """Why PyTorch itself cannot load this program here, or None."""
    if name == "string_output":
        return "torch.export.load refuses a string among the outputs"
    try:
        importlib.import_module(needs.get(name.split(".")[0], "torch"))
    except ImportError:
        return f"{needs[name.split('.')[0]]} is not installed"


def literal(text):
    import ast
    return ast.literal_eval(text.split(":", 1)[1])


def leaves(description, stored):
    found = re.finditer(r"in(\d+)=(.*?)(?= in\d+=|$)", description) if description != "-" else []
    return [stored[f"in{i}"] if f"in{i}" in stored else literal(m.group(2)) for i, m in enumerate(found)]


def check(row):
    name = row["name"]
    program = torch.export.load(os.path.join(folder, name + ".pt2"))
    stored = load_file(f"{oracle}/{row['io']}.inputs.safetensors")
    want = f"{oracle}/{row['io']}.outputs.safetensors"
    args, kwargs = pytree.tree_unflatten(leaves(row["inputs"], stored), program.call_spec.in_spec)
    with torch.no_grad():
        out = pytree.tree_leaves(program.module()(*args, **kwargs))
    if not os.path.exists(want):
        return
    want = load_file(want)
    limit = 0.05 if "16" in row["dtype"] or "autocast" in name or name == "dtype_zoo" else 2e-3
    for i, t in enumerate(out):
        if isinstance(t, torch.Tensor):
            w = want[f"out{i}"]
            assert t.dtype == w.dtype and t.shape == w.shape, f"output {i} is {t.dtype}{list(t.shape)}, expected {w.dtype}{list(w.shape)}"
            wide = torch.complex128 if t.is_complex() else torch.float64
            assert torch.allclose(t.to(wide), w.to(wide), rtol=limit, atol=limit, equal_nan=True), f"output {i} differs"


rows = list(csv.DictReader(open(f"{oracle}/index.tsv"), delimiter="\t", quoting=csv.QUOTE_NONE))
for row in rows:
    if not os.path.exists(os.path.join(folder, row["name"] + ".pt2")) or row["name"] == "two_programs":
        continue
    why = missing(row["name"])
    if why:
        skipped += 1
        print(f"skipped: {row['name']}: {why}")
        continue
    try:
        check(row)
        passed += 1
    except Exception as e:
        failed += 1
        print(f"{row['name']}: {str(e).strip().splitlines()[-1][:300] if str(e).strip() else type(e).__name__}")
for name in open(os.path.join(folder, "failed")).read().split() if os.path.exists(os.path.join(folder, "failed")) else []:
    failed += 1
    print(f"{name}: tc-export failed: {open(os.path.join(folder, name + '.err')).read().strip()[:300]}")
print(f"PyTorch {torch.__version__}")
print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
sys.exit(failed > 0)
