/* From a planned program to compiled groups: what tc-compile packages, and what tc-bench and tc-train run at once. */
#ifndef TC_RUNTIME_COMPILE_H
#define TC_RUNTIME_COMPILE_H

#include "codegen/cc.h"
#include "codegen/emit.h"
#include "codegen/module.h"
#include "runtime/runtime.h"

typedef struct {
    size_t loops, left; /* loops that stay interpreted */
    bool cached;
} tc_emit_count;

/* Adds every loop of e to the unit. note, if not NULL, hears of each loop that the emitter leaves to the interpreter, and why. */
tc_status tc_exec_emit(const tc_exec *e, tc_unit *u, void (*note)(void *ctx, const char *group, const char *why), void *ctx, tc_emit_count *count);

/* Emits, compiles (by way of the cache) and loads into m; the code is the user's own from then on (trust.h). The next tc_exec_create
 * of the same program with m as its code runs it. TC_ENV: the compiler. */
tc_status tc_exec_compile(const tc_exec *e, const tc_cc_options *o, tc_modules *m, tc_emit_count *count);

#endif
