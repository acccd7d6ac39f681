# Attention that a model writes with products and a softmax runs as one kernel (lib/op/attention_pattern.c), and means what the model says.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import math
import torch
import torch.nn.functional as F
from torch import nn

B, H, T, D = 2, 3, 70, 8
LEAST = torch.finfo(torch.float32).min


def heads(x):
    return x.view(B, T, H, D).transpose(1, 2)


class Masked(nn.Module):
    """q, k, v from x [B, T, H D]; a mask of keys [T], true where one may be seen."""

    def __init__(self):
        super().__init__()
        self.register_buffer("tril", torch.ones(128, 128, dtype=torch.bool).tril())

    def forward(self, x, m):
        q, k, v = heads(x), heads(x.sin()), heads(x.cos())
        return self.attend(q, k, v, m).transpose(1, 2).reshape(B, T, H * D)


class Plain(Masked):
    def attend(self, q, k, v, m):
        return F.softmax(q @ k.transpose(-2, -1) / math.sqrt(D), dim=-1) @ v


class Before(Masked):
    def attend(self, q, k, v, m):
        return torch.matmul((q * D**-0.5 @ k.mT).softmax(-1), v)


class Einsum(Masked):
    def attend(self, q, k, v, m):
        s = torch.einsum("bhid,bhjd->bhij", q, k) * D**-0.5
        return torch.einsum("bhij,bhjd->bhid", s.softmax(dim=-1), v)


class Bmm(Masked):
    def attend(self, q, k, v, m):
        q, k, v = (t.reshape(B * H, T, D) for t in (q, k, v))
        return torch.bmm(torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(D)).softmax(2), v).view(B, H, T, D)


class Baddbmm(Masked):
    def attend(self, q, k, v, m):
        q, k, v = (t.reshape(B * H, T, D) for t in (q, k, v))
        s = torch.baddbmm(torch.full((B * H, T, T), math.nan), q, k.mT, beta=0, alpha=D**-0.5)
        return torch.bmm(F.softmax(s, -1, dtype=torch.float32).to(q.dtype), v).view(B, H, T, D)


class Biased(Masked):
    """A mask that baddbmm adds, scaled by nothing."""

    def attend(self, q, k, v, m):
        q, k, v = (t.reshape(B * H, T, D) for t in (q, k, v))
        bias = torch.where(m, 0.0, -math.inf)[None, None]
        return torch.bmm(bias.baddbmm(q, k.mT, alpha=1 / math.sqrt(D)).softmax(-1), v).view(B, H, T, D)


class Tensors(Masked):
    def attend(self, q, k, v, m):
        w = torch.matmul(q, k.transpose(-1, -2)) / torch.full([], D**0.5)
        w = torch.where(self.tril[:T, :T], w, torch.full([], LEAST))
        return F.dropout(F.softmax(w + (1 - m.float())[None, None, None] * LEAST, -1), 0.1, False) @ v


class Filled(Masked):
    def attend(self, q, k, v, m):
        return (q @ k.mT / math.sqrt(D)).masked_fill(~m, float("-inf")).softmax(-1) @ v


class Low(Masked):
    """Where no key may be seen the low score makes the mean of all values, not of none."""

    def attend(self, q, k, v, m):
        return (q @ k.mT / math.sqrt(D)).masked_fill(m == 0, -1e4).softmax(-1) @ v


def sdpa(mask):
    class Sdpa(Masked):
        def attend(self, q, k, v, m):
            return F.scaled_dot_product_attention(q, k, v, attn_mask=mask(self, m))

    return Sdpa


class Free(sdpa(lambda s, m: None)):
    pass


class Keys(sdpa(lambda s, m: m.expand(T, T))):
    pass


class Both(sdpa(lambda s, m: m & s.tril[:T, :T])):
    pass


class Twice(Masked):
    """Rows in which each key is filled by one mask or both see the mean of all values."""

    def attend(self, q, k, v, m):
        w = (q @ k.mT / math.sqrt(D)).masked_fill(~self.tril[:T, :T], LEAST)
        return w.masked_fill(~m, LEAST).softmax(-1) @ v


class After(Masked):
    """What fills replaces what was added before."""

    def attend(self, q, k, v, m):
        w = q @ k.mT / math.sqrt(D) + torch.where(self.tril[:T, :T], 0.0, -math.inf)
        return torch.where(m, w, -1e35).softmax(-1) @ v


class Types(Masked):
    """Scores of another type than the result's: as written."""

    def attend(self, q, k, v, m):
        a = (q.half() @ k.half().mT + torch.zeros(T, T)).softmax(-1) @ v
        b = ((q * 4).long() @ (k * 4).long().mT / 2.0).softmax(-1) @ v
        return a + b


class Rounded(Masked):
    def attend(self, q, k, v, m):
        return torch.where(m, q @ k.mT, torch.full([], 3.7, dtype=torch.int64)).softmax(-1) @ v


class Three(Masked):
    def attend(self, q, k, v, m):
        return (q @ k.mT).masked_fill(~m, 3).softmax(-1) @ v


class Written(Masked):
    def attend(self, q, k, v, m):
        s = q @ k.mT / math.sqrt(D)
        e = (s - s.max(-1, keepdim=True).values).exp()
        return (e / e.sum(-1, keepdim=True)) @ v


class Rows(Masked):
    def attend(self, q, k, v, m):
        s = (q @ k.mT * D**-0.5).masked_fill(~m, -math.inf)
        e = torch.exp(s - torch.amax(s, dim=3).detach().unsqueeze(-1))
        return torch.matmul(e / e.sum(dim=3)[..., None], v)


class NoMax(Masked):
    """The greatest of another dimension, a sum of something else, weights that are read twice: no attention."""

    def attend(self, q, k, v, m):
        s = q @ k.mT
        a = (s - s.amax(-2, keepdim=True)).exp()
        t = k @ q.mT
        b = (t - t.amax(-1, keepdim=True)).exp()
        return (a / a.sum(-1, keepdim=True)) @ v + (b / b.abs().sum(-1, keepdim=True)) @ v


class Mean(Masked):
    def attend(self, q, k, v, m):
        return v.mean(2, keepdim=True).expand(B, H, T, D)


class Weights(Masked):
    """The weights are a result too: they must exist."""

    def forward(self, x, m):
        q, k, v = heads(x), heads(x.sin()), heads(x.cos())
        w = (q @ k.mT).softmax(-1)
        return w @ v, w


class Scaled(Masked):
    """Scores that two softmaxes read, and weights that are changed: no attention."""

    def attend(self, q, k, v, m):
        a = q @ k.mT
        a = a.sin() * 0.5 + a.softmax(-2)
        b = (q @ k.mT).softmax(-1).relu()
        c = torch.baddbmm(k[0] @ k[0].mT, q[0], k[0].mT, beta=0.5).softmax(-1) @ v[0]
        return a.softmax(-1) @ v + b @ v + (q @ k.mT).softmax(-2) @ v + c
PY
    cat >x.py <<'PY'
import torch
from torch import nn


class X(nn.Module):
    def forward(self, i):
        return torch.sin(torch.arange(2 * 70 * 24) * 7.7).view(2, 70, 24) * i, torch.arange(70) < 41, torch.arange(70) < 0


PY
    tc-export x.py:X --input i=f32 | tc-run --input i=f32=2 --output 0=@x.npy --output 1=@some.npy --output 2=@none.npy
}
model() { tc-export m.py:$1 --input x=2x70x24xf32 --input m=70xbool -o $1.pt2; }
kernels() { tc-compile -v $1.pt2 -o compiled.pt2 2>&1 | sed -n 's/^ *[0-9]* kernel *//p'; }
values() { tc-run $1.pt2 --input x=@x.npy --input m=@$2.npy "${@:3}"; }

@test "spellings of attention are one kernel, with the values of scaled_dot_product_attention" {
    local rows=(Plain:Free Before:Free Einsum:Free Bmm:Free Baddbmm:Free Biased:Keys Tensors:Both Filled:Keys Low:Keys Twice:Both After:Both Written:Free Rows:Keys Rounded:Three)
    for row in "${rows[@]}"; do
        model ${row%:*}
        model ${row#*:}
        kernels ${row%:*} >list
        echo "$row: $(cat list)"
        [ "$(grep -c attention list)" = 1 ]
        [ "$(wc -l <list)" = 1 ]
        values ${row#*:} some -o want.npy
        values ${row%:*} some --expect @want.npy --rtol 1e-5 --atol 1e-6
    done
}

@test "written attention has the same bits interpreted, compiled and as C" {
    for c in Tensors Filled Low Rows; do
        model $c
        for m in some none; do
            values $c $m --executor interpreted -o $m.want
            tc-compile $c.pt2 -o compiled.pt2
            values compiled $m -o got.npy
            cmp got.npy $m.want
            TC_ISA=portable values $c $m -o got.npy
            cmp got.npy $m.want
            tc-compile $c.pt2 --to exe -o filter
            ./filter x=x.npy m=$m.npy -o got.npy
            cmp got.npy $m.want
        done
    done
}

@test "rows of written attention that see no key are NaN, or the mean of all values where the fill is finite" {
    model Filled
    model Mean
    values Filled none | tail -c 64 | od -An -v -tx4 | grep -q '[7f]fc00000 [7f]fc00000'
    values Mean none -o want.npy
    for c in Low Twice After; do
        model $c
        [ "$(kernels $c | grep -c attention)" = 1 ]
        values $c none --expect @want.npy --rtol 1e-5 --atol 1e-6
    done
}

@test "what else reads or changes scores and weights keeps them" {
    for c in Weights Scaled NoMax Types; do
        model $c
        values $c some --to safetensors >ran
        kernels $c >list
        cat list
        run ! grep -q attention list
    done
}

attention_choices() {
    cat >att.py <<'PY'
import torch, math
import torch.nn.functional as F
class A(torch.nn.Module):
    def forward(self, q, k, v, m):
        a = F.scaled_dot_product_attention(q, k, v)
        b = F.scaled_dot_product_attention(q[0], k[0], v[0])
        d = torch.softmax(q @ k.transpose(-2, -1) / math.sqrt(8), -1) @ v
        e = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2), m)
        f = F.scaled_dot_product_attention(q, k, v, dropout_p=1e-9)
        return a, b, d, e, f
class Four(torch.nn.Module):
    def forward(self, q, k, v, m):
        return F.scaled_dot_product_attention(q, k, v.transpose(0, 1).transpose(0, 1), m)
PY
    tc-export att.py:A --input q=2x3x5x8xf32 --input k=2x3x5x8xf32 --input v=2x3x5x8xf32 --input m=3x3xf32 -o att.pt2
    tc-export att.py:Four --input q=2x3x5x8xf32 --input k=2x3x5x8xf32 --input v=2x3x5x8xf32 --input m=5x5xf32 -o four.pt2
    given="--input q=2x3x5x8xf32=0.3 --input k=2x3x5x8xf32=0.2 --input v=2x3x5x8xf32=0.7"
}

@test "--log sdpa: which attention runs as the kernel, and why the others do not" {
    attention_choices
    tc-run att.pt2 $given --input m=3x3xf32=0 --to safetensors -o auto.st --log sdpa 2>err
    cat >want <<'END'
att.py:5: flash
att.py:6: flash: products around a softmax are attention
att.py:8: flash
att.py:9: math: dropout
att.py:7: flash: products around a softmax are attention
END
    diff want err
    tc-run att.pt2 $given --input m=3x3xf32=0 --to safetensors -o math.st --sdpa math --log sdpa 2>err
    [ "$(grep -c ': math: by choice$' err)" -eq 4 ]
    tc-ckpt diff --rtol 1e-5 auto.st math.st
    printf '%s\n' "import torch" "class Id(torch.nn.Module):" "    def forward(self, x):" "        return x * 1" >id.py
    tc-export id.py:Id --input x=Bxf32 | tc-run - --input 2xf32=1 --log sdpa -o y.npy 2>err
    [ "$(cat err)" = "no attention" ]
}

@test "--sdpa: an order of preference; what does not fit flash alone is refused by name" {
    attention_choices
    fails 5 "att.py:6: the attention kernel does not fit" tc-run att.pt2 $given --input m=3x3xf32=0 --sdpa flash --to safetensors -o no
    fails 2 "expected auto, math, flash" tc-run four.pt2 $given --input m=5x5xf32=0 --sdpa efficient -o no
    tc-run four.pt2 $given --input m=5x5xf32=0.5 -o flash.npy --sdpa flash
    tc-run four.pt2 $given --input m=5x5xf32=0.5 --sdpa flash,math --expect @flash.npy
    tc-run four.pt2 $given --input m=5x5xf32=0.5 --sdpa math,flash --log sdpa -o math.npy 2>err
    grep -q 'math: by choice' err
    tc-run four.pt2 $given --input m=5x5xf32=0.5 --expect @math.npy --rtol 1e-5
    tc-bench four.pt2 --repeat 1 --log sdpa 2>&1 >/dev/null | grep -q '^att.py:13: flash$'
}

@test "the encoder layer that PyTorch exports as one operator is the layer written out, whatever its masks" {
    cat >layer.py <<'PY'
import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, first, act, mask):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True, norm_first=first, activation=act).eval()
        self.first, self.act, self.mask = first, act, mask
        for p in self.layer.parameters():
            nn.init.normal_(p, std=0.3)

    def forward(self, m):
        x = torch.arange(160.).sin().view(2, 5, 16)
        l, a = self.layer, self.layer.self_attn
        ours = torch._transformer_encoder_layer_fwd(
            x, 16, 4, a.in_proj_weight, a.in_proj_bias, a.out_proj.weight, a.out_proj.bias, self.act == "gelu", self.first, 1e-5,
            l.norm1.weight, l.norm1.bias, l.norm2.weight, l.norm2.bias,
            l.linear1.weight, l.linear1.bias, l.linear2.weight, l.linear2.bias, m, self.mask)
        m = m.bool()
        return ours, l(x, src_mask=m) if self.mask == 0 else l(x, src_key_padding_mask=m)
PY
    for case in 'False "relu" 0' 'True "gelu" 1' 'False "gelu" 1'; do
        set -- $case
        size=5x5 mask='[[0,1,0,0,1],[0,0,0,0,1],[1,0,0,0,0],[1,1,1,0,0],[0,0,1,1,0]]'
        [ "$3" = 0 ] || size=2x5 mask='[[0,0,0,1,1],[0,0,0,0,1]]'
        tc-export layer.py:Layer --arg first=$1 --arg act=$2 --arg mask=$3 --input m=${size}xf32 -o l.pt2
        tc-run l.pt2 --input "m=${size}xf32=$(tr -d '[]' <<<"$mask")" --output 0=@a.npy --output 1=@b.npy
        tc-run l.pt2 --input "m=${size}xf32=$(tr -d '[]' <<<"$mask")" --expect 0=@b.npy --expect 1=@b.npy --rtol 1e-5 --atol 1e-5
    done
    run -3 --separate-stderr tc-export layer.py:Layer --arg first=False --arg 'act="relu"' --arg mask=1 --input m=5x5xf32
    [[ $stderr == *'For mask_type == 1 mask shape should be (B, L)'* ]]
}

@test "flex_attention is attention of its functions' scores: in one pass where they work on each number alone, else mapped" {
    cd "$BATS_TEST_TMPDIR"
    cat >flex.py <<'PY'
import torch
from torch import nn
from torch.nn.attention.flex_attention import and_masks, create_block_mask, flex_attention
class M(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.bias = nn.Parameter(torch.randn(4, 40))
        self.table = nn.Parameter(torch.randn(4, 20, 20))
    def forward(self, x, doc):
        q = x.unflatten(-1, (4, 4)).transpose(1, 2)
        k = v = q[:, :2].tanh()
        B, H, T, _ = q.shape
        def alone(score, b, h, i, j):
            return torch.tanh(score) + self.bias[h, i - j + 20] * 2
        def rows(score, b, h, i, j):
            return score + self.table[h][i][j]
        def sized(score, b, h, i, j):
            return torch.tanh(score) + self.bias[h, i - j + 20] * 2 ** score.numel()
        def same(b, h, i, j):
            return doc[b, i] == doc[b, j]
        block = create_block_mask(and_masks(lambda b, h, i, j: i >= j, same), B, None, T, T, device="cpu")
        mod = {"mask": None, "alone": alone, "rows": rows, "sized": sized}[self.kind]
        got, lse = flex_attention(q, k, v, mod, block, enable_gqa=True, return_lse=True)
        plain = flex_attention(q, k, v, mod, block, enable_gqa=True)
        s = q @ k.repeat_interleave(2, 1).mT / 2
        at = torch.arange(T)
        if self.kind in ("alone", "sized"):
            s = s.tanh() + self.bias[:, at[:, None] - at + 20] * 2
        if self.kind == "rows":
            s = s + self.table[:, :T, :T]
        s = s.masked_fill(~((at[:, None] >= at) & (doc[:, :, None] == doc[:, None]))[:, None], float("-inf"))
        want = s.softmax(-1) @ v.repeat_interleave(2, 1)
        return torch.stack([(got - want).abs().amax(), (plain - want).abs().amax(), (lse - s.logsumexp(-1)).abs().amax()]).amax()
PY
    for kind in mask alone rows sized; do
        tc-export flex.py:M --arg "kind='$kind'" --input x=BxTx16xf32 --input doc=BxTxi64 --dim T=1..20 -o "$kind.pt2"
        for T in 6 7; do
            x=$(awk -v n=$((32 * T)) 'BEGIN { for (i = 0; i < n; i++) printf "%s%.3f", i ? "," : "", sin(i * i) * 2 }')
            doc=$(awk -v n=$((2 * T)) 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", i % 5 < 2 }')
            tc-run "$kind.pt2" --input "x=2x${T}x16xf32=$x" --input "doc=2x${T}xi64=$doc" -o d.npy
            tail -c 4 d.npy | od -An -tf4 | awk '{ exit !($1 < 2e-6) }'
        done
    done
    run ! grep -q map_impl <(tc-export alone.pt2 --print)
    grep -q map_impl <(tc-export rows.pt2 --print)
    sed -i 's/create_block_mask(\(.*\), T, T,/create_block_mask(\1, 3, T,/' flex.py
    fails 3 "block_mask was created for block_mask.shape=(2, 1, 3, 6) but got q_len=6 and kv_len=6" \
        tc-export flex.py:M --arg "kind='mask'" --input x=2x6x16xf32 --input doc=2x6xi64 -o m.pt2
}

@test "a block mask is cut and sliced: the shapes of PyTorch's, the function of the whole, which a slice needs anew" {
    cd "$BATS_TEST_TMPDIR"
    cat >cut.py <<'PY'
import torch
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
causal = lambda b, h, i, j: i >= j
class Cut(nn.Module): # a mask for longer sequences; one token at a place that is data
    def forward(self, q, k, pos):
        m = create_block_mask(causal, 4, 2, 300, 260, device="cpu")
        one = torch.tensor([2])
        shapes = [tuple(x.shape) for x in (m[0], m[-4, 1], m[:, :, 1], m[:, :, -1], m[:, :, 1:], m[:, :, ::2], m[:, :, :0], m[5], m[1:3, :, one])]
        assert shapes == [(1, 2, 300, 260), (1, 1, 300, 260), (4, 2, 128, 260), (4, 2, 44, 260), (4, 2, 172, 260), (4, 2, 172, 260),
                          (4, 2, 0, 260), (0, 2, 300, 260), (2, 2, 128, 260)]
        T, S = q.shape[2], k.shape[2]
        cut = flex_attention(q, k, k, block_mask=create_block_mask(causal, None, None, 4096, 4096, device="cpu")._adjust(T, S))
        m = create_block_mask(causal, None, None, S, S, device="cpu")
        at = m[:, :, pos // m.BLOCK_SIZE[0]]
        at.mask_mod = lambda b, h, i, j: causal(b, h, i + pos[0], j)
        at.seq_lengths = (1, S)
        step = flex_attention(q[:, :, :1], k, k, block_mask=at)
        score = q @ k.mT / 2
        want = score.masked_fill(torch.arange(T)[:, None] < torch.arange(S), float("-inf")).softmax(-1) @ k
        last = score[:, :, :1].masked_fill(torch.arange(S) > pos, float("-inf")).softmax(-1) @ k
        return torch.stack([(cut - want).abs().amax(), (step - last).abs().amax()]).amax()
class Anew(nn.Module):
    def forward(self, q):
        return flex_attention(q, q, q, block_mask=create_block_mask(causal, None, None, 130, 130, device="cpu")[0])
PY
    tc-export cut.py:Cut --input q=1x2x3x4xf32 --input k=1x2x5x4xf32 --input pos=1xi64 -o cut.pt2
    x=$(awk 'BEGIN { for (i = 0; i < 64; i++) printf "%s%.3f", i ? "," : "", sin(i * i) * 2 }')
    tc-run cut.pt2 --input q=1x2x3x4xf32="$(cut -d, -f1-24 <<<"$x")" --input k=1x2x5x4xf32="$(cut -d, -f25-64 <<<"$x")" --input pos=1xi64=3 -o d.npy
    tail -c 4 d.npy | od -An -tf4 | awk '{ exit !($1 < 2e-6) }'
    fails 3 "Cannot use mask_mod from a sliced BlockMask" tc-export cut.py:Anew --input q=1x1x130x4xf32
}

tiled() { # attention whose masks are computed in it, one kind a program (TC_STEPS=1 stores it first)
    cat >tiled.py <<'PY'
import math
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.attention.flex_attention import create_block_mask, flex_attention
class M(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind
        self.cut = torch.arange(4) * 40 + 25
        self.cap = nn.Parameter(torch.tensor([2.0, 3, 4, 5]))
    def forward(self, x, doc):
        q, k, v = (y.unflatten(-1, (4, 16)).transpose(1, 2) for y in (x, x.cos(), x.tanh()))
        B, H, T, _ = q.shape
        i = torch.arange(T)
        causal = i[:, None] >= i
        if self.kind == "docs":
            return flex_attention(q, k, v, block_mask=create_block_mask(lambda b, h, i, j: (doc[b, i] == doc[b, j]) & (i - j < self.cut[h]), B, H, T, T))
        if self.kind == "shared":
            m = causal & (doc[:, :, None] == doc[:, None])[:, None]
            return F.scaled_dot_product_attention(F.scaled_dot_product_attention(q, k, v, m), k, v, m)
        if self.kind == "scattered":
            return F.scaled_dot_product_attention(q, k[:, :2], v[:, :2], (i[:, None] * 7 + i * 3) % 11 > 4, enable_gqa=True)
        if self.kind == "added":
            m = torch.where(causal, (i - i[:, None]) * torch.exp2(-2.0 * torch.arange(H))[:, None, None], -math.inf)
            return F.scaled_dot_product_attention(q[0][None], k[0][None], v[0][None], m[None])
        if self.kind == "scored":
            mask = create_block_mask(lambda b, h, i, j: (i >= j) & (i > 2), None, None, T, T)
            return flex_attention(q[0][None], k[0][None], v[0][None], lambda s, b, h, i, j: s + (j - i) * torch.exp2(-2.0 * h), mask)
        if self.kind in ("capped", "halves"):  # no sum of scores and something else, grouped heads, logsumexp
            d = torch.bfloat16 if self.kind == "halves" else x.dtype
            mask = create_block_mask(lambda b, h, i, j: (i >= j) & (doc[b, i] == doc[b, j]), B, None, T, T)
            y, lse = flex_attention(q.to(d), k[:, :2].to(d), v[:, :2].to(d), lambda s, b, h, i, j: self.cap[h] * torch.tanh(s / self.cap[h]) - (i - j) * 0.01,
                                    mask, enable_gqa=True, return_lse=True)
            return y + lse[..., None]
        if self.kind == "filled":
            return (q @ k.mT / 4).masked_fill(~causal, -1e4).softmax(-1) @ v
        return F.scaled_dot_product_attention(q, k, v, causal & (i[:, None] % 200 > 2))
class Y(nn.Module):
    def forward(self, n):
        return (torch.arange(2 * 70 * 16) * 7.7 * n).sin().view(1, 2, 70, 16)
class X(nn.Module):
    def forward(self, n):
        return tuple(y for T in (300, 1, 65) for y in ((torch.arange(2 * T * 64) * 7.7).sin().view(2, T, 64), torch.arange(2 * T).view(2, T) // 97 % 3))
PY
    tc-export tiled.py:X --input n=f32 | tc-run --input n=f32=1 --output 0=@x300.npy --output 1=@doc300.npy --output 2=@x1.npy --output 3=@doc1.npy \
        --output 4=@x65.npy --output 5=@doc65.npy
}
attend() { tc-run $1.pt2 --input x=@x$2.npy --input doc=@doc$2.npy "${@:3}"; }

# bats test_tags=slow
@test "a mask that the program computes is computed in tiles: the bits of a stored one, no memory for it" {
    tiled
    for kind in docs shared scattered added scored filled rows capped; do
        tc-export tiled.py:M --arg "kind='$kind'" --input x=BxTx64xf32 --input doc=BxTxi64 -o $kind.pt2
        tc-compile -v $kind.pt2 -o compiled.pt2 2>plan
        grep -q '^ *[0-9]* tile ' plan
        run ! grep -q bmm plan
        for T in 300 1 65; do
            TC_STEPS=1 attend $kind $T --executor interpreted -o $kind.want
            TC_STEPS=0 attend $kind $T --expect @$kind.want --rtol 1e-5 --atol 1e-6
            attend $kind $T --threads 1 --expect @$kind.want
            attend $kind $T --threads 3 --expect @$kind.want
            attend compiled $T --expect @$kind.want
            TC_ISA=portable attend $kind $T --expect @$kind.want
        done
    done
    for kind in docs capped; do
        attend $kind 300 --threads 1 -o want.npy
        tc-export tiled.py:M --arg "kind='$kind'" --input x=2x300x64xf32 --input doc=2x300xi64 -o fixed.pt2
        tc-compile fixed.pt2 --to exe -o filter
        ./filter x=x300.npy doc=doc300.npy -o got.npy
        cmp got.npy want.npy
        arena=$(tc-compile -v fixed.pt2 -o compiled.pt2 2>&1 | sed -n 's/.*arena \([0-9]*\).*/\1/p')
        [ "$arena" -lt $((3 * 2 * 300 * 64 * 4 + 300 * 300)) ] # query, key and value; the mask has 4 x 2 x 300 x 300 bytes, scores four times as many
    done
}

@test "scores of 16-bit queries and keys are computed in float32 tiles, with the bits of any executor" {
    tiled
    tc-export tiled.py:M --arg "kind='halves'" --input x=BxTx64xf32 --input doc=BxTxi64 -o halves.pt2
    tc-compile -v halves.pt2 -o compiled.pt2 2>plan
    [ "$(grep -c '^ *[0-9]* tile ' plan)" -eq 2 ]
    run ! grep -q bmm plan
    attend halves 300 --threads 1 -o want.npy
    attend halves 300 --threads 3 --expect @want.npy
    attend compiled 300 --expect @want.npy
    TC_STEPS=0 attend halves 300 --expect @want.npy --rtol 0.01 --atol 0.01
}

@test "scores that something else reads, or that come from data-dependent sizes, are stored" {
    tiled
    tc-export tiled.py:Y --input n=i64 | tc-run --input n=i64=1 -o x.npy
    cat >stored.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, x, n):
        if self.kind == "sized":
            x = x[:, :, x[0, 0, :, 0] > -1]
        if self.kind == "cond":
            x = torch.cond(n > 0, lambda x: x * 2, lambda x: x + 1, (x,))
        s = torch.tanh(x @ x.mT / 4) * (3 + (n.item() if self.kind == "number" else 0))
        y = s.softmax(-1) @ x
        return y + s.amax(-1, keepdim=True) if self.kind == "read" else y
PY
    for kind in sized cond number read; do
        tc-export stored.py:M --arg "kind='$kind'" --input x=1x2x70x16xf32 --input n=i64 -o $kind.pt2
        TC_STEPS=0 tc-run $kind.pt2 --input x=@x.npy --input n=i64=1 -o want.npy
        tc-run $kind.pt2 --input x=@x.npy --input n=i64=1 --expect @want.npy --rtol 1e-5 --atol 1e-6
    done
}

@test "blocks of a mask that heads share are looked through once, whatever repeats it" {
    cat >heads.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class M(nn.Module):
    def forward(self, x):
        i = torch.arange(x.shape[2])
        mask = ((i[:, None] + i) % 3 != 0).expand(x.shape[0], x.shape[1], -1, -1)
        return F.scaled_dot_product_attention(x, x, x, attn_mask=mask)
PY
    for heads in 1 8; do
        tc-export heads.py:M --input x=1x${heads}x512x64xf32 | tc-compile -v -o $heads.pt2 2>plan
        grep -q '^ *[0-9]* tile ' plan
        sed -n 's/.*scratch \([0-9]*\).*/\1/p' plan >scratch.$heads
    done
    cmp scratch.1 scratch.8
}

@test "a table that a mask reads out of range is an error by name, also in tiles" {
    tiled
    tc-export tiled.py:M --arg "kind='docs'" --input x=BxTx64xf32 --input doc=BxTxi64 -o docs.pt2
    sed -i 's/self.cut\[h\]/self.cut[h + 1]/' tiled.py
    tc-export tiled.py:M --arg "kind='docs'" --input x=BxTx64xf32 --input doc=BxTxi64 -o out.pt2
    fails 3 "IndexError: index 4 is out of bounds for dimension 0" attend out 300 -o no.npy
}
