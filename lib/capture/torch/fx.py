# torch.fx: wrap() says that a function is not traced into, which changes nothing here.


def wrap(fn_or_name):
    return fn_or_name

