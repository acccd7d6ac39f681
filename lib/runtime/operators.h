/* Operators that were compiled one at a time (tc-compile --op) and serve whatever program calls them.
 *
 *     tc_operators *ops = tc_operators_create();
 *     TC_TRY(tc_operators_load(ops, archive, cap, trusted, &note));        for each archive
 *     tc_exec_code code = {find, ops, tc_operators_find};                  (runtime.h)
 *
 * Their code is for sizes that are symbols: a loop of a program takes it where it is that loop with sizes in their place. */
#ifndef TC_RUNTIME_OPERATORS_H
#define TC_RUNTIME_OPERATORS_H

#include "codegen/packed.h"
#include "runtime/runtime.h"

/* The plans under which programs call the operator of p: for all its results and, where there are several, for each alone, as a program has
 * loops for what it reads only. Appended to out, whose tc_execs the caller destroys. */
typedef TC_VEC(tc_exec *) tc_exec_list;
tc_status tc_operator_forms(const tc_program *p, const tc_exec_options *o, tc_exec_list *out);

typedef struct tc_operators tc_operators;
tc_operators *tc_operators_create(void);
void tc_operators_destroy(tc_operators *o); /* after the tc_execs that found code in it; NULL is allowed */
/* The code of an archive, as tc_packed_load loads it: *out_note says why it was not, or is NULL. */
tc_status tc_operators_load(tc_operators *o, tc_archive *a, const char *cap, bool trusted, const char **out_note);
const tc_abi_group *tc_operators_find(void *operators, const tc_loop *l, tc_arena *a, tc_group_desc *out);

#endif
