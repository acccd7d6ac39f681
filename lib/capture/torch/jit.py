# torch.jit: decorators return their argument unchanged.
Final, _isinstance = "Final", isinstance


class TracerWarning(Warning):
    pass


def script(obj=None, **kw):
    return obj


def ignore(fn=None, **kw):
    return fn if callable(fn) else lambda f: f


def unused(fn):
    return fn


def export(fn):
    return fn


def script_method(fn):
    return fn


def _overload_method(fn):
    return fn


def _overload(fn):
    return fn


def interface(cls):
    return cls


def is_scripting():
    return False


def is_tracing():
    return False


def isinstance(obj, target_type):
    return _isinstance(obj, target_type)


def annotate(kind, value):
    return value


def _script_if_tracing(fn):
    return fn


script_if_tracing = _script_if_tracing


def __getattr__(name):
    import torch.nn

    if name == "ScriptModule":
        return torch.nn.Module
    raise AttributeError("module 'torch.jit' has no attribute '" + name + "'")
