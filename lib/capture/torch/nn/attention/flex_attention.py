# torch.nn.attention.flex_attention: attention whose scores a function changes and another masks, one score at a time. Both are called once,
# with indices that broadcast to [B, H, Q, K], where each of their operations is one of single numbers (_C.lanes); else mapped.
import math
from collections import namedtuple
from inspect import signature

import torch
import torch.nn.functional as F
from torch import _C
from torch.func import vmap

AuxRequest = namedtuple("AuxRequest", ["lse", "max_scores"], defaults=[False, False])
AuxOutput = namedtuple("AuxOutput", ["lse", "max_scores"], defaults=[None, None])
_AXES = ((None, None, None, 0), (None, None, 0, None), (None, 0, None, None), (0, None, None, None))


def _identity(score, b, h, q, k):
    return score


def noop_mask(b, h, q_idx, kv_idx):
    return torch.ones((), dtype=torch.bool)


def and_masks(*mask_mods):
    def mask(b, h, q_idx, kv_idx):
        result = torch.ones((), dtype=torch.bool)
        for mod in mask_mods:
            result = result & mod(b, h, q_idx, kv_idx)
        return result

    return mask


def or_masks(*mask_mods):
    def mask(b, h, q_idx, kv_idx):
        result = torch.zeros((), dtype=torch.bool)
        for mod in mask_mods:
            result = result | mod(b, h, q_idx, kv_idx)
        return result

    return mask


def _of_all(mod, size, *scores):  # mod for all scores: [B, H, Q, K], or broadcastable to it
    at = [torch.arange(n) for n in size]
    if _C.capturing():
        lanes = [x.view([-1 if i == d else 1 for i in range(4)]) for d, x in enumerate(at)]
        _C.lanes(True)
        try:
            return mod(*scores, *lanes)
        except Exception:
            pass  # the function may be valid for a single score
        finally:
            _C.lanes(False)
    for axes in _AXES:
        mod = vmap(mod, in_dims=(0,) * len(scores) + axes)
    return mod(*scores, *at)


def _sliced_mask_mod_error(b, h, q_idx, kv_idx):
    raise RuntimeError("Cannot use mask_mod from a sliced BlockMask. When you slice a BlockMask using [], the mask_mod attribute is reset. "
                       "You must set it from the original BlockMask's mask_mod.")


def _selected(index, n):  # which of n an index selects, as a range; a tensor: how many
    if isinstance(index, int):
        index = slice(index, index + 1 if index != -1 else None)
    return range(*index.indices(n)) if isinstance(index, slice) else index.numel()


class BlockMask:  # keeps the function only: empty blocks matter to other devices' kernels
    def __init__(self, mask_mod, B, H, Q_LEN, KV_LEN, BLOCK_SIZE):
        self.mask_mod, self.seq_lengths = mask_mod, (Q_LEN, KV_LEN)
        self._batches, self._heads = B, H
        self.BLOCK_SIZE = BLOCK_SIZE if isinstance(BLOCK_SIZE, tuple) else (BLOCK_SIZE, BLOCK_SIZE)

    @property
    def shape(self):
        return (self._batches, self._heads, *self.seq_lengths)

    def to(self, device):
        return self

    def numel(self):
        return math.prod(self.shape)

    def _adjust(self, new_q_len, new_kv_len):
        return BlockMask(self.mask_mod, self._batches, self._heads, new_q_len, new_kv_len, self.BLOCK_SIZE)

    def __getitem__(self, index):  # batches, heads, rows of blocks
        index = index if isinstance(index, tuple) else (index,)
        if len(index) > 3:
            raise IndexError("BlockMask indexing supports batch, head, and Q-block dimensions")
        block, length = self.BLOCK_SIZE[0], self.seq_lengths[0]
        rows = (length + block - 1) // block
        some = [_selected(i, n) for i, n in zip((*index, slice(None), slice(None), slice(None)), (self._batches, self._heads, rows))]
        count = [len(x) if isinstance(x, range) else x for x in some]
        queries = count[2] * block
        if isinstance(some[2], range) and rows - 1 in some[2]:
            queries -= rows * block - length  # the last one need not be full
        return BlockMask(_sliced_mask_mod_error, count[0], count[1], queries, self.seq_lengths[1], self.BLOCK_SIZE)


def create_block_mask(mask_mod, B, H, Q_LEN, KV_LEN, device=None, BLOCK_SIZE=128, _compile=False, **options):
    return BlockMask(mask_mod, 1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN, BLOCK_SIZE)


def create_mask(mod_fn, B, H, Q_LEN, KV_LEN, device=None):
    size = (1 if B is None else B, 1 if H is None else H, Q_LEN, KV_LEN)
    places = [p for p in signature(mod_fn).parameters.values() if p.default is p.empty]
    if len(places) == 5:
        return ~torch.isneginf(_of_all(mod_fn, size, torch.zeros(size)).expand(size))
    return _of_all(mod_fn, size).expand(size)


def _check(query, key, value, block_mask, enable_gqa):
    if query.dim() != 4 or key.dim() != 4 or value.dim() != 4:
        raise NotImplementedError("NYI: query, key, and value must be 4D tensors")
    if query.size(-1) != key.size(-1):
        raise ValueError(f"Expect query and key/value to have the same embedding dimension but got E={query.size(-1)} and E={key.size(-1)}.")
    heads, groups = query.size(1), key.size(1)
    if not enable_gqa and heads != groups:
        raise ValueError(f"Expect query and key/value to have the same number of heads but got Hq={heads} and Hkv={groups}. "
                         "Try setting enable_gqa=True for GQA.")
    if heads % groups != 0:
        raise ValueError(f"Expect number of query heads to be a multiple of kv heads for GQA but got Hq={heads} and Hkv={groups}.")
    if query.size(0) != key.size(0) and (block_mask is None or block_mask.shape[0] != query.size(0) or key.size(0) != 1):
        raise ValueError(f"Expect query and key/value to have the same batch size, but got Bq={query.size(0)} and Bkv={key.size(0)}.")
    if block_mask is not None and block_mask.seq_lengths != (query.size(-2), key.size(-2)):
        raise RuntimeError(f"block_mask was created for block_mask.shape={block_mask.shape} but got q_len={query.size(-2)} and kv_len={key.size(-2)}.")


def flex_attention(query, key, value, score_mod=None, block_mask=None, scale=None, enable_gqa=False, return_lse=False, kernel_options=None, *,
                   return_aux=None):
    _check(query, key, value, block_mask, enable_gqa)
    if return_lse and return_aux is not None:
        raise ValueError("Cannot specify both return_lse and return_aux. return_lse is deprecated, please use return_aux=AuxRequest(lse=True) instead.")
    size = (query.size(0), query.size(1), query.size(2), key.size(2))
    key, value = (x.expand(size[0], -1, -1, -1) for x in (key, value))
    mask = None if block_mask is None else _of_all(block_mask.mask_mod, size)
    if score_mod is None and not return_lse and return_aux is None:
        return F.scaled_dot_product_attention(query, key, value, None if mask is None else mask.expand(size), scale=scale, enable_gqa=enable_gqa)
    if enable_gqa:
        key, value = (x.repeat_interleave(size[1] // x.size(1), dim=1) for x in (key, value))
    working = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = query.to(working) @ key.to(working).transpose(-2, -1) * (query.size(-1) ** -0.5 if scale is None else scale)
    if score_mod is not None:
        scores = _of_all(score_mod, size, scores).expand(size)
    if mask is not None:
        scores = torch.where(mask, scores, -float("inf"))
    out = torch._safe_softmax(scores, dim=-1).to(query.dtype) @ value
    if return_lse:
        return out, torch.logsumexp(scores, dim=-1)
    if return_aux is None:
        return out
    return out, AuxOutput(torch.logsumexp(scores, dim=-1) if return_aux.lse else None, scores.amax(-1) if return_aux.max_scores else None)
