/* Internal to the parser: shared by expressions (parse_expr.c), literals (parse_literal.c) and statements (parser.c). */
#ifndef TC_CAPTURE_PARSE_H
#define TC_CAPTURE_PARSE_H

#include "capture/scope.h"

typedef struct {
    C *c;
    file *f;
    lexer lx;
    token t, ahead; /* the current token and, when has_ahead, the next */
    bool has_ahead;
    scope *sc;
    str *cls; /* name of the enclosing class, for mangling __x to _cls__x; NULL outside */
    int depth, loops;
} parser;

#define TC_MAX_NEST 1000

void tc_p_next(parser *p);
const token *tc_p_peek(parser *p);
_Noreturn void tc_p_fail(parser *p, const token *at, const char *fmt, ...) TC_PRINTF(3, 4);
bool tc_p_op(parser *p, const char *op); /* is the current token this operator? */
bool tc_p_accept(parser *p, const char *op);
bool tc_p_kw(parser *p, tc_keyword k);
bool tc_p_accept_kw(parser *p, tc_keyword k);
void tc_p_expect(parser *p, const char *op);
str *tc_p_name(parser *p);
void tc_p_enter(parser *p);
str *tc_p_qualified(parser *p, str *name); /* its __qualname__ in the scope that is being parsed */
ast *tc_p_node(parser *p, ast_kind k, const token *at);

typedef TC_VEC(ast *) astvec;
void tc_p_take(parser *p, astvec *v, ast ***out, int *n); /* moves v into the arena */

str *tc_p_annotation(parser *p);        /* as text, of a string what it says: it is never evaluated */
ast *tc_p_yield(parser *p);             /* yield [exprs] | yield from expr: the enclosing function is a generator */
ast *tc_p_expr(parser *p);              /* expr */
ast *tc_p_nexpr(parser *p);             /* expr or NAME := expr */
ast *tc_p_exprs(parser *p);             /* expr {"," expr}: a tuple when there is a comma; stars allowed */
ast *tc_p_targets(parser *p);           /* of `for`: without `in` */
void tc_p_bind(parser *p, ast *target); /* checks and binds an assignment's target */
void tc_p_params(parser *p, scope *s, bool lambda);
void tc_p_call_args(parser *p, ast *call);
ast *tc_p_constant(parser *p, const token *at, V v);
ast *tc_p_name_node(parser *p, str *name, const token *at); /* a use of the name in the scope */
ast *tc_p_bound_name(parser *p, str *name, const token *at);
ast *tc_p_strings(parser *p); /* adjacent string literals: a constant, or an f-string */
ast *tc_p_number(parser *p);

#endif
