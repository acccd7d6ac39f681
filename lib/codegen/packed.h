/* Compiled code inside a .pt2 archive: one module per instruction set, tc/code/ABI/ISA.so.
 *
 * Groups are found by key, so an entry depends on nothing but tc_abi.h: a program that was changed after compilation finds fewer of its groups, and the
 * others are interpreted with the same bits. */
#ifndef TC_CODEGEN_PACKED_H
#define TC_CODEGEN_PACKED_H

#include "codegen/module.h"
#include "file/pt2.h"

/* Path of the list of specialised sizes (--variants): lines SYM=N, at most TC_PACKED_VARIANTS. */
enum { TC_PACKED_VARIANTS = 64 };
extern const char tc_packed_variants[];
extern const char tc_packed_tuning[]; /* path of the tuning file (runtime/tuning.h) */
/* Path of the module for an instruction set, as tc_extra takes it; in arena a. */
const char *tc_packed_path(tc_arena *a, const char *isa);
/* The scope that the trust record's hash covers beside the code. */
extern const char tc_packed_scope[];

typedef struct {
    int variants;     /* entries in the archive */
    const char *isa;  /* the module that was loaded, or NULL */
    const char *note; /* why the best one was not loaded (static text), or NULL */
} tc_packed;
/* Loads the best module that this processor can run; cap: at most this row of isa.tab, or NULL. An archive without modules is no error. */
tc_status tc_packed_load(const tc_archive *a, const char *cap, bool trusted, tc_modules *m, tc_packed *out);

#endif
