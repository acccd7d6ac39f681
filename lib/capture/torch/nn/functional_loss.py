# Losses of torch.nn.functional.
import math
import warnings

import torch
from torch.nn.reduction import code, legacy

_aten = torch.ops.aten


def _reduce(loss, reduction):
    if reduction == "mean":
        return loss.mean()
    if reduction == "sum":
        return loss.sum()
    if reduction == "none":
        return loss
    raise ValueError(f"{reduction} is not a valid value for reduction")


def _warn_sizes(name, input, target):
    if target.size() != input.size():
        warnings.warn(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}). "
                      "This will likely lead to incorrect results due to broadcasting. Please ensure they have the same size.", stacklevel=3)


def cross_entropy(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean", label_smoothing=0.0):
    reduction = legacy(size_average, reduce, reduction)
    return _aten.cross_entropy_loss(input, target, weight, code(reduction), ignore_index, label_smoothing)


def nll_loss(input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction="mean"):
    reduction = legacy(size_average, reduce, reduction)
    return _aten.nll_loss_nd(input, target, weight, code(reduction), ignore_index)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    return torch.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, code(reduction), zero_infinity)


def poisson_nll_loss(input, target, log_input=True, full=False, size_average=None, eps=1e-8, reduce=None, reduction="mean"):
    reduction = legacy(size_average, reduce, reduction)
    return _aten.poisson_nll_loss(input, target, log_input, full, eps, code(reduction))


def gaussian_nll_loss(input, target, var, full=False, eps=1e-6, reduction="mean"):
    if isinstance(var, (float, int)):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * torch.ones_like(input)
    elif not torch.compiler.is_compiling() and torch.any(var < 0):
        raise ValueError("var has negative entry/entries")
    if var.size() != input.size():
        if input.size()[:-1] == var.size():
            var = torch.unsqueeze(var, -1)
        elif input.ndim != var.ndim or sum([v for n, v in zip(input.size(), var.size()) if n != v]) != 1:
            raise ValueError("var is of incorrect size")
    if reduction not in ("none", "mean", "sum"):
        raise ValueError(reduction + " is not valid")
    var = var.clone()
    with torch.no_grad():
        var.clamp_(min=eps)
    loss = 0.5 * (torch.log(var) + (input - target) ** 2 / var)
    if full:
        loss += 0.5 * math.log(2 * math.pi)
    return _reduce(loss, reduction)


def kl_div(input, target, size_average=None, reduce=None, reduction="mean", log_target=False):
    batchmean = reduction == "batchmean"
    out = torch.kl_div(input, target, code(legacy(size_average, reduce, "sum" if batchmean else reduction)), log_target=log_target)
    return out / input.size(0) if batchmean and input.dim() != 0 else out


def binary_cross_entropy(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    reduction = legacy(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Using a target size ({target.size()}) that is different to the input size ({input.size()}) is deprecated. "
                         "Please ensure they have the same size.")
    if weight is not None:
        weight = weight.expand(torch.broadcast_shapes(target.size(), weight.size()))
    return _aten.binary_cross_entropy(input, target, weight, code(reduction))


def binary_cross_entropy_with_logits(input, target, weight=None, size_average=None, reduce=None, reduction="mean", pos_weight=None):
    reduction = legacy(size_average, reduce, reduction)
    if target.size() != input.size():
        raise ValueError(f"Target size ({target.size()}) must be the same as input size ({input.size()})")
    return _aten.binary_cross_entropy_with_logits(input, target, weight, pos_weight, code(reduction))


def _weighted(loss, weight, reduction):
    if reduction == "none":
        return loss * weight
    if reduction == "sum":
        return torch.sum(loss * weight)
    return torch.sum(loss * weight) / torch.sum(weight)


def smooth_l1_loss(input, target, size_average=None, reduce=None, reduction="mean", beta=1.0):
    _warn_sizes("smooth_l1_loss", input, target)
    reduction = legacy(size_average, reduce, reduction)
    a, b = torch.broadcast_tensors(input, target)
    if beta == 0.0:
        return _aten.l1_loss(a, b, code(reduction))
    return _aten.smooth_l1_loss(a, b, code(reduction), beta)


def huber_loss(input, target, reduction="mean", delta=1.0, weight=None):
    _warn_sizes("huber_loss", input, target)
    a, b = torch.broadcast_tensors(input, target)
    if weight is None:
        return _aten.huber_loss(a, b, code(reduction), delta)
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    loss = _aten.huber_loss(a, b, 0, delta) * weight  # whose mean is not divided by the weights' sum, unlike those below
    return loss if reduction == "none" else loss.sum() if reduction == "sum" else loss.mean()


def l1_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    _warn_sizes("l1_loss", input, target)
    reduction = legacy(size_average, reduce, reduction)
    a, b = torch.broadcast_tensors(input, target)
    if weight is None:
        return _aten.l1_loss(a, b, code(reduction))
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _weighted(_aten.l1_loss(a, b, 0), weight, reduction)


def mse_loss(input, target, size_average=None, reduce=None, reduction="mean", weight=None):
    _warn_sizes("mse_loss", input, target)
    reduction = legacy(size_average, reduce, reduction)
    a, b = torch.broadcast_tensors(input, target)
    if weight is None:
        return _aten.mse_loss(a, b, code(reduction))
    if weight.size() != input.size():
        raise ValueError("Weights and input must have the same size.")
    return _weighted(_aten.mse_loss(a, b, 0), weight, reduction)


def margin_ranking_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    reduction = legacy(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(f"margin_ranking_loss : All input tensors should have same dimension but got sizes: input1: {input1.size()}, "
                           f"input2: {input2.size()}, target: {target.size()} ")
    return _aten.margin_ranking_loss(input1, input2, target, margin, code(reduction))


def hinge_embedding_loss(input, target, margin=1.0, size_average=None, reduce=None, reduction="mean"):
    return _aten.hinge_embedding_loss(input, target, margin, code(legacy(size_average, reduce, reduction)))


def multilabel_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _aten.multilabel_margin_loss(input, target, code(legacy(size_average, reduce, reduction)))


def soft_margin_loss(input, target, size_average=None, reduce=None, reduction="mean"):
    return _aten.soft_margin_loss(input, target, code(legacy(size_average, reduce, reduction)))


def multilabel_soft_margin_loss(input, target, weight=None, size_average=None, reduce=None, reduction="mean"):
    reduction = legacy(size_average, reduce, reduction)
    loss = -(target * torch.ops.aten.log_sigmoid(input) + (1 - target) * torch.ops.aten.log_sigmoid(-input))
    if weight is not None:
        loss = loss * weight
    loss = loss.sum(dim=input.dim() - 1) / input.size(input.dim() - 1)
    return _reduce(loss, reduction)


def cosine_embedding_loss(input1, input2, target, margin=0, size_average=None, reduce=None, reduction="mean"):
    return _aten.cosine_embedding_loss(input1, input2, target, margin, code(legacy(size_average, reduce, reduction)))


def multi_margin_loss(input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction="mean"):
    if p != 1 and p != 2:
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _aten.multi_margin_loss(input, target, p, margin, weight, code(legacy(size_average, reduce, reduction)))


def triplet_margin_loss(anchor, positive, negative, margin=1.0, p=2, eps=1e-6, swap=False, size_average=None, reduce=None, reduction="mean"):
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _aten.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, code(legacy(size_average, reduce, reduction)))


def triplet_margin_with_distance_loss(anchor, positive, negative, *, distance_function=None, margin=1.0, swap=False, reduction="mean"):
    if reduction not in ("mean", "sum", "none"):
        raise ValueError(f"{reduction} is not a valid value for reduction")
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    if distance_function is None:
        distance_function = torch.pairwise_distance
    if anchor.dim() != positive.dim() or positive.dim() != negative.dim():
        raise RuntimeError(f"The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: "
                           f"anchor {anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs")
    near = distance_function(anchor, positive)
    far = distance_function(anchor, negative)
    if swap:
        far = torch.minimum(far, distance_function(positive, negative))
    return _reduce(torch.clamp_min(margin + near - far, 0), reduction)


def linear_cross_entropy(input, linear_weight, target, *, linear_bias=None, weight=None, reduction="mean", ignore_index=None, label_smoothing=0.0,
                         options=None):
    # The classes are dimension 0 of the weight and dimension 1 of the logits; options choose how PyTorch splits the work, not what it is, but
    # for narrow types, whose pieces are computed wide.
    if input.dim() < 1 or input.dim() > 2:
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError("expected equal input and linear_weight last dimensions (in_features), "
                           f"got {input.shape[-1]} and {linear_weight.shape[-1]}, respectively")
    classes = tuple(linear_weight.shape[:-1])
    if linear_bias is not None and tuple(linear_bias.shape) != classes:
        raise RuntimeError(f"expected linear_bias shape {classes}, got {tuple(linear_bias.shape)}")
    if len(classes) > 1 and input.dim() == 1:
        raise RuntimeError(f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, "
                           f"(N, {input.shape[-1]}), got unbatched input with shape {tuple(input.shape)}")
    size = tuple(input.shape[:-1]) + classes
    if ignore_index is not None and tuple(target.shape) == size:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    narrow = input.dtype
    if (options is not None and narrow in (torch.float16, torch.bfloat16) and label_smoothing == 0 and len(classes) == 1
            and (target.dtype == torch.int64 or tuple(target.shape) == size)):
        wide = [x if x is None or x.dtype != narrow else x.float() for x in (input, linear_weight, target, linear_bias, weight)]
        return linear_cross_entropy(wide[0], wide[1], wide[2], linear_bias=wide[3], weight=wide[4], reduction=reduction, ignore_index=ignore_index).to(narrow)
    flat = linear_weight.reshape(-1, linear_weight.size(-1))
    logits = _aten.linear(input, flat, None if linear_bias is None else linear_bias.reshape(-1)).reshape(list(size))
    return cross_entropy(logits, target, weight=weight, reduction=reduction, ignore_index=-100 if ignore_index is None else ignore_index,
                         label_smoothing=label_smoothing)
