# If, Loop, Scan and recurrent networks: subgraphs of the model as torch.cond, while_loop and scan.
import torch
from torch import _C
from onnx_quant import at_once, dynamic_matmul
from onnx_values import Host, Strings, Weight, constant, numbers, sizes_of, tensor
import _onnx

UNROLL = 64  # loops of at most this many iterations are unrolled


def scan_over(step, carry, xs):
    """carry, y[t] = step(carry, [x[t] for x in xs]) over dimension 0; carry is a tensor. -> (carry, stacked y)"""

    def one(state, items):
        c, y = step(state[0], items)
        return [c], [y]

    state, ys = scan(one, [carry], xs)
    return state[0], ys[0]


def scan(step, carry, xs, grows=False):
    """The same for lists of tensors; grows: a carried tensor may have another size in each iteration."""
    return _C.scan(step, list(carry), list(xs), grows)


# ---- If ----
def if_(n, cond):
    model, scope = n.scope.model, n.scope
    known = n.known(0)
    if known is not None and not _onnx.from_data(known[0]):
        branch = n.get("then_branch") if _onnx.truth(known[0]) else n.get("else_branch")
        inner, outs = model.run_linked(scope, branch, [], {})
        for o, made in zip(n.outputs, branch["outputs"]):
            scope.links[o] = (inner, made[0])
        return tuple(outs)
    pred = tensor(cond).reshape([])

    def arm(name):
        def run():
            return tuple([tensor(v) for v in model.run_body(scope, n.get(name), [])])

        return run

    return tuple(torch.cond(pred, arm("then_branch"), arm("else_branch"), ()))


# ---- Loop ----
def follows(graph, name, steps=0):
    """The kind of condition that a body returns: True (a constant), "same" (its own input), or None."""
    if name == graph["inputs"][1][0]:
        return "same"
    for name2, t in graph["inits"]:
        if name2 == name:
            return bool(numbers(t[1])[0])
    for node in graph["nodes"]:
        if name in node[4]:
            if node[0] == "Identity" and steps < 16:
                return follows(graph, node[3][0], steps + 1)
            if node[0] == "Constant" and "value" in node[5]:
                return bool(numbers(node[5]["value"][1])[0])
    return None


def loop(n, count, cond, *carried):
    model, scope, body = n.scope.model, n.scope, n.get("body")
    ncarry = len(carried)
    nscan = len(body["outputs"]) - 1 - ncarry
    always = follows(body, body["outputs"][0][0])
    start = True if cond is None else n.known(1)
    start = start[0] if isinstance(start, list) else start
    if always == "same" and start is not None:
        always = bool(start)
    trips = None if count is None else n.known(0)
    trips = trips[0] if trips else None
    plain = True
    for v in carried:
        plain = plain and not isinstance(v, (list, Strings))
    if start is not None and not bool(start):
        trips = 0
    if always is True and trips is not None and _onnx.number(trips) and trips > UNROLL and plain:
        return counted(n, body, trips, carried, nscan)
    if always is True and trips is not None and not _onnx.number(trips) and plain:
        return counted(n, body, trips, carried, nscan)
    if trips is not None and not _onnx.number(trips):
        trips = None
    if start is not None and (trips is not None or count is None):
        out = unrolled(n, body, trips, carried, nscan)
        if out is not None:
            return out
    if count is not None and always is not None and always is not False and plain:
        most = trips_of(count)
        most = most if always is True and start is not None else torch.where(tensor(cond).reshape([]), most, 0)
        return counted(n, body, most.item(), carried, nscan)
    return searched(n, body, count, cond, carried, nscan)


def trips_of(count):
    """The number of iterations as a tensor, at least 0."""
    return tensor(count).reshape([]).to(torch.int64).clamp(min=0)


def unrolled(n, body, trips, carried, nscan):
    """Unrolls the loop while the condition is known; None if it is not."""
    model, scope = n.scope.model, n.scope
    state, scans, k, more = list(carried), [[] for _ in range(nscan)], 0, True
    links = {}
    for i in range(len(carried)):
        links[body["inputs"][2 + i][0]] = (scope, n.inputs[2 + i])
    while more and (trips is None or k < trips):
        if k >= 4096:
            n.unsupported("a loop of more than 4096 iterations that is written out")
        at, go = _onnx.eager(_scalar, k, torch.int64), _onnx.eager(_scalar, True, torch.bool)
        inner, outs = model.run_linked(scope, body, [at, go] + state, links)
        name = body["outputs"][0][0]
        k += 1
        known = inner.known(name)
        if known is None:
            if trips is None or k < trips:
                return None
            known = [False]
        more = bool(known[0])
        state = outs[1:1 + len(carried)]
        for i in range(nscan):
            scans[i].append(tensor(outs[1 + len(carried) + i]))
        links = {}
        for i in range(len(carried)):
            links[body["inputs"][2 + i][0]] = (inner, body["outputs"][1 + i][0])
    for i in range(len(carried)):
        if k and i < len(n.outputs):
            scope.links[n.outputs[i]] = links[body["inputs"][2 + i][0]]
    return tuple(state + [stacked(n, body, len(carried), i, s) for i, s in enumerate(scans)])


def _scalar(v, dtype):
    return torch.tensor(v, dtype=dtype)


def stacked(n, body, ncarry, i, items):
    if items:
        return torch.stack(items, 0)
    kind = body["outputs"][1 + ncarry + i][1]
    from onnx_import import DTYPES

    sizes = kind[2] if kind[0] == "tensor" and kind[2] is not None else []
    return torch.zeros([0] + [s if _onnx.number(s) else 0 for s in sizes], dtype=DTYPES[kind[1]])


def counted(n, body, trips, carried, nscan):
    """A loop of `trips` iterations without a condition: a scan over the iteration numbers."""
    model, scope = n.scope.model, n.scope

    def step(state, xs):
        outs = model.run_body(scope, body, [xs[0], _onnx.eager(_scalar, True, torch.bool)] + list(state))
        outs = [tensor(v) for v in outs[1:]]
        return outs[:len(carried)], outs[len(carried):]

    state, scans = scan(step, [tensor(v) for v in carried], [torch.arange(trips)], True)
    return tuple(list(state) + list(scans))


def searched(n, body, count, cond, carried, nscan):
    """A loop that ends by its condition. If it stacks values, it runs twice: the first run counts the iterations, the second stacks."""
    model, scope, k = n.scope.model, n.scope, len(carried)
    limit = None if count is None else trips_of(count)
    go = tensor(cond).reshape([]) if cond is not None else torch.full([], True, dtype=torch.bool)

    def test(i, more, *state):
        return more if limit is None else torch.logical_and(more, i < limit)

    def run(i, more, *state):
        outs = [tensor(v) for v in model.run_body(scope, body, [i, more] + list(state))[:1 + k]]
        for new, old in zip(outs[1:], state):
            if isinstance(new, list) and len(new) != len(old):
                n.unsupported("a loop that changes the length of a sequence as often as data say")
        return tuple([i + 1, outs[0].reshape([])] + outs[1:])

    start = [torch.zeros([], dtype=torch.int64), go] + [tensor(v) for v in carried]
    out = _C.while_loop(test, run, tuple(start), True)
    return counted(n, body, out[0].item(), carried, nscan) if nscan else tuple(out[2:])


# ---- Scan ----
def scan_op(n, *args):
    model, scope, body = n.scope.model, n.scope, n.get("body")
    if n.version < 9:
        return scan_8(n, *args)
    nxs = n.get("num_scan_inputs")
    ninit = len(args) - nxs
    nout = len(body["outputs"]) - ninit
    axes, ways = n.get("scan_input_axes", [0] * nxs), n.get("scan_input_directions", [0] * nxs)
    out_axes, out_ways = n.get("scan_output_axes", [0] * nout), n.get("scan_output_directions", [0] * nout)
    xs = []
    for x, a, w in zip(args[ninit:], axes, ways):
        x = tensor(x)
        x = x.movedim(a, 0) if a else x
        xs.append(torch.flip(x, [0]) if w else x)

    def step(state, items):
        outs = [tensor(v) for v in model.run_body(scope, body, list(state) + list(items))]
        return outs[:ninit], outs[ninit:]

    state, ys = scan(step, [tensor(v) for v in args[:ninit]], xs)
    out = []
    for y, a, w in zip(ys, out_axes, out_ways):
        y = torch.flip(y, [0]) if w else y
        out.append(y.movedim(0, a) if a else y)
    return tuple(list(state) + out)


def scan_8(n, lengths, *args):
    """Opset 8: inputs have a batch dimension first, then the sequence; lengths [B] of the sequences."""
    model, scope, body = n.scope.model, n.scope, n.get("body")
    nxs = n.get("num_scan_inputs")
    ninit, ways = len(args) - nxs, n.get("directions", [0] * nxs)
    args = [tensor(v) for v in args]
    at = [] if lengths is None else [torch.arange(args[ninit].shape[1])]

    def one(row):
        long = row[-1] if at else None
        xs = [reversed_in(x.unsqueeze(1), long.reshape([1]) if at else None).squeeze(1) if w else x for x, w in zip(row[ninit:], ways)]

        def step(state, items):
            outs = [tensor(v) for v in model.run_body(scope, body, list(state) + list(items[:nxs]))]
            new, y = outs[:ninit], outs[ninit:]
            if at:  # after its end a sequence keeps its state and gives zeros
                live = items[nxs] < long
                new, y = [torch.where(live, a, o) for a, o in zip(new, state)], [torch.where(live, v, torch.zeros_like(v)) for v in y]
            return new, y

        state, ys = scan(step, row[:ninit], xs + at)
        return list(state) + list(ys)

    rows = args if lengths is None else args + [tensor(lengths)]
    batch = args[0].shape[0]
    if not _onnx.number(batch):
        return tuple(_C.map(one, (rows,)))
    made = [one([v[b] for v in rows]) for b in range(batch)]
    return tuple([torch.stack([r[i] for r in made], 0) for i in range(len(made[0]))])


# ---- recurrent networks ----
def activation(name, alpha, beta):
    import torch.nn.functional as F

    name = name.lower()
    table = {"relu": torch.relu, "tanh": torch.tanh, "sigmoid": torch.sigmoid, "softsign": F.softsign, "softplus": F.softplus}
    if name in table:
        return table[name]
    if name == "affine":
        return lambda x: x * alpha + beta
    if name == "leakyrelu":
        return lambda x: F.leaky_relu(x, 0.01 if alpha is None else alpha)
    if name == "thresholdedrelu":
        return lambda x: torch.where(x > (1.0 if alpha is None else alpha), x, torch.zeros_like(x))
    if name == "scaledtanh":
        return lambda x: torch.tanh(x * beta) * alpha
    if name == "hardsigmoid":
        return lambda x: torch.clamp(x * (0.2 if alpha is None else alpha) + (0.5 if beta is None else beta), 0.0, 1.0)
    if name == "elu":
        return lambda x: F.elu(x, 1.0 if alpha is None else alpha)
    raise ValueError(f"activation {name}")


def activations(n, default, directions):
    names = n.get("activations", None) or default * directions
    alphas, betas = n.get("activation_alpha", None) or [], n.get("activation_beta", None) or []
    takes = {"affine": 2, "scaledtanh": 2, "hardsigmoid": 2, "leakyrelu": 1, "thresholdedrelu": 1, "elu": 1}
    out, ia, ib = [], 0, 0
    for name in names:
        k = takes.get(name.lower(), 0)
        alpha = alphas[ia] if k >= 1 and ia < len(alphas) else None
        beta = betas[ib] if k == 2 and ib < len(betas) else None
        ia, ib = ia + (1 if k >= 1 else 0), ib + (1 if k == 2 else 0)
        out.append(activation(name, alpha, beta))
    return out


def is_default(n, default, directions):
    names = n.get("activations", None)
    if names is None:
        return True
    return [x.lower() for x in names] == [x.lower() for x in default * directions]


def gates(w, order, hidden):
    """Rows of w [D, G*H, ...] with the gates in another order: a new weight if w is one, else slices."""

    def reorder(t):
        return torch.cat([t.narrow(1, g * hidden, hidden) for g in order], 1)

    if order == sorted(order):
        return tensor(w)
    return w.part(".gates", reorder) if isinstance(w, Weight) else reorder(tensor(w))


def biases(b, order, hidden, count):
    """B [D, 2*G*H] as the biases of the input and of the state, each [D, G*H], in the new order."""

    def half(t, k):
        t = t.narrow(1, k * count * hidden, count * hidden)
        return torch.cat([t.narrow(1, g * hidden, hidden) for g in order], 1)

    if isinstance(b, Weight):
        return [b.part(f".{k}", half, k) for k in range(2)]
    b = tensor(b)
    return [half(b, 0), half(b, 1)]


def recurrent(kind, default, order, count):
    """LSTM, GRU, RNN. Y [T, D, B, H], Y_h [D, B, H], Y_c."""

    def rule(n, x, w, r, b=None, lengths=None, h0=None, c0=None, peep=None):
        direction = n.get("direction", "forward")
        dirs = 2 if direction == "bidirectional" else 1
        hidden = n.get("hidden_size", 0) or (r.data.shape[2] if isinstance(r, Weight) else tensor(r).shape[2])
        if not isinstance(r, Bytes):
            width = sizes_of(r)[2]
            if not _onnx.number(width):  # hidden_size is known where the weight's sizes are not
                r = tensor(r).narrow(2, 0, hidden)
            if not _onnx.require(width == hidden):
                n.fail(f"hidden_size is {hidden}, but the recurrent weights are for {width}")
        batchwise = n.get("layout", 0)
        if batchwise:
            x = x.transpose(0, 1)
            h0 = None if h0 is None else h0.transpose(0, 1)
            c0 = None if c0 is None else c0.transpose(0, 1)
        steps, batch = x.shape[0], x.shape[1]
        known = n.known(4) if lengths is not None else None
        if known is not None and _onnx.number(steps) and min(known + [steps]) >= steps:
            lengths = None
        h = torch.zeros([dirs, batch, hidden], dtype=x.dtype) if h0 is None else h0
        c = None
        if kind == "LSTM":
            c = torch.zeros([dirs, batch, hidden], dtype=x.dtype) if c0 is None else c0
        # peepholes of zeros, which some exporters write
        pk = n.known(7) if peep is not None else None
        if pk is not None and not any([v != 0 for v in pk]):
            peep = None
        native = not isinstance(w, Bytes) and lengths is None and peep is None and direction != "reverse" and not n.get("clip", 0.0) and not n.get("input_forget", 0)
        native = native and is_default(n, default, dirs) and (kind != "GRU" or n.get("linear_before_reset", 0))
        if native:
            y, hn, cn = on_torch(kind, order, count, hidden, dirs, x, w, r, b, h, c)
            y = y.reshape([steps, batch, dirs, hidden]).transpose(1, 2)
        else:
            y, hn, cn = on_scan(n, kind, default, count, hidden, direction, dirs, x, w, r, b, lengths, h, c, peep)
        if batchwise:
            y = y.permute([2, 0, 1, 3])
            hn = hn.transpose(0, 1)
            cn = None if cn is None else cn.transpose(0, 1)
        return (y, hn) if kind != "LSTM" else (y, hn, cn)

    return rule


def on_torch(kind, order, count, hidden, dirs, x, w, r, b, h, c):
    w, r = gates(w, order, hidden), gates(r, order, hidden)
    bias = None if b is None else biases(b, order, hidden, count)
    params = []
    for d in range(dirs):
        params += [w[d], r[d]] + ([] if bias is None else [bias[0][d], bias[1][d]])
    has, two = bias is not None, dirs == 2
    if kind == "LSTM":
        return torch.lstm(x, [h, c], params, has, 1, 0.0, False, two, False)
    y, hn = (torch.gru if kind == "GRU" else torch.rnn_tanh)(x, h, params, has, 1, 0.0, False, two, False)
    return y, hn, None


def reversed_in(x, lengths):
    """x [T, B, ...] with the first lengths[b] steps of each column in reverse."""
    if lengths is None:
        return torch.flip(x, [0])
    at = torch.arange(x.shape[0]).unsqueeze(1)
    long = lengths.to(torch.int64).unsqueeze(0)
    index = torch.where(at < long, long - 1 - at, at)
    return torch.gather(x, 0, index.reshape(list(index.shape) + [1] * (x.dim() - 2)).expand(list(x.shape)))


class Bytes:
    """Byte weights [D, K, N] with a scale and a zero point for each direction or column. Their other operand is quantised as a whole."""

    def __init__(self, n, codes, scale, zero):
        self.n, self.codes, self.scale, self.zero = n, codes, scale, zero

    def __getitem__(self, d):
        return Bytes(self.n, at_once(lambda t: t[d], self.codes), self.scale[d], None if self.zero is None else self.zero[d])


def times(x, w):
    """x [..., K] times the transpose of w [N, K], or times bytes [K, N]."""
    return dynamic_matmul(w.n, x, w.codes, w.scale, w.zero) if isinstance(w, Bytes) else torch.matmul(x, w.t())


def on_scan(n, kind, default, count, hidden, direction, dirs, x, w, r, b, lengths, h, c, peep):
    fs = activations(n, default, dirs)
    if not isinstance(w, Bytes):
        w, r = tensor(w), tensor(r)
    b = None if b is None else tensor(b)
    per = len(fs) // dirs
    ys, hs, cs = [], [], []
    for d in range(dirs):
        back = direction == "reverse" or d == 1
        xd = reversed_in(x, lengths) if back else x
        wb = None if b is None else b[d].narrow(0, 0, count * hidden)
        rb = None if b is None else b[d].narrow(0, count * hidden, count * hidden)
        pre = times(xd, w[d])
        pre = pre if wb is None else pre + wb
        cell = CELLS[kind](n, fs[per * d:per * d + per], r[d], rb, hidden, None if peep is None else peep[d])
        state = [h[d]] + ([c[d]] if c is not None else [])
        at = [torch.arange(x.shape[0])] if lengths is not None else []

        def step(s, xs):
            new = cell(s, xs[0])
            y = new[0]
            if lengths is not None:
                live = (xs[1] < lengths).unsqueeze(-1)
                new = [torch.where(live, a, o) for a, o in zip(new, s)]
                y = torch.where(live, y, torch.zeros_like(y))
            return new, [y]

        s, y = scan(step, state, [pre] + at)
        y = y[0]
        ys.append(reversed_in(y, lengths) if back else y)
        hs.append(s[0])
        if c is not None:
            cs.append(s[1])
    return torch.stack(ys, 1), torch.stack(hs, 0), torch.stack(cs, 0) if cs else None


def clipped(n, x):
    v = n.get("clip", 0.0)
    return torch.clamp(x, -v, v) if v else x


def lstm_cell(n, fs, r, rb, hidden, peep):
    f, g, h = fs
    p = None if peep is None else [peep.narrow(0, i * hidden, hidden) for i in range(3)]  # i, o, f

    def cell(state, pre):
        a = pre + times(state[0], r)
        a = a if rb is None else a + rb
        i, o, ft, c = [a.narrow(-1, k * hidden, hidden) for k in range(4)]
        old = state[1]
        i = f(clipped(n, i if p is None else i + p[0] * old))
        ft = 1 - i if n.get("input_forget", 0) else f(clipped(n, ft if p is None else ft + p[2] * old))
        new = ft * old + i * g(clipped(n, c))
        o = f(clipped(n, o if p is None else o + p[1] * new))
        return [o * h(new), new]

    return cell


def gru_cell(n, fs, r, rb, hidden, peep):
    f, g = fs
    rz, rr, rh = [r.narrow(0, k * hidden, hidden) for k in range(3)]
    bz, br, bh = [None if rb is None else rb.narrow(0, k * hidden, hidden) for k in range(3)]

    def plus(x, b):
        return x if b is None else x + b

    def cell(state, pre):
        old = state[0]
        xz, xr, xh = [pre.narrow(-1, k * hidden, hidden) for k in range(3)]
        z = f(clipped(n, plus(xz + torch.matmul(old, rz.t()), bz)))
        rt = f(clipped(n, plus(xr + torch.matmul(old, rr.t()), br)))
        if n.get("linear_before_reset", 0):
            h = g(clipped(n, xh + rt * plus(torch.matmul(old, rh.t()), bh)))
        else:
            h = g(clipped(n, plus(xh + torch.matmul(rt * old, rh.t()), bh)))
        return [(1 - z) * h + z * old]

    return cell


def rnn_cell(n, fs, r, rb, hidden, peep):
    f = fs[0]

    def cell(state, pre):
        a = pre + torch.matmul(state[0], r.t())
        return [f(clipped(n, a if rb is None else a + rb))]

    return cell


CELLS = {"LSTM": lstm_cell, "GRU": gru_cell, "RNN": rnn_cell}

LSTM = recurrent("LSTM", ["Sigmoid", "Tanh", "Tanh"], [0, 2, 3, 1], 4)
TABLE = [
    ("", "If", 1, if_, "R"), ("", "Loop", 1, loop, "rrr"), ("", "Scan", 8, scan_op, "r"),
    ("", "LSTM", 1, LSTM, "TRRrtttt"),
    ("", "GRU", 1, recurrent("GRU", ["Sigmoid", "Tanh"], [1, 0, 2], 3), "TRRrtt"),
    ("", "RNN", 1, recurrent("RNN", ["Tanh"], [0], 1), "TRRrtt"),
]
