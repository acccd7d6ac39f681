# gc. Nothing is freed while a model is captured.


def collect(generation=2):
    return 0


def enable():
    pass


def disable():
    pass


def isenabled():
    return True


def freeze():
    pass
