# The reduction words of losses as ATen's numbers, with the deprecated pair of flags.
def code(reduction):
    if reduction == "none":
        return 0
    if reduction == "mean":
        return 1
    if reduction == "sum":
        return 2
    raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy(size_average, reduce, reduction):
    if size_average is None and reduce is None:
        return reduction
    if size_average is None:
        size_average = True
    if reduce is None:
        reduce = True
    if not reduce:
        return "none"
    return "mean" if size_average else "sum"
