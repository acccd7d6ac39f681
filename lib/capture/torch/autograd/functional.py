# torch.autograd.functional: products with and by Jacobians and Hessians, by the transforms of torch.func.
import torch
from torch import func as _func


def _tuple(x):
    return tuple(x) if isinstance(x, (tuple, list)) else (x,)


def _not_strict(strict):
    if strict:
        raise NotImplementedError("strict=True of torch.autograd.functional is outside the model language")


def _detached(x, keep):
    return tuple(_detached(v, keep) for v in x) if isinstance(x, tuple) else x if keep or x is None else x.detach()


def _like(x, model, keep):  # a tuple, or its only element where the model is no tuple
    x = _detached(x, keep)
    return x if isinstance(model, (tuple, list)) else x[0]


def _given(v, model, name):  # the vector of a product; without one that of a single element is 1
    if v is None:
        if len(model) != 1 or model[0].numel() != 1:
            raise RuntimeError(f"The vector v can only be None if the {name} returns a single Tensor with a single element.")
        return (torch.ones_like(model[0]),)
    for a, b in zip(_tuple(v), model):
        if a.shape != b.shape:
            raise RuntimeError(f"v has invalid size: should be {b.shape} but got {a.shape}.")
    return _tuple(v)


def _scalar(func):
    def inner(*xs):
        y = func(*xs)
        if isinstance(y, (tuple, list)) or y.numel() != 1:
            raise RuntimeError("The Tensor returned by the function given to hessian should contain a single element")
        return y.reshape(())

    return inner


def jacobian(func, inputs, create_graph=False, strict=False, vectorize=False, strategy="reverse-mode"):
    _not_strict(strict)
    xs, kept = _tuple(inputs), []

    def call(*xs):
        kept.append(func(*xs))
        return _tuple(kept[-1])

    of = _func.jacfwd if strategy == "forward-mode" else _func.jacrev
    rows = tuple(_like(row, inputs, create_graph) for row in of(call, argnums=tuple(range(len(xs))))(*xs))
    return rows if isinstance(kept[0], (tuple, list)) else rows[0]


def hessian(func, inputs, create_graph=False, strict=False, vectorize=False, outer_jacobian_strategy="reverse-mode"):
    _not_strict(strict)
    xs = _tuple(inputs)
    rows = _func.jacrev(_func.jacrev(_scalar(func), argnums=tuple(range(len(xs)))), argnums=tuple(range(len(xs))))(*xs)
    return _like(tuple(_like(row, inputs, create_graph) for row in rows), inputs, create_graph)


def vjp(func, inputs, v=None, create_graph=False, strict=False):
    _not_strict(strict)
    out, pull = _func.vjp(func, *_tuple(inputs))
    pulled = pull(_given(v, _tuple(out), "function") if isinstance(out, (tuple, list)) else _given(v, (out,), "function")[0])
    return _like(_tuple(out), out, create_graph), _like(_tuple(pulled), inputs, create_graph)


def jvp(func, inputs, v=None, create_graph=False, strict=False):
    _not_strict(strict)
    xs = _tuple(inputs)
    out, pushed = _func.jvp(func, xs, _given(v, xs, "input"))
    return _like(_tuple(out), out, create_graph), _like(_tuple(pushed), out, create_graph)


def hvp(func, inputs, v=None, create_graph=False, strict=False):
    _not_strict(strict)
    xs, kept = _tuple(inputs), []

    def call(*xs):
        kept.append(func(*xs))
        return kept[-1].reshape(())

    _, pushed = _func.jvp(_func.grad(call, argnums=tuple(range(len(xs)))), xs, _given(v, xs, "input"))
    return _detached(kept[0], create_graph), _like(_tuple(pushed), inputs, create_graph)


vhp = hvp  # the Hessian of smooth functions is symmetric
