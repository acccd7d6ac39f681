"""How results lie in memory, of tensors kept in many ways: strides.txt holds what PyTorch 2.15 prints for M()(torch.zeros(1))."""
import torch
from torch import nn
import torch.nn.functional as F


def kept(*sizes):
    """Contiguous, channels last, the first dimension fastest, every second element, repeated along the first dimension."""
    x = torch.ones(sizes) * 0.5
    order = list(range(len(sizes)))[::-1]
    tensors = [x, x.permute(order).contiguous().permute(order), torch.ones([2 * n for n in sizes])[tuple(slice(None, None, 2) for _ in sizes)]]
    tensors.append(x[:1].expand(sizes))
    if len(sizes) > 3:
        tensors.append(x.contiguous(memory_format=torch.channels_last if len(sizes) == 4 else torch.channels_last_3d))
    return tensors


def of(result):
    return [of(r) for r in result] if isinstance(result, (list, tuple)) else result.stride()


def show(name, sizes, function):
    print(name, *[of(function(x)) for x in kept(*sizes)])


i, pivots = torch.tensor([1, 0]), torch.tensor([1, 2, 3], dtype=torch.int32)
MATRICES = {
    "cholesky": lambda a: [torch.linalg.cholesky(torch.eye(3) + 0 * a), torch.linalg.cholesky_ex(torch.eye(3) + 0 * a, upper=True)[0]],
    "inv": lambda a: torch.linalg.inv(a + torch.eye(3)), "eigh": torch.linalg.eigh, "eig": torch.linalg.eig, "qr": torch.linalg.qr,
    "svd": torch.linalg.svd, "torch.svd": torch.svd, "lu_factor": lambda a: torch.linalg.lu_factor(a + torch.eye(3)),
    "solve": lambda a: torch.linalg.solve(a + torch.eye(3), a), "from the right": lambda a: torch.linalg.lu_solve(a, pivots.expand(2, 3), a, left=False),
    "triangular": lambda a: torch.linalg.solve_triangular(a, a, upper=True, left=False), "householder": lambda a: torch.linalg.householder_product(a, a[..., 0]),
    "ldl": lambda a: torch.linalg.ldl_factor(a + torch.eye(3)), "geqrf": torch.geqrf, "cholesky_inverse": lambda a: torch.cholesky_inverse(a + torch.eye(3)), "cholesky_solve": lambda a: torch.cholesky_solve(a, a + torch.eye(3)),
    "lstsq": lambda a: torch.linalg.lstsq(a[:, :, :2] + torch.eye(3)[:, :2], a).solution, "tensorinv": lambda a: torch.linalg.tensorinv((a[0] + torch.eye(3)).reshape(3, 3), 1),
}
IMAGES = {
    "rand_like": torch.rand_like, "randn_like": torch.randn_like, "randint_like": lambda x: torch.randint_like(x, 3), "glu": F.glu,
    "glu of channels": lambda x: F.glu(x, 1), "shuffle": lambda x: F.pixel_shuffle(x, 2), "unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "channel_shuffle": lambda x: F.channel_shuffle(x, 2), "stack": lambda x: [torch.stack([x, x, x], d) for d in range(5)],
    "grid_sample": lambda x: F.grid_sample(x, x[:, :2].permute(0, 2, 3, 1), align_corners=False), "logsigmoid": F.logsigmoid,
    "bce": lambda x: F.binary_cross_entropy(x, x, reduction="none"), "unpool": lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2),
    "rsub": lambda x: torch.rsub(x, x[0]), "renorm": lambda x: torch.renorm(x, 2, 0, 1.0), "rot90": lambda x: torch.rot90(x, 4),
    "index": lambda x: [x[i], x[:, i], x[:, :, i], x[i, :, i], x[:, i, i], x[..., i[:, None], i]], "put": lambda x: torch.put(x, i, torch.ones(2)),
    "index_fill": lambda x: x.index_fill(1, i, 2), "index_put": lambda x: x.index_put((i,), torch.ones(())), "ravel": torch.ravel,
    "masked_scatter": lambda x: x.masked_scatter(x > 0, x), "scatters": lambda x: [x.select_scatter(x[0], 0, 1), torch.slice_scatter(x, x[:1], 0, 0, 1),
                                                                                   torch.diagonal_scatter(x, x.diagonal())],
    "copies": lambda x: [torch.narrow_copy(x, 1, 0, 2), torch.unsafe_chunk(x, 2), torch.split_with_sizes_copy(x, [1, 1])], "positive": lambda x: +x,
    "formats": lambda x: [x.to(memory_format=torch.channels_last), x.contiguous(memory_format=torch.channels_last), x.cpu(memory_format=torch.channels_last),
                          x.float(memory_format=torch.contiguous_format), torch.zeros_like(x, memory_format=torch.channels_last)],
}
IMAGES |= {
    "rrelu": lambda x: [F.rrelu(x), F.rrelu(x, training=True)], "one_hot": lambda x: F.one_hot(x.long(), 3),
    "attention": lambda x: [F.scaled_dot_product_attention(q, q, q) for q in (x, x.transpose(1, 2), x.transpose(2, 3))],
    "attention of other widths": lambda x: F.scaled_dot_product_attention(x, x, x[..., :3]),
    "attention and sums": lambda x: list(torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(x, x, x)),
}
STEPS = {
    "gradient": lambda x: [torch.gradient(x), *[torch.gradient(x, dim=d, edge_order=2) for d in (1, 2)], torch.gradient(x, spacing=2.0, dim=1)],
    "stack of three": lambda x: [torch.stack([x[0], x[0]], d) for d in range(3)],
    "is_contiguous": lambda x: [x[int(x.is_contiguous(memory_format=f)):] for f in (torch.contiguous_format, torch.channels_last, torch.channels_last_3d)],
}
FOURIER = {
    "fft of real": lambda x: [[torch.fft.fft(x, dim=d), torch.fft.ifft(x, dim=d)] for d in range(3)],
    "ihfftn": lambda x: [torch.fft.ihfftn(x, dim=d) for d in ((0, 1), (2, 0), None)],
    "fft": lambda x: [torch.fft.fft(x.cfloat(), dim=d) for d in range(3)], "fftn": lambda x: [torch.fft.fftn(x, dim=d) for d in ((0, 2), (1, 0), None)],
    "rfft": lambda x: [torch.fft.rfft(x, dim=d) for d in range(3)], "rfftn": lambda x: [torch.fft.rfftn(x, dim=d) for d in ((0, 2), (2, 0), None)],
    "irfft": lambda x: [torch.fft.irfft(x, dim=d) for d in range(3)], "irfftn": lambda x: [torch.fft.irfftn(x.cfloat(), dim=d) for d in ((0, 1), (2, 0), None)],
}
EQUATIONS = ["ij,jk->ik", "ij,jk->ki", "ki,kj->ji", "bij,bjk->bik", "bij,bjk->bki", "bij,bjk->ikb", "bij,jk->bki", "bij,kj->kib", "bij,bij->ji", "bij->ijb"]


def einsum(equation):
    return lambda x: torch.einsum(equation, *[x[(0,) * (3 - len(part))] for part in equation.split("->")[0].split(",")])


VOLUMES = {
    "max_pool3d": lambda x: F.max_pool3d(x, 2), "avg_pool3d": lambda x: F.avg_pool3d(x, 2), "adaptive_avg_pool3d": lambda x: F.adaptive_avg_pool3d(x, 3),
    "adaptive_max_pool3d": lambda x: F.adaptive_max_pool3d(x, 3, return_indices=True), "channel_shuffle": lambda x: F.channel_shuffle(x, 2),
}


class M(nn.Module):
    def forward(self, x):
        for name, function in MATRICES.items():
            show(name, (2, 3, 3), function)
        for name, function in IMAGES.items():
            show(name, (2, 4, 4, 6), function)
        for name, function in STEPS.items():
            show(name, (2, 3, 4, 6), function)
        for name, function in FOURIER.items():
            show(name, (2, 3, 4), function)
        for equation in EQUATIONS:
            show(equation, (3, 3, 3), einsum(equation))
        for name, function in VOLUMES.items():
            show(name, (2, 4, 4, 6, 8), function)
        show("normal", (3, 4), lambda x: torch.normal(x, 1.0))
        show("addbmm", (3, 3), lambda x: torch.addbmm(x, torch.ones(2, 3, 2), torch.ones(2, 2, 3)))
        return x
