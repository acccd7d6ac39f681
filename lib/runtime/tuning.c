/* Tuning files (tuning.h), and the functions by which binding reads them. */
#include "runtime/tuning.h"

#include "base/cpu.h"
#include "runtime/frame.h"
#include "version.h"

typedef struct {
    bool tile;   /* else a cost */
    bool stored; /* from a store, and not used so far */
    char *machine, *key;
    int64_t value;
} line;

struct tc_tuning {
    char *machine;
    TC_VEC(line) lines;
    tc_map places; /* number of a line, counted from 1, by map_key() */
    tc_costs costs;
    const char *knob; /* tc_tuning_try's knob, or NULL */
    int64_t trial;    /* its tile */
};

tc_status tc_tuning_create(int threads, tc_tuning **out) {
    tc_isa_row row;
    char model[64];
    TC_TRY(tc_isa_choose(NULL, &row));
    tc_cpu_model(model);
    tc_tuning *t = *out = tc_xcalloc(1, sizeof *t);
    tc_buf b = {0};
    for (char *c = model; *c; c++)
        if ((unsigned char)*c < ' ') *c = ' ';
    tc_buf_printf(&b, "%s, %s, %d thread%s", *model ? model : "unknown", tc_isa_name(row), threads, threads == 1 ? "" : "s");
    t->machine = tc_xstrdup(tc_buf_str(&b));
    tc_buf_free(&b);
    t->costs = tc_costs_of(&tc_cpu_here);
    return NULL;
}

void tc_tuning_destroy(tc_tuning *t) {
    if (!t) return;
    for (size_t i = 0; i < t->lines.len; i++) {
        free(t->lines.data[i].machine);
        free(t->lines.data[i].key);
    }
    tc_vec_free(&t->lines);
    tc_map_free(&t->places);
    free(t->machine);
    free(t);
}

const char *tc_tuning_machine(const tc_tuning *t) { return t->machine; }

static void map_key(tc_buf *b, bool tile, const char *machine, const char *key) { tc_buf_printf(b, "%d\t%s\t%s", tile, machine, key); }

static line *find(const tc_tuning *t, bool tile, const char *machine, const char *key) {
    tc_buf b = {0};
    map_key(&b, tile, machine, key);
    const uintptr_t at = (uintptr_t)tc_map_get(&t->places, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    return at ? &t->lines.data[at - 1] : NULL;
}

static const tc_cost_row *cost_row(const char *name) {
    for (int i = 0; i < TC_COST_ROWS; i++)
        if (!strcmp(tc_cost_rows[i].name, name)) return &tc_cost_rows[i];
    return NULL;
}

static void set(tc_tuning *t, bool tile, bool stored, const char *machine, const char *key, int64_t value) {
    tc_buf b = {0};
    map_key(&b, tile, machine, key);
    void **place = tc_map_put(&t->places, tc_buf_str(&b), b.len);
    tc_buf_free(&b);
    if (!*place) {
        tc_vec_push(&t->lines, ((line){tile, stored, tc_xstrdup(machine), tc_xstrdup(key), value}));
        *place = (void *)(uintptr_t)t->lines.len;
    }
    line *l = &t->lines.data[(uintptr_t)*place - 1];
    if (stored && !l->stored) return; /* a line of this program has precedence */
    l->value = value, l->stored = stored;
    const tc_cost_row *row = tile || strcmp(machine, t->machine) ? NULL : cost_row(key);
    if (row) memcpy((char *)&t->costs + row->at, &value, sizeof value);
}

void tc_tuning_set_cost(tc_tuning *t, const char *name, int64_t value) { set(t, false, false, t->machine, name, value); }
void tc_tuning_set_tile(tc_tuning *t, const char *key, int64_t tile) { set(t, true, false, t->machine, key, tile); }
bool tc_tuning_has_tile(tc_tuning *t, const char *key) {
    line *l = find(t, true, t->machine, key);
    if (l) l->stored = false;
    return l != NULL;
}
void tc_tuning_try(tc_tuning *t, const char *knob, int64_t tile) { t->knob = knob, t->trial = tile; }

/* Adds one line; s is modified. */
static tc_status read_line(tc_tuning *t, char *s, bool store) {
    char *field[4] = {s}, *end;
    int n = 1;
    for (char *c = s; *c; c++) {
        if (*c != '\t') continue;
        *c = 0;
        if (n == 4) return tc_error(TC_CONTENT, "more than four fields");
        field[n++] = c + 1;
    }
    const bool tile = !strcmp(field[0], "tile");
    if (n != 4 || (!tile && strcmp(field[0], "cost")))
        return tc_error(TC_CONTENT, "expected 'cost' or 'tile', a machine, a key and a number, with tabs between");
    const long long value = strtoll(field[3], &end, 10);
    if (end == field[3] || *end || value < 0 || value > (INT64_C(1) << 40))
        return tc_error(TC_CONTENT, "'%s' is not a number from 0 to 2^40", field[3]);
    const tc_cost_row *row = tile ? NULL : cost_row(field[2]);
    if (!tile && !row) return tc_error(TC_CONTENT, "no cost is called '%s'", field[2]);
    if (row && (value < row->lo || value > row->hi))
        return tc_error(TC_CONTENT, "%s is %lld, expected %lld..%lld", row->name, value, (long long)row->lo, (long long)row->hi);
    if (tile || !store) set(t, tile, store, field[1], field[2], value); /* costs in a store are ignored */
    return NULL;
}

tc_status tc_tuning_read(tc_tuning *t, const char *text, size_t len, const char *name, bool store) {
    tc_status s = NULL;
    int number = 1;
    for (size_t at = 0, end; !s && at < len; at = end + 1, number++) {
        for (end = at; end < len && text[end] != '\n';) end++;
        if (end == at || text[at] == '#') continue;
        tc_buf one = {0};
        tc_buf_append(&one, text + at, end - at);
        char *copy = tc_xstrdup(tc_buf_str(&one));
        s = read_line(t, copy, store);
        free(copy);
        tc_buf_free(&one);
        if (s) s = tc_annotate(s, "%s:%d", name, number);
    }
    return s;
}

static int by_text(const void *a, const void *b) {
    const line *x = a, *y = b;
    if (x->tile != y->tile) return x->tile - y->tile;
    int d = strcmp(x->machine, y->machine);
    return d ? d : strcmp(x->key, y->key);
}

void tc_tuning_write(const tc_tuning *t, bool store, tc_buf *out) {
    tc_buf_printf(out, "# tc %s, %s\n", TC_VERSION, t->machine);
    line *sorted = tc_xcalloc(t->lines.len + 1, sizeof *sorted);
    for (size_t i = 0; i < t->lines.len; i++) sorted[i] = t->lines.data[i];
    qsort(sorted, t->lines.len, sizeof *sorted, by_text);
    for (size_t i = 0; i < t->lines.len; i++)
        if (store ? sorted[i].tile : !sorted[i].stored)
            tc_buf_printf(out, "%s\t%s\t%s\t%lld\n", sorted[i].tile ? "tile" : "cost", sorted[i].machine, sorted[i].key, (long long)sorted[i].value);
    free(sorted);
}

size_t tc_tuning_lines(const tc_tuning *t, bool others) {
    size_t n = 0;
    for (size_t i = 0; i < t->lines.len; i++) n += (strcmp(t->lines.data[i].machine, t->machine) != 0) == others;
    return n;
}

/* ---- for binding ---- */
/* Elements of a block: multiples of a leaf, so that leaves of sums are not split. */
static const int64_t blocks[] = {2 * TC_LEAF, 4 * TC_LEAF, 6 * TC_LEAF, 8 * TC_LEAF, 12 * TC_LEAF, 0}, unpacked[] = {1, 0};
static const char block_knob[] = "block", packing_knob[] = "packing";

const tc_costs *tuning_costs(const tc_exec *e) { return e->tuning ? &e->tuning->costs : &e->costs; }
void tc_exec_set_tuning(tc_exec *e, const tc_tuning *t) { e->tuning = t; }
void tc_exec_set_timed(tc_exec *e, tc_exec_timed fn, void *ctx) { e->timed = fn, e->timed_ctx = ctx; }

static void loop_key(const tc_exec *e, const tc_loop *l, tc_buf *out) {
    const char *name = l->nnodes ? tc_op_name(l->nodes[l->nnodes - 1]->op) : "", *dot = strchr(name, '.');
    int64_t n = 0;
    tc_buf_printf(out, "loop %.*s ", dot ? (int)strcspn(dot + 1, ".") : 0, dot ? dot + 1 : "");
    for (int a = 0; a < l->naxes; a++) {
        tc_status_free(tc_sym_eval_int(l->axes[a].extent, e->vars, e->nvars, &n));
        tc_buf_printf(out, "%s%lld", a ? "x" : "", (long long)n);
    }
}

static void kernel_key(const tc_node *n, const kernel_call *k, const char *knob, tc_buf *out) {
    tc_buf_printf(out, "%s%s%s %s", n->op->kernel->name, knob ? "." : "", knob ? knob : "", tc_dtypes[k->outs[0].dtype].name);
    for (int i = 0; i < n->nargs; i++) {
        const tc_tensor *t = k->args[i].kind == TC_K_TENSOR ? k->args[i].tensor : NULL;
        if (!t) continue;
        tc_buf_putc(out, ' ');
        for (int a = 0; a < t->rank; a++) tc_buf_printf(out, "%s%lld", a ? "x" : "", (long long)t->size[a]);
    }
}

/* The value for a key by the lines or by a trial, if it is among the choices; else 0. */
static int64_t chosen(const tc_tuning *t, const char *knob, const char *key, const int64_t *choices) {
    const bool trial = t->knob && !strcmp(t->knob, knob);
    const line *l = trial ? NULL : find(t, true, t->machine, key);
    const int64_t want = trial ? t->trial : l ? l->value : 0;
    while (*choices && *choices != want) choices++;
    return *choices;
}

int64_t tuning_block(const tc_exec *e, const tc_loop *l) {
    tc_buf key = {0};
    if (!e->tuning) return 0;
    loop_key(e, l, &key);
    const int64_t tile = chosen(e->tuning, block_knob, tc_buf_str(&key), blocks);
    tc_buf_free(&key);
    return tile;
}

static int kernel_knobs(const tc_node *n, const kernel_call *k, tc_knob *out) { return n->op->kernel->knobs ? n->op->kernel->knobs(&k->k, out) : 0; }

void tuning_kernel(const tc_exec *e, const tc_node *n, kernel_call *k) {
    tc_knob knobs[TC_KNOBS];
    if (!e->tuning || !k->k.nouts) return;
    for (int i = 0; i < kernel_knobs(n, k, knobs); i++) { /* a knob's values may depend on those set before */
        tc_buf key = {0};
        kernel_key(n, k, knobs[i].name, &key);
        k->k.knob[i] = chosen(e->tuning, knobs[i].name, tc_buf_str(&key), knobs[i].values);
        tc_buf_free(&key);
    }
}

bool tuning_unpacked(const tc_exec *e, const tc_node *n, const kernel_call *k) {
    tc_buf key = {0};
    if (!e->tuning) return false;
    kernel_key(n, k, NULL, &key);
    const int64_t tile = chosen(e->tuning, packing_knob, tc_buf_str(&key), unpacked);
    tc_buf_free(&key);
    return tile != 0;
}

static void report(const frame *f, const char *knob, const int64_t *choices, tc_buf *key, uint64_t ns) {
    if (*choices) f->e->timed(f->e->timed_ctx, knob, tc_buf_str(key), choices, ns);
    tc_buf_free(key);
}
void tuning_report(const frame *f, const call *c, uint64_t ns) {
    const tc_node *n = c->group ? c->group->node : NULL;
    tc_knob knobs[TC_KNOBS];
    tc_buf key = {0};
    if (c->kind == CALL_LOOP && c->block) loop_key(f->e, c->group->loop, &key), report(f, block_knob, blocks, &key, ns);
    if (c->kind != CALL_KERNEL) return;
    if (c->kernel->may_pack) kernel_key(n, c->kernel, NULL, &key), report(f, packing_knob, unpacked, &key, ns);
    const int count = c->kernel->k.nouts ? kernel_knobs(n, c->kernel, knobs) : 0;
    for (int i = 0; i < count; i++) kernel_key(n, c->kernel, knobs[i].name, &key), report(f, knobs[i].name, knobs[i].values, &key, ns);
}
