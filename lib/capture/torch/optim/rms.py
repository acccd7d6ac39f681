# RMSprop, Adagrad, Adadelta, Rprop, ASGD.
import torch
from torch.optim.optimizer import Optimizer, _learning_rate, _nonnegative


class RMSprop(Optimizer):
    def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, capturable=False, foreach=None,
                 maximize=False, differentiable=False):
        _learning_rate(lr)
        _nonnegative("epsilon value", eps)
        _nonnegative("momentum value", momentum)
        _nonnegative("weight_decay value", weight_decay)
        _nonnegative("alpha value", alpha)
        super().__init__(params, dict(lr=lr, momentum=momentum, alpha=alpha, eps=eps, centered=centered, weight_decay=weight_decay,
                                      capturable=capturable, foreach=foreach, maximize=maximize, differentiable=differentiable))

    def _update(self, p, grad, state, group):
        if "square_avg" not in state:
            state["step"] = 0
            state["square_avg"] = torch.zeros_like(p)
            if group["momentum"] > 0:
                state["momentum_buffer"] = torch.zeros_like(p)
            if group["centered"]:
                state["grad_avg"] = torch.zeros_like(p)
        self._count(state)
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        alpha = group["alpha"]
        sq = state["square_avg"]
        sq.mul_(alpha).addcmul_(grad, grad, value=1 - alpha)
        if group["centered"]:
            mean = state["grad_avg"]
            mean.lerp_(grad, 1 - alpha)
            avg = sq.addcmul(mean, mean, value=-1).sqrt()
        else:
            avg = sq.sqrt()
        avg = avg.add(group["eps"])
        if group["momentum"] > 0:
            buf = state["momentum_buffer"]
            buf.mul_(group["momentum"]).addcdiv_(grad, avg)
            p.add_(buf, alpha=-group["lr"])
        else:
            p.addcdiv_(grad, avg, value=-group["lr"])


class Adagrad(Optimizer):
    def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, foreach=None, *, maximize=False,
                 differentiable=False, fused=None):
        _learning_rate(lr)
        _nonnegative("lr_decay value", lr_decay)
        _nonnegative("weight_decay value", weight_decay)
        _nonnegative("initial_accumulator_value value", initial_accumulator_value)
        _nonnegative("epsilon value", eps)
        super().__init__(params, dict(lr=lr, lr_decay=lr_decay, eps=eps, weight_decay=weight_decay,
                                      initial_accumulator_value=initial_accumulator_value, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, fused=fused))
        for group in self.param_groups:
            for p in group["params"]:
                start = complex(initial_accumulator_value, initial_accumulator_value) if p.is_complex() else initial_accumulator_value
                self.state[p] = {"step": 0, "sum": torch.full_like(p, start)}

    def _update(self, p, grad, state, group):
        step = self._count(state)
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        rate = group["lr"] / (1 + (step - 1) * group["lr_decay"])
        total = state["sum"]
        total.addcmul_(grad, grad, value=1)
        p.addcdiv_(grad, total.sqrt().add(group["eps"]), value=-rate)


class Adadelta(Optimizer):
    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0, foreach=None, *, capturable=False, maximize=False, differentiable=False):
        _learning_rate(lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        _nonnegative("epsilon value", eps)
        _nonnegative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, rho=rho, eps=eps, weight_decay=weight_decay, maximize=maximize, capturable=capturable, foreach=foreach,
                                      differentiable=differentiable))

    def _update(self, p, grad, state, group):
        if "square_avg" not in state:
            state["step"] = 0
            state["square_avg"] = torch.zeros_like(p)
            state["acc_delta"] = torch.zeros_like(p)
        self._count(state)
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        rho, eps = group["rho"], group["eps"]
        sq, acc = state["square_avg"], state["acc_delta"]
        sq.mul_(rho).addcmul_(grad, grad, value=1 - rho)
        std = sq.add(eps).sqrt()
        delta = acc.add(eps).sqrt().div(std).mul(grad)
        acc.mul_(rho).addcmul_(delta, delta, value=1 - rho)
        p.add_(delta, alpha=-group["lr"])


class Rprop(Optimizer):
    def __init__(self, params, lr=1e-2, etas=(0.5, 1.2), step_sizes=(1e-6, 50), *, capturable=False, foreach=None, maximize=False,
                 differentiable=False):
        _learning_rate(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        super().__init__(params, dict(lr=lr, etas=etas, step_sizes=step_sizes, foreach=foreach, maximize=maximize, differentiable=differentiable,
                                      capturable=capturable))

    def _update(self, p, grad, state, group):
        if "prev" not in state:
            state["step"] = 0
            state["prev"] = torch.zeros_like(p)
            state["step_size"] = torch.full_like(grad, group["lr"])
        self._count(state)
        minus, plus = group["etas"]
        low, high = group["step_sizes"]
        sign = grad.mul(state["prev"]).sign()
        one = torch.ones_like(sign)
        factor = torch.where(sign > 0, one * plus, torch.where(sign < 0, one * minus, one))
        state["step_size"].mul_(factor).clamp_(low, high)
        grad = torch.where(sign < 0, torch.zeros_like(grad), grad)
        p.addcmul_(grad.sign(), state["step_size"], value=-1)
        state["prev"].copy_(grad)


class ASGD(Optimizer):
    def __init__(self, params, lr=1e-2, lambd=1e-4, alpha=0.75, t0=1e6, weight_decay=0, foreach=None, maximize=False, differentiable=False,
                 capturable=False):
        _learning_rate(lr)
        _nonnegative("weight_decay value", weight_decay)
        super().__init__(params, dict(lr=lr, lambd=lambd, alpha=alpha, t0=t0, weight_decay=weight_decay, foreach=foreach, maximize=maximize,
                                      differentiable=differentiable, capturable=capturable))

    def _update(self, p, grad, state, group):
        if "ax" not in state:
            state["step"] = 0
            # 0-d float32 tensors, as in PyTorch: each step uses those that the previous step computed from its rate.
            state["eta"] = torch.full((), group["lr"], dtype=torch.float32)
            state["mu"] = torch.ones((), dtype=torch.float32)
            state["ax"] = torch.zeros_like(p)
        step = self._count(state)
        lr, lambd, t0 = group["lr"], group["lambd"], group["t0"]
        if group["weight_decay"] != 0:
            grad = grad.add(p, alpha=group["weight_decay"])
        eta, mu, ax = state["eta"], state["mu"], state["ax"]
        if group["foreach"]: # one product with the rate, which float32 arithmetic gives
            p.addcmul_(grad.add(p, alpha=lambd), eta, value=-1)
            ax.addcmul_(p.sub(ax), mu)
            eta.copy_(lr / ((1 + lambd * lr * torch.full((), step, dtype=torch.float32)) ** group["alpha"]))
        else:
            rate = eta.to(torch.float64)
            p.mul_(1 - lambd * rate)
            p.addcmul_(grad, rate, value=-1)
            if step - 1 - t0 <= 1:
                ax.copy_(p)
            else:
                ax.add_(p.sub(ax).mul_(mu))
            eta.fill_(lr / ((1 + lambd * lr * step) ** group["alpha"]))
        mu.fill_(1 / max(1, step - t0))
