# Adam, AdamW, Adamax, NAdam, RAdam. Bias corrections are host arithmetic in double precision.
import torch
from torch.optim.optimizer import Optimizer, _betas, _learning_rate, _nonnegative


# Weight decay: decoupled, applied to p itself, else added to the gradient (of decay p^2 / 2).
def _decay(p, grad, group):
    decay = group["weight_decay"]
    if decay == 0:
        return grad
    if not group["decoupled_weight_decay"]:
        return grad.add(p, alpha=decay)
    p.mul_(1 - group["lr"] * decay)
    return grad


class Adam(Optimizer):
    _decoupled = False

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False, fused=None, decoupled_weight_decay=False):
        _learning_rate(lr)
        _nonnegative("epsilon value", eps)
        _betas(betas)
        _nonnegative("weight_decay value", weight_decay)
        if len(set(isinstance(beta, torch.Tensor) for beta in betas)) != 1:
            raise ValueError("betas must be either both floats or both Tensors")
        for name, value in (("lr", lr), ("betas[0]", betas[0]), ("betas[1]", betas[1])):
            if isinstance(value, torch.Tensor):
                if foreach and not capturable:
                    raise ValueError(f"{name} as a Tensor is not supported for capturable=False and foreach=True")
                if value.numel() != 1:
                    raise ValueError(f"Tensor {name} must be 1-element")
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, amsgrad=amsgrad, maximize=maximize, foreach=foreach,
                                      capturable=capturable, differentiable=differentiable, fused=fused,
                                      decoupled_weight_decay=decoupled_weight_decay or self._decoupled))

    def _update(self, p, grad, state, group):
        if "exp_avg" not in state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = torch.zeros_like(p)
        step = self._count(state)
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        grad = _decay(p, grad, group)
        avg, sq = state["exp_avg"], state["exp_avg_sq"]
        avg.lerp_(grad, 1 - (beta1.to(p.dtype) if isinstance(beta1, torch.Tensor) else beta1))
        sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        if group["amsgrad"]:
            torch.maximum(state["max_exp_avg_sq"], sq, out=state["max_exp_avg_sq"])
            sq = state["max_exp_avg_sq"]
        denom = (sq.sqrt() / correction2**0.5).add(group["eps"])
        p.addcdiv_(avg, denom, value=-(lr / correction1))


class AdamW(Adam):
    _decoupled = True

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False, foreach=None,
                 capturable=False, differentiable=False, fused=None):
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, foreach=foreach, maximize=maximize, capturable=capturable,
                         differentiable=differentiable, fused=fused, decoupled_weight_decay=True)


class Adamax(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, foreach=None, *, maximize=False, differentiable=False,
                 capturable=False):
        _learning_rate(lr)
        _nonnegative("epsilon value", eps)
        _betas(betas)
        _nonnegative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _update(self, p, grad, state, group):
        if "exp_avg" not in state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_inf"] = torch.zeros_like(p)
        step = self._count(state)
        beta1, beta2 = group["betas"]
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        avg, inf = state["exp_avg"], state["exp_inf"]
        avg.lerp_(grad, 1 - beta1)
        inf.copy_(torch.maximum(inf.mul_(beta2), grad.abs().add(group["eps"])))
        p.addcdiv_(avg, inf, value=-(group["lr"] / (1 - beta1**step)))


class NAdam(Optimizer):
    def __init__(self, params, lr=2e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, momentum_decay=4e-3, decoupled_weight_decay=False, *,
                 foreach=None, maximize=False, capturable=False, differentiable=False):
        _learning_rate(lr)
        _nonnegative("epsilon value", eps)
        _betas(betas)
        _nonnegative("weight_decay value", weight_decay)
        _nonnegative("momentum_decay value", momentum_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay,
                                      decoupled_weight_decay=decoupled_weight_decay, maximize=maximize, foreach=foreach, capturable=capturable,
                                      differentiable=differentiable))

    def _update(self, p, grad, state, group):
        if "exp_avg" not in state:
            state["step"] = 0
            # A 0-d float32 tensor, as PyTorch keeps it: the product is rounded to float32 at every step.
            state["mu_product"] = torch.ones((), dtype=torch.float32)
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
        step = self._count(state)
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        grad = _decay(p, grad, group)
        mu = beta1 * (1.0 - 0.5 * (0.96 ** (step * group["momentum_decay"])))
        mu_next = beta1 * (1.0 - 0.5 * (0.96 ** ((step + 1) * group["momentum_decay"])))
        product = state["mu_product"]
        product.mul_(mu)
        avg, sq = state["exp_avg"], state["exp_avg_sq"]
        avg.lerp_(grad, 1 - beta1)
        sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        denom = sq.div(1 - beta2**step).sqrt().add(group["eps"])
        taken = product.item()
        p.addcdiv_(grad, denom, value=-lr * (1.0 - mu) / (1.0 - taken))
        p.addcdiv_(avg, denom, value=-lr * mu_next / (1.0 - taken * mu_next))


class RAdam(Optimizer):
    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, decoupled_weight_decay=False, *, foreach=None, maximize=False,
                 capturable=False, differentiable=False):
        _learning_rate(lr)
        _nonnegative("epsilon value", eps)
        _betas(betas)
        _nonnegative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, maximize=maximize, foreach=foreach,
                                      capturable=capturable, decoupled_weight_decay=decoupled_weight_decay, differentiable=differentiable))

    def _update(self, p, grad, state, group):
        if "exp_avg" not in state:
            state["step"] = 0
            state["exp_avg"] = torch.zeros_like(p)
            state["exp_avg_sq"] = torch.zeros_like(p)
        step = self._count(state)
        beta1, beta2 = group["betas"]
        lr = group["lr"]
        grad = _decay(p, grad, group)
        avg, sq = state["exp_avg"], state["exp_avg_sq"]
        avg.lerp_(grad, 1 - beta1)
        sq.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        correction1 = 1 - beta1**step
        correction2 = 1 - beta2**step
        corrected = avg / correction1
        limit = 2 / (1 - beta2) - 1
        length = limit - 2 * step * (beta2**step) / correction2
        if length > 5.0:
            rect = ((length - 4) * (length - 2) * limit / ((limit - 4) * (limit - 2) * length)) ** 0.5
            p.add_(corrected * lr * (correction2**0.5 / sq.sqrt().add(group["eps"])) * rect, alpha=-1.0)
        else:
            p.add_(corrected * lr, alpha=-1.0)
