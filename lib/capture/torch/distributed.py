# torch.distributed as one process sees it.
def is_available():
    return False


def is_initialized():
    return False


def get_rank(group=None):
    return 0


def get_world_size(group=None):
    return 1


# torch.distributed.nn: its functions give, of one process, what that one has.
class nn:
    @staticmethod
    def all_reduce(tensor, op=None, group=None):
        return tensor * 1

    @staticmethod
    def all_gather(tensor, group=None):
        return (tensor * 1,)

    @staticmethod
    def broadcast(tensor, src=0, group=None):
        return tensor * 1
