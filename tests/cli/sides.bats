# A model that branches on its sizes: a program for each side that the declared sizes reach, one archive, chosen by the sizes of a run.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Same(nn.Module):
    def forward(self, x):
        return x.clone()


class Three(nn.Module):
    def forward(self, x):
        if x.size(0) == 1:
            return x.squeeze(0)
        if x.size(1) > 10:
            return x * 2
        return x + 1


class Multiple(nn.Module):
    def forward(self, x):
        return x * 2 if x.size(0) // 2 > 5 else x + 1


class Grid(nn.Module):  # positions of one grid, interpolated for others
    def __init__(self):
        super().__init__()
        self.pos = nn.Parameter(torch.arange(16.0).reshape(1, 1, 4, 4))

    def forward(self, x):
        h, w = x.shape[-2:]
        if h == 4 and w == 4:
            return x + self.pos
        return x + F.interpolate(self.pos, size=(h, w), mode="nearest")


class Cache(nn.Module):  # a prompt fills the cache, a step adds to it
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(4))

    def forward(self, x):
        if x.size(0) == 1:
            self.seen.add_(x[0])
            return self.seen * 1
        self.seen.copy_(x.sum(0))
        return self.seen * 10


class Raises(nn.Module):
    def forward(self, x):
        if x.size(0) > 100:
            raise ValueError("too long")
        return x * 2


class Drop(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.d = nn.Dropout(0.5)

    def forward(self, x):
        y = self.d(self.a(x))
        return y if x.size(0) > 8 else y.relu()
PY
}

literal() { # SHAPE=VALUES: as .npy on stdout
    tc-export m.py:Same --input x="${1%%=*}" | tc-run --input x="$1"
}

takes() { # PROGRAM ARCHIVE INPUT OUTPUT: a run of the archive gives OUTPUT, by that program ("": the main one)
    literal "$4" >want.npy
    run --separate-stderr tc-run "$2" --input x="$3" --log=guards -o got.npy
    [ "$status" -eq 0 ]
    if [ -n "$1" ]; then [[ "$stderr" == *"these sizes are those of program $1" ]]; else [[ "$stderr" != *"these sizes"* ]]; fi
    cmp want.npy got.npy
}

@test "every side of the branches is a program, and a run takes the one for its sizes" {
    tc-export m.py:Three --input x=BxTxf32 -o m.pt2
    [ "$(tc-export m.pt2 --print | grep -c '^program ')" -eq 3 ]
    takes "" m.pt2 2x11xf32=3 2x11xf32=6
    takes model-2 m.pt2 1x2xf32=3 2xf32=3
    takes model-2 m.pt2 1x12xf32=3 12xf32=3
    takes model-3 m.pt2 2x2xf32=3 2x2xf32=4
    tc-run m.pt2 --model model-3 --input x=2x2xf32=3 -o y.npy
    fails 3 "x.size(0)=2, expected 1" tc-run m.pt2 --model model-2 --input x=2x2xf32=3 -o y.npy
    # a size that inputs show as a multiple only
    tc-export m.py:Multiple --input x=2*Bxf32 --dim B=1..9 -o d.pt2
    takes "" d.pt2 12xf32=3 12xf32=6
    takes model-2 d.pt2 10xf32=3 10xf32=4
    fails 3 "x.size(0)=20, expected 2*B with B of 6..9 (B)" tc-run d.pt2 --input x=20xf32=3 -o y.npy
    # a variant for a size of another side is that side
    tc-compile d.pt2 --variants B=2,7 -v -o v.pt2 2>log
    grep -q "B=2 is of program model-2, whose code is for all its sizes" log
    takes model-2 v.pt2 4xf32=3 4xf32=4
    fails 2 "10, expected 6..9" tc-compile d.pt2 --variants B=10 -o v.pt2
}

@test "positions are interpolated only where the grid is another" {
    tc-export m.py:Grid --input x=Bx1xHxWxf32 -o g.pt2
    takes "" g.pt2 1x1x2x4xf32=0 1x1x2x4xf32=0,1,2,3,8,9,10,11
    takes model-2 g.pt2 1x1x4x2xf32=0 1x1x4x2xf32=0,2,4,6,8,10,12,14
    takes model-3 g.pt2 1x1x4x4xf32=0 1x1x4x4xf32=0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
}

@test "what one program writes to a buffer the next one finds there" {
    tc-export m.py:Cache --input x=Tx4xf32 -o c.pt2
    for record in 3x4xf32=1 1x4xf32=5 1x4xf32=2 2x4xf32=4 1x4xf32=1; do literal $record; done >in.npy
    for record in 4xf32=30 4xf32=8 4xf32=10 4xf32=80 4xf32=9; do literal $record; done >want.npy
    tc-run c.pt2 --input x=@in.npy -o got.npy
    cmp want.npy got.npy
}

@test "a side that the model refuses is none, and a size that only a branch fixes is no error" {
    tc-export m.py:Raises --input x=Bx4xf32 -o r.pt2
    [ "$(tc-export r.pt2 --print | grep -c '^program ')" -eq 1 ]
    fails 3 "x.size(0)=101, expected 0..100" tc-run r.pt2 --input x=101x4xf32=1 -o y.npy
    literal 1x4xf32=1 >x.npy
    tc-export m.py:Three --input x=@x.npy --dim x.0=B -o b.pt2
    takes "" b.pt2 1x4xf32=1 4xf32=1
    takes model-2 b.pt2 3x4xf32=1 3x4xf32=2
    fails 3 "x.size(1)=5" tc-run b.pt2 --input x=1x5xf32=1 -o y.npy
}

@test "both modes have their sides, over the same weights; they compile, and C is of the side that its sizes take" {
    tc-export m.py:Drop --input x=Bx4xf32 -o d.pt2
    [ "$(tc-export d.pt2 --print | grep '^program ' | tr '\n' ' ')" = "program model program train program model-2 program train-2 " ]
    [ "$(grep -ao 'data/weights/weight_[0-9]*' d.pt2 | sort -u | wc -l)" -eq 2 ] # names stand in the headers of the zip as they are
    tc-compile d.pt2 -o dc.pt2
    for b in 3 9; do
        tc-run d.pt2 --input x=${b}x4xf32=-0.5 -o a.npy
        tc-run dc.pt2 --input x=${b}x4xf32=-0.5 -o b.npy
        cmp a.npy b.npy
    done
    fails 2 "C needs the size of B: --dim B=N" tc-compile d.pt2 -o any.c
    tc-compile d.pt2 --dim B=3 -o small.c
    tc-compile d.pt2 --dim B=9 -o large.c
    grep -q fmax small.c || grep -q relu small.c
    run ! grep -q relu large.c
    run --separate-stderr tc-export d.pt2 --model model --to onnx -o d.onnx
    [ "$status" -eq 0 ]
    tc-export m.py:Three --input x=BxTxf32 -o m.pt2
    run --separate-stderr tc-export m.pt2 --to onnx -o m.onnx
    [[ "$stderr" == *"without model-2"*"without model-3"* ]]
    run --separate-stderr tc-export d.pt2 --joint --partition=min-cut -o j.pt2
    [[ "$stderr" == *"warning: derivatives are those of one program: that for the guards of train, without train-2"* ]]
}

@test "--joint and --jvp keep the sides" {
    cat >pad.py <<'PY'
import torch


class Pad(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.full((3,), 2.0))

    def forward(self, x):
        n = x.shape[0]
        if n % 4 == 0:
            return x * self.w
        return torch.nn.functional.pad(x * 10, (0, 0, 0, 4 - n % 4)) * self.w
PY
    tc-export pad.py:Pad --input x=Nx3xf32 --joint -o j.pt2
    [ "$(tc-export j.pt2 --print | grep '^program ' | xargs)" = "program joint program joint-2" ]
    tc-run j.pt2 --input x=4x3xf32=1 --input tangents.out.0=4x3xf32=1 --output grad.w=@a.npy
    tc-run j.pt2 --input x=5x3xf32=1 --input tangents.out.0=8x3xf32=1 --output grad.w=@b.npy
    [ "$(cat <(tail -c 12 a.npy) <(tail -c 12 b.npy) | od -An -tf4 | xargs)" = "4 4 4 50 50 50" ]
    tc-export pad.py:Pad --input x=Nx3xf32 --jvp -o v.pt2
    tc-run v.pt2 --input x=1x3xf32=1 --input tangents.x=1x3xf32=1 --output jvp.out.0=@v.npy
    [ "$(tail -c 48 v.npy | od -An -v -tf4 | xargs)" = "20 20 20 0 0 0 0 0 0 0 0 0" ]
}

@test "an axis that no --dim names follows the named one that it must equal" {
    cat >f.py <<'PY'
import torch


class Masked(torch.nn.Module):
    def forward(self, x, pad, scale):
        return x.masked_fill(pad[:, :, None], 0.0) * scale[0] + scale[1]


class Forced(torch.nn.Module):
    def forward(self, x, y):
        return x.view(2, 3) + y
PY
    for type in 2x3x4xf32 2x3xbool 2xf32 2x3xf32; do literal $type=1 >$type.npy; done
    run --separate-stderr tc-export f.py:Masked --input x=@2x3x4xf32.npy --input pad=@2x3xbool.npy --input scale=@2xf32.npy --dim x.0=B --print
    [ "$status" -eq 0 ]
    [[ "$output" == *"x: f32[B, 3, 4]"*"pad: bool[B, 3]"*"scale: f32[2]"* ]]
    [[ "$stderr" == *"pad.0 is fixed to B by f.py:6"* ]]
    fails 3 "f.py:11:18: ValueError: the size x.0 (B) was declared free, but the model forces it to be 2" \
        tc-export f.py:Forced --input x=@2x3xf32.npy --input y=@2x3xf32.npy --dim x.0=B --print
}

@test "a side that returns other keys is none; what the captures of sides print is not said" {
    cat >k.py <<'PY'
import torch


class Keys(torch.nn.Module):
    def forward(self, x):
        if x.size(0) > 4:
            return {"a": x * 2, "b": x + 100}
        return {"b": x + 100, "a": x * 2}


class Loud(torch.nn.Module):
    def forward(self, x):
        if x.size(0) > 4:
            return x * 2
        print("few", "rows")
        return x + 1
PY
    tc-export k.py:Keys --input x=Bx3xf32 -o k.pt2
    [ "$(tc-export k.pt2 --print | grep -c '^program ')" -eq 1 ]
    fails 3 "expected at least 5" tc-run k.pt2 --input x=1x3xf32=1 --output a=@a.npy --output b=@b.npy
    run --separate-stderr tc-export k.py:Loud --input x=Bx3xf32 -o l.pt2
    [ "$status" -eq 0 ]
    [[ "$output" != *few* ]]
    takes model-2 l.pt2 1x3xf32=1 1x3xf32=2
}

@test "a mask's batch goes along; what other sides need is not taken from the model's own limits" {
    cat >l.py <<'PY'
import torch


class Masked(torch.nn.Module):
    def forward(self, x, pad):
        y = x + pad
        if x.size(0) > 4:
            return y * 2
        return y


class Steps(torch.nn.Module):  # each capture takes nearly half of the steps
    def forward(self, x):
        n = 0
        for i in range(1100000):
            n += 1
        return x * 2 if x.size(0) > 4 else x + n


class Nodes(torch.nn.Module):  # a side of too many nodes
    def forward(self, x):
        if x.size(0) > 40000:
            for i in range(x.size(0)):
                x = (x * 2 + i) * 3
            return x
        return x + 1

    def train(self, mode=True):
        for i in range(3):
            super().train(mode)
        return self
PY
    literal 2x3xf32=1 >x.npy
    tc-export l.py:Masked --input x=@x.npy --input pad=@x.npy --dim x.0=B -o m.pt2
    literal 5x3xf32=4 >want.npy
    tc-run m.pt2 --input x=5x3xf32=1 --input pad=5x3xf32=1 --output @want.npy
    tc-export l.py:Steps --input x=Bx3xf32 -o s.pt2
    takes model-2 s.pt2 2x3xf32=1 2x3xf32=1100001
    tc-export l.py:Nodes --input x=Bx3xf32 -o n.pt2
    takes "" n.pt2 2x3xf32=1 2x3xf32=2
}

@test "a loop that counts up to a size is refused at its line; a branch on a size that follows another has its side" {
    cat >w.py <<'PY'
import torch


class Loop(torch.nn.Module):
    def forward(self, x):
        i, s = 0, torch.zeros(3)
        while i < x.size(0):
            s, i = s + x[i], i + 1
        return s


class Halves(torch.nn.Module):  # how often depends on the size, the result for each does not name one
    def forward(self, x):
        while x.size(0) % 2 == 0 and x.size(0) > 2:
            x = x.view(x.size(0) // 2, 2, 3).sum(1)
        return x


class Tied(torch.nn.Module):
    def forward(self, x, mask):
        if mask.size(0) == 1:
            y = mask * 2
        else:
            y = mask + 1
        return torch.cat([x, y], 1)


class Equated(torch.nn.Module):  # the sum makes the sizes one, and the branch is on the one that is replaced
    def forward(self, c, x):
        u = c + x
        return u + u if x.size(0) != 1 else -u


class Chained(torch.nn.Module):  # b is twice a, c is b
    def forward(self, a, b, c):
        u = torch.cat([a, a]) + b
        return u + c if c.size(0) > 6 else u - c
PY
    fails 3 "w.py:7:15: ValueError: the size x.0 (B) was declared free, but the model forces it to be" tc-export w.py:Loop --input x=Bx3xf32 -o l.pt2
    tc-export w.py:Loop --input x=3x3xf32 -o l.pt2
    tc-export w.py:Halves --input x=Bx3xf32 -o h.pt2
    literal 4x3xf32=1 >x.npy
    tc-export w.py:Tied --input x=@x.npy --input mask=@x.npy --dim x.0=B -o t.pt2
    literal 1x6xf32=3,3,3,2,2,2 >want.npy
    tc-run t.pt2 --input x=1x3xf32=3 --input mask=1x3xf32=1 --expect @want.npy
    literal 2x6xf32=3,3,3,2,2,2,3,3,3,2,2,2 >want.npy
    tc-run t.pt2 --input x=2x3xf32=3 --input mask=2x3xf32=1 --expect @want.npy
    tc-export w.py:Equated --input c=Ax3xf32 --input x=Bx3xf32 -o e.pt2
    literal 2x3xf32=8 >want.npy
    tc-run e.pt2 --input c=2x3xf32=1 --input x=2x3xf32=3 --expect @want.npy
    literal 1x3xf32=-4 >want.npy
    tc-run e.pt2 --input c=1x3xf32=1 --input x=1x3xf32=3 --expect @want.npy
    tc-export w.py:Chained --input a=Axf32 --input b=Bxf32 --input c=Cxf32 -o c.pt2
    literal 6xf32=-2 >want.npy
    tc-run c.pt2 --input a=3xf32=1 --input b=6xf32=2 --input c=6xf32=5 --expect @want.npy
    literal 8xf32=8 >want.npy
    tc-run c.pt2 --input a=4xf32=1 --input b=8xf32=2 --input c=8xf32=5 --expect @want.npy
}

@test "an archive of the train mode's sides alone runs as train where no program is named" {
    tc-export m.py:Three --mode train --input x=AxBxf32 -o sides.pt2
    literal 2x3xf32=1 >x.npy
    tc-run sides.pt2 --input x=@x.npy -o got.npy
    literal 2x3xf32=2 >two.npy
    cmp got.npy two.npy
}
