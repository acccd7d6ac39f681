# string.
ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ascii_letters = ascii_lowercase + ascii_uppercase
digits = "0123456789"
hexdigits, octdigits, whitespace = digits + "abcdefABCDEF", "01234567", " \t\n\r\x0b\x0c"
punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


printable = digits + ascii_letters + punctuation + whitespace


class Template:
    def __init__(self, template):
        self.template = template

    def substitute(self, mapping=(), /, **kws):
        return self._filled({**dict(mapping), **kws}, False)

    def safe_substitute(self, mapping=(), /, **kws):
        return self._filled({**dict(mapping), **kws}, True)

    def _filled(self, values, safe):
        import re

        def value(m):
            name = m.group(1) or m.group(2)
            if m.group() == "$$":
                return "$"
            if name is None and not safe:
                raise ValueError(f"Invalid placeholder in string: line {self.template[:m.start()].count(chr(10)) + 1}, col {m.start() - self.template[:m.start()].rfind(chr(10))}")
            return m.group() if name is None or (safe and name not in values) else str(values[name])

        return re.sub(r"\$\$|\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})?", value, self.template)


# str.maketrans and str.translate
def _maketrans(x, y=None, z=""):
    if y is None:
        if not isinstance(x, dict):
            raise TypeError("if you give only one argument to maketrans it must be a dict")
        table = {}
        for key, value in x.items():
            if isinstance(key, str) and len(key) != 1:
                raise ValueError("string keys in translate table must be of length 1")
            if not isinstance(key, (str, int)):
                raise TypeError("keys in translate table must be strings or integers")
            table[ord(key) if isinstance(key, str) else key] = value
        return table
    if not isinstance(x, str):
        raise TypeError("first maketrans argument must be a string if there is a second argument")
    if len(x) != len(y):
        raise ValueError("the first two maketrans arguments must have equal length")
    return {**{ord(a): ord(b) for a, b in zip(x, y)}, **{ord(a): None for a in z}}


def _translate(text, table):
    out = []
    for ch in text:
        try:
            to = table[ord(ch)]
        except LookupError:
            to = ch
        if to is not None and not isinstance(to, (int, str)):
            raise TypeError("character mapping must return integer, None or str")
        out.append("" if to is None else chr(to) if isinstance(to, int) else to)
    return "".join(out)


# Case beyond ASCII: of Latin, Greek and Cyrillic. The first range with the letter gives the distance to its capital, 0 where pairs alternate.
_capitals = ((0xe0, 0xf6, -32), (0xf8, 0xfe, -32), (0xff, 0xff, 121), (0x101, 0x137, 0), (0x13a, 0x148, 0), (0x14b, 0x177, 0), (0x17a, 0x17e, 0),
             (0x3ac, 0x3ac, -38), (0x3ad, 0x3af, -37), (0x3c2, 0x3c2, -31), (0x3b1, 0x3cb, -32), (0x3cc, 0x3cc, -64), (0x3cd, 0x3ce, -63),
             (0x430, 0x44f, -32), (0x450, 0x45f, -80))
_other = ((0x180, 0x24f), (0x370, 0x3ff), (0x460, 0x58f), (0x10a0, 0x10ff), (0x13a0, 0x13ff), (0x1c80, 0x1fff), (0x2126, 0x2188), (0x24b0, 0x24ef),
          (0x2c00, 0x2dff), (0xa640, 0xa7ff), (0xab30, 0xabbf), (0xfb00, 0xfb1f), (0xff21, 0xff5a), (0x10400, 0x118ff), (0x1e900, 0x1e9ff))


def _pairs():
    up = {"\u00b5": "\u039c", "\u00df": "SS", "\u0131": "I", "\u017f": "S"}
    for low, high, by in _capitals:
        for n in range(low, high + 1, 1 if by else 2):
            up.setdefault(chr(n), chr(n + (by or -1)))
    return up, {**{u: l for l, u in up.items() if len(u) == 1 and ord(u) > 127 and l not in "\u00b5\u03c2"}, "\u0130": "i\u0307", "\u1e9e": "\u00df"}


def _cased(text, how):
    up, low = _pairs()
    for ch in text:
        if ch not in up and ch not in low and any(a <= ord(ch) <= b for a, b in _other):
            raise ValueError(f"{how}() of {ch!r} is outside the model language")
    upper = lambda ch: up.get(ch) or (ch.upper() if ch < "\x80" else ch)
    lower = lambda ch: low.get(ch) or (ch.lower() if ch < "\x80" else ch)
    cased = lambda ch: ch in up or ch in low or (ch < "\x80" and ch.isalpha())
    if how == "upper":
        return "".join(upper(ch) for ch in text)
    if how == "swapcase":
        return "".join(upper(ch) if lower(ch) == ch else lower(ch) for ch in text)
    out = ""
    for i, ch in enumerate(text):
        first = i == 0 if how == "capitalize" else how == "title" and (i == 0 or not cased(text[i - 1]))
        ends = ch == "\u03a3" and i > 0 and cased(text[i - 1]) and not (i + 1 < len(text) and cased(text[i + 1]))
        out += ("Ss" if ch == "\u00df" else upper(ch)) if first else "\u03c2" if ends else lower(ch)
    return out


def _ascii(text):
    return "".join(ch if ch < "\x80" else f"\\x{ord(ch):02x}" if ch < "\u0100" else f"\\u{ord(ch):04x}" if ord(ch) < 0x10000 else f"\\U{ord(ch):08x}" for ch in text)
