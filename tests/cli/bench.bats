# tc-bench: operators and programs, tables for people and machines.
load common
load softmax_model

setup() {
    mlp=$TC_ROOT/tests/oracle/pt2/mlp.pt2
    scratch
}

@test "an operator, interpreted and compiled, with the same bits" {
    run --separate-stderr tc-bench --op '_softmax(f32[64,300], 1, False)' --compare interpreted,compiled --repeat 3 --json
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [ "${#lines[@]}" -eq 2 ]
    [[ "${lines[0]}" == *'"executor": "interpreted"'*'"runs": 3, "same_bits": true'* ]]
    [[ "${lines[1]}" == *'"executor": "compiled"'* ]]
}

@test "a name walks the samples of the operator table" {
    run --separate-stderr tc-bench --op add --repeat 2 --to csv
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [ "${lines[0]}" = "case,executor,median,p10,p90,best,runs,bytes" ]
    [ "${#lines[@]}" -gt 1 ]
    [[ "${lines[1]}" == '"add('* ]]
}

@test "a program with a bound symbol" {
    tc-bench "$mlp" --dim s77=32 --compare interpreted,compiled,unfused --repeat 2 -o table.csv
    [ "$(wc -l <table.csv)" -eq 4 ]
    run tc-bench --repeat 2 <"$mlp"
    [[ "$output" == *median*stdin*interpreted* ]]
}

@test "several programs run in turns on the same inputs; what chance alone may make is no difference" {
    tc-compile --op 'exp(f32[N])' -o small.pt2
    cat >m.py <<'END'
import torch


class Large(torch.nn.Module):
    def forward(self, x):
        return x.expand(2000000, 2).exp().sum() + x.repeat(2)
END
    tc-export m.py:Large --input x=2xf32 -o large.pt2
    run --separate-stderr tc-bench small.pt2 small.pt2 large.pt2 --dim N=2 --repeat 20 --to json
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [ "${#lines[@]}" -eq 3 ]
    [[ "${lines[1]}" == *'"case": "small.pt2"'* ]]
    [ "$(grep -o '"bytes": [0-9]*' <<<"$output" | tr '\n' ' ')" = '"bytes": 16 "bytes": 16 "bytes": 24 ' ] # each its own
    [[ "${lines[2]}" == *'"case": "large.pt2"'*'"than_first": "slower"'* ]]
    run --separate-stderr tc-bench large.pt2 small.pt2 --repeat 20 --to json
    [[ "${lines[1]}" == *'"than_first": "faster"'* ]]
    run --separate-stderr tc-bench large.pt2 small.pt2 --repeat 3 # three rounds may all be chance
    [[ "${lines[1]}" == large.pt2* && "${lines[2]}" == small.pt2*" no difference" ]]
    fails 2 "--compare and several programs" tc-bench small.pt2 large.pt2 --compare interpreted,compiled
    fails 3 "small.pt2" tc-bench "$mlp" small.pt2
    fails 1 "absent.pt2" tc-bench small.pt2 absent.pt2
}

@test "fast is compared with strict ways by its error, which is no failure" {
    call='convolution(f32[2,64,32,32], f32[64,64,3,3], None, [1,1], [1,1], [1,1], False, [0,0], 1)'
    run --separate-stderr tc-bench --op "$call" --compare interpreted,fast --repeat 1 --to csv
    [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    [[ "$stderr" == *"interpreted and fast differ in output 0"* ]]
    run --separate-stderr tc-bench --op "$call" --compare fast,interpreted,unfused --repeat 1 --to csv
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"fast and interpreted differ"* && "$stderr" != *unfused* ]] # which is compared with the strict way
}

@test "a call may name its overload" {
    for call in 'add.Tensor(f32[2], f32[2])' '_native_batch_norm_legit.no_stats(f32[2,3], f32[3], f32[3], True, 0.1, 1e-5)'; do
        run --separate-stderr tc-bench --op "$call" --repeat 1 --to csv
        [ "$status" -eq 0 ] || { echo "$stderr"; return 1; }
    done
    run --separate-stderr tc-bench --op '_softmax.none(f32[2], 0, False)'
    [ "$status" -eq 5 ]
    [[ "$stderr" == *_softmax.none* ]]
}

@test "what does not fit is named" {
    run --separate-stderr tc-bench --op 'no_such_op(f32[2])'
    [ "$status" -eq 5 ]
    [[ "$stderr" == *no_such_op* ]]
    fails 3 "add.Tensor: The size of tensor a (5) must match" tc-bench --op 'add(f32[3,5], f32[3,4])' # not what another overload lacks
    fails 3 "reduction must be 0 (none), 1 (mean) or 2 (sum), got 3" tc-bench --op 'binary_cross_entropy(f32[3,5], f32[3,5], None, 3)'
    fails 3 "--op sofmax: no such operator" tc-bench --op sofmax
    run --separate-stderr tc-bench --op 'add(f32[2], '
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"at character"* ]]
    run --separate-stderr tc-bench "$mlp" --compare interpreted,psychic
    [ "$status" -eq 2 ]
    [[ "$stderr" == *psychic* ]]
    run --separate-stderr tc-bench "$mlp" --dim s77=5000
    [ "$status" -eq 2 ]
}

@test "--profile writes a Chrome trace: a slice a group, with operators and source lines" {
    softmax_model
    tc-export m.py:M --input x=Bx16xf32 --dim B=1..9 -o m.pt2
    tc-bench m.pt2 --repeat 2 --compare interpreted,unfused --profile p.json >table
    [ "$(head -c 17 p.json)" = '{"traceEvents": [' ]
    [ "$(grep -c '"ph": "M"' p.json)" -eq 2 ]
    [ "$(grep -c '"pid": 1' p.json)" -lt "$(grep -c '"pid": 2' p.json)" ] # softmax and exp are one group
    grep -q '"operators": "aten._softmax.default + aten.exp.default", "source": "m.py:7"' p.json
}

@test "--profile: bytes, FLOPs and percent of the machine's limit of each group, as a table and a picture" {
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 32)
        self.c = nn.Conv2d(3, 8, 3)
    def forward(self, x, i):
        y = torch.relu(self.a(x))
        return y.sum(0), self.c(i)
PY
    tc-export m.py:M --input x=16x64xf32 --input i=2x3x10x10xf32 -o m.pt2
    tc-bench m.pt2 --repeat 2 --executor interpreted --profile p.json --profile p.svg --profile - -o times >table
    head -1 table | grep -qE '^machine: [0-9.]+ GFLOP/s, [0-9.]+ GB/s$'
    # a product of 16x64 and 64x32 with its bias: 65.5 KFLOP; x, weight, bias and result: 14.5 KB
    grep -qE ' 14\.5 +65\.5 +[0-9.]+  m\.py:8 +aten\.addmm' table
    # 2x8x8x8 results of 27 terms: 55.3 KFLOP
    grep -qE ' 55\.3 +[0-9.]+  m\.py:9 +aten\.convolution' table
    [ "$(grep -cE " all$" table)" -eq 3 ] # of groups, operators, source lines
    grep -q '"flops": 65536' p.json
    grep -q '<title>m.py:8: ' p.svg
    [ "$(grep -c '<g>' p.svg)" -eq "$(grep -c '</g>' p.svg)" ]
    [ "$(tail -1 p.svg)" = "</svg>" ]
    run --separate-stderr tc-bench --profile m.pt2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"expected where the profile goes"* ]]
}

@test "--profile counts the FLOPs of gradients: attention, grouped and masked convolutions, recurrences, products" {
    cat >g.py <<'PY'
import torch, torch.nn as nn, torch.nn.functional as F
class A(nn.Module):
    def forward(self, q, k, v):
        return F.scaled_dot_product_attention(q, k, v).sum()
class C(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Conv2d(4, 8, 3, padding=1, groups=2)
    def forward(self, x):
        return self.c(x).sum()
class L(nn.Module):
    def __init__(self):
        super().__init__()
        self.r = nn.LSTM(3, 5, batch_first=True)
        self.a = nn.Linear(5, 7, bias=False)
    def forward(self, x):
        return self.a(self.r(x)[0][:, -1]).sum()
PY
    counts() { # GRADIENTS CLASS INPUT...: gj.pt2 is the program with its gradients; prints OPERATOR FLOPS of what multiplies
        tc-export "g.py:$2" "${@:3}" -o g.pt2
        # shellcheck disable=SC2086
        tc-export g.pt2 --joint $1 -o gj.pt2
        tc-bench gj.pt2 --repeat 1 --profile p.json >/dev/null
        sed -n 's/.*"operators": "\([^"]*\)".*"flops": \([0-9]*\).*/\1 \2/p' p.json | grep -E 'atten|convol|rnn|mm' >counts
    }
    has() { grep -q "$1\\S* $2\$" counts || { cat counts; false; }; }
    counts "" A --input q=2x3x10x8xf32 --input k=2x3x12x8xf32 --input v=2x3x12x8xf32
    has 'cpu.default' $((2 * 2 * 6 * 10 * 12 * 8)) # two products of 10x8 and 8x12 for 6 heads
    has 'cpu_backward' $((5 * 2 * 6 * 10 * 12 * 8))
    counts "" C --input x=2x4x6x7xf32
    has 'convolution.default' $((2 * 2 * 8 * 42 * 18)) # 2x8x6x7 results of 2 channels of 3x3
    has 'convolution_backward' $((2 * 2 * 2 * 8 * 42 * 18))
    counts "--grad-of c.weight" C --input x=2x4x6x7xf32
    has 'convolution_backward' $((2 * 2 * 8 * 42 * 18)) # the input's gradient is not asked for
    counts "" L --input x=2x4x3xf32
    has 'rnn_layer.default' $((2 * 8 * 20 * 8)) # 8 steps in all, 4 gates of 5, of 3 + 5 numbers
    has 'rnn_layer_backward' $((2 * 2 * 8 * 20 * 8))
    [ "$(grep -c " $((2 * 2 * 5 * 7))\$" counts)" -eq 3 ] # the product, its gradients by both factors
}
