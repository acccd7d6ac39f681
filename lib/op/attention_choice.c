/* Chooses the implementation of attention (attention_choice.h). */
#include "op/attention_choice.h"

#include <string.h>

static bool is_asked(const tc_node *n) { return !strcmp(tc_op_schema(n->op)->name, "scaled_dot_product_attention"); }

static bool is_kernel(const tc_node *n) {
    const char *name = tc_op_schema(n->op)->name;
    return !strcmp(name, "_scaled_dot_product_flash_attention_for_cpu") || !strcmp(name, "attention");
}

static void print_place(tc_buf *b, const tc_node *n) {
    const tc_source *at = &n->source;
    if (at->file) tc_buf_printf(b, "%s:%d: ", at->file, at->line);
    if (at->calls) tc_buf_printf(b, "%s: ", tc_source_module(at));
}

static void collect(const tc_graph *g, tc_attention_list *out) {
    for (const tc_node *n = g->first; n; n = n->next) {
        if (is_asked(n)) tc_vec_push(out, n);
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) collect(n->args[i].graph, out);
    }
}
void tc_attention_collect(const tc_program *p, tc_attention_list *out) { collect(p->graph, out); }

static bool wanted(void *ctx, const tc_node *n) {
    (void)ctx;
    return is_asked(n);
}
static tc_decompose_fn written_out(const tc_node *n) {
    (void)n;
    return tc_attention_written_out;
}

tc_status tc_attention_choose(tc_program *p, tc_sdpa how) {
    if (how == TC_SDPA_AUTO) return NULL;
    if (how == TC_SDPA_MATH) return tc_decompose_by(p, wanted, written_out, NULL, NULL);
    tc_attention_list asked = {0};
    tc_buf where = {0};
    tc_status s = NULL;
    tc_attention_collect(p, &asked);
    for (size_t i = 0; i < asked.len && !s; i++) {
        const char *why = tc_attention_misses_kernel(asked.data[i]);
        if (!why) continue;
        print_place(&where, asked.data[i]);
        s = tc_error(TC_UNSUPPORTED, "%sthe attention kernel does not fit: %s", tc_buf_str(&where), why);
    }
    tc_buf_free(&where);
    tc_vec_free(&asked);
    return s;
}

/* The kernel node that replaced `asked`; NULL: none. */
static const tc_node *kernel_of(const tc_graph *g, const tc_node *asked) {
    for (const tc_node *n = g->first; n; n = n->next) {
        if (is_kernel(n) && n->origin == asked) return n;
        for (int i = 0; i < n->nargs; i++) {
            const tc_node *in = n->args[i].kind == TC_A_GRAPH ? kernel_of(n->args[i].graph, asked) : NULL;
            if (in) return in;
        }
    }
    return NULL;
}

static void report_others(const tc_graph *g, tc_buf *out) {
    for (const tc_node *n = g->first; n; n = n->next) {
        if (is_kernel(n) && !(n->origin && is_asked(n->origin))) {
            print_place(out, n);
            tc_buf_puts(out, strcmp(tc_op_schema(n->op)->name, "attention") ? "flash: the program names the kernel\n"
                                                                            : "flash: products around a softmax are attention\n");
        }
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH) report_others(n->args[i].graph, out);
    }
}

void tc_attention_report(const tc_program *planned, const tc_attention_list *asked, tc_sdpa how, tc_buf *out) {
    for (size_t i = 0; i < asked->len; i++) {
        const tc_node *n = asked->data[i];
        const char *why = tc_attention_misses_kernel(n);
        const bool runs = kernel_of(planned->graph, n) != NULL;
        print_place(out, n);
        if (runs) tc_buf_puts(out, why ? "flash: products around a softmax are attention\n" : "flash\n");
        else tc_buf_printf(out, "math: %s\n", how == TC_SDPA_MATH ? "by choice" : why ? why : "it was computed once, as its operands are constants");
    }
    report_others(planned->graph, out);
}
