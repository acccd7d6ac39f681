# --profile of tc-run and tc-train, --stats of all: where the time goes.
load common
load softmax_model

setup() {
    cd "$BATS_TEST_TMPDIR"
    softmax_model
    cat >>m.py <<'PY'
class Loop(nn.Module):
    def forward(self, x):
        def again(i, y):
            return i < 5
        def body(i, y):
            return i + 1, (y * 2).cumsum(0).relu()
        return torch.while_loop(again, body, (torch.tensor(0), x))[1]
PY
    tc-export m.py:M --input x=Bx16xf32 -o m.pt2
    tc-run m.pt2 --input 3x16xf32=1 -o /dev/null
    printf '%s\n' "import torch" "class Id(torch.nn.Module):" "    def forward(self, x):" "        return x * 1" >id.py
    tc-export id.py:Id --input x=Bx16xf32 -o id.pt2
    tc-run id.pt2 --input 3x16xf32=1 -o one.npy
    for i in 1 2 3 4 5 6 7; do cat one.npy; done >seven.npy
}

# The rows of one table of a profile: rows FILE NAME. The first column is time, the second percent; the last line is their sum.
rows() { awk -v name="$2:" '$0 == name { on = 1; getline; next } /:$/ { on = 0 } on' "$1"; }

@test "tc-run --profile: a table by group, operators and source line whose rows together are the time of the records" {
    tc-run m.pt2 --input @seven.npy --profile p.txt -o y.npy
    head -1 p.txt | grep -qE '^machine: [0-9.]+ GFLOP/s, [0-9.]+ GB/s$'
    grep -q '^m.pt2, 7 of 7 records: ' p.txt
    for t in groups "by operators" "by source line"; do
        rows p.txt "$t" | awk '{ if ($NF == "all") { whole = $1; percent = $2 } else sum += $1 }
            END { exit !(percent == 100 && sum > 0.97 * whole && sum < 1.03 * whole) }'
    done
    rows p.txt groups | grep -qE ' 7 .* m\.py:7 +aten\.addmm'
    rows p.txt "by operators" | grep -q '(reading inputs)$'
    rows p.txt "by operators" | grep -q '(writing results)$'
}

@test "where an archive of PyTorch names no lines, profiles and values name modules" {
    # no-lines.pt2: nn.ModuleList([nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2)]) by torch.export, without meta["stack_trace"]
    run -0 --separate-stderr tc-run "$TC_ROOT/tests/cli/fixtures/no-lines.pt2" --input x=3x4xf32=1 --profile p.txt -o y.npy
    rows p.txt groups | grep -qE ' parts\.0, parts\.1 +aten\.addmm\.default \+ aten\.relu'
    rows p.txt "by source line" | grep -qE ' parts\.2$'
    run -0 --separate-stderr tc-run "$TC_ROOT/tests/cli/fixtures/no-lines.pt2" --input x=3x4xf32=1 --debug-values -o y.npy
    [[ "$stderr" == *"mean "*"  parts.1"*"  parts.2" ]]
}

@test "--profile: what is copied for a view or a kernel has the line of either" {
    cat >copies.py <<'PY'
import torch
class C(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(12, 36)
        self.o = torch.nn.Linear(12, 3)
    def forward(self, x):
        q, k, v = self.l(x).view(2, 5, 3, 3, 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(2, 5, 12)
        return self.o(y)
PY
    tc-export copies.py:C --input x=2x5x12xf32 -o copies.pt2
    tc-run copies.pt2 --input x=2x5x12xf32=1 --profile p.txt -o y.npy
    rows p.txt groups | grep -E 'copy' >copies
    grep -q 'copies.py:10 .*copy' copies
    run ! grep -E ' - +copy' copies
}

@test "tc-run --profile: --skip-first and --wait choose the records, --unit the unit; outputs are the same bits" {
    tc-run m.pt2 --input @seven.npy -o plain.npy
    tc-run m.pt2 --input @seven.npy --profile p.txt --skip-first 2 --wait 1 --unit ms -o y.npy
    cmp plain.npy y.npy
    grep -q '^m.pt2, 2 of 7 records: [0-9.]* ms$' p.txt # the fourth and the sixth
    rows p.txt groups | grep -qE ' 2 .* m\.py:7 +aten\.addmm'
    tc-run m.pt2 --input @seven.npy --profile p.txt --skip-first 9 -o y.npy
    grep -q '^m.pt2, 0 of 7 records' p.txt
    fails 2 "ns, us, ms" tc-run m.pt2 --input @one.npy --profile p.txt --unit hours
    fails 2 "--wait needs --profile" tc-run m.pt2 --input @one.npy --wait 1 -o y.npy
    fails 2 "--unit needs --profile" tc-bench m.pt2 --unit ms
    fails 2 "stdout is for what tc-run gives" tc-run m.pt2 --input @one.npy --profile - -o y.npy
    fails 2 "expected where the profile goes" tc-run m.pt2 --input @one.npy --profile m.pt2 -o y.npy
    fails 2 "--trace cannot be used with --profile" tc-run m.pt2 --input @one.npy --profile p.txt --trace -o y.npy
    fails 1 "no/p.json" tc-run m.pt2 --input @one.npy --profile no/p.json -o y.npy
}

@test "tc-run --profile: the trace holds every record's groups with memory, names that are not ASCII, and only the named file is made" {
    cp m.pt2 "größe.pt2"
    tc-run größe.pt2 --input @seven.npy --profile t.json -o y.npy
    [ "$(head -1 t.json)" = '{"traceEvents": [' ]
    [ "$(tail -1 t.json)" = ']}' ]
    grep -q '"name": "größe.pt2"' t.json
    [ "$(grep -c '"operators": "aten.addmm.default", "source": "m.py:7"' t.json)" -eq 7 ]
    [ "$(grep -c '"name": "resident memory", "ph": "C"' t.json)" -eq 7 ]
    [ "$(ls -A | grep -c 't\.json')" -eq 1 ]
    printf 'none of it' >broken.npy
    fails 3 "broken.npy" tc-run m.pt2 --input @broken.npy --profile u.json -o y.npy
    [ ! -e u.json ]
}

@test "tc-run --profile: groups of a loop's body count once" {
    tc-export m.py:Loop --input x=100000xf32 -o loop.pt2
    tc-run loop.pt2 --input 100000xf32=1 --profile p.txt --profile t.json -o /dev/null
    rows p.txt "by operators" | grep -qE ' 5 .*cumsum'
    # in the trace the loop's slice spans what runs in it, which the table does not count again
    [ "$(grep -c "\"name\": \"[a-z_.]*while_loop" t.json)" -eq 1 ]
    slice=$(sed -n 's/.*while_loop.*"dur": \([0-9.]*\),.*/\1/p' t.json)
    rows p.txt "by operators" | awk -v slice="$slice" '/while_loop|cumsum/ { own += $1; n++ } END { exit !(n == 2 && own <= slice + 1) }'
}

@test "tc-run --signature runs nothing and refuses what looks at a run" {
    for o in "--profile p.txt" --trace --debug-values "--check nan" "--profile-shapes s.txt"; do fails 2 "${o%% *} cannot be used with --signature, which runs nothing" tc-run m.pt2 --signature $o; done
    [ ! -e p.txt ] && [ ! -e s.txt ]
}

@test "--stats says where the time went, of every program; waiting for a pipe is reading" {
    tc-run m.pt2 --input @seven.npy --stats -o y.npy 2>err
    for what in "reading the program" planning "reading inputs" running "writing results" other; do grep -qE "^tc-run: +[0-9.]+ s  $what\$" err; done
    mkfifo pipe # what writes to it begins to wait when it is opened for reading
    { sleep 0.5; cat seven.npy; } >pipe &
    tc-run m.pt2 --input @pipe --stats --json -o y.npy 2>err
    grep -q '^{"stats": {' err
    awk -F'"reading inputs": ' '{ split($2, a, ","); exit !(a[1] > 0.45) }' err
    { sleep 0.5; cat m.pt2; } >pipe &
    tc-compile pipe --stats -o c.pt2 2>err
    awk '/reading/ { sum += $2 } END { exit !(sum > 0.45) }' err
    grep -qE 'the C compiler|from the cache' err
    tc-export m.py:M --input x=Bx16xf32 --stats -o n.pt2 2>err
    grep -q 'capturing$' err
    tc-bench m.pt2 --stats --repeat 30 --warmup 2 --compare compiled,interpreted 2>err >/dev/null
    for phase in "reading the program" "planning and compiling" running; do grep -qE "s  $phase\$" err; done
    tc-ckpt ls m.pt2 --stats 2>err >/dev/null
    grep -q ' other$' err
}

recipe() {
    cat >r.yaml <<'YAML'
model: m.py:M
input: x=Bx16xf32
data:
  text: text
  as: bytes
  block: 16
  train: {range: [0, 1]}
batch: 4
steps: 6
forward: m(x.float())
loss: (out - 1.0).square().mean()
optimizer: torch.optim.SGD(m.parameters(), lr=0.1)
YAML
    head -c 4000 "$TC_ROOT/tc-train/examples/data/shakespeare.txt" >text
}

@test "tc-train --profile: steps by group and what was done between them" {
    recipe
    tc-train r.yaml -o run --profile p.txt --profile t.json --skip-first 2 --stats 2>err
    grep -q '^r.yaml, 4 of 6 steps: ' p.txt
    rows p.txt groups | grep -q 'm\.py:7'
    rows p.txt "by operators" | grep -q '(reading data)$'
    rows p.txt "by operators" | grep -q '(update)$'
    [ "$(grep -c '"name": "resident memory"' t.json)" -eq 4 ]
    for what in "forward and backward" update "reading data" "writing checkpoints"; do grep -qE "^tc-train: +[0-9.]+ s  $what\$" err; done
    tc-train r.yaml -o plain
    tc-ckpt diff plain/latest run/latest # the same bits
}

@test "tc-train --profile: every rank writes its own" {
    command -v mpirun >/dev/null || skip "no mpirun"
    [ -e "$TC_BUILD/bin/tc-mpi.so" ] || skip "no tc-mpi.so"
    recipe
    ASAN_OPTIONS=detect_leaks=0 mpirun --oversubscribe --bind-to none -n 2 tc-train r.yaml -o run --profile t.json --stats 2>err
    grep -q '"pid": 1' t.json
    grep -q '"pid": 2' t.1.json
    grep -q 'waiting for other ranks' err
}
