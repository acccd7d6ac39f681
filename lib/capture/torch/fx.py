# torch.fx: wrap() marks functions that tracing does not enter; it has no effect.


def wrap(fn_or_name):
    return fn_or_name

