# What models take from Python's library: abstract classes, flags, read-only mappings, dispatch on types, ** of what is a mapping.
import random
from abc import ABCMeta, abstractmethod
from enum import Enum, Flag, IntEnum, IntFlag, auto
from functools import partial, singledispatch, singledispatchmethod
from types import MappingProxyType
from typing import Literal, NewType, Optional, Protocol, TypedDict, Union, get_args, get_origin, runtime_checkable

random.seed(0)


class Pool(Flag):
    MEAN = auto()
    MAX = auto()
    LAST = auto()
    BOTH = MEAN | MAX
    ALL = BOTH | LAST
    REST = ALL & ~MEAN


print(Pool.BOTH, Pool.BOTH.value, Pool.ALL.value, Pool.REST.value, [p.name for p in Pool], Pool.MAX in Pool.BOTH, Pool.LAST in Pool.BOTH)


class Bits(IntFlag):
    A = 4
    B = auto()
    C = A | B


class Kind(Enum):
    INT = int
    LIST = list
    SORT = sorted
    HALF = partial(max, 2)

    def helper(self):
        return self.name


print([k.name for k in Kind], Kind.LIST.value((1, 2)), Kind(int).helper(), Kind.HALF.value(1))


class Level(IntEnum):
    LOW = auto()
    HIGH = LOW + 10
    NEXT = auto()


print(int(Bits.B), int(Bits.C), [int(x) for x in Level])


class Layer(metaclass=ABCMeta):
    @abstractmethod
    def run(self, x): ...

    def twice(self, x):
        return self.run(self.run(x))


class Double(Layer):
    def run(self, x):
        return 2 * x


class Deeper(Double, metaclass=ABCMeta):
    pass


try:
    Layer()
except TypeError as e:
    print(str(e)[:38])
print(Double().twice(3), Deeper().run(1), issubclass(Deeper, Layer))

defaults = MappingProxyType({"width": 4, "depth": 2})
try:
    defaults["width"] = 5
except TypeError:
    print("read only")
print({**defaults, "depth": 3}, dict(defaults), defaults.get("none", 7), len(defaults), list(defaults.items()), "width" in defaults, defaults)


def area(width, depth):
    return width * depth


print(area(**defaults), defaults | {"x": 1})


class Options(TypedDict, total=False):
    width: int


Mode = Literal["a", "b"]
Width = NewType("Width", int)
print(Options(width=3), get_args(Mode), get_origin(Mode) is Literal, get_args(Optional[int])[0], get_origin(Optional[int]) is Union, get_args(dict[str, int]),
      get_origin(list[int]), get_args(int), get_origin(int), len(get_args(Union[int, str])), Width(4))


@runtime_checkable
class Sized(Protocol):
    scale: float

    def area(self): ...


class Square:
    def __init__(self):
        self.scale = 2

    def area(self):
        return 4


class Round(Sized):
    pass


print(isinstance(Square(), Sized), isinstance(3, Sized), isinstance(Square(), Round), isinstance(Round(), Round))


class Config:
    def __init__(self, **kw):
        self.kw = kw

    def keys(self):
        return self.kw.keys()

    def __getitem__(self, key):
        return self.kw[key]


print({**Config(a=1, b=2)}, area(**Config(width=2, depth=5)))


@singledispatch
def size(x):
    return "other"


@size.register(list)
@size.register(tuple)
def _(x):
    return len(x)


@size.register(int)
def of_int(x):
    return x


print(size([1, 2]), size((1,)), size(True), size("s"), of_int(4), size.dispatch(bool) is of_int)


class Walk:
    @singledispatchmethod
    def go(self, x):
        return f"{type(self).__name__} {x}"

    @go.register(list)
    def _(self, x):
        return [self.go(y) for y in x]


print(Walk().go([1, ["a"]]))
