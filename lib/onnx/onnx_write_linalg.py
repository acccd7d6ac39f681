# Linear algebra as loops of ONNX over the columns or rows of matrices [..., m, n]: LU and QR factors, Cholesky's, triangular systems, singular values
# and eigenvalues of symmetric matrices.
from onnx_write_formula import X
from onnx_write_math import Val_of
from onnx_write_values import BOOL, INT32, INT64, Sym


def turned(w, v, rank):
    return w.e("Transpose", [v], {"perm": list(range(rank - 2)) + [rank - 1, rank - 2]})


def loop(w, times, state, step, scans=0):
    """Runs step(k, a) on the matrices `state` ([name, code, rank]) `times` times; scans: numbers [...] that each step also returns, as int64."""
    name, code, rank = state
    k, go, own = w.fresh("k"), w.fresh("go"), w.fresh("in")

    def run():
        got = step(X(w, k, INT64), X(w, own, code))
        return [(go, BOOL, 0), (got[0].name, code, rank)] + [(g.name, INT64, rank - 2) for g in got[1:]]

    body = w.body_of([[k, INT64, 0], [go, BOOL, 0], [own, code, rank]], run)
    got = w.e("Loop", [times, None, name], {"body": body}, 1 + scans)
    return got if scans else [got]


class Matrix:
    """Rows, columns and positions of a matrix in a formula."""

    def __init__(self, w, sizes):
        self.w = w
        self.m, self.n = [w.scalar(s, INT64) for s in sizes[-2:]]
        steps = lambda n: X(w, w.e("Range", [w.const(0, INT64), n, w.const(1, INT64)]), INT64)
        self.rows, self.cols = steps(self.m), steps(self.n)
        self.down = self.behind(self.rows)  # [m, 1]
        self.least = w.e("Min", [self.m, self.n])

    def behind(self, v, at=-1):
        return X(self.w, self.w.e("Unsqueeze", [v.name, self.w.ints([at])]), v.code)

    def of(self, a, k, axis):  # a row or column; with one(k) it remains a matrix
        return X(self.w, self.w.e("Gather", [a.name, k.name], {"axis": axis}), a.code)

    def one(self, k):
        return X(self.w, self.w.e("Reshape", [k.name, self.w.ints([1])]), INT64)


def product(a, b):
    return a.of("MatMul", b)


def squeezed(w, v):
    return X(w, w.e("Squeeze", [v.name, w.ints([-1])]), v.code)


def swapped(m, k, pivot, count):
    """Exchanges row k and row `pivot` [..., 1]."""
    return (count.is_(k)).pick(pivot, (count.is_(pivot)).pick(k, count))


def taken(w, a, order, axis):
    return X(w, w.e("GatherElements", [a.name, order.name], {"axis": axis}), a.code)


def first_bad(w, bad, rank):
    """1 + the first bad position along the last dimension; 0: none."""
    flags = w.e("Cast", [bad.name], {"to": INT32})
    at = w.e("Add", [w.e("ArgMax", [flags], {"axis": -1, "keepdims": 0}), w.const(1, INT64)])
    any_ = w.e("Cast", [w.e("ReduceMax", [flags, w.ints([-1])], {"keepdims": 0})], {"to": BOOL})
    return w.e("Cast", [w.e("Where", [any_, at, w.const(0, INT64)])], {"to": INT32})


def diagonal(w, a, m):
    """[..., min(m, n)] of a formula's matrix."""
    on = m.down.is_(m.cols)
    v = w.e("ReduceSum", [on.pick(a, 0.0).name, w.ints([-2])], {"keepdims": 0})
    return X(w, w.e("Slice", [v, w.ints([0]), w.e("Reshape", [m.least, w.ints([1])]), w.ints([-1])]), a.code)


def lu_factor(w, outs, a, pivot=True, *rest):
    code, rank, m = a.code, a.rank(), Matrix(w, a.sizes)

    def step(k, a):
        column = m.of(a, k, -1)
        best = X(w, w.e("ArgMax", [(m.rows >= k).pick(column.of("Abs"), -1.0).name], {"axis": -1, "keepdims": 1}), INT64) if pivot else (
            X(w, w.e("ArgMax", [w.e("Cast", [((m.rows + column.to(INT64) * 0).is_(k)).name], {"to": INT32})], {"axis": -1, "keepdims": 1}), INT64))
        order = swapped(m, k, best, m.rows)
        a = taken(w, a, X(w, w.e("Expand", [m.behind(order).name, w.e("Shape", [a.name])]), INT64), -2)
        column, row = m.of(a, k, -1), m.of(a, k, -2)
        d = m.of(row, m.one(k), -1)
        f = m.behind((m.rows > k).pick(column / (d.is_(0)).pick(1.0, d), 0.0))
        a = a - product(f, m.behind((m.cols > k).pick(row, 0.0), -2))
        return [((m.cols.is_(k)).both(m.down > k)).pick(f, a), squeezed(w, best + 1)]

    got, pivots = loop(w, m.least, [w.name(a), code, rank], step, 1)
    pivots = w.e("Transpose", [pivots], {"perm": list(range(1, rank - 1)) + [0]})
    return got, w.cast(pivots, INT32, INT64), first_bad(w, diagonal(w, X(w, got, code), m).is_(0), rank)


def permutation(w, pivots, rows):
    """The order of rows that pivots [..., k] give: [..., rows]."""
    rank = pivots.rank()
    steps = X(w, w.e("Range", [w.const(0, INT64), w.scalar(rows, INT64), w.const(1, INT64)]), INT64)
    at = X(w, w.cast(pivots, INT64), INT64)
    first = w.e("Expand", [steps.name, w.sizes(pivots.sizes[:-1] + [rows])])
    k, go, own = w.fresh("k"), w.fresh("go"), w.fresh("in")

    def run():
        place = X(w, w.e("Gather", [at.name, w.e("Reshape", [k, w.ints([1])])], {"axis": -1}), INT64) - 1
        order = swapped(None, X(w, k, INT64), place, steps)
        return [(go, BOOL, 0), (taken(w, X(w, own, INT64), order, -1).name, INT64, rank)]

    body = w.body_of([[k, INT64, 0], [go, BOOL, 0], [own, INT64, rank]], run)
    return w.e("Loop", [w.scalar(pivots.sizes[-1], INT64), None, first], {"body": body})


def inverse_order(w, order):
    count = w.e("Slice", [w.e("Shape", [order]), w.ints([-1]), w.ints([2**63 - 1])])
    return w.e("TopK", [order, count], {"axis": -1, "largest": 0, "sorted": 1}, 2)[1]


def substituted(w, code, sizes, a, b, upper, unit):
    """x [..., n, r] with a x = b, row by row."""
    m = Matrix(w, sizes[:-1] + [sizes[-2]])
    a, b = X(w, a, code), X(w, b, code)

    def step(k, x):
        i = m.rows.number(-1) + X(w, m.n, INT64) - k if upper else k
        row = m.of(a, i, -2)
        others = m.behind(((m.cols > i) if upper else (m.cols < i)).pick(row, 0.0), -2)
        value = m.of(b, m.one(i), -2) - product(others, x)
        value = value if unit else value / m.behind(m.of(row, m.one(i), -1))
        return [(m.down.is_(i)).pick(value, x)]

    zero = w.e("Expand", [w.const(0.0, code), w.sizes(sizes)])
    return loop(w, m.n, [zero, code, len(sizes)], step)[0]


def solve_triangular(w, outs, a, b, upper=False, left=True, unit=False):
    sizes, rank = outs[0].sizes, outs[0].rank()
    if left:
        return substituted(w, outs[0].code, sizes, w.name(a), w.name(b), upper, unit)
    sizes = sizes[:-2] + [sizes[-1], sizes[-2]]
    return turned(w, substituted(w, outs[0].code, sizes, turned(w, a, a.rank()), turned(w, b, b.rank()), not upper, unit), rank)


def lu_solve(w, outs, lu, pivots, b, left=True, adjoint=False):
    code, sizes, rank = outs[0].code, outs[0].sizes, outs[0].rank()
    lu_name, x = w.name(lu), w.e("Expand", [b, w.sizes(sizes)])
    if not left:
        sizes, x, adjoint = sizes[:-2] + [sizes[-1], sizes[-2]], turned(w, x, rank), not adjoint
    order = permutation(w, pivots, lu.sizes[-2])

    def rows(x, order):
        return w.e("GatherElements", [x, w.e("Expand", [w.e("Unsqueeze", [order, w.ints([-1])]), w.e("Shape", [x])])], {"axis": -2})

    if adjoint:
        t = turned(w, lu_name, lu.rank())
        x = substituted(w, code, sizes, t, x, False, False)
        x = rows(substituted(w, code, sizes, t, x, True, True), inverse_order(w, order))
    else:
        x = substituted(w, code, sizes, lu_name, rows(x, order), False, True)
        x = substituted(w, code, sizes, lu_name, x, True, False)
    return x if left else turned(w, x, rank)


def lu_unpack(w, outs, lu, pivots, data=True, orders=True):
    """(P, L, U): A = P L U"""
    code, m, names = lu.code, Matrix(w, lu.sizes), []
    a = X(w, w.name(lu), code)
    count = w.e("Reshape", [m.least, w.ints([1])])
    some = lambda v, axis: w.e("Slice", [v.name, w.ints([0]), count, w.ints([axis])])
    if orders:
        order = X(w, permutation(w, pivots, lu.sizes[-2]), INT64)
        rows = m.rows
        at = w.e("Equal", [w.e("Unsqueeze", [order.name, w.ints([-2])]), w.e("Unsqueeze", [rows.name, w.ints([-1])])])
        p = w.e("Cast", [at], {"to": code})
    else:
        p = w.const([], code)
    if not data:
        return p, w.const([], code), w.const([], code)
    lower = (m.down > m.cols).pick(a, (m.down.is_(m.cols)).pick(a * 0 + 1, 0.0))
    return p, some(lower, -1), some((m.down <= m.cols).pick(a, 0.0), -2)


def cholesky(w, outs, a, upper=False, *rest):
    code, rank, m = a.code, a.rank(), Matrix(w, a.sizes)
    given = X(w, turned(w, a, rank) if upper else w.name(a), code)

    def step(k, l):
        v = m.of(given, k, -1) - squeezed(w, product(l, m.behind(m.of(l, k, -2))))
        column = (m.rows >= k).pick(v / m.of(v, m.one(k), -1).of("Sqrt"), 0.0)
        return [(m.cols.is_(k)).pick(m.behind(column), l)]

    got = loop(w, m.n, [(given * 0).name, code, rank], step)[0]
    d = diagonal(w, X(w, got, code), m)
    return turned(w, got, rank) if upper else got, first_bad(w, (d > 0).of("Not"), rank)


def qr(w, outs, a, mode="reduced"):
    """Householder reflections of [a, 1]: they turn a into R and the unit matrix into Q's transpose."""
    code, rank, m = a.code, a.rank(), Matrix(w, a.sizes)
    whole = X(w, w.name(a), code)
    unit = w.e("Cast", [(m.down.is_(m.rows)).name], {"to": code})
    unit = w.e("Expand", [unit, w.sizes(a.sizes[:-1] + [a.sizes[-2]])])

    def step(k, r):
        column = m.of(r, k, -1)
        x = (m.rows >= k).pick(column, 0.0)
        below = (m.rows > k).pick(column, 0.0)
        squares = lambda v: X(w, w.e("ReduceSum", [(v * v).name, w.ints([-1])], {"keepdims": 1}), code)
        head = m.of(column, m.one(k), -1)
        norm = squares(x).of("Sqrt")
        v = (m.rows.is_(k)).pick(head + (head < 0).pick(-norm, norm), below)
        flat = squares(below).is_(0)
        by = flat.pick(0.0, 2 / flat.pick(1.0, squares(v)))
        v = m.behind(v)
        return [r - m.behind(by) * product(v, product(X(w, turned(w, v.name, rank), code), r))]

    both = w.e("Concat", [whole.name, unit], {"axis": -1})
    got = loop(w, m.least, [both, code, rank], step)[0]
    part = lambda v, to, axis, begin=None: w.e("Slice", [v, begin or w.ints([0]), to, w.ints([axis])])
    n, least = [w.e("Reshape", [v, w.ints([1])]) for v in (m.n, m.least)]
    r, q = part(got, n, -1), turned(w, part(got, w.ints([2**63 - 1]), -1, n), rank)
    r = (m.down <= m.cols).pick(X(w, r, code), 0.0).name
    if mode == "complete":
        return q, r
    return w.const([], code) if mode == "r" else part(q, least, -1), part(r, least, -2)


def matrix_exp(w, outs, a):
    """Taylor's series of a / 2 ** s, squared s times."""
    code, rank, m = a.code, a.rank(), Matrix(w, a.sizes)
    x = X(w, w.name(a), code)
    rows = w.e("ReduceSum", [x.of("Abs").name, w.ints([-1])], {"keepdims": 0})
    norm = X(w, w.e("ReduceMax", [rows], {"keepdims": 0}), code)
    times = ((norm.of("Max", 0.5)).of("Log") * 1.4426950408889634 + 1.0).of("Ceil")
    x = x / x.number(2.0).of("Pow", times)
    unit = X(w, w.e("Cast", [(m.down.is_(m.cols)).name], {"to": code}), code)
    y = unit + x * 0
    for k in reversed(range(1, 13)):
        y = unit + product(x, y) / float(k)
    return loop(w, times.to(INT64).name, [y.name, code, rank], lambda k, y: [product(y, y)])[0]


SWEEPS = 12


def orthogonal_columns(w, a, rank):
    """Jacobi's rotations of two columns each, half of all at a time, until a v has orthogonal columns: (a v, v, their lengths), longest first.
    a: at least as many rows as columns. With an odd number of columns one of zeros stands beside them."""
    code, ints = a.code, w.ints
    shape = lambda d: w.e("Shape", [a.name], {"start": d, "end": d + 1})
    m, n = shape(rank - 2), shape(rank - 1)
    half = w.e("Div", [w.e("Add", [n, ints([1])]), ints([2])])
    size = w.e("Mul", [half, ints([2])])
    one = lambda v: w.e("Squeeze", [v, ints([0])])
    steps = lambda a, b: w.e("Range", [one(a), one(b), w.const(1, INT64)])
    lead = w.e("Shape", [a.name], {"start": 0, "end": rank - 2})
    begin = w.e("Equal", [w.e("Unsqueeze", [steps(ints([0]), n), ints([1])]), steps(ints([0]), size)])
    unit = w.e("Expand", [w.e("Cast", [begin], {"to": code}), w.e("Concat", [lead, n, size], {"axis": 0})])
    more = w.e("Expand", [w.const(0.0, code), w.e("Concat", [lead, m, w.e("Sub", [size, n])], {"axis": 0})])
    both = w.e("Concat", [w.e("Concat", [a.name, more], {"axis": -1}), unit], {"axis": -2})
    last = w.e("Sub", [size, ints([1])])
    mirror = w.e("Sub", [last, steps(ints([0]), half)])  # the second half backwards
    turn = w.e("Concat", [ints([0]), last, steps(ints([1]), last)], {"axis": 0})
    turn = w.e("Where", [w.e("Less", [turn, half]), turn, w.e("Sub", [w.e("Add", [half, last]), turn])])
    part = lambda v, a, b, axis: X(w, w.e("Slice", [v.name, a, b, ints([axis])]), code)
    most = ints([2**63 - 1])

    def step(k, c):
        x, y = part(c, ints([0]), half, -1), X(w, w.e("Gather", [c.name, mirror], {"axis": -1}), code)
        top = [part(v, ints([0]), m, -2) for v in (x, y)]
        over = lambda v: X(w, w.e("ReduceSum", [v.name, ints([-2])], {"keepdims": 1}), code)
        dot = over(top[0] * top[1])
        none = dot.is_(0)
        z = (over(top[1] * top[1]) - over(top[0] * top[0])) / (2 * none.pick(1.0, dot))
        t = 1 / (z.of("Abs") + (1 + z * z).of("Sqrt"))
        t = none.pick(0.0, (z < 0).pick(-t, t))
        cos = 1 / (1 + t * t).of("Sqrt")
        sin = cos * t
        columns = w.e("Concat", [(cos * x - sin * y).name, (sin * x + cos * y).name], {"axis": -1})
        return [X(w, w.e("Gather", [columns, turn], {"axis": -1}), code)]

    c = X(w, loop(w, one(w.e("Mul", [last, ints([SWEEPS])])), [both, code, rank], step)[0], code)
    av, v = part(c, ints([0]), m, -2), part(c, m, most, -2)
    length = lambda v: X(w, w.e("ReduceL2", [v.name, ints([-2])], {"keepdims": 0}), code)
    kept = (length(v) > 0.5).pick(length(av), -1.0)
    s, order = w.e("TopK", [kept.name, n], {"axis": -1, "largest": 1, "sorted": 1}, 2)
    order = w.e("Unsqueeze", [order, ints([-2])])

    def sorted_(x, rows):
        at = w.e("Expand", [order, w.e("Concat", [lead, rows, n], {"axis": 0})])
        return X(w, w.e("GatherElements", [x.name, at], {"axis": -1}), code)

    return sorted_(av, m), sorted_(v, n), s


def svd(w, outs, a, full=False, uv=True, *rest):
    rows, cols = a.sizes[-2:]
    if not isinstance(rows, Sym) and not isinstance(cols, Sym) or (isinstance(rows, Sym) and isinstance(cols, Sym) and rows.expr == cols.expr):
        return svd_of(w, a, not isinstance(rows, Sym) and cols > rows, full, uv)
    ranks = [a.rank(), a.rank() - 1, a.rank()] if uv else [1, a.rank() - 1, 1]
    branch = lambda wide: w.body_of([], lambda: [(n, a.code, r) for n, r in zip(svd_of(w, a, wide, full, uv), ranks)])
    test = w.condition(Sym(("lt", plain(rows), plain(cols))))
    return w.e("If", [test], {"then_branch": branch(True), "else_branch": branch(False)}, 3)


def plain(size):
    return size.expr if isinstance(size, Sym) else size


def svd_of(w, a, wide, full, uv):
    """wide: there are more columns than rows."""
    code, rank = a.code, a.rank()
    least, most = a.sizes[-2:] if wide else reversed(a.sizes[-2:])
    t = X(w, turned(w, a, rank) if wide else w.name(a), code)
    us, v, s = orthogonal_columns(w, t, rank)
    if not uv:
        return w.const([], code), s, w.const([], code)
    sizes = a.sizes[:-2] + [most, least]
    u, r = qr(w, None, Val_of(w, us.name, code, sizes), "complete" if full else "reduced")
    m = Matrix(w, sizes)
    d = diagonal(w, X(w, r, code), Matrix(w, [sizes[-1] if not full else sizes[-2], sizes[-1]]))
    d = (d < 0).pick(-1.0, d * 0 + 1)
    if full and plain(least) != plain(most):
        more = Sym(("add", plain(most), ("mul", -1, plain(least)))) if isinstance(least, Sym) or isinstance(most, Sym) else most - least
        d = X(w, w.e("Concat", [d.name, w.e("Expand", [w.const(1.0, code), w.sizes(a.sizes[:-2] + [more])])], {"axis": -1}), code)
    u = X(w, u, code) * m.behind(d, -2)
    return (v.name, s, turned(w, u.name, rank)) if wide else (u.name, s, turned(w, v.name, rank))


def eigh(w, outs, a, uplo="L", vectors=True):
    """Eigenvalues of a + c, which has no negative ones: its singular values minus c, in ascending order."""
    code, rank, m = a.code, a.rank(), Matrix(w, a.sizes)
    x = X(w, w.name(a) if uplo == "L" else turned(w, a, rank), code)
    x = (m.down > m.cols).pick(x, 0.0) + (m.down < m.cols).pick(X(w, turned(w, x.name, rank), code), (m.down.is_(m.cols)).pick(x, 0.0))
    rows = w.e("ReduceSum", [x.of("Abs").name, w.ints([-1])], {"keepdims": 1})
    c = X(w, w.e("ReduceMax", [rows, w.ints([-2])], {"keepdims": 1}), code)
    us, v, s = orthogonal_columns(w, x + (m.down.is_(m.cols)).pick(c, 0.0), rank)
    back = lambda v: w.e("Slice", [v, w.ints([-1]), w.ints([-(2**63) + 1]), w.ints([-1]), w.ints([-1])])
    values = (X(w, back(s), code) - squeezed(w, c)).name
    return values, back(v.name) if vectors else w.const([], code)


TABLE = {"aten._linalg_svd.default": svd, "aten._linalg_eigh.default": eigh, "aten._linalg_check_errors.default": lambda w, outs, *rest: [], "aten.linalg_lu_factor_ex.default": lu_factor, "aten.linalg_solve_triangular.default": solve_triangular, "aten.linalg_lu_solve.default": lu_solve,
         "aten.lu_unpack.default": lu_unpack, "aten.linalg_cholesky_ex.default": cholesky, "aten.linalg_qr.default": qr, "aten.linalg_matrix_exp.default": matrix_exp}
