/* What runs at which sizes: the programs that stand for one model where it branches on sizes (capture/sides.h), and compiled code for some
 * sizes of a program, beside the code for all or instead of it (tc-compile --variants, --dim).
 *
 * Of the programs the first whose guards hold is taken. The others are asked for only when the sizes of a run break the first one's guards;
 * what one has written to its buffers the next one finds there.
 *
 * The list in the archive (codegen/packed.h) only says where to look: a variant is the program with those sizes known, planned when a run
 * first has them, so the bits are the same with any list. The variant that fixes most sizes is taken; where none fits the code for
 * all, and what has no code is interpreted. A program that changes its buffers has none: variants would not share them. */
#ifndef TC_RUNTIME_VARIANTS_H
#define TC_RUNTIME_VARIANTS_H

#include "runtime/runtime.h"

typedef struct tc_variants tc_variants;

/* Sizes that no compiled code is for: what it is for, what was met, and the line that first uses the size. Valid during the call. */
typedef struct {
    const char *guard; /* "B == 8, or B == 16" */
    const char *met;   /* "x.size(0) = 9" */
    tc_source at;      /* file NULL: not known */
} tc_recompile;

/* What happens on the way; each may be NULL. */
typedef struct {
    void (*chosen)(void *ctx, const char *sizes);                /* a variant is planned, "B == 8"; once, NULL: none fits, the code for all runs */
    void (*turned)(void *ctx, const tc_program *to);             /* another program runs than in the run before, at first the main one */
    void (*recompile)(void *ctx, const tc_recompile *recompile); /* once a program: from then on such sizes are expected */
    /* Program i = 0, 1 ... for sizes that the main one has no place for, the caller's reference; NULL: there are no more. */
    tc_status (*other)(void *ctx, int i, tc_program **out);
    void *ctx;
} tc_variants_events;

/* list: lines of SYM=N with blanks between, len bytes; one that does not fit the program is passed over. */
tc_status tc_variants_create(const tc_program *p, const char *list, size_t len, const tc_exec_options *o, const tc_variants_events *events,
                             tc_variants **out);
void tc_variants_destroy(tc_variants *v);                                    /* NULL is allowed */
int tc_variants_count(const tc_variants *v);                                 /* without the program for all sizes */
tc_exec *tc_variants_main(const tc_variants *v);                             /* the program for all sizes */
void tc_variants_set_profile(tc_variants *v, tc_exec_profile fn, void *ctx); /* of every variant */
/* What variant i is for, "B == 8". */
const char *tc_variants_guard(const tc_variants *v, int i);
/* The executor for a run with these inputs. must: TC_ENV naming the guard where no compiled code fits. */
tc_status tc_variants_choose(tc_variants *v, const tc_tensor *inputs, bool must, tc_exec **out);

#endif
