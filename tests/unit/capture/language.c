/* The model language without tensors: what expressions give, against CPython's own results; where errors are said to be; limits. */
#include "capture/lang.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

typedef struct {
    const char *text;
    const char *result;
} job;

static void evaluate(C *c, void *ctx) {
    job *j = ctx;
    V v = tc_lang_eval(c, NULL, NULL, "expression", j->text);
    j->result = tc_repr(c, v)->s;
}

static void expect(C *c, const char *text, const char *want) {
    job j = {text, NULL};
    tc_status st = tc_lang_run(c, evaluate, &j);
    if (st) fail_msg("%s: %s", text, tc_status_message(st));
    if (strcmp(j.result, want)) fail_msg("%s: %s, expected %s", text, j.result, want);
}

static void test_expressions(void **state) {
    (void)state;
    /* expression, repr() of its value under CPython 3.12 */
    static const char *const table[][2] = {
        {"-7 // 2, -7 % 3, 7 % -3, divmod(-7, 2)", "(-4, 2, -2, (-4, 1))"},
        {"2 ** 100 % 1000003, 2 ** -1, -2 ** 2, 0 ** 0", "(253109, 0.5, -4, 1)"},
        {"2 ** 200 // 3 ** 50, -(2 ** 70) // 3, (2 ** 64 - 1) >> 3",
         "(2238393297946874000179418290327143433, -393530540239137101142, 2305843009213693951)"},
        {"10 ** 30 / 10 ** 10, (2 ** 53 + 1) / 1, 1 / 3", "(1e+20, 9007199254740992.0, 0.3333333333333333)"},
        {"round(0.5), round(1.5), round(2.675, 2), round(1234, -2), round(-2.5)", "(0, 2, 2.67, 1200, -2)"},
        {"1e16, 1e15, 1e-5, 123456789.123, 5e-324, -0.0", "(1e+16, 1000000000000000.0, 1e-05, 123456789.123, 5e-324, -0.0)"},
        {"7.5 % -2, -7.5 // 2, 1e308 * 10, float('nan')", "(-0.5, -4.0, inf, nan)"},
        {"~5, 6 ^ 3, -1 >> 3, 1 << 70, 0xff & ~0x0f", "(-6, 5, -1, 1180591620717411303424, 240)"},
        {"1 < 2 < 3, 1 == 1 in [1], (1, 2) != [1, 2], 1 == 1.0 == True", "(True, True, True, True)"},
        {"[] or 'x', 0 and 1 / 0, not [], None is None", "('x', 0, True, True)"},
        {"[*range(3), *'ab'], {**{'a': 1}, 'b': 2}, {1, 1.0, True}", "([0, 1, 2, 'a', 'b'], {'a': 1, 'b': 2}, {1})"},
        {"[f() for f in [lambda: i for i in range(3)]]", "[2, 2, 2]"},
        {"[f() for f in [lambda i=i: i for i in range(3)]]", "[0, 1, 2]"},
        {"(lambda a, /, b, *c, d=4, **e: (a, b, c, d, e))(1, 2, 3, x=5)", "(1, 2, (3,), 4, {'x': 5})"},
        {"next(v for v in range(10 ** 9) if v * v > 20)", "5"},
        {"[y := 5, y ** 2]", "[5, 25]"},
        {"'abcdef'[1:5:2], 'abc'[::-1], list(range(10))[-3:], (1, 2, 3)[-1]", "('bd', 'cba', [7, 8, 9], 3)"},
        {"f\"{'x'!r:>5}|{3.14159:.2f}|{1234567:,}|{255:#x}|{-5:+d}|{0.25:.0%}\"", "\"  'x'|3.14|1,234,567|0xff|-5|25%\""},
        {"f'{1 + 1=}', f'{{}}', f'{3:{2 + 2}}|', f'{True}', f'{None!s:>6}'", "('1 + 1=2', '{}', '   3|', 'True', '  None')"},
        {"'%s-%d-%5.1f-%%-%r-%x-%03d' % ('a', 7, 3.14159, 'q', 255, 2)", "\"a-7-  3.1-%-'q'-ff-002\""},
        {"'{} {1}'.replace('{1}', '{}').format(1, 'b'), '{0.real}{k[0]:>3}'.format(5, k=[7])", "('1 b', '5  7')"},
        {"'a,b,,c'.split(','), '  x y '.split(), 'a.b.c'.rsplit('.', 1), 'k=v'.partition('=')",
         "(['a', 'b', '', 'c'], ['x', 'y'], ['a.b', 'c'], ('k', '=', 'v'))"},
        {"'t'.zfill(3), 'hello world'.title(), 'ab'.center(6, '*')", "('00t', 'Hello World', '**ab**')"},
        {"sorted([3, 1, 2], reverse=True), sorted('bA', key=str.lower), min(3, 1), max([], default=-1)", "([3, 2, 1], ['A', 'b'], 1, -1)"},
        {"list(zip([1, 2], 'ab')), list(map(abs, [-1])), list(filter(None, [0, 1])), sum([[1], [2]], [])",
         "([(1, 'a'), (2, 'b')], [1], [1], [1, 2])"},
        {"int('ff', 16), int(-3.7), float('1e3'), bool('0'), chr(0x4e2d), ord('a')", "(255, -3, 1000.0, True, '\344\270\255', 97)"},
        {"isinstance(True, int), type(1).__name__, callable(len), hasattr([], 'append'), (5).bit_length()", "(True, 'int', True, True, 3)"},
        {"repr(\"it's\"), str([1.0, 'a', None]), str({'k': (1,)}), repr('a\\n')",
         "('\"it\\'s\"', \"[1.0, 'a', None]\", \"{'k': (1,)}\", \"'a\\\\n'\")"},
        {"{'a': 1} | {'b': 2}, {1, 2} & {2, 3}, {1} < {1, 2}, frozenset([1]) == {1}", "({'a': 1, 'b': 2}, {2}, True, True)"},
        {"3 + 4j, (1 + 2j) * 1j, abs(3 + 4j)", "((3+4j), (-2+1j), 5.0)"},
    };
    C *c;
    assert_null(tc_lang_create(&(tc_lang_options){0}, &c));
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) expect(c, table[i][0], table[i][1]);
    tc_lang_destroy(c);
}

static void load(C *c, void *ctx) {
    const char *text = ctx;
    tc_lang_load(c, "m.py", text, strlen(text));
}

static void refuse(const char *text, int line, const char *word) {
    C *c;
    assert_null(tc_lang_create(&(tc_lang_options){0}, &c));
    tc_status st = tc_lang_run(c, load, (void *)(uintptr_t)text);
    if (!st) fail_msg("accepted: %s", text);
    if (tc_status_place(st).line != line || !strstr(tc_status_message(st), word))
        fail_msg("%s: found line %d, \"%s\"", text, (int)tc_status_place(st).line, tc_status_message(st));
    tc_status_free(st);
    tc_lang_destroy(c);
}

static void test_refusals(void **state) {
    (void)state;
    refuse("x = (1,\n     2\n", 1, "never closed");
    refuse("def f():\n  x = 1\n    y = 2\n", 3, "indent");
    refuse("yield 1\n", 1, "yield");
    refuse("async def f():\n    pass\nf()\n", 1, "'async' is outside the model language: f() is a coroutine");
    refuse("match x:\n    case 1:\n        pass\n", 1, "match");
    refuse("class M(type):\n    __prepare__ = 1\nclass A(metaclass=M):\n    pass\n", 3, "metaclass");
    refuse("from torch import nn\nclass M(type):\n    pass\nclass A(nn.Module, metaclass=M):\n    pass\n", 4, "metaclass");
    refuse("from os import *\n", 1, "*");
    refuse("s = f'{x'\n", 1, "f-string");
    refuse("return 3\n", 1, "return");
    refuse("x + 1 = 2\n", 1, "assign");
    refuse("f(a=1, 2)\n", 1, "positional");
    refuse("s = '''never\nclosed", 1, "unterminated");
    refuse("\nimport os\n\nn = len(os.getcwd())\n", 2, "os.getcwd");
    refuse("import sys\nfrom time import time, sleep\nt = int(time())\n", 2, "time.time");
    refuse("import os\ntry:\n    n = len(os.getcwd())\nexcept Exception:\n    n = 0\n", 1, "os.getcwd");
    refuse("import os\nos._name = 3\nint(os)\n", 3, "takes a name");
    refuse("type X = int\n", 1, "'type'");
    refuse("x = 1\ns = rt'{x}'\n", 2, "template");
    refuse("class A[T]:\n    pass\n", 1, "type parameters");
    refuse("def f():\n    from a import *\n", 2, "module level");
    refuse("x = 1\ny = [1][5]\n", 2, "IndexError");
    refuse("def f(x):\n    return x.nope\nf(1)\n", 2, "nope");
    refuse("n = 0\nwhile True:\n    n += 1\n", 2, "limit");
    refuse("def f(x):\n    return f(x)\nf(1)\n", 2, "depth");
    refuse("a = [0] * 10 ** 11\n", 1, "limit");
    refuse("n = 10 ** 10 ** 8\n", 1, "limit");
    refuse("(lambda: 0).__globals__\n", 1, "forbidden");
    refuse("x = open('x')\nif x.read():\n    y = 1\n", 1, "open");
}

/* Statements whose effects end in `r`. */
static void run_module(C *c, void *ctx) {
    job *j = ctx;
    module *m = tc_lang_load(c, "m.py", j->text, strlen(j->text));
    j->result = tc_repr(c, tc_lang_eval(c, m, NULL, "r", "r"))->s;
}

static void test_statements(void **state) {
    (void)state;
    static const char *const table[][2] = {
        {"r = []\nfor i in range(5):\n    if i == 3: break\n    r.append(i)\nelse:\n    r.append('no')\n", "[0, 1, 2]"},
        {"def f():\n    try:\n        raise ValueError('a')\n    except (TypeError, ValueError) as e:\n        return str(e)\n    finally:\n        "
         "g.append(1)\ng = []\nr = [f(), g]\n",
         "['a', [1]]"},
        {"a, *b, (c, d) = 1, 2, 3, (4, 5)\nr = [a, b, c, d]\n", "[1, [2, 3], 4, 5]"},
        {"class A:\n    def f(self): return 'A'\nclass B(A):\n    def f(self): return 'B' + super().f()\nclass C(A):\n    def f(self): return 'C' + "
         "super().f()\n"
         "class D(B, C):\n    def f(self): return 'D' + super().f()\nr = D().f()\n",
         "'DBCA'"},
        {"class P:\n    def __init__(self): self._x = 1\n    @property\n    def x(self): return self._x\n    @x.setter\n    def x(self, v): self._x "
         "= v * 2\np = P()\np.x = 4\nr = p.x\n",
         "8"},
        {"from dataclasses import dataclass, field\n@dataclass\nclass C:\n    a: int\n    b: list = field(default_factory=list)\nr = [C(1), C(1) == "
         "C(1), C(a=2, b=[3]).b]\n",
         "[C(a=1, b=[]), True, [3]]"},
        {"from enum import Enum\nclass K(Enum):\n    A = 1\n    B = 'b'\nr = [K.A.value, K('b').name, K['A'] is K.A, [k.name for k in K]]\n",
         "[1, 'B', True, ['A', 'B']]"},
        {"from typing import NamedTuple\nclass S(NamedTuple):\n    h: int\n    c: int = 5\ns = S(1)\nr = [s, s._replace(h=2), s.c, s == (1, 5)]\n",
         "[S(h=1, c=5), S(h=2, c=5), 5, True]"},
        {"import functools, itertools, collections\nr = [functools.reduce(lambda a, b: a + b, [1, 2, 3]), list(itertools.chain([1], [2])), "
         "collections.Counter('aab')['a'], functools.partial(int, base=2)('101')]\n",
         "[6, [1, 2], 2, 5]"},
        {"def f():\n    n = 0\n    def g():\n        nonlocal n\n        n += 1\n        return n\n    return g\ng = f()\ng()\nr = g()\n", "2"},
        {"import math\nr = [math.floor(-1.5), math.gcd(12, 18), math.isqrt(50), math.prod([2, 3]), math.log(8, 2), math.comb(6, 2)]\n",
         "[-2, 6, 7, 6, 3.0, 15]"},
        {"class V:\n    def __init__(self, n): self.n = n\n    def __add__(self, o): return V(self.n + (o.n if isinstance(o, V) else o))\n    "
         "__radd__ = __add__\n    def __lt__(self, o): return self.n < o.n\n"
         "    def __repr__(self): return f'V{self.n}'\nr = [V(1) + 2, 3 + V(1), sum([V(1), V(2)]), sorted([V(2), V(1)])]\n",
         "[V3, V4, V3, [V1, V2]]"},
        {"d = {}\nd['b'] = 1\nd['a'] = 2\nd['b'] = 3\ndel d['a']\nd.setdefault('c', []).append(1)\nr = list(d.items())\n", "[('b', 3), ('c', [1])]"},
        {"def deco(f):\n    def inner(*a): return f(*a) + 1\n    return inner\n@deco\ndef f(x): return x\nr = f(1)\n", "2"},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        C *c;
        assert_null(tc_lang_create(&(tc_lang_options){0}, &c));
        job j = {table[i][0], NULL};
        tc_status st = tc_lang_run(c, run_module, &j);
        if (st) fail_msg("%s: %s", j.text, tc_status_message(st));
        if (strcmp(j.result, table[i][1])) fail_msg("%s: %s, expected %s", j.text, j.result, table[i][1]);
        tc_lang_destroy(c);
    }
}

/* Whichever allocation of an expression meets the memory limit, the error is the same, and what was allocated outside the context is freed (LSan). */
static void test_memory_limit(void **state) {
    (void)state;
    static const char *const text = "n = 0\nkept = None\nwhile True:\n    n += 1\n    kept = (kept, f'{n:5d} {n}')\n";
    for (size_t i = 0; i < 48; i++) {
        C *c;
        assert_null(tc_lang_create(&(tc_lang_options){.max_memory = ((size_t)2 << 20) + 24 * i}, &c));
        tc_status st = tc_lang_run(c, load, (void *)(uintptr_t)text);
        assert_non_null(st);
        assert_non_null(strstr(tc_status_message(st), "more memory than the limit of 2 MB"));
        tc_status_free(st);
        tc_lang_destroy(c);
    }
}

typedef struct {
    pthread_t thread;
    const char *stack;
    bool fails;
} place;

static void stand(C *c, void *ctx) {
    place *p = ctx;
    p->thread = pthread_self();
    p->stack = c->stack_limit;
    if (p->fails) tc_raise(c, "ValueError", "no");
}

/* A training step enters the language twice: no thread is started for it, nor a stack mapped anew. */
static void test_stack(void **state) {
    (void)state;
    C *c;
    place p[3] = {{.fails = false}, {.fails = true}, {.fails = false}};
    assert_null(tc_lang_create(&(tc_lang_options){0}, &c));
    for (int i = 0; i < 3; i++) {
        tc_status st = tc_lang_run(c, stand, &p[i]);
        assert_int_equal(st != NULL, p[i].fails);
        tc_status_free(st);
        assert_true(pthread_equal(p[i].thread, pthread_self()));
        assert_ptr_equal(p[i].stack, p[0].stack);
    }
    tc_lang_destroy(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_expressions), cmocka_unit_test(test_refusals), cmocka_unit_test(test_statements),
                                       cmocka_unit_test(test_memory_limit), cmocka_unit_test(test_stack)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
