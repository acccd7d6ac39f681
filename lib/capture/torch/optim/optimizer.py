# The base of the optimisers: parameter groups and state.
#
# An optimiser works on concrete tensors and in a capture alike. In a capture tc-train makes the numbers of a group (lr, betas, ...)
# and the step count symbolic, so that one captured step serves every step: `step()` must not branch on them, and counts steps with
# `self._count(state)`, a host number, not a tensor.
import warnings
from collections import OrderedDict, defaultdict

import torch
from torch.nn.module import RemovableHandle


class _Required:
    def __repr__(self):
        return "<required parameter>"


required = _Required()


class Optimizer:
    def __init__(self, params, defaults):
        if isinstance(params, torch.Tensor):
            raise TypeError("params argument given to the optimizer should be an iterable of Tensors or dicts, but got " + torch.typename(params))
        self.defaults = defaults
        self.state = defaultdict(dict)
        self.param_groups = []
        groups = list(params)
        if len(groups) == 0:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for g in groups:
            self.add_param_group(g)
        if defaults.get("fused"):
            if defaults.get("differentiable"):
                raise RuntimeError("`fused` does not support `differentiable`")
            if defaults.get("foreach"):
                raise RuntimeError("`fused` and `foreach` cannot be `True` together.")

    def add_param_group(self, group):
        if not isinstance(group, dict):
            raise TypeError("param_group must be a dict, but got " + str(type(group)))
        group = dict(group)  # a copy, since a captured step must not change the recipe's
        params = group["params"]
        if isinstance(params, torch.Tensor):
            group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError("optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
                            "between runs. Please use a list instead.")
        else:
            params = list(params)
            group["params"] = [p[1] if isinstance(p, tuple) else p for p in params]
            names = [p[0] for p in params if isinstance(p, tuple)]
            if names:
                if len(names) != len(params):
                    raise ValueError("all optimizer params should be with/without names. Some param names are missing")
                group["param_names"] = names
        for p in group["params"]:
            if not isinstance(p, torch.Tensor):
                raise TypeError("optimizer can only optimize Tensors, but one of the params is " + torch.typename(p))
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in group:
                raise ValueError("parameter group didn't specify a value of required optimization parameter " + name)
            group.setdefault(name, default)
        if len(group["params"]) != len(set(id(p) for p in group["params"])):
            warnings.warn("optimizer contains a parameter group with duplicate parameters")
        for g in self.param_groups:
            if ("param_names" in group) != ("param_names" in g):
                how = "with names" if "param_names" in group else "without names"
                raise ValueError(f"all optimizer param groups should be with/without names. cannot add param group {how} to the optimizer")
        seen = set(id(p) for g in self.param_groups for p in g["params"])
        if any(id(p) in seen for p in group["params"]):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(group)

    def zero_grad(self, set_to_none=True):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.grad = None if set_to_none else torch.zeros_like(p.grad)

    def _with_hooks(self, kind, hook):
        """step() of this object runs hooks before and after that of its class."""
        def step(*args, **kwargs):
            args = (self, *args)
            for h in self._step_hooks["before"].values():
                given = h(self, args, kwargs)
                if given is not None:
                    if not isinstance(given, tuple) or len(given) != 2:
                        raise RuntimeError(f"{h} must return None or a tuple of (new_args, new_kwargs), but got {given}.")
                    args, kwargs = given
            result = type(self).step(*args, **kwargs)
            for h in self._step_hooks["after"].values():
                h(self, args, kwargs)
            return result

        if not hasattr(self, "_step_hooks"):
            self._step_hooks = {"before": {}, "after": {}}
            step.__wrapped__ = self.step
            self.step = step
        handle = RemovableHandle(self._step_hooks[kind])
        self._step_hooks[kind][handle.id] = hook
        return handle

    def register_step_pre_hook(self, hook):
        return self._with_hooks("before", hook)

    def register_step_post_hook(self, hook):
        return self._with_hooks("after", hook)

    # state["step"] after this step: 1 at the first.
    def _count(self, state):
        state["step"] = state.get("step", 0) + 1
        return state["step"]

    def _closure(self, closure):
        if closure is None:
            return None
        with torch.enable_grad():
            return closure()

    def step(self, closure=None):
        loss = self._closure(closure)
        with torch.set_grad_enabled(self.defaults.get("differentiable", False)):
            for group in map(_scalar_rate, self.param_groups):
                for p in group["params"]:
                    if p.grad is not None:
                        if self.defaults.get("differentiable"):  # the backward needs the state before it is changed in place
                            self.state[p].update({k: v.clone() for k, v in self.state[p].items() if isinstance(v, torch.Tensor)})
                        update = self._update_complex if p.is_complex() else self._update
                        update(p, -p.grad if group.get("maximize", False) else p.grad, self.state[p], group)
        return loss

    def _update(self, p, grad, state, group):
        raise NotImplementedError

    def _update_complex(self, p, grad, state, group):
        """A complex parameter is stepped as the pairs of its real and imaginary parts; its state is kept complex."""
        pairs = torch.view_as_real(p)
        before = {k: torch.view_as_real(v) if isinstance(v, torch.Tensor) and v.is_complex() else v for k, v in state.items()}
        after = dict(before)
        self._update(pairs, torch.view_as_real(grad), after, group)
        for k, v in after.items():
            if not isinstance(v, torch.Tensor):
                state[k] = v
            elif v is not before.get(k):
                state[k] = torch.view_as_complex(v) if v.shape == pairs.shape else v

    def _state_hook(self, kind, hook, prepend):
        if not hasattr(self, "_state_hooks"):
            self._state_hooks = {k: OrderedDict() for k in ("before_save", "after_save", "before_load", "after_load")}
        handle = RemovableHandle(self._state_hooks[kind])
        self._state_hooks[kind][handle.id] = hook
        if prepend:
            self._state_hooks[kind].move_to_end(handle.id, last=False)
        return handle

    def register_state_dict_pre_hook(self, hook, prepend=False):
        return self._state_hook("before_save", hook, prepend)

    def register_state_dict_post_hook(self, hook, prepend=False):
        return self._state_hook("after_save", hook, prepend)

    def register_load_state_dict_pre_hook(self, hook, prepend=False):
        return self._state_hook("before_load", hook, prepend)

    def register_load_state_dict_post_hook(self, hook, prepend=False):
        return self._state_hook("after_load", hook, prepend)

    def _run_state_hooks(self, kind, *given):
        """Runs them; returns the state dict, which a hook may replace."""
        for hook in getattr(self, "_state_hooks", {}).get(kind, {}).values():
            result = hook(self, *given)
            if given and result is not None:
                given = (result,)
        return given[0] if given else None

    def state_dict(self):
        self._run_state_hooks("before_save")
        index = {}
        groups = []
        for g in self.param_groups:
            packed = {k: v for k, v in g.items() if k != "params"}
            for p in g["params"]:
                index.setdefault(id(p), len(index))
            packed["params"] = [index[id(p)] for p in g["params"]]
            groups.append(packed)
        state = {index[id(p)] if isinstance(p, torch.Tensor) else p: s for p, s in self.state.items()}
        return self._run_state_hooks("after_save", {"state": state, "param_groups": groups})

    def load_state_dict(self, state_dict):
        state_dict = self._run_state_hooks("before_load", state_dict.copy())
        groups = state_dict["param_groups"]
        if len(groups) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        flat = []
        for mine, theirs in zip(self.param_groups, groups):
            if len(mine["params"]) != len(theirs["params"]):
                raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
            flat += list(zip(theirs["params"], mine["params"]))
            for k, v in theirs.items():
                if k != "params":
                    mine[k] = v
        by_index = dict(flat)
        self.state = defaultdict(dict)
        for i, s in state_dict["state"].items():
            p = by_index.get(i, i)  # what belongs to no parameter stays under its key
            self.state[p] = {k: _as_param(k, v, p) for k, v in s.items()} if isinstance(s, dict) else s
        self._run_state_hooks("after_load")

    def __repr__(self):
        s = type(self).__name__ + " ("
        for i, g in enumerate(self.param_groups):
            s += f"\nParameter Group {i}\n"
            for key in sorted(g):
                if key != "params":
                    s += f"    {key}: {g[key]}\n"
        return s + ")"


# The group with a rate that is a tensor of one element, of any rank, as a 0-d tensor.
def _scalar_rate(group):
    lr = group.get("lr")
    return {**group, "lr": lr.squeeze()} if isinstance(lr, torch.Tensor) and lr.dim() != 0 else group


# State tensors have the type of their parameter, but for the step count.
def _as_param(key, value, p):
    if isinstance(value, torch.Tensor) and isinstance(p, torch.Tensor) and p.is_floating_point() and key != "step":
        return value.to(p.dtype)
    return value


def _learning_rate(lr, message="Invalid learning rate:"):
    if isinstance(lr, torch.Tensor) and lr.numel() != 1:
        raise ValueError("Tensor lr must be 1-element")
    if not 0.0 <= lr:
        raise ValueError(f"{message} {lr}")


def _nonnegative(name, value):
    if not 0.0 <= value:
        raise ValueError(f"Invalid {name}: {value}")


def _betas(betas):
    for i in range(2):
        if not 0.0 <= betas[i] < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {betas[i]}")
