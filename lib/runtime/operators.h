/* Code of operators that were compiled separately (tc-compile --op), for use in any program that calls them.
 *
 *     tc_operators *ops = tc_operators_create();
 *     TC_TRY(tc_operators_load(ops, archive, cap, trusted, &note));        for each archive
 *     tc_exec_code code = {find, ops, tc_operators_find};                  (runtime.h)
 *
 * The code was compiled for symbolic sizes. A loop of a program can use it if it equals that loop with its own sizes substituted. */
#ifndef TC_RUNTIME_OPERATORS_H
#define TC_RUNTIME_OPERATORS_H

#include "codegen/packed.h"
#include "runtime/runtime.h"

/* Plans of the operator of p as programs may use it: for all its results, and if there are several, for each result alone, because a program has loops
 * only for the results it reads. Appended to out, whose tc_execs the caller destroys. */
typedef TC_VEC(tc_exec *) tc_exec_list;
tc_status tc_operator_forms(const tc_program *p, const tc_exec_options *o, tc_exec_list *out);

typedef struct tc_operators tc_operators;
tc_operators *tc_operators_create(void);
void tc_operators_destroy(tc_operators *o); /* after the tc_execs that found code in it; NULL is allowed */
/* Loads the code of an archive (tc_packed_load). *out_note: why its code was not loaded, or NULL. */
tc_status tc_operators_load(tc_operators *o, tc_archive *a, const char *cap, bool trusted, const char **out_note);
const tc_abi_group *tc_operators_find(void *operators, const tc_loop *l, tc_arena *a, tc_group_desc *out);

#endif
