# torch.distributions: those that policies, flows and variational models use, with PyTorch's formulas. Arguments are not validated.
import math

import torch
import torch.nn.functional as F


def _broadcast(*values):
    like = next((v for v in values if isinstance(v, torch.Tensor)), None)
    tensors = [v if isinstance(v, torch.Tensor) else torch.tensor(float(v)) if like is None else torch.full((), v, dtype=like.dtype) for v in values]
    return torch.broadcast_tensors(*tensors)


class Distribution:
    has_rsample = False

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


class Normal(Distribution):
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = _broadcast(loc, scale)
        super().__init__(self.loc.size())

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

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

    def entropy(self):
        return torch.log(self.high - self.low)


class Bernoulli(Distribution):
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


class MultivariateNormal(Distribution):
    has_rsample = True

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

    def _sum(self, x):
        return x.sum(tuple(range(-self.reinterpreted_batch_ndims, 0))) if self.reinterpreted_batch_ndims else x

    def sample(self, sample_shape=()):
        return self.base_dist.sample(sample_shape)

    def rsample(self, sample_shape=()):
        return self.base_dist.rsample(sample_shape)

    def log_prob(self, value):
        return self._sum(self.base_dist.log_prob(value))

    def entropy(self):
        return self._sum(self.base_dist.entropy())


def kl_divergence(p, q):
    if isinstance(p, Normal) and isinstance(q, Normal):
        ratio = (p.scale / q.scale).pow(2)
        return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())
    if isinstance(p, Categorical) and isinstance(q, Categorical):
        t = p.probs * (p.logits - q.logits)
        t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
        return torch.where((p.probs == 0).expand_as(t), 0, t).sum(-1)
    if isinstance(p, Independent) and isinstance(q, Independent) and p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims:
        return p._sum(kl_divergence(p.base_dist, q.base_dist))
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
