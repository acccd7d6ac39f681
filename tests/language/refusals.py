"""The exceptions that operators raise at once on tensors with values: the same types as PyTorch's."""
import torch
import torch.nn.functional as F


def show(name, function):
    try:
        r = function()
        print(name, r.dtype, r.tolist())
    except Exception as e:
        print(name, type(e).__name__)


x, w, one = torch.arange(6.0).reshape(2, 3), torch.ones(4, 2), torch.tensor(3.0)
for v in (4, -1):
    i = torch.tensor([0, v])
    rows = {
        "embedding": lambda: F.embedding(i, w), "of one": lambda: F.embedding(i[1], w), "renorm": lambda: F.embedding(i, w.clone(), max_norm=1.0),
        "bag": lambda: F.embedding_bag(i[None], w), "nll": lambda: F.nll_loss(x, i), "nll of images": lambda: F.nll_loss(x[:, :, None, None], i[:, None, None]),
        "cross entropy": lambda: F.cross_entropy(x, i, reduction="none"), "smoothed": lambda: F.cross_entropy(x, i, label_smoothing=0.1),
        "margins": lambda: F.multi_margin_loss(x, i), "gather": lambda: x.gather(1, i[:, None]), "gather of one": lambda: one.gather(0, i),
        "gather one of one": lambda: one.gather(0, i[1]), "take": lambda: x.take(i * 3), "take_along_dim": lambda: torch.take_along_dim(x, i[:, None], 1),
        "index_select": lambda: x.index_select(1, i), "scatter": lambda: x.scatter(1, i[:, None], 1.0),
        "scatter_add_": lambda: x.clone().scatter_add_(1, i[:, None], w[:2, :1]), "index_add": lambda: x.index_add(1, i, w[:2]),
        "index_copy": lambda: x.index_copy(1, i, w[:2]), "index_reduce": lambda: x.index_reduce(1, i, w[:2], "mean"), "index": lambda: x[:, i],
        "put": lambda: x.put(i * 3, w[:, 0][:2]), "unpool": lambda: F.max_unpool1d(x[None], torch.tensor([[[0, v * 2, 1], [0, 1, 2]]]), 2),
    }
    for name, function in rows.items():
        show(f"{name} {v}", function)
show("select the only one", lambda: one.index_select(0, torch.tensor([0])))
show("gather it twice", lambda: one.gather(0, torch.tensor([0, 0])))
for name, function in {"argmax": torch.argmax, "median": torch.median, "topk": lambda b: torch.topk(b, 1)[0], "dot": lambda b: b.dot(b)}.items():
    show(f"{name} of bool", lambda: function(torch.tensor([True, False])))
show("softmax of int", lambda: torch.arange(3).softmax(0))
for ignored in (-1, 0):
    show(f"cross entropy of probabilities, {ignored} ignored", lambda: F.cross_entropy(torch.zeros(1, 2), torch.ones(1, 2), ignore_index=ignored).isnan())
for groups in (2, 4, 0):
    show(f"{groups} groups of one value", lambda: F.group_norm(torch.zeros(1, 4, 1), groups))
for many in (2**63, 2**64 - 1, -2**63 - 1, 10**30):
    show(f"tensor {many}", lambda: torch.tensor(many))
    show(f"in a list {many}", lambda: torch.tensor([1.5, many]))
    show(f"float32 {many}", lambda: torch.tensor(many, dtype=torch.float32))
    show(f"int32 {many}", lambda: torch.tensor(many, dtype=torch.int32))
    show(f"uint64 {many}", lambda: torch.tensor(many, dtype=torch.uint64))
    show(f"pad {many}", lambda: F.pad(torch.zeros(1), (1, 0), value=many))
show("full", lambda: torch.full((2,), 2**63, dtype=torch.float32))
show("unflatten", lambda: torch.zeros(2, 0).unflatten(1, (0, -1)))
show("negative uint64", lambda: torch.tensor([3, -1], dtype=torch.uint64))
show("truth of wide", lambda: torch.tensor([2**70, -2**63], dtype=torch.bool))


# One element as a number, and as an index.
two, one, flag, z = torch.ones(2), torch.tensor([3]), torch.tensor(True), torch.tensor(1 + 2j)
print(1 in two, 2 in two, 5 in one, 1.0 in torch.ones(0), [5, 7][flag], list(range(flag)), "ab"[flag], complex(z))
for f in (lambda: int(z), lambda: "a" in two, lambda: [1, 2][two], lambda: [1, 2][torch.tensor(1.0)], lambda: float(two)):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e).split(": ")[-1])

# Types without a common one: bfloat16 and float8 have no complex counterpart; complex numbers have no quotient without remainder and no order.
b, f8, cplx, u = torch.ones(2).bfloat16(), torch.ones(2).to(torch.float8_e5m2), torch.ones((), dtype=torch.complex64), torch.ones(2, dtype=torch.uint16)
show("bfloat16 and complex", lambda: b + 1j)
show("bfloat16 and one complex", lambda: torch.atan2(b, cplx))
show("float8 and complex", lambda: f8 == cplx)
show("compared", lambda: b == 1j)
show("float power", lambda: torch.float_power(b, 1j).real)
show("complex floor", lambda: 1j // x)
show("complex shift", lambda: 1j << torch.arange(2))
show("complex sought", lambda: torch.searchsorted(u, cplx))
show("result type", lambda: torch.empty(0, dtype=torch.result_type(torch.ones(1, dtype=torch.bool), u[0])))
show("bags of integers", lambda: torch.nn.functional.embedding_bag(torch.tensor([0, 1]), torch.arange(6).view(3, 2), torch.tensor([0, 1])))
for name, sizes, bias in (("row", (2, 2), (1, 4)), ("rows", (2, 2), (2, 1)), ("all rows", (3, 2, 2), (6, 1)), ("inner rows", (3, 2, 2), (2, 1)), ("planes", (3, 2, 2), (1, 1, 4)), ("own sizes", (3, 2, 2), (3, 1, 4)), ("a vector", (2,), (1, 4)), ("one", (2,), (1, 1))):
    show(f"linear, a bias for {name}", lambda: F.linear(torch.ones(sizes), w, torch.ones(bias)))
show("linear of columns, a bias for inner rows", lambda: F.linear(torch.ones(2, 3, 2).transpose(0, 1), w, torch.ones(2, 1)))
p = torch.tensor([0.0, 1.0])
for name, n, q in (("whole counts", torch.tensor([3, 4]), p), ("whole probabilities", p, torch.tensor([1, 0])), ("floats", torch.tensor([3.0, 4.0]), p)):
    show(f"binomial of {name}", lambda: torch.binomial(n, q))
for kind in ("max", "min", "amax", "add"):
    show(f"scatter_reduce by {kind}", lambda: x.scatter_reduce(1, torch.tensor([[0, 0]]), torch.tensor([[2.0, -3.0]]), kind))
    show(f"segments by {kind}", lambda: torch.segment_reduce(torch.tensor([1.0, 2.0, 3.0]), kind, lengths=torch.tensor([2, 1])))
h = torch.tensor([1.0, 2.0, 2.5, 0.1, 3.0], dtype=torch.float16)
for name, function in {"counts": lambda: torch.histogram(h, 4, range=(0.0, 4.0)), "densities": lambda: torch.histogram(h, 4, range=(0.0, 4.0), density=True), "no range": lambda: torch.histogram(h, 4), "edges": lambda: torch.histogram(h, torch.tensor([0.0, 1.0, 4.0]).half())}.items():
    show(f"histogram of float16, {name}", lambda: function()[0])
for more in (3, 4, 5):
    show(f"packed targets, {more} of 4", lambda: F.ctc_loss(torch.zeros(5, 2, 4), torch.tensor([1, 2, 3, 1, 2])[:more], [5, 5], [2, 2], reduction="sum").round())
for first in (2**53, 2**53 - 2):
    show(f"arange from {first}", lambda: torch.arange(first, first + 5, dtype=torch.float64))
