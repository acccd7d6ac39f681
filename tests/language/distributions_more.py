# More of torch.distributions against PyTorch 2.15: expand, distributions of positive numbers, transforms, pairs of kl_divergence.
import torch
import torch.distributions as D
from torch.distributions.kl import kl_divergence
from torch.distributions.normal import Normal
from torch.distributions.transforms import AffineTransform, ExpTransform, SigmoidTransform, TanhTransform

torch.manual_seed(5)


def p(t):
    print([round(v, 3) for v in t.flatten().tolist()], tuple(t.shape))


a, b = torch.tensor([0.75, 1.5, 2.0]), torch.tensor([1.25, 0.5, 0.875])
v, u = torch.tensor([-0.5, 0.25, 1.0]), torch.tensor([0.125, 0.5, 0.75])
for d in (Normal(a, b), D.Laplace(a, b), D.Uniform(-a, b), D.LogNormal(a, b), D.Exponential(a)):
    for x in (d.log_prob(u), d.entropy(), d.cdf(u), d.icdf(u), d.mean, d.variance, d.stddev, d.rsample((2,))):
        p(x)
for d in (D.Gamma(a, b), D.Beta(a, b)):
    for x in (d.log_prob(u), d.entropy(), d.mean, d.variance, d.sample()):
        p(x)
r = D.Poisson(a)
for x in (r.log_prob(torch.tensor([0.0, 2.0, 3.0])), r.mean, r.variance, r.mode, r.sample((2,))):
    p(x)
e = D.Dirichlet(torch.stack([a, b]))
for x in (e.log_prob(u / u.sum()), e.entropy(), e.mean, e.variance, e.sample()):
    p(x)
o = D.OneHotCategoricalStraightThrough(logits=v)
for x in (o.sample((2,)), o.rsample(), o.log_prob(o.mode), o.entropy(), o.mean, o.variance):
    p(x)
for t in ([TanhTransform(cache_size=1)], [AffineTransform(2.0, a), SigmoidTransform()], ExpTransform()):
    y = D.TransformedDistribution(Normal(v, b), t)
    z = y.rsample()
    p(z)
    p(y.log_prob(z.clamp(1e-3, 0.99)))
for d in (Normal(v, b), D.Laplace(v, b), D.Gamma(a, b), D.Bernoulli(logits=v), D.Beta(a, b)):
    w = d.expand((2, 3))
    print(w.batch_shape, w.event_shape)
    p(w.log_prob(torch.ones(3) / (1 if isinstance(d, D.Bernoulli) else 2)))
p(D.Categorical(logits=v).expand((2,)).log_prob(torch.tensor([0, 2])))
p(D.Independent(Normal(v, b), 1).expand((2,)).log_prob(u))
p(D.MultivariateNormal(v, torch.diag_embed(b)).expand((2,)).log_prob(u))
pairs = [(Normal(v, b), Normal(a, a)), (D.Laplace(v, b), D.Laplace(a, a)), (D.Exponential(a), D.Exponential(b)), (D.Gamma(a, b), D.Gamma(b, a)),
         (D.Beta(a, b), D.Beta(b, a)), (D.Poisson(a), D.Poisson(b)), (D.Dirichlet(a), D.Dirichlet(b)), (D.LogNormal(v, b), D.LogNormal(a, a)),
         (D.Bernoulli(logits=v), D.Bernoulli(probs=torch.tensor([0.25, 1.0, 0.0]))), (D.Uniform(a, a + b), D.Uniform(a - 1, a + 1)),
         (D.OneHotCategorical(logits=v), D.OneHotCategorical(logits=a)), (D.Independent(Normal(v, b), 1), D.Independent(Normal(a, a), 1)),
         (D.MultivariateNormal(v, torch.diag_embed(b)), D.MultivariateNormal(a, torch.diag_embed(a)))]
for one, two in pairs:
    p(kl_divergence(one, two))


@D.register_kl(D.Normal, D.Laplace)
def _mixed(one, two):
    return one.loc - two.loc


p(kl_divergence(Normal(v, b), D.Laplace(a, b)))
try:
    kl_divergence(D.Poisson(a), Normal(v, b))
except NotImplementedError as error:
    print(type(error).__name__)

# transforms that broadcast, that map an event together, that fall, and that keep what they mapped last
for base, t in ((Normal(torch.tensor(0.5), torch.tensor(2.0)), AffineTransform(a, -b)), (Normal(v, b), [AffineTransform(1.0, -2.0), SigmoidTransform()]),
                (Normal(v, b), [AffineTransform(a, b, event_dim=1), ExpTransform()]), (D.Uniform(a, a + b), ExpTransform().inv)):
    y = D.TransformedDistribution(base, t)
    print(y.batch_shape, y.event_shape, y.expand((2,) + tuple(y.batch_shape)).rsample().shape)
    z = y.rsample()
    p(z)
    p(y.log_prob(z))
    if not y.event_shape:
        p(y.cdf(z))
        p(y.icdf(u))
y = D.TransformedDistribution(Normal(v + 20, b), TanhTransform(cache_size=1))
p(y.log_prob(y.rsample()))

from torch.distributions.transforms import ComposeTransform, PowerTransform, identity_transform

for t in (ComposeTransform([AffineTransform(1.0, -2.0), TanhTransform(cache_size=1), AffineTransform(a, b)]), ComposeTransform([ExpTransform(), PowerTransform(b)]),
          ComposeTransform([AffineTransform(a, b, event_dim=1), ExpTransform()]), identity_transform):
    y = D.TransformedDistribution(Normal(v * 0.1, b), t)
    z = y.rsample()
    p(z)
    p(y.log_prob(z))
    p(t.log_abs_det_jacobian(v * 0.1, t(v * 0.1)))
try:
    D.NoSuchThing
except AttributeError as error:
    print(type(error).__name__)
