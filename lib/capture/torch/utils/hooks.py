# Handles of hooks, and the backward hooks of modules: what a module is given and what it returns pass through functions whose backward calls them.
import torch
from torch import _C
from torch.autograd import Function
from torch.nn.module import RemovableHandle


def _tensors(values):
    return [i for i, v in enumerate(values) if isinstance(v, torch.Tensor)]


def _spread(places, values, size):
    result = [None] * size
    for place, value in zip(places, values):
        result[place] = value
    return tuple(result)


class _Given(Function):
    # What the module is given, and a tensor of zeros for each of its results, through which that one's gradient arrives here.
    @staticmethod
    def forward(ctx, hook, shapes, *given):
        ctx.hook, ctx.count = hook, len(given)
        return tuple(x.clone() for x in given) + tuple(torch.zeros(shape, dtype=dtype) for shape, dtype in shapes)

    @staticmethod
    def backward(ctx, *gradients):
        return (None, None) + ctx.hook.run(gradients[:ctx.count], gradients[ctx.count:])


class _Returned(Function):
    @staticmethod
    def forward(ctx, hook, *returned):
        ctx.hook = hook
        return tuple(x.clone() for x in returned[:len(hook.out_places)])

    @staticmethod
    def backward(ctx, *gradients):
        gradients = ctx.hook.run_pre(gradients)
        return (None,) + gradients + (gradients if ctx.hook.given else ())


class BackwardHook:
    def __init__(self, module, hooks, pre_hooks):
        self.module, self.hooks, self.pre_hooks = module, hooks, pre_hooks
        self.given = None

    def on_given(self, args):
        self.in_places, self.in_size = _tensors(args), len(args)
        if any(args[i].requires_grad for i in self.in_places):
            self.given = [args[i] for i in self.in_places]
            self.passed = [x.clone() for x in self.given]
            args = tuple(self.passed[self.in_places.index(i)] if i in self.in_places else v for i, v in enumerate(args))
        return args

    def on_returned(self, out):
        outs = out if isinstance(out, tuple) else (out,)
        self.out_places, self.out_size = _tensors(outs), len(outs)
        values = [outs[i] for i in self.out_places]
        if not any(v.requires_grad for v in values):
            return out
        carriers = ()
        if self.given:
            passed = _Given.apply(self, [(v.shape, v.dtype) for v in values], *self.given)
            _C.pass_through(self.passed, passed)
            carriers = passed[len(self.given):]
        values = _Returned.apply(self, *values, *carriers)
        outs = tuple(values[self.out_places.index(i)] if i in self.out_places else v for i, v in enumerate(outs))
        return outs if isinstance(out, tuple) else outs[0]

    # The gradients of the results, after the backward pre-hooks.
    def run_pre(self, gradients):
        gradients = _spread(self.out_places, gradients, self.out_size)
        for hook in self.pre_hooks:
            result = hook(self.module, gradients)
            if result is not None:
                result = result if isinstance(result, tuple) else (result,)
                if len(result) != len(gradients):
                    raise RuntimeError(f"Backward pre hook returned an invalid number of grad_output, got {len(result)}, but expected {len(gradients)}")
                gradients = result
        if not self.given:
            for hook in self.hooks:
                result = hook(self.module, (None,) * self.in_size, gradients)
                if result is not None and any(x is not None for x in result):
                    raise RuntimeError("Backward hook for Modules where no input requires gradient should always return None or None for all gradients.")
        return tuple(gradients[i] for i in self.out_places)

    # The gradients of the inputs, after the hooks; the tensors of zeros get none.
    def run(self, given, returned):
        given = _spread(self.in_places, given, self.in_size)
        returned = _spread(self.out_places, returned, self.out_size)
        for hook in self.hooks:
            result = hook(self.module, given, returned)
            if result is not None:
                result = result if isinstance(result, tuple) else (result,)
                if len(result) != len(given):
                    raise RuntimeError(f"Backward hook returned an invalid number of grad_input, got {len(result)}, but expected {len(given)}")
                given = result
        return tuple(given[i] for i in self.in_places)
