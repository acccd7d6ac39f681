# What an earlier version wrote still works: tests/specimen/VERSION holds a recipe, a run that was stopped, and a compiled archive of each;
# none of these files changes.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    old=$TC_ROOT/tests/specimen/0.1.0
}

@test "a run directory of 0.1.0 goes on to where that version came" {
    cp -r "$old/run" run
    sed -i "s|DIRECTORY|$old|" run/environment
    tc-train run --resume 2>err
    grep -q 'going on from .*step-3' err
    [ "$(readlink run/latest)" = step-6 ]
    tc-ckpt verify run/latest
    diff "$old/run/metrics.jsonl" <(head -n 4 run/metrics.jsonl)
    [ "$(grep -c '"right"' run/metrics.jsonl)" -eq 2 ]
    tc-ckpt diff --rtol 1e-5 --atol 1e-6 run/latest/shard-*.safetensors "$old/step-6.safetensors"
}

@test "a recipe of 0.1.0 trains as it did" {
    tc-export "$old/model.py:Net" --input x=Bx3xi64 | tc-train -q "$old/recipe.yaml" -o run
    tc-ckpt diff --rtol 1e-5 --atol 1e-6 run/latest/shard-*.safetensors "$old/step-6.safetensors"
    [ "$(grep -c '"right"' run/metrics.jsonl)" -eq 2 ]
}

@test "an archive that 0.1.0 compiled runs its code, and as a graph" {
    x="--input x=2x3xi64=1,2,3,4,5,6"
    tc-run "$old/compiled.pt2" -q $x --expect @"$old/y.npy" --rtol 1e-6
    grep -qw avx2 /proc/cpuinfo || skip "no AVX2: the graph ran, its code for AVX2 did not"
    tc-run "$old/compiled.pt2" -v --trust $x --expect @"$old/y.npy" --rtol 1e-6 2>err
    grep -q 'compiled code for avx2 serves 2 of 2 groups' err
}
