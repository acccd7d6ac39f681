# --dump: a pass that leaves a wrong program is named with the node, and what it was given is kept and fails again. TC_FAULT=PASS stands for
# the bug in the pass.
load common

setup() {
    scratch
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.c, self.n = nn.Linear(8, 8), nn.Conv1d(1, 2, 1), nn.BatchNorm1d(2)
    def forward(self, x):
        h = torch.relu(self.a(x)) * 2
        h = self.n(self.c(h.unsqueeze(1)))
        w = torch.softmax(h @ h.transpose(1, 2) * 0.5, -1) @ h
        h.add_(1)
        return {"loss": torch.cat([-w[..., 4:], w[..., :4]], -1).mul(h).sum()}
PY
    tc-export m.py:M --input x=2x8xf32 -o m.pt2
}

# each PASS... -- COMMAND: with a fault in the pass the command ends in one line that names it and a node, and so does tc-export of what it kept,
# which without the fault is a program as good as any.
each() {
    local passes=()
    while [ "$1" != -- ]; do passes+=("$1") && shift; done
    shift
    for pass in "${passes[@]}"; do
        rm -rf kept
        TC_FAULT=$pass run --separate-stderr "$@" --dump=kept
        [ "$status" -eq 3 ] || { echo "$pass: exit $status: $stderr"; return 1; }
        line=$(grep -o 'internal error: .*' <<<"$stderr")
        line=${line% \[TC*\]}
        [[ "$line" == "internal error: the pass $pass leaves a wrong program: "*": "* ]] || { echo "$pass: $stderr"; return 1; }
        grep -qF "$line" kept/crash.txt
        grep -qx "pass that failed: $pass" kept/crash.txt
        grep -q '^program ' kept/crash.graph
        TC_FAULT=$pass run --separate-stderr tc-export kept/crash.pt2 -o again.pt2
        [ "$status" -eq 3 ] && [[ "$stderr" == *"$line" ]] || { echo "$pass again: $stderr, expected $line"; return 1; }
        tc-export kept/crash.pt2 -o again.pt2
        tc-export again.pt2 --print=full >/dev/null
    done
}

@test "a fault in a pass of tc-export is named with pass and node, and happens again" {
    each functionalise dce -- tc-export m.py:M --input x=2x8xf32 -o x.pt2
    each functionalise differentiate joint partition -- tc-export m.pt2 --joint=loss --partition=min-cut -o x.pt2
    each saved-as -- tc-export m.pt2 --joint=loss --saved-as f8e5m2 -o x.pt2
    each jvp -- tc-export m.pt2 --jvp -o x.pt2
    each decompose -- tc-export m.pt2 --decompose=core -o x.pt2
    each split -- tc-export m.pt2 --split=3 -o x.pt2
}

@test "a fault in a pass of tc-run is named with pass and node, and happens again" {
    each functionalise plan sdpa decompose attention norm cse dce fuse epilogue narrow parts -- tc-run m.pt2 --input x=2x8xf32=1 -o y.npy
}

@test "a fault in a pass of tc-compile is named with pass and node, and happens again" {
    each functionalise freeze quantize -- tc-compile m.pt2 --freeze --quantize w8a16 -o x.pt2
    each plan cse fuse -- tc-compile m.pt2 -o x.pt2
}

@test "a fault in a pass of tc-train is named with pass and node, and happens again" {
    cat >lin.py <<'PY'
import torch
class Lin(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(2, 1)
    def forward(self, x):
        return torch.dropout(self.a(x), 0.5, self.training)
PY
    printf '%s\n' a,b,y 1,2,3 4,5,6 >d.csv
    printf '%s\n' 'model: lin.py:Lin' 'input: x=Bx2xf32' 'data: {csv: d.csv, columns: [a, b], target: y}' 'batch: 2' 'steps: 1' \
        'loss: ((out[:, 0] - y) ** 2).mean()' 'optimizer: torch.optim.SGD(groups, lr=0.1)' >r.yaml
    rm -rf run
    each functionalise joint plan cse parts -- tc-train r.yaml -o run
}

@test "a broken invariant leaves the program, the pass and the calls" {
    TC_FAULT='cse!' run --separate-stderr tc-run m.pt2 --input x=2x8xf32=1 --dump=kept -o y.npy
    [ "$status" -eq 134 ]
    [[ "$stderr" == *"internal error: a broken invariant in the pass cse"*"kept/crash.pt2"* ]]
    grep -qx "pass that failed: cse" kept/crash.txt
    TC_FAULT='cse!' run --separate-stderr tc-export kept/crash.pt2 -o again.pt2
    [ "$status" -eq 134 ]
    [[ "$stderr" == *"in the pass cse"* ]]
}

@test "a signal that is no broken invariant of tc's own just ends the program" {
    TC_FAULT='cse?' run --separate-stderr tc-run m.pt2 --input x=2x8xf32=1 --dump=kept -o y.npy
    [ "$status" -eq 134 ]
    [ "$stderr" = "" ]
    [ ! -e kept ]
}

@test "with --dump what is right runs as without, and leaves nothing" {
    tc-run m.pt2 --input x=2x8xf32=1 -o want.npy
    tc-run m.pt2 --input x=2x8xf32=1 --dump=kept --expect @want.npy
    [ ! -e kept ]
    # what --dump keeps, and only that, obeys the variable of the tests
    TC_FAULT=cse tc-run m.pt2 --input x=2x8xf32=1 --expect @want.npy
}

# becomes OLD NEW: crash.pt2 with another text of the same length as what failed, its checksums too.
becomes() {
    sum() { printf -- "$1" | gzip -c | tail -c 8 | head -c 4 | od -An -v -tx1 | tr -d ' \n'; }
    perl -0pe 'BEGIN { ($from, $to, $was, $is) = splice @ARGV, 0, 4; s/\\n/\n/g for $from, $to; $_ = pack "H*", $_ for $was, $is }
        s/\Q$from\E/$to/; s/\Q$was\E/$is/g' -- "$1" "$2" "$(sum "$1")" "$(sum "$2")" kept/crash.pt2 >b.pt2
}

@test "what an archive says failed is not trusted: no file that it names is read, no number that it gives is taken unseen" {
    TC_FAULT=joint run --separate-stderr tc-export m.pt2 --joint=loss --partition=min-cut --dump=kept -o x.pt2
    becomes '--joint=loss\n--partition=min-cut\n' '--joint=loss\n--partition=/etc/fs\n'
    run --separate-stderr tc-export b.pt2 -o x.pt2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"had the option --partition=/etc/fs: give it again"* ]]
    TC_FAULT=cse run --separate-stderr tc-run m.pt2 --input x=2x8xf32=1 --dump=kept -o y.npy
    for bad in 'plan 0 9' 'plan 0-1' 'quantize' 'nothing.'; do
        becomes 'plan 0 0' "$bad"
        run --separate-stderr tc-export b.pt2 -o x.pt2
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"extra/tc/crash: "* ]] || { echo "$bad: $stderr"; return 1; }
    done
}

# pads OLD NEW: NEW with as many empty lines behind it as make it as long as OLD.
pads() {
    local n=$(($(printf -- "$1" | wc -c) - $(printf -- "$2" | wc -c))) text=$2
    while ((n-- > 0)); do text+='\n'; done
    echo "$text"
}

@test "options that an archive says failed are those of passes, with a value where they need one, and give way to the command line's" {
    local all='--joint=loss\n--grad-of=a.weight\n--grad-of=a.bias\n--partition=min-cut\n'
    TC_FAULT=joint run --separate-stderr tc-export m.pt2 --joint=loss --partition=min-cut --grad-of a.weight --grad-of a.bias --dump=kept -o x.pt2
    for bad in '--joint=loss\n--partition' '--joint=loss\n--grad-of' --split --decompose --jvp=3; do
        becomes "$all" "$(pads "$all" "$bad\n")"
        run --separate-stderr tc-export b.pt2 -o x.pt2
        [ "$status" -eq 2 ] || { echo "$bad: exit $status"; return 1; }
        [[ "$stderr" == *"extra/tc/crash: --"*" "*value* ]] || { echo "$bad: $stderr"; return 1; }
    done
    becomes "$all" "$(pads "$all" '--summary=no\n')"
    run --separate-stderr tc-export b.pt2 -o x.pt2
    [ "$status" -eq 3 ] && [[ "$stderr" == *"extra/tc/crash: no pass has the option --summary=no"* ]]
    # the options of later passes are still there when the program that came with them is not
    becomes "$all" "$(pads "$all" '--joint=loss\n--partition=min-cut\n--decompose=core\n--split=2\n')"
    tc-export b.pt2 -o x.pt2
    [ "$(tc-export x.pt2 --print | grep -c '^program ')" -eq 4 ]
    tc-export b.pt2 --split=1 --decompose=none -o x.pt2
    [ "$(tc-export x.pt2 --print | grep -c '^program ')" -eq 2 ]
}
