# torch.func: transforms of functions, by torch.autograd.grad and map.
import torch
from torch import _C
from torch.autograd import grad as _grad


def _map(f, x):
    if isinstance(x, torch.Tensor):
        return f(x)
    if isinstance(x, dict):
        return {k: _map(f, v) for k, v in x.items()}
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*[_map(f, v) for v in x])
    if isinstance(x, (list, tuple)):
        return type(x)([_map(f, v) for v in x])
    return x


def _leaves(x):
    out = []
    _map(out.append, x)
    return out


def _fill(like, leaves):
    it = iter(leaves)
    return _map(lambda t: next(it), like)


def _is_smooth(x):
    return x.is_floating_point() or x.is_complex()


def _fresh(x):
    return _map(lambda t: (t * 1).requires_grad_(), x)


def _zeros(gs, xs):
    return [torch.zeros_like(x) if g is None else g for g, x in zip(gs, xs)]


def functional_call(module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False):
    named = {}
    for d in parameter_and_buffer_dicts if isinstance(parameter_and_buffer_dicts, (list, tuple)) else (parameter_and_buffer_dicts,):
        named.update(d)
    args = () if args is None else args if isinstance(args, tuple) else (args,)
    saved = []
    shared = {}
    if tie_weights:
        for name, p in list(module.named_parameters(remove_duplicate=False)) + list(module.named_buffers(remove_duplicate=False)):
            shared.setdefault(id(p), []).append(name)
    todo = dict(named)
    for names in shared.values():
        given = [n for n in names if n in named]
        for n in names:
            if given and n not in named:
                todo[n] = named[given[0]]
    try:
        for name, value in todo.items():
            owner = module
            *path, last = name.split(".")
            for part in path:
                owner = getattr(owner, part)
            table = owner._parameters if last in owner._parameters else owner._buffers
            saved.append((table, last, table[last]))
            table[last] = value
        return module(*args, **({} if kwargs is None else kwargs))
    finally:
        for table, last, old in reversed(saved):
            table[last] = old


def _split(args, argnums):
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    args = list(args)
    for n in nums:
        args[n] = _fresh(args[n])
    picked = args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in nums)
    return args, picked


def grad_and_value(func, argnums=0, has_aux=False):
    def inner(*args, **kwargs):
        args, picked = _split(args, argnums)
        with torch.enable_grad():
            out = func(*args, **kwargs)
        value, aux = out if has_aux else (out, None)
        xs = _leaves(picked)
        gs = _fill(picked, _zeros(_grad(value, xs, create_graph=True, allow_unused=True), xs))
        return (gs, (value, aux)) if has_aux else (gs, value)

    return inner


def grad(func, argnums=0, has_aux=False):
    both = grad_and_value(func, argnums, has_aux)

    def inner(*args, **kwargs):
        gs, value = both(*args, **kwargs)
        return (gs, value[1]) if has_aux else gs

    return inner


def vjp(func, *primals, has_aux=False):
    primals = _fresh(primals)
    with torch.enable_grad():
        out = func(*primals)
    out, aux = out if has_aux else (out, None)
    xs, ys = _leaves(primals), _leaves(out)

    def pull(*cotangents, retain_graph=True, create_graph=True):
        pairs = [(y, g) for y, g in zip(ys, _leaves(cotangents)) if _is_smooth(y)]
        return _fill(primals, _zeros(_grad([y for y, _ in pairs], xs, [g for _, g in pairs], create_graph=True, allow_unused=True), xs))

    return (out, pull, aux) if has_aux else (out, pull)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    # The gradient of a vjp, which is linear in its cotangent.
    primals = _fresh(tuple(primals))
    with torch.enable_grad():
        out = func(*primals)
        out, aux = out if has_aux else (out, None)
        ys, xs = _leaves(out), _leaves(primals)
        smooth = [y for y in ys if _is_smooth(y)]
        dummies = [torch.ones_like(y).requires_grad_() for y in smooth]  # any point does; a rule may take logarithms of them
        back = _zeros(_grad(smooth, xs, dummies, create_graph=True, allow_unused=True), xs)
        forward = iter(_zeros(_grad(back, dummies, _leaves(tuple(tangents)), create_graph=True, allow_unused=True), dummies))
    result = _fill(out, [next(forward) if _is_smooth(y) else torch.zeros_like(y) for y in ys])
    return (out, result, aux) if has_aux else (out, result)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    def inner(*args, **kwargs):
        dims = in_dims if isinstance(in_dims, (tuple, list)) else (in_dims,) * len(args)
        mapped = []

        def mark(x, d):
            if isinstance(x, torch.Tensor):
                if d is None:
                    return None
                mapped.append(x.movedim(d, 0))
                return len(mapped) - 1
            if isinstance(x, dict):
                return {k: mark(v, d[k] if isinstance(d, dict) else d) for k, v in x.items()}
            if isinstance(x, (list, tuple)):
                return [mark(v, d[i] if isinstance(d, (list, tuple)) else d) for i, v in enumerate(x)]
            return None

        def put(x, where, slices):
            if isinstance(x, torch.Tensor):
                return x if where is None else slices[where]
            if isinstance(x, dict):
                return {k: put(v, where[k], slices) for k, v in x.items()}
            if isinstance(x, (list, tuple)):
                return type(x)([put(v, w, slices) for v, w in zip(x, where)])
            return x

        where = [mark(x, d) for x, d in zip(args, dims)]
        if not mapped:
            raise ValueError("vmap: at least one input must have a mapped dimension")
        body = lambda *slices: func(*[put(x, w, slices) for x, w in zip(args, where)], **kwargs)
        if _C.capturing():
            out = _C.map(body, tuple(mapped))
        else:
            rows = [body(*[m[i] for m in mapped]) for i in range(mapped[0].shape[0])]
            out = _fill(rows[0], [torch.stack(ts) for ts in zip(*[_leaves(r) for r in rows])])
        if isinstance(out, torch.Tensor):
            return out.movedim(0, out_dims)
        if isinstance(out_dims, int):
            return _map(lambda t: t.movedim(0, out_dims), out)
        return type(out)([_map(lambda t: t.movedim(0, d), o) for o, d in zip(out, out_dims)])

    return inner


def _basis(y):
    return torch.eye(y.numel(), dtype=y.dtype).view(y.numel(), *y.shape)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    def inner(*args):
        args, picked = _split(args, argnums)
        with torch.enable_grad():
            out = func(*args)
        xs = _leaves(picked)
        n = out.numel()
        rows = [_zeros(_grad(out, xs, e, create_graph=True, allow_unused=True), xs) for e in _basis(out).unbind(0)]
        return _fill(picked, [torch.stack(r).view(*out.shape, *x.shape) for r, x in zip(zip(*rows), xs)])

    return inner


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    return jacrev(jacrev(func, argnums), argnums)


def stack_module_state(models):
    names = [n for n, _ in models[0].named_parameters()]
    params = {n: torch.stack([dict(m.named_parameters())[n] for m in models]) for n in names}
    buffers = {n: torch.stack([dict(m.named_buffers())[n] for m in models]) for n, _ in models[0].named_buffers()}
    return params, buffers
