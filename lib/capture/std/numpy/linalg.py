# numpy.linalg, over torch.linalg.
import torch
from numpy import _of_torch, _pair, _real, asarray, ndarray

inv, det, pinv, norm, cholesky, matrix_rank, matrix_power = [_of_torch(f) for f in (
    torch.linalg.inv, torch.linalg.det, torch.linalg.pinv, torch.linalg.norm, torch.linalg.cholesky, torch.linalg.matrix_rank,
    torch.linalg.matrix_power)]


def solve(a, b):
    return ndarray(torch.linalg.solve(*_pair(a, b)))


def qr(a, mode="reduced"):
    return tuple([ndarray(t) for t in torch.linalg.qr(_real(asarray(a)._tensor), mode)])


def svd(a, full_matrices=True, compute_uv=True):
    t = _real(asarray(a)._tensor)
    return tuple([ndarray(t) for t in torch.linalg.svd(t, full_matrices)]) if compute_uv else ndarray(torch.linalg.svdvals(t))


def eigh(a):
    return tuple([ndarray(t) for t in torch.linalg.eigh(_real(asarray(a)._tensor))])
