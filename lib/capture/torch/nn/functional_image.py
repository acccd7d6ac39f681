# Padding, interpolation and sampling of torch.nn.functional.
import math

import torch

_aten = torch.ops.aten


def pad(input, pad, mode="constant", value=None):
    return _aten.pad(input, pad, mode, value)


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None, antialias=False):
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    elif align_corners is None:
        align_corners = False
    dim = input.dim() - 2
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    scales = None
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != dim:
                raise ValueError(f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
                                 f"{list(input.shape[2:])} and output size of {size}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
                                 "and output size in (o1, o2, ...,oK) format.")
            out = list(size)
        else:
            out = [size for _ in range(dim)]
    elif scale_factor is not None:
        out = None
        if isinstance(scale_factor, (list, tuple)):
            if len(scale_factor) != dim:
                raise ValueError(f"Input and scale_factor must have the same number of spatial dimensions, but got input with spatial dimensions of "
                                 f"{list(input.shape[2:])} and scale_factor of shape {scale_factor}.")
            scales = list(scale_factor)
        else:
            scales = [scale_factor for _ in range(dim)]
    else:
        raise ValueError("either size or scale_factor should be defined")
    if recompute_scale_factor is not None and recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if mode == "area" and out is None:
        recompute_scale_factor = True
    if recompute_scale_factor is not None and recompute_scale_factor:
        out = [math.floor(float(input.size(i + 2)) * scales[i]) for i in range(dim)]
        scales = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and input.ndim == 4):
        raise ValueError("Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input")
    nd = input.dim()
    if nd == 3 and mode == "nearest":
        return _aten.upsample_nearest1d.vec(input, out, scales)
    if nd == 4 and mode == "nearest":
        return _aten.upsample_nearest2d.vec(input, out, scales)
    if nd == 5 and mode == "nearest":
        return _aten.upsample_nearest3d.vec(input, out, scales)
    if nd == 3 and mode == "nearest-exact":
        return _aten._upsample_nearest_exact1d.vec(input, out, scales)
    if nd == 4 and mode == "nearest-exact":
        return _aten._upsample_nearest_exact2d.vec(input, out, scales)
    if nd == 5 and mode == "nearest-exact":
        return _aten._upsample_nearest_exact3d.vec(input, out, scales)
    if nd == 3 and mode == "area":
        return _aten.adaptive_avg_pool1d(input, out)
    if nd == 4 and mode == "area":
        return _aten.adaptive_avg_pool2d(input, out)
    if nd == 5 and mode == "area":
        return _aten.adaptive_avg_pool3d(input, out)
    if nd == 3 and mode == "linear":
        return _aten.upsample_linear1d.vec(input, out, align_corners, scales)
    if nd == 4 and mode == "bilinear":
        if antialias:
            return _aten._upsample_bilinear2d_aa.vec(input, out, align_corners, scales)
        return _aten.upsample_bilinear2d.vec(input, out, align_corners, scales)
    if nd == 5 and mode == "trilinear":
        return _aten.upsample_trilinear3d.vec(input, out, align_corners, scales)
    if nd == 4 and mode == "bicubic":
        if antialias:
            return _aten._upsample_bicubic2d_aa.vec(input, out, align_corners, scales)
        return _aten.upsample_bicubic2d.vec(input, out, align_corners, scales)
    if nd == 4 and mode == "lanczos":
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
        return _aten._upsample_lanczos2d_aa.vec(input, out, align_corners, scales)
    if mode in ("linear", "bilinear", "trilinear", "bicubic"):
        need = {"linear": 3, "bilinear": 4, "trilinear": 5, "bicubic": 4}[mode]
        raise NotImplementedError(f"Got {nd}D input, but {mode} mode needs {need}D input")
    raise NotImplementedError(f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {nd}D) for the modes: nearest | linear | bilinear | "
                              f"bicubic | trilinear | area | nearest-exact (got {mode})")


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    modes = ["bilinear", "nearest", "bicubic"]
    pads = ["zeros", "border", "reflection"]
    if mode not in modes:
        raise ValueError(f"nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', but got: '{mode}'")
    if padding_mode not in pads:
        raise ValueError(f"nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: '{padding_mode}'")
    return _aten.grid_sampler(input, grid, modes.index(mode), pads.index(padding_mode), bool(align_corners))


def affine_grid(theta, size, align_corners=None):
    if not theta.is_floating_point():
        raise ValueError(f"Expected theta to have floating point type, but got {theta.dtype}")
    if len(size) == 4:
        if theta.dim() != 3 or theta.shape[-2] != 2 or theta.shape[-1] != 3:
            raise ValueError(f"Expected a batch of 2D affine matrices of shape Nx2x3 for size {size}. Got {theta.shape}.")
    elif len(size) == 5:
        if theta.dim() != 3 or theta.shape[-2] != 3 or theta.shape[-1] != 4:
            raise ValueError(f"Expected a batch of 3D affine matrices of shape Nx3x4 for size {size}. Got {theta.shape}.")
    else:
        raise NotImplementedError(f"affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size {size}.")
    if min(size) <= 0:
        raise ValueError(f"Expected non-zero, positive output size. Got {size}")
    return _aten.affine_grid_generator(theta, size, bool(align_corners))
