# Loaded by the test files that check refusals.

fails() { # CODE TEXT COMMAND...: the exit code, and TEXT on stderr
    local code=$1 text=$2
    shift 2
    run --separate-stderr "$@"
    [ "$status" -eq "$code" ] || { echo "exit $status, expected $code: $stderr"; return 1; }
    [[ "$stderr" == *"$text"* ]] || { echo "found: $stderr"; return 1; }
}
