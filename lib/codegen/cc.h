/* Runs the system's C compiler: $CC (default cc) with $CFLAGS, then the flags that keep results bit-exact.
 *
 *     tc_cc_options o = {.isa = "avx2"};
 *     TC_TRY(tc_cc_build(text, len, TC_CC_SHARED, &o, &object)); */
#ifndef TC_CODEGEN_CC_H
#define TC_CODEGEN_CC_H

#include "base/mem.h"

typedef enum { TC_CC_SHARED, TC_CC_OBJECT, TC_CC_ARCHIVE, TC_CC_PROGRAM } tc_cc_kind; /* TC_CC_ARCHIVE: static library, by $AR (default ar) */

typedef struct {
    const char *cc, *cflags;    /* NULL: from the environment */
    const char *isa;            /* row of isa.tab; NULL: portable */
    const char *name;           /* base name of the object file, also inside a static library; NULL: groups */
    const char *const *targets; /* several rows of isa.tab: the text is compiled once per row with TC_TARGET defined as its name, and once without */
    int ntargets;               /* 0 or 1: only isa counts */
    const tc_buf *weights;      /* written to a file beside the text; TC_WEIGHTS is defined as its path, a string literal (for .incbin); NULL: none */
    const char *header_name, *header; /* written beside the text, found by #include; NULL: none */
    const char *dump;                 /* a directory that keeps source, command and log; NULL: a temporary one, removed unless the compiler fails */
} tc_cc_options;

/* Compiles C text; out: the bytes of the product. TC_ENV: the compiler is not found, fails (with its log's path and first lines), or takes longer than
 * $TC_CC_SECONDS (default 600). It may map $TC_CC_MEMORY MiB (default 8192). No shell is involved. */
tc_status tc_cc_build(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out);

/* Appends what identifies the compilation without starting the compiler: its path, size and modification time, all flags, targets and the name; part of
 * a cache key. TC_ENV: not found. */
tc_status tc_cc_identity(tc_cc_kind kind, const tc_cc_options *o, tc_buf *out);

/* The whole number in an environment variable, from 1 to 2^30 - 1; `otherwise` where it is not such a number. */
int64_t tc_cc_limit(const char *variable, int64_t otherwise);

/* Compiler flags of a row of isa.tab, or of neon (emitted code only); isa NULL: portable. NULL: no such row. */
const char *tc_cc_isa_flags(const char *isa);
int tc_cc_isa_rank(const char *isa); /* index of the row, weakest first; -1: no such row */
const char *tc_cc_isa_names(void);   /* "portable, avx2, ..." */

#endif
