# kl_divergence(p, q) in closed form, by the types of p and q.
import math

import torch
import torch.nn.functional as F

from torch.distributions import (Bernoulli, Beta, Categorical, Dirichlet, Exponential, Gamma, Independent, Laplace, LogNormal,
                                 MultivariateNormal, Normal, OneHotCategorical, Poisson, Uniform)


def _kl_normal(p, q):
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


def _kl_categorical(p, q):
    t = p.probs * (p.logits - q.logits)
    t = torch.where((q.probs == 0).expand_as(t), math.inf, t)
    return torch.where((p.probs == 0).expand_as(t), 0, t).sum(-1)


def _kl_bernoulli(p, q):
    one = p.probs * (F.softplus(-q.logits) - F.softplus(-p.logits))
    one = torch.where(p.probs == 0, 0, torch.where(q.probs == 0, math.inf, one))
    zero = (1 - p.probs) * (F.softplus(q.logits) - F.softplus(p.logits))
    zero = torch.where(p.probs == 1, 0, torch.where(q.probs == 1, math.inf, zero))
    return one + zero


def _kl_uniform(p, q):
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return torch.where((q.low > p.low) | (q.high < p.high), math.inf, result)


def _kl_laplace(p, q):
    ratio, distance = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + distance / q.scale + ratio * torch.exp(-distance / p.scale) - 1


def _kl_exponential(p, q):
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


def _kl_gamma(p, q):
    return (q.concentration * (p.rate / q.rate).log() + (torch.lgamma(q.concentration) - torch.lgamma(p.concentration))
            + (p.concentration - q.concentration) * torch.digamma(p.concentration) + (q.rate - p.rate) * (p.concentration / p.rate))


def _kl_poisson(p, q):
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


def _kl_dirichlet(p, q):
    sum_p, sum_q = p.concentration.sum(-1), q.concentration.sum(-1)
    t = (torch.lgamma(p.concentration) - torch.lgamma(q.concentration)).sum(-1)
    spread = (p.concentration - q.concentration) * (torch.digamma(p.concentration) - torch.digamma(sum_p).unsqueeze(-1))
    return torch.lgamma(sum_p) - torch.lgamma(sum_q) - t + spread.sum(-1)


def _kl_multivariate_normal(p, q):
    if p._event_shape != q._event_shape:
        raise ValueError("KL-divergence between two Multivariate Normals with different event shapes cannot be computed")
    a, b, n = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril, p._event_shape[0]
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    whole = torch.linalg.solve_triangular(b.expand(batch + (n, n)), a.expand(batch + (n, n)), upper=False)
    apart = torch.linalg.solve_triangular(b, (q.loc - p.loc).unsqueeze(-1), upper=False).squeeze(-1).pow(2).sum(-1)
    return q._half_log_det() - p._half_log_det() + 0.5 * (whole.pow(2).sum((-2, -1)) + apart - n)


_kl_pairs = [(Normal, _kl_normal), (OneHotCategorical, _kl_categorical), (Categorical, _kl_categorical), (Bernoulli, _kl_bernoulli),
             (Uniform, _kl_uniform), (Laplace, _kl_laplace), (Exponential, _kl_exponential), (Gamma, _kl_gamma), (Poisson, _kl_poisson),
             (Dirichlet, _kl_dirichlet), (MultivariateNormal, _kl_multivariate_normal)]


def register_kl(type_p, type_q):
    def keep(function):
        _kl_given.insert(0, (type_p, type_q, function))
        return function
    return keep


_kl_given = []


def kl_divergence(p, q):
    for a, b, function in _kl_given + [(kind, kind, function) for kind, function in _kl_pairs]:
        if isinstance(p, a) and isinstance(q, b):
            return function(p, q)
    if isinstance(p, Beta) and isinstance(q, Beta):
        return _kl_dirichlet(p._dirichlet, q._dirichlet)
    if isinstance(p, Independent) and isinstance(q, Independent) and p.reinterpreted_batch_ndims == q.reinterpreted_batch_ndims:
        return p._sum(kl_divergence(p.base_dist, q.base_dist))
    if isinstance(p, LogNormal) and isinstance(q, LogNormal):
        return kl_divergence(p.base_dist, q.base_dist)
    raise NotImplementedError(f"No KL(p || q) is implemented for p type {type(p).__name__} and q type {type(q).__name__}")
