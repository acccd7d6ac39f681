/* The program operand of tc-export, tc-compile, tc-run, tc-bench and tc-train: reads an archive or ONNX model from a file or stdin, functionalises and
 * verifies it. */
#ifndef TC_CMD_PROGRAM_H
#define TC_CMD_PROGRAM_H

#include "cmd/cmd.h"
#include "file/pt2.h"
#include "op/watch.h"

/* Opens the archive at path ("-": stdin, claimed for "the program"). TC_CONTENT when it is not a program, saying what it is. *out_archive is the
 * caller's. */
tc_status tc_cmd_archive(tc_cmd *c, const char *path, tc_archive **out_archive);
tc_status tc_cmd_archive_of(tc_cmd *c, tc_blob *b, tc_archive **out_archive); /* the same for bytes that were read already */
/* Imports an ONNX model as an archive of one program. values: --input gives values that the import may need (constant shapes,
 * strings; the latter are consumed); false where --input describes something else. */
tc_status tc_cmd_onnx(tc_cmd *c, tc_blob *b, bool values, tc_archive **out_archive);
/* The program that --model names (default: the only one, else `model`), functional and verified, with the weights of --weights and --rename. The
 * caller's. */
tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, tc_program **out_program);
/* --mode: 0 eval, 1 train, -1 not given. */
tc_status tc_cmd_mode(const tc_cmd *c, int *out_mode);
/* The program name given by --model or, where there are several programs, implied by --mode; NULL: neither is given, or there is only one program. */
tc_status tc_cmd_wanted(const tc_cmd *c, const tc_archive *a, const char **out_name);
/* The same for a program of a given name (NULL: the default). */
tc_status tc_cmd_program_named(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program);
/* The same without --weights and --rename. */
tc_status tc_cmd_program_stored(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program);
/* Applies --weights and --rename to a program; does nothing when they are not given. */
tc_status tc_cmd_weights(tc_cmd *c, tc_program *p);
/* Writes programs to --out with weights as --store-weights says (external_weights.h). --meta entries go to extra/; the user's entries in extra/ of `from`, the
 * archive that the programs were read from (or NULL), are kept. */
tc_status tc_cmd_write_archive(tc_cmd *c, tc_archive *from, tc_archive_content content);
/* Binds symbols as --dim SYM=N says, by symbol index; others stay unbound. n: tc_sym_var_count. TC_USAGE: no such symbol, value out of range, or another
 * form of --dim. */
tc_status tc_cmd_bind(const tc_cmd *c, const tc_program *p, tc_symvalue *vars, size_t n);

/* The observer of passes (op/watch.h): with --dump, and when archive a (may be NULL) is a crash.pt2 whose failure is to be reproduced. Else NULL. */
tc_watch *tc_cmd_watch(tc_cmd *c, const tc_archive *a);
#define tc_crash_entry "extra/tc/crash" /* entry of crash.pt2 that says what to repeat: tc_watch.again */

#endif
