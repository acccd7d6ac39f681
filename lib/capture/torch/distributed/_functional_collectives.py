# torch.distributed._functional_collectives: what they return is done.
import torch
from torch import _C
from torch.distributed import _name


def wait_tensor(tensor):
    return torch.ops._c10d_functional.wait_tensor(tensor)


def all_reduce(self, reduceOp, group=None, tag=""):
    return wait_tensor(torch.ops._c10d_functional.all_reduce(self, reduceOp.lower(), _name(group)))


def broadcast(self, src, group=None, tag=""):
    return wait_tensor(torch.ops._c10d_functional.broadcast(self, src, _name(group)))


def all_gather_tensor(self, gather_dim, group=None, tag=""):
    name = _name(group)
    x = wait_tensor(torch.ops._c10d_functional.all_gather_into_tensor(self.contiguous(), _C.ranks(), name))
    return torch.cat(torch.chunk(x, _C.ranks(), dim=0), dim=gather_dim) if gather_dim != 0 else x


def reduce_scatter_tensor(self, reduceOp, scatter_dim, group=None, tag=""):
    name = _name(group)
    if self.size(scatter_dim) % _C.ranks() != 0:
        raise AssertionError(f"input dimension {scatter_dim} ({self.size(scatter_dim)}) must be a multiple of group_size {_C.ranks()}")
    x = torch.cat(torch.chunk(self, _C.ranks(), dim=scatter_dim)) if scatter_dim != 0 else self
    return wait_tensor(torch.ops._c10d_functional.reduce_scatter_tensor(x, reduceOp.lower(), _C.ranks(), name))
