# urllib.parse: texts of addresses.
_plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"


def _octets(ch):  # of UTF-8
    n = ord(ch)
    if n < 0x80:
        return [n]
    most = 2 if n < 0x800 else 3 if n < 0x10000 else 4
    return [(0xF00 >> most & 0xFF) | n >> 6 * (most - 1)] + [0x80 | n >> 6 * i & 0x3F for i in range(most - 2, -1, -1)]


def quote(string, safe="/"):
    return "".join(ch if ch in _plain or ch in safe else "".join(f"%{b:02X}" for b in _octets(ch)) for ch in string)


def quote_plus(string, safe=""):
    return quote(string, safe + " ").replace(" ", "+")
