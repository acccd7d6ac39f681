/* Constants of the machine for decisions about speed. No bit of a result depends on them. tc-bench --calibrate measures them and writes them to a tuning
 * file (runtime/tuning.h); without one for this machine the defaults are used. */
#ifndef TC_RUNTIME_COST_MODEL_H
#define TC_RUNTIME_COST_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

typedef struct {
    int64_t near_bytes;  /* a row that a later stage needs again is kept in a buffer if it has at most so many bytes, else it is recomputed */
    int64_t far_bytes;   /* loops over at least so many bytes of memory prefetch it */
    int64_t chain_bytes; /* the same for loops of several element-wise operations without a reduction */
    int64_t task_ops;    /* element operations of the smallest task that is worth handing to another thread */
    int64_t table_uses;  /* an expensive function of 16-bit numbers is tabulated if a run evaluates it at least so often */
} tc_costs;
extern const tc_costs tc_costs_shipped;
/* The default constants for this processor. */
tc_costs tc_costs_of(const tc_cpu *cpu);

/* Bytes of a thread's own cache (L2), of which near_bytes is three eighths. */
static inline int64_t tc_costs_cache(const tc_costs *c) { return c->near_bytes / 3 * 8; }

typedef struct {
    const char *name;
    size_t at;      /* in tc_costs */
    int64_t lo, hi; /* range of the value in a file */
} tc_cost_row;
enum { TC_COST_ROWS = 5 };
extern const tc_cost_row tc_cost_rows[TC_COST_ROWS];

#endif
