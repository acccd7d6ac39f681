/* Collectives built from point-to-point messages, so that the order of addition depends on rank numbers only (dist.h). */
#include "dist/dist.h"

#include "base/mem.h"
#include "base/text.h"
#include "dist/shim/tc_mpi.h"
#include "tensor/arith.h"

#include <dlfcn.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum {
    CHUNK = 1 << 20, /* bytes per message, and size of the only buffer that a sum needs */
    WHY = 8192       /* bytes of the message of a rank that fails: its code, message and detail */
};

struct tc_dist {
    const tc_mpi_api *api;
    int rank, size;
    double timeout;
    void *scratch;
    tc_status failed;     /* of the last call through tc_dist_comm, or NULL */
    double began, waited; /* the call through tc_dist_comm that goes on; seconds of those before */
};

static int env_number(const char *name) {
    const char *s = getenv(name);
    int64_t v;
    return s && tc_parse_i64(s, &v) && v >= 0 && v < INT_MAX ? (int)v : -1;
}

/* Did a launcher start this process? */
static bool launched(void) { return env_number("PMIX_RANK") >= 0 || env_number("PMI_RANK") >= 0 || env_number("OMPI_COMM_WORLD_SIZE") > 0; }

int tc_dist_task(void) {
    static const char *const names[] = {"PMIX_RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"};
    int task = -1;
    for (int i = 0; i < 4 && task < 0; i++) task = env_number(names[i]);
    return task < 0 ? 0 : task;
}

int tc_dist_rank(const tc_dist *d) { return d ? d->rank : 0; }
int tc_dist_size(const tc_dist *d) { return d ? d->size : 1; }

/* Opens the MPI shim: beside the program, in ../lib or ../bin of it (installed; tests of a build), or on the loader's search path. */
static tc_status load(const tc_mpi_api **out) {
    char exe[PATH_MAX], path[PATH_MAX + 32];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    char *slash = strrchr(exe, '/');
    if (slash) *slash = 0;
    static const char *const places[] = {"%s/tc-mpi.so", "%s/../lib/tc-mpi.so", "%s/../bin/tc-mpi.so", "tc-mpi.so"};
    void *lib = NULL;
    tc_buf tried = {0};
    for (int i = 0; i < 4 && !lib; i++) {
        snprintf(path, sizeof path, places[i], exe);
        lib = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
        const char *why = lib ? "" : dlerror();
        if (!lib) tc_buf_printf(&tried, "%s%s", tried.len ? "; " : "", why ? why : path);
    }
    tc_status s = NULL;
    const tc_mpi_api *api = lib ? dlsym(lib, "tc_mpi") : NULL;
    if (!api) s = tc_error(TC_ENV, "started by an MPI launcher, but tc-mpi.so cannot be loaded: %s", tc_buf_str(&tried));
    else if (api->version != TC_MPI_VERSION) s = tc_error(TC_ENV, "tc-mpi.so has version %d, expected %d", api->version, TC_MPI_VERSION);
    tc_buf_free(&tried);
    *out = api;
    return s;
}

static tc_status failure(const tc_dist *d, int rc, const char *what, int peer) {
    char text[512];
    d->api->error(rc, text, sizeof text);
    return tc_error(TC_ENV, "rank %d: %s rank %d: %s", d->rank, what, peer, text);
}

tc_status tc_dist_start(tc_dist **out) {
    *out = NULL;
    if (!launched()) return NULL;
    const tc_mpi_api *api;
    TC_TRY(load(&api));
    tc_dist *d = tc_xcalloc(1, sizeof *d);
    d->api = api;
    d->timeout = 600;
    const char *t = getenv("TC_DIST_TIMEOUT");
    double seconds;
    if (t && tc_parse_double(t, &seconds) && seconds > 0) d->timeout = seconds;
    int rc = api->init(&d->rank, &d->size);
    if (rc) {
        tc_status s = failure(d, rc, "cannot start MPI on", d->rank);
        free(d);
        return s;
    }
    d->scratch = tc_xmalloc(CHUNK);
    int tasks = env_number("SLURM_STEP_NUM_TASKS");
    if (tasks > 1 && d->size == 1) {
        tc_status_free(tc_dist_stop(d));
        return tc_status_add(tc_error(TC_USAGE, "Slurm started %d tasks, but MPI sees one", tasks), "use srun --mpi=pmix");
    }
    *out = d;
    return NULL;
}

/* Rank 0: the error of a rank that told it. */
static tc_status hear(tc_dist *d) {
    char text[WHY] = {0};
    int from;
    int rc = d->api->hear(&from, text, sizeof text - 2);
    if (rc) return failure(d, rc, "cannot hear", from < 0 ? d->rank : from);
    if (from < 0) return NULL;
    const char *message = text + 1, *detail = message + strlen(message) + 1;
    char by[32]; /* which failures of this file name themselves */
    snprintf(by, sizeof by, "rank %d: ", from);
    tc_status s = tc_error((tc_code)text[0], "%s%s", strncmp(message, by, strlen(by)) ? by : "", message);
    return *detail ? tc_status_add(s, "%s", detail) : s;
}

/* Sends to rank `to` and receives from rank `from` (-1: neither) at the same time, within the time-out. */
static tc_status exchange(tc_dist *d, int to, const void *send, size_t nsend, int from, void *recv, size_t nrecv) {
    int rc = d->api->start(to, send, nsend, from, recv, nrecv), done = 0;
    int peer = from >= 0 ? from : to;
    if (rc) return failure(d, rc, "cannot talk to", peer);
    double until = 0;
    for (int64_t spin = 0; !done; spin++) {
        if ((rc = d->api->test(&done))) return failure(d, rc, "lost", peer);
        if (done || spin < 1000) continue;
        if (d->rank == 0) TC_TRY(hear(d));
        double now = tc_now();
        if (until == 0) until = now + d->timeout;
        if (now > until) return tc_error(TC_ENV, "rank %d: no answer from rank %d in %.0f s", d->rank, peer, d->timeout);
        sched_yield();
    }
    return NULL;
}

static tc_status sum_chunk(tc_dist *d, tc_dtype dtype, void *data, int64_t n) {
    size_t bytes = (size_t)n * tc_dtype_size(dtype);
    if ((d->size & (d->size - 1)) == 0) {
        /* Recursive doubling: every rank holds the sum of its block of k ranks; blocks double. Addition of two numbers commutes, so both sides of an
         * exchange get the same bits. */
        for (int k = 1; k < d->size; k *= 2) {
            int peer = d->rank ^ k;
            TC_TRY(exchange(d, peer, data, bytes, peer, d->scratch, bytes));
            tc_add_into(dtype, data, d->scratch, n);
        }
        return NULL;
    }
    for (int k = 1; k < d->size; k *= 2) {
        if (d->rank & k) {
            TC_TRY(exchange(d, d->rank - k, data, bytes, -1, NULL, 0));
            break;
        }
        if (d->rank + k >= d->size) continue;
        TC_TRY(exchange(d, -1, NULL, 0, d->rank + k, d->scratch, bytes));
        tc_add_into(dtype, data, d->scratch, n);
    }
    return tc_dist_broadcast(d, data, bytes, 0);
}

tc_status tc_dist_sum(tc_dist *d, tc_dtype dtype, void *data, int64_t n) {
    if (!d || d->size == 1) return NULL;
    int64_t step = CHUNK / (int64_t)tc_dtype_size(dtype);
    for (int64_t i = 0; i < n; i += step) TC_TRY(sum_chunk(d, dtype, (char *)data + (size_t)i * tc_dtype_size(dtype), n - i < step ? n - i : step));
    return NULL;
}

tc_status tc_dist_broadcast(tc_dist *d, void *data, size_t n, int root) {
    if (!d || d->size == 1) return NULL;
    /* Binomial tree over ranks counted from the root. */
    int me = (d->rank - root + d->size) % d->size, top = 1;
    while (top < d->size) top *= 2;
    for (size_t at = 0; at < n || at == 0; at += CHUNK) {
        char *p = (char *)data + at;
        size_t len = n - at < CHUNK ? n - at : CHUNK;
        int from = 0;
        for (int k = 1; k < top; k *= 2)
            if (me & k) {
                from = k;
                break;
            }
        if (me) TC_TRY(exchange(d, -1, NULL, 0, (me - from + root) % d->size, p, len));
        for (int k = me ? from / 2 : top / 2; k >= 1; k /= 2)
            if (me + k < d->size) TC_TRY(exchange(d, (me + k + root) % d->size, p, len, -1, NULL, 0));
    }
    return NULL;
}

static tc_status barrier(tc_dist *d) {
    int64_t zero = 0;
    return tc_dist_max(d, &zero);
}

tc_status tc_dist_max(tc_dist *d, int64_t *value) {
    if (!d || d->size == 1) return NULL;
    for (int k = 1; k < d->size; k *= 2) {
        if (d->rank & k) {
            TC_TRY(exchange(d, d->rank - k, value, sizeof *value, -1, NULL, 0));
            break;
        }
        int64_t other;
        if (d->rank + k >= d->size) continue;
        TC_TRY(exchange(d, -1, NULL, 0, d->rank + k, &other, sizeof other));
        if (other > *value) *value = other;
    }
    return tc_dist_broadcast(d, value, sizeof *value, 0);
}

/* ---- what collectives of programs call ---- */
/* Sends n bytes to rank `to` and receives as many from rank `from`, in messages of at most CHUNK. */
static tc_status swap(tc_dist *d, int to, const char *send, int from, char *recv, size_t n) {
    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t len = n - at < CHUNK ? n - at : CHUNK;
        TC_TRY(exchange(d, to, send + at, len, from, recv + at, len));
    }
    return NULL;
}
/* In round k every rank sends to the one k after it and hears from the one k before it. Blocks: of n bytes, NULL: the same for all ranks. */
static tc_status each_to_each(tc_dist *d, const char *blocks, const char *mine, char *got, size_t n) {
    for (int k = 0; k < d->size; k++) {
        const int to = (d->rank + k) % d->size, from = (d->rank - k + d->size) % d->size;
        const char *send = blocks ? blocks + (size_t)to * n : mine;
        char *recv = got + (size_t)from * n;
        if (k) TC_TRY(swap(d, to, send, from, recv, n));
        else if (n) memcpy(recv, send, n);
    }
    return NULL;
}

static tc_dist *began(void *self) {
    tc_dist *const d = self;
    d->began = tc_now();
    return d;
}
static int told(void *self, tc_status s) {
    tc_dist *const d = self;
    d->waited += tc_now() - d->began;
    tc_status_free(d->failed);
    d->failed = s;
    return s != NULL;
}
static int comm_all_gather(void *self, const void *mine, void *all, size_t n) { return told(self, each_to_each(began(self), NULL, mine, all, n)); }
static int comm_all_to_all(void *self, const void *blocks, void *got, size_t n) {
    return told(self, each_to_each(began(self), blocks, NULL, got, n));
}
static int comm_broadcast(void *self, void *data, size_t n, int root) { return told(self, tc_dist_broadcast(began(self), data, n, root)); }
static const char *comm_failure(void *self) {
    const tc_dist *d = self;
    return d->failed ? tc_status_message(d->failed) : NULL;
}
double tc_dist_waited(tc_dist *d) {
    const double seconds = d->waited;
    d->waited = 0;
    return seconds;
}
tc_comm tc_dist_comm(tc_dist *d) { return (tc_comm){d->rank, d->size, comm_all_gather, comm_all_to_all, comm_broadcast, comm_failure, d}; }

tc_status tc_dist_stop(tc_dist *d) {
    if (!d) return NULL;
    tc_status_free(d->failed);
    tc_status s = barrier(d);
    int rc = s ? 0 : d->api->finalize();
    if (rc) s = failure(d, rc, "cannot end MPI on", d->rank);
    free(d->scratch);
    free(d);
    return s;
}

void tc_dist_tell(tc_dist *d, tc_status why) {
    if (!d || d->rank == 0) return;
    static char text[WHY]; /* outlives the call: MPI may read it until this rank ends */
    text[0] = (char)tc_status_code(why);
    const int n = snprintf(text + 1, WHY / 2, "%s", tc_status_message(why));
    char *detail = text + 2 + (n < WHY / 2 ? n : WHY / 2 - 1);
    snprintf(detail, WHY / 2 - 4, "%s", tc_status_detail(why));
    if (d->api->tell(text, (size_t)(detail + strlen(detail) + 1 - text))) return;
    int sent;
    for (const double until = tc_now() + d->timeout; tc_now() < until && !d->api->test(&sent);) sched_yield();
}

void tc_dist_abort(tc_dist *d, int code) {
    if (d) d->api->abort(code);
    _exit(code);
}
