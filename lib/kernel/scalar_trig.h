/* sin, cos, tan and their inverses. Part of scalar.h.
 *
 *     x = n pi/2 + r,  |r| <= pi/4;  n mod 4 chooses between sin r and cos r and the sign
 *
 * float32 is done in float64: n and r by two exact steps for |x| < 2^30, above that x = m 2^e is first replaced by
 * m (2^e mod 2 pi) from a table of double-doubles. float64 takes three steps, and from 2^30 on a product with 192 bits of 2/pi,
 * the one branch here: block primitives run the branch-free part over a block and repair large arguments afterwards.
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
static inline tc_x_angle tc_x_reduce_f32(float x) {
    uint32_t u = tc_bits_f32(x), e = u >> 23 & 0xff;
    int big = (e >= 127 + 40) & (e < 255);
    uint32_t at = big ? e - (127 + 40) : 0;
    double m = tc_from_bits_f32((u & 0x807fffff) | 0x4b000000); /* whole, 24 bits */
    double h = tc_x_mod_2pi[at][0], p = m * h, pl = tc_fma(m, h, -p) + m * tc_x_mod_2pi[at][1];
    double y = big ? p : (double)x, yl = big ? pl : 0;
    double t = tc_fma(y, 0x1.45f306dc9c883p-1, 0x1.8p52), n = t - 0x1.8p52;
    double r = tc_fma(-n, 0x1.921fb54442d18p+0, y);
    return (tc_x_angle){tc_fma(-n, 0x1.1a62633145c07p-54, r + yl), 0, tc_bits_f64(t)};
}
static inline double tc_x_sin_r32(double r) {
    double z = r * r, p = tc_fma(0x1.6dbbee1f24647p-19, z, -0x1.a013a11619d1bp-13);
    p = tc_fma(p, z, 0x1.11110dea5e8c0p-7);
    p = tc_fma(p, z, -0x1.555555545c0f8p-3);
    return tc_fma(r * z, p, r);
}
static inline double tc_x_cos_r32(double r) {
    double z = r * r, p = tc_fma(-0x1.2473214f428b9p-22, z, 0x1.a01291464359ep-16);
    p = tc_fma(p, z, -0x1.6c16badbea939p-10);
    p = tc_fma(p, z, 0x1.5555555147373p-5);
    p = tc_fma(p, z, -0x1.fffffffffe656p-2);
    return tc_fma(z, p, 1);
}
static inline float tc_x_sin_f32(float x) {
    tc_x_angle a = tc_x_reduce_f32(x);
    double s = a.n & 1 ? tc_x_cos_r32(a.r) : tc_x_sin_r32(a.r);
    float y = (float)(a.n & 2 ? -s : s);
    return x == 0 ? x : y;
}
static inline float tc_x_cos_f32(float x) {
    tc_x_angle a = tc_x_reduce_f32(x);
    double s = a.n & 1 ? tc_x_sin_r32(a.r) : tc_x_cos_r32(a.r);
    return (float)((a.n + 1) & 2 ? -s : s);
}
static inline float tc_x_tan_f32(float x) {
    tc_x_angle a = tc_x_reduce_f32(x);
    double s = tc_x_sin_r32(a.r), c = tc_x_cos_r32(a.r);
    float y = (float)(a.n & 1 ? -c / s : s / c);
    return x == 0 ? x : y;
}

/* ---- float64 ---- */
static const uint64_t tc_x_two_over_pi[21] = {
    0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c, 0xfe1deb1cb129a73e,
    0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
    0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d, 0xa9e391615ee61b08};
/* |x| >= 2^30, finite: the 192 bits of 2/pi from the one that weighs 2 after multiplication, times the 53 bits of x, modulo 4. */
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
static inline int tc_x_is_large(double x) { return (__builtin_fabs(x) >= 0x1p30) & (__builtin_fabs(x) < __builtin_inf()); }
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
/* Right for all but large arguments (tc_x_is_large), without branches. */
static inline double tc_x_sin_small(double x) {
    double y = tc_x_sin_angle(tc_x_reduce_f64(x));
    return __builtin_fabs(x) < 0x1p-27 ? x : y;
}
static inline double tc_x_cos_small(double x) {
    tc_x_angle a = tc_x_reduce_f64(x);
    a.n++;
    return tc_x_sin_angle(a);
}
static inline double tc_x_tan_small(double x) {
    double y = tc_x_tan_angle(tc_x_reduce_f64(x));
    return __builtin_fabs(x) < 0x1p-27 ? x : y;
}
static inline double tc_x_sin_f64(double x) { return tc_x_is_large(x) ? tc_x_sin_angle(tc_x_reduce_large(x)) : tc_x_sin_small(x); }
static inline double tc_x_cos_f64(double x) {
    tc_x_angle a = tc_x_is_large(x) ? tc_x_reduce_large(x) : tc_x_reduce_f64(x);
    a.n++;
    return tc_x_sin_angle(a);
}
static inline double tc_x_tan_f64(double x) { return tc_x_is_large(x) ? tc_x_tan_angle(tc_x_reduce_large(x)) : tc_x_tan_small(x); }

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
    /* both large or small: scale, so that neither products nor the residual of the quotient leave the range */
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
static inline float tc_x_asin_f32(float x) { return (float)tc_x_asin_f64(x); }
static inline float tc_x_acos_f32(float x) { return (float)tc_x_acos_f64(x); }
static inline float tc_x_atan_f32(float x) { return (float)tc_x_atan_f64(x); }
static inline float tc_x_atan2_f32(float y, float x) { return (float)tc_x_atan2_f64(y, x); }

#endif
