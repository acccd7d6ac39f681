from collections import namedtuple

P = namedtuple("P", "x y z", defaults=[0, 5])
p = P(1)
print(p, p._asdict(), p._replace(x=3), P._fields, P._field_defaults, p[1], *p)
x, y, z = p
print(x, y, z, p == (1, 0, 5), P._make([1, 2, 3]), hash(p) == hash((1, 0, 5)))

from dataclasses import dataclass, field, asdict, replace, fields, astuple


@dataclass
class C:
    a: int
    b: list = field(default_factory=list)
    c: float = 1.5

    def __post_init__(self):
        self.d = self.a * 2


@dataclass(frozen=True, order=True)
class D:
    x: int = 0
    y: str = "q"


c = C(3)
print(c, c.d, asdict(c), replace(c, a=9), [f.name for f in fields(C)], C(3) == C(3), D(1) < D(2), astuple(D()), hash(D()) == hash(D()))
try:
    D().x = 3
except Exception as e:
    print(type(e).__name__, e)

from typing import TypeVar, Generic, Optional, List, Dict, cast, Union, NamedTuple, TypedDict

T = TypeVar("T")


class G(Generic[T]):
    x: Optional[int] = None

    def m(self, a: "List[int]") -> Dict[str, int]:
        return {"a": a}


print(G().m(1), G[int]().x, cast(int, "a"), Union[int, str] is not None)


class Pt(NamedTuple):
    x: int
    y: int = 2

    def s(self):
        return self.x + self.y


print(Pt(1), Pt(1).s(), Pt(1)._fields)


class TD(TypedDict):
    a: int


print(TD(a=1))

from dataclasses import dataclass, field, InitVar, KW_ONLY
from typing import ClassVar, List, Optional


@dataclass
class Base:
    a: int = 1
    K: ClassVar[int] = 7


@dataclass
class Der(Base):
    b: List[int] = field(default_factory=lambda: [1, 2], repr=False)
    c: Optional[str] = field(default=None, compare=False)
    d: int = field(init=False, default=4)

    def tot(self):
        return self.a + sum(self.b)


print(Der(), Der(2, [3]).tot(), Der.K, Der(a=1) == Der(a=1, c="x"), Der().__dict__)


@dataclass(eq=False, kw_only=True)
class Kw:
    x: int
    y: int = 0


print(Kw(x=1), Kw(x=1) == Kw(x=1))


@dataclass
class IV:
    a: int
    b: InitVar[int] = 3

    def __post_init__(self, b):
        self.s = self.a + b


print(IV(1).s, IV(1, 10).s)


@dataclass(order=True)
class O:
    k: int
    n: str = field(compare=False, default="")


print(sorted([O(3), O(1)])[0], max(O(1), O(5)))

from typing import NamedTuple, Optional, Protocol, Literal, Final, overload, TYPE_CHECKING, Callable, Any, Sequence, Iterable, Annotated

if TYPE_CHECKING:
    import nothing


class Cfg(NamedTuple):
    a: int
    b: Optional[str] = None

    @property
    def c(self):
        return self.a * 2

    def with_a(self, a):
        return self._replace(a=a)


x = Cfg(1)
print(x, x.c, x.with_a(5), isinstance(x, tuple), len(x), x[0], Cfg(a=2, b="z")._asdict(), Cfg.__name__)
X: Final = 3
F = Callable[[int], str]


def f(a: Literal["x", "y"], b: "Undefined" = 1) -> Annotated[int, "m"]:
    return b


print(f("x"), X)


@dataclass(slots=True)
class Slotted:
    a: int = 1
    b: list = field(default_factory=list)


@dataclass(slots=True)
class Wider(Slotted):
    c: int = 5


print(Slotted.__slots__, Wider.__slots__, Wider(2), Slotted(3) == Slotted(3), replace(Wider(), c=9))
try:
    Slotted().z = 1
except AttributeError as e:
    print(e)


from dataclasses import fields
from enum import Enum
from typing import List, NamedTuple, Optional, get_args, get_type_hints


@dataclass
class Typed:
    a: int = 1
    b: Optional[List[int]] = None
    c: "float" = 2.0


@dataclass
class MoreTyped(Typed):
    d: str = ""


def typed(x: int, y: "Typed" = None, *, z: dict):
    pass


hints = get_type_hints(MoreTyped)
print(list(hints), hints["a"], get_args(hints["b"])[1], hints["c"] is float, [f.name for f in fields(MoreTyped) if f.type is int])
hints = get_type_hints(typed)
print(hints["x"], hints["y"] is Typed, hints["z"] is dict)


class Fixed(NamedTuple):
    a: int


class Kind(Enum):
    A = 1


try:
    Fixed(1).a = 2
except AttributeError as e:
    print(e)
try:

    class MoreKinds(Kind):
        pass
except TypeError as e:
    print(e)
