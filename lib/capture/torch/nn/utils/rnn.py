# torch.nn.utils.rnn: padding and packing of sequences of different lengths. Where the source knows the lengths (a list, or a tensor made
# of one) a packed sequence has its rows as PyTorch has them; where they are data it stays padded (_Padded), for its sizes would be data too.
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


class _Padded(PackedSequence):
    """Of lengths that are data: (the padded steps, steps first and rows in the order given; the lengths; the order of the rows and its inverse)."""

    @property
    def _rows(self):
        order = self.sorted_indices
        return (self[0], self[1]) if order is None else (self[0].index_select(1, order), self[1].index_select(0, order))

    @property
    def data(self):
        steps, lengths = self._rows
        return steps[_held(steps, lengths)]

    @property
    def batch_sizes(self):
        sizes = _held(self[0], self[1]).sum(1)
        return sizes[sizes > 0]

    def _replace(self, **parts):
        return PackedSequence(*[parts.get(n, getattr(self, n)) for n in self._fields])

    def to(self, *args, **kwargs):
        return _Padded(self[0].to(*args, **kwargs), *self[1:])

    def float(self):
        return self.to(torch.float32)

    def double(self):
        return self.to(torch.float64)


# A sequence made of the rows of another, as PackedSequence(dropout(p.data), p.batch_sizes, ...), padded again where its sizes are data.
def _again(sequence):
    if isinstance(sequence, _Padded) or torch._C.is_known(sequence.batch_sizes):
        return sequence
    sizes, data, order = sequence.batch_sizes, sequence.data, sequence.sorted_indices
    rows = sizes[0].item() if order is None else order.size(0)
    held = torch.arange(rows) < sizes.unsqueeze(1)
    steps = data.new_zeros((sizes.size(0), rows, *data.shape[1:]))
    steps = steps.masked_scatter(held.reshape(held.shape + (1,) * (data.dim() - 1)), data)
    lengths = held.sum(0)
    if order is not None:
        steps, lengths = steps.index_select(1, sequence.unsorted_indices), lengths.index_select(0, sequence.unsorted_indices)
    return _Padded(steps, lengths, order, sequence.unsorted_indices)


# Mask of the steps before the end of each row's sequence.
def _held(steps, lengths):
    return torch.arange(steps.size(0)).unsqueeze(1) < lengths


def _masked(steps, lengths, value=0.0):
    held = _held(steps, lengths)
    return steps.masked_fill(~held.reshape(held.shape + (1,) * (steps.dim() - 2)), value)


# The steps of each row up to its length in the other order; those behind it are what they may be.
def _turned(steps, lengths):
    at = (lengths - 1 - torch.arange(steps.size(0)).unsqueeze(1)).clamp(min=0)
    return steps.gather(0, at.unsqueeze(-1).expand_as(steps))


def _of_data(lengths):
    if isinstance(lengths, torch.Tensor):
        return None if torch._C.is_known(lengths) else lengths
    return torch.tensor(lengths) if any([torch._C.from_data(n) for n in lengths]) else None


def _assert(holds, message):
    torch.ops.aten._assert_async.msg(holds.all(), message)


def _pad_packed(p, batch_first, padding_value, total_length):
    steps, longest = _masked(p[0], p[1], padding_value), p[1].max()
    n = steps.size(0)
    if total_length is not None:
        _assert(longest <= total_length, f"Expected total_length={total_length} to be at least the length of the longest sequence in input")
        if torch._C.from_data(n):
            torch._check(n <= total_length)
        elif n > total_length:
            steps = steps[:total_length]
        if torch._C.from_data(n) or n < total_length:
            steps = torch.nn.functional.pad(steps, [0, 0] * (steps.dim() - 1) + [0, total_length - n], value=padding_value)
    elif not torch._C.from_data(n):  # else the length of the longest
        last = longest.item()
        torch._check(last >= 1)
        torch._check(last <= n)
        steps = steps[:last]
    return (steps.transpose(0, 1) if batch_first else steps), p[1]


# One layer and direction over padded rows: the steps with 0 behind each row's end, and the states at the end. What stands behind an end
# leaves the cell of an LSTM as it is: one more input, 1 there, closes the input gate and opens the forget gate.
def _padded_layer(op, steps, lengths, states, weights, backward, lstm, biases):
    at = (lengths - 1).reshape(1, -1, 1)
    x = _masked(_turned(steps, lengths) if backward else steps, lengths)
    if lstm:
        ended = (~_held(steps, lengths)).to(x.dtype).unsqueeze(-1)
        n = weights[0].size(0) // 4
        gates = torch.tensor([-1e4, 1e4, 0.0, 0.0], dtype=x.dtype).repeat_interleave(n).unsqueeze(1)
        x, weights = torch.cat((x, ended), -1), [torch.cat((weights[0], gates), 1)] + weights[1:]
    r = op(x, states if lstm else states[0], weights, biases, 1, 0.0, False, False, False)
    last = [r[0].gather(0, at.expand(1, -1, r[0].size(-1)))] + list(r[2:])
    return _masked(_turned(r[0], lengths) if backward else r[0], lengths), last


def _run_padded(module, op, sequence, hx):
    steps, lengths, final = sequence[0], sequence[1], []
    directions, lstm = 2 if module.bidirectional else 1, module.mode == "LSTM"
    if hx is None:
        hx = _zero_states(module, directions, steps.size(1), steps.dtype)
    for layer in range(module.num_layers):
        outs = []
        for i in range(layer * directions, (layer + 1) * directions):
            weights = list(module.all_weights[i])
            out, last = _padded_layer(op, steps, lengths, [s[i:i + 1] for s in hx], weights, i % directions == 1, lstm, module.bias)
            outs.append(out)
            final.append(last)
        steps = outs[0] if directions == 1 else torch.cat(outs, -1)
        if module.training and module.dropout > 0 and layer < module.num_layers - 1:
            steps = torch.dropout(steps, module.dropout, True)
    return _Padded(steps, *sequence[1:]), [torch.cat([f[k] for f in final]) for k in range(len(hx))]


def _zero_states(module, directions, b, dtype):
    widths = [module.proj_size if module.proj_size > 0 else module.hidden_size, module.hidden_size][:2 if module.mode == "LSTM" else 1]
    return [torch.zeros(module.num_layers * directions, b, w, dtype=dtype) for w in widths]


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
    if _of_data(lengths) is not None:
        return [row[:n.item()] for row, n in zip(padded_sequences, _of_data(lengths))]
    return [padded_sequences[i, :n] for i, n in enumerate(_numbers(lengths))]


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    data = _of_data(lengths)
    lengths = _numbers(lengths) if data is None else data
    sorted_indices = unsorted_indices = None
    if batch_first:
        input = input.transpose(0, 1)
    if input.size(1) != len(lengths):
        raise RuntimeError(f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={input.size(1)})")
    if data is not None:
        _assert(data > 0, "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0")
        _assert(data <= input.size(0), "Expected lengths of at most the number of steps of the input")
        if enforce_sorted:
            _assert(data[:-1] >= data[1:], "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True")
        else:
            sorted_indices = torch.sort(data, descending=True)[1]
            unsorted_indices = torch.argsort(sorted_indices)
        return _Padded(input, data.long(), sorted_indices, unsorted_indices)
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


# Runs of steps with equal batch size: (first step, number of steps, batch size).
def _runs(sizes):
    out = []
    for t, b in enumerate(sizes):
        if out and out[-1][2] == b:
            out[-1] = (out[-1][0], out[-1][1] + 1, b)
        else:
            out.append((t, 1, b))
    return out


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    sequence = _again(sequence)
    if isinstance(sequence, _Padded):
        return _pad_packed(sequence, batch_first, padding_value, total_length)
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


# One layer and direction over packed rows: call(x, states) runs consecutive steps with one batch size and returns (out, states).
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
    if module.mode != "LSTM":  # PyTorch's LSTM leaves this to the operator
        module.check_input(sequence[0], None if isinstance(sequence, _Padded) else sequence.batch_sizes)
    sequence = _again(sequence)
    if isinstance(sequence, _Padded):
        return _run_padded(module, op, sequence, hx)
    sizes = sequence.batch_sizes.tolist()
    runs, data, b = _runs(sizes), sequence.data, sizes[0]
    directions = 2 if module.bidirectional else 1
    lstm = module.mode == "LSTM"
    if hx is None:
        hx = _zero_states(module, directions, b, data.dtype)
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
