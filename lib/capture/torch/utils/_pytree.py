# Trees of tuples, lists, dictionaries and the classes that a file registers; all other objects are leaves, ordered from left to right.
from collections import OrderedDict

_registered = {}  # class: (flatten_fn, unflatten_fn)


def register_pytree_node(cls, flatten_fn, unflatten_fn, *, serialized_type_name=None, to_dumpable_context=None, from_dumpable_context=None,
                         flatten_with_keys_fn=None):
    if cls in _registered:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _registered[cls] = flatten_fn, unflatten_fn


_register_pytree_node = register_pytree_node


def _dict_flatten(d):
    return list(d.values()), list(d.keys())


def _dict_unflatten(values, context):
    return dict(zip(context, values))


def _list_flatten(d):
    return d, None


def _list_unflatten(values, context):
    return list(values)


def _tuple_flatten(d):
    return list(d), None


def _tuple_unflatten(values, context):
    return tuple(values)


class TreeSpec:
    def __init__(self, type, context, children_specs):
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_leaves = 1 if type is None else sum([s.num_leaves for s in children_specs])

    def is_leaf(self):
        return self.type is None

    def __eq__(self, other):
        return (self.type, self.context, self.children_specs) == (other.type, other.context, other.children_specs)


def tree_flatten(tree, is_leaf=None):
    kind = type(tree)
    named = isinstance(tree, tuple) and hasattr(kind, "_fields")
    own = kind in _registered
    if (is_leaf and is_leaf(tree)) or not (own or named or kind in (tuple, list, dict, OrderedDict)):
        return [tree], TreeSpec(None, None, [])
    if own:
        children, keys = _registered[kind][0](tree)
    elif isinstance(tree, dict):
        children, keys = tree.values(), list(tree)
    else:
        children, keys = tree, kind if named else None
    leaves, specs = [], []
    for child in children:
        more, spec = tree_flatten(child, is_leaf)
        leaves += more
        specs.append(spec)
    return leaves, TreeSpec(kind, keys, specs)


def tree_unflatten(leaves, treespec):
    leaves = list(leaves)
    if len(leaves) != treespec.num_leaves:
        raise ValueError(f"tree_unflatten(leaves, treespec): `leaves` has length {len(leaves)} but the spec refers to {treespec.num_leaves} leaves")
    if treespec.is_leaf():
        return leaves[0]
    children, at = [], 0
    for spec in treespec.children_specs:
        children.append(tree_unflatten(leaves[at : at + spec.num_leaves], spec))
        at += spec.num_leaves
    if treespec.type in _registered:
        return _registered[treespec.type][1](children, treespec.context)
    if treespec.context is None:
        return treespec.type(children)
    return treespec.type(zip(treespec.context, children)) if isinstance(treespec.context, list) else treespec.type(*children)


def tree_leaves(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree, is_leaf=None):
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func, tree, *rests, is_leaf=None):
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [tree_leaves(r, is_leaf) for r in rests]
    if any([len(o) != len(leaves) for o in others]):
        raise ValueError("tree_map: the trees have different structures")
    return tree_unflatten([func(*each) for each in zip(leaves, *others)], spec)


def tree_map_only(type_, func, tree, is_leaf=None):
    return tree_map(lambda x: func(x) if isinstance(x, type_) else x, tree, is_leaf=is_leaf)


def tree_all(pred, tree, is_leaf=None):
    return all([pred(x) for x in tree_leaves(tree, is_leaf)])


def tree_any(pred, tree, is_leaf=None):
    return any([pred(x) for x in tree_leaves(tree, is_leaf)])
