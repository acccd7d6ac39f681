# re: patterns parsed to matchers that backtrack. A matcher is called with the subject, a position, the groups' spans and what comes after it, and
# gives the position where all of it ended, or -1. Not here: bytes, conditional groups, possessive and atomic ones. Lookbehind may be of several widths.
A = ASCII = 256
I = IGNORECASE = 2
M = MULTILINE = 8
S = DOTALL = 16
U = UNICODE = 32
X = VERBOSE = 64
_letters = {"i": I, "m": M, "s": S, "x": X, "a": A, "u": U}
_escapes = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v", "a": "\a", "0": "\0"}


class error(ValueError):
    pass


PatternError = error


def _is_word(ch):
    return ch.isalnum() or ch == "_"


_classes = {"d": str.isdigit, "w": _is_word, "s": str.isspace}


def _class_of(ch):  # the test of \d and its like, None
    test = _classes.get(ch.lower())
    return test if test is None or ch.islower() else lambda c: not test(c)


def _at_word_edge(s, i):
    return (i > 0 and _is_word(s[i - 1])) != (i < len(s) and _is_word(s[i]))


# ---- matchers ----
def _one(test):  # a single character
    def match(s, i, g, then):
        return then(i + 1) if i < len(s) and test(s[i]) else -1

    match.test = test
    return match


def _when(test):  # nothing, where test(s, i, g) holds
    return lambda s, i, g, then: then(i) if test(s, i, g) else -1


def _sequence(parts):
    if len(parts) == 1:
        return parts[0]

    def match(s, i, g, then, k=0):
        return then(i) if k == len(parts) else parts[k](s, i, g, lambda j: match(s, j, g, then, k + 1))

    return match


def _either(parts):
    def match(s, i, g, then):
        for part in parts:
            saved = list(g)
            end = part(s, i, g, then)
            if end >= 0:
                return end
            g[:] = saved
        return -1

    return match


def _repeat(part, low, high, lazy):
    test = getattr(part, "test", None)

    def of_characters(s, i, g, then):  # no recursion for runs of single characters
        longest, limit = i, len(s) if high is None else min(len(s), i + high)
        while longest < limit and test(s[longest]):
            longest += 1
        ends = range(i + low, longest + 1) if lazy else range(longest, i + low - 1, -1)
        for end in ends:
            done = then(end)
            if done >= 0:
                return done
        return -1

    def match(s, i, g, then, n=0):
        def more():
            if high is not None and n >= high:
                return -1
            saved = list(g)
            end = part(s, i, g, lambda j: then(j) if j == i and n >= low else match(s, j, g, then, n + 1))  # nothing more than once
            if end < 0:
                g[:] = saved
            return end

        if n < low:
            return more()
        end = then(i) if lazy else more()
        return end if end >= 0 else more() if lazy else then(i)

    return of_characters if test else match


def _group(part, n):  # g[0] is the group that closed last
    def match(s, i, g, then):
        before = g[n]

        def close(j):
            inner, last = g[n], g[0]
            g[n], g[0] = (i, j), n
            end = then(j)
            if end < 0:
                g[n], g[0] = inner, last
            return end

        end = part(s, i, g, close)
        if end < 0:
            g[n] = before
        return end

    return match


def _same(n, fold):  # what group n matched
    def match(s, i, g, then):
        if g[n] is None:
            return -1
        text = s[g[n][0] : g[n][1]]
        part = s[i : i + len(text)]
        return then(i + len(text)) if (part.lower() == text.lower() if fold else part == text) else -1

    return match


# ---- the parser ----
class _Parser:
    def __init__(self, text, flags):
        self.text, self.at, self.flags, self.count, self.names = text, 0, flags, 0, {}

    def fail(self, why):
        raise error(f"{why} at position {self.at}")

    def peek(self, word):
        return self.text.startswith(word, self.at)

    def take(self, word):
        if self.peek(word):
            self.at += len(word)
            return True
        return False

    def char(self):
        if self.at >= len(self.text):
            self.fail("unexpected end of pattern")
        self.at += 1
        return self.text[self.at - 1]

    def until(self, end):
        stop = self.text.find(end, self.at)
        if stop < 0:
            self.fail("missing " + end + ", unterminated name")
        word, self.at = self.text[self.at : stop], stop + len(end)
        return word

    def whole(self):
        part = self.alternatives()
        if self.at < len(self.text):
            self.fail("unbalanced parenthesis")
        return part

    def alternatives(self):
        parts = [self.terms()]
        while self.take("|"):
            parts.append(self.terms())
        return parts[0] if len(parts) == 1 else _either(parts)

    def terms(self):
        parts = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            if self.flags & X and self.text[self.at].isspace():
                self.at += 1
            elif self.flags & X and self.take("#"):
                while self.at < len(self.text) and self.char() != "\n":
                    pass
            else:
                part = self.atom()
                if part is not None:
                    parts.append(self.repeated(part))
        return _sequence(parts)

    def repeated(self, part):
        low, high = 1, 1
        if self.take("*"):
            low, high = 0, None
        elif self.take("+"):
            low, high = 1, None
        elif self.take("?"):
            low, high = 0, 1
        elif self.peek("{"):
            bounds = self.text[self.at + 1 : max(self.text.find("}", self.at), self.at)].split(",")
            if not 1 <= len(bounds) <= 2 or not all(b.isdigit() or (b == "" and len(bounds) == 2) for b in bounds):
                return part
            self.until("}")
            low = int(bounds[0] or 0)
            high = low if len(bounds) == 1 else int(bounds[1]) if bounds[1] else None
            if high is not None and high < low:
                self.fail("min repeat greater than max repeat")
        else:
            return part
        part = _repeat(part, low, high, self.take("?"))
        if self.at < len(self.text) and self.text[self.at] in "*+?":
            self.fail("multiple repeat")
        return part

    def literal(self, ch):
        if not self.flags & I:
            return _one(lambda c: c == ch)
        folded = ch.lower()
        return _one(lambda c: c.lower() == folded)

    def atom(self):
        ch = self.char()
        if ch == "(":
            return self.parenthesis()
        if ch == "[":
            return self.set()
        if ch == ".":
            return _one(lambda c: True) if self.flags & S else _one(lambda c: c != "\n")
        if ch == "^":
            lines = self.flags & M
            return _when(lambda s, i, g: i == 0 or (lines and s[i - 1] == "\n"))
        if ch == "$":
            lines = self.flags & M
            return _when(lambda s, i, g: i == len(s) or (s[i] == "\n" and (lines or i + 1 == len(s))))
        if ch == "\\":
            return self.escaped()
        if ch in "*+?":
            self.fail("nothing to repeat")
        return self.literal(ch)

    def escaped(self):
        ch = self.char()
        test = _class_of(ch)
        if test:
            return _one(test)
        if ch == "b" or ch == "B":
            return _when(lambda s, i, g: _at_word_edge(s, i) == (ch == "b"))
        if ch == "A":
            return _when(lambda s, i, g: i == 0)
        if ch == "Z":
            return _when(lambda s, i, g: i == len(s))
        if ch in "123456789":
            n = int(ch)
            if self.at < len(self.text) and self.text[self.at].isdigit():
                n = n * 10 + int(self.char())
            if n > self.count:
                self.fail(f"invalid group reference {n}")
            return _same(n, self.flags & I)
        return self.literal(self.plain(ch))

    def plain(self, ch):  # the character that an escape stands for
        if ch == "x" or ch == "u":
            n = 2 if ch == "x" else 4
            self.at += n
            return chr(int(self.text[self.at - n : self.at], 16))
        if ch.isalpha() and ch not in _escapes:
            self.fail("bad escape \\" + ch)
        return _escapes.get(ch, ch)

    def set(self):
        negated, tests, first = self.take("^"), [], True
        while first or not self.peek("]"):
            first = False
            low = self.char()
            if low == "\\":
                low = self.char()
                test = _class_of(low)
                if test:
                    tests.append(test)
                    continue
                low = "\b" if low == "b" else self.plain(low)
            high = low
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                high = self.char()
                if high == "\\":
                    high = self.plain(self.char())
                if high < low:
                    self.fail(f"bad character range {low}-{high}")
            tests.append(self.between(low, high))
        self.at += 1
        return _one(lambda c: any(test(c) for test in tests) != negated)

    def between(self, low, high):
        if self.flags & I:
            return lambda c: low <= c.lower() <= high or low <= c.upper() <= high
        return lambda c: low <= c <= high

    def parenthesis(self):
        if not self.take("?"):
            return self.numbered(None)
        if self.take("P<"):
            return self.numbered(self.until(">"))
        if self.take("P="):
            return _same(self.names[self.until(")")], self.flags & I)
        if self.take("#"):
            self.until(")")
            return None
        if self.take(":"):
            return self.closed()
        for word, ahead in (("=", True), ("!", False)):
            if self.take(word):
                part = self.closed()
                return _when(lambda s, i, g: (part(s, i, g, lambda j: j) >= 0) == ahead)
        for word, behind in (("<=", True), ("<!", False)):
            if self.take(word):
                part = self.closed()
                return _when(lambda s, i, g: any(part(s, k, g, lambda j: j if j == i else -1) >= 0 for k in range(i + 1)) == behind)
        before = self.flags
        while self.at < len(self.text) and self.text[self.at] in _letters:
            self.flags |= _letters[self.char()]
        if self.take(":"):
            part, self.flags = self.closed(), before
            return part
        if not self.take(")"):
            self.fail("unknown extension")
        return None

    def numbered(self, name):
        self.count += 1
        n = self.count
        if name is not None:
            if name in self.names:
                self.fail(f"redefinition of group name '{name}'")
            self.names[name] = n
        return _group(self.closed(), n)

    def closed(self):
        part = self.alternatives()
        if not self.take(")"):
            self.fail("missing ), unterminated subpattern")
        return part


# ---- what is called ----
class Match:
    def __init__(self, pattern, string, spans, last):
        self.re, self.string, self._spans, self.lastindex, self.pos, self.endpos = pattern, string, spans, last, 0, len(string)
        self.lastgroup = next((k for k, n in pattern.groupindex.items() if n == last), None)

    def _number(self, group):
        n = self.re.groupindex.get(group, -1) if isinstance(group, str) else group
        if not 0 <= n < len(self._spans):
            raise IndexError("no such group")
        return n

    def span(self, group=0):
        return self._spans[self._number(group)] or (-1, -1)

    def start(self, group=0):
        return self.span(group)[0]

    def end(self, group=0):
        return self.span(group)[1]

    def _text(self, n, default=None):
        return default if self._spans[n] is None else self.string[self._spans[n][0] : self._spans[n][1]]

    def __getitem__(self, group):
        return self._text(self._number(group))

    def group(self, *groups):
        found = tuple(self[g] for g in groups or (0,))
        return found if len(found) > 1 else found[0]

    def groups(self, default=None):
        return tuple(self._text(n, default) for n in range(1, len(self._spans)))

    def groupdict(self, default=None):
        return {k: self._text(n, default) for k, n in self.re.groupindex.items()}

    def expand(self, template):
        out, i = [], 0
        while i < len(template):
            ch = template[i]
            if ch != "\\" or i + 1 == len(template):
                out.append(ch)
                i += 1
            elif template.startswith("\\g<", i):
                stop = template.index(">", i)
                name = template[i + 3 : stop]
                out.append(self[int(name) if name.isdigit() else name] or "")
                i = stop + 1
            elif template[i + 1] in "123456789":
                out.append(self[int(template[i + 1])] or "")
                i += 2
            else:
                out.append("\\" if template[i + 1] == "\\" else _escapes.get(template[i + 1], template[i : i + 2]))
                i += 2
        return "".join(out)

    def __repr__(self):
        return f"<re.Match object; span={self.span()}, match={self[0]!r}>"


class Pattern:
    def __init__(self, pattern, flags=0):
        parser = _Parser(pattern, flags)
        self._match = parser.whole()
        self.pattern, self.flags, self.groups, self.groupindex = pattern, parser.flags | U, parser.count, parser.names

    def _at(self, string, i, accepts):
        spans = [None] * (self.groups + 1)
        end = self._match(string, i, spans, lambda j: j if accepts(j) else -1)
        if end < 0:
            return None
        last, spans[0] = spans[0], (i, end)
        return Match(self, string, spans, last)

    def match(self, string, pos=0):
        return self._at(string, pos, lambda j: True)

    def fullmatch(self, string, pos=0):
        return self._at(string, pos, lambda j: j == len(string))

    def search(self, string, pos=0, least=0):  # of at least `least` characters at pos itself
        for i in range(pos, len(string) + 1):
            m = self._at(string, i, lambda j: j >= pos + least)
            if m:
                return m
        return None

    def finditer(self, string):
        found, m = [], self.search(string)
        while m:
            found.append(m)
            m = self.search(string, m.end(), int(m.end() == m.start()))  # not the same nothing again
        return iter(found)

    def findall(self, string):
        found = self.finditer(string)
        return [m[0] if not self.groups else m[1] or "" if self.groups == 1 else m.groups("") for m in found]

    def split(self, string, maxsplit=0):
        out, last = [], 0
        for n, m in enumerate(self.finditer(string)):
            if maxsplit and n >= maxsplit:
                break
            out.append(string[last : m.start()])
            out.extend(m.groups())
            last = m.end()
        return out + [string[last:]]

    def subn(self, repl, string, count=0):
        out, last, n = [], 0, 0
        for m in self.finditer(string):
            if count and n >= count:
                break
            out.append(string[last : m.start()])
            out.append(repl(m) if callable(repl) else m.expand(repl))
            last, n = m.end(), n + 1
        return "".join(out) + string[last:], n

    def sub(self, repl, string, count=0):
        return self.subn(repl, string, count)[0]

    def __repr__(self):
        return f"re.compile({self.pattern!r})"


_compiled = {}


def compile(pattern, flags=0):
    if isinstance(pattern, Pattern):
        return pattern
    if (pattern, flags) not in _compiled:
        _compiled[pattern, flags] = Pattern(pattern, flags)
    return _compiled[pattern, flags]


def match(pattern, string, flags=0):
    return compile(pattern, flags).match(string)


def fullmatch(pattern, string, flags=0):
    return compile(pattern, flags).fullmatch(string)


def search(pattern, string, flags=0):
    return compile(pattern, flags).search(string)


def findall(pattern, string, flags=0):
    return compile(pattern, flags).findall(string)


def finditer(pattern, string, flags=0):
    return compile(pattern, flags).finditer(string)


def split(pattern, string, maxsplit=0, flags=0):
    return compile(pattern, flags).split(string, maxsplit)


def sub(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).sub(repl, string, count)


def subn(pattern, repl, string, count=0, flags=0):
    return compile(pattern, flags).subn(repl, string, count)


def escape(pattern):
    return "".join("\\" + c if c in "()[]{}?*+-|^$\\.&~# \t\n\r\v\f" else c for c in pattern)


def purge():
    _compiled.clear()
