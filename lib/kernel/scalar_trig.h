/* sin, cos, tan and their inverses. Part of scalar.h.
 *
 *     float32:  x = n pi + r,  |r| <= pi/2, one polynomial for sin and, with n a half-integer, for cos
 *     float64:  x = n pi/2 + r,  |r| <= pi/4;  n mod 4 chooses between sin r and cos r and the sign
 *
 * Argument reduction: float32 is reduced in float64 by two exact steps for |x| < 2^40; above that x = m 2^e is first replaced by m (2^e mod 2 pi) from a
 * table of double-doubles. float64 takes three steps (Cody and Waite), and from 2^30 on a product with 192 bits of 2/pi (Payne and Hanek). Those are the
 * only branches: block primitives and emitted loops use the branch-free part, tc_x_sin_small_T, where no argument of a block is large.
 * Polynomials of float64 are FreeBSD's k_sin.c, k_cos.c, s_atan.c, e_asin.c (Sun, freely granted). */
#ifndef TC_KERNEL_SCALAR_TRIG_H
#define TC_KERNEL_SCALAR_TRIG_H

#include "kernel/scalar_exp.h"

typedef struct {
    double r, l;
    uint64_t n;
} tc_x_angle; /* r + l and the quadrant */

/* ---- float32 ---- */
static const double tc_x_mod_2pi[88][2] = {
    /* 2^e mod 2 pi for e = 17.. */
    {0x1.304999cb579e8p+2, -0x1.e90aa2efac07ep-52}, {0x1.9ce6fca4d8d6ep+1, -0x1.d8ef52213ba05p-53}, {0x1.58e8ec12c0aa8p-3, 0x1.95c955afd3e7bp-57},
    {0x1.58e8ec12c0aa8p-2, 0x1.95c955afd3e7bp-56},  {0x1.58e8ec12c0aa8p-1, 0x1.95c955afd3e7bp-55},  {0x1.58e8ec12c0aa8p+0, 0x1.95c955afd3e7bp-54},
    {0x1.58e8ec12c0aa8p+1, 0x1.95c955afd3e7bp-53},  {0x1.58e8ec12c0aa8p+2, 0x1.95c955afd3e7bp-52},  {0x1.1fb222e13e839p+2, -0x1.eecfb7d19df11p-52},
    {0x1.5a8920fc746b2p+1, -0x1.f003a5a903450p-53}, {0x1.5a8920fc746b2p+2, -0x1.f003a5a903450p-52}, {0x1.22f28cb4a604bp+2, -0x1.f4d35d069894fp-53},
    {0x1.678ac84a126fap+1, 0x1.e1947f9043554p-53},  {0x1.678ac84a126fap+2, 0x1.e1947f9043554p-52},  {0x1.3cf5db4fe20ddp+2, -0x1.57396410bf160p-52},
    {0x1.cf9802b702942p+1, 0x1.b956a569e09d0p-55},  {0x1.ebc26b95fe14fp-1, -0x1.6065ceb66cc97p-55}, {0x1.ebc26b95fe14fp+0, -0x1.6065ceb66cc97p-54},
    {0x1.ebc26b95fe14fp+1, -0x1.6065ceb66cc97p-53}, {0x1.668ad946ed0dap+0, -0x1.eb20c79eca277p-54}, {0x1.668ad946ed0dap+1, -0x1.eb20c79eca277p-53},
    {0x1.668ad946ed0dap+2, -0x1.eb20c79eca277p-52}, {0x1.3af5fd499749bp+2, -0x1.e147e4ddb41ebp-53}, {0x1.c7988a9dd783bp+1, -0x1.f754901df3be4p-53},
    {0x1.abc6aacca5912p-1, -0x1.1b6f34f397eb5p-56}, {0x1.abc6aacca5912p+0, -0x1.1b6f34f397eb5p-55}, {0x1.abc6aacca5912p+1, -0x1.1b6f34f397eb5p-54},
    {0x1.9a6f58862bf99p-2, 0x1.7e60254ee49ebp-56},  {0x1.9a6f58862bf99p-1, 0x1.7e60254ee49ebp-55},  {0x1.9a6f58862bf99p+0, 0x1.7e60254ee49ebp-54},
    {0x1.9a6f58862bf99p+1, 0x1.7e60254ee49ebp-53},  {0x1.09f4683d25023p-3, 0x1.fee10ecf6f246p-59},  {0x1.09f4683d25023p-2, 0x1.fee10ecf6f246p-58},
    {0x1.09f4683d25023p-1, 0x1.fee10ecf6f246p-57},  {0x1.09f4683d25023p+0, 0x1.fee10ecf6f246p-56},  {0x1.09f4683d25023p+1, 0x1.fee10ecf6f246p-55},
    {0x1.09f4683d25023p+2, 0x1.fee10ecf6f246p-54},  {0x1.0392366c0e65cp+1, -0x1.af1dbc98e2e42p-56}, {0x1.0392366c0e65cp+2, -0x1.af1dbc98e2e42p-55},
    {0x1.d412de4f67e7ep+0, 0x1.e758b6a2061a3p-54},  {0x1.d412de4f67e7ep+1, 0x1.e758b6a2061a3p-53},  {0x1.07cca42c94599p+0, -0x1.984d6479fd323p-55},
    {0x1.07cca42c94599p+1, -0x1.984d6479fd323p-54}, {0x1.07cca42c94599p+2, -0x1.984d6479fd323p-53}, {0x1.f5e64c5397865p+0, 0x1.3540e152f4359p-54},
    {0x1.f5e64c5397865p+1, 0x1.3540e152f4359p-53},  {0x1.8f1a5c3d52d34p+0, 0x1.ade7e21ae7526p-56},  {0x1.8f1a5c3d52d34p+1, 0x1.ade7e21ae7526p-55},
    {0x1.8f1a5c3d52d34p+2, 0x1.ade7e21ae7526p-54},  {0x1.8c15033662d50p+2, -0x1.0db9c88f485cfp-54}, {0x1.860a512882d88p+2, -0x1.a13f4778e9eefp-52},
    {0x1.79f4ed0cc2df7p+2, -0x1.7383c88c66790p-54}, {0x1.61ca24d542ed6p+2, -0x1.d424477778fcfp-52}, {0x1.3174946643093p+2, -0x1.8555e4406f74ap-53},
    {0x1.a192e7108681bp+1, -0x1.3f708ee36a6a2p-53}, {0x1.ee6639887604dp-3, 0x1.8b437ad3f55e0p-58},  {0x1.ee6639887604dp-2, 0x1.8b437ad3f55e0p-57},
    {0x1.ee6639887604dp-1, 0x1.8b437ad3f55e0p-56},  {0x1.ee6639887604dp+0, 0x1.8b437ad3f55e0p-55},  {0x1.ee6639887604dp+1, 0x1.8b437ad3f55e0p-54},
    {0x1.711a1110cccd4p+0, -0x1.5302971d2c45bp-54}, {0x1.711a1110cccd4p+1, -0x1.5302971d2c45bp-53}, {0x1.711a1110cccd4p+2, -0x1.5302971d2c45bp-52},
    {0x1.50146cdd56c8fp+2, 0x1.fcc374a30da1ap-55},  {0x1.0e0924766ac06p+2, -0x1.36630c1104b01p-53}, {0x1.13e52751255e7p+1, -0x1.4315bd0929c20p-54},
    {0x1.13e52751255e7p+2, -0x1.4315bd0929c20p-53}, {0x1.2b5532bc0fd6bp+1, -0x1.75e080e9be09ap-54}, {0x1.2b5532bc0fd6bp+2, -0x1.75e080e9be09ap-53},
    {0x1.89156067b9b7bp+1, -0x1.2085c83607941p-53}, {0x1.89156067b9b7bp+2, -0x1.2085c83607941p-52}, {0x1.800b0b8b309ddp+2, 0x1.492418c5562eep-53},
    {0x1.6df661d21e6a2p+2, 0x1.760daca08373ap-55},  {0x1.49cd0e5ffa02cp+2, -0x1.79bdf01249c71p-53}, {0x1.017a677bb133fp+2, 0x1.6bdfacbc70789p-52},
    {0x1.c35466cc7e59ap+0, -0x1.0a8c26e1933d7p-54}, {0x1.c35466cc7e59ap+1, -0x1.0a8c26e1933d7p-53}, {0x1.89a58c41dc40cp-1, -0x1.27745096c7eeep-55},
    {0x1.89a58c41dc40cp+0, -0x1.27745096c7eeep-54}, {0x1.89a58c41dc40cp+1, -0x1.27745096c7eeep-53}, {0x1.89a58c41dc40cp+2, -0x1.27745096c7eeep-52},
    {0x1.812b633f75affp+2, 0x1.2d69f74254c3bp-53},  {0x1.7037113aa88e6p+2, 0x1.30794110f0348p-56},  {0x1.4e4e6d310e4b4p+2, -0x1.e8a6761e4f73cp-53},
    {0x1.0a7d251dd9c4fp+2, 0x1.f9ee4d60d597bp-53},  {0x1.05b529eee170cp+1, 0x1.bf17d45f1fae7p-53},  {0x1.05b529eee170cp+2, 0x1.bf17d45f1fae7p-52},
    {0x1.e52a7a6600402p+0, 0x1.8f351633e671fp-54},
};
/* sin r for |r| <= pi/2, to 2^-35 */
static inline double tc_x_sin_r32(double r) {
    double z = r * r, p = tc_fma(-0x1.9a68279477b13p-26, z, 0x1.71707c83f7093p-19);
    p = tc_fma(p, z, -0x1.a017d989b2fa1p-13);
    p = tc_fma(p, z, 0x1.11110c49cdc6fp-7);
    p = tc_fma(p, z, -0x1.5555554768cdbp-3);
    return r * tc_fma(z, p, 1);
}
/* tan r for |r| <= pi/4, to 2^-29 */
static inline double tc_x_tan_r32(double r) {
    double z = r * r, p = tc_fma(0x1.1ece004217bbbp-8, z, 0x1.7895c05407271p-14);
    p = tc_fma(p, z, 0x1.630d9dfe181a9p-7);
    p = tc_fma(p, z, 0x1.5cb123d5106dep-6);
    p = tc_fma(p, z, 0x1.badbb401616bfp-5);
    p = tc_fma(p, z, 0x1.110d8ef3c173cp-3);
    p = tc_fma(p, z, 0x1.555560557a599p-2);
    return r * tc_fma(z, p, 1);
}
/* The low bit of t is that of n: where n is odd the sign changes. */
static inline float tc_x_sin_end_f32(double r, double t) { return (float)tc_from_bits_f64(tc_bits_f64(tc_x_sin_r32(r)) ^ tc_bits_f64(t) << 63); }
/* tan r, or, where n is odd, -1 / tan r by a float32 quotient and one Newton step. */
static inline float tc_x_tan_end_f32(double r, double t) {
    double p = tc_x_tan_r32(r), q = -1.0f / (float)p;
    q = tc_fma(q, tc_fma(p, q, 1), q);
    return (float)(tc_bits_f64(t) & 1 ? q : p);
}
static inline float tc_x_sin_small_f32(float x) {
    double t = tc_fma(x, 0x1.45f306dc9c883p-2, 0x1.8p52), n = t - 0x1.8p52;
    return tc_x_sin_end_f32(tc_fma(-n, 0x1.1a62633145c07p-53, tc_fma(-n, 0x1.921fb54442d18p+1, x)), t);
}
static inline float tc_x_cos_small_f32(float x) {
    double t = tc_fma(x, 0x1.45f306dc9c883p-2, -0.5) + 0x1.8p52, n = (t - 0x1.8p52) + 0.5;
    return tc_x_sin_end_f32(tc_fma(n, 0x1.1a62633145c07p-53, tc_fma(n, 0x1.921fb54442d18p+1, -(double)x)), t);
}
static inline float tc_x_tan_small_f32(float x) {
    double t = tc_fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52), n = t - 0x1.8p52;
    return tc_x_tan_end_f32(tc_fma(-n, 0x1.1a62633145c07p-54, tc_fma(-n, 0x1.921fb54442d18p+0, x)), t);
}
static inline int tc_x_is_large_f32(float x) { return (__builtin_fabsf(x) >= 0x1p40f) & (__builtin_fabsf(x) < __builtin_inff()); }
/* r + l = m (2^e mod 2 pi) for a large x = m 2^e with an integer m of 24 bits */
static inline tc_x_angle tc_x_fold_f32(float x) {
    uint32_t u = tc_bits_f32(x), at = (u >> 23 & 0xff) - (127 + 40);
    double m = tc_from_bits_f32((u & 0x807fffff) | 0x4b000000), h = tc_x_mod_2pi[at][0], p = m * h;
    return (tc_x_angle){p, tc_fma(m, h, -p) + m * tc_x_mod_2pi[at][1], 0};
}
static inline float tc_x_sin_f32(float x) {
    if (!tc_x_is_large_f32(x)) return tc_x_sin_small_f32(x);
    tc_x_angle a = tc_x_fold_f32(x);
    double t = tc_fma(a.r, 0x1.45f306dc9c883p-2, 0x1.8p52), n = t - 0x1.8p52;
    return tc_x_sin_end_f32(tc_fma(-n, 0x1.1a62633145c07p-53, tc_fma(-n, 0x1.921fb54442d18p+1, a.r) + a.l), t);
}
static inline float tc_x_cos_f32(float x) {
    if (!tc_x_is_large_f32(x)) return tc_x_cos_small_f32(x);
    tc_x_angle a = tc_x_fold_f32(x);
    double t = tc_fma(a.r, 0x1.45f306dc9c883p-2, -0.5) + 0x1.8p52, n = (t - 0x1.8p52) + 0.5;
    return tc_x_sin_end_f32(tc_fma(n, 0x1.1a62633145c07p-53, tc_fma(n, 0x1.921fb54442d18p+1, -a.r) - a.l), t);
}
static inline float tc_x_tan_f32(float x) {
    if (!tc_x_is_large_f32(x)) return tc_x_tan_small_f32(x);
    tc_x_angle a = tc_x_fold_f32(x);
    double t = tc_fma(a.r, 0x1.45f306dc9c883p-1, 0x1.8p52), n = t - 0x1.8p52;
    return tc_x_tan_end_f32(tc_fma(-n, 0x1.1a62633145c07p-54, tc_fma(-n, 0x1.921fb54442d18p+0, a.r) + a.l), t);
}

/* ---- float64 ---- */
static const uint64_t tc_x_two_over_pi[21] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d, 0xa9e391615ee61b08};
/* Payne and Hanek's reduction for finite |x| >= 2^30: the 53 bits of x times those 192 bits of 2/pi that matter modulo 4, i.e. from the bit whose product
 * has weight 2 on. */
static inline tc_x_angle tc_x_reduce_large(double x) {
    uint64_t u = tc_bits_f64(x), m = (u & 0x000fffffffffffffu) | 0x0010000000000000u;
    int e = (int)(u >> 52 & 0x7ff) - 1075, first = e - 2; /* index of the window's first bit, 0 is the one of weight 1/2 */
    uint64_t w[4];
    for (int i = 0; i < 4; i++) {
        int b = first + 64 * i, word = b >> 6, s = b & 63;
        uint64_t lo = word >= 0 ? tc_x_two_over_pi[word] : 0, hi = word + 1 >= 0 && s ? tc_x_two_over_pi[word + 1] : 0;
        w[i] = s ? lo << s | hi >> (64 - s) : lo;
    }
    __uint128_t p2 = (__uint128_t)m * w[2] + (uint64_t)(((__uint128_t)m * w[3]) >> 64), p1 = (__uint128_t)m * w[1] + (uint64_t)(p2 >> 64);
    uint64_t v0 = m * w[0] + (uint64_t)(p1 >> 64), v1 = (uint64_t)p1, v2 = (uint64_t)p2; /* v / 2^190 = x 2/pi mod 4 */
    uint64_t n = (v0 + 0x2000000000000000u) >> 62;
    int64_t f0 = (int64_t)(v0 - (n << 62)); /* signed fraction, scale 2^-62 */
    double h = (double)f0 * 0x1p-62, h1 = (double)(f0 - (int64_t)(double)f0) * 0x1p-62;
    double t = (double)v1 * 0x1p-126, a = h + t, al = (h - a) + t + h1 + (double)v2 * 0x1p-190;
    double b = a + al, bl = (a - b) + al;
    double r = b * 0x1.921fb54442d18p+0, l = tc_fma(b, 0x1.921fb54442d18p+0, -r) + tc_fma(b, 0x1.1a62633145c07p-54, bl * 0x1.921fb54442d18p+0);
    int neg = u >> 63;
    return (tc_x_angle){neg ? -r : r, neg ? -l : l, neg ? 0 - n : n};
}
static inline tc_x_angle tc_x_reduce_f64(double x) {
    double t = tc_fma(x, 0x1.45f306dc9c883p-1, 0x1.8p52), n = t - 0x1.8p52;
    double a = tc_fma(-n, 0x1.921fb54442d18p+0, x); /* exact */
    double p = n * 0x1.1a62633145c07p-54, pl = tc_fma(n, 0x1.1a62633145c07p-54, -p);
    double r = a - p, b = r - a, l = (a - (r - b)) - (p + b);
    l = tc_fma(n, 0x1.f1976b7ed8fbcp-110, l - pl);
    double h = r + l;
    return (tc_x_angle){h, (r - h) + l, tc_bits_f64(t)};
}
static inline int tc_x_is_large_f64(double x) { return (__builtin_fabs(x) >= 0x1p30) & (__builtin_fabs(x) < __builtin_inf()); }
/* sin(r + l) and cos(r + l) as h + l */
static inline tc_x_dd tc_x_sin_r64(double r, double l) {
    double z = r * r, v = z * r;
    double p = tc_fma(1.58969099521155010221e-10, z, -2.50507602534068634195e-08);
    p = tc_fma(p, z, 2.75573137070700676789e-06);
    p = tc_fma(p, z, -1.98412698298579493134e-04);
    p = tc_fma(p, z, 8.33333333332248946124e-03);
    double low = tc_fma(v, -1.66666666666666324348e-01, tc_fma(v * z, p, tc_fma(-0.5 * z, l, l)));
    return (tc_x_dd){r, low, 0};
}
static inline tc_x_dd tc_x_cos_r64(double r, double l) {
    double z = r * r, zl = tc_fma(r, r, -z), half = 0.5 * z, w = 1 - half;
    double p = tc_fma(-1.13596475577881948265e-11, z, 2.08757232129817482790e-09);
    p = tc_fma(p, z, -2.75573143513906633035e-07);
    p = tc_fma(p, z, 2.48015872894767294178e-05);
    p = tc_fma(p, z, -1.38888888888741095749e-03);
    p = tc_fma(p, z, 4.16666666666666019037e-02);
    return (tc_x_dd){w, ((1 - w) - half) + tc_fma(z * z, p, tc_fma(-r, l, -0.5 * zl)), 0};
}
static inline double tc_x_sin_angle(tc_x_angle a) {
    tc_x_dd s = tc_x_sin_r64(a.r, a.l), c = tc_x_cos_r64(a.r, a.l);
    double y = a.n & 1 ? c.h + c.l : s.h + s.l;
    return a.n & 2 ? -y : y;
}
static inline double tc_x_tan_angle(tc_x_angle a) {
    tc_x_dd s = tc_x_sin_r64(a.r, a.l), c = tc_x_cos_r64(a.r, a.l);
    double sh = s.h + s.l, sl = (s.h - sh) + s.l, ch = c.h + c.l, cl = (c.h - ch) + c.l;
    int odd = a.n & 1;
    double nh = odd ? -ch : sh, nl = odd ? -cl : sl, dh = odd ? sh : ch, dl = odd ? sl : cl;
    double q = nh / dh;
    return q + (tc_fma(-q, dh, nh) + tc_fma(-q, dl, nl)) / dh;
}
/* Without branches; correct for all but large arguments (tc_x_is_large_f64). */
static inline double tc_x_sin_small_f64(double x) {
    double y = tc_x_sin_angle(tc_x_reduce_f64(x));
    return __builtin_fabs(x) < 0x1p-27 ? x : y;
}
static inline double tc_x_cos_small_f64(double x) {
    tc_x_angle a = tc_x_reduce_f64(x);
    a.n++;
    return tc_x_sin_angle(a);
}
static inline double tc_x_tan_small_f64(double x) {
    double y = tc_x_tan_angle(tc_x_reduce_f64(x));
    return __builtin_fabs(x) < 0x1p-27 ? x : y;
}
static inline double tc_x_sin_f64(double x) { return tc_x_is_large_f64(x) ? tc_x_sin_angle(tc_x_reduce_large(x)) : tc_x_sin_small_f64(x); }
static inline double tc_x_cos_f64(double x) {
    tc_x_angle a = tc_x_is_large_f64(x) ? tc_x_reduce_large(x) : tc_x_reduce_f64(x);
    a.n++;
    return tc_x_sin_angle(a);
}
static inline double tc_x_tan_f64(double x) { return tc_x_is_large_f64(x) ? tc_x_tan_angle(tc_x_reduce_large(x)) : tc_x_tan_small_f64(x); }

/* ---- inverses ---- */
/* atan(n / d) for n, d >= 0, not both 0 or inf: five intervals around 0, 1/2, 1, 3/2 and inf, as s_atan.c. */
static inline tc_x_dd tc_x_atan_quotient(double n, double d) {
    int a = n >= 0.4375 * d, b = n >= 0.6875 * d, c = n >= 1.1875 * d, e = n >= 2.4375 * d;
    double m = e ? 0 : c ? 1.5 : b ? 1 : a ? 0.5 : 0;
    double md = m * d, mn = m * n, num = e ? -d : n - md, den = e ? n : d + mn, back = den - d; /* n - md is exact */
    double hi = e ? 1.57079632679489655800e+00 : c ? 9.82793723247329054082e-01 : b ? 7.85398163397448278999e-01 : a ? 4.63647609000806093515e-01 : 0;
    double lo = e ? 6.12323399573676603587e-17 : c ? 1.39033110312309984516e-17 : b ? 3.06161699786838301793e-17 : a ? 2.26987774529616870924e-17 : 0;
    double numl = -tc_fma(m, d, -md), denl = e ? 0 : (d - (den - back)) + (mn - back) + tc_fma(m, n, -mn);
    double x = num / den, xl = (tc_fma(-x, den, num) + tc_fma(-x, denl, numl)) / den, z = x * x;
    double p = tc_fma(1.62858201153657823623e-02, z, -3.65315727442169155270e-02);
    p = tc_fma(p, z, 4.97687799461593236017e-02);
    p = tc_fma(p, z, -5.83357013379057348645e-02);
    p = tc_fma(p, z, 6.66107313738753120669e-02);
    p = tc_fma(p, z, -7.69187620504482999495e-02);
    p = tc_fma(p, z, 9.09088713343650656196e-02);
    p = tc_fma(p, z, -1.11111104054623557880e-01);
    p = tc_fma(p, z, 1.42857142725034663711e-01);
    p = tc_fma(p, z, -1.99999999998764832476e-01);
    p = tc_fma(p, z, 3.33333333333329318027e-01);
    xl = __builtin_fabs(xl) < __builtin_inf() ? xl : 0;
    double s = x - (x * z * p - (lo + xl)), h = hi + s;
    return (tc_x_dd){h, (hi - h) + s, 0};
}
static inline double tc_x_atan_f64(double x) {
    double a = __builtin_fabs(x), y = tc_x_atan_quotient(a, 1).h;
    y = a < 0x1p-27 ? a : a > 0x1p60 ? 1.57079632679489655800e+00 : y;
    return x != x ? x : __builtin_copysign(y, x);
}
static inline double tc_x_atan2_f64(double y, double x) {
    double a = __builtin_fabs(y), b = __builtin_fabs(x), inf = __builtin_inf();
    /* both large or both small: scaled so that neither products nor the residual of the quotient overflow or underflow */
    double m = a > b ? a : b, f = m > 0x1p500 ? 0x1p-600 : m < 0x1p-400 ? 0x1p600 : 1;
    double n = a * f, d = b * f;
    n = ((a == inf) & (b == inf)) ? 1 : n;
    d = ((a == inf) & (b == inf)) ? 1 : d;
    tc_x_dd r = tc_x_atan_quotient(n, d);
    double t = r.h, tl = r.l;
    int left = (int)(tc_bits_f64(x) >> 63);
    double q = b > 0 ? a / b : inf; /* tiny quotients: atan is the quotient, subnormal results included */
    t = q < 0x1p-27 ? q : t;
    t = ((b == inf) & (a < inf)) ? 0 : t;
    t = ((a == inf) & (b < inf)) ? 1.57079632679489655800e+00 : t;
    tl = t == r.h ? tl : 0;
    double u = 3.14159265358979311600e+00 - t, ul = (3.14159265358979311600e+00 - u) - t;
    t = left ? u + (ul + (1.22464679914735317720e-16 - tl)) : t;
    t = a == 0 ? (left ? 3.14159265358979311600e+00 : 0) : t;
    return ((x != x) | (y != y)) ? x + y : __builtin_copysign(t, y);
}
/* (asin(s) - s) / s for z = s^2 <= 1/4 */
static inline double tc_x_asin_r(double z) {
    double p = tc_fma(3.47933107596021167570e-05, z, 7.91534994289814532176e-04);
    p = tc_fma(p, z, -4.00555345006794114027e-02);
    p = tc_fma(p, z, 2.01212532134862925881e-01);
    p = tc_fma(p, z, -3.25565818622400915405e-01);
    p = tc_fma(p, z, 1.66666666666666657415e-01) * z;
    double q = tc_fma(7.70381505559019352791e-02, z, -6.88283971605453293030e-01);
    q = tc_fma(q, z, 2.02094576023350569471e+00);
    q = tc_fma(q, z, -2.40339491173441421878e+00);
    return p / tc_fma(q, z, 1);
}
static inline double tc_x_asin_f64(double x) {
    double a = __builtin_fabs(x), z = a < 0.5 ? a * a : (1 - a) * 0.5, r = tc_x_asin_r(z);
    double s = __builtin_sqrt(z), c = s > 0 ? tc_fma(-s, s, z) / (2 * s) : 0;
    double h = 1.57079632679489655800e+00 - 2 * s, e = (1.57079632679489655800e+00 - h) - 2 * s;
    double y = a < 0.5 ? tc_fma(a, r, a) : h + (e + tc_fma(-2.0, tc_fma(s, r, c), 6.12323399573676603587e-17));
    return __builtin_copysign(y, x);
}
static inline double tc_x_acos_f64(double x) {
    double a = __builtin_fabs(x), z = a < 0.5 ? a * a : (1 - a) * 0.5, r = tc_x_asin_r(z);
    double s = __builtin_sqrt(z), c = s > 0 ? tc_fma(-s, s, z) / (2 * s) : 0;
    double near = 2 * (s + tc_fma(s, r, c));
    double h = 3.14159265358979311600e+00 - 2 * s, e = (3.14159265358979311600e+00 - h) - 2 * s;
    double far = h + (e + tc_fma(-2.0, tc_fma(s, r, c), 1.22464679914735317720e-16));
    double m = 1.57079632679489655800e+00 - x, ml = (1.57079632679489655800e+00 - m) - x;
    double mid = m + (ml + tc_fma(-x, r, 6.12323399573676603587e-17));
    return a < 0.5 ? mid : x > 0 ? near : far;
}
/* ---- float32: pi/2 and pi as h + l; quotients and roots are corrected for their rounding ---- */
#define TC_X_PIO2_H 0x1.921fb6p+0f
#define TC_X_PIO2_L -0x1.777a5cp-25f
/* (asin(s) - s) / s for z = s^2 <= 1/4, to 2^-27 */
static inline float tc_x_asin_r32(float z) {
    float p = tc_fmaf(0x1.595c26p-5f, z, 0x1.8c3e80p-6f);
    p = tc_fmaf(p, z, 0x1.747bb6p-5f);
    p = tc_fmaf(p, z, 0x1.330204p-4f);
    return tc_fmaf(p, z, 0x1.5555c8p-3f) * z;
}
/* sqrt(z) - s, where s is the rounded root; 1 / 2s comes from the bits of s, which is accurate enough */
static inline float tc_x_root_rest_f32(float z, float s) { return tc_fmaf(-s, s, z) * tc_from_bits_f32(0x7e7311c3u - tc_bits_f32(s)); }
static inline float tc_x_asin_f32(float x) {
    float a = __builtin_fabsf(x);
    int far = a > 0.5f;
    float z = far ? tc_fmaf(-0.5f, a, 0.5f) : a * a, s = far ? __builtin_sqrtf(z) : a, r = s * tc_x_asin_r32(z);
    float h = tc_fmaf(-2, s, TC_X_PIO2_H), e = tc_fmaf(-2, s, TC_X_PIO2_H - h);
    float y = h + (e + tc_fmaf(-2, r + tc_x_root_rest_f32(z, s), TC_X_PIO2_L));
    return __builtin_copysignf(far ? y : a + r, x);
}
/* a multiple of pi/2, plus or minus 2 asin(sqrt((1 - |x|) / 2)) or asin |x| */
static inline float tc_x_acos_f32(float x) {
    float a = __builtin_fabsf(x);
    int far = a > 0.5f;
    float z = far ? tc_fmaf(-0.5f, a, 0.5f) : a * a, s = far ? __builtin_sqrtf(z) : a, r = s * tc_x_asin_r32(z);
    r = far ? 2 * (r + tc_x_root_rest_f32(z, s)) : r, s = far ? 2 * s : s;
    uint32_t flip = (tc_bits_f32(x) & 0x80000000u) ^ (far ? 0 : 0x80000000u);
    s = tc_from_bits_f32(tc_bits_f32(s) ^ flip), r = tc_from_bits_f32(tc_bits_f32(r) ^ flip);
    float b = !far ? TC_X_PIO2_H : x > 0 ? 0 : 2 * TC_X_PIO2_H, l = !far ? TC_X_PIO2_L : x > 0 ? 0 : 2 * TC_X_PIO2_L;
    float h = b + s, e = (b - h) + s;
    return h + (e + (l + r));
}
/* atan |x|, above 1 as pi/2 - atan(1 / |x|); to 2^-28 */
static inline float tc_x_atan_f32(float x) {
    float a = __builtin_fabsf(x), c = a > 0x1p60f ? 0x1p60f : a;
    int far = c > 1;
    float q = far ? -1 / c : c, ql = far ? tc_fmaf(q, c, 1) * q : 0, z = q * q, z2 = z * z; /* the quotient is q + ql */
    float p0 = tc_fmaf(0x1.9991e4p-3f, z, -0x1.55553ep-2f), p1 = tc_fmaf(0x1.c08c1ap-4f, z, -0x1.242084p-3f);
    float p2 = tc_fmaf(0x1.da24cap-5f, z, -0x1.580814p-4f), p3 = tc_fmaf(0x1.6410e6p-7f, z, -0x1.fd6fbcp-6f);
    float p = tc_fmaf(tc_fmaf(tc_fmaf(tc_fmaf(-0x1.d32dbcp-10f, z2, p3), z2, p2), z2, p1), z2, p0);
    float c3 = q * z, l3 = tc_fmaf(q, tc_fmaf(q, q, -z), tc_fmaf(q, z, -c3));
    float r = tc_fmaf(c3, p, tc_fmaf(l3, p, ql * tc_fmaf(-0.5f, z, 1)));
    float b = far ? TC_X_PIO2_H : 0, h = b + q, e = (b - h) + q;
    return __builtin_copysignf(h + (e + ((far ? TC_X_PIO2_L : 0) + r)), x);
}
/* Computed in float64, where no quotient of two float32 overflows or is subnormal. */
static inline float tc_x_atan2_f32(float y, float x) {
    double a = __builtin_fabs((double)y), b = __builtin_fabs((double)x);
    int steep = a > b, none = a == b; /* 0 / 0 is 0 and inf / inf is 1, as C has them */
    double n = steep ? b : a, d = steep ? a : b, q = n / d;
    q = none ? (a == 0 ? 0 : 1) : q;
    double z = q * q, p = tc_fma(-0x1.6dec226154b56p-11, z, 0x1.42d91a11f7294p-8);
    p = tc_fma(p, z, -0x1.0b0bfd468f527p-6);
    p = tc_fma(p, z, 0x1.1a6c9331dbf61p-5);
    p = tc_fma(p, z, -0x1.be97cb8a8cd84p-5);
    p = tc_fma(p, z, 0x1.29589a6ff7ba0p-4);
    p = tc_fma(p, z, -0x1.700b1e507ccf5p-4);
    p = tc_fma(p, z, 0x1.c66e4b9ad96cbp-4);
    p = tc_fma(p, z, -0x1.248a2ca0219adp-3);
    p = tc_fma(p, z, 0x1.999937f19912cp-3);
    p = tc_fma(p, z, -0x1.555554873cdc1p-2);
    double t = tc_fma(q * z, p, q);
    t = steep ? 0x1.921fb54442d18p+0 - t : t;
    t = tc_bits_f32(x) >> 31 ? 0x1.921fb54442d18p+1 - t : t;
    return ((x != x) | (y != y)) ? x + y : __builtin_copysignf((float)t, y);
}

#endif
