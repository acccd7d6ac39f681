/* Internals of binding a frame to sizes: bind.c binds the frame, bind_group.c the calls of a group, bind_dynamic.c groups whose sizes are not known
 * before the run. */
#ifndef TC_RUNTIME_BIND_H
#define TC_RUNTIME_BIND_H

#include "runtime/slices.h"

typedef struct {
    frame *f;
    tc_exec *e;
    bound *b;
    bool *dynamic;                    /* by value id: its sizes depend on data */
    bool *channels_last, *takes_last; /* frame_layouts: by value id; by group */
    size_t slots;                     /* entries of bound.t: the values, then contiguous copies of arguments (contiguous_arg) */
    /* The outputs that mutate inputs, as lists: by value id, the first such output with this value, or -1; by output, the value's next one. */
    int *mutation, *next_mutation;
} binder;

/* The step of live ranges: the number of the call being bound; after the last call, when results are read. */
static inline int now(const binder *x) { return (int)x->b->calls.len; }
static inline bool is_tensor(const tc_value *v) { return v && v->kind == TC_V_TENSOR; }

/* ---- bind.c ---- */
void bind_use(binder *x, const tc_value *v); /* the call being bound reads or writes v: extends the live range of its root */
void bind_use_place(void *ctx, tc_value **place);
tc_status bind_root(binder *x, const tc_value *v, root_kind kind); /* makes v a root: a dense tensor with memory of its own */

/* ---- bind_group.c: calls of a group. last: by value id, the last group that reads it (last_groups) ---- */
tc_status bind_view(binder *x, const tc_node *n);
tc_status bind_loop(binder *x, const tc_group *g, int index, int *last);
tc_status bind_kernel(binder *x, const tc_group *g, int index, int *last);
/* The loops that make operands of the kernel group tile by tile: as tiles, or as loops where the kernel needs them in memory. */
tc_status bind_tiles(binder *x, const tc_group *g, int index, int *last);
tc_status bind_control(binder *x, const tc_group *g, int index);
void bind_packed(binder *x, const tc_node *n, kernel_call *k);              /* sets pack_bytes, pack_arg and may_pack */
void bind_packed_choice(const binder *x, const tc_node *n, kernel_call *k); /* clears pack_bytes if a tuning file says so */

/* ---- bind_dynamic.c ---- */
bool bind_unknown(binder *x, const tc_group *g); /* is a size or an integer that the group needs not known before the run? */
tc_status bind_dynamic(binder *x, const tc_group *g, int index);

#endif
