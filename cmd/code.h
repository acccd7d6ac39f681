/* Compiled code of the program operand, under --stance, --executor and --trust. */
#ifndef TC_CMD_CODE_H
#define TC_CMD_CODE_H

#include "cmd/cmd.h"
#include "runtime/operators.h"
#include "runtime/tuning.h"

typedef struct {
    tc_modules *modules;
    tc_exec_code code;       /* for tc_exec_options while this lives; code.find NULL: interpret everything */
    bool must;               /* fail_on_recompile, --executor=compiled */
    bool skip_values, loops; /* of tc_exec_options: skip_guard_eval_unsafe, loops */
    const char *isa;         /* what the modules are for; NULL: there are none */
    tc_operators *operators; /* NULL: there are none */
    size_t found;            /* groups asked for that a module has */
    size_t general;          /* ... that an operator has which was compiled by itself */
    size_t missing;          /* ... that none has */
    const char *note;
} tc_cmd_code;

/* Loads what the archive holds. Code that this user did not compile is left out, with a note to them; with --stance=force_eager or
 * loops, or --executor=interpreted, nothing is loaded. */
tc_status tc_cmd_code_open(tc_cmd *c, const tc_archive *a, tc_cmd_code *out);
/* The operators that this user compiled one at a time: archives in $TC_OPERATORS (empty: none), else tc-operators below XDG_DATA_HOME.
 * *out NULL: there are none. */
tc_status tc_cmd_operators(tc_cmd *c, tc_operators **out);
/* After tc_exec_create: TC_UNSUPPORTED when a stance that wants compiled code everywhere did not find it. */
tc_status tc_cmd_code_check(tc_cmd *c, const tc_cmd_code *code);
/* With -v: how many groups of the program run compiled, once all its tc_execs were made. */
void tc_cmd_code_report(tc_cmd *c, const tc_cmd_code *code);
/* What was measured on machines: what the archive (NULL: none) carries, and the file of --tuning, whose lines come last; a missing file is
 * an error unless it is to be `made`. NULL where there is neither and it is not to be made. It outlives the tc_execs that are given it. */
tc_status tc_cmd_tuning(tc_cmd *c, const tc_archive *a, bool made, tc_tuning **out);
/* --numerics and --fp32-precision. */
tc_status tc_cmd_numerics(tc_cmd *c, tc_numerics *out);
/* --sdpa: the first of the list, which always fits if it is math; flash with another behind it may give way to that. */
tc_status tc_cmd_sdpa(tc_cmd *c, tc_sdpa *out);
void tc_cmd_log_sdpa(const tc_cmd *c, const tc_exec *e); /* --log sdpa */
void tc_cmd_code_close(tc_cmd_code *code);               /* after the tc_exec */

#endif
