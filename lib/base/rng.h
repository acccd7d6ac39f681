/* Random streams: PyTorch's CPU generator bit for bit (mt19937 with its cached normal), and Philox4x32-10 for training.
 *
 *     tc_generator g; tc_generator_seed(&g, 0); tc_rng_u32(&g); tc_rng_uniform_f32(&g);
 *
 * In training (tc-numerics(7), "Random numbers") a generator is in Philox mode: nothing is drawn in order; the number at element i of a random
 * operator's result depends on (seed, step, micro-batch, call) and i only. A kernel asks tc_generator_philox() first. */
#ifndef TC_BASE_RNG_H
#define TC_BASE_RNG_H

#include "base/status.h"

#define TC_MT_N 624
typedef struct tc_generator {
    uint64_t seed; /* as given to manual_seed */
    uint32_t state[TC_MT_N];
    int left, next;             /* PyTorch's: outputs left before the state is renewed, next output */
    bool has_double, has_float; /* the spare of a pair of normals */
    double spare_double;
    float spare_float;
    /* Philox mode, set by the training loop; call is set by the executor before each random node, else counted up here. */
    bool philox;
    uint64_t step;
    uint32_t micro, call;
} tc_generator;

void tc_generator_seed(tc_generator *g, uint64_t seed);                  /* torch.manual_seed: the low 32 bits start mt19937; leaves Philox mode */
void tc_generator_seed_key(tc_generator *g, const uint32_t *key, int n); /* mt19937's init_by_array: n >= 1 words, as CPython's random */
void tc_generator_start_step(tc_generator *g, uint64_t seed, uint64_t step, uint32_t micro); /* enters Philox mode, call 0 */

/* torch.Generator.get_state / set_state: the 5056 bytes that PyTorch stores in checkpoints. */
enum { TC_GENERATOR_STATE_BYTES = 5056 };
void tc_generator_get_state(const tc_generator *g, unsigned char out[TC_GENERATOR_STATE_BYTES]);
tc_status tc_generator_set_state(tc_generator *g, const unsigned char *bytes, size_t n);

uint32_t tc_rng_u32(tc_generator *g);
uint64_t tc_rng_u64(tc_generator *g);       /* first draw in the high half */
float tc_rng_uniform_f32(tc_generator *g);  /* [0, 1): 24 bits of a 32-bit draw */
double tc_rng_uniform_f64(tc_generator *g); /* [0, 1): 53 bits of a 64-bit draw */
/* The same as n single draws in order, but faster. */
void tc_rng_fill_u32(tc_generator *g, uint32_t *out, int64_t n);
void tc_rng_skip_u32(tc_generator *g, int64_t n); /* as n draws whose results nobody wants */
double tc_rng_normal(tc_generator *g);            /* standard normal by Box-Muller in float64, the second of a pair kept */
/* Uniform integer in [0, range): 32-bit draw for ranges below 2^28, 64-bit from there (as PyTorch 2.15); range 0 means all 64 bits. */
uint64_t tc_rng_below(tc_generator *g, uint64_t range);
void tc_rng_permutation(tc_generator *g, int64_t n, int64_t *out); /* torch.randperm(n) */

/* ---- Philox4x32-10 (Salmon et al. 2011) ---- */
typedef struct {
    uint32_t v[4];
} tc_philox4;
tc_philox4 tc_philox(uint64_t key, uint64_t counter_lo, uint64_t counter_hi);
/* True in Philox mode; *out_key is this call's key, and the next call will have another. Element i of a result uses word
 * i % 4 of tc_philox(key, i / 4, 0) for 32 bits, words (i % 2) * 2 and + 1 of tc_philox(key, i / 2, 1) for 64 bits. */
bool tc_generator_philox(tc_generator *g, uint64_t *out_key);

#endif
