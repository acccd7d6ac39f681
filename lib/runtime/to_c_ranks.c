/* Collectives as C: calls of kernel/ranks.h on the ranks that the caller describes beside its threads. */
#include "kernel/ranks.h"
#include "runtime/to_c_write.h"

tc_status to_c_collective(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args};
    const tc_tensor *out = &k->outs[0];
    to_c_operand x;
    const char *to;
    TC_TRY(to_c_argument(w, k, 0, &x));
    TC_TRY(to_c_address(w, k->out_id[0], &to));
    const tc_dtype d = x.t->dtype;
    const size_t bytes = tc_tensor_bytes(x.t);
    const bool reduces = !strcmp(kind, "all_reduce"), scatters = !strcmp(kind, "reduce_scatter_tensor");
    tc_buf *b = &w->calls;
    w->ranks = true;
    if (reduces || scatters) {
        if (scatters) tc_buf_printf(b, "    if (ranks.size != %lld) return 6;\n", (long long)tc_k_int(&kc, 2));
        const char *op = k->args[1].string, *type = tc_dtypes[d].name;
        const bool mean = !strcmp(op, "avg");
        tc_buf_printf(b, "    {\n        static const tc_reduction how = {%zu, tc_merge_%s_%s, %s%s};\n", tc_dtype_size(d), mean ? "sum" : op, type,
                      mean ? "tc_share_" : "NULL", mean ? type : "");
        tc_buf_printf(b, "        if (tc_ranks_%s(&ranks, %s, %s, %lld, &how, room)) return 6;\n    }\n", reduces ? "all_reduce" : "reduce_scatter",
                      x.at, to, (long long)tc_tensor_numel(out));
    } else if (!strcmp(kind, "broadcast")) {
        const long long from = (long long)tc_k_int(&kc, 1);
        if (strcmp(to, x.at)) tc_buf_printf(b, "    tc_c_bytes(%s, %s, %zu);\n", to, x.at, bytes);
        tc_buf_printf(b, "    if (%lld >= ranks.size || ranks.broadcast(ranks.self, %s, %zu, %lld)) return 6;\n", from, to, bytes, from);
    } else {
        tc_buf_printf(b, "    if (ranks.size != %lld || ranks.all_gather(ranks.self, %s, %s, %zu)) return 6;\n", (long long)tc_k_int(&kc, 1), x.at,
                      to, bytes);
    }
    return NULL;
}

void to_c_ranks_type(const writer *w, tc_buf *h) {
    const char *s = w->stem;
    tc_buf_printf(
        h,
        "/* The ranks that run the program together, each with weights and inputs of its own, all with the same calls in the same order. The\n"
        " * functions return 0, or another number for a failure; n: bytes of a block. */\n"
        "typedef struct {\n"
        "    int rank, size;\n"
        "    int (*all_gather)(void *self, const void *mine, void *all, size_t n);   /* all: the blocks of all ranks, in order */\n"
        "    int (*all_to_all)(void *self, const void *blocks, void *got, size_t n); /* block r goes to rank r, and comes from it */\n"
        "    int (*broadcast)(void *self, void *data, size_t n, int root);\n"
        "    void *self; /* the first argument of all */\n"
        "    void *room; /* %s_RANKS_ROOM(size) bytes, 64-byte aligned */\n"
        "} %s_ranks;\n"
        "#define %s_RANKS_ROOM(size) (%zu * (size_t)(size))\n\n",
        s, s, s, tc_ranks_room(1));
}

void to_c_ranks_given(const writer *w, tc_buf *c) {
    tc_buf_printf(c,
                  "    const %s_ranks *const given = threads_ ? threads_->ranks : NULL;\n"
                  "    if (!given) return 6;\n"
                  "    const tc_comm ranks = {given->rank, given->size, given->all_gather, given->all_to_all, given->broadcast, NULL, given->self};\n"
                  "    void *const room = given->room;\n    (void)room;\n",
                  w->stem);
}
