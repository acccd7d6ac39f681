/* Collectives over ranks.h: which reduction, and what is refused. */
#include "kernel/collective.h"

#include "kernel/ranks.h"

#include <string.h>

#define ROW(NAME, F, S, T) {#NAME, tc_merge_##NAME##_##S},
#define ALL(D, S) [D] = {TC_MERGE_ALL(ROW, S, )}
#define BITS(D, S) [D] = {TC_MERGE_BITS(ROW, S, )}
static const struct {
    const char *op;
    tc_merge merge;
} merges[TC_DTYPE_COUNT][7] = {ALL(TC_F32, f32),
                               ALL(TC_F64, f64),
                               ALL(TC_BF16, bf16),
                               ALL(TC_F16, f16),
                               BITS(TC_I8, i8),
                               BITS(TC_U8, u8),
                               BITS(TC_I32, i32),
                               BITS(TC_I64, i64),
                               [TC_C64] = {ROW(sum, , c64, )},
                               [TC_C128] = {ROW(sum, , c128, )}};

/* merge: NULL if there is none. */
static tc_reduction reduction_of(tc_dtype d, const char *op) {
    const tc_share share = d == TC_F32 ? tc_share_f32 : d == TC_F64 ? tc_share_f64 : d == TC_BF16 ? tc_share_bf16 : d == TC_F16 ? tc_share_f16 : NULL;
    const bool mean = !strcmp(op, "avg");
    tc_reduction r = {tc_dtype_size(d), NULL, mean ? share : NULL};
    for (int i = 0; i < 7 && merges[d][i].op && (!mean || share); i++)
        if (!strcmp(merges[d][i].op, mean ? "sum" : op)) r.merge = merges[d][i].merge;
    return r;
}
bool tc_collective_has(tc_dtype d, const char *op) { return reduction_of(d, op).merge != NULL; }

/* group_size: that of the call, or 0: it has none. */
static tc_status need_ranks(const tc_kcall *k, int64_t group_size) {
    const tc_comm *c = k->comm;
    if (!c) return tc_error(TC_USAGE, "runs on ranks: mpirun -n N tc-run");
    if (group_size && group_size != c->size) return tc_error(TC_CONTENT, "for %lld ranks, and %d run", (long long)group_size, c->size);
    return NULL;
}
static tc_status said(const tc_kcall *k, int code) {
    const char *why = code && k->comm->failure ? k->comm->failure(k->comm->self) : NULL;
    return code ? tc_error(TC_ENV, "%s", why ? why : "the ranks failed") : NULL;
}

static size_t room(const tc_kcall *k, int threads) {
    (void)threads;
    return k->comm ? tc_ranks_room(k->comm->size) : 0;
}

static tc_status run_all_reduce(tc_kcall *k) {
    const tc_tensor *x = tc_k_tensor(k, 0);
    TC_TRY(need_ranks(k, 0));
    const tc_reduction how = reduction_of(x->dtype, k->args[1].string);
    return said(k, tc_ranks_all_reduce(k->comm, tc_tensor_data(x), tc_tensor_data(&k->outs[0]), tc_tensor_numel(x), &how, k->scratch));
}
const tc_kernel tc_k_all_reduce = {.name = "all_reduce", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_all_reduce, .scratch = room};

static tc_status run_all_gather(tc_kcall *k) {
    const tc_tensor *x = tc_k_tensor(k, 0);
    TC_TRY(need_ranks(k, tc_k_int(k, 1)));
    return said(k, k->comm->all_gather(k->comm->self, tc_tensor_data(x), tc_tensor_data(&k->outs[0]), tc_tensor_bytes(x)));
}
const tc_kernel tc_k_all_gather = {.name = "all_gather_into_tensor", .flags = TC_KF_CONTIGUOUS, .run = run_all_gather};

static tc_status run_reduce_scatter(tc_kcall *k) {
    const tc_tensor *x = tc_k_tensor(k, 0), *out = &k->outs[0];
    TC_TRY(need_ranks(k, tc_k_int(k, 2)));
    const tc_reduction how = reduction_of(x->dtype, k->args[1].string);
    return said(k, tc_ranks_reduce_scatter(k->comm, tc_tensor_data(x), tc_tensor_data(out), tc_tensor_numel(out), &how, k->scratch));
}
const tc_kernel tc_k_reduce_scatter = {.name = "reduce_scatter_tensor", .flags = TC_KF_CONTIGUOUS, .run = run_reduce_scatter, .scratch = room};

static tc_status run_broadcast(tc_kcall *k) {
    const tc_tensor *x = tc_k_tensor(k, 0), *out = &k->outs[0];
    TC_TRY(need_ranks(k, 0));
    const int64_t root = tc_k_int(k, 1);
    if (root < 0 || root >= k->comm->size) return tc_error(TC_CONTENT, "from rank %lld of %d", (long long)root, k->comm->size);
    if (tc_tensor_data(out) != tc_tensor_data(x)) memcpy(tc_tensor_data(out), tc_tensor_data(x), tc_tensor_bytes(x));
    return said(k, k->comm->broadcast(k->comm->self, tc_tensor_data(out), tc_tensor_bytes(x), (int)root));
}
const tc_kernel tc_k_broadcast = {.name = "broadcast", .flags = TC_KF_CONTIGUOUS | TC_KF_INPLACE0, .run = run_broadcast};
