# Pooling of torch.nn.functional: strides default to the kernel, indices are returned on request.
import torch

_aten, _nn = torch.ops.aten, torch._C._nn


def _n(v, n):
    return list(v) if isinstance(v, (tuple, list, torch.Tensor)) and not (isinstance(v, torch.Tensor) and v.dim() == 0) else [v] * n


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    op = _nn.max_pool1d_with_indices if return_indices else torch.max_pool1d
    return op(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    op = _nn.max_pool2d_with_indices if return_indices else torch.max_pool2d
    return op(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool3d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    op = _nn.max_pool3d_with_indices if return_indices else torch.max_pool3d
    return op(input, kernel_size, stride, padding, dilation, ceil_mode)


def max_pool1d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool2d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def max_pool3d_with_indices(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False):
    return max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode, True)


def _unpool_size(input, kernel, stride, padding, output_size, n):
    default = [(input.shape[-n + i] - 1) * stride[i] + kernel[i] - 2 * padding[i] for i in range(n)]
    if output_size is None:
        return default
    size = list(output_size)
    if len(size) == n + 2:
        size = size[2:]
    if len(size) != n:
        raise ValueError(f"output_size should be a sequence containing {n} or {n + 2} elements, but it has a length of '{len(size)}'")
    for i in range(n):
        if not default[i] - stride[i] < size[i] < default[i] + stride[i]:
            raise ValueError(f'invalid output_size "{size}" (dim {i} must be between {default[i] - stride[i]} and {default[i] + stride[i]})')
    return size


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    k = _n(kernel_size, 1)
    s = k if stride is None else _n(stride, 1)
    size = _unpool_size(input, k, s, _n(padding, 1), output_size, 1)
    return _aten.max_unpool2d(input.unsqueeze(-1), indices.unsqueeze(-1), size + [1]).squeeze(-1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    k = _n(kernel_size, 2)
    s = k if stride is None else _n(stride, 2)
    return _nn.max_unpool2d(input, indices, _unpool_size(input, k, s, _n(padding, 2), output_size, 2))


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    k = _n(kernel_size, 3)
    s = k if stride is None else _n(stride, 3)
    p = _n(padding, 3)
    if any(v <= 0 for v in s):
        raise RuntimeError(f"max_unpool3d: strides should be greater than zero, but got stride: {s}")
    return _aten.max_unpool3d(input, indices, _unpool_size(input, k, s, p, output_size, 3), s, p)


def _lp(pool, input, norm_type, kernel_size, stride, ceil_mode, n):
    out = pool(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = 1
    for v in _n(kernel_size, n):
        count *= v
    return (torch.sign(out) * torch.ops.aten.relu(torch.abs(out))).mul(count).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp(torch.avg_pool1d, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp(_nn.avg_pool2d, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    return _lp(_nn.avg_pool3d, input, norm_type, kernel_size, stride, ceil_mode, 3)


def _out_size(output_size, input, n):
    if isinstance(output_size, int):
        return output_size
    if len(input.size()) <= len(output_size):
        raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
    if len(output_size) != n:
        raise RuntimeError(f"adaptive_pool{n}d: output_size must be {n}")
    return [input.size(i - len(output_size)) if s is None else s for i, s in enumerate(output_size)]


def adaptive_avg_pool2d(input, output_size):
    return _nn.adaptive_avg_pool2d(input, _out_size(output_size, input, 2))


def adaptive_avg_pool3d(input, output_size):
    return _nn.adaptive_avg_pool3d(input, _out_size(output_size, input, 3))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    both = torch.adaptive_max_pool1d(input, output_size)
    return both if return_indices else both[0]


def adaptive_max_pool2d(input, output_size, return_indices=False):
    both = _nn.adaptive_max_pool2d(input, _out_size(output_size, input, 2))
    return both if return_indices else both[0]


def adaptive_max_pool3d(input, output_size, return_indices=False):
    both = _nn.adaptive_max_pool3d(input, _out_size(output_size, input, 3))
    return both if return_indices else both[0]


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    return adaptive_max_pool1d(input, output_size, True)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    return adaptive_max_pool2d(input, output_size, True)


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    return adaptive_max_pool3d(input, output_size, True)


def _fractional(op, input, kernel_size, output_size, output_ratio, return_indices, samples, n):
    if output_size is None and output_ratio is None:
        raise ValueError(f"fractional_max_pool{n}d requires specifying either an output_size or an output_ratio")
    if output_size is None:
        ratio = _n(output_ratio, n)
        if len(ratio) > n:
            raise ValueError(f"fractional_max_pool{n}d requires output_ratio to either be a single Int or tuple of Ints.")
        output_size = [int(input.size(-n + i) * ratio[i]) for i in range(n)]
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        samples = torch.rand(batch, input.size(-n - 1), n, dtype=input.dtype)
    both = op(input, kernel_size, output_size, samples)
    return both if return_indices else both[0]


def fractional_max_pool2d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return _fractional(_nn.fractional_max_pool2d, input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 2)


def fractional_max_pool3d(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return _fractional(_nn.fractional_max_pool3d, input, kernel_size, output_size, output_ratio, return_indices, _random_samples, 3)


def fractional_max_pool2d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return fractional_max_pool2d(input, kernel_size, output_size, output_ratio, True, _random_samples)


def fractional_max_pool3d_with_indices(input, kernel_size, output_size=None, output_ratio=None, return_indices=False, _random_samples=None):
    return fractional_max_pool3d(input, kernel_size, output_size, output_ratio, True, _random_samples)
