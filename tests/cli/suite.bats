# The runners of the fast tests and of the corpora: what they count, and what is said of a test that dies.
setup() { cd "$BATS_TEST_TMPDIR"; }

unit() { # NAME: a program of the scratch folder whose text comes from stdin
    mkdir -p build/unit
    { echo '#!/bin/sh'; cat; } >"build/unit/$1"
    chmod +x "build/unit/$1"
}

counts() { # the runner on the scratch folder's programs alone
    run "$TC_ROOT/tests/run" "$PWD/build" "$PWD/build/unit"
}

@test "skipped tests are skipped whether their program calls them ok, as TAP has it, or not ok, as cmocka does" {
    unit one <<<'echo "ok 1 - works"; echo "ok 2 - other # SKIP no such machine"; echo "not ok 3 # SKIP a sanitizer"'
    counts
    [ "$status" -eq 0 ]
    [ "${lines[-1]}" = "1 passed, 0 failed, 2 skipped" ]
}

@test "a test that fails, a program that dies and one that runs nothing are failures" {
    unit fails <<<'echo "ok 1 - works"; echo "not ok 2 - breaks"; exit 1'
    unit dies <<<'echo "ok 1 - works"; kill -SEGV $$'
    unit empty <<<'exit 0'
    counts
    [ "$status" -eq 1 ]
    [ "${lines[-1]}" = "2 passed, 3 failed" ]
}

@test "a run of the corpora counts its own cases, also where another runs on the same build" {
    mkdir -p build/drivers build/bin oracle/train
    cat >build/drivers/conform-train <<SH
#!/bin/sh
[ -n "\$INNER" ] || INNER=1 "$TC_ROOT/tests/conformance" "$PWD/build" "$PWD/oracle" >"$PWD/inner"
echo "pass train one"
SH
    chmod +x build/drivers/conform-train
    run "$TC_ROOT/tests/conformance" "$PWD/build" "$PWD/oracle"
    [ "${lines[-1]}" = "1 passed, 0 failed, 0 not yet" ]
    [ "$(tail -n 1 inner)" = "${lines[-1]}" ]
    grep -q 'pass train one' build/conformance.log
}

@test "an instruction set more is a line of isa.tab, and no other file" {
    ln -s "$TC_ROOT"/* . && rm -f lib build && mkdir lib && ln -s "$TC_ROOT"/lib/* lib && rm lib/isa.tab
    awk '{print} $1 == "avx2" {print "of_test\t-mavx2 -mfma -mf16c -mbmi2"}' "$TC_ROOT/lib/isa.tab" >lib/isa.tab
    make -n BUILD=b all >commands
    for kernel in "$TC_ROOT"/lib/kernel/*.isa.c; do # all kernels are compiled for it
        name=${kernel##*/}
        grep -q "mavx2 -mfma -mf16c -mbmi2 .*${name%.isa.c}.of_test.o" commands || { echo "$name"; false; }
    done
    make -s BUILD=b b/obj/lib/kernel/isa.o b/obj/lib/base/cpu.o b/obj/lib/codegen/cc.o # and the tables have it
    nm b/obj/lib/kernel/isa.o | grep -q 'U tc_gemm_f32_of_test'
    strings -a b/obj/lib/codegen/cc.o | grep -q of_test
}
