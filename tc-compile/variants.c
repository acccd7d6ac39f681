/* --variants SYM=N,... and --dim SYM=N: groups specialised to known sizes, besides the general ones or in their place. tc-run uses those that match its
 * inputs. */
#include "tc-compile/compile.h"

#include "base/text.h"
#include "codegen/packed.h"
#include "sym/bounds.h"

/* Common parameters of all variants. */
typedef struct {
    compile_job *j;
    const tc_exec_options *options;
    void (*note)(void *ctx, const char *group, const char *why);
    tc_emit_count *count;
} emission;

static int symbol(const tc_program *p, const char *name, size_t len) {
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        tc_sym v = tc_sym_var_at(p->sym, i);
        const char *s = tc_sym_var_name(v);
        if (tc_sym_type(v) == TC_SYM_INT && strlen(s) == len && !memcmp(s, name, len)) return (int)i;
    }
    return -1;
}

/* Emits the program with these symbols bound, and adds its line to the list of variants. */
static tc_status emit_at(const emission *e, const tc_program *p, const tc_symvalue *vars, size_t n) {
    compile_job *j = e->j;
    tc_exec *exec = NULL;
    tc_program *at = tc_program_clone(p);
    const size_t line = j->variants.len;
    for (size_t i = 0; i < n; i++) {
        tc_sym var = tc_sym_var_at(at->sym, i);
        if (!vars[i].bound) continue;
        tc_buf_printf(&j->variants, "%s%s=%lld", j->variants.len > line ? " " : "", tc_sym_var_name(var), (long long)vars[i].i);
        tc_program *next = tc_program_clone_at(at, var, vars[i].i);
        tc_program_release(at);
        at = next;
    }
    tc_status s = tc_program_verify(at);
    if (!s) s = tc_exec_create(at, e->options, &exec);
    for (int t = 0; t < j->ntargets && !s; t++) {
        tc_emit_count also = {0};
        s = tc_exec_emit(exec, j->units[t], t ? NULL : e->note, j->c, t ? &also : e->count);
    }
    tc_exec_destroy(exec);
    tc_program_release(at);
    s = tc_annotate(s, "%s at %s", p->name, tc_buf_str(&j->variants) + line);
    tc_buf_putc(&j->variants, '\n');
    return s;
}

/* May a run of p have this value of the symbol, besides the sizes that are bound? */
static bool takes(const tc_program *p, int var, int64_t value, tc_symvalue *vars, size_t n) {
    int64_t lo, hi;
    tc_sym_range(p->sym, tc_sym_var_at(p->sym, (size_t)var), &lo, &hi);
    vars[var] = (tc_symvalue){.i = value, .bound = true};
    return value >= lo && value <= hi && tc_program_admits(p, vars, n);
}

/* The program for other sizes than those of p that has this value of the symbol; NULL: none. */
static const tc_program *other_side(compile_job *j, const tc_program *p, const char *name, size_t len, int64_t value) {
    for (int i = 0; i < j->n; i++) {
        const tc_program *q = j->programs[i];
        const size_t n = tc_sym_var_count(q->sym);
        const int var = q->instead_of && !strcmp(q->instead_of, p->name) ? symbol(q, name, len) : -1;
        if (var >= 0 && takes(q, var, value, TC_NEWN(&j->arena, tc_symvalue, n + 1), n)) return q;
    }
    return NULL;
}

/* Emits a variant for each value of one symbol, with the bindings of --dim. */
static tc_status emit_values(const emission *e, const tc_program *p, tc_symvalue *vars, size_t n) {
    compile_job *j = e->j;
    const char *spec = tc_cmd_get(j->c, TC_OPT_variants), *eq = strchr(spec, '=');
    int64_t lo, hi, value, seen[TC_PACKED_VARIANTS];
    int n_seen = 0;
    if (!eq || eq == spec) return tc_usage(j->c, "--variants %s: expected SYM=N,N,...", spec);
    const int var = symbol(p, spec, (size_t)(eq - spec));
    if (var < 0) return tc_usage(j->c, "--variants %s: the program has no such symbol; tc-run --signature shows them", spec);
    if (vars[var].bound) return tc_usage(j->c, "--variants %s: --dim fixes the same size", spec);
    tc_sym_range(p->sym, tc_sym_var_at(p->sym, (size_t)var), &lo, &hi);
    for (const char *s = eq; *s; s += strcspn(s, ",")) {
        size_t len = strcspn(++s, ",");
        if (!tc_parse_i64(tc_arena_strndup(&j->arena, s, len), &value)) return tc_usage(j->c, "--variants %s: expected SYM=N,N,...", spec);
        const bool fits = takes(p, var, value, vars, n);
        const tc_program *other = fits ? NULL : other_side(j, p, spec, (size_t)(eq - spec), value);
        if (!fits && !other && value >= lo && value <= hi)
            return tc_usage(j->c, "--variants %s: %lld breaks a condition of the program; tc-export --print=full shows them", spec, (long long)value);
        if (!fits && !other) return tc_usage(j->c, "--variants %s: %lld, expected %s", spec, (long long)value, tc_sym_bounds_of(lo, hi).text);
        if (n_seen == TC_PACKED_VARIANTS) return tc_usage(j->c, "--variants %s: more than %d values", spec, TC_PACKED_VARIANTS);
        for (int i = 0; i < n_seen; i++)
            if (seen[i] == value) return tc_usage(j->c, "--variants %s: %lld is given twice", spec, (long long)value);
        seen[n_seen++] = value;
        if (other)
            tc_cmd_verbose(j->c, "%.*s=%lld is of program %s, whose code is for all its sizes", (int)(eq - spec), spec, (long long)value,
                           other->name);
        else TC_TRY(emit_at(e, p, vars, n));
    }
    return NULL;
}

tc_status emit_variants(compile_job *j, int which, const tc_exec_options *o, void (*note)(void *ctx, const char *group, const char *why),
                        tc_emit_count *count) {
    const emission e = {j, o, note, count};
    const char *option = tc_cmd_has(j->c, TC_OPT_variants) ? "--variants" : "--dim";
    const tc_program *p = j->programs[which];
    const size_t n = tc_sym_var_count(p->sym);
    tc_symvalue *vars = TC_NEWN(&j->arena, tc_symvalue, n + 1);
    TC_TRY(tc_cmd_bind(j->c, p, vars, n));
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_BUFFER || p->outputs[i].kind == TC_OUT_PARAMETER)
            return tc_error(TC_UNSUPPORTED, "%s of a program that changes its %s: its variants would not share it", option,
                            p->inputs[p->outputs[i].target].name);
    return tc_cmd_has(j->c, TC_OPT_variants) ? emit_values(&e, p, vars, n) : emit_at(&e, p, vars, n);
}
