/* The interpreter of the model language (a subset of Python): contexts, loading sources as modules, evaluating expressions. All objects live until their
 * context is destroyed. A context is used by one thread at a time. */
#ifndef TC_CAPTURE_LANG_H
#define TC_CAPTURE_LANG_H

#include "capture/object.h"

typedef struct {
    uint64_t max_steps;             /* 0: 5,000,000 statements, calls and iterations of one tc_lang_run */
    size_t max_memory;              /* bytes of objects; 0: 256 MiB */
    size_t max_tensor_bytes;        /* of concrete tensors; 0: the memory of the machine */
    size_t max_graph_nodes;         /* 0: 100,000 */
    const char *const *source_dirs; /* folders from which modules and packages may be imported, searched in order */
    int nsource_dirs;               /* 0: imports are refused */
    struct tc_watch *watch;         /* observer of passes over captured programs (op/watch.h), or NULL */
    int ranks, rank;                /* torch.distributed: ranks that run the program (0: not initialised), and which of them it is for; -1: all */
    bool all_types;                 /* allow dtypes that tc has kernels for and PyTorch has not */
} tc_lang_options;

tc_status tc_lang_create(const tc_lang_options *o, C **out);
void tc_lang_destroy(C *c); /* NULL is allowed */

/* Runs fn on a stack that is deep enough for the language, with errors turned into a status. fn uses the internal interface
 * of object.h and may raise. Not reentrant. */
tc_status tc_lang_run(C *c, void (*fn)(C *c, void *ctx), void *ctx);

/* ---- for C code that runs inside tc_lang_run ---- */
module *tc_lang_load(C *c, const char *name, const char *text, size_t len); /* a user's source: its top level runs */
/* The same, but stops with a warning at the first statement that the language does not support (module.stopped; NULL: it ran to its end). */
module *tc_lang_load_script(C *c, const char *name, const char *text, size_t len);
/* An expression that sees the names of m (may be NULL) and of `names` (may be NULL). label names it in messages: "--arg d". */
V tc_lang_eval(C *c, module *m, dict *names, const char *label, const char *text);
/* An expression as a function of params, "m, x, y"; messages have the lines and columns of text. */
V tc_lang_function(C *c, module *m, const char *label, const char *params, const char *text);

#endif
