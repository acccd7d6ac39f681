# Data ahead of the step: threads that put batches together, their order, weights of samples, commands as data, what is slow.
load common

setup() {
    cd "$BATS_TEST_TMPDIR"
    cat >model.py <<'PY'
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(12, 4)

    def forward(self, x):
        return self.a(x.flatten(1))
PY
    mkdir pictures
    for i in 0 1 2 3 4 5 6 7 8 9 10 11; do
        printf 'P6 2 2 255\n%s' "$(printf '%012d' $((i * 8677)))" >pictures/$i.ppm
        echo "pictures/$i.ppm $((i % 4))"
    done >list.txt
    cat >r.yaml <<'YAML'
model: model.py:Net
input: x=Bx3x2x2xf32
seed: 5
data: {images: list.txt, normalize: {x: {divide: 255}}}
batch: 2
steps: 15
accumulate: 1
loss: F.cross_entropy(out, y)
optimizer: torch.optim.AdamW(m.parameters(), lr=0.01)
YAML
}

state=state.json weights=shard-00001-model-00001-of-00001.safetensors

@test "any number of threads gives the same batches in the same order, also on going on from the middle" {
    tc-train -q r.yaml accumulate=2 -o none
    for n in 1 8; do
        tc-train -q r.yaml accumulate=2 data.workers=$n checkpoint='{every: 7}' -o of-$n
        cmp none/step-15/$weights of-$n/step-15/$weights
        rm -r of-$n/step-1[45] of-$n/latest
        tc-train -q r.yaml accumulate=2 data.workers=$((9 - n)) data.prefetch=3 -o of-$n --resume
        cmp none/step-15/$weights of-$n/step-15/$weights
        tc-train -q r.yaml accumulate=2 data.workers=$n -o of-$n --resume # nothing is left to do
    done
}

# The run goes on in the background as $pid.
after_step() { until [ -e run/metrics.jsonl ] && [ "$(wc -l <run/metrics.jsonl)" -ge "$1" ]; do kill -0 $pid && sleep 0.05 || return 1; done; }
slow_file() { rm pictures/0.ppm && mkfifo pictures/0.ppm; }
out_of_order="data.order=sequential data.size=[2,2] data.workers=2 data.in_order=false steps=6"

@test "out of order, a file that is not there yet delays its own batch alone" {
    slow_file
    tc-train -q r.yaml $out_of_order -o run &
    pid=$!
    after_step 5 # all but the batch of picture 0
    printf 'P6 2 2 255\nabcdefghijkl' >pictures/0.ppm
    wait $pid
    [ "$(grep -c loss run/metrics.jsonl)" -eq 6 ]
}

@test "a run that was stopped out of order goes on with the batches that it has not seen" {
    slow_file
    tc-train -q r.yaml $out_of_order -o run 2>err &
    pid=$!
    after_step 5
    kill -INT $pid # while it waits for the file
    rc=0
    wait $pid || rc=$?
    [ $rc -eq 75 ]
    grep -q 'saved at step 5 of 6 and stopped' err
    grep -q '"batches_taken": *\[1, *2, *3, *4, *5\]' run/latest/$state
    rm pictures/0.ppm
    printf 'P6 2 2 255\nabcdefghijkl' >pictures/0.ppm
    for i in 2 3 4 5 6 7 8 9 10 11; do rm pictures/$i.ppm; done # the one batch that is left does not need them
    tc-train -q r.yaml $out_of_order -o run --resume
    [ "$(readlink run/latest)" = step-6 ]
}

@test "neither --max-time nor a file that cannot be read waits for one that does not come" {
    slow_file
    run -75 timeout 60 tc-train -q r.yaml $out_of_order --max-time 4 -o run
    [ "$(readlink run/latest)" = step-5 ]
    printf 'no picture' >pictures/7.ppm
    fails 3 "pictures/7.ppm" timeout 60 tc-train r.yaml $out_of_order -o other
}

@test "a run without workers, and one that accumulates, stops while a file does not come, and goes on with the same bits" {
    for data in "data.workers=0" "accumulate=3 data.workers=2" "accumulate=3 data.workers=0"; do
        tc-train -q r.yaml data.order=sequential data.size=[2,2] steps=4 batch=1 $data -o whole
        mv pictures/7.ppm later.ppm # of step 8, or the second of step 3
        mkfifo pictures/7.ppm
        steps=$([[ $data == acc* ]] && echo 2 || echo 7)
        tc-train -q r.yaml data.order=sequential data.size=[2,2] steps=8 batch=1 $data -o run 2>err &
        pid=$!
        after_step $steps
        kill -TERM $pid
        rc=0
        wait $pid || rc=$?
        [ $rc -eq 75 ]
        grep -q "saved at step $steps of 8 and stopped" err
        mv -f later.ppm pictures/7.ppm
        tc-train -q r.yaml data.order=sequential data.size=[2,2] steps=8 batch=1 $data -o run --resume
        tc-train -q r.yaml data.order=sequential data.size=[2,2] steps=8 batch=1 $data -o whole --resume
        cmp whole/step-8/$weights run/step-8/$weights
        rm -r run whole
    done
}

@test "validation has the threads of workers too, and the same numbers with any number of them" {
    head -n 7 list.txt >seven.txt
    checked=(-q --threads 1 r.yaml steps=2 "data.val={images: seven.txt}" "metrics={right: (out.argmax(-1) == y).float().mean()}")
    tc-train "${checked[@]}" -o of-0
    tc-train "${checked[@]}" "data.val={images: seven.txt, workers: 3, in_order: false}" -o of-3
    for n in 0 3; do grep val_loss of-$n/metrics.jsonl >val-$n; done
    cmp val-0 val-3
    printf 'pictures/1.ppm 1\npictures/2.ppm 2\n' >train.txt # what validation waits for are pictures of two of its batches
    slow_file
    rm pictures/3.ppm && mkfifo pictures/3.ppm
    tc-train "${checked[@]}" "data.train={images: train.txt}" data.workers=3 data.size=[2,2] -o run &
    pid=$!
    after_step 2
    threads=3 # this one and two that wait, and ThreadSanitizer's
    if nm "$TC_BUILD/bin/tc-train" | grep -q __tsan_init; then threads=4; fi
    until [ "$(ls /proc/$pid/task | wc -l)" -eq $threads ]; do kill -0 $pid && sleep 0.05 || return 1; done
    for i in 0 3; do printf 'P6 2 2 255\nabcdefghijkl' >pictures/$i.ppm; done
    wait $pid
    grep -q val_loss run/metrics.jsonl
}

@test "a file that cannot be read ends the run with its name, whichever thread found it" {
    printf 'no picture' >pictures/7.ppm
    for n in 0 3; do fails 3 "pictures/7.ppm" tc-train r.yaml data.workers=$n; done
}

@test "samples are drawn by weight as WeightedRandomSampler draws them" {
    # tests/cli has no PyTorch: the loss is the number of the sample, the order that of torch.Generator().manual_seed(7)
    printf 'u,v\n0,0\n1,1\n2,2\n3,1\n4,0\n5,2\n6,1\n' >t.csv
    printf 'import torch.nn as nn\n\n\nclass L(nn.Linear):\n    def __init__(self):\n        super().__init__(1, 1)\n' >l.py
    drawn() {
        tc-train -q r.yaml seed=7 model=l.py:L input=input=Bx1xf32 batch=1 log_every=1 loss='(out * 0 + x).sum()' \
            optimizer='torch.optim.SGD(m.parameters(), lr=0)' data="{csv: t.csv, columns: [u], target: v, order: weighted, $1}" steps=$2 -o out >/dev/null
        sed 's/.*"loss": \([0-9]*\).*/\1/' out/metrics.jsonl | tr '\n' ' '
        rm -r out
    }
    w='weights: [0.1, 2.0, 0.0, 3.5, 1.25, 0.75, 4.0]'
    [ "$(drawn "$w, num_samples: 9" 18)" = "3 3 6 6 6 6 3 4 6 6 1 1 1 1 1 6 1 6 " ]
    [ "$(drawn "$w, num_samples: 5, replacement: false" 10)" = "6 1 3 4 5 6 3 4 5 1 " ]
    printf '0.1\n2.0\n0\n3.5\n1.25\n0.75\n4e0\n' >w.txt
    [ "$(drawn "weights: w.txt, num_samples: 9" 9)" = "3 3 6 6 6 6 3 4 6 " ]
    # by class: 0 has two samples, 1 three, 2 two
    even=$(drawn "weights: {y: balanced}" 7)
    [ "$(wc -w <<<"$even")" -eq 7 ]
    [ "$(drawn "weights: {y: [0.5, 0.3333333333333333, 0.5]}" 7)" = "$even" ]
    ones=$(drawn "weights: {y: [0, 1, 0]}" 7)
    [ "$(wc -w <<<"$ones")" -eq 7 ]
    [ "$(tr -d '136 ' <<<"$ones")" = "" ]
}

@test "weights that do not fit are refused with what was found" {
    of() { tc-train r.yaml "$@"; }
    fails 2 "data.weights:1:1: 2 weights for 12 samples" of data.order=weighted data.weights='[1, 2]'
    fails 2 "data.order:1:1: weighted needs weights:" of data.order=weighted
    fails 2 "data.weights:1:1: a key of order: weighted" of data.weights='[1, 2]'
    fails 2 "sample 1 has weight -2, expected 0 or more" of data.limit=2 data.order=weighted data.weights='[1, -2]'
    fails 2 "the weights sum up to 0" of data.limit=2 data.order=weighted data.weights='[0, 0]'
    fails 2 "sample 2 has class 2, expected 0 to 1" of data.order=weighted data.weights='{y: [1, 2]}'
    fails 2 "expected {COLUMN: ...} of a column with one class number" of data.order=weighted data.weights='{x: balanced}'
    fails 2 "12 samples without replacement of 9 with a weight" of data.order=weighted data.weights='{y: [0, 1, 1, 1]}' data.replacement=false
    fails 2 "a batch of 2 samples of an epoch of 1" of data.order=weighted data.weights='{y: balanced}' data.num_samples=1
    fails 2 "data.workers:1:1: found -1, expected 0 to 256" of data.workers=-1
    fails 2 "data.prefetch:1:1: is of the threads of workers:, and there are none" of data.prefetch=4
    printf '1\n2\nthree\n' >w.txt
    fails 3 "w.txt:3: found 'three', expected a weight" of data.limit=3 data.order=weighted data.weights=w.txt
}

@test "a command gives what a file would hold" {
    tc-train -q r.yaml -o file
    mkdir -p sub
    cp r.yaml model.py sub # the command runs in the recipe's folder
    mv pictures sub
    mv list.txt sub/given.txt
    tc-train -q sub/r.yaml data.images='cmd:cat given.txt' -o command
    cmp file/latest/$weights command/latest/$weights
    mkdir -p other/sub # where cd of a shell would go
    CDPATH=$PWD/other tc-train -q sub/r.yaml data.images='cmd:cat given.txt' -o cdpath
    cmp file/latest/$weights cdpath/latest/$weights
    fails 1 "cmd:false: exit 1, expected 0" tc-train sub/r.yaml data.images='cmd:false'
    fails 1 "ended by signal 9" tc-train sub/r.yaml data.images='cmd:kill -9 $$'
    fails 3 "cmd:echo oops:1: expected FILE LABEL" tc-train sub/r.yaml data.images='cmd:echo oops'
    fails 1 "tc-train: data: argument data.images: sub/no.txt: cannot open" tc-train sub/r.yaml data.images=no.txt
}

@test "a command runs only from a recipe that the command line names, or with --trust" {
    sed -i 's/list.txt/"cmd:touch ran; cat list.txt"/' r.yaml
    tc-train -q r.yaml steps=3 -o run
    rm ran
    fails 2 "cmd:touch ran; cat list.txt: commands run only from a recipe that the command line names" tc-train run steps=5 --resume
    cat r.yaml >pipe.yaml
    refused() { tc-train /dev/stdin model="$PWD/model.py:Net" -o other <<<"$(cat pipe.yaml)"; }
    fails 2 "commands run only from a recipe that the command line names" refused
    [ ! -e ran ]
    fails 2 "commands run only from a recipe that the command line names" tc-bench --data run
    [ ! -e ran ]
    tc-train -q run steps=5 --resume --trust
    [ -e ran ]
    [ "$(readlink run/latest)" = step-5 ]
}

@test "tc-bench --data names the stage that limits a recipe's data" {
    limit() { # the slowest stage of a batch is the one that is named
        tc-bench --data r.yaml --repeat 3 --to csv "$@" >rows.csv
        [ "$(awk -F, '$7 == "true" {print $1}' rows.csv)" = "$(sed '1d; /^one thread/,$d' rows.csv | sort -t, -k2gr | head -1 | cut -d, -f1)" ]
    }
    printf 'P6 600 600 255\n' >pictures/0.ppm
    head -c 1080000 /dev/zero >>pictures/0.ppm
    echo 'pictures/0.ppm 1' >one.txt
    limit data.images=one.txt data.size='[2, 2]' batch=1
    cut -d, -f1 rows.csv | grep -qx resample
    head -c 500000 pictures/0.ppm >t.txt # one draw, and a megabyte of tokens
    limit data='{text: t.txt, as: bytes, block: 100000}' batch=1
    tc-bench --data r.yaml data.images=one.txt batch=1 data.workers=2 --repeat 2 -o rows.json
    [ "$(grep -c '"limits": true' rows.json)" -eq 1 ]
    grep -q '"stage": "delivered"' rows.json
    fails 2 "--op cannot be used with --data, which only times" tc-bench --data r.yaml --op add
    fails 2 "--weights cannot be used with --data" tc-bench --data r.yaml --weights w.npz
    fails 2 "--calibrate cannot be used with --data" tc-bench --data r.yaml --calibrate
}
