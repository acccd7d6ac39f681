/* --draft: answers data-dependent questions from example inputs (draft.h). */
#include "draft.h"

#include "base/rng.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The example tensor of p's k-th user input: by name, else by position. */
static const tc_tensor *example_of(const tc_cmd_source *q, const char *name, size_t k) {
    for (size_t i = 0; i < q->inputs.len; i++)
        if (q->inputs.data[i].name && *q->inputs.data[i].name && !strcmp(q->inputs.data[i].name, name)) return &q->inputs.data[i].example;
    for (size_t i = 0, at = 0; i < q->inputs.len; i++)
        if (q->inputs.data[i].kind != TC_INPUT_EXPR && at++ == k) return &q->inputs.data[i].example;
    return NULL;
}

static tc_status observe(void *self, const tc_program *p, tc_symvalue *out) {
    const draft *d = self;
    tc_exec *e = NULL;
    tc_tensor result = {0}, *in = tc_xcalloc((size_t)p->ninputs + 1, sizeof *in);
    struct tc_generator gen = {0};
    int n = 0;
    tc_generator_seed(&gen, d->q->r.seed);
    for (int i = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        const tc_tensor *x = example_of(d->q, p->inputs[i].name, (size_t)n);
        if (x) in[n++] = tc_tensor_share(x);
    }
    tc_status st = tc_exec_create(p, &(tc_exec_options){.pool = tc_cmd_pool(d->c), .threads = 1}, &e);
    if (!st) st = tc_exec_run(e, in, n, &gen, &result, 1);
    if (!st && !result.storage) st = tc_error(TC_CONTENT, "the example inputs give no value here");
    if (!st) {
        tc_scalar v = tc_scalar_load(result.dtype, tc_tensor_data(&result), 0);
        *out = (tc_symvalue){.bound = true};
        if (v.kind == TC_KIND_FLOAT) out->f = v.f;
        else out->i = v.i;
    }
    tc_tensor_deinit(&result);
    for (int i = 0; i < n; i++) tc_tensor_deinit(&in[i]);
    free(in);
    tc_exec_destroy(e);
    return st;
}

tc_status draft_start(tc_cmd *c, tc_cmd_source *q, draft *d) {
    for (size_t i = 0; i < q->inputs.len; i++) {
        const tc_capture_input *in = &q->inputs.data[i];
        if (in->kind != TC_INPUT_EXPR && !in->example.storage)
            return tc_usage(c, "--draft runs the model on its inputs: %s has sizes only; give it values, as 2x3xf32=1,2,3,4,5,6 or @FILE",
                            in->name && *in->name ? in->name : "--input");
    }
    *d = (draft){c, q};
    q->r.observe = observe, q->r.observe_self = d;
    return NULL;
}

tc_status draft_report(tc_cmd *c, const char *operand, const tc_capture_result *r) {
    const char *path = tc_cmd_get(c, TC_OPT_draft);
    tc_buf b = {0};
    tc_buf_printf(&b, "draft of %s: %zu place%s decided by the example inputs\n%s", operand, r->decided, r->decided == 1 ? "" : "s",
                  r->draft ? r->draft : "");
    tc_status st = NULL;
    if (!path) tc_cmd_show(stderr, b.data, b.len);
    else st = tc_cmd_write_text(c, path, &b);
    tc_buf_free(&b);
    return st;
}
