/* Compiled code inside an archive: one module an instruction set, tc/code/ABI/ISA.so.
 *
 * Groups are found by key, so an entry refers to nothing but tc_abi.h: a program that is changed after compilation simply finds fewer of
 * its groups, and interprets the others with the same bits. */
#ifndef TC_CODEGEN_PACKED_H
#define TC_CODEGEN_PACKED_H

#include "codegen/module.h"
#include "file/pt2.h"

/* Path of the list of sizes that have code of their own: lines SYM=N, at most so many. */
enum { TC_PACKED_VARIANTS = 64 };
extern const char tc_packed_variants[];
extern const char tc_packed_tuning[]; /* of a tuning file (runtime/tuning.h) */
/* Path of the entry, for tc_extra. */
const char *tc_packed_path(tc_arena *a, const char *isa);
/* What the trust record's hash covers beside the code. */
extern const char tc_packed_scope[];

typedef struct {
    int variants;     /* entries in the archive */
    const char *isa;  /* the one that was loaded, or NULL */
    const char *note; /* why the best one was not loaded (static text), or NULL */
} tc_packed;
/* Loads the best entry that this processor runs, at most the row that `cap`, a line of isa.tab or NULL, names. No entry is no error. */
tc_status tc_packed_load(const tc_archive *a, const char *cap, bool trusted, tc_modules *m, tc_packed *out);

#endif
