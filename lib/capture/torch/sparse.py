# torch.sparse: sparse tensors are no part of the language; PyTorch's module also shows torch itself, which old files call by this name.
import torch
