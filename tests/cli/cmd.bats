# What every program does through cmd/: options, streams, exit codes, signals. Seen in a program that only copies.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    probe=$TC_BUILD/drivers/cmd-probe
    printf 'some bytes\0more' >in
}

@test "copies a file, stdin and a pipe" {
    "$probe" in -o a
    cmp in a
    "$probe" <in >b
    cmp in b
    cat in | "$probe" - --out=c
    cmp in c
}

@test "a pipe above the limit of memory is spooled and read back" {
    archive() { printf 'PK\003\004' && head -c 70000000 /dev/zero | tr '\0' x; } # begins like one: what begins like no file is refused
    archive | "$probe" | cmp - <(archive)
    [ -z "$(find . -name 'tc-spool*')" ]
}

@test "help goes to stdout with exit 0, usage errors to stderr with exit 2" {
    run --separate-stderr "$probe" --help
    [ "$status" -eq 0 ]
    [ "${lines[0]}" = "usage: cmd-probe [OPTION...] [FILE]" ]
    [ -z "$stderr" ]
    run --separate-stderr "$probe" --ot x
    [ "$status" -eq 2 ]
    [ -z "$output" ]
    [ "${stderr_lines[0]}" = "cmd-probe: unknown option --ot; did you mean --out?" ]
    run --separate-stderr "$probe" a b
    [ "$status" -eq 2 ]
    [ "${stderr_lines[0]}" = "cmd-probe: unexpected operand 'b', expected [FILE]" ]
    run --separate-stderr "$probe" -o
    [ "${stderr_lines[0]}" = "cmd-probe: -o needs a value: -o PATH" ]
    run --separate-stderr "$probe" --seed 3
    [ "${stderr_lines[0]}" = "cmd-probe: --seed is an option of other tc programs, not of cmd-probe" ]
    run --separate-stderr "$probe" --quiet=1
    [ "${stderr_lines[0]}" = "cmd-probe: --quiet takes no value, found '1'" ]
}

@test "after -- a word with a dash is an operand" {
    cp in ./-v
    "$probe" -- -v >out
    cmp in out
}

@test "times and choices are read or refused" {
    run --separate-stderr "$probe" --max-time 1:30:00 in -o x
    [ "${lines[0]}" = "5400 seconds" ]
    run --separate-stderr "$probe" --max-time 30m in -o x
    [ "${lines[0]}" = "1800 seconds" ]
    run --separate-stderr "$probe" --max-time soon in -o x
    [ "$status" -eq 2 ]
    run --separate-stderr "$probe" --mode trian in -o x
    [ "$status" -eq 2 ]
    [[ ${stderr_lines[0]} == *"expected one of eval, train; did you mean train?" ]]
}

@test "options that have no effect beside others, or without another, are refused" {
    local refused=(
        "--rtol needs --expect: tc-run in --rtol 1"
        "--trace and --debug-values: tc-run in --trace --debug-values"
        "--out cannot be used with --signature, which runs nothing: tc-run in --signature -o x"
        "--out cannot be used with --output, which says where an output goes: tc-run in --output @y -o x"
        "--select needs --weights: tc-export in --select x"
        "--print and --summary: tc-export in --print --summary"
        "not a source: tc-export mlp.onnx --seed 1"
        "--model chooses a program of an archive: tc-export in.py:A --model x"
        "--mode other: tc-export mlp.onnx --mode other -o x"
        "--mode other: tc-compile mlp.onnx --mode other -o x"
        "no program named other: tc-compile mlp.onnx --model other -o x"
        "--out cannot be used with --print-config, which compiles nothing: tc-compile --print-config -o x"
        "--model cannot be used with --op, which is a program of its own: tc-compile --op relu --model x -o x"
        "--mode other: tc-bench mlp.onnx --mode other"
        "--weights cannot be used with --op, which is a program of its own: tc-bench --op relu --weights x"
        "--compare and --executor: tc-bench in --compare compiled --executor compiled"
        "--repeat cannot be used with --calibrate, which only measures the machine: tc-bench --calibrate --repeat 3"
        "--resume cannot be used with --plot, which only draws the losses of earlier runs: tc-train --plot in --resume"
        "--out is not an option of tc-ckpt ls: tc-ckpt ls in -o x"
        "--cast is not an option of tc-ckpt diff: tc-ckpt diff in in --cast f16"
        "--rtol is not an option of tc-ckpt convert: tc-ckpt convert in --rtol 1 -o x"
    )
    cp "$TC_ROOT/tests/cli/fixtures/labels.onnx" mlp.onnx
    touch in.py
    for r in "${refused[@]}"; do
        fails 2 "${r%: tc-*}" tc-${r##*: tc-}
        [ -z "$output" ] && [ ! -e x ]
    done
}

@test "the format is what --to says, else the suffix; another of the two is refused" {
    printf 'import torch\nclass A(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n' >a.py
    tc-export a.py:A --input x=2xf32 -o a.txt
    tc-export a.py:A --input x=2xf32 --print | cmp - a.txt
    tc-export a.py:A --input x=2xf32 -o a.pt2
    tc-run a.pt2 --input 2xf32=1 -o x.npy
    mkdir folder
    fails 2 "--to onnx does not fit the name b.pt2, which is of pt2" tc-export a.pt2 --to onnx -o b.pt2
    fails 2 "--to so does not fit the name b.pt2" tc-compile a.pt2 --to so -o b.pt2
    fails 2 "--to npz does not fit the name b.npy" tc-run a.pt2 --input 2xf32=1 --to npz -o b.npy
    fails 2 "--to csv does not fit the name b.json" tc-bench a.pt2 --to csv -o b.json
    fails 2 "--to npz does not fit the name b.bin, which is of pt" tc-ckpt convert x.npy --to npz -o b.bin
    fails 2 "--to npz writes a file, -o folder is a folder" tc-ckpt convert x.npy --to npz -o folder
    fails 2 "--shard-size needs --to hf" tc-ckpt convert x.npy --shard-size 3 -o b.pt
    fails 2 "b.so: this program writes no .so; its formats are pt2, dot, text, onnx (--to)" tc-export a.pt2 -o b.so
    fails 2 "b.pt: this program writes no .pt; its formats are npy, " tc-run a.pt2 --input 2xf32=1 --output out.0=@b.pt
    fails 2 "b.pt2: this program writes no .pt2; its formats are safetensors, " tc-ckpt convert x.npy -o b.pt2
    [ -z "$(find . -name 'b.*')" ]
    tc-ckpt convert x.npy --to safetensors -o c.pt2 # whoever asks for it gets it
    tc-ckpt ls c.pt2 | grep -q 'tensor$'
}

@test "two claims on stdin are named" {
    run --separate-stderr "$probe" --input @- <in
    [ "$status" -eq 2 ]
    [ "${stderr_lines[0]}" = "cmd-probe: both the program and --input x read stdin" ]
}

@test "empty stdin is exit 3" {
    run --separate-stderr "$probe" </dev/null
    [ "$status" -eq 3 ]
    [ "${stderr_lines[0]}" = "cmd-probe: stdin: nothing arrived for the program: did the command before fail?" ]
}

@test "a full disk and a closed stdout are exit 1" {
    run --separate-stderr bash -c "'$probe' in >/dev/full"
    [ "$status" -eq 1 ]
    run --separate-stderr bash -c "'$probe' --help >/dev/full"
    [ "$status" -eq 1 ]
    run --separate-stderr bash -c "'$probe' in >&-"
    [ "$status" -eq 1 ]
}

@test "a closed pipe ends silently" {
    head -c 1000000 /dev/zero >big
    run --separate-stderr bash -c "'$probe' big | head -c 1 >/dev/null; exit \${PIPESTATUS[0]}"
    [ "$status" -eq 141 ]
    [ -z "$stderr" ]
    mkfifo p
    for program in tc-{export,train,compile,run,bench,ckpt}; do
        run --separate-stderr bash -c "trap '' PIPE; exec 8<>p 9>p 8<&-; exec $program --version >&9" # nobody reads
        [ "$status" -eq 141 ]
        [ -z "$stderr" ]
    done
    run bash -c "exec 8<>p 9>p 8<&-; exec '$probe' --time big 2>&9 | cmp - big && exit \${PIPESTATUS[0]}" # nor the messages of one that is read
    [ "$status" -eq 0 ]
}

@test "a truncated mapped file is exit 3 naming it" {
    head -c 100000 /dev/zero >victim
    run --separate-stderr "$probe" --trace victim
    [ "$status" -eq 3 ]
    [[ ${stderr_lines[0]} == *"/victim: shorter than when it was opened"* ]]
}

@test "a failed write leaves the old file and nothing beside it" {
    echo old >out
    run --separate-stderr bash -c "set -o pipefail; ulimit -f 1; head -c 100000 /dev/zero | '$probe' -o out"
    [ "$status" -eq 1 ]
    [[ "$stderr" == "cmd-probe: "*"out"*": File too large" ]]
    [ "$(cat out)" = old ]
    [ -z "$(find . -name '.out*')" ]
}

@test "a name as long as the file system takes can be written" {
    name=$(head -c 255 /dev/zero | tr '\0' n)
    echo text | "$probe" -o "$name"
    [ "$(cat "$name")" = text ]
    [ "$(ls -A | grep -c nnn)" -eq 1 ]
}

@test "an empty name, of an unset variable of the shell, is named" {
    run --separate-stderr "$probe" -o ''
    [ "$status" -eq 2 ]
    [[ "$stderr" == "cmd-probe: --out: an empty name, expected PATH: is a variable of the shell unset?"* ]]
    run --separate-stderr "$probe" ''
    [ "$status" -eq 2 ]
    [[ "$stderr" == "cmd-probe: operand 1 is empty: is a variable of the shell unset?"* ]]
}

@test "variables that hold no number, or none in range, are usage errors of every program; so is a topic of none in TC_LOG" {
    for pair in TC_NUM_THREADS=abc TC_NUM_THREADS=0 TC_NUM_THREADS=2,1 TC_CC_SECONDS=10m TC_CC_MEMORY=-1 TC_CACHE_SIZE=1e9 TC_DIST_TIMEOUT=0; do
        run --separate-stderr env $pair "$probe" -o out <<<text
        [ "$status" -eq 2 ]
        [[ "$stderr" == "cmd-probe: ${pair%%=*} '${pair#*=}': expected "* ]]
    done
    TC_NUM_THREADS= TC_DIST_TIMEOUT=2.5 TC_LOG= "$probe" -o out <<<text
    TC_LOG=guards,fusions run --separate-stderr "$probe" -o out <<<text
    [ "$status" -eq 2 ]
    [[ "$stderr" == "cmd-probe: TC_LOG guards,fusions: no such topic, expected one of guards, shapes, "*", sdpa"* ]]
    TC_LOG=guards,fusion "$probe" -o out <<<text
    TC_LOG=none TC_NUM_THREADS=x "$probe" --help >out
}

@test "a signal that ends a program removes what it was writing" {
    printf 'import torch\nclass A(torch.nn.Module):\n    def forward(self, x):\n        return x + 1\n' >a.py
    tc-export a.py:A --input x=2xf32 -o a.pt2
    tc-run a.pt2 --input 2xf32=1 -o x.npy
    mkfifo p
    ulimit -c 0
    for s in INT TERM HUP QUIT USR1 USR2 XCPU ALRM; do
        env --default-signal tc-run a.pt2 --input x=@- -o out.npy <p 3>&- & # a shell lets what it starts so ignore INT and QUIT
        exec 9>p
        cat x.npy >&9
        until [ -n "$(find . -name '.out.npy*' -size +0)" ]; do sleep 0.01; done # the first record is there
        kill -$s $!
        status=0
        wait $! || status=$?
        exec 9>&-
        [ "$status" -eq $((128 + $(kill -l $s))) ]
        [ -z "$(find . -name '*out.npy*')" ]
    done
}

@test "--json gives errors as one JSON line" {
    run --separate-stderr "$probe" --json absent
    [ "$status" -eq 1 ]
    [ "$stderr" = '{"program": "cmd-probe", "error": "environment", "code": 1, "message": "reading the program: absent: cannot open: No such file or directory", "help": "the name is misspelt, or relative to another folder than this one: ls shows what is here"}' ]
}

@test "control bytes of a file name are shown as \\xNN" {
    run --separate-stderr "$probe" $'a\e[31m'
    [ "${stderr%%$'\n'*}" = 'cmd-probe: reading the program: a\x1b[31m: cannot open: No such file or directory' ]
}

@test "a stripped program has at most 6 MB" {
    if grep -q __asan_init "$TC_BUILD/bin/tc-run"; then skip "a sanitizer's checks are not ours"; fi
    if readelf -p .comment "$TC_BUILD/bin/tc-run" | grep -q clang; then skip "the size is that of the default compiler"; fi
    for tool in export train compile run bench ckpt; do
        strip -o "$BATS_TEST_TMPDIR/stripped" "$TC_BUILD/bin/tc-$tool"
        size=$(stat -c %s "$BATS_TEST_TMPDIR/stripped")
        echo "tc-$tool: $size bytes"
        [ "$size" -le 6000000 ]
    done
}

@test "a program in C is built from what make install leaves with the flags of tc.pc" {
    if nm "$TC_BUILD/bin/tc-run" | grep -qE '__(asan|tsan)_init'; then skip "sanitised objects"; fi
    env -u MAKEFLAGS -u MFLAGS make -s -C "$TC_ROOT" install TC_NO_DEPS=1 BUILD="$TC_BUILD" PREFIX="$PWD/p"
    flag() { sed -n "s/^$1: //p" p/lib/pkgconfig/tc.pc | sed "s|\${libdir}|$PWD/p/lib|; s|\${includedir}|$PWD/p/include|"; }
    cat >p.c <<'END'
#include <stdio.h>
#include <tc.h>
int main(void) {
    tc_model *m;
    tc_failure *f = tc_model_open("none.pt2", NULL, 1, &m);
    printf("%d\n", tc_failure_code(f));
    tc_failure_release(f);
    return 0;
}
END
    cc -std=c11 $(flag Cflags) p.c -o prog $(flag Libs)
    [ "$(./prog)" = 1 ]
    env -u MAKEFLAGS -u MFLAGS make -s -C "$TC_ROOT" uninstall BUILD="$TC_BUILD" PREFIX="$PWD/p"
    [ -z "$(find p -type f)" ]
}

# bats test_tags=slow
@test "a Debian package holds programs that run from where it is unpacked, and names the packages of their libraries" {
    command -v dpkg-deb >/dev/null || skip "no dpkg-deb"
    if nm "$TC_BUILD/bin/tc-run" | grep -qE '__(asan|tsan)_init'; then skip "sanitised objects"; fi
    env -u MAKEFLAGS -u MFLAGS make -s -C "$TC_ROOT" deb TC_NO_DEPS=1 DEB_LEVEL=1 BUILD="$TC_BUILD" >sizes
    deb=$(echo "$TC_BUILD"/tc-tools_*.deb)
    dpkg-deb -x "$deb" at
    [ "$(at/usr/bin/tc-run -V | head -n 1)" = "$(tc-run -V | head -n 1)" ]
    at/usr/bin/tc-bench --op 'linalg_inv(f32[2,2])' --repeat 1 >/dev/null # opens what is in usr/lib
    for name in usr/include/tc.h usr/lib/libtc.a usr/lib/pkgconfig/tc.pc usr/share/man/man7/tc-intro.7.gz; do [ -s at/$name ]; done
    depends=$(dpkg-deb -f "$deb" Depends)
    [[ "$depends" =~ ^"libc6 (>= 2."[0-9]+")" ]]
    for lib in libsodium23 libyaml-0-2 zlib1g libpng16-16; do [[ "$depends, " == *", $lib, "* ]]; done
    [[ "$(dpkg-deb -f "$deb" Recommends)" == "gcc | clang, libc6-dev"* ]]
    grep -q ' bin/tc-ckpt$' sizes
    [ ! -e "$TC_BUILD/deb" ]
    rm "$deb"
}

@test "a long page that a full disk loses in its first blocks is exit 1, of every program" {
    for t in tc-export tc-train tc-compile tc-run tc-bench tc-ckpt; do
        run --separate-stderr bash -c "$t --help >/dev/full"
        [ "$status" -eq 1 ] || { echo "$t: $status"; return 1; }
        [ "${stderr%%$'\n'*}" = "$t: stdout: cannot write: No space left on device" ]
    done
}

@test "a usage error is JSON wherever --json stands" {
    for words in "--json --no-such" "--no-such --json" "--json -o"; do
        run --separate-stderr tc-run $words
        [ "$status" -eq 2 ]
        [[ "$stderr" == '{"program": "tc-run", "error": "usage", "code": 2, '* ]] || { echo "$words: $stderr"; return 1; }
    done
}

@test "every topic of tc-intro(7) is logged: as text, as JSON, in a folder by --log-dir" {
    scratch
    cat >m.py <<'PY'
import torch.nn as nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 64)

    def forward(self, x):
        return self.a(x).relu()
PY
    printf 'x,y\n1,2\n3,4\n' >t.csv
    cat >r.yaml <<'YAML'
data: {csv: t.csv, columns: [x], target: y, val: {limit: 1}}
batch: 2
steps: 2
model: l.py:L
input: input=Bx1xf32
loss: (out[:, 0] - y).pow(2).mean()
optimizer: torch.optim.SGD(m.parameters(), lr=0.1, momentum=0.5)
YAML
    printf 'import torch.nn as nn\n\n\nclass L(nn.Linear):\n    def __init__(self):\n        super().__init__(1, 1)\n' >l.py
    unset TC_LOG
    tc-export m.py:M --input x=Bx64xf32 --split 2 --log-dir d -o s.pt2
    tc-export m.py:M --input x=Bx64xf32 --joint --partition save-all --log-dir d/j -o j.pt2
    tc-export m.py:M --input x=Bx64xf32 -o m.pt2
    tc-compile m.pt2 --quantize w8a16 --tune 1 --variants B=2 --log-dir d -o c.pt2
    tc-run c.pt2 --input x=3x64xf32=1 --stance eager_on_recompile --log-dir d >/dev/null 2>err
    tc-bench m.pt2 --repeat 1 --log-dir d >/dev/null
    tc-train -q r.yaml --log-dir d >/dev/null
    mv d/j/tc-export.partition.jsonl d
    for program in export train compile run bench; do
        for topic in $(tc-$program --log none 2>&1 | sed -n 's/.*expected one of //p' | tr -d ,); do
            awk -v p=tc-$program -v t=$topic '$1 == ".It" {on = $2 == p} on && index($0, t) {found = 1} END {exit !found}' "$TC_ROOT/man/tc-intro.7" ||
                { echo "tc-intro(7) lacks $program $topic"; return 1; }
            [ $topic = recompiles ] && ! [ -s d/tc-run.recompiles.jsonl ] && continue # a variant for all sizes was there
            grep -q "^{\"program\": \"tc-$program\", \"topic\": \"$topic\", \"line\": \".*\"}\$" d/tc-$program.$topic.jsonl ||
                { echo "nothing of $program $topic"; ls d; return 1; }
        done
    done
    tc-compile m.pt2 --log fusion -o c.pt2 2>text
    tc-compile m.pt2 --log fusion --json -o c.pt2 2>json
    tc-compile m.pt2 --log fusion --log-dir one -o c.pt2 2>none
    cmp json one/tc-compile.fusion.jsonl
    [ ! -s none ] && [ "$(ls one)" = tc-compile.fusion.jsonl ]
    [ "$(sed 's/.*"line": "\(.*\)"}$/\1/' json)" = "$(cat text)" ]
    fails 1 "m.pt2: cannot" tc-compile m.pt2 --log-dir m.pt2 -o c.pt2
}
