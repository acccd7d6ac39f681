# Operators of extensions (tc_ops.h, --ops): built, called from a source, run, trained, compiled; what they write; what is refused.
load common

setup_file() {
    cd "$BATS_FILE_TMPDIR"
    export XDG_DATA_HOME=$BATS_FILE_TMPDIR/data # records what tc-compile builds
    for e in scale write; do tc-compile --ops "$TC_ROOT/tests/cli/fixtures/ops_$e.c" -o "$e.so"; done
    cat >m.py <<'PY'
import torch
from torch import nn


class Own(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
        self.b = nn.Parameter(torch.ones(4))

    def scaled(self, x):
        return torch.ops.my.f(x, self.b, scale=2.0)

    def forward(self, x):
        return self.scaled(torch.relu(self.a(x.float()))).tanh()


class Composed(Own):
    def scaled(self, x):
        return x * 2.0 + self.b
PY
    tc-export --ops scale.so m.py:Own --input x=Bx3xf32 -o own.pt2
    tc-export m.py:Composed --input x=Bx3xf32 -o composed.pt2
}

setup() { scratch && cp -r "$BATS_FILE_TMPDIR"/{*.so,*.py,*.pt2,data} .; }

@test "an operator of an extension runs, compiles and trains to the bits of the same formula in tc's operators" {
    local x=x=2x3xf32=1,-2,3,4,5,-6
    tc-run composed.pt2 --input $x -o want.npy
    tc-run --ops scale.so own.pt2 --input $x -o got.npy && cmp got.npy want.npy
    tc-compile --ops scale.so own.pt2 -o code.pt2
    tc-run --ops ./scale.so --stance=fail_on_recompile code.pt2 --input $x -o got.npy && cmp got.npy want.npy
    tc-export --ops scale.so own.pt2 --joint -o joint.pt2 && tc-export composed.pt2 --joint -o wanted.pt2
    for p in joint wanted; do tc-run --ops scale.so $p.pt2 --input $x --input tangents.out.0=2x4xf32=1,2,3,4,5,6,7,8 --to npz -o $p.npz; done
    cmp joint.npz wanted.npz
    printf 'emma\nolivia\nava\nmia\n' >names.txt
    for m in Own Composed; do
        printf '%s\n' "model: m.py:$m" 'input: x=Bx3xi64' 'data: {names: names.txt, context: 3, train: {}}' 'batch: 4' 'steps: 2' \
            'loss: F.cross_entropy(out, y % 4)' 'optimizer: torch.optim.SGD(m.parameters(), lr=0.1)' >r.yaml
        tc-train -q --ops scale.so r.yaml -o $m && tc-ckpt convert $m/latest -o $m.safetensors
    done
    cmp Own.safetensors Composed.safetensors
    tc-run --ops scale.so --ops write.so --ops-list >list
    grep -q '^my::f(Tensor x, Tensor b, float scale=1.0) -> Tensor	shape: x\[..., K\], b\[K\] -> \[..., K\]	gradient: my::f_backward	kernel: scale.so$' list
    [ "$(wc -l <list)" -eq 8 ]
}

@test "without --ops the operator is named; no C is written of it; nothing loads an extension by itself" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return torch.ops.my.g(x)\n' >a.py
    fails 3 "AttributeError: '_OpNamespace' 'my' object has no attribute 'g': an extension that defines my::g is given with --ops" tc-export a.py:M --input x=2xf32
    fails 5 "node f: operator my.f.default is not supported: --ops FILE gives the extension that defines it" tc-run own.pt2 --input x=1x3xf32=1,2,3
    fails 5 "my.f.default" tc-compile --ops scale.so own.pt2 --dim B=2 -o own.c
    fails 5 "my.f.default has no form in ONNX" tc-export --ops scale.so own.pt2 -o own.onnx
    sed 's/torch.ops.my.g/torch.ops.tc.attention/' a.py >b.py # what passes make is no part of the language
    fails 3 "module 'torch.ops' has no attribute 'tc'" tc-export b.py:M --input x=2xf32
    printf 'import torch\ntorch.ops.load_library("scale.so")\n' >a.py
    fails 5 "torch.ops.load_library() is not part of the model language" tc-export a.py:M
}

@test "what a kernel writes to is a mutation of the program: in place, into views, buffers and out arguments" {
    cat >w.py <<'PY'
import torch
from torch import nn

ops = torch.ops.my


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("hits", torch.zeros(1))
        self.register_buffer("cache", torch.zeros(4))
        x, o, h = torch.ones(4), torch.zeros(4), torch.zeros(1)
        ops.add_(x, torch.ones(4), 3.0)
        print(ops.add_.default(x[1:3], torch.ones(2)), x, ops.sum([x, x[::2]], [1, 2]), hasattr(ops, "nothing"))
        print(ops.twice.out(x, out=o), o, ops.count(x, h), h, ops.store(h, h), h)

    def forward(self, x):
        y = x * 1
        ops.add_(y, x, 2.0)
        v = y[:, 1]
        ops.add_(v, v)
        z = ops.count(y, self.hits)
        ops.store(self.cache, x.sum(0))
        w = (x * 1).t()
        ops.count_up_(w)
        return z, ops.sum([x, z], [1]), self.hits + 0, self.cache + 0, w + 0


class Fails(nn.Module):
    def forward(self, x):
        return ops.sum([x], [1], fail=True)
PY
    tc-export --ops write.so w.py:M --input x=Bx4xf32 -o w.pt2 2>eager
    diff - eager <<'TEXT'
tensor([5., 5.]) tensor([4., 5., 5., 4.]) tensor(30.) False
tensor([ 8., 10., 10.,  8.]) tensor([ 8., 10., 10.,  8.]) tensor([5., 6., 6., 5.]) tensor([2.]) None tensor([2.])
TEXT
    tc-compile --ops write.so w.pt2 -o c.pt2 -v 2>said
    run ! grep -q 'cache.*copied' said
    for p in w c; do
        rm -f ./*.npy
        tc-run --ops write.so $p.pt2 --input x=2x4xf32=1,2,3,4,5,6,7,8 --output z=@1.npy --output out.1=@2.npy --output out.2=@3.npy --output out.3=@4.npy --output out.4=@5.npy
        for o in ?.npy; do tail -c +129 $o; done | od -An -v -tf4 | xargs >got
        diff got - <<<"4 13 10 13 16 37 22 25 177 1 6 8 10 12 1 6 4 9 7 12 10 15"
    done
    tc-export --ops write.so w.py:Fails --input x=2xf32 -o w.pt2
    fails 3 "my.sum.default: told to fail: because" tc-run --ops write.so w.pt2 --input x=2xf32=1,2
}

@test "the header compiles alone as C11 and C++17 and converts all float16 and bfloat16 as tc does; its codes are translated by name" {
    for f in "${CC:-cc} -x c -std=c11" "g++ -x c++ -std=c++17"; do
        command -v ${f%% *} >/dev/null || continue # a C++ compiler is none of the packages that tc needs
        $f -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$TC_ROOT/lib" - <<<'#include "tc_ops.h"'
    done
    # another order of the types, longer tables: an extension that was built with another header
    sed -e 's/X(F32, "f32")//; s/X(U8, "u8")/X(F32, "f32") X(U8, "u8")/; s/X(BOOL, "bool")//; s/X(I16, "i16")/X(I16, "i16") X(BOOL, "bool") X(NEW, "of_later")/' \
        -e 's/^} tc_ops_operator;/    const void *later;\n} tc_ops_operator;/; s/^} tc_ops_extension;/    const void *later;\n} tc_ops_extension;/' \
        "$TC_ROOT/lib/tc_ops.h" >tc_ops.h
    cp "$TC_ROOT/tests/cli/fixtures/ops_scale.c" other.c
    tc-compile --ops other.c -o other.so
    run ! cmp tc_ops.h "$TC_ROOT/lib/tc_ops.h"
    tc-run --ops scale.so own.pt2 --input x=1x3xf32=1,2,3 -o want.npy
    tc-run --ops other.so own.pt2 --input x=1x3xf32=1,2,3 -o got.npy && cmp got.npy want.npy
}

@test "CFLAGS reach the compiler; without one the package is named; what is no extension is refused in one line" {
    make() { # TEXT...: the extension of these operators
        printf '%s\n' '#include "tc_ops.h"' 'static int k(tc_ops_call *c) { return c ? 0 : 1; }' "static const tc_ops_operator o[] = {" "$@" '};' \
            'TC_OPS_EXTENSION("t", o)' >t.c
        tc-compile --ops t.c -o t.so
    }
    refused() { # TEXT: exit 3 and one line
        fails 3 "tc-run: --ops: t.so: $1" tc-run --ops t.so --ops-list
        [ "$(wc -l <<<"$stderr")" -eq 1 ] || { echo "$stderr"; return 1; }
    }
    one() { make "{\"$1\", k, ${2:-0}, ${3:-0}, 0, 0},"; }
    fails 1 "install gcc or clang" env CC=no-such-compiler tc-compile --ops "$TC_ROOT/tests/cli/fixtures/ops_scale.c" -o t.so
    printf '#ifndef GIVEN\n#error no flag\n#endif\n' >t.c
    fails 1 "no flag" tc-compile --ops t.c -o t.so
    fails 1 "no flag" env PMIX_RANK=0 tc-compile --ops t.c -o t.so
    fails 1 "" env PMIX_RANK=7 tc-compile --ops t.c -o t.so # of several ranks the first speaks
    [ -z "$stderr" ]
    CFLAGS=-DGIVEN tc-compile --ops t.c -o t.so
    refused "no extension: it does not define tc_ops_extension_v1"
    fails 2 "--ops t.c is source: tc-compile --ops t.c -o t.so builds the library" tc-run --ops t.c --ops-list
    echo text >t.so
    fails 2 "tc-run: --ops: t.so: this user did not build it, so its code is not run" tc-run --ops t.so --ops-list
    fails 3 "tc-run: --ops: t.so: it cannot be loaded: file too short" tc-run --trust --ops t.so --ops-list
    cp "$BATS_FILE_TMPDIR/scale.so" t.so && tc-run --ops t.so --ops-list >list
    XDG_DATA_HOME=$PWD/other fails 2 "--ops: t.so: this user did not build it" tc-run --ops t.so --ops-list
    XDG_DATA_HOME=$PWD/other tc-run --trust --ops t.so --ops-list >trusted && cmp list trusted
    printf x >>t.so && fails 2 "this user did not build it" tc-run --ops t.so --ops-list
    fails 1 "--ops: none.so: No such file" tc-run --ops none.so --ops-list
    printf '#include "tc_ops.h"\n#undef TC_OPS_VERSION\n#define TC_OPS_VERSION 2\nstatic const tc_ops_operator o[] = {{0}};\nTC_OPS_EXTENSION("t", o)\n' >t.c
    tc-compile --ops t.c -o t.so && refused "made for version 2 of tc_ops.h, expected at most 1"
    one 'my::f(Tensor x -> Tensor' && refused "operator 1: schema"
    one 'aten::f(Tensor x) -> Tensor' && refused "operator aten::f: the name space aten is tc's"
    one 'my::f(Device x) -> Tensor' '"[] f32"' && refused "operator 1: operator my::f: a type that extensions do not take, that of parameter x"
    one 'my::f(Tensor(a) x) -> Tensor(a)' && refused "operator 1: operator my::f: results that share memory with an argument are not supported: parameter x"
    one 'my::f(Tensor x) -> Tensor' '"x[A, -> [A]"' && refused "operator 1: operator my::f: shape rule \"x[A, -> [A]\": a name or a number expected at byte"
    one 'my::f(Tensor x) -> Tensor' '"x[A] -> [B]"' && refused "operator 1: operator my::f: shape rule"
    one 'my::f(int n) -> Tensor' && refused "operator 1: operator my::f: no shape rule, and no tensor that the results are like"
    one 'my::f(Tensor x) -> Tensor' 0 '"my::g"' && refused "operator my::f: the extension has no operator of the name of its gradient my::g"
    make '{"my::f(Tensor x) -> Tensor", k},' '{"my::f(Tensor x, int n) -> Tensor", k},' && refused "operator my::f is defined twice"
    fails 3 "operator my::f is defined twice" tc-run --ops scale.so --ops scale.so --ops-list
}

@test "kernels make views and tensors, call tc's operators and its threads; x is read by its strides" {
    tc-compile --ops "$TC_ROOT/tests/cli/fixtures/ops_tensors.c" -o t.so
    printf 'import torch\nclass M(torch.nn.Module):\n    def __init__(self, zero=0):\n        super().__init__()\n        self.zero = zero\n    def forward(self, x):\n        return torch.ops.my.tensors(x[:, 1:].t(), self.zero)\n' >t.py
    for zero in 0 1; do
        tc-export --ops t.so t.py:M --arg zero=$zero --input x=AxBxf32 -o t.pt2
        tc-run --ops t.so t.pt2 --input x=3x4xf32=9,1,2,3,9,-4,-5,-6,9,7,8,-9 --output @$zero.npy
    done
    diff <(tail -c +129 0.npy | od -An -v -tf4 | tr -s ' ') - <<<" 1 16"
    diff <(tail -c +129 1.npy | od -An -v -tf4 | tr -s ' ') - <<<" 1 0"
    tc-export --ops t.so t.py:M --arg zero=2 --input x=AxBxf32 -o t.pt2
    fails 3 "my.tensors.default: aten.amax" tc-run --ops t.so t.pt2 --input x=3x4xf32=1
    tc-bench --ops t.so --opcheck my::tensors
}

@test "--opcheck finds a wrong gradient, a hidden write, a wrong shape rule, strides that are not read; a shared result is not loaded" {
    tc-compile --ops "$TC_ROOT/tests/cli/fixtures/ops_faults.c" -o bad.so
    found() { fails 4 "tc-bench: my::$2" tc-bench --ops bad.so --opcheck "my::$1"; }
    found square "square(x=f32[3,5]): its gradient my::slope gives "
    found wide "wide(x=f32[3,5], w=f32[3,5]): its gradient my::narrow: grad.w: result getitem_1 has type f32[5], expected f32[3, 5]"
    found mutates "mutates(x=f32[3,5]): its kernel writes to argument x, which its schema does not mark: Tensor(a!)"
    found 'less(f32[4])' "less(f32[4]): its kernel writes outside of result 0: its shape rule gives fewer elements than the kernel makes"
    found 'more(f32[4])' "more(f32[4]): elements of its results are not written, or differ between runs: its shape rule gives more elements"
    found strides "strides(x=f32[3,5]): it is marked TC_OPS_STRIDED and does not read strides"
    CFLAGS=-DVIEW tc-compile --ops "$TC_ROOT/tests/cli/fixtures/ops_faults.c" -o bad.so
    fails 3 "operator my::view: results that share memory with an argument are not supported" tc-bench --ops bad.so --opcheck my::view
    tc-bench --ops scale.so --ops write.so --opcheck my::f --opcheck my::f_backward --opcheck my::add_ --opcheck my::twice.out --opcheck my::sum >said
    [ "$(grep -c ': as declared$' said)" -eq 5 ]
    fails 3 "--opcheck my::none: no extension of --ops defines it" tc-bench --ops scale.so --opcheck my::none
    fails 2 "--opcheck needs --ops" tc-bench --opcheck my::f
}
