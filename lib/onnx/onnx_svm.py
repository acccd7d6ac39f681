# Support vector machines of ai.onnx.ml, with the scores and the votes that ONNX Runtime gives.
import torch
import torch.nn.functional as F
from onnx_ml import ML, label_at, floats, listed, transformed


def kernel_of(n, x, vectors):
    """The kernel of rows of x [N, F] with the support vectors [S, F]: [N, S]."""
    how, p = n.get("kernel_type", "LINEAR"), n.get("kernel_params", None) or [0.0, 0.0, 0.0]
    gamma, shift, degree = p[0], p[1], p[2]
    if how == "RBF":
        apart = x.unsqueeze(1) - vectors.unsqueeze(0)
        return torch.exp(torch.sum(apart * apart, [-1]) * -gamma)
    dot = F.linear(x, vectors)
    if how == "LINEAR":
        return dot
    if how == "POLY":
        return torch.pow(dot * gamma + shift, degree)
    if how == "SIGMOID":
        return torch.tanh(dot * gamma + shift)
    n.unsupported(f"kernel_type {how}")


def regressor(n, x):
    x = x if x.dtype.is_floating_point else x.to(torch.float32)
    count, w = n.get("n_supports", 0), floats(n.get("coefficients"), x.dtype)
    like = kernel_of(n, x, floats(n.get("support_vectors"), x.dtype).reshape([count, -1])) if count else x
    y = F.linear(like, w.reshape([1, -1])) + n.get("rho")[0]
    if n.get("one_class", 0):
        y = torch.where(y > 0, torch.ones_like(y), -torch.ones_like(y))
    return transformed(n, y)


# ---- classification ----
def pair_weights(n, pairs, counts):
    """The coefficients [classes - 1, S] as a row of S for each pair of classes i < j: row j - 1 at i's vectors, row i at j's."""
    given, total = listed(n, "coefficients")[1], sum(counts)
    first, expected = [sum(counts[:k]) for k in range(len(counts))], (len(counts) - 1) * total
    if len(given) < expected:
        n.fail(f"{len(given)} coefficients, expected {expected}")
    out = []
    for i, j in pairs:
        row = [0.0] * total
        for k, other in ((i, j - 1), (j, i)):
            for s in range(first[k], first[k] + counts[k]):
                row[s] = given[other * total + s]
        out.append(row)
    return out


def coupled(r, classes):
    """Probabilities of the classes [N, C] from those of the pairs, r[n, i, j] = P(i of i and j): the second method of Wu, Lin and Weng,
    "Probability estimates for multi-class classification by pairwise coupling", in at most 100 rounds, each row until it changes by
    less than 0.005 / C."""
    across = r.transpose(1, 2)
    q = torch.diag_embed(torch.sum(across * across, [2])) - across * r
    start = torch.full([r.shape[0], classes], 1.0 / classes, dtype=torch.float32)

    def test(k, p, done):
        return torch.logical_and(k < 100, torch.logical_not(done.all()))

    def run(k, p, done):
        qp = torch.sum(q * p.unsqueeze(1), [2])
        pqp = torch.sum(p * qp, [1], True)
        done = torch.logical_or(done, torch.amax(torch.abs(qp - pqp), [1], True) < 0.005 / classes)
        new = p
        for i in range(classes):
            here = q[:, i, i:i + 1]
            change = (pqp - qp[:, i:i + 1]) / here
            pqp = (pqp + change * (change * here + 2 * qp[:, i:i + 1])) / (1 + change) / (1 + change)
            qp = (qp + change * q[:, i]) / (1 + change)
            new = torch.cat([new[:, :i], new[:, i:i + 1] + change, new[:, i + 1:]], 1) / (1 + change)
        return k + 1, torch.where(done, p, new), done

    return torch.while_loop(test, run, (torch.zeros([], dtype=torch.int64), start, torch.zeros([r.shape[0], 1], dtype=torch.bool)))[1]


def of_pairs(n, name, pairs):
    """An attribute with a number for each pair: [P]."""
    v = listed(n, name)[1]
    if len(v) < len(pairs):
        n.fail(f"{name} has {len(v)} numbers, expected {len(pairs)}")
    return floats(v[:len(pairs)])


def probabilities(n, scores, pairs, classes):
    """The votes for each class [N, C], from the scores of the pairs."""
    p = torch.sigmoid(-(scores * of_pairs(n, "prob_a", pairs) + of_pairs(n, "prob_b", pairs)))
    p = torch.clamp(p, 1e-7, 1 - 1e-7)
    both = torch.cat([p, 1 - p, torch.zeros_like(p[:, :1])], 1)
    at = [[2 * len(pairs)] * classes for _ in range(classes)]
    for k, (i, j) in enumerate(pairs):
        at[i][j], at[j][i] = k, len(pairs) + k
    r = torch.index_select(both, 1, floats(at, torch.int64).reshape([-1])).reshape([-1, classes, classes])
    return coupled(r, classes)


def by_vectors(n, x, classes, counts):
    """(places of the labels [N], scores) of a machine with `counts` support vectors for each class."""
    pairs = [(i, j) for i in range(classes) for j in range(i + 1, classes)]
    if len(counts) != classes or classes < 2:
        n.fail(f"vectors_per_class has {len(counts)} entries for {classes} labels")
    like = kernel_of(n, x, floats(listed(n, "support_vectors")[1]).reshape([sum(counts), -1]))
    scores = F.linear(like, floats(pair_weights(n, pairs, counts)), of_pairs(n, "rho", pairs))
    wins = (scores > 0).to(torch.float32)
    votes = wins @ floats([[float(c == i) for c in range(classes)] for i, _ in pairs])
    votes = votes + (1 - wins) @ floats([[float(c == j) for c in range(classes)] for _, j in pairs])
    best = torch.argmax(votes, 1)
    if n.get("prob_a", None):
        return best, transformed(n, probabilities(n, scores, pairs, classes))
    if classes > 2:
        return best, transformed(n, scores)
    how = n.get("post_transform", "NONE")
    if how == "PROBIT":
        n.unsupported("post_transform PROBIT of the one score of two classes")
    return best, torch.cat([-scores if how == "NONE" else 1 - scores, scores], 1)


def linear(n, x, classes):
    """The same for a machine without support vectors: a row of coefficients for each class."""
    w = listed(n, "coefficients")[1]
    scores = F.linear(x, floats(w).reshape([classes, -1])) + listed(n, "rho")[1][0]
    best = torch.argmax(scores, 1)
    if classes == 2 and not n.get("prob_a", None):
        most = torch.amax(scores, [1])
        second = most >= 0.5 if min(w) >= 0 else most > 0
        best = torch.where(second, torch.ones_like(best), best)
    return best, scores if classes == 1 and n.get("post_transform", "NONE") != "PROBIT" else transformed(n, scores)


def classifier(n, x):
    names = ("classlabels_ints", "classlabels_strings")
    labels = n.get(names[0], None) or n.get(names[1], None)
    if not labels:
        n.fail("it has no labels")
    x = (x.reshape([1, -1]) if x.dim() == 1 else x).to(torch.float32)
    counts = n.get("vectors_per_class", None) or []
    best, scores = by_vectors(n, x, len(labels), counts) if sum(counts) else linear(n, x, len(labels))
    return label_at(n, names, best), scores


TABLE = [(ML, "SVMClassifier", 1, classifier, "T"), (ML, "SVMRegressor", 1, regressor, "T")]
