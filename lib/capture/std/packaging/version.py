# packaging.version: enough of PEP 440 to compare the versions that models ask about: "2.1.0a0+git123", "1.13".


class InvalidVersion(ValueError):
    pass


def _number(text):
    digits = ""
    for ch in text:
        if not ch.isdigit():
            break
        digits += ch
    return digits


class Version:
    def __init__(self, version):
        self._text = str(version).strip()
        text = self._text.lower().lstrip("v")
        public, _, self.local = text.partition("+")
        release, rest = [], public
        while True:
            digits = _number(rest)
            if not digits:
                raise InvalidVersion(f"Invalid version: '{self._text}'")
            release.append(int(digits))
            rest = rest[len(digits):]
            if len(rest) > 1 and rest[0] == "." and rest[1].isdigit():
                rest = rest[1:]
            else:
                break
        self.release = tuple(release)
        rest = rest.replace(".", "").replace("-", "").replace("_", "")
        rank, order = 0, {"dev": -4, "alpha": -3, "a": -3, "beta": -2, "b": -2, "rc": -1, "c": -1, "pre": -1, "post": 1, "rev": 1, "r": 1}
        number = 0
        if rest:
            for name, place in order.items():
                if rest.startswith(name):
                    rank, number = place, int(_number(rest[len(name):]) or "0")
                    break
            else:
                raise InvalidVersion(f"Invalid version: '{self._text}'")
        short = list(release)
        while len(short) > 1 and short[-1] == 0:
            short.pop()
        self._key = (tuple(short), rank, number, self.local)
        self.is_prerelease = rank < 0

    major = property(lambda self: self.release[0])
    minor = property(lambda self: self.release[1] if len(self.release) > 1 else 0)
    micro = property(lambda self: self.release[2] if len(self.release) > 2 else 0)
    base_version = property(lambda self: ".".join([str(n) for n in self.release]))

    def __lt__(self, other):
        return self._key < other._key

    def __le__(self, other):
        return self._key <= other._key

    def __gt__(self, other):
        return self._key > other._key

    def __ge__(self, other):
        return self._key >= other._key

    def __eq__(self, other):
        return isinstance(other, Version) and self._key == other._key

    def __hash__(self):
        return hash(self._key)

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"<Version('{self._text}')>"


def parse(version):
    return Version(version)
