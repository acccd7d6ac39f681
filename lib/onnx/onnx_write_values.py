# Values, names and symbolic numbers of a program that is written as ONNX.
import _onnx

FLOAT, UINT8, INT8, INT32, INT64, BOOL, HALF, DOUBLE, BF16 = 1, 2, 3, 6, 7, 9, 10, 11, 16
FLOATS8 = (17, 18, 19, 20)
UNSATURATED = (18, 19, 20)  # what is too large for them is NaN or infinite in PyTorch, and the largest in float8_e4m3fn
RANK = {BOOL: 0, UINT8: 1, INT8: 1, 4: 1, 5: 1, INT32: 2, 12: 2, INT64: 3, 13: 3, HALF: 4, BF16: 4, FLOAT: 5, DOUBLE: 6}


CONDITIONS = ("eq", "ne", "lt", "le", "and", "or", "not")


class Sym:
    """A symbolic number: its expression as a tuple, ("var", name) or (operation, operands...)."""

    def __init__(self, expr):
        self.expr = expr


class Val:
    def __init__(self, id, code, sizes):
        self.id, self.code, self.sizes = id, code, sizes

    def rank(self):
        return len(self.sizes)

    def is_float(self):
        return self.code in (FLOAT, HALF, DOUBLE, BF16)


class Writer:
    def __init__(self, opset, run):
        self.opset, self.run = opset, run
        self.nodes, self.inits, self.constants = [], {}, {}
        self.values, self.names, self.used, self.places, self.numbers = {}, {}, {}, {}, {}
        self.real = {}  # by symbol: is it a real number?
        self.positive = {}  # symbols that are 1 or more
        self.count = 0

    # ---- names ----
    def fresh(self, hint="t"):
        self.count += 1
        name = f"{hint}_{self.count}"
        while name in self.used:
            self.count += 1
            name = f"{hint}_{self.count}"
        self.used[name] = True
        return name

    def declare(self, id, code, sizes, name):
        v = self.value((id, code, sizes, None))
        self.used[name] = True
        self.bind(v, name)
        return v

    def bind(self, v, name):
        self.names[v.id] = name
        if v.code is None:  # a number
            return
        for d, s in enumerate(v.sizes):
            if isinstance(s, Sym):
                self.place(s.expr, name[0] if isinstance(name, tuple) else name, d)

    def place(self, x, name, d):
        """Where a symbol can be read: a size equal to it, or to it plus or times a number."""
        steps = []
        while x[0] in ("add", "mul") and len(x) == 3 and isinstance(x[1], tuple) != isinstance(x[2], tuple):
            op, x, k = (x[0], x[1], x[2]) if isinstance(x[1], tuple) else (x[0], x[2], x[1])
            steps.append(("Sub" if op == "add" else "Div", k))
        if x[0] == "var" and (x[1] not in self.places or len(self.places[x[1]][2]) > len(steps)):
            self.places[x[1]] = (name, d, steps)

    def value(self, o):
        if o is None:
            return None
        id, code, sizes, symbol = o
        if code in FLOATS8 and self.opset < 19:
            _onnx.unsupported("8-bit floating point below opset 19")
        v = Val(id, code, [Sym(s) if isinstance(s, tuple) else s for s in (sizes or [])])
        v.symbol = symbol
        self.values[id] = v
        return v

    def lookup(self, id):
        return self.names[id] if id is not None else ""

    def name(self, v):
        return self.names[v.id] if isinstance(v, Val) else v

    def arg(self, a):
        """An argument in the form that import.c gives."""
        if isinstance(a, tuple) and a and a[0] == "value":
            return self.values[a[1]]
        if isinstance(a, tuple) and a and a[0] == "graph":
            return a[1]
        if isinstance(a, tuple):
            return Sym(a)
        if isinstance(a, list):
            return [self.arg(x) for x in a]
        return a

    # ---- nodes ----
    def e(self, op, inputs, attrs=None, n=1, domain=""):
        outs = [self.fresh(op.lower()) for _ in range(n)]
        ins = ["" if i is None else self.name(i) for i in inputs]
        while ins and ins[-1] == "":
            ins.pop()
        if not all([isinstance(i, str) for i in ins]):
            _onnx.unsupported(f"a number that depends on sizes as an operand of {op}")
        if op == "Cast" and attrs["to"] in UNSATURATED:
            attrs["saturate"] = 0
        self.nodes.append((op, domain, ins, outs, attrs or {}))
        return outs[0] if n == 1 else outs

    def const(self, items, code, dims=None):
        """An initialiser: a number, or a list of numbers (dims: its sizes). A symbolic number is computed."""
        if isinstance(items, Sym):
            return self.scalar(items, code)
        flat = items if isinstance(items, list) else [items]
        dims = dims if dims is not None else [len(items)] if isinstance(items, list) else []
        key = f"{flat} {code} {dims}"
        if key not in self.constants:
            name = self.fresh("c")
            self.constants[key] = name
            self.inits[name] = (name, code, dims, flat)
        return self.constants[key]

    def ints(self, items):
        return self.sizes(items) if any([isinstance(s, Sym) for s in items]) else self.const(list(items), INT64)

    def cast(self, v, code, have=None):
        have = v.code if isinstance(v, Val) else have
        return self.name(v) if have == code else self.e("Cast", [v], {"to": code})

    def body_of(self, inputs, run):
        """A subgraph with inputs of its own, [(name, type, rank)]; run() makes its nodes and returns [(name, type, rank)]."""
        outer, self.nodes = self.nodes, []
        numbers, self.numbers = self.numbers, dict(self.numbers)
        places = dict(self.places)
        outs = [[self.e("Identity", [o]), code, rank] for o, code, rank in run()]
        nodes, self.nodes = self.nodes, outer
        self.numbers, self.places = numbers, places
        own = {}
        for i in inputs:
            own[i[0]] = True
        return {"nodes": nodes, "inputs": inputs, "outputs": outs, "reads": [i for n in nodes for i in n[2] if i not in own]}

    def live(self, outputs):
        """The nodes that the outputs need, in order."""
        need, keep = {}, []
        for o in outputs:
            need[o] = True
        for node in reversed(self.nodes):
            if any([o in need for o in node[3]]):
                keep.append(node)
                for i in node[2]:
                    need[i] = True
                for a in node[4].values():
                    if isinstance(a, dict):
                        for name in a["reads"]:
                            need[name] = True
        return list(reversed(keep))

    # ---- symbolic numbers ----
    def number(self, s):
        """A number as a vector of one element: int64; float64 for reals."""
        if not isinstance(s, Sym):
            return self.expression(s)
        key = f"{s.expr}"
        if key not in self.numbers:
            self.numbers[key] = self.expression(s.expr)
        return self.numbers[key]

    def expression(self, x):
        if not isinstance(x, tuple):
            return self.const([x], DOUBLE) if isinstance(x, float) else self.ints([x])
        if x[0] == "where":
            a, b = [self.number(Sym(v) if isinstance(v, tuple) else v) for v in x[2:]]
            return self.e("Where", [self.condition(Sym(x[1])), a, b])
        op, rest = x[0], [self.number(Sym(a) if isinstance(a, tuple) else a) for a in x[1:]] if x[0] != "var" else []
        if op == "var":
            if x[1] in self.places:
                value, d, steps = self.places[x[1]]
                out = self.e("Shape", [value], {"start": d, "end": d + 1})
                for back, k in steps:
                    out = self.e(back, [out, self.ints([k])])
                return out
            _onnx.unsupported(f"the size {x[1]} is not the size of any value")
        simple = {"add": "Add", "mul": "Mul", "min": "Min", "max": "Max", "mod": "Mod", "pow": "Pow"}
        if op in simple:
            out = rest[0]
            for r in rest[1:]:
                out = self.e(simple[op], [out, r])
            return out
        if op == "floordiv":  # rounds down: ONNX's division of integers truncates
            m = self.e("Mod", rest)
            return self.e("Div", [self.e("Sub", [rest[0], m]), rest[1]])
        if op == "abs":
            return self.e("Abs", rest)
        if op in ("trunc", "floor", "ceil", "round"):
            y = rest[0] if op == "trunc" else self.e({"floor": "Floor", "ceil": "Ceil", "round": "Round"}[op], rest)
            return self.e("Cast", [y], {"to": INT64})
        floats = {"fadd": "Add", "fsub": "Sub", "fmul": "Mul", "fdiv": "Div", "fmin": "Min", "fmax": "Max", "fneg": "Neg", "sqrt": "Sqrt", "tofloat": None,
                  "fpow": "Pow", "fabs": "Abs", "exp": "Exp", "log": "Log", "sin": "Sin", "cos": "Cos", "tanh": "Tanh"}
        if op in floats:
            rest = [self.e("Cast", [r], {"to": DOUBLE}) for r in rest]
            return self.e(floats[op], rest) if floats[op] else rest[0]
        _onnx.unsupported(f"the size operation '{op}'")

    def may_be_0(self, x):
        """Is this size, or the expression of one, 0 for some inputs?"""
        x = x.expr if isinstance(x, Sym) else x
        if not isinstance(x, tuple):
            return x == 0
        if x[0] in ("mul", "max"):
            return (any if x[0] == "mul" else all)([self.may_be_0(a) for a in x[1:]])
        return x[0] != "var" or x[1] not in self.positive

    def condition(self, s):
        """A 0-d boolean about sizes."""
        op, rest = s.expr[0], s.expr[1:]
        if op in ("and", "or", "not"):
            parts = [self.condition(Sym(a)) if isinstance(a, tuple) else self.const(a, BOOL) for a in rest]
            out = self.e("Not", parts) if op == "not" else parts[0]
            for p in parts[1:]:
                out = self.e(op.title(), [out, p])
            return out
        names = {"eq": "Equal", "ne": "Equal", "lt": "Less", "le": "LessOrEqual"}
        if op not in names:
            _onnx.unsupported(f"the condition '{op}' on sizes")
        out = self.e("Squeeze", [self.e(names[op], [self.number(Sym(a) if isinstance(a, tuple) else a) for a in rest]), self.ints([0])])
        return self.e("Not", [out]) if op == "ne" else out

    def sizes(self, items):
        """Sizes as an int64 vector."""
        if not any([isinstance(s, Sym) for s in items]):
            return self.ints(items)
        parts, k = [], 0
        while k < len(items):
            run = []
            while k < len(items) and not isinstance(items[k], Sym):
                run.append(items[k])
                k += 1
            if run:
                parts.append(self.ints(run))
            else:
                parts.append(self.number(items[k]))
                k += 1
        return parts[0] if len(parts) == 1 else self.e("Concat", parts, {"axis": 0})

    def scalar(self, s, code):
        """A number of any kind as a 0-d tensor of this type."""
        if isinstance(s, Sym) and s.expr[0] in CONDITIONS:
            return self.cast(self.condition(s), code, BOOL)
        if isinstance(s, Sym):
            v = self.e("Squeeze", [self.number(s), self.ints([0])])
            whole = s.expr[0] not in ("fadd", "fsub", "fmul", "fdiv", "fmin", "fmax", "fneg", "sqrt", "tofloat") and not self.real.get(f"{s.expr}", False)
            return v if code == INT64 and whole else self.e("Cast", [v], {"to": code})
        if isinstance(s, Val):
            return self.cast(s, code)
        return self.const(s, code)

    def reshape(self, v, sizes):
        free = [i for i, s in enumerate(sizes) if isinstance(s, Sym)]
        if len(free) == 1 and 0 not in [s for s in sizes if not isinstance(s, Sym)]:
            return self.e("Reshape", [v, self.ints([-1 if i == free[0] else s for i, s in enumerate(sizes)])])
        return self.e("Reshape", [v, self.sizes(sizes)], {"allowzero": 1} if free or 0 in sizes else {})
