# torch.nn.modules: torch.nn once more, and the files that PyTorch divides it into (import.c).
import torch.nn


def __getattr__(name):
    return getattr(torch.nn, name)
