# tc-ckpt convert and consolidate: every format there and back, names, types, transposes, folders, pipes, bounded memory.
load common

setup() {
    mlp=$TC_ROOT/tests/oracle/pt2/mlp.pt2
    cd "$BATS_TEST_TMPDIR"
    tc-ckpt convert "$mlp" -o a.safetensors
}

@test "every format holds the same tensors, and the same bytes again" {
    for form in pt npz hf dcp safetensors; do
        tc-ckpt convert a.safetensors --to $form -o out.$form
        tc-ckpt diff out.$form a.safetensors
        tc-ckpt verify out.$form
        tc-ckpt convert out.$form --to safetensors | cmp - a.safetensors
        [ -d out.$form ] || { tc-ckpt convert a.safetensors --to $form | cmp - out.$form; }
    done
}

@test "torch.save: a dense tensor that is not in row-major order keeps its strides, also when it is cast" {
    tc-ckpt convert "$TC_ROOT/tests/fuzz/seeds/saved/views.legacy.pth" --select '^transposed$' -o base.pt
    for options in "" "--cast f64" "--rename s/^/model./"; do
        tc-ckpt convert base.pt $options -o other.pt
        [[ "$(tc-ckpt ls --json other.pt)" == *'"shape": [6, 4]'*'"stride": [1, 6]'* ]]
        cmp <(tc-ckpt show base.pt transposed | sed 's/^[a-z]* = //; s/, dtype.*)/)/') <(tc-ckpt show other.pt "$(tc-ckpt ls --json other.pt | sed 's/.*"name": "\([^"]*\)".*/\1/')" | sed 's/^[a-z.]* = //; s/, dtype.*)/)/')
    done
    tc-ckpt convert base.pt -o rows.safetensors # formats without strides are written by rows
    tc-ckpt diff base.pt rows.safetensors
    tc-ckpt convert base.pt --transpose=transposed -o back.pt
    [[ "$(tc-ckpt ls --json back.pt)" != *stride* ]]
}

@test "a file of torch.save without checksums is read, and written by --no-crc; where only one is 0 it is damage" {
    tc-ckpt convert a.safetensors --no-crc -o a.pt
    perl -0777 -ne 'while (/PK\x01\x02.{12}(.{4})/sg) { die "a checksum" if $1 ne "\0\0\0\0" }' a.pt
    tc-ckpt diff a.pt a.safetensors
    [ "$(tc-ckpt verify a.pt)" = "a.pt: ok, 6 tensors (it has no checksums)" ]
    tc-ckpt convert a.safetensors -o sums.pt
    perl -0777 -pe 's/(PK\x03\x04.{10}).{4}/$1\0\0\0\0/s; s/(PK\x01\x02.{12}).{4}/$1\0\0\0\0/s' sums.pt >one.pt
    run --separate-stderr tc-ckpt ls one.pt
    [ "$status" -eq 3 ]
    [[ "${stderr_lines[0]}" == *"its checksum is wrong" ]]
    run --separate-stderr tc-ckpt convert a.safetensors --no-crc -o a.npz
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"--no-crc needs --to pt"* ]]
}

# tests/cli/fixtures/old.tar: storages 100 of six floats and 200 of three int64, 300 a view of four elements of 100 from the third on; other entries between.
@test "the tar format of PyTorch before 0.1.10 is read: storages, views of storages, tensors" {
    old=$TC_ROOT/tests/cli/fixtures/old.tar
    tc-ckpt show "$old" w part n | tr -d ' \n' >found
    printf %s 'w=tensor([[1.,2.,3.],[4.,5.,6.]])part=tensor([[3.,5.],[4.,6.]])n=tensor([-8,9])' | cmp - found
    tc-ckpt convert "$old" -o old.safetensors
    tc-ckpt diff "$old" old.safetensors
    damaged() { # TEXT PERL
        perl -0777 -pe "$2" "$old" >bad.tar
        fails 3 "$1" tc-ckpt ls bad.tar
    }
    damaged "a tar entry of a bad size" 's/(storages\0.{115})\d{11}/${1}00000077777/s'
    damaged "a tar without storages" 's/(storages\0.{147})0/${1}2/s' # a link
    damaged "a view of a storage that does not fit it" 's/K\x02K\x04/K\x02K\x05/'
    damaged "storage 100: a bad number of elements" 's/\.\x06\0{7}/".".("\xff" x 8)/e'
    damaged "storage 100 stands twice" 's/K\xc8(X\x03\0\0\0cpu)/Kd$1/'
    damaged "a tensor of 100 dimensions" 's/\.\x02\0{7}(?=\x02)/.d\0\0\0\0\0\0\0/'
    damaged "a tensor with a negative offset" 's/(\.\x01\0{7}\x02\0{7}\x01\0{7}).{8}/$1.("\xff" x 8)/se'
    damaged "a reference to a tensor that is not there" 's/(pickle\0.*)K\x02Q/${1}K\x07Q/s'
}

@test "in pt a tensor that lies in another one is a view of it again, stored once" {
    views=$TC_ROOT/tests/cli/fixtures/views.pt # torch.save of x, x[1:], x.t(), x[:, 1] twice, x[2, 3] and one of its own
    tc-ckpt convert "$views" -o v.pt
    tc-ckpt diff v.pt "$views"
    at() { tc-ckpt ls --json v.pt | sed -n "s/.*\"$1\".*\"offset\": \([0-9]*\).*/\1/p"; }
    whole=$(at whole)
    for place in part:16 turned:0 column:4 same:4 one:44; do [ $(($(at ${place%:*}) - whole)) -eq ${place#*:} ]; done
    tc-ckpt ls --json v.pt | grep -q '"turned".*"stride": \[1, 4\]'
    tc-ckpt convert v.pt --cast f16 -o half.pt # what is converted is stored by itself
    tc-ckpt convert "$views" --cast f16 -o also.safetensors
    tc-ckpt diff half.pt also.safetensors
}

@test "a pipe is as good as a file" {
    tc-ckpt convert a.safetensors --to pt | tc-ckpt ls >one
    tc-ckpt convert a.safetensors -o a.pt
    tc-ckpt ls a.pt >two
    cmp one two
    cat a.safetensors | tc-ckpt show - | grep -q '6 tensors, 23592 bytes'
    run --separate-stderr tc-ckpt ls </dev/null
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"nothing arrived"* ]]
}

@test "select, map and rename change names; patterns see those of the file" {
    printf 'layers.0.bias\tfirst\nlayers.0.weight\t\n' >table
    tc-ckpt convert a.safetensors --select '^layers\.[01]' --select '!layers\.1.*bias' --map table --rename 's/layers\.([0-9])/h\1/' --to npz -o out.npz
    run tc-ckpt ls out.npz
    [[ "${lines[0]}" == *"  first" ]]
    [ "${lines[1]}" = "1 tensors, 256 bytes" ] || [[ "${lines[1]}" == *"  h1.weight" ]]
    echo '{"layers.9": "x"}' >bad.json
    run --separate-stderr tc-ckpt convert a.safetensors --map bad.json -o x.pt
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"has no tensor layers.9"* ]]
    run --separate-stderr tc-ckpt convert a.safetensors --rename 's/.*/x/' -o x.pt
    [ "$status" -eq 2 ]
    [ ! -e x.pt ]
}

@test "casts and transposes; twice a transpose is none" {
    tc-ckpt convert a.safetensors --cast f64 --cast 'bias$=f16' -o b.npz
    run tc-ckpt ls b.npz
    [[ "${lines[0]}" == 64xf16* ]]
    [[ "${lines[1]}" == 64x16xf64* ]]
    tc-ckpt convert a.safetensors --transpose weight -o t.safetensors
    run tc-ckpt ls t.safetensors
    [[ "${lines[1]}" == 16x64xf32* ]]
    tc-ckpt convert t.safetensors --transpose 'weight$:1,0' | cmp - a.safetensors
    fails 3 "--transpose wieght: no tensor of a.safetensors has such a name" tc-ckpt convert a.safetensors --transpose wieght -o x
    fails 3 "--cast w\$=bf16: no tensor of a.safetensors has such a name" tc-ckpt convert a.safetensors --cast 'w$=bf16' -o x
    run --separate-stderr tc-ckpt convert a.safetensors --transpose 'weight:0,2' -o x
    [ "$status" -eq 2 ]
}

@test "a HuggingFace folder in several files, and its damage" {
    tc-ckpt convert a.safetensors -o hf/ --shard-size 5K
    [ "$(ls hf | wc -l)" -ge 3 ]
    tc-ckpt diff hf a.safetensors
    tc-ckpt diff hf/model.safetensors.index.json a.safetensors
    run --separate-stderr tc-ckpt convert a.safetensors -o hf/
    [ "$status" -eq 1 ]
    rm hf/model-00002-of-*
    run --separate-stderr tc-ckpt ls hf
    [ "$status" -eq 3 ]
    [[ "$stderr" == *"model-00002-of-"*"is missing"* ]]
}

@test "reshard writes the parts of a mesh's ranks, which any other mesh reads: the same bytes again" {
    for mesh in 2x4 3 8x1 1 2x2x2; do
        tc-ckpt reshard "${from-a.safetensors}" --mesh $mesh -o out.$mesh
        tc-ckpt verify out.$mesh
        tc-ckpt convert out.$mesh --to safetensors | cmp - a.safetensors
        from=out.$mesh
    done
    [ "$(ls out.2x4 | wc -l)" -eq 8 ] && [ "$(ls out.1 | wc -l)" -eq 1 ]
    tc-ckpt ls out.2x4/shard-00001-* --json >parts # 16x16 and 8x16 of mlp, rows by 2 and columns by 4
    tc-ckpt ls a.safetensors --json >whole
    cmp -s parts whole && return 1
    for bad in 0 x 2x -1 2x0 100000 1000x1000 2x2x2x2x2; do
        run tc-ckpt reshard a.safetensors --mesh "$bad" -o bad
        [ "$status" -eq 2 ] && [[ "$output" == *"expected ranks, as 8 or 2x4"* ]] && [ ! -e bad ]
    done
    run tc-ckpt reshard a.safetensors -o bad
    [ "$status" -eq 2 ] && [[ "$output" == *"--mesh 8"* ]]
}

@test "what a format lacks is refused by name" {
    tc-ckpt convert a.safetensors --cast bf16 -o b.safetensors
    run --separate-stderr tc-ckpt convert b.safetensors -o b.npz
    [ "$status" -eq 2 ]
    [[ "$stderr" == *"no type bfloat16"* ]]
    [ ! -e b.npz ]
    tc-ckpt convert a.safetensors --cast c128 -o c.npz
    run --separate-stderr tc-ckpt convert c.npz -o c.safetensors
    [ "$status" -eq 5 ]
}

@test "a name that leads out of its folder is no member of an .npz" {
    named() { # NAME: one f32 of this name
        local header='{"'$1'": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}'
        { printf '\x80\000\000\000\000\000\000\000' && printf '%-128s' "$header" && printf '\000\000\000\000'; } >named.safetensors
    }
    for name in ../../x /x a/.. a/../x ..; do
        named "$name"
        run --separate-stderr tc-ckpt convert named.safetensors -o named.npz
        [ "$status" -eq 3 ]
        [[ "$stderr" == *"$name"*"leads out of its folder"* ]]
        [ ! -e named.npz ]
    done
    for name in x/y ..x x..; do
        named "$name"
        tc-ckpt convert named.safetensors -o named.npz
        rm named.npz
    done
}

# bats test_tags=slow
@test "memory does not grow with the file" {
    if grep -q __asan_init "$TC_BUILD/bin/tc-ckpt"; then skip "a sanitizer's own memory is not ours"; fi
    n=$((1 << 30)) # a sparse file: a header of 256 bytes and zeros
    header='{"a": {"dtype": "F32", "shape": [16384, '$((n / 8 / 16384))'], "data_offsets": [0, '$((n / 2))']}, "b": {"dtype": "F32", "shape": ['$((n / 8))'], "data_offsets": ['$((n / 2))', '$n']}}'
    { printf '\000\001\000\000\000\000\000\000' && printf '%-256s' "$header"; } >big.safetensors
    truncate -s $((8 + 256 + n)) big.safetensors
    tc-ckpt --time ls big.safetensors 2>time
    tc-ckpt convert --time --cast bf16 big.safetensors --to safetensors 2>time >/dev/null
    mb=$(grep -oE '[0-9.]+ M(i)?B' time | head -1 | sed 's/[. ].*//')
    [ "$mb" -le 200 ]
    tc-ckpt diff --time big.safetensors big.safetensors 2>time
    mb=$(grep -oE '[0-9.]+ M(i)?B' time | head -1 | sed 's/[. ].*//')
    [ "$mb" -le 200 ]
}

@test "memory does not grow with the number of tensors, whose checksums are compared too" {
    if grep -q __asan_init "$TC_BUILD/bin/tc-ckpt"; then skip "a sanitizer's own memory is not ours"; fi
    header= n=$((1 << 20))
    for i in {0..199}; do header+=", \"t.$i\": {\"dtype\": \"F32\", \"shape\": [$((n / 4))], \"data_offsets\": [$((i * n)), $(((i + 1) * n))]}"; done
    { printf '\000\200\000\000\000\000\000\000' && printf '%-32768s' "{${header:2}}"; } >many.safetensors
    truncate -s $((8 + 32768 + 200 * n)) many.safetensors
    tc-ckpt convert many.safetensors -o many.pt --time 2>first
    tc-ckpt convert many.pt --to hf -o many --time 2>second
    tc-ckpt consolidate many --to safetensors --time 2>third >/dev/null
    for time in first second third; do
        mb=$(sed -n 's/.* \([0-9]*\)[.0-9]* MiB peak/\1/p' $time)
        [ "$mb" -le 100 ] || { cat $time; return 1; }
    done
}

@test "a folder that a killed writer left half written goes when the same folder is written; a living writer's stays" {
    mkdir .out.tmp0 .out.tmp1
    echo x >.out.tmp0/model.safetensors
    exec 9<.out.tmp1
    flock 9
    tc-ckpt convert a.safetensors --to hf -o out
    exec 9<&-
    tc-ckpt diff out a.safetensors
    [ ! -e .out.tmp0 ]
    [ -d .out.tmp1 ]
    tc-ckpt convert a.safetensors --to dcp -o out 9<&- && return 1 # out is there
    rm -r out
    tc-ckpt convert a.safetensors --to dcp -o out
    [ ! -e .out.tmp1 ]
}

@test "an empty folder takes the output through a link and keeps its mode; it stays when the writing fails" {
    mkdir -m 750 real empty
    ln -s real link
    tc-ckpt convert a.safetensors --to hf -o link/
    [ -L link ]
    [ "$(stat -c %a real)" = 750 ]
    tc-ckpt diff real a.safetensors
    run --separate-stderr tc-ckpt convert a.safetensors --to hf -o link
    [ "$status" -eq 1 ]
    [ "$stderr" = "tc-ckpt: link: exists and is not empty" ]
    run --separate-stderr bash -c "trap '' XFSZ; ulimit -f 0; exec tc-ckpt convert a.safetensors --to hf -o empty"
    [ "$status" -eq 1 ]
    [ -d empty ]
    [ ! -e .empty.tmp0 ]
}

@test "arrays of strings and records in an .npz are left out by name" {
    run --separate-stderr tc-ckpt ls "$TC_ROOT/tests/cli/fixtures/labels.npz" # NumPy wrote it
    [ "$status" -eq 0 ]
    [[ "$output" == *"1 tensors, 12 bytes" ]]
    [[ "$stderr" == *"labels: a .npy array of type <U2, which is not supported: left out"* ]]
    [[ "$stderr" == *"records: a structured .npy array, which is not supported: left out"* ]]
    fails 5 "labels.npz: labels is a .npy array of type <U2, which is not supported; --select '!^labels$' converts the others" \
        tc-ckpt convert -q "$TC_ROOT/tests/cli/fixtures/labels.npz" -o b.safetensors
    [ ! -e b.safetensors ]
    tc-ckpt convert -q "$TC_ROOT/tests/cli/fixtures/labels.npz" --select '!^(labels|records)$' -o b.safetensors
    [ "$(tc-ckpt show b.safetensors a | wc -l)" -ge 1 ]
}

@test "what torch.save wrote keeps its containers, numbers and objects in a .pt; what is chosen or renamed has no place in them" {
    for f in itself namespace scaler tensor-rate; do
        from=$TC_ROOT/tests/cli/fixtures/$f.pt
        tc-ckpt convert "$from" -o once.pt
        tc-ckpt convert once.pt -o twice.pt
        cmp once.pt twice.pt
        tc-ckpt show "$from" | tail -n +2 >want
        tc-ckpt show once.pt | tail -n +2 | cmp - want
        tc-ckpt diff "$from" once.pt
    done
    tc-ckpt convert "$from" --cast f64 -o wide.pt
    tc-ckpt show wide.pt | grep -q "optimizer.param_groups.0.params: "
    tc-ckpt ls wide.pt | grep -q "f64.*optimizer.state.0.exp_avg$"
    tc-ckpt convert "$from" --select . -o flat.pt
    tc-ckpt show flat.pt | grep param_groups && return 1
    tc-ckpt diff "$from" flat.pt
}
