# torch.distributions: mixtures, counts, heavy tails, relaxations.
import torch
import torch.distributions as D

def show(name, d, x):
    print(name, tuple(d.batch_shape), tuple(d.event_shape), d.has_rsample)
    print(" ", [round(v, 4) for v in d.log_prob(x).double().flatten().tolist()])
    for what in ("mean", "variance", "mode", "stddev"):
        try:
            v = getattr(d, what)
            print("  " + what, [round(u, 4) for u in v.double().flatten().tolist()])
        except (NotImplementedError, AttributeError):
            print("  " + what, None)
    for what in ("entropy", "cdf"):
        try:
            v = d.entropy() if what == "entropy" else d.cdf(x)
            print("  " + what, [round(u, 4) for u in v.double().flatten().tolist()])
        except (NotImplementedError, AttributeError):
            print("  " + what, None)
    torch.manual_seed(3)
    print("  sample", [round(u, 3) for u in d.sample((2,)).double().flatten().tolist()])
    e = d.expand((2,) + tuple(d.batch_shape))
    print("  expand", tuple(e.batch_shape), tuple(e.sample().shape))

a, b = torch.tensor([0.5, 1.5]), torch.tensor([2.0, 3.5])
x = torch.tensor([0.3, 1.2])
show("Mix", D.MixtureSameFamily(D.Categorical(logits=torch.tensor([0.2, -0.4, 1.0])), D.Normal(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([1.0, 0.5, 2.0]))), x)
show("MixB", D.MixtureSameFamily(D.Categorical(torch.tensor([[0.2, 0.8], [0.6, 0.4]])), D.Independent(D.Normal(torch.arange(12.0).view(2, 2, 3) / 5, torch.ones(2, 2, 3)), 1)), torch.ones(2, 3))
show("StudentT", D.StudentT(torch.tensor([0.7, 1.7, 5.0]), 0.5, 2.0), torch.tensor([0.1, 2.0, -1.0]))
show("Chi2", D.Chi2(b), x)
show("Cauchy", D.Cauchy(a, b), x)
show("HalfNormal", D.HalfNormal(b), x)
show("Gumbel", D.Gumbel(a, b), x)
show("Weibull", D.Weibull(b, a), x)
show("Geometric", D.Geometric(torch.tensor([0.3, 1.0])), torch.tensor([2.0, 0.0]))
show("GeometricL", D.Geometric(logits=torch.tensor([0.3, -1.0])), torch.tensor([2.0, 0.0]))
show("Binomial", D.Binomial(5, torch.tensor([0.3, 0.9])), torch.tensor([2.0, 5.0]))
show("BinomialL", D.Binomial(torch.tensor([4, 7]), logits=torch.tensor([0.0, -0.9])), torch.tensor([2.0, 5.0]))
show("NegBin", D.NegativeBinomial(torch.tensor([3.0, 0.5]), logits=torch.tensor([0.2, -0.9])), torch.tensor([2.0, 5.0]))
show("RelB", D.RelaxedBernoulli(torch.tensor([2.2]), torch.tensor([0.3, 0.9])), torch.tensor([0.2, 0.5]))
show("RelO", D.RelaxedOneHotCategorical(torch.tensor([2.2]), torch.tensor([0.1, 0.2, 0.7])), torch.tensor([0.2, 0.5, 0.3]))
from torch.distributions.negative_binomial import NegativeBinomial
for f in (lambda: D.MixtureSameFamily(D.Normal(0.0, 1.0), D.Normal(a, b)), lambda: D.MixtureSameFamily(D.Categorical(torch.ones(3)), D.Normal(a, b)), lambda: D.Geometric()):
    try:
        f()
    except ValueError as e:
        print(" ".join(str(e).split()))
