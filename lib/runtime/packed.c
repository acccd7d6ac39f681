/* What depends on state alone and is kept between runs: weights packed for their kernels, and small values that loops compute (scale and shift of a
 * batch norm, masks). Weights are packed in the second run, so that a program that runs once does not pay for it. Everything is computed again
 * when tc_exec_set_state changes state; nothing is kept that depends on state which the program itself changes. */
#include <string.h>
#include <sys/mman.h>

#include "base/ints.h"
#include "runtime/frame.h"

enum { KEPT_BYTES = 64 << 10 /* largest value that is kept in the arena */ };
enum { HUGE_PAGE = 2 << 20, SMALL_FORM = 128 << 10, CHUNK = 16 << 20 }; /* bytes */

bool packed_argument(const tc_exec *e, const tc_value *input) {
    const tc_program *p = e->program;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->value != input) continue;
        return in->kind != TC_IN_USER && !e->mutated[in->alias_of >= 0 ? in->alias_of : i];
    }
    return false;
}

/* Memory for a packed form; NULL: out of memory. Large forms are placed one after another in chunks of huge pages, because weights are streamed in
 * every run, and a page table walk for each 4 KiB takes more than a tenth of the time of some convolutions. A chunk is as large as all packed forms
 * before it, up to CHUNK. */
static void *packed_alloc(tc_exec *e, size_t bytes) {
    bytes = tc_pad64(bytes);
    if (bytes > e->chunk_left || bytes < SMALL_FORM) {
        const bool small = bytes < SMALL_FORM;
        const size_t as_before = e->packed_bytes < CHUNK ? e->packed_bytes : CHUNK, least = bytes > as_before ? bytes : as_before;
        const size_t n = small ? bytes : (least + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
        void *p = aligned_alloc(small ? 64 : HUGE_PAGE, n);
        if (!p) return NULL;
        tc_vec_push(&e->packed_memory, p);
        if (small) return p;
        madvise(p, n, MADV_HUGEPAGE); /* may fail: it is a hint */
        e->chunk = p, e->chunk_left = n;
    }
    char *p = e->chunk;
    e->chunk += bytes, e->chunk_left -= bytes;
    return p;
}

tc_status packed_data(tc_exec *e, kernel_call *k, const tc_node *n, const void **out) {
    const int more = n->op->kernel->pack_more;
    const void *from[TC_PACKED_ARGS] = {NULL};
    packed_form *form = NULL;
    if (e->runs < 2) return NULL;
    for (int i = 0; i <= more; i++) from[i] = tc_tensor_data(k->args[k->pack_arg + i].tensor);
    for (size_t i = 0; i < e->packed.len && !form; i++)
        if (e->packed.data[i].node == n && e->packed.data[i].bytes == k->pack_bytes) form = &e->packed.data[i];
    if (!form) {
        packed_form f = {.node = n, .bytes = k->pack_bytes, .version = UINT64_MAX};
        f.data = packed_alloc(e, k->pack_bytes);
        if (!f.data) return NULL; /* the kernel reads its weights in place, as in the first run */
        tc_vec_push(&e->packed, f);
        form = &e->packed.data[e->packed.len - 1];
        e->packed_bytes += k->pack_bytes;
    }
    if (form->version != e->version || memcmp(form->from, from, sizeof from)) {
        n->op->kernel->pack(&k->k, form->data);
        form->version = e->version, memcpy(form->from, from, sizeof from);
    }
    *out = form->data;
    return NULL;
}

void packed_free(tc_exec *e) {
    for (size_t i = 0; i < e->packed_memory.len; i++) free(e->packed_memory.data[i]);
    tc_vec_free(&e->packed_memory);
    tc_vec_free(&e->packed);
}

/* ---- kept results of loops ---- */
typedef struct {
    const frame *f;
    bound *b;
    int *writers; /* by root: how many groups write to it */
    bool *kept;   /* by root */
} keeping;
static void count_writer(keeping *k, const tc_value *v) {
    if (v->kind == TC_V_LIST)
        for (int i = 0; i < v->nlist; i++) count_writer(k, v->list[i]);
    if (v->kind == TC_V_TENSOR && v->graph == k->f->g && k->b->root_of[v->id] >= 0) k->writers[k->b->root_of[v->id]]++;
}
static void count_writers(keeping *k) {
    for (size_t i = 0; i < k->f->plan->groups.len; i++) {
        const tc_group *g = &k->f->plan->groups.data[i];
        const tc_loop *l = g->loop ? g->loop : g->epilogue;
        for (size_t j = 0; l && j < l->buffers.len; j++)
            if (l->buffers.data[j].written) count_writer(k, l->buffers.data[j].value);
        for (int j = 0; g->kind != TC_GROUP_LOOP && g->kind != TC_GROUP_VIEW && j < g->node->nouts; j++) count_writer(k, g->node->outs[j]);
    }
}
/* May the loop's results be kept? It must compute with no number that varies between runs, read only state and kept results, and be the only writer
 * of its results' memory. */
static bool may_keep(const keeping *k, const tc_loop *l) {
    for (size_t i = 0; i < l->inst.len; i++)
        if (l->inst.data[i].kind == TC_L_HOST || l->inst.data[i].kind == TC_L_RAND) return false;
    for (size_t i = 0; i < l->buffers.len; i++) {
        const int r = k->b->root_of[l->buffers.data[i].value->id];
        const root *at = r >= 0 ? &k->b->roots[r] : NULL;
        if (!at) return false;
        if (l->buffers.data[i].written ? at->kind != ROOT_ARENA || at->bytes > KEPT_BYTES || k->writers[r] > 1
                                       : !k->kept[r] && (at->kind != ROOT_INPUT || !packed_argument(k->f->e, k->f->g->inputs[at->index])))
            return false;
    }
    return true;
}
void keep_values(const frame *f, bound *b, size_t nvalues, int last) {
    if (!f->e->o.keep_packed || f != f->e->main) return;
    keeping k = {f, b, tc_xcalloc(nvalues, sizeof *k.writers), tc_xcalloc(nvalues, sizeof *k.kept)};
    count_writers(&k);
    for (size_t i = 0; i < b->calls.len; i++) {
        call *c = &b->calls.data[i];
        const tc_loop *l = c->kind == CALL_LOOP ? c->group->loop : NULL;
        c->keeps = l && may_keep(&k, l);
        for (size_t j = 0; c->keeps && j < l->buffers.len; j++) {
            if (!l->buffers.data[j].written) continue;
            const int r = b->root_of[l->buffers.data[j].value->id];
            k.kept[r] = true, b->roots[r].first = 0, b->roots[r].last = last;
            b->kept_bytes += tc_pad64(b->roots[r].bytes);
        }
    }
    free(k.writers), free(k.kept);
}
