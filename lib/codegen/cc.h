/* The system's C compiler: $CC (default cc) and $CFLAGS are honoured, the flags that the bits need come last.
 *
 *     tc_cc_options o = {.isa = "avx2"};
 *     TC_TRY(tc_cc_build(text, len, TC_CC_SHARED, &o, &object)); */
#ifndef TC_CODEGEN_CC_H
#define TC_CODEGEN_CC_H

#include "base/mem.h"

typedef enum { TC_CC_SHARED, TC_CC_OBJECT, TC_CC_ARCHIVE, TC_CC_PROGRAM } tc_cc_kind; /* an archive is made by $AR (default ar) */

typedef struct {
    const char *cc, *cflags;    /* NULL: from the environment */
    const char *isa;            /* row of isa.tab; NULL: portable */
    const char *name;           /* of the object, inside an archive too; NULL: groups */
    const char *const *targets; /* several rows: the text is compiled once for each with TC_TARGET defined as its name, and once for the rest */
    int ntargets;               /* at most 1: isa alone counts */
    const tc_buf *weights;      /* written beside the text, which knows the file's path as TC_WEIGHTS, a string with quotes in it; NULL: none */
    const char *dump;           /* a folder where source, command and log are kept; NULL: a temporary one, removed unless the compiler fails */
} tc_cc_options;

/* Compiles C text; out holds the bytes of the shared object or object file. TC_ENV when the compiler is not found or fails, with the path
 * of its log and its first lines, or takes longer than TC_CC_SECONDS (default 600). It has TC_CC_MEMORY MiB of address space (8192). No shell is
 * involved. */
tc_status tc_cc_build(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out);

/* What tells one compiler from another without starting it: its path, size and time, and all flags. TC_ENV when it is not found. */
tc_status tc_cc_identity(tc_cc_kind kind, const tc_cc_options *o, tc_buf *out);

/* Flags of a row of isa.tab, or of neon, which only emitted code has; NULL: no such row. */
const char *tc_cc_isa_flags(const char *isa);
int tc_cc_isa_rank(const char *isa); /* its place in that table, low to high; -1 */
const char *tc_cc_isa_names(void);   /* "portable, avx2, ..." */

#endif
