# json: configurations as texts. Files are refused where they are opened.
import re


class JSONDecodeError(ValueError):
    def __init__(self, msg, doc, pos):
        before = doc[:pos]
        self.msg, self.doc, self.pos, self.lineno, self.colno = msg, doc, pos, before.count("\n") + 1, pos - before.rfind("\n")
        super().__init__(f"{msg}: line {self.lineno} column {self.colno} (char {pos})")


_short = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", "\b": "\\b", "\f": "\\f"}


def _text(s, ensure_ascii):
    def shown(ch):
        n = ord(ch)
        if ch in _short:
            return _short[ch]
        if n >= 32 and (n < 127 or not ensure_ascii):
            return ch
        return f"\\u{n:04x}" if n < 0x10000 else f"\\u{0xd7c0 + (n >> 10):04x}\\u{0xdc00 + (n & 0x3ff):04x}"

    return '"' + "".join(shown(ch) for ch in s) + '"'


class JSONEncoder:
    item_separator, key_separator = ", ", ": "

    def __init__(self, *, skipkeys=False, ensure_ascii=True, check_circular=True, allow_nan=True, sort_keys=False, indent=None, separators=None, default=None):
        self.skipkeys, self.ensure_ascii, self.allow_nan, self.sort_keys, self.indent = skipkeys, ensure_ascii, allow_nan, sort_keys, indent
        if separators is not None:
            self.item_separator, self.key_separator = separators
        elif indent is not None:
            self.item_separator = ","
        if default is not None:
            self.default = default

    def default(self, o):
        raise TypeError(f"Object of type {type(o).__name__} is not JSON serializable")

    def encode(self, o):
        return self._value(o, 0)

    def _float(self, x):
        if x - x == 0:
            return repr(float(x))
        if not self.allow_nan:
            raise ValueError(f"Out of range float values are not JSON compliant: {x!r}")
        return "NaN" if x != x else "Infinity" if x > 0 else "-Infinity"

    def _value(self, o, depth):
        if isinstance(o, str):
            return _text(o, self.ensure_ascii)
        if o is None or o is True or o is False:
            return {None: "null", True: "true", False: "false"}[o]
        if isinstance(o, int):
            return str(int(o))
        if isinstance(o, float):
            return self._float(o)
        if isinstance(o, (list, tuple)):
            return self._block("[", [self._value(x, depth + 1) for x in o], "]", depth)
        if isinstance(o, dict):
            items = sorted(o.items()) if self.sort_keys else o.items()
            return self._block("{", [self._key(k) + self.key_separator + self._value(v, depth + 1) for k, v in items if self._fits(k)], "}", depth)
        return self._value(self.default(o), depth)

    def _fits(self, k):
        if not isinstance(k, (str, int, float, type(None))) and not self.skipkeys:
            raise TypeError(f"keys must be str, int, float, bool or None, not {type(k).__name__}")
        return isinstance(k, (str, int, float, type(None)))

    def _key(self, k):
        return _text(k if isinstance(k, str) else self._value(k, 0), self.ensure_ascii)

    def _block(self, left, items, right, depth):
        if not items:
            return left + right
        if self.indent is None:
            return left + self.item_separator.join(items) + right
        step = self.indent if isinstance(self.indent, str) else " " * self.indent
        line = "\n" + step * (depth + 1)
        return left + line + (self.item_separator + line).join(items) + "\n" + step * depth + right


def dumps(obj, *, cls=None, **kw):
    return (cls or JSONEncoder)(**kw).encode(obj)


def dump(obj, fp, **kw):
    fp.write(dumps(obj, **kw))


_space, _plain = re.compile(r"[ \t\n\r]*"), re.compile(r'[^"\\\x00-\x1f]*')
_number = re.compile(r"(-?(?:0|[1-9]\d*))(\.\d+)?([eE][-+]?\d+)?")
_words = {"null": None, "true": True, "false": False, "NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_escapes = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


class JSONDecoder:
    def __init__(self, *, object_hook=None, parse_float=None, parse_int=None, parse_constant=None, strict=True, object_pairs_hook=None):
        self.object_hook, self.object_pairs_hook, self.parse_float, self.parse_int = object_hook, object_pairs_hook, parse_float or float, parse_int or int

    def decode(self, s):
        value, at = self._value(s, self._skip(s, 0))
        at = self._skip(s, at)
        if at != len(s):
            raise JSONDecodeError("Extra data", s, at)
        return value

    def _skip(self, s, at):
        return _space.match(s, at).end()

    def _value(self, s, at):
        ch = s[at:at + 1]
        if ch == '"':
            return self._string(s, at + 1)
        if ch == "{":
            return self._object(s, at + 1)
        if ch == "[":
            return self._array(s, at + 1)
        for word, value in _words.items():
            if s.startswith(word, at):
                return value, at + len(word)
        m = _number.match(s, at)
        if not m:
            raise JSONDecodeError("Expecting value", s, at)
        return (self.parse_float if m.group(2) or m.group(3) else self.parse_int)(m.group()), m.end()

    def _string(self, s, at):
        begin, out = at - 1, []
        while True:
            m = _plain.match(s, at)
            out.append(m.group())
            at = m.end()
            ch = s[at:at + 1]
            if ch == '"':
                return "".join(out), at + 1
            if not ch:
                raise JSONDecodeError("Unterminated string starting at", s, begin)
            if ch != "\\":
                raise JSONDecodeError("Invalid control character at", s, at)
            if s[at + 1:at + 2] == "u":
                n, at = int(s[at + 2:at + 6], 16), at + 6
                if 0xd800 <= n < 0xdc00 and s.startswith("\\u", at):
                    n, at = 0x10000 + ((n - 0xd800) << 10) + int(s[at + 2:at + 6], 16) - 0xdc00, at + 6
                out.append(chr(n))
            elif s[at + 1:at + 2] in _escapes:
                out.append(_escapes[s[at + 1]])
                at += 2
            else:
                raise JSONDecodeError("Invalid \\escape" if s[at + 1:] else "Unterminated string starting at", s, at if s[at + 1:] else begin)

    def _array(self, s, at):
        out, at = [], self._skip(s, at)
        if s[at:at + 1] == "]":
            return out, at + 1
        while True:
            value, at = self._value(s, self._skip(s, at))
            out.append(value)
            at = self._skip(s, at)
            if s[at:at + 1] == "]":
                return out, at + 1
            if s[at:at + 1] != ",":
                raise JSONDecodeError("Expecting ',' delimiter", s, at)
            at += 1

    def _object(self, s, at):
        pairs, at = [], self._skip(s, at)
        while s[at:at + 1] != "}" or pairs:
            if s[at:at + 1] != '"':
                raise JSONDecodeError("Expecting property name enclosed in double quotes", s, at)
            key, at = self._string(s, at + 1)
            at = self._skip(s, at)
            if s[at:at + 1] != ":":
                raise JSONDecodeError("Expecting ':' delimiter", s, at)
            value, at = self._value(s, self._skip(s, at + 1))
            pairs.append((key, value))
            at = self._skip(s, at)
            if s[at:at + 1] == "}":
                break
            if s[at:at + 1] != ",":
                raise JSONDecodeError("Expecting ',' delimiter", s, at)
            at = self._skip(s, at + 1)
        if self.object_pairs_hook:
            return self.object_pairs_hook(pairs), at + 1
        return self.object_hook(dict(pairs)) if self.object_hook else dict(pairs), at + 1


def loads(s, *, cls=None, **kw):
    if not isinstance(s, str):
        raise TypeError(f"the JSON object must be str, bytes or bytearray, not {type(s).__name__}")
    return (cls or JSONDecoder)(**kw).decode(s)


def load(fp, **kw):
    return loads(fp.read(), **kw)
