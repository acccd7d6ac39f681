"""x[key] and x[key] = value: which types are converted, masks beside other indices, more than one ellipsis, strides and offsets of views."""
import torch

t = torch.tensor


def show(name, function):
    try:
        r = function()
        print(name, r.tolist(), r.stride(), r.storage_offset())
    except Exception as e:
        print(name, type(e).__name__)


def put(dtype, key, value):
    x = torch.zeros(3, 2, dtype=dtype)
    x[key] = value
    return x


keys = {"tensor": t([0, 2]), "mask": t([True, False, True]), "mask of all": t([[True, False], [False, True], [False, False]]), "list": [1], "int": 1, "slice": slice(0, 2),
        "True": True, "False": False, "0-d": t(1), "0-d mask": t(True), "mixed": (slice(None), t([1])), "dots": ...}
for value in (t(1.5), t([True]), t([[1.5, 2.5]]), 2.5, 1j, t(1j)):
    for name, key in keys.items():
        show(f"{value} at {name}", lambda: put(torch.int64, key, value))
        show(f"{value} at {name} of bool", lambda: put(torch.bool, key, value))
x = torch.arange(24).reshape(2, 3, 4)
show("mask of one beside two", lambda: x[[False, True], [0, 2]])
show("mask tensor of one beside two", lambda: x[t([False, True]), t([0, 2]), :2])
show("mask of none", lambda: x[[False, False], t([0])])
show("mask of another length", lambda: x[[True, False, True], [0]])
show("two ellipses", lambda: x[..., 1, ...])
show("ellipses too far", lambda: x[..., ..., 1])
show("step over one", lambda: x[:, ::3])
print(f"{t(2)} {t(2.5):.2f} {t(True)} {t([1])} {torch.nn.Parameter(t(1.0)).data}", "%s" % t(3), "{} {!r}".format(t(4), t(5)))

# strides of results: by columns, with room between the rows, one dimension of indices after the other, slices of unique
M, R, grid = torch.eye(3).repeat(2, 1, 1), torch.ones(2, 3, 2), torch.arange(24.).view(4, 3, 2)
print(torch.linalg.solve_triangular(M, R, upper=True).stride(), torch.triangular_solve(R, M)[0].stride(), torch.linalg.lstsq(torch.ones(5, 3), torch.ones(5, 2))[0].stride())
LD, pivots = torch.linalg.ldl_factor(M)
print(torch.linalg.ldl_solve(LD, pivots, R).stride(), torch.nonzero(torch.eye(3)).stride(), torch.argwhere(torch.eye(3)).stride(), [t.stride() for t in torch.eye(3).nonzero(as_tuple=True)])
print(torch.unique(grid, dim=1).stride(), torch.unique_consecutive(grid, dim=2).stride(), torch.mvlgamma(grid.mT + 3, 2).stride(), torch.arange(8.)[::2].ravel().stride())
