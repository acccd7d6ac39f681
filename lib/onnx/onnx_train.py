# ai.onnx.preview.training: optimisers' steps on given gradients, and gradients themselves.
import torch
from onnx_values import numbers, tensor
import _onnx


def groups(args, parts):
    """[R, T, x1, x2, ..., g1, g2, ..., ...] as (R, T, [(x1, g1, ...), ...])"""
    rest = args[2:]
    k = len(rest) // parts
    return args[0], args[1], [tuple([rest[p * k + i] for p in range(parts)]) for i in range(k)]


def flat(rows):
    return tuple([r[p] for p in range(len(rows[0])) for r in rows])


def adagrad(n, *args):
    rate, t, rows = groups(args, 3)
    r = rate / (1 + t.to(rate.dtype) * n.get("decay_factor", 0.0))
    norm, eps, out = n.get("norm_coefficient", 0.0), n.get("epsilon", 1e-6), []
    for x, g, h in rows:
        g = x * norm + g
        h = h + g * g
        out.append((x - r * g / (torch.sqrt(h) + eps), h))
    return flat(out)


def adam(n, *args):
    rate, t, rows = groups(args, 4)
    alpha, beta, eps = n.get("alpha", 0.9), n.get("beta", 0.999), n.get("epsilon", 1e-6)
    norm, after, out = n.get("norm_coefficient", 0.0), n.get("norm_coefficient_post", 0.0), []
    steps = t.to(torch.float64)
    r = rate.to(torch.float64)
    corrected = r * torch.sqrt(1 - torch.pow(torch.full_like(steps, beta), steps)) / (1 - torch.pow(torch.full_like(steps, alpha), steps))
    r = torch.where(t > 0, corrected, r)
    for x, g, v, h in rows:
        g = x * norm + g
        v = v * alpha + g * (1 - alpha)
        h = h * beta + (g * g) * (1 - beta)
        new = x - r.to(x.dtype) * (v / (torch.sqrt(h) + eps))
        out.append((new * (1 - after) if after else new, v, h))
    return flat(out)


def momentum(n, *args):
    rate, t, rows = groups(args, 3)
    alpha, beta, norm, out = n.get("alpha"), n.get("beta"), n.get("norm_coefficient", 0.0), []
    for x, g, v in rows:
        g = x * norm + g
        b = torch.where(t > 0, torch.full([], beta, dtype=g.dtype), torch.full([], 1.0, dtype=g.dtype))
        v = v * alpha + b * g
        out.append((x - rate * (v if n.get("mode", "standard") == "standard" else g + v * alpha), v))
    return flat(out)


def gradient(n, *args):
    """dy/dx for the tensors named in xs, through the graph built so far."""
    scope, names = n.scope, n.get("xs")
    y = tensor(scope.find(n.get("y")))
    xs = [tensor(scope.find(name)) for name in names]
    for given, name, x in zip(args, names, xs):
        if given is not x:
            n.unsupported(f"a gradient at another value of '{name}' than the graph's")
    if not y.requires_grad:
        n.unsupported("a gradient of inputs that require none")
    return tuple(torch.autograd.grad([y], xs, [torch.ones_like(y)], create_graph=True))


DOMAIN = "ai.onnx.preview.training"
TABLE = [(DOMAIN, "Adagrad", 1, adagrad, "TTt"), (DOMAIN, "Adam", 1, adam, "TTt"), (DOMAIN, "Momentum", 1, momentum, "TTt"),
         (DOMAIN, "Gradient", 1, gradient, "t")]
