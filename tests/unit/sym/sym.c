/* Symbolic sizes: canonical form, simplification against evaluation on random values, facts, the two syntaxes. */
#include "sym/sym.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

static tc_symctx *ctx;
static int setup(void **s) {
    (void)s;
    ctx = tc_symctx_create();
    return 0;
}
static int teardown(void **s) {
    (void)s;
    tc_symctx_destroy(ctx);
    return 0;
}

static tc_sym parse(const char *t) {
    tc_sym s;
    tc_status st = tc_sym_parse(ctx, t, strlen(t), &s);
    if (st) fail_msg("%s", tc_status_message(st));
    return s;
}

static void same(const char *a, const char *b) {
    tc_sym x = parse(a), y = parse(b);
    tc_buf bx = {0}, by = {0};
    tc_sym_print(&bx, x);
    tc_sym_print(&by, y);
    if (x != y) fail_msg("%s is %s, %s is %s", a, tc_buf_str(&bx), b, tc_buf_str(&by));
    tc_buf_free(&bx);
    tc_buf_free(&by);
}

static void prints(const char *text, const char *expect) {
    tc_buf b = {0};
    tc_sym_print(&b, parse(text));
    assert_string_equal(tc_buf_str(&b), expect);
    tc_buf_free(&b);
}

static void equal_expressions_are_one(void **state) {
    (void)state;
    tc_sym_var(ctx, "B", TC_SYM_INT, 1, 64);
    tc_sym_var(ctx, "T", TC_SYM_INT, 1, TC_SYM_NO_HI);
    same("B + T*2", "2*T + B");
    same("(B + 1)*(T - 1)", "B*T - B + T - 1");
    same("(4*B + 4*T)//4", "B + T");
    same("(4*B + 6)//4", "B + 1");
    same("(B*T + T)//T", "B + 1");
    same("(B*(T+1))//(T+1)", "B");
    same("(B//2)//3", "B//6");
    same("(2*B)//(4)", "B//2");
    same("(3*T + B) % 3", "B % 3");
    same("max(B, 0)", "B");
    same("max(B, B + T)", "B + T");
    same("min(B, 64)", "B");
    same("B % 65", "B");
    same("B // 65", "0");
    same("B*B", "B**2");
    same("2*B == 2*T", "B == T");
    same("B < T", "T > B");
    same("not (B <= T)", "B > T");
    same("2*B + 1 == 2*T", "False");
    same("(T + -T % 8) % 8", "0");
    same("(B + 3*(T % 24)) % 8", "(B + 3*T) % 8");
    same("B - B", "0");
    same("(7 + 3) // 2 * 2 - 10 % 4", "8");
    same("-7 // 2", "-4");
    same("-7 % 3", "2");
}

static void prints_as_python(void **state) {
    (void)state;
    tc_sym_var(ctx, "B", TC_SYM_INT, 1, 64);
    prints("2*T + B//3 - 1", "2*T + B//3 - 1");
    prints("-B", "-B");
    prints("1 - B", "1 - B");
    prints("B*B*3", "3*B**2");
    prints("(B+1)//2", "(B + 1)//2");
    prints("B < T", "B < T");
    prints("max(B, T)*2", "2*max(B, T)");
    prints("B/2", "B/2");
    prints("B/2*0.5", "B/2*0.5");
    prints("(B == 2 or T == 3) and T <= 9", "(B == 2 or T == 3) and T <= 9");
    prints("B == 2 or T == 3 and T <= 9", "B == 2 or T == 3 and T <= 9");
    prints("(B | T) ^ 2 & B", "(B | T) ^ 2 & B");
    prints("B if T > 4 else T", "where(5 <= T, B, T)");
    same("B | T ^ 2 & B << 1", "B | (T ^ (2 & (B << 1)))");
    same("(B if T > 4 else T if B > 2 else 1) > 5", "where(T > 4, B, where(B > 2, T, 1)) > 5");
    same("max(B, T, 7, 9)", "max(max(max(B, T), 7), 9)");
}

static void float_arithmetic_is_not_reordered(void **state) {
    (void)state;
    assert_ptr_not_equal(parse("(x*1.0 + 0.1) + 0.2"), parse("x*1.0 + (0.1 + 0.2)"));
    double v;
    assert_true(tc_sym_const_float(parse("1 / 3"), &v));
    assert_true(v == 1.0 / 3.0);
}

/* What is assumed of two floating-point numbers decides their other relations as far as it does for a NaN, too. */
static void float_relations_follow(void **state) {
    (void)state;
    tc_sym_assume(ctx, parse("x / 3 <= 0.5"));
    assert_int_equal(tc_sym_known(ctx, parse("x / 3 > 0.5")), 0);
    assert_int_equal(tc_sym_known(ctx, parse("x / 3 < 0.5")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("x / 3 == 0.5")), -1);
    tc_sym_assume(ctx, parse("x / 7 < 0.25"));
    assert_int_equal(tc_sym_known(ctx, parse("x / 7 <= 0.25")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("x / 7 >= 0.25")), 0);
    assert_int_equal(tc_sym_known(ctx, parse("x / 7 == 0.25")), 0);
    assert_int_equal(tc_sym_known(ctx, parse("x / 7 != 0.25")), 1);
}

static void archives_of_pytorch(void **state) {
    (void)state;
    FILE *f = fopen("tests/unit/sym/exprs.txt", "r");
    char line[4096];
    int n = 0;
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        size_t len = strcspn(line, "\n");
        tc_sym s, again;
        tc_buf b = {0};
        if (*line == '#') continue;
        tc_status st = tc_sym_parse_srepr(ctx, line, len, &s);
        if (st) fail_msg("%.*s: %s", (int)len, line, tc_status_message(st));
        tc_sym_srepr(&b, s);
        assert_null(tc_sym_parse_srepr(ctx, tc_buf_str(&b), b.len, &again));
        if (s != again) fail_msg("%.*s came back as %s", (int)len, line, tc_buf_str(&b));
        tc_buf_free(&b);
        n++;
    }
    fclose(f);
    assert_true(n > 60);
}

static void bad_expressions_are_refused(void **state) {
    (void)state;
    static const char *const srepr[] = {"",
                                        "Add(",
                                        "Add(Integer(1)",
                                        "Integer(99999999999999999999)",
                                        "Mod(Integer(1), Integer(0))",
                                        "Symbol(s0)",
                                        "Nothing(Integer(1))",
                                        "And(Integer(1), Integer(2))",
                                        "Integer(1) x",
                                        "FloorDiv(Integer(1))",
                                        "Float('0.5', precision=x)"};
    static const char *const python[] = {"",           "1 +",        "(1",        "1 // 0", "f(1)",          "1 2",
                                         "True and 3", "a.b",        "1 ** ** 2", "1 if 2", "1 if 2 else 3", "1 if True else",
                                         "max(1)",     "max(1, 2,)", "2.5 & 1"};
    tc_sym s;
    for (size_t i = 0; i < sizeof srepr / sizeof *srepr; i++) {
        tc_status st = tc_sym_parse_srepr(ctx, srepr[i], strlen(srepr[i]), &s);
        if (!st) fail_msg("accepted %s", srepr[i]);
        tc_status_free(st);
    }
    for (size_t i = 0; i < sizeof python / sizeof *python; i++) {
        tc_status st = tc_sym_parse(ctx, python[i], strlen(python[i]), &s);
        if (!st) fail_msg("accepted %s", python[i]);
        tc_status_free(st);
    }
    tc_buf deep = {0};
    for (int i = 0; i < 5000; i++) tc_buf_puts(&deep, "Add(Integer(1), ");
    tc_status st = tc_sym_parse_srepr(ctx, deep.data, deep.len > 65536 ? 65536 : deep.len, &s);
    assert_non_null(st);
    tc_status_free(st);
    deep.len = 0;
    for (int i = 0; i < 5000; i++) tc_buf_puts(&deep, "1 if True else ");
    st = tc_sym_parse(ctx, deep.data, deep.len, &s);
    assert_non_null(strstr(tc_status_message(st), "levels expected"));
    tc_status_free(st);
    tc_buf_free(&deep);
}

static void guards_decide_later_questions(void **state) {
    (void)state;
    tc_sym a = tc_sym_var(ctx, "a", TC_SYM_INT, 0, TC_SYM_NO_HI), b = tc_sym_var(ctx, "b", TC_SYM_INT, 0, TC_SYM_NO_HI);
    assert_int_equal(tc_sym_known(ctx, parse("a == b")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("a >= 0")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("a + b < 0")), 0);
    tc_sym_assume(ctx, parse("2*a <= b"));
    assert_int_equal(tc_sym_known(ctx, parse("2*a <= b + 1")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("b < 2*a")), 0);
    assert_int_equal(tc_sym_known(ctx, parse("b + 1 < 2*a")), 0);
    tc_sym_assume(ctx, parse("a != 0"));
    assert_int_equal(tc_sym_known(ctx, parse("a >= 1")), 1);
    tc_sym c = tc_sym_var(ctx, "c", TC_SYM_INT, 0, 100);
    tc_sym_var(ctx, "m", TC_SYM_INT, 0, TC_SYM_NO_HI);
    tc_sym_var(ctx, "n", TC_SYM_INT, 0, TC_SYM_NO_HI);
    tc_sym_assume(ctx, parse("min(m, 1) == 1"));
    assert_int_equal(tc_sym_known(ctx, parse("m >= 1")), 1);
    tc_sym_assume(ctx, parse("max(m, n) <= 9"));
    assert_int_equal(tc_sym_known(ctx, parse("n <= 9 and m <= 9")), 1);
    tc_sym_assume(ctx, parse("c == a + b"));
    assert_int_equal(tc_sym_known(ctx, parse("c - a == b")), 1);
    assert_ptr_equal(tc_sym_simplify(ctx, parse("2*c")), parse("2*a + 2*b"));
    assert_int_equal(tc_sym_known(ctx, parse("a + b <= 100")), 1);
    tc_sym_assume(ctx, parse("d % 4 == 0"));
    assert_int_equal(tc_sym_known(ctx, parse("4*(d//4) == d")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("e*4*(d//4) == d*e")), 1);
    assert_ptr_equal(tc_sym_simplify(ctx, parse("(d + 1)//2 - 1")), tc_sym_simplify(ctx, parse("2*(d//4) - 1")));
    assert_ptr_equal(tc_sym_simplify(ctx, parse("(3*d + e) % 4")), parse("e % 4"));
    tc_sym_assume(ctx, parse("(e + 1)//2 == e//2"));
    assert_int_equal(tc_sym_known(ctx, parse("(e + 1)//4 == e//4")), 1);
    tc_sym_assume(ctx, parse("h % g == 0"));
    assert_int_equal(tc_sym_known(ctx, parse("g*(h//g) == h")), 1);
    (void)b;
    (void)c;
    (void)a;
}

/* What is known of a quotient and a remainder holds wherever they exist. */
static void divisors_that_may_be_zero(void **state) {
    (void)state;
    tc_sym_var(ctx, "a", TC_SYM_INT, 0, 100);
    tc_sym_var(ctx, "b", TC_SYM_INT, 0, 8);
    assert_int_equal(tc_sym_known(ctx, parse("0 <= a//b and a//b <= 100")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("a//b <= 99")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("0 <= a % b")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("a % b <= 100")), 1);
}

/* A lower limit near the largest number is none that exceeds all: sums of such parts come back. */
static void limits_of_64_bits(void **state) {
    (void)state;
    tc_sym_var(ctx, "a", TC_SYM_INT, 1, 6);
    tc_sym_var(ctx, "b", TC_SYM_INT, 3, TC_SYM_NO_HI);
    assert_int_equal(tc_sym_known(ctx, parse("9223372036854775807//a <= 4611686018427387904")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("b**4//12 + 2305843009213693952 <= 2305843009213693960")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("b + (-9223372036854775807 - 1) < -9223372036854775803")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("b**4//12 + 2305843009213693952 >= 2305843009213693952")), 1);
}

/* A quotient of ints is rounded once, which PyTorch tells by the name. */
static void quotients_say_their_type(void **state) {
    (void)state;
    static const struct {
        const char *text, *name;
    } rows[] = {{"B/T", "IntTrueDiv("}, {"B/2", "IntTrueDiv("}, {"(B*0.5)/T", "FloatTrueDiv("}, {"B/(T*0.5)", "FloatTrueDiv("}};
    tc_sym_var(ctx, "B", TC_SYM_INT, 1, 64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        tc_buf b = {0};
        tc_sym_srepr(&b, parse(rows[i].text));
        if (strncmp(tc_buf_str(&b), rows[i].name, strlen(rows[i].name))) fail_msg("%s is written as %s", rows[i].text, tc_buf_str(&b));
        tc_buf_free(&b);
    }
}

static void equations_of_quotients_are_solved(void **state) {
    (void)state;
    static const char *const names[] = {"a", "b", "e", "f", "g", "h", "m", "n", "p", "q", "r", "s", "t", "u", "v", "w", "x", "y", "z"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) tc_sym_var(ctx, names[i], TC_SYM_INT, 0, TC_SYM_NO_HI);
    tc_sym_assume(ctx, parse("2*(3*b//2) == 3*b")); /* view(4, -1) of [b, 6], then a product with 6 rows */
    tc_sym_assume(ctx, parse("3*b//2 == 6"));
    assert_ptr_equal(tc_sym_simplify(ctx, parse("b")), parse("4"));
    tc_sym_assume(ctx, parse("a//2 == 2"));
    assert_int_equal(tc_sym_known(ctx, parse("4 <= a and a <= 5")), 1);
    tc_sym_assume(ctx, parse("a % 2 == 1"));
    assert_ptr_equal(tc_sym_simplify(ctx, parse("a")), parse("5"));
    tc_sym_assume(ctx, parse("e % 3 == 0")); /* the other way round, and a quotient that is a size */
    tc_sym_assume(ctx, parse("e//3 == f"));
    assert_ptr_equal(tc_sym_simplify(ctx, parse("e")), tc_sym_simplify(ctx, parse("3*f")));
    tc_sym_assume(ctx, parse("g*h == 24")); /* of two sizes, one of which is known later */
    tc_sym_assume(ctx, parse("g == 6"));
    assert_ptr_equal(tc_sym_simplify(ctx, parse("h")), parse("4"));
    tc_sym_assume(ctx, parse("min(72, 3*y*z) == 72")); /* what it has become once y is known */
    tc_sym_assume(ctx, parse("y == 2"));
    assert_ptr_equal(tc_sym_simplify(ctx, parse("min(72, 6*z)")), parse("72"));
    tc_sym_assume(ctx, parse("p*q == 20")); /* of two sizes that stay */
    assert_int_equal(tc_sym_known(ctx, parse("p*q <= 19")), 0);
    tc_sym_assume(ctx, parse("3 <= v*w*x - v*w")); /* a bound of what v*w*x - v*w is once v is known */
    tc_sym_assume(ctx, parse("v == 4"));
    assert_int_equal(tc_sym_known(ctx, parse("3 <= 4*w*x - 4*w")), 1);
    tc_sym_assume(ctx, parse("2 <= r")); /* a factor of all terms */
    assert_ptr_equal(parse("max(0, 4*r*s - 4*s)"), parse("4*r*s - 4*s"));
    tc_sym_assume(ctx, parse("m // n == 3")); /* by a size */
    tc_sym_assume(ctx, parse("m % n == 0"));
    assert_int_equal(tc_sym_known(ctx, parse("m == 3*n")), 1);
    tc_sym_assume(ctx, parse("t // 4 == 7"));
    assert_int_equal(tc_sym_known(ctx, parse("t == 28")), -1);
    assert_int_equal(tc_sym_known(ctx, parse("t == 32")), 0);
}

/* ---- random expressions: the simplified form has the value of the plain one ---- */
static uint64_t seed = 88172645463325252ull;
static uint64_t rnd(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    return seed ^= seed << 17;
}
static int64_t fdiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

/* Builds an expression and its values under 4 assignments. ok[k] is cleared when a division by zero occurred. */
static tc_sym build(const tc_sym *vars, int64_t val[4][4], int depth, int64_t out[4], bool ok[4]) {
    if (depth == 0 || rnd() % 5 == 0) {
        if (rnd() % 2) {
            int v = (int)(rnd() % 4);
            for (int k = 0; k < 4; k++) out[k] = val[k][v];
            return vars[v];
        }
        int64_t c = (int64_t)(rnd() % 9) - 3;
        for (int k = 0; k < 4; k++) out[k] = c;
        return tc_sym_int(ctx, c);
    }
    int64_t x[4], y[4];
    tc_sym a = build(vars, val, depth - 1, x, ok), b = build(vars, val, depth - 1, y, ok);
    static const tc_symop ops[] = {TC_S_ADD, TC_S_ADD, TC_S_ADD, TC_S_MUL,      TC_S_MUL,     TC_S_FLOORDIV, TC_S_MOD,
                                   TC_S_MIN, TC_S_MAX, TC_S_ABS, TC_S_AND_BITS, TC_S_OR_BITS, TC_S_XOR_BITS};
    tc_symop op = ops[rnd() % (sizeof ops / sizeof *ops)];
    int64_t cb;
    if ((op == TC_S_FLOORDIV || op == TC_S_MOD) && (!tc_sym_const_int(b, &cb) || cb == 0)) {
        if (rnd() % 2) {
            cb = 1 + (int64_t)(rnd() % 6);
            b = tc_sym_int(ctx, cb);
            for (int k = 0; k < 4; k++) y[k] = cb;
        } else if (tc_sym_is_int(b, 0)) {
            op = TC_S_ADD;
        }
    }
    for (int k = 0; k < 4; k++) {
        if ((op == TC_S_FLOORDIV || op == TC_S_MOD) && y[k] == 0) ok[k] = false, y[k] = 1;
        if (llabs(x[k]) > 1 << 20 || llabs(y[k]) > 1 << 20) ok[k] = false, x[k] = y[k] = 1;
        out[k] = op == TC_S_ADD        ? x[k] + y[k]
                 : op == TC_S_MUL      ? x[k] * y[k]
                 : op == TC_S_FLOORDIV ? fdiv(x[k], y[k])
                 : op == TC_S_MOD      ? x[k] - y[k] * fdiv(x[k], y[k])
                 : op == TC_S_MIN      ? (x[k] < y[k] ? x[k] : y[k])
                 : op == TC_S_MAX      ? (x[k] > y[k] ? x[k] : y[k])
                 : op == TC_S_ABS      ? llabs(x[k])
                 : op == TC_S_AND_BITS ? (x[k] & y[k])
                 : op == TC_S_OR_BITS  ? (x[k] | y[k])
                                       : (x[k] ^ y[k]);
    }
    return tc_sym_op(ctx, op, a, op == TC_S_ABS ? NULL : b, NULL);
}

/* Four symbols with ranges, and four values of each in them. */
static void symbols_with_values(tc_sym vars[4], int64_t val[4][4]) {
    static const int64_t lo[4] = {0, 1, 1, -5}, hi[4] = {10, 6, 50, 5};
    for (int v = 0; v < 4; v++) vars[v] = tc_sym_var(ctx, (char[]){(char)('p' + v), 0}, TC_SYM_INT, lo[v], hi[v]);
    for (int k = 0; k < 4; k++)
        for (int v = 0; v < 4; v++) val[k][v] = lo[v] + (int64_t)(rnd() % (uint64_t)(hi[v] - lo[v] + 1));
}

/* Random rounds: a sample, or as many as TC_ROUNDS says (a million takes a minute). */
static int rounds(int sample) {
    const char *n = getenv("TC_ROUNDS");
    return n ? (int)strtol(n, NULL, 10) : sample;
}

static bool holds(tc_symop rel, int64_t x, int64_t y) { return rel == TC_S_EQ ? x == y : rel == TC_S_NE ? x != y : rel == TC_S_LT ? x < y : x <= y; }

/* int() and floor() of products, sums and quotients of doubles lie in the ranges that follow from their symbols. */
static void ranges_of_rounded_numbers_hold(void **state) {
    (void)state;
    static const double factor[] = {0.5, 1.5, 2.0, 0.1, 3.0, 1e-3};
    int64_t lo, hi, got, val[4][4];
    tc_sym vars[4];
    tc_sym_var(ctx, "n", TC_SYM_INT, 2, TC_SYM_NO_HI);
    assert_ptr_equal(parse("max(0, int(float(n) * 1.5))"), parse("int(float(n) * 1.5)"));
    assert_int_equal(tc_sym_known(ctx, parse("1 <= math.floor(n / 2)")), 1);
    assert_int_equal(tc_sym_known(ctx, parse("2 <= math.floor(n / 2)")), -1);
    for (int round = 0, n = rounds(2000); round < n; round++) {
        symbols_with_values(vars, val);
        tc_sym s = tc_sym_op(ctx, TC_S_TOFLOAT, vars[rnd() % 4], NULL, NULL);
        for (int k = 0; k < 3; k++) {
            tc_sym other = rnd() % 2 ? tc_sym_float(ctx, factor[rnd() % 6]) : tc_sym_op(ctx, TC_S_TOFLOAT, vars[1 + rnd() % 3], NULL, NULL);
            static const tc_symop ops[] = {TC_S_FADD, TC_S_FSUB, TC_S_FMUL, TC_S_FMUL, TC_S_FDIV};
            s = tc_sym_op(ctx, ops[rnd() % 5], s, other, NULL);
            if (rnd() % 5 == 0) s = tc_sym_op(ctx, TC_S_FNEG, s, NULL, NULL);
        }
        s = tc_sym_op(ctx, rnd() % 2 ? TC_S_TRUNC : TC_S_FLOOR, s, NULL, NULL);
        tc_sym_range(ctx, s, &lo, &hi);
        for (int k = 0; k < 4; k++) {
            tc_symvalue env[5] = {0};
            for (int v = 0; v < 4; v++) env[1 + v] = (tc_symvalue){.i = val[k][v], .bound = true};
            tc_status st = tc_sym_eval_int(s, env, 5, &got);
            tc_buf t = {0};
            if (st) { /* by a symbol that is 0 */
                tc_status_free(st);
                continue;
            }
            tc_sym_print(&t, s);
            if (got < lo || got > hi) fail_msg("%s is %lld, outside of %lld..%lld", tc_buf_str(&t), (long long)got, (long long)lo, (long long)hi);
            tc_buf_free(&t);
        }
    }
}

static void simplified_is_equal(void **state) {
    (void)state;
    tc_sym vars[4];
    for (int round = 0, n = rounds(20000); round < n; round++) {
        int64_t val[4][4], x[4], y[4], got, rl, rh;
        bool ok[4] = {true, true, true, true};
        if (round % 10000 == 9999) { /* expressions are kept by their context */
            tc_symctx_destroy(ctx);
            ctx = tc_symctx_create();
        }
        symbols_with_values(vars, val);
        tc_sym a = build(vars, val, 4, x, ok), b = build(vars, val, 3, y, ok);
        tc_symop rel = (tc_symop[]){TC_S_EQ, TC_S_NE, TC_S_LT, TC_S_LE}[rnd() % 4];
        tc_sym cond = tc_sym_op(ctx, rel, a, b, NULL);
        int known = tc_sym_known(ctx, cond);
        tc_sym_range(ctx, a, &rl, &rh);
        for (int k = 0; k < 4; k++) {
            tc_symvalue env[4];
            if (!ok[k]) continue;
            for (int v = 0; v < 4; v++) env[v] = (tc_symvalue){.i = val[k][v], .bound = true};
            tc_status st = tc_sym_eval_int(a, env, 4, &got);
            if (st) { /* a division that was folded away in our reference cannot fail here */
                fail_msg("%s", tc_status_message(st));
            }
            bool truth = holds(rel, x[k], y[k]);
            tc_buf t = {0};
            tc_sym_print(&t, a);
            if (got != x[k])
                fail_msg("%s is %lld, expected %lld (p=%d q=%d r=%d s=%d)", tc_buf_str(&t), (long long)got, (long long)x[k], (int)val[k][0],
                         (int)val[k][1], (int)val[k][2], (int)val[k][3]);
            if (got < rl || got > rh) fail_msg("%s is %lld, outside of %lld..%lld", tc_buf_str(&t), (long long)got, (long long)rl, (long long)rh);
            if (known >= 0 && known != truth) fail_msg("known is %d", known);
            tc_sym_eval_int(cond, env, 4, &got);
            if (got != truth) fail_msg("condition is %lld", (long long)got);
            tc_buf_free(&t);
        }
        if (round % 8 == 0) { /* both syntaxes come back */
            tc_buf t = {0}, u = {0};
            tc_sym back;
            tc_sym_print(&t, a);
            assert_null(tc_sym_parse(ctx, tc_buf_str(&t), t.len, &back));
            if (back != a) {
                tc_sym_print(&u, back);
                fail_msg("%s came back as %s", tc_buf_str(&t), tc_buf_str(&u));
            }
            tc_sym_srepr(&u, a);
            assert_null(tc_sym_parse_srepr(ctx, tc_buf_str(&u), u.len, &back));
            assert_ptr_equal(back, a);
            tc_buf_free(&t);
            tc_buf_free(&u);
        }
    }
}

static tc_symvalue *bound(const int64_t val[4]) {
    static tc_symvalue env[4];
    for (int v = 0; v < 4; v++) env[v] = (tc_symvalue){.i = val[v], .bound = true};
    return env;
}

/* The value of s where the symbols have these; what was folded cannot fail. */
static int64_t value(tc_sym s, const int64_t val[4]) {
    int64_t v = 0;
    tc_status st = tc_sym_eval_int(s, bound(val), 4, &v);
    if (st) fail_msg("%s", tc_status_message(st));
    return v;
}

/* Relations that hold for some values of the symbols are assumed (quotients, equations with two unknowns, products that are zero among
 * them): what is concluded from them is true of those values. */
static void conclusions_are_true(void **state) {
    (void)state;
    for (int round = 0, n = rounds(5000); round < n; round++) {
        static const tc_symop ops[] = {TC_S_EQ, TC_S_EQ, TC_S_EQ, TC_S_NE, TC_S_LT, TC_S_LE};
        tc_sym vars[4];
        int64_t val[4][4], x[4], y[4], lo, hi;
        bool ok[4] = {true, true, true, true}, still[4] = {true, true, true, true};
        tc_buf facts = {0}, text = {0};
        tc_symctx_destroy(ctx);
        ctx = tc_symctx_create();
        symbols_with_values(vars, val);
        for (int fact = 0; fact < 3; fact++) {
            tc_symop rel = ops[rnd() % 6];
            memcpy(ok, still, sizeof ok);
            tc_sym a = build(vars, val, 2, x, ok), b = rnd() % 3 ? build(vars, val, 1, y, ok) : tc_sym_int(ctx, 0);
            if (tc_sym_is_int(b, 0)) memset(y, 0, sizeof y);
            bool any = false;
            for (int k = 0; k < 4; k++) any |= ok[k] &= holds(rel, x[k], y[k]);
            if (!any) continue;
            tc_sym cond = tc_sym_op(ctx, rel, a, b, NULL);
            tc_sym_print(&facts, cond);
            tc_buf_puts(&facts, "; ");
            if (rnd() % 4) tc_sym_assume(ctx, cond);
            else tc_sym_promise(ctx, cond);
            memcpy(still, ok, sizeof ok);
        }
        for (int question = 0; question < 4; question++) {
            tc_symop rel = ops[rnd() % 6];
            memcpy(ok, still, sizeof ok);
            tc_sym a = build(vars, val, 3, x, ok), b = build(vars, val, 2, y, ok), cond = tc_sym_op(ctx, rel, a, b, NULL),
                   s = tc_sym_simplify(ctx, a);
            int known = tc_sym_known(ctx, cond);
            tc_sym_range(ctx, a, &lo, &hi);
            text.len = 0;
            tc_sym_print(&text, question % 2 ? a : cond);
            for (int k = 0; k < 4; k++) {
                if (!ok[k]) continue;
                int64_t v = value(s, val[k]);
                if (v != x[k] || x[k] < lo || x[k] > hi || (known >= 0 && known != holds(rel, x[k], y[k])))
                    fail_msg("%s%s: value %lld, simplified %lld, range %lld..%lld, known %d of %d (p=%d q=%d r=%d s=%d)", tc_buf_str(&facts),
                             tc_buf_str(&text), (long long)x[k], (long long)v, (long long)lo, (long long)hi, known, holds(rel, x[k], y[k]),
                             (int)val[k][0], (int)val[k][1], (int)val[k][2], (int)val[k][3]);
            }
        }
        tc_buf_free(&facts);
        tc_buf_free(&text);
    }
}

static void large_sums(void **state) {
    (void)state;
    enum { N = 3000 };
    tc_sym v[N], up = tc_sym_int(ctx, 0), down = tc_sym_int(ctx, 5), twice = up;
    tc_symvalue env[N];
    for (int i = 0; i < N; i++) {
        char name[16];
        snprintf(name, sizeof name, "v%d", i);
        v[i] = tc_sym_var(ctx, name, TC_SYM_INT, 0, TC_SYM_NO_HI);
        env[i] = (tc_symvalue){.i = i, .bound = true};
    }
    for (int i = 0; i < N; i++) up = tc_sym_add(ctx, up, v[i]), down = tc_sym_add(ctx, v[N - 1 - i], down);
    for (int i = 0; i < 2 * N; i++) twice = tc_sym_add(ctx, twice, v[i * 7 % N]);
    int64_t got;
    assert_null(tc_sym_eval_int(up, env, N, &got));
    assert_int_equal(got, (int64_t)N * (N - 1) / 2);
    assert_ptr_equal(tc_sym_sum(ctx, &up, 1), tc_sym_sum(ctx, v, N));
    assert_int_equal(tc_sym_known(ctx, tc_sym_op(ctx, TC_S_LT, up, down, NULL)), 1);
    assert_int_equal(tc_sym_known(ctx, tc_sym_op(ctx, TC_S_EQ, tc_sym_add(ctx, up, tc_sym_int(ctx, 5)), down, NULL)), 1);
    assert_int_equal(tc_sym_known(ctx, tc_sym_op(ctx, TC_S_EQ, tc_sym_mul(ctx, up, tc_sym_int(ctx, 2)), twice, NULL)), 1);
    tc_buf b = {0};
    tc_sym back;
    tc_sym_srepr(&b, down);
    assert_null(tc_sym_parse_srepr(ctx, tc_buf_str(&b), b.len, &back));
    assert_ptr_equal(back, tc_sym_sum(ctx, &down, 1));
    tc_buf_free(&b);
    assert_null(tc_sym_check(ctx));
}

/* A part that stands in both operands of each step doubles what is written; each of these walks it. */
static void too_large_is_told(void **state) {
    (void)state;
    tc_sym n = tc_sym_var(ctx, "n", TC_SYM_INT, 0, TC_SYM_NO_HI);
    for (int i = 2; i < 200; i++) {
        n = tc_sym_add(ctx, tc_sym_floordiv(ctx, n, tc_sym_int(ctx, 2)), tc_sym_floordiv(ctx, n, tc_sym_int(ctx, 3)));
        tc_status st = tc_sym_check(ctx);
        if (!st) continue;
        assert_int_equal(tc_status_code(st), TC_UNSUPPORTED);
        assert_string_equal(tc_status_message(st), "a size or number is an expression of more than 131072 numbers or 500 levels");
        tc_status_free(st);
        assert_true(i > 10);
        return;
    }
    fail_msg("grew without end");
}

static void evaluation_reports(void **state) {
    (void)state;
    int64_t v;
    tc_symvalue env[2] = {{.i = INT64_MAX, .bound = true}, {.i = 0, .bound = true}};
    tc_sym a = tc_sym_var(ctx, "a", TC_SYM_INT, 0, TC_SYM_NO_HI);
    tc_sym_var(ctx, "b", TC_SYM_INT, 0, TC_SYM_NO_HI);
    tc_status st = tc_sym_eval_int(parse("a*2"), env, 2, &v);
    assert_int_equal(tc_status_code(st), TC_CONTENT);
    assert_non_null(strstr(tc_status_message(st), "2*a"));
    tc_status_free(st);
    st = tc_sym_eval_int(parse("a//b"), env, 2, &v);
    assert_non_null(strstr(tc_status_message(st), "a//b"));
    tc_status_free(st);
    env[0].bound = false;
    st = tc_sym_eval_int(a, env, 2, &v);
    assert_non_null(strstr(tc_status_message(st), "a is not known"));
    tc_status_free(st);
    st = tc_sym_eval_int(parse("b"), env, 1, &v); /* a symbol behind the last value */
    assert_non_null(st);
    assert_non_null(strstr(tc_status_message(st), "b is not known"));
    tc_status_free(st);
}

static void conditions_stop_at_what_decides(void **state) {
    (void)state;
    tc_symvalue env[2] = {{.i = 6, .bound = true}, {.i = 0, .bound = true}}, out;
    tc_sym_var(ctx, "a", TC_SYM_INT, 0, TC_SYM_NO_HI);
    tc_sym_var(ctx, "b", TC_SYM_INT, 0, TC_SYM_NO_HI);
    assert_null(tc_sym_eval(parse("b != 0 and a//b == 3"), env, 2, &out));
    assert_int_equal(out.i, 0);
    assert_null(tc_sym_eval(parse("b == 0 or a//b == 3"), env, 2, &out));
    assert_int_equal(out.i, 1);
    assert_null(tc_sym_eval(parse("1 if b == 0 else a//b"), env, 2, &out));
    assert_int_equal(out.i, 1);
    env[1].i = 2;
    assert_null(tc_sym_eval(parse("b != 0 and a//b == 3"), env, 2, &out));
    assert_int_equal(out.i, 1);
}

static void expressions_move_between_contexts(void **state) {
    (void)state;
    tc_sym a = parse("2*T + B//3 - max(T, 7)");
    tc_symctx *other = tc_symctx_create();
    tc_sym b = tc_sym_import(other, a, ctx), c = tc_sym_import(ctx, b, other);
    assert_ptr_equal(a, c);
    tc_symctx_destroy(other);
}

static void symbols_exchange_names(void **state) {
    (void)state;
    tc_sym sum = parse("a + 2*b"), v[] = {tc_sym_find(ctx, "a"), tc_sym_find(ctx, "b")};
    tc_sym_rename(ctx, v, (const char *const[]){"b", "a"}, 2);
    assert_ptr_equal(tc_sym_find(ctx, "b"), v[0]);
    assert_string_equal(tc_sym_var_name(v[1]), "a");
    tc_buf b = {0};
    tc_sym_print(&b, sum);
    assert_non_null(strstr(tc_buf_str(&b), "2*a"));
    tc_buf_free(&b);
}

int main(void) {
#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(equal_expressions_are_one),
        T(prints_as_python),
        T(float_arithmetic_is_not_reordered),
        T(float_relations_follow),
        T(archives_of_pytorch),
        T(bad_expressions_are_refused),
        T(guards_decide_later_questions),
        T(equations_of_quotients_are_solved),
        T(ranges_of_rounded_numbers_hold),
        T(simplified_is_equal),
        T(conclusions_are_true),
        T(large_sums),
        T(too_large_is_told),
        T(evaluation_reports),
        T(conditions_stop_at_what_decides),
        T(divisors_that_may_be_zero),
        T(limits_of_64_bits),
        T(quotients_say_their_type),
        T(expressions_move_between_contexts),
        T(symbols_exchange_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
