/* Reports on a captured program (report.h): symbols and the guards that fixed them, operators, parameters.
 * A symbol that the model fixed is shown with its value and the line of the guard that fixed it. */
#include "report.h"

#include "op/op.h"

#include <stdlib.h>
#include <string.h>

static void place(tc_buf *b, tc_source s) {
    if (s.file) tc_buf_printf(b, "  # %s:%d", s.file, s.line);
    tc_buf_putc(b, '\n');
}

static bool holds(tc_sym s, tc_sym var) {
    if (s == var) return true;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (holds(tc_sym_arg(s, i), var)) return true;
    return false;
}

/* The source line that fixed var: of the last guard that is an equation over var alone, else of the last that mentions it. */
static tc_source forced_by(const tc_program *p, tc_sym var) {
    tc_source at = {0}, other = {0};
    for (size_t i = 0; i < p->guards.len; i++) {
        const tc_guard *g = &p->guards.data[i];
        if (!holds(g->cond, var)) continue;
        other = g->source;
        if (tc_sym_opcode(g->cond) == TC_S_EQ) at = g->source;
    }
    return at.file ? at : other;
}

void report_shapes(tc_buf *b, const tc_program *p) {
    tc_buf_printf(b, "%s: sizes\n", p->name);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind == TC_IN_LEAF) {
            tc_buf_printf(b, "  %s is fixed to ", in->name);
            tc_arg_print(b, &in->leaf);
            place(b, in->read);
        }
        if (in->kind != TC_IN_USER || !in->value || in->value->kind != TC_V_TENSOR) continue;
        tc_buf_printf(b, "  %s: %s[", in->name, tc_dtypes[in->value->meta.dtype].name);
        for (int d = 0; d < in->value->meta.rank; d++) {
            if (d) tc_buf_puts(b, ", ");
            tc_sym_print(b, tc_sym_simplify(p->sym, in->value->meta.size[d]));
        }
        tc_buf_puts(b, "]\n");
    }
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        tc_sym var = tc_sym_var_at(p->sym, i), now = tc_sym_simplify(p->sym, var);
        int64_t lo, hi;
        tc_buf_printf(b, "  %s", tc_sym_var_name(var));
        if (now != var) {
            tc_buf_puts(b, " is fixed to ");
            tc_sym_print(b, now);
            place(b, forced_by(p, var));
            continue;
        }
        tc_sym_range(p->sym, var, &lo, &hi);
        if (lo == TC_SYM_NO_LO) tc_buf_puts(b, ": any");
        else tc_buf_printf(b, ": %lld", (long long)lo);
        if (hi == TC_SYM_NO_HI) tc_buf_puts(b, lo == TC_SYM_NO_LO ? "" : " to any");
        else tc_buf_printf(b, " to %lld", (long long)hi);
        place(b, forced_by(p, var));
    }
}

typedef struct {
    const char *name;
    size_t calls;
} count;

static int by_calls(const void *a, const void *b) {
    const count *x = a, *y = b;
    return x->calls != y->calls ? (x->calls < y->calls ? 1 : -1) : strcmp(x->name, y->name);
}

typedef struct {
    TC_VEC(count) ops;
    size_t nodes, graphs;
} counts;

/* Counts the nodes of g and of its subgraphs. */
static void add_graph(counts *c, const tc_graph *g) {
    c->graphs++;
    for (const tc_node *n = g->first; n; n = n->next) {
        size_t i = 0;
        while (i < c->ops.len && strcmp(c->ops.data[i].name, tc_op_name(n->op))) i++;
        count one = {tc_op_name(n->op), 0};
        if (i == c->ops.len) tc_vec_push(&c->ops, one);
        c->ops.data[i].calls++, c->nodes++;
        for (int k = 0; k < n->nargs; k++)
            if (n->args[k].kind == TC_A_GRAPH) add_graph(c, n->args[k].graph);
    }
}

void report_summary(tc_buf *b, const tc_program *p) {
    static const char *const kinds[] = {[TC_IN_PARAMETER] = "parameters", [TC_IN_BUFFER] = "buffers", [TC_IN_CONSTANT] = "constants"};
    counts all = {0};
    size_t users = 0, results = 0;
    add_graph(&all, p->graph);
    for (int i = 0; i < p->ninputs; i++) users += p->inputs[i].kind == TC_IN_USER;
    for (int i = 0; i < p->noutputs; i++) results += tc_output_is_result(&p->outputs[i]);
    tc_buf_printf(b, "program %s\n  graph: %zu nodes of %zu operators", p->name, all.nodes, all.ops.len);
    if (all.graphs > 1) tc_buf_printf(b, " in %zu graphs", all.graphs);
    tc_buf_printf(b, ", %zu inputs, %zu outputs, %zu guards\n", users, results, p->guards.len);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        size_t tensors = 0;
        int64_t elements = 0, bytes = 0;
        for (int i = 0; i < p->ninputs; i++) {
            const tc_input *in = &p->inputs[i];
            if (in->kind != (tc_input_kind)k || in->alias_of >= 0 || !in->value) continue;
            int64_t n = 1, d;
            for (int a = 0; a < in->value->meta.rank; a++) n *= tc_sym_const_int(in->value->meta.size[a], &d) ? d : 0;
            tensors++, elements += n, bytes += n * (int64_t)tc_dtype_size(in->value->meta.dtype);
        }
        if (tensors) tc_buf_printf(b, "  %s: %zu tensors, %lld elements, %lld bytes\n", kinds[k], tensors, (long long)elements, (long long)bytes);
    }
    if (all.ops.len) qsort(all.ops.data, all.ops.len, sizeof *all.ops.data, by_calls);
    for (size_t i = 0; i < all.ops.len; i++) tc_buf_printf(b, "  %6zu %s\n", all.ops.data[i].calls, all.ops.data[i].name);
    tc_vec_free(&all.ops);
}
