# string.
ascii_lowercase = "abcdefghijklmnopqrstuvwxyz"
ascii_uppercase = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
ascii_letters = ascii_lowercase + ascii_uppercase
digits = "0123456789"
punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"


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
