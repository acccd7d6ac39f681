# Bad files: each of tests/bad gives the exit code and the message that EXPECT.tsv says, in one line, within a second and 256 MB.
load common

@test "every file of tests/bad is refused as it must be" {
    cd "$TC_ROOT/tests/bad"
    wrong=0
    limit="ulimit -v 1500000 -t 5" seconds=60 # of processor time, and of the clock
    if grep -q __asan_init "$TC_BUILD/bin/tc-run"; then limit=true seconds=60; fi # a sanitizer's own memory and time are not ours
    while IFS=$'\t' read -r file command code message; do
        [ "$file" = file ] && continue
        rc=0
        ($limit; exec timeout $seconds $command "$file") </dev/null >"$BATS_TEST_TMPDIR/out" 2>"$BATS_TEST_TMPDIR/err" || rc=$?
        if [ $rc -ne "$code" ] || ! grep -qF -- "$message" "$BATS_TEST_TMPDIR/err" || [ -s "$BATS_TEST_TMPDIR/out" ] ||
            [[ $file != *.py && $(wc -l <"$BATS_TEST_TMPDIR/err") -ne 1 ]]; then # errors of a model show the source
            echo "$command $file: exit $rc, expected $code with: $message"
            head -c 400 "$BATS_TEST_TMPDIR/err"
            wrong=$((wrong + 1))
        fi
    done <EXPECT.tsv
    [ $wrong -eq 0 ]
}

@test "every file there is expected" {
    cd "$TC_ROOT/tests/bad"
    diff <(ls | grep -v EXPECT.tsv | sort) <(tail -n +2 EXPECT.tsv | cut -f1 | sort)
}
