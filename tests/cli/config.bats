#!/usr/bin/env bats
# tc-compile --config and --print-config: default, file, environment, option, and what a file forces.
bats_require_minimum_version 1.5.0
load scratch

setup() {
    scratch
    unset CC CFLAGS TC_CONFIG TC_NUM_THREADS
    cat >c.conf <<'EOF'
# of this cluster
cc = gcc-x   # the compiler
targets = portable,avx2
	freeze=yes
cflags = -DA=1 -g
force cc-seconds = 60

tuning =
EOF
}

# is KEY VALUE FROM [OPTION...]: what --print-config says
is() {
    local line="$1 = $2${2:+ }# $3"
    tc-compile --print-config "${@:4}" >out
    grep -Fx -- "$line" out || { cat out; false; }
}

@test "each setting comes from its last word: default, file, environment, option" {
    is cc cc default
    is cc gcc-x c.conf:2 --config c.conf
    CC=other is cc other CC --config c.conf
    CC=other is cc mine --cc --config c.conf --cc mine
    is freeze yes c.conf:4 --config c.conf
    TC_FREEZE=no is freeze no TC_FREEZE --config c.conf
    TC_FREEZE=no is freeze yes --freeze --config c.conf --freeze
    is cflags '-DA=1 -g' c.conf:5 --config c.conf
    is tuning '' default --config c.conf
    here=$(TC_ISA= tc-run --version | sed 's/.*; \([a-z0-9_]*\).*/\1/') # a row of isa.tab, or a line that names its row
    TC_ISA= is targets "$(awk -F '\t' -v name="$here" '$1 == name {print $(NF == 3 ? 3 : 1)}' "$BATS_TEST_DIRNAME/../../lib/isa.tab")" default
    echo "threads = 3" >./-c.conf
    TC_CONFIG=-c.conf is threads 3 -c.conf:1
    is threads 3 --threads --threads 3
    export TC_CONFIG=c.conf
    is targets portable,avx2 c.conf:3
    echo 'cc = b' >d.conf
    is cc b d.conf:1 --config d.conf # in place of the file of TC_CONFIG
    is freeze no default --config d.conf
}

@test "what a file forces wins over environment and option, and says so" {
    TC_CC_SECONDS=5 is cc-seconds 60 'c.conf:6, forced' --config c.conf
    printf 'force cc = a\nforce freeze = no\n' >f.conf
    is cc a 'f.conf:1, forced' --config f.conf --cc b 2>err
    [ "$(cat err)" = "tc-compile: --cc b gives way to a, which f.conf:1 forces" ]
    is freeze no 'f.conf:2, forced' --config f.conf --freeze
}

@test "what is printed is a file that says the same" {
    CC='gcc -m64' TC_NO_CACHE=yes tc-compile --print-config --config c.conf --store-weights none >one.conf
    tc-compile --print-config --config one.conf >two.conf
    diff <(sed 's/ *#.*//' one.conf) <(sed 's/ *#.*//' two.conf)
    grep 'cc = gcc -m64 # one.conf:1' two.conf
}

@test "settings are obeyed: compiler, its flags and limits, targets, where weights go" {
    cat >m.py <<'EOF'
import torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 4)
    def forward(self, x):
        return self.a(x).softmax(-1)
EOF
    tc-export m.py:M --input x=2x3xf32 -o m.pt2
    cat >log-cc <<'EOF'
#!/bin/sh
echo "$* limit $(ulimit -t)" >>"$LOG"
exec cc "$@"
EOF
    chmod +x log-cc
    printf 'cc = %s/log-cc\ncflags = -DFROM_FILE\ncc-seconds = 77\ntargets = portable\n' "$PWD" >s.conf
    LOG=$PWD/log tc-compile m.pt2 --config s.conf -o c.pt2
    grep -- '-DFROM_FILE .*limit 77' log
    grep -aq tc/code/1/portable.so c.pt2
    TC_STORE_WEIGHTS=none tc-compile m.pt2 -o none.pt2
    grep -aq data/weights/weight_0 c.pt2
    run ! grep -aq data/weights/weight_0 none.pt2
    TC_TUNING=no-such-file tc-compile m.pt2 --to c -o m # has no effect there
}

@test "a wrong file or variable is refused with its place" {
    refused() {
        run --separate-stderr tc-compile --print-config "${@:2}"
        [ "$status" -eq 2 ]
        [[ "$stderr" == *"$1"* ]] || { echo "$stderr"; false; }
    }
    printf 'cc = a\nthread = 2\n' >b.conf
    refused "b.conf:2: no setting is called 'thread'; did you mean threads?" --config b.conf
    printf 'cc = a\n\ncc = b\n' >b.conf
    refused 'b.conf:3: cc is set at b.conf:1 already' --config b.conf
    echo 'freeze' >b.conf
    refused "b.conf:1: 'freeze': expected KEY = VALUE" --config b.conf
    echo 'cc-memory = much' >b.conf
    refused "b.conf:1: cc-memory 'much': expected a whole number" --config b.conf
    echo 'threads = 5000' >b.conf
    refused "b.conf:1: threads '5000': expected a whole number from 1 to 1024" --config b.conf
    TC_FREEZE=1 refused "TC_FREEZE: freeze '1': expected yes or no"
    run -1 tc-compile --print-config --config absent.conf
    printf 'cc = a\0b\n' >b.conf
    run -3 tc-compile --print-config --config b.conf
}
