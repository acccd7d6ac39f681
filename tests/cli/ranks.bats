# Programs with collectives: exported for ranks, run by tc-run under mpirun, written as C. A split model has the answer of the whole one.
load common

setup() {
    scratch
    cat >mlp.py <<'PY'
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as funcol
from torch import nn
from torch.nn import functional as F


class MLP(nn.Module):
    """Tensor parallel: each rank has a part of the hidden features."""

    def __init__(self, d=8, h=16):
        super().__init__()
        n, r = dist.get_world_size(), dist.get_rank()
        part = slice(r * h // n, (r + 1) * h // n)
        self.up = nn.Parameter(torch.randn(h, d)[part].clone())
        self.down = nn.Parameter(torch.randn(d, h)[:, part].clone())

    def forward(self, x):
        y = F.linear(torch.relu(F.linear(x, self.up)), self.down)
        if dist.is_initialized():
            dist.all_reduce(y)
        return y * 2


class All(nn.Module):
    def forward(self, x):
        parts = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        work = dist.all_gather(parts, x, async_op=True)
        work.wait()
        wide = torch.empty(4 * dist.get_world_size(), 2)
        dist.all_gather_into_tensor(wide, x)
        mine = torch.empty(2, 2)
        dist.reduce_scatter_tensor(mine, x * 3, op=dist.ReduceOp.MAX)
        first = x.clone()
        dist.broadcast(first, src=1)
        results = [*parts, wide, mine, first, funcol.all_reduce(x, "avg", "0"), funcol.reduce_scatter_tensor(x, "sum", 1, [0, 1])]
        return torch.cat([t.reshape(-1) for t in results])


class Scaled(nn.Module):
    def forward(self, x):
        return x * dist.get_rank()


class Groups(nn.Module):
    def forward(self, x):
        op = torch.ops._c10d_functional.all_reduce
        return op(x, "sum", "0") + op(x, "sum", "1")


class Grad(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return funcol.all_reduce(x * self.w, "sum", "0").sum()
PY
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
}

ranks() { # N COMMAND: each with its rank in $r
    command -v mpirun >/dev/null || skip "no mpirun"
    [ -e "$TC_BUILD/bin/tc-mpi.so" ] || skip "no tc-mpi.so"
    ASAN_OPTIONS=detect_leaks=0 timeout 120 mpirun --oversubscribe --bind-to none -n "$1" sh -c "r=\${OMPI_COMM_WORLD_RANK:-\$PMI_RANK}; $2"
}

numbers() { tail -c +129 "$1" | od -An -v -tf4 -w4 | xargs | tr ' ' ,; } # of a .npy of f32

split() { # whole.pt2, and p0.pt2 and p1.pt2 of two ranks
    tc-export mlp.py:MLP --input x=5x8xf32 -o whole.pt2
    for r in 0 1; do tc-export mlp.py:MLP --input x=5x8xf32 --ranks 2 --rank $r -o p$r.pt2; done
    seq 40 | sed 's/$/.3/' | paste -sd, | xargs printf 'x=5x8xf32=%s' >x.txt
    tc-run whole.pt2 --input "$(cat x.txt)" -o whole.npy
}

@test "a split model has the answer of the whole one, interpreted and compiled, the same bits on each rank" {
    split
    for r in 0 1; do tc-compile p$r.pt2 -o c$r.pt2; done
    ranks 2 'tc-run p$r.pt2 --input "$(cat x.txt)" --expect out.0=@whole.npy --rtol 1e-5 --atol 1e-3'
    ranks 2 'tc-run p$r.pt2 --input "$(cat x.txt)" -o y$r.npy'
    ranks 2 'tc-run c$r.pt2 --executor compiled --input "$(cat x.txt)" -o z$r.npy'
    for y in y1 z0 z1; do cmp y0.npy $y.npy; done
}

@test "--stats says how long a rank waited for the others" {
    split
    tc-run whole.pt2 --input "$(cat x.txt)" -o y.npy
    { head -c 128 y.npy; head -c 160 /dev/zero; } >x.npy # as many numbers
    ranks 2 '{ cat x.npy; [ $r = 0 ] || sleep 0.1; cat x.npy; } | tc-run p$r.pt2 --stats --input x=@- -o y$r.npy 2>err$r'
    for r in 0 1; do grep -q 'waiting for other ranks' err$r; done
    if tc-run whole.pt2 --stats --input x=@x.npy -o y.npy 2>&1 | grep 'waiting for other ranks'; then return 1; fi
    cmp y0.npy y1.npy
}

@test "a split model as a shared library calls the ranks of its caller, to the bits of tc-run" {
    split
    ranks 2 'tc-run p$r.pt2 --input "$(cat x.txt)" -o y$r.npy'
    for r in 0 1; do tc-compile p$r.pt2 -o r$r.so --prefix=net; done
    cat >main.c <<'C'
#include "r0.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
typedef struct { int rank, fd; } pair;
static int swap(const pair *p, const void *send, void *got, size_t n) {
    return write(p->fd, send, n) != (ssize_t)n || recv(p->fd, got, n, MSG_WAITALL) != (ssize_t)n;
}
static int all_gather(void *self, const void *mine, void *all, size_t n) {
    const pair *p = self;
    memcpy((char *)all + (size_t)p->rank * n, mine, n);
    return swap(p, mine, (char *)all + (size_t)(1 - p->rank) * n, n);
}
static int all_to_all(void *self, const void *blocks, void *got, size_t n) {
    const pair *p = self;
    memcpy((char *)got + (size_t)p->rank * n, (const char *)blocks + (size_t)p->rank * n, n);
    return swap(p, (const char *)blocks + (size_t)(1 - p->rank) * n, (char *)got + (size_t)(1 - p->rank) * n, n);
}
static int run(int rank, int fd) {
    char name[16];
    snprintf(name, sizeof name, "./r%d.so", rank);
    void *so = dlopen(name, RTLD_NOW);
    if (!so) return fprintf(stderr, "%s\n", dlerror()), 9;
    int (*run_on)(const net_threads *, const void *, const net_inputs *, const net_outputs *, void *);
    *(void **)&run_on = dlsym(so, "net_run_on");
    const unsigned char *const *weights = dlsym(so, "net_weights");
    float x[40], y[40];
    for (int i = 0; i < 40; i++) x[i] = (float)((i + 1) + 0.3);
    pair p = {rank, fd};
    void *arena = aligned_alloc(64, (net_ARENA_BYTES + 63) / 64 * 64), *room = aligned_alloc(64, net_RANKS_ROOM(2));
    net_ranks two = {rank, 2, all_gather, all_to_all, NULL, &p, room};
    net_threads serial = {.workers = 1, .ranks = &two};
    if (run_on(NULL, *weights, &(net_inputs){x}, &(net_outputs){y}, arena) != 6) return 7;
    int code = run_on(&serial, *weights, &(net_inputs){x}, &(net_outputs){y}, arena);
    if (code) return code;
    snprintf(name, sizeof name, "raw%d", rank);
    FILE *f = fopen(name, "w");
    fwrite(y, sizeof y, 1, f);
    free(arena), free(room);
    return fclose(f);
}
int main(void) {
    int fd[2], status;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd)) return 1;
    pid_t child = fork();
    if (!child) return run(1, fd[1]);
    int code = run(0, fd[0]);
    return waitpid(child, &status, 0) != child || status ? 8 : code;
}
C
    gcc -Wall -Wextra -Werror main.c -ldl -o main
    ./main
    for r in 0 1; do tail -c 160 y$r.npy | cmp - raw$r; done
}

@test "gathering, scattering and copying among ranks" {
    tc-export mlp.py:All --input x=4x2xf32 --ranks 2 -o all.pt2
    ranks 2 'tc-run all.pt2 --input x=4x2xf32=$r,1,2,3,4,5,6,$((r * 10)) -o out$r.npy'
    both=0,1,2,3,4,5,6,0,1,1,2,3,4,5,6,10
    [ "$(numbers out0.npy)" = "$both,$both,3,3,6,9,1,1,2,3,4,5,6,10,0.5,1,2,3,4,5,6,5,1,4,8,12" ]
    [ "$(numbers out1.npy)" = "$both,$both,12,15,18,30,1,1,2,3,4,5,6,10,0.5,1,2,3,4,5,6,5,2,6,10,10" ]
}

@test "what is no program of these ranks is refused in a line" {
    tc-export mlp.py:All --input x=4x2xf32 --ranks 2 -o all.pt2
    tc-export mlp.py:Groups --input x=4xf32 --ranks 2 -o groups.pt2
    fails 2 "mlp.py:28: all_gather_into_tensor: runs on ranks: mpirun -n N tc-run" tc-run all.pt2 --input x=4x2xf32=1
    fails 5 'collectives of several groups ("0" and "1")' tc-run groups.pt2 --input x=4xf32=1
    fails 3 "mlp.py:42:25: RuntimeError: get_rank(): a program for all ranks" tc-export mlp.py:Scaled --input x=2xf32 --ranks 2
    fails 3 "ValueError: Default process group has not been initialized" tc-export mlp.py:All --input x=4x2xf32
    fails 2 "--rank needs --ranks N" tc-export mlp.py:Scaled --input x=2xf32 --rank 0
    fails 2 "--rank" tc-export mlp.py:Scaled --input x=2xf32 --ranks 2 --rank 2
    fails 5 "gradient of _c10d_functional.all_reduce.default is not supported" tc-export mlp.py:Grad --input x=2xf32 --ranks 2 --joint=out.0
    tc-export mlp.py:MLP --input x=5x8xf32 --ranks 2 --rank 1 -o p1.pt2
    fails 5 "collectives in a filter" tc-compile p1.pt2 --to exe -o p1
    run ranks 3 'tc-run all.pt2 --input x=4x2xf32=1'
    [ "$status" -eq 3 ]
    [[ $output == *"all_gather_into_tensor: for 2 ranks, and 3 run"* ]]
}
