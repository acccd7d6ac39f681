import collections
import modulefinder  # a module that nothing here uses

from torch.utils._pytree import tree_flatten, tree_leaves, tree_map, tree_map_only, tree_unflatten

Pair = collections.namedtuple("Pair", ["left", "right", "more"])
Pair.__new__.__defaults__ = (None,) * len(Pair._fields)
print(Pair(), Pair(1), Pair(right=2), Pair.__new__.__defaults__)
Pair.__new__.__defaults__ = (5,)
print(Pair(1, 2), Pair.__new__.__defaults__)
try:
    Pair(1)
except TypeError as e:
    print("TypeError")
Pair.__new__.__defaults__ = None
print(Pair.__new__.__defaults__)


class Args(Pair):
    pass


Args.__new__.__defaults__ = (7, 8, 9)
print(Args(1).more, Pair(1).right)

tree = {"b": [1, (2, 3)], "a": Pair(4, None, {"c": []}), "d": collections.OrderedDict(z=5, y="s")}
leaves, spec = tree_flatten(tree)
print(leaves, spec.num_leaves, spec == tree_flatten(tree)[1], spec == tree_flatten([1])[1])
again = tree_unflatten([x if x is None else str(x) for x in leaves], spec)
print(again["b"], again["a"], type(again["d"]).__name__, list(again["d"].items()))
print(tree_map(lambda x, y: (x, y), [1, {"k": 2}], [3, {"k": 4}]), tree_map_only(int, lambda x: -x, (1, "a", [2.5, 3])))
print(tree_leaves([1, (2, 3)], is_leaf=lambda x: isinstance(x, tuple)))
try:
    tree_unflatten([1], spec)
except ValueError as e:
    print("ValueError")

import torch


class Box:  # registered by the file
    def __init__(self, items, tag):
        self.items, self.tag = items, tag


torch.utils._pytree.register_pytree_node(Box, lambda b: (b.items, b.tag), lambda items, tag: Box(list(items), tag), serialized_type_name="Box")
leaves, spec = tree_flatten([Box([1, {"a": 2}], "t"), 3])
boxed = tree_map(lambda x: x * 10, [Box([1, {"a": 2}], "t"), 3])
print(leaves, spec.num_leaves, type(boxed[0]).__name__, boxed[0].items, boxed[0].tag, boxed[1])
try:
    torch.utils._pytree.register_pytree_node(Box, None, None)
except ValueError as e:
    print("ValueError")
print(torch.utils._pytree._dict_flatten({"a": 1}), torch.utils._pytree._dict_unflatten([1], ["a"]))
