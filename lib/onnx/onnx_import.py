# An ONNX model evaluated as a program of torch calls: build(model) is what lib/onnx/import.c captures.
#
# A value is one of
#     a tensor            of the graph, or concrete (an initialiser, what was computed from constants alone)
#     Host                a small tensor of integers whose elements are known or symbolic: what comes from shapes
#     Weight              an initialiser of floats: a parameter once it is used as a tensor
#     Coded               a tensor whose ONNX element type has no dtype (int4, float8_e4m3fnuz, ...): its code and its elements
#     Strings, list       strings; a sequence
#     None                an absent optional
import _onnx
import torch
from onnx_values import Coded, Host, Missing, Strings, Weight, constant, is_small, numbers, sizes_of, tensor
from onnx_tables import HOST, LOOPS, MOVES, MOVES_STRINGS, RANDOM, find

DTYPES = {1: torch.float32, 2: torch.uint8, 3: torch.int8, 4: torch.uint16, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
          10: torch.float16, 11: torch.float64, 12: torch.uint32, 13: torch.uint64, 14: torch.complex64, 15: torch.complex128,
          16: torch.bfloat16, 17: torch.float8_e4m3fn, 19: torch.float8_e5m2,
          18: torch.uint8, 20: torch.uint8, 21: torch.uint8, 22: torch.int8, 23: torch.uint8, 24: torch.uint8, 25: torch.uint8, 26: torch.int8}
CODED = (18, 20, 21, 22, 23, 24, 25, 26)
FOLD = 4096  # elements: larger results are computed by the program, not at import


def is_weight(t):
    """Is it a float tensor of one dimension or more? Scalars are settings (epsilon, a scale)."""
    return t[0] != 8 and t[0] not in CODED and t[1].dtype.is_floating_point and t[1].dim() > 0 and t[1].numel() > 0


def from_proto(t, name, model=None):
    """A tensor of the file: (type, tensor) or (8, sizes, strings); name: of an initialiser of the model."""
    if t[0] == 8:
        return Strings(t[1], t[2])
    if t[0] in CODED:
        return Coded(t[0], t[1])
    if name and is_weight(t):
        return model.weight(t[1], name)
    return t[1]


def names_used(node, out):
    """The names that a node reads, including those read in its subgraphs (names defined there do no harm)."""
    for i in node[3]:
        out.append(i)
    for v in node[5].values():
        graphs = v if isinstance(v, list) else [v]
        for g in graphs:
            if isinstance(g, dict):
                for n in g["nodes"]:
                    names_used(n, out)
                for o in g["outputs"]:
                    out.append(o[0])
    return out


def last_constants(nodes):
    """If several Constant nodes define the same name, the last one counts, as in ONNX Runtime."""
    last, doubled = {}, False
    for k, node in enumerate(nodes):
        if node[0] == "Constant":
            doubled = doubled or node[4][0] in last
            last[node[4][0]] = k
    return [n for k, n in enumerate(nodes) if n[0] != "Constant" or last[n[4][0]] == k] if doubled else nodes


def in_order(nodes):
    """The nodes sorted so that each comes after those that it reads; unchanged if they are sorted already."""
    nodes = last_constants(nodes)
    maker = {}
    for k, node in enumerate(nodes):
        for o in node[4]:
            if o:
                maker[o] = k
    uses, sorted_already = [], True
    for k, node in enumerate(nodes):
        before = [maker[i] for i in names_used(node, []) if i in maker and maker[i] != k]
        for b in before:
            sorted_already = sorted_already and b < k
        uses.append(before)
    if sorted_already:
        return nodes
    out, state = [], [0] * len(nodes)  # 0 not seen, 1 open, 2 placed
    for k in range(len(nodes)):
        stack = [k]
        while stack:
            at = stack[-1]
            if state[at] == 2:
                stack.pop()
                continue
            waits = [b for b in uses[at] if state[b] != 2]
            if not waits:
                state[at] = 2
                out.append(nodes[at])
                stack.pop()
                continue
            if state[at] == 1:
                raise ValueError(f"the graph has a cycle through '{nodes[at][4][0]}'")
            state[at] = 1
            stack = stack + waits
    return out


HINTS = ("accuracy_level",)


class Node:
    """A node while its rule runs: attributes, opset, queries about inputs."""

    def __init__(self, scope, node, attrs, version):
        self.scope, self.op, self.domain, self.name = scope, node[0], node[1], node[2]
        self.inputs, self.outputs, self.attrs, self.version = node[3], node[4], attrs, version
        self.asked = set()

    def get(self, name, default=None):
        self.asked.add(name)
        return self.attrs.get(name, default)

    def has(self, name):
        self.asked.add(name)
        return name in self.attrs

    def leave_none(self):
        """Attributes that the rule did not read must have no effect (0, or hints of speed), else the node is not supported."""
        for name, value in self.attrs.items():
            if name not in self.asked and name not in HINTS and value not in (0, 0.0, "", []):
                self.unsupported(f"attribute {name} of {self.op} is not supported")

    def wants(self, i):
        """Is output i used?"""
        return i < len(self.outputs) and self.outputs[i] != ""

    def tensor_attr(self, name):
        self.asked.add(name)
        return from_proto(self.attrs[name], "")

    def known(self, i):
        """The elements of input i as a list of numbers, symbolic sizes included, if they are known at import; else None."""
        if i >= len(self.inputs) or not self.inputs[i]:
            return None
        return self.scope.known(self.inputs[i])

    def fail(self, text):
        raise ValueError(text)

    def unsupported(self, text):
        _onnx.unsupported(text)


class Scope:
    """One graph or function body being evaluated."""

    def __init__(self, model, parent, opsets, attrs=None):
        self.model, self.parent, self.opsets, self.attrs = model, parent, opsets, attrs
        self.values, self.producers, self.concrete, self.fixed, self.links = {}, {}, {}, {}, {}

    def owner(self, name):
        s = self
        while s is not None:
            if name in s.values:
                return s
            s = s.parent
        return None

    def find(self, name):
        if not name:
            return None
        s = self.owner(name)
        if s is None:
            raise ValueError(f"value '{name}' is used and nothing makes it before")
        return s.values[name]

    def known(self, name):
        """The numbers of a value computed from constants, sizes and fixed inputs, or None."""
        s = self.owner(name)
        if s is None:
            return None
        v = s.values[name]
        if isinstance(v, Host):
            return v.items
        if v is None:
            return None
        t = s.concretely(name)
        if isinstance(t, Host):
            return t.items
        return None if t is None else numbers(t)

    def concretely(self, name):
        """The value of `name` if it depends on constants and fixed inputs only: a concrete tensor or a Host; else None."""
        s = self.owner(name)
        if s is None:
            return None
        if s is not self:
            return s.concretely(name)
        v = self.values[name]
        if isinstance(v, Host):
            return v
        if isinstance(v, Weight):
            return v.data
        if isinstance(v, torch.Tensor) and _onnx.known(v):
            return v
        if name in self.concrete:
            return self.concrete[name]
        if name in self.fixed:
            self.model.rely(name)
            return self.fixed[name]
        if name in self.links:
            return self.links[name][0].concretely(self.links[name][1])
        if name not in self.producers:
            return None
        self.concrete[name] = None
        node = self.producers[name]
        if node[0] in RANDOM or node[0] in ("If", "Loop", "Scan", "SequenceMap"):
            return None
        args = []
        for k, i in enumerate(node[3]):
            x = self.concretely(i) if i else None
            if x is None and k == 1 and node[0] == "CastLike":
                x = self.find(i)
            if i and (x is None or (isinstance(x, Host) and not x.is_constant())):
                return None
            args.append(x)
        outs = _onnx.eager(self.model.apply, self, node, args)
        for o, y in zip(node[4], outs):
            if o:
                self.concrete[o] = constant(y) if isinstance(y, Host) and y.is_constant() else y
        return self.concrete[name]

    def attributes(self, node):
        if self.attrs is None:
            return node[5]
        out = {}
        for k, v in node[5].items():
            if isinstance(v, tuple) and v[0] == "ref":
                if v[1] in self.attrs:
                    out[k] = self.attrs[v[1]]
            else:
                out[k] = v
        return out


class Model:
    def __init__(self, m):
        self.m = m
        self.functions = {}
        for f in m["functions"]:
            self.functions[(f["domain"], f["name"], f["overload"])] = f
        # Some exporters write weights as Constant nodes; if there are initialisers, constants are masks, encodings and the like, which are not trained.
        self.weights_in_constants = not any([is_weight(t) for name, t in m["graph"]["inits"]])
        self.weights = {}
        self.depth = 0
        self.relied = {}
        self.inputs = {}

    def weight(self, data, name):
        """A stored tensor as a weight: one, however often its subgraph or function runs. Those of one name in different subgraphs are told apart."""
        same = self.weights.get(name, [])
        for w in same:
            if w.data is data:
                return w
        w = Weight(data, f"{name}.{len(same)}" if same else name)
        self.weights[name] = same + [w]
        return w

    def rely(self, name):
        self.relied[name] = True

    # ---- nodes ----
    def version(self, scope, domain):
        v = scope.opsets.get(domain)
        if v is None:
            if domain == "" and not scope.opsets:
                return 1
            return 1
        return v

    def apply(self, scope, node, values):
        """The outputs of a node, a list, for these input values."""
        function = self.functions.get((node[1], node[0], node[6]))
        if function is not None:
            return self.expand(scope, function, node, values)
        version = self.version(scope, node[1])
        row = find(node[1], node[0], version)
        if row is None:
            where = f" of domain {node[1]}" if node[1] else ""
            _onnx.unsupported(f"operator {node[0]}{where} (opset {version}) is not supported")
        n = Node(scope, node, scope.attributes(node), version)
        out = self.on_host(n, values)
        if out is None:
            out = self.call(n, row, values)
        return list(out) if isinstance(out, tuple) else [out]

    def call(self, n, row, values):
        kinds, args, like = row.kinds, [], None
        if n.domain == "" and n.op in MOVES_STRINGS:
            values, like = with_places(n, values)
        for i, v in enumerate(values):
            kind = kinds[i] if i < len(kinds) else kinds[-1] if kinds else "t"
            if isinstance(v, Coded) and (kind in "th" or v.code == 8 and like is not None):
                if like is None and n.op not in MOVES:
                    _onnx.unsupported(f"element type {v.name()} in {n.op}")
                like, v = v, v.t
            if kind == "h" or kind == "s":
                args.append(self.numbers_of(n, i, v, kind))
            elif kind == "t":
                args.append(tensor(v))
            elif kind == "c":
                args.append(v.data if isinstance(v, Weight) else tensor(v))
            else:
                args.append(v)
        if len(args) < row.least:
            n.fail(f"{len(args)} inputs, expected at least {row.least}")
        out = row.rule(n, *args)
        if n.domain == "com.microsoft":
            n.leave_none()
        return out if like is None or n.op == "Equal" else moved(like, out, n.op == "Unique")

    def numbers_of(self, n, i, v, kind):
        if v is None:
            return None
        if isinstance(v, Host):
            return v.items
        if isinstance(v, Weight):
            return numbers(v.data)
        if not isinstance(v, torch.Tensor):
            n.fail(f"input {i} is no tensor")
        if _onnx.known(v):
            return numbers(v)
        k = n.known(i)
        if k is not None:
            return k
        if kind == "s" and v.dim() <= 1 and (v.dim() == 0 or _onnx.number(v.shape[0])):
            if v.dim() == 0:
                return [v.item()]
            return [v[j].item() for j in range(v.shape[0])]
        _onnx.wants(n.inputs[i])
        raise Missing(f"input '{n.inputs[i]}' must be known when the program is made: give its value with --input")

    def on_host(self, n, values):
        """Evaluates the node on known and symbolic numbers, if an input is a Host and all inputs are small; None: it must run on tensors."""
        if not any(isinstance(v, Host) for v in values):
            return None
        rule = HOST.get(n.op) if n.domain == "" else None
        if rule is None:
            return None
        small = []
        for v in values:
            if isinstance(v, Host) or v is None:
                small.append(v)
            elif isinstance(v, Weight) and v.data.numel() <= 64:
                small.append(Host.of(v.data))
            elif isinstance(v, torch.Tensor) and _onnx.known(v) and v.numel() <= 64:
                small.append(Host.of(v))
            else:
                return None
        return rule(n, *small)

    def eagerly(self, node, values):
        if node[0] in RANDOM or node[0] in LOOPS:
            return False
        if (node[1], node[0], node[6]) in self.functions:
            return False
        if node[0] == "CastLike":  # of the second input only the type counts
            values = values[:1]
        total, any_tensor = 0, False
        for v in values:
            if isinstance(v, Coded):
                v = v.t
            if isinstance(v, torch.Tensor):
                if not _onnx.known(v):
                    return False
                total += v.numel()
                any_tensor = True
            elif isinstance(v, (Weight, list)) or (isinstance(v, Host) and not v.is_constant()):
                return False
        if node[0] == "ConstantOfShape" and any_tensor and isinstance(values[0], torch.Tensor):
            total = 1
            for d in numbers(values[0]):
                total *= d
        return total <= FOLD

    def run_node(self, scope, node):
        _onnx.at(f"node '{node[2]}' ({node[0]})" if node[2] else f"node {node[0]} that makes '{node[4][0] if node[4] else ''}'", node[7])
        values = [scope.find(i) for i in node[3]]
        while values and values[-1] is None:
            values.pop()
        if self.eagerly(node, values):
            outs = _onnx.eager(self.apply, scope, node, values)
        else:
            outs = self.apply(scope, node, values)
        for i, name in enumerate(node[4]):
            if not name:
                continue
            if i >= len(outs):
                raise ValueError(f"it has {len(outs)} results, {len(node[4])} are named")
            if name in scope.values:
                raise ValueError(f"value '{name}' is made twice")
            scope.values[name] = outs[i]
            scope.producers[name] = node

    # ---- graphs and functions ----
    def settings(self, scope, graph):
        """Names that rules use as stored in the file, such as scales of quantised tensors: they do not become parameters."""
        names = {}
        for node in graph["nodes"]:
            row = find(node[1], node[0], self.version(scope, node[1]))
            for i, name in enumerate(node[3] if row else []):
                if i < len(row.kinds) and row.kinds[i] == "r":
                    names[name] = True
        return names

    def run_graph(self, scope, graph):
        self.depth += 1
        if self.depth > 64:
            raise ValueError("graphs and functions nest more than 64 deep")
        settings = self.settings(scope, graph)
        for name, t in graph["inits"]:
            if name not in scope.values:
                scope.values[name] = from_proto(t, "" if name in settings and t[0] != 8 and t[1].numel() == 1 else name, self)
        for node in in_order(graph["nodes"]):
            self.run_node(scope, node)
        self.depth -= 1
        return [scope.find(o[0]) for o in graph["outputs"]]

    def run_body(self, parent, graph, values):
        """A subgraph with these inputs."""
        return self.run_linked(parent, graph, values, {})[1]

    def run_linked(self, parent, graph, values, links):
        """The same with values for inputs given by name, as (scope, name). Also returns the subgraph's scope."""
        scope = Scope(self, parent, parent.opsets, parent.attrs)
        scope.links = links
        if len(values) < len(graph["inputs"]):
            raise ValueError(f"the graph takes {len(graph['inputs'])} values, {len(values)} are given")
        for (name, _), v in zip(graph["inputs"], values):
            scope.values[name] = v
        return scope, self.run_graph(scope, graph)

    def expand(self, scope, f, node, values):
        attrs = dict(f["defaults"])
        for k, v in scope.attributes(node).items():
            attrs[k] = v
        inner = Scope(self, None, f["opsets"] or scope.opsets, attrs)
        for i, name in enumerate(f["inputs"]):
            inner.values[name] = values[i] if i < len(values) else None
            if i < len(node[3]) and node[3][i]:
                inner.links[name] = (scope, node[3][i])
        self.depth += 1
        if self.depth > 64:
            raise ValueError("graphs and functions nest more than 64 deep")
        for n in in_order(f["nodes"]):
            self.run_node(inner, n)
        self.depth -= 1
        for o, made in zip(node[4], f["outputs"]):
            scope.links[o] = (inner, made)
        return [inner.find(o) for o in f["outputs"]]


def symbol_name(text):
    """dim_param as the name of a symbol; None if it only says that the size is unknown."""
    if text in ("?", "None", "none", "unknown", "-1"):
        return None
    out = "".join(c if c.isalnum() or c == "_" else "_" for c in text)
    if not any([c.isalnum() for c in out]):
        return None
    if out[0] in "uz":  # PyTorch's names of numbers that come from data
        return "d_" + out
    return "s_" + out if out[0].isdigit() else out


def user_input(name, kind, fixed, differentiated=False):
    """The value of a user input of this type."""
    given = fixed.get(name)
    if kind[0] == "optional":
        if name in fixed and given is None:
            return None
        return user_input(name, kind[1], fixed, differentiated)
    if kind[0] == "sequence":
        if not isinstance(given, list):
            _onnx.wants(name)
            _onnx.unsupported(f"input '{name}' is a sequence: how many tensors it has must be known")
        return [_onnx.input(f"{name}.{i}", t.dtype, list(t.shape), None) for i, t in enumerate(given)]
    if kind[0] != "tensor":
        _onnx.unsupported(f"input '{name}' is a {kind[0]}")
    if kind[1] == 8:
        if not isinstance(given, tuple):
            _onnx.wants(name)
            _onnx.unsupported(f"input '{name}' is of strings, which must be known when the program is made")
        wanted = given[1] if kind[2] is None else kind[2]
        if len(wanted) != len(given[1]) or any([_onnx.number(w) and w != g for w, g in zip(wanted, given[1])]):
            raise ValueError(f"input '{name}' has sizes {given[1]}, expected {wanted}")
        return Strings(given[1], given[2])
    if kind[1] not in DTYPES:
        _onnx.unsupported(f"input '{name}' has element type {kind[1]}")
    sizes = kind[2]
    if sizes is None:
        if given is None:
            _onnx.wants(name)
            _onnx.unsupported(f"input '{name}' has no shape: give an example with --input")
        sizes = list(given.shape)
    named = []
    for d, s in enumerate(sizes):
        named.append(s if _onnx.number(s) else (symbol_name(s) if s else None) or symbol_name(f"{name}_{d}") or f"s{d}")
    t = _onnx.input(name, DTYPES[kind[1]], named, given)
    if differentiated and t.dtype.is_floating_point:
        t.requires_grad = True
    return Coded(kind[1], t) if kind[1] in CODED else t


# ---- strings ----
def words_of(v):
    if isinstance(v, list):
        return [w for x in v for w in words_of(x)]
    return v.items if isinstance(v, Strings) else v.words if isinstance(v, Coded) and v.code == 8 else []


def place(v, words, at):
    if isinstance(v, list):
        return [place(x, words, at) for x in v]
    if isinstance(v, Strings):
        return Coded(8, constant(Host(v.shape, [at[w] for w in v.items], torch.int64)), words)
    if not isinstance(v, Coded) or v.code != 8 or v.words == words:
        return v
    return Coded(8, torch.index_select(constant(Host([len(v.words)], [at[w] for w in v.words], torch.int64)), 0, v.t.reshape([-1])).reshape(v.t.shape), words)


def with_places(n, values):
    """Operators that move elements move strings as indices into one sorted list: (values, the list as a Coded or None)."""
    if n.op == "Equal" and all(isinstance(v, Strings) for v in values):
        return values, None
    words, at = sorted(list({w: True for w in words_of(values)})), {}
    if not words and not any(isinstance(v, Strings) for v in values):
        return values, None
    for i, w in enumerate(words):
        at[w] = i
    values = [place(v, words, at) for v in values]
    return [[x.t if isinstance(x, Coded) else x for x in v] if isinstance(v, list) else v for v in values], Coded(8, None, words)


def moved(like, out, first_alone=False):
    if isinstance(out, tuple):
        return tuple(moved(like, t) if i == 0 or not first_alone else t for i, t in enumerate(out))
    if isinstance(out, list):
        return [moved(like, t) for t in out]
    if like.code == 8 and isinstance(out, torch.Tensor) and _onnx.known(out):
        return Strings(out.shape, [like.words[k] for k in numbers(out)])
    return like.moved(out)


def outputs_of(name, v, values, names):
    if isinstance(v, list):
        for i, x in enumerate(v):
            outputs_of(f"{name}.{i}", x, values, names)
        return
    if isinstance(v, Strings):
        for i, s in enumerate(v.items):
            values.append(s)
            names.append(f"{name}.{i}")
        return
    words = v.words if isinstance(v, Coded) else []
    if isinstance(v, Coded):
        v = v.t
    t = tensor(v)
    if t is not None and _onnx.known(t):
        t = t.clone()
    values.append(t)
    names.append(name)
    for i, s in enumerate(words):
        values.append(s)
        names.append(f"{name}.{i}")


def build(m):
    model = Model(m)
    graph = m["graph"]
    scope = Scope(model, None, m["opsets"])
    inits = {}
    for name, t in graph["inits"]:
        if name in inits:
            raise ValueError(f"initialiser '{name}' stands twice in the model")
        inits[name] = True
    for name, kind in graph["inputs"]:
        if name in inits:
            continue
        if name in scope.values:
            raise ValueError(f"input '{name}' stands twice in the model")
        scope.values[name] = user_input(name, kind, m["fixed"], any([n[0] == "Gradient" for n in graph["nodes"]]))
        given = m["fixed"].get(name)
        if isinstance(given, torch.Tensor) and (not given.dtype.is_floating_point or given.numel() <= 64):
            scope.fixed[name] = given
        elif isinstance(given, list) and not isinstance(given, tuple):
            for i, t in enumerate(given):
                scope.fixed[f"{name}.{i}"] = t
    outs = model.run_graph(scope, graph)
    _onnx.at("", 0)
    for name in model.relied:
        v = scope.values[name]
        v = v.t if isinstance(v, Coded) else v
        same = (v == scope.fixed[name]).all() if v.numel() != 0 else None
        if same is not None:
            torch.ops.aten._assert_async.msg(same, f"input '{name}' has other values than the program was made for")
    values, names = [], []
    for (name, _), v in zip(graph["outputs"], outs):
        outputs_of(name, v, values, names)
    return values, names
