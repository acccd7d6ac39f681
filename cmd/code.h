/* Compiled code of the program operand, as --stance, --executor and --trust allow; tuning, numerics and attention options of an execution. Used by
 * tc-run, tc-bench and tc-train. */
#ifndef TC_CMD_CODE_H
#define TC_CMD_CODE_H

#include "cmd/cmd.h"
#include "runtime/operators.h"
#include "runtime/tuning.h"

typedef struct {
    tc_modules *modules;
    tc_exec_code code;       /* for tc_exec_options, valid until close; code.find NULL: interpret everything */
    bool must;               /* fail_on_recompile, --executor=compiled */
    bool skip_values, loops; /* of tc_exec_options: skip_guard_eval_unsafe, loops */
    const char *isa;         /* instruction set of the loaded modules; NULL: none */
    tc_operators *operators; /* operators compiled singly, or NULL */
    size_t found;            /* groups found in a module */
    size_t general;          /* groups found among precompiled single operators */
    size_t missing;          /* groups without compiled code */
    const char *note;
} tc_cmd_code;

/* Loads the archive's compiled code. Code that this user did not compile is not loaded, which a note says; with --stance=force_eager or
 * --executor=interpreted or loops nothing is loaded. */
tc_status tc_cmd_code_open(tc_cmd *c, const tc_archive *a, tc_cmd_code *out);
/* Opens the operators that this user compiled singly (tc-compile --op): archives in the directory $TC_OPERATORS (empty: none), else tc-operators in
 * XDG_DATA_HOME. *out: the caller's, or NULL. */
tc_status tc_cmd_operators(tc_cmd *c, tc_operators **out);
/* After tc_exec_create: TC_UNSUPPORTED when the stance requires compiled code for every group and some has none. */
tc_status tc_cmd_code_check(tc_cmd *c, const tc_cmd_code *code);
/* With -v: prints how many groups run compiled; after all tc_execs are made. */
void tc_cmd_code_report(tc_cmd *c, const tc_cmd_code *code);
/* Tuning measurements: those in the archive (may be NULL), then those in the file of --tuning. made: the file will be written, so it may be missing, and
 * *out is never NULL. *out: the caller's; it must outlive the tc_execs that use it. */
tc_status tc_cmd_tuning(tc_cmd *c, const tc_archive *a, bool made, tc_tuning **out);
/* --numerics and --fp32-precision. */
tc_status tc_cmd_numerics(tc_cmd *c, tc_numerics *out);
/* --sdpa: the attention implementation: the first of the list; flash with a second choice may fall back to that. */
tc_status tc_cmd_sdpa(tc_cmd *c, tc_sdpa *out);
void tc_cmd_log_sdpa(const tc_cmd *c, const tc_exec *e); /* --log sdpa */
void tc_cmd_code_close(tc_cmd_code *code);               /* after destroying the tc_execs */

#endif
