# Strings: known when the program is made, so that their operators are computed at import. A pattern is matched by the set of positions that
# each part of it can end at, in time that is bounded by the product of the lengths.
import torch
from onnx_host import broadcast, product, strides
from onnx_values import Host, Strings
import _onnx


def known_strings(n, *vs):
    for v in vs:
        if not isinstance(v, Strings):
            n.unsupported("strings that depend on data")


def together(a, b):
    """Two tensors of strings broadcast: (sizes, pairs)."""
    shape = broadcast([a.shape, b.shape])
    out, index, sa, sb = [], [0] * len(shape), strides(a.shape, shape), strides(b.shape, shape)
    for _ in range(product(shape)):
        out.append((a.items[sum([i * s for i, s in zip(index, sa)])], b.items[sum([i * s for i, s in zip(index, sb)])]))
        for d in range(len(shape) - 1, -1, -1):
            index[d] += 1
            if index[d] < shape[d]:
                break
            index[d] = 0
    return shape, out


def concat(n, a, b):
    known_strings(n, a, b)
    shape, pairs = together(a, b)
    return Strings(shape, [x + y for x, y in pairs])


def split(n, x):
    known_strings(n, x)
    mark, most = n.get("delimiter", ""), n.get("maxsplit", None)
    parts = []
    for s in x.items:
        if mark:
            parts.append(s.split(mark) if most is None else s.split(mark, most))
        else:
            parts.append(s.split() if most is None else s.split(None, most))
    wide = max([len(p) for p in parts] + [0])
    out = []
    for p in parts:
        out = out + p + [""] * (wide - len(p))
    return Strings(x.shape + [wide], out), Host(x.shape, [len(p) for p in parts], torch.int64)


def normalizer(n, x):
    known_strings(n, x)
    action, exact, stops = n.get("case_change_action", "NONE"), n.get("is_case_sensitive", 0), n.get("stopwords", [])
    change = {"NONE": lambda s: s, "LOWER": lambda s: s.lower(), "UPPER": lambda s: s.upper()}[action]
    stop = {}
    for w in stops:
        stop[w if exact else change(w)] = True

    def one(s):
        if exact:
            return change(" ".join([w for w in s.split(" ") if w not in stop]) if stop else s)
        s = change(s)
        return " ".join([w for w in s.split(" ") if w not in stop]) if stop else s

    out = [one(s) for s in x.items]
    if len(x.shape) == 2 and x.shape[0] != 1:
        return Strings(x.shape, out)
    out = [s for s in out if s] or [""]
    return Strings([1, len(out)] if len(x.shape) == 2 else [len(out)], out)


# ---- patterns ----
class Pattern:
    """A regular expression as a tree of tuples: ("set", negated, [(low, high)]), ("seq", parts), ("alt", parts), ("repeat", part, low, high),
    ("begin",), ("end",), ("edge", wanted)."""

    def __init__(self, text):
        self.text, self.at = text, 0
        self.tree = self.alternatives()
        if self.at < len(text):
            self.fail("an unexpected ')'")

    def fail(self, why):
        raise ValueError(f"pattern '{self.text}': {why}")

    def peek(self):
        return self.text[self.at] if self.at < len(self.text) else ""

    def take(self):
        c = self.peek()
        if not c:
            self.fail("it ends too early")
        self.at += 1
        return c

    def alternatives(self):
        parts = [self.sequence()]
        while self.peek() == "|":
            self.take()
            parts.append(self.sequence())
        return parts[0] if len(parts) == 1 else ("alt", parts)

    def sequence(self):
        parts = []
        while self.peek() and self.peek() not in "|)":
            parts.append(self.repeated())
        return ("seq", parts)

    def number(self):
        digits = ""
        while self.peek().isdigit():
            digits += self.take()
        return int(digits) if digits else None

    def repeated(self):
        part = self.atom()
        while self.peek() and self.peek() in "*+?{":
            c = self.take()
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1), "{": (0, 0)}[c]
            if c == "{":
                low = self.number()
                high = low
                if self.peek() == ",":
                    self.take()
                    high = self.number()
                low = low or 0
                if self.take() != "}" or (high is not None and high > 1000) or low > 1000:
                    self.fail("a count of repetitions")
            if self.peek() == "?":  # as few as possible: the same for a whole match
                self.take()
            part = ("repeat", part, low, high)
        return part

    def atom(self):
        c = self.take()
        if c == "(":
            if self.text[self.at:self.at + 2] == "?:":
                self.at += 2
            elif self.peek() == "?":
                _onnx.unsupported(f"pattern '{self.text}': a group that begins with (?")
            inner = self.alternatives()
            if self.take() != ")":
                self.fail("a ')' is missing")
            return inner
        if c == "[":
            return self.bracket()
        if c == ".":
            return ("set", True, [("\n", "\n")])
        if c == "^":
            return ("begin",)
        if c == "$":
            return ("end",)
        if c == "\\":
            return self.escape()
        return ("set", False, [(c, c)])

    def escape(self):
        c = self.take()
        if c in "bB":
            return ("edge", c == "b")
        return ("set", c in "WDS", ranges_of(c))

    def bracket(self):
        negated = self.peek() == "^"
        if negated:
            self.take()
        found, first = [], True
        while self.peek() != "]" or first:
            first = False
            c = self.take()
            if c == "\\":
                e = self.take()
                if e in "WDSB":
                    _onnx.unsupported(f"pattern '{self.text}': \\{e} inside brackets")
                found = found + ranges_of(e)
                continue
            if self.peek() == "-" and self.text[self.at + 1:self.at + 2] not in ("]", ""):
                self.take()
                high = self.take()
                found.append((c, self.take() if high == "\\" else high))
            else:
                found.append((c, c))
        self.take()
        return ("set", negated, found)


def ranges_of(c):
    if c in "wW":
        return [("a", "z"), ("A", "Z"), ("0", "9"), ("_", "_")]
    if c in "dD":
        return [("0", "9")]
    if c in "sS":
        return [(" ", " "), ("\t", "\r")]
    c = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}.get(c, c)
    return [(c, c)]


def is_word(c):
    return c.isalnum() or c == "_"


def ends(tree, s, starts):
    """Positions at which a match of tree that begins at one of `starts` may end."""
    kind = tree[0]
    if kind == "set":
        out = []
        for p in starts:
            if p < len(s):
                hit = False
                for low, high in tree[2]:
                    hit = hit or low <= s[p] <= high
                if hit != tree[1]:
                    out.append(p + 1)
        return out
    if kind == "seq":
        for part in tree[1]:
            starts = ends(part, s, starts)
            if not starts:
                return []
        return starts
    if kind == "alt":
        out = []
        for part in tree[1]:
            out = out + ends(part, s, starts)
        return sorted(set(out))
    if kind == "begin":
        return [p for p in starts if p == 0]
    if kind == "end":
        return [p for p in starts if p == len(s)]
    if kind == "edge":
        return [p for p in starts if ((p > 0 and is_word(s[p - 1])) != (p < len(s) and is_word(s[p]))) == tree[1]]
    low, high, seen, now, k = tree[2], tree[3], {}, starts, 0
    out = list(now) if low == 0 else []
    while now and (high is None or k < high):
        now = ends(tree[1], s, now)
        k += 1
        if k >= low:
            now = [p for p in now if p not in seen]
            for p in now:
                seen[p] = True
            out = out + now
    return sorted(set(out))


def regex_full_match(n, x):
    known_strings(n, x)
    tree = Pattern(n.get("pattern")).tree
    return Host(x.shape, [len(s) in ends(tree, s, [0]) for s in x.items], torch.bool)


TABLE = [
    ("", "StringConcat", 20, concat, "RR"), ("", "StringSplit", 20, split, "R"), ("", "StringNormalizer", 10, normalizer, "R"),
    ("", "RegexFullMatch", 20, regex_full_match, "R"),
]
