# beartype: annotations are not run, so that what it decorates is left as it is.
from enum import Enum, auto


class BeartypeStrategy(Enum):
    O0 = auto()
    O1 = auto()
    Ologn = auto()
    On = auto()


class BeartypeConf:
    def __init__(self, **options):
        self.__dict__.update(options)


def beartype(obj=None, *, conf=None):
    return (lambda decorated: decorated) if obj is None else obj
