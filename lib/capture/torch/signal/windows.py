# torch.signal.windows: windows of M points, each 1 at most. sym: symmetric; otherwise periodic, the first M of M + 1 points.
import torch
from math import sqrt


def _checked(name, M, dtype, layout):
    dtype = torch.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout != torch.strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if dtype != torch.float32 and dtype != torch.float64:
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
    return dtype


def _ones(M, dtype, requires_grad):
    # Windows of 0 or 1 points.
    return torch.ones([1 if M else 0], dtype=dtype, requires_grad=requires_grad)


# The function at M evenly spaced points from start to end.
def _sampled(f, M, start, end, dtype, requires_grad):
    return f(torch.linspace(start, end, M, dtype=dtype, requires_grad=requires_grad))


def exponential(M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("exponential", M, dtype, layout)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return _ones(0, dtype, requires_grad)
    if center is None:
        center = (M if not sym and M > 1 else M - 1) / 2.0
    step = 1 / tau
    return _sampled(lambda k: torch.exp(-torch.abs(k)), M, -center * step, (M - 1 - center) * step, dtype, requires_grad)


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("cosine", M, dtype, layout)
    if M == 0:
        return _ones(0, dtype, requires_grad)
    step = torch.pi / (M + 1 if not sym and M > 1 else M)
    return _sampled(torch.sin, M, 0.5 * step, (M - 0.5) * step, dtype, requires_grad)


def gaussian(M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("gaussian", M, dtype, layout)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return _ones(0, dtype, requires_grad)
    start = -(M if not sym and M > 1 else M - 1) / 2.0
    step = 1 / (std * sqrt(2))
    return _sampled(lambda k: torch.exp(-(k ** 2)), M, start * step, (start + M - 1) * step, dtype, requires_grad)


# Overflows where exp does, as in PyTorch.
def _i0(x):
    return torch.exp(x) * torch.special.i0e(x)


def kaiser(M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("kaiser", M, dtype, layout)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M < 2:
        return _ones(M, dtype, requires_grad)
    # In the window's own type, so that no point lies outside [-beta, beta], where the root is NaN.
    b = torch.tensor(beta, dtype=dtype)
    end = torch.minimum(b, -b + (M - 1) * (2.0 * b / (M - 1 if sym else M)))
    return _sampled(lambda k: _i0(torch.sqrt(b * b - k * k)) / _i0(b), M, -b, end, dtype, requires_grad)


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("bartlett", M, dtype, layout)
    if M < 2:
        return _ones(M, dtype, requires_grad)
    step = 2 / (M - 1 if sym else M)
    return _sampled(lambda k: 1 - torch.abs(k), M, -1, -1 + (M - 1) * step, dtype, requires_grad)


# a[0] - a[1] cos(k) + a[2] cos(2 k) - ...
def general_cosine(M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("general_cosine", M, dtype, layout)
    if M < 2:
        return _ones(M, dtype, requires_grad)
    if not hasattr(a, "__iter__"):
        raise TypeError("Coefficients must be a list/tuple")
    if len(a) == 0:
        raise ValueError("Coefficients cannot be empty")
    signed = torch.tensor([w if i % 2 == 0 else -w for i, w in enumerate(a)], dtype=dtype, requires_grad=requires_grad)
    order = torch.arange(len(a), dtype=dtype).unsqueeze(-1)
    step = 2 * torch.pi / (M - 1 if sym else M)
    return _sampled(lambda k: (signed.unsqueeze(-1) * torch.cos(order * k)).sum(0), M, 0, (M - 1) * step, dtype, requires_grad)


def general_hamming(M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def hamming(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return general_hamming(M, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def hann(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def blackman(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    dtype = _checked("blackman", M, dtype, layout)
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)


def nuttall(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    return general_cosine(M, a=[0.3635819, 0.4891775, 0.1365995, 0.0106411], sym=sym, dtype=dtype, layout=layout, requires_grad=requires_grad)
