/* --ops FILE.c -o FILE.so: builds an extension (lib/tc_ops.h) with the user's compiler. */
#include "tc-compile/compile.h"

#include "base/file.h"
#include "codegen/cc.h"
#include "codegen/paste.h"
#include "dist/dist.h"
#include "runtime/extension.h"

#include <errno.h>
#include <unistd.h>

bool is_extension_source(const tc_cmd *c) {
    const char *path = tc_cmd_count(c, TC_OPT_ops) == 1 && !c->noperands ? tc_cmd_get(c, TC_OPT_ops) : "";
    const size_t n = strlen(path);
    return n > 2 && !strcmp(path + n - 2, ".c");
}

/* The text includes the file where it lies, so that its own includes and the compiler's messages are as always; tc_ops.h is this tc's unless one lies
 * beside the file. */
static tc_status build(const char *source, const char *cc, tc_buf *text, tc_buf *header, tc_buf *out) {
    if (access(source, R_OK)) return tc_error(TC_ENV, "%s: %s", source, strerror(errno));
    char *path = realpath(source, NULL);
    if (!path) return tc_error(TC_ENV, "%s: %s", source, strerror(errno));
    const bool plain = !strpbrk(path, "\"\\\n");
    if (plain) tc_buf_printf(text, "#include \"%s\"\n", path);
    free(path);
    if (!plain) return tc_error(TC_USAGE, "%s: a quote, a backslash or a line break in the path", source);
    tc_embedded_append(header, &tc_ops_text);
    const tc_cc_options o = {.cc = cc, .name = "extension", .header_name = "tc_ops.h", .header = tc_buf_str(header)};
    return tc_cc_build(text->data, text->len, TC_CC_SHARED, &o, out);
}

tc_status build_extension(tc_cmd *c, const tc_opt_id *options) {
    const char *source = tc_cmd_get(c, TC_OPT_ops), *path = tc_cmd_get(c, TC_OPT_out);
    if (tc_dist_task()) c->quiet = c->told = true; /* each rank builds the same; the first says what went wrong */
    if (!path) return tc_usage(c, "--ops %s builds a library: -o FILE.so", source);
    for (; *options != TC_OPT_NONE; options++)
        if (tc_cmd_has(c, *options) && *options != TC_OPT_ops && *options != TC_OPT_out && *options != TC_OPT_cc)
            return tc_usage(c, "--ops %s builds a library: only -o and --cc go with it", source);
    tc_buf text = {0}, header = {0}, code = {0};
    tc_out *o = NULL;
    tc_status s = build(source, tc_cmd_get(c, TC_OPT_cc), &text, &header, &code);
    if (!s) {
        tc_status t = tc_extension_trust(code.data, code.len);
        if (t) tc_cmd_note(c, "%s is not recorded as made by this user, and runs with --trust only: %s", path, tc_status_message(t));
        tc_status_free(t);
    }
    if (!s && !(s = tc_cmd_create(c, path, true, &o))) {
        tc_out_executable(o);
        s = tc_out_finish(o, tc_out_write(o, tc_buf_str(&code), code.len));
    }
    tc_buf_free(&text);
    tc_buf_free(&header);
    tc_buf_free(&code);
    return s;
}
