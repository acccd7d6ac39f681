/* Generates example inputs (inputs.h). */
#include "cmd/inputs.h"

#include "op/sample.h"
#include "pass/symbols.h"

/* ---- sizes ---- */
typedef struct {
    const tc_program *p;
    tc_symvalue *vars; /* of nvars */
    size_t nvars;
    tc_sym *free; /* the nfree unbound symbols */
    size_t nfree;
} choice;

static void choose_from_inputs(choice *c) {
    bool *set = tc_xcalloc(c->nvars + 1, sizeof *set);
    for (int i = 0; i < c->p->ninputs; i++)
        if (c->p->inputs[i].kind == TC_IN_USER) tc_mark_defined(set, c->p->inputs[i].value, true);
    for (size_t i = 0; i < c->nvars; i++) {
        tc_sym s = tc_sym_var_at(c->p->sym, i);
        if (!set[i] || c->vars[i].bound) continue;
        if (tc_sym_type(s) == TC_SYM_INT) c->free[c->nfree++] = s;
        else if (tc_sym_type(s) == TC_SYM_FLOAT) c->vars[i] = (tc_symvalue){.f = 1, .bound = true};
        else c->vars[i] = (tc_symvalue){.i = 1, .bound = true};
    }
    free(set);
}

/* Tries each free symbol at its lower bound (at least 1) plus its digit of `more` in base radix. */
static bool try_sizes(choice *c, int64_t more, int64_t radix) {
    for (size_t i = 0; i < c->nfree; i++, more /= radix) {
        int64_t lo, hi;
        tc_sym_range(c->p->sym, c->free[i], &lo, &hi);
        if (lo < 1) lo = hi > 0 ? 1 : hi;
        c->vars[tc_sym_var_index(c->free[i])] = (tc_symvalue){.bound = true, .i = hi - lo < more % radix ? hi : lo + more % radix};
    }
    return tc_program_admits(c->p, c->vars, c->nvars);
}

/* Searches for sizes that satisfy the guards: one symbol raised above its bound, or several raised a little. */
static bool choose(choice *c) {
    enum { ALONE = 256, TOGETHER = 4096 };
    static const int64_t radix[] = {1, TOGETHER, 64, 16, 8};
    for (int64_t k = 0; k < ALONE; k++) {
        int64_t place = 1;
        for (size_t i = 0; i < c->nfree && i < 7; i++, place *= ALONE)
            if (try_sizes(c, k * place, ALONE)) return true;
    }
    for (int64_t more = 0; more < TOGETHER; more++)
        if (try_sizes(c, more, radix[c->nfree < 4 ? c->nfree : 4])) return true;
    return false;
}

void tc_cmd_example(const tc_program *p, tc_symvalue *vars, size_t nvars) {
    choice c = {.p = p, .vars = vars, .nvars = nvars, .free = tc_xcalloc(nvars + 1, sizeof(tc_sym))};
    choose_from_inputs(&c);
    if (!choose(&c)) try_sizes(&c, 0, 1);
    free(c.free);
}

/* ---- tensors and numbers ---- */

static tc_status make_number(const tc_input *in, const tc_symvalue *vars, size_t nvars, tc_tensor *out) {
    tc_symvalue n;
    TC_TRY(tc_sym_eval(in->value->sym, vars, nvars, &n), "input %s", in->name);
    bool f = tc_sym_type(in->value->sym) == TC_SYM_FLOAT;
    return tc_tensor_scalar(f ? TC_F64 : TC_I64, f ? tc_scalar_float(n.f) : tc_scalar_int(n.i), out);
}

static tc_status make_tensor(const tc_input *in, const tc_symvalue *vars, size_t nvars, tc_tensor *out) {
    const tc_meta *m = &in->value->meta;
    int64_t size[TC_MAX_RANK];
    for (int d = 0; d < m->rank; d++) TC_TRY(tc_sym_eval_int(m->size[d], vars, nvars, &size[d]), "input %s", in->name);
    TC_TRY(tc_tensor_empty(m->dtype, m->rank, size, out), "input %s", in->name);
    return NULL;
}

tc_status tc_cmd_make_inputs(const tc_program *p, tc_symvalue *vars, size_t nvars, const double *lo, const double *hi, tc_tensor **out_inputs,
                             int *out_n) {
    tc_cmd_example(p, vars, nvars);
    for (size_t i = 0; i < nvars; i++) {
        int64_t least, most;
        if (vars[i].bound) continue;
        tc_sym_range(p->sym, tc_sym_var_at(p->sym, i), &least, &most);
        vars[i] = (tc_symvalue){.i = least > 0 ? least : most > 0 ? 1 : 0, .bound = true};
    }
    tc_tensor *t = *out_inputs = tc_xcalloc((size_t)p->ninputs + 1, sizeof *t);
    *out_n = 0;
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        int k = *out_n;
        if (in->kind != TC_IN_USER) continue;
        if (in->value->kind == TC_V_SYM) {
            TC_TRY(make_number(in, vars, nvars, &t[k]));
        } else {
            TC_TRY(make_tensor(in, vars, nvars, &t[k]));
            bool real = tc_is_float(t[k].dtype) || tc_is_complex(t[k].dtype);
            tc_sample_fill(&t[k], lo ? lo[k] : real ? -1 : 0, hi ? hi[k] : 1, (uint64_t)i + 1);
        }
        *out_n = k + 1;
    }
    return NULL;
}
