# torch._higher_order_ops: control flow as subgraphs. scan, map and associative_scan go over one dimension of every tensor in xs.
import torch
from torch import _C
from torch.func import _fill, _leaves, _map
from torch.namespace import cond, while_loop


def _over_first(name, xs, dim, reverse=False):
    # xs with the dimension `dim` first, backwards if asked; and that dimension, not negative.
    leaves = _leaves(xs)
    if not leaves:
        raise ValueError(f"{name}: expected at least one tensor in xs")
    if not isinstance(dim, int):
        raise RuntimeError("Dim must be an int, but got " + str(type(dim)))
    if not isinstance(reverse, bool):
        raise RuntimeError("Reverse must be a bool, but got " + str(type(reverse)))
    dim = dim + leaves[0].dim() if dim < 0 else dim
    if any(x.dim() <= dim for x in leaves):
        raise RuntimeError(f"{name}: All xs leaves must have at least 'dim + 1' dimensions")
    if any(x.shape[dim] != leaves[0].shape[dim] for x in leaves):
        raise RuntimeError(f"{name}: All xs leaves must have the same size of dimension {dim}, got {[x.shape[dim] for x in leaves]}")
    first = _map(lambda x: x.movedim(dim, 0), xs)
    return (_map(lambda x: x.flip(0), first) if reverse else first), dim


def _back(ys, dim, reverse):
    ys = _map(lambda y: y.flip(0), ys) if reverse else ys
    return _map(lambda y: y.movedim(0, dim) if dim < y.dim() else y, ys)


def _check_carry(init, carry):
    want, got = _leaves(init), _leaves(carry)
    if len(want) != len(got):
        raise RuntimeError(f"scan: init and the new carry must have the same structure, got {len(want)} and {len(got)} tensors")
    for w, g in zip(want, got):
        if w.dtype != g.dtype or w.shape != g.shape:
            raise RuntimeError(f"scan: the carry must keep its metadata: init is {w.dtype}{list(w.shape)}, the new carry {g.dtype}{list(g.shape)}")


def _run(step, init, xs):
    # (last carry, stacked ys) over dimension 0
    if _C.capturing():
        return _C.scan(step, init, xs)
    leaves = _leaves(xs)
    ys = []
    for i in range(leaves[0].shape[0]):
        init, y = step(init, _map(lambda x: x[i], xs))
        ys.append(y)
    return init, _fill(ys[0], [torch.stack(t) for t in zip(*[_leaves(y) for y in ys])]) if ys else []


def scan(combine_fn, init, xs=None, *, dim=0, reverse=False, length=None):
    if not _leaves(init):
        raise RuntimeError("scan() operator requires init leaves.")
    counted = not _leaves(xs)
    if counted and length is None:
        return init, []
    first, dim = _over_first("scan", torch.zeros(length, dtype=torch.int64) if counted else xs, dim, reverse)
    if length is not None and _leaves(first)[0].shape[0] != length:
        raise RuntimeError(f"scan() length={length} does not match xs size along dim={dim}: {_leaves(first)[0].shape[0]}")

    def step(carry, x):
        pair = combine_fn(carry, None if counted else x)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise RuntimeError("scan: combine_fn must return a pair: the new carry and what is stacked")
        _check_carry(carry, pair[0])
        return pair[0], pair[1]

    carry, ys = _run(step, init, first)
    return carry, _back(ys, dim, reverse)


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    # One after the other: what an associative function gives in any grouping.
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}")
    first, dim = _over_first("associative_scan", xs, dim, reverse)

    def step(carry, x):
        new = combine_fn(carry, x)
        _check_carry(carry, new)
        return new, _map(lambda t: t.clone(), new)

    _, ys = _run(step, _map(lambda x: x[0], first), _map(lambda x: x[1:], first))
    joined = [torch.cat([x[:1], y]) for x, y in zip(_leaves(first), _leaves(ys))] if _leaves(ys) else _leaves(first)
    return _back(_fill(first, joined), dim, reverse)


def map(f, xs, *args):
    first, _ = _over_first("map", xs, 0)
    if _C.capturing():
        return _C.map(lambda x: f(x, *args), (first,))
    rows = [f(_map(lambda x: x[i], first), *args) for i in range(_leaves(first)[0].shape[0])]
    return _fill(rows[0], [torch.stack(t) for t in zip(*[_leaves(r) for r in rows])])
