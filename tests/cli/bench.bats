#!/usr/bin/env bats
# tc-bench: operators and programs, tables for people and machines.
bats_require_minimum_version 1.5.0

setup() {
    mlp=$TC_ROOT/tests/oracle/pt2/mlp.pt2
    cd "$BATS_TEST_TMPDIR"
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache XDG_DATA_HOME=$BATS_TEST_TMPDIR/data
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

@test "what does not fit is named" {
    run --separate-stderr tc-bench --op 'no_such_op(f32[2])'
    [ "$status" -eq 5 ]
    [[ "$stderr" == *no_such_op* ]]
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
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 4)
    def forward(self, x):
        return torch.softmax(self.a(x), -1).exp()
PY
    tc-export m.py:M --input x=Bx16xf32 --dim B=1..9 -o m.pt2
    tc-bench m.pt2 --repeat 2 --compare interpreted,unfused --profile p.json >table
    [ "$(head -c 17 p.json)" = '{"traceEvents": [' ]
    [ "$(grep -c '"ph": "M"' p.json)" -eq 2 ]
    [ "$(grep -c '"pid": 1' p.json)" -lt "$(grep -c '"pid": 2' p.json)" ] # softmax and exp are one group
    grep -q '"operators": "aten._softmax.default + aten.exp.default", "source": "m.py:7"' p.json
}
