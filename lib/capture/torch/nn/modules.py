# torch.nn.modules: torch.nn once more, and the files that PyTorch divides it into (import.c).
import torch.nn
from torch.nn.module import _IncompatibleKeys, register_module_buffer_registration_hook  # which torch.nn itself does not show
from torch.nn.module import register_module_module_registration_hook, register_module_parameter_registration_hook


_files = {"activation", "batchnorm", "container", "conv", "dropout", "instancenorm", "linear", "loss", "module", "normalization", "padding", "pooling",
          "rnn", "sparse", "transformer", "utils"}


def __getattr__(name):
    return __import__("torch.nn.modules." + name) if name in _files else getattr(torch.nn, name)
