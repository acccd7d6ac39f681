# Adafactor: second moments factored over the last two dimensions.
import torch
from torch.optim.optimizer import Optimizer, _learning_rate


class Adafactor(Optimizer):
    def __init__(self, params, lr=1e-2, beta2_decay=-0.8, eps=(None, 1e-3), d=1.0, weight_decay=0.0, *, foreach=None, maximize=False):
        _learning_rate(lr, "Learning rate should be >= 0 but is:")
        if not 0.0 >= beta2_decay:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not 0.0 <= eps[0]:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not 0.0 <= eps[1]:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not 1.0 <= d:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not 0.0 <= weight_decay:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        super().__init__(params, dict(lr=lr, beta2_decay=beta2_decay, eps=eps, d=d, weight_decay=weight_decay, foreach=foreach, maximize=maximize))

    def _update_complex(self, p, grad, state, group):
        raise RuntimeError("Adafactor does not support complex parameters")

    def _update(self, p, grad, state, group):
        if "step" not in state:
            state["step"] = 0
            if grad.dim() > 1:
                state["row_var"] = grad.new_zeros(list(grad.shape[:-1]) + [1])
                state["col_var"] = grad.new_zeros(list(grad.shape[:-2]) + [1, grad.size(-1)])
            else:
                state["variance"] = torch.zeros_like(grad)
        step = self._count(state)
        eps1, eps2 = group["eps"]
        if eps1 is None:
            eps1 = torch.finfo(p.dtype).eps
        lr = group["lr"]
        mix = step ** group["beta2_decay"]
        limit = 1 / (step**0.5)
        # Norms stay tensors, so that a captured step is valid for any data.
        size = (p.norm(2).to(torch.float64) / (p.numel() ** 0.5)).clamp(min=eps2)
        if group["weight_decay"] != 0:
            p.mul_(1 - lr * group["weight_decay"])
        if grad.dim() > 1:
            row, col = state["row_var"], state["col_var"]
            row.lerp_(torch.linalg.vector_norm(grad, dim=-1, keepdim=True).square_().div_(grad.size(-1)), mix)
            col.lerp_(torch.linalg.vector_norm(grad, dim=-2, keepdim=True).square_().div_(grad.size(-2)), mix)
            var = row @ col
            var.div_(row.mean(dim=-2, keepdim=True).clamp_(min=eps1))
        else:
            state["variance"].lerp_(grad * grad, mix)
            var = state["variance"].clone()
        update = var.clamp_(min=eps1 * eps1).rsqrt_()
        update.mul_(grad)
        denom = (update.norm(2).to(torch.float64) / ((update.numel() ** 0.5) * group["d"])).clamp(min=1.0)
        if isinstance(lr, torch.Tensor):  # a tensor rate decides the type of the product
            lr = lr.reshape(())
            scale = torch.where(limit < lr, size * limit / denom, (size.to(lr.dtype) * lr / denom.to(lr.dtype)).to(torch.float64))
        else:
            scale = size * min(lr, limit) / denom
        p.add_(update * -scale)
