print(
    sorted([3, 1, 2], reverse=True),
    sorted("bca", key=lambda c: -ord(c)),
    min([3, 1], key=lambda x: -x),
    max("a", "b"),
    min([], default=4),
    sum([[1], [2]], []),
    any([]),
    all([]),
    list(enumerate("ab", 1)),
    list(zip("ab", [1, 2, 3])),
    list(map(lambda a, b: a + b, [1], [2])),
    list(filter(None, [0, 1, "", 2])),
)

from enum import Enum, IntEnum, auto


class E(Enum):
    A = 1
    B = "x"
    C = auto()


class F(IntEnum):
    P = 1
    Q = 2


print(
    E.A, E.B.value, E("x"), E["A"], list(E), E.A == E.A, E.A is E.A, F.Q > F.P, F.Q + 1, E.A.name, repr(E.B), isinstance(F.P, int), len(E)
)

from enum import Enum, Flag, IntFlag, StrEnum, unique


class Color(Enum):
    RED = 1
    GREEN = 2
    ALIAS = 1

    @property
    def low(self):
        return self.name.lower()

    @classmethod
    def parse(cls, s):
        return cls[s.upper()]

    def __str__(self):
        return "C" + self.name


print(
    Color.ALIAS is Color.RED,
    Color.RED.low,
    Color.parse("green"),
    str(Color.RED),
    Color(2),
    [c.value for c in Color],
    Color.RED in Color,
    {Color.RED: 1}[Color.RED],
    Color.__members__.keys(),
)


class Fl(Flag):
    A = 1
    B = 2
    C = 4


print((Fl.A | Fl.B).value, Fl.A in (Fl.A | Fl.C), bool(Fl.A & Fl.B))


class SE(StrEnum):
    X = "x"


print(SE.X == "x", SE.X.upper(), f"{SE.X}")
try:
    Color(9)
except ValueError as e:
    print(e)


class S2(str, Enum):
    P = "p"


print(S2.P == "p", S2("p") is S2.P, S2.P.value, isinstance(S2.P, str), "x" + S2.P)

from enum import Enum


class M(int, Enum):
    A = 1
    B = 2


print(M.A.value, M.A + 1, M(2), isinstance(M.A, int), M.A == 1)

import torch


# members of an IntEnum, and numbers of classes derived from int and float, are arguments like numbers
class Tok(IntEnum):
    PAD = 0
    END = 2


class Half(float):
    pass


t = torch.arange(3)
t += Tok.END
t[Tok.PAD] = Tok.END
print(t.tolist(), (t > Tok.END).tolist(), (Tok.END <= t).tolist(), torch.full((Tok.END, 1), Tok.END).tolist())
print(torch.empty(2, dtype=torch.long).fill_(Tok.END).tolist(), torch.tensor([Tok.PAD, Tok.END, 7]).tolist(), torch.tensor(Half(0.5)).item())
print(t.masked_fill(t == Tok.END, Tok.PAD).tolist(), torch.where(t > 3, Tok.END, t).tolist(), torch.add(t, 1, alpha=Tok.END).tolist())
print(t.float().clamp(min=Half(2.5)).tolist(), (t * Half(0.5)).tolist(), (Half(2.0) ** t).tolist())
