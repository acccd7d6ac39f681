# torch.nn.utils: clipping, vectors of parameters, and the older weight and spectral norms.
import torch


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if len(tensors) == 0:
        return torch.tensor(0.0)
    norms = [torch.linalg.vector_norm(t, norm_type) for t in tensors]
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and torch.logical_or(total.isnan(), total.isinf()):
        raise RuntimeError(f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be clipped. "
                           "To disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`")
    return total


def _with_grad(parameters):
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    return [p for p in parameters if p.grad is not None]


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    coef = float(max_norm) / (total_norm + 1e-6)
    clamped = torch.clamp(coef, max=1.0)
    with torch.no_grad():
        for p in _with_grad(parameters):
            p.grad.mul_(clamped)


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    parameters = _with_grad(parameters)
    with torch.no_grad():
        total = get_total_norm([p.grad for p in parameters], norm_type, error_if_nonfinite, foreach)
    clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_value_(parameters, clip_value, foreach=None):
    clip_value = float(clip_value)
    with torch.no_grad():
        for p in _with_grad(parameters):
            p.grad.clamp_(min=-clip_value, max=clip_value)


def parameters_to_vector(parameters):
    return torch.cat([p.view(-1) for p in parameters])


def vector_to_parameters(vec, parameters):
    at = 0
    for p in parameters:
        n = p.numel()
        p.data = vec[at:at + n].view_as(p).data
        at += n


def skip_init(module_cls, *args, **kwargs):
    if not issubclass(module_cls, torch.nn.Module):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    device = kwargs.pop("device", "cpu")
    with torch.device("meta"):
        module = module_cls(*args, **kwargs)
    return module.to_empty(device=device)


def __getattr__(name):
    if name in ("weight_norm", "remove_weight_norm", "spectral_norm", "remove_spectral_norm", "SpectralNorm"):
        return getattr(__import__("torch.nn.utils.weight_norm"), name)
    if name in ("fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"):
        return getattr(__import__("torch.nn.utils.fusion"), name)
    if name in ("parametrize", "parametrizations", "prune", "rnn", "stateless"):
        return __import__("torch.nn.utils." + name)
    raise AttributeError("module 'torch.nn.utils' has no attribute '" + name + "'")
