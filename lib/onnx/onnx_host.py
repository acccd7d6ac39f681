# Operators on Hosts: arithmetic on shapes, element by element, on numbers and symbolic numbers. A rule gives None when it does not apply.
import torch
from onnx_values import Host, numbers
import _onnx

LIMIT = 64


def sym(x):
    return not _onnx.number(x)


def product(shape):
    n = 1
    for d in shape:
        n *= d
    return n


def strides(shape, out):
    """Strides over the elements of `shape` for indexing by an output of sizes `out` (broadcast dimensions: 0)."""
    s, n = [0] * len(out), 1
    for d in range(len(shape) - 1, -1, -1):
        if shape[d] != 1:
            s[d + len(out) - len(shape)] = n
        n *= shape[d]
    return s


def broadcast(shapes):
    rank = max([len(s) for s in shapes])
    out = [1] * rank
    for s in shapes:
        for i, d in enumerate(s):
            k = i + rank - len(s)
            if d != 1:
                if out[k] != 1 and out[k] != d:
                    raise ValueError(f"sizes {shapes} do not broadcast")
                out[k] = d
    return out


def elementwise(f, args, dtype):
    shape = broadcast([a.shape for a in args])
    n = product(shape)
    if n > LIMIT:
        return None
    st = [strides(a.shape, shape) for a in args]
    items = []
    index = [0] * len(shape)
    for k in range(n):
        at = [sum([i * s for i, s in zip(index, s2)]) for s2 in st]
        items.append(f(*[a.items[p] for a, p in zip(args, at)]))
        for d in range(len(shape) - 1, -1, -1):
            index[d] += 1
            if index[d] < shape[d]:
                break
            index[d] = 0
    return Host(shape, items, dtype)


def is_int(d):
    return not d.is_floating_point and d != torch.bool


def trunc_div(a, b):
    if not sym(a) and not sym(b):
        if b == 0:
            raise ValueError("division by zero in a shape")
        q = abs(a) // abs(b)
        return q if (a >= 0) == (b >= 0) else -q
    return a // b  # sizes are never negative


def divide(n, a, b):
    if is_int(a.dtype):
        return elementwise(trunc_div, [a, b], a.dtype)
    return elementwise(lambda x, y: x / y, [a, b], a.dtype)


def binary(f):
    return lambda n, a, b: elementwise(f, [a, b], a.dtype)


def compare(f):
    return lambda n, a, b: elementwise(f, [a, b], torch.bool)


def unary(f):
    return lambda n, a: elementwise(f, [a], a.dtype)


def modulo(n, a, b):
    if n.get("fmod", 0):
        return None
    return elementwise(lambda x, y: x % y, [a, b], a.dtype)


def extreme(f):
    def rule(n, *args):
        out = args[0]
        for a in args[1:]:
            out = elementwise(f, [out, a], out.dtype)
        return out

    return rule


def cast(n, a, *rest):
    from onnx_import import DTYPES, CODED

    to = n.get("to")
    if to is None or to in CODED or to not in DTYPES:
        return None
    d = DTYPES[to]
    if d == torch.bool:
        return Host(a.shape, [x != 0 for x in a.items], d)
    if d.is_floating_point:
        return Host(a.shape, [float(x) if not sym(x) else torch.sym_float(x) for x in a.items], d)
    if a.dtype.is_floating_point or a.dtype == torch.bool:
        for x in a.items:
            if sym(x) and a.dtype == torch.bool:
                return None
        return Host(a.shape, [int(x) if not sym(x) else torch.sym_int(x) for x in a.items], d)
    return Host(a.shape, a.items, d)


def cast_like(n, a, b):
    if a.dtype == b.dtype:
        return a
    return None


def where(n, c, a, b):
    for x in c.items:
        if sym(x):
            return elementwise(lambda k, x, y: x if bool(k) else y, [c, a, b], a.dtype)
    return elementwise(lambda k, x, y: x if k else y, [c, a, b], a.dtype)


def pow_(n, a, b):
    for x in b.items:
        if sym(x):
            return None
    return elementwise(lambda x, y: x ** (int(y) if y == int(y) else y), [a, b], a.dtype)


def rounding(f):
    return lambda n, a: Host(a.shape, [f(x) for x in a.items], a.dtype)


def _floor(x):
    import math

    return float(math.floor(x)) if not sym(x) else torch.sym_float(math.floor(x))


def _ceil(x):
    import math

    return float(math.ceil(x)) if not sym(x) else torch.sym_float(math.ceil(x))


def reduce(f, start):
    def rule(n, a, axes=None):
        if len(a.shape) > 1:
            return None
        keep = n.get("keepdims", 1) == 1
        if axes is not None and not axes.items and n.get("noop_with_empty_axes", 0) == 1:
            return a
        out = start
        for i, x in enumerate(a.items):
            out = x if i == 0 and start is None else f(out, x)
        return Host([1] if keep and a.shape else [], [out], a.dtype)

    return rule


def _index(shape, offset):
    n = product(shape)
    return torch.arange(offset, offset + n, dtype=torch.int64).reshape(shape)


def moved(positions):
    """Operators that move elements: runs on the positions of elements and maps the result back. positions: which inputs hold data
    (None: all); others must be known."""

    def rule(n, *args):
        from onnx_tables import find

        pool, values = [], []
        for i, a in enumerate(args):
            if a is None:
                values.append(None)
            elif positions is None or i in positions:
                values.append(_onnx.eager(_index, a.shape, len(pool)))
                pool = pool + a.items
            else:
                if not a.is_constant():
                    return None
                values.append(a)
        row = find("", n.op, n.version)
        out = _onnx.eager(n.scope.model.call, n, row, values)
        dtype = args[0].dtype
        if isinstance(out, tuple):
            return tuple([Host(t.shape, [pool[k] for k in numbers(t)], dtype) for t in out])
        if out.numel() > LIMIT:
            return None
        return Host(out.shape, [pool[k] for k in numbers(out)], dtype)

    return rule


def shape_of(n, a):
    start, end = n.get("start", 0), n.get("end", None)
    s = a.shape[start:] if end is None else a.shape[start:end]
    return Host([len(s)], s, torch.int64)


HOST = {
    "Add": binary(lambda x, y: x + y), "Sub": binary(lambda x, y: x - y), "Mul": binary(lambda x, y: x * y), "Div": divide, "Mod": modulo,
    "Neg": unary(lambda x: -x), "Abs": unary(lambda x: abs(x)), "Min": extreme(lambda x, y: torch.sym_min(x, y)),
    "Max": extreme(lambda x, y: torch.sym_max(x, y)), "Pow": pow_, "Floor": rounding(_floor), "Ceil": rounding(_ceil),
    "Equal": compare(lambda x, y: x == y), "Less": compare(lambda x, y: x < y), "Greater": compare(lambda x, y: x > y),
    "LessOrEqual": compare(lambda x, y: x <= y), "GreaterOrEqual": compare(lambda x, y: x >= y),
    "Not": lambda n, a: Host(a.shape, [torch.sym_not(x) if sym(x) else not x for x in a.items], torch.bool),
    "And": compare(lambda x, y: bool(x) and bool(y)), "Or": compare(lambda x, y: bool(x) or bool(y)),
    "Where": where, "Cast": cast, "CastLike": cast_like, "Shape": shape_of,
    "Size": lambda n, a: Host([], [product(a.shape)], torch.int64),
    "ReduceProd": reduce(lambda x, y: x * y, 1), "ReduceSum": reduce(lambda x, y: x + y, 0),
    "ReduceMax": reduce(lambda x, y: torch.sym_max(x, y), None), "ReduceMin": reduce(lambda x, y: torch.sym_min(x, y), None),
    "Gather": moved((0,)), "Concat": moved(None), "Slice": moved((0,)), "Squeeze": moved((0,)), "Unsqueeze": moved((0,)),
    "Reshape": moved((0,)), "Transpose": moved((0,)), "Flatten": moved((0,)), "Identity": lambda n, a: a, "Expand": moved((0,)),
    "Tile": moved((0,)), "Split": moved((0,)), "GatherElements": moved((0,)), "GatherND": moved((0,)),
}
