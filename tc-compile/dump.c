/* --dump DIR: writes the program after each stage as text, beside the C that the compiler is given (codegen/cc.h).
 *
 *     model.graph      the program as read: operators, types, source lines, guards, signature
 *     model.planned    after decomposition, CSE and DCE (and --freeze before)
 *     model.groups     the groups in order, and why neighbours were not fused
 *     model.loops      loop IR of every group that is a loop, under the name of its function in groups.c */
#include "tc-compile/compile.h"

#include "base/file.h"

#include <ctype.h>

static tc_status save(compile_job *j, const char *dir, const char *name, const char *stage, const tc_buf *text) {
    char *safe = tc_arena_strdup(&j->arena, name && *name ? name : "model");
    for (char *c = safe; *c; c++)
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && !strchr("_-", *c))) *c = '_';
    return tc_file_write(tc_arena_printf(&j->arena, "%s/%s.%s", dir, safe, stage), tc_buf_str(text), text->len);
}

static tc_status loops_text(compile_job *j, const tc_loop_list *loops, tc_buf *b) {
    for (size_t k = 0; k < loops->len; k++) {
        const tc_loop *l = loops->data[k];
        tc_group_desc d;
        TC_TRY(tc_group_describe(l, &j->arena, &d));
        const char *name = tc_unit_group_name(j->units[0], &d);
        tc_buf_printf(b, "# loop %zu: %s, computing", k, name ? name : "interpreted");
        for (int i = 0; i < l->nnodes; i++) {
            const tc_node *n = l->nodes[i];
            tc_buf_printf(b, " %s", n->name ? n->name : tc_op_name(n->op));
            if (n->source.file) tc_buf_printf(b, " (%s:%d)", n->source.file, n->source.line);
        }
        tc_buf_putc(b, '\n');
        tc_loop_print(b, l);
        tc_buf_putc(b, '\n');
    }
    return NULL;
}

tc_status dump_stages(compile_job *j, int which) {
    const char *dir = tc_cmd_get(j->c, TC_OPT_dump), *name = j->programs[which]->name;
    tc_buf b = {0};
    tc_loop_list loops = {0};
    if (!dir) return NULL;
    TC_TRY(tc_make_dirs(dir));
    tc_program_print(&b, j->programs[which], TC_PRINT_FULL);
    tc_status s = save(j, dir, name, "graph", &b);
    b.len = 0;
    if (!s) tc_program_print(&b, tc_exec_program(j->execs[which]), TC_PRINT_FULL);
    if (!s) s = save(j, dir, name, "planned", &b);
    b.len = 0;
    if (!s) tc_exec_report(j->execs[which], &b);
    if (!s) s = save(j, dir, name, "groups", &b);
    b.len = 0;
    tc_exec_loops(j->execs[which], &loops);
    if (!s) s = loops_text(j, &loops, &b);
    if (!s) s = save(j, dir, name, "loops", &b);
    tc_vec_free(&loops);
    tc_buf_free(&b);
    return s;
}
