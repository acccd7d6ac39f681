/* What decisions about speed assume of the machine. No bit of a result depends on them. tc-bench --calibrate measures them into a tuning file
 * (runtime/tuning.h); without one, and for other machines, what is shipped holds. */
#ifndef TC_RUNTIME_COSTS_H
#define TC_RUNTIME_COSTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/cpu.h"

typedef struct {
    int64_t near_bytes;  /* a row that is needed again is kept in a buffer up to this size, else computed again */
    int64_t far_bytes;   /* loops over at least this much memory prefetch it */
    int64_t chain_bytes; /* the same of loops of several element-wise steps without a reduction */
    int64_t task_ops;    /* element operations of the smallest task that is worth handing to another thread */
    int64_t table_uses;  /* a dear function of 16-bit numbers is tabulated where a run has so many of them */
} tc_costs;
extern const tc_costs tc_costs_shipped;
/* The shipped constants as they suit this processor. */
tc_costs tc_costs_of(const tc_cpu *cpu);

/* What stays in a thread's own cache: a row that is kept has three eighths of it. */
static inline int64_t tc_costs_cache(const tc_costs *c) { return c->near_bytes / 3 * 8; }

typedef struct {
    const char *name;
    size_t at;      /* in tc_costs */
    int64_t lo, hi; /* what a file may say */
} tc_cost_row;
enum { TC_COST_ROWS = 5 };
extern const tc_cost_row tc_cost_rows[TC_COST_ROWS];

#endif
