# torch.autograd: gradients inside a captured function, and functions with their own backward.
import torch
from torch import _C
from torch.namespace import no_grad, enable_grad, set_grad_enabled, inference_mode


class FunctionCtx:
    def __init__(self, needs):
        self.needs_input_grad = needs
        self.saved_tensors = ()
        self.dirty = ()

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    def save_for_forward(self, *tensors):
        pass  # for jvp, which is not called: forward mode is the gradient of backward

    def mark_non_differentiable(self, *tensors):
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors):
        self.dirty = tensors

    def wrote(self, x, now):  # forward, where no gradients are recorded, left this in its operand x
        with no_grad():
            x.copy_(now)

    def set_materialize_grads(self, value):
        self.materialize_grads = value

    @property
    def saved_variables(self):
        return self.saved_tensors


class Function:
    @classmethod
    def apply(cls, *args):
        return _C.autograd_function(cls, FunctionCtx, args)

    @staticmethod
    def forward(*args):
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def backward(ctx, *grads):
        raise NotImplementedError("You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD.")


def grad(outputs, inputs, grad_outputs=None, retain_graph=None, create_graph=False, only_inputs=True, allow_unused=None, is_grads_batched=False, materialize_grads=False):
    outputs = (outputs,) if isinstance(outputs, torch.Tensor) else tuple(outputs)
    inputs = (inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs)
    if grad_outputs is None:
        grad_outputs = tuple(None for _ in outputs)
    elif isinstance(grad_outputs, torch.Tensor):
        grad_outputs = (grad_outputs,)
    if not all([x.requires_grad or not (x.is_floating_point() or x.is_complex()) for x in inputs]):  # integers are refused with their name below
        raise RuntimeError("One of the differentiated Tensors does not require grad")
    for i, x in enumerate(outputs):
        if not x.requires_grad:
            raise RuntimeError(f"element {i} of tensors does not require grad and does not have a grad_fn")
    result = [torch.zeros_like(x) if g is False else g for g, x in zip(_C.grad(outputs, inputs, tuple(grad_outputs), create_graph, create_graph if retain_graph is None else retain_graph), inputs)]
    for g, x in zip(result, inputs):
        if g is None and not allow_unused and not materialize_grads:
            raise RuntimeError("One of the differentiated Tensors appears to not have been used in the graph. Set allow_unused=True if this is the desired behavior.")
    return tuple(torch.zeros_like(x) if g is None and materialize_grads else g for g, x in zip(result, inputs))


# In the backward of a Function, which recomputes with tensors of its own (reversible networks): their .grad is what it reads, and gradients of tensors
# around it, such as parameters, are added to those of the program.
def backward(tensors, grad_tensors=None, retain_graph=None, create_graph=False, grad_variables=None, inputs=None):
    if inputs is None:
        leaves = [x for x in _C.leaves() if x.requires_grad]
    else:
        leaves = _C.leaves([inputs] if isinstance(inputs, torch.Tensor) else list(inputs))
        if not leaves:
            raise RuntimeError("`inputs` argument to `backward` cannot be empty.")
    gs = grad(tensors, leaves, grad_variables if grad_tensors is None else grad_tensors, retain_graph, create_graph, allow_unused=True)
    for x, g in zip(leaves, gs):
        if g is not None:
            x.grad = g if x.grad is None else x.grad + g


def _backward_of(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


# Variable, from before PyTorch 0.4: the call returns the tensor, and every tensor is an instance.
class _VariableType(type):
    def __call__(cls, data, requires_grad=False, volatile=None):
        return data.detach().requires_grad_() if requires_grad else data

    def __instancecheck__(cls, x):
        return isinstance(x, torch.Tensor)


class Variable(metaclass=_VariableType):
    pass


class profiler:
    @staticmethod
    def record_function(name, args=None):
        return no_op()


class no_op:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return None


def set_detect_anomaly(mode):
    return no_op()


def once_differentiable(fn):
    return fn


class _Hook(Function):
    @staticmethod
    def forward(ctx, x, hook):
        ctx.hook = hook
        return x * 1

    @staticmethod
    def backward(ctx, g):
        r = ctx.hook(g)
        return g if r is None else r, None


class RemovableHandle:
    def remove(self):
        raise RuntimeError("a tensor's hook cannot be removed inside a capture")


_leaf_hooks = []  # [tensor, hook] of those that were registered before forward, in their order


class _LeafHandle:
    def __init__(self, entry):
        self.entry = entry

    def remove(self):
        _leaf_hooks[:] = [e for e in _leaf_hooks if e is not self.entry]


def register_hook(tensor, hook):
    if not _C.capturing():
        if not tensor.requires_grad:
            raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
        _leaf_hooks.append([tensor, hook])
        return _LeafHandle(_leaf_hooks[-1])
    if tensor.requires_grad:
        _C.rebind(tensor, _Hook.apply(tensor, hook))
    return RemovableHandle()
