/* Computes the values of symbols from the sizes of the inputs, and checks ranges and guards. */
#include "runtime/frame.h"
#include "sym/bounds.h"

static tc_symvalue *var_of(tc_exec *e, tc_sym s) { return &e->vars[tc_sym_var_index(s)]; }

static bool fits(const tc_exec *e, tc_sym s, int64_t size) {
    int64_t now = 0;
    tc_status st = tc_sym_eval_int(s, e->vars, e->nvars, &now);
    const bool same = !st && now == size;
    tc_status_free(st);
    return same;
}

/* Solves expr == size for var, its only unbound symbol, assuming expr = a + b * var: a and b come from var = 0 and 1; the solution is checked. */
static bool solve_linear(tc_exec *e, tc_sym expr, tc_sym var, int64_t size) {
    tc_symvalue *v = var_of(e, var);
    int64_t at0, at1;
    v->bound = true;
    v->i = 0;
    tc_status s = tc_sym_eval_int(expr, e->vars, e->nvars, &at0);
    v->i = 1;
    if (!s) s = tc_sym_eval_int(expr, e->vars, e->nvars, &at1);
    if (!s && at1 != at0 && (size - at0) % (at1 - at0) == 0) {
        v->i = (size - at0) / (at1 - at0);
        if (fits(e, expr, size)) return true;
    }
    tc_status_free(s);
    v->bound = false;
    return false;
}

/* The only unbound symbol of an expression; NULL if there is none or several. *count is increased by how many there are. */
static tc_sym single_unbound(tc_exec *e, tc_sym s, int *count) {
    if (tc_sym_opcode(s) == TC_S_VAR) {
        if (var_of(e, s)->bound) return NULL;
        ++*count;
        return s;
    }
    tc_sym found = NULL;
    for (int i = 0; i < tc_sym_arity(s); i++) {
        int before = *count;
        tc_sym f = single_unbound(e, tc_sym_arg(s, i), count);
        if (f && found == f) *count = before;
        if (f) found = f;
    }
    return *count == 1 ? found : NULL;
}

/* Prints the source line of a guard that is false for s = value, which is where the range of s comes from; else the name of s. */
static void put_cause(tc_exec *e, tc_sym s, int64_t value, tc_buf *out) {
    const tc_program *p = e->program;
    tc_symvalue *of = var_of(e, s), before = *of;
    *of = (tc_symvalue){.i = value, .bound = true};
    for (size_t i = 0; i < p->guards.len && !out->len; i++) {
        const tc_guard *g = &p->guards.data[i];
        tc_symvalue holds = {.i = 1};
        if (!g->source.line || !tc_sym_contains(g->cond, s)) continue;
        tc_status_free(tc_sym_eval(g->cond, e->vars, e->nvars, &holds));
        if (!holds.i) tc_buf_printf(out, "%s:%d", g->source.file, g->source.line);
    }
    *of = before;
    if (!out->len) tc_buf_puts(out, tc_sym_var_name(s));
}

/* The error that the size of dimension d (-1: the number itself) gives symbol s a value outside its range [lo, hi]. */
static tc_status bad_range(tc_exec *e, const tc_input *in, int d, int64_t size, tc_sym s, int64_t lo, int64_t hi) {
    tc_buf b = {0}, cause = {0};
    const int64_t value = var_of(e, s)->bound ? var_of(e, s)->i : size;
    put_cause(e, s, value, &cause);
    tc_buf_puts(&b, in->name);
    if (d >= 0) tc_buf_printf(&b, ".size(%d)", d);
    tc_buf_printf(&b, "=%lld, expected ", (long long)size);
    if (d >= 0 && tc_sym_opcode(in->value->meta.size[d]) != TC_S_VAR) {
        tc_sym_print(&b, in->value->meta.size[d]);
        tc_buf_printf(&b, " with %s of ", tc_sym_var_name(s));
    }
    tc_buf_puts(&b, tc_sym_bounds_of(lo, hi > INT64_MAX / 2 ? TC_SYM_NO_HI : hi).text);
    tc_status st = tc_error(TC_CONTENT, "%s (%s)", b.data, cause.data);
    tc_buf_free(&b);
    tc_buf_free(&cause);
    return st;
}

static tc_status bind_tensor(tc_exec *e, const tc_input *in, const tc_tensor *t) {
    const tc_meta *m = &in->value->meta;
    tc_buf found = {0};
    if (!t->storage) return tc_error(TC_USAGE, "%s: no tensor was given", in->name);
    if (t->dtype != m->dtype || t->rank != m->rank) {
        tc_tensor_print_type(&found, t);
        tc_buf_puts(&found, ", expected ");
        tc_value_print_type(&found, in->value);
        tc_status s = tc_error(TC_CONTENT, "%s is %s", in->name, tc_buf_str(&found));
        tc_buf_free(&found);
        return s;
    }
    for (int d = 0; d < m->rank; d++) {
        tc_sym s = m->size[d];
        if (tc_sym_opcode(s) != TC_S_VAR || var_of(e, s)->bound) continue;
        int64_t lo, hi;
        tc_sym_range(e->program->sym, s, &lo, &hi);
        if (t->size[d] < lo || t->size[d] > hi) return bad_range(e, in, d, t->size[d], s, lo, hi);
        *var_of(e, s) = (tc_symvalue){.i = t->size[d], .bound = true};
    }
    return NULL;
}

/* The error that dimension d of an input does not fit its size; want: the number that it should be; NULL: a symbol in it is not known. */
static tc_status bad_size(const tc_input *in, int d, int64_t size, const int64_t *want) {
    tc_buf b = {0};
    tc_sym_print(&b, in->value->meta.size[d]);
    if (want && tc_sym_opcode(in->value->meta.size[d]) != TC_S_CONST) tc_buf_printf(&b, "=%lld", (long long)*want);
    tc_status st = tc_error(TC_CONTENT, "%s.size(%d)=%lld, expected %s", in->name, d, (long long)size, tc_buf_str(&b));
    tc_buf_free(&b);
    return st;
}

/* Binds the symbols of s of which only one value is possible. */
static bool bind_fixed(tc_exec *e, tc_sym s) {
    bool any = false;
    int64_t lo, hi;
    for (int i = 0; i < tc_sym_arity(s); i++) any |= bind_fixed(e, tc_sym_arg(s, i));
    if (tc_sym_opcode(s) != TC_S_VAR || var_of(e, s)->bound) return any;
    tc_sym_range(e->program->sym, s, &lo, &hi);
    if (lo == hi) *var_of(e, s) = (tc_symvalue){.i = lo, .bound = true};
    return lo == hi;
}

/* Finds symbols that inputs show in expressions only, such as 2*B, where all others of the expression are known. more: set when one was found;
 * NULL: none can be. */
static tc_status solve_sizes_of(tc_exec *e, const tc_input *in, const tc_tensor *t, bool *more) {
    for (int d = 0; d < in->value->meta.rank; d++) {
        const tc_sym s = in->value->meta.size[d];
        int unbound = 0;
        int64_t lo, hi;
        const tc_sym v = single_unbound(e, s, &unbound);
        if (!v && unbound && more) *more |= bind_fixed(e, s);
        if (!v) continue;
        tc_sym_range(e->program->sym, v, &lo, &hi);
        if (!solve_linear(e, s, v, t->size[d])) {
            if (more) continue;
            *var_of(e, v) = (tc_symvalue){.i = lo, .bound = true}; /* 0*B: any number fits */
            if (!fits(e, s, t->size[d])) return bad_size(in, d, t->size[d], NULL);
            continue;
        }
        if (var_of(e, v)->i < lo || var_of(e, v)->i > hi) return bad_range(e, in, d, t->size[d], v, lo, hi);
        if (more) *more = true;
    }
    return NULL;
}

static tc_status check_sizes(tc_exec *e, const tc_input *in, const tc_tensor *t, bool *none) {
    (void)none;
    for (int d = 0; d < in->value->meta.rank; d++) {
        int64_t want;
        TC_TRY(tc_sym_eval_int(in->value->meta.size[d], e->vars, e->nvars, &want), "%s.size(%d)", in->name, d);
        if (want != t->size[d]) return bad_size(in, d, t->size[d], &want);
    }
    return NULL;
}

static tc_status bind_number(tc_exec *e, const tc_input *in, const tc_tensor *t) {
    tc_sym s = in->value->sym;
    if (!t->storage || t->rank) return tc_error(TC_CONTENT, "%s: expected one number", in->name);
    tc_scalar v = tc_scalar_load(t->dtype, tc_tensor_data(t), 0);
    if (tc_sym_opcode(s) == TC_S_VAR) {
        tc_symvalue *x = var_of(e, s);
        x->bound = true;
        if (tc_sym_type(s) == TC_SYM_FLOAT) {
            x->f = tc_scalar_to_double(v);
            return NULL;
        }
        x->i = tc_scalar_to_int(v);
        int64_t lo, hi;
        tc_sym_range(e->program->sym, s, &lo, &hi);
        if (tc_sym_type(s) == TC_SYM_INT && (x->i < lo || x->i > hi)) return bad_range(e, in, -1, x->i, s, lo, hi);
    }
    return NULL;
}

/* ---- sizes of the last run ---- */
static void remember(tc_exec *e, const tc_tensor *inputs, int ninputs) {
    size_t bytes = sizeof(seen_shape) * ((size_t)ninputs + 1);
    for (int i = 0; i < ninputs; i++) bytes += sizeof(int64_t) * (size_t)inputs[i].rank;
    if (bytes > e->last.bytes) e->last.shapes = tc_xrealloc(e->last.shapes, e->last.bytes = bytes);
    int64_t *size = (int64_t *)(void *)(e->last.shapes + ninputs + 1);
    for (int i = 0; i < ninputs; i++, size += inputs[i - 1].rank) {
        e->last.shapes[i] = (seen_shape){inputs[i].dtype, inputs[i].rank, size};
        memcpy(size, inputs[i].size, sizeof *size * (size_t)inputs[i].rank);
    }
    if (!e->last.vars) e->last.vars = tc_xcalloc(e->nvars + 1, sizeof *e->last.vars);
    memcpy(e->last.vars, e->vars, e->nvars * sizeof *e->vars);
    e->last.known = true;
}

static bool same_shapes(const tc_exec *e, const tc_tensor *inputs, int ninputs) {
    if (!e->last.known) return false;
    for (int i = 0; i < ninputs; i++) {
        const seen_shape *s = &e->last.shapes[i];
        if (!inputs[i].storage || inputs[i].dtype != s->dtype || inputs[i].rank != s->rank) return false;
        for (int d = 0; d < s->rank; d++)
            if (inputs[i].size[d] != s->size[d]) return false;
    }
    return true;
}

static tc_status each_tensor(tc_exec *e, const tc_tensor *inputs, tc_status (*fn)(tc_exec *, const tc_input *, const tc_tensor *, bool *),
                             bool *flag) {
    const tc_program *p = e->program;
    for (int i = 0, k = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER) continue;
        const tc_tensor *t = &inputs[k++];
        if (in->value && in->value->kind == TC_V_TENSOR) TC_TRY(fn(e, in, t, flag));
    }
    return NULL;
}

static tc_status solve(tc_exec *e, const tc_tensor *inputs, bool *out_numbers) {
    const tc_program *p = e->program;
    *out_numbers = false;
    for (size_t i = 0; i < e->nvars; i++) e->vars[i].bound = false;
    for (int i = 0, k = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_USER) continue;
        const tc_tensor *t = &inputs[k++];
        if (!in->value) continue;
        *out_numbers |= in->value->kind == TC_V_SYM;
        if (in->value->kind == TC_V_SYM) TC_TRY(bind_number(e, in, t));
        else if (in->value->kind == TC_V_TENSOR) TC_TRY(bind_tensor(e, in, t));
    }
    for (bool more = true; more;) {
        more = false;
        TC_TRY(each_tensor(e, inputs, solve_sizes_of, &more));
    }
    TC_TRY(each_tensor(e, inputs, solve_sizes_of, NULL));
    return each_tensor(e, inputs, check_sizes, NULL);
}

/* If the inputs have the shapes of the last run, symbols take its values. */
static bool reuse_last(tc_exec *e, const tc_tensor *inputs, int ninputs) {
    if (!same_shapes(e, inputs, ninputs)) return false;
    memcpy(e->vars, e->last.vars, e->nvars * sizeof *e->vars);
    return true;
}

tc_status solve_sizes(tc_exec *e, const tc_tensor *inputs, int ninputs) {
    bool numbers;
    if (ninputs != e->nuser) return tc_error(TC_USAGE, "%d inputs were given, the program takes %d", ninputs, e->nuser);
    if (reuse_last(e, inputs, ninputs)) return NULL;
    e->last.known = false;
    e->last.guarded = false;
    TC_TRY(solve(e, inputs, &numbers));
    if (!numbers) remember(e, inputs, ninputs);
    return NULL;
}

tc_status tc_exec_check(tc_exec *e, const tc_tensor *inputs, int ninputs) {
    if (ninputs == e->nuser && e->last.guarded && reuse_last(e, inputs, ninputs)) return NULL;
    TC_TRY(solve_sizes(e, inputs, ninputs));
    TC_TRY(check_guards(e));
    e->last.guarded = e->last.known;
    return NULL;
}

static bool has_float(tc_sym s) {
    if (tc_sym_opcode(s) == TC_S_VAR) return tc_sym_type(s) == TC_SYM_FLOAT;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (has_float(tc_sym_arg(s, i))) return true;
    return false;
}

/* Does s contain an integer that is computed from floats, which a size may depend on? */
static bool has_rounded(tc_sym s) {
    if (tc_sym_type(s) == TC_SYM_INT && has_float(s)) return true;
    for (int i = 0; i < tc_sym_arity(s); i++)
        if (has_rounded(tc_sym_arg(s, i))) return true;
    return false;
}
bool no_size(tc_sym cond) { return has_float(cond) && !has_rounded(cond); }

/* why: the error of evaluating the condition; NULL: it is false. */
static tc_status broken_guard(const tc_guard *g, const char *why) {
    tc_buf b = {0};
    tc_sym_print(&b, g->cond);
    if (g->op) tc_buf_printf(&b, ", required by %s", g->op);
    if (g->source.file) tc_buf_printf(&b, " (%s:%d)", g->source.file, g->source.line);
    if (why) tc_buf_printf(&b, ": %s", why);
    tc_status s = tc_error(TC_CONTENT, "these sizes break a condition of the program: %s", tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

static tc_status check_guard(const tc_exec *e, const tc_guard *g) {
    tc_symvalue v;
    if (e->o.skip_values && no_size(g->cond)) return NULL;
    tc_status none = tc_sym_eval(g->cond, e->vars, e->nvars, &v), s = NULL;
    if (!none && !v.i) s = broken_guard(g, NULL);
    else if (none && tc_sym_bound(g->cond, e->vars, e->nvars))
        s = broken_guard(g, tc_status_message(none)); /* if unbound, it depends on data: check_guards_about will check it */
    tc_status_free(none);
    return s;
}

tc_status check_guards(const tc_exec *e) {
    const tc_program *p = e->program;
    for (size_t i = 0; i < p->guards.len; i++) TC_TRY(check_guard(e, &p->guards.data[i]));
    return NULL;
}

tc_status check_guards_about(const tc_exec *e, tc_sym var) {
    const tc_program *p = e->program;
    for (size_t i = 0; i < p->guards.len; i++)
        if (tc_sym_contains(p->guards.data[i].cond, var)) TC_TRY(check_guard(e, &p->guards.data[i]));
    return NULL;
}

bool guards_have_floats(const tc_exec *e) {
    for (size_t i = 0; i < e->program->guards.len; i++)
        if (has_float(e->program->guards.data[i].cond)) return true;
    return false;
}
