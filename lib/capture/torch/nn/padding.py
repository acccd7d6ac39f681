# Padding modules: the padding is last dimension first, as in F.pad.
import torch.nn.functional as F
from torch.nn.module import Module


class _Pad(Module):
    _dims = 0
    _mode = "constant"

    def __init__(self, padding):
        super().__init__()
        self.padding = tuple([padding] * (2 * self._dims)) if isinstance(padding, int) else tuple(padding)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


class _ConstantPad(_Pad):
    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class ConstantPad1d(_ConstantPad):
    _dims = 1


class ConstantPad2d(_ConstantPad):
    _dims = 2


class ConstantPad3d(_ConstantPad):
    _dims = 3


class _ZeroPad(_ConstantPad):
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad):
    _dims = 1


class ZeroPad2d(_ZeroPad):
    _dims = 2


class ZeroPad3d(_ZeroPad):
    _dims = 3


class ReflectionPad1d(_Pad):
    _dims = 1
    _mode = "reflect"


class ReflectionPad2d(_Pad):
    _dims = 2
    _mode = "reflect"


class ReflectionPad3d(_Pad):
    _dims = 3
    _mode = "reflect"


class ReplicationPad1d(_Pad):
    _dims = 1
    _mode = "replicate"


class ReplicationPad2d(_Pad):
    _dims = 2
    _mode = "replicate"


class ReplicationPad3d(_Pad):
    _dims = 3
    _mode = "replicate"


class CircularPad1d(_Pad):
    _dims = 1
    _mode = "circular"


class CircularPad2d(_Pad):
    _dims = 2
    _mode = "circular"


class CircularPad3d(_Pad):
    _dims = 3
    _mode = "circular"
