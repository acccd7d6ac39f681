# Transforms of torch.distributions, and distributions transformed by them.
import math

import torch
import torch.nn.functional as F

from torch.distributions import Distribution, Independent, Normal, _sum_last


class Transform:
    bijective = True
    event_dim = 0  # number of trailing dimensions that are mapped together
    sign = 1  # of the derivative

    def __init__(self, cache_size=0):
        self._cache_size, self._cached = cache_size, (None, None)

    @property
    def inv(self):
        return _Inverse(self)

    # The cache keeps the last mapped tensor, since an inverse may not be exact: that of a saturated tanh is infinite.
    def __call__(self, x):
        if not self._cache_size:
            return self._call(x)
        if x is not self._cached[0]:
            self._cached = x, self._call(x)
        return self._cached[1]

    def _back(self, y):
        if not self._cache_size:
            return self._inverse(y)
        if y is not self._cached[1]:
            self._cached = self._inverse(y), y
        return self._cached[0]

    def forward_shape(self, shape):
        return shape


class _Inverse(Transform):
    def __init__(self, forward):
        super().__init__()
        self._forward, self.event_dim, self.sign = forward, forward.event_dim, forward.sign

    @property
    def inv(self):
        return self._forward

    def _call(self, x):
        return self._forward._back(x)

    def _inverse(self, y):
        return self._forward(y)

    def forward_shape(self, shape):
        return self._forward.forward_shape(shape)

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

    @property
    def sign(self):
        return self.scale.sign() if isinstance(self.scale, torch.Tensor) else (self.scale > 0) - (self.scale < 0)

    def forward_shape(self, shape):
        return tuple(torch.broadcast_shapes(shape, *(tuple(x.shape) for x in (self.loc, self.scale) if isinstance(x, torch.Tensor))))

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


class PowerTransform(Transform):
    def __init__(self, exponent, cache_size=0):
        super().__init__(cache_size)
        self.exponent = exponent

    @property
    def sign(self):
        return self.exponent.sign() if isinstance(self.exponent, torch.Tensor) else (self.exponent > 0) - (self.exponent < 0)

    def forward_shape(self, shape):
        return tuple(torch.broadcast_shapes(shape, getattr(self.exponent, "shape", ())))

    def _call(self, x):
        return x.pow(self.exponent)

    def _inverse(self, y):
        return y.pow(1 / self.exponent)

    def log_abs_det_jacobian(self, x, y):
        return (self.exponent * y / x).abs().log()


class ComposeTransform(Transform):
    def __init__(self, parts, cache_size=0):
        super().__init__(cache_size)
        self.parts, self.event_dim = parts, max([0] + [p.event_dim for p in parts])

    @property
    def sign(self):
        sign = 1
        for p in self.parts:
            sign = sign * p.sign
        return sign

    def forward_shape(self, shape):
        for p in self.parts:
            shape = p.forward_shape(shape)
        return shape

    def _call(self, x):
        for p in self.parts:
            x = p(x)
        return x

    def _inverse(self, y):
        for p in reversed(self.parts):
            y = p.inv(y)
        return y

    def log_abs_det_jacobian(self, x, y):
        if not self.parts:
            return torch.zeros_like(x)
        total = 0.0
        for i, p in enumerate(self.parts):
            after = y if i + 1 == len(self.parts) else p(x)
            total = total + _sum_last(p.log_abs_det_jacobian(x, after), self.event_dim - p.event_dim)
            x = after
        return total


identity_transform = ComposeTransform([])


class TransformedDistribution(Distribution):
    def __init__(self, base_distribution, transforms, validate_args=None):
        self.transforms = [transforms] if isinstance(transforms, Transform) else list(transforms)
        base, together = base_distribution, max([0] + [t.event_dim for t in self.transforms])
        given = shape = base._batch_shape + base._event_shape
        if len(shape) < together:
            raise ValueError(f"base_distribution needs to have shape with size at least {together}, but got {base_distribution}.")
        for t in self.transforms:
            shape = t.forward_shape(shape)
        if shape != given:
            base = base.expand(shape[:len(shape) - len(base._event_shape)])
        if together > len(base._event_shape):
            base = Independent(base, together - len(base._event_shape))
        self.base_dist = base
        super().__init__(base._batch_shape, base._event_shape)

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
            log_prob = log_prob - _sum_last(t.log_abs_det_jacobian(x, y), events - t.event_dim)
            y = x
        return log_prob + self.base_dist.log_prob(y)

    def cdf(self, value):
        for t in reversed(self.transforms):
            value = t.inv(value)
        return self._rising(self.base_dist.cdf(value))

    def icdf(self, value):
        return self._forward(self.base_dist.icdf(self._rising(value)))

    # The cumulative probability, also for transforms that reverse the order.
    def _rising(self, value):
        sign = 1
        for t in self.transforms:
            sign = sign * t.sign
        return value if isinstance(sign, int) and sign == 1 else sign * (value - 0.5) + 0.5


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
