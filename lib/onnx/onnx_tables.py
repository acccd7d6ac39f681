# Which rule an operator has at an opset: the tables of all families, and what the importer must know about operators besides.
import onnx_control
import onnx_host
import onnx_image
import onnx_math
import onnx_microsoft
import onnx_ml
import onnx_nn
import onnx_quant
import onnx_reduce
import onnx_sequence
import onnx_shape
import onnx_strings
import onnx_svm
import onnx_train

HOST = onnx_host.HOST
# Rules that move elements without reading them: they accept elements of any type.
MOVES = {}
for _op in ("Identity", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Concat", "Slice", "Gather", "Split", "Expand", "Tile",
            "Shape", "Size", "DepthToSpace", "SpaceToDepth", "Compress", "GatherElements", "GatherND", "Where"):
    MOVES[_op] = True
# The same for strings, which are also ordered.
MOVES_STRINGS = {}
for _op in list(MOVES) + ["Scatter", "ScatterElements", "ScatterND", "ReverseSequence", "SplitToSequence", "ConcatFromSequence", "Equal", "Unique"]:
    if _op not in ("Shape", "Size"):
        MOVES_STRINGS[_op] = True
# Never evaluated at import, since every run draws anew.
RANDOM = {}
for _op in ("RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike", "Bernoulli", "Multinomial", "Dropout"):
    RANDOM[_op] = True
# Not evaluated at import: they have subgraphs, or become loops of the graph.
LOOPS = {}
for _op in ("If", "Loop", "Scan", "SequenceMap", "NonMaxSuppression", "LSTM", "GRU", "RNN", "DynamicQuantizeLSTM"):
    LOOPS[_op] = True


class Row:
    def __init__(self, since, rule, kinds, least):
        self.since, self.rule, self.kinds, self.least = since, rule, kinds, least


# kinds: a letter an input, the last one for all that follow: t tensor, h numbers that must be known, s sizes (known, symbolic, or from
# data), r the value as it is. An upper-case letter's input may not be left out.
def _rows(module):
    out = {}
    for domain, op, since, rule, kinds in module.TABLE:
        least = 0
        for i, k in enumerate(kinds):
            if k.isupper():
                least = i + 1
        key = (domain, op)
        if key not in out:
            out[key] = []
        out[key].append(Row(since, rule, kinds.lower(), least))
    return out


TABLES = [_rows(m) for m in (onnx_math, onnx_shape, onnx_reduce, onnx_nn, onnx_quant, onnx_control, onnx_sequence, onnx_image, onnx_ml, onnx_microsoft, onnx_strings, onnx_svm, onnx_train)]


def find(domain, op, version):
    for table in TABLES:
        rows = table.get((domain, op))
        if rows:
            best = None
            for r in rows:
                if r.since <= version and (best is None or r.since > best.since):
                    best = r
            return best
    return None
