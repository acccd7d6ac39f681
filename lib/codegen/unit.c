/* A unit of emitted C: preamble, used scalar functions, the groups, their table (emit.h). */
#include "codegen/emit.h"
#include "codegen/paste.h"

#include <ctype.h>

typedef struct {
    uint8_t key[TC_ABI_KEY_BYTES];
    char *name;
    tc_emitted code;
    int nbuffers, naxes, nnumbers;
    uint8_t *dense;
} group;

struct tc_unit {
    char *isa, *made_by;
    bool sanitize;
    TC_VEC(group) groups;
};

tc_unit *tc_unit_create(const tc_unit_options *o) {
    tc_unit *u = tc_xcalloc(1, sizeof *u);
    u->isa = tc_xstrdup(o->isa ? o->isa : "portable");
    u->made_by = tc_xstrdup(o->made_by ? o->made_by : "tc");
    u->sanitize = o->sanitize;
    return u;
}

void tc_unit_destroy(tc_unit *u) {
    if (!u) return;
    for (size_t i = 0; i < u->groups.len; i++) {
        free(u->groups.data[i].name);
        free(u->groups.data[i].dense);
        tc_buf_free(&u->groups.data[i].code.text);
    }
    tc_vec_free(&u->groups);
    free(u->isa);
    free(u->made_by);
    free(u);
}

static const group *find(const tc_unit *u, const uint8_t *key) {
    for (size_t i = 0; i < u->groups.len; i++)
        if (!memcmp(u->groups.data[i].key, key, TC_ABI_KEY_BYTES)) return &u->groups.data[i];
    return NULL;
}

size_t tc_unit_groups(const tc_unit *u) { return u->groups.len; }

const char *tc_unit_group_name(const tc_unit *u, const tc_group_desc *d) {
    const group *g = find(u, d->key);
    return g ? g->name : NULL;
}

/* g3_softmax_add: the number, and the first operators. */
static char *name_of(const tc_unit *u, const tc_loop *l) {
    tc_buf b = {0};
    tc_buf_printf(&b, "g%zu", u->groups.len);
    for (int i = 0; i < l->nnodes && b.len < 40; i++) {
        const char *s = l->nodes[i]->name;
        if (!s || !*s) continue;
        tc_buf_putc(&b, '_');
        for (; *s && b.len < 48; s++) tc_buf_putc(&b, isascii((unsigned char)*s) && isalnum((unsigned char)*s) ? *s : '_');
    }
    return b.data;
}

tc_status tc_unit_add(tc_unit *u, const tc_loop *l, const tc_group_desc *d) {
    if (find(u, d->key)) return NULL;
    group g = {.name = name_of(u, l), .nbuffers = (int)l->buffers.len, .naxes = l->naxes, .nnumbers = d->nnumbers};
    tc_status st = tc_emit_group(l, d, g.name, u->sanitize, &g.code);
    if (st) {
        free(g.name);
        return st;
    }
    memcpy(g.key, d->key, sizeof g.key);
    g.dense = tc_xmalloc(l->buffers.len + 1);
    memcpy(g.dense, d->dense, l->buffers.len);
    tc_vec_push(&u->groups, g);
    return NULL;
}

static const char preamble[] =
    "/* The bits are those of tc's interpreter only without contraction and re-association: cc -std=c11 -O3 -ffp-contract=off, and\n"
    " * never -ffast-math. -fno-math-errno -fno-trapping-math let loops become vectors and change no result. */\n"
    "#if defined(__clang__)\n"
    "#pragma STDC FP_CONTRACT OFF\n"
    "#pragma clang diagnostic ignored \"-Wpass-failed\" /* loops that are too short to become vectors */\n"
    "#define TC_IVDEP _Pragma(\"clang loop vectorize(assume_safety)\")\n"
    "#define TC_IVDEP_ROLLED TC_IVDEP\n"
    "#else\n"
    "#ifndef TC_NO_CONTRACTION\n"
    "#pragma GCC optimize(\"fp-contract=off\")\n"
    "#endif\n"
    "#pragma GCC diagnostic ignored \"-Wmaybe-uninitialized\" /* gcc 12 -O2 does not see that rows are widened whole */\n"
    "#define TC_IVDEP _Pragma(\"GCC ivdep\")\n"
    "/* Unrolled by gcc 12, few columns would be no vectors, and loads on a condition would have each other's masks */\n"
    "#define TC_IVDEP_ROLLED _Pragma(\"GCC unroll 1\") TC_IVDEP\n"
    "#endif\n"
    "#define TC_APART static __attribute__((noinline))\n"
    "#if defined(__AVX512F__) /* bytes of a vector */\n"
    "#define TC_VB 64\n"
    "#elif defined(__AVX__)\n"
    "#define TC_VB 32\n"
    "#else\n"
    "#define TC_VB 16\n"
    "#endif\n"
    "#if defined(__F16C__)\n"
    "#define TC_F16C 1\n"
    "#define tc_f16c_widen(x) __builtin_ia32_vcvtph2ps256(x)\n"
    "#define tc_f16c_narrow(x) __builtin_ia32_vcvtps2ph256(x, 0)\n"
    "#else\n"
    "#define TC_F16C 0\n"
    "#define tc_f16c_widen(x) ((tc_8_f32){0})\n"
    "#define tc_f16c_narrow(x) ((void)(x), (tc_8_i16){0})\n"
    "#endif\n"
    "#if defined(TC_FOR_AARCH64) && !defined(__aarch64__)\n"
    "#error \"compiled for neon by a compiler that is not for aarch64: CC=aarch64-linux-gnu-gcc\"\n"
    "#endif\n"
    "#ifdef __FAST_MATH__\n"
    "#error \"compiled with -ffast-math: results would differ\"\n"
    "#endif\n\n";

static const char run_items[] =
    "__attribute__((unused)) static void tc_run_items(const tc_abi_call *c, int64_t items, int64_t each, tc_abi_range_fn fn) {\n"
    "    const int64_t grain = each >= 16384 ? 1 : 16384 / (each > 0 ? each : 1);\n"
    "    if (items <= 0) return;\n"
    "    if (c->parallel_for && items > grain) c->parallel_for(c->pool, items, grain, fn, (void *)(uintptr_t)c);\n"
    "    else fn((void *)(uintptr_t)c, 0, items, 0);\n"
    "}\n\n";

void tc_unit_body(tc_unit *u, const char *also, tc_buf *out) {
    tc_buf code = {0};
    for (size_t i = 0; i < u->groups.len; i++) {
        tc_buf_append(&code, tc_buf_str(&u->groups.data[i].code.text), u->groups.data[i].code.text.len);
        tc_buf_putc(&code, '\n');
    }
    tc_buf_puts(out, preamble);
    size_t len = code.len;
    tc_buf_puts(&code, also);
    tc_paste_used(out, tc_buf_str(&code));
    if (len < code.len) code.len = len, code.data[len] = 0;
    tc_buf_putc(out, '\n');
    if (u->groups.len) tc_buf_puts(out, run_items);
    tc_buf_append(out, tc_buf_str(&code), code.len);
    tc_buf_free(&code);
}

static int by_key(const void *a, const void *b) { return memcmp((*(const group *const *)a)->key, (*(const group *const *)b)->key, TC_ABI_KEY_BYTES); }

void tc_unit_finish(tc_unit *u, tc_buf *out) {
    tc_buf_puts(out, "/* Groups compiled by ");
    tc_emit_comment(out, u->made_by);
    tc_buf_puts(out, ". Its interface, tc_abi.h: */\n");
    tc_embedded_append(out, &tc_abi_text);
    tc_buf_putc(out, '\n');
    tc_unit_body(u, "", out);
    const group **sorted = tc_xcalloc(u->groups.len + 1, sizeof *sorted);
    for (size_t i = 0; i < u->groups.len; i++) sorted[i] = &u->groups.data[i];
    qsort(sorted, u->groups.len, sizeof *sorted, by_key);
    for (size_t i = 0; i < u->groups.len; i++) {
        const group *g = sorted[i];
        tc_buf_printf(out, "static const uint8_t %s_dense[] = {", g->name);
        for (int k = 0; k < g->nbuffers; k++) tc_buf_printf(out, "%d, ", g->dense[k]);
        tc_buf_puts(out, "0};\n");
    }
    tc_buf_puts(out, "static const tc_abi_group groups[] = {\n");
    for (size_t i = 0; i < u->groups.len; i++) {
        const group *g = sorted[i];
        tc_buf_puts(out, "    {{");
        for (int k = 0; k < TC_ABI_KEY_BYTES; k++) tc_buf_printf(out, "%s0x%02x", k ? "," : "", g->key[k]);
        tc_buf_printf(out, "},\n     \"%s\", %d, %d, %d, %s_dense, ", g->name, g->nbuffers, g->naxes, g->nnumbers, g->name);
        if (g->code.has_scratch) tc_buf_printf(out, "%s_scratch, %s},\n", g->name, g->name);
        else tc_buf_printf(out, "NULL, %s},\n", g->name);
    }
    tc_buf_puts(out, "    {{0}, NULL, 0, 0, 0, NULL, NULL, NULL}};\n");
    tc_buf_printf(out,
                  "extern const tc_abi_module tc_abi_module_1;\n__attribute__((visibility(\"default\"))) const tc_abi_module tc_abi_module_1 = "
                  "{TC_ABI_VERSION, %zu, groups, \"",
                  u->groups.len);
    tc_emit_comment(out, u->isa);
    tc_buf_puts(out, "\", \"");
    tc_emit_comment(out, u->made_by);
    tc_buf_puts(out, "\"};\n");
    free(sorted);
}
