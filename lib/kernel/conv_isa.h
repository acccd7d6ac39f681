/* The inner loops of convolutions for each instruction set (tables exported by conv_*.isa.c and winograd.isa.c), and the structures they take. Strides
 * and offsets are in elements.
 *
 * Lanes: a vector holds one value for each of `lanes` output channels. Strips of the image that fit L2 are transposed from planes to [position][lanes];
 * then each tap of each position is one vector fma, whatever stride, dilation and padding are. */
#ifndef TC_KERNEL_CONV_ISA_H
#define TC_KERNEL_CONV_ISA_H

#include <string.h>

#include "kernel/kernel.h"
#include "kernel/tree.h"

/* `count` output positions o, o + step, ... of a row (the last dimension) that have the same nt taps t, t + tstep, ...: position number p reads column
 * i + p * istep + j * ioff of the input for tap number j. */
typedef struct {
    int64_t o, count, step;
    int64_t t, nt, tstep;
    int64_t i, istep, ioff;
} tc_conv_run;

/* A row of the kernel that reads inside the image for some output row: the input row it reads (column 0, channel 0), and the number of its first tap. */
typedef struct {
    const void *x;
    int64_t tap;
} tc_conv_line;

/* One output row for a block of lanes. */
typedef struct tc_conv_row {
    const tc_conv_line *line;
    int nlines;
    const tc_conv_run *run;
    int nruns;
    int64_t first, last;            /* positions [first, last) only */
    int64_t cin, plane;             /* input channels of a group; from one to the next in a line's x */
    int64_t taps;                   /* of the kernel; k is tap * cin + channel */
    const void *w;                  /* forward: [channel][tap][lanes] */
    const void *bias;               /* forward: [lanes] or NULL */
    void *out;                      /* [position][lanes] from position `first` on: forward the result, weight gradient the gradient of the result */
    void *acc;                      /* weight gradient: [k][lanes], sums of the current leaf */
    uint8_t *any;                   /* weight gradient: any[k] is set where a term was added */
    int64_t channels;               /* row_last: x and out are [position][channels], w is [block of lanes][taps, then bias][lanes] */
    const tc_epilogue_plain *plain; /* row_last: or NULL; its `more` begins at out[0] */
} tc_conv_row;

/* ---- tiles: rows are output positions, columns output channels ----
 *
 *     out[to + channel * ld] = sum over taps and ci of x[base + offset of the tap + ci] * w[k][channel]       ld 1: out is channels last
 *
 * The input is channels last, so that the ci of a tap are contiguous. A tap in the padding is absent for some rows of a tile: the tile computes
 * with whatever lies at that address, then restores the sums of the rows that lack the tap. */
/* `count` positions with the same taps: number i reads from base + i * step on and is stored at to + i * out_step. */
typedef struct {
    int64_t base, to, step, out_step, count;
    int32_t first[3], last[3]; /* the taps that are present, [first, last) in each dimension; empty: no term at all */
    bool inside;               /* all taps are present */
    bool mixed;                /* may share a tile with other mixed positions, although those have other taps */
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
    int64_t least, most; /* places whose base is in [least, most] read inside the buffer of x even for absent taps */
    void *out;
    int64_t ld;
    const void *bias;               /* from the first column on, or NULL */
    const tc_epilogue_plain *plain; /* or NULL; its `more` begins at out[0], scale and shift at the first column */
    const tc_epilogue *epilogue;    /* or NULL: called after plain for finished rows row0 + r, columns col0 + c */
    int64_t row0, col0;
    int worker;
    void *work; /* 64-byte aligned, work_bytes(rows, cols, k, the kernel's taps) */
} tc_conv_block;

/* ---- weight gradient in tiles: rows are input channels, columns output channels, k positions; one tap ---- */
typedef struct {
    int64_t at, k, n; /* n positions: they read x[at], x[at + step], ...; rows of dout from k on */
} tc_conv_grad_segment;
typedef struct {
    const void *x, *dout; /* x: the plane of the first channel; dout: [position of the leaf][nr] */
    int64_t plane, step;  /* elements from channel to channel, from position to position */
    const tc_conv_grad_segment *segments;
    int nsegments, rows;
    const void *const *level; /* partial sums [row][nr] to merge with, in this order */
    int nlevels;
    void *out; /* [row][nr] */
} tc_conv_grad_tile;

/* ---- Winograd's transforms of a tile of m x m results (conv_winograd.c), a lane for each channel ---- */
typedef struct {
    int64_t channels;
    float *terms; /* terms[p * plane + channel], p = row * (m + 2) + column: written by input, read by output */
    int64_t plane;
    const float *const *in; /* input: the channels of each of the (m + 2)^2 positions */
    float *out;             /* output: result i of m^2 goes to out[to[i]]; where to[i] is negative it lies outside and is dropped */
    const int64_t *to;
    const float *bias;              /* or NULL */
    const tc_epilogue_plain *plain; /* or NULL; its `more` begins at out[0]; bias, scale and shift at the first channel */
} tc_winograd_tile;
typedef struct {
    const float *taps; /* the nine taps of output channel l begin at taps[l * pitch], l < n <= lanes */
    int64_t pitch;
    int n;
    bool backwards; /* use the taps in reverse order */
    float *out;     /* out[p * plane + l]; 0 for l >= n */
    int64_t plane;
} tc_winograd_weights;
typedef struct tc_winograd_ops {
    int lanes;
    void (*weights)(int m, const tc_winograd_weights *w);
    void (*input)(int m, const tc_winograd_tile *t); /* m 2 or 4 */
    void (*output)(int m, const tc_winograd_tile *t);
} tc_winograd_ops;

/* How many partial sums of a tile are kept at once for k terms: the levels of the tree, and the leaf that is merged with them. */
static inline int tc_conv_sums(int64_t k) {
    int n = 0;
    for (int64_t l = (k + TC_LEAF - 1) / TC_LEAF; l > 1; l = (l + 1) / 2) n++;
    return n ? n + 1 : 0;
}
/* Do all weights of a block stay in L2 (of 1 MiB) beside the other data, so that a tile can take all leaves in turn? */
enum { TC_CONV_WEIGHT_BYTES = 160 << 10 };
static inline bool tc_conv_by_tile(int64_t k, int64_t cols, size_t elem) { return k > TC_LEAF && k * cols <= TC_CONV_WEIGHT_BYTES / (int64_t)elem; }
typedef struct tc_conv_ops {
    int mr, nr; /* rows and columns of a register tile */
    size_t (*work_bytes)(int64_t rows, int64_t cols, int64_t k, int64_t taps);
    void (*block)(const tc_conv_block *b);
    /* Packs one panel of output channels: out[(t * cin + ci) * nr + i] = w[i * w_cout + ci * w_cin + t]; 0 for i >= cols. */
    void (*pack)(void *out, const void *w, int64_t w_cout, int64_t w_cin, int64_t cin, int64_t taps, int64_t cols);
    void (*grad_tile)(const tc_conv_grad_tile *t);
    /* out[i][c] = in[c][from + i], for nr planes, i < n */
    void (*grad_transpose)(void *out, const void *const *in, int64_t from, int64_t n);
    int lanes; /* of a vector; the rest is for convolution by lanes */
    /* out[i][l] = in[l][from + i], i < n */
    void (*to_lanes)(void *out, const void *const *in, int64_t from, int64_t n);
    /* out[l * ld + i] = in[i][l], i < n, l < m <= lanes */
    void (*from_lanes)(void *out, int64_t ld, int m, const void *in, int64_t n);
    void (*row)(const tc_conv_row *r);
    /* A whole row of a depthwise convolution over channels-last images, all channels. There are at least `lanes` channels; the last block of lanes
     * overlaps the one before it, to end with the last channel. Sums are one leaf. */
    void (*row_last)(const tc_conv_row *r);
    void (*grad_row)(const tc_conv_row *r);
    /* The reduction tree of a vector of sums. push adds leaf number `leaf`, which is in acc, and clears acc; present: it has a term. Bit i of *have says
     * that level[i] holds a sum. sum merges what is left. */
    void (*push)(void *level, uint64_t *have, int64_t leaf, void *acc, bool present);
    void (*sum)(void *out, const void *level, uint64_t have);
} tc_conv_ops;

/* ---- bfloat16 by dot products of pairs (conv_bf16.c): positions at a constant distance in memory, their terms in steps ----
 *
 *     out[p * out_step + c * ld] = bias[c] + sum over steps s and terms i of x[p * x_step + step[s] + i] * w[c][s][i]
 *
 * Positions go on over several output lines: of each `line` positions the first `wide` are results; the others lie between two lines and are not stored;
 * results of the next line are `next` elements further on. A sum is one chain over k, rounded once, or not at all (f32_results). */
typedef struct {
    const uint16_t *x;
    int64_t x_step, count, line, wide; /* count: of all positions, dropped ones included */
    const int64_t *step;
    int64_t nsteps, depth; /* depth: terms of a step, an even number, at most 32 */
    const uint32_t *w;     /* [panel][step][depth / 2][column of the panel] words of two terms, the first one in the low half */
    int64_t panel, cols;   /* words of a panel; output channels */
    bool f32_results;      /* bias and out are float32, and plain is NULL; else bfloat16 */
    const void *bias;      /* or NULL */
    void *out;
    int64_t out_step, next, ld;
    const tc_epilogue_plain *plain; /* or NULL; its `more` begins at out[0], scale and shift at the first channel */
    const tc_epilogue *epilogue;    /* or NULL: called after plain for finished positions row0 + i and all channels, from col0 on */
    int64_t row0, col0;
    int worker;
    float *sums; /* two tiles */
} tc_conv_pairs;
typedef struct tc_conv_pairs_ops {
    int rows, cols; /* of a register tile; a panel has cols columns */
    void (*run)(const tc_conv_pairs *j);
} tc_conv_pairs_ops;

#endif
