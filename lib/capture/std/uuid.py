# uuid: uuid4() only, as a name that no other object of the run has. Its digits count the calls, so that a capture gives the same program again.
_made = [0]


class UUID:
    def __init__(self, hex):
        self.hex = hex.replace("-", "")

    def __str__(self):
        return "-".join(self.hex[i:j] for i, j in ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32)))

    def __repr__(self):
        return "UUID('" + str(self) + "')"

    def __eq__(self, other):
        return isinstance(other, UUID) and self.hex == other.hex

    def __hash__(self):
        return hash(self.hex)


def uuid4():
    _made[0] += 1
    return UUID("00000000-0000-4000-8000-%012x" % _made[0])
