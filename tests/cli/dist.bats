# Collectives over 1, 2, 3 and 4 ranks: the sum is the tree of tc-numerics(7), "Ranks", the same bits on every rank.
load common

setup() {
    command -v mpirun >/dev/null || skip "no mpirun"
    [ -e "$TC_BUILD/bin/tc-mpi.so" ] || skip "no tc-mpi.so"
}

ranks() {
    run --separate-stderr timeout 60 mpirun --oversubscribe --bind-to none -n "$1" "$TC_BUILD/drivers/dist-check"
    echo "$stderr"
    [ "$status" -eq 0 ]
    [ "$output" = "ok $1" ]
}

export ASAN_OPTIONS=detect_leaks=0 # Open MPI keeps memory of its own

@test "collectives of one rank" { ranks 1; }
@test "collectives of two ranks" { ranks 2; }
@test "collectives of three ranks" { ranks 3; }
@test "collectives of four ranks" { ranks 4; }

@test "without a launcher nothing is loaded" {
    run --separate-stderr "$TC_BUILD/drivers/dist-check"
    [ "$status" -eq 0 ]
    [ "$output" = "ok 1" ]
}
