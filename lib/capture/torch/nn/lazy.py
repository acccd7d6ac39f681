# Lazy modules: the input size is taken from the first input (at construction of the program, or from a loaded state).
import torch
from torch.nn.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from torch.nn.linear import Linear
from torch.nn.module import Module
from torch.nn.norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from torch._C import eagerly


class _Lazy(Module):
    # When the size is known, the module's class becomes `_cls`, whose constructor is run.
    _cls = None

    def __init__(self, *args, **kwargs):
        Module.__init__(self)
        object.__setattr__(self, "_lazy_args", (args, kwargs))

    def _materialize(self, size):
        args, kwargs = self._lazy_args
        training = self.training
        cls = self._cls
        self.__class__ = cls
        cls.__init__(self, size, *args, **kwargs)
        self.train(training)

    def _size_of(self, input):
        return input.size(-1)

    def __call__(self, *args, **kwargs):
        size = self._size_of(args[0])
        if isinstance(size, torch.SymInt):
            raise NotImplementedError(f"{type(self).__name__}: its number of features is {size}, which the inputs must give as a number")
        eagerly(self._materialize, size)
        return self(*args, **kwargs)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        w = state_dict.get(prefix + "weight", state_dict.get(prefix + "running_mean"))
        if w is not None:
            self._materialize(self._size_from_state(w))
        return self._load_from_state_dict(state_dict, prefix, *rest)

    def _size_from_state(self, w):
        return w.size(-1)


class LazyLinear(_Lazy):
    _cls = Linear


class _LazyConv(_Lazy):
    def _size_of(self, input):
        n = self._cls._n
        return input.size(-n - 1)

    def _size_from_state(self, w):
        return w.size(1) * self._lazy_args[1].get("groups", 1)


class LazyConv1d(_LazyConv):
    _cls = Conv1d


class LazyConv2d(_LazyConv):
    _cls = Conv2d


class LazyConv3d(_LazyConv):
    _cls = Conv3d


class _LazyConvTranspose(_LazyConv):
    def _size_from_state(self, w):
        return w.size(0)


class LazyConvTranspose1d(_LazyConvTranspose):
    _cls = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose):
    _cls = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose):
    _cls = ConvTranspose3d


class _LazyNorm(_Lazy):
    def _size_of(self, input):
        return input.size(1)

    def _size_from_state(self, w):
        return w.size(0)


class LazyBatchNorm1d(_LazyNorm):
    _cls = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm):
    _cls = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm):
    _cls = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm):
    _cls = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm):
    _cls = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm):
    _cls = InstanceNorm3d
