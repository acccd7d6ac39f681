# torch.optim: names are found in the file that defines them.
from torch.optim.optimizer import Optimizer

_where = {
    "sgd": "SGD",
    "adam": "Adam AdamW Adamax NAdam RAdam",
    "rms": "RMSprop Adagrad Adadelta Rprop ASGD",
    "adafactor": "Adafactor",
    "muon": "Muon",
    "lbfgs": "LBFGS",
}
_index = {name: file for file, names in _where.items() for name in names.split()}


def __getattr__(name):
    if name in _index:
        return getattr(__import__("torch.optim." + _index[name]), name)
    if name in ("lr_scheduler", "swa_utils"):
        return __import__("torch.optim." + name)
    if name == "SparseAdam":
        raise UnsupportedError("torch.optim.SparseAdam steps on sparse gradients, and there are no sparse tensors here: use torch.optim.Adam")
    raise AttributeError("module 'torch.optim' has no attribute '" + name + "'")
