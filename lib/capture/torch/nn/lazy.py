# Lazy modules: the input size is taken from the first input (at construction of the program, or from a loaded state).
import torch
from torch.nn.conv import Conv1d, Conv2d, Conv3d, ConvTranspose1d, ConvTranspose2d, ConvTranspose3d
from torch.nn.linear import Linear
from torch.nn.module import Module
from torch.nn.norm import BatchNorm1d, BatchNorm2d, BatchNorm3d, InstanceNorm1d, InstanceNorm2d, InstanceNorm3d
from torch._C import eagerly


class _Lazy(Module):
    # Until the size is known, the module is one of size 0 whose values are not set; then its class becomes `_cls`, whose constructor is run.
    _cls = None

    def __init__(self, *args, **kwargs):
        self._cls.__init__(self, 0, *args, **kwargs)
        object.__setattr__(self, "_lazy_args", (args, kwargs))

    def reset_parameters(self):
        pass

    def _materialize(self, size):
        args, kwargs = self._lazy_args
        training = self.training
        cls = self._cls
        kept = [(k, v) for k, v in self.__dict__.items() if "_hooks" in k]
        before = dict(self._parameters)
        self.__class__ = cls
        cls.__init__(self, size, *args, **kwargs)
        for k, v in kept:
            object.__setattr__(self, k, v)
        for k, v in before.items():
            if v is not None:
                self.to(v.dtype)
                self._parameters[k].requires_grad_(v.requires_grad)
        self.train(training)

    def has_uninitialized_params(self):
        return True

    def _size_of(self, input):
        return input.size(-1)

    def __call__(self, *args, **kwargs):
        size = self._size_of(args[0])
        eagerly(self._materialize, size.__index__())  # a size that an example gives is fixed to it
        return self(*args, **kwargs)

    def _load_from_state_dict(self, state_dict, prefix, *rest):
        cls, w = self._cls, state_dict.get(prefix + "weight", state_dict.get(prefix + "running_mean"))
        if w is not None:
            self._materialize(self._size_from_state(w))
        return cls._load_from_state_dict(self, state_dict, prefix, *rest)

    def _size_from_state(self, w):
        return w.size(-1)


class LazyLinear(_Lazy, Linear):
    _cls = Linear


class _LazyConv(_Lazy):
    def _size_of(self, input):
        n = self._cls._n
        return input.size(-n - 1)

    def _size_from_state(self, w):
        return w.size(1) * self._lazy_args[1].get("groups", 1)


class LazyConv1d(_LazyConv, Conv1d):
    _cls = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    _cls = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    _cls = Conv3d


class _LazyConvTranspose(_LazyConv):
    def _size_from_state(self, w):
        return w.size(0)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    _cls = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    _cls = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    _cls = ConvTranspose3d


class _LazyNorm(_Lazy):
    def _size_of(self, input):
        return input.size(1)

    def _size_from_state(self, w):
        return w.size(0)


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    _cls = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    _cls = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    _cls = BatchNorm3d


class _LazyInstanceNorm(_LazyNorm):
    def __init__(self, eps=1e-5, momentum=0.1, affine=True, track_running_stats=True, *args, **kwargs):
        super().__init__(eps, momentum, affine, track_running_stats, *args, **kwargs)


class LazyInstanceNorm1d(_LazyInstanceNorm, InstanceNorm1d):
    _cls = InstanceNorm1d


class LazyInstanceNorm2d(_LazyInstanceNorm, InstanceNorm2d):
    _cls = InstanceNorm2d


class LazyInstanceNorm3d(_LazyInstanceNorm, InstanceNorm3d):
    _cls = InstanceNorm3d
