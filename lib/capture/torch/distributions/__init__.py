# torch.distributions: those that policies, flows and variational models use, with PyTorch's formulas. Arguments are not validated.
import copy
import math

import torch
import torch.nn.functional as F


def _broadcast(*values):
    like = next((v for v in values if isinstance(v, torch.Tensor)), None)
    tensors = [v if isinstance(v, torch.Tensor) else torch.tensor(float(v)) if like is None else torch.full((), v, dtype=like.dtype) for v in values]
    return torch.broadcast_tensors(*tensors)


def _sum_last(x, n):
    return x.sum(tuple(range(-n, 0))) if n else x


class Distribution:
    has_rsample = False
    _expanded = {}  # for expand(): tensors by name, with the number of dimensions after the batch dimensions

    def __init__(self, batch_shape=(), event_shape=(), validate_args=None):
        self._batch_shape, self._event_shape = tuple(batch_shape), tuple(event_shape)

    @property
    def batch_shape(self):
        return torch.Size(self._batch_shape)

    @property
    def event_shape(self):
        return torch.Size(self._event_shape)

    @property
    def stddev(self):
        return self.variance.sqrt()

    def _extended_shape(self, sample_shape=()):
        return tuple(sample_shape) + self._batch_shape + self._event_shape

    def rsample(self, sample_shape=()):
        raise NotImplementedError

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return self.rsample(sample_shape)

    def perplexity(self):
        return torch.exp(self.entropy())

    def expand(self, batch_shape, _instance=None):
        batch, new = tuple(batch_shape), copy.copy(self)
        for name, behind in self._expanded.items():
            x = getattr(self, name)
            setattr(new, name, x.expand(batch + tuple(x.shape[x.dim() - behind:])))
        new._batch_shape = batch
        return new


class _LocationScale(Distribution):  # symmetric about loc
    has_rsample = True
    _expanded = {"loc": 0, "scale": 0}

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.size())

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc


class Normal(_LocationScale):
    @property
    def stddev(self):
        return self.scale

    @property
    def variance(self):
        return self.stddev.pow(2)

    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        with torch.no_grad():
            return torch.normal(self.loc.expand(shape), self.scale.expand(shape))

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.loc + torch.randn(shape, dtype=self.loc.dtype) * self.scale

    def log_prob(self, value):
        var = self.scale ** 2
        return -((value - self.loc) ** 2) / (2 * var) - self.scale.log() - math.log(math.sqrt(2 * math.pi))

    def cdf(self, value):
        return 0.5 * (1 + torch.erf((value - self.loc) * self.scale.reciprocal() / math.sqrt(2)))

    def icdf(self, value):
        return self.loc + self.scale * torch.erfinv(2 * value - 1) * math.sqrt(2)

    def entropy(self):
        return 0.5 + 0.5 * math.log(2 * math.pi) + torch.log(self.scale)


class Uniform(Distribution):
    has_rsample = True
    _expanded = {"low": 0, "high": 0}

    def __init__(self, low, high, validate_args=None):
        self.low, self.high = _broadcast(low, high)
        super().__init__(self.low.size())

    @property
    def mean(self):
        return (self.high + self.low) / 2

    @property
    def variance(self):
        return (self.high - self.low).pow(2) / 12

    def rsample(self, sample_shape=()):
        return self.low + torch.rand(self._extended_shape(sample_shape), dtype=self.low.dtype) * (self.high - self.low)

    def log_prob(self, value):
        inside = self.low.le(value).type_as(self.low) * self.high.gt(value).type_as(self.low)
        return torch.log(inside) - torch.log(self.high - self.low)

    def cdf(self, value):
        return ((value - self.low) / (self.high - self.low)).clamp(min=0, max=1)

    def icdf(self, value):
        return value * (self.high - self.low) + self.low

    def entropy(self):
        return torch.log(self.high - self.low)


class Laplace(_LocationScale):
    @property
    def stddev(self):
        return (2 ** 0.5) * self.scale

    @property
    def variance(self):
        return 2 * self.scale.pow(2)

    def rsample(self, sample_shape=()):
        u = torch.empty(self._extended_shape(sample_shape), dtype=self.loc.dtype).uniform_(torch.finfo(self.loc.dtype).eps - 1, 1)
        return self.loc - self.scale * u.sign() * torch.log1p(-u.abs())

    def log_prob(self, value):
        return -torch.log(2 * self.scale) - torch.abs(value - self.loc) / self.scale

    def cdf(self, value):
        return 0.5 - 0.5 * (value - self.loc).sign() * torch.expm1(-(value - self.loc).abs() / self.scale)

    def icdf(self, value):
        term = value - 0.5
        return self.loc - self.scale * term.sign() * torch.log1p(-2 * term.abs())

    def entropy(self):
        return 1 + torch.log(2 * self.scale)


class Exponential(Distribution):
    has_rsample = True
    _expanded = {"rate": 0}

    def __init__(self, rate, validate_args=None):
        self.rate, = _broadcast(rate)
        super().__init__(self.rate.size())

    @property
    def mean(self):
        return self.rate.reciprocal()

    @property
    def mode(self):
        return torch.zeros_like(self.rate)

    @property
    def stddev(self):
        return self.rate.reciprocal()

    @property
    def variance(self):
        return self.rate.pow(-2)

    def rsample(self, sample_shape=()):
        return torch.empty(self._extended_shape(sample_shape), dtype=self.rate.dtype).exponential_() / self.rate

    def log_prob(self, value):
        return self.rate.log() - self.rate * value

    def cdf(self, value):
        return 1 - torch.exp(-self.rate * value)

    def icdf(self, value):
        return -torch.log1p(-value) / self.rate

    def entropy(self):
        return 1.0 - torch.log(self.rate)


class Gamma(Distribution):
    has_rsample = True
    _expanded = {"concentration": 0, "rate": 0}

    def __init__(self, concentration, rate, validate_args=None):
        self.concentration, self.rate = _broadcast(concentration, rate)
        super().__init__(self.concentration.size())

    @property
    def mean(self):
        return self.concentration / self.rate

    @property
    def mode(self):
        return ((self.concentration - 1) / self.rate).clamp(min=0)

    @property
    def variance(self):
        return self.concentration / self.rate.pow(2)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        value = torch._standard_gamma(self.concentration.expand(shape)) / self.rate.expand(shape)
        value.detach().clamp_(min=torch.finfo(value.dtype).tiny)
        return value

    def log_prob(self, value):
        return (torch.xlogy(self.concentration, self.rate) + torch.xlogy(self.concentration - 1, value) - self.rate * value
                - torch.lgamma(self.concentration))

    def cdf(self, value):
        return torch.special.gammainc(self.concentration, self.rate * value)

    def entropy(self):
        return (self.concentration - torch.log(self.rate) + torch.lgamma(self.concentration)
                + (1.0 - self.concentration) * torch.digamma(self.concentration))


class Poisson(Distribution):
    _expanded = {"rate": 0}

    def __init__(self, rate, validate_args=None):
        self.rate, = _broadcast(rate)
        super().__init__(self.rate.size())

    @property
    def mean(self):
        return self.rate

    @property
    def mode(self):
        return self.rate.floor()

    @property
    def variance(self):
        return self.rate

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.poisson(self.rate.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        rate, value = torch.broadcast_tensors(self.rate, value)
        return value.xlogy(rate) - rate - (value + 1).lgamma()


class Dirichlet(Distribution):
    _expanded = {"concentration": 1}

    def __init__(self, concentration, validate_args=None):
        if concentration.dim() < 1:
            raise ValueError("`concentration` parameter must be at least one-dimensional.")
        self.concentration = concentration
        super().__init__(concentration.shape[:-1], concentration.shape[-1:])

    @property
    def mean(self):
        return self.concentration / self.concentration.sum(-1, True)

    @property
    def variance(self):
        total = self.concentration.sum(-1, True)
        return self.concentration * (total - self.concentration) / (total.pow(2) * (total + 1))

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch._sample_dirichlet(self.concentration.expand(self._extended_shape(sample_shape)))

    def rsample(self, sample_shape=()):
        raise NotImplementedError("Dirichlet.rsample: the gradient of a sample is not in the model language; sample() is")

    def log_prob(self, value):
        c = self.concentration
        return torch.xlogy(c - 1.0, value).sum(-1) + torch.lgamma(c.sum(-1)) - torch.lgamma(c).sum(-1)

    def entropy(self):
        c, k, total = self.concentration, self.concentration.size(-1), self.concentration.sum(-1)
        return (torch.lgamma(c).sum(-1) - torch.lgamma(total) - (k - total) * torch.digamma(total)
                - ((c - 1.0) * torch.digamma(c)).sum(-1))


class Beta(Distribution):
    _expanded = {"concentration1": 0, "concentration0": 0}

    def __init__(self, concentration1, concentration0, validate_args=None):
        self.concentration1, self.concentration0 = _broadcast(concentration1, concentration0)
        super().__init__(self.concentration1.size())

    @property
    def _dirichlet(self):
        return Dirichlet(torch.stack([self.concentration1, self.concentration0], -1))

    @property
    def mean(self):
        return self.concentration1 / (self.concentration1 + self.concentration0)

    @property
    def variance(self):
        total = self.concentration1 + self.concentration0
        return self.concentration1 * self.concentration0 / (total.pow(2) * (total + 1))

    def sample(self, sample_shape=()):
        return self._dirichlet.sample(sample_shape).select(-1, 0)

    def log_prob(self, value):
        return self._dirichlet.log_prob(torch.stack([value, 1.0 - value], -1))

    def entropy(self):
        return self._dirichlet.entropy()


class _Binary(Distribution):  # by probs or logits of an event
    _expanded = {"_param": 0}

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        self._given = probs is not None
        self._param, = _broadcast(probs if self._given else logits)
        super().__init__(self._param.size())

    @property
    def probs(self):
        return self._param if self._given else torch.sigmoid(self._param)

    @property
    def logits(self):
        if not self._given:
            return self._param
        eps = torch.finfo(self._param.dtype).eps
        p = self._param.clamp(min=eps, max=1 - eps)
        return torch.log(p) - torch.log1p(-p)


class Bernoulli(_Binary):
    @property
    def mean(self):
        return self.probs

    @property
    def variance(self):
        return self.probs * (1 - self.probs)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            return torch.bernoulli(self.probs.expand(self._extended_shape(sample_shape)))

    def log_prob(self, value):
        logits, value = torch.broadcast_tensors(self.logits, value)
        return -F.binary_cross_entropy_with_logits(logits, value, reduction="none")

    def entropy(self):
        return F.binary_cross_entropy_with_logits(self.logits, self.probs, reduction="none")


class Categorical(Distribution):
    _expanded = {"probs": 1, "logits": 1}

    def __init__(self, probs=None, logits=None, validate_args=None):
        if (probs is None) == (logits is None):
            raise ValueError("Either `probs` or `logits` must be specified, but not both.")
        if probs is not None:
            if probs.dim() < 1:
                raise ValueError("`probs` parameter must be at least one-dimensional.")
            self.probs = probs / probs.sum(-1, keepdim=True)
            eps = torch.finfo(self.probs.dtype).eps
            self.logits = torch.log(self.probs.clamp(min=eps, max=1 - eps))
        else:
            if logits.dim() < 1:
                raise ValueError("`logits` parameter must be at least one-dimensional.")
            self.logits = logits - logits.logsumexp(dim=-1, keepdim=True)
            self.probs = F.softmax(self.logits, dim=-1)
        self._num_events = self.logits.size(-1)
        super().__init__(self.logits.size()[:-1])

    @property
    def param_shape(self):
        return self.logits.size()

    @property
    def mode(self):
        return self.probs.argmax(dim=-1)

    def sample(self, sample_shape=()):
        count = math.prod(sample_shape)
        with torch.no_grad():
            drawn = torch.multinomial(self.probs.reshape(-1, self._num_events), count, True).T
            return drawn.reshape(self._extended_shape(sample_shape))

    def log_prob(self, value):
        value = value.long().unsqueeze(-1)
        value, logits = torch.broadcast_tensors(value, self.logits)
        return logits.gather(-1, value[..., :1]).squeeze(-1)

    def entropy(self):
        logits = torch.clamp(self.logits, min=torch.finfo(self.logits.dtype).min)
        return -(logits * self.probs).sum(-1)


class _OverCategorical(Distribution):  # its events are vectors over the categories
    def __init__(self, probs=None, logits=None, validate_args=None):
        self._categorical = Categorical(probs, logits)
        super().__init__(self._categorical._batch_shape, self._categorical.param_shape[-1:])

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new._categorical = self._categorical.expand(batch_shape)
        return new

    @property
    def probs(self):
        return self._categorical.probs

    @property
    def logits(self):
        return self._categorical.logits


class OneHotCategorical(_OverCategorical):
    @property
    def mean(self):
        return self._categorical.probs

    @property
    def mode(self):
        return F.one_hot(self.probs.argmax(dim=-1), num_classes=self._categorical._num_events).to(self.probs)

    @property
    def variance(self):
        return self._categorical.probs * (1 - self._categorical.probs)

    def sample(self, sample_shape=()):
        return F.one_hot(self._categorical.sample(sample_shape), self._categorical._num_events).to(self.probs)

    def log_prob(self, value):
        return self._categorical.log_prob(value.max(-1)[1])

    def entropy(self):
        return self._categorical.entropy()


class OneHotCategoricalStraightThrough(OneHotCategorical):
    has_rsample = True

    def rsample(self, sample_shape=()):
        return self.sample(sample_shape) + (self.probs - self.probs.detach())


class MultivariateNormal(Distribution):
    has_rsample = True
    _expanded = {"loc": 1, "_unbroadcasted_scale_tril": 2}

    def __init__(self, loc, covariance_matrix=None, precision_matrix=None, scale_tril=None, validate_args=None):
        if (covariance_matrix is not None) + (scale_tril is not None) + (precision_matrix is not None) != 1:
            raise ValueError("Exactly one of covariance_matrix or precision_matrix or scale_tril may be specified.")
        if precision_matrix is not None:
            flipped = torch.linalg.cholesky(torch.flip(precision_matrix, (-2, -1)))
            inverse = torch.transpose(torch.flip(flipped, (-2, -1)), -2, -1)
            scale_tril = torch.linalg.solve_triangular(inverse, torch.eye(precision_matrix.shape[-1], dtype=precision_matrix.dtype), upper=False)
        self._unbroadcasted_scale_tril = scale_tril if scale_tril is not None else torch.linalg.cholesky(covariance_matrix)
        batch = torch.broadcast_shapes(self._unbroadcasted_scale_tril.shape[:-2], loc.shape[:-1])
        self.loc = loc.expand(batch + (-1,))
        super().__init__(batch, self.loc.shape[-1:])

    @property
    def scale_tril(self):
        return self._unbroadcasted_scale_tril.expand(self._batch_shape + self._event_shape + self._event_shape)

    @property
    def mean(self):
        return self.loc

    @property
    def variance(self):
        return self._unbroadcasted_scale_tril.pow(2).sum(-1).expand(self._batch_shape + self._event_shape)

    def rsample(self, sample_shape=()):
        eps = torch.randn(self._extended_shape(sample_shape), dtype=self.loc.dtype)
        return self.loc + torch.matmul(self._unbroadcasted_scale_tril, eps.unsqueeze(-1)).squeeze(-1)

    def _half_log_det(self):
        return self._unbroadcasted_scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def log_prob(self, value):
        x = torch.linalg.solve_triangular(self._unbroadcasted_scale_tril, (value - self.loc).unsqueeze(-1), upper=False)
        return -0.5 * (self._event_shape[0] * math.log(2 * math.pi) + x.squeeze(-1).pow(2).sum(-1)) - self._half_log_det()

    def entropy(self):
        return (0.5 * self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + self._half_log_det()).expand(self._batch_shape)


class Independent(Distribution):
    def __init__(self, base_distribution, reinterpreted_batch_ndims, validate_args=None):
        shape, k = base_distribution._batch_shape, reinterpreted_batch_ndims
        if k > len(shape):
            raise ValueError(f"Expected reinterpreted_batch_ndims <= len(base_distribution.batch_shape), actual {k} vs {len(shape)}")
        self.base_dist, self.reinterpreted_batch_ndims = base_distribution, k
        super().__init__(shape[:len(shape) - k], shape[len(shape) - k:] + base_distribution._event_shape)

    @property
    def mean(self):
        return self.base_dist.mean

    @property
    def variance(self):
        return self.base_dist.variance

    @property
    def mode(self):
        return self.base_dist.mode

    @property
    def has_rsample(self):
        return self.base_dist.has_rsample

    def expand(self, batch_shape, _instance=None):
        new = super().expand(batch_shape)
        new.base_dist = self.base_dist.expand(tuple(batch_shape) + self._event_shape[:self.reinterpreted_batch_ndims])
        return new

    def _sum(self, x):
        return _sum_last(x, self.reinterpreted_batch_ndims)

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self):
        return self._sum(self.base_dist.entropy())


from torch.distributions._transforms import (AffineTransform, ComposeTransform, ExpTransform, LogNormal, PowerTransform, SigmoidTransform,
                                              TanhTransform, Transform, TransformedDistribution, identity_transform)
from torch.distributions._more import (Binomial, Cauchy, Chi2, Geometric, Gumbel, HalfNormal, MixtureSameFamily, NegativeBinomial, RelaxedBernoulli,
                                       RelaxedOneHotCategorical, StudentT, Weibull)
from torch.distributions._kl import kl_divergence, register_kl


# ---- constraints: for the tables arg_constraints of a file's own distributions; nothing asks them ----
class Constraint:
    is_discrete, event_dim = False, 0

    def __call__(self, *args, **kwargs):  # interval(0, 1)
        return Constraint()

    def check(self, value):
        raise NotImplementedError("torch.distributions.constraints.Constraint.check() is not part of the model language")


boolean = cat = corr_cholesky = dependent = dependent_property = greater_than = greater_than_eq = half_open_interval = independent = Constraint()
integer_interval = interval = less_than = lower_cholesky = multinomial = nonnegative = nonnegative_integer = one_hot = positive = Constraint()
positive_definite = positive_integer = positive_semidefinite = real = real_vector = simplex = sphere = stack = symmetric = unit_interval = Constraint()
