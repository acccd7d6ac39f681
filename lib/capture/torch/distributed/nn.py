# torch.distributed.nn with a single process: collectives return their input.
def all_reduce(tensor, op=None, group=None):
    return tensor * 1


def all_gather(tensor, group=None):
    return (tensor * 1,)


def broadcast(tensor, src=0, group=None):
    return tensor * 1
