# torch.distributed.nn: collectives of one process return their input.
import torch
import torch.distributed
from torch import _C
from torch.distributed import _functional_collectives as funcol


def all_reduce(tensor, op="sum", group=None):
    return funcol.all_reduce(tensor, op, group) if _C.ranks() else tensor * 1


def all_gather(tensor, group=None):
    return tuple(funcol.all_gather_tensor(tensor[None], 0, group)) if _C.ranks() else (tensor * 1,)


def broadcast(tensor, src=0, group=None):
    return funcol.broadcast(tensor, src, group) if _C.ranks() else tensor * 1
