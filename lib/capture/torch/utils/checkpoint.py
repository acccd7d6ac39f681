# Activation checkpointing. The operators of a call are marked in the capture; when a training step is made of it, what the backward of a call
# needs of its inside is computed again there (lib/grad/recompute.c). Bits are the same with and without.
from torch import _C


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=None, determinism_check="default", debug=False, **kwargs):
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    around = _C.checkpoint_begin()
    try:
        return function(*args, **kwargs)
    finally:
        _C.checkpoint_end(around)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    functions = list(functions.children()) if hasattr(functions, "children") else list(functions)

    def run(start, end, x):
        for f in functions[start:end]:
            x = f(x)
        return x

    size = len(functions) // segments
    end = 0
    for start in range(0, size * (segments - 1), size) if size else []:  # the last segment is kept
        end = start + size
        input = checkpoint(run, start, end, input, use_reentrant=use_reentrant)
    return run(end, len(functions), input)


# A recipe's activation_checkpointing, at `place`: every module of these classes runs under checkpoint.
def wrap_classes(module, names, place):
    classes = sorted(set(type(m).__name__ for m in module.modules()))
    for name in names:
        if name not in classes:
            raise ValueError(f"{place}: the model has no module of class '{name}'; it has {', '.join(classes)}")
    for m in list(module.modules()):
        if type(m).__name__ in names:
            m.__dict__["forward"] = (lambda f: lambda *args, **kwargs: checkpoint(f, *args, use_reentrant=False, **kwargs))(m.forward)


# The state of generators of other devices: there are none.
def get_device_states(*args, device_type=None):
    return [], []


def set_device_states(devices, states, *, device_type=None):
    pass
