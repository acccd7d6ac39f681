# Metaclasses: registries, singletons, attributes of classes, conflicts; enumerations with a metaclass of their own.
import enum
from abc import ABCMeta, abstractmethod

from torch import nn


class Registry(type):
    known = {}

    def __new__(mcs, name, bases, ns, **kw):
        cls = super().__new__(mcs, name, bases, ns)
        cls.tag = kw.get("tag", name.lower())
        return cls

    def __init__(cls, name, bases, ns, **kw):
        super().__init__(name, bases, ns)
        if bases:
            Registry.known[cls.tag] = cls

    def build(cls, *args):
        return cls.known[args[0]](*args[1:])

    @property
    def size(cls):
        return len(cls.known)

    def __getattr__(cls, name):
        if name.startswith("make_"):
            return lambda *a: cls.known[name[5:]](*a)
        raise AttributeError(name)


class Base(metaclass=Registry):
    def __init__(self, n=0):
        self.n = n

    def __repr__(self):
        return f"{type(self).__name__}({self.n})"


class Conv(Base):
    pass


class Pool(Base, tag="p"):
    def __init__(self, n=1):
        super().__init__(n * 2)


print(list(Registry.known), Base.size, Base.build("conv", 3), Conv.build("p", 4), Base.make_conv(7), type(Conv) is Registry, isinstance(Conv, type))
print(hasattr(Conv(), "build"), hasattr(Conv, "nothing"), Conv.tag, Pool().n)


class Single(type):
    made = {}

    def __call__(cls, *args, **kw):
        if cls not in cls.made:
            cls.made[cls] = super().__call__(*args, **kw)
        return cls.made[cls]


class Config(metaclass=Single):
    def __init__(self, a, b=2):
        self.a, self.b = a, b


print(Config(1) is Config(5), Config(9).a, Config(0).b)


class Sized(type):
    def __len__(cls):
        return 3

    def __iter__(cls):
        return iter("abc")

    def __getitem__(cls, i):
        return i * 2

    def __contains__(cls, x):
        return x == "in"

    def __instancecheck__(cls, x):
        return x == 1

    def __repr__(cls):
        return "<sized>"


class S(metaclass=Sized):
    pass


print(len(S), list(S), S[4], "in" in S, "out" in S, isinstance(1, S), isinstance(2, S), S)

try:
    class Both(Conv, S):
        pass
except TypeError as e:
    print(e)


class Shape(metaclass=ABCMeta):
    @abstractmethod
    def area(self):
        pass


class Square(Shape):
    def area(self):
        return 4


print(Square().area())
try:
    Shape()
except TypeError as e:
    print("abstract:", "area" in str(e))


class StrMeta(enum.EnumMeta):
    auto = enum.auto

    def from_str(self, member):
        try:
            return self[member]
        except KeyError:
            raise ValueError(f"Unknown value '{member}' for {self.__name__}.") from None

    def __contains__(cls, x):
        return x in [m.value for m in cls]


class Mode(enum.Enum, metaclass=StrMeta):
    FAN_IN = "in"
    FAN_OUT = "out"


print(Mode.from_str("FAN_IN"), "out" in Mode, "none" in Mode, list(Mode), len(Mode), Mode("in").name, Mode.__members__["FAN_OUT"].value)
try:
    Mode.from_str("x")
except ValueError as e:
    print(e)
try:
    Mode("x")
except ValueError as e:
    print(e)
Color = enum.Enum("Color", "RED GREEN")
Level = enum.Enum("Level", {"LOW": 5, "HIGH": 9})
print(list(Color), Level.HIGH, Level(5), Color["GREEN"].value, Mode)
made = type("Made", (Base,), {"x": 1})
print(made.__name__, made.tag, type(made) is Registry, made(3), Registry.known["made"] is made)


class Model(nn.Module, metaclass=ABCMeta):
    pass


print(type(Model).__name__, type(Model()).__name__)
