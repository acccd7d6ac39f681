# Code for some sizes only (tc-compile --dim, --variants): which code runs, what a stance does where none fits, what --log says, and that
# the bits are always the same.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 8)

    def forward(self, x):
        y = F.softmax(self.a(x), -1) + x.sum(1, keepdim=True).exp()
        return y.cumsum(0).mean(0)


class Two(nn.Module):
    def forward(self, x, y):
        if x.size(0) < 3 * y.size(0):
            return torch.softmax(x, 0).sum(1) * torch.softmax(y, 0).sum()
        return x.sum(1)


class Ramp(nn.Module):
    def forward(self, x):
        return torch.arange(16.0) * x.sum() + x
PY
    tc-export m.py:M --input x=Bx16xf32 --dim B=1..64 -o m.pt2
}

records() { # SIZE...: records.npy with that many rows each
    for b in "$@"; do tc-export m.py:Ramp --input x=${b}x16xf32 | tc-run --input x=${b}x16xf32=0.01; done >records.npy
    tc-run m.pt2 --input x=@records.npy -o want.npy
}

@test "a program compiled for one batch, under every stance" {
    tc-compile m.pt2 --dim B=8 -o c.pt2
    records 8 9 8 7
    for stance in default force_eager eager_on_recompile; do
        run --separate-stderr tc-run c.pt2 --stance=$stance --input x=@records.npy --expect @want.npy
        [ "$status" -eq 0 ]
        if [ $stance = eager_on_recompile ]; then
            [ "$stderr" = "tc-run: no compiled variant fits: it is for B == 8; x.size(0) = 9 (m.py:12); the graph is interpreted, with the same bits" ]
        else
            [ -z "$stderr" ]
        fi
    done
    run --separate-stderr tc-run c.pt2 --stance=fail_on_recompile --input x=@records.npy -o got.npy
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"record 1: no compiled variant fits: it is for B == 8; x.size(0) = 9 (m.py:12)"* ]]
    run --separate-stderr tc-run c.pt2 --stance=fail_on_recompile --input x=65x16xf32=1 -o got.npy
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"expected 1..64"* ]]
    run --separate-stderr tc-run c.pt2 --input x=8x17xf32=1 -o got.npy
    [ "$status" -eq 3 ]
}

@test "--dim, --variants, --minify and C take an archive's default program; the others keep code for all sizes" {
    printf 'import torch\nclass D(torch.nn.Module):\n    def forward(self, x):\n        return torch.dropout(torch.softmax(x, -1), 0.5, self.training)\n' >d.py
    tc-export d.py:D --input x=Bx5xf32 -o d.pt2
    for option in --dim --variants; do
        tc-compile d.pt2 $option B=4 -o c.pt2
        for program in model train; do
            tc-run d.pt2 --model $program --input x=4x5xf32=0.1 -o want.npy
            run --separate-stderr tc-run c.pt2 --model $program --stance=fail_on_recompile --log guards --input x=4x5xf32=0.1 --expect @want.npy
            [ "$status" -eq 0 ]
            [[ $program = model || "$stderr" == *"no variant fits: the code for all sizes is used" ]]
            [[ $program = train || "$stderr" == *"the variant for B == 4 is used" ]]
        done
    done
    tc-compile d.pt2 --dim B=4 -o d.c
    tc-compile d.pt2 --minify false -o less.pt2
    [ "$(tc-run --signature less.pt2 | grep -c "f32\[B, 5\]")" -ge 1 ]
    for arguments in "--dim B=4" "--minify false" "--to c"; do
        run --separate-stderr tc-compile "$TC_ROOT/tests/cli/fixtures/two.pt2" $arguments -o none
        [ "$status" -eq 2 ]
        [[ "${stderr_lines[0]}" == *"two.pt2 has no program named model; it has a, b (--model NAME)" ]]
    done
}

@test "--log=recompiles says the first change, and no more" {
    tc-compile m.pt2 --dim B=4 -o c.pt2
    records 4 5 6
    run --separate-stderr tc-run c.pt2 --log=recompiles --input x=@records.npy --expect @want.npy
    [ "$status" -eq 0 ]
    [ "${#stderr_lines[@]}" -eq 1 ]
    [[ "$stderr" == *"B == 4; x.size(0) = 5 (m.py:12)"* ]]
    # code for all sizes is no recompilation
    tc-compile m.pt2 --variants B=4 -o v.pt2
    run --separate-stderr tc-run v.pt2 --log=recompiles --input x=@records.npy --expect @want.npy
    [ -z "$stderr" ]
    run --separate-stderr tc-run v.pt2 --log=guards --input x=@records.npy --expect @want.npy
    [ "$(grep -c "no variant fits: the code for all sizes is used" <<<"$stderr")" -eq 1 ]
}

@test "--log=guards prints every condition and which variant runs; the one that fixes most is taken" {
    tc-export m.py:Two --input x=Ax4xf32 --input y=Bx4xf32 --dim A=1..64 --dim B=4..64 -o two.pt2
    tc-compile two.pt2 --dim B=8 --variants A=2,6 -o c.pt2
    run --separate-stderr tc-run c.pt2 --log=guards --input x=6x4xf32=1 --input y=8x4xf32=2 -o got.npy
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"model: 1 guard"*"# m.py:18"*"x: f32[A, 4]"*"A <= 64"*"B >= 4"*"variant 1: A == 2 and B == 8"*"variant 2: A == 6 and B == 8"* ]]
    [[ "$stderr" == *"the variant for A == 6 and B == 8 is used"* ]]
    tc-run two.pt2 --input x=6x4xf32=1 --input y=8x4xf32=2 --expect @got.npy
    run --separate-stderr tc-run c.pt2 --stance=fail_on_recompile --input x=6x4xf32=1 --input y=9x4xf32=2 -o got.npy
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"A == 2 and B == 8, or A == 6 and B == 8"* ]]
    run --separate-stderr tc-compile two.pt2 --dim B=8 --variants B=2 -o x.pt2
    [ "$status" -eq 2 ]
    run --separate-stderr tc-run c.pt2 --log=nothing --input x=6x4xf32=1 --input y=9x4xf32=2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"guards, recompiles"* ]]
}

@test "the check of the inputs is timed apart" {
    tc-bench m.pt2 --phase guards --dim B=3 --min-time 0.01 --repeat 5 --to json >out
    grep -q "\"runs\": *5" out
    run --separate-stderr tc-bench m.pt2 --phase guards --profile p.txt
    [ "$status" -eq 2 ]
}

@test "a size that inputs show as a multiple only, and more than eight symbols" {
    cat >many.py <<'PY'
import torch
from torch import nn


class Twice(nn.Module):
    def forward(self, x):
        return x.view(-1, 2, 16).sum(1).softmax(-1)


class Product(nn.Module):  # B is found in y first; no view has -1 beside a size of 0
    def forward(self, x, y):
        return x.view(y.shape[0] // 2, -1).sum(1)


class Many(nn.Module):
    def forward(self, a, b, c, d, e, f, g, h, i):
        return torch.cat([a, b, c, d, e, f, g, h, i]).softmax(0)
PY
    tc-export many.py:Twice --input x=2*Bx16xf32 --dim B=1..64 -o twice.pt2
    fails 3 "x.size(0)=130, expected 2*B with B of 1..64 (B)" tc-run twice.pt2 --input x=130x16xf32=1 -o got.npy
    fails 3 "x.size(0)=3, expected 2*B" tc-run twice.pt2 --input x=3x16xf32=1 -o got.npy
    tc-compile twice.pt2 --dim B=4 -o one.pt2
    run --separate-stderr tc-run one.pt2 --stance=fail_on_recompile -v --input x=8x16xf32=0.5 -o got.npy
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"B == 4"* ]]
    tc-run twice.pt2 --input x=8x16xf32=0.5 -o want.npy
    cmp got.npy want.npy
    run --separate-stderr tc-run one.pt2 --stance=fail_on_recompile --input x=10x16xf32=0.5 -o got.npy
    [ "$status" -eq 1 ]
    [[ "$stderr" == *"B = 5"* ]]
    tc-export many.py:Product --input x=B*Txf32 --input y=2*Bxf32 --dim B=0..9 -o product.pt2
    tc-run product.pt2 --input x=6xf32=0.5 --input y=4xf32=0 --to npy | tail -c 8 | od -An -tf4 | xargs >got
    [ "$(cat got)" = "1.5 1.5" ]
    fails 3 "y.size(0)=3, expected 2*B" tc-run product.pt2 --input x=6xf32=1 --input y=3xf32=1 -o got.npy
    fails 3 "y.size(0)=0, expected 2*B with B of 1..9 (many.py:12)" tc-run product.pt2 --input x=0xf32= --input y=0xf32= -o got.npy
    printf 'class Loose(nn.Module):  # where A is 0, B is any number, and C what is left\n    def forward(self, x, y, z):\n        return x.sum() + y.sum() + z.sum()\n' >>many.py
    tc-export many.py:Loose --input x=Axf32 --input y=A*Bxf32 --input z=B+Cxf32 -o loose.pt2
    tc-run loose.pt2 --input x=0xf32= --input y=0xf32= --input z=3xf32=1,2,3 --to npy | tail -c 4 | od -An -tf4 | xargs >got
    [ "$(cat got)" = 6 ]
    local in=() dims=() give=()
    for k in a b c d e f g h i; do
        in+=(--input "$k=${k^^}xf32") dims+=(--dim "${k^^}=3") give+=(--input "$k=3xf32=0.5")
    done
    tc-export many.py:Many "${in[@]}" -o many.pt2
    tc-compile many.pt2 "${dims[@]}" -o nine.pt2
    tc-run nine.pt2 --stance=fail_on_recompile "${give[@]}" -o got.npy
    tc-run many.pt2 "${give[@]}" -o want.npy
    cmp got.npy want.npy
}
