# Transforms of torch.distributions and what is distributed through them.
import math

import torch
import torch.nn.functional as F

from torch.distributions import Distribution, Normal, _sum_last


class Transform:
    bijective = True

    def __init__(self, cache_size=0):
        self._cache_size = cache_size

    @property
    def inv(self):
        return _Inverse(self)

    def __call__(self, x):
        return self._call(x)


class _Inverse(Transform):
    def __init__(self, forward):
        super().__init__()
        self._forward = forward

    @property
    def inv(self):
        return self._forward

    def _call(self, x):
        return self._forward._inverse(x)

    def _inverse(self, y):
        return self._forward._call(y)

    def log_abs_det_jacobian(self, x, y):
        return -self._forward.log_abs_det_jacobian(y, x)


class ExpTransform(Transform):
    def _call(self, x):
        return x.exp()

    def _inverse(self, y):
        return y.log()

    def log_abs_det_jacobian(self, x, y):
        return x


class SigmoidTransform(Transform):
    def _call(self, x):
        f = torch.finfo(x.dtype)
        return torch.clamp(torch.sigmoid(x), min=f.tiny, max=1.0 - f.eps)

    def _inverse(self, y):
        f = torch.finfo(y.dtype)
        y = y.clamp(min=f.tiny, max=1.0 - f.eps)
        return y.log() - (-y).log1p()

    def log_abs_det_jacobian(self, x, y):
        return -F.softplus(-x) - F.softplus(x)


class TanhTransform(Transform):
    def _call(self, x):
        return x.tanh()

    def _inverse(self, y):
        return torch.atanh(y)

    def log_abs_det_jacobian(self, x, y):
        return 2.0 * (math.log(2.0) - x - F.softplus(-2.0 * x))


class AffineTransform(Transform):
    def __init__(self, loc, scale, event_dim=0, cache_size=0):
        super().__init__(cache_size)
        self.loc, self.scale, self.event_dim = loc, scale, event_dim

    def _call(self, x):
        return self.loc + self.scale * x

    def _inverse(self, y):
        return (y - self.loc) / self.scale

    def log_abs_det_jacobian(self, x, y):
        if isinstance(self.scale, torch.Tensor):
            size = torch.abs(self.scale).log()
        else:
            size = torch.full_like(x, math.log(abs(self.scale)))
        return _sum_last(size, self.event_dim).expand(x.shape[:x.dim() - self.event_dim])


class TransformedDistribution(Distribution):
    def __init__(self, base_distribution, transforms, validate_args=None):
        self.base_dist = base_distribution
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        super().__init__(base_distribution._batch_shape, base_distribution._event_shape)

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape)
        return new

    def _forward(self, x):
        for t in self.transforms:
            x = t(x)
        return x

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return self._forward(self.base_dist.sample(sample_shape))

    def rsample(self, sample_shape=()):
        return self._forward(self.base_dist.rsample(sample_shape))

    def log_prob(self, value):
        log_prob, y, events = 0.0, value, len(self._event_shape)
        for t in reversed(self.transforms):
            x = t.inv(y)
            log_prob = log_prob - _sum_last(t.log_abs_det_jacobian(x, y), events - getattr(t, "event_dim", 0))
            y = x
        return log_prob + self.base_dist.log_prob(y)

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.inv(value)
        return self.base_dist.cdf(value)

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(value))


class LogNormal(TransformedDistribution):
    def __init__(self, loc, scale, validate_args=None):
        super().__init__(Normal(loc, scale), ExpTransform())

    @property
    def loc(self):
        return self.base_dist.loc

    @property
    def scale(self):
        return self.base_dist.scale

    @property
    def mean(self):
        return (self.loc + self.scale.pow(2) / 2).exp()

    @property
    def mode(self):
        return (self.loc - self.scale.square()).exp()

    @property
    def variance(self):
        square = self.scale.pow(2)
        return square.expm1() * (2 * self.loc + square).exp()

    def entropy(self):
        return self.base_dist.entropy() + self.loc
