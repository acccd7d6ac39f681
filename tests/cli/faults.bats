# Faults: full and broken disks, files that cannot be opened, interrupted calls, no memory, signals at any moment: exit 1 with one message, the old
# file or the new one whole, nothing beside it. fixtures/fail.c makes the faults.
load common

setup() {
    if nm "$TC_BUILD/bin/tc-run" | grep -qE '__(asan|tsan)_init'; then skip "a sanitizer has its own of these calls"; fi
    scratch
    "${CC:-cc}" -shared -fPIC -o fail.so "$BATS_TEST_DIRNAME/fixtures/fail.c" -ldl
    cat >m.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, x):
        return self.l(x).relu()


class Data(nn.Module):
    def forward(self):
        return {"x": torch.ones(2, 4)}
PY
    cat >r.yaml <<'YAML'
model: m.py:M
input: x=2x4xf32
data: {safetensors: x.safetensors}
batch: 2
steps: 2
loss: out.sum()
optimizer: torch.optim.SGD(m.parameters(), lr=0.1)
checkpoint: {every: 1}
YAML
    tc-export m.py:Data | tc-run - -o x.safetensors
    tc-export m.py:M --input x=2x4xf32 -o m.pt2
    tc-train -q --threads 1 r.yaml -o run
}

faulty() { # CALL N [SIGNAL] COMMAND...: fails (or gets the signal) in its Nth CALL, with which the file done appears
    local -x FAIL_CALL=$1 FAIL_AT=$2 FAIL_DONE=done
    shift 2
    case $1 in [0-9]*) local -x FAIL_SIGNAL=$1 && shift ;; esac
    [ ! -e done ] || rm done
    LD_PRELOAD=$PWD/fail.so "$@"
}

writers=(
    'tc-export m.py:M --threads 1 --input x=2x4xf32 -o out.pt2'
    'tc-run m.pt2 --threads 1 --input x=@x.safetensors -o out.npy'
    'tc-compile m.pt2 --threads 1 -o out.c'
    'tc-export m.pt2 --threads 1 --store-weights extern -o out.pt2'
    'tc-export m.pt2 --threads 1 --store-weights extern -o out.onnx'
    'tc-ckpt convert m.pt2 -o out.safetensors'
    'tc-ckpt consolidate run -o out.pt'
    'tc-ckpt reshard run --mesh 2 -o out'
)

# bats test_tags=slow
@test "a call that fails, whichever it is, is exit 1 and one error; the old file stays, or the new one is whole" {
    local command call at out new failed whole left lines
    shopt -s nullglob # and few commands: there are some 1500 rounds
    echo old >old
    for command in "${writers[@]}"; do
        out=${command##* }
        rm -rf out*
        $command
        mkdir new && mv out* new
        whole=(new/*)
        for call in open read write fsync close rename mkdir stat readdir mmap; do
            for ((at = 1; at < 200; at++)); do
                rm -rf out* .out*
                [ "$out" = out ] || for new in "${whole[@]}"; do echo old >"${new#new/}"; done
                status=0
                faulty $call $at $command >/dev/null 2>err || status=$?
                [ -e done ] || break
                if [ "$status" -ne 0 ]; then
                    failed+=" $call"
                    mapfile -t lines <err
                    [ "$status" -eq 1 ] && [ "${#lines[@]}" -le 2 ] && [[ "${lines[1]-}" != tc-* ]] || { echo "$command, $call $at: exit $status:" "${lines[@]}"; return 1; }
                fi
                for new in "${whole[@]#new/}"; do
                    [ "$status" -ne 0 ] && [ "$out" = out ] && [ ! -e out ] && continue
                    [ "$status" -ne 0 ] && [ "$out" != out ] && cmp -s "$new" old && continue
                    [ "$status" -eq 0 ] || [ "$call" != write ] || { echo "$command, $call $at: $new is new, what belongs to it is not"; return 1; }
                    diff -r "new/$new" "$new" || { echo "$command, $call $at: exit $status: $new"; return 1; }
                done
                left=(out* .*out*)
                [ "${#left[@]}" -le "${#whole[@]}" ] || { echo "$command, $call $at: ${left[*]}"; return 1; }
            done
            [ "$at" -lt 200 ]
        done
        rm -rf new out*
    done
    for call in open write fsync close rename mkdir stat readdir mmap; do [[ "$failed " == *" $call "* ]] || { echo "$call never failed"; return 1; }; done
}

# bats test_tags=slow
@test "a signal in any call leaves no temporary file or folder" {
    local command call at out signal left
    shopt -s nullglob
    for command in "${writers[@]}"; do
        out=${command##* }
        for call in open write fsync close rename; do
            for ((at = 1; at < 200; at++)); do
                rm -rf out*
                signal=$((at % 2 ? 15 : 13)) status=0
                faulty $call $at $signal $command >text 2>&1 || status=$?
                [ -e done ] || break
                [ "$status" -eq $((128 + signal)) ] || { echo "$command, $call $at: exit $status: $(<text)"; return 1; }
                left=(.*out* out*/.*out*)
                [ "${#left[@]}" -eq 0 ] || { echo "$command, $call $at: ${left[*]}"; return 1; }
            done
            [ "$at" -lt 200 ]
        done
    done
}

@test "reads and writes of one byte, and interrupted ones, change nothing" {
    local command out
    for command in "${writers[@]}"; do
        out=${command##* }
        rm -rf want out*
        $command
        mv "$out" want
        env LD_PRELOAD="$PWD/fail.so" FAIL_CALL=short $command
        diff -r want "$out"
    done
    env LD_PRELOAD="$PWD/fail.so" FAIL_CALL=short tc-run m.pt2 --input x=@- <x.safetensors >y.npy
    tc-run m.pt2 --input x=@x.safetensors --expect @y.npy
}

@test "where no thread can be started one does the work, to the same bits; the model language says that it needs one" {
    tc-run m.pt2 --input x=@x.safetensors -o want.npy
    faulty thread 1 tc-run m.pt2 --threads 3 --input x=@x.safetensors --expect @want.npy 2>said
    [ "$(cat said)" = "tc-run: cannot start thread 2 of 3: Resource temporarily unavailable; running on one thread" ]
    faulty thread 1 tc-compile -q m.pt2 --threads 3 -o c.pt2
    tc-run c.pt2 --input x=@x.safetensors --stance=fail_on_recompile --expect @want.npy
    faulty thread 1 tc-train -q --threads 3 r.yaml -o one
    cmp run/step-2/shard-00001-model-00001-of-00001.safetensors one/step-2/shard-00001-model-00001-of-00001.safetensors
    for ((at = 2; at < 200; at++)); do
        rm -rf out
        run --separate-stderr faulty thread $at tc-train --threads 1 r.yaml -o out
        [ -e done ] || break
        [ "$status" -eq 0 ] || [[ "$status" -eq 1 && "$stderr" == *thread* ]] || { echo "thread $at: exit $status: $stderr"; return 1; }
    done
    [ "$at" -lt 200 ]
}

@test "a checkpoint that cannot be read is not a damaged one: verify and --resume end with exit 1, none is passed over or removed" {
    local call at before found=
    tc-export m.pt2 --store-weights extern -o weights-outside.pt2
    before=$(find run -name '*.safetensors' -exec cat {} + | cksum)
    for call in open stat readdir mmap; do
        for ((at = 1; at < 200; at++)); do
            run --separate-stderr faulty $call $at tc-ckpt verify run
            [ -e done ] || break
            [ "$status" -eq 1 ] || { [ "$status" -eq 0 ] && [ "${#lines[@]}" -eq 2 ]; } || { echo "$call $at: exit $status: $output $stderr"; return 1; }
            run --separate-stderr faulty $call $at tc-train --threads 1 --resume r.yaml -o run
            [ "$status" -eq 1 ] || [[ "$status$stderr" == 0*"going on from run/step-2"* ]] || { echo "$call $at: exit $status: $stderr"; return 1; }
            [[ "$stderr" != *"not used"* ]]
            found+=$status
            [ "$call" = stat ] || continue
            run --separate-stderr faulty stat $at tc-ckpt verify weights-outside.pt2
            [ "$status" -eq 1 ] || [[ "$status$output" == 0*" 2 weights in weights-outside.safetensors" ]] || { echo "stat $at: exit $status: $output"; return 1; }
        done
    done
    [[ "$found" == *1*0* ]]
    [ "$(find run -name '*.safetensors' -exec cat {} + | cksum)" = "$before" ]
}

@test "run/latest names the checkpoint that a run went on from, also where one was killed before it did" {
    for ((at = 1; at < 200; at++)); do # killed in every rename of a run
        rm -rf again
        run faulty rename $at 9 tc-train -q --threads 1 r.yaml -o again
        [ -e done ] || break
        tc-train -q --threads 1 --resume r.yaml -o again
        [ "$(readlink again/latest)" = step-2 ]
        diff -r --exclude=environment --exclude=metrics.jsonl run again
    done
    [ "$at" -gt 8 ]
}

without_memory() { # AT COMMAND...: the ATth allocation of a writer fails; false where it made fewer
    rm -rf out*
    run --separate-stderr faulty malloc "$@"
    [ "$status" -ne 0 ] || return 1
    failed=$((failed + 1))
    [ "$status" -eq 1 ] && [[ "$stderr" == *memory* || "$stderr" == *allocate* || "$stderr" == *thread* ]] && [ "${#stderr_lines[@]}" -eq 1 ] ||
        { echo "allocation $*: exit $status: $stderr"; exit 1; }
    [ "$(ls -A | grep -c '^[.]*out')" -eq 0 ] || { echo "allocation $*:"; ls -A | grep '^[.]*out'; exit 1; }
}

# bats test_tags=slow
@test "the records of a stream allocate nothing once the first ones have run" {
    tc-run m.pt2 --input x=2x4xf32=1 -o x.npy # a record that fits the input
    cp x.npy records.npy
    for i in $(seq 11); do cat records.npy records.npy >twice.npy && mv twice.npy records.npy; done
    for input in @records.npy @-; do
        faulty malloc 1500 tc-run m.pt2 --threads 1 --input x="$input" -o out.npy <records.npy
        [ ! -e done ] # fewer calls than records
        [ "$(stat -c %s out.npy)" = "$(stat -c %s records.npy)" ]
    done
}

@test "an output that is a loop of symbolic links is told as one" {
    ln -s loop loop
    for command in 'tc-run m.pt2 --input x=2x4xf32=1' 'tc-export m.py:M --input x=2x4xf32' 'tc-ckpt convert x.safetensors --to hf'; do
        run --separate-stderr $command -o loop
        [ "$status" -eq 1 ]
        [[ "$stderr" == *"loop: cannot "*": Too many levels of symbolic links" ]]
        [ -L loop ]
    done
}

# bats test_tags=slow
@test "an allocation that fails, whichever it is, ends a program with exit 1, one line and no file" {
    local command at last failed
    for command in "${writers[@]}"; do
        failed=0
        for last in $(seq 30 13 400); do without_memory "$last" $command || break; done
        [ "$failed" -gt 3 ]
        for at in $(seq $((last - 12)) $((last - 1))); do without_memory "$at" $command || break; done # the last ones, each
    done
    for at in $(seq 1 7 200); do # in the reader of recipes too
        run --separate-stderr faulty malloc "$at" tc-train -q --threads 1 r.yaml nothing=1
        [[ "$status" -eq 2 && "$stderr" == *nothing* ]] || [[ "$status" -eq 1 && "$stderr" == *memory* ]] || { echo "allocation $at: exit $status: $stderr"; return 1; }
    done
}
