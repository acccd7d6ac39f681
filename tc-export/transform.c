/* Transforms programs as --swap, --decompose and --split say (transform.h). */
#include "transform.h"

#include "cmd/program.h"
#include "op/decompose.h"
#include "op/functionalise.h"
#include "pass/cut.h"
#include "pass/dce.h"
#include "pass/split.h"
#include "pass/swap.h"

#include <stdio.h>
#include <string.h>

void release_programs(programs *all) {
    for (size_t i = 0; i < all->len; i++) tc_program_release(all->data[i]);
    tc_vec_free(all);
}

void replace_programs(programs *all, tc_program *const *with, size_t n) {
    release_programs(all);
    for (size_t i = 0; i < n; i++) tc_vec_push(all, with[i]);
}

void warn_of_sides(const tc_cmd *c, const programs *all, const tc_program *p, const char *what) {
    for (size_t i = 0; i < all->len; i++) {
        const tc_program *q = all->data[i];
        if (q->instead_of && !strcmp(q->instead_of, p->name))
            tc_cmd_note(c, "warning: %s: that for the guards of %s, without %s", what, p->name, q->name);
    }
}

const transform_option transform_options[NTRANSFORM_OPTIONS] = {{"joint", TC_OPT_joint, DIFFERENTIATE},
                                                                {"grad-of", TC_OPT_grad_of, DIFFERENTIATE},
                                                                {"partition", TC_OPT_partition, DIFFERENTIATE},
                                                                {"jvp", TC_OPT_jvp, DIFFERENTIATE},
                                                                {"saved-as", TC_OPT_saved_as, DIFFERENTIATE},
                                                                {"decompose", TC_OPT_decompose, DECOMPOSE},
                                                                {"split", TC_OPT_split, SPLIT},
                                                                {"swap", TC_OPT_swap, SWAP}};

tc_pass begin_transform(const tc_cmd *c, tc_program *p, transform_step step) {
    static const char *const names[] = {[DIFFERENTIATE] = "differentiate", [DECOMPOSE] = "decompose", [SPLIT] = "split", [SWAP] = "swap"};
    tc_buf again = {0};
    for (size_t i = 0; i < NTRANSFORM_OPTIONS && p->watch; i++)
        for (int k = 0; transform_options[i].step == step && k < tc_cmd_count(c, transform_options[i].id); k++) {
            const char *value = tc_cmd_value(c, transform_options[i].id, k);
            tc_buf_printf(&again, "--%s%s%s\n", transform_options[i].name, value ? "=" : "", value ? value : "");
        }
    tc_pass pass = tc_pass_begin(p, names[step], tc_buf_str(&again));
    tc_buf_free(&again);
    return pass;
}

/* ---- --swap ---- */
/* Swaps in the archive's program of p's name, else its default one. */
static tc_status swap_from(tc_cmd *c, tc_archive *a, tc_program *p, const char *module) {
    const char *name = NULL;
    tc_program *with;
    for (size_t i = 0; i < tc_archive_count(a); i++)
        if (!strcmp(tc_archive_name(a, i), p->name)) name = p->name;
    TC_TRY(tc_cmd_program_stored(c, a, name, &with));
    tc_status st = tc_swap_module(p, module, with);
    tc_program_release(with);
    return st;
}

static tc_status swap_one(tc_cmd *c, const char *spec, tc_program *p) {
    const char *file = strchr(spec, '=');
    tc_buf module = {0};
    tc_archive *a;
    if (!file || file == spec || !file[1]) return tc_usage(c, "--swap %s: expected MODULE=FILE", spec);
    TC_TRY(tc_cmd_archive(c, file + 1, &a));
    tc_buf_printf(&module, "%.*s", (int)(file - spec), spec);
    tc_status st = swap_from(c, a, p, module.data);
    tc_buf_free(&module);
    tc_archive_close(a);
    return st ? tc_annotate(st, "--swap %s", spec) : NULL;
}

static tc_status swap(tc_cmd *c, tc_program *p) {
    if (!tc_cmd_has(c, TC_OPT_swap)) return NULL;
    if (!p->functional) TC_TRY(tc_functionalise(p));
    tc_pass pass = begin_transform(c, p, SWAP);
    tc_status st = NULL;
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_swap) && !st; i++) st = swap_one(c, tc_cmd_value(c, TC_OPT_swap, i), p);
    return tc_pass_end(&pass, p, st);
}

/* ---- --decompose ---- */
static bool composite(void *ctx, const tc_node *n) {
    (void)ctx;
    return n->op && !n->op->grad && !(n->op->flags & (TC_OP_NONDIFF | TC_OP_HIGHER_ORDER));
}

/* Functionalises, then decomposes operator by operator. */
static tc_status decompose(tc_cmd *c, tc_program *p) {
    enum { NOTHING, TRAIN, CORE };
    static const char *const sets[] = {"none", "train", "core", NULL};
    int which;
    TC_TRY(tc_cmd_choice(c, TC_OPT_decompose, sets, NOTHING, &which));
    if (which == NOTHING) return NULL;
    if (!p->functional) TC_TRY(tc_functionalise(p));
    tc_pass pass = begin_transform(c, p, DECOMPOSE);
    tc_status st = which == CORE ? tc_decompose_core(p) : tc_decompose_some(p, composite, NULL);
    if (!st) tc_dce(p, false);
    TC_TRY(tc_pass_end(&pass, p, st));
    return tc_program_verify(p);
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
    if (!st && to) tc_cmd_log(c, "split", false, "where %s is cut", p->name), tc_cmd_log_text(c, "split", false, log.data, log.len);
    tc_buf_free(&log);
    if (!st && !n) st = tc_usage(c, "--split %s: no operator of %s is of a module of this name (--print=modules shows them)", how, p->name);
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
        tc_pass pass = begin_transform(c, all->data[i], SPLIT);
        if (!st) st = split_one(c, all->data[i], &pieces);
        st = tc_pass_end(&pass, st ? NULL : pieces.data[pieces.len - 1], st);
    }
    if (st) {
        release_programs(&pieces);
        return st;
    }
    replace_programs(all, pieces.data, pieces.len);
    tc_vec_free(&pieces);
    return NULL;
}

tc_status transform_programs(tc_cmd *c, programs *all) {
    for (size_t i = 0; i < all->len; i++) TC_TRY(swap(c, all->data[i]));
    TC_TRY(differentiate(c, all));
    for (size_t i = 0; i < all->len; i++) TC_TRY(decompose(c, all->data[i]));
    return split(c, all);
}
