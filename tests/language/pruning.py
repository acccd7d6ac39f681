import torch
import torch.nn.utils.prune as prune
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(3)
        self.a, self.b = nn.Linear(6, 5), nn.Conv1d(4, 6, 3)
        prune.random_unstructured(self.a, "bias", 2)
        prune.random_structured(self.a, "weight", amount=0.4, dim=1)
        prune.l1_unstructured(self.a, "weight", 0.5)
        prune.ln_structured(self.b, "weight", 2, n=1, dim=0)
        prune.random_structured(self.b, "weight", 1, dim=-1)
        prune.global_unstructured(((self.a, "bias"), (self.b, "bias")), prune.L1Unstructured, amount=3)
        print(self.a.bias_mask.tolist(), self.a.weight_mask.long().tolist())
        print(self.b.weight_mask.long().tolist(), self.b.bias_mask.tolist(), list(self.state_dict()))
        try:
            prune.l1_unstructured(self.a, "weight", 1.5)
        except ValueError as e:
            print(e)
        try:
            prune.remove(self.a, "none")
        except ValueError as e:
            print(str(e)[:24])



M()

from torch.nn.utils.fusion import fuse_conv_bn_eval, fuse_linear_bn_eval

for transpose, conv, norm in ((False, nn.Conv2d(3, 4, 3, bias=False), nn.BatchNorm2d(4)), (True, nn.ConvTranspose1d(3, 4, 2), nn.BatchNorm1d(4, affine=False)),
                              (None, nn.Linear(3, 4), nn.BatchNorm1d(4))):
    nn.init.uniform_(norm.running_mean), nn.init.uniform_(norm.running_var, 0.5, 2)
    x = torch.randn(*{None: (2, 3), False: (2, 3, 5, 5), True: (2, 3, 5)}[transpose])
    both = nn.Sequential(conv, norm).eval()
    fused = fuse_linear_bn_eval(conv, norm) if transpose is None else fuse_conv_bn_eval(conv, norm, transpose)
    print(type(fused).__name__, torch.allclose(both(x), fused(x), atol=1e-5), fused.bias.requires_grad, conv.bias is None)
try:
    fuse_conv_bn_eval(nn.Conv1d(1, 1, 1), nn.BatchNorm1d(1))
except AssertionError as e:
    print(e)

# the private bases that library files ask about
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.modules.dropout import _DropoutNd
from torch.nn.modules.padding import _ConstantPadNd, _ReflectionPadNd
from torch.nn.modules.pooling import _AdaptiveAvgPoolNd, _AdaptiveMaxPoolNd, _AvgPoolNd, _LPPoolNd, _MaxPoolNd, _MaxUnpoolNd
from torch.nn.modules.transformer import _get_activation_fn, _get_clones
from torch.nn.modules.loss import _Loss, _WeightedLoss
from torch.nn.modules.batchnorm import _BatchNorm, _NormBase

torch._C._log_api_usage_once("torch.nn.modules.thing")
layers = [nn.Conv2d(1, 1, 1), nn.ConvTranspose1d(1, 1, 1), nn.Dropout(), nn.AlphaDropout(), nn.ZeroPad2d(1), nn.ReflectionPad1d(1), nn.MaxPool1d(1), nn.AvgPool1d(1),
          nn.AvgPool3d(1), nn.AdaptiveAvgPool2d(1), nn.AdaptiveMaxPool1d(1), nn.LPPool2d(1, 1), nn.MaxUnpool2d(1), nn.L1Loss(), nn.NLLLoss(), nn.BatchNorm2d(1), nn.InstanceNorm1d(1)]
bases = (_ConvNd, _ConvTransposeNd, _DropoutNd, _ConstantPadNd, _ReflectionPadNd, _MaxPoolNd, _AvgPoolNd, _AdaptiveAvgPoolNd, _AdaptiveMaxPoolNd, _LPPoolNd,
         _MaxUnpoolNd, _Loss, _WeightedLoss, _BatchNorm, _NormBase)
for layer in layers:
    print(type(layer).__name__, [b.__name__ for b in bases if isinstance(layer, b)])
print(len(_get_clones(nn.ReLU(), 3)), _get_activation_fn("relu")(torch.tensor(-1.0)).item(), nn.AvgPool1d(2), nn.AvgPool2d(2))
