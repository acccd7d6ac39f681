/* mt19937 as at::CPUGeneratorImpl draws from it, and Philox4x32-10. See rng.h. */
#include "base/rng.h"

#include <math.h>
#include <string.h>

enum { MT_M = 397 };

void tc_generator_seed(tc_generator *g, uint64_t seed) {
    memset(g, 0, sizeof *g);
    g->seed = seed;
    g->state[0] = (uint32_t)seed;
    for (uint32_t i = 1; i < TC_MT_N; i++) g->state[i] = 1812433253u * (g->state[i - 1] ^ (g->state[i - 1] >> 30)) + i;
    g->left = 1;
    g->next = 0;
}

void tc_generator_seed_key(tc_generator *g, const uint32_t *key, int n) {
    uint32_t *s = g->state;
    tc_generator_seed(g, 19650218);
    int i = 1;
    for (int k = 0; k < (n > TC_MT_N ? n : TC_MT_N); k++) {
        s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + key[k % n] + (uint32_t)(k % n);
        if (++i == TC_MT_N) s[0] = s[TC_MT_N - 1], i = 1;
    }
    for (int k = 0; k < TC_MT_N - 1; k++) {
        s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - (uint32_t)i;
        if (++i == TC_MT_N) s[0] = s[TC_MT_N - 1], i = 1;
    }
    s[0] = 0x80000000u;
}

/* Four words at a time: the words read are at least 1 and 227 ahead of those written. */
typedef uint32_t words __attribute__((vector_size(16)));

static words load(const uint32_t *p) {
    words w;
    memcpy(&w, p, sizeof w);
    return w;
}
static void save(uint32_t *p, words w) { memcpy(p, &w, sizeof w); }

static words twist4(words u, words v) { return (((u & 0x80000000u) | (v & 0x7fffffffu)) >> 1) ^ (-(v & 1) & 0x9908b0dfu); }
static uint32_t twist(uint32_t u, uint32_t v) { return twist4((words){u}, (words){v})[0]; }

static words temper4(words y) {
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}
static uint32_t temper(uint32_t y) { return temper4((words){y})[0]; }

/* s[i] of [from, to), from the words `ahead` of them. */
static void twist_range(uint32_t *s, int from, int to, int ahead) {
    int i = from;
    for (; i + 4 <= to; i += 4) save(s + i, load(s + i + ahead) ^ twist4(load(s + i), load(s + i + 1)));
    for (; i < to; i++) s[i] = s[i + ahead] ^ twist(s[i], s[i + 1]);
}

static void renew(tc_generator *g) {
    uint32_t *s = g->state;
    twist_range(s, 0, TC_MT_N - MT_M, MT_M);
    twist_range(s, TC_MT_N - MT_M, TC_MT_N - 1, MT_M - TC_MT_N);
    s[TC_MT_N - 1] = s[MT_M - 1] ^ twist(s[TC_MT_N - 1], s[0]);
    g->left = TC_MT_N;
    g->next = 0;
}

uint32_t tc_rng_u32(tc_generator *g) {
    if (--g->left <= 0) renew(g);
    return temper(g->state[g->next++]);
}

void tc_rng_fill_u32(tc_generator *g, uint32_t *out, int64_t n) {
    while (n > 0) {
        if (g->left <= 1) *out++ = tc_rng_u32(g), n--; /* renews */
        int take = n < g->left - 1 ? (int)n : g->left - 1, i = 0;
        const uint32_t *s = g->state + g->next;
        for (; i + 4 <= take; i += 4) save(out + i, temper4(load(s + i)));
        for (; i < take; i++) out[i] = temper(s[i]);
        g->left -= take;
        g->next += take;
        out += take;
        n -= take;
    }
}

void tc_rng_skip_u32(tc_generator *g, int64_t n) {
    while (n > 0) {
        if (g->left <= 1) (void)tc_rng_u32(g), n--; /* renews */
        const int take = n < g->left - 1 ? (int)n : g->left - 1;
        g->left -= take;
        g->next += take;
        n -= take;
    }
}

uint64_t tc_rng_u64(tc_generator *g) {
    uint64_t hi = tc_rng_u32(g);
    return hi << 32 | tc_rng_u32(g);
}

static float unit(uint32_t w) { return (float)(int32_t)(w & 0xffffffu) * 0x1p-24f; }
float tc_rng_uniform_f32(tc_generator *g) { return unit(tc_rng_u32(g)); }

double tc_rng_uniform_f64(tc_generator *g) { return (double)(tc_rng_u64(g) & ((UINT64_C(1) << 53) - 1)) * 0x1p-53; }

double tc_rng_normal(tc_generator *g) {
    if (g->has_double) {
        g->has_double = false;
        return g->spare_double;
    }
    double u1 = tc_rng_uniform_f64(g), u2 = tc_rng_uniform_f64(g);
    double r = sqrt(-2.0 * log1p(-u2)), theta = 2.0 * 3.14159265358979323846 * u1;
    g->spare_double = r * sin(theta);
    g->has_double = true;
    return r * cos(theta);
}

uint64_t tc_rng_below(tc_generator *g, uint64_t range) {
    if (range == 0) return tc_rng_u64(g);
    return range >= (UINT64_C(1) << 28) ? tc_rng_u64(g) % range : tc_rng_u32(g) % range;
}

void tc_rng_permutation(tc_generator *g, int64_t n, int64_t *out) {
    for (int64_t i = 0; i < n; i++) out[i] = i;
    for (int64_t i = 0; i < n - 1; i++) {
        uint64_t left = (uint64_t)(n - i);
        /* PyTorch draws 32 bits below 2^32/20 elements and 64 above. */
        uint64_t draw = n < (int64_t)(UINT32_MAX / 20) ? tc_rng_u32(g) : tc_rng_u64(g);
        int64_t j = i + (int64_t)(draw % left), t = out[i];
        out[i] = out[j];
        out[j] = t;
    }
}

/* ---- state: CPUGeneratorImplState = legacy THGenerator state, then the float spare ----
 * byte 0 seed u64 | 8 left i32 | 12 seeded i32 | 16 next u64 | 24 state u64[624] | 5016 normal_x f64 | 5024 normal_y f64
 * | 5032 normal_rho f64 | 5040 normal_is_valid i32 | 5048 next_float_normal f32 | 5052 its validity u8 */
enum { AT_LEFT = 8, AT_SEEDED = 12, AT_NEXT = 16, AT_STATE = 24, AT_Y = 5024, AT_VALID = 5040, AT_FLOAT = 5048, AT_FLOAT_VALID = 5052 };

void tc_generator_get_state(const tc_generator *g, unsigned char out[TC_GENERATOR_STATE_BYTES]) {
    memset(out, 0, TC_GENERATOR_STATE_BYTES);
    int32_t left = g->left, one = 1, valid = g->has_double;
    uint64_t next = (uint64_t)g->next;
    memcpy(out, &g->seed, 8);
    memcpy(out + AT_LEFT, &left, 4);
    memcpy(out + AT_SEEDED, &one, 4);
    memcpy(out + AT_NEXT, &next, 8);
    for (int i = 0; i < TC_MT_N; i++) {
        uint64_t w = g->state[i];
        memcpy(out + AT_STATE + 8 * i, &w, 8);
    }
    if (g->has_double) memcpy(out + AT_Y, &g->spare_double, 8);
    memcpy(out + AT_VALID, &valid, 4);
    if (g->has_float) memcpy(out + AT_FLOAT, &g->spare_float, 4);
    out[AT_FLOAT_VALID] = g->has_float;
}

tc_status tc_generator_set_state(tc_generator *g, const unsigned char *bytes, size_t n) {
    if (n != TC_GENERATOR_STATE_BYTES) return tc_error(TC_CONTENT, "generator state of %zu bytes, expected %d", n, TC_GENERATOR_STATE_BYTES);
    tc_generator r = {0};
    int32_t left, valid;
    uint64_t next;
    memcpy(&r.seed, bytes, 8);
    memcpy(&left, bytes + AT_LEFT, 4);
    memcpy(&next, bytes + AT_NEXT, 8);
    memcpy(&valid, bytes + AT_VALID, 4);
    if (left < 1 || left > TC_MT_N || next > TC_MT_N || (left > 1 && (uint64_t)left + next != TC_MT_N + 1 && (uint64_t)left + next != TC_MT_N))
        return tc_error(TC_CONTENT, "generator state is damaged: left %d, next %llu", (int)left, (unsigned long long)next);
    r.left = left;
    r.next = (int)next;
    for (int i = 0; i < TC_MT_N; i++) {
        uint64_t w;
        memcpy(&w, bytes + AT_STATE + 8 * i, 8);
        r.state[i] = (uint32_t)w;
    }
    r.has_double = valid != 0;
    if (r.has_double) memcpy(&r.spare_double, bytes + AT_Y, 8);
    r.has_float = bytes[AT_FLOAT_VALID] != 0;
    if (r.has_float) memcpy(&r.spare_float, bytes + AT_FLOAT, 4);
    *g = r;
    return NULL;
}

/* ---- Philox ---- */

tc_philox4 tc_philox(uint64_t key, uint64_t lo, uint64_t hi) {
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    uint32_t c0 = (uint32_t)lo, c1 = (uint32_t)(lo >> 32), c2 = (uint32_t)hi, c3 = (uint32_t)(hi >> 32);
    for (int i = 0; i < 10; i++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return (tc_philox4){{c0, c1, c2, c3}};
}

/* The key of one random operator in one training step: a Philox block of (step, micro, call) under the seed. */
static uint64_t philox_key(uint64_t seed, uint64_t step, uint32_t micro, uint32_t call) {
    tc_philox4 r = tc_philox(seed, step, (uint64_t)call << 32 | micro);
    return (uint64_t)r.v[1] << 32 | r.v[0];
}

void tc_generator_start_step(tc_generator *g, uint64_t seed, uint64_t step, uint32_t micro) {
    g->philox = true;
    g->seed = seed;
    g->step = step;
    g->micro = micro;
    g->call = 0;
}

bool tc_generator_philox(tc_generator *g, uint64_t *out_key) {
    if (!g->philox) return false;
    *out_key = philox_key(g->seed, g->step, g->micro, g->call++);
    return true;
}
