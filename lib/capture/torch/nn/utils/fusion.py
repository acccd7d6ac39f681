# torch.nn.utils.fusion: a batch norm in eval mode is an affine function of each channel, which the convolution or product before it can be.
import copy

import torch
from torch._C import Parameter


def _fused(weight, bias, mean, var, eps, scale, shift, shape):
    bias_dtype = weight.dtype if bias is None else bias.dtype
    bias = torch.zeros_like(mean) if bias is None else bias
    factor = (1 if scale is None else scale) * torch.rsqrt(var + eps)
    new_bias = (bias - mean) * factor + (0 if shift is None else shift)
    return (Parameter((weight * factor.reshape(shape)).to(weight.dtype), weight.requires_grad), Parameter(new_bias.to(bias_dtype), bias.requires_grad))


def fuse_conv_bn_weights(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, transpose=False):
    shape = ([1, -1] if transpose else [-1, 1]) + [1] * (conv_w.dim() - 2)
    return _fused(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape)


def fuse_linear_bn_weights(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b):
    return _fused(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def _eval(module, bn, fuse, *args):
    if module.training or bn.training:
        raise AssertionError("Fusion only for eval!")
    if bn.running_mean is None or bn.running_var is None:
        raise AssertionError("bn.running_mean and bn.running_var must not be None")
    fused = copy.deepcopy(module)
    fused.weight, fused.bias = fuse(fused.weight, fused.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias, *args)
    return fused


def fuse_conv_bn_eval(conv, bn, transpose=False):
    return _eval(conv, bn, fuse_conv_bn_weights, transpose)


def fuse_linear_bn_eval(linear, bn):
    if linear.out_features != bn.num_features and bn.num_features != 1:
        raise AssertionError("To fuse, linear.out_features == bn.num_features or bn.num_features == 1")
    return _eval(linear, bn, fuse_linear_bn_weights)
