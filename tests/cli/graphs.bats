# What graphs keep of a model: writes through aliases, the order in memory, sizes that data decide, random draws, numbers without digits.
# aliases.txt, strides.txt and counts.safetensors hold what PyTorch 2.15 gives the models in aliases.py, strides.py and counts.py.
load common

setup() {
    here=$BATS_TEST_DIRNAME/fixtures
    cd "$BATS_TEST_TMPDIR"
}

@test "55 ways to write through an alias give PyTorch's values" {
    while read -r class want; do
        tc-export "$here/aliases.py:$class" --input x=6xf32 -o a.pt2
        tc-run a.pt2 --input x=6xf32=1,2,3,4,5,6 --output 0=@a.npy
        n=$(wc -w <<<"$want")
        got=$(tail -c $((4 * n)) a.npy | od -An -v -tf4 | tr '\n' ' ' | awk '{ $1 = $1; print }')
        [ "$got" = "$want" ] || { echo "$class: $got, expected $want"; return 1; }
    done <"$here/aliases.txt"
}

@test "of free sizes reshape is a view where it is one at every size, or at those of the example; what a grid repeats is not written to" {
    cat >m.py <<'PY'
import torch
class Copies(torch.nn.Module):
    def forward(self, x):
        y = x.t().contiguous().t()
        y.flatten().zero_()
        y.reshape(-1).zero_()
        y.t().flatten().add_(1)
        torch.stack([y, y], -1)[..., 0].reshape(-1).zero_()
        z = torch.stack([y, y], -1)
        z[..., 0].reshape(3, -1).add_(1)
        return z[..., 0].clone()
class Grid(torch.nn.Module):
    def forward(self, x):
        a, b = torch.meshgrid(x[0], x[1], indexing="ij")
        a.add_(1)
        return b
PY
    tc-export m.py:Copies --input x=AxBxf32 -o c.pt2
    tc-run c.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output @c.npy
    [ "$(tail -c 24 c.npy | od -An -v -tf4 | xargs)" = "3 4 5 6 7 8" ]
    fails 3 "more than one element of the written-to tensor refers to a single memory location" tc-export m.py:Grid --input x=2x3xf32 --print
}

@test "sizes that a later line fixes, or that only their product is known of, fit what was captured before" {
    cat >m.py <<'PY'
import torch
from torch.func import jacrev
class Fixed(torch.nn.Module):
    def forward(self, x):
        x = x.detach().clone().requires_grad_()
        y, = torch.autograd.grad(torch.nn.functional.bilinear(x[0], x[1], x).sum(), x)
        w, u = x.flatten()[:32].view(8, 4), x.flatten()[8:24].view(8, 2)
        z = x.new_zeros(1, 3, 2)
        assert x.shape[1] == 4
        return y, torch.lstm(x, [z, z], [w, u], False, 1, 0.0, True, False, True)[0]
class Bounds(torch.nn.Module):
    def forward(self, x):
        x = x.detach().clone().requires_grad_()
        y = torch.nn.functional.interpolate(x, scale_factor=1.7, mode="area")
        g, = torch.autograd.grad((y * torch.arange(y.numel()).view_as(y)).sum(), x, create_graph=True)
        torch.nn.functional.affine_grid(x[:, 0, :2, :3].clone(), (2, 3, 4, 5), align_corners=False)
        return y
class Product(torch.nn.Module):
    def forward(self, x):
        return jacrev(lambda a: a.sin())(x[:, :, 0]).sum()
PY
    for case in "Fixed 3x4x4" "Bounds 2x4x5x6" "Product 2x3x4"; do
        set -- $case
        tc-export "m.py:$1" --input "x=$2xf32=0.5" -o m.pt2
        tc-run m.pt2 --input "x=$2xf32=0.5" --to safetensors -o y.safetensors
    done
    tc-export m.py:Product --input x=2x3x4xf32=0.5 --print=full >product
    [ "$(grep -c "guard.*s0.s1" product)" = 1 ] # no bounds beside s0*s1 == 6
}

@test "a row is copied to every row of a free size" {
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        x.copy_(x[:1] * 2)
        x.view(-1)[1] = 7
        return x + 1
PY
    tc-export m.py:M --input x=AxBxf32 -o m.pt2
    tc-run m.pt2 --input x=2x3xf32=1,2,3,4,5,6 --output 0=@y.npy
    [ "$(tail -c 24 y.npy | od -An -v -tf4 | xargs)" = "3 8 7 3 5 7" ]
}

@test "sizes keep their symbols where an operator is replaced by others whose sizes are told otherwise" {
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        y = x[..., 1:].clone()
        y[torch.tensor([False, True, False])] = 7
        return y.reshape(-1) + 0
PY
    tc-export m.py:M --input x=AxBxCxf32 -o m.pt2
    tc-run m.pt2 --input x=3x1x3xf32=1,2,3,4,5,6,7,8,9 --output @y.npy
    [ "$(tail -c 24 y.npy | od -An -v -tf4 | xargs)" = "2 3 7 7 8 9" ]
}

@test "results lie in memory as PyTorch's do, whatever the order of their tensors" {
    tc-export "$here/strides.py:M" --input x=1xf32 --mode eval -o s.pt2 2>said
    grep -v 'print writes' said | diff -u "$here/strides.txt" -
}

@test "indices of gather and scatter that reach past their tensors are refused when free sizes are known" {
    cat >m.py <<'PY'
import torch
from torch.nn.modules.utils import _ntuple, _pair
assert _pair(3) == (3, 3) and _ntuple(3)([1, 2, 3]) == (1, 2, 3)
class Gather(torch.nn.Module):
    def forward(self, x, i):
        return x.gather(1, i)
class Scatter(torch.nn.Module):
    def forward(self, x, i):
        return torch.zeros(4, 4).scatter_add(1, i, x)
PY
    for class in Gather Scatter; do
        tc-export "m.py:$class" --input x=AxBxf32 --input i=CxDxi64 --dim A=1..4 --dim B=1..4 --dim C=1..9 --dim D=1..9 -o m.pt2
        tc-run m.pt2 --input x=2x4xf32=1,2,3,4,5,6,7,8 --input i=2x2xi64=0,1,1,0 -o fits.npy
        fails 3 "C <= A, required by" tc-run m.pt2 --input x=2x4xf32=1 --input i=3x2xi64=0
    done
    fails 3 "D <= B, required by" tc-run m.pt2 --input x=2x2xf32=1 --input i=2x3xi64=0
}

@test "25 computations on sizes that data decide: none, one and many, interpreted and compiled" {
    tc-export "$here/counts.py:Counts" --input x=5x3xf32 --input w=6x2xf32 -o counts.pt2
    tc-compile counts.pt2 -o compiled.pt2
    mapfile -t names < <(tc-ckpt ls "$here/counts.safetensors" | awk '$NF ~ /^0\./ { print substr($NF, 3) }')
    [ ${#names[@]} -eq 25 ]
    data=(-1,2,-3,-1,-2,0.5,-4,1,1,-0.5,2,3,-1,-1,-1 -1,2,-3,1,-2,0.5,-4,1,1,-0.5,2,3,-1,-1,-1 1,2,-3,1,-2,0.5,4,1,1,0.5,2,3,1,-1,-1)
    for i in 0 1 2; do
        give=(--input x=5x3xf32="${data[i]}" --input w=6x2xf32=1,2,3,4,5,6,7,8,9,10,11,12)
        expect=()
        for name in "${names[@]}"; do expect+=(--expect "$name=@$here/counts.safetensors#$i.$name"); done
        tc-run counts.pt2 "${give[@]}" "${expect[@]}" --rtol 1e-5 --atol 1e-5
        tc-run counts.pt2 "${give[@]}" --to safetensors -o one.st
        tc-run compiled.pt2 --executor compiled "${give[@]}" --to safetensors -o two.st
        cmp one.st two.st
    done
}

@test "a loop that computes with a number from data stands behind what decides the number, fused or not" {
    cat >late.py <<'PY'
import torch
class Size(torch.nn.Module):
    def forward(self, x):
        return x * 2 + torch.nonzero(x).shape[0]
class Item(torch.nn.Module):
    def forward(self, x):
        for _ in range(2):
            x = x + torch.clamp(x + x[0], 0, (x[0] * 2 - 1).item())
        return x
class Mask(torch.nn.Module): # nothing but the sizes of what masks select is read
    def forward(self, x):
        a, b = x[x > 1], x[x > 1]
        return x + a.shape[0] + b.shape[0] * 10
class Both(torch.nn.Module):
    def forward(self, x):
        y = x * 2
        return y.exp() * 0 + y + y.sum().item() + y[y > 2].shape[0]
class View(torch.nn.Module): # a view whose size is from data keeps the memory that it lies in
    def forward(self, x):
        e = (x.sum() * 2).expand(x[x > 1].shape[0])
        t = torch.cumsum(torch.cumsum(x, 0) + 5, 0)
        return torch.cumsum(t * 7, 0) * 0 + (e * 3 + t.sum()).sum()
PY
    declare -A want=([Size]=4,2,6 [Item]=5,4,6 [Both]=9,7,11 [Mask]=12,11,13 [View]=56,56,56)
    for class in Size Item Mask Both View; do
        tc-export late.py:$class --input x=Nxf32 -o late.pt2
        tc-compile late.pt2 -o code.pt2
        for p in "late.pt2" "late.pt2 --stance force_eager" "code.pt2 --executor compiled"; do
            got=$(tc-run $p --input x=3xf32=1,0,2 --output 0=- | tail -c 12 | od -An -v -tf4 | awk '{ print $1 "," $2 "," $3 }')
            [ "$got" = "${want[$class]}" ] || { echo "$class, $p: $got, expected ${want[$class]}"; return 1; }
        done
    done
}

@test "what nothing reads goes, but for random draws, so that later ones stay the same; large constants are not folded" {
    cat >r.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Unread(nn.Module):
    def forward(self, x):
        torch.relu(x)
        F.dropout(x, 0.5, True)
        return torch.rand(3)


class Read(nn.Module):
    def forward(self, x):
        y = F.dropout(x, 0.5, True)
        return torch.rand(3), y


class Zeros(nn.Module):
    def forward(self, x):
        return torch.zeros(10**9)[:1] + x, x.shape[0] * 2
PY
    tc-export r.py:Unread --mode eval --input x=4xf32 -o unread.pt2
    tc-export unread.pt2 --print >text
    run ! grep -q relu text
    grep -q dropout text
    tc-export r.py:Read --mode eval --input x=4xf32 -o read.pt2
    tc-run unread.pt2 --input x=4xf32=1 -o a.npy
    tc-run read.pt2 --input x=4xf32=1 --output 0=@b.npy
    cmp a.npy b.npy
    tc-export r.py:Zeros --input x=Nxf32 -o zeros.pt2
    tc-export zeros.pt2 --print | grep -q 'out.1 = 2\*N'
    tc-compile zeros.pt2 -o zerosc.pt2
    [ "$(wc -c <zerosc.pt2)" -lt 1000000 ]
}

@test "numbers without digits, complex numbers and constant results come back from an archive; written again it is the same bytes" {
    cat >n.py <<'PY'
import torch
from torch import nn


class Numbers(nn.Module):
    def forward(self, x):
        y = torch.full((1,), float("nan")) + torch.full((1,), float("inf")) * x.masked_fill(x > 0, -float("inf"))
        z = torch.mul(x, 1 - 2j)
        return {"y": y, "z": z, "name": "gelu", "none": None, "size": torch.Size([2, 3]), "flag": True, "part": x[..., None, 0:None]}
PY
    tc-export n.py:Numbers --input x=Nxf32 -o n.pt2
    tc-export n.pt2 -o again.pt2
    cmp n.pt2 again.pt2
    tc-export again.pt2 --print >text
    grep -q 'full.default(\[1\], nan' text
    grep -q ', inf' text
    grep -q ', -inf)' text
    grep -q 'complex(1.0, -2.0)' text
    grep -qF "name = \"gelu\"" text
    grep -q 'none = None' text
}

@test "an archive keeps the condition that lets squeeze take a dimension away" {
    cat >one.py <<'PY'
import torch


class One(torch.nn.Module):
    def forward(self, x, flag):
        left = x.shape[0] % 5
        assert left == 1
        y = x.new_ones(2, left).squeeze(1) + x.sum()
        return torch.cond(flag, lambda v, x: x.new_ones(3, x.shape[0] % 5).squeeze(1) + v[0], lambda v, x: x.new_zeros(3), (y, x))
PY
    tc-export one.py:One --input x=Nxf32 --input flag=bool -o one.pt2
    tc-export one.pt2 -o again.pt2
    for file in one again; do
        tc-run $file.pt2 --input x=6xf32=1 --input flag=bool=1 --output 0=@got.npy
        [ "$(tail -c 12 got.npy | od -An -tf4 | awk '{ print $1, $2, $3 }')" = "8 8 8" ]
        fails 3 "N % 5 == 1" tc-run $file.pt2 --input x=7xf32=1 --input flag=bool=1 --output 0=@no.npy
    done
    [ "$(tc-export again.pt2 --print=full | grep -c ' guard ')" -eq 1 ]
}

@test "results lie in memory as PyTorch's do, which decides the order of random numbers; dropout that drops nothing is its argument" {
    cat >f.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Strides(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList([nn.BatchNorm2d(4), nn.GroupNorm(2, 4), nn.InstanceNorm2d(4)])
        self.convs = nn.ModuleList([nn.Conv2d(4, 6, 3), nn.Conv2d(4, 4, 3, groups=4), nn.ConvTranspose2d(4, 6, 2, stride=2)])

    def shown(self, x):
        y = [layer(x) for layer in [*self.norms, *self.convs]]
        y += [F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, 3), F.adaptive_max_pool2d(x, 3)]
        y += [F.interpolate(x, scale_factor=2), F.interpolate(x, scale_factor=2, mode="bilinear"), F.rms_norm(x, (x.shape[3],))]
        y += [F.pad(x, (1, 1, 1, 1), mode) for mode in ("constant", "reflect", "replicate", "circular")]
        y += [torch.cat([x, x], 1), torch.cat([x, torch.ones(x.shape)], 1), x.flip(1), x.roll(1, 2), x.sort(1)[0], x.masked_fill(x > 0, 0)]
        return " ".join("x".join(str(s) for s in t.stride()) for t in y)

    def forward(self, x):
        volume = x[:, :, None].repeat(1, 1, 3, 1, 1).to(memory_format=torch.channels_last_3d)
        line = x.flatten(2).permute(0, 2, 1).contiguous().transpose(1, 2)
        return [self.shown(t) for t in (x, x.to(memory_format=torch.channels_last), x.permute(0, 3, 1, 2)[:, :4], x.transpose(2, 3))] + [
            str(t.stride()) for t in (F.max_pool3d(volume, 2), F.interpolate(volume, scale_factor=2), F.batch_norm(line, None, None, training=True),
                                      *self.apart(x.to(memory_format=torch.channels_last), volume.detach()))]

    def apart(self, x, volume):  # kernels with a rule of their own
        v = x.detach().requires_grad_()
        one = torch.ones(2, 4, 2, 2)
        whole = F.conv2d(x.contiguous().long(), one.long()), F.conv2d(x.long(), one.long()), F.conv1d(x[:, :, 0].long(), one[..., 0].long())
        slopes = [torch.autograd.grad(pool(v, 2).sum(), v)[0] for pool in (F.max_pool2d, F.avg_pool2d, F.adaptive_max_pool2d)]
        solved = torch.triangular_solve(x[0, :, :4, 0].contiguous(), x[0, :, :4, 1].contiguous())[1]
        return *whole, *slopes, F.conv3d(volume.double(), torch.ones(2, 4, 2, 2, 2).double()), solved, F.max_pool1d(x[0, 0].detach().t(), 2)


class Same(nn.Module):
    def forward(self, x):
        done = []
        for layer in (nn.Dropout(0.5).eval(), nn.Dropout2d(0.5).eval(), nn.AlphaDropout(0.5).eval(), nn.Dropout(0.0), torch.real):
            a = x * 1
            b = layer(a)
            b += 1
            done.append(a.sum()) # of eight ones and what was added to the result
        return torch.stack(done)
PY
    cat >strides <<'END'
144x36x6x1 144x36x6x1 144x36x6x1 96x16x4x1 64x16x4x1 864x144x12x1 36x9x3x1 36x9x3x1 36x9x3x1 36x9x3x1 576x144x12x1 576x144x12x1 144x36x6x1 256x64x8x1 256x64x8x1 256x64x8x1 256x64x8x1 288x36x6x1 288x36x6x1 144x36x6x1 144x36x6x1 144x36x6x1 144x36x6x1
144x1x24x4 144x1x24x4 144x36x6x1 96x1x24x6 64x1x16x4 864x1x72x6 36x1x12x4 36x1x12x4 36x1x12x4 36x1x12x4 576x1x48x4 576x1x48x4 144x1x24x4 256x1x32x4 256x1x32x4 256x1x32x4 256x64x8x1 288x1x48x8 288x36x6x1 144x1x24x4 144x1x24x4 144x1x24x4 144x36x6x1
96x1x24x4 96x1x24x4 96x24x6x1 48x1x24x6 32x1x16x4 576x1x72x6 24x1x12x4 24x1x12x4 36x1x12x4 36x1x12x4 384x1x48x4 384x1x48x4 96x1x24x4 192x1x32x4 192x1x32x4 192x1x32x4 192x48x8x1 192x1x48x8 192x24x6x1 96x1x24x4 96x1x24x4 96x1x24x4 96x24x6x1
144x36x6x1 144x36x6x1 144x36x6x1 96x16x4x1 64x16x4x1 864x144x12x1 36x9x3x1 36x9x3x1 36x9x3x1 36x9x3x1 576x144x12x1 576x144x12x1 144x36x6x1 256x64x8x1 256x64x8x1 256x64x8x1 256x64x8x1 288x36x6x1 288x36x6x1 144x36x1x6 144x36x6x1 144x36x1x6 144x36x6x1
(36, 1, 36, 12, 4)
(3456, 1, 576, 48, 4)
(144, 36, 1)
(50, 25, 5, 1)
(50, 1, 10, 2)
(10, 5, 1)
(144, 1, 24, 4)
(144, 1, 24, 4)
(144, 1, 24, 4)
(100, 50, 25, 5, 1)
(1, 4)
(3, 1)
END
    for size in 2 B; do
        tc-export f.py:Strides --mode eval --input x=${size}x4x6x6xf32 -o strides.pt2
        tc-run strides.pt2 --signature | sed -n "s/^  out[.][0-9]* *'\(.*\)'$/\1/p" | diff -u strides -
    done
    tc-export f.py:Same --input x=2x2x2xf32 -o same.pt2
    [ "$(tc-run same.pt2 --input x=2x2x2xf32=1 --output - | tail -c 20 | od -An -tf4 | xargs)" = "16 16 16 16 16" ]
}

@test "a slice of none or one row of a free size meets numbers without a condition on the size" {
    printf '%s\n' 'from torch import nn' 'class M(nn.Module):' '    def forward(self, x):' '        w = x.clone()' '        w[-1:3].add_(1)' \
        '        return w - 1 + x[-1:3].sum()' >m.py
    tc-export m.py:M --input x=Bxf32 -o m.pt2
    for x in 1:2 1,2:2,4 1,2,3:3,4,6 1,2,3,4:0,1,2,3; do
        n=$(tr -dc , <<<"${x%:*}" | wc -c)
        tc-run m.pt2 --input x=$((n + 1))xf32="${x%:*}" --output - | tail -c $((4 * n + 4)) | od -An -tf4 | xargs | tr ' ' , | diff - <(echo "${x#*:}")
    done
}

@test "chunk of a size whose example has fewer pieces fixes that size" {
    printf 'import torch\nclass C(torch.nn.Module):\n    def forward(self, x):\n        return list(x.chunk(4))\n' >c.py
    printf '\x93NUMPY\x01\x00\x46\x00%-69s\n%20s' "{'descr': '<f4', 'fortran_order': False, 'shape': (5,), }" "" >x.npy
    tc-export c.py:C --input x=@x.npy -o c.pt2
    tc-run c.pt2 --input x=@x.npy --to safetensors -o out.safetensors
    [ "$(tc-ckpt ls out.safetensors | grep -c 'out\.')" = 3 ]
}

@test "a Fourier transform of real numbers whose free size is 0 is refused" {
    printf '%s\n' "import torch" "class R(torch.nn.Module):" "    def forward(self, x):" "        return torch.fft.rfft(x).abs()" >r.py
    tc-export r.py:R --input x=3xNxf32 -o r.pt2
    run --separate-stderr tc-run r.pt2 --input x=3x0xf32=0 -o no.npy
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"x.size(1)=0, expected at least 1"* ]]
    tc-run r.pt2 --input x=3x1xf32=2 --expect @<(tc-run r.pt2 --input x=3x1xf32=-2)
}

@test "a sum of thousands of sizes is one expression in whatever order it is made, and its archive grows with its terms" {
    cat >m.py <<'END'
import torch
from torch import nn
class Sum(nn.Module):
    def __init__(self, k=1, products=False):
        super().__init__()
        self.k, self.products = k, products
    def forward(self, xs):
        n = 0
        for i in range(self.k):
            for j, x in enumerate(xs):
                n = n + (x.shape[0] * xs[i].shape[0] if self.products else x.shape[0])
        return torch.zeros(n)
class Order(nn.Module):
    def forward(self, xs):
        n = 0
        for x in reversed(xs):
            n = x.shape[0] + n
        return torch.cat(xs) + torch.zeros(n) + torch.zeros(torch.sym_sum([x.shape[0] for x in xs]))
END
    inputs() { for i in $(seq 0 $(($1 - 1))); do printf -- '--input xs.%d=S%dxf32\n' "$i" "$i"; done; }
    for n in 500 1000; do
        inputs $n >in.$n
        tc-export m.py:Sum $(cat in.$n) -o sum.$n.pt2
    done
    [ $(($(stat -c %s sum.1000.pt2) * 10)) -lt $(($(stat -c %s sum.500.pt2) * 23)) ]
    tc-export m.py:Sum --arg k=10 $(cat in.1000) -o rounds.pt2
    [ "$(stat -c %s rounds.pt2)" -lt 2500000 ] # 53 MB where each partial sum stood in it
    inputs 70 >in.70
    tc-export m.py:Sum --arg k=70 --arg products=True $(cat in.70) -o products.pt2
    [ "$(stat -c %s products.pt2)" -lt 10000000 ]
    tc-export m.py:Order $(cat in.1000) -o order.pt2 --log guards 2>log
    grep -qx "model: 0 guards" log
    tc-export order.pt2 -o again.pt2
    for i in $(seq 0 999); do printf -- "--input xs.$i=%dxf32=1\n" $((i % 3)); done >give
    tc-run order.pt2 $(cat give) -o one.npy
    grep -qa "'shape': (999,)" one.npy
    tc-run again.pt2 $(cat give) --expect @one.npy
}

@test "a number that doubles what it is made of in each step is refused; a deep one is read back" {
    cat >m.py <<'END'
import torch
from torch import nn
class Twice(nn.Module):
    def __init__(self, k=1):
        super().__init__()
        self.k = k
    def forward(self, x):
        n = x.shape[0]
        for i in range(self.k):
            n = n // 2 + n // 3 + 1
        return torch.zeros(n)
class Shape(Twice):
    def forward(self, x):
        for i in range(self.k):
            x = torch.cat([x[::2], x[::3]])
        return x
class Deep(Twice):
    def forward(self, x):
        n = x.shape[0]
        for i in range(self.k):
            n = (n * 3 + 1) // 2
        return x + 1 if n > 5 else x
END
    for class in Twice Shape; do
        fails 5 "an expression of more than 131072 numbers or 500 levels" tc-export m.py:$class --arg k=60 --input x=Axf32 -o none.pt2
    done
    fails 5 "an expression of more than 131072 numbers or 500 levels" tc-export m.py:Deep --arg k=100000 --input x=Axf32 -o none.pt2
    tc-export m.py:Deep --arg k=60 --input x=Axf32 -o deep.pt2
    [ "$(tc-run deep.pt2 --input x=3xf32=1 | tail -c 12 | od -An -tf4 | tr -s ' ')" = " 2 2 2" ]
}

@test "a program of six sizes, compiled once, gives the interpreter's bits at 50 tuples of them" {
    cat >m.py <<'END'
import torch
from torch import nn
class Six(nn.Module):
    def forward(self, x, y, z):
        a, b = x.shape
        c, d = y.shape
        e, f = z.shape
        n = min(b, c)
        p = x[:, :n] @ y[:n] + a
        q = torch.cat([p.reshape(-1), z.t().reshape(-1)]).softmax(0)
        k = (a * d + e * f) // 2
        return q.cumsum(0)[k:], z.sum(1) * (e + f) - x.mean(), torch.arange(a * c + e) % (d + 1), y.flip(0)[: a + 1].relu()
END
    tc-export m.py:Six --input x=AxBxf32 --input y=CxDxf32 --input z=ExFxf32 -o six.pt2
    tc-compile six.pt2 -o compiled.pt2
    RANDOM=7
    for i in $(seq 50); do
        size=()
        for k in 1 2 3 4 5 6; do size+=($((RANDOM % 3 ? RANDOM % 12 : RANDOM % 90 + 1))); done
        give=(--input "x=${size[0]}x${size[1]}xf32=1.5" --input "y=${size[2]}x${size[3]}xf32=-0.25" --input "z=${size[4]}x${size[5]}xf32=0.1")
        tc-run six.pt2 "${give[@]}" --to safetensors -o one.st
        tc-run compiled.pt2 --executor compiled "${give[@]}" --to safetensors -o two.st
        cmp one.st two.st || { echo "sizes ${size[*]}"; return 1; }
    done
}

@test "bits of sizes go through an archive, and compile" {
    cat >m.py <<'END'
import torch
from torch import nn
class Bits(nn.Module):
    def forward(self, x):
        n = x.shape[0]
        return torch.ones(n & 3), torch.ones(n | 1), torch.ones(n ^ 5), torch.ones((n << 1) + (n >> 2)), torch.ones(n & (n + 1))
END
    tc-export m.py:Bits --input x=Nxf32 -o one.pt2
    tc-export one.pt2 -o two.pt2
    tc-compile two.pt2 -o compiled.pt2
    for program in one.pt2 two.pt2 compiled.pt2; do
        for n in 0 1 7 100; do
            tc-run $program --input x=${n}xf32=0 --to safetensors -o out.st
            tc-ckpt ls out.st >ls
            i=0
            for k in "$((n & 3))" "$((n | 1))" "$((n ^ 5))" "$(((n << 1) + (n >> 2)))" "$((n & (n + 1)))"; do
                grep -q "^${k}xf32 .* out.$i$" ls || { cat ls; echo "$program $n: out.$i is no $k"; return 1; }
                i=$((i + 1))
            done
        done
    done
}

@test "a factor of a gradient is computed where it is used when what it is made of is kept anyway" {
    cat >m.py <<'END'
import torch
from torch import nn
class Deep(nn.Module):
    def __init__(self, activation):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(64, 64) for _ in range(12)])
        self.activation = getattr(torch, activation)
    def forward(self, x):
        for layer in self.layers:
            x = self.activation(layer(x))
        return x.sum()
END
    for activation in relu tanh sigmoid; do # 12 results of 128 x 64 are kept for the products' gradients, and one at a time beside them
        tc-export --joint m.py:Deep --arg activation="'$activation'" --input x=128x64xf32 -o m.pt2
        arena=$(tc-compile -v m.pt2 -o c.pt2 2>&1 | sed -n 's/.*arena \([0-9]*\).*/\1/p')
        [ "$arena" -le $((13 * 128 * 64 * 4)) ]
    done
}
