# einops: rearrange, reduce, repeat, einsum, pack, unpack and parse_shape on tensors; einops.layers.torch holds the modules.
# A pattern is read once a rank into a plan: how to split axes, how to order them, which to reduce, which to add, how to join them.
import math
import torch


class EinopsError(RuntimeError):
    pass


_plans = {}


# "b (h w) ..." -> [["b"], ["h", "w"], "..."]: axes by name; an unnamed length n is the axis "n#place"; 1 is not an axis.
def _read(text, side):
    groups, inner, place, dots = [], None, 0, text.count("...")
    if dots > 1 or "." in text.replace("...", ""):
        raise EinopsError("Expression may contain dots only inside ellipsis (...); only one ellipsis for tensor ")
    for token in text.replace("...", " … ").replace("(", " ( ").replace(")", " ) ").split():
        place += 1
        if token == "(":
            if inner is not None:
                raise EinopsError("Axis composition is one-level (brackets inside brackets not allowed)")
            inner = []
            continue
        if token == ")":
            if inner is None:
                raise EinopsError("Brackets are not balanced")
            groups.append(inner)
            inner = None
            continue
        if token == "…":
            if inner is None:
                groups.append("…")
            else:
                inner.append("…")
            continue
        if token.isdecimal():
            if int(token) == 0:
                raise EinopsError("Anonymous axis should have positive length, not 0")
            names = [] if int(token) == 1 else [f"{token}#{side}{place}"]
        else:
            if not token.isidentifier() or token[0] == "_" or token[-1] == "_":
                raise EinopsError(f"Invalid axis identifier: {token}\n" + ("axis name should should not start or end with underscore" if token.isidentifier() else "not a valid python identifier"))
            names = [token]
        if inner is None:
            groups.append(names)
        else:
            inner.extend(names)
    if inner is not None:
        raise EinopsError('Imbalanced parentheses in expression: "' + text + '"')
    seen = set()
    for group in groups:
        for name in group:
            if name in seen:
                raise EinopsError(f'Indexing expression contains duplicate dimension "{name}"')
            seen.add(name)
    return groups, seen


def _named(names):
    return {n for n in names if "#" not in n and n != "…"}


# The ellipsis stands for the axes …0, …1 and so on, as many as the tensor's rank leaves.
def _spread(groups, count):
    out = []
    for group in groups:
        if group == "…":
            out.extend([f"…{i}"] for i in range(count))
        else:
            out.append([b for a in group for b in ([f"…{i}" for i in range(count)] if a == "…" else [a])])
    return out


def _plan(pattern, operation, given, rank):
    if pattern.count("->") != 1:
        raise EinopsError("A pattern has one '->' between its two sides")
    before, after = pattern.split("->")
    left, left_names = _read(before, "l")
    right, right_names = _read(after, "r")
    if "…" in right_names and "…" not in left_names:
        raise EinopsError(f"Ellipsis found in right side, but not left side of a pattern {pattern}")
    if "…" in left_names and "…" not in left:
        raise EinopsError(f"Ellipsis inside parenthesis in the left side is not allowed: {pattern}")
    if operation == "rearrange":
        if any("#" in n for n in left_names | right_names):
            raise EinopsError("Non-unitary anonymous axes are not supported in rearrange (exception is length 1)")
        difference = left_names ^ right_names
        if difference:
            raise EinopsError(f"Identifiers only on one side of expression (should be on both): {sorted(difference)}")
    elif operation == "repeat":
        difference = left_names - right_names
        if difference:
            raise EinopsError(f"Unexpected identifiers on the left side of repeat: {sorted(difference)}")
        without = _named(right_names) - _named(left_names) - set(given)
        if without:
            raise EinopsError(f"Specify sizes for new axes in repeat: {sorted(without)}")
    else:
        difference = _named(right_names) - left_names
        if difference:
            raise EinopsError(f"Unexpected identifiers on the right side of reduce {operation}: {sorted(difference)}")
        if any("#" in n for n in right_names):
            raise EinopsError(f"An axis of the right side of reduce {operation} has no size on the left")
    for name in given:
        if not name.isidentifier():
            raise EinopsError("Invalid name for an axis", name)
        if name not in left_names and name not in right_names:
            raise EinopsError(f"Axis {name} is not used in transform")
    if "…" in left_names:
        if rank < len(left) - 1:
            raise EinopsError(f"Wrong shape: expected >={len(left) - 1} dims. Received {rank}-dim tensor.")
        left, right = _spread(left, rank - len(left) + 1), _spread(right, rank - len(left) + 1)
    elif rank != len(left):
        raise EinopsError(f"Wrong shape: expected {len(left)} dims. Received {rank}-dim tensor.")
    flat_left = [a for group in left for a in group]
    flat_right = [a for group in right for a in group]
    kept = [a for a in flat_right if a in flat_left]
    reduced = [a for a in flat_left if a not in kept]
    lengths = {a: int(a[:a.index("#")]) for a in flat_left + flat_right if "#" in a}
    order = [flat_left.index(a) for a in kept + reduced]
    return {"left": left, "right": right, "flat": flat_left, "lengths": lengths, "kept": len(kept), "reduced": len(reduced),
            "order": None if order == list(range(len(order))) else order, "new": [i for i, a in enumerate(flat_right) if a not in flat_left],
            "flat_right": flat_right, "split": any(len(g) != 1 for g in left), "join": any(len(g) != 1 for g in right)}


def _sizes(plan, shape, given):
    sizes = {**plan["lengths"], **given}
    for group, length in zip(plan["left"], shape):
        if len(group) == 1 and group[0] not in sizes:
            sizes[group[0]] = length
            continue
        known, unknown = 1, None
        for name in group:
            if name in sizes:
                known = known * sizes[name]
            elif unknown is None:
                unknown = name
            else:
                raise EinopsError(f"Could not infer sizes for {sorted({a for a in group if a not in sizes})}")
        if unknown is None:
            if length != known:
                raise EinopsError(f"Shape mismatch, {length} != {known}")
        else:
            if length % known != 0:
                raise EinopsError(f"Shape mismatch, can't divide axis of length {length} in chunks of {known}")
            sizes[unknown] = length // known
    return sizes


def _reduce_axes(x, reduction, first, count):
    axes = tuple(range(first, first + count))
    if callable(reduction):
        return reduction(x, axes)
    if reduction == "min":
        return x.amin(axes)
    if reduction == "max":
        return x.amax(axes)
    if reduction == "sum":
        return x.sum(axes)
    if reduction == "mean":
        if not x.is_floating_point() and not x.is_complex():
            raise EinopsError("reduce_mean is not available for non-floating tensors")
        return x.mean(axes)
    if reduction not in ("prod", "any", "all"):
        raise EinopsError(f"Unknown reduction {reduction}. Expect one of ('min', 'max', 'sum', 'mean', 'prod', 'any', 'all').")
    for axis in reversed(axes):
        x = x.prod(axis) if reduction == "prod" else x.any(axis) if reduction == "any" else x.all(axis)
    return x


def _apply(tensor, pattern, operation, given):
    if isinstance(tensor, (list, tuple)):
        if len(tensor) == 0:
            raise TypeError("Rearrange/Reduce/Repeat can't be applied to an empty list")
        tensor = torch.stack(list(tensor))
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"Tensor type unknown to einops {type(tensor)}")
    try:
        key = (pattern, "reduce" if callable(operation) else operation, tensor.dim(), tuple(given))
        plan = _plans.get(key)
        if plan is None:
            plan = _plans[key] = _plan(pattern, key[1], given, tensor.dim())
        sizes = _sizes(plan, tensor.shape, given)
        x = tensor.reshape([sizes[a] for a in plan["flat"]]) if plan["split"] else tensor
        if plan["order"]:
            x = x.permute(plan["order"])
        if plan["reduced"]:
            x = _reduce_axes(x, operation, plan["kept"], plan["reduced"])
        if plan["new"]:
            for i in plan["new"]:
                x = x.unsqueeze(i)
            x = x.expand([sizes[a] for a in plan["flat_right"]])
        if plan["join"]:
            x = x.reshape([math.prod([sizes[a] for a in group]) for group in plan["right"]])
        return x
    except EinopsError as e:
        raise EinopsError(f' Error while processing {operation}-reduction pattern "{pattern}".\n Input tensor shape: {tensor.shape}. Additional info: {given}.\n {e}')


def rearrange(tensor, pattern, **axes_lengths):
    return _apply(tensor, pattern, "rearrange", axes_lengths)


def reduce(tensor, pattern, reduction, **axes_lengths):
    return _apply(tensor, pattern, reduction, axes_lengths)


def repeat(tensor, pattern, **axes_lengths):
    return _apply(tensor, pattern, "repeat", axes_lengths)


def parse_shape(x, pattern):
    groups, names = _read(pattern.replace("_", " 1 ") if "_" in pattern.split() else pattern, "l")
    if "…" in groups:
        if len(x.shape) < len(groups) - 1:
            raise RuntimeError(f"Can't parse shape with this number of dimensions: {x.shape} {pattern}")
        at = groups.index("…")
        groups = groups[:at] + [[]] * (len(x.shape) - len(groups) + 1) + groups[at + 1:]
    elif len(groups) != len(x.shape):
        raise RuntimeError(f"Can't parse shape with different number of dimensions: {x.shape} {pattern}")
    if any(len(g) > 1 for g in groups):
        raise RuntimeError(f"Can't parse shape with composite axes: {pattern} {x.shape}")
    return {g[0]: n for g, n in zip(groups, x.shape) if g}


# Axis names of any length become the letters of torch.einsum.
def _letters(pattern):
    if "->" not in pattern:
        raise ValueError("Einsum pattern must contain right-hand side")
    before, after = pattern.split("->")
    letters, sides = {}, []
    for text in before.split(",") + [after]:
        groups, names = _read(text, "l")
        if any(len(g) != 1 for g in groups) or any("#" in n for n in names):
            raise NotImplementedError("Shape rearrangement is not yet supported in einsum.")
        for group in groups:
            if group != "…" and group[0] not in letters:
                if len(letters) == 52:
                    raise RuntimeError("Too many axes in einsum.")
                letters[group[0]] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[len(letters)]
        sides.append("".join(["..." if g == "…" else letters[g[0]] for g in groups]))
    return ",".join(sides[:-1]) + "->" + sides[-1]


def einsum(*tensors_and_pattern):
    if len(tensors_and_pattern) <= 1:
        raise ValueError("`einops.einsum` takes at minimum two arguments: the tensors (at least one), followed by the pattern.")
    pattern = tensors_and_pattern[-1]
    if not isinstance(pattern, str):
        raise ValueError("The last argument passed to `einops.einsum` must be a string, representing the einsum pattern.")
    return torch.einsum(_letters(pattern), *tensors_and_pattern[:-1])


def _pack_sides(pattern, name):
    axes = pattern.split()
    if len(axes) != len(set(axes)):
        raise EinopsError(f'Duplicates in axes names in {name}(..., "{pattern}")')
    if "*" not in axes:
        raise EinopsError(f'No *-axis in {name}(..., "{pattern}")')
    for a in axes:
        if a != "*" and not a.isidentifier():
            raise EinopsError(f'Invalid axis name {a} in {name}(..., "{pattern}")')
    return axes.index("*"), len(axes) - axes.index("*") - 1


def pack(tensors, pattern):
    before, after = _pack_sides(pattern, "pack")
    parts, shapes = [], []
    for i, t in enumerate(tensors):
        rank = t.dim()
        if rank < before + after:
            raise EinopsError(f"packed tensor #{i} (enumeration starts with 0) has shape {t.shape}, while pattern {pattern} assumes at least {before + after} axes")
        shape = t.shape
        shapes.append(shape[before:rank - after])
        parts.append(t.reshape((*shape[:before], math.prod(shapes[-1]), *shape[rank - after:])))
    return torch.cat(parts, dim=before), shapes


def unpack(tensor, packed_shapes, pattern):
    before, after = _pack_sides(pattern, "unpack")
    if tensor.dim() != before + 1 + after:
        raise EinopsError(f"unpack(..., {pattern}) received input of wrong dim with shape {tensor.shape}")
    lengths = [None if any(isinstance(n, int) and n == -1 for n in s) else math.prod(s) for s in packed_shapes]
    unknown = [i for i, n in enumerate(lengths) if n is None]
    if len(unknown) > 1:
        raise EinopsError(f"unpack(..., {pattern}) received more than one -1 in {packed_shapes} and can't infer dimensions")
    if unknown:
        lengths[unknown[0]] = tensor.shape[before] - sum(n for n in lengths if n is not None)
    if sum(lengths) != tensor.shape[before]:
        raise EinopsError(f"Error during unpack(..., \"{pattern}\"): could not split axis of size {tensor.shape[before]} into requested {packed_shapes}")
    shape, at, out = tensor.shape, 0, []
    for n, s in zip(lengths, packed_shapes):
        out.append(tensor.narrow(before, at, n).reshape((*shape[:before], *s, *shape[before + 1:])))
        at = at + n
    return out
