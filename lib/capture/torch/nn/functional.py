# torch.nn.functional where its signature differs from the ATen operator's; every other name is the operator itself.
import math

import torch
from torch.nn.reduction import code as _reduction

_aten = torch.ops.aten


def __getattr__(name):
    if name in _loss_names:
        return getattr(__import__("torch.nn.functional_loss"), name)
    if name in ("interpolate", "upsample", "upsample_nearest", "upsample_bilinear", "grid_sample", "affine_grid", "pad"):
        return getattr(__import__("torch.nn.functional_image"), name)
    if name in ("multi_head_attention_forward", "embedding_bag", "embedding"):
        return getattr(__import__("torch.nn.functional_attention"), name)
    if name in _pool_names:
        return getattr(__import__("torch.nn.functional_pool"), name)
    raise AttributeError("module 'torch.nn.functional' has no attribute '" + name + "'")


_loss_names = set(
    "ctc_loss nll_loss poisson_nll_loss gaussian_nll_loss kl_div cross_entropy binary_cross_entropy binary_cross_entropy_with_logits "
    "smooth_l1_loss huber_loss l1_loss mse_loss margin_ranking_loss hinge_embedding_loss multilabel_margin_loss soft_margin_loss "
    "multilabel_soft_margin_loss cosine_embedding_loss multi_margin_loss triplet_margin_loss triplet_margin_with_distance_loss "
    "linear_cross_entropy".split()
)
_pool_names = set(
    "fractional_max_pool2d fractional_max_pool3d fractional_max_pool2d_with_indices fractional_max_pool3d_with_indices max_pool1d max_pool2d "
    "max_pool3d max_pool1d_with_indices max_pool2d_with_indices max_pool3d_with_indices max_unpool1d max_unpool2d max_unpool3d lp_pool1d "
    "lp_pool2d lp_pool3d adaptive_max_pool1d adaptive_max_pool2d adaptive_max_pool3d adaptive_max_pool1d_with_indices "
    "adaptive_max_pool2d_with_indices adaptive_max_pool3d_with_indices adaptive_avg_pool2d adaptive_avg_pool3d".split()
)


# ---- dropout ----
def _check_p(p):
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def dropout(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    return _aten.dropout_(input, p, training) if inplace else _aten.dropout(input, p, training)


def alpha_dropout(input, p=0.5, training=False, inplace=False):
    _check_p(p)
    return _aten.alpha_dropout_(input, p, training) if inplace else _aten.alpha_dropout(input, p, training)


def feature_alpha_dropout(input, p=0.5, training=False, inplace=False):
    _check_p(p)
    return _aten.feature_alpha_dropout_(input, p, training) if inplace else _aten.feature_alpha_dropout(input, p, training)


def dropout1d(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input.")
    batched = input.dim() == 3
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = _aten.feature_dropout_(input, p, training) if inplace else _aten.feature_dropout(input, p, training)
    if not batched:
        out = out.squeeze_(0) if inplace else out.squeeze(0)
    return out


def dropout2d(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    return _aten.feature_dropout_(input, p, training) if inplace else _aten.feature_dropout(input, p, training)


def dropout3d(input, p=0.5, training=True, inplace=False):
    _check_p(p)
    batched = input.dim() == 5
    if not batched:
        input = input.unsqueeze_(0) if inplace else input.unsqueeze(0)
    out = _aten.feature_dropout_(input, p, training) if inplace else _aten.feature_dropout(input, p, training)
    if not batched:
        out = out.squeeze_(0) if inplace else out.squeeze(0)
    return out


# ---- activations ----
def threshold(input, threshold, value, inplace=False):
    return _aten.threshold_(input, threshold, value) if inplace else _aten.threshold(input, threshold, value)


def relu(input, inplace=False):
    return _aten.relu_(input) if inplace else _aten.relu(input)


def glu(input, dim=-1):
    if input.dim() == 0:
        raise RuntimeError("glu does not support scalars because halving size must be even")
    return _aten.glu(input, dim)


def hardtanh(input, min_val=-1.0, max_val=1.0, inplace=False):
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _aten.hardtanh_(input, min_val, max_val) if inplace else _aten.hardtanh(input, min_val, max_val)


def relu6(input, inplace=False):
    return _aten.relu6_(input) if inplace else _aten.relu6(input)


def elu(input, alpha=1.0, inplace=False):
    return _aten.elu_(input, alpha) if inplace else _aten.elu(input, alpha)


def selu(input, inplace=False):
    return _aten.selu_(input) if inplace else _aten.selu(input)


def celu(input, alpha=1.0, inplace=False):
    return _aten.celu_(input, alpha) if inplace else _aten.celu(input, alpha)


def leaky_relu(input, negative_slope=0.01, inplace=False):
    return _aten.leaky_relu_(input, negative_slope) if inplace else _aten.leaky_relu(input, negative_slope)


def rrelu(input, lower=1.0 / 8, upper=1.0 / 3, training=False, inplace=False):
    return _aten.rrelu_(input, lower, upper, training) if inplace else _aten.rrelu(input, lower, upper, training)


def silu(input, inplace=False):
    return _aten.silu_(input) if inplace else _aten.silu(input)


def mish(input, inplace=False):
    return _aten.mish_(input) if inplace else _aten.mish(input)


def hardswish(input, inplace=False):
    return _aten.hardswish_(input) if inplace else _aten.hardswish(input)


def hardsigmoid(input, inplace=False):
    return _aten.hardsigmoid_(input) if inplace else _aten.hardsigmoid(input)


def tanhshrink(input):
    return input - input.tanh()


def softsign(input):
    return input / (input.abs() + 1)


def tanh(input):
    return input.tanh()


def sigmoid(input):
    return input.sigmoid()


def _softmax_dim(name, ndim):
    return 0 if ndim in (0, 1, 3) else 1


logsigmoid = torch._C._nn.log_sigmoid


def softmin(input, dim=None, _stacklevel=3, dtype=None):
    return softmax(-input, dim, _stacklevel, dtype)


def softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _softmax_dim("softmax", input.dim())
    return input.softmax(dim) if dtype is None else input.softmax(dim, dtype=dtype)


def log_softmax(input, dim=None, _stacklevel=3, dtype=None):
    if dim is None:
        dim = _softmax_dim("log_softmax", input.dim())
    return input.log_softmax(dim) if dtype is None else input.log_softmax(dim, dtype=dtype)


def gumbel_softmax(logits, tau=1, hard=False, eps=1e-10, dim=-1):
    gumbels = -torch.empty_like(logits).exponential_().log()
    y = ((logits + gumbels) / tau).softmax(dim)
    if hard:
        index = y.max(dim, keepdim=True)[1]
        y_hard = torch.zeros_like(logits).scatter_(dim, index, 1.0)
        return y_hard - y.detach() + y
    return y


# ---- normalisation ----
def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
    if training:
        size = 1
        for i, s in enumerate(input.shape):
            if i != 1:
                size = size * s
        if size == 1:
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.size()}")
    if not eps > 0.0 and isinstance(eps, float) and eps != 0.0:
        raise ValueError(f"batch_norm eps must be positive, but got {eps}")
    return _aten.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)


def instance_norm(input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, eps=1e-5):
    if use_input_stats:
        spatial = 1
        for s in input.shape[2:]:
            spatial = spatial * s
        if spatial == 1:
            raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.size()}")
    return _aten.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
    return _aten.layer_norm(input, normalized_shape, weight, bias, eps)


def rms_norm(input, normalized_shape, weight=None, eps=None):
    return _aten.rms_norm(input, normalized_shape, weight, eps)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    size = input.size(0) * input.size(1) // num_groups
    for s in input.shape[2:]:
        size = size * s
    if size == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {[*input.size()]}")
    return _aten.group_norm(input, num_groups, weight, bias, eps, True)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    dim = input.dim()
    if dim < 3:
        raise ValueError(f"Expected 3D or higher dimensionality input (got {dim} dimensions)")
    if input.numel() == 0:
        return input
    div = input.mul(input)
    if dim == 3:
        div = div.unsqueeze(1)
        div = _aten.constant_pad_nd(div, (0, 0, size // 2, (size - 1) // 2))
        div = _aten.avg_pool2d(div, (size, 1), 1).squeeze(1)
    else:
        sizes = input.size()
        div = div.view(sizes[0], 1, sizes[1], sizes[2], -1)
        div = _aten.constant_pad_nd(div, (0, 0, 0, 0, size // 2, (size - 1) // 2))
        div = _aten.avg_pool3d(div, (size, 1, 1), 1).squeeze(1)
        div = div.view(sizes)
    return input / div.mul(alpha).add(k).pow(beta)


def normalize(input, p=2.0, dim=1, eps=1e-12, out=None):
    denom = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
    return input / denom if out is None else torch.div(input, denom, out=out)


# ---- shapes ----
def _tuple(v, n):
    return tuple([v] * n) if isinstance(v, int) else tuple(v)


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    return _aten.im2col(input, _tuple(kernel_size, 2), _tuple(dilation, 2), _tuple(padding, 2), _tuple(stride, 2))


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    return _aten.col2im(input, _tuple(output_size, 2), _tuple(kernel_size, 2), _tuple(dilation, 2), _tuple(padding, 2), _tuple(stride, 2))


def assert_int_or_pair(arg, arg_name, message):
    if not (isinstance(arg, int) or len(arg) == 2):
        raise AssertionError(message.format(arg_name))


def grouped_mm(mat_a, mat_b, *, offs=None, bias=None, out_dtype=None):
    return torch._grouped_mm(mat_a, mat_b, offs, bias, out_dtype)
