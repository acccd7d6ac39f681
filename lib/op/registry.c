/* The operator registry: finds rows of all families by name; derives in-place and out forms on demand; parses schemas on first use.
 *
 *     tc_op_families[]  ->  rows by key "ns::name.overload" (hash, built once)  ->  schema, printed name
 *                           add_.Tensor, add.out: made from PyTorch's schema of that name and the row of the functional one
 *     tc_op_register     ->  rows of extensions, added while the program runs, found in the same way */
#include "op/op.h"
#include "op/schema.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

extern const tc_op *const tc_op_families[];

typedef struct {
    tc_op derived;   /* in-place and out forms, operators of extensions: their row; the first member, so that a row's address is the entry's */
    const tc_op *op; /* the row, or &derived */
    const tc_op *functional;
    const char *key, *name; /* "aten::add.Tensor", "aten.add.Tensor" */
    _Atomic(tc_schema *) schema;
    _Atomic(char) takes_out; /* 'y', 'n'; 0: not computed yet */
} entry;

static struct {
    pthread_once_t once;
    _Atomic(bool) ready;
    pthread_mutex_t lock; /* of what is made on demand: schemas, derived rows */
    tc_arena arena;
    entry *rows;
    size_t nrows;
    uint32_t *by_name; /* open addressing; 0: empty, else row + 1 */
    entry **by_op;     /* the same, keyed by row address */
    size_t mask;
    tc_map derived;        /* key to entry, also of added rows; NULL value: no such form */
    TC_VEC(entry *) added; /* operators of extensions, in the order in which they were registered */
    _Atomic(size_t) nadded;
} reg = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static size_t hash_ptr(const void *p) { return (size_t)(((uintptr_t)p >> 4) * 0x9E3779B97F4A7C15ull >> 20); }

/* Concatenates three texts in the arena; called a thousand times at program start. */
static char *joined(tc_arena *a, const char *head, size_t nhead, const char *middle, size_t nmiddle, const char *tail) {
    size_t ntail = strlen(tail);
    char *s = tc_arena_alloc(a, nhead + nmiddle + ntail + 1);
    memcpy(s, head, nhead);
    memcpy(s + nhead, middle, nmiddle);
    memcpy(s + nhead + nmiddle, tail, ntail);
    return s;
}

/* "ns::name.overload" of a row's schema string, in the arena. */
static const char *key_of_schema(tc_arena *a, const char *schema) {
    static const char rest[] = ".default";
    size_t n = strcspn(schema, "( "), nrest = sizeof rest - 1;
    const char *ns = memmem(schema, n, "::", 2) ? "" : "aten::";
    if (n > nrest && !memcmp(schema + n - nrest, rest, nrest)) n -= nrest;
    return joined(a, ns, strlen(ns), schema, n, "");
}

static const char *name_of_key(tc_arena *a, const char *key) {
    const char *sep = strstr(key, "::"), *name = joined(a, key, (size_t)(sep - key), ".", 1, sep + 2);
    return strchr(sep, '.') ? name : joined(a, name, strlen(name), ".default", 8, "");
}

static void build(void) {
    size_t n = 0;
    for (int f = 0; tc_op_families[f]; f++)
        for (const tc_op *op = tc_op_families[f]; op->schema; op++) n++;
    size_t slots = 64;
    while (slots < n * 3) slots *= 2;
    reg.mask = slots - 1;
    reg.rows = tc_arena_array(&reg.arena, n, sizeof *reg.rows);
    reg.by_name = tc_arena_array(&reg.arena, slots, sizeof *reg.by_name);
    reg.by_op = tc_arena_array(&reg.arena, slots, sizeof *reg.by_op);
    for (int f = 0; tc_op_families[f]; f++)
        for (const tc_op *op = tc_op_families[f]; op->schema; op++) {
            entry *e = &reg.rows[reg.nrows++];
            e->op = e->functional = op;
            e->key = key_of_schema(&reg.arena, op->schema);
            e->name = name_of_key(&reg.arena, e->key);
            size_t h = tc_hash(e->key, strlen(e->key), 0) & reg.mask;
            for (; reg.by_name[h]; h = (h + 1) & reg.mask)
                if (!strcmp(reg.rows[reg.by_name[h] - 1].key, e->key)) TC_BUG("operator %s has two rows", e->key);
            reg.by_name[h] = (uint32_t)reg.nrows;
            for (h = hash_ptr(op) & reg.mask; reg.by_op[h]; h = (h + 1) & reg.mask) {}
            reg.by_op[h] = e;
        }
    atomic_store_explicit(&reg.ready, true, memory_order_release);
}

static inline void start(void) {
    if (!atomic_load_explicit(&reg.ready, memory_order_acquire)) pthread_once(&reg.once, build);
}

static entry *entry_of(const tc_op *op) {
    start();
    for (size_t h = hash_ptr(op) & reg.mask; reg.by_op[h]; h = (h + 1) & reg.mask)
        if (reg.by_op[h]->op == op) return reg.by_op[h];
    return (entry *)(uintptr_t)op; /* a derived row is the first member of its entry */
}

static entry *row_of_key(const char *key) {
    for (size_t h = tc_hash(key, strlen(key), 0) & reg.mask; reg.by_name[h]; h = (h + 1) & reg.mask)
        if (!strcmp(reg.rows[reg.by_name[h] - 1].key, key)) return &reg.rows[reg.by_name[h] - 1];
    return NULL;
}

/* The caller holds the lock. */
static tc_schema *schema_locked(entry *e) {
    tc_schema *s = atomic_load_explicit(&e->schema, memory_order_acquire);
    if (s) return s;
    const char *text = e->op->schema;
    size_t n = strlen(text);
    if (!memchr(text, '(', n)) text = tc_aten_line(e->key, strlen(e->key), &n);
    if (!text) TC_BUG("the row \"%s\" names no operator of PyTorch", e->op->schema);
    s = TC_NEW(&reg.arena, tc_schema);
    tc_status st = tc_schema_parse(&reg.arena, text, n, s);
    if (st) TC_BUG("%s", tc_status_message(st));
    atomic_store_explicit(&e->schema, s, memory_order_release);
    return s;
}

const tc_schema *tc_op_schema(const tc_op *op) {
    entry *e = entry_of(op);
    tc_schema *s = atomic_load_explicit(&e->schema, memory_order_acquire);
    if (s) return s;
    pthread_mutex_lock(&reg.lock);
    s = schema_locked(e);
    pthread_mutex_unlock(&reg.lock);
    return s;
}

int tc_schema_param(const tc_schema *s, const char *name) {
    for (int i = 0; i < s->nparams; i++)
        if (!strcmp(s->params[i].name, name)) return i;
    return -1;
}
int tc_op_param(const tc_op *op, const char *name) { return tc_schema_param(tc_op_schema(op), name); }

bool tc_op_mutates(const tc_op *op) {
    const tc_schema *s = tc_op_schema(op);
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].mutated) return true;
    return false;
}

/* Are the parameters of s, without out arguments, the first ones of f, and have f's further parameters defaults? Names may differ. */
static bool same_call(const tc_schema *s, const tc_schema *f) {
    int n = 0;
    for (int i = 0; i < s->nparams; i++) {
        const tc_param *p = &s->params[i], *q;
        if (p->mutated && p->kw_only) continue;
        for (q = NULL; n < f->nparams && !q; n++) { /* _to_copy.out lacks dtype and the like, which have defaults */
            q = &f->params[n];
            if (strcmp(q->name, p->name) && q->kw_only && q->has_default) q = NULL;
        }
        if (!q || q->type != p->type || q->optional != p->optional) return false;
    }
    for (; n < f->nparams; n++)
        if (!f->params[n].has_default) return false;
    return true;
}

/* The functional row for the in-place or out form s; NULL if tc lacks it. */
static const tc_op *functional_of(const tc_schema *s) {
    char base[128];
    size_t n = strlen(s->name);
    const bool augmented = s->inplace && !strncmp(s->name, "__i", 3); /* __ior__, of |= */
    if (s->inplace && !augmented) n--;
    int len =
        augmented ? snprintf(base, sizeof base, "%s::__%s", s->ns, s->name + 3) : snprintf(base, sizeof base, "%s::%.*s", s->ns, (int)n, s->name);
    if (len >= (int)sizeof base) return NULL;
    char own[128]; /* for forms of which PyTorch has no functional one: tc::fill_diagonal_functional */
    snprintf(own, sizeof own, "tc::%.*s_functional", (int)n, s->name);
    entry *best = NULL;
    int best_score = 0;
    for (size_t i = 0; i < reg.nrows; i++) {
        entry *e = &reg.rows[i];
        /* normal_ maps to normal_functional, since aten::normal is another function; so does _batch_norm_with_update, which writes running
         * statistics */
        const char *rest = !strcmp(e->key, own) ? "_functional" : e->key + (strncmp(e->key, base, (size_t)len) ? 0 : len);
        if (rest == e->key || (*rest && *rest != '.' && strcmp(rest, "_functional"))) continue;
        if (!s->inplace && !s->has_out && strcmp(rest, "_functional")) continue;
        const tc_schema *f = schema_locked(e);
        if (f->inplace || f->has_out || f->variadic || !same_call(s, f)) continue;
        int score = 1 + (f->nparams == s->nparams - (s->has_out ? s->nrets ? s->nrets : 1 : 0)) + 2 * !strcmp(f->overload, s->overload);
        if (score > best_score) best = e, best_score = score;
    }
    return best ? best->op : NULL;
}

static const tc_op *added(const char *key) {
    if (!atomic_load_explicit(&reg.nadded, memory_order_acquire)) return NULL;
    pthread_mutex_lock(&reg.lock);
    const entry *e = tc_map_find(&reg.derived, key);
    pthread_mutex_unlock(&reg.lock);
    return e ? e->op : NULL;
}

/* The caller does not hold the lock. NULL if PyTorch has no such form or tc lacks the functional row. */
static const tc_op *derive(const char *key) {
    size_t n;
    const char *line = tc_aten_line(key, strlen(key), &n);
    if (!line) return added(key);
    if (!memmem(line, n, "!)", 2)) return NULL;
    pthread_mutex_lock(&reg.lock);
    entry **place = (entry **)tc_map_put(&reg.derived, key, strlen(key)), *e = *place;
    if (!e) {
        tc_schema s;
        tc_status st = tc_schema_parse(&reg.arena, line, n, &s);
        const tc_op *f = !st ? functional_of(&s) : NULL;
        tc_status_free(st);
        if (f) {
            *place = e = TC_NEW(&reg.arena, entry);
            e->derived = (tc_op){.schema = tc_arena_strndup(&reg.arena, line, n), .flags = f->flags, .doc = f->doc};
            e->op = &e->derived;
            e->functional = f;
            e->key = tc_arena_strdup(&reg.arena, key);
            e->name = name_of_key(&reg.arena, e->key);
            atomic_store_explicit(&e->schema, tc_arena_dup(&reg.arena, &s, sizeof s), memory_order_release);
        }
    }
    pthread_mutex_unlock(&reg.lock);
    return e ? e->op : NULL;
}

/* Name spaces of tc's own rows, which no extension adds to. */
static const char *const spaces[] = {"aten", "prims", "higher_order", "tc", "quantized_decomposed", "torchvision", "image", "transformers"};

/* Converts any spelling of an operator's name to its key; false if the key is too long. */
static bool key_of_name(const char *name, char *key, size_t cap) {
    const char *sep = strstr(name, "::");
    int n;
    if (sep) {
        n = snprintf(key, cap, "%s", name);
    } else if (!strncmp(name, "torch.ops.", 10)) {
        const char *ns = name + 10, *dot = strchr(ns, '.');
        if (!dot) return false;
        n = snprintf(key, cap, "%.*s::%s", (int)(dot - ns), ns, dot + 1);
    } else {
        n = -1;
        for (size_t i = 0; i < sizeof spaces / sizeof *spaces && n < 0; i++) {
            size_t len = strlen(spaces[i]);
            if (!strncmp(name, spaces[i], len) && name[len] == '.') n = snprintf(key, cap, "%s::%s", spaces[i], name + len + 1);
        }
        if (n < 0) n = snprintf(key, cap, "aten::%s", name);
    }
    if (n < 0 || (size_t)n >= cap) return false;
    if (n > 8 && !strcmp(key + n - 8, ".default")) key[n - 8] = 0;
    return true;
}

const tc_op *tc_op_find(const char *name) {
    char key[160];
    start();
    if (!key_of_name(name, key, sizeof key)) return NULL;
    entry *e = row_of_key(key);
    return e ? e->op : derive(key);
}

bool tc_op_is_own_space(const char *ns) {
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++)
        if (!strcmp(ns, spaces[i])) return true;
    return false;
}

tc_status tc_op_register(const tc_op *row, const tc_schema *schema, const tc_op *functional, const tc_op **out) {
    start();
    if (tc_op_is_own_space(schema->ns))
        return tc_error(TC_CONTENT, "operator %s::%s: the name space %s is tc's", schema->ns, schema->name, schema->ns);
    pthread_mutex_lock(&reg.lock);
    const char *key = tc_arena_printf(&reg.arena, "%s::%s%s%s", schema->ns, schema->name, *schema->overload ? "." : "", schema->overload);
    entry **place = (entry **)tc_map_put(&reg.derived, key, strlen(key)), *e = *place;
    const bool known = e != NULL;
    if (!known) {
        *place = e = TC_NEW(&reg.arena, entry);
        e->derived = *row;
        e->op = &e->derived;
        e->functional = functional ? functional : e->op;
        e->key = key;
        e->name = name_of_key(&reg.arena, key);
        atomic_store_explicit(&e->schema, (tc_schema *)(uintptr_t)schema, memory_order_release);
        tc_vec_push(&reg.added, e);
        atomic_store_explicit(&reg.nadded, reg.added.len, memory_order_release);
    }
    pthread_mutex_unlock(&reg.lock);
    if (known) return tc_error(TC_CONTENT, "operator %s is defined twice", key);
    *out = e->op;
    return NULL;
}

/* The operator of extensions at i, or NULL. */
static const tc_op *added_at(size_t i) {
    if (i >= atomic_load_explicit(&reg.nadded, memory_order_acquire)) return NULL;
    pthread_mutex_lock(&reg.lock);
    const entry *e = reg.added.data[i];
    pthread_mutex_unlock(&reg.lock);
    return e->op;
}

const char *tc_op_name(const tc_op *op) { return entry_of(op)->name; }
bool tc_op_resizes(const tc_op *op) {
    const tc_schema *s = tc_op_schema(op);
    return s->inplace && (!strcmp(s->name, "resize_") || !strcmp(s->name, "resize_as_"));
}
const tc_op *tc_op_functional(const tc_op *op) { return entry_of(op)->functional; }

size_t tc_op_count(void) {
    start();
    return reg.nrows + atomic_load_explicit(&reg.nadded, memory_order_acquire);
}

const tc_op *tc_op_at(size_t i) {
    start();
    return i < reg.nrows ? reg.rows[i].op : added_at(i - reg.nrows);
}

/* ---- overloads in the order of PyTorch's argument parser ---- */

/* Names whose Tensor parameters take Python numbers (python_arg_parser.cpp, should_allow_numbers_as_tensors): their Scalar overloads
 * are never chosen from Python, so they come last. Everywhere else Scalar is tried before Tensor. */
static bool numbers_as_tensors(const char *name) {
    static const char *const names[] = {"add", "sub", "mul", "div", "divide", "multiply", "subtract", "true_divide", "floor_divide", "copy", "to"};
    size_t n = strlen(name);
    if (n && name[n - 1] == '_') n--;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strlen(names[i]) == n && !strncmp(names[i], name, n)) return true;
    return false;
}

bool tc_op_takes_numbers(const tc_op *op) { return numbers_as_tensors(tc_op_schema(op)->name); }

static int rank_of(const tc_op *op) {
    const tc_schema *s = tc_op_schema(op);
    int r = s->has_out ? 1000 : 0;
    bool late = numbers_as_tensors(s->name);
    for (int i = 0; i < s->nparams; i++)
        if (s->params[i].type == TC_T_SCALAR && !s->params[i].has_default) r += late ? 10 : -10 + i;
    if (s->nparams == 2 && s->params[1].type == TC_T_INTS) r++; /* x.hsplit(2): a number before a list without brackets */
    return r;
}

typedef struct {
    const tc_op **out;
    int n, max;
} found;

static bool add_line(void *ctx, const char *line, size_t len) {
    found *f = ctx;
    char key[160];
    size_t n = 0;
    while (n < len && line[n] != '(') n++;
    if (f->n == f->max || n >= sizeof key) return f->n < f->max;
    memcpy(key, line, n);
    key[n] = 0;
    const tc_op *op = tc_op_find(key);
    if (op) f->out[f->n++] = op;
    return true;
}

int tc_op_overloads(const char *name, const tc_op **out, int max) {
    char key[160];
    start();
    if (!key_of_name(name, key, sizeof key)) return 0;
    size_t n = strlen(key);
    found f = {out, 0, max};
    tc_aten_each(key, n, add_line, &f);
    for (size_t i = 0; i < tc_op_count() && f.n < max; i++) { /* rows with schemas that PyTorch lacks */
        const entry *e = i < reg.nrows ? &reg.rows[i] : entry_of(tc_op_at(i));
        size_t len;
        if (!strncmp(e->key, key, n) && (!e->key[n] || e->key[n] == '.') && !tc_aten_line(e->key, strlen(e->key), &len)) out[f.n++] = e->op;
    }
    for (int i = 1; i < f.n; i++) /* few, and stable */
        for (int j = i; j > 0 && rank_of(out[j]) < rank_of(out[j - 1]); j--) {
            const tc_op *t = out[j];
            out[j] = out[j - 1];
            out[j - 1] = t;
        }
    return f.n;
}

static bool any_line(void *ctx, const char *line, size_t len) {
    (void)line;
    (void)len;
    *(bool *)ctx = true;
    return false;
}

bool tc_op_takes_out(const tc_op *op) {
    entry *e = entry_of(op);
    char known = atomic_load_explicit(&e->takes_out, memory_order_relaxed);
    if (known) return known == 'y';
    const tc_op *ops[64];
    char name[160];
    const tc_schema *s = tc_op_schema(op);
    bool takes = false;
    snprintf(name, sizeof name, "%s::%s", s->ns, s->name);
    for (int i = 0, n = tc_op_overloads(name, ops, 64); i < n; i++) takes |= tc_op_schema(ops[i])->has_out && tc_op_functional(ops[i]) == op;
    atomic_store_explicit(&e->takes_out, takes ? 'y' : 'n', memory_order_relaxed);
    return takes;
}

typedef struct {
    char mark;
    tc_dtype type;
    bool found;
} wanted_mark;

/* Where the types of a line begin, behind " !"; NULL if it has none. */
static const char *types_of_line(const char *line, size_t len) {
    const char *at = memmem(line, len, " !", 2);
    return at ? at + 2 : NULL;
}

static bool line_has_mark(void *ctx, const char *line, size_t len) {
    wanted_mark *w = ctx;
    const char *types = types_of_line(line, len);
    if (types) len = (size_t)(types - 2 - line);
    while (len && strchr(TC_MARKS, line[len - 1])) w->found |= line[--len] == w->mark;
    return !w->found;
}

bool tc_op_name_marked(const char *name, char mark) {
    wanted_mark w = {.mark = mark};
    tc_aten_each(name, strlen(name), line_has_mark, &w);
    return w.found;
}

bool tc_op_marked(const tc_op *op, char mark) {
    char name[160];
    const tc_schema *s = tc_op_schema(tc_op_functional(op));
    snprintf(name, sizeof name, "%s::%s", s->ns, s->name);
    return tc_op_name_marked(name, mark);
}

static bool types_have(const char *p, const char *end, tc_dtype d) {
    const int size = (int)tc_dtype_size(d);
    const char *group = tc_is_complex(d) ? "complex" : tc_is_float(d) ? "f8" : d == TC_U16 || d == TC_U32 || d == TC_U64 ? "uint" : "int";
    const bool grouped = d != TC_BOOL && d != TC_C32 && (!tc_is_float(d) || size == 1);
    for (; p < end; p++) {
        const char *comma = memchr(p, ',', (size_t)(end - p));
        const size_t n = (size_t)((comma ? comma : end) - p);
        if ((n == strlen(tc_dtypes[d].name) && !memcmp(p, tc_dtypes[d].name, n)) || (grouped && n == strlen(group) && !memcmp(p, group, n)))
            return true;
        p += n;
    }
    return false;
}

static bool line_lacks(void *ctx, const char *line, size_t len) {
    wanted_mark *w = ctx;
    const char *types = types_of_line(line, len);
    if (types) w->found = types_have(types, line + len, w->type);
    return !types;
}

bool tc_op_lacks_kernel(const char *name, tc_dtype d) {
    wanted_mark w = {.type = d};
    tc_aten_each(name, strlen(name), line_lacks, &w);
    return w.found;
}

bool tc_op_is_known_to_pytorch(const char *name) {
    char key[160];
    size_t len;
    if (!key_of_name(name, key, sizeof key)) return false;
    if (tc_aten_line(key, strlen(key), &len)) return true;
    bool any = false;
    if (!strchr(strstr(key, "::"), '.')) tc_aten_each(key, strlen(key), any_line, &any);
    return any;
}

void tc_op_each_read(const tc_node *n, void (*fn)(void *ctx, const tc_value *v), void *ctx) {
    int last = -1;
    for (int i = 0; i < n->nargs; i++)
        if (n->args[i].kind == TC_A_VALUE && n->args[i].value && n->args[i].value->kind == TC_V_TENSOR) last = i;
    for (int i = 0; i < n->nargs; i++) {
        const tc_arg *a = &n->args[i];
        if (i == last && n->op->flags & TC_OP_LIKE) continue;
        if (a->kind == TC_A_VALUE && a->value) fn(ctx, a->value);
        for (int k = 0; a->kind == TC_A_VALUES && k < a->n; k++)
            if (a->values[k]) fn(ctx, a->values[k]);
    }
}
