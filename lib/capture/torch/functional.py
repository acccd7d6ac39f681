# Functions of `torch` and methods of Tensor that are Python in PyTorch: argument forms that no ATen schema has.
# A name in `_methods` is also a method, its first argument the tensor (by `_method_NAME`, where that is another function); one in `_only_methods` is nothing else.
import torch

Tensor = torch.Tensor  # files import it from here too

# Names below that are methods hide the builtins of the same name in this file.
_int = int

_aten = torch.ops.aten
_VF = torch._VF  # with the keywords of torch: out=
_methods = {"nonzero", "split", "tensor_split", "norm", "unique", "unique_consecutive", "stft", "istft", "unflatten", "to", "float", "double", "half", "bfloat16", "long", "int",
            "short", "char", "byte", "bool", "cfloat", "cdouble", "cuda", "cpu", "xpu", "type", "lu", "new_tensor", "pin_memory",
            "share_memory_", "fill_diagonal_", "polygamma_"}
_only_methods = {"unflatten", "to", "float", "double", "half", "bfloat16", "long", "int", "short", "char", "byte", "bool", "cfloat", "cdouble", "cuda",
                 "cpu", "xpu", "type", "new_tensor", "pin_memory", "share_memory_", "fill_diagonal_", "polygamma_"}


def _seq(operands):
    return list(operands[0]) if len(operands) == 1 and isinstance(operands[0], (list, tuple)) else list(operands)


def broadcast_tensors(*tensors):
    return _aten.broadcast_tensors(_seq(tensors))


def broadcast_shapes(*shapes):
    rank = 0
    for s in shapes:
        if not isinstance(s, (_int, torch.SymInt, tuple, list)):
            raise RuntimeError(f"Input shapes should be of type ints, a tuple of ints, or a list of ints, got {s}")
        for n in [s] if isinstance(s, (_int, torch.SymInt)) else s:
            if not isinstance(n, (_int, torch.SymInt)):
                raise TypeError(f"torch.Size() takes an iterable of 'int' (item is '{type(n).__name__}')")
        rank = max(rank, 1 if isinstance(s, (_int, torch.SymInt)) else len(s))
    out = [1] * rank
    for s in shapes:
        s = torch.Size((s,) if isinstance(s, _int) else s)
        for i in range(-1, -1 - len(s), -1):
            if s[i] < 0:
                raise ValueError("Attempting to broadcast a dimension with negative length!")
            if s[i] == 1 or s[i] == out[i]:
                continue
            if out[i] != 1:
                raise RuntimeError(f"Shape mismatch: objects cannot be broadcast to a single shape: {shapes}")
            out[i] = s[i]
    return torch.Size(out)


def split(tensor, split_size_or_sections, dim=0):
    return tensor.split(split_size_or_sections, dim)


def _method_split(self, split_size, dim=0):
    if isinstance(split_size, (_int, torch.SymInt)):
        return _VF.split(self, split_size, dim)
    return _VF.split_with_sizes(self, split_size, dim)


# A tensor gives the indices to cut at; a 0-d tensor the number of pieces.
def tensor_split(*args, **kwargs):
    name = "tensor_indices_or_sections"
    at = args[1] if len(args) > 1 else kwargs.get(name)
    if isinstance(at, torch.Tensor):
        if at.dtype != torch.int64:
            raise RuntimeError("tensor_split expected tensor_indices_or_sections to have dtype of long, but got " + str(at.dtype))
        if at.dim() > 1:
            raise RuntimeError(f"tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor with {at.dim()} dims")
        whole = at.dim() == 0
        at = at.item() if whole else [at[i].item() for i in range(at.shape[0])]
        if len(args) > 1:
            args = (args[0], at) + args[2:]
        else:
            kwargs = {k: v for k, v in kwargs.items() if k != name}
            kwargs["sections" if whole else "indices"] = at
    return _VF.tensor_split(*args, **kwargs)


def einsum(*args):
    if len(args) < 2:
        raise ValueError("einsum(): must specify the equation string and at least one operand, or at least one operand and its subscripts list")
    if isinstance(args[0], torch.Tensor):
        # Operands and subscript lists in turn; a last list without operand is the output.
        def text(subscripts):
            s = ""
            for i in subscripts:
                if i is ...:
                    s += "..."
                elif 0 <= i < 26:
                    s += chr(ord("A") + i)
                elif 26 <= i < 52:
                    s += chr(ord("a") + i - 26)
                else:
                    raise ValueError("einsum(): subscript in subscript list is not within the valid range [0, 52)")
            return s

        equation = ",".join([text(s) for s in args[1::2]])
        if len(args) % 2 == 1:
            equation += "->" + text(args[-1])
            operands = args[:-1][::2]
        else:
            operands = args[::2]
        return _aten.einsum(equation, list(operands))
    return _aten.einsum(args[0], _seq(args[1:]))


def tensordot(a, b, dims=2, out=None):
    if isinstance(dims, torch.Tensor):
        n = dims.numel()
        if n == 1:
            dims = dims.item()
        else:
            dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        dims_a, dims_b = dims
        dims_a = [dims_a] if isinstance(dims_a, _int) else list(dims_a)
        dims_b = [dims_b] if isinstance(dims_b, _int) else list(dims_b)
    else:
        if dims < 0:
            raise RuntimeError(f"tensordot expects dims >= 0, but got dims={dims}")
        if dims > min(a.dim(), b.dim()):
            raise RuntimeError(f"tensordot expects dims < ndim_a or ndim_b, but got dims={dims}")
        dims_a = list(range(-dims, 0))
        dims_b = list(range(dims))
    return _VF.tensordot(a, b, dims_a, dims_b, out=out)


def cartesian_prod(*tensors):
    return _aten.cartesian_prod(tensors)


def block_diag(*tensors):
    return _aten.block_diag(_seq(tensors))


def meshgrid(*tensors, indexing=None):
    tensors = _seq(tensors)
    if indexing is None:
        return _aten.meshgrid(tensors)
    return _aten.meshgrid.indexing(tensors, indexing=indexing)


def _atleast(one, many, tensors):
    if len(tensors) == 1:
        return one(tensors[0]) if isinstance(tensors[0], torch.Tensor) else many(list(tensors[0]))
    return many(list(tensors))


def atleast_1d(*tensors):
    return _atleast(_aten.atleast_1d.default, _aten.atleast_1d.Sequence, tensors)


def atleast_2d(*tensors):
    return _atleast(_aten.atleast_2d.default, _aten.atleast_2d.Sequence, tensors)


def atleast_3d(*tensors):
    return _atleast(_aten.atleast_3d.default, _aten.atleast_3d.Sequence, tensors)


def cdist(x1, x2, p=2.0, compute_mode="use_mm_for_euclid_dist_if_necessary"):
    modes = {"use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2}
    if compute_mode not in modes:
        raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
    return _aten.cdist(x1, x2, p, modes[compute_mode])


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    from torch.func import vmap as mapped
    return mapped(func, in_dims, out_dims, randomness, chunk_size=chunk_size)


def chain_matmul(*matrices, out=None):
    matrices = _seq(matrices)
    if len(matrices) == 1 and matrices[0].dim() == 2:
        return matrices[0].clone() if out is None else torch.add(matrices[0], 0, out=out)
    return torch.linalg.multi_dot(matrices, out=out)


def norm(input, p="fro", dim=None, keepdim=False, out=None, dtype=None):
    if isinstance(dim, _int):
        dim = [dim]
    if p == "fro" or p is None:
        if dim is not None and len(dim) > 2:
            raise RuntimeError("norm: the Frobenius norm takes at most two dimensions")
        return torch.linalg.vector_norm(input, 2, dim, keepdim, dtype=dtype, out=out)
    if p == "nuc":
        return torch.linalg.matrix_norm(input, "nuc", [-2, -1] if dim is None else dim, keepdim, dtype=dtype, out=out)
    if isinstance(p, str):
        raise RuntimeError(f"norm: unknown order '{p}'")
    return torch.linalg.vector_norm(input, p, dim, keepdim, dtype=dtype, out=out)


def nonzero(input, *, as_tuple=False, out=None):
    if as_tuple:
        r = _aten.nonzero(input)
        return tuple(r.unbind(1)) if input.dim() else (r.new_zeros(r.shape[0]),)
    return _VF.nonzero(input, out=out)


def unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None):
    if dim is None:
        out, inverse, counts = _aten._unique2(input, sorted, return_inverse, return_counts)
    else:
        out, inverse, counts = _aten.unique_dim(input, dim, sorted, return_inverse, return_counts)
    return _unique_result(out, inverse, counts, return_inverse, return_counts)


def unique_consecutive(input, return_inverse=False, return_counts=False, dim=None):
    out, inverse, counts = _aten.unique_consecutive(input, return_inverse, return_counts, dim)
    return _unique_result(out, inverse, counts, return_inverse, return_counts)


def _unique_result(out, inverse, counts, return_inverse, return_counts):
    if return_inverse and return_counts:
        return out, inverse, counts
    if return_inverse:
        return out, inverse
    return (out, counts) if return_counts else out


def stft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode="reflect", normalized=False, onesided=None,
         return_complex=None, align_to_window=None):
    if center:
        extra = 3 - input.dim()
        shape = [1] * extra + list(input.size())
        pad = n_fft // 2
        input = _aten.pad(input.view(shape), [pad, pad], pad_mode)
        input = input.view(input.shape[-(3 - extra):])
    return _aten.stft(input, n_fft, hop_length, win_length, window, normalized, onesided, return_complex, align_to_window)


def istft(input, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, onesided=None, length=None,
          return_complex=False):
    return _aten.istft(input, n_fft, hop_length, win_length, window, center, normalized, onesided, length, return_complex)


def unravel_index(indices, shape):
    if indices.is_complex() or indices.is_floating_point() or indices.dtype == torch.bool:
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, (_int, torch.SymInt, tuple, list)):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    shape = (shape,) if isinstance(shape, (_int, torch.SymInt)) else tuple(shape)
    for n in shape:
        if not isinstance(n, (_int, torch.SymInt)):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in shape):
        raise ValueError(f"'shape' cannot have negative values, but got {shape}")
    if any(n == 0 for n in shape) and indices.numel() != 0:
        raise ValueError(f"'shape' cannot have zero dimensions when 'indices' is non-empty, but got {shape}")
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    indices = indices.unsqueeze(-1).to(torch.int64)
    return (indices // torch.tensor(strides[::-1], dtype=torch.int64) % torch.tensor(shape, dtype=torch.int64)).unbind(-1)


def polygamma_(self, n):
    if not (self.is_floating_point() or self.is_complex()):
        raise RuntimeError(f"result type Float can't be cast to the desired output type {self.dtype}")
    return self.copy_(torch.polygamma(n, self))


def fill_diagonal_(self, fill_value, wrap=False):
    n = self.dim()
    if n < 2:
        raise RuntimeError("dimensions must larger than 1")
    for d in range(1, n):
        if n > 2 and self.shape[d] != self.shape[0]:
            raise RuntimeError("all dimensions of input must be of equal length")
    at = [torch.arange(self.shape[d]).view([-1 if k == d else 1 for k in range(n)]) for d in range(n)]
    # With wrap, the diagonal of a tall matrix starts again after one row in between.
    rows = at[0] % (self.shape[1] + 1) if wrap and n == 2 else at[0]
    mask = rows == at[1]
    for d in range(2, n):
        mask = mask & (rows == at[d])
    return self.masked_fill_(mask, fill_value)


def unflatten(self, dim, sizes):
    if len(sizes) == 0:
        raise RuntimeError("unflatten: sizes must be non-empty")
    return _aten.unflatten.int(self, dim, list(sizes))


def lu(A, pivot=True, get_infos=False, out=None):
    LU, pivots, infos = torch._lu_with_info(A, pivot=pivot, check_errors=not get_infos)
    return (LU, pivots, infos) if get_infos else (LU, pivots)


# ---- low rank: N. Halko, P. G. Martinsson, J. A. Tropp, Finding structure with randomness, SIAM Review 53 (2011), algorithms 4.4 and 5.1 ----
def _range_of(A, q, niter, M):
    X = torch.randn(A.shape[-1], q, dtype=A.dtype if A.dtype.is_floating_point or A.dtype.is_complex else torch.get_default_dtype())
    Q = torch.linalg.qr(A @ X if M is None else A @ X - M @ X)[0]
    for _ in range(niter):
        for B, N in ((A.mH, None if M is None else M.mH), (A, M)):
            Q = torch.linalg.qr(B @ Q if N is None else B @ Q - N @ Q)[0]
    return Q


def svd_lowrank(A, q=6, niter=2, M=None):
    if q is None:
        q = 6
    if M is not None:
        M = M.broadcast_to(A.size())
    flipped = A.shape[-2] < A.shape[-1]
    if flipped:
        A = A.mH
        M = None if M is None else M.mH
    Q = _range_of(A, q, niter, M)
    B = Q.mH @ A if M is None else Q.mH @ A - Q.mH @ M
    U, S, Vh = torch.linalg.svd(B, full_matrices=False)
    U = Q @ U
    V = Vh.mH
    # fixes the sign of each pair of vectors: the largest element of V is positive, whatever the random draw
    top = V.gather(-2, V.abs().argmax(-2, keepdim=True)).detach()
    turn = top.conj() / top.abs()
    U, V = U * turn, V * turn
    return (V, S, U) if flipped else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    m, n = A.shape[-2:]
    if q is None:
        q = min(6, m, n)
    elif not (q >= 0 and q <= min(m, n)):
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={min(m, n)}")
    if not (niter >= 0):
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center:
        A = A - A.mean(dim=(-2,), keepdim=True)
    return svd_lowrank(A, q, niter=niter)


# What the iteration converges to, by the decomposition of the whole matrix: A v = e B v. niter, tol, iK, method and the settings of the orthogonalisation
# steer the iteration alone; X says how many pairs there are, and without it as many random numbers are drawn as for its first guess.
def lobpcg(A, k=None, B=None, X=None, n=None, iK=None, niter=None, tol=None, largest=None, method=None, tracker=None,
           ortho_iparams=None, ortho_fparams=None, ortho_bparams=None):
    if tracker is not None:
        raise NotImplementedError("lobpcg: tracker is not supported")
    if A.dtype != torch.float32 and A.dtype != torch.float64:
        raise RuntimeError(f"lobpcg: expected A of type float32 or float64, got {A.dtype}")
    m = A.shape[-1]
    if A.shape[-2] != m:
        raise AssertionError(f"A must be square, got shape {A.shape}")
    if B is not None and A.shape != B.shape:
        raise AssertionError(f"A and B must have same shape, got {A.shape} vs {B.shape}")
    if k is None:
        k = 1 if X is None else X.shape[-1]
    if X is not None:
        n = X.shape[-1]
    elif n is None:
        n = k
    if m < 3 * n:
        raise ValueError(f"LOBPCG algorithm is not applicable when the number of A rows (={m}) is smaller than 3 x the number of requested eigenpairs (={n})")
    if X is None:
        torch.randn(A.shape[:-2] + (m, n), dtype=A.dtype)
    elif X.shape != A.shape[:-2] + (m, n):
        raise AssertionError(f"X shape mismatch: got {X.shape}, expected {tuple(A.shape[:-2]) + (m, n)}")
    A = (A + A.mT) / 2
    if B is not None:
        L = torch.linalg.cholesky((B + B.mT) / 2)
        A = torch.linalg.solve_triangular(L, torch.linalg.solve_triangular(L, A, upper=False).mT, upper=False)
    E, V = torch.linalg.eigh(A)
    if largest is None or largest:
        E, V = E.flip(-1), V.flip(-1)
    E, V = E[..., :min(k, n)], V[..., :min(k, n)]
    return E, V if B is None else torch.linalg.solve_triangular(L.mT, V, upper=True)


# ---- conversions ----
def to(self, *args, dtype=None, device=None, other=None, non_blocking=False, copy=False, memory_format=None):
    args = list(args)
    if args:
        first = args.pop(0)
        if isinstance(first, torch.Tensor):
            other = first
        elif isinstance(first, torch.dtype):
            dtype = first
        else:
            device = first
            if args and isinstance(args[0], torch.dtype):
                dtype = args.pop(0)
        if args:
            non_blocking = args.pop(0)
        if args:
            copy = args.pop(0)
        if args:
            raise TypeError("to() received an invalid combination of arguments")
    if device is not None and torch.device(device).type == "meta" and not self.is_meta:
        self = torch.empty_like(self, device="meta")
    if other is not None:
        dtype = other.dtype
    if dtype is None:
        dtype = self.dtype
    if not copy and dtype == self.dtype and memory_format is None:
        return self
    return _aten.to.dtype(self, dtype, non_blocking, copy, memory_format)


def float(self, *, memory_format=None):
    return to(self, torch.float32, memory_format=memory_format)


def double(self, *, memory_format=None):
    return to(self, torch.float64, memory_format=memory_format)


def half(self, *, memory_format=None):
    return to(self, torch.float16, memory_format=memory_format)


def bfloat16(self, *, memory_format=None):
    return to(self, torch.bfloat16, memory_format=memory_format)


def long(self, *, memory_format=None):
    return to(self, torch.int64, memory_format=memory_format)


def int(self, *, memory_format=None):
    return to(self, torch.int32, memory_format=memory_format)


def short(self, *, memory_format=None):
    return to(self, torch.int16, memory_format=memory_format)


def char(self, *, memory_format=None):
    return to(self, torch.int8, memory_format=memory_format)


def byte(self, *, memory_format=None):
    return to(self, torch.uint8, memory_format=memory_format)


def bool(self, *, memory_format=None):
    return to(self, torch.bool, memory_format=memory_format)


def cfloat(self, *, memory_format=None):
    return to(self, torch.complex64, memory_format=memory_format)


def cdouble(self, *, memory_format=None):
    return to(self, torch.complex128, memory_format=memory_format)


_type_names = {"FloatTensor": torch.float32, "DoubleTensor": torch.float64, "HalfTensor": torch.float16, "BFloat16Tensor": torch.bfloat16,
               "LongTensor": torch.int64, "IntTensor": torch.int32, "ShortTensor": torch.int16, "CharTensor": torch.int8,
               "ByteTensor": torch.uint8, "BoolTensor": torch.bool, "ComplexFloatTensor": torch.complex64,
               "ComplexDoubleTensor": torch.complex128}


def set_default_tensor_type(t):
    name = t.replace("torch.cuda.", "torch.")[6:] if isinstance(t, str) else ""
    dtype = _type_names.get(name) if name else getattr(t, "_dtype", t)
    if not isinstance(dtype, torch.dtype):
        raise TypeError("invalid type object: only floating-point types are supported as the default type")
    torch.set_default_dtype(dtype)


def type(self, dtype=None, non_blocking=False):
    if dtype is None:
        for name, d in _type_names.items():
            if d == self.dtype:
                return "torch." + name
        raise RuntimeError("type(): no legacy name for " + str(self.dtype))
    if isinstance(dtype, torch.dtype):
        return to(self, dtype)
    if dtype is torch.Tensor or dtype == "torch.Tensor":
        return to(self, torch.get_default_dtype())
    if hasattr(dtype, "_dtype"):  # torch.FloatTensor and its like
        return to(self, dtype._dtype)
    name = dtype.replace("torch.cuda.", "torch.") if isinstance(dtype, str) else ""
    if name[:6] == "torch." and name[6:] in _type_names:
        return to(self, _type_names[name[6:]])
    raise ValueError(f"invalid type: '{dtype}'")


def cuda(self, device=None, non_blocking=False, memory_format=None):
    return cpu(self, memory_format)


def cpu(self, memory_format=None):
    return self if memory_format is None else to(self, memory_format=memory_format)


def xpu(self, device=None, non_blocking=False):
    return self


def pin_memory(self, device=None):
    return self


def share_memory_(self):
    return self


def new_tensor(self, data, *, dtype=None, device=None, requires_grad=False):
    return torch.tensor(data, dtype=self.dtype if dtype is None else dtype, requires_grad=requires_grad)


def spmm(input, mat2):
    return torch.mm(input, mat2)


dsmm = spmm
