# tc-compile through real pipes: compiled programs have the interpreter's bits, code is trusted only where it was made, C units build
# with nothing but libc and libm.
load common

setup() {
    oracle=$TC_ROOT/tests/oracle/pt2
    mlp=$oracle/mlp.pt2
    scratch
}

@test "a compiled program gives the bits of the graph, from files and through pipes" {
    tc-run "$mlp" --input x=7x16xf32=0.25 -o want.npy
    tc-compile "$mlp" -o mlp.pt2
    tc-run mlp.pt2 --input x=7x16xf32=0.25 --stance=fail_on_recompile --expect @want.npy
    tc-run mlp.pt2 --input x=7x16xf32=0.25 --stance=force_eager --expect @want.npy
    tc-compile <"$mlp" | tc-run --input x=7x16xf32=0.25 --executor=compiled --expect @want.npy
    for isa in portable avx2; do
        TC_ISA=$isa tc-compile "$mlp" -o $isa.pt2
        TC_ISA=$isa tc-run $isa.pt2 --input x=7x16xf32=0.25 --stance=fail_on_recompile --threads 2 --expect @want.npy
    done
}

@test "both compilers give the same bits" {
    tc-run "$mlp" --input x=3x16xf32=-1.5 -o want.npy
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        tc-compile "$mlp" --cc $cc -o $cc.pt2
        tc-run $cc.pt2 --input x=3x16xf32=-1.5 --stance=fail_on_recompile --expect @want.npy
    done
}

@test "an integer that was a fraction below zero is a float without sign, compiled too" {
    cat >m.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        y, d = x * 0.5, x.double() * 0.5
        return torch.stack([1 / y.int(), 1 / y.long(), y.int().rsqrt(), 1 / y.to(torch.int16), 1 / d.int(), (1 / d.long().double()).float()])
EOF
    tc-export m.py:M --input x=Bxf32 -o m.pt2
    tc-run m.pt2 --input x=5xf32=-0.5,-1.5,0,-2,3 -o want.npy
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        tc-compile m.pt2 --cc $cc -o $cc.pt2
        tc-run $cc.pt2 --input x=5xf32=-0.5,-1.5,0,-2,3 --stance=fail_on_recompile --expect @want.npy
    done
}

@test "the negative of a sum that is 0 has its sign, compiled too" {
    cat >m.py <<'EOF'
import torch
class M(torch.nn.Module):
    def forward(self, x):
        of = [lambda t: -t, lambda t: t * -1, lambda t: t / -1, lambda t: -0.0 - t, lambda t: torch.complex(t, t * 0).neg().real]
        return [f(torch.add(x.to(d)[i], 2, alpha=0.0)) for d in (torch.float32, torch.float64) for i, f in enumerate(of)]
EOF
    tc-export m.py:M --input x=5x3xf32 -o m.pt2
    printf '%s\n' "import torch" "class X(torch.nn.Module):" "    def forward(self):" "        return torch.tensor([-0.0, 0.0, 1.0]).repeat(5, 1)" >x.py
    tc-export x.py:X | tc-run -o x.npy
    TC_STEPS=0 TC_ISA=portable tc-run m.pt2 --input x=@x.npy --to safetensors -o want.safetensors
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        tc-compile m.pt2 --cc $cc -o $cc.pt2
        tc-run $cc.pt2 --input x=@x.npy --stance=fail_on_recompile --to safetensors | cmp - want.safetensors
    done
}

@test "code that this user did not compile is not run" {
    tc-compile "$mlp" -o mlp.pt2
    tc-run "$mlp" --input x=1x16xf32=1 -o want.npy
    export XDG_DATA_HOME=$BATS_TEST_TMPDIR/somebody
    run --separate-stderr tc-run mlp.pt2 --input x=1x16xf32=1 --expect @want.npy
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"this user did not compile it; running the graph instead; tc-compile mlp.pt2 -o MINE.pt2 makes your own"* ]]
    fails 5 "this user did not compile it" tc-run mlp.pt2 --input x=1x16xf32=1 --stance=fail_on_recompile
    tc-run mlp.pt2 --input x=1x16xf32=1 --stance=fail_on_recompile --trust --expect @want.npy
}

@test "a changed byte of the graph takes the code from its group, one of the code from all" {
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x * 2.0 + 1.0)\n' >m.py
    tc-export m.py:M --input x=Nxf32 | tc-compile -q -o c.pt2
    # the archive without checksums, which only tell damage
    perl -0777 -pe 's/(PK\x03\x04.{10}).{4}/$1\0\0\0\0/sg; s/(PK\x01\x02.{12}).{4}/$1\0\0\0\0/sg' c.pt2 >same.pt2
    [[ "$(tc-ckpt verify same.pt2)" == *"(it has no checksums)" ]]
    tc-run same.pt2 -v --input x=2xf32=1,2 -o y.npy 2>said
    grep -q 'serves 1 of 1 groups' said
    perl -0777 -pe 's/"as_float": 2\.0/"as_float": 3.0/' same.pt2 >graph.pt2
    tc-run graph.pt2 -v --input x=2xf32=1,2 -o y.npy 2>said
    grep -q 'serves 0 of 1 groups' said
    [ "$(tail -c 8 y.npy | od -An -tf4 | xargs)" = "4 7" ]
    perl -0777 -pe 's/(\x7fELF.{5})\0/$1\x01/s' same.pt2 >code.pt2 # a byte that no loader reads
    run ! cmp -s same.pt2 code.pt2
    tc-run code.pt2 --input x=2xf32=1,2 -o y.npy 2>said
    grep -q 'this user did not compile it' said
    [ "$(tail -c 8 y.npy | od -An -tf4 | xargs)" = "3 5" ]
}

@test "native entries of the input are dropped, never passed on" {
    TC_ISA=portable tc-compile "$mlp" -o one.pt2
    TC_ISA=avx2 tc-compile one.pt2 -o two.pt2
    run grep -ao 'code/1/[a-z0-9]*[.]so' two.pt2 # names stand in the headers of the zip as they are
    [[ "$output" == *code/1/avx2.so* ]]
    [[ "$output" != *code/1/portable.so* ]]
}

@test "code lies outside extra/, all of which PyTorch reads as UTF-8" {
    tc-compile "$mlp" -o a.pt2
    LC_ALL=C grep -aoE '[a-z]+/(extra/)?tc/code/[a-z0-9/.]*[.]so' a.pt2 | sort -u >paths
    grep -qE '^[a-z]+/tc/code/' paths
    run ! grep extra/ paths
}

@test "-v says how many groups run compiled" {
    tc-compile "$mlp" -o a.pt2
    run --separate-stderr tc-run -v a.pt2 --input x=3x16xf32=1 -o y.npy
    [[ "$stderr" =~ "compiled code for "[a-z0-9_]+" serves "([0-9]+)" of "([0-9]+)" groups" ]]
    [ "${BASH_REMATCH[1]}" -gt 0 ]
    [ "${BASH_REMATCH[1]}" -eq "${BASH_REMATCH[2]}" ]
    run --separate-stderr tc-run -v a.pt2 --input x=3x16xf32=1 -o y.npy --stance=force_eager
    [[ "$stderr" != *"compiled code"* ]]
}

@test "a program without compiled code fails under fail_on_recompile" {
    fails 5 "no compiled code" tc-run "$mlp" --input x=1x16xf32=1 --stance=fail_on_recompile
    fails 2 "do not agree" tc-run "$mlp" --input x=1x16xf32=1 --stance=force_eager --executor=compiled
}

@test "a warm compile starts no compiler" {
    tc-compile "$mlp" -o a.pt2
    mkdir bin
    printf '#!/bin/sh\ntouch %s/started\nexec cc "$@"\n' "$PWD" >bin/mycc
    chmod +x bin/mycc
    tc-compile "$mlp" --cc "$PWD/bin/mycc" -o b.pt2
    [ -e started ]
    rm started
    tc-compile "$mlp" --cc "$PWD/bin/mycc" -o c.pt2
    [ ! -e started ]
    cmp b.pt2 c.pt2
    tc-compile "$mlp" --cc "$PWD/bin/mycc" --no-cache -o d.pt2
    [ -e started ]
    for to in so exe; do
        rm started
        tc-compile "$mlp" --cc "$PWD/bin/mycc" --dim s77=1 --targets portable -o net.$to --to $to
        [ -e started ]
        mv net.$to first
        rm started
        tc-compile "$mlp" --cc "$PWD/bin/mycc" --dim s77=1 --targets portable -o net.$to --to $to
        [ ! -e started ]
        cmp net.$to first
        tc-compile "$mlp" --cc "$PWD/bin/mycc" --dim s77=1 --targets portable,avx2 -o net.$to --to $to
        [ -e started ]
    done
}

@test "a compiler that fails costs the code of a program, with a warning; a library or filter is exit 1" {
    printf '#!/bin/sh\necho "disk on fire" >&2\nexit 3\n' >badcc
    chmod +x badcc
    tc-run "$mlp" --input x=3x16xf32=1 -o want.npy
    fails 0 "failed (exit 3); its log: " tc-compile "$mlp" --cc "$PWD/badcc" -o x.pt2
    [[ "$stderr" == *"warning: no code for "*"disk on fire"* ]]
    tc-run x.pt2 --input x=3x16xf32=1 --expect @want.npy
    fails 5 "no compiled code" tc-run x.pt2 --input x=3x16xf32=1 --stance=fail_on_recompile
    fails 0 "no-such-cc: no such compiler" tc-compile "$mlp" --cc no-such-cc -o y.pt2
    for form in so a o exe; do
        fails 1 "failed (exit 3); its log: " tc-compile "$mlp" --cc "$PWD/badcc" --dim s77=1 --to $form -o x.$form
        [ ! -e x.$form ]
    done
}

ended() { # PID: soon it is no process any more, or one that nobody has waited for
    for ((i = 0; i < 200; i++)); do
        kill -0 "$1" 2>/dev/null || return 0
        grep -q '^State:.*Z' "/proc/$1/status" && return 0
        sleep 0.05
    done
    return 1
}

@test "no place for the cache costs time, none for the record the right to run, each with a warning" {
    tc-run "$mlp" --input x=7x16xf32=0.25 -o want.npy
    touch file
    XDG_CACHE_HOME=$PWD/file fails 0 "warning: compiling without the cache: $PWD/file: cannot make the folder" tc-compile "$mlp" -o a.pt2
    tc-run a.pt2 --input x=7x16xf32=0.25 --stance=fail_on_recompile --expect @want.npy
    mkdir -m 755 open open/tc
    XDG_CACHE_HOME=$PWD/open fails 0 "expected a folder of this user with mode 0700" tc-compile "$mlp" -o b.pt2
    cmp a.pt2 b.pt2
    [ -z "$(ls open/tc)" ]
    export XDG_DATA_HOME=$PWD/file
    fails 0 "warning: the code is not recorded as made by this user, and runs with --trust only: $PWD/file: cannot make the folder" tc-compile "$mlp" -o c.pt2
    fails 5 "" tc-run c.pt2 --input x=7x16xf32=0.25 --executor=compiled -o x.npy
    tc-run c.pt2 --input x=7x16xf32=0.25 --executor=compiled --trust --expect @want.npy
}

@test "what stands at the place of an entry of the cache or the record and is no file is replaced" {
    export XDG_CACHE_HOME=$PWD/cache XDG_DATA_HOME=$PWD/data
    tc-compile "$mlp" -o want.pt2
    for kind in mkfifo mkdir 'ln -s /dev/zero'; do
        for at in cache/tc/* data/tc-trusted/*; do
            rm -r "$at"
            $kind "$at"
        done
        timeout 60 tc-compile "$mlp" -o c.pt2
        cmp c.pt2 want.pt2
        [ -z "$(find cache/tc data/tc-trusted -mindepth 1 ! -type f)" ]
        tc-run c.pt2 --input x=7x16xf32=0.25 --executor=compiled -o y.npy
    done
}

@test "the compiler has limits of time and memory" {
    printf '#!/bin/sh\nexec sleep 60\n' >slowcc
    printf '#!/bin/sh\nulimit -v >%s/space\nulimit -t >%s/time\nexec cc "$@"\n' "$PWD" "$PWD" >askcc
    chmod +x slowcc askcc
    SECONDS=0
    TC_CC_SECONDS=1 fails 1 "was stopped after 1 seconds" tc-compile "$mlp" --cc "$PWD/slowcc" -o x.so --dim s77=1
    [ $SECONDS -lt 20 ]
    printf '#!/bin/sh\nsleep 61 &\necho $! >%s/started\nwait\n' "$PWD" >driver # as a compiler's driver starts its stages
    chmod +x driver
    TC_CC_SECONDS=1 fails 1 "was stopped after 1 seconds" tc-compile "$mlp" --cc "$PWD/driver" -o x.so --dim s77=1
    ended "$(cat started)"
    rm started
    tc-compile "$mlp" --cc "$PWD/driver" -o x.so --dim s77=1 &
    while [ ! -s started ]; do sleep 0.05; done
    kill -TERM $!
    wait $! && return 1
    [ $? -eq 143 ]
    ended "$(cat started)"
    TC_CC_SECONDS=77 TC_CC_MEMORY=2000 tc-compile "$mlp" --cc "$PWD/askcc" -o x.so --dim s77=1
    [ "$(cat space)" -eq 2048000 ]
    [ "$(cat time)" -eq 77 ]
    TC_CC_MEMORY=10 fails 1 "it may map 10 MiB of memory; TC_CC_MEMORY=N gives it more" tc-compile "$mlp" -o x.so --dim s77=1 --no-cache
}

@test "a compile that is stopped leaves nothing, one that is killed nothing after the next" {
    mkdir tmp
    printf '#!/bin/sh\n: >"$TMPDIR/cc1.s"\n: >started\nexec sleep 5\n' >slow
    chmod +x slow
    set -m # a job of its own: interrupts are not ignored
    for out in out.pt2 out.so; do
        for signal in INT TERM KILL; do
            rm -f started
            TMPDIR=$PWD/tmp CC=$PWD/slow tc-compile "$mlp" --dim s77=1 -o $out &
            pid=$!
            for i in $(seq 200); do [ -e started ] && break; sleep 0.05; done
            kill -$signal $pid
            code=0
            wait $pid || code=$?
            [ "$code" -eq $((128 + $(kill -l $signal))) ]
            [ ! -e $out ]
            [ "$(ls tmp | wc -l)" -eq "$([ $signal = KILL ] && echo 1 || echo 0)" ]
        done
    done
    mkdir tmp/tc-cc-mine # somebody's, with a name like that
    TMPDIR=$PWD/tmp tc-compile "$mlp" -o out.pt2
    [ "$(ls tmp)" = tc-cc-mine ]
    TMPDIR=$PWD/tmp CC=false tc-compile -q "$mlp" -o other.pt2 # its log stays
    TMPDIR=$PWD/tmp tc-compile "$mlp" -o out.pt2
    [ "$(ls tmp | wc -l)" -eq 2 ]
    TMPDIR=$PWD/tmp CC=none tc-compile -q --no-cache "$mlp" -o other.pt2 # no compiler, no log
    [ "$(ls tmp | wc -l)" -eq 2 ]
    touch -d '25 hours ago' tmp/*/failed # but not for ever
    TMPDIR=$PWD/tmp tc-compile --no-cache "$mlp" -o out.pt2
    [ "$(ls tmp)" = tc-cc-mine ]
}

@test "usage errors name what does not fit" {
    fails 2 "does not fit the name x.pt2" tc-compile "$mlp" --to so -o x.pt2
    fails 2 "--to" tc-compile "$mlp" --to elf -o x
    fails 2 "-o STEM" tc-compile "$mlp" --to c
    fails 2 "no such symbol" tc-compile "$mlp" --to c -o x --dim Q=3
    fails 2 "expected 1..1024" tc-compile "$mlp" --to c -o x --dim s77=0
    fails 3 "nothing arrived" tc-compile -o x.pt2 </dev/null
}

@test "a C unit builds with libc and libm alone and gives the bits of tc-run" {
    tc-compile "$mlp" --to c -o mlp --dim s77=5
    cat >main.c <<'C'
#include "mlp.h"
#include <stdio.h>
#include <stdlib.h>
static float x[5 * 16], y[5 * 10];
int main(void) {
    void *arena = aligned_alloc(64, (mlp_ARENA_BYTES + 63) / 64 * 64);
    for (int i = 0; i < 80; i++) x[i] = 0.125f * (float)(i - 40);
    mlp_inputs in = {.x = x};
    mlp_outputs out = {.out_0 = y};
    int rc = mlp_run(mlp_weights, &in, &out, arena);
    for (int i = 0; i < 50; i++) printf("%a\n", y[i]);
    free(arena);
    return rc;
}
C
    values=$(awk 'BEGIN {for (i = 0; i < 80; i++) printf "%s%g", i ? "," : "", 0.125 * (i - 40)}')
    tc-run "$mlp" --input x=5x16xf32="$values" --to safetensors -o want.safetensors
    for cc in gcc clang; do
        command -v $cc >/dev/null || continue
        $cc -std=c11 -Wall -Wextra -Werror -O2 -ffp-contract=off main.c mlp.c -o mlp-$cc -lm
        ./mlp-$cc >$cc.txt
    done
    # the last 200 bytes of the file are the 50 floats
    tail -c 200 want.safetensors | od -An -v -tx4 -w4 | tr -d ' ' >want.hex
    cat >hex.c <<'C'
#include <stdio.h>
#include <string.h>
int main(void) { float f; unsigned u; while (scanf("%a", &f) == 1) { memcpy(&u, &f, 4); printf("%08x\n", u); } }
C
    gcc hex.c -o hex
    ./hex <gcc.txt | cmp - want.hex
    [ ! -e clang.txt ] || ./hex <clang.txt | cmp - want.hex
    gcc -std=c11 -O2 -ffp-contract=off -c mlp.c -o mlp.o
    run nm -u mlp.o
    [[ "$output" != *alloc* && "$output" != *printf* ]]
}

@test "--to exe is a filter with the bits of tc-run; --to so, a and o serve a C program" {
    tc-compile "$mlp" --to exe -o mlp-filter --dim s77=5
    awk 'BEGIN {for (i = 0; i < 80; i++) printf "%s%g", i ? "," : "", 0.125 * (i - 40)}' >values
    cat >id.py <<'PY'
from torch import nn


class Id(nn.Module):
    def forward(self, x):
        return x * 1
PY
    tc-export id.py:Id --input x=5x16xf32 | tc-run --input x=5x16xf32="$(cat values)" -o x.npy
    tc-run "$mlp" --input x=@x.npy -o want.npy
    ./mlp-filter <x.npy | cmp - want.npy
    cat x.npy x.npy | ./mlp-filter x=- -o out_0=two.npy
    cat want.npy want.npy | cmp - two.npy
    ./mlp-filter --help | grep -q 'input   x: 5x16xf32'
    fails 3 "nothing arrived" ./mlp-filter </dev/null
    fails 3 "has sizes (5,10), expected 5x16xf32" ./mlp-filter want.npy
    fails 3 "is no .npy record" ./mlp-filter values
    head -c 200 x.npy >cut.npy
    fails 3 "ends within a record" ./mlp-filter cut.npy
    fails 2 "there is no such input" ./mlp-filter y=x.npy
    cat >main.c <<'C'
#include "mlp.h"
#include <stdio.h>
#include <stdlib.h>
static float x[5 * 16], y[5 * 10];
int main(void) {
    void *arena = aligned_alloc(64, (mlp_ARENA_BYTES + 63) / 64 * 64);
    for (int i = 0; i < 80; i++) x[i] = 0.125f * (float)(i - 40);
    if (mlp_run(mlp_weights, &(mlp_inputs){.x = x}, &(mlp_outputs){.out_0 = y}, arena)) return 1;
    fwrite(y, 1, sizeof y, stdout);
    return 0;
}
C
    for form in so a o; do
        tc-compile "$mlp" -o mlp.$form --dim s77=5
        gcc main.c ./mlp.$form -o by-$form -lm
        ./by-$form | cmp - <(tail -c 200 want.npy)
    done
    mkdir again
    (cd / && TMPDIR=$BATS_TEST_TMPDIR/again tc-compile "$mlp" -o "$BATS_TEST_TMPDIR/again/mlp.a" --dim s77=5)
    cmp mlp.a again/mlp.a
}

@test "attention as C has the bits of tc-run" {
    cat >att.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Att(nn.Module):
    def __init__(self, causal=True):
        super().__init__()
        self.qkv = nn.Linear(12, 36)
        self.causal = causal

    def forward(self, x):
        q, k, v = (t.view(2, 9, 3, 4).transpose(1, 2) for t in self.qkv(x).split(12, dim=2))
        mask = None if self.causal else x[:, None, :, :9] > 0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=self.causal)
PY
    cat >in.py <<'PY'
import torch
from torch import nn


class In(nn.Module):
    def forward(self, i):
        return torch.sin(torch.arange(216.0)).view(2, 9, 12) * i
PY
    tc-export in.py:In --input i=f32 | tc-run --input i=f32=1 -o x.npy
    for causal in True False; do
        tc-export att.py:Att --arg causal=$causal --input x=2x9x12xf32 -o att.pt2
        tc-compile att.pt2 --to exe -o att
        tc-run att.pt2 --input x=@x.npy -o want.npy
        ./att <x.npy | cmp - want.npy
    done
}

@test "--dump keeps graph, groups, loops, C, the command and the log" {
    tc-compile "$mlp" --dump=kept -o mlp.pt2
    grep -q '= aten.linear.default(' kept/model.graph
    grep -q '= aten\.' kept/model.planned
    grep -q 'groups of ' kept/model.groups
    grep -q '%0 = load f32 ' kept/model.loops
    for name in $(sed -n 's/^# loop [0-9]*: \([^,]*\), computing .*/\1/p' kept/model.loops); do grep -q "static void $name(" kept/groups.c; done
    tc-compile "$mlp" --dump=c --to c -o net --dim s77=2
    cmp c/model.graph kept/model.graph
    grep -q 'tc_abi_module_1' kept/groups.c
    grep -q -- '-ffp-contract=off' kept/command
    [ -e kept/cc.log ]
    tc-compile "$mlp" --dump="it's kept" --to so -o net.so --dim s77=2 # the command makes the product again, of what stands beside it
    rm "it's kept/model.so"
    sh "it's kept/command"
    cmp net.so "it's kept/model.so"
}

@test "what picks among values of bfloat16, or negates one, rounds nothing" {
    tc-compile --op 'relu(bf16[3,5])' --dump=relu --to c -o relu-out
    tc-compile --op 'maximum(bf16[3,5], bf16[3,5])' --dump=most --to c -o most-out
    tc-compile --op 'exp(bf16[3,5])' --dump=exp --to c -o exp-out
    [ -z "$(grep round relu/relu.loops most/maximum.loops)" ]
    grep -q 'round bf16' exp/exp.loops
}

@test "-v tells fusion and memory" {
    run --separate-stderr tc-compile "$mlp" -v -o mlp.pt2
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"loops, "*"different groups for "* ]]
}

@test "-v says the memory of a run before it is run" {
    cat >m.py <<'EOF'
import torch, torch.nn as nn
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 64)
        self.b = nn.Linear(64, 8)
    def forward(self, x):
        return self.b(torch.relu(self.a(x)))
EOF
    tc-export m.py:M --input x=Bx16xf32 --dim B=1..300 -o m.pt2
    run --separate-stderr tc-compile -v --threads 1 m.pt2 -o c.pt2
    [[ "$stderr" == *"model at B=1: weights 6432, arena 256 "* ]]
    [[ "$stderr" == *"model at B=300: weights 6432, arena 76800 "*"results 9600, scratch "* ]]
    said=$(grep -o 'B=300: .*' <<<"$stderr" | grep -oE 'scratch [0-9]+' | tr -dc 0-9)
    run --separate-stderr tc-run -v --threads 1 c.pt2 --input x=300x16xf32=1 --output @y.npy
    [[ "$stderr" == *"memory: state 6432, intermediates 76800 "* ]]
    used=$(grep -oE 'scratch [0-9]+' <<<"$stderr" | tr -dc 0-9)
    [ "$used" -ge "$said" ] && [ "$used" -lt $((said + 4096)) ]
}

@test "scans along an axis of size 1 compile" {
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def forward(self, x):
        return x.exp().cumsum(0).sum(0), (x > 0).to(torch.int64).cumsum(0), x.cumprod(0).exp(), x.cummax(0)[0]
PY
    tc-export m.py:M --input x=1x64xf32 -o m.pt2
    tc-run m.pt2 --input x=1x64xf32=0.3 --output 0=@a.npy --output 1=@b.npy --output 2=@c.npy --output 3=@d.npy
    run --separate-stderr tc-compile m.pt2 -o c.pt2
    [ -z "$stderr" ]
    tc-run c.pt2 --input x=1x64xf32=0.3 --executor=compiled --expect 0=@a.npy --expect 1=@b.npy --expect 2=@c.npy --expect 3=@d.npy
}

@test "scans compile with what is before and after them, by rows, by columns and by columns that lie apart" {
    cat >m.py <<'PY'
import torch, torch.nn as nn
class M(nn.Module):
    def forward(self, x, y):
        a = x.exp().cumsum(0).sin() * y
        b = (x.tanh().cumsum(1).exp() + y).cumsum(1)
        c = x.flip(0).cumsum(0).flip(0)
        d = torch.logcumsumexp(x * y, 1) - torch.logsumexp(x, 1, keepdim=True)
        e = torch.softmax(x, 0).cumsum(0)
        f = e / e.sum(1, keepdim=True)
        g = torch.logcumsumexp(x.cumsum(1).sin(), 1).cos() + y.cumsum(1)
        h = x.to(torch.bfloat16).cumsum(0).float().cumprod(1)
        return a, b, c, d, f, g, h, (x > 0).cumsum(0), x.cumsum(0).cummax(0)[0], x.var(1, keepdim=True) * x.cumsum(0)
PY
    tc-export m.py:M --input x=AxBxf32 --input y=AxBxf32 --dim A=1..400 --dim B=1..400 -o m.pt2
    tc-compile m.pt2 -o c.pt2
    tc-compile --op 'logcumsumexp(f32[300,200], 1)' --to c -o only
    grep -q 'ARENA_BYTES 64 ' only.h # what is stored as it comes is kept nowhere else
    cat >kept.py <<'PY'
import torch
class Kept(torch.nn.Module):
    def forward(self, x):
        c = x.cumsum(0)
        return c, c.sum(0)
class Twice(torch.nn.Module):
    def forward(self, x):
        return x.cumsum(0).cumsum(0)
PY
    tc-export kept.py:Twice --input x=4096x4xf32 | tc-compile --to c -o twice
    grep -q 'ARENA_BYTES 64 ' twice.h
    tc-export kept.py:Kept --input x=4096x4xf32 | tc-compile --to c -o kept
    grep -q "ARENA_BYTES $((4096 * 4 * 4 + 64)) " kept.h # what is read again is kept: as much as the result
    for size in 1x1 1x300 300x1 17x129 260x15; do
        tc-compile --op "randn([${size/x/,}])" | tc-run --seed 1 -o x.npy
        tc-compile --op "randn([${size/x/,}])" | tc-run --seed 2 -o y.npy
        tc-run m.pt2 --executor=interpreted --input x=@x.npy --input y=@y.npy --to safetensors -o want.safetensors
        for threads in 1 2; do
            tc-run c.pt2 --threads $threads --executor=compiled --input x=@x.npy --input y=@y.npy --to safetensors -o got.safetensors
            cmp want.safetensors got.safetensors
        done
    done
}

@test "--stance=skip_guard_eval_unsafe leaves out what is asserted of values, never sizes; loops has the bits without code or compiler" {
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def forward(self, x, s):
        f = s.item()
        torch._check(f > 0.5)
        return torch.softmax(x @ x.t() * f, 1).cumsum(0)
PY
    tc-export m.py:M --input x=Bx4xf32 --dim B=1..64 --input s=f64 -o m.pt2
    tc-compile m.pt2 --dim B=8 -o c.pt2
    for b in 8 9; do
        tc-run m.pt2 --input x=${b}x4xf32=0.3 --input s=f64=0.75 -o want.npy
        for stance in loops skip_guard_eval_unsafe; do
            tc-run c.pt2 --stance=$stance --input x=${b}x4xf32=0.3 --input s=f64=0.75 --expect @want.npy
        done
    done
    PATH=/nonexistent "$(command -v tc-run)" c.pt2 --stance=loops --input x=9x4xf32=0.3 --input s=f64=0.75 --expect @want.npy
    tc-run c.pt2 --stance=loops -v --input x=9x4xf32=0.3 --input s=f64=0.75 -o y.npy 2>err
    run ! grep -q "compiled code" err
    fails 3 "_assert_scalar" tc-run c.pt2 --input x=8x4xf32=0.3 --input s=f64=0.25
    tc-run c.pt2 --stance=skip_guard_eval_unsafe --input x=8x4xf32=0.3 --input s=f64=0.25 -o y.npy
    fails 3 "x.size(0)=65, expected 1..64" tc-run c.pt2 --stance=skip_guard_eval_unsafe --input x=65x4xf32=0.3 --input s=f64=0.75
    fails 3 "x.size(1)=3, expected 4" tc-run c.pt2 --stance=skip_guard_eval_unsafe --input x=8x3xf32=0.3 --input s=f64=0.75
    fails 2 "do not agree" tc-run c.pt2 --stance=loops --executor=compiled --input x=8x4xf32=0.3 --input s=f64=0.75
}

@test "--variants: the code for a size is taken where it fits, with the bits of the code for all" {
    cat >m.py <<'PY'
import torch, torch.nn as nn, torch.nn.functional as F
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(16, 8)
    def forward(self, x):
        y = F.softmax(self.a(x), -1) + x.sum(1, keepdim=True).exp()
        return y.cumsum(0).mean(0), y.view(-1)
class Counts(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("n", torch.zeros(()))
    def forward(self, x):
        self.n += 1
        return x + self.n
PY
    tc-export m.py:M --input x=Bx16xf32 --dim B=1..64 -o m.pt2
    tc-compile m.pt2 --variants B=1,8,64 -o v.pt2
    for b in 1 2 8 9 64; do
        tc-run m.pt2 --input x=${b}x16xf32=0.3 --output 0=@a.npy --output 1=@b.npy
        run --separate-stderr tc-run v.pt2 -v --stance=fail_on_recompile --input x=${b}x16xf32=0.3 --expect 0=@a.npy --expect 1=@b.npy
        [ "$status" -eq 0 ]
        case $b in
        1 | 8 | 64) [[ "$stderr" == *"the variant for B == $b is used"* ]] ;;
        *) [[ "$stderr" == *"no variant fits: the code for all sizes is used"* ]] ;;
        esac
        tc-run v.pt2 --stance=force_eager --input x=${b}x16xf32=0.3 --expect 0=@a.npy --expect 1=@b.npy
    done
    cat >ramp.py <<'PY'
import torch, torch.nn as nn
class R(nn.Module):
    def forward(self, x):
        return torch.arange(16.0) * x.sum() + x
PY
    # records of different sizes, one after another
    for b in 8 3 8 1; do tc-export ramp.py:R --input x=${b}x16xf32 | tc-run --input x=${b}x16xf32=0.01; done >records.npy
    tc-run m.pt2 --input x=@records.npy --output 0=@a.npy --output 1=@b.npy
    tc-run v.pt2 --input x=@records.npy --expect 0=@a.npy --expect 1=@b.npy
    fails 3 "expected 1..64" tc-run v.pt2 --input x=65x16xf32=1 --output 0=@a.npy --output 1=@b.npy
    fails 2 "80, expected 1..64" tc-compile m.pt2 --variants B=8,80 -o x.pt2
    fails 2 "no such symbol" tc-compile m.pt2 --variants C=8 -o x.pt2
    fails 2 "8 is given twice" tc-compile m.pt2 --variants B=8,2,8 -o x.pt2
    fails 2 "expected SYM=N" tc-compile m.pt2 --variants B=8, -o x.pt2
    fails 2 "--variants belong to --to pt2" tc-compile m.pt2 --variants B=8 -o x.so
    fails 2 "--prefix names what C declares" tc-compile m.pt2 --prefix other -o x.pt2
    fails 2 "--meta needs --to pt2" tc-compile m.pt2 --meta a=b -o x.so
    fails 2 "--variants cannot be used with --minify, which compiles nothing" tc-compile m.pt2 --variants B=8 --minify false -o x.pt2
    fails 2 "--out cannot be used with --bisect, which writes no program" tc-compile m.pt2 --bisect true -o x.pt2
    tc-export ramp.py:R --input x=Bx16xf32 -o r.pt2
    fails 2 "more than 64 values" tc-compile r.pt2 --variants "B=$(seq -s, 1 65)" -o x.pt2
    tc-export m.py:Counts --input x=Bx16xf32 -o c.pt2
    fails 5 "would not share it" tc-compile c.pt2 --variants B=8 -o x.pt2
    run tc-compile v.pt2 -o again.pt2 # native entries and their list are dropped
    run grep -ac 'tc/variants' again.pt2
    [ "$output" -eq 0 ]
}

@test "a loop's body finds sizes that depend on data anew in each iteration" {
    cat >m.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, x):
        def body(i, a):
            k = (x > i).nonzero()
            return i + 1, a + k.sum() + k.shape[0]

        return torch.while_loop(lambda i, a: i < 3, body, (torch.tensor(0), torch.tensor(0)))[1]
PY
    tc-export m.py:M --input x=4xf32 -o m.pt2
    tc-compile m.pt2 -o c.pt2
    for p in m.pt2 c.pt2; do [ "$(tc-run $p --input x=4xf32=0.5,1.5,2.5,3.5 -o - | tail -c 8 | od -An -td8 | xargs)" = 26 ]; done
}

@test "a loop that takes a number out of data runs behind the node that gives it" {
    cat >numbers.py <<'EOF'
import torch
from torch import nn


class Real(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 6)

    def forward(self, x):
        h = self.fc(x)
        return h * x.sum().item()


class Whole(Real):
    def forward(self, x):
        h = self.fc(x)
        return h * x.sum().to(torch.int64).item()


class Size(Real):
    def forward(self, x):
        h = self.fc(x)
        return h + x.nonzero().shape[0]


class Between(nn.Module):
    def forward(self, x):
        y = torch.relu(x).softmax(-1)
        i = (y > 0.1).nonzero()
        z = y.sum(-1).cumsum(0)
        return i.float().sum() + z.sum(), torch.sin(z)
EOF
    for c in Real Whole Size; do
        tc-export numbers.py:$c --mode eval --input x=3x4xf32 -o $c.pt2
        tc-compile $c.pt2 -o compiled.pt2
        tc-run $c.pt2 --trace --input x=3x4xf32=2 -o want.npy 2>/dev/null
        tc-run $c.pt2 --input x=3x4xf32=2 --expect @want.npy
        tc-run compiled.pt2 --input x=3x4xf32=2 --stance=fail_on_recompile --expect @want.npy
    done
    tc-export numbers.py:Between --input x=4x6xf32 -o Between.pt2 # what does not depend on data is bound once
    tc-run Between.pt2 -v --input x=4x6xf32=2 --to safetensors 2>said >/dev/null
    grep -q 'in each run: 2; parts between them that are replayed: 2$' said
}

@test "--log fusion prints the groups and no more, --log memory what a run needs" {
    cat >fused.py <<'PY'
import torch
import torch.nn.functional as F
from torch import nn


class Fused(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(64, 64)

    def forward(self, x, r):
        return F.gelu(self.l(x)) + r
PY
    tc-export fused.py:Fused --input x=32x64xf32 --input r=32x64xf32 -o fused.pt2
    run --separate-stderr tc-compile fused.pt2 --log fusion -o f.pt2
    [ "$status" -eq 0 ]
    [[ "$stderr" == *"kernel  addmm with the epilogue gelu + add" ]]
    run --separate-stderr tc-compile fused.pt2 --log memory -o f.pt2
    [[ "$stderr" == "tc-compile: model: weights 16640, arena 0 "*" results 8192, "* ]]
    run --separate-stderr tc-compile fused.pt2 --log fusions -o f.pt2
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"expected one of rewrites, fusion, memory, quantize, tuning"* ]]
    TC_LOG=guards,memory run --separate-stderr tc-compile fused.pt2 -o f.pt2 # of TC_LOG each program takes what it has
    [[ "$stderr" == "tc-compile: model: weights 16640, "* ]]
    [ "${#stderr_lines[@]}" -eq 1 ]
}

@test "what is done with some rows of a result in parts is done to those alone" {
    cd "$BATS_TEST_TMPDIR"
    cat >rows.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, x, z):
        y = torch.cat((x, z), -1)
        return (y * 2)[:3], (torch.cat((z, x), -1) + 1)[5], (torch.cat((x, x, z), 1) * 3)[1:9:4].sum()
PY
    tc-export rows.py:M --input x=Bx64xf32 --input z=Bx64xf32 --dim x.0=B:16..9999 -o m.pt2
    tc-run m.pt2 --input x=9000x64xf32=1 --input z=9000x64xf32=2 --output out.0=@a.npy --output out.1=@b.npy --output out.2=@c.npy
    [ "$(tail -c $((3 * 128 * 4)) a.npy | od -An -v -tf4 -w4 | sort -n | uniq -c | xargs)" = "192 2 192 4" ]
    [ "$(tail -c $((128 * 4)) b.npy | od -An -v -tf4 -w4 | sort -n | uniq -c | xargs)" = "64 2 64 3" ]
    [ "$(tail -c 4 c.npy | od -An -tf4 | xargs)" = 1536 ]
}

@test "rotary embedding is one loop, in halves, by chunks and interleaved, with the bits of its operators apart" {
    cat >rotary.py <<'PY'
import torch
from torch import nn


def rotate_half(x):
    half = x.shape[-1] // 2
    return torch.cat((-x[..., half:], x[..., :half]), dim=-1)


class Halves(nn.Module):
    def forward(self, x, cos, sin):
        return x * cos + rotate_half(x) * sin


class Chunks(nn.Module):
    def forward(self, x, cos, sin):
        cos, sin = cos[:, :3], sin[:, :3]
        a, b = x.chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class Interleaved(nn.Module):
    def forward(self, x, cos, sin):
        cos, sin = cos[:, :3], sin[:, :3]
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack((a * cos - b * sin, a * sin + b * cos), -1).flatten(-2)


class Shown(nn.Module):  # what others read, too, is made once
    def forward(self, x, cos, sin):
        r = rotate_half(x)
        return x * cos + r * sin, r
PY
    given="--input cos=5x6xf32=0.25 --input sin=@sin.npy --input x=@x.npy"
    printf '%s\n' "import torch" "class M(torch.nn.Module):" "    def forward(self):" "        return torch.randn(2, 3, 5, 6), torch.randn(5, 6)" >values.py
    tc-export values.py:M | tc-run --output 0=@x.npy --output 1=@sin.npy
    while read -r spelling loops; do
        tc-export rotary.py:$spelling --input x=BxHxTx6xf32 --input cos=Tx6xf32 --input sin=Tx6xf32 -o r.pt2
        tc-compile r.pt2 --log fusion -o c.pt2 2>groups
        [ "$(grep -c '^ *[0-9]* loop ' groups)" -eq "$loops" ]
        [ "$loops" -eq 2 ] || ! grep 'not fused' groups
        # shellcheck disable=SC2086
        TC_STEPS=0 tc-run r.pt2 $given --to safetensors -o want.safetensors
        for executor in interpreted compiled; do
            # shellcheck disable=SC2086
            tc-run c.pt2 $given --executor $executor --to safetensors | cmp - want.safetensors
        done
    done <<END
Halves 1
Chunks 1
Interleaved 1
Shown 2
END
}

@test "--op compiles one operator for all sizes, its results in order; several become one archive" {
    tc-compile --op 'native_layer_norm(f32[B,C], [C], f32[C], f32[C], 1e-5)' -o ln.pt2
    ln() { tc-run ln.pt2 --input input=@x.npy --input "weight=$1xf32=2" --input "bias=$1xf32=0.5" "${@:2}"; }
    for shape in 3x5 2x700 1x1 64x33; do
        tc-compile --op "randn([${shape/x/,}])" -o r.pt2
        tc-run r.pt2 --output @x.npy
        ln "${shape#*x}" --stance force_eager --output 0=@y.npy --output 1=@mean.npy --output 2=@rstd.npy
        ln "${shape#*x}" --stance fail_on_recompile --expect 0=@y.npy --expect 1=@mean.npy --expect 2=@rstd.npy
    done
    tc-compile --op 'exp(f32[N])' --op 'max(i64[A,B], 1)' -o two.pt2
    tc-run two.pt2 --model max --input 2x3xi64=1,5,5,9,7,8 --output 1=@- --output 0=@/dev/null --cast i64 >at.npy
    tc-run two.pt2 --model max --input 2x3xi64=1,5,5,9,7,8 --output 0=@/dev/null --expect 1=@at.npy
    run -3 tc-compile --op 'exp(f32[N], 1)' -o x.pt2
    run -5 tc-compile --op 'no_such(f32[N])' -o x.pt2
    run -2 tc-compile --op 'exp(f32[N])' --op 'exp(f64[N])' -o x.pt2
    run -2 tc-compile --op 'exp(f32[N])' ln.pt2 -o x.pt2
}

@test "operators compiled one at a time serve the interpreter of any program, for all sizes, with the same bits" {
    cat >m.py <<'EOF'
import torch
from torch import nn
class Norm(nn.Module): # one of three results, a size that is a number
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(33)
    def forward(self, x):
        return self.norm(x)
class All(nn.Module):
    def forward(self, x):
        y, mean, rstd = torch.native_layer_norm(x, (33,), None, None, 1e-5)
        return y, torch.mm(mean, rstd.t())
class Three(nn.Module):
    def forward(self, x):
        return torch.native_layer_norm(x, x.shape[1:], x[0] * 2, x[1], 1e-5)
class Fused(nn.Module): # part of a larger loop: that one is interpreted
    def forward(self, x):
        return (x * 2).softmax(-1) + 1
class Soft(nn.Module):
    def forward(self, x):
        return x.softmax(-1)
EOF
    mkdir ops
    tc-compile --op native_layer_norm -o ops/norm.pt2
    tc-compile --op 'native_layer_norm(f32[B,C], [C], None, None, 1e-5)' -o ops/plain.pt2
    tc-compile --op 'softmax(f32[A,B], 1)' --op exp -o ops/more.pt2
    tc-compile --op 'randn([7,33])' -o r.pt2
    tc-run r.pt2 -o x.npy
    # served N OF MODEL: so many of its groups by the operators; results are those without
    served() {
        local outs=(--output 0=@0.npy) want=(--expect 0=@0.npy) k
        for ((k = 1; k < $4; k++)); do outs+=(--output $k=@$k.npy) want+=(--expect $k=@$k.npy); done
        for size in 7x33 Bx33; do
            tc-export m.py:$3 --input x=${size}xf32 -o m.pt2
            tc-run m.pt2 --input x=@x.npy "${outs[@]}"
            for threads in 1 2; do
                TC_OPERATORS=ops tc-run m.pt2 --input x=@x.npy -v --threads $threads "${want[@]}" 2>err
                grep -q "operators compiled one at a time serve $1 of $2 groups" err || { cat err; false; }
            done
        done
    }
    served 1 1 Norm 1
    served 1 2 All 2
    served 0 1 Fused 1
    served 1 1 Soft 1
    served 1 2 Three 3 # what makes the weights is a loop of its own
    # sizes that the calls do not allow, other types: interpreted
    tc-export m.py:Soft --input x=2x3x4xf32 -o m.pt2
    TC_OPERATORS=ops tc-run m.pt2 --input x=2x3x4xf32=1 -v -o y.npy 2>err
    grep -q 'serve 0 of 1' err
    # found without a variable; not where only interpreting is wanted, nor from another user
    tc-export m.py:Soft --input x=7x33xf32 -o m.pt2
    ln -s "$PWD/ops" "$XDG_DATA_HOME/tc-operators"
    tc-run m.pt2 --input x=@x.npy -v -o y.npy 2>err
    grep -q 'serve 1 of 1' err
    rm "$XDG_DATA_HOME/tc-operators"
    TC_OPERATORS=ops tc-run m.pt2 --input x=@x.npy -v --stance force_eager --expect @y.npy 2>err
    run ! grep -q serve err
    XDG_DATA_HOME=$PWD/other TC_OPERATORS=ops tc-run m.pt2 --input x=@x.npy --expect @y.npy 2>err
    grep -q 'ops/more.pt2: its operators are not used: this user did not compile it' err
    XDG_DATA_HOME=$PWD/other TC_OPERATORS=ops tc-bench m.pt2 --executor operators --repeat 2 --trust 2>err
    run ! grep -q 'not used' err
    TC_OPERATORS=ops tc-bench m.pt2 --compare interpreted,operators --repeat 2 # exit 4 where bits differ
    TC_OPERATORS= run -1 tc-bench m.pt2 --executor operators --repeat 2
    TC_OPERATORS=none run -1 tc-run m.pt2 --input x=@x.npy -o y.npy
    [[ $output == *"TC_OPERATORS: none: cannot open the folder: No such file or directory"* ]]
    echo text >ops/bad.pt2
    TC_OPERATORS=ops run -3 tc-run m.pt2 --input x=@x.npy -o y.npy
}

@test "--op NAME takes the operator's first sample for all sizes" {
    said() { tc-compile -v --op "$1" -o x.pt2 2>&1 | sed -n 's/.*: --op [^ ]*: //p'; }
    [ "$(said native_layer_norm)" = 'native_layer_norm(f32[A,B], [B], f32[B], f32[B], 1e-5)' ]
    [ "$(said cat)" = 'cat([f32[A,B], f32[C,B]])' ]
    [ "$(said index_select)" = 'index_select(f32[A,B], 1, i64[C]:0..5)' ]
    run -3 tc-compile --op no_such -o x.pt2
    run -5 tc-compile --op _cufft_get_plan_cache_size -o x.pt2
}

@test "what is read through a slice alone is computed at the slice's size, with the same bits" {
    cat >slices.py <<'PY'
import torch
from torch import nn


class Big(nn.Module):
    def forward(self, x):
        a, b = torch.zeros(10**9)[:4], torch.arange(10**9)[3:99:7]
        c = torch.ones(40000, 40000)[2:4, -3:][1]
        two = torch.ones(40000, 39999) * 2
        return a, a + x[0, :4], b, c, torch.ones(40001, 40000)[1 << 62 :], two[:6, 3:43] + x, two[-1, ::9000]


class Shared(nn.Module):
    def forward(self, x):
        y, sums, whole = torch.exp(x) * 2, x - x.sum(0), torch.cos(x)
        return y[:, :3], y[2, 5:30:2], y[:, -1:], whole[:4], whole[3:], sums[:1], sums[3:4, 3]


class Parts(nn.Module):
    def forward(self, x):
        y = torch.exp(x * 0.5 + 1)
        z = torch.softmax(x, -1)
        both = torch.sin(x)
        return y[1:, ::3], z[-2:], torch.softmax(x, 0)[:, 2:5], torch.cumsum(x, 1)[0], torch.tanh(x)[-1, 1:], both, both[1], torch.cat([x, x * 2])[3:5]
PY
    tc-export slices.py:Big --input x=6x40xf32 -o big.pt2
    tc-run big.pt2 --input x=6x40xf32=0.25 -o got.st --to safetensors
    # shellcheck disable=SC2046
    tc-run big.pt2 --input x=6x40xf32=0.25 $(printf -- '--output %d=@%d.npy ' 0 0 1 1 2 2 3 3 4 4 5 5 6 6)
    tc-compile --op 'arange.start_step(3, 99, 7)' -o ar.pt2
    tc-run ar.pt2 --expect @2.npy
    tc-compile big.pt2 -v -o c.pt2 2>log
    grep -Eq "arena [0-9]{1,4} " log
    tc-run c.pt2 --input x=6x40xf32=0.25 --stance fail_on_recompile -o c.st --to safetensors
    cmp c.st got.st
    tc-compile --op 'full([6,40], 2.25)' | tc-run --expect @5.npy
    tc-compile --op 'roll(u8[60,70], [3], [1])' --to c -o roll # views whose rows lie apart are read element after element
    grep -q 'stride\[0\]' roll.c && run ! grep -q 'stride\[1\]' roll.c
    tc-compile --op 'full([5], 2.0)' | tc-run --expect @6.npy
    tc-compile --op "randn([6,40])" | tc-run -o x.npy
    for form in "Parts --input x=6x40xf32" "Parts --input x=BxTxf32 --dim B=3..64 --dim T=6..64" "Shared --input x=6x40xf32"; do
        # shellcheck disable=SC2086
        tc-export slices.py:$form -o parts.pt2
        TC_STEPS=0 tc-run parts.pt2 --input x=@x.npy -o want.st --to safetensors
        tc-compile parts.pt2 -v -o c.pt2 2>log
        grep -q "exp + .*slice_1" log
        for threads in 1 2; do
            tc-run parts.pt2 --input x=@x.npy --threads $threads -o got.st --to safetensors
            cmp got.st want.st
            tc-run c.pt2 --input x=@x.npy --threads $threads --stance fail_on_recompile -o got.st --to safetensors
            cmp got.st want.st
        done
    done
}

@test "scale, shift, residual, bounds and functions of bfloat16 behind convolutions and products: one pass, the bits of the operators alone" {
    cat >m.py <<'P'
import torch, torch.nn as nn, torch.nn.functional as F
class M(nn.Module):
    def __init__(self):
        super().__init__()
        b = torch.bfloat16
        self.c, self.n, self.l = nn.Conv2d(8, 40, 3, padding=1, dtype=b), nn.BatchNorm2d(40, dtype=b), nn.Linear(40, 37, bias=False, dtype=b)
    def forward(self, x, r):
        z, q = F.relu(self.n(self.c(x)) + r), F.hardtanh(self.n(self.c(x * 2)), -0.3, 0.7)
        p = z.permute(0, 2, 3, 1)
        return z, q, F.relu6(self.l(p)), F.silu(self.n(self.c(-x))), F.gelu(self.l(p * 2))
P
    tc-export m.py:M --input x=2x8x65x66xbf16 --input r=2x40x65x66xbf16 -o m.pt2
    tc-compile --op 'randn([2,8,65,66])' | tc-run --cast bf16 --to safetensors -o x.st
    tc-compile --op 'randn([2,40,65,66])' | tc-run --cast bf16 --to safetensors -o r.st
    tc-compile m.pt2 -v -o c.pt2 2>log
    grep -q "with the epilogue scale_shift + add + relu" log
    for isa in portable avx2 avx512 avx512_bf16 ""; do
        TC_ISA=$isa TC_STEPS=0 tc-run m.pt2 --input x=@x.st --input r=@r.st -o want.st --to safetensors
        TC_ISA=$isa tc-run m.pt2 --input x=@x.st --input r=@r.st -o got.st --to safetensors
        cmp want.st got.st
    done
}

@test "operators that a model may name are refused or known, never an internal error" {
    cat >rare.py <<'PY'
import torch
import torch.nn.functional as F


class Contiguous(torch.nn.Module):
    def forward(self, x):
        return x * 2 if torch.ops.aten.sym_is_contiguous(x) else x


class Wider(torch.nn.Module):
    def forward(self, x):
        return F.linear(x, x, x[:1])
PY
    tc-export rare.py:Contiguous --input x=3xf32 | tc-run --input x=3xf32=1.5 -o got.npy
    tc-compile --op 'mul(f32[3], 2)' | tc-run --input self=3xf32=1.5 --expect @got.npy
    fails 3 "bias does not broadcast to the result" tc-export rare.py:Wider --input x=3xf32 -o wide.pt2
}

@test "a product that is added is rounded once where one operator has both, and twice where the model writes two" {
    cat >m.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, a, b, c):
        one = [torch.addcmul(a, b, c), torch.addcmul(a, b * 0.5, c, value=2), torch.add(a, b, alpha=0.9998779296875), torch.lerp(a, a + b, c)]
        two = [a + b * c, torch.addcdiv(a, b, 1 / c)]
        return torch.stack([x[0] for x in one]), torch.stack([x[0] for x in two])
PY
    # b c = 1 - 2^-26, which is 1 when it is rounded
    given="--input a=40xf32=-1 --input b=40xf32=1.0001220703125 --input c=40xf32=0.9998779296875"
    tc-export m.py:M --input a=Nxf32 --input b=Nxf32 --input c=Nxf32 -o m.pt2
    tc-compile m.pt2 -o c.pt2
    for how in "m.pt2 --threads 1" "m.pt2 --trace -q" "c.pt2 --stance fail_on_recompile"; do
        tc-run $how $given --output 0=@one.npy --output 1=@two.npy 2>/dev/null
        [ "$(tail -c 16 one.npy | od -An -tx4)" = " b2800000 b2800000 b2800000 b2800000" ] # -2^-26
        [ "$(tail -c 8 two.npy | od -An -tx4)" = " 00000000 00000000" ]
    done
}

@test "what columns keep between two readings is as wide as they are" {
    tc-compile --op '_softmax(f32[A,B], 0, False)' -o c.pt2
    for shape in 300000x1 5000x3 40x130; do
        tc-run c.pt2 --stance force_eager --input ${shape}xf32=0.5 -o want.npy
        tc-run c.pt2 --stance fail_on_recompile --threads 2 --time --input ${shape}xf32=0.5 --expect @want.npy 2>time
        [ "$(sed -n 's/.* \([0-9]*\)[.][0-9] MiB peak/\1/p' time)" -lt 60 ]
    done
}

@test "a product of one term is a loop that joins what follows, with the bits of the chain from +0" {
    cat >m.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, x, y):
        p = torch.relu(x @ y) * 2
        return p, x @ y, torch.bmm(x[None], y[None])
PY
    tc-export m.py:M --input x=Nx1xf32 --input y=1xMxf32 -o m.pt2
    tc-compile m.pt2 -o c.pt2 --log fusion 2>groups
    [ "$(grep -c kernel groups)" -eq 0 ]
    given="--input x=3x1xf32=-1,0,2 --input y=1x2xf32=0,-3"
    for p in m.pt2 c.pt2; do
        tc-run $p $given --output 0=@p.npy --output 1=@mm.npy --output 2=@bmm.npy
        for product in mm bmm; do [ "$(tail -c 24 $product.npy | od -An -tx4 -v | tr -d '\n')" = " 00000000 40400000 00000000 00000000 00000000 c0c00000" ]; done
    done
}

@test "--log rewrites: a line for each pattern with its nodes and how often, in the order of the graph" {
    cat >m.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(8, 8)
        self.b = nn.Linear(8, 8, bias=False)

    def forward(self, x):
        q = self.a(x)
        k = self.b(x)
        y = torch.softmax(q @ k.transpose(-1, -2) * 0.5, -1) @ x
        z = torch.softmax(y @ q.transpose(-1, -2) * 0.5, -1) @ x
        return self.b(z)
PY
    tc-export m.py:M --input x=2x3x8xf32 -o m.pt2
    tc-compile m.pt2 --log rewrites -o c.pt2 2>log
    tc-compile m.pt2 --log rewrites -o c.pt2 2>again
    cmp log again
    grep -qx 'program model: 5 nodes rewritten by 5 patterns' log
    grep -qx 'aten.linear.default -> aten.view.default + aten.transpose.int + aten.addmm.default + aten.view.default: 1: linear (m.py:12)' log
    # both attentions, each once, though they share q and x
    [ "$(sed -n 's/^aten.matmul.default -> .*tc.attention.default.*: 1: //p' log | paste -sd ' ')" = "matmul_1 (m.py:14) matmul_3 (m.py:15)" ]
}

@test "a result with other sizes than what is computed is written where it goes, not copied there" {
    cat >m.py <<'PY'
import torch


class View(torch.nn.Module):
    def forward(self, x):
        return x.exp().view(-1, 4)


class Views(torch.nn.Module):
    def forward(self, x):
        y = x.exp()
        return y.view(-1, 4), y, y.view(-1)[3:], y.view(-1)
PY
    tc-compile --op 'randn([5,2,4])' -o r.pt2
    tc-run r.pt2 -o x.npy
    for model in View Views; do
        tc-export "m.py:$model" --input x=5x2x4xf32 -o $model.pt2
        tc-compile $model.pt2 --log memory -o c$model.pt2 2>$model.err
        tc-compile $model.pt2 --to exe -o $model
    done
    [[ "$(cat View.err)" == *", arena 0 "* ]]
    tc-run View.pt2 --input @x.npy -o y.npy
    tc-run cView.pt2 --input @x.npy --stance fail_on_recompile --expect @y.npy
    ./View <x.npy | cmp - y.npy
    tc-run Views.pt2 --input @x.npy --output 0=@0.npy --output 1=@1.npy --output 2=@2.npy --output 3=@3.npy
    tc-run cViews.pt2 --input @x.npy --stance fail_on_recompile --expect 0=@0.npy --expect 1=@1.npy --expect 2=@2.npy --expect 3=@3.npy
    for k in 0 1 2 3; do cmp <(tail -c 148 $k.npy) <(tail -c 148 y.npy); done
}

@test "weights of channels that lie within a row of sums stay numbers, with the bits of the compiled loop" {
    cat >m.py <<'PY'
import torch


class Parts(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(2, 3, 1, dtype=dtype))
        self.b = torch.nn.Parameter(torch.randn(3, 1, dtype=dtype))

    def forward(self, x):
        x = x.to(self.w.dtype)
        y = x - x.mean((2, 3), keepdim=True)
        y = y * self.w + x.amax((2, 3), keepdim=True)
        return (self.b - y / self.w).sum((2, 3)), y * 2 + self.b, (x + self.w) * (x - self.w)
PY
    while read -r size type; do
        tc-compile --op "randn([4,2,3,$size])" -o r.pt2
        tc-run r.pt2 -o x.npy
        tc-export m.py:Parts --arg dtype=torch.$type --input x=4x2x3x${size}xf32 -o m.pt2
        tc-compile m.pt2 -o c.pt2
        tc-run m.pt2 --input @x.npy --threads 2 --output 0=@0.npy --output 1=@1.npy --output 2=@2.npy
        tc-run c.pt2 --input @x.npy --stance fail_on_recompile --expect 0=@0.npy --expect 1=@1.npy --expect 2=@2.npy
    done < <(printf '%s\n' '63 float32' '64 float32' '64 float64' '100 float64' '300 float64' '1024 float32' '5000 float32')
}

@test "sums that read the same are one loop where each may stand at the place of the first, with the bits of each alone" {
    cat >m.py <<'PY'
import torch


class Sums(torch.nn.Module):
    def __init__(self, keep):
        super().__init__()
        self.keep = keep

    def forward(self, x, y):
        low = x.amin(1)
        other = (y * low[:, None]).sum(1)  # stands behind low, and another loop reads it
        all = [low, x.amax(1), (x * y).sum(1), other.exp(), (x * other[:, None]).sum(1), y.mean(1), x.sum(0), (x * x).sum(0), x.t().argmax(0)]
        return [all[i] for i in self.keep]
PY
    tc-compile --op 'randn([7,300])' --op 'rand([7,300])' -o r.pt2
    tc-run r.pt2 --model randn -o x.npy
    tc-run r.pt2 --model rand -o y.npy
    tc-export m.py:Sums --arg 'keep=range(9)' --input x=BxNxf32 --input y=BxNxf32 -o m.pt2
    tc-compile m.pt2 --log fusion -o c.pt2 2>groups
    cat groups
    [ "$(sed -n 's/.* loop *//p' groups | paste -sd, -)" = "amin + amax,mul + sum + exp + mul_1 + sum_1 + mean,mul_2 + sum_2,sum_3 + mul_3 + sum_4,argmax" ]
    for k in 0 1 2 3 4 5 6 7 8; do
        tc-export m.py:Sums --arg "keep=[$k]" --input x=BxNxf32 --input y=BxNxf32 -o one.pt2
        tc-run one.pt2 --input x=@x.npy --input y=@y.npy -o $k.npy
    done
    want=() && for k in 0 1 2 3 4 5 6 7 8; do want+=(--expect $k=@$k.npy); done
    for threads in 1 3; do
        tc-run m.pt2 --input x=@x.npy --input y=@y.npy --threads $threads "${want[@]}"
        tc-run c.pt2 --input x=@x.npy --input y=@y.npy --threads $threads --stance fail_on_recompile "${want[@]}"
    done
}

@test "weights of channels are taken from blocks that hold pieces of several rows" {
    cat >m.py <<'PY'
import torch


class Across(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.w = torch.nn.Parameter(torch.randn(3, 1, 1))

    def forward(self, x):
        return (x.permute(3, 0, 1, 2) * self.w).var((1, 2, 3))
PY
    tc-export m.py:Across --input x=3x30x101x20xf32 -o m.pt2
    tc-compile --op "randn([3,30,101,20])" -o r.pt2
    tc-run r.pt2 -o x.npy
    tc-run m.pt2 --input @x.npy --trace -o y.npy 2>trace
    tc-run m.pt2 --input @x.npy --expect @y.npy
}

@test "groups run in the order that needs least memory, sums are taken where a tensor is, a softmax overwrites; draws and buffers keep theirs" {
    cat >m.py <<'PY'
import torch


class Sorts(torch.nn.Module):
    def forward(self, x):
        out = 0
        for y in [torch.sort(x * i)[0] for i in range(6)]:
            out = out + y.sum(-1)
        return out


class Softmax(torch.nn.Module):
    def forward(self, x):
        y = torch.softmax(x @ x, -1).amin(0) + torch.softmax((x @ x.T).cumsum(0), 0).amin(1)
        return y + torch.nn.functional.layer_norm(x.T @ x, (64,)).amin(0)


class Draws(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer('b', torch.ones(64, 64))
        self.w = torch.nn.Parameter(torch.randn(64, 64))

    def forward(self, x):
        late, early = torch.rand(64, 64), torch.rand(4).sort()[0].sum()
        old = [torch.sort(self.b @ self.w * i)[0] for i in range(4)]
        self.b += 1
        return early + torch.sort(late, 0)[0] + sum(y.amax(-1) for y in old)
PY
    while read -r model arena; do # made in the order of the source, they take 147456, 65536 and 131200 bytes
        tc-export m.py:$model --input x=64x64xf32 -o $model.pt2
        tc-compile -v $model.pt2 -o c$model.pt2 2>log
        grep -q "live at once" log && ! grep "is copied" log
        [ "$(grep -oE 'arena [0-9]+' log | tr -dc 0-9)" -le "$arena" ]
        cat x.npy x.npy | tc-run $model.pt2 --seed 3 --trace --input @- -o want.npy 2>/dev/null
        for threads in 1 2; do
            for how in default force_eager loops; do
                cat x.npy x.npy | tc-run c$model.pt2 --seed 3 --threads $threads --stance=$how --input @- --expect @want.npy
            done
        done
    done < <(tc-compile --op 'randn([64,64])' -o r.pt2 && tc-run r.pt2 -o x.npy && printf 'Sorts 66048\nSoftmax 16896\nDraws 98880\n')
}

@test "programs of this tree are no more loops and kernels than these" {
    examples=$TC_ROOT/tc-train/examples
    tc-export "$examples/gpt.py:GPT" --arg n_layer=4 --input idx=BxTxi64 -o gpt.pt2
    tc-export "$examples/mlp.py:MLP" --input x=Bx28x28xf32 -o digits.pt2
    tc-export "$examples/cnn.py:CNN" --input x=Bx1x28x28xf32 -o cnn.pt2
    tc-export "$examples/lstm.py:LSTM" --input x=BxTxi64 -o lstm.pt2
    cat >chain.py <<'PY'
import torch
import torch.nn.functional as F


class Sum(torch.nn.Module):
    def forward(self, x, w, b):
        return F.gelu(x * w + b).sum()
PY
    tc-export chain.py:Sum --input x=NxMxf32 --input w=Mxf32 --input b=Mxf32 -o sum.pt2
    while read -r program loops kernels; do
        CC=false tc-compile "$program" --model model --log fusion -o c.pt2 2>groups
        found="$(grep -c '^ *[0-9]* loop ' groups || true) $(grep -c '^ *[0-9]* kernel ' groups || true)"
        echo "$program: $found, at most $loops $kernels"
        [ "${found% *}" -le "$loops" ]
        [ "${found#* }" -le "$kernels" ]
    done <<END
gpt.pt2 11 21
digits.pt2 0 3
cnn.pt2 10 10
lstm.pt2 2 3
sum.pt2 1 0
$mlp 1 3
$oracle/autocast_strict.pt2 5 2
$oracle/containers.pt2 4 0
$oracle/lstm_projection.pt2 29 20
$oracle/while_loop.pt2 3 1
$oracle/quantise_dynamic.pt2 14 0
END
}
