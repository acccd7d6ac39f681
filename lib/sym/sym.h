/* Symbolic numbers: sizes of dimensions, and the small host arithmetic on them (int, float, bool).
 *
 * Expressions are hash-consed in a tc_symctx and simplified when built, so equal expressions are equal pointers:
 *     tc_sym n = tc_sym_add(c, B, tc_sym_mul(c, two, T));   n == tc_sym_add(c, tc_sym_mul(c, T, two), B)
 * Integers are kept as a sum of products of atoms (canonical order); division, modulo, min, max and float functions are atoms.
 * Names of operations are those of PyTorch's and SymPy's srepr form, which tc_sym_parse_srepr reads and tc_sym_srepr writes. */
#ifndef TC_SYM_SYM_H
#define TC_SYM_SYM_H

#include "base/mem.h"

typedef struct tc_symctx tc_symctx;
typedef const struct tc_symnode *tc_sym; /* owned by its context */

typedef enum { TC_SYM_INT, TC_SYM_FLOAT, TC_SYM_BOOL } tc_symtype;

typedef enum {
    TC_S_CONST,
    TC_S_VAR,
    /* int */
    TC_S_ADD,
    TC_S_MUL,
    TC_S_FLOORDIV,
    TC_S_MOD /* sign of the divisor */,
    TC_S_POW,
    TC_S_MIN,
    TC_S_MAX,
    TC_S_ABS,
    TC_S_TRUNC /* float to int */,
    TC_S_FLOOR,
    TC_S_CEIL,
    TC_S_ROUND /* half to even */,
    TC_S_LSHIFT,
    TC_S_RSHIFT,
    TC_S_AND_BITS,
    TC_S_OR_BITS,
    TC_S_XOR_BITS,
    /* float: evaluated in double, operand by operand, in the order written (never re-associated) */
    TC_S_TOFLOAT,
    TC_S_FADD,
    TC_S_FSUB,
    TC_S_FMUL,
    TC_S_FDIV /* also int / int, correctly rounded */,
    TC_S_FPOW,
    TC_S_FNEG,
    TC_S_FMOD,
    TC_S_FFLOORDIV,
    TC_S_FMIN,
    TC_S_FMAX,
    TC_S_FABS,
    TC_S_SQRT,
    TC_S_EXP,
    TC_S_LOG,
    TC_S_LOG2,
    TC_S_SIN,
    TC_S_COS,
    TC_S_TAN,
    TC_S_TANH,
    /* bool */
    TC_S_EQ,
    TC_S_NE,
    TC_S_LT,
    TC_S_LE,
    TC_S_AND,
    TC_S_OR,
    TC_S_NOT,
    TC_S_WHERE /* bool, a, b */
} tc_symop;

tc_symctx *tc_symctx_create(void);
void tc_symctx_destroy(tc_symctx *c);
#define TC_SYM_NO_LO INT64_MIN
#define TC_SYM_NO_HI INT64_MAX

/* A new symbol, or the existing one of that name; its range is intersected with lo..hi (both included). Sizes have lo >= 0. */
tc_sym tc_sym_var(tc_symctx *c, const char *name, tc_symtype type, int64_t lo, int64_t hi);
tc_sym tc_sym_find(const tc_symctx *c, const char *name); /* NULL when absent */
/* Renames symbols: var[i] becomes name[i]; an existing symbol of that name takes its old name. */
void tc_sym_rename(tc_symctx *c, const tc_sym *var, const char *const *name, size_t n);
void tc_sym_set_range(tc_symctx *c, tc_sym var, int64_t lo, int64_t hi);
size_t tc_sym_var_count(const tc_symctx *c);
tc_sym tc_sym_var_at(const tc_symctx *c, size_t i); /* in order of creation; its index is tc_sym_var_index */

tc_sym tc_sym_int(tc_symctx *c, int64_t v);
tc_sym tc_sym_float(tc_symctx *c, double v);
tc_sym tc_sym_bool(tc_symctx *c, bool v);
/* The general constructor; a, b, d as the operation needs (NULL otherwise). Simplifies, folds constants. NULL only on
 * impossible types (TC_BUG) ; integer overflow while folding leaves the expression unfolded. */
tc_sym tc_sym_op(tc_symctx *c, tc_symop op, tc_sym a, tc_sym b, tc_sym d);
tc_sym tc_sym_add(tc_symctx *c, tc_sym a, tc_sym b);
/* The sum of n >= 1 ints, equal for any order of the operands. Takes n log n time. */
tc_sym tc_sym_sum(tc_symctx *c, const tc_sym *s, int n);
tc_sym tc_sym_sub(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym tc_sym_mul(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym tc_sym_product(tc_symctx *c, const tc_sym *s, int n); /* of n ints; 1 for none */
tc_sym tc_sym_neg(tc_symctx *c, tc_sym a);
tc_sym tc_sym_floordiv(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym tc_sym_mod(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym tc_sym_ceildiv(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym tc_sym_min(tc_symctx *c, tc_sym a, tc_sym b);
tc_sym tc_sym_max(tc_symctx *c, tc_sym a, tc_sym b);

/* An error if any expression of the context has more than 500 levels or, written out, 131072 numbers, since passes walk them at each use. */
tc_status tc_sym_check(const tc_symctx *c);

tc_symtype tc_sym_type(tc_sym s);
tc_symop tc_sym_opcode(tc_sym s);
int tc_sym_arity(tc_sym s); /* sums and products have any number of operands */
tc_sym tc_sym_arg(tc_sym s, int i);
int tc_sym_var_index(tc_sym s); /* of a TC_S_VAR */
const char *tc_sym_var_name(tc_sym s);
bool tc_sym_const_int(tc_sym s, int64_t *out);
bool tc_sym_const_float(tc_sym s, double *out); /* also of an int constant */
bool tc_sym_const_bool(tc_sym s, bool *out);
bool tc_sym_is_int(tc_sym s, int64_t v); /* the constant v */

bool tc_sym_contains(tc_sym s, tc_sym part);
bool tc_sym_holds_data(tc_sym s); /* does s contain an unbacked symbol, u0, u1, ... zuf0? Recognised by name, as in PyTorch */

/* Interval of an int expression from the ranges of its symbols. */
void tc_sym_range(tc_symctx *c, tc_sym s, int64_t *lo, int64_t *hi);
/* A bool expression: 1 always true, 0 always false, -1 depends. Uses ranges, canonical differences and assumed facts. */
int tc_sym_known(tc_symctx *c, tc_sym cond);
bool tc_sym_differ(tc_symctx *c, tc_sym a, tc_sym b); /* are a and b known to be unequal? */
/* From now on cond is taken as true (a guard was recorded): equalities substitute, inequalities narrow ranges. */
void tc_sym_assume(tc_symctx *c, tc_sym cond);
/* The same for data-dependent numbers, when a check on them runs: equalities narrow ranges, but no symbol is replaced. */
void tc_sym_promise(tc_symctx *c, tc_sym cond);
/* a with known equalities applied. */
tc_sym tc_sym_simplify(tc_symctx *c, tc_sym a);
tc_sym tc_sym_substitute(tc_symctx *c, tc_sym s, const tc_sym *var, const tc_sym *by, size_t n);
/* Copies an expression into another context (symbols by name, with ranges). */
tc_sym tc_sym_import(tc_symctx *into, tc_sym s, const tc_symctx *from);
/* The same with replacements: by[i], an expression of `into`, replaces symbol i of `from`; NULL entries: no replacement. */
tc_sym tc_sym_import_with(tc_symctx *into, tc_sym s, const tc_symctx *from, const tc_sym *by);

/* Values of symbols by index, for evaluation. kind of each as its type. */
typedef struct {
    union {
        int64_t i;
        double f;
    };
    bool bound;
} tc_symvalue;
/* TC_CONTENT naming the unbound symbol, division by zero or overflow. */
tc_status tc_sym_eval(tc_sym s, const tc_symvalue *vars, size_t nvars, tc_symvalue *out);
tc_status tc_sym_eval_int(tc_sym s, const tc_symvalue *vars, size_t nvars, int64_t *out);
bool tc_sym_bound(tc_sym s, const tc_symvalue *vars, size_t nvars); /* every symbol of s has a value, which tc_sym_eval requires */

void tc_sym_print(tc_buf *b, tc_sym s);                    /* "2*T + B//3": the model language's syntax */
void tc_sym_print_list(tc_buf *b, const tc_sym *s, int n); /* "[B, 2*T]" */
void tc_sym_srepr(tc_buf *b, tc_sym s);                    /* "Add(Symbol('s0', positive=True, integer=True), Integer(1))" */
tc_status tc_sym_parse_srepr(tc_symctx *c, const char *text, size_t n, tc_sym *out);
tc_status tc_sym_parse(tc_symctx *c, const char *text, size_t n, tc_sym *out); /* "2*T+1": command line */

#endif
