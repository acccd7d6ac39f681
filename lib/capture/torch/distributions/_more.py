# Mixtures, counts, heavy tails, and relaxations of discrete distributions.
import math

import torch
import torch.nn.functional as F

from torch.distributions import Categorical, Distribution, Exponential, Gamma, Normal, Uniform, _Binary, _LocationScale, _OverCategorical, _broadcast
from torch.distributions._transforms import AffineTransform, ExpTransform, PowerTransform, SigmoidTransform, TransformedDistribution

_euler = 0.57721566490153286060


class MixtureSameFamily(Distribution):
    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(" The Mixture distribution needs to be an  instance of torch.distributions.Categorical")
        if not isinstance(component_distribution, Distribution):
            raise ValueError("The Component distribution needs to be an instance of torch.distributions.Distribution")
        mixed, batch = mixture_distribution._batch_shape, component_distribution._batch_shape[:-1]
        for a, b in zip(reversed(mixed), reversed(batch)):
            if a != 1 and b != 1 and a != b:
                raise ValueError(f"`mixture_distribution.batch_shape` ({torch.Size(mixed)}) is not compatible with "
                                 f"`component_distribution.batch_shape`({torch.Size(batch)})")
        k, parts = mixture_distribution.logits.shape[-1], component_distribution._batch_shape[-1]
        if k != parts:
            raise ValueError(f"`mixture_distribution component` ({k}) does not equal `component_distribution.batch_shape[-1]` ({parts})")
        self.mixture_distribution, self.component_distribution, self._num_component = mixture_distribution, component_distribution, k
        super().__init__(batch, component_distribution._event_shape)
        self._event_ndims = len(self._event_shape)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new.component_distribution = self.component_distribution.expand(tuple(batch_shape) + (self._num_component,))
        new.mixture_distribution = self.mixture_distribution.expand(batch_shape)
        return new

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    # The probabilities, aligned with the components' values [batch, k, event].
    def _weights(self):
        x, mixed = self.mixture_distribution.probs, len(self.mixture_distribution._batch_shape)
        more = 0 if mixed == 1 else len(self._batch_shape) - mixed
        return x.reshape(tuple(x.shape[:-1]) + (1,) * more + tuple(x.shape[-1:]) + (1,) * self._event_ndims)

    @property
    def mean(self):
        return torch.sum(self._weights() * self.component_distribution.mean, dim=-1 - self._event_ndims)

    @property
    def variance(self):
        parts, probs, dim = self.component_distribution, self._weights(), -1 - self._event_ndims
        return torch.sum(probs * parts.variance, dim=dim) + torch.sum(probs * (parts.mean - self._pad(self.mean)).pow(2.0), dim=dim)

    def cdf(self, x):
        return torch.sum(self.component_distribution.cdf(self._pad(x)) * self.mixture_distribution.probs, dim=-1)

    def log_prob(self, x):
        return torch.logsumexp(self.component_distribution.log_prob(self._pad(x)) + torch.log_softmax(self.mixture_distribution.logits, dim=-1), dim=-1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            dim, event = len(sample_shape) + len(self._batch_shape), self._event_shape
            chosen = self.mixture_distribution.sample(sample_shape)
            values = self.component_distribution.sample(sample_shape)
            index = chosen.reshape(tuple(chosen.shape) + (1,) * (len(event) + 1)).repeat((1,) * (chosen.dim() + 1) + event)
            return torch.gather(values, dim, index).squeeze(dim)


class Chi2(Gamma):
    def __init__(self, df, validate_args=None):
        super().__init__(0.5 * df, 0.5)

    @property
    def df(self):
        return self.concentration * 2


class StudentT(Distribution):
    has_rsample = True
    _expanded = {"df": 0, "loc": 0, "scale": 0}

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = _broadcast(df, loc, scale)
        super().__init__(self.df.size())

    @property
    def mean(self):
        return torch.where(self.df <= 1, math.nan, self.loc)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        v = torch.where(self.df > 2, self.scale.pow(2) * self.df / (self.df - 2), math.inf)
        return torch.where(self.df <= 1, math.nan, v)

    def rsample(self, sample_shape=()):
        x = torch.normal(torch.zeros(self._extended_shape(sample_shape), dtype=self.df.dtype), 1.0)
        return self.loc + self.scale * (x * torch.rsqrt(Chi2(self.df).rsample(sample_shape) / self.df))

    def log_prob(self, value):
        y, df = (value - self.loc) / self.scale, self.df
        z = self.scale.log() + 0.5 * df.log() + 0.5 * math.log(math.pi) + torch.lgamma(0.5 * df) - torch.lgamma(0.5 * (df + 1.0))
        return -0.5 * (df + 1.0) * torch.log1p(y ** 2.0 / df) - z

    def entropy(self):
        df = self.df
        lbeta = torch.lgamma(0.5 * df) + math.lgamma(0.5) - torch.lgamma(0.5 * (df + 1))
        return self.scale.log() + 0.5 * (df + 1) * (torch.digamma(0.5 * (df + 1)) - torch.digamma(0.5 * df)) + 0.5 * df.log() + lbeta


class Cauchy(_LocationScale):
    @property
    def mean(self):
        return torch.full_like(self.loc, math.nan)

    @property
    def variance(self):
        return torch.full_like(self.loc, math.inf)

    def rsample(self, sample_shape=()):
        return self.loc + torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).cauchy_() * self.scale

    def log_prob(self, value):
        return -math.log(math.pi) - self.scale.log() - (((value - self.loc) / self.scale) ** 2).log1p()

    def cdf(self, value):
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()


class HalfNormal(Distribution):
    has_rsample = True

    def __init__(self, scale, validate_args=None):
        self.base_dist = Normal(0, scale)
        super().__init__(self.base_dist._batch_shape)

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new.base_dist = self.base_dist.expand(batch_shape)
        return new

    @property
    def scale(self):
        return self.base_dist.scale

    @property
    def mean(self):
        return self.scale * math.sqrt(2 / math.pi)

    @property
    def mode(self):
        return torch.zeros_like(self.scale)

    @property
    def variance(self):
        return self.scale.pow(2) * (1 - 2 / math.pi)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape).abs()

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape).abs()

    def log_prob(self, value):
        return torch.where(value >= 0, self.base_dist.log_prob(value) + math.log(2), -math.inf)

    def cdf(self, value):
        return 2 * self.base_dist.cdf(value) - 1

    def icdf(self, prob):
        return self.base_dist.icdf((prob + 1) / 2)

    def entropy(self):
        return self.base_dist.entropy() - math.log(2)


class Gumbel(TransformedDistribution):
    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        info = torch.finfo(self.loc.dtype)
        base = Uniform(torch.full_like(self.loc, info.tiny), torch.full_like(self.loc, 1 - info.eps))
        minus_log = [ExpTransform().inv, AffineTransform(0, -torch.ones_like(self.scale))]
        super().__init__(base, minus_log + [ExpTransform().inv, AffineTransform(loc, -self.scale)])

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new.loc, new.scale = self.loc.expand(batch_shape), self.scale.expand(batch_shape)
        return new

    def log_prob(self, value):
        y = (self.loc - value) / self.scale
        return (y - y.exp()) - self.scale.log()

    @property
    def mean(self):
        return self.loc + self.scale * _euler

    @property
    def mode(self):
        return self.loc

    @property
    def stddev(self):
        return (math.pi / math.sqrt(6)) * self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def entropy(self):
        return self.scale.log() + (1 + _euler)


class Weibull(TransformedDistribution):
    def __init__(self, scale, concentration, validate_args=None):
        self.scale, self.concentration = _broadcast(scale, concentration)
        inverse = self.concentration_reciprocal = self.concentration.reciprocal()
        super().__init__(Exponential(torch.ones_like(self.scale)), [PowerTransform(inverse), AffineTransform(0, self.scale)])

    def expand(self, batch_shape, _instance=None):
        return Weibull(self.scale.expand(batch_shape), self.concentration.expand(batch_shape))

    @property
    def mean(self):
        return self.scale * torch.exp(torch.lgamma(1 + self.concentration_reciprocal))

    @property
    def mode(self):
        return self.scale * ((self.concentration - 1) / self.concentration) ** self.concentration.reciprocal()

    @property
    def variance(self):
        r = self.concentration_reciprocal
        return self.scale.pow(2) * (torch.exp(torch.lgamma(1 + 2 * r)) - torch.exp(2 * torch.lgamma(1 + r)))

    def entropy(self):
        return _euler * (1 - self.concentration_reciprocal) + torch.log(self.scale * self.concentration_reciprocal) + 1


class Geometric(_Binary):
    @property
    def mean(self):
        return 1.0 / self.probs - 1.0

    @property
    def mode(self):
        return torch.zeros_like(self.probs)

    @property
    def variance(self):
        return (1.0 / self.probs - 1.0) / self.probs

    def sample(self, sample_shape=()):
        with torch.no_grad():
            u = torch.empty(self._extended_shape(sample_shape), dtype=self.probs.dtype).uniform_(torch.finfo(self.probs.dtype).tiny, 1)
            return (u.log() / (-self.probs).log1p()).floor()

    def log_prob(self, value):
        value, probs = torch.broadcast_tensors(value, self.probs)
        return value * (-torch.where((probs == 1) & (value == 0), 0, probs)).log1p() + self.probs.log()

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none") / self.probs


class _Count(_Binary):
    _expanded = {"_param": 0, "total_count": 0}

    def __init__(self, total_count, probs, logits):
        super().__init__(probs, logits)
        self.total_count, self._param = _broadcast(total_count, self._param)
        self.total_count = self.total_count.type_as(self._param)
        self._batch_shape = tuple(self._param.size())


class Binomial(_Count):
    def __init__(self, total_count=1, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits)

    @property
    def mean(self):
        return self.total_count * self.probs

    @property
    def mode(self):
        return ((self.total_count + 1) * self.probs).floor().clamp(max=self.total_count)

    @property
    def variance(self):
        return self.total_count * self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.binomial(self.total_count.expand(shape), self.probs.expand(shape))

    def log_prob(self, value):
        n, logits = self.total_count, self.logits
        above = (logits.clamp(min=0) + logits - logits.clamp(max=0)) / 2  # max(logits, 0), whose gradient at 0 is 1/2
        norm = n * above + n * torch.log1p(torch.exp(-torch.abs(logits))) - torch.lgamma(n + 1)
        return value * logits - torch.lgamma(value + 1) - torch.lgamma(n - value + 1) - norm

    def enumerate_support(self, expand=True):
        n = int(self.total_count.max())
        if self.total_count.min() != n:
            raise NotImplementedError("Inhomogeneous total count not supported by `enumerate_support`.")
        values = torch.arange(1 + n, dtype=self._param.dtype).view((-1,) + (1,) * len(self._batch_shape))
        return values.expand((-1,) + self._batch_shape) if expand else values

    def entropy(self):
        log_prob = self.log_prob(self.enumerate_support(False))
        return -(torch.exp(log_prob) * log_prob).sum(0)


class NegativeBinomial(_Count):
    def __init__(self, total_count, probs=None, logits=None, validate_args=None):
        super().__init__(total_count, probs, logits)

    @property
    def mean(self):
        return self.total_count * torch.exp(self.logits)

    @property
    def mode(self):
        return ((self.total_count - 1) * self.logits.exp()).floor().clamp(min=0.0)

    @property
    def variance(self):
        return self.mean / torch.sigmoid(-self.logits)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.poisson(Gamma(self.total_count, torch.exp(-self.logits)).sample(sample_shape))

    def log_prob(self, value):
        n, logits = self.total_count, self.logits
        norm = -torch.lgamma(n + value) + torch.lgamma(1.0 + value) + torch.lgamma(n)
        return n * F.logsigmoid(-logits) + value * F.logsigmoid(logits) - norm.masked_fill(n + value == 0.0, 0.0)


def _clamp(probs):
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


class LogitRelaxedBernoulli(_Binary):
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits)
        self.temperature = temperature

    def rsample(self, sample_shape=()):
        probs = _clamp(self.probs.expand(self._extended_shape(sample_shape)))
        u = _clamp(torch.rand(probs.shape, dtype=probs.dtype))
        return (u.log() - (-u).log1p() + probs.log() - (-probs).log1p()) / self.temperature

    def log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        diff = logits - value.mul(self.temperature)
        return self.temperature.log() + diff - 2 * diff.exp().log1p()


class ExpRelaxedCategorical(_OverCategorical):
    has_rsample = True

    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(probs, logits)
        self.temperature = temperature

    def rsample(self, sample_shape=()):
        u = _clamp(torch.rand(self._extended_shape(sample_shape), dtype=self.logits.dtype))
        scores = (self.logits - (-(u.log())).log()) / self.temperature
        return scores - scores.logsumexp(dim=-1, keepdim=True)

    def log_prob(self, value):
        k, t = self._categorical._num_events, self.temperature
        logits, value = torch.broadcast_tensors(self.logits, value)
        scale = torch.full_like(t, float(k)).lgamma() - t.log().mul(-(k - 1))
        score = logits - value.mul(t)
        return (score - score.logsumexp(dim=-1, keepdim=True)).sum(-1) + scale


class _Relaxed(TransformedDistribution):
    @property
    def temperature(self):
        return self.base_dist.temperature

    @property
    def logits(self):
        return self.base_dist.logits

    @property
    def probs(self):
        return self.base_dist.probs


class RelaxedBernoulli(_Relaxed):
    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(LogitRelaxedBernoulli(temperature, probs, logits), SigmoidTransform())


class RelaxedOneHotCategorical(_Relaxed):
    def __init__(self, temperature, probs=None, logits=None, validate_args=None):
        super().__init__(ExpRelaxedCategorical(temperature, probs, logits), ExpTransform())
