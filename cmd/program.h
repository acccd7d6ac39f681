/* Program operands: what tc-compile, tc-run and tc-bench are given as the first operand, or on stdin. */
#ifndef TC_CMD_PROGRAM_H
#define TC_CMD_PROGRAM_H

#include "cmd/cmd.h"
#include "file/pt2.h"

/* Opens the archive of the first operand, "-" or none being stdin. *out_name: for messages, lives as long as the process. */
tc_status tc_cmd_archive(tc_cmd *c, tc_archive **out_archive, const char **out_name);

/* The program that --model and --mode choose: NAME; else "train" with --mode train; else the only one, else "model". NULL stands for that
 * last rule, which tc_archive_program applies. */
const char *tc_cmd_program_name(const tc_cmd *c);

/* A program of an archive, functional. name as tc_cmd_program_name gives it. */
tc_status tc_cmd_program(tc_cmd *c, tc_archive *a, const char *name, tc_program **out_program);

/* Values of symbols: every --dim SYM=N of the command line, by the symbol's index in the program; entries that are not given stay unbound.
 * n: tc_sym_var_count. TC_USAGE: no such symbol, or not within its range. Other forms of --dim are TC_USAGE here. */
tc_status tc_cmd_bind(const tc_cmd *c, const tc_program *p, tc_symvalue *vars, size_t n);

#endif
