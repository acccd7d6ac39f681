# Loaded by the test files whose programs write caches.

scratch() { # goes to an empty folder of the test's own, where caches and temporary files are too
    cd "$BATS_TEST_TMPDIR"
    export XDG_CACHE_HOME=$BATS_TEST_TMPDIR/cache XDG_DATA_HOME=$BATS_TEST_TMPDIR/data TMPDIR=$BATS_TEST_TMPDIR
}
