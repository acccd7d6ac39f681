# Parametrisations: a tensor of a module is computed from other parameters each time that it is read.
#     layer.parametrizations.weight.original  --[0]--[1]-->  layer.weight
import torch
from torch.nn.container import ModuleDict, ModuleList
from torch.nn.module import Module
from torch._C import Parameter


class ParametrizationList(ModuleList):
    def __init__(self, modules, original, unsafe=False):
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            new = self._inverse(original)
        object.__setattr__(self, "is_tensor", isinstance(new, torch.Tensor))
        if not self.is_tensor and not isinstance(new, (list, tuple)):
            raise ValueError(f"'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). Got {type(new).__name__}.")
        if self.is_tensor:
            if new.dtype != dtype:
                raise ValueError(f"When `right_inverse` outputs one tensor, it may not change the dtype: {dtype} to {new.dtype}")
            if new is not original:
                original.data = new  # keeps the parameter object, which others may share
            self._register("original", original)
        else:
            object.__setattr__(self, "ntensors", len(new))
            for i, t in enumerate(new):
                self._register(f"original{i}", Parameter(t.detach(), original.requires_grad) if isinstance(original, Parameter) else t)
        if not unsafe:
            _same_kind(self(), shape, dtype)

    def _register(self, name, t):
        if isinstance(t, Parameter):
            self.register_parameter(name, t)
        else:
            self.register_buffer(name, t)

    def _inverse(self, value):
        for m in reversed(list(self)):
            if hasattr(m, "right_inverse"):
                try:
                    value = m.right_inverse(value)
                except NotImplementedError:
                    pass
        return value

    def forward(self):
        if self.is_tensor:
            x = self[0](self.original)
        else:
            x = self[0](*[getattr(self, f"original{i}") for i in range(self.ntensors)])
        for m in list(self)[1:]:
            x = m(x)
        return x

    def right_inverse(self, value):
        with torch.no_grad():
            for m in reversed(list(self)):
                value = m.right_inverse(value)
            if self.is_tensor:
                self.original.copy_(value)
            else:
                for i, t in enumerate(value):
                    getattr(self, f"original{i}").copy_(t)


def _same_kind(made, shape, dtype):
    if not isinstance(made, torch.Tensor):
        raise ValueError(f"A parametrization must return a tensor. Got {type(made).__name__}.")
    for what, old, new in (("dtype", dtype, made.dtype), ("shape", shape, made.shape)):
        if old != new:
            raise ValueError(f"Registering a parametrization may not change the {what} of the tensor, unless `unsafe` flag is enabled: {old} to {new}")


def _property(name):
    def get(self):
        return self.parametrizations[name]()

    def put(self, value):
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            whole = getattr(module, tensor_name)
            _same_kind(parametrization(whole), whole.shape, whole.dtype)
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'")
    original = getattr(module, tensor_name)
    plist = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        base = type(module)
        module.__class__ = type("Parametrized" + base.__name__, (base,), {})
        module.parametrizations = ModuleDict()
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = plist
    return module


def is_parametrized(module, tensor_name=None):
    plists = module.__dict__["_modules"].get("parametrizations")
    if plists is None or not isinstance(plists, ModuleDict):
        return False
    return len(plists) > 0 if tensor_name is None else tensor_name in plists


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    plist = module.parametrizations[tensor_name]
    with torch.no_grad():
        value = plist() if leave_parametrized else plist.original
    original = plist.original if plist.is_tensor else getattr(plist, "original0")
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if isinstance(original, Parameter):
        module.register_parameter(tensor_name, Parameter(value.detach(), original.requires_grad))
    else:
        module.register_buffer(tensor_name, value)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


class cached:
    def __enter__(self):
        return self

    def __exit__(self, *args):
        return False
