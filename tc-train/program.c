/* The program that is trained: from the recipe's model:, a run directory or stdin; and the archive that is written. */
#include "cmd/program.h"
#include "tc-train/tool.h"

#include <unistd.h>

/* Rank 0 reads stdin, the others get the bytes from it. */
static tc_status read_stdin(job *j, tc_blob **out) {
    if (tc_dist_rank(j->dist) == 0) TC_TRY(tc_cmd_read(j->c, "-", "the program", out));
    int64_t n = *out ? (int64_t)(*out)->len : 0;
    TC_TRY(tc_dist_broadcast(j->dist, &n, sizeof n, 0));
    if (!*out) {
        tc_blob *b = tc_xcalloc(1, sizeof *b);
        b->name = tc_xstrdup("stdin of rank 0");
        b->refs = 1;
        b->len = (size_t)n;
        b->data = tc_xmalloc(b->len);
        *out = b;
    }
    return tc_dist_broadcast(j->dist, (*out)->data, (*out)->len, 0);
}

static bool has(const tc_archive *a, const char *name) {
    for (size_t i = 0; i < tc_archive_count(a); i++)
        if (strcmp(tc_archive_name(a, i), name) == 0) return true;
    return false;
}

static tc_status take_archive(job *j, tc_archive *a) {
    if (!has(a, "train")) {
        TC_TRY(tc_cmd_program(j->c, a, &j->train));
        if (tc_archive_count(a) == 1) tc_cmd_note(j->c, "the archive holds one program: it is trained as it is");
        return NULL;
    }
    TC_TRY(tc_cmd_program_named(j->c, a, "train", &j->train));
    for (size_t i = 0; i < tc_archive_count(a); i++)
        if (strcmp(tc_archive_name(a, i), "train")) return tc_cmd_program_named(j->c, a, tc_archive_name(a, i), &j->eval);
    return NULL;
}

tc_status job_read_program(job *j) {
    if (j->recipe->model) return tc_error(TC_UNSUPPORTED, "model: in a recipe is not supported; export it: tc-export %s | tc-train ...", j->recipe->model);
    tc_archive *a;
    if (j->from_run) {
        TC_TRY(tc_cmd_archive(j->c, tc_arena_printf(&j->arena, "%s/model.pt2", j->from_run), &a));
    } else {
        tc_blob *b = NULL;
        TC_TRY(read_stdin(j, &b));
        tc_status s = tc_archive_open(b, &a);
        tc_blob_release(b);
        TC_TRY(s);
    }
    tc_status s = take_archive(j, a);
    tc_archive_close(a);
    return s;
}

tc_status job_write_program(job *j, const char *path) {
    const tc_program *programs[2] = {j->train, NULL};
    int n = 1;
    if (j->eval) {
        programs[0] = j->eval;
        programs[n++] = j->train;
    }
    tc_archive_content content = {.programs = programs, .nprograms = n};
    tc_out *o;
    TC_TRY(tc_cmd_create(j->c, path, true, &o));
    return tc_cmd_finish(j->c, o, tc_archive_write(o, &content));
}
