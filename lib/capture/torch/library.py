# torch.library: operators that a file defines. Where one is called its body is captured: the program holds what it does, not its name.
# An operator with a registered gradient is a torch.autograd.Function; without one the gradient is that of its body.
import torch
from inspect import signature
from torch.autograd import Function

_defined = {}  # "space::name" -> CustomOpDef


def _split(name):  # "space::op.overload"
    space, mark, op = name.partition("::")
    if not mark or not space or not op:
        raise ValueError(f"expected the name of an operator as 'namespace::name', got '{name}'")
    op, _, overload = op.partition(".")
    return space, op, overload or "default"


def _find(op):
    if isinstance(op, CustomOpDef):
        return op
    space, name, overload = _split(op)
    key = space + "::" + name
    if key not in _defined or overload not in ("default", _defined[key]._overload):
        raise RuntimeError(f"operator {key} does not exist")
    return _defined[key]


class CustomOpDef:
    def __init__(self, name):
        space, op, overload = _split(name)
        self._qualname, self._name, self._overload, self._fn, self._backward, self._setup = space + "::" + op, op, overload, None, None, None
        if self._qualname in _defined and _defined[self._qualname]._overload != overload:
            raise NotImplementedError(f"several overloads of one operator are not part of the model language: {self._qualname}.{overload}")
        _defined[self._qualname] = self
        setattr(self, overload, self)  # torch.ops.space.name.default
        setattr(getattr(torch.ops, space), op, self)

    def __call__(self, *args, **kwargs):
        if self._fn is None:
            raise NotImplementedError(f"Could not run '{self._qualname}': it has no implementation for the CPU")
        if self._backward is None:
            return self._fn(*args, **kwargs)
        positions, named = self._bound(args, kwargs)
        leaves = []
        for x in positions:
            leaves.extend(x if _is_tensors(x) else [x])

        class Call(Function):
            @staticmethod
            def forward(ctx, *given):
                given = _like(positions, given)
                out = self._fn(*given, **named)
                if self._setup is not None:
                    more = {"keyword_only_inputs": named} if named else {}
                    self._setup(ctx, inputs=tuple(given), output=out, **more)
                return out

            @staticmethod
            def backward(ctx, *gradients):
                result = self._backward(ctx, *gradients)
                result = result if isinstance(result, tuple) else (result,)
                flat = []
                for x, g in zip(positions, result):
                    flat.extend(([None] * len(x) if g is None else g) if _is_tensors(x) else [g])
                return tuple(flat)

        return Call.apply(*leaves)

    def _bound(self, args, kwargs):  # with defaults: those by position, and those by name only
        parameters = list(signature(self._fn).parameters.values())
        if any(p.kind == p.VAR_POSITIONAL or p.kind == p.VAR_KEYWORD for p in parameters):
            return list(args), kwargs
        places = [p for p in parameters if p.kind != p.KEYWORD_ONLY]
        if len(args) > len(places):
            raise RuntimeError(f"{self._qualname}() expected at most {len(places)} argument(s) but received {len(args)} argument(s)")
        left = places[len(args):] + [p for p in parameters if p.kind == p.KEYWORD_ONLY]
        for name in kwargs:
            if not any(p.name == name for p in left):
                raise RuntimeError(f"{self._qualname}() has no argument '{name}', or it is given by position")
        positions, named = list(args), {}
        for p in left:
            if p.name not in kwargs and p.default is p.empty:
                raise RuntimeError(f"{self._qualname}() is missing value for argument '{p.name}'")
            value = kwargs[p.name] if p.name in kwargs else p.default
            if p.kind == p.KEYWORD_ONLY:
                named[p.name] = value
            else:
                positions.append(value)
        return positions, named

    def register_kernel(self, device_types, func=None):
        def register(f):
            if device_types is None or "cpu" in ([device_types] if isinstance(device_types, str) else device_types):
                self._fn = f
            return f

        return register if func is None else register(func)

    def register_fake(self, fn):  # shapes are those of the body
        return fn

    def register_vmap(self, func=None):  # so are the calls of a map
        return (lambda f: f) if func is None else func

    def register_autograd(self, backward, *, setup_context=None):
        self._backward, self._setup = backward, setup_context

    def __repr__(self):
        return f"<CustomOpDef({self._qualname})>"


def _is_tensors(x):
    return isinstance(x, (list, tuple)) and len(x) > 0 and all(isinstance(t, torch.Tensor) for t in x)


def _like(positions, leaves):
    leaves = iter(leaves)
    return [[next(leaves) for _ in x] if _is_tensors(x) else next(leaves) for x in positions]


def custom_op(name, fn=None, /, *, mutates_args, device_types=None, schema=None, tags=None):
    def define(f):
        op = CustomOpDef(name)
        op.register_kernel(device_types, f)
        return op

    return define if fn is None else define(fn)


def define(qualname, schema, alias_analysis="", *, lib=None, tags=()):
    if isinstance(qualname, Library):
        return lambda f: qualname.impl(qualname.define(schema), f) or f
    CustomOpDef(qualname)


def impl(qualname, types, func=None, *, lib=None):
    if isinstance(qualname, Library):  # types: the operator's name, func: a dispatch key
        return lambda f: qualname.impl(types, f, func or "") or f
    types = ["default"] if types is None else [types] if isinstance(types, str) else types
    every = "default" in types or "CompositeExplicitAutograd" in types or "CompositeImplicitAutograd" in types
    return _find(qualname).register_kernel(None if every else [t.lower() for t in types], func)


register_kernel = impl


def register_fake(op, func=None, /, *, lib=None, allow_override=False):
    return (lambda f: f) if func is None else func


def register_vmap(op, func=None, /, *, lib=None):
    return (lambda f: f) if func is None else func


def register_autograd(op, backward, /, *, setup_context=None, lib=None):
    _find(op).register_autograd(backward, setup_context=setup_context)


class Library:
    def __init__(self, ns, kind, dispatch_key=""):
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema, alias_analysis="", *, tags=()):
        name = schema.partition("(")[0].strip()
        CustomOpDef(self.ns + "::" + name)
        return name

    def impl(self, op_name, fn, dispatch_key="", *, with_keyset=False, allow_override=False):
        key = dispatch_key or self.dispatch_key
        if key.startswith("Autograd"):
            raise NotImplementedError("torch.library.Library.impl() for Autograd is not part of the model language: use torch.library.register_autograd()")
        impl(op_name if "::" in op_name else self.ns + "::" + op_name, key or "default", fn)
