/* Inside lib/sym: the nodes of expressions and the context that owns them. */
#ifndef TC_SYM_NODE_H
#define TC_SYM_NODE_H

#include "sym/sym.h"

/* An int sum is ADD of terms; a term is CONST, an atom, or MUL [CONST] atom atom ... with atoms in order of id, a power being a repeated
 * atom. `raw` marks an ADD or MUL that overflow or size kept from being expanded: it counts as an atom. A sum of more than SYM_MAX_TERMS
 * terms is one of such raw sums (chunks), so that a sum that grows by a term copies SYM_MAX_TERMS of them at most. */
struct tc_symnode {
    tc_symop op;
    tc_symtype type;
    uint32_t id; /* order of creation: the canonical order of operands */
    bool raw;
    bool positive; /* VAR: written as positive=True */
    int n;         /* operands; VAR: index */
    uint64_t hash;
    tc_symctx *ctx;
    const char *name; /* VAR */
    union {
        int64_t i;
        double f;
    };
    int64_t lo, hi; /* VAR: the range; else cache of the interval */
    uint32_t range_gen, simp_gen;
    uint8_t range_tight; /* recursion depth at which the interval was found; at greater depth less was tried */
    uint32_t weight;     /* number of constants and symbols when written out, shared parts counted each time; SYM_MAX_WEIGHT + 1: more */
    uint32_t depth;      /* levels when written */
    tc_sym simple;       /* cache of tc_sym_simplify */
    tc_sym arg[];
};
typedef struct tc_symnode node;

typedef struct {
    tc_sym key;
    int64_t lo, hi;
} sym_fact; /* a sum without constant lies in lo..hi */
typedef struct {
    tc_sym atom, by;
} sym_equal;

enum { SYM_SMALL = 64, SYM_MAX_WEIGHT = 1 << 17, SYM_MAX_DEPTH = 500 };
struct tc_symctx {
    tc_arena arena;
    node **table;
    size_t slots, count;
    TC_VEC(node *) vars;
    tc_map by_name;
    uint32_t gen; /* counts changes of ranges and facts, which invalidate caches */
    TC_VEC(sym_fact) facts;
    TC_VEC(sym_equal) equals;
    TC_VEC(tc_sym) unsolved; /* assumed integer equations that cannot be solved for an atom yet; tried again when facts are added */
    TC_VEC(tc_sym) assumed;
    bool too_large;          /* an expression has more than SYM_MAX_WEIGHT numbers or SYM_MAX_DEPTH levels */
    int tight;               /* current depth of the recursion that bounds parts of sums */
    tc_sym small[SYM_SMALL]; /* the small integers from 0 on, made on demand */
};

/* Precedence of Python's operators, for writing and reading. */
enum { P_TERNARY, P_OR, P_AND, P_NOT, P_COMPARE, P_BIT_OR, P_BIT_XOR, P_BIT_AND, P_SHIFT, P_SUM, P_PRODUCT, P_SIGN, P_POWER, P_ATOM };

/* Hash-consing constructor without simplification. */
tc_sym sym_node(tc_symctx *c, tc_symop op, tc_symtype type, int n, const tc_sym *args, bool raw);

/* ---- sums of products (poly.c) ---- */
#define SYM_MAX_TERMS 256
typedef struct {
    int64_t c;
    tc_sym key;
} sym_term;                                                             /* key: product of atoms without coefficient; NULL: the constant */
int sym_terms(tc_sym s, sym_term *out, int max);                        /* terms of an int expression (a chunk is one); -1 when more than max */
tc_sym sym_from_terms(tc_symctx *c, sym_term *t, int n);                /* sorts, merges; NULL on overflow */
tc_sym sym_poly_add(tc_symctx *c, tc_sym a, tc_sym b, int64_t scale_b); /* a + scale_b * b */
tc_sym sym_difference(tc_symctx *c, tc_sym a, tc_sym b);                /* a - b, subtracting chunks term by term */
tc_sym sym_poly_mul(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym sym_poly_divide(tc_symctx *c, tc_sym a, tc_sym b); /* the quotient when b divides a for all values, else NULL */
int64_t sym_poly_gcd(tc_sym a);                           /* of the coefficients; 0 for 0 */

bool sym_is_atom(tc_sym s);
int64_t sym_floordiv_i64(int64_t a, int64_t b);
int64_t sym_mod_i64(int64_t a, int64_t b);
tc_sym sym_relation(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b); /* canonical EQ, NE, LT, LE of ints */
/* rebuilds s with new operands, through the simplifying constructors */
tc_sym sym_rebuild(tc_symctx *c, tc_sym s, const tc_sym *args);

#endif
