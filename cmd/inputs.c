/* Inputs for a program that nobody gave any. */
#include "cmd/inputs.h"

#include "op/sample.h"

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
