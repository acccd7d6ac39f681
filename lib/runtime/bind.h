/* Inside of binding: bind.c binds a frame, bind_group.c one group of it, bind_dynamic.c what is not known before the run. */
#ifndef TC_RUNTIME_BIND_H
#define TC_RUNTIME_BIND_H

#include "runtime/slices.h"

typedef struct {
    frame *f;
    tc_exec *e;
    bound *b;
    int now;                          /* the call being bound */
    bool *dynamic;                    /* by value id: its sizes depend on data */
    bool *channels_last, *takes_last; /* by value id; by group: argument 0 */
    size_t slots;                     /* values, and behind them contiguous copies of arguments (contiguous_arg) */
    int *mutation, *next_mutation;    /* by value id: the first output that stores it in an input, or -1; by output: the value's next one */
} binder;

static inline bool is_tensor(const tc_value *v) { return v && v->kind == TC_V_TENSOR; }

/* ---- bind.c ---- */
void bind_use(binder *x, const tc_value *v); /* the call being bound reads or writes it: its root lives so long */
void bind_use_place(void *ctx, tc_value **place);
tc_status bind_root(binder *x, const tc_value *v, root_kind kind); /* a tensor of the value's sizes with memory of its own, dense */

/* ---- bind_group.c: calls of a group. last: by value id, the last group that reads it (last_groups) ---- */
tc_status bind_view(binder *x, const tc_node *n);
tc_status bind_loop(binder *x, const tc_group *g, int index, int *last);
tc_status bind_kernel(binder *x, const tc_group *g, int index, int *last);
tc_status bind_control(binder *x, const tc_group *g, int index);
void bind_packed(binder *x, const tc_node *n, kernel_call *k);              /* which arguments of the call are kept in their packed form, if any */
void bind_packed_choice(const binder *x, const tc_node *n, kernel_call *k); /* a tuning file may say: none */

/* ---- bind_dynamic.c ---- */
bool bind_unknown(binder *x, const tc_group *g); /* a tensor or an integer that the group reads or makes is not known before the run */
tc_status bind_dynamic(binder *x, const tc_group *g, int index);

#endif
