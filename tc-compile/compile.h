/* What the files of tc-compile share. */
#ifndef TC_COMPILE_COMPILE_H
#define TC_COMPILE_COMPILE_H

#include "base/cpu.h"
#include "cmd/program.h"
#include "codegen/cache.h"
#include "codegen/packed.h"
#include "codegen/trust.h"
#include "runtime/compile.h"
#include "version.h"

typedef struct {
    tc_cmd *c;
    tc_archive *archive;
    const char *input; /* its name */
    tc_program **programs;
    tc_exec **execs;
    int n;
    tc_isa_row row;
    const char *isa;
    tc_unit *unit;
    tc_arena arena;
} compile_job;

tc_status compile_object(compile_job *j, tc_cc_kind kind, tc_buf *out);
tc_status compile_to_c(compile_job *j);                       /* STEM.c and STEM.h, to_c.c */
tc_status compile_to_native(compile_job *j, tc_cc_kind kind); /* a library or object and STEM.h, or a filter, to_c.c */
void say_memory(compile_job *j, tc_exec *e);                  /* -v: what a run needs at both ends of the ranges, memory.c */

#endif
