# tc-compile --bisect and --minify: planted bugs are found, by name and by size; every number of steps gives the same bits.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 16)
    def forward(self, x):
        h = torch.softmax(self.a(x), -1) * 3
        h = self.a(h.sin() + x)
        y = torch.softmax(h - x, -1)
        return self.a(y).exp()
PY
    tc-export m.py:M --input x=4x16xf32 -o m.pt2
    tc-run m.pt2 --input x=4x16xf32=0.3 -o want.npy
    cat >wrongcc <<'SH'
#!/bin/bash
# miscompiles the sine
for a in "$@"; do case $a in *groups.c) sed -i 's/^    return (float)tc_from_bits_f64(tc_bits_f64(tc_x_sin_r32(r))/    return 1.0f + (float)tc_from_bits_f64(tc_bits_f64(tc_x_sin_r32(r))/' "$a" ;; esac; done
exec cc "$@"
SH
    chmod +x wrongcc
}

@test "--bisect names the compiled group that is wrong" {
    run --separate-stderr tc-compile m.pt2 --cc "$PWD/wrongcc" --no-cache --bisect 'tc-run "$1" --input x=4x16xf32=0.3 --expect @want.npy'
    [ "$status" -eq 0 ]
    [[ "$output" == "step "*" makes the difference ("*" runs): the compiled code of g"*"_sin_"* ]]
    [[ "$output" == *"(m.py:8)" ]]
    of=$(sed 's/.* of \([0-9]*\) makes.*/\1/' <<<"$output")
    runs=$(sed 's/.*(\([0-9]*\) runs).*/\1/' <<<"$output")
    log=0
    while [ $((1 << log)) -lt "$of" ]; do log=$((log + 1)); done
    [ "$runs" -le $((log + 2)) ]
    for option in --bisect "-o none.pt2 --minify"; do # a signal leaves nothing either
        run tc-compile m.pt2 $option 'kill -TERM $PPID; exit 1'
        [ "$status" -eq 143 ]
    done
    ls -d tc-work-* tc-cc-* none.pt2 2>/dev/null && return 1
    true
}

@test "--bisect names a fusion and a pass" {
    # a command that fails from some step on stands for a bug there
    run --separate-stderr tc-compile m.pt2 --bisect 'tc-run "$1" --input x=4x16xf32=0.3 --expect @want.npy && test "${TC_STEPS:-99}" -lt 6'
    [[ "$output" == "step 6 of "*": sin (m.py:8) joins the loop of "* ]]
    run --separate-stderr tc-compile m.pt2 --bisect 'tc-run "$1" --input x=4x16xf32=0.3 --expect @want.npy && test "${TC_STEPS:-99}" -lt 1'
    [[ "$output" == "step 1 of "*": the pass cse: "* ]]
}

@test "--bisect names each step that there is, in log2 of their number and two runs" {
    tc-compile m.pt2 -o c.pt2
    TC_STEPS_LOG=steps tc-run c.pt2 --input x=4x16xf32=0.3 --expect @want.npy
    of=$(wc -l <steps) log=0
    while [ $((1 << log)) -lt "$of" ]; do log=$((log + 1)); done
    for step in $(seq 1 "$of"); do
        tc-compile m.pt2 --bisect "tc-run \"\$1\" --input x=4x16xf32=0.3 -o got.npy && test \"\${TC_STEPS:-99}\" -lt $step" >found 2>/dev/null
        grep -q "^step $step of $of makes the difference ([0-9]* runs): \|^step $step of $of: " found
        grep -qF "$(sed -n "${step}p" steps)" found
        runs=$(sed -n 's/.*(\([0-9]*\) runs).*/\1/p' found)
        [ -z "$runs" ] || [ "$runs" -le $((log + 2)) ]
    done
}

@test "--bisect says when there is nothing to find, and why" {
    run --separate-stderr tc-compile m.pt2 --bisect 'tc-run "$1" --input x=4x16xf32=0.3 --expect @want.npy'
    [ "$status" -eq 0 ]
    [[ "$output" == *"nothing to find"* ]]
    run --separate-stderr tc-compile m.pt2 --bisect 'tc-run "$1" --input x=4x16xf32=0.4 --expect @want.npy'
    [ "$status" -eq 4 ]
    [[ "$stderr" == *"fails without any of the "*" steps too"* ]]
    run --separate-stderr tc-compile m.pt2 --bisect false
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"no step was logged"* ]]
    run --separate-stderr tc-compile m.pt2 --bisect /no/such/command
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"exit 127"* ]]
}

@test "with any number of steps a program gives the same bits" {
    tc-compile m.pt2 -o c.pt2
    TC_STEPS_LOG=steps tc-run c.pt2 --input x=4x16xf32=0.3 --expect @want.npy
    n=$(wc -l <steps)
    [ "$n" -gt 8 ]
    for i in $(seq 0 "$n"); do
        TC_STEPS=$i TC_STEPS_LOG=some tc-run c.pt2 --input x=4x16xf32=0.3 --expect @want.npy
        [ "$i" -eq 0 ] || cmp some <(head -"$i" steps)
    done
}

@test "--minify leaves the operator that is wrong" {
    cat >check <<'SH'
tc-compile "$1" --cc "$PWD/wrongcc" --no-cache -o c.pt2 && tc-run c.pt2 --stance=force_eager --input x=4x16xf32=0.3 -o e.npy &&
    tc-run c.pt2 --input x=4x16xf32=0.3 --expect @e.npy
SH
    run --separate-stderr tc-compile m.pt2 --minify 'sh check "$1"' -o min.pt2
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"1 nodes of "*"; exit 4 as before"* ]]
    run -0 tc-export min.pt2 --print
    [[ "$output" == *"aten.sin.default"* && "$output" != *linear* && "$output" != *parameter* ]]
    run --separate-stderr sh check min.pt2
    [ "$status" -eq 4 ]
    run --separate-stderr tc-compile m.pt2 --minify true -o x.pt2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"succeeds with the whole program"* ]]
    run --separate-stderr tc-compile m.pt2 --minify false --bisect false
    [ "$status" -eq 2 ]
}

@test "--minify of 3000 nodes: at most 10 are left" {
    cat >big.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def forward(self, x):
        h = x
        for i in range(1500):
            h = h * 1.01 + x
            if i == 700:
                h = torch.sin(h) + torch.cos(h)
        return h
PY
    tc-export big.py:M --input x=4x16xf32 -o big.pt2
    tc-compile big.pt2 --minify 'tc-export "$1" --print >p.txt; ! { grep -q aten.sin p.txt && grep -q aten.cos p.txt; }' -o min.pt2
    run -0 tc-export min.pt2 --print
    [ "$(grep -c ' = aten' <<<"$output")" -le 10 ]
    [[ "$output" == *aten.sin* && "$output" == *aten.cos* ]]
}
