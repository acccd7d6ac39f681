print(
    [x for x in range(10) if x % 2 if x > 3],
    {x: y for x, y in zip("ab", range(2))},
    {x % 3 for x in range(5)},
    list(x * y for x in range(3) for y in range(x)),
    [[i * j for j in range(3)] for i in range(2)],
)

print("%5.2f|%-5s|%05d|%x|%r|%%|%s" % (3.14159, "ab", 42, 255, "q", None))
print("{:>8}|{:<8}|{:^8}|{:,}|{:+.3e}|{:#x}|{:08b}|{!r}".format("a", "b", "c", 1234567, 12.5, 255, 5, "x"))
print(f'{3.14159:.2f} {10:>5} {"x":*^5} {1e10:g} {0.1+0.2} {True} {None!r:>6} {12345.678:,.1f}')

x = 5
w = 7
print(f'{x=} {x+1=} {x!r} {x:{w}d} {x:>{w}} {{}} {"nested " + f"{x}"}')

print(
    "abc".upper(),
    "a,b,c".split(","),
    "a b  c".split(),
    "aXbX".split("X", 1),
    "abc".find("c"),
    "abc".replace("b", "xx"),
    "  x ".strip(),
    "abc".startswith(("x", "a")),
    "-".join(["a", "b"]),
    "abc"[::-1],
    "a" * 3,
    "abc".center(7, "*"),
    "x".zfill(3),
    "abc".partition("b"),
    "a.b.c".rpartition("."),
    "a.b.c".rsplit(".", 1),
    "Hello World".title(),
    "hello".capitalize(),
    "Ab".swapcase(),
    "abc".isalpha(),
    "12".isdigit(),
    "a\nb".splitlines(),
    "abcabc".count("bc"),
    "abc".index("b"),
    "pre_x".removeprefix("pre_"),
    "x.py".removesuffix(".py"),
    "tab\t".expandtabs(4),
    "abc".ljust(5) + "|",
    "%s" % "x",
)

print(
    "{0} {1} {0}".format("a", "b"),
    "{x} {y[0]} {z.real}".format(x=1, y=[2], z=3),
    "{:{}}".format("a", 5),
    "{!s:>5}".format(None),
    "{:%}".format(0.25),
    "{:.1%}".format(0.256),
    "{:_}".format(1234567),
    "{:e}".format(12345.678),
    "{:G}".format(1e-10),
    "{:c}".format(65),
    "{:n}".format(5),
    "{:=+6d}".format(42),
    "{:b}".format(10),
    "{:X}".format(255),
    "{:o}".format(8),
    "{:.3}".format("abcdef"),
    "{:10.3f}|".format(3.14159),
    "{{}}".format(),
)

print(
    "%s %d %i %f %.3g %e %5s|%-5s| %c %o %X %+d % d %(a)s".__class__.__name__,
    "%(a)s %(b)03d" % {"a": 1, "b": 2},
    "%s %s" % ("a", 1),
    "%.2f%%" % 12.345,
    "%5.1f" % 2.25,
    "%r" % "a",
    "%x" % 255,
    "%*d" % (5, 3),
    "%e" % 12345.678,
    "%g" % 1e-5,
    "%g" % 123456789.0,
    "%+d" % 5,
    "%s" % (1,),
)

print(
    range(0, 10, 2).count(4),
    range(10).index(3),
    slice(None).indices(3),
    slice(-2, None).indices(5),
    slice(None, None, -1).indices(4),
    "a\tb".expandtabs(),
    "abc".islower(),
    "ABC".isupper(),
    "a1".isalnum(),
    " ".isspace(),
    "x".isidentifier(),
    "1".isnumeric(),
    "1".isdecimal(),
    "abc".rindex("c"),
    "aab".rfind("a"),
    "abc".lstrip("a"),
    "abc".rstrip("c"),
    "A".lower(),
    "a-b".rjust(5, "."),
)

# translate, format_map, the fields of format and what is no field
class Q:
    x = 1.5
    def __getitem__(self, k):
        if k == 97:
            return "Q"
        raise LookupError
print("aabc d".translate(str.maketrans("abc", "xyz")), "hello".translate(str.maketrans({"h": "J", 108: None, "o": "oo"})), "hello".translate(str.maketrans("el", "ip", "h")), "abca".translate(Q()))
print((5).as_integer_ratio(), True.as_integer_ratio(), (0.75).as_integer_ratio(), (-2.5e10).as_integer_ratio(), "{a.x} {b[k]}".format_map({"a": Q(), "b": {"k": 3}}))
def message(f):
    try:
        return f()
    except Exception as e:
        return f"{type(e).__name__}: {e}"
for f in (lambda: str.maketrans("ab", "c"), lambda: str.maketrans({"ab": 1}), lambda: str.maketrans("ab"), lambda: "a".translate({97: 1.5}), lambda: float("inf").as_integer_ratio(), lambda: "{}".format_map({})):
    print(message(f))
for text in ("{", "}", "{0} {}", "{} {0}", "{!q}", "{q.}", "{b[}", "{q", "{0:{}}", "{!}", "{0!r", "{0!rx}", "{b[]}", "{b[0]x}", "{:{:{}}}", "{b[-1]}", "{0!r:>4}", "{q.x:{w}}", "{a b}"):
    print(text, message(lambda: text.format(1, 2, q=Q(), b=[1], w=5)))
