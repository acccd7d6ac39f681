# A program as ONNX: write(program, opset) gives the nodes and small initialisers that lib/onnx/write.c puts on the wire.
#
# A rule is rule(w, node, *args) with the arguments of the schema in order: Val for tensors, numbers, Sym for symbolic ones, None, lists. It gives
# the names of the results; w.e("Add", [a, b]) makes a node.
import _onnx
from onnx_write_values import BF16, BOOL, DOUBLE, FLOAT, INT32, INT64, Sym, Val, Writer
import onnx_write_complex
import onnx_write_formula
import onnx_write_linalg
import onnx_write_math
import onnx_write_nn
import onnx_write_random
import onnx_write_shape
import onnx_write_train
from onnx_write_math import Val_of
from onnx_write_shape import filled

TABLE = {}
for _m in (onnx_write_complex.ONLY, onnx_write_math.TABLE, onnx_write_formula.TABLE, onnx_write_linalg.TABLE, onnx_write_shape.TABLE, onnx_write_nn.TABLE, onnx_write_train.TABLE, onnx_write_random.TABLE):
    for _k, _v in _m.items():
        TABLE[_k] = _v


def known(opset):
    """The operators that have a rule; others are decomposed."""
    return [k for k, v in TABLE.items() if not isinstance(v, tuple) or v[0] <= opset]


def rule_of(op, opset):
    v = TABLE.get(op)
    return v if not isinstance(v, tuple) else v[1] if v[0] <= opset else None


WIDE = {BF16: FLOAT, BOOL: INT32, INT64: DOUBLE}


def narrow_type(op, values, args):
    """The types for which ONNX Runtime has no kernel of this operator: bfloat16 unless it is only moved, booleans in arithmetic, int64 in pools."""
    codes = [v.code for v in values + args + [t for a in args if isinstance(a, list) for t in a] if isinstance(v, Val)]
    if BF16 in codes and op not in onnx_write_shape.MOVES and op != "aten.nextafter.default" and op not in onnx_write_random.DRAWN and not op.startswith("higher_order."):
        return BF16
    if args and isinstance(args[0], Val) and args[0].code == INT64 and op.startswith("aten.max_pool"):
        return INT64
    return BOOL if op in onnx_write_math.NUMBERS and values[0].code == BOOL else None


def call(w, op, rule, values, args):
    """The names of a rule's results. Types without kernels are computed in a wider type and each result is rounded, as in tc and PyTorch."""
    if op in onnx_write_complex.ONLY or onnx_write_complex.any_complex(values + args):
        return onnx_write_complex.call(w, op, rule, values, args)
    if values and op != "aten.nonzero.default" and all([v is not None and v.code is not None and 0 in [s for s in v.sizes if not isinstance(s, Sym)] for v in values]):
        return [filled(w, [v], 0) for v in values]  # results without elements: many operators of ONNX ask for some
    if op.startswith(("aten.conv", "aten.avg_pool")) and args and isinstance(args[0], Val) and not args[0].is_float():
        _onnx.unsupported(f"{op} of integers has no form in ONNX")
    code = narrow_type(op, values, args)

    def wide(v):
        if isinstance(v, list):
            return [wide(x) for x in v]
        return Val_of(w, w.cast(v, WIDE[code]), WIDE[code], v.sizes) if isinstance(v, Val) and v.code == code else v

    outs = [Val(v.id, WIDE[code], v.sizes) if v is not None and code is not None and v.code == code else v for v in values]
    names = rule(w, outs, *([wide(a) for a in args] if code is not None else args))
    names = list(names) if isinstance(names, (tuple, list)) else [names]
    return [w.e("Cast", [n], {"to": v.code}) if v is not o and n is not None else n for v, o, n in zip(values, outs, names)]


def run(w, graph):
    """The nodes of one graph; the names of its outputs."""
    for op, args, outs in graph["nodes"]:
        _onnx.at(f"{op} that makes '{([o[0] for o in outs if o] + [''])[0]}'")
        rule = rule_of(op, w.opset)
        if rule is None:
            _onnx.unsupported(f"{op} has no form in ONNX (opset {w.opset})")
        values = [w.value(o) for o in outs]
        names = call(w, op, rule, values, [w.arg(a) for a in args])
        for v, name in zip(values, names):
            if v is not None and name is not None:
                w.bind(v, name)
    return [w.lookup(o) for o in graph["outputs"]]


def write(p, opset):
    w = Writer(opset, run)
    for name in p["positive"]:
        w.positive[name] = True
    for id, name, code, sizes in p["inputs"] + p["state"]:
        if isinstance(id, tuple):  # a number
            w.used[name] = True
            w.numbers[f"{id}"] = w.e("Reshape", [name, w.ints([1])])
        else:
            v = w.declare(id, code, sizes, name)
            if onnx_write_complex.is_complex(v):
                w.bind(v, onnx_write_complex.split(w, name))
    outs = run(w, p)
    _onnx.at("")
    final = []
    outs, pairs = [o for o in outs if o], []
    for wanted, late, number, code in p["output_names"]:
        got = outs.pop(0) if number is None else w.condition(Sym(number)) if code == BOOL else w.scalar(Sym(number), code)
        pairs.append((wanted, late, got))
    for wanted, late, got in [q for q in pairs if not q[1]] + [q for q in pairs if q[1]]:
        if isinstance(got, tuple):
            got = onnx_write_complex.join(w, got)
        if wanted in w.used:
            wanted = w.fresh(wanted)
        w.used[wanted] = True
        w.nodes.append(("Identity", "", [got], [wanted], {}))
        final.append(wanted)
    return w.live(final), list(w.inits.values()), final
