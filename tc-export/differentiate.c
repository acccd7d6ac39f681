/* Programs with their gradients: --joint, --grad-of, --partition and --jvp (transform.h). */
#include "transform.h"

#include "grad/grad.h"
#include "op/functionalise.h"
#include "pass/dce.h"
#include "pass/partition.h"
#include "pass/value_bytes.h"

#include <stdio.h>
#include <string.h>

/* The program to differentiate: `train` where there is one. */
static tc_program *to_differentiate(const programs *all) {
    for (size_t i = 0; i < all->len; i++)
        if (!strcmp(all->data[i]->name, "train")) return all->data[i];
    return all->data[0];
}

static tc_status find_loss(tc_cmd *c, const tc_program *p, const char *name, int *out) {
    tc_buf known = {0};
    for (*out = 0; *out < p->noutputs; ++*out) {
        const tc_output *o = &p->outputs[*out];
        if (o->kind != TC_OUT_USER || !o->value) continue;
        if (!strcmp(o->name, name)) return tc_buf_free(&known), NULL;
        tc_buf_printf(&known, "%s%s", known.len ? ", " : "", o->name);
    }
    tc_status st = tc_usage(c, "--joint=%s: no such result; there are %s", name, known.len ? tc_buf_str(&known) : "none");
    tc_buf_free(&known);
    return st;
}

/* ---- --grad-of ---- */
static tc_value *made_by(const tc_node *n, const char *name) {
    for (int i = 0; i < n->nouts; i++)
        if (n->outs[i]->kind == TC_V_TENSOR && n->outs[i]->name && !strcmp(n->outs[i]->name, name)) return n->outs[i];
    return NULL;
}

static bool inside(const tc_node *n, const char *module) {
    size_t k = strlen(module);
    const char *path = tc_source_module(&n->source);
    return path && !strncmp(path, module, k) && (!path[k] || strchr(".@", path[k])) && n->nouts && n->outs[0]->kind == TC_V_TENSOR;
}

/* The value with this name: an input, a value as --print names it, or the last result of a module. NULL: none. */
static tc_value *value_called(const tc_program *p, const char *name) {
    tc_value *last = NULL, *v;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].value && p->inputs[i].value->kind == TC_V_TENSOR && !strcmp(p->inputs[i].name, name)) return p->inputs[i].value;
    for (const tc_node *n = p->graph->first; n; n = n->next) {
        if ((v = made_by(n, name))) return v;
        if (inside(n, name)) last = n->outs[0];
    }
    return last;
}

static tc_status find_named(tc_cmd *c, tc_program *p, tc_grad_named *of, int n) {
    for (int i = 0; i < n; i++) {
        const char *name = tc_cmd_value(c, TC_OPT_grad_of, i);
        tc_value *v = value_called(p, name);
        if (!v) return tc_usage(c, "--grad-of %s: program %s has no input, value (see --print) or module of this name", name, p->name);
        if (!tc_is_float(v->meta.dtype) && !tc_is_complex(v->meta.dtype))
            return tc_error(TC_CONTENT, "--grad-of %s: only tensors of floating point have gradients, this is %s", name,
                            tc_dtypes[v->meta.dtype].torch);
        for (int k = 0; k < i; k++)
            if (!strcmp(of[k].name, name)) return tc_usage(c, "--grad-of %s is given twice", name);
        of[i] = (tc_grad_named){v, name};
    }
    return NULL;
}

/* ---- --joint ---- */
static tc_status joint(tc_cmd *c, tc_program *p, tc_node **end) {
    const char *name = tc_cmd_get(c, TC_OPT_joint);
    int loss = -1, n = tc_cmd_count(c, TC_OPT_grad_of);
    tc_grad_named *of = TC_NEWN(&p->arena, tc_grad_named, (size_t)n + 1);
    if (name) TC_TRY(find_loss(c, p, name, &loss));
    TC_TRY(find_named(c, p, of, n));
    tc_pass pass = tc_pass_begin(p, "joint", NULL);
    tc_status st = name ? tc_grad_program(p, loss, TC_DTYPE_NONE, of, n, end) : tc_grad_program_vjp(p, of, n, end);
    TC_TRY(tc_pass_end(&pass, p, st), "--joint of program %s", p->name);
    p->name = "joint";
    return NULL;
}

static void report_saved(const tc_cmd *c, const tc_program *backward) {
    tc_symctx *s = backward->sym;
    tc_sym total = tc_sym_int(s, 0);
    int n = 0;
    tc_buf b = {0};
    tc_buf_puts(&b, "partition: saved for the backward\n");
    for (int i = 0; i < backward->ninputs; i++) {
        const tc_input *in = &backward->inputs[i];
        if (in->kind != TC_IN_USER || strncmp(in->name, TC_SAVED, strlen(TC_SAVED))) continue;
        tc_sym bytes = tc_value_bytes_sym(s, in->value);
        total = tc_sym_add(s, total, bytes);
        n++;
        tc_buf_printf(&b, "  %s: ", in->name + strlen(TC_SAVED));
        tc_value_print_type(&b, in->value);
        tc_buf_puts(&b, ", ");
        tc_sym_print(&b, bytes);
        tc_buf_puts(&b, " bytes\n");
    }
    tc_cmd_log_text(c, "partition", false, b.data, b.len);
    b.len = 0;
    tc_sym_print(&b, total);
    tc_cmd_verbose(c, "the forward saves %d values, %s bytes", n, tc_buf_str(&b));
    tc_buf_free(&b);
}

/* Reads one value name per line; blank lines and # comments are skipped. */
static void names_of(tc_arena *a, const tc_blob *file, tc_partition_options *o) {
    TC_VEC(const char *) names = {0};
    const char *p = (const char *)file->data, *end = p + file->len;
    while (p < end) {
        const char *line = p, *stop = memchr(p, '\n', (size_t)(end - p));
        p = stop ? stop + 1 : end;
        size_t n = (size_t)((stop ? stop : end) - line), k = 0;
        while (k < n && line[k] != '#') k++;
        while (k && (line[k - 1] == ' ' || line[k - 1] == '\t' || line[k - 1] == '\r')) k--;
        while (k && (*line == ' ' || *line == '\t' || *line == '%')) line++, k--;
        if (k) tc_vec_push(&names, (const char *)tc_arena_strndup(a, line, k));
    }
    o->save = tc_arena_dup(a, names.data, names.len * sizeof *names.data);
    o->nsave = names.len;
    tc_vec_free(&names);
}

/* ---- --saved-as ---- */
static tc_status read_saved_as(tc_cmd *c, tc_saved_as *out) {
    const char *word = tc_cmd_get(c, TC_OPT_saved_as);
    *out = (tc_saved_as){.to = word ? tc_dtype_parse(word, strlen(word)) : TC_DTYPE_NONE};
    if (word && out->to != TC_F8E5M2 && out->to != TC_F8E4M3) return tc_usage(c, "--saved-as %s: expected f8e5m2 or f8e4m3", word);
    return NULL;
}

static void report_saved_as(const tc_cmd *c, const tc_saved_as *as) {
    if (!as->n) return;
    tc_buf b = {0};
    tc_print_saved_as(&b, as);
    tc_cmd_note(c, "%s", tc_buf_str(&b));
    tc_buf_free(&b);
}

static tc_status save_as(tc_cmd *c, tc_program *p, tc_node *end) {
    tc_saved_as as;
    TC_TRY(read_saved_as(c, &as));
    if (as.to == TC_DTYPE_NONE) return NULL;
    tc_pass pass = tc_pass_begin(p, "saved-as", NULL);
    TC_TRY(tc_pass_end(&pass, p, tc_save_as(p, &end, &as)), "--saved-as");
    report_saved_as(c, &as);
    return NULL;
}

static tc_status partition(tc_cmd *c, tc_program *p, tc_node *end, tc_program *out[2]) {
    static const struct {
        const char *name;
        tc_save_policy policy;
    } policies[] = {{"save-all", TC_SAVE_ALL}, {"recompute-all", TC_RECOMPUTE_ALL}, {"min-cut", TC_MIN_CUT}};
    const char *word = tc_cmd_get(c, TC_OPT_partition);
    tc_partition_options o = {.policy = TC_SAVE_LISTED};
    for (size_t i = 0; i < sizeof policies / sizeof *policies; i++)
        if (!strcmp(word, policies[i].name)) o.policy = policies[i].policy;
    if (o.policy == TC_SAVE_LISTED) {
        tc_blob *file;
        TC_TRY(tc_cmd_read(c, word, "--partition", &file), "--partition %s: neither save-all, recompute-all, min-cut nor a file", word);
        names_of(&p->arena, file, &o);
        tc_blob_release(file);
    }
    tc_saved_as as;
    TC_TRY(read_saved_as(c, &as));
    if (as.to != TC_DTYPE_NONE) o.as = &as;
    tc_pass pass = tc_pass_begin(p, "partition", NULL);
    tc_status st = tc_partition(p, end, &o, out);
    const bool made = !st;
    st = tc_pass_end(&pass, out[1], st);
    for (int i = 0; i < 2 && st && made; i++) tc_program_release(out[i]);
    TC_TRY(st, "--partition %s", word);
    report_saved_as(c, &as);
    report_saved(c, out[1]);
    return NULL;
}

static tc_status joint_parts(tc_cmd *c, tc_program *p, programs *out) {
    tc_program *halves[2];
    tc_node *end;
    TC_TRY(joint(c, p, &end));
    if (tc_cmd_has(c, TC_OPT_partition)) {
        TC_TRY(partition(c, p, end, halves));
        tc_vec_push(out, halves[0]);
        tc_vec_push(out, halves[1]);
    } else {
        TC_TRY(save_as(c, p, end));
        tc_vec_push(out, tc_program_retain(p));
    }
    return NULL;
}

static tc_status jvp(tc_program *p, programs *out) {
    tc_pass pass = tc_pass_begin(p, "jvp", NULL);
    TC_TRY(tc_pass_end(&pass, p, tc_grad_program_jvp(p)), "--jvp of program %s", p->name);
    p->name = "jvp";
    tc_vec_push(out, tc_program_retain(p));
    return NULL;
}

static tc_status differentiate_one(tc_cmd *c, tc_program *p, programs *made) {
    tc_status st = p->functional ? NULL : tc_functionalise(p);
    tc_pass pass = begin_transform(c, p, DIFFERENTIATE);
    if (!st) st = tc_cmd_has(c, TC_OPT_jvp) ? jvp(p, made) : joint_parts(c, p, made);
    return tc_pass_end(&pass, st ? NULL : made->data[made->len - 1], st);
}

/* The programs that take the place of the one called `name` at other sizes, with derivatives: joint-2 instead of joint, and so on. */
static tc_status differentiate_sides(tc_cmd *c, const programs *all, const char *name, programs *made) {
    for (size_t i = 0; i < all->len; i++) {
        tc_program *q = all->data[i];
        if (!q->instead_of || strcmp(q->instead_of, name)) continue;
        const char *was = q->name;
        TC_TRY(differentiate_one(c, q, made), "for the sizes of program %s", was);
        q->instead_of = made->data[0]->name;
        q->name = tc_arena_printf(&q->arena, "%s-%zu", q->instead_of, made->len);
        if (tc_program_same_form(made->data[0], q)) continue;
        tc_cmd_note(c, "warning: the derivatives of %s and %s have different names: %s is left out", name, was, was);
        tc_program_release(made->data[--made->len]);
    }
    return NULL;
}

tc_status differentiate(tc_cmd *c, programs *all) {
    if (!tc_cmd_has(c, TC_OPT_jvp) && !tc_cmd_has(c, TC_OPT_joint)) return NULL;
    programs made = {0};
    tc_program *p = to_differentiate(all);
    const bool one = tc_cmd_has(c, TC_OPT_partition) || tc_cmd_has(c, TC_OPT_grad_of); /* halves, and values of one graph */
    const char *name = tc_arena_strdup(&p->arena, p->name);
    if (one) warn_of_sides(c, all, p, "derivatives are those of one program");
    tc_status st = differentiate_one(c, p, &made);
    if (!st && !one) st = differentiate_sides(c, all, name, &made);
    for (size_t i = 0; i < made.len && !st && !tc_cmd_has(c, TC_OPT_partition); i++) {
        tc_dce(made.data[i], false);
        st = tc_program_verify(made.data[i]);
    }
    if (!st) replace_programs(all, made.data, made.len), tc_vec_free(&made);
    else release_programs(&made);
    return st;
}
