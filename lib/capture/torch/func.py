# torch.func: transforms of functions, by torch.autograd.grad and map.
import torch
from torch import _C


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


def _grad(ys, xs, cotangents=None):  # 0 where no y depends on an x, which torch.autograd.grad refuses
    ys, cotangents = ([ys], [cotangents]) if isinstance(ys, torch.Tensor) else (ys, cotangents)
    pairs = [(y, g) for y, g in zip(ys, cotangents) if y.requires_grad]
    gs = torch.autograd.grad([y for y, _ in pairs], xs, [g for _, g in pairs], create_graph=True, allow_unused=True) if pairs else [None] * len(xs)
    return _zeros(gs, xs)


_missing = object()


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
    if strict:
        known = [n for n, _ in list(module.named_parameters(remove_duplicate=False)) + list(module.named_buffers(remove_duplicate=False))]
        wrong = [f"{what} key(s): {', '.join(map(repr, names))}." for what, names in (("Unexpected", [n for n in todo if n not in known]), ("Missing", [n for n in known if n not in todo])) if names]
        if wrong:
            raise RuntimeError("Error(s) in reparametrizing for " + type(module).__name__ + ":\n\t" + "\n\t".join(wrong))
    try:
        for name, value in todo.items():
            owner = module
            *path, last = name.split(".")
            for part in path:
                owner = getattr(owner, part)
            table = owner._parameters if last in owner._parameters else owner._buffers if last in owner._buffers else owner.__dict__
            saved.append((table, last, table.get(last, _missing)))
            table[last] = value
        return module(*args, **({} if kwargs is None else kwargs))
    finally:
        for table, last, old in reversed(saved):
            if old is _missing:
                del table[last]
            else:
                table[last] = old


def _split(args, argnums):
    nums = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    args = list(args)
    for n in nums:
        if not -len(args) <= n < len(args):
            raise RuntimeError(f"Got argnum={n}, but only {len(args)} positional inputs")
        args[n] = _fresh(args[n])
    picked = args[argnums] if isinstance(argnums, int) else tuple(args[n] for n in nums)
    return args, picked


def grad_and_value(func, argnums=0, has_aux=False):
    def inner(*args, **kwargs):
        args, picked = _split(args, argnums)
        with torch.enable_grad():
            out = func(*args, **kwargs)
        value, aux = out if has_aux else (out, None)
        if value.dim():
            raise RuntimeError(f"grad_and_value(f)(*args): Expected f(*args) to return a scalar Tensor, got tensor with {value.dim()} dims. Maybe you wanted to use the vjp or jacrev APIs instead?")
        xs = _leaves(picked)
        gs = _fill(picked, _grad(value, xs))
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
        return _fill(primals, _grad([y for y, _ in pairs], xs, [g for _, g in pairs]))

    return (out, pull, aux) if has_aux else (out, pull)


def jvp(func, primals, tangents, *, strict=False, has_aux=False):
    # The gradient of a vjp, which is linear in its cotangent.
    if not isinstance(primals, tuple):
        raise RuntimeError("jvp(f, primals, tangents): Expected primals to be a tuple. E.g. it should be valid to call f(*primals).")
    for p, t in zip(_leaves(primals), _leaves(tangents)):
        if p.shape != t.shape:
            raise RuntimeError(f"Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. Tensor is of size {list(p.shape)} while the given forward gradient is of size {list(t.shape)}.")
    primals = _fresh(tuple(primals))
    with torch.enable_grad():
        out = func(*primals)
        out, aux = out if has_aux else (out, None)
        ys, xs = _leaves(out), _leaves(primals)
        smooth = [y for y in ys if _is_smooth(y)]
        dummies = [torch.ones_like(y).requires_grad_() for y in smooth]  # any point will do; ones, because a rule may take logarithms
        back = _zeros([None if g is False else g for g in _C.grad(tuple(smooth), tuple(xs), tuple(dummies), True, True, True)], xs)
        forward = iter(_grad(back, dummies, _leaves(tuple(tangents))))
    result = _fill(out, [next(forward) if _is_smooth(y) else torch.zeros_like(y) for y in ys])
    return (out, result, aux) if has_aux else (out, result)


def _label(func):
    return getattr(func, "__name__", type(func).__name__)


def _check_in(func, in_dims, d, x):
    where = f"vmap({_label(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if d is None:
        return
    if not isinstance(x, torch.Tensor):
        raise ValueError(f"{where}Got in_dim={d} for an input but the input is of type {type(x)}. We cannot vmap over non-Tensor arguments, please use None as the respective in_dim")
    if not -x.dim() <= d < x.dim():
        raise ValueError(f"{where}Got in_dim={d} for some input, but that input is a Tensor of dimensionality {x.dim()} so expected in_dim to satisfy {-x.dim()} <= in_dim < {x.dim()}.")


def _mark(func, in_dims, x, d, mapped):
    # How x is mapped: None (the same in each call), the index of its rows in `mapped`, or the same for each part of a container.
    nested = isinstance(d, (list, tuple, dict))
    if isinstance(x, dict):
        return {k: _mark(func, in_dims, v, d[k] if nested else d, mapped) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        if nested and len(d) != len(x):
            raise ValueError(f"vmap({_label(func)}, in_dims={in_dims}, ...)(<inputs>): in_dims is not compatible with the structure of `inputs`.")
        return [_mark(func, in_dims, v, d[i] if nested else d, mapped) for i, v in enumerate(x)]
    _check_in(func, in_dims, d, x)
    if d is None:
        return None
    mapped.append(x.movedim(d, 0))
    return len(mapped) - 1


def _put(x, where, slices):
    if isinstance(x, dict):
        return {k: _put(v, where[k], slices) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x)([_put(v, w, slices) for v, w in zip(x, where)])
    return x if where is None else slices[where]


def _check_out(func, x):
    if isinstance(x, (list, tuple, dict)):
        for v in x.values() if isinstance(x, dict) else x:
            _check_out(func, v)
    elif not isinstance(x, torch.Tensor):
        raise ValueError(f"vmap({_label(func)}, ...): `{_label(func)}` must only return Tensors, got type {type(x)}. Did you mean to set out_dims= to None for output?")


def _move_out(func, out_dims, x, d):
    if isinstance(x, dict):
        return {k: _move_out(func, out_dims, v, d[k] if isinstance(d, dict) else d) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        nested = isinstance(d, (list, tuple))
        if nested and len(d) != len(x):
            raise ValueError(f"vmap({_label(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`.")
        return type(x)([_move_out(func, out_dims, v, d[i] if nested else d) for i, v in enumerate(x)])
    if d is None:
        raise ValueError(f"vmap({_label(func)}, ...): `{_label(func)}` can not return a BatchedTensor when out_dim is None")
    if isinstance(d, (list, tuple)):
        if len(d) != 1:
            raise ValueError(f"vmap({_label(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`.")
        d = d[0]
    return x.movedim(0, d)


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")

    def inner(*args, **kwargs):
        if not isinstance(in_dims, (int, tuple, list)):
            raise ValueError(f"vmap({_label(func)}, in_dims={in_dims}, ...)(<inputs>): expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: {type(in_dims)}.")
        mapped = []
        where = _mark(func, in_dims, args, in_dims, mapped)
        if not mapped:
            raise ValueError("vmap: at least one input must have a mapped dimension")
        sizes = [m.shape[0] for m in mapped]
        if any(s != sizes[0] for s in sizes):
            raise ValueError(f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension")

        def body(*slices):
            out = func(*[_put(x, w, slices) for x, w in zip(args, where)], **kwargs)
            _check_out(func, out)
            return out

        if _C.capturing():
            out, written = _C.map(body, tuple(mapped), randomness)
            for i, now in written:
                mapped[i].copy_(now)
        else:
            rows, state = [], torch.get_rng_state()
            for i in range(sizes[0]):
                if randomness == "same":
                    torch.set_rng_state(state)
                rows.append(body(*[m[i] for m in mapped]))
                if randomness == "error" and not torch.equal(state, torch.get_rng_state()):
                    raise RuntimeError("vmap: called random operation while in randomness error mode. Please either use the 'different' randomness "
                                       "flag on vmap or perform the randomness operation out of vmap")
            out = _fill(rows[0], [torch.stack(ts) for ts in zip(*[_leaves(r) for r in rows])])
        return _move_out(func, out_dims, out, out_dims)

    return inner


def linearize(func, *primals):
    # The derivative at a fixed point: no gradient goes back from it into the primals.
    at = _map(lambda t: t.detach(), primals)
    return func(*primals), lambda *tangents: jvp(func, at, tangents)[1]


def functionalize(func, *, remove="mutations"):
    # Programs are functional: there is nothing to do.
    return func


def replace_all_batch_norm_modules_(root):
    for m in root.modules():
        if isinstance(m, torch.nn.modules.batchnorm._BatchNorm):
            m.track_running_stats = False
            m.running_mean = m.running_var = m.num_batches_tracked = None
    return root


def _basis(y):
    return torch.eye(y.numel(), dtype=y.dtype).view(y.numel(), *y.shape)


def jacrev(func, argnums=0, *, has_aux=False, chunk_size=None):
    def inner(*args):
        args, picked = _split(args, argnums)
        with torch.enable_grad():
            out = func(*args)
        out, aux = out if has_aux else (out, None)
        xs = _leaves(picked)

        def of(y):
            rows = [_grad(y, xs, e) for e in _basis(y).unbind(0)]
            return _fill(picked, [torch.stack(r).view(*y.shape, *x.shape) for r, x in zip(zip(*rows), xs)])

        jacobians = _map(of, out)
        return (jacobians, aux) if has_aux else jacobians

    return inner


def jacfwd(func, argnums=0, has_aux=False, *, randomness="error"):
    return jacrev(func, argnums, has_aux=has_aux)


def hessian(func, argnums=0):
    return jacrev(jacrev(func, argnums), argnums)


def stack_module_state(models):
    names = [n for n, _ in models[0].named_parameters()]
    # new leaves, as in PyTorch: gradients end at the stacked tensors
    params = {n: torch.stack([dict(m.named_parameters())[n] for m in models]).detach().requires_grad_() for n in names}
    buffers = {n: torch.stack([dict(m.named_buffers())[n] for m in models]).detach() for n, _ in models[0].named_buffers()}
    return params, buffers
