/* --profile-shapes FILE: appends to FILE a line with the input shapes of each run that differs from earlier lines. */
#include "tc-run/run.h"

#include <errno.h>
#include <stdio.h>

struct shapes {
    FILE *file;
    const char *path;
    tc_map lines;
};

/* Reads the existing lines. */
static void remember(shapes *s) {
    char *line = NULL;
    size_t room = 0;
    ssize_t n;
    rewind(s->file);
    while ((n = getline(&line, &room, s->file)) > 0) *tc_map_put(&s->lines, line, (size_t)n) = s;
    free(line);
}

tc_status shapes_open(tc_cmd *c, shapes **out) {
    const char *path = tc_cmd_get(c, TC_OPT_profile_shapes);
    *out = NULL;
    if (!path) return NULL;
    FILE *file = fopen(path, "a+");
    if (!file) return tc_error(TC_ENV, "--profile-shapes %s: %s", path, strerror(errno));
    *out = tc_xcalloc(1, sizeof **out);
    **out = (shapes){.file = file, .path = path};
    remember(*out);
    return NULL;
}

tc_status shapes_add(shapes *s, const tc_program *p, const tc_tensor *given) {
    if (!s) return NULL;
    tc_buf line = {0};
    for (int i = 0, k = 0; i < p->ninputs; i++) {
        if (p->inputs[i].kind != TC_IN_USER) continue;
        const tc_tensor *t = &given[k++];
        if (!t->storage) continue;
        tc_buf_printf(&line, "%s%s=", line.len ? " " : "", p->inputs[i].name);
        for (int d = 0; d < t->rank; d++) tc_buf_printf(&line, "%lldx", (long long)t->size[d]);
        tc_buf_puts(&line, tc_dtypes[t->dtype].name);
    }
    tc_buf_putc(&line, '\n');
    void **slot = tc_map_put(&s->lines, line.data, line.len);
    bool failed = !*slot && line.len > 1 && (fwrite(line.data, 1, line.len, s->file) < line.len || fflush(s->file));
    *slot = s;
    tc_buf_free(&line);
    return failed ? tc_error(TC_ENV, "--profile-shapes %s: %s", s->path, strerror(errno)) : NULL;
}

void shapes_close(shapes *s) {
    if (!s) return;
    fclose(s->file);
    tc_map_free(&s->lines);
    free(s);
}
