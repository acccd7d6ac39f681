import re

for pattern, text in [("a", "cat"), ("a*", "aaab"), ("a+?", "aaa"), ("(a|ab)(c|bcd)(d*)", "abcd"), (r"(\d+)-(\d+)", "tel 12-345"), (r"^b", "a\nb"),
                      (r"(?m)^b$", "a\nb\nc"), (r"[^a-c\]]+", "abc]xyz"), (r"[]a-]+", "x]-a"), (r"\bfoo\B", "a foobar"), (r"(?i)HeLLo", "say hello"),
                      (r"(?P<k>\w+)=(?P<v>[^,]*)", "x=1,y=2"), (r"(\w)\1", "hello"), (r"(?:ab){2,3}", "abababab"), (r"a{,2}b", "aaab"), (r"x{2,}", "xxxx"),
                      (r"(?<=\$)\d+", "cost $42"), (r"(?<!\$)\b\d+", "$42 17"), (r"q(?=u)", "iraq quit"), (r"q(?!u)", "quit iraq"), (r"a.c", "a\nc"),
                      (r"(?s)a.c", "a\nc"), (r"(a)|(b)", "b"), (r"((a)b?)*", "abaab"), (r"\.\w{3}$", "file.txt"), (r"{", "a{b"), (r"a{x}", "a{x}"),
                      (r"(?x) a  b # words\n c", "abc"), (r"[\w.]+@[\w.]+", "to: me@x.org!"), (r"\x41\u0042\t", "AB\t"), (r"(?:)", "z"), (r"(a?)*?b", "aab")]:
    m = re.search(pattern, text)
    print(pattern, repr(text), m and (m.span(), m.group(), m.groups(), m.groupdict(), m.lastindex))

print([(m.lastindex, m.lastgroup) for m in map(re.compile(r"((a)(?P<z>b)?)|(?P<num>\d)").match, ("ab", "a", "7"))])
print(re.match("b", "ab"), re.fullmatch("a|ab", "ab"), re.match("a", "ab").end(), bool(re.compile("x").search("y")))
print(re.split(r"(\d.*)", "ir"), re.split(r"(\d.*)", "k3"), re.split(",", "a,b,,c", maxsplit=2), re.split(r"\W+", "Words, words."), re.split("x*", "axbc"))
print(re.sub(r"\s+", " ", "a  b \t c"), re.sub("x*", "-", "abxd"), re.sub(r"(\w+) (\w+)", r"\2 \g<1>!", "hello world"), re.subn("a", "b", "aaa", 2))
print(re.sub(r"\d+", lambda m: str(int(m.group()) * 2), "3 and 14"), re.sub(r"(?P<n>\d)", r"<\g<n>>", "a1"), re.sub("^", "> ", "x"))
print(re.findall(r"\d", "a1b2"), re.findall(r"(\w)(\d)", "a1b2"), re.findall(r"a*", "baac"), [m.start() for m in re.finditer("an", "banana")])
print(re.escape("a.b*c-d"), re.compile(r"layers\.(\d+)\.").groups, re.compile("(?P<x>a)(b)").groupindex["x"], re.compile("a", re.I | re.M).pattern)

m = re.match(r"(?P<stage>\w)(?P<n>\d+)?", "k")
print(m.group("stage"), m["n"], m.groups("none"), m.span("n"), m.start(1), m.groupdict(0), m)
key = "module.encoder.layers.11.attn.weight"
print(re.sub(r"^module\.", "", key), re.search(r"layers\.(\d+)\.(.*)", key).groups(), re.match(r"decoder", key) is None)
for bad in ("(", "a)", "*a", "[a", "a**", "(?P<n>a)(?P<n>b)", r"\2(a)", "a{2,1}", "[z-a]"):
    try:
        re.compile(bad)
        print(bad, "compiles")
    except re.error as e:
        print(bad, "is refused")
try:
    re.match("a", "a").group(1)
except IndexError as e:
    print(e)
