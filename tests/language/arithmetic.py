print(
    int("ff", 16),
    int("0b11", 0),
    int(-3.9),
    float("1e3"),
    bool("a"),
    str(1.0),
    repr("a'b\""),
    chr(97),
    ord("a"),
    hex(255),
    oct(8),
    bin(5),
    abs(-3),
    round(2.5),
    round(3.14159, 2),
    pow(2, 10, 1000),
    divmod(7, -2),
    (1).bit_length(),
    float.is_integer(2.0),
    complex(1, 2) * 2,
)

import math

print(
    math.ceil(2.1),
    math.floor(-2.1),
    math.sqrt(16),
    math.gcd(12, 18),
    math.lcm(4, 6),
    math.prod([2, 3]),
    math.factorial(5),
    math.comb(5, 2),
    math.perm(5, 2),
    math.isclose(0.1 + 0.2, 0.3),
    math.inf,
    math.nan,
    math.pi,
    math.e,
    math.log2(8),
    math.log(8, 2),
    math.hypot(3, 4),
    math.copysign(1, -0.0),
    math.trunc(-2.5),
    math.fmod(-7, 3),
    math.isqrt(17),
    math.exp(0),
    math.atan2(1, 1),
    math.degrees(math.pi),
    math.modf(2.5),
    math.frexp(8),
    math.ldexp(1, 3),
    math.fsum([0.1] * 10),
    math.dist([0, 0], [3, 4]),
    math.remainder(7, 4),
)

print(
    1e100,
    1e22,
    1e-7,
    123456789012345680.0,
    1.0,
    0.1,
    -0.0,
    1 / 3,
    2**0.5,
    float("inf"),
    -float("inf"),
    1e16,
    12345678901234567890,
    3.0e-10,
    100000.0,
    1e5,
)

print(
    round(-0.5),
    round(1.25, 1),
    round(1e20),
    round(12345.6789, -2),
    int(1e20),
    7 // -2,
    -7 % 3,
    7.0 // 2,
    -7.5 % 2,
    5 % -3,
    2**-1,
    10**20,
    -(3**2),
    0**0,
    1 << 70,
    -5 >> 1,
)

print(
    divmod(-7.5, 2),
    divmod(7, -2),
    pow(2.0, 3),
    round(2.567, 1),
    round(-1.5),
    abs(3 - 4j),
    (1 + 2j).real,
    (1 + 2j).conjugate(),
    1j**2,
    sum([1, 2], start=5),
    max(1, 2, 3),
    max([1, 5, 2], default=0),
    min("b", "a", key=ord),
)
print(complex(1, -0.0), complex(imag=-0.0), complex(-0.0), complex(1j, 2), complex(1j, 1j), complex(2 - 1j, -0.0), -complex(0, 0), complex(1, -0.0) / 2)

# texts of numbers
print(0.1.hex(), (-1.5).hex(), 0.0.hex(), (-0.0).hex(), 5e-324.hex(), 1e300.hex(), float("-inf").hex(), float.hex(2.5))
print(float.fromhex("0x1.8p3"), float.fromhex(" -a.8 "), float.fromhex("inf"), float.fromhex(0.1.hex()))
print(complex("1+2j"), complex("3"), complex(" (-1.5e3J) "), complex("2-j"), complex("-j"), complex("1e400+nanj"))
for text in ("", "1 + 2j", "1+2", "2j+1", "j1", "0x1", "+", "1+2j3"):
    try:
        complex(text)
    except ValueError as e:
        print(e)
