# --meta: text that an archive carries, from tc-export through tc-compile to tc-run --signature.
load common

setup() {
    scratch
    printf 'from torch import nn\nclass M(nn.Module):\n    def forward(self, x):\n        return x + 1\n' >m.py
    tc-export m.py:M --input x=3xf32 --meta author=me --meta note='a = b, "c"' -o m.pt2
}

@test "metadata is an entry of extra/, read back by --signature and passed on by tc-compile" {
    tc-run m.pt2 --signature >text
    grep -qx '  note = a = b, "c"' text
    tc-compile m.pt2 --meta author=you --meta when=2026 -o c.pt2
    run -0 tc-run c.pt2 --signature
    [[ "$output" == "meta:"*"author = you"*"when = 2026"*"note = a = b"*"inputs:"* ]]
    [[ "$output" != *"author = me"* ]]
    tc-run c.pt2 --signature --json | grep -q '"meta": *"author", *"value": *"you"'
    tc-run c.pt2 --input x=3xf32=1 --stance=fail_on_recompile -o y.npy
}

@test "what is no key is refused" {
    for spec in author =x tc/code=1 ../x=1 .x=1 'a b=1'; do
        run tc-compile m.pt2 --meta "$spec" -o c.pt2
        [ "$status" -eq 2 ]
        [[ "$output" == *"expected KEY=VALUE"* ]]
    done
    run tc-compile m.pt2 --meta a=1 --meta a=2 -o c.pt2
    [ "$status" -eq 2 ]
}

@test "a file in a folder of extra/ is kept by an export of an export" {
    tc-export m.py:M --input x=3xf32 --meta sub_a.txt=hi -o m.pt2
    LC_ALL=C sed 's|extra/sub_a|extra/sub/a|g' m.pt2 >in.pt2
    tc-export in.pt2 -o out.pt2
    grep -aq extra/sub/a.txt out.pt2
}
