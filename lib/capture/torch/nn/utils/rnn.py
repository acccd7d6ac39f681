# torch.nn.utils.rnn: padding and packing of sequences of different lengths. Lengths are numbers that the source knows: a list, or a
# tensor made of one; lengths that arrive as an input are data and refused where they are read.
from typing import NamedTuple

import torch


class PackedSequence(NamedTuple):
    data: object
    batch_sizes: object
    sorted_indices: object = None
    unsorted_indices: object = None

    def to(self, *args, **kwargs):
        return self._replace(data=self.data.to(*args, **kwargs))

    def float(self):
        return self._replace(data=self.data.float())

    def double(self):
        return self._replace(data=self.data.double())

    def cuda(self, *args, **kwargs):
        return self

    def cpu(self, *args, **kwargs):
        return self

    @property
    def is_cuda(self):
        return False


def _numbers(lengths):
    return [int(n) for n in (lengths.tolist() if isinstance(lengths, torch.Tensor) else lengths)]


def invert_permutation(permutation):
    if permutation is None:
        return None
    out = torch.empty_like(permutation)
    out.scatter_(0, permutation, torch.arange(0, permutation.numel()))
    return out


def pad_sequence(sequences, batch_first=False, padding_value=0.0, padding_side="right"):
    if padding_side not in ("left", "right"):
        raise ValueError("Expected padding_side to be one of left or right, but got " + str(padding_side) + ".")
    sequences = list(sequences)
    if len(sequences) == 0:
        raise RuntimeError("Expected sequences to be a list of tensors, but got an empty list")
    longest = max([s.size(0) for s in sequences])
    padded = []
    for s in sequences:
        pad = longest - s.size(0)
        sides = [0, 0] * (s.dim() - 1) + ([0, pad] if padding_side == "right" else [pad, 0])
        padded.append(torch.nn.functional.pad(s, sides, value=padding_value))
    return torch.stack(padded, 0 if batch_first else 1)


def unpad_sequence(padded_sequences, lengths, batch_first=False):
    if not batch_first:
        padded_sequences = padded_sequences.transpose(0, 1)
    return [padded_sequences[i, :n] for i, n in enumerate(_numbers(lengths))]


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    lengths = _numbers(lengths)
    sorted_indices = unsorted_indices = None
    if batch_first:
        input = input.transpose(0, 1)
    if input.size(1) != len(lengths):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={input.size(1)})")
    if min(lengths) <= 0:
        raise RuntimeError("Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
    if enforce_sorted:
        if lengths != sorted(lengths, reverse=True):
            raise RuntimeError("`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` to "
                               "pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability.")
    else:
        order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
        back = sorted(range(len(lengths)), key=lambda i: order[i])
        sorted_indices, unsorted_indices = torch.tensor(order), torch.tensor(back)
        input = input.index_select(1, sorted_indices)
        lengths = [lengths[i] for i in order]
    if lengths[0] > input.size(0):
        raise RuntimeError(f"Expected lengths of at most {input.size(0)}, but got {lengths[0]}")
    sizes = [sum([n > t for n in lengths]) for t in range(lengths[0])]
    parts = [input[start:start + count, :b].reshape(count * b, *input.shape[2:]) for start, count, b in _runs(sizes)]
    return PackedSequence(torch.cat(parts), torch.tensor(sizes), sorted_indices, unsorted_indices)


# Steps with one batch size in a row: (first step, number of steps, batch size).
def _runs(sizes):
    out = []
    for t, b in enumerate(sizes):
        if out and out[-1][2] == b:
            out[-1] = (out[-1][0], out[-1][1] + 1, b)
        else:
            out.append((t, 1, b))
    return out


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    sizes, at, parts = sequence.batch_sizes.tolist(), 0, []
    steps = len(sizes)
    if total_length is not None:
        if total_length < steps:
            raise ValueError(f"Expected total_length to be at least the length of the longest sequence in input, but got total_length={total_length} and "
                             f"max sequence length being {steps}")
        steps = total_length
    rest = list(sequence.data.shape[1:])
    for start, count, b in _runs(sizes):
        block = sequence.data[at:at + count * b].reshape(count, b, *rest)
        at += count * b
        parts.append(torch.nn.functional.pad(block, [0, 0] * len(rest) + [0, sizes[0] - b, 0, 0], value=padding_value))
    if steps > len(sizes):
        parts.append(sequence.data.new_full((steps - len(sizes), sizes[0], *rest), padding_value))
    out = torch.cat(parts)
    lengths = torch.tensor([sum([b > i for b in sizes]) for i in range(sizes[0])])
    if sequence.unsorted_indices is not None:
        out = out.index_select(1, sequence.unsorted_indices)
        back = sequence.unsorted_indices.tolist()
        lengths = torch.tensor([lengths.tolist()[i] for i in back])
    return (out.transpose(0, 1) if batch_first else out), lengths


def pack_sequence(sequences, enforce_sorted=True):
    return pack_padded_sequence(pad_sequence(sequences), [s.size(0) for s in sequences], enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences):
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


# One layer and direction over packed rows: call(x, states) runs a stretch of steps with one batch size and gives (out, states).
def _layer(data, runs, states, backward, call):
    offsets, at = [], 0
    for start, count, b in runs:
        offsets.append(at)
        at += count * b
    outs, done, first = [], [], runs[-1][2] if backward else runs[0][2]
    now = [s[:, :first] for s in states]
    for i in (reversed(range(len(runs))) if backward else range(len(runs))):
        count, b = runs[i][1], runs[i][2]
        held = now[0].size(1)
        if b < held:
            done.append([s[:, b:] for s in now])
            now = [s[:, :b] for s in now]
        elif b > held:
            now = [torch.cat((s, whole[:, held:b]), 1) for s, whole in zip(now, states)]
        x = data[offsets[i]:offsets[i] + count * b].reshape(count, b, -1)
        out, now = call(x.flip(0) if backward else x, now)
        outs.append((out.flip(0) if backward else out).reshape(count * b, -1))
    last = [torch.cat([p[k] for p in [now] + done[::-1]], 1) for k in range(len(states))]
    return torch.cat(outs[::-1] if backward else outs), last


def run_packed(module, op, sequence, hx):
    """A recurrent module over a PackedSequence; hx: its states as a list, or None."""
    sizes = sequence.batch_sizes.tolist()
    runs, data, b = _runs(sizes), sequence.data, sizes[0]
    directions = 2 if module.bidirectional else 1
    lstm = module.mode == "LSTM"
    if hx is None:
        widths = [module.proj_size if module.proj_size > 0 else module.hidden_size, module.hidden_size][:2 if lstm else 1]
        hx = [torch.zeros(module.num_layers * directions, b, w, dtype=data.dtype) for w in widths]
    elif sequence.sorted_indices is not None:
        hx = [s.index_select(1, sequence.sorted_indices) for s in hx]
    final = []
    for layer in range(module.num_layers):
        outs = []
        for d in range(directions):
            weights = list(module.all_weights[layer * directions + d])

            def call(x, states):
                r = op(x, list(states) if lstm else states[0], weights, module.bias, 1, 0.0, module.training, False, False)
                return r[0], list(r[1:])

            out, last = _layer(data, runs, [s[layer * directions + d:layer * directions + d + 1] for s in hx], d == 1, call)
            outs.append(out)
            final.append(last)
        data = outs[0] if directions == 1 else torch.cat(outs, -1)
        if module.training and module.dropout > 0 and layer < module.num_layers - 1:
            data = torch.dropout(data, module.dropout, True)
    states = [torch.cat([f[k] for f in final]) for k in range(len(hx))]
    if sequence.unsorted_indices is not None:
        states = [s.index_select(1, sequence.unsorted_indices) for s in states]
    return PackedSequence(data, sequence.batch_sizes, sequence.sorted_indices, sequence.unsorted_indices), states
