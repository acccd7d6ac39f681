/* The model language as a library: a context, sources as modules, expressions, and values back in C.
 * Everything a context makes lives until it is destroyed. One thread uses a context at a time. */
#ifndef TC_CAPTURE_LANG_H
#define TC_CAPTURE_LANG_H

#include "capture/object.h"

typedef struct {
    uint64_t max_steps;             /* 0: 5,000,000 statements, calls and iterations */
    size_t max_memory;              /* bytes of objects; 0: 256 MiB */
    size_t max_tensor_bytes;        /* of concrete tensors; 0: the memory of the machine */
    size_t max_graph_nodes;         /* 0: 100,000 */
    const char *const *source_dirs; /* siblings and packages may be imported from these folders, the first that has one */
    int nsource_dirs;               /* 0: refused */
    struct tc_watch *watch;         /* of the passes over what is captured (op/watch.h); or NULL */
    bool all_types;                 /* operators take every type that tc has a kernel for, not PyTorch's alone */
} tc_lang_options;

tc_status tc_lang_create(const tc_lang_options *o, C **out);
void tc_lang_destroy(C *c); /* NULL is allowed */

/* Runs fn on a stack that is deep enough for the language, with errors turned into a status. fn uses the internal interface
 * of object.h and may raise. Not reentrant. */
tc_status tc_lang_run(C *c, void (*fn)(C *c, void *ctx), void *ctx);

void tc_lang_reset_steps(C *c);

/* ---- for C code that runs inside tc_lang_run ---- */
module *tc_lang_load(C *c, const char *name, const char *text, size_t len); /* a user's source: its top level runs */
/* The same, up to the line that needs what the language lacks: module.stopped, with a warning; NULL there: it ran to its end. */
module *tc_lang_load_script(C *c, const char *name, const char *text, size_t len);
/* An expression that sees the names of m (may be NULL) and of `names` (may be NULL). label names it in messages: "--arg d". */
V tc_lang_eval(C *c, module *m, dict *names, const char *label, const char *text);
/* One as a function of params, "m, x, y"; lines and columns in messages are those of text. */
V tc_lang_function(C *c, module *m, const char *label, const char *params, const char *text);

#endif
