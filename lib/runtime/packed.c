/* Weights in the form that kernels read, kept between runs. A program that is run once never pays for them: they are made in the second
 * run. They are made again when the state is set from outside, and never of state that the program itself changes. */
#include "runtime/frame.h"

bool packed_argument(const tc_exec *e, const tc_value *input) {
    const tc_program *p = e->program;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->value != input) continue;
        return in->kind != TC_IN_USER && !e->mutated[in->alias_of >= 0 ? in->alias_of : i];
    }
    return false;
}

tc_status packed_data(tc_exec *e, kernel_call *k, const tc_node *n, const void **out) {
    const void *from = tc_tensor_data(k->args[k->pack_arg].tensor);
    packed_form *form = NULL;
    if (e->runs < 2) return NULL;
    for (size_t i = 0; i < e->packed.len && !form; i++)
        if (e->packed.data[i].node == n && e->packed.data[i].bytes == k->pack_bytes) form = &e->packed.data[i];
    if (!form) {
        packed_form f = {.node = n, .bytes = k->pack_bytes, .version = UINT64_MAX};
        f.data = aligned_alloc(64, (k->pack_bytes + 63) & ~(size_t)63);
        if (!f.data) return tc_error(TC_ENV, "no memory: %zu bytes for packed weights", k->pack_bytes);
        tc_vec_push(&e->packed, f);
        form = &e->packed.data[e->packed.len - 1];
        e->packed_bytes += k->pack_bytes;
    }
    if (form->version != e->version || form->from != from) {
        n->op->kernel->pack(&k->k, form->data);
        form->version = e->version, form->from = from;
    }
    *out = form->data;
    return NULL;
}

void packed_free(tc_exec *e) {
    for (size_t i = 0; i < e->packed.len; i++) free(e->packed.data[i].data);
    tc_vec_free(&e->packed);
}
