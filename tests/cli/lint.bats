# A deliberate breach of each rule of tests/lint is found, by name and place.
setup() {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p tests/cli tests/fuzz lib/base lib/tensor man
    cp "$TC_ROOT/tests/lint" "$TC_ROOT/tests/format.unstable" tests
    cp "$TC_ROOT/lib/LAYERS" lib
    cp "$TC_ROOT/lib/base/banned.h" lib/base
    cp "$TC_ROOT/.clang-format" .
    touch tests/fuzz/run tests/fuzz/cover tests/fuzz/seed.bash tests/cli/a.bash tests/cli/a.bats
    printf '/* Good. */\n#ifndef TC_BASE_GOOD_H\n#define TC_BASE_GOOD_H\n#include <stddef.h>\nsize_t tc_good(void);\n#endif\n' >lib/base/good.h
    printf '/* Good. */\n#include "base/good.h"\n' >lib/tensor/good.c
    printf 'build/install/libtc.a:\n' >Makefile # the exported names are of a whole build
    git() { find . -name '*.[ch]' | sed 's|^\./||' | sort; } # a tree without a repository
    export -f git
}

problem() { # WORDS: what lint says of the tree, and nothing else
    bash tests/lint build >out 2>&1 && { cat out; return 1; }
    grep -qF -- "$1" out && grep -qx 'lint: 1 problems' out || { cat out; return 1; }
}

@test "a tree without a breach has no problem" {
    mkdir build
    bash tests/lint build
}

@test "a layer that includes a higher one" {
    mkdir build
    printf '/* Bad. */\n#include "tensor/good.h"\n' >lib/base/bad.c
    problem "lib/base/bad.c: layer base includes tensor, which stands above it"
    printf '/* Bad. */\n#include "cmd/cmd.h"\n' >lib/base/bad.c
    problem "lib/base/bad.c: layer base includes cmd, which stands above it"
}

@test "a file that something left in the root" {
    mkdir build
    printf '/* Left. */\n' >left.c
    problem "left.c: the root has no such file"
}

@test "a folder that is no layer, and a file that is too long" {
    mkdir build lib/odd
    printf '/* Bad. */\n#include "base/good.h"\n' >lib/odd/bad.c
    problem "layer odd is not in lib/LAYERS"
    rm -r lib/odd
    { echo '/* Bad. */'; for ((i = 0; i < 1001; i++)); do echo "extern int x$i;"; done; } >lib/base/long.c
    problem "lib/base/long.c: 1002 lines, expected at most 1000"
}

@test "a banned function, a library that prints, an unfinished thing, a file without a first comment" {
    mkdir build
    printf '/* Bad. */\nvoid f(char *a, const char *b) { strcpy(a, b); }\n' >lib/base/bad.c
    problem "lib/base/bad.c:2"
    grep -q 'banned (lib/base/banned.h)' out
    printf '/* Bad. */\nvoid f(void) { printf("x"); }\n' >lib/base/bad.c
    problem "the library does not print or exit"
    printf '/* Bad. */\nint x; /* TO%s: later */\n' DO >lib/base/bad.c
    problem "finish it or say in the manual that it is not there"
    printf 'int x;\n' >lib/base/bad.c
    problem "lib/base/bad.c: the first comment says what the file does"
}

@test "a header that needs another one before it" {
    mkdir build
    printf '/* Bad. */\n#ifndef TC_BASE_BAD_H\n#define TC_BASE_BAD_H\nsize_t tc_bad(void);\n#endif\n' >lib/base/bad.h
    problem "lib/base/bad.h: does not compile alone"
    printf '/* A text with its types defined by whoever includes it. */\nT tc_text(void);\n' >lib/base/bad.h
    bash tests/lint build
}

@test "a test that needs a program that no package brings" {
    mkdir build
    printf 'out=x; %s -c 1\n' python3 >tests/cli/a.bats
    problem "no package that the tests install has it"
}

@test "a test whose failure nobody sees" {
    mkdir build
    printf '    ! grep -q x out\n    run ! grep -q x out\n' >tests/cli/a.bats
    problem "no failure of it is seen"
    grep -q 'tests/cli/a.bats:1:' out
}

@test "an option that the page does not have, and one that the program does not" {
    mkdir -p build/bin tc-run
    printf '/* A program. */\n' >tc-run/main.c
    printf '#!/bin/sh\nprintf -- "--seed\\tN\\t\\n"\n' >build/bin/tc-run
    chmod +x build/bin/tc-run
    printf '.Dd January 1, 2026\n.Dt TC-RUN 1\n.Os\n.Sh NAME\n.Nm tc-run\n.Nd run\n.Sh OPTIONS\n.Bl -tag -width Ds\n.It Fl Fl seed Ar N\nit.\n.El\n' >man/tc-run.1
    bash tests/lint build
    sed -i 's/Fl Fl seed/Fl Fl sad/' man/tc-run.1
    bash tests/lint build >out && return 1
    grep -q 'man/tc-run.1: --seed is in the program and not in the page' out
    grep -q 'man/tc-run.1: --sad is in the page and not in the program' out
}
