#!/usr/bin/env bats
# ONNX models wherever a program is read, and written back.
bats_require_minimum_version 1.5.0

setup() {
    cases=$TC_ROOT/tests/oracle/onnx/node
    cd "$BATS_TEST_TMPDIR"
}

@test "the committed cases of ONNX pass" {
    run "$TC_ROOT/tests/conformance" "$TC_BUILD" "$TC_ROOT/tests/oracle/onnx" -v
    echo "$output"
    [ "$status" -eq 0 ]
    [[ "${lines[-1]}" == *" 0 failed, 0 not yet" ]]
}

@test "a model is exported, printed, run and compiled like a program" {
    model=$cases/test_softmax_axis_0/model.onnx
    tc-export "$model" -o m.pt2
    tc-run m.pt2 --input x=3x4x5xf32=1 -o a.npy
    tc-run "$model" --input x=3x4x5xf32=1 -o b.npy
    tc-run - <"$model" --input x=3x4x5xf32=1 -o c.npy
    cmp a.npy b.npy
    cmp a.npy c.npy
    tc-export --print "$model" | grep -q 'aten.softmax'
    tc-compile "$model" -o n.pt2
    tc-run n.pt2 --input x=3x4x5xf32=1 -o d.npy
    cmp a.npy d.npy
}

@test "numbers that the shape depends on are taken from --input and checked when it runs" {
    model=$cases/test_reduce_sum_keepdims_random/model.onnx
    run --separate-stderr tc-export "$model" -o m.pt2
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"must be known"* ]]
    tc-export "$model" --input axes=1xi64=1 -o m.pt2
    tc-run m.pt2 --input data=3x2x2xf32=1 --input axes=1xi64=1 | head -c 6 >/dev/null
    run --separate-stderr tc-run m.pt2 --input data=3x2x2xf32=1 --input axes=1xi64=0
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"other values"* ]]
}
