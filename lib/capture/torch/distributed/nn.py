# torch.distributed.nn: its functions give, of one process, what that one has.
def all_reduce(tensor, op=None, group=None):
    return tensor * 1


def all_gather(tensor, group=None):
    return (tensor * 1,)


def broadcast(tensor, src=0, group=None):
    return tensor * 1
