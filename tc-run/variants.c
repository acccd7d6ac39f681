/* Code for some values of a size (tc-compile --variants): the run whose inputs have such a size takes the program planned for it, made when
 * it is first met. The list in the archive only says where to look: at any size the bits are the same. */
#include "tc-run/run.h"

#include "base/text.h"
#include "codegen/packed.h"

typedef struct {
    int64_t value;
    tc_program *program;
    tc_exec *exec; /* NULL: not met yet */
} variant;
struct variants {
    tc_cmd *c;
    const tc_program *program;
    tc_exec_options options;
    tc_sym var;
    TC_VEC(variant) all;
};

/* Lines SYM=N; one that does not fit the program is passed over. */
static void read_line(variants *v, const char *line, size_t len) {
    const tc_program *p = v->program;
    const char *eq = memchr(line, '=', len);
    char number[32] = {0};
    int64_t value, lo, hi;
    if (!eq || (size_t)(line + len - eq) > sizeof number || v->all.len == TC_PACKED_VARIANTS) return;
    memcpy(number, eq + 1, (size_t)(line + len - eq - 1));
    if (!tc_parse_i64(number, &value)) return;
    for (size_t i = 0; i < tc_sym_var_count(p->sym); i++) {
        tc_sym s = tc_sym_var_at(p->sym, i);
        const char *name = tc_sym_var_name(s);
        if (tc_sym_type(s) != TC_SYM_INT || strlen(name) != (size_t)(eq - line) || memcmp(name, line, (size_t)(eq - line))) continue;
        tc_sym_range(p->sym, s, &lo, &hi);
        if (value < lo || value > hi || (v->var && v->var != s)) return;
        v->var = s;
        variant one = {.value = value};
        tc_vec_push(&v->all, one);
    }
}

tc_status variants_open(tc_cmd *c, const tc_archive *a, const tc_program *p, const tc_exec_options *o, variants **out) {
    const unsigned char *data;
    size_t len;
    bool found;
    variants *v = *out = tc_xcalloc(1, sizeof *v);
    *v = (variants){.c = c, .program = p, .options = *o};
    if (!o->code) return NULL;
    for (int i = 0; i < p->noutputs; i++)
        if (p->outputs[i].kind == TC_OUT_BUFFER || p->outputs[i].kind == TC_OUT_PARAMETER) return NULL; /* variants would not share it */
    TC_TRY(tc_archive_extra(a, tc_packed_variants, &data, &len, &found));
    for (size_t at = 0, end; found && at < len; at = end + 1) {
        for (end = at; end < len && data[end] != '\n';) end++;
        read_line(v, (const char *)data + at, end - at);
    }
    return NULL;
}

/* The value of the symbol, as the first input whose sizes show it has it; -1: none does. */
static int64_t met(const variants *v, const tc_tensor *given) {
    const tc_program *p = v->program;
    for (int i = 0, k = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        const tc_value *x = p->inputs[i].value;
        const tc_tensor *t = &given[k++];
        for (int d = 0; x && x->kind == TC_V_TENSOR && t->rank == x->meta.rank && d < t->rank; d++)
            if (x->meta.size[d] == v->var) return t->size[d];
    }
    return -1;
}

tc_status variants_choose(variants *v, const tc_tensor *given, tc_exec **e) {
    if (!v->all.len) return NULL;
    int64_t value = met(v, given);
    for (size_t i = 0; i < v->all.len; i++) {
        if (v->all.data[i].value != value) continue;
        if (!v->all.data[i].exec) {
            v->all.data[i].program = tc_program_clone_at(v->program, v->var, value);
            TC_TRY(tc_exec_create(v->all.data[i].program, &v->options, &v->all.data[i].exec));
            tc_cmd_verbose(v->c, "the variant for %s=%lld is used", tc_sym_var_name(v->var), (long long)value);
        }
        *e = v->all.data[i].exec;
        return NULL;
    }
    return NULL;
}

void variants_close(variants *v) {
    if (!v) return;
    for (size_t i = 0; i < v->all.len; i++) {
        tc_exec_destroy(v->all.data[i].exec);
        tc_program_release(v->all.data[i].program);
    }
    tc_vec_free(&v->all);
    free(v);
}
