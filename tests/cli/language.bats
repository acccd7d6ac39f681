#!/usr/bin/env bats
# The model language against CPython: each tests/language/NAME.py prints the same text under `python3 -W ignore NAME.py`, which wrote NAME.out
# (3.11 or later), and when tc-export evaluates it.
bats_require_minimum_version 1.5.0

@test "the model language prints what CPython prints" {
    cd "$BATS_TEST_TMPDIR"
    for source in "$TC_ROOT"/tests/language/*.py; do
        { cat "$source"; printf 'import torch.nn as nn\nclass M(nn.Module):\n    def forward(self, x):\n        return x\n'; } >m.py
        tc-export m.py:M --input x=2xf32 -o m.pt2 2>printed
        diff -u "${source%.py}.out" printed
    done
}
