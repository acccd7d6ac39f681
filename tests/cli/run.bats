# tc-run through real pipes: inputs in all forms, outputs, streams, comparison, exit codes.
load common

setup() {
    oracle=$TC_ROOT/tests/oracle/pt2
    mlp=$oracle/mlp.pt2
    cd "$BATS_TEST_TMPDIR"
}

@test "PyTorch's programs give PyTorch's results" {
    run "$TC_ROOT/tests/conformance" "$TC_BUILD" "$TC_ROOT/tests/oracle/pt2" -v
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [[ "$output" == *" 0 failed, 0 not yet" ]] || { echo "$output"; return 1; }
}

@test "what a later stage reads is kept whole over several blocks" {
    cat >kept.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, g):
        x = g.lerp(g * 2, 0.5).to(torch.bfloat16)
        y = x.div(x.norm())
        torch.ops.aten._assert_async.msg((y.float().norm() - 1).abs() < 0.01, "not of length 1")
        return y
EOF
    tc-export kept.py:M --input g=48x64xf64 -o kept.pt2
    run tc-run kept.pt2 --input g=48x64xf64=1 --cast f32 --output y=@y.npy
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
}

@test "text among tensors is left out of the default output with a word, and can be written" {
    cat >both.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        return {"y": x + 1, "kind": "cat"}
EOF
    tc-export both.py:M --input x=2xf32 -o both.pt2
    run --separate-stderr tc-run both.pt2 --input x=2xf32=1 -o y.npy
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"output kind is text"*"--output kind=@FILE.txt"* ]] || { echo "$stderr"; return 1; }
    run tc-run both.pt2 --input x=2xf32=1 --output kind=@kind.txt
    [ "$status" -eq 0 ] || { echo "$output"; return 1; }
    [ "$(cat kind.txt)" = cat ]
}

@test "a missing input prints the signature and a command that works" {
    fails 2 "no value for input x" tc-run "$mlp"
    line=$(printf '%s\n' "${stderr_lines[@]}" | grep '^  tc-run')
    eval "$line" >out.npy
    [ "$(head -c 6 out.npy | tail -c 5)" = NUMPY ]
}

@test "the command that a missing input prints has sizes that meet the program's conditions" {
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class View(nn.Module):
    def forward(self, x):
        return x.view(4, -1) + 1


class Shuffle(nn.Module):
    def forward(self, x):
        return F.pixel_shuffle(x, 3)


class Joined(nn.Module):
    def forward(self, x, y):
        return torch.cat([x, y, y]).view(-1, 5)
PY
    for model in 'View --input x=AxBxf32' 'Shuffle --input x=BxCxHxWxf32' 'Joined --input x=Axf32 --input y=Bxf32'; do
        tc-export m.py:$model -o m.pt2
        eval "$(tc-run m.pt2 --signature | tail -1)" >out.npy
        [ "$(head -c 6 out.npy | tail -c 5)" = NUMPY ]
    done
    tc-run "$TC_ROOT/tests/oracle/pt2/derived_dim.pt2" --signature >derived # no size is the symbol itself
    grep -qx '  s69: 0 to 50' derived
    grep -q -- '--input x=2x3xf32=0 --input y=4x3xf32=0' derived
}

# tests/cli/fixtures/number.pt2 is of PyTorch: x.shape[0] > y.shape[0] + 3, n >= 7, n % 5 == 0.
@test "what nobody gave takes values with which the conditions hold, numbers too: an example, a bench, a verified export" {
    run tc-run "$TC_ROOT/tests/cli/fixtures/number.pt2" --signature
    [[ "$output" == *"--input x=6xf32=0 --input y=1xf32=0 --input n=i64=10" ]]
    eval "$(tc-run "$TC_ROOT/tests/cli/fixtures/number.pt2" --signature | tail -1)" >y.npy
    tc-bench -q "$TC_ROOT/tests/cli/fixtures/number.pt2" --repeat 2 >/dev/null
    tc-export "$TC_ROOT/tests/cli/fixtures/number.pt2" --verify -o y.onnx
}

@test "--signature names inputs, types and ranges" {
    run --separate-stderr tc-run "$mlp" --signature
    [ "$status" -eq 0 ]
    [[ "$output" == *"x      f32[s77, 16]"*"s77: 1 to 1024"*"out.0"* ]]
    run --separate-stderr tc-run "$mlp" --signature --json
    [ "${lines[0]}" = '{"input": "x", "dtype": "f32", "shape": ["s77", 16]}' ]
    [ "${lines[1]}" = '{"size": "s77", "min": 1, "max": 1024}' ]
    printf 'import torch\n\n\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x, float("inf"), -float("nan"), -0.0, "a\\n\\x1b[2J"\n' >leaves.py
    tc-export leaves.py:M --input x=2xf32 | tc-run --signature >leaves
    [ "$(sed -n 's/^  out.[1-9]  //p' leaves | tr '\n' ' ')" = "inf nan -0.0 'a\x0a\x1b[2J' " ]
}

@test "a literal, a file, a key and a pipe give the same bits" {
    tc-run "$mlp" --input x=@"$oracle/mlp.inputs.safetensors#in0" --output @a.npy
    tc-run "$mlp" --input @"$oracle/mlp.inputs.safetensors" --output @b.npy
    tc-run "$mlp" --input @- <"$oracle/mlp.inputs.safetensors" >c.npy
    cat "$oracle/mlp.inputs.safetensors" | tc-run "$mlp" --input 0=@- -o d.npy
    tc-run <"$mlp" --input @"$oracle/mlp.inputs.safetensors" >e.npy
    cat "$mlp" | tc-run - --input @"$oracle/mlp.inputs.safetensors" >f.npy
    for f in b c d e f; do cmp a.npy $f.npy; done
    tc-run "$mlp" --input 2x16xf32=0.5 --output @g.npy
    [ "$(stat -c %s g.npy)" -eq $((128 + 2 * 10 * 4)) ]
}

@test "records in a stream run one after another, and a one-record file repeats" {
    tc-run "$mlp" --input 3x16xf32=1 --output @one.npy
    tc-run "$mlp" --input 1x16xf32=2 --output @two.npy
    tc-run "$mlp" --input 3x16xf32=1 --to safetensors -o one.safetensors
    cat one.npy two.npy one.npy >all.npy
    run --separate-stderr tc-run "$mlp" --input 3x16xf32=1 --expect @one.npy
    [ "$status" -eq 0 ]
    # two records in, two records out
    cat "$oracle/mlp.inputs.safetensors" "$oracle/mlp.inputs2.safetensors" | tc-run "$mlp" --input x=@- >stream.npy
    tc-run "$mlp" --input x=@"$oracle/mlp.inputs.safetensors" >a.npy
    tc-run "$mlp" --input x=@"$oracle/mlp.inputs2.safetensors" >b.npy
    cat a.npy b.npy | cmp - stream.npy
    # each record is written before the next one is read
    mkfifo in
    { cat "$oracle/mlp.inputs.safetensors"; sleep 3; } >in &
    tc-run "$mlp" --input x=@in >live.npy &
    sleep 1
    cmp a.npy live.npy
    wait
}

@test "what a loop keeps from record to record is neither numbers nor sizes" {
    cat >kept.py <<'EOF'
import torch
from torch import nn


class Kept(nn.Module):
    def forward(self, x, y):
        n = x[0].item()
        z = (y * n + x.sum()).softmax(-1) * n
        return z, y[0] - n, (x.sum() * 3 - n).cumsum(0), z.flip(0) + x[1]


class Same(nn.Module):
    def forward(self, x):
        return x + 0
EOF
    tc-export kept.py:Kept --input x=3xf32 --input y=Bxf32 -o kept.pt2
    tc-export kept.py:Same --input x=Nxf32 -o same.pt2
    tc-compile kept.pt2 -o compiled.pt2
    local record=0 size threads
    for size in 4 4 1 5000 4 70000 4; do
        record=$((record + 1))
        tc-run same.pt2 --input x=3xf32=$record,1,0.$record -o x$record.npy
        tc-run same.pt2 --input x=${size}xf32=0.$record -o y$record.npy
        tc-run kept.pt2 --trace --input x=@x$record.npy --input y=@y$record.npy --to safetensors 2>/dev/null >>want
    done
    cat x?.npy >x.npy
    cat y?.npy >y.npy
    for threads in 1 2; do
        tc-run kept.pt2 --threads $threads --input x=@x.npy --input y=@y.npy --to safetensors | cmp - want
        tc-run compiled.pt2 --threads $threads --input x=@x.npy --input y=@y.npy --to safetensors | cmp - want
    done
}

@test "streams of unequal length are exit 3 with the record" {
    cat "$oracle/input_mutation.inputs.safetensors" "$oracle/input_mutation.inputs.safetensors" >two.safetensors
    cat two.safetensors "$oracle/input_mutation.inputs.safetensors" >three.safetensors
    fails 3 "record" tc-run "$oracle/input_mutation.pt2" --input 0=@two.safetensors#in0 --input 1=@three.safetensors#in1 --input 2=@two.safetensors#in2
}

@test "--expect: equal is 0, different is 4 with place, values and error" {
    tc-run "$mlp" --input 2x16xf32=0.5 --output @y.npy
    tc-run "$mlp" --input 2x16xf32=0.5 --expect @y.npy
    fails 4 "20 of 20 elements differ, the first at [0, 0]" tc-run "$mlp" --input 2x16xf32=0.75 --expect @y.npy
    tc-run "$mlp" --input 2x16xf32=0.75 --expect @y.npy --atol 10
    fails 4 "3x10xf32, expected 2x10xf32" tc-run "$mlp" --input 3x16xf32=0.75 --expect @y.npy
}

@test ".npz and what torch.save wrote are inputs of one record, from a pipe too; .npz is written" {
    cat >two.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        return {"x": x * 2, "n": x.sum()}
EOF
    tc-export two.py:M --input x=Nxf32 -o two.pt2
    tc-run two.pt2 --input x=3xf32=1,2,3 -o a.npz
    tc-run two.pt2 --input x=3xf32=1,2,3 --expect @a.npz
    tc-ckpt convert a.npz -o a.pt
    for form in npz pt; do
        tc-run two.pt2 --input x=@a.$form -o $form.safetensors
        tc-run two.pt2 --input x=@a.$form#x --to safetensors | cmp - $form.safetensors
        cat a.$form | tc-run two.pt2 --input x=@- --to safetensors | cmp - $form.safetensors
    done
    cmp npz.safetensors pt.safetensors
    tc-run two.pt2 --input x=3xf32=2,4,6 --expect @npz.safetensors
    tc-run two.pt2 --input x=3xf32=1,2,3 --output x=@x.npy
    fails 3 "record 1: stdin: at byte 140: what follows the last record is none" sh -c 'cat x.npy a.npz | tc-run two.pt2 --input x=@- --to safetensors'
    fails 2 "record 1: an .npz holds one record" sh -c 'cat x.npy x.npy | tc-run two.pt2 --input x=@- -o no.npz'
    [ ! -e no.npz ]
}

@test "several outputs need a place each, or --to safetensors" {
    args=(--input 0=3xf32=1 --input 1=2x3xf32=1 --input 2=3xf32=1 --input 3=2x3xf32=1 --input 4=4xf32=1)
    fails 2 "outputs for stdout" tc-run "$oracle/pytree.pt2" "${args[@]}"
    tc-run "$oracle/pytree.pt2" "${args[@]}" --to safetensors >all.safetensors
    [ "$(tc-ckpt ls all.safetensors | tail -1)" = "7 tensors, $(tc-ckpt ls all.safetensors | awk '/xf32|f32|i64/ && !/tensors/ {s += $2} END {print s}') bytes" ]
    tc-run "$oracle/pytree.pt2" "${args[@]}" --output 0=@a.npy --output out.1=@b.npy
    [ -s a.npy ] && [ -s b.npy ]
}

@test "an index outside is an error of the node that reads it, by line and module, also where it is fused with others" {
    cat >words.py <<'PY'
import torch.nn as nn


class Words(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 8)

    def forward(self, i):
        return self.table(i)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = nn.ModuleList([Words() for _ in range(3)])

    def forward(self, i, j):
        y = 0
        for k, part in enumerate(self.parts):
            y = y + part(j if k == 1 else i)
        return y
PY
    tc-export words.py:Net --input i=Nxi64 --input j=Nxi64 -o words.pt2
    tc-compile words.pt2 -o code.pt2
    for p in words code; do
        fails 3 "tc-run: words.py:10: parts.1.table: embedding_1: IndexError: index 7 is out of bounds" tc-run $p.pt2 --input i=2xi64=1 --input j=2xi64=7
    done
}

@test "wrong sizes, names and types are named" {
    fails 3 "" tc-run "$mlp" --input 2000x16xf32=1
    fails 3 "" tc-run "$mlp" --input 2x15xf32=1
    fails 3 "" tc-run "$mlp" --input 2x16xf64=1
    fails 2 "there is no input y; the program takes x" tc-run "$mlp" --input y=2x16xf32=1
    fails 2 "3 values for 32 elements" tc-run "$mlp" --input 2x16xf32=1,2,3
    fails 2 "is given twice" tc-run "$mlp" --input 2x16xf32=1 --input x=2x16xf32=1
    fails 2 "there is no output z" tc-run "$mlp" --input 2x16xf32=1 --output z=@z.npy
    fails 3 "has no tensor k; it has in0" tc-run "$mlp" --input x=@"$oracle/mlp.inputs.safetensors#k"
    fails 2 "no program named other" tc-run "$mlp" --model other --input 2x16xf32=1
    [ ! -e z.npy ]
}

@test "two claims on stdin are refused, an empty one is told" {
    fails 2 "stdin" tc-run - --input x=@- <"$mlp"
    fails 3 "nothing arrived" tc-run "$mlp" --input x=@- </dev/null
    fails 3 "nothing arrived" bash -c 'printf "" | tc-run "$1" --input x=@-' _ "$mlp"
}

@test "a type that .npy lacks is refused before anything runs" {
    fails 2 "give --to safetensors" tc-run "$mlp" --input 2x16xf32=1 --cast bf16
    tc-run "$mlp" --input 2x16xf32=1 --cast bf16 --to safetensors | tc-ckpt ls /dev/stdin | grep -q '2x10xbf16'
}

@test "weights from a file take the place of the archive's" {
    tc-ckpt consolidate "$mlp" -o w.safetensors
    tc-run "$mlp" --input 2x16xf32=1 -o a.npy
    tc-run "$mlp" --weights w.safetensors --input 2x16xf32=1 --expect @a.npy
    fails 3 "6 missing, 6 unexpected" tc-run "$mlp" --weights w.safetensors --rename 's/^layers/l/' --input 2x16xf32=1
}

@test "what the program writes to can be asked for by name" {
    fails 0 "" tc-run "$oracle/input_mutation.pt2" --input @"$oracle/input_mutation.inputs.safetensors" --signature
    names=($(tc-run "$oracle/input_mutation.pt2" --signature --json | sed -n 's/{"input": "\([^"]*\)".*/\1/p'))
    [ "$(tc-run "$oracle/input_mutation.pt2" --signature --json | sed -n 's/{"writes": "\([^"]*\)".*/\1/p' | paste -sd ' ')" = "cache x" ]
    tc-run "$oracle/input_mutation.pt2" --input "${names[0]}=@$oracle/input_mutation.inputs.safetensors#in0" --input "${names[1]}=@$oracle/input_mutation.inputs.safetensors#in1" \
        --input "${names[2]}=@$oracle/input_mutation.inputs.safetensors#in2" --expect "${names[0]}=@$oracle/input_mutation.outputs.safetensors#mut.in0" --atol 1e-5
}

@test "--cast is one type for all outputs: a second one is refused" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x\n' >c.py
    tc-export c.py:M --input x=4xf32 -o c.pt2
    run --separate-stderr tc-run c.pt2 --input x=4xf32=1 --cast f64 --cast f16
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--cast is given 2 times, expected once"* ]]
}

@test "--check nan names the line that makes the first NaN, --debug-values what every group writes; neither changes bits" {
    cat >blocks.py <<'PY'
import torch
import torch.nn as nn


class Block(nn.Module):
    def __init__(self, bad):
        super().__init__()
        self.lin, self.bad = nn.Linear(8, 8), bad

    def forward(self, x):
        y = self.lin(x)
        if self.bad:
            y = torch.log(-1 - y * y)
        return torch.relu(y) + x


class Net(nn.Module):
    def __init__(self, bad=-1):
        super().__init__()
        self.blocks = nn.ModuleList([Block(i == bad) for i in range(10)])

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x
PY
    export XDG_CACHE_HOME=$PWD/cache XDG_DATA_HOME=$PWD/data
    tc-export blocks.py:Net --input x=2x8xf32 -o good.pt2
    tc-export blocks.py:Net --arg bad=7 --input x=2x8xf32 -o bad.pt2
    for p in good bad; do tc-compile $p.pt2 -o $p-c.pt2; done
    for p in bad bad-c; do
        run --separate-stderr tc-run $p.pt2 --check=nan --input x=2x8xf32=0.5 -o y.npy
        [ "$status" -eq 6 ]
        [[ "$stderr" == *"blocks.py:14: blocks.7: "*"makes the first NaN: "*" of 16 elements of "*"in one group with "*"log.default (blocks.py:13: blocks.7)"*"--trace"* ]]
        run --separate-stderr tc-run $p.pt2 --check=nan --trace --input x=2x8xf32=0.5 -o y.npy
        [ "$status" -eq 6 ]
        [[ "$stderr" == *"tc-run: blocks.py:13: blocks.7: aten.log.default makes the first NaN: "* ]]
        run -0 --separate-stderr tc-run $p.pt2 --debug-values --input x=2x8xf32=0.5 -o y.npy
        [[ "$stderr" == *" NaN "* ]]
    done
    tc-run good.pt2 --input x=2x8xf32=0.5 -o want.npy
    for p in good good-c; do
        tc-run $p.pt2 --check nan --input x=2x8xf32=0.5 --expect @want.npy
        run -0 --separate-stderr tc-run $p.pt2 --debug-values --input x=2x8xf32=0.5 --expect @want.npy
        [[ "$stderr" == *"2x8xf32"*"mean"*"blocks.py:14: blocks.9" ]]
        run -0 --separate-stderr tc-run $p.pt2 --debug-values --json --input x=2x8xf32=0.5 --expect @want.npy
        [[ "$stderr" == *'"source": "blocks.py:14", "module": "blocks.9"}' ]]
    done
    run tc-run good.pt2 --check inf --input x=2x8xf32=0.5
    [ "$status" -eq 2 ]
}

@test "--numerics=fast: other roundings, the same for any instruction set and number of threads" {
    cat >images.py <<'EOF'
import torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.c, self.b = nn.Conv2d(64, 64, 3, padding=1), nn.BatchNorm2d(64)
    def forward(self, x):
        return x + self.b(self.c(x)).relu()
EOF
    tc-export images.py:M --mode eval --input x=Nx64xHxWxf32 -o m.pt2
    tc-run m.pt2 --input x=2x64x31x30xf32=0.7 --output @strict.npy
    tc-run m.pt2 --numerics=fast --input x=2x64x31x30xf32=0.7 --output @fast.npy
    run tc-ckpt diff strict.npy fast.npy
    [ "$status" -eq 4 ]
    tc-run m.pt2 --input x=2x64x31x30xf32=0.7 --expect @fast.npy --rtol 1e-4 --atol 1e-4
    for isa in portable avx2 avx512; do
        TC_ISA=$isa tc-run m.pt2 --numerics=fast --threads 3 --input x=2x64x31x30xf32=0.7 --expect @fast.npy
    done
}

@test "--trace shows every node with what stands in it, and changes no bits" {
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def forward(self, x):
        y = x.log()
        return (y * 2).sum()
PY
    tc-export m.py:M --input x=4xf32 -o m.pt2
    tc-run m.pt2 --input x=4xf32=1,0,-1,1 --output @want.npy
    run --separate-stderr tc-run m.pt2 --trace --input x=4xf32=1,0,-1,1 --expect @want.npy
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"log = aten.log.default  4xf32  least -inf greatest 0 mean -inf  1 NaN  1 infinite  m.py:4"* ]]
    [[ "$stderr" == *"mul = aten.mul."*"sum = aten.sum."*"m.py:5"* ]]
    run --separate-stderr tc-run m.pt2 --trace --json --input x=4xf32=1,2,3,4 --output @y.npy
    [[ "$stderr" == *'"op": "aten.log.default", "dtype": "f32", "size": [4], "least": 0.0, '* ]]
}

# bats test_tags=slow
@test "--log memory says before a run what it will take, to 10 %, interpreted and compiled; -v does, too" {
    if grep -q __asan_init "$TC_BUILD/bin/tc-run"; then skip "a sanitizer's own memory is not ours"; fi
    cat >sizes.py <<'EOF'
import torch, torch.nn as nn, torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, h=64):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(784, h), nn.Linear(h, h), nn.Linear(h, 10)

    def forward(self, x):
        return self.c(F.gelu(self.b(F.gelu(self.a(x)))))


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.n, self.b = nn.Conv2d(1, 32, 3, padding=1), nn.BatchNorm2d(32), nn.Conv2d(32, 32, 3, padding=1)

    def forward(self, x):
        return self.b(F.relu(self.n(self.a(x.view(-1, 1, 28, 28))))).mean((2, 3))


class Rows(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(100000, 64)

    def forward(self, x):
        i = torch.arange(x.size(0)).unsqueeze(1) * 8 + torch.arange(8)
        return torch.softmax(self.e(i).sum(1), -1), x.sort(-1)[0].cumsum(-1)
EOF
    for model in "MLP --arg h=2000" "MLP --arg h=3000" Conv Rows; do
        tc-export sizes.py:$model --input x=Bx784xf32 -o sizes.pt2
        tc-compile -q sizes.pt2 -o compiled.pt2
        for p in sizes compiled; do
            for b in 700 1500; do
                tc-run $p.pt2 --log memory --time --threads 1 --input x=${b}x784xf32=0.5 --to safetensors -o y.safetensors 2>log
                said=$(($(sed -n 's/.* needs \([0-9]*\) bytes.*/\1/p' log) / 1024))
                took=$(sed -n 's/.* \([0-9]*\)\.\([0-9]\) MiB peak/\1\2/p' log)
                took=$((took * 1024 / 10))
                echo "$model $p $b: $said of $took KiB"
                [ "$said" -gt $((took * 9 / 10)) ]
                [ "$said" -lt $((took * 11 / 10)) ]
            done
        done
    done
    tc-run sizes.pt2 -v --input x=9x784xf32=0.5 --to safetensors -o y.safetensors 2>log
    grep -q '^tc-run: a run needs [0-9]* bytes of memory' log
}

@test "as_strided of an input whose memory has another order takes its elements of that memory, fewer than there are" {
    strided=$TC_ROOT/tests/cli/fixtures/strided.pt2 # x.as_strided((2, 3), (1, 4), 1) of x = torch.arange(24).view(4, 6).t(), by torch.export
    given=$(for i in 0 1 2 3 4 5; do printf '%s,' $i $((i + 6)) $((i + 12)) $((i + 18)); done)
    tc-run "$strided" --input "6x4xf32=${given%,}" -o got.npy
    [ "$(od -An -v -tf4 -w64 -j128 got.npy | tr -s ' ')" = " 1 5 9 2 6 10" ]
    tc-compile "$strided" -o compiled.pt2
    tc-run compiled.pt2 --input "6x4xf32=${given%,}" --expect @got.npy
    tc-export "$strided" -o again.pt2
    tc-run again.pt2 --input "6x4xf32=${given%,}" --expect @got.npy
    tc-export again.pt2 | cmp - again.pt2
}

@test "--trace lists every node once, views among them, each after what it looks at" {
    cd "$BATS_TEST_TMPDIR"
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        y = x.t()\n        z = (y * 2).flatten()\n        return z[1:], z.sum(), x.view(-1)\n' >m.py
    tc-export m.py:M --input x=2x3xf32 -o m.pt2
    tc-run m.pt2 --input x=2x3xf32=1,2,3,4,5,6 --trace --to safetensors -o traced 2>lines
    tc-run m.pt2 --input x=2x3xf32=1,2,3,4,5,6 --to safetensors -o plain
    cmp traced plain
    [ "$(cut -d' ' -f1,3 lines | tr '\n' ',')" = "transpose aten.transpose.int,view aten.view.default,mul aten.mul.Tensor,clone aten.clone.default,_unsafe_view aten._unsafe_view.default,slice aten.slice.Tensor,sum aten.sum.default," ] ||
        { cat lines; return 1; }
    grep -q '^slice = aten.slice.Tensor  5xf32  least 4 greatest 12 mean 8' lines
}

@test "a file of many records takes no more memory than one of few" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x.sum()\n' >m.py
    tc-export m.py:M --input x=1024x1024xf32 -o m.pt2
    printf 'import torch\nclass Z(torch.nn.Module):\n    def forward(self):\n        return torch.ones(1024, 1024)\n' >z.py
    tc-export z.py:Z -o z.pt2
    tc-run z.pt2 -o one.npy
    for n in 2 20; do
        for _ in $(seq $n); do cat one.npy; done >many.npy
        tc-run m.pt2 --input x=@many.npy --time -o $n.npy 2>time
        sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' time >mb.$n
        [ "$(stat -c %s $n.npy)" -eq $((132 * n)) ]
    done
    [ "$(cat mb.20)" -lt $(($(cat mb.2) + 16)) ]
}

@test "--dim binds a symbol: literals may name it, raw bytes leave one size more open, another size is exit 3" {
    cat >two.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        return x.sum() * x.shape[0], x + 1
EOF
    tc-export two.py:M --input x=BxTxf32 --dim B=2..8 --dim T=2..8 -o two.pt2
    tc-run two.pt2 --dim B=3 --dim T=4 --input x=BxTxf32=2 --expect 0=@<(tc-run two.pt2 --input 3x4xf32=2 --output 0=- --output 1=@one.npy) --output 1=@named.npy
    cmp one.npy named.npy
    printf '%024d' 0 >six # six floats
    tc-run two.pt2 --dim T=3 --input x:raw=@six --output 1=@raw.npy --output 0=@sum.npy
    head -c 128 raw.npy | grep -q "'shape': (2, 3)"
    run --separate-stderr tc-run two.pt2 --input x:raw=@six --output 1=@raw.npy
    [ "$status" -eq 2 ] && [[ "$stderr" == *"input x has two open sizes: raw bytes cannot tell them, --dim SYM=N can"* ]]
    run --separate-stderr tc-run two.pt2 --dim B=4 --input 3x4xf32=2 --output 0=-
    [ "$status" -eq 3 ] && [[ "$stderr" == *"input x: size 0 is 3, expected 4 by --dim"* ]]
    run --separate-stderr tc-run two.pt2 --dim B=4 --input BxTxf32=2 --output 0=-
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--input BxTxf32=2: --dim T=N says how much T is"* ]]
    run --separate-stderr tc-run two.pt2 --dim C=4 --input 3x4xf32=2 --output 0=-
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--dim C=4: the program has no such symbol; it has B, T"* ]]
    run --separate-stderr tc-run two.pt2 --dim B=9 --input 3x4xf32=2 --output 0=-
    [ "$status" -eq 2 ] && [[ "$stderr" == *"--dim B=9: expected 2..8"* ]]
}
