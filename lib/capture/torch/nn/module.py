# Module: parameters, buffers and submodules by attribute; state_dict in PyTorch's order and names.
import warnings
from collections import OrderedDict, namedtuple

import torch
from torch._C import Parameter, Buffer

class _IncompatibleKeys(namedtuple("IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    def __repr__(self):
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class RemovableHandle:
    def __init__(self, hooks, extra=None):
        self.hooks = hooks
        self.extra = extra
        self.id = len(hooks)
        while self.id in hooks:
            self.id += 1

    def remove(self):
        self.hooks.pop(self.id, None)
        if self.extra is not None:
            self.extra.pop(self.id, None)

    def __enter__(self):
        return self

    def __exit__(self, *args):
        self.remove()


# Global hooks, which run before a module's own: a list for each kind, and all lists.
_global_hooks = OrderedDict()
_global_forward_pre_hooks, _global_forward_hooks = OrderedDict(), OrderedDict()
_global_backward_pre_hooks, _global_backward_hooks = OrderedDict(), OrderedDict()


_global_with_kwargs, _global_always_called = {}, {}  # which of the global forward hooks take keyword arguments, run after an exception


def _add_global(hooks, hook):
    handle = RemovableHandle(_global_hooks, hooks)
    _global_hooks[handle.id] = hooks[handle.id] = hook
    return handle


def register_module_forward_pre_hook(hook):
    return _add_global(_global_forward_pre_hooks, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    handle = _add_global(_global_forward_hooks, hook)
    if with_kwargs:
        _global_with_kwargs[handle.id] = True
    if always_call:
        _global_always_called[handle.id] = True
    return handle


def register_module_full_backward_pre_hook(hook):
    return _add_global(_global_backward_pre_hooks, hook)


def register_module_full_backward_hook(hook):
    return _add_global(_global_backward_hooks, hook)


# Hooks that see each buffer, module and parameter as it is registered, and may give another.
_buffer_hooks, _module_hooks, _parameter_hooks = OrderedDict(), OrderedDict(), OrderedDict()


def _add(hooks, hook):
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def register_module_buffer_registration_hook(hook):
    return _add(_buffer_hooks, hook)


def register_module_module_registration_hook(hook):
    return _add(_module_hooks, hook)


def register_module_parameter_registration_hook(hook):
    return _add(_parameter_hooks, hook)


def _hooked(hooks, module, name, value):
    for hook in hooks.values():
        result = hook(module, name, value)
        if result is not None:
            value = result
    return value


def _inner_first(module):  # a module comes after its submodules
    inner = [m for child in module._modules.values() if child is not None for m in _inner_first(child)]
    return inner + [module]


def _indent(text, by):
    lines = text.split("\n")
    if len(lines) == 1:
        return text
    return lines[0] + "\n" + "\n".join([" " * by + line for line in lines[1:]])


class Module:
    dump_patches = False
    _version = 1
    call_super_init = False

    def __init__(self, *args, **kwargs):
        if kwargs and not self.call_super_init:
            raise TypeError(type(self).__name__ + ".__init__() got an unexpected keyword argument '" + next(iter(kwargs)) + "'")
        if args and not self.call_super_init:
            raise TypeError(type(self).__name__ + ".__init__() takes 1 positional argument but " + str(len(args) + 1) + " were given")
        put = object.__setattr__
        put(self, "training", True)
        put(self, "_parameters", {})
        put(self, "_buffers", {})
        put(self, "_non_persistent_buffers_set", set())
        put(self, "_backward_pre_hooks", OrderedDict())
        put(self, "_backward_hooks", OrderedDict())
        put(self, "_forward_hooks", OrderedDict())
        put(self, "_forward_hooks_with_kwargs", OrderedDict())
        put(self, "_forward_hooks_always_called", OrderedDict())
        put(self, "_forward_pre_hooks", OrderedDict())
        put(self, "_forward_pre_hooks_with_kwargs", OrderedDict())
        put(self, "_state_dict_hooks", OrderedDict())
        put(self, "_state_dict_pre_hooks", OrderedDict())
        put(self, "_load_state_dict_pre_hooks", OrderedDict())
        put(self, "_load_state_dict_post_hooks", OrderedDict())
        put(self, "_modules", {})
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args, **kwargs):
        raise NotImplementedError("Module [" + type(self).__name__ + '] is missing the required "forward" function')

    def __call__(self, *args, **kwargs):
        if not (self._forward_pre_hooks or self._forward_hooks or self._backward_hooks or self._backward_pre_hooks or _global_hooks):
            return self.forward(*args, **kwargs)
        if not (self._forward_hooks_always_called or _global_always_called):
            return self._call_hooked(args, kwargs, set())
        done = set()
        try:
            return self._call_hooked(args, kwargs, done)
        except Exception:
            for hooks, always, takes_kwargs in self._forward_hook_tables():
                for key, hook in list(hooks.items()):
                    if key in always and (id(hooks), key) not in done:
                        try:
                            hook(self, args, kwargs, None) if key in takes_kwargs else hook(self, args, None)
                        except Exception as e:
                            warnings.warn("module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised in forward: " + str(e))
            raise

    def _forward_hook_tables(self):
        return (
            (_global_forward_hooks, _global_always_called, _global_with_kwargs),
            (self._forward_hooks, self._forward_hooks_always_called, self._forward_hooks_with_kwargs),
        )

    def _call_hooked(self, args, kwargs, done):  # done: which forward hooks have begun
        for hook in list(_global_forward_pre_hooks.values()):
            result = hook(self, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
        for key, hook in list(self._forward_pre_hooks.items()):
            if key in self._forward_pre_hooks_with_kwargs:
                result = hook(self, args, kwargs)
                if result is not None:
                    args, kwargs = result
            else:
                result = hook(self, args)
                if result is not None:
                    args = result if isinstance(result, tuple) else (result,)
        before, behind = [], []
        if torch._C.capturing() and torch.is_grad_enabled():
            before = list(_global_backward_pre_hooks.values()) + list(self._backward_pre_hooks.values())
            behind = list(_global_backward_hooks.values()) + list(self._backward_hooks.values())
        backward = None
        if before or behind:
            backward = __import__("torch.utils.hooks").BackwardHook(self, behind, before)
            args = backward.on_given(args)
        out = self.forward(*args, **kwargs)
        for hooks, _, takes_kwargs in self._forward_hook_tables():
            for key, hook in list(hooks.items()):
                done.add((id(hooks), key))
                result = hook(self, args, kwargs, out) if key in takes_kwargs else hook(self, args, out)
                if result is not None:
                    out = result
        return backward.on_returned(out) if backward else out

    # ---- attributes ----
    def __getattr__(self, name):
        d = self.__dict__
        if "_parameters" in d:
            if name in d["_parameters"]:
                return d["_parameters"][name]
            if name in d["_buffers"]:
                return d["_buffers"][name]
            if name in d["_modules"]:
                return d["_modules"][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'", name=name, obj=self)

    def __setattr__(self, name, value):
        d = self.__dict__
        params = d.get("_parameters")
        if isinstance(value, Parameter):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, d, params)
            self.register_parameter(name, value)
            return
        if params is not None and name in params:
            if value is not None:
                raise TypeError("cannot assign '" + str(type(value).__name__) + "' as parameter '" + name + "' (torch.nn.Parameter or None expected)")
            params[name] = None
            return
        modules = d.get("_modules")
        if isinstance(value, Module):
            if modules is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, d, modules)
            modules[name] = _hooked(_module_hooks, self, name, value)
            return
        if modules is not None and name in modules:
            if value is not None:
                raise TypeError("cannot assign '" + str(type(value).__name__) + "' as child module '" + name + "' (torch.nn.Module or None expected)")
            modules[name] = _hooked(_module_hooks, self, name, None)
            return
        buffers = d.get("_buffers")
        if isinstance(value, Buffer):
            if buffers is None:
                raise AttributeError("cannot assign buffer before Module.__init__() call")
            self._forget(name, d, buffers)
            self.register_buffer(name, value, value.persistent)
            return
        if buffers is not None and name in buffers:
            if value is not None and not isinstance(value, torch.Tensor):
                raise TypeError("cannot assign '" + str(type(value).__name__) + "' as buffer '" + name + "' (torch.Tensor or None expected)")
            buffers[name] = _hooked(_buffer_hooks, self, name, value)
            return
        object.__setattr__(self, name, value)

    def _forget(self, name, d, keep):
        for where in (d, d["_parameters"], d["_buffers"], d["_modules"]):
            if where is not keep:
                where.pop(name, None)
        if keep is not d["_buffers"]:
            d["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name):
        if name in self._parameters:
            del self._parameters[name]
        elif name in self._buffers:
            del self._buffers[name]
            self._non_persistent_buffers_set.discard(name)
        elif name in self._modules:
            del self._modules[name]
        else:
            object.__delattr__(self, name)

    def __dir__(self):
        keys = dir(self.__class__) + list(self.__dict__) + list(self._parameters) + list(self._modules) + list(self._buffers)
        return sorted([k for k in keys if not k[0].isdigit()])

    # ---- registration ----
    def _check_name(self, kind, name):
        if not isinstance(name, str):
            raise TypeError(kind + " name should be a string. Got " + type(name).__name__)
        if "." in name:
            raise KeyError(kind + ' name can\'t contain ".", got: ' + name)
        if name == "":
            raise KeyError(kind + ' name can\'t be empty string ""')

    def register_buffer(self, name, tensor, persistent=True):
        if "_buffers" not in self.__dict__:
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        self._check_name("buffer", name)
        if hasattr(self, name) and name not in self._buffers:
            raise KeyError("attribute '" + name + "' already exists")
        if tensor is not None and not isinstance(tensor, torch.Tensor):
            raise TypeError("cannot assign '" + type(tensor).__name__ + "' object to buffer '" + name + "' (torch Tensor or None required)")
        self._buffers[name] = _hooked(_buffer_hooks, self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name, param):
        if "_parameters" not in self.__dict__:
            raise AttributeError("cannot assign parameter before Module.__init__() call")
        self._check_name("parameter", name)
        if hasattr(self, name) and name not in self._parameters:
            raise KeyError("attribute '" + name + "' already exists")
        if param is not None and not isinstance(param, Parameter):
            raise TypeError("cannot assign '" + type(param).__name__ + "' object to parameter '" + name + "' (torch.nn.Parameter or None required)")
        self._parameters[name] = None if param is None else _hooked(_parameter_hooks, self, name, param)

    def add_module(self, name, module):
        if module is not None and not isinstance(module, Module):
            raise TypeError(getattr(module, "__qualname__", type(module).__qualname__) + " is not a Module subclass")
        self._check_name("module", name)
        if hasattr(self, name) and name not in self._modules:
            raise KeyError("attribute '" + name + "' already exists")
        self._modules[name] = _hooked(_module_hooks, self, name, module)

    def register_module(self, name, module):
        self.add_module(name, module)

    def _get_name(self):
        return type(self).__name__

    def get_submodule(self, target):
        m = self
        if target == "":
            return m
        for item in target.split("."):
            if not hasattr(m, item):
                raise AttributeError(m._get_name() + " has no attribute `" + item + "`")
            m = getattr(m, item)
            if not isinstance(m, Module):
                raise AttributeError("`" + item + "` is not an nn.Module")
        return m

    def set_submodule(self, target, module, strict=False):
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, Module):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if strict and not hasattr(parent, name):
            raise AttributeError(parent._get_name() + " has no attribute `" + name + "`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), Module):
            raise AttributeError("`" + name + "` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target):
        path, _, name = target.rpartition(".")
        p = getattr(self.get_submodule(path), name)
        if not isinstance(p, Parameter):
            raise AttributeError("`" + name + "` is not an nn.Parameter")
        return p

    def get_buffer(self, target):
        path, _, name = target.rpartition(".")
        m = self.get_submodule(path)
        if name not in m._buffers:
            raise AttributeError("`" + name + "` is not a buffer")
        return m._buffers[name]

    # ---- hooks ----
    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        return self._add_hook("_forward_pre_hooks", self._forward_pre_hooks_with_kwargs, hook, prepend, with_kwargs)

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        handle = self._add_hook("_forward_hooks", self._forward_hooks_with_kwargs, hook, prepend, with_kwargs)
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def _add_hook(self, where, with_kwargs_of, hook, prepend, with_kwargs):
        hooks = self.__dict__[where]
        handle = RemovableHandle(hooks, with_kwargs_of)
        hooks[handle.id] = hook
        if with_kwargs:
            with_kwargs_of[handle.id] = True
        if prepend:
            hooks.move_to_end(handle.id, last=False)
        return handle

    def register_full_backward_hook(self, hook, prepend=False):
        return self._add_hook("_backward_hooks", None, hook, prepend, False)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        return self._add_hook("_backward_pre_hooks", None, hook, prepend, False)

    def _register_state_dict_hook(self, hook):
        return _add(self._state_dict_hooks, (hook, False))

    def register_state_dict_post_hook(self, hook):
        return _add(self._state_dict_hooks, (hook, True))

    def register_state_dict_pre_hook(self, hook):
        return _add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        return _add(self._load_state_dict_pre_hooks, (hook, with_module))

    def register_load_state_dict_pre_hook(self, hook):
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        return _add(self._load_state_dict_post_hooks, hook)

    # ---- walking ----
    def named_modules(self, memo=None, prefix="", remove_duplicate=True):
        return iter(torch._C.named_modules(self, memo, prefix, remove_duplicate))

    def modules(self):
        return iter(torch._C.named_modules(self, None, None, True))  # without names, which are long in deep models

    def named_children(self):
        return iter(torch._C.named_children(self, True))

    def children(self):
        return iter(torch._C.named_children(self, False))

    def _named_members(self, which, prefix, recurse, remove_duplicate):
        modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate) if recurse else [(prefix, self)]
        return iter(torch._C.named_members(modules, which, remove_duplicate))

    def named_parameters(self, prefix="", recurse=True, remove_duplicate=True):
        return self._named_members("_parameters", prefix, recurse, remove_duplicate)

    def parameters(self, recurse=True):
        return iter([p for _, p in self.named_parameters(recurse=recurse)])

    def named_buffers(self, prefix="", recurse=True, remove_duplicate=True):
        return self._named_members("_buffers", prefix, recurse, remove_duplicate)

    def buffers(self, recurse=True):
        return iter([b for _, b in self.named_buffers(recurse=recurse)])

    # ---- modes and conversion ----
    def train(self, mode=True):
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for m in self.children():
            m.train(mode)
        return self

    def eval(self):
        return self.train(False)

    def requires_grad_(self, requires_grad=True):
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none=True):
        for p in self.parameters():
            if p.grad is not None:
                p.grad = None if set_to_none else torch.zeros_like(p.grad)

    def apply(self, fn):
        for m in self.children():
            m.apply(fn)
        fn(self)
        return self

    def _apply(self, fn, recurse=True):
        done = {}
        for m in self.modules() if recurse else [self]:
            for name, p in m._parameters.items():
                if p is not None:
                    if id(p) not in done:
                        with torch.no_grad():
                            done[id(p)] = (Parameter(fn(p.detach()), p.requires_grad), p)
                    m._parameters[name] = done[id(p)][0]
            for name, b in m._buffers.items():
                if b is not None:
                    if id(b) not in done:
                        done[id(b)] = (fn(b), b)
                    m._buffers[name] = done[id(b)][0]
        return self

    def _cast(self, dtype):
        return self._apply(lambda t: t.to(dtype) if t.is_floating_point() else t)

    def float(self):
        return self._cast(torch.float32)

    def double(self):
        return self._cast(torch.float64)

    def half(self):
        return self._cast(torch.float16)

    def bfloat16(self):
        return self._cast(torch.bfloat16)

    def type(self, dst_type):
        return self._apply(lambda t: t.to(dst_type))

    def to(self, *args, **kwargs):
        dtype = kwargs.get("dtype")
        for a in args:
            if isinstance(a, torch.dtype):
                dtype = a
            elif isinstance(a, torch.Tensor):
                dtype = a.dtype
        if any(torch.device(d).type == "meta" for d in (*args, kwargs.get("device")) if isinstance(d, (str, torch.device))):
            return self._apply(lambda t: t.to("meta"))
        layout = kwargs.get("memory_format")
        if dtype is None and layout is None:
            return self
        if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
            raise TypeError("nn.Module.to only accepts floating point or complex dtypes, but got desired dtype=" + str(dtype))

        def convert(t):
            kind = dtype if dtype is not None and (t.is_floating_point() or t.is_complex()) else t.dtype
            return t.to(kind, memory_format=layout if t.dim() in (4, 5) else None)

        return self._apply(convert)

    def cuda(self, device=None):
        return self

    def cpu(self):
        return self

    def to_empty(self, *, device=None, recurse=True):
        return self._apply(lambda t: torch.empty_like(t, device=device or "cpu"), recurse)

    def share_memory(self):
        return self

    def compile(self, *args, **kwargs):
        return None

    # ---- state ----
    def state_dict(self, *args, destination=None, prefix="", keep_vars=False):
        if args:
            destination = args[0]
            if len(args) > 1:
                prefix = args[1]
            if len(args) > 2:
                keep_vars = args[2]
        if destination is None:
            destination = OrderedDict()
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, m in self._modules.items():
            if m is not None:
                m.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook, is_public in self._state_dict_hooks.values():
            result = hook(self, destination, prefix, {"version": self._version})
            if result is not None:
                if is_public:
                    raise RuntimeError("state_dict post-hook must return None")
                destination = result
        return destination

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, p in self._parameters.items():
            if p is not None:
                destination[prefix + name] = p if keep_vars else p.detach()
        for name, b in self._buffers.items():
            if b is not None and name not in self._non_persistent_buffers_set:
                destination[prefix + name] = b if keep_vars else b.detach()
        if hasattr(type(self), "get_extra_state"):
            destination[prefix + "_extra_state"] = self.get_extra_state()

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs):
        for hook, with_module in self._load_state_dict_pre_hooks.values():
            if with_module:
                hook(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
            else:
                hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        if isinstance(state_dict, _Stored):
            return
        own = [(n, p) for n, p in self._parameters.items() if p is not None]
        own += [(n, b) for n, b in self._buffers.items() if b is not None and n not in self._non_persistent_buffers_set]
        for name, t in own:
            key = prefix + name
            if key in state_dict:
                new = state_dict[key]
                if len(t.shape) == 0 and len(new.shape) == 1 and new.shape[0] == 1:
                    new = new[0]
                if new.shape != t.shape:
                    error_msgs.append(
                        "size mismatch for " + key + ": copying a param with shape " + str(new.shape) + " from checkpoint, the shape in current model is "
                        + str(t.shape) + "."
                    )
                    continue
                if local_metadata.get("assign_to_params_buffers", False):
                    if isinstance(t, Parameter):
                        new = new.requires_grad_(t.requires_grad) if isinstance(new, Parameter) else Parameter(new, requires_grad=t.requires_grad)
                    setattr(self, name, new)
                    continue
                with torch.no_grad():
                    t.copy_(new)
            elif strict and name != "num_batches_tracked":  # which states of PyTorch before 0.4.1 lack
                missing_keys.append(key)
        if strict:
            known = set([prefix + n for n, _ in own])
            for key in state_dict:
                if key.startswith(prefix) and key != prefix + "_extra_state":
                    rest = key[len(prefix):].split(".", 1)
                    if len(rest) > 1:
                        if rest[0] not in self._modules:
                            unexpected_keys.append(key)
                    elif key not in known:
                        unexpected_keys.append(key)

    def load_state_dict(self, state_dict, strict=True, assign=False):
        missing, unexpected, errors = [], [], []
        if not isinstance(state_dict, dict):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        state_dict = OrderedDict(state_dict)
        for path, m in self.named_modules(remove_duplicate=False):
            prefix = path + "." if path else ""
            m._load_from_state_dict(state_dict, prefix, {"assign_to_params_buffers": assign}, True, missing, unexpected, errors)
        found = _IncompatibleKeys(missing, unexpected)
        for m in _inner_first(self):
            for hook in m._load_state_dict_post_hooks.values():
                if hook(m, found) is not None:
                    raise AssertionError("Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, "
                                         "if incompatible_keys need to be modified, it should be done inplace.")
        if strict:
            if unexpected:
                errors.insert(0, "Unexpected key(s) in state_dict: " + ", ".join(['"' + k + '"' for k in unexpected]) + ". ")
            if missing:
                errors.insert(0, "Missing key(s) in state_dict: " + ", ".join(['"' + k + '"' for k in missing]) + ". ")
        if errors:
            raise RuntimeError("Error(s) in loading state_dict for " + type(self).__name__ + ":\n\t" + "\n\t".join(errors))
        return found

    # ---- text ----
    def extra_repr(self):
        return ""

    def __repr__(self):
        extra = self.extra_repr()
        lines = extra.split("\n") if extra else []
        children = ["(" + name + "): " + _indent(repr(m), 2) for name, m in self._modules.items()]
        body = lines + children
        head = self._get_name() + "("
        if body:
            if len(lines) == 1 and not children:
                head += lines[0]
            else:
                head += "\n  " + "\n  ".join(body) + "\n"
        return head + ")"


class _Stored(OrderedDict):  # a state dict that is only passed through load hooks: nothing is copied from it
    pass


# Does a module change names or tensors of a loaded file, by hooks or by its own _load_from_state_dict?
def _changes_stored(module):
    return any([m._load_state_dict_pre_hooks or type(m)._load_from_state_dict is not Module._load_from_state_dict for m in module.modules()])


def _change_stored(module, stored):
    stored, errors = _Stored(stored), []
    with torch.no_grad():
        for path, m in module.named_modules(remove_duplicate=False):
            m._load_from_state_dict(stored, path + "." if path else "", {}, True, [], [], errors)
    if errors:
        raise RuntimeError("Error(s) in loading state_dict for " + type(module).__name__ + ":\n\t" + "\n\t".join(errors))
    return list(stored.items())


# Sets the mode of a module. Returns the name of the first weight whose values changed (a train() of the model may merge weights), or None.
def _set_mode(module, mode):
    modules = module.modules() if isinstance(module, Module) else []
    before = []
    if any([type(m).train is not Module.train or type(m).eval is not Module.eval for m in modules]):
        before = [(name, t.detach().clone()) for name, t in [*module.named_parameters(), *module.named_buffers()]]
    if hasattr(module, "train"):
        module.train(mode)
    now = dict([*module.named_parameters(), *module.named_buffers()]) if before else {}
    for name, t in before:
        if name not in now or now[name].shape != t.shape or not ((now[name] == t) | (t != t)).all():
            return name


# ---- signatures of calls (tc_capture_preserve) ----
def _call_begins(module, args, kwargs):
    torch._C.call_begins(args, kwargs)


def _call_ends(module, args, kwargs, out):
    torch._C.call_ends(out)


def _preserve(module):
    if _call_begins not in module._forward_pre_hooks.values():
        module.register_forward_pre_hook(_call_begins, with_kwargs=True)
        module.register_forward_hook(_call_ends, prepend=True, with_kwargs=True)
