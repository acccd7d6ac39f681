/* libyaml's events as a tree, and typed readers. See yaml.h. */
#include "base/yaml.h"

#include "base/json_write.h"
#include "base/text.h"

#include <math.h>
#include <yaml.h>

enum { MAX_DEPTH = 32, MAX_OVERRIDE_DEPTH = 16, MAX_NODES = 1000000 };

typedef struct {
    yaml_parser_t parser;
    tc_arena *arena;
    const char *file, *text;
    size_t len;
    int nodes;
} reader;

/* The text of a line (from 1), for the caret. */
static const char *line_text(reader *r, size_t line) {
    size_t i = 0;
    for (size_t l = 1; l < line && i < r->len; i++)
        if (r->text[i] == '\n') l++;
    const char *nl = memchr(r->text + i, '\n', r->len - i);
    size_t n = nl ? (size_t)(nl - r->text) - i : r->len - i;
    return tc_arena_strndup(r->arena, r->text + i, n < 400 ? n : 400);
}

static tc_status refuse(reader *r, yaml_mark_t m, const char *what) {
    tc_place at = {.file = r->file, .line = (int64_t)m.line + 1, .col = (int64_t)m.column + 1, .offset = -1, .text = line_text(r, m.line + 1)};
    return tc_error_at(TC_USAGE, at, "%s", what);
}

static const char FLOW_HINT[] = "inside { } and [ ] an expression that holds , : [ ] { or } is put in quotes";

static tc_status no_memory(void) { return tc_error(TC_ENV, "out of memory for the YAML reader"); }

static tc_status next(reader *r, yaml_event_t *e) {
    if (yaml_parser_parse(&r->parser, e)) return NULL;
    if (r->parser.error == YAML_MEMORY_ERROR || r->parser.error == YAML_NO_ERROR) return no_memory(); /* libyaml does not always report it as such */
    /* an error such as "seed 1" is noticed on the next line: the context has the right position */
    bool begun = r->parser.error == YAML_SCANNER_ERROR && r->parser.context && strstr(r->parser.context, "simple key");
    yaml_mark_t m = begun ? r->parser.context_mark : r->parser.problem_mark;
    if (r->parser.error == YAML_READER_ERROR) {
        m = r->parser.mark;
        return refuse(r, m, "the text is not UTF-8, or holds control characters");
    }
    tc_buf b = {0};
    tc_buf_printf(&b, "not YAML: %s%s%s", r->parser.problem ? r->parser.problem : "syntax error", r->parser.context ? " " : "",
                  r->parser.context ? r->parser.context : "");
    tc_status s = refuse(r, m, tc_buf_str(&b));
    tc_buf_free(&b);
    return begun || !r->parser.context || !strstr(r->parser.context, "flow") ? s : tc_status_add(s, "%s", FLOW_HINT);
}

static char *join(tc_arena *a, const char *path, const char *key) { return *path ? tc_arena_printf(a, "%s.%s", path, key) : tc_arena_strdup(a, key); }

static tc_status check_plain(reader *r, const yaml_event_t *e, const yaml_char_t *anchor, const yaml_char_t *tag) {
    if (anchor) return refuse(r, e->start_mark, "anchors (&name) are not taken in recipes");
    if (tag) return refuse(r, e->start_mark, "tags (!name) are not taken in recipes");
    if (++r->nodes > MAX_NODES) return refuse(r, e->start_mark, "too many values");
    return NULL;
}

/* In {accuracy: f(out, y)} YAML ends the value before the comma. */
static tc_status check_whole(reader *r, const yaml_event_t *e, const char *text) {
    int open = 0;
    for (const char *s = text; *s; s++) open += (*s == '(') - (*s == ')');
    if (open <= 0) return NULL;
    const char *behind = line_text(r, e->end_mark.line + 1);
    for (size_t k = 0; k < e->end_mark.column && *behind; k++) /* columns count characters */
        do behind++;
        while (((unsigned char)*behind & 0xc0) == 0x80);
    if (behind[strspn(behind, " ")] != ',') return NULL;
    return tc_status_add(refuse(r, e->start_mark, "the value ends at a comma, before its '(' is closed"), "%s", FLOW_HINT);
}

static tc_status read_node(reader *r, yaml_event_t *e, const char *path, int depth, tc_yaml **out);

static tc_status read_items(reader *r, tc_yaml *y, int depth) {
    TC_VEC(tc_yaml *) items = {0};
    TC_VEC(const char *) keys = {0};
    TC_VEC(int) lines = {0};
    bool map = y->kind == TC_YAML_MAP;
    tc_status s = NULL;
    for (bool more = true; more && !s;) {
        yaml_event_t e;
        if ((s = next(r, &e))) break;
        const char *key = NULL;
        if (e.type == YAML_MAPPING_END_EVENT || e.type == YAML_SEQUENCE_END_EVENT) {
            more = false;
        } else if (map) {
            if (e.type != YAML_SCALAR_EVENT)
                s = refuse(r, e.start_mark, e.type == YAML_ALIAS_EVENT ? "aliases (*name) are not taken in recipes" : "a key must be a plain word");
            if (!s) s = check_plain(r, &e, e.data.scalar.anchor, e.data.scalar.tag);
            if (!s) {
                key = tc_arena_strndup(r->arena, (const char *)e.data.scalar.value, e.data.scalar.length);
                for (size_t i = 0; i < keys.len && !s; i++)
                    if (strcmp(keys.data[i], key) == 0) s = refuse(r, e.start_mark, "this key stands twice");
                tc_vec_push(&keys, key);
                tc_vec_push(&lines, (int)e.start_mark.line + 1);
                yaml_event_delete(&e);
                if (!s) s = next(r, &e);
                else memset(&e, 0, sizeof e);
            }
        } else {
            key = tc_arena_printf(r->arena, "%zu", items.len);
        }
        tc_yaml *v = NULL;
        if (more && !s) s = read_node(r, &e, join(r->arena, y->path, key), depth + 1, &v);
        if (more && !s) tc_vec_push(&items, v);
        yaml_event_delete(&e);
    }
    y->n = (int)items.len;
    y->items = tc_arena_dup(r->arena, items.data, items.len * sizeof *items.data);
    y->keys = tc_arena_dup(r->arena, keys.data, keys.len * sizeof *keys.data);
    y->key_lines = tc_arena_dup(r->arena, lines.data, lines.len * sizeof *lines.data);
    tc_vec_free(&items);
    tc_vec_free(&keys);
    tc_vec_free(&lines);
    return s;
}

/* e is the node's first event; the caller deletes it. */
static tc_status read_node(reader *r, yaml_event_t *e, const char *path, int depth, tc_yaml **out) {
    if (depth > MAX_DEPTH) return refuse(r, e->start_mark, "nested deeper than 32");
    tc_yaml *y = TC_NEW(r->arena, tc_yaml);
    y->file = r->file;
    y->line = (int)e->start_mark.line + 1;
    y->col = (int)e->start_mark.column + 1;
    y->path = tc_arena_strdup(r->arena, path);
    *out = y;
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        TC_TRY(check_plain(r, e, e->data.scalar.anchor, e->data.scalar.tag));
        if (memchr(e->data.scalar.value, 0, e->data.scalar.length)) return refuse(r, e->start_mark, "text with a NUL character");
        y->kind = TC_YAML_SCALAR;
        y->text = tc_arena_strndup(r->arena, (const char *)e->data.scalar.value, e->data.scalar.length);
        y->quoted = e->data.scalar.style != YAML_PLAIN_SCALAR_STYLE;
        return y->quoted ? NULL : check_whole(r, e, y->text);
    case YAML_SEQUENCE_START_EVENT:
        TC_TRY(check_plain(r, e, e->data.sequence_start.anchor, e->data.sequence_start.tag));
        y->kind = TC_YAML_LIST;
        return read_items(r, y, depth);
    case YAML_MAPPING_START_EVENT:
        TC_TRY(check_plain(r, e, e->data.mapping_start.anchor, e->data.mapping_start.tag));
        y->kind = TC_YAML_MAP;
        return read_items(r, y, depth);
    case YAML_ALIAS_EVENT: return refuse(r, e->start_mark, "aliases (*name) are not taken in recipes");
    default: return refuse(r, e->start_mark, "unexpected structure");
    }
}

static tc_status read_document(reader *r, tc_yaml **out) {
    *out = NULL;
    for (;;) {
        yaml_event_t e;
        TC_TRY(next(r, &e));
        tc_status s = NULL;
        bool end = e.type == YAML_STREAM_END_EVENT;
        if (e.type == YAML_DOCUMENT_START_EVENT && *out) s = refuse(r, e.start_mark, "a second document");
        else if (e.type == YAML_SCALAR_EVENT || e.type == YAML_SEQUENCE_START_EVENT || e.type == YAML_MAPPING_START_EVENT ||
                 e.type == YAML_ALIAS_EVENT)
            s = read_node(r, &e, "", 0, out);
        yaml_event_delete(&e);
        if (s || end) return s;
    }
}

/* Parses the document; *out is NULL if there is none. */
static tc_status parse_any(tc_arena *a, const char *file, const char *text, size_t len, tc_yaml **out) {
    reader r = {.arena = a, .file = file ? tc_arena_strdup(a, file) : NULL, .text = text, .len = len};
    if (!yaml_parser_initialize(&r.parser)) return no_memory();
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)text, len);
    tc_status s = read_document(&r, out);
    yaml_parser_delete(&r.parser);
    return s;
}

tc_status tc_yaml_parse(tc_arena *a, const char *file, const char *text, size_t len, tc_yaml **out) {
    tc_status s = parse_any(a, file, text, len, out);
    if (!s && (!*out || tc_yaml_is_null(*out))) {
        *out = TC_NEW(a, tc_yaml);
        **out = (tc_yaml){.kind = TC_YAML_MAP, .file = file ? tc_arena_strdup(a, file) : NULL, .line = 1, .col = 1, .path = tc_arena_strdup(a, "")};
    }
    return s;
}

tc_yaml *tc_yaml_get(const tc_yaml *map, const char *key) {
    for (int i = 0; map && map->kind == TC_YAML_MAP && i < map->n; i++)
        if (strcmp(map->keys[i], key) == 0) return map->items[i];
    return NULL;
}

/* Sets a key of a map, keeping the order of the keys. */
static void put(tc_arena *a, tc_yaml *map, const char *key, tc_yaml *v) {
    for (int i = 0; i < map->n; i++) {
        if (strcmp(map->keys[i], key)) continue;
        map->items[i] = v;
        return;
    }
    tc_yaml **items = TC_NEWN(a, tc_yaml *, (size_t)map->n + 1);
    const char **keys = TC_NEWN(a, const char *, (size_t)map->n + 1);
    int *lines = TC_NEWN(a, int, (size_t)map->n + 1);
    if (map->n) {
        memcpy(items, map->items, (size_t)map->n * sizeof *items);
        memcpy(keys, map->keys, (size_t)map->n * sizeof *keys);
        memcpy(lines, map->key_lines, (size_t)map->n * sizeof *lines);
    }
    items[map->n] = v;
    keys[map->n] = tc_arena_strdup(a, key);
    map->items = items;
    map->keys = keys;
    map->key_lines = lines;
    map->n++;
}

static void set_path(tc_arena *a, tc_yaml *y, char *path) {
    y->path = path;
    for (int i = 0; i < y->n; i++) set_path(a, y->items[i], join(a, path, y->kind == TC_YAML_MAP ? y->keys[i] : tc_arena_printf(a, "%d", i)));
}

/* VALUE of an argument. A string is the text itself, so that a lambda or a dict of an expression needs no quotes beside the shell's; it may be null, quoted
 * or a block as in YAML. */
static tc_status read_argument(tc_arena *a, char *file, const char *text, bool string, tc_yaml **out) {
    tc_status s = parse_any(a, file, text, strlen(text), out);
    tc_yaml *v = s ? NULL : *out;
    if (string ? v && v->kind == TC_YAML_SCALAR && (v->quoted || tc_yaml_is_null(v)) : s || (v && v->file)) return s;
    tc_status_free(s);
    const size_t blanks = string ? strspn(text, " \t") : strlen(text);
    *out = TC_NEW(a, tc_yaml);
    **out = (tc_yaml){.kind = TC_YAML_SCALAR,
                      .text = tc_arena_strdup(a, text + blanks),
                      .quoted = true,
                      .file = file,
                      .line = 1,
                      .col = string ? (int)blanks + 1 : 1};
    return NULL;
}

static bool is_string(const tc_yaml_field *fields, const char *key, size_t n) {
    for (; fields && fields->key; fields++)
        if (strlen(fields->key) == n && !memcmp(fields->key, key, n)) return fields->type == TC_Y_STRING;
    return false;
}

tc_status tc_yaml_override(tc_arena *a, tc_yaml *root, const tc_yaml_field *fields, const char *assignment) {
    const char *eq = strchr(assignment, '=');
    if (!eq || eq == assignment) return tc_error(TC_USAGE, "'%s': expected KEY=VALUE", assignment);
    char *file = tc_arena_printf(a, "argument %.*s", (int)(eq - assignment), assignment);
    tc_yaml *v;
    TC_TRY(read_argument(a, file, eq + 1, is_string(fields, assignment, (size_t)(eq - assignment)), &v));
    v->argument = true;
    char *path = tc_arena_strndup(a, assignment, (size_t)(eq - assignment));
    set_path(a, v, tc_arena_strdup(a, path));
    tc_yaml *at = root;
    int depth = 0;
    for (char *dot; (dot = strchr(path, '.')); path = dot + 1) {
        *dot = 0;
        if (++depth > MAX_OVERRIDE_DEPTH) return tc_error(TC_USAGE, "%s: the key has more than %d parts", assignment, MAX_OVERRIDE_DEPTH);
        tc_yaml *child = NULL;
        if (at->kind == TC_YAML_LIST) {
            int64_t i;
            if (tc_parse_i64(path, &i) && i >= 0 && i < at->n) child = at->items[i];
        } else {
            child = tc_yaml_get(at, path);
            if (!child || tc_yaml_is_null(child)) {
                child = TC_NEW(a, tc_yaml);
                *child = (tc_yaml){.kind = TC_YAML_MAP, .file = v->file, .line = 1, .col = 1, .path = join(a, at->path, path)};
                put(a, at, path, child);
            }
        }
        if (!child || child->kind == TC_YAML_SCALAR) return tc_error(TC_USAGE, "%s: '%s' is not a group of keys", assignment, path);
        at = child;
    }
    if (at->kind == TC_YAML_MAP) {
        put(a, at, path, v);
        return NULL;
    }
    int64_t i;
    if (!tc_parse_i64(path, &i) || i < 0 || i >= at->n)
        return tc_error(TC_USAGE, "%s: '%s' is not an element of the list of %d", assignment, path, at->n);
    at->items[i] = v;
    return NULL;
}

bool tc_yaml_is_null(const tc_yaml *y) {
    return !y || (y->kind == TC_YAML_SCALAR && !y->quoted &&
                  (!*y->text || !strcmp(y->text, "null") || !strcmp(y->text, "~") || !strcmp(y->text, "Null") || !strcmp(y->text, "NULL")));
}

/* ---- typed values ---- */

const char *tc_yaml_place(tc_arena *a, const tc_yaml *y) {
    return y->argument ? y->file : tc_arena_printf(a, "%s:%d: %s", y->file, y->line, y->path);
}

tc_status tc_yaml_error(const tc_yaml *y, const char *fmt, ...) {
    tc_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    tc_place at = {.file = y->file, .line = y->line, .col = y->col, .offset = -1};
    const char *path = y->path && !y->argument ? y->path : "";
    tc_status s = tc_error_at(TC_USAGE, at, "%s%s%s", path, *path ? ": " : "", tc_buf_str(&b));
    tc_buf_free(&b);
    return s;
}

static tc_status mismatch(const tc_yaml *y, const char *expected) {
    if (y->kind != TC_YAML_SCALAR) return tc_yaml_error(y, "found a %s, expected %s", y->kind == TC_YAML_MAP ? "map" : "list", expected);
    return tc_yaml_error(y, "found '%.60s', expected %s", y->text, expected);
}

tc_status tc_yaml_int(const tc_yaml *y, int64_t *out) {
    if (y->kind == TC_YAML_SCALAR && !y->quoted) {
        if (tc_parse_i64(y->text, out)) return NULL;
        double d; /* 1e6 counts as an integer */
        if (tc_parse_double(y->text, &d) && d == floor(d) && fabs(d) < 0x1p53) {
            *out = (int64_t)d;
            return NULL;
        }
        const char *t = y->text;
        if (strlen(t) > 18 && !t[strspn(t, "0123456789")]) return mismatch(y, "a whole number of at most 9223372036854775807");
    }
    return mismatch(y, "a whole number");
}

tc_status tc_yaml_double(const tc_yaml *y, double *out) {
    if (y->kind == TC_YAML_SCALAR && !y->quoted) {
        const char *t = y->text;
        bool minus = *t == '-';
        if (!strcmp(t + minus, ".inf")) return *out = minus ? -INFINITY : INFINITY, NULL;
        if (!strcmp(t, ".nan")) return *out = NAN, NULL;
        if (tc_parse_double(t, out)) return NULL;
    }
    return mismatch(y, "a number");
}

static tc_status as_bool(const tc_yaml *y, bool *out) { /* only true and false */
    if (y->kind == TC_YAML_SCALAR && !y->quoted) {
        if (!strcmp(y->text, "true") || !strcmp(y->text, "True")) return *out = true, NULL;
        if (!strcmp(y->text, "false") || !strcmp(y->text, "False")) return *out = false, NULL;
    }
    return mismatch(y, "true or false");
}

tc_status tc_yaml_string(const tc_yaml *y, const char **out) {
    if (y->kind != TC_YAML_SCALAR || tc_yaml_is_null(y)) return mismatch(y, "text");
    *out = y->text;
    return NULL;
}

static tc_status as_seed(const tc_yaml *y, uint64_t *out) {
    int64_t small;
    tc_status s = tc_yaml_int(y, &small);
    *out = s ? 0 : (uint64_t)small;
    if (!s) return NULL;
    tc_status_free(s);
    if (y->kind == TC_YAML_SCALAR && !y->quoted && tc_parse_seed(y->text, out)) return NULL;
    return mismatch(y, "a whole number from -9223372036854775808 to 18446744073709551615");
}

static tc_status read_field(const tc_yaml *v, tc_yaml_type type, void *to) {
    switch (type) {
    case TC_Y_INT: return tc_yaml_int(v, to);
    case TC_Y_SEED: return as_seed(v, to);
    case TC_Y_DOUBLE: return tc_yaml_double(v, to);
    case TC_Y_BOOL: return as_bool(v, to);
    case TC_Y_STRING: return tc_yaml_string(v, to);
    case TC_Y_NODE: *(const tc_yaml **)to = v; return NULL;
    }
    TC_BUG("yaml type %d", type);
}

static tc_status unknown_key(const tc_yaml *map, int i, const tc_yaml_field *fields) {
    const char *names[128];
    size_t n = 0;
    tc_buf list = {0};
    for (; fields[n].key && n < 128; n++) {
        names[n] = fields[n].key;
        tc_buf_printf(&list, "%s%s", n ? ", " : "", names[n]);
    }
    tc_place at = {.file = map->file, .line = map->key_lines[i] ? map->key_lines[i] : map->items[i]->line, .offset = -1};
    if (!map->key_lines[i]) at.file = map->items[i]->file;
    const char *near = tc_suggest(map->keys[i], names, n);
    tc_status s = near
                      ? tc_error_at(TC_USAGE, at, "unknown key '%s'%s%s; did you mean '%s'?", map->keys[i], *map->path ? " in " : "", map->path, near)
                      : tc_error_at(TC_USAGE, at, "unknown key '%s'%s%s, expected one of %s", map->keys[i], *map->path ? " in " : "", map->path,
                                    tc_buf_str(&list));
    tc_buf_free(&list);
    return s;
}

tc_status tc_yaml_read(const tc_yaml *map, const tc_yaml_field *fields, void *out_struct) {
    if (map->kind != TC_YAML_MAP) return mismatch(map, "a map of keys");
    for (int i = 0; i < map->n; i++) {
        const tc_yaml_field *f = fields;
        while (f->key && strcmp(f->key, map->keys[i])) f++;
        if (!f->key) return unknown_key(map, i, fields);
        if (!tc_yaml_is_null(map->items[i])) TC_TRY(read_field(map->items[i], f->type, (char *)out_struct + f->offset));
    }
    return NULL;
}

/* ---- writing ---- */

static void scalar_json(const tc_yaml *y, tc_json *w) {
    int64_t i;
    uint64_t seed;
    double d;
    bool t;
    if (y->quoted) tc_json_string(w, y->text);
    else if (tc_yaml_is_null(y)) tc_json_null(w);
    else if (tc_parse_i64(y->text, &i)) tc_json_int(w, i);
    else if (*y->text != '0' && tc_parse_seed(y->text, &seed)) tc_json_raw(w, y->text, strlen(y->text));
    else if (tc_parse_double(y->text, &d) && isfinite(d)) tc_json_double(w, d);
    else if (!strcmp(y->text, "true") || !strcmp(y->text, "false")) t = *y->text == 't', tc_json_bool(w, t);
    else tc_json_string(w, y->text);
}

static void node_json(const tc_yaml *y, tc_json *w) {
    if (y->kind == TC_YAML_SCALAR) {
        scalar_json(y, w);
        return;
    }
    if (y->kind == TC_YAML_MAP) tc_json_object(w);
    else tc_json_array(w);
    for (int i = 0; i < y->n; i++) {
        if (y->kind == TC_YAML_MAP) tc_json_key(w, y->keys[i]);
        node_json(y->items[i], w);
    }
    tc_json_end(w);
}

_Static_assert((int)TC_JSON_DEPTH > 2 * (int)MAX_DEPTH - MAX_OVERRIDE_DEPTH + 1, "a tree with an override under its deepest key must fit in JSON");

void tc_yaml_to_json(const tc_yaml *y, tc_buf *b) {
    tc_json w = {.b = b};
    node_json(y, &w);
}

void tc_yaml_print(const tc_yaml *y, tc_buf *b) {
    if (y->kind != TC_YAML_MAP) {
        tc_yaml_to_json(y, b); /* JSON is YAML */
        tc_buf_putc(b, '\n');
        return;
    }
    for (int i = 0; i < y->n; i++) {
        tc_json key = {.b = b};
        bool plain = strspn(y->keys[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == strlen(y->keys[i]);
        if (plain) tc_buf_puts(b, y->keys[i]);
        else tc_json_string(&key, y->keys[i]);
        tc_buf_puts(b, ": ");
        tc_yaml_to_json(y->items[i], b);
        tc_buf_putc(b, '\n');
    }
}
