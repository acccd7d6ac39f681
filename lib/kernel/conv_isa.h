/* Convolution loops per instruction set: the tables that conv_f32.isa.c and conv_f64.isa.c export, and what they work on.
 *
 * Lanes: a vector holds one value for each of `lanes` output channels. Images are turned from planes to [position][lanes] in strips that
 * stay in the cache; then every tap of every position is one vector operation, whatever stride, dilation and padding are. */
#ifndef TC_KERNEL_CONV_ISA_H
#define TC_KERNEL_CONV_ISA_H

#include <string.h>

#include "kernel/kernel.h"
#include "kernel/tree.h"

/* Output positions o, o + step, ... of one row (the last dimension) that read the same taps t, t + tstep, ...: position p reads column
 * i + p * istep + j * ioff for its tap number j. */
typedef struct {
    int64_t o, count, step;
    int64_t t, nt, tstep;
    int64_t i, istep, ioff;
} tc_conv_run;

/* A row of the kernel that is present in a row of the output: the input row (column 0, channel 0), and its first tap. */
typedef struct {
    const void *x;
    int64_t tap;
} tc_conv_line;

/* A row of the output for a block of lanes. */
typedef struct tc_conv_row {
    const tc_conv_line *line;
    int nlines;
    const tc_conv_run *run;
    int nruns;
    int64_t first, last;            /* only positions of [first, last) */
    int64_t cin, plane;             /* input channels of a group; elements from one to the next in a line's x */
    int64_t taps;                   /* of the kernel; k is tap * cin + channel */
    const void *w;                  /* forward: [channel][tap][lanes] */
    const void *bias;               /* forward: [lanes] or NULL */
    void *out;                      /* [position][lanes]: forward the result, weight gradient the gradient of it; of position `first` */
    void *acc;                      /* weight gradient: [k][lanes], the leaf that is being summed */
    uint8_t *any;                   /* weight gradient: by k, set where a term was added */
    int64_t channels;               /* row_last: x and out are [position][channels], w is [block of lanes][tap, then bias][lanes] */
    const tc_epilogue_plain *plain; /* row_last: or NULL; `more` from out[0] on */
} tc_conv_row;

/* ---- tiles: rows are output positions, columns output channels ----
 *
 *     out[to + channel * ld] = sum over taps and ci of x[base + tap's offset + ci] * w[k][channel]        ld 1: channels last
 *
 * The input lies channels last, so that the ci of a tap are neighbours. A tap in the padding is absent: the tile is computed with whatever
 * lies there, and the rows that lack it get their sums back. */
/* Positions 0 <= i < count that have the same taps: i reads from base + i * step on and is stored at to + i * pace. */
typedef struct {
    int64_t base, to, step, pace, count;
    int32_t first[3], last[3]; /* taps that are present, by dimension: [first, last); empty: no term at all */
    bool inside;               /* no tap is absent */
    bool mixed;                /* tiles may hold them together with mixed ones that have other taps */
} tc_conv_places;
static inline bool tc_conv_same_taps(const tc_conv_places *a, const tc_conv_places *b) {
    return !memcmp(a->first, b->first, sizeof a->first) && !memcmp(a->last, b->last, sizeof a->last);
}
typedef struct {
    int64_t offset;
    int64_t tap; /* k is tap * cin + ci */
    int32_t t[3];
} tc_conv_tap;
typedef struct {
    const void *x, *w; /* w: panels [panel][k, padded][nr] of the columns, as pack made them */
    const tc_conv_places *place;
    const tc_conv_tap *tap; /* ascending */
    int64_t nplaces, ntaps, rows, cols, cin, k;
    int64_t least, most; /* places whose base lies in [least, most] read memory only, absent taps included */
    void *out;
    int64_t ld;
    const void *bias;               /* of the first column, or NULL */
    const tc_epilogue_plain *plain; /* or NULL: on all; `more` from out[0] on, scale and shift from the first column on */
    const tc_epilogue *then;        /* or NULL: what follows plain, on finished rows row0 + r, columns col0 + c */
    int64_t row0, col0;
    int worker;
    void *work; /* 64-byte aligned, work_bytes(rows, cols, k, the kernel's taps) */
} tc_conv_block;

/* ---- weight gradient in tiles: rows are input channels, columns output channels, k positions; one tap ---- */
typedef struct {
    int64_t at, k, n; /* n positions: x from `at` on, a step apart; rows of dout from k on */
} tc_conv_grad_seg;
typedef struct {
    const void *x, *dout; /* plane of the first channel; [position of the leaf][nr] */
    int64_t plane, step;  /* elements from channel to channel, from position to position */
    const tc_conv_grad_seg *seg;
    int nseg, rows;
    const void *const *level; /* sums [row][nr] to merge with, in this order */
    int nlevels;
    void *out; /* [row][nr] */
} tc_conv_grad_tile;

/* ---- Winograd's transforms of a tile (conv_winograd.c), channel by channel ---- */
typedef struct {
    int64_t channels;
    float *terms;           /* terms[p * plane + channel], p = row * (m + 2) + column of (m + 2)^2: what input writes, output reads */
    int64_t plane;          /* elements */
    const float *const *in; /* input: the (m + 2)^2 positions */
    float *out;             /* output: position i of m^2 goes to out[to[i]]; a negative one is cropped */
    const int64_t *to;
    const float *bias;              /* or NULL */
    const tc_epilogue_plain *plain; /* or NULL: on all; `more` from out[0] on, bias, scale and shift from the first channel on */
} tc_winograd_tile;
typedef struct {
    const float *taps; /* nine of output channel l from taps[l * pitch] on, l < n <= lanes */
    int64_t pitch;
    int n;
    bool backwards; /* taps in the reverse order */
    float *out;     /* out[p * plane + l], 0 for l >= n */
    int64_t plane;
} tc_winograd_weights;
typedef struct tc_winograd_ops {
    int lanes;
    void (*weights)(int m, const tc_winograd_weights *w);
    void (*input)(int m, const tc_winograd_tile *t); /* m 2 or 4 */
    void (*output)(int m, const tc_winograd_tile *t);
} tc_winograd_ops;

/* Sums that a block of k terms keeps at once, besides the tile's own: levels of the tree and the leaf that meets them. */
static inline int tc_conv_sums(int64_t k) {
    int n = 0;
    for (int64_t l = (k + TC_LEAF - 1) / TC_LEAF; l > 1; l = (l + 1) / 2) n++;
    return n ? n + 1 : 0;
}
/* Do all weights of a block of several leaves stay in the second cache, of 1 MiB, with what else it reads and writes? */
enum { TC_CONV_WEIGHT_BYTES = 160 << 10 };
static inline bool tc_conv_by_tile(int64_t k, int64_t cols, size_t elem) { return k > TC_LEAF && k * cols <= TC_CONV_WEIGHT_BYTES / (int64_t)elem; }
typedef struct tc_conv_ops {
    int mr, nr; /* a tile */
    size_t (*work_bytes)(int64_t rows, int64_t cols, int64_t k, int64_t taps);
    void (*block)(const tc_conv_block *b);
    /* One panel of channels: out[(t * cin + ci) * nr + i] = w[i * w_cout + ci * w_cin + t], 0 from `cols` on. */
    void (*pack)(void *out, const void *w, int64_t w_cout, int64_t w_cin, int64_t cin, int64_t taps, int64_t cols);
    void (*grad_tile)(const tc_conv_grad_tile *t);
    /* out[i][c] = in[c][from + i] for nr planes, i < n */
    void (*grad_turn)(void *out, const void *const *in, int64_t from, int64_t n);
    int lanes;
    /* out[i][l] = in[l][from + i], i < n */
    void (*to_lanes)(void *out, const void *const *in, int64_t from, int64_t n);
    /* out[l * ld + i] = in[i][l], i < n, l < m <= lanes */
    void (*from_lanes)(void *out, int64_t ld, int m, const void *in, int64_t n);
    void (*row)(const tc_conv_row *r);
    /* A whole row of a depthwise convolution, all channels; the last block of lanes ends with the last channel (at least `lanes` of them,
     * a sum of one leaf). */
    void (*row_last)(const tc_conv_row *r);
    void (*grad_row)(const tc_conv_row *r);
    /* The leaf of index `leaf` of `n` sums: *have says which of level[i * n] .. hold something (NUMERICS 5), present whether acc does. */
    void (*push)(void *level, uint64_t *have, int64_t leaf, void *acc, bool present);
    void (*sum)(void *out, const void *level, uint64_t have);
} tc_conv_ops;

/* ---- bfloat16 by instructions for pairs (conv_bf16.c): positions that lie at one distance, their terms in steps ----
 *
 *     out[p * pace][c * ld] = bias[c] + sum over steps s and terms i of x[p * apart + step[s] + i] * w[c][s][i]
 *
 * of the positions p = 0 .. wide - 1 of each `line`; what `next` elements further on is stored is of the next line. Sums are one
 * chain, rounded once, or not at all (floats). */
typedef struct {
    const uint16_t *x;
    int64_t apart, count, line, wide; /* count: positions, those between lines included */
    const int64_t *step;
    int64_t nsteps, depth; /* terms of a step: an even number, at most 32 */
    const uint32_t *w;     /* [panel][step][depth / 2][cols of a panel] words: two terms, the first one lower */
    int64_t panel, cols;   /* words of a panel; channels */
    bool floats;           /* bias and out are float32, and plain is NULL; else bfloat16 */
    const void *bias;      /* or NULL */
    void *out;
    int64_t pace, next, ld;
    const tc_epilogue_plain *plain; /* or NULL: on all; `more` from out[0] on, scale and shift from the first channel on */
    const tc_epilogue *then;        /* or NULL: what follows, on finished positions, number row0 + i, and all channels, from col0 on */
    int64_t row0, col0;
    int worker;
    float *sums; /* room for two tiles */
} tc_conv_pairs;
typedef struct tc_conv_pairs_ops {
    int rows, cols; /* a tile; cols: of a panel */
    void (*run)(const tc_conv_pairs *j);
} tc_conv_pairs_ops;

#endif
