# torch.sparse: sparse tensors are not supported; the module has `torch`, as PyTorch's does, which old files use.
import torch
