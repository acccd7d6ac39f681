/* Chooses what runs at which sizes: among the programs of a model that branches on sizes (capture/sides.h), and among compiled variants of a program, for
 * some sizes each, beside the code for all sizes or instead of it (tc-compile --variants, --dim).
 *
 * Programs: the first whose guards hold runs. The others are loaded only when the sizes of a run break the guards of the first. State that one program
 * has written is passed on to the next.
 *
 * Variants: a variant is the program with some sizes known, planned when a run first has these sizes. The list in the archive (codegen/packed.h) only
 * says for which sizes there may be code, so results have the same bits with any list. The variant that fixes most sizes runs; if none fits, the
 * code for all sizes; loops without code are interpreted. A program that changes its buffers has no variants, as they would not share them. */
#ifndef TC_RUNTIME_VARIANTS_H
#define TC_RUNTIME_VARIANTS_H

#include "runtime/runtime.h"

typedef struct tc_variants tc_variants;

/* Sizes for which there is no compiled code. Valid during the call. */
typedef struct {
    const char *guard; /* the sizes for which there is code: "B == 8, or B == 16" */
    const char *met;   /* the size of this run: "x.size(0) = 9" */
    tc_source at;      /* the line that first uses the size; file NULL: not known */
} tc_recompile;

/* Callbacks; each may be NULL. */
typedef struct {
    void (*chosen)(void *ctx, const char *sizes);    /* a variant is planned: "B == 8"; NULL (once): none fits, the code for all sizes runs */
    void (*turned)(void *ctx, const tc_program *to); /* a program runs that is not the one of the run before (before the first: the main) */
    void (*recompile)(void *ctx, const tc_recompile *recompile); /* no code fits; called once for a program */
    /* Loads program i = 0, 1, ... for sizes that the main one does not accept; the caller owns the reference. NULL: there are no more. */
    tc_status (*other)(void *ctx, int i, tc_program **out);
    void *ctx;
} tc_variants_events;

/* list: len bytes, lines of SYM=N separated by blanks; a line that does not fit the program is ignored. */
tc_status tc_variants_create(const tc_program *p, const char *list, size_t len, const tc_exec_options *o, const tc_variants_events *events,
                             tc_variants **out);
void tc_variants_destroy(tc_variants *v);                                    /* NULL is allowed */
int tc_variants_count(const tc_variants *v);                                 /* not counting the program for all sizes */
tc_exec *tc_variants_main(const tc_variants *v);                             /* the program for all sizes */
void tc_variants_set_profile(tc_variants *v, tc_exec_profile fn, void *ctx); /* of every variant */
/* What variant i is for, "B == 8". */
const char *tc_variants_guard(const tc_variants *v, int i);
/* The executor for a run with these inputs. must: TC_ENV if no compiled code fits. */
tc_status tc_variants_choose(tc_variants *v, const tc_tensor *inputs, bool must, tc_exec **out);

#endif
