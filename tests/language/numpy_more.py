import numpy as np
import torch


def show(*values):
    print(*[np.round(v, 6).tolist() if isinstance(v, np.ndarray) else round(float(v), 6) if isinstance(v, float) else v for v in values])


a, m = np.array([3.0, 1.0, 2.0]), np.arange(6.0).reshape(2, 3)
show(np.append(1.0, a[:-1]), np.append(m, m, axis=0), np.append(a, [4, 5]))
show(*np.split(np.arange(6), 3), *np.array_split(a, 2), *np.split(m, [1], axis=1))
show(np.pad(a, 1), np.pad(m, ((0, 1), (2, 0)), mode="constant", constant_values=7), np.pad(m, (1, 0)))
show(np.interp([0.5, 1.5, 9.0, -1.0], [0, 1, 2], [10, 20, 0]), np.interp(1.25, [0, 1, 2], [1.0, 2.0, 4.0]))
show(m[np.ix_([1, 0], [2, 0])], np.unique([3, 1, 3, 2]), float(np.finfo(np.float32).eps) * 1e6, m[::-1, 1:], m[..., ::-2], m[None, 1, 2:0:-1], np.iinfo(np.int8).max)
show(np.hanning(5), np.hamming(4), np.blackman(4))
show(np.swapaxes(m, 0, 1), np.moveaxis(np.ones((2, 3, 4)), 0, -1).shape[0], np.ravel(m), np.broadcast_to(a, (2, 3)), np.trunc(a / 2), np.nan_to_num(np.array([np.nan, 1.0])))
show(np.sinc(a / 4), np.trace(m[:, :2]), np.flipud(m), np.fliplr(m), np.rot90(m), np.negative(a), np.bincount([0, 1, 1, 3]), np.cross(a, a[::-1].copy()), np.count_nonzero(m))
show(np.column_stack((a, a)), np.diagonal(m), np.atleast_2d(a), np.linalg.norm(a), np.linalg.norm(m, axis=1), np.linalg.inv(m[:, :2] + 1))
print(int(np.ceil(np.log(24)).astype("int").item()), np.float64(2.7).astype(int), np.sqrt(2.0).astype(np.float32).item(), np.log2(8).astype(np.int64) + 1)
show(np.pad(m, (1,)), np.pad(m, ((1, 2),)), np.pad(m, ((1,), (0,))))
print(np.interp([0.0, 0.1, 0.3, 0.7, 2], [0.0, 0.1, 0.3, 0.7], [1 / 3, 2 / 7, 5 / 9, 1 / 11]).tolist(), float(np.interp(0.5, [0.0], [3.0])))
show(np.arange(12).reshape(2, 2, 3)[np.array([[True, False], [True, True]]), ::-1], np.arange(12).reshape(3, 2, 2)[..., ::-1][:, np.array([[True, False], [False, True]])])
print(np.sinc(np.arange(3)).dtype == np.float64, np.nan_to_num(np.array([np.nan, 1.0]), True).tolist(), np.nan_to_num(np.array([np.nan, np.inf]), nan=2.0, posinf=3.0).tolist())
try:
    np.split(a, 2)
except ValueError as e:
    print(e)
show(*np.diag_indices(2), *np.tril_indices(3, -1), *np.triu_indices(3, 1, 4), np.indices((2, 3)), np.tri(2, 3), *np.nonzero(m > 2), np.flatnonzero(m), np.argwhere(m > 3))
show(np.mgrid[0:2, 0:3], np.mgrid[0:1:3j], np.mgrid[-1:1:0.5], *np.ogrid[0:2, 0:1:2j], np.take(m, [2, 0], axis=1), np.take(a, [[0, 1]]))
show(np.searchsorted([1, 2, 3], 2), np.searchsorted([1, 2, 3], [2, 4], side="right"), float(np.median(a)), np.median(m, axis=0), np.hypot(3.0, [4.0, 0.0]))
show(np.convolve([1, 2, 3], [0, 1, 0.5]), np.convolve([1, 2, 3, 4], [1, 1], "same"), np.convolve([1, 2, 3], [1, 1], "valid"), np.less(a, 2).tolist(), np.gcd(12, 18), np.inner(a, a))
show(np.isclose(a, [3, 1, 2.1]).tolist(), np.linalg.solve(np.eye(2) * 2, np.ones(2)), np.linalg.svd(m, compute_uv=False), abs(np.linalg.qr(m)[1]), np.copy(a), np.logical_xor([True, False], True).tolist())
t = torch.arange(9.0).view(3, 3)
t[np.tril_indices(3, -1)] = -1
t[np.array([2, 0])[1:], np.array([True, False, True])] += 10
print(t.tolist(), t[np.array([1])].tolist(), t[:, np.array([0, 2])].tolist(), t[np.int64(1)].tolist())
