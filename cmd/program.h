/* The program operand of export, compile, run, bench and train: an archive or an ONNX model from a file or stdin, made ready for the passes. */
#ifndef TC_CMD_PROGRAM_H
#define TC_CMD_PROGRAM_H

#include "cmd/cmd.h"
#include "file/pt2.h"
#include "op/watch.h"

/* Opens the archive at path ("-": stdin, claimed for "the program"). TC_CONTENT when it is something else than a program, saying what. */
tc_status tc_cmd_archive(tc_cmd *c, const char *path, tc_archive **out_archive);
tc_status tc_cmd_archive_of(tc_cmd *c, tc_blob *b, tc_archive **out_archive); /* the same of what was read */
/* An ONNX model as an archive of one program. Values of --input that the model needs when it is imported are taken from there. */
tc_status tc_cmd_onnx(tc_cmd *c, tc_blob *b, tc_archive **out_archive);
/* The program that --model names (else the only one, else `model`), functional and verified, with the weights of --weights and --rename. */
tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, tc_program **out_program);
/* --mode: 0 eval, 1 train, -1 not given. */
tc_status tc_cmd_mode(const tc_cmd *c, int *out_mode);
/* The name that --model gives or, where there are several programs, --mode means; NULL when neither is given, or there is only one. */
tc_status tc_cmd_wanted(const tc_cmd *c, const tc_archive *a, const char **out_name);
/* The same for a program of a given name (NULL: the default). */
tc_status tc_cmd_program_named(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program);
/* The same without --weights and --rename. */
tc_status tc_cmd_program_stored(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program);
/* --weights and --rename onto a program made otherwise; nothing happens when they are not given. */
tc_status tc_cmd_weights(tc_cmd *c, tc_program *p);
/* Writes programs to --out as --store-weights says (outside.h); tc_cmd_program finds weights outside again. What --meta gives goes to extra/,
 * and what the user has in extra/ of `from` (NULL: nothing), which the programs were read from, stays. */
tc_status tc_cmd_write_archive(tc_cmd *c, tc_archive *from, tc_archive_content content);
/* Values of symbols: every --dim SYM=N, by the symbol's index in the program; entries that are not given stay unbound. n: tc_sym_var_count.
 * TC_USAGE: no such symbol, not within its range, or another form of --dim. */
tc_status tc_cmd_bind(const tc_cmd *c, const tc_program *p, tc_symvalue *vars, size_t n);

/* Who watches the passes over programs: with --dump; and where a (or NULL) holds what a failure left, which then happens again. NULL: nobody. */
tc_watch *tc_cmd_watch(tc_cmd *c, const tc_archive *a);
#define tc_crash_entry "extra/tc/crash" /* of crash.pt2: tc_watch.again */

#endif
