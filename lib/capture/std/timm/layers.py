# timm.layers (timm.models.layers of old): the layers and initialisers that model files import.
import math
from functools import partial
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.init import _calculate_fan_in_and_fan_out


def to_ntuple(n):
    def parse(x):
        return tuple(x) if isinstance(x, (tuple, list)) else (x,) * n

    return parse


to_1tuple, to_2tuple, to_3tuple, to_4tuple = to_ntuple(1), to_ntuple(2), to_ntuple(3), to_ntuple(4)


# The multiple of divisor nearest to v, at least min_value and round_limit of v.
def make_divisible(v, divisor=8, min_value=None, round_limit=0.9):
    near = max(min_value or divisor, int(v + divisor / 2) // divisor * divisor)
    return near + divisor if near < round_limit * v else near


def extend_tuple(x, n):
    x = tuple(x) if isinstance(x, (tuple, list)) else (x,)
    return x[:n] if len(x) >= n else x + (x[-1],) * (n - len(x))


# One Bernoulli draw a sample: its whole residual branch stays or goes.
def drop_path(x, drop_prob=0.0, training=False, scale_by_keep=True):
    if drop_prob == 0.0 or not training:
        return x
    keep = 1 - drop_prob
    mask = x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep)
    if keep > 0.0 and scale_by_keep:
        mask.div_(keep)
    return x * mask


class DropPath(nn.Module):
    def __init__(self, drop_prob=0.0, scale_by_keep=True):
        super().__init__()
        self.drop_prob, self.scale_by_keep = drop_prob, scale_by_keep

    def forward(self, x):
        return drop_path(x, self.drop_prob, self.training, self.scale_by_keep)

    def extra_repr(self):
        return f"drop_prob={round(self.drop_prob, 3):0.3f}"


# By the inverse of the distribution function, from one uniform draw an element; torch.nn.init's draws again what falls outside.
def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    low, high = math.erf((a - mean) / std / math.sqrt(2.0)), math.erf((b - mean) / std / math.sqrt(2.0))
    with torch.no_grad():
        return tensor.uniform_(low, high).erfinv_().mul_(std * math.sqrt(2.0)).add_(mean).clamp_(min=a, max=b)


# Truncated at a and b before it is scaled, unlike trunc_normal_.
def trunc_normal_tf_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0):
    with torch.no_grad():
        trunc_normal_(tensor, 0.0, 1.0, a, b)
        tensor.mul_(std).add_(mean)
    return tensor


def variance_scaling_(tensor, scale=1.0, mode="fan_in", distribution="normal"):
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    variance = scale / {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[mode]
    if distribution == "truncated_normal":
        trunc_normal_tf_(tensor, std=math.sqrt(variance) / 0.87962566103423978)  # of a normal variable cut at two deviations
    elif distribution == "normal":
        with torch.no_grad():
            tensor.normal_(std=math.sqrt(variance))
    elif distribution == "uniform":
        bound = math.sqrt(3 * variance)
        with torch.no_grad():
            tensor.uniform_(-bound, bound)
    else:
        raise ValueError(f"invalid distribution {distribution}")


def lecun_normal_(tensor):
    variance_scaling_(tensor, mode="fan_in", distribution="truncated_normal")


class LayerNorm(nn.LayerNorm):
    def __init__(self, num_channels, eps=1e-6, affine=True):
        super().__init__(num_channels, eps=eps, elementwise_affine=affine)


# x: batch x channels x height x width, normalised over the channels of each position.
class LayerNorm2d(LayerNorm):
    def forward(self, x):
        x = F.layer_norm(x.permute(0, 2, 3, 1), self.normalized_shape, self.weight, self.bias, self.eps)
        return x.permute(0, 3, 1, 2)


class LayerScale(nn.Module):
    def __init__(self, dim, init_values=1e-5, inplace=False):
        super().__init__()
        self.inplace = inplace
        self.gamma = nn.Parameter(init_values * torch.ones(dim))

    def forward(self, x):
        return x.mul_(self.gamma) if self.inplace else x * self.gamma


class Mlp(nn.Module):
    def __init__(self, in_features, hidden_features=None, out_features=None, act_layer=nn.GELU, norm_layer=None, bias=True, drop=0.0,
                 use_conv=False):
        super().__init__()
        hidden_features, out_features = hidden_features or in_features, out_features or in_features
        bias, drop = to_2tuple(bias), to_2tuple(drop)
        linear = partial(nn.Conv2d, kernel_size=1) if use_conv else nn.Linear
        self.fc1 = linear(in_features, hidden_features, bias=bias[0])
        self.act = act_layer()
        self.drop1 = nn.Dropout(drop[0])
        self.norm = norm_layer(hidden_features) if norm_layer is not None else nn.Identity()
        self.fc2 = linear(hidden_features, out_features, bias=bias[1])
        self.drop2 = nn.Dropout(drop[1])

    def forward(self, x):
        return self.drop2(self.fc2(self.norm(self.drop1(self.act(self.fc1(x))))))


# Images to batch x patches x embed_dim, or batch x embed_dim x rows x columns without flatten.
class PatchEmbed(nn.Module):
    def __init__(self, img_size=224, patch_size=16, in_chans=3, embed_dim=768, norm_layer=None, flatten=True, bias=True, strict_img_size=True,
                 dynamic_img_pad=False):
        super().__init__()
        self.patch_size = to_2tuple(patch_size)
        self.img_size = self.grid_size = self.num_patches = None
        if img_size is not None:
            self.img_size = to_2tuple(img_size)
            self.grid_size = tuple(s // p for s, p in zip(self.img_size, self.patch_size))
            self.num_patches = self.grid_size[0] * self.grid_size[1]
        self.flatten, self.strict_img_size, self.dynamic_img_pad = flatten, strict_img_size, dynamic_img_pad
        self.proj = nn.Conv2d(in_chans, embed_dim, kernel_size=patch_size, stride=patch_size, bias=bias)
        self.norm = norm_layer(embed_dim) if norm_layer else nn.Identity()

    def feat_ratio(self, as_scalar=True):
        return max(self.patch_size) if as_scalar else self.patch_size

    def forward(self, x):
        _, _, h, w = x.shape
        if self.img_size is not None:
            if self.strict_img_size:
                torch._assert(h == self.img_size[0], f"Input height ({h}) doesn't match model ({self.img_size[0]}).")
                torch._assert(w == self.img_size[1], f"Input width ({w}) doesn't match model ({self.img_size[1]}).")
            elif not self.dynamic_img_pad:
                torch._assert(h % self.patch_size[0] == 0, f"Input height ({h}) should be divisible by patch size ({self.patch_size[0]}).")
                torch._assert(w % self.patch_size[1] == 0, f"Input width ({w}) should be divisible by patch size ({self.patch_size[1]}).")
        if self.dynamic_img_pad:
            x = F.pad(x, (0, -w % self.patch_size[1], 0, -h % self.patch_size[0]))
        x = self.proj(x)
        return self.norm(x.flatten(2).transpose(1, 2) if self.flatten else x)


class Attention(nn.Module):
    def __init__(self, dim, num_heads=8, qkv_bias=False, qk_norm=False, proj_bias=True, attn_drop=0.0, proj_drop=0.0, norm_layer=nn.LayerNorm):
        super().__init__()
        assert dim % num_heads == 0, "dim should be divisible by num_heads"
        self.num_heads, self.head_dim = num_heads, dim // num_heads
        self.scale = self.head_dim**-0.5
        self.fused_attn = True
        self.qkv = nn.Linear(dim, dim * 3, bias=qkv_bias)
        self.q_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.k_norm = norm_layer(self.head_dim) if qk_norm else nn.Identity()
        self.attn_drop = nn.Dropout(attn_drop)
        self.norm = nn.Identity()
        self.proj = nn.Linear(dim, dim, bias=proj_bias)
        self.proj_drop = nn.Dropout(proj_drop)

    def forward(self, x, attn_mask=None, is_causal=False):
        b, n, c = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.num_heads, self.head_dim).permute(2, 0, 3, 1, 4).unbind(0)
        x = F.scaled_dot_product_attention(self.q_norm(q), self.k_norm(k), v, attn_mask=attn_mask,
                                           dropout_p=self.attn_drop.p if self.training else 0.0, is_causal=is_causal)
        return self.proj_drop(self.proj(self.norm(x.transpose(1, 2).reshape(b, n, c))))
