"""Forms of calls: what PyTorch's argument parser and its out= take and what they refuse, by the type of the exception."""
import torch
import torch.nn.functional as F


def show(name, function):
    try:
        r = function()
        print(name, r.dtype if isinstance(r, torch.Tensor) else "", r.tolist() if isinstance(r, torch.Tensor) else r)
    except Exception as e:
        print(name, type(e).__name__)


x, i, c, t = torch.arange(6.0).reshape(2, 3), torch.arange(6).reshape(2, 3), torch.complex(torch.ones(2), torch.ones(2)), torch.tensor
zeros = lambda *size, dtype=torch.float32: torch.zeros(size, dtype=dtype)
one = zeros(1).expand(3)
rows = {
    # where a name stands
    "names": lambda: [hasattr(torch, "relu"), hasattr(torch, "silu"), hasattr(x, "conv2d"), hasattr(F, "sin"), hasattr(x, "view"), hasattr(torch, "view")],
    "_VF": lambda: torch._VF.split(x, 2, 1)[0], "_C._nn": lambda: torch._C._nn.avg_pool2d(x[None], 2), "split": lambda: torch.split(x, 1, 0, 1),
    "split method": lambda: x.split(split_size=2, dim=1)[1], "split_size of the function": lambda: torch.split(x, split_size=2),
    # out=: of which overloads
    "sum over all": lambda: torch.sum(x, out=zeros()), "sum of a dim": lambda: torch.sum(x, 0, out=zeros(3)), "isnan": lambda: torch.isnan(x, out=zeros(2, 3)),
    "roll": lambda: torch.roll(x, 1, out=x.clone()), "method": lambda: x.add(1, out=x.clone()), "relu": lambda: F.silu(x, out=x.clone()),
    # ... of what type
    "mm": lambda: torch.mm(x, x.mT, out=zeros(2, 2, dtype=torch.float64)), "add": lambda: torch.add(x, 1, out=zeros(2, 3, dtype=torch.float64)),
    "add into ints": lambda: torch.add(x, 1, out=zeros(2, 3, dtype=torch.int64)), "cat into ints": lambda: torch.cat([x, x], out=zeros(4, 3, dtype=torch.int64)),
    "sum into ints": lambda: torch.sum(x * 1.5, 1, out=zeros(2, dtype=torch.int64)), "sum of a type": lambda: torch.sum(x, 1, dtype=torch.float64, out=zeros(2)),
    "max and places": lambda: torch.max(x, 1, out=(zeros(2), zeros(2, dtype=torch.int32))), "arange": lambda: torch.arange(3, out=zeros(3)),
    "ones of a type": lambda: torch.ones(2, dtype=torch.float64, out=zeros(2)), "nansum": lambda: torch.nansum(x, 1, out=zeros(2, dtype=torch.int64)),
    # ... where it lies
    "expanded": lambda: torch.add(x[0], 1, out=one), "itself": lambda: torch.add(x[0], t([[1.0], [2.0]]), out=x[0].clone()),
    "an operand that grows": lambda: (lambda y: torch.add(y, t([[1.0], [2.0]]), out=y))(zeros(3)), "its neighbour": lambda: (lambda y: torch.neg(y[1:], out=y[:-1]))(zeros(4)),
    "needs a gradient": lambda: torch.add(x.clone().requires_grad_(), 1, out=zeros(2, 3)), "no gradient there": lambda: torch.eq(x.clone().requires_grad_(), 1, out=zeros(2, 3, dtype=torch.bool)),
    # in place
    "add_ expanded": lambda: one.add_(1), "fill_ expanded": lambda: zeros(1).expand(3).fill_(1), "add_ of a neighbour": lambda: (lambda y: y[1:].add_(y[:-1]))(zeros(4)),
    "add_ of a turned": lambda: (lambda y: y.add_(y.t()))(zeros(2, 2)), "add_ of itself": lambda: (lambda y: y.add_(y))(torch.ones(2)), "add_ of more": lambda: zeros().add_(zeros(1)),
    "abs_ of complex": lambda: c.clone().abs_(), "div_ of ints": lambda: i.clone().div_(2),
    # ints
    "dim of one element": lambda: x.softmax(t([1])), "dim of no rank": lambda: x.cumsum(t(1)), "k of one element": lambda: x.topk(t([1]))[0],
    "dim too big": lambda: x.softmax(2**70), "size too big": lambda: x.view(2**70), "number too big": lambda: x + 2**70, "amin of None": lambda: x.amin(None),
    "roll of None": lambda: x.roll(1, None), "x=": lambda: torch.conv1d(x=x[None], weight=torch.ones(1, 2, 1)), "self=": lambda: torch.neg(self=x), "axis=": lambda: list(torch.cosine_similarity(x, x, axis=0).shape),
    # torch.ops
    "a truth": lambda: torch.ops.aten._upsample_bilinear2d_aa(torch.ones(1, 1, 2, 2), output_size=(1, 1), align_corners=0), "no match": lambda: torch.ops.aten.relu(1),
    # types
    "exp of nothing": lambda: torch.exp(zeros(0).to(torch.float8_e4m3fn)), "trunc of bools": lambda: torch.div(i > 1, i > 1, rounding_mode="trunc"),
    "topk of bools": lambda: torch.topk(i[0] > 1, 1), "softmax to complex": lambda: x.softmax(0, torch.complex64), "igamma": lambda: torch.igamma(i, i), "conv of int8": lambda: F.conv1d(i[None].to(torch.int8), torch.ones(1, 2, 2, dtype=torch.int8), dilation=2),
    "ints need no gradient": lambda: torch.arange(3, requires_grad=True), "sub of a truth": lambda: torch.sub(True, i), "complex order": lambda: torch.linalg.vector_norm(x, ord=2 + 0j),
    "large value": lambda: torch.addcmul(x, x, x, value=1e300), "large factor": lambda: torch.addmm(x, torch.ones(2, 2), x, beta=1e300), "complex factor": lambda: torch.addmv(x[:, 0], x, x[0], alpha=2j),
    # sizes
    "mask": lambda: x.index_put((t([True, False, True]),), t(1.0)), "int16 index": lambda: x.index_put((t([1], dtype=torch.int16),), t(1.0)), "put": lambda: x.put(t([1, 2]), t([1.0])),
    "scatter of nothing": lambda: torch.scatter(t(1.0), 0, t(0), zeros(0)), "copy of one": lambda: x[0].index_copy(0, t([0, 1]), t(2.0)), "add of one": lambda: x[0].index_add(0, t([0, 1]), t(2.0)),
    "int32 copy": lambda: x[0].index_copy(0, t([0], dtype=torch.int32), t([2.0])), "bilinear": lambda: F.bilinear(x, x, torch.ones(4, 3, 2)), "strides": lambda: torch.empty_strided((2,), (-1,)),
    "diff": lambda: torch.diff(x, 0, 1, zeros(3, 1)), "adaptive": lambda: F.adaptive_avg_pool2d(x[None], [2]), "randint": lambda: torch.randint(3, (2,), dtype=torch.bool), "renorm": lambda: torch.renorm(x, 2, 0, float("nan")),
    "no strides": lambda: F.conv1d(i[None], torch.ones(1, 2, 1, dtype=torch.int64), stride=(), padding="valid"), "no sizes": lambda: F.fractional_max_pool2d(torch.ones(1, 1, 4, 4), 2, ()),
    "bias of another length": lambda: F.conv1d(i[None], torch.ones(1, 2, 1, dtype=torch.int64), torch.ones(2, dtype=torch.int64)),
    "heads of no dimension": lambda: F.scaled_dot_product_attention(x, x, x, enable_gqa=True), "mse of truths": lambda: F.mse_loss(x, x > 2), "smooth l1 of truths": lambda: F.smooth_l1_loss(x > 2, x),
    "flat int32 places": lambda: torch.take_along_dim(x, t([1, 5], dtype=torch.int32)), "tensor_split": lambda: [p.tolist() for p in torch.tensor_split(x=x, sections=t(2), axis=1)],
    "cartesian_prod": lambda: torch.cartesian_prod([x[0], x[1]]), "window of True": lambda: torch.signal.windows.hann(True), "norms of one element": lambda: torch.linalg.vector_norm(t([[6.5], [-2.5]]), 300, 1), "norm of a large one": lambda: torch.linalg.vector_norm(t([[1e30]]), dim=1),
    "complex linspace": lambda: torch.linspace(4 + 1j, -3, 3), "complex logspace": lambda: torch.logspace(1j, 0, 1, dtype=torch.complex64).real > 0, "mixed order": lambda: torch.searchsorted(i[0], t([2], dtype=torch.uint32)),
    "polygamma_ of ints": lambda: i.clone().polygamma_(1), "polygamma_": lambda: torch.ones(1).polygamma_(1).mul(100).floor(),
}
for name, function in rows.items():
    show(name, function)

# the sixth in hardsigmoid's gradient is that of float32 in every type
one = torch.ones(1, dtype=torch.float64)
print(torch.ops.aten.hardsigmoid_backward(one, one).item())

# a truth value is a number of any kind
b = torch.zeros(2, dtype=torch.bool)
print(b.fill_(1j), b.fill_(0j), torch.full_like(b, 1j), b.masked_fill(~b, 1j), torch.full((2,), 1j, dtype=torch.bool), torch.constant_pad_nd(b, [1, 0], 2j))

# dim_order, and where it is ambiguous
C, L = torch.contiguous_format, torch.channels_last
for t in (torch.ones(1, 3, 4, 1), torch.ones(2, 3, 4).transpose(0, 1), torch.ones(2, 3, 4, 5).to(memory_format=L), torch.ones(2, 3).expand(5, 2, 3), torch.ones(()), torch.ones(2, 3, 4, 5).permute(3, 1, 0, 2), torch.ones(3, 1, 4).permute(2, 1, 0)):
    for check in (False, True, [C], [C, L]):
        try:
            print(t.dim_order(ambiguity_check=check) if check else t.dim_order())
        except (RuntimeError, ValueError) as e:
            print(e)
