# A program as ONNX: write(program, opset) gives the nodes and small initialisers that lib/onnx/write.c puts on the wire.
#
# A rule is rule(w, node, *args) with the arguments of the schema in order: Val for tensors, numbers, Sym for symbolic ones, None, lists. It gives
# the names of the results; w.e("Add", [a, b]) makes a node.
import _onnx
from onnx_write_values import INT64, Sym, Val, Writer
import onnx_write_math
import onnx_write_nn
import onnx_write_shape

TABLE = {}
for _m in (onnx_write_math, onnx_write_shape, onnx_write_nn):
    for _k, _v in _m.TABLE.items():
        TABLE[_k] = _v


def known(opset):
    """The operators that have a rule; others are decomposed."""
    return [k for k, v in TABLE.items() if not isinstance(v, tuple) or v[0] <= opset]


def rule_of(op, opset):
    v = TABLE.get(op)
    return v if not isinstance(v, tuple) else v[1] if v[0] <= opset else None


def run(w, graph):
    """The nodes of one graph; the names of its outputs."""
    for op, args, outs in graph["nodes"]:
        _onnx.at(f"{op} that makes '{outs[0][0] if outs else ''}'")
        rule = rule_of(op, w.opset)
        if rule is None:
            _onnx.unsupported(f"{op} has no form in ONNX (opset {w.opset})")
        values = [w.value(o) for o in outs]
        names = rule(w, values, *[w.arg(a) for a in args])
        if not isinstance(names, (tuple, list)):
            names = [names]
        for v, name in zip(values, names):
            if v is not None and name is not None:
                w.bind(v, name)
    return [w.lookup(o) for o in graph["outputs"]]


def write(p, opset):
    w = Writer(opset, run)
    for id, name, code, sizes in p["inputs"] + p["state"]:
        if isinstance(id, tuple):  # a number
            w.used[name] = True
            w.numbers[f"{id}"] = w.e("Reshape", [name, w.ints([1])])
        else:
            w.declare(id, code, sizes, name)
    outs = run(w, p)
    _onnx.at("")
    final = []
    outs, pairs = [o for o in outs if o], []
    for wanted, late, number in p["output_names"]:
        pairs.append((wanted, late, w.scalar(Sym(number), INT64) if number is not None else outs.pop(0)))
    for wanted, late, got in [q for q in pairs if not q[1]] + [q for q in pairs if q[1]]:
        if wanted in w.used:
            wanted = w.fresh(wanted)
        w.used[wanted] = True
        w.nodes.append(("Identity", "", [got], [wanted], {}))
        final.append(wanted)
    return w.live(final), list(w.inits.values()), final
