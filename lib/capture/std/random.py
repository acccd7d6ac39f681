# random: importable, for files that use it outside what is captured; a program has no use for numbers that no seed of torch decides.
_names = ("random", "randrange", "randint", "choice", "choices", "sample", "shuffle", "uniform", "gauss", "normalvariate", "betavariate", "getrandbits",
          "getstate", "setstate", "Random", "SystemRandom")


def seed(*args, **kwargs):  # of numbers that nobody can draw
    pass


def __getattr__(name):
    if name not in _names:
        raise AttributeError("module 'random' has no attribute '" + name + "'")

    def refused(*args, **kwargs):
        raise NotImplementedError("random." + name + "() is not part of the model language: use torch.rand and the like, which the seed decides")

    return refused
