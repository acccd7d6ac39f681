# torch.utils.model_zoo: can be imported, for files that can also fetch weights; calls are refused.


def load_url(*args, **kwargs):
    raise NotImplementedError("torch.utils.model_zoo.load_url() is not part of the model language: weights are given by --weights")
