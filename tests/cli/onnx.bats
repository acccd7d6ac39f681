# ONNX models wherever a program is read, and written back.
load common

setup() {
    cases=$TC_ROOT/tests/oracle/onnx/node
    cd "$BATS_TEST_TMPDIR"
}

@test "the committed cases of ONNX pass" {
    run "$TC_ROOT/tests/conformance" "$TC_BUILD" "$TC_ROOT/tests/oracle/onnx" -v
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "${lines[-1]}" == *" 0 failed, 0 not yet" ]]
}

@test "a model is exported, printed, run and compiled like a program" {
    model=$cases/test_softmax_axis_0/model.onnx
    tc-export "$model" -o m.pt2
    tc-run m.pt2 --input x=3x4x5xf32=1 -o a.npy
    tc-run "$model" --input x=3x4x5xf32=1 -o b.npy
    tc-run - <"$model" --input x=3x4x5xf32=1 -o c.npy
    cmp a.npy b.npy
    cmp a.npy c.npy
    tc-export --print "$model" | grep -q 'aten.softmax'
    tc-compile "$model" -o n.pt2
    tc-run n.pt2 --input x=3x4x5xf32=1 -o d.npy
    cmp a.npy d.npy
    # numbers of a loop, which both branches after it have as operands in the archive
    model=$TC_ROOT/tests/oracle/onnx/runtime/branch_on_what_a_loop_stacked/model.onnx
    tc-export "$model" -o m.pt2
    tc-run m.pt2 --input x=2x3xf32=1 --input b=bool=1 -o a.npy
    tc-run "$model" --input x=2x3xf32=1 --input b=bool=1 -o b.npy
    cmp a.npy b.npy
}

@test "what is made of a node of ONNX names its file and number, in the archive and in emitted C too" {
    mkdir models
    for c in branches_with_sizes_of_their_own dynamic_quantize_lstm; do cp "$TC_ROOT/tests/oracle/onnx/runtime/$c/model.onnx" models/$c.onnx; done
    cp "$cases/test_layer_normalization_2d_axis0/model.onnx" models/norm.onnx
    for m in models/*.onnx; do
        tc-export $m -o m.pt2
        tc-export m.pt2 --print >printed
        [ "$(grep -c ' = .*  # models/[a-z_]*[.]onnx:[1-9][0-9]*$' printed)" -gt 0 ]
        grep '^  *%.* = ' printed | grep -v '  # models/[a-z_]*[.]onnx:[1-9][0-9]*$' && return 1
        tc-export m.pt2 -o again.pt2
        tc-export again.pt2 --print | cmp - printed
    done
    tc-compile models/norm.onnx --to c -o norm
    grep -q 'models/norm.onnx:1' norm.c
}

@test "numbers that the shape depends on are taken from --input and checked when it runs" {
    model=$cases/test_reduce_sum_keepdims_random/model.onnx
    run --separate-stderr tc-export "$model" -o m.pt2
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"must be known"* ]]
    tc-export "$model" --input axes=1xi64=1 -o m.pt2
    tc-run m.pt2 --input data=3x2x2xf32=1 --input axes=1xi64=1 | head -c 6 >/dev/null
    run --separate-stderr tc-run m.pt2 --input data=3x2x2xf32=1 --input axes=1xi64=0
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"other values"* ]]
    tc-run "$model" --input data=3x2x2xf32=1 --input axes=1xi64=1 -o one.npy
    printf '\140\0\0\0\0\0\0\0%-96s' '{"axes":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}' >axes.safetensors
    printf '\1\0\0\0\0\0\0\0' >>axes.safetensors
    tc-run "$model" --input data=3x2x2xf32=1 --input @axes.safetensors -o all.npy # the file's key is the input's name
    cmp one.npy all.npy
}

@test "the ratio of Dropout need not be known where nothing is dropped" {
    model=$TC_ROOT/tests/oracle/onnx/runtime/dropout_of_any_ratio/model.onnx
    tc-export "$model" -o m.pt2
    for ratio in 0.25 0.75; do
        tc-run m.pt2 --input x=2x3xf32=1,2,3,4,5,6 --input ratio=f32=$ratio --output y=@y.npy --output mask=@mask.npy
        [ "$(tail -c 24 y.npy | od -An -v -w24 -tf4 | xargs)" = "1 2 3 4 5 6" ]
    done
}

@test "Celu, which ONNX has for float32 only, is cast for float16 and a formula for float64" {
    printf '%s\n' 'import torch' 'class M(torch.nn.Module):' '    def forward(self, x):' '        return torch.nn.functional.celu(x, 0.7)' >m.py
    for type in f16 f32 f64; do
        tc-export m.py:M --input x=3x4x$type -o m.pt2
        tc-export m.pt2 --to onnx --verify -o $type.onnx 2>log || { cat log; return 1; }
    done
    for op in Celu Cast Exp; do echo $op $(grep -c $op f16.onnx) $(grep -c $op f32.onnx) $(grep -c $op f64.onnx); done >found
    printf '%s\n' 'Celu 1 1 0' 'Cast 2 0 0' 'Exp 0 0 1' | diff - found
}

@test "what is written as ONNX is read again and gives the same" {
    pt2=$TC_ROOT/tests/oracle/pt2
    x=$pt2/mlp.inputs.safetensors
    for opset in 18 20 23; do
        tc-export "$pt2/mlp.pt2" --to onnx --opset $opset -o m.onnx
        tc-export --print m.onnx | grep -q aten
        tc-run m.onnx --input "$(tc-run m.onnx --signature --json | head -1 | sed 's/.*"input": "\([^"]*\)".*/\1/')=@$x#in0" --expect "0=@$pt2/mlp.outputs.safetensors#out0" --rtol 1e-4 --atol 1e-4
    done
    run tc-export "$pt2/mlp.pt2" --to onnx --opset 17 -o m.onnx
    [ "$status" -eq 2 ]
}

@test "a model with lstm, branches and loops goes to ONNX and back" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def forward(self, x):
        y, (h, c) = self.rnn(x)
        z = torch.cond(y.sum() > 0, lambda a: a * 2, lambda a: a - 1, (y,))
        n, s = torch.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * t), (torch.tensor(0), z))
        return s, h
PY
    tc-export m.py:Net --input x=BxTx3xf32 --dim B=1..8 --dim T=1..9 -o m.pt2
    tc-export m.pt2 --to onnx -o m.onnx
    tc-export m.onnx -o n.pt2
    tc-run m.pt2 --input x=2x5x3xf32=0.25 --output 0=@a.npy --output 1=@b.npy
    tc-run n.pt2 --input x=2x5x3xf32=0.25 --expect 0=@a.npy --expect 1=@b.npy --rtol 1e-5 --atol 1e-6
}

@test "what a program writes to are further outputs of an ONNX model" {
    i=$TC_ROOT/tests/oracle/pt2/fill_diagonal.inputs.safetensors o=$TC_ROOT/tests/oracle/pt2/fill_diagonal.outputs.safetensors
    tc-export "$TC_ROOT/tests/oracle/pt2/fill_diagonal.pt2" --to onnx -o m.onnx
    tc-run m.onnx --signature --json >signature
    [ "$(grep '"output"' signature | cut -d'"' -f4 | tail -n 1)" = y.new ] || { cat signature; return 1; }
    tc-run m.onnx --input 0=@$i#in0 --input 1=@$i#in1 --expect 0=@$o#out0 --expect 1=@$o#out1 --expect y.new=@$o#mut.in1
}


@test "bodies in bodies, scattered writes, uneven windows and order statistics go to ONNX and back" {
    cat >m.py <<'PY'
import torch
from torch import nn
import torch.nn.functional as F


class Nested(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(4, 4)
        self.b = nn.Linear(4, 4)

    def forward(self, x, p):
        def yes(x):
            return torch.cond(x.sum() > 0, lambda y: self.a(y), lambda y: self.b(y) * 2, (x,))

        def no(x):
            return torch.cond(x.max() > 0.3, lambda y: self.b(y).sin(), lambda y: y - 1, (x,))

        return torch.cond(p, yes, no, (x,))


class Writes(nn.Module):
    def forward(self, x, i, m):
        y = x.clone()
        y[:, i] = m
        y[..., 1::2] *= 3
        k = x.kthvalue(2, 1)
        u, back, n = torch.unique((x * 2).round(), return_inverse=True, return_counts=True)
        return y, F.adaptive_avg_pool2d(x, (2, 3)), k.values, k.indices, x.median(0).values, u, back, n


class Batch(nn.Module):
    def forward(self, x):
        return F.batch_norm(x, None, None, training=True), F.instance_norm(x)
PY
    same() { # CLASS INPUT...
        local class=$1 values=() i
        shift
        for i in "$@"; do values+=(--input "$i"); done
        tc-run m.pt2 "${values[@]}" --to safetensors -o a.safetensors
        tc-run m.onnx "${values[@]}" --to safetensors -o b.safetensors
        tc-ckpt diff a.safetensors b.safetensors --rtol 1e-5 --atol 1e-6 || { echo "$class $*"; return 1; }
    }
    tc-export m.py:Nested --input x=Bx4xf32 --input p=bool -o m.pt2
    tc-export m.pt2 --to onnx -o m.onnx
    for p in true false; do same Nested x=3x4xf32=0.5 p=bool=$p; same Nested x=3x4xf32=-0.5 p=bool=$p; same Nested x=7x4xf32=0.25 p=bool=$p; done
    tc-export m.py:Writes --input x=2x5x7xf32 --input i=3xi64 --input m=3x7xf32 -o m.pt2
    tc-export m.pt2 --to onnx -o m.onnx
    same Writes "x=2x5x7xf32=$(seq -s, 70 | sed 's/\([0-9]*[37]\)/-\1/g')" i=3xi64=4,0,2 "m=3x7xf32=$(seq -s, 21)"
    tc-export m.py:Batch --input x=3x2x5xf32 -o m.pt2
    tc-export m.pt2 --to onnx -o m.onnx
    same Batch "x=3x2x5xf32=$(seq -s, 30)"
}

@test "the weights of a model can stand in a file beside it" {
    x=$TC_ROOT/tests/oracle/pt2/mlp.inputs.safetensors
    mkdir sub
    tc-export "$TC_ROOT/tests/oracle/pt2/mlp.pt2" --to onnx --store-weights=extern -o sub/m.onnx
    tc-export "$TC_ROOT/tests/oracle/pt2/mlp.pt2" --to onnx -o e.onnx
    [ "$(stat -c %s sub/m.onnx)" -lt "$(stat -c %s e.onnx)" ]
    name=$(tc-run e.onnx --signature --json | head -1 | sed 's/.*"input": "\([^"]*\)".*/\1/')
    tc-run sub/m.onnx --input "$name=@$x#in0" -o a.npy
    tc-run e.onnx --input "$name=@$x#in0" -o b.npy
    cmp a.npy b.npy
    mv sub/m.onnx.data sub/n
    run --separate-stderr tc-run sub/m.onnx --input "$name=@$x#in0"
    [ "$status" -ne 0 ] && [[ "$stderr" == *m.onnx.data* ]] || { echo "$stderr"; return 1; }
    run --separate-stderr tc-export "$TC_ROOT/tests/oracle/pt2/mlp.pt2" --to onnx --store-weights=extern
    [ "$status" -eq 2 ] && [[ "$stderr" == *"needs -o FILE.onnx"* ]] || { echo "$stderr"; return 1; }
}

@test "a product of int8 has the same integers as ONNX's, as C and on every instruction set" {
    cat >bytes.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x, w):
        return torch._int_mm(x, w)
class Same(torch.nn.Module):
    def forward(self, x):
        return x.clone()
PY
    awk 'BEGIN {for (i = 0; i < 3 * 70; i++) printf "%s%d", i ? "," : "", i * 37 % 256 - 128}' >x
    awk 'BEGIN {for (i = 0; i < 70 * 33; i++) printf "%s%d", i ? "," : "", i * 101 % 256 - 128}' >w
    tc-export bytes.py:M --input x=3x70xi8 --input w=70x33xi8 -o p.pt2
    tc-export p.pt2 --to onnx -o p.onnx
    tc-compile p.pt2 --to exe -o bytes
    inputs=(--input "x=3x70xi8=$(<x)" --input "w=70x33xi8=$(<w)")
    TC_ISA=portable tc-run p.pt2 "${inputs[@]}" -o portable.npy
    for isa in avx2 avx512; do
        TC_ISA=$isa tc-run p.pt2 "${inputs[@]}" -o isa.npy
        cmp portable.npy isa.npy
    done
    tc-run p.onnx "${inputs[@]}" -o onnx.npy
    cmp portable.npy onnx.npy
    tc-export bytes.py:Same --input x=NxMxi8 -o same.pt2
    tc-run same.pt2 --input "x=3x70xi8=$(<x)" -o x.npy
    tc-run same.pt2 --input "x=70x33xi8=$(<w)" -o w.npy
    ./bytes x=x.npy w=w.npy -o out_0=c.npy
    cmp portable.npy c.npy
}

@test "--verify: a number that decides a size is the least that the program takes" {
    cat >m.py <<'PY'
import torch
from torch import nn


class Rows(nn.Module):
    def forward(self, x, n):
        k = n.item()
        torch._check(k >= 2)
        torch._check(k <= 4)
        return x[:k] * 2


class Parts(nn.Module):
    def forward(self, x, n):
        return torch.split(x, n.tolist())
PY
    run --separate-stderr tc-export m.py:Rows --input x=5x3xf32 --input n=i64 --verify -o m.onnx
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"largest difference 0, relative 0"* ]]
    fails 3 "u0 + u1 == 5" tc-export m.py:Parts --input x=5x3xf32 --input n=2xi64 --verify -o m.onnx # 0, 0 to 8, 8 do not add up to 5
}

@test "--verify compares the program with the ONNX model that was written" {
    cat >m.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 3)
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x, cache):
        y = self.l(x).softmax(-1)
        self.seen += y.sum(0)
        cache.mul_(2)
        return {"y": y, "n": x.shape[0] * 2}
PY
    tc-export m.py:M --input x=Bx4xf32 --input cache=2xf32 --seed 1 -o m.pt2
    run --separate-stderr tc-export m.pt2 --to onnx --verify -o m.onnx
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"y: largest difference"* ]]
    [[ "$stderr" == *"n: largest difference 0"* ]]
    [[ "$stderr" == *"seen: largest difference 0"* ]]
    [[ "$stderr" == *"cache: largest difference 0"* ]]
    run --separate-stderr tc-export m.py:M --input x=Bx4xf32 --input cache=2xf32 --verify -o m.onnx
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"n: largest difference 0"* ]]
    tc-export m.py:M --input x=Bx4xf32 --input cache=2xf32 --seed 2 --to onnx -o other.onnx
    run --separate-stderr tc-export m.pt2 --to onnx --verify=other.onnx -o m.onnx
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"other.onnx: result y differs"* ]]
    run tc-export m.pt2 --verify -o n.pt2
    [ "$status" -eq 2 ]
    [ ! -e n.pt2 ]
    run tc-export m.pt2 --to onnx --verify
    [ "$status" -eq 2 ]
}

@test "inputs of strings are JSON, results that are strings are lines" {
    runtime=$TC_ROOT/tests/oracle/onnx/runtime
    concat=$runtime/string_concat/model.onnx label=$runtime/label_encoder_of_strings/model.onnx
    echo '[["a", "b"]]' >x.json
    given=(--input x0=@x.json --input 'x1=["!", "\u00e4"]')
    [ "$(tc-run "$concat" "${given[@]}")" = $'a!\nbä' ]
    [ "$(tc-run "$concat" "${given[@]}" --output 1=-)" = bä ]
    tc-export "$concat" "${given[@]}" -o fixed.pt2
    [ "$(tc-run fixed.pt2)" = $'a!\nbä' ]
    [ "$(tc-run "$label" --input '["two", "?"]' --to text)" = B. ]
    [ "$(echo '["one"]' | tc-run "$label" --input x0=@- --to text)" = A ]
    run --separate-stderr tc-run "$concat" --input x0=@x.json
    [ "$status" -eq 5 ] && [[ "$stderr" == *"input 'x1' is of strings"*"--input x1=VALUE"* ]] || { echo "$stderr"; return 1; }
    run --separate-stderr tc-run "$concat" --input 'x0=[["a", "b"], ["c"]]' --input 'x1=["!", "?"]'
    [ "$status" -eq 3 ] && [[ "$stderr" == *"a list of 1, others have 2"* ]] || { echo "$stderr"; return 1; }
    run --separate-stderr tc-run "$concat" --input 'x0=["a", ["b"]]' --input 'x1=["!", "?"]'
    [ "$status" -eq 3 ] && [[ "$stderr" == *"strings stand 1 lists deep"* ]] || { echo "$stderr"; return 1; }
    run --separate-stderr tc-run "$concat" --input x0=@x.json --input 'x1=["!"]'
    [ "$status" -eq 3 ] && [[ "$stderr" == *"input 'x1' has sizes [1], expected [2]"* ]] || { echo "$stderr"; return 1; }
}

@test "a slice along axes that are known when it runs" {
    folder=$TC_ROOT/tests/oracle/onnx/runtime/slice_axes_from_data
    tc-export "$folder/model.onnx" -o m.pt2
    x=$(seq -s, 0 23)
    tc-run m.pt2 --input "x0=4x6xi64=$x" --input x1=2xi64=5,-3 --input x2=2xi64=-100,50 --input x3=2xi64=-1,0 --input x4=2xi64=-2,1 --to text | od -An -tu1 -w3 >got
    printf ' %3d %3d %3d\n' 11 9 7 17 15 13 23 21 19 >want
    diff want got
    tc-run m.pt2 --input "x0=4x6xi64=$x" --input x1=2xi64=1,0 --input x2=2xi64=3,2 --input x3=2xi64=0,1 --input x4=2xi64=1,1 --to text | od -An -tu1 -w2 >got
    printf ' %3d %3d\n' 6 7 12 13 >want
    diff want got
}

@test "indices that the model knows are counted from the beginning when it is read" {
    # a = ScatterND(x, [[0, 1], [-1, -2]], u), b = GatherND(a, [[2, 0], [1, 2]]); ONNX Runtime gives b = 6, 5
    base64 -d >nd.onnx <<'B'
CAg62wEKGAoBeAoCYXQKAXUSAWEiCVNjYXR0ZXJORAoUCgFhCgJmchIBYiIIR2F0aGVyTkQSAWcqLAgCCAIQB0ICYXRKIAAAAAAAAAAAAQAAAAAAAAD///////////7/////////KiwIAggCEAdC
AmZySiACAAAAAAAAAAAAAAAAAAAAAQAAAAAAAAACAAAAAAAAAFoTCgF4Eg4KDAgBEggKAggDCgIIA1oPCgF1EgoKCAgBEgQKAggCYhMKAWESDgoMCAESCAoCCAMKAggDYg8KAWISCgoICAES
BAoCCAJCBAoAEBA=
B
    tc-export nd.onnx -o m.pt2
    tc-run m.pt2 --input x=3x3xf32=0,1,2,3,4,5,6,7,8 --input u=2xf32=10,20 --output a=@a.npy --output b=@b.npy
    [ "$(tail -c 36 a.npy | od -An -tf4 -w36 | tr -s ' ')" = " 0 10 2 3 4 5 6 20 8" ]
    [ "$(tail -c 8 b.npy | od -An -tf4 | tr -s ' ')" = " 6 5" ]
    [ "$(tc-export m.pt2 --print | grep -c aten)" -eq 2 ]
}

@test "what a branch asks of sizes holds in that branch only" {
    tc-export "$TC_ROOT/tests/oracle/onnx/runtime/branches_with_sizes_of_their_own/model.onnx" -o m.pt2
    [ "$(tc-run m.pt2 --input x=1x12xf32=3 --input flag=bool=0 | tail -c 4 | od -An -tf4 | tr -d ' ')" = -3 ]
    [ "$(tc-run m.pt2 --input x=1x20xf32=3 --input flag=bool=1 | tail -c 4 | od -An -tf4 | tr -d ' ')" = 3 ] # the other branch cannot take 20
    run --separate-stderr tc-run m.pt2 --input x=1x20xf32=3 --input flag=bool=0
    [ "$status" -eq 3 ] && [[ "$stderr" == *"these sizes break a condition of a branch: "*"T"* ]] || { echo "$stderr"; return 1; }
}

@test "an If on a size has a program for each side, and sizes that broadcast one for sizes of 1" {
    # if(x.size(0) == 1, -u, u + u) of u = where(c > 0, x, y)
    tc-export "$TC_ROOT/tests/cli/fixtures/sides.onnx" -o m.pt2
    tc-compile "$TC_ROOT/tests/cli/fixtures/sides.onnx" -o compiled.pt2
    for sizes in 1,1,1,-3 3,3,3,6 1,1,3,-3 3,1,1,-3 1,3,3,6 3,3,1,6 3,1,3,-3 1,3,1,6; do
        IFS=, read -r c x y want <<<"$sizes"
        for p in m compiled; do tc-run $p.pt2 --input c=${c}x2xf32=1 --input x=${x}x2xf32=3 --input y=${y}x2xf32=5 -o $p.npy; done
        cmp m.npy compiled.npy
        run bash -c "tail -c +129 m.npy | od -An -tf4 -v | tr -s ' \n' ' '"
        [[ "$output" == " $want $want"* ]] && [ "$(wc -w <<<"$output")" = "$([ "$c$x$y" = 111 ] && echo 2 || echo 6)" ] || { echo "$sizes: $output"; return 1; }
    done
    run --separate-stderr tc-run m.pt2 --input c=2x2xf32=1 --input x=3x2xf32=3 --input y=3x2xf32=5
    [ "$status" -eq 3 ]
}

@test "strided views, modes, numbers that are sizes, empty tensors and recurrent networks of all kinds go to ONNX" {
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Strided(nn.Module):
    def forward(self, x):
        return torch.as_strided(x, (x.shape[0], 3, 2), (4, 0, 2), 1), torch.as_strided(x, (), (), 2)


class Modes(nn.Module):
    def forward(self, x):
        i = (x * 2).to(torch.int64)
        return i.mode(-1), i.mode(0, True), (i > 0).mode(1)


class Projected(nn.Module):
    def __init__(self, layers, both, bias, first):
        super().__init__()
        self.rnn = nn.LSTM(3, 5, layers, proj_size=2, bidirectional=both, bias=bias, batch_first=first)

    def forward(self, x, h, c):
        y, (h, c) = self.rnn(x, (h, c))
        return y, h, c


class One(Projected):
    def __init__(self):
        super().__init__(1, False, True, False)


class Many(Projected):
    def __init__(self):
        super().__init__(2, True, False, True)


class Relu(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = nn.RNN(3, 4, nonlinearity="relu", bidirectional=True)

    def forward(self, x):
        return self.rnn(x)


class Sizes(nn.Module):  # heads, their size and the order of a median are not known when it is written
    def forward(self, q, k):
        m = torch.ones(q.size(2), k.size(2)).tril(k.size(2) - q.size(2))
        return (F.scaled_dot_product_attention(q, k, k, attn_mask=m > 0, enable_gqa=True), F.scaled_dot_product_attention(q, q[:1], q[:1], scale=0.5),
                k.median(2), torch.linspace(0, 1, q.size(1)), F.softplus(k, 2, 1))


class Empty(nn.Module):
    def forward(self, x):
        return x.any(0), x.all(), x.mean(0), x.argmax(1), F.avg_pool2d(x[:, None, :, None], 1), x.sum(0)
PY
    tc-export m.py:Relu --input x=Tx2x3xf32 -o m.pt2
    tc-export m.pt2 --to onnx --verify -o m.onnx
    tc-export m.py:Sizes --input q=BxQxTxExf32 --input k=BxKxSxExf32 -o m.pt2
    set -- --input "q=2x4x3x5xf32=$(seq -s, -1 0.01 0.19)" --input "k=2x2x4x5xf32=$(seq -s, 0 0.02 1.58)" --to safetensors
    tc-run m.pt2 "$@" -o a.safetensors
    for opset in 18 23; do
        tc-export m.pt2 --opset $opset -o m.onnx
        tc-run m.onnx "$@" -o b.safetensors
        tc-ckpt diff a.safetensors b.safetensors --rtol 1e-5 --atol 1e-6
    done
    tc-export m.py:Empty --input x=0x3xf32 -o m.pt2
    tc-export m.pt2 --to onnx --verify -o m.onnx
    tc-export m.py:Strided --input x=Bx4xf32 -o m.pt2
    tc-export m.pt2 --to onnx --verify -o m.onnx
    tc-export m.py:Modes --input x=Bx7x5xf32 -o m.pt2
    tc-export m.pt2 --to onnx --verify -o m.onnx
    tc-export m.py:One --seed 1 --input x=TxBx3xf32 --input h=1xBx2xf32 --input c=1xBx5xf32 -o m.pt2
    tc-export m.pt2 --to onnx --verify -o m.onnx
    tc-export m.py:Many --seed 1 --input x=BxTx3xf32 --input h=4xBx2xf32 --input c=4xBx5xf32 -o m.pt2
    tc-export m.pt2 --to onnx --verify -o m.onnx
}

@test "a real number that data decide stays one in ONNX" {
    cat >real.py <<'PY'
import torch
class Net(torch.nn.Module):
    def forward(self, x):
        return x + x.max().item()
PY
    tc-export real.py:Net --input x=Nxf32 -o real.onnx
    [ "$(tc-run real.onnx --input x=2xf32=1,2.75 --output 0=- | tail -c 8 | od -An -v -tf4 | xargs)" = "3.75 5.5" ]
    sed -i 's/x.max().item()$/x.max().item() ** 2 + abs(x.max().item())/' real.py
    tc-export real.py:Net --input x=Nxf32 -o real.onnx
    [ "$(tc-run real.onnx --input x=2xf32=1,2.75 --output 0=- | tail -c 8 | od -An -v -tf4 | xargs)" = "11.3125 13.0625" ]
}

@test "operators without a form of their own are written by formulas, and types without kernels in wider ones" {
    cat >m.py <<'PY'
import torch
import torch.nn as nn
import torch.nn.functional as F


class Formulas(nn.Module):
    def forward(self, x, y, i, n):
        b = x > y
        tests = [x.isfinite(), torch.isposinf(x / y), torch.signbit(x), torch.fmax(x, y.log()), torch.fmin(x, y), torch.atan2(x, y), torch.exp2(x)]
        runs = [x.cumprod(1), x.logcumsumexp(0), x.cummax(1), x.cummin(-1), n.cummax(0)]
        edges = torch.tensor([-1.0, 0.0, 0.5])
        found = [torch.bucketize(x, edges), torch.searchsorted(edges, x, right=True), torch.bucketize(x[0, 0], edges)]
        ints = [n << 2, n >> 1, n.isnan(), n.floor(), n.relu(), n @ n.t(), F.linear(n, n)]
        diagonals = [x.diagonal(), x.diagonal(1), x.diagonal(-1, 1, 0), torch.diagonal_scatter(x, y[0, :3], -1), y[None].diagonal(1, -1, 1)]
        scattered = [x.scatter_reduce(1, i, y[:, :2], how, include_self=own) for how in ("sum", "prod", "amax", "amin", "mean") for own in (True, False)]
        rows = [x.index_reduce(0, i[0], y[:2], "amax"), n.scatter_reduce(1, i, n[:, :2], "mean")]
        bools = [b + b, b * b, torch.maximum(b, ~b), torch.where(b, b, ~b), b.sort(1), b.max(1), b.masked_fill(b, False), b.prod(1), b.cummax(0),
                 b.any((0, 1)), b.all((0,)), n.sgn(), b.signbit()]
        one = x[0, 0]
        numbers = [one.sort(), one.max(0), one.argmax(0), one.cumsum(0), one.index_select(0, i[0, :1] * 0), torch.atan2(x.abs() + 1, y.abs() * -0.0),
                   one.index_add(0, i[0, :1] * 0, y[0, 0]), one.index_reduce(0, i[0, :1] * 0, y[0, 0], "mean"), one.scatter_reduce(0, i[0, 0] * 0, y[0, 0], "amax"),
                   one.scatter_add(0, i[0, 0] * 0, y[0, 0]), one.scatter(0, i[0, 0] * 0, 3.0), one.scatter(0, i[0, 0] * 0, y[0, 0], reduce="add"),
                   torch.norm(one - 9), one.topk(1), one.nonzero(), torch.linalg.vector_norm(x, 3, keepdim=True), torch.arange(0.1, 1.1, 1.0)]
        places = [torch.nextafter(x, y), torch.nextafter(x.double(), y.double()), torch.nextafter(x.ceil(), y), torch.frexp(x * 1e-40), torch.lgamma(x.floor()), F.max_pool2d(n[None], 2),
                  torch.native_layer_norm(x.double(), (5,), None, None, 1e-5), torch.arange(0.0, -8.000001, -4.0, dtype=torch.int64)]
        pads = [F.pad(x[None], (1, 2), mode="circular"), F.pad(x[None], (-1, 2), mode="replicate"), F.pad(x, (1, -1)),
                F.pad(x[None], (-5, 6), mode="replicate"), F.pad(x[None], (4, -5), mode="replicate"),
                F.pad(x[None], (-1, 2), mode="circular"), F.pad(x[None], (2, -1), mode="circular")]
        pools = [F.avg_pool2d(x[None, None], 2, 1, 1, divisor_override=3), F.adaptive_max_pool2d(y[None, None, :, :4], (1, 2), return_indices=True),
                 F.max_pool3d(x[None, None, None], (1, 2, 2), return_indices=True), F.adaptive_max_pool3d(x[None, None, None, :, :4], (1, 2, 2))]
        wide = F.conv_transpose2d(x[None, None], y[None, None, :2, :2], y[0, :1], (1, 2), 1, (1, 2), dilation=(2, 3))
        half = x.bfloat16()
        halves = [half @ half.t(), half.softmax(1), (half + 1).relu(), F.layer_norm(half, (5,)), half.t()]
        number = torch.linspace(-2, 1, 1)
        return wide, places, tests, runs, found, ints, diagonals, scattered, rows, bools, numbers, pads, pools, [h.float() for h in halves], number


class Numbers(nn.Module):
    """Sizes that are twice an input's, and a result that is a number from data."""

    def forward(self, x):
        k = (x > 0).sum().item()
        return x.reshape(-1, 2).sum(1), x.shape[0] // 2 + 1, k, torch.full([2], x.shape[0] > 8)


class Scans(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.InstanceNorm1d(3, affine=True, track_running_stats=True)

    def forward(self, a, b):
        from torch._higher_order_ops.associative_scan import associative_scan
        return associative_scan(lambda l, r: (l[0] * r[0], r[0] * l[1] + r[1]), (a, b), dim=1, combine_mode="pointwise"), self.norm(a)
PY
    tc-export m.py:Formulas --input x=4x5xf32 --input y=4x5xf32 --input i=4x2xi64 --input n=4x5xi64 -o m.pt2
    tc-export m.py:Numbers --input x=Nxf32 --dim N=2..64 -o n.pt2
    tc-export m.py:Scans --input a=2x3x4xf32 --input b=2x3x4xf32 -o s.pt2
    for opset in 18 20 23; do
        tc-export m.pt2 --to onnx --opset $opset --verify -o m.onnx 2>log || { cat log; return 1; }
        tc-export n.pt2 --to onnx --opset $opset --verify -o n.onnx 2>log || { cat log; return 1; }
        tc-export s.pt2 --to onnx --opset $opset --verify -o s.onnx 2>log || { cat log; return 1; }
    done
    tc-export "$TC_ROOT/tests/oracle/pt2/derived_dim.pt2" --to onnx --verify -o d.onnx
    printf '%s\n' 'import torch' 'class Wrap(torch.nn.Module):' '    def forward(self, x, y):' \
        '        return torch.nn.functional.pad(x, (0, y.shape[0]), mode="circular")' >w.py
    tc-export w.py:Wrap --input x=2x4x9xf32 --input y=Nxf32 --dim N=1..6 -o w.pt2
    fails 5 "circular padding by a symbolic size" tc-export w.pt2 --to onnx -o w.onnx
    printf '%s\n' 'import torch' 'class Shift(torch.nn.Module):' '    def forward(self, x, k):' '        return x << k, x >> k' >u.py
    tc-export u.py:Shift --input x=3xu8 --input k=3xu8 --to onnx --verify -o u.onnx
    tc-export u.onnx --print=short | grep -q "i64\[3\] = aten.pow"
}

@test "weights lie aligned in the models that are written and are read in place; those that a file does not align are in memory once" {
    cat >t.py <<'PY'
import torch
import torch.nn as nn
class T(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(3000, 3000))
        self.longer = nn.Parameter(torch.ones(3000))
    def forward(self, x):
        return x @ self.w + self.longer
PY
    peak() { [ -n "${ASAN_OPTIONS-}" ] || [ "$(sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' log)" -lt "$1" ] || { cat log; return 1; }; }
    tc-export t.py:T --input x=2x3000xf32 -o t.pt2
    tc-export t.pt2 --time -o t.onnx --verify 2>log
    peak 65 # of one program's weights at a time
    tc-export t.onnx --time --summary 2>log >summary
    peak 25
    { head -c 2 t.onnx && printf '\022\001x' && tail -c +3 t.onnx; } >odd.onnx # another producer's name, three bytes
    for file in t odd; do
        tc-run --time $file.onnx --input 2x3000xf32=1 -o y.npy 2>log
        peak 65
    done
}

@test "complex numbers are two tensors in ONNX, Fourier transforms DFT; norms of any order and nms have forms" {
    cat >m.py <<'PY'
import torch
from torch import nn
class Complex(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(5, dtype=torch.complex64))
        self.m = nn.Parameter(torch.randn(5, 4, dtype=torch.complex64))
        self.l = nn.Linear(4, 2, dtype=torch.complex64)
    def forward(self, x, z):
        f = torch.fft.rfft(x, norm="ortho") * self.w
        g = torch.fft.fftn(torch.complex(x, x.flip(0)), norm="forward")
        h = torch.fft.ifft2(g, norm="backward")
        odd = torch.fft.hfft(f, n=7)
        back = torch.fft.irfftn(torch.fft.rfftn(x, norm="ortho"), s=x.shape, norm="forward")
        s = torch.stft(x, 4, 2, window=torch.hann_window(4), return_complex=True)
        t = torch.istft(s, 4, 2, window=torch.hann_window(4))
        a = (f @ self.m).abs().sum(1)
        b = torch.cat([z, z.conj() / 2j, x[:, :3]], 0)[1:].mean(0)
        c = torch.where(x > 0, g, 1 + 2j).angle()
        d = self.l(torch.einsum("bi,io->bo", f, self.m)), torch.einsum("bi,io,bi->o", f, self.m, f), torch.nn.functional.linear(f, self.m.t())
        e = torch.addmm(self.w[0], f, self.m, beta=2j, alpha=0.5), torch.baddbmm(f[:, :, None], f[:, :, None] @ f[:, None], f[:, :, None], beta=0.5, alpha=2)
        return f, h, odd, back, s, t, a, b, c, (z - 1).exp() + x.sum(), torch.polar(x, x), z.imag, z.to(torch.complex128), (z * 2).sum(-1), d, e
class Norms(nn.Module):
    def forward(self, x):
        n = torch.linalg.vector_norm
        inf = float("inf")
        return n(x, 3.5, 1), n(x, inf, 0), n(x, -inf), n(x, 0, 1, keepdim=True), n(x, -1.5, 1), torch.nn.functional.normalize(x, p=3.0)
class Boxes(nn.Module):
    def forward(self, x):
        a = x[:, :2].cumsum(0) * 0.5
        return torch.ops.torchvision.nms(torch.cat([a, a + 1 + x[:, 2:].abs()], 1), x[:, 0], 0.3)
class Product(nn.Module):
    def forward(self, z):
        return z.cumprod(0)
class Narrow(nn.Module):
    def forward(self, x):
        return x.float()
class Narrowed(nn.Module):
    def forward(self, x):
        return tuple(x.to(d).float() for d in (torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e4m3fnuz, torch.float8_e5m2fnuz))
PY
    cat >mixed.py <<'PY'
import torch
import torch.nn.functional as F
class Mixed(torch.nn.Module):
    """Complex numbers beside others: what is real, a number or an integer has no imaginary part."""
    def forward(self, z, x):
        n = z.shape[0]
        q = z.clone()
        q[0] = 3
        q[1, 1] = 2j
        ends = torch.tensor([float("inf"), -float("inf"), 0.0])
        return (torch.add(z, x, alpha=2), torch.sub(x, z, alpha=2j), torch.rsub(z, x), 1 / z, z * n, n - z,
                torch.cat([x > 0, z, x, x.long()]), torch.stack([x, z]), torch.select_scatter(z, torch.arange(3), 0, 1),
                z.type_as(x), x.type_as(z), x.clone().copy_(z) + 1, z.index_select(0, torch.tensor([1])), q,
                F.pad(z, (1, 2), value=1.5), F.pad(z[None], (1, 1), mode="reflect"), torch.constant_pad_nd(z, (-1, 1), 2j),
                torch.full_like(z, 2j), torch.full_like(z, 2, dtype=torch.float32) + x, torch.ones_like(z), z.new_full((n, 1), 1j),
                torch.zeros(n, 2, dtype=torch.complex64), torch.zeros_like(x, dtype=torch.complex64), (ends + x[0] * 0).angle())
class Put(torch.nn.Module):
    def forward(self, x):
        return torch.select_scatter(x, x[0].long(), 0, 1), torch.slice_scatter(x, x[:1].long(), 0, 0, 1)
PY
    for t in c64 c128; do
        tc-export mixed.py:Mixed --input z=Nx3x$t --input x=Nx3xf32 --dim N=3..9 -o mixed.pt2
        tc-export mixed.pt2 --to onnx --verify -o mixed.onnx
    done
    tc-export mixed.py:Put --input x=3x3xf32 -o put.pt2
    tc-export put.pt2 --to onnx --verify -o put.onnx
    [ "$(tc-export put.onnx --print | grep -c 'aten.to.dtype(.*, torch.float32)')" = 2 ] # Concat takes one type
    tc-export m.py:Complex --input x=Bx8xf32 --dim B=2..9 --input z=Bx3xc64 -o c.pt2
    tc-export m.py:Norms --input x=Bx5xf32 -o n.pt2
    tc-export m.py:Boxes --input x=12x4xf32 -o b.pt2
    for opset in 18 20 23; do
        for p in c b n; do tc-export $p.pt2 --to onnx --opset $opset --verify -o m.onnx 2>log || { cat log; return 1; }; done
        [ "$(grep -c 'largest difference' log)" -eq 6 ]
    done
    tc-export c.pt2 --to onnx -o c.onnx
    tc-run c.onnx --signature >sig
    grep -q 'z  *f32\[B, 3, 2\]' sig
    tc-export m.py:Product --input z=3x3xc64 -o g.pt2
    fails 5 "aten.cumprod.default of complex numbers has no form in ONNX" tc-export g.pt2 --to onnx -o g.onnx
    tc-export m.py:Narrow --input x=3xf8e4m3 -o f.pt2
    fails 5 "8-bit floating point below opset 19" tc-export f.pt2 --to onnx --opset 18 -o f.onnx
    tc-export m.py:Narrowed --input x=4xf32 -o f.pt2
    tc-export f.pt2 --to onnx -o f.onnx
    tc-run f.pt2 --input x=4xf32=-500,-1.3,1e-3,1e9 -o f.safetensors --to safetensors
    tc-run f.onnx --input x=4xf32=-500,-1.3,1e-3,1e9 $(for i in 0 1 2 3; do echo "--expect out.$i=@f.safetensors#out.$i"; done)
}

@test "initialisers of floats are trained, also of one element; constants beside them are not" {
    # y = x * Constant([2, 3]) + w, w an initialiser [1]; then the same with the Constant in its place, where there is no initialiser
    base64 -d >both.onnx <<'B'
CAg6jAEKLBIBayIIQ29uc3RhbnQqHQoFdmFsdWUqEQgCEAFCAWtKCAAAAEAAAEBAoAEECg4KAXgKAWsSAWEiA011bAoOCgFhCgF3EgF5IgNBZGQSAWcqDQgBEAFCAXdKBAAAgD9aFAoB
eBIPCg0IARIJCgMSAUIKAggCYhQKAXkSDwoNCAESCQoDEgFCCgIIAkIECgAQEQ==
B
    base64 -d >constants.onnx <<'B'
CAg6fQosEgFrIghDb25zdGFudCodCgV2YWx1ZSoRCAIQAUIBa0oIAAAAQAAAQECgAQQKDgoBeAoBaxIBYSIDTXVsCg4KAWEKAWsSAXkiA0FkZBIBZ1oUCgF4Eg8KDQgBEgkKAxIBQgoC
CAJiFAoBeRIPCg0IARIJCgMSAUIKAggCQgQKABAR
B
    printf 'a,b,y\n1,2,0\n3,4,0\n' >d.csv
    printf '%s\n' 'data: {csv: d.csv, columns: [a, b], target: y, order: sequential}' 'batch: 2' 'steps: 1' 'loss: out.mean()' \
        'optimizer: torch.optim.SGD(m.parameters(), lr=1)' >r.yaml
    tc-export both.onnx | tc-train -q r.yaml -o both
    [ "$(tc-ckpt ls both/latest | grep -c ' model\.')" -eq 1 ]
    [ "$(tc-ckpt show both/latest model.w)" = "model.w = tensor([0.])" ]
    tc-export constants.onnx | tc-train -q r.yaml -o constants
    [ "$(tc-ckpt show constants/latest model.k)" = "model.k = tensor([0.5000, 1.0000])" ] # less mean(x) / 2 + 1 / 2
}

@test "the weights of a recurrent node that two nodes read are parameters once" {
    # LSTM(x, w, r, b) -> y, h; Identity(b) -> b2; LSTM(h, w, r, b2) -> z, of onnx.helper, each weight arange * 0.1 - 0.2; ONNX Runtime gives 0.14366943
    tc-export "$TC_ROOT/tests/cli/fixtures/shared-lstm.onnx" -o m.pt2
    [ "$(tc-export m.pt2 --print | grep -c 'in *parameter')" -eq 4 ]
    tc-run m.pt2 --input x=2x1x1xf32=1,2 -o z.npy
    [ "$(tail -c 4 z.npy | od -An -tf4 | awk '{printf "%.6f", $1}')" = 0.143669 ]
}

@test "labels that are strings are places in the list of those that there are, which is among the results" {
    labels=$TC_ROOT/tests/cli/fixtures/labels.onnx
    tc-run "$labels" --signature >text
    for word in "'?'" "'Elm'" "'Oak'" "'u'" "'v'" "'w'"; do grep -q "$word" text; done
    tc-run "$labels" --input X=4x3xf32=3,1,2,1,3,2,1,2,3,0,0,0 --output number=@number.npy --output name=@name.npy --output low=@low.npy
    for name in number name low; do od -An -v -td8 -w64 -j128 $name.npy | tr -s ' '; done >got
    printf '%s\n' ' -7 10 20 10' ' 0 1 2 1' ' 1 0 0 0' >want
    diff got want
}

@test "random operators are ONNX's, dropout in training too" {
    cat >m.py <<'PY'
import torch
import torch.nn.functional as F


class M(torch.nn.Module):
    def forward(self, x):  # of ones
        d, u, z = F.dropout(x, 0.5, True), x.clone().uniform_(2, 3), x.clone().normal_(1, 2)
        b, i, e = torch.bernoulli(x * 0.25), torch.randint(-3, 9, (500,)), x.clone().exponential_(4.0)
        p, n, r = torch.randperm(50), torch.normal(x, 2.0), torch.rand_like(x)
        half = torch.bernoulli(x, 0.75)
        near = lambda v, mean: (v.float().mean() - mean).abs() < 0.2
        h, o, k = torch.rand(50000, dtype=torch.bfloat16), torch.empty(50000, dtype=torch.bfloat16).exponential_(), torch.randint_like(x, -2, 3)
        g, s = torch.randint(16777210, 16777219, (500,)), torch.randint(-1, x.shape[0], (500,))
        return torch.stack([
            ((d == 0) | (d == 2)).all(), near(d, 1), (u >= 2).all() & (u <= 3).all(), near(u, 2.5), near(z, 1), (z.std() - 2).abs() < 0.3,
            ((b == 0) | (b == 1)).all(), near(b, 0.25), near(half, 0.75), (i >= -3).all() & (i < 9).all(), (i == -3).any() & (i == 8).any(),
            (e >= 0).all(), near(e, 0.25), (p.sort()[0] == torch.arange(50)).all(), (p != torch.arange(50)).any(), near(n, 1), near(r, 0.5),
            near(torch.randn(40, 40), 0), near(torch.rand(40, 40), 0.5), (h < 1).all(), near(h, 0.5), (o < torch.inf).all(), near(o, 1),
            (k >= -2).all() & (k < 3).all(), near(k, 0), (g >= 16777210).all() & (g < 16777219).all(), (s == 39).any() & (s < 40).all(),
            (F.dropout(x, 1.0, True) == 0).all()])
PY
    tc-export m.py:M --input x=Bx40xf32 -o m.pt2
    tc-run m.pt2 --input x=40x40xf32=1 -o want.npy
    for opset in 18 20 23; do
        tc-export m.pt2 --opset $opset -o m.onnx
        tc-run m.onnx --input x=40x40xf32=1 --expect 0=@want.npy
    done
    [ "$(tail -c 28 want.npy | od -An -v -tu1 | tr -d ' \n')" = 1111111111111111111111111111 ]
}

@test "attention and recurrent networks in training drop out in ONNX too; keys that a mask of numbers all forbids give 0" {
    cat >m.py <<'PY'
import torch
from torch import nn
import torch.nn.functional as F


class Masked(nn.Module):
    def forward(self, q, m):
        f = torch.where(m, 0.0, -torch.inf)
        attend = F.scaled_dot_product_attention
        return attend(q, q, q, attn_mask=f), attend(q, q, q, attn_mask=m, scale=-0.5)


class Drop(nn.Module):
    def forward(self, x):
        return F.scaled_dot_product_attention(x, x, x, dropout_p=0.5)


class Net(nn.Module):
    def __init__(self, kind, **options):
        super().__init__()
        self.net = getattr(nn, kind)(4, 6, 2, dropout=0.5, **options)

    def forward(self, x):
        return self.net(x)[0]
PY
    dropouts() { # CLASS INPUT OPTIONS: how many the model of each opset has
        tc-export "m.py:$1" --input "$2" "${@:3}" -o d.pt2
        for opset in 20 23; do
            tc-export d.pt2 --opset $opset -o d.onnx
            tc-export d.onnx --print | grep -c 'aten.native_dropout' || true
        done | tr '\n' ' '
    }
    tc-export m.py:Masked --input q=1x2x3x4xf32 --input m=3x3xbool -o m.pt2
    set -- --input q=1x2x3x4xf32=0.5,1,2,-1,0,1,0.25,-2,1,1,1,1,2,0,0,1,-1,-1,0.5,3,0,0,1,0 --input m=3x3xbool=1,0,1,0,0,0,0,1,1
    tc-run m.pt2 "$@" --output 0=@a.npy --output 1=@b.npy
    for opset in 18 20 23; do
        tc-export m.pt2 --opset $opset -o m.onnx
        tc-run m.onnx "$@" --expect 0=@a.npy --expect 1=@b.npy --rtol 1e-6 --atol 1e-6
    done
    [ "$(dropouts Drop x=1x2x30x4xf32)" = "1 1 " ]
    for net in '"GRU"' '"LSTM"' '"RNN"'; do
        [ "$(dropouts Net x=3x2x4xf32 --arg "kind=$net" --mode train)" = "1 1 " ]
        [ "$(dropouts Net x=3x2x4xf32 --arg "kind=$net" --mode eval)" = "0 0 " ]
    done
    [ "$(dropouts Net x=3x2x4xf32 --arg 'kind="LSTM"' --arg proj_size=3 --mode train)" = "1 1 " ]
}

@test "random numbers of type double are drawn with the digits of a double" {
    cat >m.py <<'EOF'
import torch
from torch import nn
class M(nn.Module):
    def forward(self, x):
        u, n = torch.rand_like(x), torch.randn_like(x)
        return (u.float().double() != u).float().mean(), (n.float().double() != n).float().mean()
EOF
    tc-export m.py:M --input x=1000xf64 --to onnx -o m.onnx
    tc-export m.onnx -o back.pt2
    tc-run back.pt2 --input x=1000xf64=0 --output 0=@u.npy --output 1=@n.npy
    for f in u n; do
        [ "$(tail -c 4 $f.npy | od -An -tf4 | awk '{print ($1 > 0.9)}')" = 1 ]
    done
}

@test "special functions, linear algebra, uneven pools, complex functions and gradients have forms in ONNX" {
    cat >m.py <<'PY'
import torch
from torch import nn
import torch.nn.functional as F
class Special(nn.Module):
    def forward(self, x, n):
        p = x.sigmoid()
        s = torch.special
        gamma = (torch.lgamma(x), torch.digamma(x + 0.3), torch.polygamma(1, x), torch.polygamma(3, p), s.zeta(1.5 + p, p))
        erf = (torch.erfc(x * 4), s.erfcx(x * 2), torch.erfinv(x.tanh()), s.ndtri(p), s.log_ndtr(x * 4))
        bessel = (torch.i0(x * 3), s.i0e(x), s.i1(x * 3), s.i1e(x), s.bessel_j0(x * 9), s.bessel_j1(x * 9), s.bessel_y0(p * 12), s.bessel_y1(p * 12),
                  s.modified_bessel_k0(p * 3), s.modified_bessel_k1(p * 3), s.scaled_modified_bessel_k0(p), s.modified_bessel_i1(x))
        poly = (s.chebyshev_polynomial_t(x, n), s.hermite_polynomial_h(x, n), s.legendre_polynomial_p(x, n), s.shifted_chebyshev_polynomial_w(p, n), s.laguerre_polynomial_l(x, n))
        return gamma + erf + bessel + poly
class Pairs(nn.Module):
    def forward(self, x, n):
        y = torch.where(x > 0.5, torch.inf, torch.where(x < -0.5, torch.nan, x))
        m, e = torch.frexp(x)
        return (torch.gcd(n * 6, n + 4), torch.lcm(n + 1, n + 4), torch.xlogy(n, x.abs()), torch.special.xlog1py(x, x.abs()), torch.logaddexp2(x, x * 3), torch.copysign(x, -x), torch.copysign(x, -1.0),
                torch.nan_to_num(y), torch.nan_to_num(y, 1.0, 2.0), torch.sinc(x), m, e, torch.var(x, dim=[0]), torch.std(x), torch.var_mean(x, 1), torch.std_mean(x, dim=0, unbiased=False),
                torch.nanmedian(y, dim=1), torch.unique_consecutive(n.flatten(), return_inverse=True, return_counts=True), torch.roll(x, 3), torch.take(x, n), torch.put(x, n, x), x.scatter(1, n, x, reduce="add"),
                torch.linspace(-1, 1, 7), torch.logspace(0, x[0, 0], 4), torch.special.spherical_bessel_j0(x), 3 % (n + 1), F.nll_loss(x.reshape(1, 4, 1, 5).expand(1, 4, 2, 5), n[:2, :5].reshape(1, 2, 5)))
class Linear(nn.Module):
    def forward(self, a, b):
        s = a @ a.mT + torch.eye(a.shape[-1], dtype=a.dtype)
        q, r = torch.linalg.qr(a[..., :3])
        p, l, u = torch.linalg.lu(a)
        return (torch.linalg.inv(s), torch.linalg.solve(s, b), torch.linalg.solve(s, b.mT, left=False), torch.linalg.cholesky(s), torch.linalg.det(a), torch.linalg.slogdet(s)[1], q @ r, r.abs(), p, l, u,
                torch.linalg.matrix_exp(a), torch.linalg.svdvals(a[..., :3]), torch.linalg.pinv(a[..., :3]), torch.linalg.eigvalsh(s), torch.linalg.matrix_norm(a, 2), torch.cholesky_solve(b, torch.linalg.cholesky(s)), torch.linalg.solve_triangular(l, b, upper=False))
class Pool(nn.Module):
    def forward(self, x):
        return F.adaptive_avg_pool2d(x, (3, 2)), *F.adaptive_max_pool2d(x, (3, 2), return_indices=True), F.adaptive_avg_pool1d(x[0], 4)
class Complex(nn.Module):
    def forward(self, z):
        return [f(z) for f in (torch.log, torch.sqrt, torch.rsqrt, torch.sin, torch.cos, torch.tan, torch.sinh, torch.cosh, torch.tanh, torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh, torch.sigmoid, torch.sgn, torch.square, torch.log10, torch.log1p, torch.expm1, torch.isfinite, torch.logical_not, torch.sinc)] + [z ** z, z ** 2, torch.addcmul(z, z, z), torch.linalg.vector_norm(z)]
class Grads(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(7, 5)
    def forward(self, x, n):
        y = self.e(n) + x
        fs = (F.gelu, lambda v: F.gelu(v, approximate="tanh"), F.silu, F.mish, F.softplus, F.elu, F.selu, F.hardswish, F.hardsigmoid, F.hardtanh, F.leaky_relu, F.hardshrink, F.softshrink, lambda v: F.threshold(v, 0.1, 0.5), lambda v: v.softmax(-1).cos(), lambda v: v.log_softmax(-1).sin(), F.relu6, F.celu, lambda v: v[1:, ::2].exp(), lambda v: v[1].exp())
        return sum([f(y).sum() for f in fs])
class Ctc(nn.Module):
    def forward(self, p, t, n, m):
        q = p.log_softmax(-1)
        t, n, m = t.clamp(2, 4), n.clamp(5, 6), m.clamp(0, 4)
        return F.ctc_loss(q, t, n, m, reduction="none"), F.ctc_loss(q, t[:, :3], (5, 6), (2, 3), blank=1), F.ctc_loss(q, t.flatten()[:4], (6, 4), (3, 1), reduction="sum")
class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Conv2d(4, 6, 3, stride=2, padding=1, dilation=2, groups=2)
        self.b = nn.ConvTranspose2d(6, 4, (3, 2), stride=(2, 3), padding=1, output_padding=(1, 0), groups=2)
        self.c = nn.Conv1d(4, 5, 2, stride=3, bias=False)
    def forward(self, x):
        return self.c(self.b(self.a(x)).tanh().flatten(2)).sin().sum()
class Edges(nn.Module):
    def forward(self, x, u, y):
        return x.mean(0), x.mean(), torch.var_mean(x, 0), -u, F.avg_pool2d(y, (2, 3), (3, 2), (1, 0), True, True, 7), F.avg_pool2d(y, 3, 2, 1, False, False, 5)
class Wide(nn.Module):
    def forward(self, x):
        u, s, v = torch.linalg.svd(x)
        return torch.linalg.svdvals(x), torch.linalg.pinv(x), u @ u.mT
PY
    tc-export m.py:Special --input x=3x4xf32 --input n=3x4xi64 -o a.pt2
    tc-export m.py:Pairs --input x=4x5xf32 --input n=4x5xi64 -o b.pt2
    tc-export m.py:Linear --input a=2x4x4xf32 --input b=2x4x3xf32 -o c.pt2
    tc-export m.py:Pool --input x=2x3xHxWxf32 --dim H=5..9 --dim W=7..11 -o d.pt2
    tc-export m.py:Complex --input z=3x4xc64 -o e.pt2
    tc-export m.py:Grads --input x=4x5xf32 --input n=4xi64 --joint=out.0 -o f.pt2
    tc-export m.py:Ctc --input p=6x2x5xf32 --input t=2x4xi64 --input n=2xi64 --input m=2xi64 -o g.pt2
    tc-export m.py:Conv --input x=Bx4xHxWxf32 --dim H=7..19 --dim W=7..19 --joint=out.0 -o h.pt2
    tc-export m.py:Edges --input x=Ax3xf32 --input u=3xu8 --input y=2x2x6x7xf32 -o i.pt2
    for p in a b c d e f g h i; do tc-export $p.pt2 --to onnx --verify -o $p.onnx 2>log || { cat log; return 1; }; done
    tc-export b.pt2 --to onnx --opset 18 --verify -o b.onnx
    # the mean of no elements, and singular values where either side may be the longer
    none=(--input x=0x3xf32=0 --input u=3xu8=1,0,2 --input y=2x2x6x7xf32=1)
    tc-run i.pt2 "${none[@]}" --output 1=@mean.npy --output 3=@m.npy
    tc-run i.onnx "${none[@]}" --expect 1=@mean.npy --expect 3=@m.npy
    [ "$(tail -c 4 mean.npy | od -An -tf4 | tr -d ' -')" = nan ]
    tc-export m.py:Wide --input x=2xAxBxf32 --dim A=1..9 --dim B=1..9 -o w.pt2
    tc-export w.pt2 --to onnx -o w.onnx
    # numbers that are no integers are results too
    printf '%s\n' 'import torch' 'class Numbers(torch.nn.Module):' '    def forward(self, x):' \
        '        return x.size(0), x.size(0) / 2, x.size(0) > 4' >n.py
    tc-export n.py:Numbers --input x=Nxf32 -o n.pt2
    tc-export n.pt2 --to onnx --verify -o n.onnx
    tc-run n.onnx --input x=5xf32=0 --output 1=@half.npy --output 2=@more.npy
    tc-run n.pt2 --input x=5xf32=0 --expect 1=@half.npy --expect 2=@more.npy
}

@test "a Loop whose carried tensor grows demands what the body that is kept needs, not what one captured before it needed" {
    local m
    for m in scan while; do
        tc-export "$TC_ROOT/tests/cli/fixtures/grows-$m.onnx" -o g.pt2
        local t=() && [ $m = scan ] || t=(--input t=i64=2)
        run --separate-stderr tc-run g.pt2 "${t[@]}" --input x=3xf32=5,6,7 --input sizes=2xi64=2,1 --log guards --to npy -o y.npy
        [ $status -eq 0 ] && [ "$(grep -c " == .*required by aten.cat" <<<"$stderr")" -eq 1 ] || { echo "$m: $stderr"; return 1; }
        [ "$(tail -c 36 y.npy | od -An -v -tf4 -w36 | xargs)" = "5 6 2 2 3 3 5 2 3" ]
    done
}

@test "a resize that antialiases from a size that is not known weighs as many elements as the size says" {
    model=$TC_ROOT/tests/oracle/onnx/runtime/resize_antialias_from_free_sizes/model.onnx
    tc-export "$model" -o free.pt2
    for size in 1 3 9 30; do
        x=x=1x1x${size}x4xf32=$(seq -s, $((size * 4)))
        tc-run "$model" --input "$x" -o y.npy # with as many taps as the given size says
        tc-run free.pt2 --input "$x" --expect @y.npy --rtol 1e-5 --atol 1e-5
    done
}
