from collections import deque

q = deque([1, 2, 3], maxlen=3)
q.append(4)
q.appendleft(0)
print(q, len(q))
q.rotate(1)
print(q, q.pop(), q.popleft(), list(q))
q.extend([7, 8])
q.extendleft([5])
print(q, q.count(7), q.index(7), q.maxlen)

from collections import Counter

c = Counter("abracadabra")
print(c, c.most_common(2), c["zz"], sorted(c.elements()))
c.update("aaa")
c.subtract({"a": 1})
print(c, c + Counter(a=1), c - Counter(a=100), c & Counter(a=2, b=9), c | Counter(z=1), sum(c.values()), c.total())

from collections import OrderedDict

o = OrderedDict([("a", 1), ("b", 2), ("c", 3)])
o.move_to_end("a")
o.move_to_end("c", last=False)
print(o.popitem(last=False), list(o.items()), o == OrderedDict(b=2, a=1), o == {"a": 1, "b": 2})

from collections import defaultdict, ChainMap

d = defaultdict(list)
d["x"].append(1)
d["y"]
print(d, dict(d), d.default_factory)
m = ChainMap({"a": 1}, {"a": 2, "b": 3})
print(m["a"], m["b"], len(m), sorted(m))

from collections import UserDict, Counter

c = Counter(a=3, b=1)
print(c["a"], +c, -c, c == Counter(b=1, a=3), list(c), c.most_common(), Counter([1, 1, 2]).most_common(1))
del c["a"]
print(c, bool(Counter()), Counter({"x": 0}), repr(Counter()))
c = Counter("hello")
c["z"] -= 1
print(c, c.copy(), isinstance(c, dict), c.keys(), Counter.fromkeys if False else "", sorted(c.items()))

from collections import deque

q = deque("abc")
q.insert(1, "x")
q.remove("b")
q.reverse()
print(q, q.copy(), q == deque(["c", "x", "a"]), q + deque([1]), "x" in q, q[-1], bool(deque()))
del q[0]
print(q, list(reversed(q)))
q *= 2
print(q)
try:
    deque().pop()
except IndexError as e:
    print(e)
q = deque(maxlen=2)
q.extend([1, 2, 3])
print(q, deque([1, 2, 3], 2), deque([], maxlen=0))

from collections import ChainMap

m = ChainMap({"a": 1}, {"a": 2, "b": 3})
m["b"] = 9
print(m.maps, m["b"], m.get("zz"), "a" in m, m.new_child({"a": 0})["a"], m.parents["a"], dict(m), len(m))

from collections import defaultdict

d = defaultdict(int)
d["a"] += 1
print(d.get("q"), "q" in d, d["q"], len(d), d.copy(), defaultdict(lambda: 5)["x"])
d2 = defaultdict(list, {"k": [1]})
d2["k"].append(2)
d2["n"].append(0)
print(sorted(d2.items()), d2.default_factory is list)
d3 = defaultdict(None)
try:
    d3["x"]
except KeyError as e:
    print("KE", e)
