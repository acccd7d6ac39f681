# Sequences and optionals. A sequence is a list whose length is known when the program is made; an optional is its value or None.
import torch
from onnx_values import Host, numbers, tensor
import _onnx


def position(n, i, value):
    k = n.known(i) if value is not None else None
    if value is not None and k is None:
        _onnx.wants(n.inputs[i])
        n.fail(f"the position '{n.inputs[i]}' must be known when the program is made: give its value with --input")
    return k[0] if k else None


def insert(n, seq, t, at=None):
    k = position(n, 2, at)
    k = len(seq) if k is None else k
    if not -len(seq) <= k <= len(seq):
        n.fail(f"position {k} in a sequence of {len(seq)}")
    k = k + len(seq) if k < 0 else k
    return list(seq[:k]) + [t] + list(seq[k:])


def at(n, seq, k):
    k = position(n, 1, k)
    if not -len(seq) <= k < len(seq):
        n.fail(f"position {k} in a sequence of {len(seq)}")
    return seq[k]


def erase(n, seq, k=None):
    k = position(n, 1, k)
    k = len(seq) - 1 if k is None else k
    if not -len(seq) <= k < len(seq):
        n.fail(f"position {k} in a sequence of {len(seq)}")
    k = k + len(seq) if k < 0 else k
    return list(seq[:k]) + list(seq[k + 1:])


def split(n, x, sizes=None):
    axis, keep = n.get("axis", 0), n.get("keepdims", 1)
    length = x.shape[axis]
    if sizes is None:
        if not _onnx.number(length):
            n.unsupported("a sequence of as many elements as a size that is not known")
        parts = [x.narrow(axis, i, 1) for i in range(length)]
        return [p if keep else p.squeeze(axis) for p in parts]
    known = n.known(1)
    if known is None:
        _onnx.wants(n.inputs[1])
        n.fail("the sizes of the parts must be known when the program is made")
    if len(tensor(sizes).shape) == 0:
        if not _onnx.number(length):
            n.unsupported("a sequence of as many parts as a size that is not known says")
        known = [min(known[0], length - i) for i in range(0, length, known[0])]
    return list(torch.split(x, known, axis))


def concat(n, seq):
    parts = [tensor(v) for v in seq]
    if n.get("new_axis", 0):
        return torch.stack(parts, n.get("axis"))
    return torch.cat(parts, n.get("axis"))


def each(n, seq, *more):
    """SequenceMap: the body for every element; other sequences give their own elements, tensors are the same for all."""
    model, scope, body = n.scope.model, n.scope, n.get("body")
    out = [[] for _ in body["outputs"]]
    for i in range(len(seq)):
        args = [seq[i]] + [m[i] if isinstance(m, list) else m for m in more]
        for o, v in zip(out, model.run_body(scope, body, args)):
            o.append(v)
    return tuple(out)


def optional(n, v=None):
    return v


def has_element(n, v=None):
    return _onnx.eager(_flag, v is not None)


def _flag(b):
    return torch.tensor(b)


def get_element(n, v):
    if v is None:
        n.fail("the optional holds nothing")
    return v


TABLE = [
    ("", "SequenceEmpty", 11, lambda n: [], ""), ("", "SequenceConstruct", 11, lambda n, *xs: list(xs), "r"),
    ("", "SequenceInsert", 11, insert, "RRr"), ("", "SequenceAt", 11, at, "RR"), ("", "SequenceErase", 11, erase, "Rr"),
    ("", "SequenceLength", 11, lambda n, s: Host([], [len(s)], torch.int64), "R"), ("", "SplitToSequence", 11, split, "Tr"),
    ("", "ConcatFromSequence", 11, concat, "R"), ("", "SequenceMap", 17, each, "r"), ("", "Optional", 15, optional, "r"),
    ("", "OptionalHasElement", 15, has_element, "r"), ("", "OptionalGetElement", 15, get_element, "r"),
]
