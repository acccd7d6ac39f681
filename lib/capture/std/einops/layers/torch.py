# einops.layers.torch: Rearrange, Reduce and EinMix as modules.
import math
import torch
from torch import nn
from einops import EinopsError, _read, rearrange, reduce


class Rearrange(nn.Module):
    def __init__(self, pattern, **axes_lengths):
        super().__init__()
        self.pattern, self.axes_lengths = pattern, axes_lengths

    def forward(self, input):
        return rearrange(input, self.pattern, **self.axes_lengths)


class Reduce(nn.Module):
    def __init__(self, pattern, reduction, **axes_lengths):
        super().__init__()
        self.pattern, self.reduction, self.axes_lengths = pattern, reduction, axes_lengths

    def forward(self, input):
        return reduce(input, self.pattern, self.reduction, **self.axes_lengths)


def _flat(groups):
    return [a for g in groups for a in ([g] if g == "…" else g)]


def _text(groups):
    return " ".join(["..." if g == "…" else g[0] if len(g) == 1 else "(" + " ".join(g).replace("…", "...") + ")" for g in groups])


# A linear map between named axes: split, contract with the weight, add the bias, join.
class EinMix(nn.Module):
    def __init__(self, pattern, weight_shape, bias_shape=None, **axes_lengths):
        super().__init__()
        self.pattern, self.weight_shape, self.bias_shape, self.axes_lengths = pattern, weight_shape, bias_shape, axes_lengths
        before, after = pattern.split("->")
        (left, left_names), (right, right_names) = _read(before, "l"), _read(after, "r")
        weight, weight_names = _read(weight_shape, "l")
        if any(len(g) != 1 or g == "…" or "#" in g[0] for g in weight):
            raise EinopsError("Anonymous and composite axes are not allowed in the weight of EinMix")
        if right_names - left_names - weight_names:
            raise EinopsError(f"Unrecognized identifiers on the right side of EinMix {sorted(right_names - left_names - weight_names)}")
        if weight_names - left_names - right_names:
            raise EinopsError(f"Weight axes {sorted(weight_names - left_names - right_names)} are not used in pattern")
        if weight_names - set(axes_lengths):
            raise EinopsError(f"Dimensions {sorted(weight_names - set(axes_lengths))} of weight should be specified")
        flat_left, flat_right = _flat(left), _flat(right)
        in_left = {k: v for k, v in axes_lengths.items() if k in left_names}
        self._before = None if len(flat_left) == len(left) else (_text(left) + " -> " + _text([[a] if a != "…" else a for a in flat_left]), in_left)
        self._after = None if len(flat_right) == len(right) else _text([[a] if a != "…" else a for a in flat_right]) + " -> " + _text(right)
        names = [a for a in flat_left + [g[0] for g in weight] if a != "…"]
        letter = {a: "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[names.index(a)] for a in names}
        letter["…"] = "..."
        self._equation = "".join([letter[a] for a in flat_left]) + "," + "".join([letter[g[0]] for g in weight]) + "->" + "".join([letter[a] for a in flat_right])
        fan_in = math.prod([axes_lengths[g[0]] for g in weight if g[0] not in right_names])
        bound = (3 / fan_in) ** 0.5
        self.weight = nn.Parameter(torch.zeros([axes_lengths[g[0]] for g in weight]).uniform_(-bound, bound), requires_grad=True)
        if bias_shape is not None:
            bias_names = _read(bias_shape, "l")[1]
            if bias_names - right_names:
                raise EinopsError(f"Bias axes {sorted(bias_names - right_names)} not present in output")
            if bias_names - set(axes_lengths):
                raise EinopsError(f"Sizes not provided for bias axes {sorted(bias_names - set(axes_lengths))}")
            at = flat_right.index("…") + 1 if "…" in flat_right else 0
            sizes = [axes_lengths[a] if a in bias_names else 1 for a in flat_right[at:]]
            bound = (1 / fan_in) ** 0.5
            self.bias = nn.Parameter(torch.zeros(sizes).uniform_(-bound, bound), requires_grad=True)
        else:
            self.register_parameter("bias", None)

    def forward(self, input):
        if self._before is not None:
            input = rearrange(input, self._before[0], **self._before[1])
        out = torch.einsum(self._equation, input, self.weight)
        if self.bias is not None:
            out = out + self.bias
        if self._after is not None:
            out = rearrange(out, self._after)
        return out
