"""The whole models of RESULTS.md, with random weights: the sizes of the published ones, written with torch alone. Used by whole.py."""
import torch
import torch.nn as nn
import torch.nn.functional as F

class MLP(nn.Module):
    def __init__(s):
        super().__init__()
        s.a = nn.Linear(784, 512); s.b = nn.Linear(512, 256); s.c = nn.Linear(256, 10)
    def forward(s, x): return s.c(F.relu(s.b(F.relu(s.a(x)))))

class CNN(nn.Module):
    def __init__(s):
        super().__init__()
        s.c1 = nn.Conv2d(1, 32, 3); s.c2 = nn.Conv2d(32, 64, 3); s.f1 = nn.Linear(9216, 128); s.f2 = nn.Linear(128, 10)
    def forward(s, x):
        x = F.max_pool2d(F.relu(s.c2(F.relu(s.c1(x)))), 2)
        return s.f2(F.relu(s.f1(torch.flatten(x, 1))))

class Block(nn.Module):
    def __init__(s, d, h):
        super().__init__()
        s.h = h; s.n1 = nn.LayerNorm(d); s.qkv = nn.Linear(d, 3 * d); s.o = nn.Linear(d, d)
        s.n2 = nn.LayerNorm(d); s.u = nn.Linear(d, 4 * d); s.v = nn.Linear(4 * d, d)
    def forward(s, x):
        B, L, D = x.shape
        q, k, v = s.qkv(s.n1(x)).split(D, dim=2)
        q, k, v = (t.view(B, L, s.h, D // s.h).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, L, D)
        x = x + s.o(y)
        return x + s.v(F.gelu(s.u(s.n2(x)), approximate="tanh"))
class GPT(nn.Module):
    def __init__(s, V=256, L=6, D=384, H=6, C=256):
        super().__init__()
        s.t = nn.Embedding(V, D); s.p = nn.Embedding(C, D)
        s.b = nn.ModuleList([Block(D, H) for _ in range(L)]); s.n = nn.LayerNorm(D); s.head = nn.Linear(D, V, bias=False)
    def forward(s, i):
        x = s.t(i) + s.p(torch.arange(i.shape[1], device=i.device))
        for b in s.b: x = b(x)
        return s.head(s.n(x))

class DBlock(nn.Module):
    def __init__(s, d, h, C):
        super().__init__()
        s.h = h; s.n1 = nn.LayerNorm(d); s.qkv = nn.Linear(d, 3 * d); s.o = nn.Linear(d, d)
        s.n2 = nn.LayerNorm(d); s.u = nn.Linear(d, 4 * d); s.v = nn.Linear(4 * d, d)
        s.register_buffer("kc", torch.zeros(1, h, C, d // h)); s.register_buffer("vc", torch.zeros(1, h, C, d // h))
    def forward(s, x, pos, mask):
        B, L, D = x.shape
        q, k, v = s.qkv(s.n1(x)).split(D, dim=2)
        q, k, v = (t.view(B, L, s.h, D // s.h).transpose(1, 2) for t in (q, k, v))
        s.kc.index_copy_(2, pos, k); s.vc.index_copy_(2, pos, v)
        y = F.scaled_dot_product_attention(q, s.kc, s.vc, attn_mask=mask).transpose(1, 2).reshape(B, L, D)
        x = x + s.o(y)
        return x + s.v(F.gelu(s.u(s.n2(x)), approximate="tanh"))
class GPTDecode(nn.Module):
    def __init__(s, V=50257, L=12, D=768, H=12, C=1024):
        super().__init__()
        s.t = nn.Embedding(V, D); s.p = nn.Embedding(C, D); s.C = C
        s.b = nn.ModuleList([DBlock(D, H, C) for _ in range(L)]); s.n = nn.LayerNorm(D); s.head = nn.Linear(D, V, bias=False)
    def forward(s, i, pos):
        pos = pos + 500
        x = s.t(i) + s.p(pos)
        mask = (torch.arange(s.C) <= pos).view(1, 1, 1, s.C)
        for b in s.b: x = b(x, pos, mask)
        return s.head(s.n(x))

class EncBlock(nn.Module):  # ViT: pre-norm; BERT: post-norm
    def __init__(s, d, h, pre, eps):
        super().__init__()
        s.h = h; s.pre = pre
        s.n1 = nn.LayerNorm(d, eps=eps); s.q = nn.Linear(d, d); s.k = nn.Linear(d, d); s.v = nn.Linear(d, d); s.o = nn.Linear(d, d)
        s.n2 = nn.LayerNorm(d, eps=eps); s.u = nn.Linear(d, 4 * d); s.d = nn.Linear(4 * d, d)
    def att(s, x):
        B, L, D = x.shape
        q, k, v = (t.view(B, L, s.h, D // s.h).transpose(1, 2) for t in (s.q(x), s.k(x), s.v(x)))
        return s.o(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(B, L, D))
    def forward(s, x):
        if s.pre:
            x = x + s.att(s.n1(x))
            return x + s.d(F.gelu(s.u(s.n2(x))))
        x = s.n1(x + s.att(x))
        return s.n2(x + s.d(F.gelu(s.u(x))))
class ViT(nn.Module):
    def __init__(s, D=768, L=12, H=12):
        super().__init__()
        s.patch = nn.Conv2d(3, D, 16, 16); s.cls = nn.Parameter(torch.zeros(1, 1, D)); s.pos = nn.Parameter(torch.zeros(1, 197, D))
        s.b = nn.ModuleList([EncBlock(D, H, True, 1e-6) for _ in range(L)]); s.n = nn.LayerNorm(D, eps=1e-6); s.head = nn.Linear(D, 1000)
    def forward(s, x):
        x = s.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([s.cls.expand(x.shape[0], -1, -1), x], 1) + s.pos
        for b in s.b: x = b(x)
        return s.head(s.n(x)[:, 0])
class BERT(nn.Module):
    def __init__(s, V=30522, D=768, L=12, H=12):
        super().__init__()
        s.t = nn.Embedding(V, D); s.p = nn.Embedding(512, D); s.y = nn.Embedding(2, D); s.n = nn.LayerNorm(D, eps=1e-12)
        s.b = nn.ModuleList([EncBlock(D, H, False, 1e-12) for _ in range(L)])
    def forward(s, i):
        x = s.n(s.t(i) + s.y(torch.zeros_like(i)) + s.p(torch.arange(i.shape[1], device=i.device)))
        for b in s.b: x = b(x)
        return x

class Basic(nn.Module):
    def __init__(s, i, o, st):
        super().__init__()
        s.c1 = nn.Conv2d(i, o, 3, st, 1, bias=False); s.b1 = nn.BatchNorm2d(o); s.c2 = nn.Conv2d(o, o, 3, 1, 1, bias=False); s.b2 = nn.BatchNorm2d(o)
        s.d = nn.Sequential(nn.Conv2d(i, o, 1, st, bias=False), nn.BatchNorm2d(o)) if st != 1 or i != o else None
    def forward(s, x):
        y = s.b2(s.c2(F.relu(s.b1(s.c1(x)))))
        return F.relu(y + (x if s.d is None else s.d(x)))
class ResNet18(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(3, 64, 7, 2, 3, bias=False); s.n = nn.BatchNorm2d(64)
        l = []; i = 64
        for o, st in ((64, 1), (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1)):
            l.append(Basic(i, o, st)); i = o
        s.l = nn.Sequential(*l); s.f = nn.Linear(512, 1000)
    def forward(s, x):
        x = F.max_pool2d(F.relu(s.n(s.c(x))), 3, 2, 1)
        return s.f(torch.flatten(F.adaptive_avg_pool2d(s.l(x), 1), 1))

class Inv(nn.Module):
    def __init__(s, i, o, st, t):
        super().__init__()
        h = i * t; l = []
        if t != 1: l += [nn.Conv2d(i, h, 1, bias=False), nn.BatchNorm2d(h), nn.ReLU6()]
        l += [nn.Conv2d(h, h, 3, st, 1, groups=h, bias=False), nn.BatchNorm2d(h), nn.ReLU6(), nn.Conv2d(h, o, 1, bias=False), nn.BatchNorm2d(o)]
        s.c = nn.Sequential(*l); s.r = st == 1 and i == o
    def forward(s, x): return x + s.c(x) if s.r else s.c(x)
class MobileNetV2(nn.Module):
    def __init__(s):
        super().__init__()
        l = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU6()]; i = 32
        for t, c, n, st in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for k in range(n): l.append(Inv(i, c, st if k == 0 else 1, t)); i = c
        l += [nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.ReLU6()]
        s.l = nn.Sequential(*l); s.f = nn.Linear(1280, 1000)
    def forward(s, x): return s.f(torch.flatten(F.adaptive_avg_pool2d(s.l(x), 1), 1))

class Bottleneck(nn.Module):
    def __init__(s, i, m, st):
        super().__init__()
        o = 4 * m
        s.c1 = nn.Conv2d(i, m, 1, bias=False); s.b1 = nn.BatchNorm2d(m); s.c2 = nn.Conv2d(m, m, 3, st, 1, bias=False); s.b2 = nn.BatchNorm2d(m)
        s.c3 = nn.Conv2d(m, o, 1, bias=False); s.b3 = nn.BatchNorm2d(o)
        s.d = nn.Sequential(nn.Conv2d(i, o, 1, st, bias=False), nn.BatchNorm2d(o)) if st != 1 or i != o else None
    def forward(s, x):
        y = s.b3(s.c3(F.relu(s.b2(s.c2(F.relu(s.b1(s.c1(x))))))))
        return F.relu(y + (x if s.d is None else s.d(x)))
class ResNet50(nn.Module):
    def __init__(s):
        super().__init__()
        s.c = nn.Conv2d(3, 64, 7, 2, 3, bias=False); s.n = nn.BatchNorm2d(64)
        l = []; i = 64
        for m, n, st in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for k in range(n): l.append(Bottleneck(i, m, st if k == 0 else 1)); i = 4 * m
        s.l = nn.Sequential(*l); s.f = nn.Linear(2048, 1000)
    def forward(s, x):
        x = F.max_pool2d(F.relu(s.n(s.c(x))), 3, 2, 1)
        return s.f(torch.flatten(F.adaptive_avg_pool2d(s.l(x), 1), 1))

class MBConv(nn.Module):
    def __init__(s, i, o, k, st, t):
        super().__init__()
        h = i * t; q = max(1, i // 4)
        s.e = nn.Sequential(nn.Conv2d(i, h, 1, bias=False), nn.BatchNorm2d(h), nn.SiLU()) if t != 1 else nn.Identity()
        s.d = nn.Sequential(nn.Conv2d(h, h, k, st, k // 2, groups=h, bias=False), nn.BatchNorm2d(h), nn.SiLU())
        s.a = nn.Conv2d(h, q, 1); s.b = nn.Conv2d(q, h, 1); s.p = nn.Sequential(nn.Conv2d(h, o, 1, bias=False), nn.BatchNorm2d(o))
        s.r = st == 1 and i == o
    def forward(s, x):
        y = s.d(s.e(x))
        y = s.p(y * torch.sigmoid(s.b(F.silu(s.a(F.adaptive_avg_pool2d(y, 1))))))
        return x + y if s.r else y
class EfficientNetB0(nn.Module):
    def __init__(s):
        super().__init__()
        l = [nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.SiLU()]; i = 32
        for t, o, n, st, k in ((1, 16, 1, 1, 3), (6, 24, 2, 2, 3), (6, 40, 2, 2, 5), (6, 80, 3, 2, 3), (6, 112, 3, 1, 5), (6, 192, 4, 2, 5), (6, 320, 1, 1, 3)):
            for j in range(n): l.append(MBConv(i, o, k, st if j == 0 else 1, t)); i = o
        s.l = nn.Sequential(*l, nn.Conv2d(320, 1280, 1, bias=False), nn.BatchNorm2d(1280), nn.SiLU()); s.f = nn.Linear(1280, 1000)
    def forward(s, x): return s.f(torch.flatten(F.adaptive_avg_pool2d(s.l(x), 1), 1))

def double(i, o): return nn.Sequential(nn.Conv2d(i, o, 3, 1, 1), nn.ReLU(), nn.Conv2d(o, o, 3, 1, 1), nn.ReLU())
class UNet(nn.Module):  # half the published channels
    def __init__(s, c=32):
        super().__init__()
        w = [c, 2 * c, 4 * c, 8 * c, 16 * c]
        s.d = nn.ModuleList(double(i, o) for i, o in zip([3] + w, w))
        s.t = nn.ModuleList(nn.ConvTranspose2d(2 * o, o, 2, 2) for o in w[3::-1]); s.u = nn.ModuleList(double(2 * o, o) for o in w[3::-1])
        s.h = nn.Conv2d(c, 2, 1)
    def forward(s, x):
        kept = []
        for d in s.d:
            x = d(F.max_pool2d(x, 2) if kept else x); kept.append(x)
        kept.pop()
        for t, u in zip(s.t, s.u): x = u(torch.cat([kept.pop(), t(x)], 1))
        return s.h(x)

class LSTM(nn.Module):
    def __init__(s):
        super().__init__(); s.e = nn.Embedding(256, 128); s.r = nn.LSTM(128, 256, 2, batch_first=True); s.f = nn.Linear(256, 256)
    def forward(s, i):
        return s.f(s.r(s.e(i))[0])


class Chain(nn.Module):  # what fusion is for: layer norm, pointwise operators, softmax
    def forward(s, x, g, b):
        m = x.mean(-1, keepdim=True)
        y = (x - m) * torch.rsqrt((x - m).pow(2).mean(-1, keepdim=True) + 1e-5) * g + b
        return torch.softmax(F.gelu(y) * torch.sigmoid(y) + torch.tanh(y), dim=-1)


I = lambda *s: torch.randint(0, 256, s)
R = torch.randn
TABLE = {
    "mlp-b1": (MLP, lambda: (R(1, 784),)), "mlp-b256": (MLP, lambda: (R(256, 784),)),
    "cnn-b64": (CNN, lambda: (R(64, 1, 28, 28),)),
    "gpt6x384-b1": (GPT, lambda: (I(1, 256),)), "gpt6x384-b8": (GPT, lambda: (I(8, 256),)),
    "lstm-b8": (LSTM, lambda: (I(8, 64),)),
    "chain-64k": (Chain, lambda: (R(64, 1024), R(1024), R(1024))), "chain-16m": (Chain, lambda: (R(16384, 1024), R(1024), R(1024))),
    "gpt2-t128": (lambda: GPT(50257, 12, 768, 12, 1024), lambda: (I(1, 128),)),
    "gpt2-decode": (GPTDecode, lambda: (I(1, 1), torch.tensor([0]))),
    "resnet18-b1": (ResNet18, lambda: (R(1, 3, 224, 224),)), "resnet18-b8": (ResNet18, lambda: (R(8, 3, 224, 224),)),
    "mobilenetv2-b1": (MobileNetV2, lambda: (R(1, 3, 224, 224),)),
    "resnet50-b1": (ResNet50, lambda: (R(1, 3, 224, 224),)), "efficientnet-b0-b1": (EfficientNetB0, lambda: (R(1, 3, 224, 224),)),
    "unet-b1": (UNet, lambda: (R(1, 3, 256, 256),)),
    "vit-b16-b1": (ViT, lambda: (R(1, 3, 224, 224),)),
    "bert-base-s128": (BERT, lambda: (I(1, 128),)),
}
