# Activation checkpointing: the call itself. What is kept for the backward pass is chosen by the partition of the training
# graph, which gives the same bits with and without recomputation.


def checkpoint(function, *args, use_reentrant=None, preserve_rng_state=True, context_fn=None, determinism_check="default", debug=False, **kwargs):
    if use_reentrant and kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    return function(*args, **kwargs)


def checkpoint_sequential(functions, segments, input, use_reentrant=None, **kwargs):
    for f in list(functions.children()) if hasattr(functions, "children") else functions:
        input = f(input)
    return input


# The state of generators of other devices: there are none.
def get_device_states(*args, device_type=None):
    return [], []


def set_device_states(devices, states, *, device_type=None):
    pass
