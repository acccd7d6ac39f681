/* Bessel functions, modified Bessel functions, the Airy function. Part of scalar.h.
 *
 * Each is a Chebyshev series near 0 and another one, times its asymptotic factor, for large arguments (coefficients made with mpmath, down to 2^-58 of the
 * largest), summed by Clenshaw's recurrence. float32 is computed in float64. */
#ifndef TC_KERNEL_SCALAR_BESSEL_H
#define TC_KERNEL_SCALAR_BESSEL_H

#include "kernel/scalar_special.h"

static const double tc_x_i0_near[26] = {/* 1 / (k! k!) */
                                        0x1.0000000000000p+0,   0x1.0000000000000p+0,   0x1.0000000000000p-2,   0x1.c71c71c71c71cp-6,
                                        0x1.c71c71c71c71cp-10,  0x1.23456789abcdfp-14,  0x1.02e85c0898b71p-19,  0x1.522a43f65486ap-25,
                                        0x1.522a43f65486ap-31,  0x1.0b313289be0b9p-37,  0x1.5601885e63e5dp-44,  0x1.69ca9cf3b7f54p-51,
                                        0x1.4197a7f5154bcp-58,  0x1.e725594ee52e9p-66,  0x1.3e22d70ef3b5fp-73,  0x1.69f7da8510bcdp-81,
                                        0x1.69f7da8510bcdp-89,  0x1.40a2dc2460523p-97,  0x1.faaf2fa1c79e5p-106, 0x1.674f8e46c208cp-114,
                                        0x1.cbeaf38dc529fp-123, 0x1.0afb53e9cec0bp-131, 0x1.1a6d4e307528fp-140, 0x1.1159d2b18fe1fp-149,
                                        0x1.e5f504c9e358cp-159, 0x1.8e189760fbc74p-168};
static const double tc_x_i0_far[25] = {
    0x1.9be62aca809cbp-2,   0x1.b998ca2e59049p-9,   0x1.20fa378999e52p-14, 0x1.8412bc101c586p-19,  0x1.b8007d9cd616ep-23,
    0x1.8569280d6d56dp-26,  0x1.d2c64a9225b87p-29,  0x1.0f9ccc0f46f75p-31, 0x1.a24feabe8004fp-37,  -0x1.1511d08397425p-35,
    -0x1.d0fd7357e7bf2p-37, -0x1.f904303178d66p-40, 0x1.94347fa268cecp-41, 0x1.b1c8c6b83c073p-42,  0x1.156ff0d5fc545p-46,
    -0x1.75d99cf68bb32p-45, -0x1.583fe7e65629ap-47, 0x1.12a919094e6d7p-48, 0x1.fee7da3eafb1ep-50,  -0x1.8aee7d908de3cp-52,
    -0x1.4600babd21fcdp-52, 0x1.3f3dd07604104p-55,  0x1.9be1812d982f4p-55, -0x1.646da66116a2fp-58, -0x1.0adb754ca9adap-57};
static const double tc_x_i1_near[26] = {/* 1 / (k! (k + 1)!) */
                                        0x1.0000000000000p+0,   0x1.0000000000000p-1,   0x1.5555555555555p-4,   0x1.c71c71c71c71cp-8,
                                        0x1.6c16c16c16c17p-12,  0x1.845c8a0ce5129p-17,  0x1.27e4fb7789f5cp-22,  0x1.522a43f65486ap-28,
                                        0x1.2c9758daf5cd0p-34,  0x1.ab81ea75fcdf4p-41,  0x1.f17697cf1cf13p-48,  0x1.e2637bef9ff1ap-55,
                                        0x1.8bce58901a35ep-62,  0x1.165e7c2d153f3p-69,  0x1.53585cdcbfb10p-77,  0x1.69f7da8510bcdp-85,
                                        0x1.54ad09e6a6575p-93,  0x1.1d028acb00491p-101, 0x1.aaae78f4066a6p-110, 0x1.1f72d8389b3a3p-118,
                                        0x1.5e69de22df5cep-127, 0x1.84564b82a1184p-136, 0x1.88f11edf3ed4cp-145, 0x1.6c77c3976a829p-154,
                                        0x1.37033643c4b3bp-163, 0x1.e9f6e1b270f54p-173};
static const double tc_x_i1_far[25] = {
    0x1.8ea18b55b1514p-2,   -0x1.3fda053fcdb4cp-7,  -0x1.cfd7f804aa9a6p-14, -0x1.048df49ca0373p-18, -0x1.0dbfd2e9e5443p-22,
    -0x1.c415394bb46c1p-26, -0x1.0790b9ad53528p-28, -0x1.334ca5423dd80p-31, -0x1.4dcf9d4504c0cp-36, 0x1.1e1a1f1587865p-35,
    0x1.f101f653c457bp-37,  0x1.1e7d3f6439fa3p-39,  -0x1.953e1076ab493p-41, -0x1.cbc458e73e255p-42, -0x1.7a9482e6d22a0p-46,
    0x1.80d3c26b3281ep-45,  0x1.776e1762d31e8p-47,  -0x1.12db5138afbc8p-48, -0x1.0efcd8bc4d229p-49, 0x1.7d68e5f04a2d4p-52,
    0x1.55915fceb5874p-52,  -0x1.2806c9c77324fp-55, -0x1.acea3b2532150p-55, 0x1.45b8aea8791bap-58,  0x1.1556db352f98bp-57};
static const double tc_x_k0_near[10] = {-0x1.12166e9d2f61fp-2, 0x1.608d881213db9p-2,  0x1.26bf6554a9085p-5,  0x1.4b82e75633d73p-10,
                                        0x1.7f900fe8cfca0p-16, 0x1.102bce7f95efcp-22, 0x1.05c1367e58a13p-29, 0x1.6c25c475120bep-37,
                                        0x1.7fb0ac384a073p-45, 0x1.3cee1e6b887dcp-53};
static const double tc_x_k1_near[11] = {0x1.867a1361008cap-1,   -0x1.69a1b757b0dd4p-2,  -0x1.f637243c1db74p-4,  -0x1.c92939d7d4192p-8,
                                        -0x1.6ade2e5a3bd02p-13, -0x1.469b32c832e3ap-19, -0x1.7c41d145c31d0p-26, -0x1.3663bb84626cap-33,
                                        -0x1.77502ddd0e045p-41, -0x1.5dd517a0399e0p-49, -0x1.032283d3cda56p-57};
static const double tc_x_k0_far[25] = {
    0x1.385bd9f4e6907p+0,   -0x1.019f72d4ff71ep-5,  0x1.9b891fca79342p-10,  -0x1.0d797e7889f42p-13, 0x1.d413fcc7470a9p-17,
    -0x1.ebb547f18d3a9p-20, 0x1.2915981e3e46fp-22,  -0x1.905541b54f2afp-25, 0x1.269a0033f428ep-27,  -0x1.d29d5f22bf5e2p-30,
    0x1.8956c819ff63dp-32,  -0x1.5df95d2e7ca15p-34, 0x1.46808475fbf4dp-36,  -0x1.3dafc3f00540bp-38, 0x1.40fa32fcce645p-40,
    -0x1.4f87721a3b2dbp-42, 0x1.69c4ecd913e48p-44,  -0x1.9145ebaf9922fp-46, 0x1.c8d9c4a6808e8p-48,  -0x1.0a690ed1130d0p-49,
    0x1.3dbf96cd7929dp-51,  -0x1.82f947bd75936p-53, 0x1.e092e5c062a6ap-55,  -0x1.2feccb331b557p-56, 0x1.871a5cf6ebbb5p-58};
static const double tc_x_k1_far[25] = {
    0x1.5c3d7aa062c8ap+0,   0x1.a9abef9e023fbp-4,   -0x1.76946be66b48ap-9,  0x1.9965888f6908ep-13,  -0x1.44d711dcdb2e5p-16,
    0x1.42fe31752d1b6p-19,  -0x1.780528fada5c6p-22, 0x1.ed27c668fc461p-25,  -0x1.637a49fe1e088p-27, 0x1.14f242a73d252p-29,
    -0x1.ccbc00365cf5fp-32, 0x1.956d008a43059p-34,  -0x1.76b539401d12cp-36, 0x1.69ab846c05207p-38,  -0x1.6adec61fc71a4p-40,
    0x1.78ffa0409e616p-42,  -0x1.94465d4c8014bp-44, 0x1.be3e9590877a3p-46,  -0x1.f9d52362a3e00p-48, 0x1.25cedf006519fp-49,
    -0x1.5d2a3d9ce2a50p-51, 0x1.a7d5e4c65543cp-53,  -0x1.0661525866f5ap-54, 0x1.4af1aa55c043fp-56,  -0x1.a8c5d42a4b314p-58};
static const double tc_x_j0_near[17] = {
    0x1.4306e1f9314dbp-3,  -0x1.1dd989ce98ea2p-7,  0x1.0f8afb7d3a552p-2,  -0x1.7afa2e9c62a9ep-2,  0x1.43b8af58b7ffap-3,  -0x1.1dd989ce98ea2p-5,
    0x1.3bd46ccab9da0p-8,  -0x1.e300651cd3ae3p-12, 0x1.104c067d74d17p-15, -0x1.d8f811cd3e853p-20, 0x1.46c4a4b32aa3bp-24, -0x1.703bda6758f6fp-29,
    0x1.593076e904d04p-34, -0x1.1192067e71726p-39, 0x1.73936aa3d0207p-45, -0x1.b5729d242acaep-51, 0x1.c2c89ea282aaap-57};
static const double tc_x_j1_near[16] = {0x1.4bf5ae47a6150p-4,  -0x1.3119e17fdbffdp-3,  0x1.49b9fb3408e33p-3,  -0x1.52a8c7827daa8p-4,
                                        0x1.6bf2c1f5f71e1p-6,  -0x1.de030538b55b0p-9,  0x1.a8b56cedfe580p-12, -0x1.11188227a5012p-15,
                                        0x1.0a8a3a628fc7bp-19, -0x1.98f754605f635p-24, 0x1.fac17c7273311p-29, -0x1.030d00d42d6f4p-33,
                                        0x1.bcc0916376113p-39, -0x1.453d2b4e985cbp-44, 0x1.9a36afedba862p-50, -0x1.c2dff424052f8p-56};
static const double tc_x_y0_near[17] = {
    -0x1.0f88700652ecbp-5,  -0x1.190fcad75eca2p-2, 0x1.6ea98ade961a1p-3,   0x1.0bd84f7777bd6p-2,  -0x1.6b1d515347a69p-3,  0x1.82a2a1c96271fp-5,
    -0x1.dd9fb881100e6p-8,  0x1.8ad9320695af0p-11, -0x1.d873fa854ed4dp-15, 0x1.ae5f9e7adde46p-19, -0x1.35649a4058471p-23, 0x1.68b1c63f94e89p-28,
    -0x1.5c457ea1daccep-33, 0x1.1b53ed8a54178p-38, -0x1.89f1fa5209ce6p-44, 0x1.d9b425efafdd8p-50, -0x1.f1a7711576130p-56};
static const double tc_x_y1_near[17] = {
    0x1.4ca997b04b826p-9,   -0x1.07927e87fd36bp-6, -0x1.88db11a1e0337p-4,  0x1.59ea4fc627f66p-4,  -0x1.d020c3798a51ap-6,  0x1.5aadc0f38e31dp-8,
    -0x1.504ea6f6291cdp-11, 0x1.cde014f53622dp-15, -0x1.dadf80f6e35f9p-19, 0x1.7c45af600d3dcp-23, -0x1.e8a21e8e1cb71p-28, 0x1.01c33ee943bc5p-32,
    -0x1.c6f1d25aa2e2ap-38, 0x1.54fcf661706ffp-43, -0x1.b7b8e4b5d24fcp-49, 0x1.ed24ebd671b40p-55, -0x1.e58358b5996e3p-61};
static const double tc_x_j0_p[13] = {0x1.ffb944543151ep-1,  -0x1.194ac5283c04ap-11, 0x1.9cbe8b7395851p-19, -0x1.bc26938a82ce2p-25,
                                     0x1.c03a8b38ca73cp-30, -0x1.59ddcc28538a8p-34, 0x1.6baf23642c655p-38, -0x1.e4a709e74825bp-42,
                                     0x1.85b481672b1eep-45, -0x1.6d432cb7153fep-48, 0x1.84fff80b613c2p-51, -0x1.cdb3179595bbdp-54,
                                     0x1.2cca86c6338d9p-56};
static const double tc_x_j0_q[16] = {-0x1.fdbbf76547cafp-7,  0x1.1ed40c7bf4761p-14, -0x1.8e1017183d060p-21, 0x1.34c3b3f0f3e19p-26,
                                     -0x1.8fc71e52a5280p-31, 0x1.7334b27ad2886p-35, -0x1.c34f407df8ba4p-39, 0x1.52763be90a889p-42,
                                     -0x1.2c827d7f6e2d5p-45, 0x1.329f0c1b6c666p-48, -0x1.5fa3147b301c9p-51, 0x1.bd9648f62c6b8p-54,
                                     -0x1.33cdb710c05d6p-56, 0x1.cab223df72976p-59, -0x1.6d757f20d1676p-61, 0x1.351cf3ac934b3p-63};
static const double tc_x_j1_p[13] = {0x1.003b2e82f5f12p+0,   0x1.d7545f75d7da9p-11, -0x1.0b9505ce79bbap-18, 0x1.0953cdc0829efp-24,
                                     -0x1.01454cf5d6ac0p-29, 0x1.83c5742be2cc3p-34, -0x1.9171afe32fc02p-38, 0x1.088a8b6783e50p-41,
                                     -0x1.a5ead8bea617fp-45, 0x1.88e8192bcb004p-48, -0x1.a045d1e6aa4e8p-51, 0x1.ebf5d803cd896p-54,
                                     -0x1.3f5b1671b84fbp-56};
static const double tc_x_j1_q[15] = {0x1.7f34213492af6p-5,  -0x1.93d0e4fa70662p-14, 0x1.eaa02bf61504bp-21, -0x1.681617e8645adp-26,
                                     0x1.c467999a69933p-31, -0x1.9c37875f5ebc0p-35, 0x1.eeb91abca8164p-39, -0x1.6f877e53fb185p-42,
                                     0x1.43f8057a1761fp-45, -0x1.48ac416e30219p-48, 0x1.772d4dd737bf2p-51, -0x1.d994b1fddb9f0p-54,
                                     0x1.46123a8bbc898p-56, -0x1.e48d4f144b8b2p-59, 0x1.811d207bb2e69p-61};
static const double tc_x_ai_far[25] = {
    0x1.f803f8dd4194fp-1,   -0x1.e4badf92f0698p-7,  0x1.8027b6119ca99p-11,  -0x1.00f0eec77d5afp-14, 0x1.caac670d169d2p-18,
    -0x1.efeb84cedc369p-21, 0x1.346d52b669db2p-23,  -0x1.aba96d0e939bcp-26, 0x1.43a78ffb4b7e2p-28,  -0x1.07707202858f2p-30,
    0x1.c834c8a5f387ap-33,  -0x1.a0b1c6e6db0c8p-35, 0x1.8eda827e9a573p-37,  -0x1.8df6dfaa1aa23p-39, 0x1.9c1e947dc07d1p-41,
    -0x1.b9591e92f35b6p-43, 0x1.e74cc999dbc9ap-45,  -0x1.14a33407d0d9dp-46, 0x1.42441e5f90db4p-48,  -0x1.8071c47eb60a8p-50,
    0x1.d4d85135aae64p-52,  -0x1.23d2d8fabb65ep-53, 0x1.72547d78958f2p-55,  -0x1.de81ec63c2c91p-57, 0x1.3a6e9fb7ca747p-58};
static const double tc_x_ai_near[26] = {
    0x1.0e264d11ad203p-2,  -0x1.88bd607bd0258p-3,  -0x1.d8ddc713567b7p-4,  0x1.9ee4ac63d91bdp-4,  -0x1.521236c75050ep-6,  -0x1.58f23593afb59p-8,
    0x1.cd8c238b94cc6p-9,  -0x1.2184bc5d249dep-11, -0x1.6dd77cc357cdbp-14, 0x1.a33262e94ee69p-15, -0x1.b9b78d183faa0p-18, -0x1.90d31c8bb3074p-21,
    0x1.9c016a61d23a2p-22, -0x1.7c56ba983e78ap-25, -0x1.0c1c471028fd4p-28, 0x1.fafae8526f0d6p-30, -0x1.a47c10656d97fp-33, -0x1.e37b4419a46ddp-37,
    0x1.ab1a51dd5dcb0p-38, -0x1.43af56a7b0920p-41, -0x1.39ba94a63b25bp-45, 0x1.05be3c006d9b5p-46, -0x1.6ef3b0198c9a6p-50, -0x1.330deeb9fbb58p-54,
    0x1.e7ac41a93a2b0p-56, -0x1.3f1c5239f6fa4p-59};
static const double tc_x_ai_p[28] = {
    0x1.fe5b251361eaap-1,   -0x1.0eac103f5f5bcp-8,  -0x1.affb3af5b171cp-11, 0x1.8edf03580dd0fp-14,  -0x1.399a93207c102p-19, -0x1.b0a1aaf92e498p-20,
    0x1.e1ceaf438450fp-22,  -0x1.09ab127e26178p-24, -0x1.9ca5fd24a9109p-30, 0x1.0a4cb1b19b32dp-28,  -0x1.7892cd65bf040p-30, 0x1.3e07461af8c55p-32,
    -0x1.7768f896a4aa4p-36, -0x1.ed2fd9eb7bdd5p-37, 0x1.2e49ccba2b122p-37,  -0x1.a1cffd03604ffp-39, 0x1.7f86ba4adcb96p-41,  -0x1.dae0aca71441bp-45,
    -0x1.a1507c0a649abp-45, 0x1.25bbbec95497ap-45,  -0x1.e8101421cbc2cp-47, 0x1.242483d328816p-48,  -0x1.a5a3fd88b2d95p-51, -0x1.8f2558139b7a3p-54,
    0x1.6b6037a3a24ffp-53,  -0x1.a2f861dbd8dd0p-54, 0x1.586c84788ba47p-55,  -0x1.aa8a8dd931ac5p-57};
static const double tc_x_ai_q[34] = {
    0x1.10d6a5431da0cp-4,   -0x1.d0d4d08c0e08fp-9,  -0x1.2e149ac834eddp-11, 0x1.0ef1c0d5b9721p-13,  -0x1.5e8f44fe2b81cp-17, -0x1.df7f9830dc7fdp-20,
    0x1.f39e529dc69d2p-21,  -0x1.b820686ebfedap-23, 0x1.33d124b5aa471p-26,  0x1.c68ca3494e79ep-28,  -0x1.152707a389c19p-28, 0x1.54bb121c5ab42p-30,
    -0x1.ee55cca0846acp-33, -0x1.a2be5dd031feep-38, 0x1.bc8781ab79fb9p-36,  -0x1.beaf880d8ece7p-37, 0x1.235d5196694f4p-38,  -0x1.e6354477c4629p-41,
    0x1.14a56cd2e1bd5p-51,  0x1.e82764351b39cp-44,  -0x1.2a5cb178f7781p-44, 0x1.e193f4b008a4bp-46,  -0x1.194610523b45fp-47, 0x1.6340e9241c008p-50,
    0x1.87bf0d34bc03bp-52,  -0x1.e1235e3ef7b43p-52, 0x1.0d34abca3ccc8p-52,  -0x1.bb05787abbcadp-54, 0x1.12706ee6beda0p-55,  -0x1.852b7de5cd317p-58,
    -0x1.719665cc13d1dp-60, 0x1.102e431982a37p-59,  -0x1.549fe369be012p-60, 0x1.3d3bb9087f848p-61};

/* sum of c[k] T_k(t) */
static inline double tc_x_cheb(const double *c, int n, double t) {
    double a = 0, b = 0;
    for (int k = n - 1; k > 0; k--) {
        double d = tc_fma(2 * t, a, c[k] - b);
        b = a, a = d;
    }
    return tc_fma(t, a, c[0] - b);
}
#define TC_X_CHEB(c, t) tc_x_cheb(c, (int)(sizeof(c) / sizeof *(c)), t)

/* ---- modified, first kind ---- */
/* Up to 8 their power series in q = (x / 2)^2, whose terms do not cancel; beyond, sqrt(a) exp(-a) times the function. */
static inline double tc_x_i_series(const double *c, int n, double a) {
    double q = a * a * 0.25, y = c[n - 1];
    for (int k = n - 2; k >= 0; k--) y = tc_fma(y, q, c[k]);
    return y;
}
#define TC_X_SERIES(c, a) tc_x_i_series(c, (int)(sizeof(c) / sizeof *(c)), a)
static inline double tc_x_i_unscaled(double a, double y) { /* exp(a) y; exp(a) alone would overflow before the product does */
    tc_x_dd e = tc_x_exp_dd(a, 0);
    return tc_x_scale_f64(tc_fma(e.h, y, e.l * y), e.k);
}
static inline double tc_x_i0e_f64(double x) {
    double a = __builtin_fabs(x);
    return a <= 8 ? tc_x_i_unscaled(-a, TC_X_SERIES(tc_x_i0_near, a)) : TC_X_CHEB(tc_x_i0_far, 16 / a - 1) / __builtin_sqrt(a);
}
static inline double tc_x_i1e_f64(double x) {
    double a = __builtin_fabs(x);
    double y = a <= 8 ? tc_x_i_unscaled(-a, TC_X_SERIES(tc_x_i1_near, a) * (0.5 * a)) : TC_X_CHEB(tc_x_i1_far, 16 / a - 1) / __builtin_sqrt(a);
    return x < 0 ? -y : y;
}
/* NaN at infinity, as in PyTorch; I_1(-0) is +0 there */
static inline double tc_x_i0_f64(double x) {
    double a = __builtin_fabs(x), b = a > 720 ? 720 : a;
    if (a <= 8) return TC_X_SERIES(tc_x_i0_near, a);
    return a < __builtin_inf() ? tc_x_i_unscaled(b, tc_x_i0e_f64(b)) : __builtin_nan("");
}
static inline double tc_x_i1_f64(double x) {
    double a = __builtin_fabs(x), b = a > 720 ? 720 : a, y = a <= 8 ? TC_X_SERIES(tc_x_i1_near, a) * (0.5 * a) : tc_x_i_unscaled(b, tc_x_i1e_f64(b));
    return !(a < __builtin_inf()) ? __builtin_nan("") : x < 0 ? -y : y;
}
/* ---- modified, second kind: infinite at 0, NaN for x < 0 ---- */
static inline double tc_x_k_edges(double x, double y) { return x > 0 ? (x < __builtin_inf() ? y : 0) : x == 0 ? __builtin_inf() : __builtin_nan(""); }
static inline double tc_x_k0_f64(double x) {
    double y = x <= 2 ? TC_X_CHEB(tc_x_k0_near, x * x * 0.5 - 1) - tc_x_log_f64(x * 0.5) * tc_x_i0_f64(x)
                      : TC_X_CHEB(tc_x_k0_far, 4 / x - 1) * tc_x_exp_f64(-x) / __builtin_sqrt(x);
    return tc_x_k_edges(x, y);
}
static inline double tc_x_k1_f64(double x) {
    double y = x <= 2 ? TC_X_CHEB(tc_x_k1_near, x * x * 0.5 - 1) / x + tc_x_log_f64(x * 0.5) * tc_x_i1_f64(x)
                      : TC_X_CHEB(tc_x_k1_far, 4 / x - 1) * tc_x_exp_f64(-x) / __builtin_sqrt(x);
    return tc_x_k_edges(x, y);
}
static inline double tc_x_k0e_f64(double x) {
    double y = x <= 2 ? (TC_X_CHEB(tc_x_k0_near, x * x * 0.5 - 1) - tc_x_log_f64(x * 0.5) * tc_x_i0_f64(x)) * tc_x_exp_f64(x)
                      : TC_X_CHEB(tc_x_k0_far, 4 / x - 1) / __builtin_sqrt(x);
    return tc_x_k_edges(x, y);
}
static inline double tc_x_k1e_f64(double x) {
    double y = x <= 2 ? (TC_X_CHEB(tc_x_k1_near, x * x * 0.5 - 1) / x + tc_x_log_f64(x * 0.5) * tc_x_i1_f64(x)) * tc_x_exp_f64(x)
                      : TC_X_CHEB(tc_x_k1_far, 4 / x - 1) / __builtin_sqrt(x);
    return tc_x_k_edges(x, y);
}
/* ---- first and second kind; for large x: sqrt(2 / (pi x)) (P cos u - Q sin u) with u = x - (2 nu + 1) pi / 4 ---- */
static inline double tc_x_j0_f64(double x) {
    double a = __builtin_fabs(x);
    if (a <= 8) return TC_X_CHEB(tc_x_j0_near, a * a * 0.03125 - 1);
    double z = 8 / a, t = 2 * z * z - 1, s = tc_x_sin_f64(a), c = tc_x_cos_f64(a);
    return (TC_X_CHEB(tc_x_j0_p, t) * (c + s) - z * TC_X_CHEB(tc_x_j0_q, t) * (s - c)) * 0.56418958354775628695 / __builtin_sqrt(a);
}
static inline double tc_x_j1_f64(double x) {
    double a = __builtin_fabs(x);
    if (a <= 8) return TC_X_CHEB(tc_x_j1_near, a * a * 0.03125 - 1) * x;
    double z = 8 / a, t = 2 * z * z - 1, s = tc_x_sin_f64(a), c = tc_x_cos_f64(a);
    double y = (TC_X_CHEB(tc_x_j1_p, t) * (s - c) + z * TC_X_CHEB(tc_x_j1_q, t) * (s + c)) * 0.56418958354775628695 / __builtin_sqrt(a);
    return x < 0 ? -y : y;
}
static inline double tc_x_y_edges(double x, double y) { return x > 0 ? y : x == 0 ? -__builtin_inf() : __builtin_nan(""); }
static inline double tc_x_y0_f64(double x) {
    if (!(x > 8)) return tc_x_y_edges(x, TC_X_CHEB(tc_x_y0_near, x * x * 0.03125 - 1) + 0.63661977236758134308 * tc_x_log_f64(x) * tc_x_j0_f64(x));
    double z = 8 / x, t = 2 * z * z - 1, s = tc_x_sin_f64(x), c = tc_x_cos_f64(x);
    return tc_x_y_edges(x, (TC_X_CHEB(tc_x_j0_p, t) * (s - c) + z * TC_X_CHEB(tc_x_j0_q, t) * (c + s)) * 0.56418958354775628695 / __builtin_sqrt(x));
}
static inline double tc_x_y1_f64(double x) {
    if (!(x > 8))
        return tc_x_y_edges(x,
                            TC_X_CHEB(tc_x_y1_near, x * x * 0.03125 - 1) * x + 0.63661977236758134308 * (tc_x_log_f64(x) * tc_x_j1_f64(x) - 1 / x));
    double z = 8 / x, t = 2 * z * z - 1, s = tc_x_sin_f64(x), c = tc_x_cos_f64(x);
    return tc_x_y_edges(x, (z * TC_X_CHEB(tc_x_j1_q, t) * (s - c) - TC_X_CHEB(tc_x_j1_p, t) * (s + c)) * 0.56418958354775628695 / __builtin_sqrt(x));
}
static inline double tc_x_airy_ai_f64(double x) {
    double a = __builtin_fabs(x);
    if (x != x) return x;
    if (a <= 2) return TC_X_CHEB(tc_x_ai_near, x * 0.5);
    double r = __builtin_sqrt(a), z = a * r * (2.0 / 3), t = 2 * 1.88561808316412673174 / z - 1, q = __builtin_sqrt(r);
    if (a == __builtin_inf()) return __builtin_nan(""); /* as PyTorch */
    if (x > 0) return z < 800 ? TC_X_CHEB(tc_x_ai_far, t) * tc_x_exp_f64(-z) * 0.28209479177387814347 / q : 0;
    double s = tc_x_sin_f64(z), c = tc_x_cos_f64(z); /* sin and cos of z + pi / 4, times sqrt 2 */
    return (TC_X_CHEB(tc_x_ai_p, t) * (s + c) - TC_X_CHEB(tc_x_ai_q, t) / z * (c - s)) * 0.39894228040143267794 / q;
}
static inline double tc_x_spherical_j0_f64(double x) {
    if (!(__builtin_fabs(x) < __builtin_inf())) return x == x ? 0 : x;
    double z = x * x;
    return z < 0.25
               ? 1 + z * tc_fma(
                             z,
                             tc_fma(z,
                                    tc_fma(z,
                                           tc_fma(z, tc_fma(z, 1.60590438368216145994e-10, -2.50521083854417187751e-08), 2.75573192239858906526e-06),
                                           -1.98412698412698412698e-04),
                                    8.33333333333333333333e-03),
                             -1.66666666666666666667e-01)
               : tc_x_sin_f64(x) / x;
}
#undef TC_X_CHEB

/* Modified functions of the first kind for float32, without branches, with the number of coefficients that an error of 2^-36 needs. */
#define TC_X_SHORT(c, n, t) tc_x_cheb_short(c, n, t)
TC_X_INLINE double tc_x_cheb_short(const double *c, int n, double t) {
    double a = 0, b = 0;
    _Pragma("GCC unroll 24") for (int k = n - 1; k > 0; k--) {
        double d = tc_fma(2 * t, a, c[k] - b);
        b = a, a = d;
    }
    return tc_fma(t, a, c[0] - b);
}
TC_X_INLINE double tc_x_i_series_short(const double *c, double a) {
    double q = a * a * 0.25, y = c[20];
    _Pragma("GCC unroll 24") for (int k = 19; k >= 0; k--) y = tc_fma(y, q, c[k]);
    return y;
}
/* Up to 8 the series, beyond sqrt(a) exp(-a) times the function, each times what it takes to be the function or the function over exp(a). */
TC_X_INLINE double tc_x_i_short(const double *series, const double *cheb, double a, int scaled, double odd) {
    double n = a < 8 ? a : 8, f = a > 8 ? a : 8, e = tc_x_exp_lite(scaled ? -n : f > 200 ? 200 : f);
    double near = tc_x_i_series_short(series, n) * odd, far = TC_X_SHORT(cheb, 12, 16 / f - 1) / __builtin_sqrt(f);
    near = scaled ? near * e : near, far = scaled ? far : a < __builtin_inf() ? far * e : __builtin_nan("");
    return a <= 8 ? near : a > 8 ? far : a;
}
#undef TC_X_SHORT
#define I0(x, scaled) (float)tc_x_i_short(tc_x_i0_near, tc_x_i0_far, __builtin_fabsf(x), scaled, 1)
#define I1(x, scaled) (float)tc_x_i_short(tc_x_i1_near, tc_x_i1_far, __builtin_fabsf(x), scaled, 0.5 * __builtin_fabsf(x))
static inline float tc_x_i0_f32(float x) { return I0(x, 0); }
static inline float tc_x_i0e_f32(float x) { return I0(x, 1); }
static inline float tc_x_i1_f32(float x) {
    float y = I1(x, 0);
    return x < 0 ? -y : y;
}
static inline float tc_x_i1e_f32(float x) {
    float y = I1(x, 1);
    return x < 0 ? -y : y;
}
#undef I0
#undef I1

#define ROW(name) \
    static inline float tc_x_##name##_f32(float x) { return (float)tc_x_##name##_f64(x); }
ROW(k0) ROW(k0e) ROW(k1) ROW(k1e) ROW(j0) ROW(j1) ROW(y0) ROW(y1) ROW(airy_ai) ROW(spherical_j0)
#undef ROW

#endif
