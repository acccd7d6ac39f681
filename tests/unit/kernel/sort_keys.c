/* Rows long enough for the fast ways of ordering and adding by index, against their definitions: selection, sorting, searching, sums by leaves
 * and the tree for sources that come in any order; NaN, ties, both zeros; along the last dimension and across rows. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "kcall.h"
#include "kernel/scatter.h"
#include "kernel/sort.h"
#include "kernel/tree.h"

static uint32_t state32 = 1;
static uint32_t next32(void) {
    state32 = state32 * 1664525u + 1013904223u;
    return state32 >> 8;
}
/* Few different values, so that there are ties; a NaN and zeros of both signs now and then. */
static void fill(float *x, int64_t n, bool nans) {
    for (int64_t i = 0; i < n; i++) {
        uint32_t r = next32() % 1000;
        x[i] = r == 0 && nans ? NAN : r < 5 ? -0.0f : r < 10 ? 0.0f : ((float)(next32() % 400) - 200) / 7;
    }
}
/* a comes before b: smaller, NaN last; ties by index. */
static bool before(const float *x, int64_t step, int64_t a, int64_t b, bool descending) {
    float u = x[a * step], v = x[b * step];
    bool below = descending ? u > v || (u != u && v == v) : u < v || (u == u && v != v);
    bool above = descending ? v > u || (v != v && u == u) : v < u || (v == v && u != u);
    return below || (!above && a < b);
}
/* How many elements come before element i of its row. */
static int64_t rank_of(const float *x, int64_t step, int64_t n, int64_t i, bool descending) {
    int64_t r = 0;
    for (int64_t k = 0; k < n; k++) r += before(x, step, k, i, descending);
    return r;
}

/* May element i have place `at` in the order, when equal elements may have any? */
static bool may_stand(const float *x, int64_t step, int64_t n, int64_t i, int64_t at, bool descending) {
    int64_t below = 0, equal = 0;
    for (int64_t k = 0; k < n; k++) {
        const bool first = before(x, step, k, i, descending), then = before(x, step, i, k, descending);
        const bool same = x[k * step] == x[i * step] || (isnan(x[k * step]) && isnan(x[i * step]));
        below += first && !same;
        equal += same && (first || then || k == i);
    }
    return below <= at && at < below + equal;
}

static void check_rows(int64_t rows, int64_t n, int dim, int64_t k, bool descending, bool nans) {
    int64_t size[2] = {dim ? rows : n, dim ? n : rows}, step = dim ? 1 : rows, to[2] = {dim ? rows : k, dim ? k : rows};
    tc_tensor x = ktensor(TC_F32, 2, size), outs[2] = {ktensor(TC_F32, 2, to), ktensor(TC_I64, 2, to)};
    tc_tensor one[2] = {ktensor(TC_F32, 1, &rows), ktensor(TC_I64, 1, &rows)};
    float *f = x.storage->data;
    fill(f, rows * n, nans);
    tc_karg top[] = {karg_t(&x), karg_i(k), karg_i(dim), karg_i(descending), karg_i(1)};
    const int64_t *index = outs[1].storage->data;
    for (int first = 0; first < 2; first++) {
        assert_null(krun(first ? &tc_k_first : &tc_k_topk, top, 5, outs, 2, (tc_isa_row)0, 2, NULL));
        for (int64_t r = 0; r < rows; r++)
            for (int64_t i = 0; i < k; i++) {
                const float *row = f + (dim ? r * n : r);
                const int64_t at = index[dim ? r * k + i : i * rows + r];
                if (first) assert_int_equal(rank_of(row, step, n, at, descending), i);
                assert_true(may_stand(row, step, n, at, i, descending));
            }
    }
    tc_karg kth[] = {karg_t(&x), karg_i(k), karg_i(dim), karg_i(0)};
    assert_null(krun(&tc_k_kthvalue, kth, 4, one, 2, (tc_isa_row)0, 1, NULL));
    for (int64_t r = 0; r < rows; r++)
        assert_true(may_stand(f + (dim ? r * n : r), step, n, ((const int64_t *)one[1].storage->data)[r], k - 1, false));
    tc_karg med[] = {karg_t(&x), karg_i(dim), karg_i(0)};
    assert_null(krun(&tc_k_median, med, 3, one, 2, (tc_isa_row)0, 1, NULL));
    for (int64_t r = 0; r < rows; r++) {
        int64_t nan = 0;
        for (int64_t i = 0; i < n; i++) nan += isnan(f[(dim ? r * n : r) + i * step]) != 0;
        int64_t got = rank_of(f + (dim ? r * n : r), step, n, ((const int64_t *)one[1].storage->data)[r], false);
        assert_int_equal(got, nan ? n - nan : (n - 1) / 2);
    }
    kfree(&x), kfree(&outs[0]), kfree(&outs[1]), kfree(&one[0]), kfree(&one[1]);
}
static void rows_in_order(void **state) {
    (void)state;
    check_rows(3, 700, 1, 8, true, true);
    check_rows(3, 700, 1, 8, false, false);
    check_rows(2, 1500, 1, 600, true, false);
    check_rows(5, 300, 0, 3, false, true);
    check_rows(2, 49, 1, 49, true, false);
}

/* What is sorted is the elements themselves, bit by bit: NaN keep their codes, zeros their signs, at the indices that are told. */
static void check_elements(tc_dtype d, bool descending) {
    enum { N = 1500 };
    const size_t bytes = tc_dtype_size(d);
    tc_tensor x = ktensor(d, 1, (int64_t[]){N}), outs[2] = {ktensor(d, 1, (int64_t[]){N}), ktensor(TC_I64, 1, (int64_t[]){N})};
    unsigned char *from = x.storage->data;
    const unsigned char *to = outs[0].storage->data;
    for (size_t i = 0; i < N * bytes; i++)
        from[i] = d == TC_BOOL ? next32() & 1 : i / bytes % 5 ? next32() & 0xff : i % bytes == bytes - 1 ? next32() & 0x80 : 0;
    tc_karg a[] = {karg_t(&x), karg_i(1), karg_i(0), karg_i(descending)};
    assert_null(krun(&tc_k_sort, a, 4, outs, 2, (tc_isa_row)0, 1, NULL));
    bool seen[N] = {false};
    for (int i = 0; i < N; i++) {
        int64_t at = ((const int64_t *)outs[1].storage->data)[i];
        assert_in_range(at, 0, N - 1);
        assert_false(seen[at]);
        seen[at] = true;
        assert_memory_equal(to + (size_t)i * bytes, from + (size_t)at * bytes, bytes);
    }
    kfree(&x), kfree(&outs[0]), kfree(&outs[1]);
}
static void elements_of_every_type(void **state) {
    (void)state;
    for (tc_dtype d = 0; d < TC_DTYPE_COUNT; d++) {
        if (tc_is_complex(d)) continue;
        check_elements(d, false);
        check_elements(d, true);
    }
}

static void places_in_sequence(void **state) {
    (void)state;
    enum { N = 777, M = 1003 };
    tc_tensor seq = ktensor(TC_F32, 1, (int64_t[]){N}), v = ktensor(TC_F32, 1, (int64_t[]){M}), out = ktensor(TC_I64, 1, (int64_t[]){M});
    float *s = seq.storage->data, *x = v.storage->data;
    for (int i = 0; i < N; i++) s[i] = (float)(i / 3);
    for (int i = 0; i < M; i++) x[i] = (float)(next32() % 600) / 2;
    x[5] = NAN, x[6] = -INFINITY, x[7] = INFINITY;
    for (int k = 0; k < 4; k++) {
        const bool right = k % 2;
        for (int i = 0; k == 2 && i < M; i++) x[i] = i < M - 1 ? (float)(i / 3) : NAN; /* values in order */
        tc_karg a[] = {karg_t(&seq), karg_t(&v), karg_i(0), karg_i(right)};
        assert_null(krun(&tc_k_searchsorted, a, 4, &out, 1, (tc_isa_row)0, 1, NULL));
        for (int i = 0; i < M; i++) {
            int64_t want = 0;
            while (want < N && (right ? !(x[i] < s[want]) : !(s[want] >= x[i]))) want++;
            assert_int_equal(((int64_t *)out.storage->data)[i], want);
        }
    }
    kfree(&seq), kfree(&v), kfree(&out);
}

/* Sum of the sources of destination d: leaves of 256 by source, ascending, the tree over them; absent leaves skipped. */
static float by_definition(float self, const float *x, const int64_t *index, int64_t step, int64_t index_step, int64_t n, int64_t d) {
    float leaf[64];
    bool there[64] = {false};
    int64_t leaves = (n + TC_LEAF - 1) / TC_LEAF;
    for (int64_t s = 0; s < n; s++) {
        if (index[s * index_step] != d) continue;
        float *l = &leaf[s / TC_LEAF], v = x[s * step];
        *l = there[s / TC_LEAF] ? *l + v : v;
        there[s / TC_LEAF] = true;
    }
    for (int64_t apart = 1; apart < leaves; apart *= 2)
        for (int64_t k = 0; k + apart < leaves; k += 2 * apart) {
            if (!there[k + apart]) continue;
            leaf[k] = there[k] ? leaf[k] + leaf[k + apart] : leaf[k + apart];
            there[k] = true;
        }
    return there[0] ? self + leaf[0] : self;
}
static void check_sums(int64_t rows, int64_t n, int64_t size, int dim) {
    int64_t xs[2] = {dim ? rows : n, dim ? n : rows}, os[2] = {dim ? rows : size, dim ? size : rows}, step = dim ? 1 : rows;
    tc_tensor self = ktensor(TC_F32, 2, os), x = ktensor(TC_F32, 2, xs), out = ktensor(TC_F32, 2, os), index = ktensor(TC_I64, 2, xs);
    tc_tensor one = ktensor(TC_I64, 1, &n);
    fill(self.storage->data, rows * size, false), fill(x.storage->data, rows * n, false);
    int64_t *at = index.storage->data, *same = one.storage->data;
    for (int64_t i = 0; i < rows * n; i++) at[i] = next32() % (uint32_t)size;
    for (int64_t i = 0; i < n; i++) same[i] = next32() % (uint32_t)size;
    for (int whole = 0; whole < 2; whole++) {
        tc_karg a[] = {karg_t(&self), karg_i(dim), karg_t(whole ? &one : &index), karg_t(&x), karg_i(1)};
        for (int r = 0; r < TC_ROW_COUNT; r++) {
            if (!tc_isa_supported((tc_isa_row)r)) continue;
            assert_null(krun(whole ? &tc_k_index_add : &tc_k_scatter_add, a, whole ? 5 : 4, &out, 1, (tc_isa_row)r, 1 + r, NULL));
            for (int64_t row = 0; row < rows; row++)
                for (int64_t d = 0; d < size; d++) {
                    int64_t first = dim ? row * n : row, o = dim ? row * size + d : d * rows + row;
                    float want = by_definition(((float *)self.storage->data)[o], (float *)x.storage->data + first, whole ? same : at + first, step,
                                               whole ? 1 : step, n, d);
                    assert_memory_equal(&want, (float *)out.storage->data + o, sizeof want);
                }
        }
    }
    kfree(&self), kfree(&x), kfree(&out), kfree(&index), kfree(&one);
}
/* index_add along the middle one of three dimensions: the slices consist of rows of 9. */
static void check_middle(void) {
    enum { N = 700, SIZE = 30, ROW = 9 };
    const int64_t n = N, xs[3] = {2, N, ROW}, os[3] = {2, SIZE, ROW};
    tc_tensor self = ktensor(TC_F32, 3, os), x = ktensor(TC_F32, 3, xs), out = ktensor(TC_F32, 3, os), index = ktensor(TC_I64, 1, &n);
    int64_t *at = index.storage->data;
    fill(self.storage->data, 2 * SIZE * ROW, false), fill(x.storage->data, 2 * N * ROW, false);
    for (int s = 0; s < N; s++) at[s] = next32() % SIZE;
    tc_karg a[] = {karg_t(&self), karg_i(1), karg_t(&index), karg_t(&x), karg_i(1)};
    assert_null(krun(&tc_k_index_add, a, 5, &out, 1, (tc_isa_row)0, 2, NULL));
    for (int o = 0; o < 2 * SIZE * ROW; o++) {
        const float *from = (float *)x.storage->data + o / (SIZE * ROW) * N * ROW + o % ROW;
        float want = by_definition(((float *)self.storage->data)[o], from, at, ROW, 1, N, o / ROW % SIZE);
        assert_memory_equal(&want, (float *)out.storage->data + o, sizeof want);
    }
    kfree(&self), kfree(&x), kfree(&out), kfree(&index);
}
static void check_reduced(int64_t n, int64_t size, const char *mode, bool include_self) {
    tc_tensor self = ktensor(TC_F32, 1, &size), x = ktensor(TC_F32, 1, &n), out = ktensor(TC_F32, 1, &size), index = ktensor(TC_I64, 1, &n);
    float *from = x.storage->data, *before = self.storage->data;
    int64_t *at = index.storage->data;
    fill(before, size, false), fill(from, n, false);
    from[0] = from[n - 1] = 0, from[1] = -0.0F, before[0] = -INFINITY, before[1] = NAN;
    for (int64_t s = 0; s < n; s++) at[s] = s < 2 ? 0 : next32() % (uint32_t)size;
    tc_karg a[] = {karg_t(&self), karg_i(0), karg_t(&index), karg_t(&x), {.kind = TC_K_STRING, .string = mode}, karg_i(include_self)};
    assert_null(krun(&tc_k_scatter_reduce, a, 6, &out, 1, (tc_isa_row)0, 2, NULL));
    for (int64_t d = 0; d < size; d++) {
        float want = before[d], got = ((float *)out.storage->data)[d];
        int64_t count = 0;
        for (int64_t s = 0; s < n; s++) {
            if (at[s] != d) continue;
            if (!count++ && !include_self) want = from[s];
            else if (!isnan(want) && !(want > from[s])) want = from[s];
        }
        if (!strcmp(mode, "mean") && count)
            want = (float)(by_definition(include_self ? before[d] : -0.0F, from, at, 1, 1, n, d) / (double)(count + include_self));
        if (isnan(want)) assert_true(isnan(got));
        else assert_memory_equal(&want, &got, sizeof want);
    }
    kfree(&self), kfree(&x), kfree(&out), kfree(&index);
}
static void sums_by_index(void **state) {
    (void)state;
    check_sums(3, 1000, 40, 1);
    check_sums(19, 700, 30, 0);
    check_sums(1, 16000, 4500, 1); /* too many destinations for rows of accumulators: partial sums of each */
    check_sums(2, 1030, 6000, 1);  /* so many that sources are sorted */
    check_sums(20, 5, 7, 0);
    check_sums(12, 600, 3, 0);
    check_middle();
    for (int k = 0; k < 4; k++) check_reduced(1000, k & 2 ? 40 : 900, k & 1 ? "mean" : "amax", k & 2), check_reduced(700, 30, "mean", k & 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rows_in_order), cmocka_unit_test(elements_of_every_type),
                                       cmocka_unit_test(places_in_sequence), cmocka_unit_test(sums_by_index)};
    return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}
