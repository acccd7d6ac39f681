# torch.cuda: no device is available; device names are accepted and mapped to the target.
_initialized = False


def is_available():
    return False


def is_initialized():
    return False


def device_count():
    return 0


def is_bf16_supported():
    return False


def manual_seed(seed):
    pass


manual_seed_all = manual_seed


def synchronize(device=None):
    pass


def empty_cache():
    pass
