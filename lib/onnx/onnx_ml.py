# ai.onnx.ml as far as models of numbers use it.
import torch
import torch.nn.functional as F
from onnx_values import Coded, Strings, flat, numbers, tensor
import _onnx


def floats(values, dtype=torch.float32):
    return _onnx.eager(_make, values, dtype)


def _make(values, dtype):
    return torch.tensor(values, dtype=dtype)


# ---- scaling, encoding ----
def normalizer(n, x):
    how = n.get("norm", "MAX")
    x = x if x.dtype.is_floating_point else x.to(torch.float32)
    if how == "MAX":
        size = torch.amax(torch.abs(x), [-1], True)
    elif how == "L1":
        size = torch.sum(torch.abs(x), [-1], True)
    else:
        size = torch.sqrt(torch.sum(x * x, [-1], True))
    return x / torch.clamp(size, min=1e-30)


def scaler(n, x):
    x = x if x.dtype.is_floating_point else x.to(torch.float32)
    return (x - floats(n.get("offset", [0.0]), x.dtype)) * floats(n.get("scale", [1.0]), x.dtype)


def binarizer(n, x):
    return (x > n.get("threshold", 0.0)).to(x.dtype)


def imputer(n, x):
    ints = n.has("imputed_value_int64s") and not n.has("imputed_value_floats")
    values = floats(n.get("imputed_value_int64s") if ints else n.get("imputed_value_floats"), x.dtype)
    bad = n.get("replaced_value_int64", 0) if ints else n.get("replaced_value_float", 0.0)
    return torch.where(torch.isnan(x) if bad != bad else x == bad, values, x)


def feature_extractor(n, x, at):
    if isinstance(x, Strings):
        if len(x.items) != x.shape[-1]:
            n.unsupported("rows of strings at places that depend on data")
        return Coded(8, at.to(torch.int64).reshape([1, -1]), x.items)
    x = tensor(x)
    y = torch.index_select(x, -1, at.to(torch.int64).reshape([-1]))
    return y.reshape([1, -1]) if x.dim() == 1 else y


def feature_vectorizer(n, *xs):
    parts = []
    for x, size in zip(xs, n.get("inputdimensions", None) or [x.shape[-1] for x in xs]):
        x = x.reshape([-1, 1]) if x.dim() == 1 else x
        have = x.shape[1]
        parts.append(x[:, :size] if have >= size else F.pad(x, [0, size - have]))
    return torch.cat([p.to(torch.float32) for p in parts], 1)


def places(x, words):
    """Where each string of x stands in words; -1: nowhere."""
    at = {w: i for i, w in reversed(list(enumerate(words)))}
    if isinstance(x, Strings):
        return _onnx.eager(_make, [at.get(s, -1) for s in x.items], torch.int64).reshape(x.shape)
    return torch.index_select(floats([at.get(s, -1) for s in x.words], torch.int64), 0, x.t.reshape([-1])).reshape(x.t.shape)


def is_text(x):
    return isinstance(x, Strings) or isinstance(x, Coded) and x.code == 8


def one_hot(n, x):
    kinds = n.get("cats_int64s", None)
    if is_text(x):
        words = n.get("cats_strings")
        x, kinds = places(x, words), list(range(len(words)))
    x = tensor(x)
    return (x.unsqueeze(-1) == floats(kinds, torch.int64).to(x.dtype)).to(torch.float32)


def listed(n, *names):
    for name in names:
        if n.has(name):
            v = n.get(name)
            if isinstance(v, tuple):
                return name, list(v[2]) if v[0] == 8 else numbers(v[1])
            return name, v
    n.fail("it has no " + names[0])


def label_encoder(n, x):
    """Maps keys to values: numbers to numbers by comparison with every key; strings, which are known at import, directly."""
    kn, keys = listed(n, "keys_tensor", "keys_int64s", "keys_floats", "keys_strings")
    vn, values = listed(n, "values_tensor", "values_int64s", "values_floats", "values_strings")
    text_out = vn == "values_strings" or (vn == "values_tensor" and n.get("values_tensor")[0] == 8)
    dtype = torch.int64 if vn == "values_int64s" else torch.float32
    if vn == "values_tensor" and not text_out:
        dtype = n.get("values_tensor")[1].dtype
    if n.has("default_tensor"):
        d = n.get("default_tensor")
        default = d[2][0] if d[0] == 8 else numbers(d[1])[0]
    elif text_out:
        default = n.get("default_string", "_Unused")
    else:
        default = n.get("default_float", -0.0) if dtype.is_floating_point else n.get("default_int64", -1)
    return mapped(x, keys, values, default, dtype, text_out)


def category_mapper(n, x):
    words, ints = n.get("cats_strings"), n.get("cats_int64s")
    if is_text(x):
        return mapped(x, words, ints, n.get("default_int64", -1), torch.int64, False)
    return mapped(x, ints, words, n.get("default_string", "_Unused"), None, True)


def mapped(x, keys, values, default, dtype, text_out):
    table = dict(zip(keys, values))
    if isinstance(x, Strings):
        out = [table.get(s, default) for s in x.items]
        return Strings(x.shape, out) if text_out else _onnx.eager(_make, out, dtype).reshape(x.shape)
    if isinstance(x, Coded):
        out = [table.get(s, default) for s in x.words]
        return Coded(8, x.t, out) if text_out else torch.index_select(floats(out, dtype), 0, x.t.reshape([-1])).reshape(x.t.shape)
    x = tensor(x)
    if text_out and _onnx.known(x):
        return Strings(list(x.shape), [table.get(v, default) for v in numbers(x)])
    words = values + [default]
    if text_out:
        values, default, dtype = list(range(len(values))), len(values), torch.int64
    k = floats(keys, x.dtype)
    hit = x.unsqueeze(-1) == k
    if x.dtype.is_floating_point:
        hit = torch.logical_or(hit, torch.logical_and(torch.isnan(x).unsqueeze(-1), torch.isnan(k)))
    v = torch.index_select(floats(values, dtype), 0, torch.argmax(hit.to(torch.uint8), -1).reshape([-1])).reshape(x.shape)
    v = torch.where(hit.any(-1), v, torch.full([], default, dtype=dtype))
    return Coded(8, v, words) if text_out else v


# ---- scores ----
def transformed(n, scores):
    how = n.get("post_transform", "NONE")
    if how == "NONE":
        return scores
    if how == "LOGISTIC":
        return torch.sigmoid(scores)
    if how == "SOFTMAX":
        return torch.softmax(scores, -1)
    if how == "SOFTMAX_ZERO":
        e = torch.exp(scores - torch.amax(scores, [-1], True))
        e = torch.where(torch.abs(scores) > 1e-7, e, scores * torch.exp(-torch.amax(scores, [-1], True)))
        return e / torch.sum(e, [-1], True)
    if how == "PROBIT":  # sqrt(2) erfinv(2 p - 1) by Winitzki's formula with a = 0.147, as ONNX Runtime has it
        log = torch.log(4 * scores * (1 - scores))
        half = 2 / (3.14159 * 0.147) + 0.5 * log
        size = torch.sqrt(torch.sqrt(half * half - log / 0.147) - half) * 1.41421356
        return torch.where(scores < 0.5, -size, size)
    n.unsupported(f"post_transform {how}")


def label_at(n, names, at):
    """The labels of a classifier at these indices, by the names of its two attributes."""
    ints, words = n.get(names[0], None), n.get(names[1], None)
    if words and not ints:
        return Coded(8, at, words)
    return torch.index_select(floats(ints, torch.int64), 0, at) if ints else at


def labels_of(n, scores, names, binary_limit):
    if scores.shape[1] > 1:
        return label_at(n, names, torch.argmax(scores, 1))
    hit = scores[:, 0] > binary_limit
    if len(n.get(names[0], None) or n.get(names[1], None) or []) != 1:
        return label_at(n, names, hit.to(torch.int64))
    if not n.get(names[0], None):
        return Coded(8, 1 - hit.to(torch.int64), n.get(names[1]) + [""])
    return torch.where(hit, floats(n.get(names[0]), torch.int64), floats([0], torch.int64))


def linear_classifier(n, x):
    x = x if x.dtype.is_floating_point else x.to(torch.float32)
    w = floats(n.get("coefficients"), x.dtype)
    features = x.shape[-1]
    w = w.reshape([-1, features])
    b = n.get("intercepts", None)
    scores = F.linear(x.reshape([-1, features]), w, floats(b, x.dtype) if b else None)
    classes = len(n.get("classlabels_ints", []) or n.get("classlabels_strings", []))
    if w.shape[0] == 1 and classes == 2:
        scores = torch.cat([-scores, scores], 1)
    scores = transformed(n, scores)
    return labels_of(n, scores, ("classlabels_ints", "classlabels_strings"), 0.0 if n.get("post_transform", "NONE") == "NONE" else 0.5), scores


def linear_regressor(n, x):
    x = x if x.dtype.is_floating_point else x.to(torch.float32)
    w = floats(n.get("coefficients"), x.dtype).reshape([n.get("targets", 1), -1])
    b = n.get("intercepts", None)
    return transformed(n, F.linear(x, w, floats(b, x.dtype) if b else None))


def zip_map(n, x):
    """A map from labels to scores for each row: the scores, with columns in the order of the labels."""
    return x


# ---- trees ----
COMPARE = {"BRANCH_LEQ": lambda x, v: x <= v, "BRANCH_LT": lambda x, v: x < v, "BRANCH_GTE": lambda x, v: x >= v,
           "BRANCH_GT": lambda x, v: x > v, "BRANCH_EQ": lambda x, v: x == v, "BRANCH_NEQ": lambda x, v: x != v}
MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"]


def depth_of(roots, yes, no):
    level, deep = [r for r in roots], 0
    while True:
        level = [k for r in level for k in (yes[r], no[r]) if yes[r] != r]
        if not level:
            return deep
        deep += 1
        if deep > 4096 or len(level) > 1 << 22:
            raise ValueError("the trees have a cycle")


def walk(x, roots, feature, split, mode, yes, no, missing, members):
    """The leaf of every tree for every row of x: [N, trees]. Both branches of a leaf lead to itself."""
    ints = torch.int64
    at = floats(roots, ints).unsqueeze(0).expand([x.shape[0], len(roots)])
    tables = {"feature": floats(feature, ints), "split": floats(split, x.dtype), "yes": floats(yes, ints), "no": floats(no, ints)}
    used = sorted(set([m for m, y, k in zip(mode, yes, range(len(yes))) if y != k]))
    kinds = floats([MODES.index(m) if m in MODES else 0 for m in mode], ints)
    lost = floats([bool(m) for m in missing], torch.bool) if any(missing) else None
    sets = floats(members, x.dtype) if members is not None else None
    for _ in range(depth_of(roots, yes, no)):
        flat_at = at.reshape([-1])
        value = torch.gather(x, 1, tables["feature"][flat_at].reshape(at.shape))
        limit = tables["split"][flat_at].reshape(at.shape)
        go = None
        for m in used:
            hit = (value.unsqueeze(-1) == sets[flat_at].reshape([at.shape[0], at.shape[1], -1])).any(-1) if m == "BRANCH_MEMBER" else COMPARE[m](value, limit)
            go = hit if go is None else torch.where(kinds[flat_at].reshape(at.shape) == MODES.index(m), hit, go)
        if lost is not None:
            go = torch.logical_or(go, torch.logical_and(torch.isnan(value), lost[flat_at].reshape(at.shape)))
        at = torch.where(go, tables["yes"][flat_at].reshape(at.shape), tables["no"][flat_at].reshape(at.shape))
    return at


def gathered(x, leaves, table, how, trees):
    """Weights of the leaves [nodes, targets] over the trees."""
    w = table[leaves.reshape([-1])].reshape([x.shape[0], trees, table.shape[1]])
    if how == "MIN":
        return torch.amin(w, [1])
    if how == "MAX":
        return torch.amax(w, [1])
    y = torch.sum(w, [1])
    return y / trees if how == "AVERAGE" else y


def tree_ensemble(n, x):
    """Opset 5: nodes and leaves in lists of their own."""
    def column(name, default=None):
        return listed(n, name)[1] if n.has(name) else default

    splits, feature, modes = column("nodes_splits"), column("nodes_featureids"), column("nodes_modes")
    count, targets = len(feature), n.get("n_targets", 1)
    leaf_w, leaf_t = column("leaf_weights"), column("leaf_targetids")
    yes = [a + count if leaf else a for a, leaf in zip(column("nodes_truenodeids"), column("nodes_trueleafs"))]
    no = [a + count if leaf else a for a, leaf in zip(column("nodes_falsenodeids"), column("nodes_falseleafs"))]
    missing = column("nodes_missing_value_tracks_true", [0] * count)
    extra = len(leaf_w)
    mode = [MODES[m] for m in modes]
    members, lists = None, []
    if n.has("membership_values"):
        row = []
        for v in column("membership_values"):
            if v != v:
                lists.append(row)
                row = []
            else:
                row.append(v)
        width = max([len(r) for r in lists] + [1])
        members, k = [], 0
        for m in mode:
            row = []
            if m == "BRANCH_MEMBER":
                row = lists[k]
                k += 1
            members.append(row + [float("nan")] * (width - len(row)))
        members += [[float("nan")] * width for _ in range(extra)]
    pad = [0] * extra
    roots = column("tree_roots")
    at = walk(x, roots, feature + pad, splits + [0.0] * extra, mode + ["BRANCH_LEQ"] * extra, yes + [count + i for i in range(extra)],
              no + [count + i for i in range(extra)], missing + pad, members)
    how = ["AVERAGE", "SUM", "MIN", "MAX"][n.get("aggregate_function", 1)]
    table = [[no_weight(how)] * targets for _ in range(count + extra)]
    for i in range(extra):
        table[count + i][leaf_t[i]] = leaf_w[i]
    y = gathered(x, at, floats(table, x.dtype), how, len(roots))
    return transformed_code(n, y)


def transformed_code(n, y):
    code = n.get("post_transform", 0)
    if code == 0:
        return y
    return torch.softmax(y, -1) if code == 1 else torch.sigmoid(y) if code == 2 else n.unsupported(f"post_transform {code}")


def no_weight(how):
    """What a leaf gives to a target that it does not name."""
    return {"MIN": 3.4028234663852886e38, "MAX": -3.4028234663852886e38}.get(how, 0.0)


def old_trees(n, x, prefix, width, how="SUM"):
    """TreeEnsembleClassifier and TreeEnsembleRegressor: (leaves [N, trees], table of weights, number of trees)."""
    x = x.to(torch.float32) if not x.dtype.is_floating_point else x
    tree, node = n.get("nodes_treeids"), n.get("nodes_nodeids")
    place = {}
    for k in range(len(tree)):
        place[(tree[k], node[k])] = k
    mode, yes, no, child = n.get("nodes_modes"), [], [], {}
    for k in range(len(tree)):
        leaf = mode[k] == "LEAF"
        yes.append(k if leaf else place[(tree[k], n.get("nodes_truenodeids")[k])])
        no.append(k if leaf else place[(tree[k], n.get("nodes_falsenodeids")[k])])
        if not leaf:
            child[yes[k]], child[no[k]] = True, True
    roots, seen = [], {}
    for k in range(len(tree)):
        if k not in child and tree[k] not in seen:
            seen[tree[k]] = True
            roots.append(k)
    values = n.get("nodes_values", None) or numbers(n.get("nodes_values_as_tensor")[1])
    at = walk(x, roots, n.get("nodes_featureids"), values, mode, yes, no, n.get("nodes_missing_value_tracks_true", None) or [0] * len(tree), None)
    table = [[no_weight(how)] * width for _ in tree]
    weights = n.get(prefix + "_weights", None) or numbers(n.get(prefix + "_weights_as_tensor")[1])
    for t, k, i, w in zip(n.get(prefix + "_treeids"), n.get(prefix + "_nodeids"), n.get(prefix + "_ids"), weights):
        leaf = table[place[(t, k)]]
        leaf[i] = w if how in ("MIN", "MAX") else leaf[i] + w
    return x, at, floats(table, x.dtype), len(roots)


def tree_classifier(n, x):
    classes = len(n.get("classlabels_int64s", []) or n.get("classlabels_strings", []))
    ids = n.get("class_ids")
    one = classes == 2 and max(ids) == min(ids)
    x, at, table, trees = old_trees(n, x, "class", max(classes, max(ids) + 1))
    y = gathered(x, at, table, "SUM", trees)
    base = n.get("base_values", None)
    if base and not one:
        y = y + floats(base if len(base) == y.shape[1] else [0.0] * (y.shape[1] - len(base)) + base, y.dtype)
    if one:  # one column of weights: the score of the second class
        s = y[:, max(ids):max(ids) + 1]
        s = s + base[-1] if base else s
        how = n.get("post_transform", "NONE")
        scores = torch.cat([1 - s, s], 1) if how == "NONE" else torch.cat([1 - transformed(n, s), transformed(n, s)], 1) if how == "LOGISTIC" else transformed(n, torch.cat([-s, s], 1))
        hit = scores[:, 1] > 0.5
        return label_at(n, ("classlabels_int64s", "classlabels_strings"), hit.to(torch.int64)), scores
    scores = transformed(n, y)
    return labels_of(n, scores, ("classlabels_int64s", "classlabels_strings"), 0.5), scores


def tree_regressor(n, x):
    x, at, table, trees = old_trees(n, x, "target", n.get("n_targets", 1), n.get("aggregate_function", "SUM"))
    how = n.get("aggregate_function", "SUM")
    y = gathered(x, at, table, how, trees)
    base = n.get("base_values", None)
    return transformed(n, y + floats(base, y.dtype) if base else y)


# ---- n-grams ----
def tf_idf(n, x):
    pool, starts, index = n.get("pool_int64s", None), n.get("ngram_counts"), n.get("ngram_indexes")
    if is_text(x):
        words = n.get("pool_strings")
        x, pool = places(x, words), [words.index(w) for w in words]
    x = tensor(x)
    low, high, skip, mode = n.get("min_gram_length"), n.get("max_gram_length"), n.get("max_skip_count"), n.get("mode")
    weights, size = n.get("weights", None), max(index) + 1
    single = x.dim() == 1
    rows = x.reshape([1, -1]) if single else x
    length = rows.shape[1]
    count = torch.zeros([rows.shape[0], size], dtype=torch.float32)
    number = 0
    for g in range(1, len(starts) + 1):
        end = starts[g] if g < len(starts) else len(pool)
        grams = [pool[k:k + g] for k in range(starts[g - 1], end, g)]
        where = index[number:number + len(grams)]
        number += len(grams)
        if not grams or g < low or g > high:
            continue
        hits = None
        for d in range(1, 2 if g == 1 else skip + 2):
            wide = length - (g - 1) * d
            if wide <= 0:
                continue
            win = torch.stack([rows.narrow(1, k * d, wide) for k in range(g)], -1).unsqueeze(2)  # [B, W, 1, g]
            m = torch.sum((win == floats(grams, torch.int64).to(x.dtype)).all(-1).to(torch.float32), [1])
            hits = m if hits is None else hits + m
        if hits is not None:
            count = torch.index_add(count, 1, floats(where, torch.int64), hits)
    scale = [1.0] * size
    if weights:
        for i, w in zip(index, weights):
            scale[i] = w
    if mode == "IDF":
        count = (count > 0).to(torch.float32)
    y = count if mode == "TF" else count * floats(scale)
    return y.reshape([size]) if single else y


ML = "ai.onnx.ml"
TABLE = [
    (ML, "Normalizer", 1, normalizer, "T"), (ML, "Scaler", 1, scaler, "T"), (ML, "Binarizer", 1, binarizer, "T"), (ML, "Imputer", 1, imputer, "T"),
    (ML, "ArrayFeatureExtractor", 1, feature_extractor, "RT"), (ML, "FeatureVectorizer", 1, feature_vectorizer, "T"), (ML, "OneHotEncoder", 1, one_hot, "R"),
    (ML, "LabelEncoder", 2, label_encoder, "R"), (ML, "CategoryMapper", 1, category_mapper, "R"), (ML, "LinearClassifier", 1, linear_classifier, "T"), (ML, "LinearRegressor", 1, linear_regressor, "T"),
    (ML, "ZipMap", 1, zip_map, "T"), (ML, "TreeEnsemble", 5, tree_ensemble, "T"), (ML, "TreeEnsembleClassifier", 1, tree_classifier, "T"),
    (ML, "TreeEnsembleRegressor", 1, tree_regressor, "T"), ("", "TfIdfVectorizer", 9, tf_idf, "R"),
]
