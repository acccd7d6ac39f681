# tc-ckpt on files and archives; checkpoints of runs are in tc-train.bats.
load common

setup() {
    mlp=$TC_ROOT/tests/oracle/pt2/mlp.pt2
    cd "$BATS_TEST_TMPDIR"
}

@test "ls lists names, types and bytes in order of name" {
    run --separate-stderr tc-ckpt ls "$mlp"
    [[ "${lines[0]}" =~ ^64xf32\ +256\ +[0-9]+\ \ layers.0.bias$ ]]
    [ "${lines[6]}" = "6 tensors, 23592 bytes" ]
    run --separate-stderr tc-ckpt ls --json "$mlp"
    [[ "${lines[1]}" == '{"name": "layers.0.weight", "dtype": "f32", "shape": [64, 16], "bytes": 4096, "offset": '*', "file": "'*'/mlp.pt2"}' ]]
}

@test "consolidate, diff and show agree" {
    tc-ckpt consolidate "$mlp" -o a.safetensors
    tc-ckpt diff "$mlp" a.safetensors
    run --separate-stderr tc-ckpt show a.safetensors layers.2.bias
    [[ "${lines[0]}" == "layers.2.bias = tensor(["* ]]
    run --separate-stderr tc-ckpt show a.safetensors nothing
    [ "$status" -eq 3 ]
}

@test "diff says which tensors differ and exits 4" {
    tc-ckpt consolidate "$mlp" -o a.safetensors
    cp a.safetensors b.safetensors
    printf '\x01' | dd of=b.safetensors bs=1 seek=$(($(stat -c %s b.safetensors) - 1)) conv=notrunc status=none
    run --separate-stderr tc-ckpt diff a.safetensors b.safetensors
    [ "$status" -eq 4 ]
    [[ "$output" == *"1 of "*" elements differ"* ]]
}

@test "verify finds a damaged entry" {
    run --separate-stderr tc-ckpt verify "$mlp"
    [ "$status" -eq 0 ]
    cp "$mlp" bad.pt2
    chmod u+w bad.pt2
    printf '\x55\x55' | dd of=bad.pt2 bs=1 seek=2000 conv=notrunc status=none
    run --separate-stderr tc-ckpt verify bad.pt2
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"checksum is wrong"* ]]
}

@test "a device without an end is refused, by every program" {
    fails 3 "/dev/zero: a device that gives more than 64 MiB" tc-ckpt ls /dev/zero
    fails 3 "/dev/zero: a device that gives more than 64 MiB" tc-run /dev/zero
    fails 3 "a device that gives more than 64 MiB" tc-ckpt convert -o x.safetensors </dev/zero
    ulimit -f 1000 # nor is a pipe that begins like no known file
    for command in "tc-run" "tc-ckpt ls -" "tc-ckpt verify -" "tc-export - --print"; do
        fails 3 "stdin: more than 64 MiB that begin like no known file" $command < <(yes)
    done
}

@test "the tensors of a torch.package are read by the names of its pickles, its code is left alone" {
    cp "$TC_ROOT/tests/fuzz/seeds/saved/package.pt" p.pt
    [ "$(tc-ckpt verify p.pt)" = "p.pt: ok, 3 tensors" ]
    tc-ckpt ls --json p.pt | sed 's/.*"name": "\([^"]*\)".*"shape": \(.*\), "bytes.*/\1 \2/' >names
    printf 'model.net.bias [2]\nmodel.net.weight [2, 3]\nx.t.w [2, 3]\n' | cmp - names
    [ "$(tc-ckpt show p.pt x.t.w | tr -d ' \n')" = 'x.t.w=tensor([[0.,1.,2.],[3.,4.,5.]])' ]
    [ "$(tc-ckpt show p.pt x.t.n)" = 'x.t.n = 3' ]
    tc-ckpt convert p.pt --select '^model.net' --rename 's/^model.net.//' -o net.pt
    [ ! -e pwned ]
    run --separate-stderr tc-run p.pt
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"tc-export FILE.py:CLASS --weights p.pt"* ]]
}

@test "NumPy arrays beside the tensors of a torch.save are named as what is not listed, and stay in a .pt" {
    file=$TC_ROOT/tests/cli/fixtures/arrays.pt # {"a": torch.ones(2), "n": numpy.arange(3.0), "l": [numpy.ones(2)]}
    run --separate-stderr tc-ckpt ls "$file"
    [ "$status" -eq 0 ]
    [ "$(awk '{ print $NF }' <<<"$output")" = $'a\nbytes' ]
    printf "tc-ckpt: $file: %s: a NumPy array, which is no tensor: not listed\n" n l.0 | cmp - <(echo "$stderr")
    tc-ckpt convert "$file" -o again.pt
    tc-ckpt show again.pt 2>said
    [ "$(grep -c 'a NumPy array' said)" -eq 2 ]
}

@test "the tensors beside a dict that holds itself are read" {
    file=$TC_ROOT/tests/cli/fixtures/itself.pt
    [ "$(tc-ckpt ls "$file" | awk '{ print $NF }')" = $'w\nbytes' ]
    [ "$(tc-ckpt show "$file" w x.1.y)" = "$(printf 'w = tensor([1.])\nx.1.y = "itself, 3 levels up"\n')" ]
}

@test "what two ranks of torch.distributed.checkpoint saved is read and put together" {
    tc-ckpt consolidate -q "$TC_ROOT/tests/cli/fixtures/parts" -o whole.safetensors
    [ "$(tc-ckpt show whole.safetensors a b | tr -d ' \n')" = 'a=tensor([[0.,1.,2.],[3.,4.,5.],[6.,7.,8.],[9.,10.,11.],[12.,13.,14.]])b=tensor([[0,1,2,3],[4,5,6,7]],dtype=torch.int32)' ]
}

@test "settings kept as a SimpleNamespace are data; a type of code is not" {
    file=$TC_ROOT/tests/cli/fixtures/namespace.pt
    [ "$(tc-ckpt ls "$file" | awk '/x/ { print $4 }' | tr '\n' ' ')" = "args.steps w " ]
    tc-ckpt convert "$file" -o w.safetensors
    printf '\200\002ctypes\nCodeType\n.' >code.pkl
    run --separate-stderr tc-ckpt ls code.pkl
    [ "$status" -eq 3 ] && [[ "$stderr" == *"types.CodeType, which is forbidden"* ]] || { echo "$stderr"; return 1; }
}

@test "a pipe or a device among the files of a checkpoint is refused, not waited for" {
    cp -r "$TC_ROOT/tests/cli/fixtures/dcp-train" dcp
    mkdir one
    tc-ckpt convert "$TC_ROOT/tests/cli/fixtures/counts.safetensors" -o one/model.safetensors
    tc-ckpt convert one --to hf -o split --shard-size 1
    shard=$(cd split && ls ./*.safetensors | head -1)
    for file in dcp/.metadata dcp/__0_0.distcp one/model.safetensors split/model.safetensors.index.json "split/${shard#./}"; do
        mv "$file" kept
        mkfifo "$file"
        run --separate-stderr timeout 10 tc-ckpt ls "${file%/*}"
        [ "$status" -eq 3 ] && [[ "$stderr" == *"$file: is a pipe or a device, expected a file" ]] || { echo "$file: $status $stderr"; return 1; }
        rm "$file"
        mv kept "$file"
        tc-ckpt ls "${file%/*}" >/dev/null
    done
}
