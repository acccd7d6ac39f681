# What a file holds may not steer the terminal that shows it: control characters are \xNN in text, \u00NN in JSON.
load common

setup() {
    scratch
    F=$'m\e[1m.py'
    cat >"$F" <<'EOF'
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)
        self.register_buffer('w', torch.ones(2))
    def forward(self, x):
        print("said\x1b[31m")
        return (self.l(x).exp() + self.w).sum(0)
EOF
    tc-export "$F:M" --input x=2x3xf32 -q -o plain.pt2
    # CSI as C0 and as C1 writes it
    tc-export plain.pt2 --rename $'s/l.weight/q\e[31m/' --rename $'s/^w/\xc2\x9b32m/' -o m.pt2
}

# COMMAND... [expected text]: it succeeds, steers nothing, and shows what it was given.
shows() {
    local expected=$1
    shift
    "$@" >shown 2>&1 || [ $? -eq 4 ] # different
    if grep -aP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' shown; then return 1; fi
    grep -qF "$expected" shown
}

@test "tc-export shows control characters: graph, modules, print(), logs, profile" {
    shows 'q\x1b[31m' tc-export --print m.pt2
    shows '\xc2\x9b32m' tc-export --print=full m.pt2
    shows 'label=' tc-export --to dot m.pt2
    shows 'said\x1b[31m' tc-export "$F:M" --input x=2x3xf32 -o again.pt2
    shows 'm\x1b[1m.py:8' tc-export "$F:M" --input x=2x3xf32 -o again.pt2 --time --log guards,shapes
}

@test "JSON of tc-export and tc-run keeps control characters, escaped once" {
    shows '"q\u001b[31m"' tc-export --print=json m.pt2
    shows '"\u009b32m"' tc-export --print=json m.pt2
    shows 'm\u001b[1m.py:9' tc-run m.pt2 --json --trace --input x=2x3xf32=1 -o out.npy
}

@test "tc-run shows control characters: trace and signature" {
    shows 'm\x1b[1m.py:9' tc-run m.pt2 --trace --input x=2x3xf32=1 -o out.npy
    tc-export plain.pt2 --meta note=$'a\e[31mb' -o meta.pt2
    shows 'note = a\x1' tc-run --signature meta.pt2
}

@test "tc-compile and tc-bench show control characters of the source's name" {
    shows 'm\x1b[1m.py' tc-compile m.pt2 --log rewrites -v -o c.pt2
    shows 'm\x1b[1m.py:9' tc-bench m.pt2 --profile - --repeat 1
}

@test "tc-ckpt shows control characters of names: ls, show, diff, as text and JSON" {
    shows 'q\x1b[31m' tc-ckpt ls m.pt2
    shows '\xc2\x9b32m' tc-ckpt ls m.pt2
    shows '"\u009b32m"' tc-ckpt --json ls m.pt2
    shows 'q\x1b[31m = ' tc-ckpt show m.pt2 $'q\e[31m'
    shows 'q\x1b[31m: only in' tc-ckpt diff plain.pt2 m.pt2
    shows '"q\u001b[31m"' tc-ckpt --json diff plain.pt2 m.pt2
}

@test "tc-train shows control characters of the model: notes, programs, profile" {
    printf 'a,b,c,d\n4,5,6,1\n7,8,9,1\n' >x.csv
    printf 'model: "%s:M"\ninput: x=2x3xf32\ndata: {columns: [a, b, c], target: d, train: {csv: x.csv}}
batch: 2\nsteps: 1\nloss: out.mean()\noptimizer: torch.optim.SGD(m.parameters(), lr=0.1)\n' 'm\x1b[1m.py' >r.yaml
    shows 'm\x1b[1m.py:8: print' tc-train r.yaml -v --profile p.txt -o run
    shows 'm\x1b[1m.py:9' cat p.txt
}
