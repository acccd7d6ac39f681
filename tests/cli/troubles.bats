# Errors whose cause is common have a second line (cmd/troubles.txt, tc-troubleshooting(7)): each is provoked, and prints it; those about the content of
# files (exit 3 and 5) only as JSON, on a terminal or with -v.
load common

setup() {
    scratch
    export bad=$TC_ROOT/tests/bad
    cat >m.py <<'PY'
import torch
from torch import nn


class N(nn.Module):
    def __init__(self, n=4):
        super().__init__()
        self.l = nn.Linear(n, 1)

    def forward(self, x):
        return self.l(x)


class Table(nn.Module):
    def forward(self, i):
        return torch.arange(4)[i]


class Number(nn.Module):
    def forward(self, x):
        n = x.sum().item()
        torch._check(n > 0)
        return x * n


class Root(nn.Module):
    def forward(self, x):
        return torch.linalg.cholesky(x)


class Half(nn.Module):
    def forward(self, x):
        return x * 2


class Found(nn.Module):
    def forward(self, x):
        return torch.nonzero(x)
PY
    cat >r.yaml <<'YAML'
model: m.py:N
arg: {n: 1}
input: x=Bx1xf32
data: {csv: good.csv, columns: [x], target: y}
loss: out.sum()
optimizer: torch.optim.SGD(m.parameters(), lr=0.1)
batch: 2
steps: 1
YAML
    printf 'model: m.py:N\nsteps: 1\n' >none.yaml
    printf 'x,y\n1,2\n3,4\n5,6\n' >good.csv
    printf 'x,y\n1,2\none,4\n5,6\n' >bad.csv
    mkdir empty
    echo junk >junk
    echo '{}' >text.json
    tc-export m.py:N --input x=Bx4xf32 -o n.pt2
    tc-export m.py:Root --input x=BxBxf32 -o Root.pt2
    tc-export m.py:Found --input x=Bxf32 -o Found.pt2
    tc-export m.py:Half --input x=4xbf16 -o Half.pt2
    for class in Table Number; do tc-export m.py:$class --input $([ $class = Table ] && echo i || echo x)=Bxi64 -o $class.pt2; done
    tc-run n.pt2 --input x=2x4xf32=1 -o y.npy
    tc-run n.pt2 --input x=2x4xf32=2 -o z.npy
    tc-run n.pt2 --input x=2x4xf32=1 --to safetensors -o y.safetensors
    cat >cases <<'CASES'
cannot open: No such file or directory	tc-run nothere.pt2
is a directory, expected a file	tc-run empty
cannot create: No such file or directory	tc-run n.pt2 --input x=2x4xf32=1 -o nothere/y.npy
No space left on device	tc-run n.pt2 --input x=2x4xf32=1 -o /dev/full
nothing arrived for	tc-run </dev/null
empty file, expected	tc-run $bad/empty.pt2
is a JSON text, expected a program	tc-run text.json
format, expected a program	tc-run $bad/text.pt2
format, expected safetensors	tc-run n.pt2 --input x=2x4xf32=1 --weights junk
format, expected .npy	tc-run n.pt2 --input x=@junk
no end record of a ZIP	tc-run $bad/cut.pt2
its checksum is wrong	tc-run $bad/checksum.pt2
is encrypted	tc-run $bad/encrypted.pt2
two entries are named	tc-run $bad/twice.pt2
holds no program	tc-run $bad/no-program.pt2
schema version	tc-run $bad/version.pt2
which is forbidden: nothing was run	tc-ckpt ls $bad/pickle.pt
byte order big	tc-run $bad/big-endian.pt2
there is no operator	tc-run $bad/no-operator.pt2
operator * (opset	tc-run $bad/no-operator.onnx
attribute * is not supported	tc-run $bad/unread-attribute.onnx
operator * is not supported	tc-run $bad/other-operator.pt2
is used before anything makes it	tc-run $bad/undefined.pt2
is used and nothing makes it	tc-run $bad/dangling.onnx
a cycle through	tc-run $bad/cycle.onnx
beyond the end of what holds it	tc-run $bad/cut.onnx
without a graph	tc-run $bad/no-graph.onnx
leaves the model's folder	tc-run $bad/external-up.onnx
nested deeper than	tc-run $bad/deep.pt2
memory limit	tc-run $bad/large-constant.onnx
more than 64 MiB of	tc-ckpt ls $bad/strings.pt
too much to be data	tc-ckpt ls $bad/bomb.npz
cut short	tc-ckpt ls $bad/cut.npy
overlap or leave a hole	tc-ckpt ls $bad/hole.safetensors
of type |O	tc-ckpt ls $bad/object.npy
structured .npy	tc-ckpt ls $bad/struct.npy
quantised tensor	tc-ckpt ls $bad/quantised.pt
element type	tc-ckpt ls $bad/type.safetensors
no name of a file in this folder	tc-ckpt ls $bad/hf-escape
names, is missing	tc-ckpt ls $bad/hf-missing
not a finished checkpoint	tc-ckpt ls empty
has no tensor	tc-run n.pt2 --input x=@y.safetensors#nope
has no program named	tc-run n.pt2 --model other --input x=2x4xf32=1
.size(* expected	tc-run n.pt2 --input x=2x5xf32=1
expected * by --dim	tc-run n.pt2 --input x=2x4xf32=1 --dim B=3
 is *x*, expected *[	tc-run n.pt2 --input x=2x4xf64=1
elements (one value fills)	tc-run n.pt2 --input x=2x4xf32=1,2
IndexError: index	tc-run Table.pt2 --input i=2xi64=9
the program needs at	tc-run Number.pt2 --input x=2xi64=-1
not positive-definite	tc-run Root.pt2 --input x=2x2xf32=-1
cannot allocate	tc-run Table.pt2 --input i=999999999999xi64=1
elements differ, the first at	tc-run n.pt2 --input x=2x4xf32=2 --expect @y.npy
differ in * tensors	tc-ckpt diff y.npy z.npy
the key * is missing	tc-train none.yaml
unknown key	tc-train r.yaml stepz=3
expected one number of a floating type	tc-train r.yaml loss=out
samples of a set of	tc-train r.yaml batch=100
no column	tc-train r.yaml data.target=q
column *expected a number	tc-train r.yaml data.csv=bad.csv
the loss is	tc-train r.yaml 'loss=out.sum() * 1e38 * 1e38'
the compiler *failed	tc-compile n.pt2 --to so --dim B=2 --cc false -o x.so
: .npy has no such type	tc-compile Half.pt2 --to exe -o h
in a C unit	tc-compile Found.pt2 --to c -o k --dim B=4
 as C	tc-compile Root.pt2 --to c -o k --dim B=4
cannot be multiplied	tc-bench --op 'mm(f32[2,3], f32[4,5])'
CASES
}

@test "each common error is explained by its own line" {
    wrong=0
    if grep -q __asan_init "$TC_BUILD/bin/tc-run"; then sed -i '/^cannot allocate/d' cases; fi # a sanitizer ends the program there
    while IFS=$'\t' read -r part command; do
        line=$(grep -F "$part"$'\t' "$TC_ROOT/cmd/troubles.txt" | cut -f2)
        rc=0
        bash -c "$command" >/dev/null 2>err || rc=$?
        if [ $rc -eq 3 ] || [ $rc -eq 5 ]; then
            [ "$(wc -l <err)" -eq 1 ] || wrong=$((wrong + 1))
            bash -c "${command/ / --json }" >/dev/null 2>err || true
            grep -qF "\"help\": \"${line//\"/\\\"}\"" err && continue
        fi
        [ $rc -ne 0 ] && [ "$(wc -l <err)" -eq 2 ] && [ "$(tail -1 err)" = "$line" ] && continue
        echo "$command: exit $rc, expected below it: $line"
        cat err
        wrong=$((wrong + 1))
    done <cases
    [ $wrong -eq 0 ]
}

@test "the list, the cases and the page are the same errors, fifty at least" {
    diff <(cut -f1 "$TC_ROOT/cmd/troubles.txt") <(cut -f1 cases)
    [ "$(wc -l <cases)" -ge 50 ]
    run -0 awk -f "$TC_ROOT/man/troubleshooting.awk" "$TC_ROOT/cmd/troubles.txt"
    [ "$(grep -c '^\.It "' <<<"$output")" -eq "$(wc -l <cases)" ]
    [[ "$output" == *'.It "operator ... (opset"'* ]]
}

@test "as JSON the line is the key help; an error that explains itself has none; on a terminal and with -v a file's error has it, too" {
    run -3 --separate-stderr tc-run -v junk
    [ "${#stderr_lines[@]}" -eq 2 ]
    if script -qec true /dev/null </dev/null >/dev/null 2>&1; then [ "$(script -qec 'tc-run junk' /dev/null </dev/null | wc -l)" -eq 2 ]; fi
    run --separate-stderr tc-run nothere.pt2 --json
    [[ "$stderr" == *'"help": "the name is misspelt, '* ]]
    run --separate-stderr tc-run n.pt2 --inptu 1 --json
    [[ "$status" -eq 2 && "$stderr" != *'"help"'* ]]
}
