# tc-compile --config and --print-config: default, file, environment, option, and what a file forces.
load common

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
    CFLAGS='-march=native -Ofast -ffast-math -O1 -DFROM_ENV' LOG=$PWD/log tc-compile m.pt2 --config s.conf -o c.pt2 # --targets alone says what code is for
    grep -- -DFROM_ENV log
    run ! grep -- '-march=native\|-Ofast\|-ffast-math' log
    grep -- '-O3 -O1 -DFROM_ENV .*-ffp-contract=off' log # a level of the user's own
    run ! grep -- '-O1.*-O3' log
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

@test "--sanitize overflow ends a run where a signed integer wraps; without it there is no trace of it" {
    cat >m.py <<'EOF'
import torch
class Sum(torch.nn.Module):
    def forward(self, a, b):
        return a + b
class Mul(torch.nn.Module):
    def forward(self, a, b):
        return a * b
class Minus(torch.nn.Module):
    def forward(self, a, b):
        c = -a
        return c - b
class Abs(torch.nn.Module):
    def forward(self, a, b):
        return a.abs() // b
class Column(torch.nn.Module):
    def forward(self, a, b):
        return (a + b).sum(0, dtype=a.dtype)
class Row(torch.nn.Module):
    def forward(self, a, b):
        return a.prod(1, dtype=a.dtype).cumsum(0, dtype=a.dtype) + b[:, 0]
EOF
    # fits MODEL TYPE A B, wraps MODEL TYPE A B OPERATION [LINE]: two rows of two; LINE is the text of the line that is named
    one() { tc-run "$1" --input "a=2x2x$2=$3" --input "b=2x2x$2=$4" "${@:5}"; }
    made() {
        [ -e "$1-$2.pt2" ] && return
        tc-export m.py:$1 --input a=Bx2x$2 --input b=Bx2x$2 -o m.pt2
        tc-compile m.pt2 --sanitize overflow --require code -o $1-$2.pt2
    }
    fits() {
        made "$1" "$2"
        one $1-$2.pt2 "$2" "$3" "$4" --stance force_eager -o want.npy
        one $1-$2.pt2 "$2" "$3" "$4" --expect @want.npy
    }
    wraps() {
        made "$1" "$2"
        run --separate-stderr -3 one $1-$2.pt2 "$2" "$3" "$4" -o x.npy
        [[ $stderr == *"m.py:"*"integer overflow in $5 of $2"* ]] || { echo "$stderr"; false; }
        [ -z "${6-}" ] || [[ $stderr == *"m.py:$(grep -nF "$6" m.py | cut -d: -f1): "* ]] || { echo "$stderr"; false; }
        one $1-$2.pt2 "$2" "$3" "$4" --stance force_eager -o x.npy # the program alone wraps, as PyTorch does
    }
    fits Sum i32 2147483647,1,1,1 0,1,1,1
    wraps Sum i32 2147483647,1,1,1 1,2147483646,1,1 ADD
    wraps Sum i8 1,1,-128,1 1,1,-1,1 ADD
    fits Sum u8 255,1,1,1 1,1,1,1
    fits Mul i64 4294967296,1,1,1 2147483647,1,1,1
    wraps Mul i64 4294967296,1,1,1 2147483648,1,1,1 MUL
    fits Minus i16 32767,0,0,0 1,1,1,1
    wraps Minus i16 -32768,0,0,0 1,1,1,1 NEG "c = -a"
    wraps Minus i16 32767,0,0,0 2,1,1,1 SUB "return c - b"
    fits Abs i32 -2147483647,0,0,0 1,1,1,1
    wraps Abs i32 -2147483648,0,0,0 1,1,1,1 ABS
    fits Column i32 1073741823,0,1073741823,0 0,1,1,0
    wraps Column i32 1073741824,0,1073741824,0 0,0,0,0 sum
    wraps Row i64 4294967296,4294967296,1,1 0,0,0,0 prod
    wraps Row i64 9223372036854775807,1,1,1 0,0,0,0 sum
    # a filter says so too
    tc-compile --op 'full([2,2], 2147483647, dtype=torch.int32)' -o a.pt2
    tc-run a.pt2 -o a.npy
    tc-export m.py:Sum --input a=2x2xi32 --input b=2x2xi32 -o m.pt2
    TC_SANITIZE=overflow tc-compile m.pt2 --to exe -o sum
    run --separate-stderr -3 ./sum a=a.npy b=a.npy
    [[ $stderr == *"an integer overflowed"* ]]
    # off by default
    tc-compile m.pt2 --to c -o off
    run ! grep -i overflow off.c off.h
    tc-compile m.pt2 --to c --sanitize overflow -o on
    grep -q 'tc_overflow(c->fault' on.c
    is sanitize '' default
    TC_SANITIZE=overflow is sanitize overflow TC_SANITIZE
    run -2 tc-compile m.pt2 --sanitize wrap -o x.pt2
}

@test "--relu-nan zero makes NaN a number in relu, in the program itself and its bodies; for numbers the bits stay" {
    cat >m.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x), torch.cond(x[0] > 0, lambda x: x.relu() + 1, lambda x: x + 0, (x,))
EOF
    tc-export m.py:M --input x=5xf32 -o m.pt2
    both() { tc-run "$1" --input "x=5xf32=$2" "${@:3}"; }
    tc-compile m.pt2 -o keep.pt2
    is relu-nan keep default
    both keep.pt2 '1,nan,-3,-0.0,inf' --output 0=@nan.npy --output 1=@/dev/null
    both keep.pt2 '1,0,-3,-0.0,inf' --output 0=@0.npy --output 1=@1.npy
    tc-compile m.pt2 --relu-nan zero -o zero.pt2
    printf 'relu-nan = zero\n' >r.conf
    tc-compile m.pt2 --config r.conf -o again.pt2
    cmp zero.pt2 again.pt2
    for stance in default force_eager; do
        both zero.pt2 '1,nan,-3,-0.0,inf' --stance $stance --expect 0=@0.npy --expect 1=@1.npy
        run -4 both zero.pt2 '1,nan,-3,-0.0,inf' --stance $stance --expect 0=@nan.npy --output 1=@/dev/null
        both zero.pt2 '1,0,-3,-0.0,inf' --stance $stance --expect 0=@0.npy --expect 1=@1.npy
    done
    run -2 tc-compile m.pt2 --relu-nan one -o x.pt2
}
