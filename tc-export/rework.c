/* Programs into other programs, as the options say (rework.h). */
#include "rework.h"

#include "grad/grad.h"
#include "op/decompose.h"
#include "op/functionalise.h"
#include "pass/cut.h"
#include "pass/dce.h"
#include "pass/partition.h"
#include "pass/split.h"
#include "pass/weigh.h"

#include <stdio.h>
#include <string.h>

void release_programs(programs *all) {
    for (size_t i = 0; i < all->len; i++) tc_program_release(all->data[i]);
    tc_vec_free(all);
}

static void replace_by(programs *all, tc_program *const *with, size_t n) {
    release_programs(all);
    for (size_t i = 0; i < n; i++) tc_vec_push(all, with[i]);
}

/* --decompose core: functional first, then operator by operator. */
static tc_status decompose(tc_cmd *c, tc_program *p) {
    static const char *const sets[] = {"core", NULL};
    int which;
    if (!tc_cmd_has(c, TC_OPT_decompose)) return NULL;
    TC_TRY(tc_cmd_choice(c, TC_OPT_decompose, sets, 0, &which));
    if (!p->functional) TC_TRY(tc_functionalise(p));
    TC_TRY(tc_decompose_core(p));
    tc_dce(p, false);
    return tc_program_verify(p);
}

/* ---- --joint and --partition ---- */

/* What is trained: the program `train` where there is one. */
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

static tc_status differentiate(tc_cmd *c, tc_program *p, tc_node **end) {
    const char *name = tc_cmd_get(c, TC_OPT_joint);
    int loss;
    if (!p->functional) TC_TRY(tc_functionalise(p));
    if (name) TC_TRY(find_loss(c, p, name, &loss));
    TC_TRY(name ? tc_grad_program(p, loss, end) : tc_grad_program_vjp(p, end), "--joint of program %s", p->name);
    p->name = "joint";
    return NULL;
}

static void report_saved(const tc_cmd *c, const tc_program *backward) {
    tc_symctx *s = backward->sym;
    tc_sym total = tc_sym_int(s, 0);
    int n = 0;
    tc_buf b = {0};
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
    if (tc_cmd_logs(c, "partition")) {
        fputs("partition: saved for the backward\n", stderr);
        fwrite(tc_buf_str(&b), 1, b.len, stderr);
    }
    b.len = 0;
    tc_sym_print(&b, total);
    tc_cmd_verbose(c, "the forward saves %d values, %s bytes", n, tc_buf_str(&b));
    tc_buf_free(&b);
}

/* A value's name a line; blank lines and what follows a # do not count. */
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
    TC_TRY(tc_partition(p, end, &o, out), "--partition %s", word);
    report_saved(c, out[1]);
    return NULL;
}

static tc_status joint(tc_cmd *c, programs *all) {
    if (!tc_cmd_has(c, TC_OPT_joint)) return tc_cmd_has(c, TC_OPT_partition) ? tc_usage(c, "--partition without --joint") : NULL;
    tc_program *p = tc_program_retain(to_differentiate(all)), *halves[2];
    tc_node *end;
    tc_status st = differentiate(c, p, &end);
    bool two = tc_cmd_has(c, TC_OPT_partition);
    if (!st && two) {
        st = partition(c, p, end, halves);
        if (!st) replace_by(all, halves, 2);
        tc_program_release(p);
        return st;
    }
    if (!st) {
        tc_dce(p, false);
        st = tc_program_verify(p);
    }
    if (st) tc_program_release(p);
    else replace_by(all, &p, 1);
    return st;
}

/* ---- --split ---- */
static tc_status cut(const tc_program *p, const int *piece, int n, programs *out) {
    const char **names = tc_xcalloc((size_t)n, sizeof *names);
    tc_program **pieces = tc_xcalloc((size_t)n, sizeof(tc_program *));
    tc_arena a = {0};
    for (int i = 0; i < n; i++) names[i] = n == 1 ? p->name : tc_arena_printf(&a, "%s.%d", p->name, i);
    tc_status st = tc_cut_program(p, &(tc_cut){.npieces = n, .piece = piece, .names = names, .results_at = n - 1}, pieces);
    for (int i = 0; i < n && !st; i++) tc_vec_push(out, pieces[i]);
    tc_arena_free(&a);
    free(names);
    free(pieces);
    return st;
}

static tc_status split_one(tc_cmd *c, const tc_program *p, programs *out) {
    const char *how = tc_cmd_get(c, TC_OPT_split);
    int *piece = tc_xcalloc(p->graph->nnodes + 1, sizeof *piece), n;
    int64_t count = 0;
    tc_buf log = {0}, *to = tc_cmd_logs(c, "split") ? &log : NULL;
    tc_status st = NULL;
    if (!strncmp(how, "by=", 3) && how[3]) n = tc_split_by_module(p, how + 3, piece, to);
    else st = tc_cmd_int(c, TC_OPT_split, 1, 1000000, 1, &count), n = st ? 0 : tc_split_evenly(p, (int)count, piece, to);
    if (!st && to) fprintf(stderr, "%s: where it is cut\n%s", p->name, tc_buf_str(&log));
    tc_buf_free(&log);
    if (!st) st = cut(p, piece, n, out);
    free(piece);
    return st;
}

static tc_status split(tc_cmd *c, programs *all) {
    if (!tc_cmd_has(c, TC_OPT_split)) return NULL;
    programs pieces = {0};
    tc_status st = NULL;
    for (size_t i = 0; i < all->len && !st; i++) {
        if (!all->data[i]->functional) st = tc_functionalise(all->data[i]);
        if (!st) st = split_one(c, all->data[i], &pieces);
    }
    if (st) {
        release_programs(&pieces);
        return st;
    }
    replace_by(all, pieces.data, pieces.len);
    tc_vec_free(&pieces);
    return NULL;
}

tc_status rework(tc_cmd *c, programs *all) {
    TC_TRY(joint(c, all));
    for (size_t i = 0; i < all->len; i++) TC_TRY(decompose(c, all->data[i]));
    return split(c, all);
}
