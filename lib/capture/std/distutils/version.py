# distutils.version: versions as lists of numbers and words, which compare one by one.
def _parts(text):
    parts, word = [], ""
    for ch in text + ".":
        if word and (ch == "." or ch.isdigit() != word[-1].isdigit()):
            parts.append(int(word) if word.isdigit() else word)
            word = ""
        if ch != ".":
            word += ch
    return parts


class LooseVersion:
    def __init__(self, vstring=None):
        if vstring:
            self.parse(str(vstring))

    def parse(self, vstring):
        self.vstring, self.version = vstring, _parts(vstring)

    def __str__(self):
        return self.vstring

    def __repr__(self):
        return f"LooseVersion ('{self.vstring}')"

    def _of(self, other):
        return _parts(other) if isinstance(other, str) else other.version

    def __eq__(self, other):
        return self.version == self._of(other)

    def __lt__(self, other):
        return self.version < self._of(other)

    def __le__(self, other):
        return self.version <= self._of(other)

    def __gt__(self, other):
        return self.version > self._of(other)

    def __ge__(self, other):
        return self.version >= self._of(other)


class StrictVersion(LooseVersion):
    def parse(self, vstring):
        self.vstring, self.version = vstring, _parts(vstring)
        self.version += [0] * (3 - len(self.version))
