# Averages of weights: stochastic weight averaging and exponential moving averages.
import copy
import itertools

import torch
from torch.nn.module import Module
from torch.nn.norm import _BatchNorm
from torch.optim.lr_scheduler import LRScheduler, _per_group


def get_ema_avg_fn(decay=0.999):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    def average(averaged, current, num_averaged):
        with torch.no_grad():
            return decay * averaged + (1 - decay) * current

    return average


def get_ema_multi_avg_fn(decay=0.999):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(f"Invalid decay value {decay} provided. Please provide a value in [0,1] range.")

    def update(averaged, current, num_averaged):
        with torch.no_grad():
            for a, c in zip(averaged, current):
                if a.is_floating_point() or a.is_complex():
                    a.lerp_(c, 1 - decay)
                else:
                    a.copy_(a * decay + c * (1 - decay))

    return update


def get_swa_multi_avg_fn():
    def update(averaged, current, num_averaged):
        with torch.no_grad():
            for a, c in zip(averaged, current):
                if a.is_floating_point() or a.is_complex():
                    a.lerp_(c, 1 / (num_averaged + 1))
                else:
                    a.add_((c - a) / (num_averaged + 1))

    return update


def get_swa_avg_fn():
    def average(averaged, current, num_averaged):
        with torch.no_grad():
            return averaged + (current - averaged) / (num_averaged + 1)

    return average


class AveragedModel(Module):
    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = copy.deepcopy(model)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _tensors(self, model):
        return list(itertools.chain(model.parameters(), model.buffers() if self.use_buffers else []))

    def update_parameters(self, model):
        mine = [t.detach() for t in self._tensors(self.module)]
        theirs = [t.detach() for t in self._tensors(model)]
        n = int(self.n_averaged)
        if n == 0:
            for a, c in zip(mine, theirs):
                a.copy_(c)
        elif self.multi_avg_fn is not None or self.avg_fn is None:
            fn = self.multi_avg_fn if self.multi_avg_fn is not None else get_swa_multi_avg_fn()
            fn(mine, theirs, n)
        else:
            for a, c in zip(mine, theirs):
                a.copy_(self.avg_fn(a, c, n))
        if not self.use_buffers:
            for b, c in zip(self.module.buffers(), model.buffers()):
                b.detach().copy_(c.detach())
        self.n_averaged += 1


class SWALR(LRScheduler):
    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for group, lr in zip(optimizer.param_groups, _per_group(swa_lr, optimizer, "swa_lr")):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}")
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _weight(self, t):
        if self._anneal_strategy == "linear":
            return t
        import math
        return (1 - math.cos(math.pi * t)) / 2

    def get_lr(self):
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        n = max(1, self.anneal_epochs)
        before = self._weight(max(0, min(1, (step - 1) / n)))
        now = self._weight(max(0, min(1, step / n)))
        out = []
        for group in self.optimizer.param_groups:
            base = group["swa_lr"] if before == 1 else (group["lr"] - before * group["swa_lr"]) / (1 - before)
            out.append(group["swa_lr"] * now + base * (1 - now))
        return out


@torch.no_grad()
def update_bn(loader, model, device=None):
    """The statistics of batch norms anew: the plain mean over the batches of loader, each a tensor or a sequence that begins with it."""
    norms = [(m, m.momentum) for m in model.modules() if isinstance(m, _BatchNorm)]
    if not norms:
        return
    training = model.training
    model.train()
    for m, _ in norms:
        m.reset_running_stats()
        m.momentum = None
    for batch in loader:
        x = batch[0] if isinstance(batch, (list, tuple)) else batch
        model(x if device is None else x.to(device))
    for m, momentum in norms:
        m.momentum = momentum
    model.train(training)
