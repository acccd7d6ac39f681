# torch.distributed of one process, or of the ranks of `tc-export --ranks N`: their group is all of them, and collectives become nodes.
import torch
from torch import _C


class ReduceOp:
    SUM = "sum"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"
    AVG = "avg"
    BAND = "band"
    BOR = "bor"
    BXOR = "bxor"


class group:
    WORLD = "0"


class _Done:
    def wait(self, timeout=None):
        return True

    def is_completed(self):
        return True


def is_available():
    return _C.ranks() > 0


def is_initialized():
    return _C.ranks() > 0


def get_rank(group=None):
    return _C.rank()


def get_world_size(group=None):
    return max(_C.ranks(), 1)


def _name(group):
    if not _C.ranks():
        raise ValueError("Default process group has not been initialized: tc-export --ranks N makes a program of N ranks.")
    if group is None or group == "0" or group == list(range(_C.ranks())):
        return "0"
    raise NotImplementedError("torch.distributed: a group other than all ranks")


def _put(to, value, async_op):
    value = torch.ops._c10d_functional.wait_tensor(value)
    to.copy_(value if value.dim() == to.dim() else value.view(to.shape))  # all_gather_into_tensor may stack
    return _Done() if async_op else None


def all_reduce(tensor, op=ReduceOp.SUM, group=None, async_op=False):
    return _put(tensor, torch.ops._c10d_functional.all_reduce(tensor, op, _name(group)), async_op)


def broadcast(tensor, src=None, group=None, async_op=False, group_src=None):
    src = group_src if src is None else src
    return _put(tensor, torch.ops._c10d_functional.broadcast(tensor, src, _name(group)), async_op)


def all_gather_into_tensor(output_tensor, input_tensor, group=None, async_op=False):
    name = _name(group)
    return _put(output_tensor, torch.ops._c10d_functional.all_gather_into_tensor(input_tensor, _C.ranks(), name), async_op)


def all_gather(tensor_list, tensor, group=None, async_op=False):
    name = _name(group)
    all = torch.ops._c10d_functional.wait_tensor(torch.ops._c10d_functional.all_gather_into_tensor(tensor[None], _C.ranks(), name))
    for to, value in zip(tensor_list, all):
        to.copy_(value)
    return _Done() if async_op else None


def reduce_scatter_tensor(output, input, op=ReduceOp.SUM, group=None, async_op=False):
    name = _name(group)
    return _put(output, torch.ops._c10d_functional.reduce_scatter_tensor(input, op, _C.ranks(), name), async_op)
