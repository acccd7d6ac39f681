/* Programs built by hand for the runtime's tests: inputs, results, tensors with numbers. A test stops at the first error. */
#ifndef TC_TEST_GRAPHS_H
#define TC_TEST_GRAPHS_H

#include "op/emit.h"
#include "runtime/runtime.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

static inline void ok(tc_status s) {
    if (s) fail_msg("%s", tc_status_message(s));
}

/* An input of rank sizes (tc_sym each). */
static inline tc_value *input(tc_program *p, tc_input_kind kind, const char *name, tc_dtype d, int rank, ...) {
    tc_value *v = tc_graph_value(p->graph, TC_V_TENSOR, name);
    tc_sym size[TC_MAX_RANK];
    va_list ap;
    va_start(ap, rank);
    for (int i = 0; i < rank; i++) size[i] = va_arg(ap, tc_sym);
    va_end(ap);
    v->meta = tc_meta_make(&p->arena, d, rank, size, NULL);
    tc_graph_add_input(p->graph, v);
    tc_program_add_input(p, (tc_input){.kind = kind, .value = v, .name = name, .alias_of = -1});
    return v;
}
static inline void output(tc_program *p, tc_value *v) {
    tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = v->name, .target = -1});
}

/* A tensor of numbers in [low, low + width), integers in [0, 16); *seed moves on. The caller frees it. */
static inline tc_tensor random_tensor(tc_dtype d, int rank, const int64_t *size, double low, double width, uint32_t *seed) {
    tc_tensor t;
    ok(tc_tensor_empty(d, rank, size, &t));
    for (int64_t i = 0, n = tc_tensor_numel(&t); i < n; i++) {
        *seed = *seed * 1664525u + 1013904223u;
        const double x = low + (double)(*seed >> 8) / (1 << 24) * width;
        tc_scalar_store(d, tc_tensor_data(&t), i, tc_is_float(d) ? tc_scalar_float(x) : tc_scalar_int(*seed >> 28));
    }
    return t;
}
static inline tc_tensor filled(tc_dtype d, int rank, const int64_t *size, uint32_t seed) { return random_tensor(d, rank, size, -2, 4, &seed); }

#endif
