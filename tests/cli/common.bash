# Loaded by the test files of the programs.
bats_require_minimum_version 1.5.0

fails() { # CODE TEXT COMMAND...: the exit code, and TEXT on stderr
    local code=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$code" ] || { echo "exit $status, expected $code: $stderr"; return 1; }
    [[ "$stderr" == *"$text"* ]] || { echo "found: $stderr"; return 1; }
}

scratch() { # goes to an empty folder of the test's own, where caches and temporary files are too
    cd "$BATS_TEST_TMPDIR"
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache XDG_DATA_HOME=$BATS_TEST_TMPDIR/data TMPDIR=$BATS_TEST_TMPDIR
}
