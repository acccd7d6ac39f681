/* Exceptions and limits of the language: raising, catching, and converting uncaught ones to a tc_status with the location in the user's file. Frames of
 * embedded sources are skipped: the location is the innermost line of the user's own files. */
#include "capture/ast.h"
#include "capture/error_codes.h"
#include "capture/torch.h"

#include <stdio.h>

void tc_trap_push(C *c, trap *t) {
    t->prev = c->traps, t->fr = c->fr, t->vtop = c->vtop, t->depth = c->depth;
    t->loop = c->fr ? c->fr->loop : NULL, t->passes = false, t->drops = NULL;
    c->traps = t;
}

void tc_untrap(C *c, trap *t) { c->traps = t->prev; }

_Noreturn static void jump(C *c) {
    trap *t = c->traps;
    if (!t) TC_BUG("an error of the language outside every handler");
    c->traps = t->prev;
    c->fr = t->fr;
    if (t->fr) t->fr->loop = t->loop;
    c->vtop = t->vtop;
    c->depth = t->depth;
    longjmp(t->jb, 1);
}

frame *tc_user_frame(C *c) {
    frame *f = c->fr;
    while (f && (f->sc->file->embedded || !f->at)) f = f->prev;
    return f;
}

bool tc_is_embedded(const C *c) { return c->fr && c->fr->sc->file->embedded; }

static const char *trace(C *c) {
    tc_buf b = {0};
    int shown = 0, total = 0;
    const frame *first = tc_user_frame(c);
    for (const frame *f = c->fr; f; f = f->prev) {
        if (f->sc->file->embedded || !f->at || f == first || f->sc->kind == SC_COMP) continue;
        total++;
        if (shown >= 8) continue;
        tc_buf_printf(&b, "%sin %s, %s:%d", shown ? "\n" : "", f->sc->qualname->s, f->sc->file->name, f->at->line);
        shown++;
    }
    if (total > shown) tc_buf_printf(&b, "\n... and %d more", total - shown);
    const char *s = b.len ? tc_arena_strndup(&c->arena, b.data, b.len) : NULL;
    tc_buf_free(&b);
    return s;
}

/* The module whose method runs, and the user's running loops, innermost first. */
static const char *loops(C *c, const file *here) {
    tc_buf b = {0};
    int shown = 0;
    const tc_source where = {.calls = tc_torch_calls(c)};
    if (where.calls) tc_buf_printf(&b, "module %s", tc_source_module(&where)), shown = 1;
    for (const frame *f = c->fr; f; f = f->prev)
        for (const running_loop *l = f->sc->file->embedded ? NULL : f->loop; l && shown < 4; l = l->outer, shown++) {
            tc_buf_printf(&b, "%sline %d", shown ? "; " : "", l->at->line);
            if (f->sc->file != here) tc_buf_printf(&b, " of %s", f->sc->file->name);
            tc_buf_printf(&b, ", iteration %lld", (long long)l->i);
        }
    const char *s = b.len ? tc_arena_strndup(&c->arena, b.data, b.len) : NULL;
    tc_buf_free(&b);
    return s;
}

/* Will the trap that catches v discard it (hasattr())? Then no trace is made, which is as long as the call stack. */
static bool is_dropped(C *c, V v) {
    const trap *t = c->traps;
    while (t && t->passes) t = t->prev;
    return t && t->drops && tc_exc_is(c, v, t->drops);
}

void tc_raise_value(C *c, V v) {
    exc *e = (exc *)v;
    if (!e->file && !is_dropped(c, v)) {
        const frame *f = tc_user_frame(c);
        if (f) e->file = f->sc->file, e->line = f->at->line, e->col = f->at->col;
        else if (c->blame && !c->blame->file->embedded) e->file = c->blame->file, e->line = c->blame->line, e->col = c->blame->col;
        e->trace = trace(c);
        e->loops = loops(c, e->file);
    }
    const frame *f = c->fr;
    while (f && !f->handling) f = f->prev;
    if (f && f->handling != v) {
        exc *last = (exc *)f->handling; /* a chain of contexts does not lead back to e */
        while (last->context != c->none && last->context != v) last = (exc *)last->context;
        last->context = c->none;
        e->context = f->handling;
    }
    c->exc = v;
    jump(c);
}

void tc_raise_again(C *c, V v) {
    c->exc = v;
    jump(c);
}

static V make(C *c, const char *type_name, const char *fmt, va_list ap) {
    char small[512];
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(small, sizeof small, fmt, ap);
    char *text = small;
    size_t len = n < 0 ? 0 : (size_t)n;
    if (len >= sizeof small) {
        text = tc_arena_alloc(&c->arena, len + 1);
        vsnprintf(text, len + 1, fmt, again);
    }
    va_end(again);
    char *detail = strstr(fmt, TC_DETAIL) ? strstr(text, TC_DETAIL) : NULL;
    if (detail) *detail++ = 0, len = strlen(text);
    type *t = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, type_name, strlen(type_name)));
    if (!t) TC_BUG("no exception %s", type_name);
    /* not through tc_mem: the memory limit itself is reported this way */
    exc *e = tc_arena_alloc(&c->arena, sizeof *e);
    e->h.type = t;
    tuple *one = tc_arena_alloc(&c->arena, sizeof *one + sizeof(V));
    one->h.type = c->types[K_TUPLE];
    one->a = (V *)(one + 1), one->n = 1;
    str *s = tc_arena_alloc(&c->arena, sizeof *s);
    s->h.type = c->types[K_STR];
    s->s = tc_arena_strndup(&c->arena, text, len), s->len = (uint32_t)len;
    for (size_t i = 0; i < len; i++) s->nchars += ((unsigned char)s->s[i] & 0xc0) != 0x80;
    one->a[0] = (V)s;
    e->args = (V)one;
    e->cause = e->context = c->none;
    e->code = TC_CONTENT;
    if (detail) e->detail = tc_arena_strdup(&c->arena, detail);
    return (V)e;
}

void tc_raise(C *c, const char *type_name, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    V e = make(c, type_name, fmt, ap);
    va_end(ap);
    tc_raise_value(c, e);
}

void tc_raise_missing(C *c, V owner, str *name, const char *type_name, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    exc *e = (exc *)make(c, type_name, fmt, ap);
    va_end(ap);
    e->missing = name, e->owner = owner;
    if (!owner && c->fr) e->scope = c->fr->sc, e->globals = c->fr->globals;
    tc_raise_value(c, (V)e);
}

void tc_raise_limit(C *c, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    V e = make(c, "LimitError", fmt, ap);
    va_end(ap);
    ((exc *)e)->limit = true;
    tc_raise_value(c, e);
}

void tc_raise_code(C *c, tc_code code, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    V e = make(c, code == TC_UNSUPPORTED ? "UnsupportedError" : "RuntimeError", fmt, ap);
    va_end(ap);
    ((exc *)e)->code = code;
    tc_raise_value(c, e);
}

static V status_value(C *c, const char *type_name, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    V e = make(c, type_name, fmt, ap);
    va_end(ap);
    return e;
}

/* The exception named by the n bytes before the next ": "; NULL: they name none. */
static type *exception_named(C *c, const char *message, size_t n) {
    return n && message[n] == ':' && message[n + 1] == ' ' ? (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, message, n)) : NULL;
}

/* Shortens what an operator says of itself to one name, as in "aten.pad.default: IndexError: aten.pad.default: ...": an operator that failed inside
 * another's decomposition repeats its name, and an exception name among them is the type to raise. A run names the failing node instead: "embedding:
 * IndexError: ...". */
static const char *operators_words(C *c, const char *message, const char **out_type) {
    const char *names = "", *op = NULL;
    size_t op_len = 0;
    for (size_t n; n = strcspn(message, ": "), n && message[n] == ':' && message[n + 1] == ' '; message += n + 2) {
        const char *rest = message + n + 2;
        type *t = exception_named(c, message, n);
        if (t) *out_type = t->name->s;
        else if (!strncmp(message, "aten.", 5) || (!op && exception_named(c, rest, strcspn(rest, ": ")))) {
            if (!op || op_len != n || memcmp(op, message, n)) names = tc_arena_printf(&c->arena, "%s%.*s: ", names, (int)n, message);
            op = message, op_len = n;
        } else break;
    }
    return op ? tc_arena_printf(&c->arena, "%s%s", names, message) : message;
}

static V status_exception(C *c, const char *type_name, tc_status s) {
    tc_code code = tc_status_code(s);
    const char *message = operators_words(c, tc_status_message(s), &type_name);
    V e = status_value(c, code == TC_UNSUPPORTED ? "UnsupportedError" : type_name, "%s", message);
    ((exc *)e)->code = code;
    tc_status_free(s);
    return e;
}

void tc_raise_status(C *c, const char *type_name, tc_status s) { tc_raise_value(c, status_exception(c, type_name, s)); }

void tc_raise_status_as(C *c, const char *type_name, tc_status s) {
    V e = status_exception(c, type_name, s);
    e->type = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, type_name, strlen(type_name)));
    tc_raise_value(c, e);
}

void tc_raise_status_at(C *c, const char *type_name, tc_status s, const tc_source *at) {
    exc *e = (exc *)status_exception(c, type_name, s);
    for (file *f = at && at->file ? c->files : NULL; f; f = f->next)
        if (!strcmp(f->name, at->file)) e->file = f, e->line = at->line, e->col = at->col;
    tc_raise_value(c, (V)e);
}

void tc_syntax(C *c, file *f, int line, int col, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    V e = make(c, "SyntaxError", fmt, ap);
    va_end(ap);
    exc *x = (exc *)e;
    const char *text = tc_as_str(((tuple *)x->args)->a[0])->s;
    if (!strcmp(text, "unexpected indent") || !strncmp(text, "unindent ", 9) || !strncmp(text, "expected an indented ", 21))
        e->type = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "IndentationError", 16));
    x->file = f, x->line = line, x->col = col;
    tc_raise_value(c, e);
}

void tc_raise_data(C *c, const char *cure, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    V e = make(c, "DataDependentError", fmt, ap);
    va_end(ap);
    ((exc *)e)->cure = cure;
    tc_raise_value(c, e);
}

V tc_exc_new(C *c, type *t, V values) {
    exc *e = tc_new(c, K_EXC, sizeof *e);
    e->h.type = t;
    e->args = values;
    e->cause = e->context = c->none;
    e->code = TC_CONTENT;
    return (V)e;
}

bool tc_exc_is(C *c, V v, const char *name) {
    type *t = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, name, strlen(name)));
    return t && tc_kind_of(v) == K_EXC && tc_issubtype(v->type, t);
}

/* A file's name in the arena of the captured program, which outlives the context. key: distinguishes files. */
static const char *kept_name(struct tc_torch *T, const void *key, const char *name) {
    if (T->here_file != key || T->here_program != T->graph->program) {
        T->here_file = key, T->here_program = T->graph->program;
        T->here_name = tc_arena_strdup(&T->graph->program->arena, name);
    }
    return T->here_name;
}

/* The call of torch.utils.checkpoint that is being captured; a program that is replayed has its own. */
static int checkpoint_here(const struct tc_torch *T) {
    if (T && T->replayed && T->replayed->checkpoint) return T->replay_base + T->replayed->checkpoint;
    return T ? T->checkpoint : 0;
}

tc_source tc_here(C *c) {
    struct tc_torch *T = c->torch && c->torch->graph ? c->torch : NULL;
    int checkpoint = checkpoint_here(T);
    if (T && T->replayed && T->replayed->file)
        return (tc_source){
            .file = kept_name(T, T->replayed->file, T->replayed->file), .line = T->replayed->line, .col = T->replayed->col, .checkpoint = checkpoint};
    const frame *f = tc_user_frame(c);
    if (!f) return (tc_source){.checkpoint = checkpoint};
    const char *name = f->sc->file->name;
    return (tc_source){.file = T ? kept_name(T, f->sc->file, name) : name,
                       .line = f->at->line,
                       .col = f->at->col,
                       .calls = T ? tc_torch_calls(c) : NULL,
                       .checkpoint = checkpoint};
}

void tc_warn(C *c, const char *text) {
    V said = (V)tc_intern(c, text, strlen(text));
    if (!c->warned) c->warned = tc_dict(c);
    if (!c->warn || tc_dict_get(c, c->warned, said)) return;
    tc_dict_set(c, c->warned, said, c->true_);
    c->warn(c->warn_self, text);
}

/* The text of line `line` of a file; of long lines at most 200 bytes around the column. */
static char *line_text(C *c, const file *f, int line, int *col) {
    const char *p = f->text, *end = f->text + f->len;
    if (line < 1) return NULL;
    for (int i = 1 - f->before; i < line && p < end; i++) {
        const char *nl = memchr(p, '\n', (size_t)(end - p));
        if (!nl) return NULL;
        p = nl + 1;
    }
    const char *nl = memchr(p, '\n', (size_t)(end - p));
    size_t n = (size_t)((nl ? nl : end) - p);
    if (n && p[n - 1] == '\r') n--;
    if (n > 200) {
        if (*col > 100) *col = 0;
        n = 200;
        while (n && ((unsigned char)p[n] & 0xc0) == 0x80) n--;
    }
    return tc_arena_strndup(&c->arena, p, n);
}

static const char *message_of(C *c, V v) {
    trap t;
    str *volatile text = NULL;
    if (TC_TRAP(c, t)) {
        text = tc_to_str(c, v);
        tc_untrap(c, &t);
    }
    return text ? text->s : "";
}

static tc_status add_lines(tc_status s, const char *p) {
    while (p && *p) {
        size_t n = strcspn(p, "\n");
        s = tc_status_add(s, "%.*s", (int)n, p);
        p += n + (p[n] == '\n');
    }
    return s;
}

const char *tc_exc_line(C *c, V v) {
    const exc *e = (exc *)v;
    const char *text = tc_arena_printf(&c->arena, "%s: %s", v->type->name->s, message_of(c, v));
    return e->file ? tc_arena_printf(&c->arena, "%s:%d: %s", e->file->name, e->line, text) : text;
}

tc_status tc_exc_status(C *c, V v) {
    exc *e = (exc *)v;
    const char *name = v->type->name->s, *msg = message_of(c, v), *id = tc_capture_code_of(name, msg, e->raised);
    bool unsupported = !strcmp(name, "UnsupportedError");
    tc_code code = unsupported ? TC_UNSUPPORTED : e->code;
    if (e->limit || unsupported) name = NULL;
    const char *sep = name && *msg ? ": " : "";
    if (!name) name = "";
    if (e->detail) msg = tc_arena_printf(&c->arena, "%s%s", msg, e->detail);
    if (e->loops) msg = tc_arena_printf(&c->arena, "%s (%s)", msg, e->loops);
    tc_status s;
    if (e->file) {
        int col = e->col;
        char *src = line_text(c, e->file, e->line, &col);
        s = tc_error_at(code, (tc_place){.file = e->file->name, .line = e->line, .col = col, .offset = -1, .text = src}, "%s%s%s [%s]", name, sep,
                        msg, id);
    } else s = tc_error(code, "%s%s%s [%s]", name, sep, msg, id);
    s = add_lines(s, e->trace);
    const char *near = tc_nearest_name(c, e);
    if (near) s = tc_status_add(s, "did you mean '%s'?", near);
    return add_lines(s, e->cure);
}

/* ---- limits ---- */
void tc_raise_depth(C *c) { tc_raise(c, "RecursionError", "maximum recursion depth exceeded"); }

void tc_steps(C *c, uint64_t n) {
    c->steps += n;
    if (c->graph_full)
        tc_raise_limit(c, "the graph has more nodes than the limit of %zu: is a loop unrolled that torch.while_loop or scan should hold?",
                       c->max_graph_nodes);
    if (c->steps > c->max_steps)
        tc_raise_limit(c, "this takes more steps than the limit of %llu allows: is a loop unbounded?", (unsigned long long)c->max_steps);
}

void tc_step(C *c) {
    if (__builtin_expect(++c->steps > c->max_steps || c->graph_full, 0)) tc_steps(c, 0);
}

void tc_stack_check(C *c) {
    char here;
    if (__builtin_expect(&here < c->stack_limit, 0)) tc_raise_depth(c);
}

/* ---- the classes ---- */
/* The keywords and attributes of errors that look for something: "name", "obj" (of AttributeError), "path" (of ImportError). */
static bool has_part(C *c, const exc *e, const char *part) {
    const bool imports = tc_exc_is(c, (V)e, "ImportError"), attributes = tc_exc_is(c, (V)e, "AttributeError");
    if (!strcmp(part, "name")) return imports || attributes || tc_exc_is(c, (V)e, "NameError");
    return !strcmp(part, "obj") ? attributes : imports && !strcmp(part, "path");
}

static V exc_init(C *c, args *A) {
    if (A->n < 1) tc_raise(c, "TypeError", "__init__ of an exception needs self");
    exc *e = (exc *)A->a[0];
    e->args = tc_tuple(c, (size_t)A->n - 1, A->a + 1);
    for (int i = 0; i < A->nk; i++) { /* AttributeError(message, name="x", obj=o) */
        if (!has_part(c, e, A->kn[i]->s) && tc_exc_is(c, (V)e, "ImportError"))
            tc_raise(c, "TypeError", "'%s' is an invalid keyword argument for ImportError()", A->kn[i]->s);
        if (!has_part(c, e, A->kn[i]->s)) tc_raise(c, "TypeError", "%s() takes no keyword arguments", e->h.type->name->s);
        if (strcmp(A->kn[i]->s, "name")) e->owner = A->kv[i];
        else if (tc_kind_of(A->kv[i]) == K_STR) e->missing = tc_as_str(A->kv[i]);
    }
    return c->none;
}

static V with_traceback(C *c, args *A) {
    (void)c;
    return A->a[0];
}

static V add_note(C *c, args *A) {
    V v[2];
    tc_take(c, A, "add_note", "self note", v);
    str *name = tc_intern(c, "__notes__", 9);
    V notes = tc_getattr_or(c, v[0], name);
    if (!notes) tc_object_setattr(c, v[0], name, notes = (V)tc_list(c, 1));
    tc_list_push(c, (list *)notes, v[1]);
    return c->none;
}

static V exc_attr(C *c, V self, str *name) {
    exc *e = (exc *)self;
    if (name == c->n_args) return e->args;
    if (!strcmp(name->s, "__cause__")) return e->cause;
    if (!strcmp(name->s, "__context__")) return e->context;
    if (!strcmp(name->s, "__suppress_context__")) return tc_bool(c, e->from);
    size_t n;
    V *a = tc_items(e->args, &n);
    if (has_part(c, e, name->s)) {
        V part = strcmp(name->s, "name") ? e->owner : (V)e->missing;
        return part ? part : c->none;
    }
    if (!strcmp(name->s, "msg") && (tc_exc_is(c, self, "ImportError") || tc_exc_is(c, self, "SyntaxError"))) return n ? a[0] : c->none;
    if (name == c->n_value && tc_exc_is(c, self, "StopIteration")) return n ? a[0] : c->none;
    if (!strcmp(name->s, "code") && tc_exc_is(c, self, "SystemExit")) return n > 1 ? e->args : n ? a[0] : c->none;
    return NULL;
}

void tc_errors_init(C *c) {
    /* name, base; bases come before derived types. No model can catch LimitError. */
    static const char *const table[][2] = {{"LimitError", "BaseException"},
                                           {"SystemExit", "BaseException"},
                                           {"KeyboardInterrupt", "BaseException"},
                                           {"GeneratorExit", "BaseException"},
                                           {"UnsupportedError", "BaseException"},
                                           {"Exception", "BaseException"},
                                           {"ArithmeticError", "Exception"},
                                           {"OverflowError", "ArithmeticError"},
                                           {"ZeroDivisionError", "ArithmeticError"},
                                           {"FloatingPointError", "ArithmeticError"},
                                           {"AssertionError", "Exception"},
                                           {"AttributeError", "Exception"},
                                           {"BufferError", "Exception"},
                                           {"EOFError", "Exception"},
                                           {"ImportError", "Exception"},
                                           {"ModuleNotFoundError", "ImportError"},
                                           {"LookupError", "Exception"},
                                           {"IndexError", "LookupError"},
                                           {"KeyError", "LookupError"},
                                           {"MemoryError", "Exception"},
                                           {"NameError", "Exception"},
                                           {"UnboundLocalError", "NameError"},
                                           {"OSError", "Exception"},
                                           {"BlockingIOError", "OSError"},
                                           {"ChildProcessError", "OSError"},
                                           {"ConnectionError", "OSError"},
                                           {"FileExistsError", "OSError"},
                                           {"FileNotFoundError", "OSError"},
                                           {"InterruptedError", "OSError"},
                                           {"IsADirectoryError", "OSError"},
                                           {"NotADirectoryError", "OSError"},
                                           {"PermissionError", "OSError"},
                                           {"ProcessLookupError", "OSError"},
                                           {"TimeoutError", "OSError"},
                                           {"BrokenPipeError", "ConnectionError"},
                                           {"ConnectionAbortedError", "ConnectionError"},
                                           {"ConnectionRefusedError", "ConnectionError"},
                                           {"ConnectionResetError", "ConnectionError"},
                                           {"ReferenceError", "Exception"},
                                           {"RuntimeError", "Exception"},
                                           {"NotImplementedError", "RuntimeError"},
                                           {"RecursionError", "RuntimeError"},
                                           {"StopAsyncIteration", "Exception"},
                                           {"StopIteration", "Exception"},
                                           {"SyntaxError", "Exception"},
                                           {"IndentationError", "SyntaxError"},
                                           {"TabError", "IndentationError"},
                                           {"SystemError", "Exception"},
                                           {"TypeError", "Exception"},
                                           {"ValueError", "Exception"},
                                           {"UnicodeError", "ValueError"},
                                           {"UnicodeDecodeError", "UnicodeError"},
                                           {"UnicodeEncodeError", "UnicodeError"},
                                           {"UnicodeTranslateError", "UnicodeError"},
                                           {"Warning", "Exception"},
                                           {"UserWarning", "Warning"},
                                           {"DeprecationWarning", "Warning"},
                                           {"FutureWarning", "Warning"},
                                           {"RuntimeWarning", "Warning"},
                                           {"BytesWarning", "Warning"},
                                           {"EncodingWarning", "Warning"},
                                           {"ImportWarning", "Warning"},
                                           {"PendingDeprecationWarning", "Warning"},
                                           {"ResourceWarning", "Warning"},
                                           {"SyntaxWarning", "Warning"},
                                           {"UnicodeWarning", "Warning"},
                                           {"DataDependentError", "BaseException"}};
    c->exceptions = tc_dict(c);
    type *base = c->types[K_EXC];
    base->instance_attr = exc_attr;
    tc_dict_set(c, base->d, (V)c->n___init__, tc_native(c, "__init__", exc_init, NULL));
    tc_dict_setc(c, base->d, "__traceback__", c->none); /* the language keeps no frames */
    tc_dict_setc(c, base->d, "with_traceback", tc_native(c, "with_traceback", with_traceback, NULL));
    tc_dict_setc(c, base->d, "add_note", tc_native(c, "add_note", add_note, NULL));
    tc_dict_setc(c, c->exceptions, "BaseException", (V)base);
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        type *b = (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, table[i][1], strlen(table[i][1])));
        type *t = tc_type_new(c, table[i][0], K_EXC, b);
        tc_dict_setc(c, c->exceptions, table[i][0], (V)t);
        tc_dict_setc(c, c->builtins, table[i][0], (V)t);
    }
    tc_dict_setc(c, c->builtins, "BaseException", (V)base);
    tc_dict_setc(c, c->builtins, "EnvironmentError", tc_dict_gets(c, c->exceptions, tc_intern(c, "OSError", 7)));
    tc_dict_setc(c, c->builtins, "IOError", tc_dict_gets(c, c->exceptions, tc_intern(c, "OSError", 7)));
}
