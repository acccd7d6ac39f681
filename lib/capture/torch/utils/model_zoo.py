# torch.utils.model_zoo: importable, for files that can also fetch weights; a call is refused.


def load_url(*args, **kwargs):
    raise NotImplementedError("torch.utils.model_zoo.load_url() is not part of the model language: weights are given by --weights")
