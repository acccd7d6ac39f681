# copy.
import torch
from _lang import kind

Error = RuntimeError


def copy(x):
    k = kind(x)
    own = getattr(type(x), "__copy__", None)
    if own is not None:
        return own(x)
    if k == "list":
        return x[:] if type(x) is list else _instance(x, list(x))
    if k == "dict":
        r = x.copy()
        if type(x) is not dict:
            for name, v in x.__dict__.items():
                object.__setattr__(r, name, v)
        return r
    if k == "set":
        return set(x)
    if k == "Tensor":
        return x.view_as(x) if not isinstance(x, torch._C.Parameter) else x
    if k == "object":
        r = object.__new__(type(x))
        for name, v in x.__dict__.items():
            object.__setattr__(r, name, v)
        return r
    return x


def _instance(x, items):
    r = type(x)()
    r.extend(items)
    return r


def deepcopy(x, memo=None):
    memo = {} if memo is None else memo
    k = kind(x)
    if k in ("int", "float", "bool", "str", "NoneType", "function", "builtin_function_or_method", "type", "module", "dtype", "device", "operator", "SymInt", "ellipsis", "complex", "range",
             "GenericAlias", "layout", "Size"):
        return x
    key = id(x)
    if key in memo:
        return memo[key][0]
    own = getattr(x, "__deepcopy__", None) if k != "Tensor" else None
    if own is not None:
        r = own(memo)
    elif k == "Tensor":
        r = x.detach().clone()
        if isinstance(x, torch._C.Parameter):
            r = torch._C.Parameter(r, x.requires_grad)
        elif isinstance(x, torch._C.Buffer):
            r = torch._C.Buffer(r, persistent=x.persistent)
        else:
            r.requires_grad = x.requires_grad
    elif k == "list":
        r = type(x)()
        memo[key] = (r, x)
        for v in x:
            r.append(deepcopy(v, memo))
    elif k == "tuple":
        r = [deepcopy(v, memo) for v in x]
        r = type(x)(*r) if hasattr(x, "_fields") else tuple(r)
    elif k == "dict":
        r = x.copy()
        r.clear()
        memo[key] = (r, x)
        for n, v in x.items():
            r[deepcopy(n, memo)] = deepcopy(v, memo)
        if type(x) is not dict:
            for n, v in x.__dict__.items():
                object.__setattr__(r, n, deepcopy(v, memo))
    elif k in ("set", "frozenset"):
        r = type(x)([deepcopy(v, memo) for v in x])
    elif k == "method":
        r = getattr(deepcopy(x.__self__, memo), x.__name__)
    elif k == "object":
        r = object.__new__(type(x))
        memo[key] = (r, x)
        for n, v in x.__dict__.items():
            r.__dict__[n] = deepcopy(v, memo)
    else:
        r = x
    memo[key] = (r, x)
    return r
