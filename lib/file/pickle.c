/* The pickle machine: a stack, marks and a memo, with one function for each family of opcodes. No function of the file is called (pickle.h). */
#include "file/pickle.h"

#include <stdio.h>

typedef struct {
    tc_pickle *out;
    tc_place place;
    const unsigned char *base, *p, *end;
    const unsigned char *op; /* the current opcode, for messages */
    TC_VEC(tc_pk *) stack;
    TC_VEC(size_t) marks; /* lengths of the stack at each MARK */
    TC_VEC(tc_pk *) memo;
    size_t memo_used; /* entries set, for MEMOIZE */
    bool stop;
} machine;

static tc_status fail(const machine *m, const char *fmt, ...) TC_PRINTF(2, 3);
static tc_status fail(const machine *m, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_place at = m->place;
    at.offset = (at.offset > 0 ? at.offset : 0) + (m->op - m->base);
    tc_status st = tc_error_at(TC_CONTENT, at, "pickle: %s", b.data);
    tc_buf_free(&b);
    return st;
}

/* ---- memory, stack ---- */
static tc_pk *make(machine *m, tc_pk_kind kind) {
    tc_pk *v = TC_NEW(&m->out->arena, tc_pk);
    v->kind = kind;
    return v;
}

static size_t depth(const machine *m) { return m->stack.len - (m->marks.len ? m->marks.data[m->marks.len - 1] : 0); }

static tc_status need(const machine *m, size_t n) {
    return depth(m) < n ? fail(m, "opcode 0x%02x needs %zu values on the stack, there are %zu", m->op[0], n, depth(m)) : NULL;
}
static tc_pk *pop(machine *m) { return m->stack.data[--m->stack.len]; }
static tc_pk *top(const machine *m) { return m->stack.data[m->stack.len - 1]; }
static void push(machine *m, tc_pk *v) { tc_vec_push(&m->stack, v); }

static tc_status take(machine *m, size_t n, const unsigned char **out) {
    if (n > (size_t)(m->end - m->p)) return fail(m, "%zu bytes are announced, %zu follow: the pickle ends early", n, (size_t)(m->end - m->p));
    *out = m->p;
    m->p += n;
    return NULL;
}

static tc_status take_uint(machine *m, size_t bytes, uint64_t *out) {
    const unsigned char *p = NULL;
    TC_TRY(take(m, bytes, &p));
    *out = 0;
    for (size_t i = 0; i < bytes; i++) *out |= (uint64_t)p[i] << 8 * i;
    return NULL;
}

/* A line of the text protocol, without its newline. */
static tc_status take_line(machine *m, const char **out, size_t *out_n) {
    const unsigned char *nl = memchr(m->p, '\n', (size_t)(m->end - m->p));
    if (!nl) return fail(m, "a line without end: the pickle ends early");
    *out = (const char *)m->p;
    *out_n = (size_t)(nl - m->p);
    m->p = nl + 1;
    return NULL;
}

/* Number of values above the last mark; removes the mark. */
static tc_status unmark(machine *m, size_t *out_n) {
    if (!m->marks.len) return fail(m, "opcode 0x%02x without a mark", m->op[0]);
    *out_n = depth(m);
    m->marks.len--;
    return NULL;
}

static void grow_items(machine *m, tc_pk *v, size_t extra) {
    size_t want = (size_t)v->len + extra;
    if (want <= v->cap) return;
    size_t cap = v->cap * 2 > want ? (size_t)v->cap * 2 : want;
    tc_pk **bigger = TC_NEWN(&m->out->arena, tc_pk *, cap);
    if (v->len) memcpy(bigger, v->items, v->len * sizeof *bigger);
    v->items = bigger;
    v->cap = (uint32_t)cap;
}

static void add_items(machine *m, tc_pk *v, tc_pk *const *items, size_t n) {
    grow_items(m, v, n);
    if (n) memcpy(v->items + v->len, items, n * sizeof *items);
    v->len += (uint32_t)n;
}

/* Makes a value whose items are the n values on top of the stack. */
static void gather(machine *m, tc_pk_kind kind, size_t n) {
    tc_pk *v = make(m, kind);
    m->stack.len -= n;
    if (n) add_items(m, v, m->stack.data + m->stack.len, n);
    push(m, v);
}

/* ---- numbers and text ---- */
static tc_status push_int(machine *m, int64_t i) {
    tc_pk *v = make(m, TC_PK_INT);
    v->i = i;
    push(m, v);
    return NULL;
}

static tc_status push_bool(machine *m, bool b) {
    tc_pk *v = make(m, TC_PK_BOOL);
    v->b = b;
    push(m, v);
    return NULL;
}

static tc_status push_text(machine *m, tc_pk_kind kind, const void *s, size_t n) {
    tc_pk *v = make(m, kind);
    v->s = s;
    v->n = n;
    push(m, v);
    return NULL;
}

static tc_status push_decimal(machine *m, const char *s, size_t n) {
    TC_TRY(push_text(m, TC_PK_LONG, s, n));
    top(m)->made = TC_PK_DECIMAL;
    return NULL;
}

/* Two's complement, little-endian. */
static tc_status push_long(machine *m, const unsigned char *p, size_t n) {
    while (n > 8 && p[n - 1] == (p[n - 2] & 0x80 ? 0xff : 0)) n--; /* drop bytes that only repeat the sign */
    if (n > 8) return push_text(m, TC_PK_LONG, p, n);
    uint64_t v = n && p[n - 1] & 0x80 ? ~(uint64_t)0 : 0;
    for (size_t i = n; i-- > 0;) v = v << 8 | p[i];
    return push_int(m, (int64_t)v);
}

static tc_status text_int(machine *m, bool is_long) {
    const char *s = NULL;
    size_t n = 0;
    char digits[32];
    TC_TRY(take_line(m, &s, &n));
    if (!is_long && n == 2 && s[0] == '0' && (s[1] == '0' || s[1] == '1')) return push_bool(m, s[1] == '1');
    if (n && is_long && s[n - 1] == 'L') n--;
    bool negative = n && s[0] == '-';
    for (size_t i = negative; i < n; i++)
        if (s[i] < '0' || s[i] > '9') return fail(m, "a bad integer");
    if (n <= negative) return fail(m, "a bad integer");
    if (n > 19) return push_decimal(m, s, n);
    memcpy(digits, s, n);
    digits[n] = 0;
    int64_t v = 0;
    for (size_t i = negative; i < n; i++)
        if (!tc_mul_i64(v, 10, &v) || !tc_add_i64(v, negative ? -(digits[i] - '0') : digits[i] - '0', &v)) return push_decimal(m, s, n);
    return push_int(m, v);
}

static tc_status push_float(machine *m, double f) {
    tc_pk *v = make(m, TC_PK_FLOAT);
    v->f = f;
    push(m, v);
    return NULL;
}

static tc_status text_float(machine *m) {
    const char *s = NULL;
    size_t n = 0;
    char text[64], *end;
    TC_TRY(take_line(m, &s, &n));
    if (n >= sizeof text) return fail(m, "a bad number");
    memcpy(text, s, n);
    text[n] = 0;
    double f = strtod(text, &end);
    if (end == text || *end) return fail(m, "a bad number");
    return push_float(m, f);
}

static tc_status bin_float(machine *m) {
    const unsigned char *p = NULL;
    uint64_t bits = 0;
    double f;
    TC_TRY(take(m, 8, &p));
    for (int i = 0; i < 8; i++) bits = bits << 8 | p[i];
    memcpy(&f, &bits, 8);
    return push_float(m, f);
}

static int hex(unsigned char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static size_t put_utf8(char *to, uint32_t c) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    if (c < 0x10000) return to[0] = (char)(0xe0 | c >> 12), to[1] = (char)(0x80 | (c >> 6 & 63)), to[2] = (char)(0x80 | (c & 63)), 3;
    return to[0] = (char)(0xf0 | (c >> 18 & 7)), to[1] = (char)(0x80 | (c >> 12 & 63)), to[2] = (char)(0x80 | (c >> 6 & 63)),
           to[3] = (char)(0x80 | (c & 63)), 4;
}

/* Strings of the text protocol: S is quoted with Python's escapes, V has \uXXXX only. The result is never longer than the line. */
static tc_status text_string(machine *m, bool quoted) {
    const char *s = NULL;
    size_t n = 0, len = 0;
    TC_TRY(take_line(m, &s, &n));
    if (quoted) {
        while (n && (s[n - 1] == '\r' || s[n - 1] == ' ')) n--;
        if (n < 2 || (s[0] != '\'' && s[0] != '"') || s[n - 1] != s[0]) return fail(m, "a string without quotes");
        s++, n -= 2;
    }
    char *to = tc_arena_alloc(&m->out->arena, n + 1);
    for (size_t i = 0; i < n; i++) {
        size_t digits = 0;
        uint32_t c = 0;
        if (s[i] != '\\' || i + 1 == n) {
            to[len++] = s[i];
            continue;
        }
        static const char from[] = "\\'\"nrtabfv", into[] = "\\'\"\n\r\t\a\b\f\v";
        const char *simple = quoted ? strchr(from, s[i + 1]) : NULL;
        if (simple && *simple) {
            to[len++] = into[simple - from];
            i++;
            continue;
        }
        digits = s[i + 1] == 'x' && quoted ? 2 : s[i + 1] == 'u' && !quoted ? 4 : s[i + 1] == 'U' && !quoted ? 8 : 0;
        bool good = digits && n - i - 2 >= digits;
        for (size_t k = 0; good && k < digits; k++) {
            int h = hex((unsigned char)s[i + 2 + k]);
            good = h >= 0;
            c = c << 4 | (uint32_t)h;
        }
        if (!good) {
            to[len++] = '\\';
            continue;
        }
        if (quoted) to[len++] = (char)c;
        else len += put_utf8(to + len, c);
        i += 1 + digits;
    }
    return push_text(m, TC_PK_STRING, to, len);
}

/* Text or bytes preceded by a length of `width` bytes. */
static tc_status counted(machine *m, tc_pk_kind kind, size_t width) {
    uint64_t n;
    const unsigned char *p = NULL;
    TC_TRY(take_uint(m, width, &n));
    if (n > SIZE_MAX / 2) return fail(m, "a length of %llu bytes", (unsigned long long)n);
    TC_TRY(take(m, (size_t)n, &p));
    return push_text(m, kind, p, (size_t)n);
}

/* ---- globals ---- */
static tc_status push_global(machine *m, const char *module, size_t mn, const char *name, size_t nn) {
    if (mn > 4096 || nn > 4096 || memchr(module, 0, mn) || memchr(name, 0, nn)) return fail(m, "a bad name of a global");
    char *text = tc_arena_printf(&m->out->arena, "%.*s.%.*s", (int)mn, module, (int)nn, name);
    char *of = tc_arena_strndup(&m->out->arena, module, mn);
    if (tc_pickle_forbidden(of, text + mn + 1)) return fail(m, "refers to %.200s, which is forbidden: nothing was run", text);
    tc_pk *v = make(m, TC_PK_GLOBAL);
    v->s = text;
    v->n = mn;
    push(m, v);
    return NULL;
}

static tc_status op_global(machine *m) {
    const char *module = NULL, *name = NULL;
    size_t mn = 0, nn = 0;
    TC_TRY(take_line(m, &module, &mn));
    TC_TRY(take_line(m, &name, &nn));
    return push_global(m, module, mn, name, nn);
}

static tc_status op_stack_global(machine *m) {
    TC_TRY(need(m, 2));
    tc_pk *name = pop(m), *module = pop(m);
    if (name->kind != TC_PK_STRING || module->kind != TC_PK_STRING) return fail(m, "STACK_GLOBAL of something that is not text");
    return push_global(m, module->s, module->n, name->s, name->n);
}

/* ---- objects ---- */
/* Is v a list of pairs, as Python 2 gives to OrderedDict? */
static bool are_pairs(const tc_pk *v) {
    if (v->kind != TC_PK_LIST) return false;
    for (uint32_t i = 0; i < v->len; i++)
        if ((v->items[i]->kind != TC_PK_TUPLE && v->items[i]->kind != TC_PK_LIST) || v->items[i]->len != 2) return false;
    return true;
}

static void push_object(machine *m, tc_pk *callable, tc_pk *arguments, tc_pk_made how) {
    static const struct {
        const char *name;
        tc_pk_made made;
    } dicts[] = {{"collections.OrderedDict", TC_PK_ORDERED},
                 {"collections.Counter", TC_PK_COUNTER},
                 {"builtins.dict", TC_PK_PLAIN},
                 {"__builtin__.dict", TC_PK_PLAIN}};
    const tc_pk *pairs = arguments->len == 1 && are_pairs(arguments->items[0]) ? arguments->items[0] : NULL;
    bool is_dict = tc_pk_is_global(callable, "collections.defaultdict");
    tc_pk_made made = TC_PK_DEFAULTDICT;
    for (size_t i = 0; i < sizeof dicts / sizeof *dicts; i++)
        if (tc_pk_is_global(callable, dicts[i].name) && (arguments->len == 0 || pairs)) is_dict = true, made = dicts[i].made;
    if (is_dict) {
        tc_pk *v = make(m, TC_PK_DICT);
        v->made = made;
        if (made == TC_PK_DEFAULTDICT && arguments->len == 1) v->state = arguments->items[0];
        for (uint32_t i = 0; pairs && i < pairs->len; i++) add_items(m, v, pairs->items[i]->items, 2);
        push(m, v);
        return;
    }
    bool set =
        tc_pk_is_global(callable, "builtins.set") || tc_pk_is_global(callable, "__builtin__.set") || tc_pk_is_global(callable, "builtins.frozenset");
    if (set && arguments->len == 1 && arguments->items[0]->kind == TC_PK_LIST) {
        tc_pk *v = make(m, TC_PK_SET);
        if (tc_pk_is_global(callable, "builtins.frozenset")) v->made = TC_PK_FROZEN;
        add_items(m, v, arguments->items[0]->items, arguments->items[0]->len);
        push(m, v);
        return;
    }
    tc_pk *v = make(m, TC_PK_OBJECT);
    v->callable = callable;
    v->arguments = arguments;
    v->made = how;
    push(m, v);
}

/* REDUCE, NEWOBJ: callable, tuple. NEWOBJ_EX: class, tuple, dict. */
static tc_status op_call(machine *m, tc_pk_made how) {
    TC_TRY(need(m, how == TC_PK_NEW_EX ? 3 : 2));
    if (how == TC_PK_NEW_EX) m->stack.len--;
    tc_pk *arguments = pop(m), *callable = pop(m);
    if (arguments->kind != TC_PK_TUPLE) return fail(m, "a call whose arguments are no tuple");
    push_object(m, callable, arguments, how);
    return NULL;
}

/* OBJ: mark class args...; INST: mark args..., the class by name. */
static tc_status op_old_instance(machine *m, bool named) {
    if (named) {
        size_t n = 0;
        if (!m->marks.len) return fail(m, "INST without a mark");
        TC_TRY(op_global(m));
        tc_pk *class = pop(m);
        TC_TRY(unmark(m, &n));
        gather(m, TC_PK_TUPLE, n);
        push_object(m, class, pop(m), TC_PK_PLAIN);
        return NULL;
    }
    size_t n = 0;
    TC_TRY(need(m, 1));
    TC_TRY(unmark(m, &n));
    gather(m, TC_PK_TUPLE, n - 1);
    tc_pk *arguments = pop(m), *class = pop(m);
    push_object(m, class, arguments, TC_PK_PLAIN);
    return NULL;
}

static tc_pk_more *more_of(machine *m, tc_pk *v) {
    if (!v->more) {
        v->more = TC_NEW(&m->out->arena, tc_pk_more);
        v->more->list.kind = TC_PK_LIST;
        v->more->dict.kind = TC_PK_DICT;
    }
    return v->more;
}

static tc_status append_to(machine *m, tc_pk *v, tc_pk *const *items, size_t n) {
    if (v->kind == TC_PK_OBJECT) v = &more_of(m, v)->list;
    if (v->kind != TC_PK_LIST && v->kind != TC_PK_SET) return fail(m, "values added to something that is not a list");
    add_items(m, v, items, n);
    return NULL;
}

static tc_status set_items(machine *m, tc_pk *v, tc_pk *const *items, size_t n) {
    if (n % 2) return fail(m, "a key without a value");
    if (v->kind == TC_PK_OBJECT) v = &more_of(m, v)->dict;
    if (v->kind != TC_PK_DICT) return fail(m, "entries added to something that is not a dict");
    add_items(m, v, items, n);
    return NULL;
}

/* APPENDS, ADDITEMS, SETITEMS: adds all values above the mark to the container below it. */
static tc_status op_many(machine *m, bool dict) {
    size_t n = 0;
    TC_TRY(unmark(m, &n));
    m->stack.len -= n;
    TC_TRY(need(m, 1));
    tc_pk *const *items = m->stack.data + m->stack.len;
    return dict ? set_items(m, top(m), items, n) : append_to(m, top(m), items, n);
}

static tc_status op_one(machine *m, size_t values) {
    TC_TRY(need(m, values + 1));
    m->stack.len -= values;
    tc_pk *const *items = m->stack.data + m->stack.len;
    return values == 2 ? set_items(m, top(m), items, 2) : append_to(m, top(m), items, 1);
}

static tc_status op_build(machine *m) {
    TC_TRY(need(m, 2));
    tc_pk *state = pop(m), *v = top(m);
    if (v->kind != TC_PK_OBJECT && v->kind != TC_PK_DICT) return fail(m, "BUILD of something that is not an object");
    v->state = state;
    return NULL;
}

static tc_status op_collect(machine *m, tc_pk_kind kind) {
    size_t n = 0;
    TC_TRY(unmark(m, &n));
    if (kind == TC_PK_DICT && n % 2) return fail(m, "a key without a value");
    gather(m, kind, n);
    return NULL;
}

static tc_status op_tuple(machine *m, size_t n) {
    TC_TRY(need(m, n));
    gather(m, TC_PK_TUPLE, n);
    return NULL;
}

static tc_status op_persistent(machine *m, bool text) {
    tc_pk *v = make(m, TC_PK_PERSISTENT);
    if (text) {
        const char *s = NULL;
        size_t n = 0;
        TC_TRY(take_line(m, &s, &n));
        TC_TRY(push_text(m, TC_PK_STRING, s, n));
    }
    TC_TRY(need(m, 1));
    v->args = pop(m);
    push(m, v);
    return NULL;
}

/* ---- memo ---- */
static tc_status memo_index(machine *m, size_t width, uint64_t *out) {
    const char *s = NULL;
    size_t n = 0;
    if (width) return take_uint(m, width, out);
    TC_TRY(take_line(m, &s, &n));
    *out = 0;
    for (size_t i = 0; i < n; i++) {
        if (s[i] < '0' || s[i] > '9' || *out > UINT32_MAX) return fail(m, "a bad memo index");
        *out = *out * 10 + (uint64_t)(s[i] - '0');
    }
    return n ? NULL : fail(m, "a bad memo index");
}

static tc_status memo_put(machine *m, uint64_t i) {
    TC_TRY(need(m, 1));
    /* Pickle writers number memo entries consecutively, so an index larger than the file can only be an attempt to exhaust memory. */
    if (i > (uint64_t)(m->end - m->base))
        return fail(m, "memo index %llu in a pickle of %zu bytes", (unsigned long long)i, (size_t)(m->end - m->base));
    while (m->memo.len <= i) tc_vec_push(&m->memo, NULL);
    if (!m->memo.data[i]) m->memo_used++;
    m->memo.data[i] = top(m);
    return NULL;
}

static tc_status memo_get(machine *m, uint64_t i) {
    if (i >= m->memo.len || !m->memo.data[i]) return fail(m, "memo entry %llu was never made", (unsigned long long)i);
    push(m, m->memo.data[i]);
    return NULL;
}

static tc_status op_memo(machine *m, bool put, size_t width) {
    uint64_t i;
    TC_TRY(memo_index(m, width, &i));
    return put ? memo_put(m, i) : memo_get(m, i);
}

/* ---- the rest ---- */
static tc_status op_proto(machine *m) {
    uint64_t v;
    TC_TRY(take_uint(m, 1, &v));
    return v > 5 ? fail(m, "protocol %llu, expected at most 5", (unsigned long long)v) : NULL;
}

static tc_status op_frame(machine *m) {
    uint64_t n;
    TC_TRY(take_uint(m, 8, &n));
    return n > (uint64_t)(m->end - m->p)
               ? fail(m, "a frame of %llu bytes, %zu follow: the pickle ends early", (unsigned long long)n, (size_t)(m->end - m->p))
               : NULL;
}

static tc_status op_int(machine *m, size_t width, bool is_signed) {
    uint64_t v;
    TC_TRY(take_uint(m, width, &v));
    return push_int(m, is_signed ? (int64_t)(int32_t)(uint32_t)v : (int64_t)v);
}

static tc_status op_long(machine *m, size_t width) {
    uint64_t n;
    const unsigned char *p = NULL;
    TC_TRY(take_uint(m, width, &n));
    if (n > 1 << 20) return fail(m, "an integer of %llu bytes", (unsigned long long)n);
    TC_TRY(take(m, (size_t)n, &p));
    return push_long(m, p, (size_t)n);
}

static tc_status op_pop(machine *m) {
    if (!depth(m) && m->marks.len) {
        m->marks.len--;
        return NULL;
    }
    TC_TRY(need(m, 1));
    m->stack.len--;
    return NULL;
}

static tc_status op_pop_mark(machine *m) {
    size_t n = 0;
    TC_TRY(unmark(m, &n));
    m->stack.len -= n;
    return NULL;
}

/* The opcodes that push a constant: numbers, text, bytes, empty containers. */
static tc_status push_constant(machine *m) {
    switch (m->op[0]) {
    case 'N': push(m, make(m, TC_PK_NONE)); return NULL;
    case 0x88: return push_bool(m, true);
    case 0x89: return push_bool(m, false);
    case 'I': return text_int(m, false);
    case 'L': return text_int(m, true);
    case 'J': return op_int(m, 4, true);
    case 'K': return op_int(m, 1, false);
    case 'M': return op_int(m, 2, false);
    case 0x8a: return op_long(m, 1);
    case 0x8b: return op_long(m, 4);
    case 'F': return text_float(m);
    case 'G': return bin_float(m);
    case 'S': return text_string(m, true);
    case 'V': return text_string(m, false);
    case 'T': return counted(m, TC_PK_STRING, 4); /* Python 2's str, which is text in practice */
    case 'U': return counted(m, TC_PK_STRING, 1);
    case 'X': return counted(m, TC_PK_STRING, 4);
    case 0x8c: return counted(m, TC_PK_STRING, 1);
    case 0x8d: return counted(m, TC_PK_STRING, 8);
    case 'B': return counted(m, TC_PK_BYTES, 4);
    case 'C': return counted(m, TC_PK_BYTES, 1);
    case 0x8e: return counted(m, TC_PK_BYTES, 8);
    case 0x96: return counted(m, TC_PK_BYTES, 8);
    case ']': push(m, make(m, TC_PK_LIST)); return NULL;
    case '}': push(m, make(m, TC_PK_DICT)); return NULL;
    case ')': push(m, make(m, TC_PK_TUPLE)); return NULL;
    case 0x8f: push(m, make(m, TC_PK_SET)); return NULL;
    default: return fail(m, "opcode 0x%02x is none of a pickle's, or needs what a file cannot hold", m->op[0]);
    }
}

static tc_status step(machine *m) {
    switch (*m->p++) {
    case 0x80: return op_proto(m);
    case 0x95: return op_frame(m);
    case '.': m->stop = true; return need(m, 1);
    case '(': tc_vec_push(&m->marks, m->stack.len); return NULL;
    case '0': return op_pop(m);
    case '1': return op_pop_mark(m);
    case '2':
        TC_TRY(need(m, 1));
        push(m, top(m));
        return NULL;
    case 'l': return op_collect(m, TC_PK_LIST);
    case 'd': return op_collect(m, TC_PK_DICT);
    case 't': return op_collect(m, TC_PK_TUPLE);
    case 0x91: return op_collect(m, TC_PK_SET); /* FROZENSET */
    case 0x85: return op_tuple(m, 1);
    case 0x86: return op_tuple(m, 2);
    case 0x87: return op_tuple(m, 3);
    case 'a': return op_one(m, 1);
    case 's': return op_one(m, 2);
    case 'e': return op_many(m, false);
    case 0x90: return op_many(m, false);
    case 'u': return op_many(m, true);
    case 'c': return op_global(m);
    case 0x93: return op_stack_global(m);
    case 'R': return op_call(m, TC_PK_PLAIN);
    case 0x81: return op_call(m, TC_PK_NEW);
    case 0x92: return op_call(m, TC_PK_NEW_EX);
    case 'o': return op_old_instance(m, false);
    case 'i': return op_old_instance(m, true);
    case 'b': return op_build(m);
    case 'P': return op_persistent(m, true);
    case 'Q': return op_persistent(m, false);
    case 'p': return op_memo(m, true, 0);
    case 'q': return op_memo(m, true, 1);
    case 'r': return op_memo(m, true, 4);
    case 'g': return op_memo(m, false, 0);
    case 'h': return op_memo(m, false, 1);
    case 'j': return op_memo(m, false, 4);
    case 0x94: return memo_put(m, m->memo_used);
    default: return push_constant(m);
    }
}

static tc_status execute(machine *m) {
    while (!m->stop) {
        m->op = m->p;
        if (m->p == m->end) return fail(m, "the pickle ends without STOP");
        TC_TRY(step(m));
        size_t used = m->out->arena.used + (m->stack.cap + m->memo.cap + m->marks.cap) * sizeof(void *);
        if (used > TC_PICKLE_MEMORY) return fail(m, "the pickle needs more than %d MiB of memory", TC_PICKLE_MEMORY >> 20);
    }
    m->out->root = top(m);
    return NULL;
}

tc_status tc_pickle_read(tc_pickle *p, tc_place place, const void *data, size_t n, size_t *out_used) {
    machine m = {.out = p, .place = place, .base = data, .p = data, .op = data, .end = (const unsigned char *)data + n};
    *p = (tc_pickle){0};
    tc_status st = execute(&m);
    *out_used = (size_t)(m.p - m.base);
    tc_vec_free(&m.stack);
    tc_vec_free(&m.marks);
    tc_vec_free(&m.memo);
    if (st) tc_pickle_free(p);
    return st;
}

void tc_pickle_free(tc_pickle *p) {
    tc_arena_free(&p->arena);
    p->root = NULL;
}
