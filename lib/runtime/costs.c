/* The shipped constants, measured on a processor with AVX-512 and 2 MiB of second cache, and their table. */
#include "runtime/costs.h"

const tc_costs tc_costs_shipped = {.near_bytes = 384 << 10, .far_bytes = 4 << 20, .task_ops = 65536, .table_uses = 4 << 16};

const tc_cost_row tc_cost_rows[TC_COST_ROWS] = {{"near_bytes", offsetof(tc_costs, near_bytes), 0, INT64_C(1) << 30},
                                                {"far_bytes", offsetof(tc_costs, far_bytes), 0, INT64_C(1) << 40},
                                                {"task_ops", offsetof(tc_costs, task_ops), 1, INT64_C(1) << 40},
                                                {"table_uses", offsetof(tc_costs, table_uses), 1, INT64_C(1) << 40}};
