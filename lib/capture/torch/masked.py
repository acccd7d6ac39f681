# torch.masked: reductions and normalisations of the elements that a mask keeps (where it is true). The mask broadcasts to the input;
# what it leaves out is replaced by the value that does not change the result, so the rest is the plain operation.
import torch
import torch.nn.functional as F

_inf = float("inf")
# Names below hide these builtins in this file.
_bool = bool
_small_ints = (torch.uint8, torch.bool, torch.int8, torch.int16, torch.int32)


def _dims(dim, ndim):
    if dim is None or (isinstance(dim, tuple) and len(dim) == 0):
        return tuple(range(ndim))
    ndim = max(ndim, 1)
    out = []
    for d in dim if isinstance(dim, (tuple, list)) else (dim,):
        if d in out:
            raise RuntimeError(f"dim={d} appears multiple times in the list of dims")
        if d >= ndim or d < -ndim:
            raise IndexError(f"Dimension out of range (expected to be in range of [{-ndim}, {ndim - 1}], but got {d})")
        out.append(d % ndim)
    return tuple(sorted(out))


def _mask_of(input, mask):
    if mask.dim() > input.dim():
        raise IndexError("_input_mask expected broadcastable mask (got mask dimensionality higher than of the input)")
    return torch.broadcast_to(mask.to(torch.bool), input.shape)


def _extreme(name, dtype, lowest):
    if dtype.is_floating_point:
        return -_inf if lowest else _inf
    if dtype.is_complex and name == "logsumexp":
        return -_inf
    if dtype == torch.bool or dtype.is_complex:
        raise NotImplementedError(f"identity of {name} on {dtype} input")
    return torch.iinfo(dtype).min if lowest else torch.iinfo(dtype).max


def _filled(input, mask, value):
    if mask is None:
        return input
    return torch.where(_mask_of(input, mask), input, torch.full([], value, dtype=input.dtype))


def _lowest(name, input, mask):
    return input if mask is None else _filled(input, mask, _extreme(name, input.dtype, True))


def _highest(name, input, mask):
    return input if mask is None else _filled(input, mask, _extreme(name, input.dtype, False))


def _sum_dtype(input, dtype):
    if dtype is not None:
        return dtype
    return torch.int64 if input.dtype in _small_ints else input.dtype


# How many elements each result has: a number, or a tensor of the mask's counts.
def _count(input, dim, keepdim, mask):
    if mask is not None:
        return _mask_of(input, mask).sum(dim=_dims(dim, input.dim()), keepdim=_bool(keepdim))
    n = 1
    for d in _dims(dim, input.dim()) if input.dim() else ():
        n = n * input.shape[d]
    return n


def sum(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return torch.sum(_filled(input, mask, 0), _dims(dim, input.dim()), _bool(keepdim), dtype=_sum_dtype(input, dtype))


def prod(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    result = _filled(input, mask, 1).to(_sum_dtype(input, dtype))
    for d in reversed(_dims(dim, input.dim())):
        result = result.prod(dim=d, keepdim=_bool(keepdim))
    return result


def cumsum(input, dim, *, dtype=None, mask=None):
    dtype = input.dtype if dtype is None else dtype
    return torch.cumsum(_filled(input, mask, 0), _dims(dim, input.dim())[0], dtype=dtype)


def cumprod(input, dim, *, dtype=None, mask=None):
    dtype = input.dtype if dtype is None else dtype
    return torch.cumprod(_filled(input, mask, 1), _dims(dim, input.dim())[0], dtype=dtype)


def amax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    r = torch.amax(_lowest("amax", input, mask), _dims(dim, input.dim()), _bool(keepdim))
    return r if dtype is None else r.to(dtype)


def amin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    r = torch.amin(_highest("amin", input, mask), _dims(dim, input.dim()), _bool(keepdim))
    return r if dtype is None else r.to(dtype)


def argmax(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return torch.argmax(_lowest("argmax", input, mask), dim, _bool(keepdim)).to(input.dtype if dtype is None else dtype)


def argmin(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return torch.argmin(_highest("argmin", input, mask), dim, _bool(keepdim)).to(input.dtype if dtype is None else dtype)


def mean(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    source = "Input" if dtype is None else "Optional"
    dtype = input.dtype if dtype is None else dtype
    if not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"mean(): Could not infer output dtype. {source} dtype must be either a floating point or complex dtype. Got: {dtype}")
    return sum(input, dim, keepdim=keepdim, dtype=dtype, mask=mask) / _count(input, dim, keepdim, mask)


def median(input, dim=-1, *, keepdim=False, dtype=None, mask=None):
    floating = torch.is_floating_point(input)
    x = input if floating else input.to(torch.float32)
    r = torch.nanmedian(_filled(x, mask, float("nan")), _dims(dim, input.dim())[0], keepdim).values
    if floating:
        return r
    if mask is not None and torch.isnan(r).any():
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    return r.to(input.dtype if dtype is None else dtype)


def logsumexp(input, dim=None, *, keepdim=False, dtype=None, mask=None):
    return torch.logsumexp(_lowest("logsumexp", input, mask), _dims(dim, input.dim()), keepdim=keepdim).to(input.dtype if dtype is None else dtype)


def logaddexp(input, other, *, dtype=None, input_mask=None, other_mask=None):
    r = torch.logaddexp(_lowest("logaddexp", input, input_mask), _lowest("logaddexp", other, other_mask))
    return r.to(input.dtype if dtype is None else dtype)


def norm(input, ord=2.0, dim=None, *, keepdim=False, dtype=None, mask=None):
    x = _filled(input, mask, _inf if ord == -_inf else 0)
    return torch.linalg.vector_norm(x, ord, _dims(dim, input.dim()), _bool(keepdim), dtype=input.dtype if dtype is None else dtype)


def _moment(input, dim, unbiased, correction, keepdim, dtype, mask):
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    if correction is None:
        correction = 1.0 if unbiased is None or unbiased else 0.0
    if dtype is None:
        dtype = input.dtype if input.dtype.is_floating_point or input.dtype.is_complex else torch.float32
    up = dtype if dtype.is_floating_point or dtype.is_complex else torch.float32
    count = _count(input, dim, True, mask)
    x = input - sum(input, dim, keepdim=True, dtype=dtype, mask=mask) / count
    total = sum(x * x.conj(), dim, keepdim=keepdim, dtype=up, mask=mask)
    if mask is None:
        return (total / max(count - correction, 0)).to(dtype)
    count = count.reshape(total.shape)
    if correction != 0:
        count = count.to(up.to_real()) - correction
        count = torch.maximum(count, count.new_zeros([]))
    return (total / count).to(dtype)


def var(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    return _moment(input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input, dim=None, unbiased=None, *, correction=None, keepdim=False, dtype=None, mask=None):
    return torch.sqrt(_moment(input, dim, unbiased, correction, keepdim, dtype, mask))


def softmax(input, dim, *, dtype=None, mask=None):
    return F.softmax(_lowest("amax", input, mask), _dims(dim, input.dim())[0], dtype=input.dtype if dtype is None else dtype)


def log_softmax(input, dim, *, dtype=None, mask=None):
    return F.log_softmax(_lowest("amax", input, mask), _dims(dim, input.dim())[0], dtype=input.dtype if dtype is None else dtype)


def softmin(input, dim, *, dtype=None, mask=None):
    return F.softmin(_highest("amin", input, mask), _dims(dim, input.dim())[0], dtype=input.dtype if dtype is None else dtype)


def normalize(input, ord, dim, *, eps=1e-12, dtype=None, mask=None):
    n = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return _filled(input, mask, 0) / torch.maximum(n, n.new_full([], eps))
