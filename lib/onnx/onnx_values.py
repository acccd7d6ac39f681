# Values of the importer that are no plain tensors.
import _onnx
import torch


class Missing(ValueError):
    pass


class Weight:
    """An initialiser of floats: becomes a parameter of the program when a rule takes it as a tensor."""

    def __init__(self, data, name):
        self.data, self.name, self.placed, self.made = data, name, False, {}

    def part(self, suffix, make, *args):
        """make(elements, ...) as a parameter of its own: one however many nodes use it. Of a weight that is a parameter already, a result."""
        if self.placed:
            return make(self.data, *args)
        if suffix not in self.made:
            self.made[suffix] = Weight(_onnx.eager(make, self.data, *args), self.name + suffix)
        return tensor(self.made[suffix])


class Coded:
    """Elements of an ONNX type without a dtype. Data-dependent strings (8) are indices into the list of possible strings."""

    def __init__(self, code, t, words=()):
        self.code, self.t, self.words = code, t, list(words)

    def moved(self, t):
        return Coded(self.code, t, self.words)

    def name(self):
        return {8: "string", 18: "float8e4m3fnuz", 20: "float8e5m2fnuz", 21: "uint4", 22: "int4", 23: "float4e2m1", 24: "float8e8m0", 25: "uint2",
                26: "int2"}.get(self.code, "?")


class Strings:
    def __init__(self, shape, items):
        self.shape, self.items = list(shape), list(items)


class Host:
    """A tensor of rank 0 or more, its elements in row-major order as numbers or symbolic numbers."""

    def __init__(self, shape, items, dtype):
        self.shape, self.items, self.dtype = list(shape), list(items), dtype

    @staticmethod
    def of(t):
        return Host(t.shape, numbers(t), t.dtype)

    def is_constant(self):
        for x in self.items:
            if not _onnx.number(x):
                return False
        return True


def flat(x, out):
    if isinstance(x, list):
        for y in x:
            flat(y, out)
    else:
        out.append(x)
    return out


def _tolist(t):
    return t.tolist()


def numbers(t):
    """The elements of a concrete tensor as a list."""
    if isinstance(t, Host):
        return t.items
    if isinstance(t, Coded):
        t = t.t
    return flat(_onnx.eager(_tolist, t), [])


def _make(items, dtype, shape):
    return torch.tensor(items, dtype=dtype).reshape(shape)


def constant(h):
    return _onnx.eager(_make, h.items, h.dtype, h.shape)


def tensor(v):
    """v as a tensor: hosts are built, weights become parameters."""
    if isinstance(v, Host):
        if v.is_constant():
            return constant(v)
        t = torch.tensor(v.items if v.shape else v.items[0], dtype=v.dtype)
        return t if len(v.shape) <= 1 else t.reshape(v.shape)
    if isinstance(v, Weight):
        if not v.placed:
            v.placed = True
            v.data = _onnx.parameter(v.data, v.name) if v.name else v.data
        return v.data
    if isinstance(v, Coded):
        return v.t
    return v


def is_small(v):
    return isinstance(v, Host)


def sizes_of(v):
    if isinstance(v, (Host, Strings)):
        return v.shape
    if isinstance(v, Weight):
        return list(v.data.shape)
    if isinstance(v, Coded):
        return list(v.t.shape)
    return list(v.shape)
