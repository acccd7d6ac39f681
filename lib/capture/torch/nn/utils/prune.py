# torch.nn.utils.prune: NAME becomes NAME_orig, a parameter, times NAME_mask, a buffer, before each forward.
import torch
from torch.nn.utils import parameters_to_vector


def _check_amount(amount):
    if isinstance(amount, str) or not isinstance(amount, (int, float)):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer")
    return amount


def _count(amount, size):
    if isinstance(amount, int) and amount > size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={size}")
    return amount if isinstance(amount, int) else round(amount * size)


class BasePruningMethod:
    PRUNING_TYPE = None
    _tensor_name = None

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t, default_mask):
        raise NotImplementedError

    def apply_mask(self, module):
        if self._tensor_name is None:
            raise AssertionError(f"Module {module} has to be pruned")
        orig = getattr(module, self._tensor_name + "_orig")
        return getattr(module, self._tensor_name + "_mask").to(dtype=orig.dtype) * orig

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        old = [(k, hook) for k, hook in module._forward_pre_hooks.items() if isinstance(hook, BasePruningMethod) and hook._tensor_name == name]
        method = cls(*args, **kwargs)
        method._tensor_name = name
        for k, hook in old:
            del module._forward_pre_hooks[k]
            box = hook if isinstance(hook, PruningContainer) else PruningContainer(hook)
            box.add_pruning_method(method)
            method = box
        orig = getattr(module, name)
        if importance_scores is not None and importance_scores.shape != orig.shape:
            raise AssertionError(f"importance_scores should have the same shape as parameter {name} of {module}")
        if old:
            mask = getattr(module, name + "_mask").detach().clone()
        else:
            module.register_parameter(name + "_orig", orig)
            del module._parameters[name]
            mask = torch.ones_like(orig)
        with torch.no_grad():
            module.register_buffer(name + "_mask", method.compute_mask(orig if importance_scores is None else importance_scores, mask))
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(t if importance_scores is None else importance_scores, mask)

    def remove(self, module):
        weight = self.apply_mask(module)
        delattr(module, self._tensor_name)
        orig = module._parameters.pop(self._tensor_name + "_orig")
        orig.data = weight.data
        del module._buffers[self._tensor_name + "_mask"]
        setattr(module, self._tensor_name, orig)


class PruningContainer(BasePruningMethod):
    def __init__(self, *args):
        self._pruning_methods = ()
        if len(args) == 1:
            self._tensor_name = args[0]._tensor_name
        for method in args:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to PruningContainer {self}. Found "
                             f"'{method._tensor_name}'")
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        method = self._pruning_methods[-1]
        if method.PRUNING_TYPE == "unstructured":
            at = default_mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            at = [slice(None)] * t.dim()
            at[dim] = default_mask.sum(dim=[d for d in range(t.dim()) if d != dim]) != 0
            at = tuple(at)
        elif method.PRUNING_TYPE == "global":
            at = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask = default_mask.to(t.dtype).clone()
        mask[at] = method.compute_mask(t[at], default_mask=default_mask[at]).to(mask.dtype)
        return mask


class Identity(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        return default_mask


class RandomUnstructured(BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def __init__(self, amount):
        self.amount = _check_amount(amount)

    def _lowest(self, t):
        return torch.rand_like(t), {}

    def compute_mask(self, t, default_mask):
        n, mask = _count(self.amount, t.nelement()), default_mask.clone()
        if n != 0:
            score, order = self._lowest(t)
            mask.view(-1)[torch.topk(score.view(-1), k=n, **order).indices] = 0
        return mask


class L1Unstructured(RandomUnstructured):
    def _lowest(self, t):
        return torch.abs(t), {"largest": False}


class RandomStructured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        self.amount, self.dim = _check_amount(amount), dim

    def _kept(self, t, size, n):
        draw = torch.rand(size)
        return draw > torch.kthvalue(draw, k=n).values

    def compute_mask(self, t, default_mask):
        if t.dim() <= 1:
            raise ValueError(f"Structured pruning can only be applied to multidimensional tensors. Found tensor of shape {t.shape} with {t.dim()} dims")
        if self.dim >= t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        n = _count(self.amount, size)
        if n == 0:
            return default_mask
        at = [slice(None)] * t.dim()
        at[self.dim] = self._kept(t, size, n)
        mask = torch.zeros_like(t)
        mask[tuple(at)] = 1
        return mask * default_mask.to(mask.dtype)


class LnStructured(RandomStructured):
    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def _kept(self, t, size, n):
        norm = torch.norm(t, p=self.n, dim=[d for d in range(t.dim()) if d != self.dim % t.dim()])
        return torch.topk(norm, k=size - n, largest=True).indices


class CustomFromMask(BasePruningMethod):
    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    parameters, scores = list(parameters), importance_scores or {}
    values = parameters_to_vector([scores.get((m, name), getattr(m, name)) for m, name in parameters])
    masks = parameters_to_vector([getattr(m, name + "_mask", torch.ones_like(getattr(m, name))) for m, name in parameters])
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError('Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method ' + str(pruning_method) + " of type "
                        + str(method.PRUNING_TYPE))
    method._tensor_name = "temp"
    with torch.no_grad():
        mask, at = PruningContainer(method).compute_mask(values, masks), 0
    for m, name in parameters:
        p = getattr(m, name)
        custom_from_mask(m, name, mask=mask[at:at + p.numel()].view_as(p))
        at += p.numel()


def remove(module, name):
    for k, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[k]
            return module
    raise ValueError(f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed")


def is_pruned(module):
    return any([isinstance(hook, BasePruningMethod) for m in module.modules() for hook in m._forward_pre_hooks.values()])
