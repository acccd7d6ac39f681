/* Syntax trees of the model language, tokens and scopes. One node type; the table says which fields each kind uses. Nodes live in the context's
 * arena. */
#ifndef TC_CAPTURE_AST_H
#define TC_CAPTURE_AST_H

#include "capture/object.h"

typedef enum {
    /* expressions */
    N_CONST, /* value */
    N_NAME,  /* name, var */
    N_TUPLE,
    N_LIST,
    N_SET,       /* list */
    N_DICT,      /* list: keys (NULL: **), list2: values */
    N_BINARY,    /* op, a, b */
    N_UNARY,     /* op '-' '+' '~' 'n'(not), a */
    N_BOOL,      /* op 'a' 'o', list */
    N_COMPARE,   /* a, list: right sides, ops */
    N_COND,      /* a test, b then, c else */
    N_LAMBDA,    /* sc */
    N_CALL,      /* a, list: positional (N_STAR among them), list2: N_KEYWORD */
    N_KEYWORD,   /* name (NULL: **), a */
    N_ATTR,      /* a, name */
    N_INDEX,     /* a, b */
    N_SLICE,     /* a, b, c; each may be NULL */
    N_STAR,      /* a */
    N_WALRUS,    /* a name, b */
    N_COMP,      /* op 'l' 's' 'd' 'g'; a element (key), b value of 'd', list: N_FORCLAUSE; sc */
    N_FORCLAUSE, /* a target, b iterable (of the first: evaluated outside), list: conditions */
    N_FSTRING,   /* list: N_CONST or N_FIELD */
    N_FIELD,     /* a, op conversion or 0, b format spec (N_FSTRING) or NULL */
    N_YIELD,     /* a or NULL; op 1: yield from */
    /* statements */
    N_EXPR,   /* a */
    N_ASSIGN, /* list: targets, b */
    N_AUG,    /* op, a, b */
    N_ANN,    /* a target, b value or NULL, name: text of the annotation */
    N_RETURN,
    N_RAISE /* a, b from */,
    N_ASSERT /* a, b message */,
    N_DEL /* list */,
    N_PASS,
    N_BREAK,
    N_CONTINUE,
    N_IMPORT, /* list: N_ALIAS */
    N_FROM,   /* name: module, list: N_ALIAS; op: 1 for * */
    N_ALIAS,  /* name, a: N_NAME that is bound */
    N_IF,
    N_WHILE,   /* a, list body, list2 else */
    N_FOR,     /* a target, b iterable, list body, list2 else */
    N_WITH,    /* list2: N_ITEM, list body */
    N_ITEM,    /* a, b target or NULL */
    N_TRY,     /* list body, list2: N_HANDLER, a else block, b finally block */
    N_HANDLER, /* a type or NULL, b N_NAME or NULL, list body */
    N_BLOCK,   /* list */
    N_DEF,     /* a: N_NAME that is bound, sc, list2: decorators */
    N_CLASS    /* a: N_NAME, b: N_CALL with the arguments or NULL, sc, list2: decorators */
} ast_kind;

/* Binary operators as the parser writes them; 'f' is //, 'p' is **, 'l' <<, 'r' >>.  + - * / f % @ p l r & | ^
 * Comparisons: '<' 'L'(<=) '>' 'G'(>=) '=' '!' 'i'(in) 'I'(not in) 's'(is) 'S'(is not). */

/* The binding of a name in a scope. */
typedef enum { VAR_LOCAL, VAR_FREE, VAR_GLOBAL, VAR_CLASS /* the body's dict, then outer */ } var_kind;
typedef struct var {
    str *name;
    var_kind kind;
    int slot, from; /* from: a free variable's slot in the enclosing frame */
    bool cell, bound, is_global, is_nonlocal;
    struct var *outer, *next;
    const struct ast *used; /* the first node that reads it in its own scope, or NULL */
} var;

struct ast {
    uint8_t kind, op;
    int line, col;
    ast *a, *b, *c;
    ast **list, **list2;
    int n, n2;
    str *name;
    union {
        V value;
        var *var;
        scope *sc;
        const char *ops;
    };
};

typedef enum { SC_MODULE, SC_CLASS, SC_FUNC, SC_LAMBDA, SC_COMP } scope_kind;
typedef enum { P_POSONLY, P_POS, P_VAR, P_KWONLY, P_KW } param_kind;
typedef struct {
    str *name;
    ast *def;
    param_kind kind;
    var *var;
    str *annotation;
} param;

struct scope {
    scope_kind kind;
    scope *parent;
    file *file;
    str *name, *qualname;
    var *vars;          /* in order of appearance */
    tc_map table;       /* name -> var */
    TC_VEC(ast *) uses; /* N_NAME nodes to resolve */
    TC_VEC(scope *) kids;
    param *params;
    int nparams, npos, ndefaults; /* npos: positional parameters */
    int vararg, kwarg;            /* index in params or -1 */
    ast **body;
    int nbody;
    ast *expr; /* of a lambda */
    V doc;
    int nslots;
    var **free;
    int nfree;
    var *class_cell;     /* class scope: the cell for __class__ and super() */
    const ast *yields;   /* the first `yield` of a function: it is a generator; the N_DEF of an `async def`: it cannot be called */
    bool plain_params;   /* positional parameters only */
    const ast *returned; /* function scope: expression of the return statement that ran last */
    bool prepared;       /* cells is filled in */
    int *cells, ncells;  /* slots of locals that are captured by closures (cells) */
    struct {             /* of a function whose body tc_parse_body has still to read: its text from the colon on, NULL: none */
        const char *from, *to;
        int line, indent;
    } later;
    int line, col;
};

/* Parses a file into the module's scope, with names resolved. Raises SyntaxError with its location. */
scope *tc_parse(C *c, file *f);
/* Parses the body of a function of the library's own sources, which tc_parse passes over (s->later): before its first call, or for its docstring. */
void tc_parse_body(C *c, scope *s);
/* One expression; names are globals. */
scope *tc_parse_expr(C *c, file *f);

/* ---- lexer ---- */
typedef enum { T_EOF, T_NEWLINE, T_INDENT, T_DEDENT, T_NAME, T_KEYWORD, T_NUMBER, T_STRING, T_OP } token_kind;
typedef struct {
    token_kind kind;
    uint32_t op; /* T_OP: its bytes, first in the low bits; T_KEYWORD: tc_keyword */
    int line, col;
    const char *p;
    size_t n; /* text; of a string: between the quotes */
    bool raw, fstr, bytes;
    str *name;
} token;
#define TC_OP1(a) ((uint32_t)(a))
#define TC_OP2(a, b) ((uint32_t)(a) | (uint32_t)(b) << 8)

#define TC_KEYWORDS(X)                                                                                                            \
    X(False) X(None) X(True) X(and) X(as) X(assert) X(async) X(await) X(break) X(class) X(continue) X(def) X(del) X(elif) X(else) \
    X(except) X(finally) X(for) X(from) X(global) X(if) X(import) X(in) X(is) X(lambda) X(nonlocal) X(not) X(or) X(pass) X(raise)   \
    X(return) X(try) X(while) X(with) X(yield)
typedef enum {
    KW_none_,
#define X(k) KW_##k,
    TC_KEYWORDS(X)
#undef X
} tc_keyword;
bool tc_is_keyword(const char *p, size_t n);

#define TC_MAX_INDENT 100
typedef struct {
    C *c;
    file *f;
    const char *p, *end, *line_start;
    const char *col_line, *col_at; /* cache of the last column computation */
    int col;
    int line, depth; /* depth: open brackets */
    struct {
        char ch;
        int line, col;
    } open[201];
    int indent[TC_MAX_INDENT + 1], alt[TC_MAX_INDENT + 1], nindent, pending; /* pending > 0: DEDENT tokens to emit, < 0: an INDENT */
    bool bol, nested, joined;                                                /* nested: inside an f-string; joined: newlines are whitespace */
} lexer;
void tc_lex_init(lexer *l, C *c, file *f);
void tc_lex_part(lexer *l, C *c, file *f, const char *from, const char *to, int line,
                 int indent); /* of a file that was read before, from a token on */
/* At the end of the line that begins a block: passes over its lines, which are indented and hold no string of lines that looks otherwise. NULL: there is
 * no end of a line; else the end of the block, where the next token begins. */
const char *tc_lex_pass_block(lexer *l);
token tc_lex(lexer *l);

#endif
