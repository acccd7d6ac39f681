/* Writes guards_code: the program's conditions on its inputs as Python expressions over their sizes, as pt2_guards.c reads them:
 *
 *     "L['flat_args'][1].size()[0] < L['flat_args'][0].size()[0]"
 *
 * flat_args are the leaves of the inputs in order; PyTorch puts their paths in place of them. */
#include "file/pt2_write.h"

#include <ctype.h>
#include <stdio.h>

/* For each symbol the size that it can be read from. */
typedef struct {
    const tc_program *p;
    tc_arena *arena;
    const char **from; /* by index of the symbol; NULL: none */
} sources;

/* s is a symbol, or a whole number of times one. */
static void note(sources *t, tc_sym s, const char *source) {
    int64_t times = 1;
    if (tc_sym_opcode(s) == TC_S_MUL && tc_sym_arity(s) == 2 && tc_sym_const_int(tc_sym_arg(s, 0), &times)) s = tc_sym_arg(s, 1);
    if (tc_sym_opcode(s) != TC_S_VAR || times < 1) return;
    const char **place = &t->from[tc_sym_var_index(s)];
    if (times == 1 && (!*place || **place == '(')) *place = source;
    else if (!*place) *place = tc_arena_printf(t->arena, "(%s // %lld)", source, (long long)times);
}

static void find(sources *t) {
    int leaf = 0;
    for (int i = 0; i < t->p->ninputs; i++) {
        const tc_input *in = &t->p->inputs[i];
        if (in->kind != TC_IN_USER && in->kind != TC_IN_LEAF) continue;
        const tc_value *v = in->value;
        for (int d = 0; v && v->kind == TC_V_TENSOR && d < v->meta.rank; d++)
            note(t, v->meta.size[d], tc_arena_printf(t->arena, "L['flat_args'][%d].size()[%d]", leaf, d));
        if (v && v->kind == TC_V_SYM && v->sym) note(t, v->sym, tc_arena_printf(t->arena, "L['flat_args'][%d]", leaf));
        leaf++;
    }
}

/* The text of a condition with sources in place of symbols. False: it has a symbol without one, or an operation that Python lacks. */
static bool put(const sources *t, tc_sym cond, tc_buf *out) {
    tc_buf text = {0};
    tc_sym_print(&text, cond);
    const char *s = tc_buf_str(&text);
    bool ok = true;
    for (size_t n; *s && ok; s += n) {
        for (n = 0; isalnum((unsigned char)s[n]) || s[n] == '_' || (n && s[n] == '.'); n++) {}
        if (!n || isdigit((unsigned char)*s)) {
            n = n ? n : 1;
            tc_buf_append(out, s, n);
            continue;
        }
        const char *name = tc_arena_printf(t->arena, "%.*s", (int)n, s);
        tc_sym var = s[n] == '(' ? NULL : tc_sym_find(t->p->sym, name);
        const char *by = var ? t->from[tc_sym_var_index(var)] : name;
        ok = by && strcmp(name, "where") != 0;
        if (ok) tc_buf_puts(out, by);
    }
    tc_buf_free(&text);
    return ok;
}

void tc_pt2_write_guards(tc_json *j, const tc_program *p, tc_arena *arena) {
    sources t = {p, arena, TC_NEWN(arena, const char *, tc_sym_var_count(p->sym) + 1)};
    tc_buf text = {0};
    find(&t);
    tc_json_array(j);
    for (size_t i = 0; i < p->guards.len; i++) {
        const tc_guard *g = &p->guards.data[i];
        text.len = 0;
        if (!(g->apart && tc_sym_known(p->sym, g->cond) == 1) && put(&t, g->cond, &text)) tc_json_string(j, tc_buf_str(&text));
    }
    tc_json_end(j);
    tc_buf_free(&text);
}
