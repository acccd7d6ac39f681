# Names of `torch` that are Python classes and small modules in PyTorch: contexts, autograd.Function, queries about the machine.
import warnings

import torch
from torch import _C


class _GradMode:
    def __init__(self, mode):
        self.mode = mode

    def __enter__(self):
        self.old = _C.grad_enabled(self.mode)
        return self

    def __exit__(self, kind, value, trace):
        _C.grad_enabled(self.old)

    def __call__(self, func):
        def inner(*args, **kwargs):
            with self.__class__(self.mode):
                return func(*args, **kwargs)

        inner.__name__, inner.__wrapped__ = getattr(func, "__name__", "inner"), func
        return inner


def is_anomaly_enabled():
    return False


is_anomaly_check_nan_enabled = is_anomaly_enabled


class _InferenceMode(_GradMode):
    def __enter__(self):
        self.before = _C.inference_mode(not self.mode)
        return super().__enter__()

    def __exit__(self, kind, value, trace):
        _C.inference_mode(self.before)
        super().__exit__(kind, value, trace)


def no_grad(func=None):
    return _GradMode(False) if func is None else _GradMode(False)(func)


def enable_grad(func=None):
    return _GradMode(True) if func is None else _GradMode(True)(func)


def inference_mode(mode=True):
    return _InferenceMode(not mode) if isinstance(mode, bool) else _InferenceMode(False)(mode)


class set_grad_enabled(_GradMode):
    def __init__(self, mode):
        self.mode = mode
        self.old = _C.grad_enabled(mode)

    def __enter__(self):
        return self

    def __call__(self, func):
        _C.grad_enabled(self.old)
        return super().__call__(func)


def is_grad_enabled():
    return _C.grad_enabled()


def is_inference_mode_enabled():
    return _C.inference_mode()


# Only the CPU's setting has an effect.
class autocast:
    def __init__(self, device_type, dtype=None, enabled=True, cache_enabled=None):
        if not isinstance(device_type, str):
            raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")
        self.device_type, self.enabled = torch.device(device_type).type, enabled
        self.dtype = dtype if dtype is not None else torch.bfloat16 if self.device_type == "cpu" else torch.float16
        if self.enabled and self.device_type != "cpu":
            warnings.warn(f"torch.autocast: no device is of type '{device_type}': disabled")
            self.enabled = False
        if self.enabled and self.dtype not in (torch.bfloat16, torch.float16):
            warnings.warn(f"torch.autocast: dtype is {self.dtype}, expected torch.bfloat16 or torch.float16: disabled")
            self.enabled = False

    def __enter__(self):
        self.old = _C.autocast_dtype()
        if self.device_type == "cpu":
            _C.autocast_dtype(self.dtype if self.enabled else None)
        return self

    def __exit__(self, kind, value, trace):
        _C.autocast_dtype(self.old)

    def __call__(self, func):
        def inner(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        inner.__name__, inner.__wrapped__ = getattr(func, "__name__", "inner"), func
        return inner


def is_autocast_enabled(device_type="cuda"):
    return device_type == "cpu" and _C.autocast_dtype() is not None


def is_autocast_cpu_enabled():
    return is_autocast_enabled("cpu")


def get_autocast_dtype(device_type):
    return torch.float16 if device_type != "cpu" else _C.autocast_dtype() or torch.bfloat16


def get_autocast_cpu_dtype():
    return get_autocast_dtype("cpu")


def get_autocast_gpu_dtype():
    return get_autocast_dtype("cuda")


def compile(model=None, **kw):
    return model if model is not None else lambda m: m


def typename(x):
    return x.type() if isinstance(x, torch.Tensor) else type(x).__name__


def get_default_device():
    return torch.device("cpu")


def set_float32_matmul_precision(precision):
    pass


_print_profiles = {"default": (4, 1000, 3, 80), "short": (2, 1000, 2, 80), "full": (4, float("inf"), 3, 80)}
_print_options = list(_print_profiles["default"])


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    base = _print_profiles.get(profile, _print_options)
    _print_options[:] = [b if given is None else given for b, given in zip(base, (precision, threshold, edgeitems, linewidth))]
    _C.print_options(*_print_options, sci_mode)


def _dim_order(t, ambiguity_check=False):  # Tensor.dim_order: the dimensions from the largest stride to the smallest
    formats = [] if isinstance(ambiguity_check, bool) else ambiguity_check
    if not isinstance(formats, list) or not all([isinstance(f, torch.memory_format) for f in formats]):
        raise TypeError("The ambiguity_check argument must be a bool or a list of memory formats.")
    stride, size = t.stride(), t.shape
    asked = ambiguity_check is not False
    if asked and (any([a == b for a, b in zip(stride, stride[1:])]) or any([n == 1 for n in size])):
        if sum([t.is_contiguous(memory_format=f) for f in formats]) != 1:
            raise RuntimeError("The tensor does not have unique dim order, or cannot map to exact one of the given memory formats.")
    if t.is_contiguous():
        return tuple(range(t.dim()))
    order = []  # from the smallest; a dimension of stride 0 stays where it is
    for d in range(t.dim() - 1, -1, -1):
        at = place = len(order)
        while place:
            place -= 1
            a, b = stride[order[place]], stride[d]
            if a == 0 or b == 0 or (a == b and size[order[place]] <= size[d]):
                if asked:
                    raise RuntimeError("The tensor does not have unique dim order.")
            elif a >= b:
                at = place
            else:
                break
        order.insert(at, d)
    return tuple(order[::-1])


def set_num_threads(n):  # see --threads
    pass


set_num_interop_threads = set_deterministic_debug_mode = set_warn_always = set_default_device = set_num_threads


def get_num_threads():
    return 1


get_num_interop_threads = get_num_threads


def set_flush_denormal(mode):  # subnormal numbers are kept: returns False, as PyTorch does if unsupported
    return False


def seed():
    return torch.initial_seed()


def use_deterministic_algorithms(mode, **kw):
    pass


def sym_int(x):
    return int(x)


def sym_float(x):
    return float(x)


def sym_max(a, b):
    return max(a, b)


def sym_min(a, b):
    return min(a, b)


def sym_sum(*numbers):
    return sum(numbers[0] if len(numbers) == 1 and isinstance(numbers[0], (list, tuple)) else numbers)


def sym_not(a):
    return not a


# A condition on data-dependent numbers is checked when the program runs and assumed from here on.
def _check_with(error, cond, message):
    if not isinstance(cond, bool) and not _C.is_symbolic(cond):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if _C.from_data(cond):
        torch.ops.aten._assert_scalar(cond, str(message()) if message else "Expected cond to be True, but got False.")
    elif not _C.holds(cond):
        raise error(str(message()) if message else "Expected cond to be True, but got False.")


def _check(cond, message=None):
    _check_with(RuntimeError, cond, message)


def _check_is_size(i, message=None, *, max=None):
    _check_with(RuntimeError, i >= 0, message)
    if max is not None:
        _check_with(RuntimeError, i <= max, message)


def _check_index(cond, message=None):
    _check_with(IndexError, cond, message)


def _check_value(cond, message=None):
    _check_with(ValueError, cond, message)


def _check_type(cond, message=None):
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond, message=None):
    _check_with(NotImplementedError, cond, message)


def cond(pred, true_fn, false_fn, operands=()):
    if isinstance(pred, bool):
        return true_fn(*operands) if pred else false_fn(*operands)
    return _C.cond(pred, true_fn, false_fn, operands)


def while_loop(cond_fn, body_fn, carried_inputs):
    return _C.while_loop(cond_fn, body_fn, tuple(carried_inputs))


def _assert(condition, message):
    assert condition, message


def _segment_reduce(data, reduce, *, lengths=None, indices=None, offsets=None, axis=0, unsafe=False, initial=None):
    return torch.ops.aten.segment_reduce(data, reduce, lengths=lengths, indices=indices, offsets=offsets, axis=axis, unsafe=unsafe, initial=initial)
