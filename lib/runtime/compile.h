/* Emits and compiles the loops of a planned program, for tc-compile, which packages the code, and for tc-bench and tc-train, which run it. */
#ifndef TC_RUNTIME_COMPILE_H
#define TC_RUNTIME_COMPILE_H

#include "codegen/cc.h"
#include "codegen/emit.h"
#include "codegen/module.h"
#include "runtime/runtime.h"

typedef struct {
    size_t loops, left; /* all loops; those that stay interpreted */
    bool cached;        /* the compiler's cache had the code */
} tc_emit_count;

/* Adds every loop of e to the unit. note, if not NULL, is called for each loop that cannot be emitted and stays interpreted. */
tc_status tc_exec_emit(const tc_exec *e, tc_unit *u, void (*note)(void *ctx, const char *group, const char *why), void *ctx, tc_emit_count *count);

/* Emits and compiles the loops (using the cache), and loads the code into m; the code is trusted from then on (trust.h). A tc_exec that is created
 * afterwards for the same program with m as its code runs it. TC_ENV: the compiler fails or is missing. */
tc_status tc_exec_compile(const tc_exec *e, const tc_cc_options *o, tc_modules *m, tc_emit_count *count);

#endif
