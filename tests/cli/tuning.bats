# tc-compile --tune and tc-bench --calibrate: what is measured stands in a text file and in the archive, is not measured twice, and changes
# no bit of a result.
load common

tuned() { # ARGUMENTS...: tc-compile --tune, with more time while it was too little; log, and how many tiles were measured
    local seconds
    measured=0
    : >log
    for seconds in 2 8 32 128; do
        tc-compile --tune "$seconds" -v "$@" 2>once
        cat once >>log
        measured=$((measured + $(sed -n 's/.*--tune: \([0-9]*\) tiles measured.*/\1/p' once)))
        grep -q "seconds are too few" once || return 0
    done
    return 1
}

setup() {
    scratch
    cat >m.py <<'PY'
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(30, 700), nn.Linear(700, 90)

    def forward(self, x):
        y = torch.softmax(self.b(torch.relu(self.a(x))), -1)
        return y @ y.transpose(-1, -2)
PY
    tc-export m.py:Net --input x=5x70x30xf32 -o net.pt2
    cat >x.py <<'PY'
import torch
from torch import nn


class X(nn.Module):
    def forward(self, i):
        return torch.sin(torch.arange(5 * 70 * 30.0) * i).view(5, 70, 30)
PY
    tc-export x.py:X --input i=f32 | tc-run --input i=f32=0.7 -o x.npy
    tc-run net.pt2 --input x=@x.npy -o want.npy
}

@test "--tune measures each loop and product once, and the file says what it found" {
    tuned net.pt2 --tuning t.txt -o tuned.pt2
    [ "$measured" -eq 14 ]
    grep -q "m* f32 .*: .*as it is chosen [0-9.]* us, 1 [0-9.]* us" log
    grep -Eq "loop [a-z_]* 350x90: .*, 512 [0-9.]* us, .*, 3072 [0-9.]* us|loop [a-z_]* 5x70x90: .*, 512 [0-9.]* us, .*, 3072 [0-9.]* us" log
    grep -q '^# tc [0-9.]*, .* thread' t.txt
    [ "$(cut -s -f1 t.txt | sort -u)" = tile ]
    grep -q $'\tbmm.rows f32 5x70x90 5x90x70\t' t.txt
    grep -q $'\taddmm.columns f32 700 350x30 30x700\t\|\tlinear.columns f32 5x70x30 700x30 700\t' t.txt
    grep -q $'\tlinear f32 5x70x30 700x30 700\t\|\taddmm f32 700 350x30 30x700\t' t.txt
    grep -q $'\tloop [a-z_]* 350x90\t\|\tloop [a-z_]* 5x70x90\t' t.txt
    LC_ALL=C sort -c t.txt
    cp t.txt before.txt
    tuned net.pt2 --tuning t.txt -o again.pt2
    [ "$measured" -eq 0 ]
    cmp t.txt before.txt
    cmp tuned.pt2 again.pt2
    grep -aq 'extra/tc/tuning' tuned.pt2
    while IFS= read -r line; do grep -aqF -- "$line" tuned.pt2; done <t.txt # its entries are stored as they are
}

@test "lines of another machine are kept and not used: a note, and everything is measured" {
    tuned net.pt2 --tuning t.txt -o tuned.pt2
    [ "$measured" -eq 14 ]
    sed -i '/^#/d; s/\t[^\t]*\t/\tanother machine\t/' t.txt
    cp t.txt theirs.txt
    tuned net.pt2 --tuning t.txt -o again.pt2
    [ "$measured" -eq 14 ]
    grep -q "the tuning is of other machines and has no effect" log
    [ "$(grep -c 'another machine' t.txt)" -eq "$(wc -l <theirs.txt)" ]
}

@test "programs for other sizes than those that are tuned are passed over" {
    cat >s.py <<'PY'
import torch


class Sides(torch.nn.Module):
    def forward(self, x):
        y = torch.softmax(x, -1)
        return y if x.size(0) > 4 else y * 2
PY
    tc-export s.py:Sides --input x=Bx64xf32 -o s.pt2
    tuned s.pt2 --dim B=48 --tuning s.txt -o t.pt2
    [ "$(grep -vc '^#' s.txt)" -eq 1 ]
    tc-run s.pt2 --input x=2x64xf32=1 -o a.npy
    tc-run t.pt2 --input x=2x64xf32=1 --output @a.npy
}

# bats test_tags=slow
@test "whatever a tuning file says, results have the same bits" {
    tuned net.pt2 --tuning t.txt -o tuned.pt2
    [ "$measured" -eq 14 ]
    tc-run tuned.pt2 --input x=@x.npy -o got.npy
    cmp got.npy want.npy
    for tile in 0 1 24 48 64 96 128 192 256 512 1024 1536 2048 3072 7; do
        awk -F'\t' -v t=$tile 'BEGIN {OFS = FS} {$4 = t} 1' t.txt >other.txt
        for threads in 1 2 3; do
            sed "s/, [0-9]* threads*\t/, $threads thread$([ $threads = 1 ] || echo s)\t/" other.txt >mine.txt
            cat x.npy x.npy x.npy >three.npy
            tc-run net.pt2 --threads $threads --tuning mine.txt --input x=@three.npy -o got.npy
            cat want.npy want.npy want.npy | cmp - got.npy || { echo "tile $tile, $threads threads"; return 1; }
        done
    done
    tc-bench --calibrate -o costs.txt
    for value in 1 4096 1000000000; do
        awk -F'\t' -v v=$value 'BEGIN {OFS = FS} {$4 = v} 1' costs.txt >other.txt
        tc-run net.pt2 --tuning other.txt --input x=@x.npy -o got.npy
        cmp got.npy want.npy
    done
}

@test "convolutions in every form and any tasks have the same bits" {
    cat >c.py <<'PY'
import torch
from torch import nn


class Conv(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 40, 3, stride=2, padding=1), nn.Conv2d(40, 280, 1)
        self.c, self.d = nn.Conv2d(280, 280, 3, padding=1, groups=280), nn.Conv2d(280, 48, 3, padding=1, groups=8)
        self.e, self.f = nn.Conv2d(48, 70, 1, stride=2), nn.Conv2d(48, 24, 3, groups=8)

    def forward(self, x):
        x = torch.relu(self.b(torch.relu(self.a(x))))
        y = self.d(x + torch.relu(self.c(x)))
        return self.e(y), self.f(y), x.mean((2, 3))
PY
    tc-export c.py:Conv --input x=2x3x30x22xf32 -o c.pt2
    cat >y.py <<'PY'
import torch


class Y(torch.nn.Module):
    def forward(self, i):
        return torch.sin(torch.arange(2 * 3 * 30 * 22.0) * i).view(2, 3, 30, 22)
PY
    tc-export y.py:Y --input i=f32 | tc-run --input i=f32=0.7 -o y.npy
    tc-run c.pt2 --input x=@y.npy -o want.st --to safetensors
    tuned c.pt2 --tuning t.txt -o tuned.pt2
    grep -q $'\tconvolution.form f32 2x48x15x11 24x6x3x3 24\t\|\tconvolution.form f32 2x40x15x11 280x40x1x1 280\t' t.txt
    tc-run tuned.pt2 --input x=@y.npy -o got.st --to safetensors
    cmp got.st want.st
    for tile in 1 2 16 32 64 128 256; do
        for threads in 1 2 3; do
            awk -F'\t' -v t=$tile 'BEGIN {OFS = FS} {$4 = $3 ~ /form/ && t > 2 ? 1 + t / 16 % 2 : t} 1' t.txt |
                sed "s/, [0-9]* threads*\t/, $threads thread$([ $threads = 1 ] || echo s)\t/" >mine.txt
            cat y.npy y.npy >two.npy
            tc-run c.pt2 --threads $threads --tuning mine.txt --input x=@two.npy -o got.st --to safetensors
            tc-run c.pt2 --input x=@two.npy -o both.st --to safetensors
            cmp got.st both.st || { echo "tile $tile, $threads threads"; return 1; }
        done
    done
}

# bats test_tags=slow
@test "without --tuning what was measured is kept for this user: a second run measures nothing and writes the same archive" {
    tuned net.pt2 -o a.pt2
    [ "$measured" -eq 14 ]
    tuned net.pt2 -o b.pt2
    [ "$measured" -eq 0 ]
    cmp a.pt2 b.pt2
    cp "$XDG_CACHE_HOME/tc/tuning" kept
    sed -i '/linear.*700\t\|addmm.*700\t/d' "$XDG_CACHE_HOME/tc/tuning"
    tuned net.pt2 -o c.pt2
    [ "$measured" -gt 0 ] && [ "$measured" -lt 14 ]
    diff <(cut -f1-3 kept) <(cut -f1-3 "$XDG_CACHE_HOME/tc/tuning")
    # lines of other programs do not travel with this one
    tc-export m.py:Net --input x=1x3x30xf32 -o other.pt2
    tc-compile other.pt2 --tune 2 -q -o d.pt2
    run ! grep -aq '5x70x90' d.pt2
    grep -q '5x70x90' "$XDG_CACHE_HOME/tc/tuning"
    tuned net.pt2 --no-cache -o e.pt2
    [ "$measured" -ge 14 ]
    sed 's/\t[^\t]*\t/\tanother machine\t/' kept >"$XDG_CACHE_HOME/tc/tuning"
    tuned net.pt2 -o f.pt2
    [ "$measured" -eq 14 ]
    grep -q 'tc/tuning is of other machines and has no effect' log
    echo rubbish >"$XDG_CACHE_HOME/tc/tuning"
    tuned net.pt2 -o f.pt2
    [ "$measured" -eq 14 ]
    tuned net.pt2 -o g.pt2
    [ "$measured" -eq 0 ]
}

@test "the user's store changes no line that an archive has, and holds no constants" {
    store=$XDG_CACHE_HOME/tc/tuning
    tuned net.pt2 -o a.pt2
    [ "$measured" -eq 14 ]
    sed -i 's/[0-9]*$/7/' "$store"
    tuned a.pt2 -o b.pt2
    [ "$measured" -eq 0 ]
    cmp a.pt2 b.pt2
    sed -n '2s/^tile\(.*\t\).*\t.*/cost\1far_bytes\t1048576/p' "$store" >cost.txt
    rm "$store"
    tc-compile net.pt2 --tuning cost.txt -q -o c.pt2
    tuned c.pt2 -o d.pt2
    grep -aq $'\tfar_bytes\t1048576' d.pt2
    [ "$(cut -s -f1 "$store" | sort -u)" = tile ]
}

@test "--calibrate writes the constants of this machine; other lines stay" {
    tc-bench --calibrate --threads 2 -o a.txt
    [ "$(cut -s -f3 a.txt | xargs)" = "far_bytes near_bytes task_ops" ]
    printf 'tile\tanother machine\tmm f32 1x1 1x1\t64\n' >>a.txt
    tc-bench --calibrate --threads 2 --tuning a.txt -o b.txt
    [ "$(grep -vc '^#' b.txt)" = 4 ]
    grep -q "another machine" b.txt
    tc-run net.pt2 --tuning <(grep another b.txt) --input x=@x.npy -o got.npy 2>log
    grep -q "the tuning is of other machines" log
}

@test "a chain of convolutions takes as many images at a time as the cache of the machine holds" {
    cat >net.py <<'PY'
import torch.nn.functional as F
from torch import nn


class Images(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 32, 3), nn.Conv2d(32, 4, 3)

    def forward(self, x):
        return self.b(F.max_pool2d(F.relu(self.a(x)), 2))
PY
    tc-export net.py:Images --input x=64x3x32x32xf32 -o images.pt2
    tc-bench --calibrate --threads 1 -o a.txt
    local bytes held=()
    for bytes in 0 393216 786432 1000000000; do
        sed "s/near_bytes\t.*/near_bytes\t$bytes/" a.txt >b.txt
        tc-run images.pt2 --threads 1 --tuning b.txt -v --input x=64x3x32x32xf32=0.5 -o $bytes.npy 2>log
        held+=("$(sed -n 's/.*intermediates \([0-9]*\).*/\1/p;T;q' log)")
        cmp 0.npy $bytes.npy
    done
    echo "${held[@]}"
    [ "${held[0]}" = "${held[3]}" ] # none fits, and all do: whole
    [ "${held[1]}" -lt "${held[2]}" ] && [ "${held[2]}" -lt "${held[0]}" ]
}

@test "tuning files that are none" {
    printf 'cost\there\tfar_bytes\n' >a.txt
    fails 3 "a.txt:1: expected 'cost' or 'tile'" tc-run net.pt2 --tuning a.txt --input x=@x.npy -o y.npy
    printf '# a comment\n\ncost\there\tfar\t1\n' >a.txt
    fails 3 "a.txt:3: no cost is called 'far'" tc-run net.pt2 --tuning a.txt --input x=@x.npy -o y.npy
    printf 'cost\there\ttask_ops\t0\n' >a.txt
    fails 3 "task_ops is 0, expected 1.." tc-run net.pt2 --tuning a.txt --input x=@x.npy -o y.npy
    printf 'tile\there\tmm\t-4\n' >a.txt
    fails 3 "'-4' is not a number" tc-run net.pt2 --tuning a.txt --input x=@x.npy -o y.npy
    fails 1 "nowhere.txt" tc-run net.pt2 --tuning nowhere.txt --input x=@x.npy -o y.npy
    fails 2 "--to pt2" tc-compile net.pt2 --to c --tune 1 -o net
    fails 2 "measures the machine" tc-bench net.pt2 --calibrate
}

@test "--tune ends when its time is over: what no turn was left for stays open and is measured by a later run" {
    tc-compile net.pt2 --tune 0.000001 --tuning t.txt --log tuning -o a.pt2 2>log
    grep -q " 0 tiles measured" log
    grep -q "1e-06 seconds are too few for every choice: those left stay as they are chosen without" log
    [ "$(grep -vc '^#' t.txt)" -eq 0 ]
    tc-run a.pt2 --input x=@x.npy --expect @want.npy
    tuned net.pt2 --tuning t.txt -o b.pt2
    [ "$measured" -eq 14 ]
}
