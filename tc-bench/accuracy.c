/* --accuracy: errors of the scalar functions against 300-bit reference values (tc-mpfr.so), and of float32 products, by --fp32-precision, against
 * float64.
 *
 *     function        type        ulp    bound   at
 *     bessel j0       float32    0.86        4   11.79153
 *     mm 512          bf16       9.5e-3 of the largest result
 *
 * Every instruction set of this machine computes every function; that all give the same bits is part of the check. */
#include "tc-bench/bench.h"

#include "base/json_write.h"
#include "cmd/inputs.h"
#include "kernel/fp32_precision.h"
#include "kernel/shim.h"
#include "op/sample.h"
#include "tc-bench/reference/tc_reference.h"

#include <math.h>

/* ---- functions ---- */
/* Test arguments: a in lo..hi, alternately uniform and log-uniform; b of two-argument functions in lo2..hi2, integers where b is a degree. */
typedef struct {
    tc_scalar_op op;
    const char *name; /* as in scalar.def */
    double lo, hi, lo2, hi2;
    bool degree;
    double (*scale)(double a, double b); /* scale for cancellation: errors are in units of this if it is larger than the result */
    double bound[2];                     /* in ulp: float32, float64 */
} function;

/* amplitude of Bessel functions: sqrt(2 / (pi x)) */
static double waves(double a, double b) { return (void)b, sqrt(0.6366197723675814 / fmax(fabs(a), 1)); }
static double one(double a, double b) { return (void)a, (void)b, 1; }
static double airy(double a, double b) { return (void)b, a < -1 ? 0.5641895835477563 / sqrt(sqrt(-a)) : 0; }
static double tail(double a, double b) { return (void)a, (void)b, 1e-30; } /* floor for tails of distributions */
static double decay(double a, double b) { return (void)b, 1 / fmax(fabs(a), 1); }
/* The sum of the absolute values of a polynomial's terms grows like the polynomial at i |a|: a power of the recurrence's growth factor. */
static double terms(double a, double b) { return pow(fabs(a) + sqrt(a * a + 1), b); }
static double hermite(double a, double b) { return pow(2 * fabs(a) + sqrt(2 * b), b); }
static double hermite_e(double a, double b) { return pow(fabs(a) + sqrt(b), b); }
static double laguerre(double a, double b) { return exp(2 * sqrt(fabs(a) * b)); }

#define OP(NAME, name) TC_X_##NAME, #name
static const function functions[] = {
    {OP(EXP, exp), -740, 709, .bound = {1, 1}},
    {OP(EXP2, exp2), -1070, 1023, .bound = {1, 1}},
    {OP(EXPM1, expm1), -60, 709, .bound = {1, 1}},
    {OP(LOG, log), 1e-300, 1e300, .bound = {1, 1}},
    {OP(LOG2, log2), 1e-300, 1e300, .bound = {1, 1}},
    {OP(LOG10, log10), 1e-300, 1e300, .bound = {1, 1}},
    {OP(LOG1P, log1p), -1, 1e10, .bound = {1, 1}},
    {OP(SIN, sin), -1e9, 1e9, .bound = {1, 1}},
    {OP(COS, cos), -1e9, 1e9, .bound = {1, 1}},
    {OP(TAN, tan), -1e9, 1e9, .bound = {1, 1}},
    {OP(ASIN, asin), -1, 1, .bound = {1, 1}},
    {OP(ACOS, acos), -1, 1, .bound = {1, 1}},
    {OP(ATAN, atan), -1e9, 1e9, .bound = {1, 1}},
    {OP(ATAN2, atan2), -1e3, 1e3, -1e3, 1e3, .bound = {1, 1}},
    {OP(SINH, sinh), -709, 709, .bound = {1, 1}},
    {OP(COSH, cosh), -709, 709, .bound = {1, 1}},
    {OP(TANH, tanh), -20, 20, .bound = {1, 1}},
    {OP(ASINH, asinh), -1e9, 1e9, .bound = {1, 1}},
    {OP(ACOSH, acosh), 1, 1e9, .bound = {1, 1}},
    {OP(ATANH, atanh), -1, 1, .bound = {1, 1}},
    {OP(RSQRT, rsqrt), 1e-300, 1e300, .bound = {1.5, 1.5}}, /* two roundings */
    {OP(CBRT, cbrt), -1e300, 1e300, .bound = {1, 1}},
    {OP(HYPOT, hypot), -1e9, 1e9, -1e9, 1e9, .bound = {1, 1}},
    {OP(POW, pow), 1e-30, 1e30, -10, 10, .bound = {1, 1}},
    {OP(SIGMOID, sigmoid), -100, 100, .bound = {3, 3}},
    {OP(ERF, erf), -7, 7, .bound = {1, 1}},
    {OP(ERFC, erfc), -7, 27, .bound = {1, 4}},
    {OP(ERFCX, erfcx), -9, 1e3, .bound = {4, 128}},
    {OP(ERFINV, erfinv), -1, 1, .bound = {1, 4}},
    {OP(NDTRI, ndtri), 1e-30, 1, .bound = {4, 4}},
    {OP(LOG_NDTR, log_ndtr), -1e3, 9, .bound = {4, 128}},
    {OP(LGAMMA, lgamma), 1e-300, 1e9, .bound = {1, 4}},
    {OP(DIGAMMA, digamma), 1e-30, 1e9, .scale = one, .bound = {4, 4}},
    {OP(TRIGAMMA, trigamma), 1e-9, 1e6, .bound = {4, 8}},
    {OP(ZETA, zeta), 1.01, 60, 1e-3, 100, .bound = {4, 32}},
    {OP(IGAMMA, igamma), 0.01, 200, 0, 300, .scale = tail, .bound = {4, 4096}},
    {OP(IGAMMAC, igammac), 0.01, 200, 0, 300, .scale = tail, .bound = {4, 4096}},
    {OP(I0, i0), -80, 80, .bound = {4, 8}},
    {OP(I0E, i0e), -200, 200, .bound = {4, 8}},
    {OP(I1, i1), -80, 80, .bound = {4, 8}},
    {OP(I1E, i1e), -200, 200, .bound = {4, 8}},
    {OP(K0, k0), 1e-30, 60, .bound = {4, 8}},
    {OP(K0E, k0e), 1e-30, 60, .bound = {4, 8}},
    {OP(K1, k1), 1e-30, 60, .bound = {4, 8}},
    {OP(K1E, k1e), 1e-30, 60, .bound = {4, 8}},
    {OP(J0, j0), -1e3, 1e3, .scale = waves, .bound = {4, 8}},
    {OP(J1, j1), -1e3, 1e3, .scale = waves, .bound = {4, 8}},
    {OP(Y0, y0), 1e-30, 1e3, .scale = waves, .bound = {4, 8}},
    {OP(Y1, y1), 1e-30, 1e3, .scale = waves, .bound = {4, 8}},
    {OP(AIRY_AI, airy_ai), -100, 60, .scale = airy, .bound = {4, 1024}},
    {OP(SPHERICAL_J0, spherical_j0), -1e3, 1e3, .scale = decay, .bound = {4, 4}},
    {OP(CHEBYSHEV_T, chebyshev_t), -1, 1, 0, 30, true, terms, {8, 8}},
    {OP(CHEBYSHEV_U, chebyshev_u), -1, 1, 0, 30, true, terms, {8, 8}},
    {OP(CHEBYSHEV_V, chebyshev_v), -1, 1, 0, 30, true, terms, {8, 8}},
    {OP(CHEBYSHEV_W, chebyshev_w), -1, 1, 0, 30, true, terms, {8, 8}},
    {OP(HERMITE_H, hermite_h), -10, 10, 0, 30, true, hermite, {8, 8}},
    {OP(HERMITE_HE, hermite_he), -10, 10, 0, 30, true, hermite_e, {8, 8}},
    {OP(LAGUERRE_L, laguerre_l), 0, 40, 0, 30, true, laguerre, {128, 128}},
    {OP(LEGENDRE_P, legendre_p), -1, 1, 0, 30, true, terms, {8, 8}},
};

enum { POINTS = 300 };
typedef struct {
    double ulp, a, b;
    bool differs; /* instruction sets differ */
} worst;

static double uniform(uint64_t *state) { /* 0..1 */
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}
static double argument(uint64_t *state, int64_t i, double lo, double hi, bool wide) {
    const double most = wide ? 1e300 : 1e37, least = wide ? 1e-300 : 1e-37;
    if (lo < -most) lo = -most;
    if (hi > most) hi = most;
    if (lo > 0 && lo < least) lo = least;
    const double u = uniform(state), v = uniform(state);
    if (i % 2) return lo + (hi - lo) * u;
    const double size = fmax(fabs(lo), fabs(hi)), small = lo > 0 ? lo : fmax(size * 1e-12, least);
    double x = exp(log(small) + (log(size) - log(small)) * u);
    if (lo < 0 && v < 0.5) x = -x;
    return x < lo ? lo : x > hi ? hi : x;
}
/* Evaluates f at n points with one instruction set; wide: float64, else float32. */
static void compute(const tc_isa_ops *isa, const function *f, bool wide, const void *a, const void *b, int64_t n, void *out) {
    isa->scalar[wide ? TC_F64 : TC_F32][f->op](out, a, b, NULL, n);
}
static worst measure_function(const tc_reference *ref, const tc_isa_ops *const *rows, int nrows, const function *f, bool wide) {
    static const tc_reference_type types[] = {{24, -125, 0x1.fffffep127}, {53, -1021, 0x1.fffffffffffffp1023}};
    const int number = ref->find(f->name);
    double a[POINTS], b[POINTS], got[POINTS], other[POINTS];
    float fa[POINTS], fb[POINTS], fgot[POINTS];
    uint64_t state = 88172645463325252u;
    worst w = {0};
    for (int64_t i = 0; i < POINTS; i++) {
        fa[i] = (float)(a[i] = argument(&state, i, f->lo, f->hi, wide)), b[i] = f->lo2 + (f->hi2 - f->lo2) * uniform(&state);
        if (f->degree) b[i] = rint(b[i]);
        fb[i] = (float)b[i];
        if (!wide) a[i] = fa[i], b[i] = fb[i];
    }
    compute(rows[0], f, wide, wide ? (void *)a : fa, wide ? (void *)b : fb, POINTS, wide ? (void *)got : fgot);
    for (int r = 1; r < nrows; r++) {
        compute(rows[r], f, wide, wide ? (void *)a : fa, wide ? (void *)b : fb, POINTS, other);
        w.differs |= memcmp(other, wide ? (void *)got : fgot, POINTS * (wide ? 8 : 4)) != 0;
    }
    for (int64_t i = 0; i < POINTS; i++) {
        const double e = ref->ulps(number, a[i], b[i], f->scale ? f->scale(a[i], b[i]) : 0, wide ? got[i] : (double)fgot[i], &types[wide]);
        if (!(e <= w.ulp)) w.ulp = e, w.a = a[i], w.b = b[i];
    }
    return w;
}

/* ---- float32 products ---- */
/* The largest error of a call against float64, relative to the largest result. */
static tc_status run_call(report *r, const char *call, tc_numerics numerics, const tc_tensor *like, tc_tensor **in, int *nin, tc_tensor *out) {
    tc_sample sample;
    tc_exec *e = NULL;
    TC_TRY(tc_sample_parse(NULL, call, strlen(call), &sample));
    tc_program *p = sample.program;
    tc_status s = tc_exec_create(p, &(tc_exec_options){.pool = tc_cmd_pool(r->c), .threads = 1, .numerics = numerics}, &e);
    if (!s) s = tc_cmd_make_inputs(p, NULL, 0, NULL, NULL, in, nin);
    for (int i = 0; like && i < *nin && !s; i++) {
        tc_tensor_deinit(&(*in)[i]);
        s = tc_tensor_cast(&like[i], TC_F64, &(*in)[i]);
    }
    if (!s) s = tc_exec_run(e, *in, *nin, NULL, out, 1);
    tc_exec_destroy(e);
    tc_program_release(p);
    return s;
}
static void free_inputs(tc_tensor *in, int n) {
    for (int i = 0; i < n; i++) tc_tensor_deinit(&in[i]);
    free(in);
}
static tc_status error_of(report *r, const char *call, const char *in_f64, tc_numerics numerics, double *out) {
    tc_tensor *x = NULL, *wide = NULL, got = {0}, exact = {0}, got64 = {0};
    int nx = 0, nwide = 0;
    tc_status s = run_call(r, call, numerics, NULL, &x, &nx, &got);
    if (!s) s = run_call(r, in_f64, (tc_numerics){0}, x, &wide, &nwide, &exact);
    if (!s) s = tc_tensor_cast(&got, TC_F64, &got64);
    double most = 0, error = 0;
    for (int64_t i = 0; !s && i < tc_tensor_numel(&exact); i++) {
        const double e = ((const double *)tc_tensor_data(&exact))[i];
        most = fmax(most, fabs(e)), error = fmax(error, fabs(((const double *)tc_tensor_data(&got64))[i] - e));
    }
    *out = error / most;
    tc_tensor_deinit(&got), tc_tensor_deinit(&exact), tc_tensor_deinit(&got64);
    free_inputs(x, nx), free_inputs(wide, nwide);
    return s;
}

/* ---- the report ---- */
typedef struct {
    const char *name, *type, *unit; /* type: dtype, or rounding mode of factors; unit: "ulp", or "largest": relative to the largest result */
    double error, bound, at[2];
    int nat;      /* number of arguments, at the worst point */
    bool differs; /* instruction sets differ */
} finding;
static void write_finding(report *r, const finding *f) {
    tc_buf *b = &r->out;
    if (r->format == AS_JSON) {
        tc_json j = {.b = b};
        tc_json_object(&j);
        tc_json_key(&j, "function"), tc_json_string(&j, f->name);
        tc_json_key(&j, "type"), tc_json_string(&j, f->type);
        tc_json_key(&j, f->unit), tc_json_double(&j, f->error);
        tc_json_key(&j, "bound"), tc_json_double(&j, f->bound);
        tc_json_key(&j, "at"), tc_json_array(&j);
        for (int i = 0; i < f->nat; i++) tc_json_double(&j, f->at[i]);
        tc_json_end(&j);
        tc_json_key(&j, "same_bits"), tc_json_bool(&j, !f->differs);
        tc_json_end(&j);
        tc_buf_putc(b, '\n');
        return;
    }
    const bool csv = r->format == AS_CSV;
    if (!r->rows++)
        tc_buf_printf(b, csv ? "function,type,error,unit,bound,at,at2\n" : "%-28s %-8s %10s %10s  %s\n", "function", "type", "error", "bound", "at");
    if (csv) tc_buf_printf(b, "%s,%s,%.3g,%s,%.3g,", f->name, f->type, f->error, f->unit, f->bound);
    else tc_buf_printf(b, "%-28s %-8s %10.3g %10.3g  ", f->name, f->type, f->error, f->bound);
    for (int i = 0; i < (csv ? 2 : f->nat); i++) {
        if (i) tc_buf_puts(b, csv ? "," : ", ");
        if (i < f->nat) tc_buf_printf(b, "%.9g", f->at[i]);
    }
    if (!csv) tc_buf_puts(b, f->nat ? "" : "of the largest result");
    if (f->error > f->bound && !csv) tc_buf_puts(b, "  beyond the bound");
    if (f->differs && !csv) tc_buf_puts(b, "  instruction sets differ");
    tc_buf_putc(b, '\n');
}

static tc_status measure_functions(report *r, int *wrong) {
    static tc_shim shim = {
        .file = "tc-mpfr.so", .symbol = "tc_mpfr", .purpose = "--accuracy needs", .version = TC_REFERENCE_VERSION, .lock = PTHREAD_MUTEX_INITIALIZER};
    const tc_isa_ops *rows[TC_ROW_COUNT];
    int nrows = 0;
    const void *table;
    TC_TRY(tc_shim_table(&shim, &table));
    for (int i = 0; i < TC_ROW_COUNT; i++)
        if (tc_isa_supported((tc_isa_row)i)) rows[nrows++] = tc_isa_ops_of((tc_isa_row)i);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        for (int wide = 0; wide < 2; wide++) {
            const function *f = &functions[i];
            const worst w = measure_function(table, rows, nrows, f, wide);
            const finding found = {f->name, wide ? "f64" : "f32", "ulp", w.ulp, f->bound[wide], {w.a, w.b}, f->lo2 != f->hi2 ? 2 : 1, w.differs};
            write_finding(r, &found);
            *wrong += !(w.ulp <= found.bound) || w.differs;
        }
    return NULL;
}
/* Expected errors: factors have 24, 16, 11 or 8 bits; summing n terms of either sign in float32 adds about sqrt(n) / 2 ulp. */
static tc_status measure_products(report *r, int *wrong) {
    static const struct {
        const char *name, *f32, *f64;
    } calls[] = {{"mm 512", "mm(f32[512,512], f32[512,512])", "mm(f64[512,512], f64[512,512])"},
                 {"convolution 64x3x3", "convolution(f32[1,64,28,28], f32[64,64,3,3], None, [1,1], [1,1], [1,1], False, [0,0], 1)",
                  "convolution(f64[1,64,28,28], f64[64,64,3,3], None, [1,1], [1,1], [1,1], False, [0,0], 1)"}};
    static const double bound[] = {[TC_FP32_IEEE] = 0x1p-20, [TC_FP32_BF16X3] = 0x1p-15, [TC_FP32_TF32] = 0x1p-10, [TC_FP32_BF16] = 0x1p-7};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        for (int how = 0; tc_fp32_names[how]; how++) {
            finding f = {calls[i].name, tc_fp32_names[how], "largest", .bound = bound[how]};
            TC_TRY(error_of(r, calls[i].f32, calls[i].f64, (tc_numerics){.matmul = (tc_fp32)how, .conv = (tc_fp32)how}, &f.error), "%s", f.name);
            write_finding(r, &f);
            *wrong += !(f.error <= f.bound);
        }
    return NULL;
}

tc_status accuracy(report *r) {
    int wrong = 0;
    TC_TRY(measure_products(r, &wrong));
    TC_TRY(measure_functions(r, &wrong));
    TC_TRY(tc_cmd_write_text(r->c, tc_cmd_get(r->c, TC_OPT_out), &r->out));
    return wrong ? tc_error(TC_DIFFERENT, "%d results are beyond their bounds, or differ between instruction sets", wrong) : NULL;
}
