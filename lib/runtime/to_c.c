/* Writes a bound program as C (to_c.h). */
#include "runtime/to_c.h"

#include "codegen/emit.h"
#include "codegen/paste.h"
#include "runtime/frame.h"

#include <ctype.h>
#include <math.h>

typedef struct {
    tc_exec *e;
    frame *f;
    bound *b;
    const tc_to_c_options *o;
    const char *stem;
    tc_arena a;
    tc_unit *unit;
    tc_buf calls, weights;
    int64_t *weight_at; /* by program input: offset in the weights; -1: no weight */
    const char **field; /* by program input and, behind them, by output of the graph: name in its structure */
    size_t scratch;
} writer;

#define T(w, ...) tc_arena_printf(&(w)->a, __VA_ARGS__)

static const char *ctype_of(tc_dtype d) {
    static const char *const names[TC_DTYPE_COUNT] = {
        [TC_U8] = "uint8_t",   [TC_I8] = "int8_t",    [TC_I16] = "int16_t",  [TC_I32] = "int32_t",  [TC_I64] = "int64_t",
        [TC_U16] = "uint16_t", [TC_U32] = "uint32_t", [TC_U64] = "uint64_t", [TC_F16] = "uint16_t", [TC_F32] = "float",
        [TC_F64] = "double",   [TC_BOOL] = "uint8_t", [TC_BF16] = "uint16_t"};
    return names[d] ? names[d] : "unsigned char";
}

/* ---- names ---- */
static const char *identifier(writer *w, const char *s, const char *prefix) {
    static const char *const words[] = {"auto",   "break",    "case",     "char",     "const", "continue", "default", "do",     "double",
                                        "else",   "enum",     "extern",   "float",    "for",   "goto",     "if",      "inline", "int",
                                        "long",   "register", "restrict", "return",   "short", "signed",   "sizeof",  "static", "struct",
                                        "switch", "typedef",  "union",    "unsigned", "void",  "volatile", "while",   "main"};
    char *out = tc_arena_strdup(&w->a, s && *s ? s : "x");
    bool plain = isalpha((unsigned char)out[0]) || out[0] == '_';
    for (char *c = out; *c; c++)
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && *c != '_')) *c = '_';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) plain &= strcmp(out, words[i]) != 0;
    return plain ? out : T(w, "%s%s", prefix, out);
}

/* A name that no earlier field has. */
static void name_field(writer *w, int first, int at, const char *s, const char *prefix) {
    const char *name = identifier(w, s, prefix), *base = name;
    for (int k = 2, again = 1; again; k++) {
        again = 0;
        for (int i = first; i < at; i++) again |= w->field[i] && !strcmp(w->field[i], name);
        if (again) name = T(w, "%s_%d", base, k);
    }
    w->field[at] = name;
}

/* ---- where values are ---- */
static int program_input(const writer *w, const tc_value *v) {
    const tc_program *p = w->e->program;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].value == v) return i;
    return -1;
}

static tc_status weight(writer *w, int input) {
    const tc_tensor *t = &w->e->state[input];
    if (w->weight_at[input] >= 0) return NULL;
    if (!t->storage) return tc_error(TC_CONTENT, "%s has no data: --weights gives it", w->e->program->inputs[input].name);
    for (int i = 0; i < w->e->program->ninputs; i++) { /* tied weights are written once */
        const tc_tensor *u = &w->e->state[i];
        if (w->weight_at[i] < 0 || u->storage != t->storage || u->offset != t->offset || u->dtype != t->dtype || u->rank != t->rank ||
            memcmp(u->size, t->size, sizeof *u->size * (size_t)t->rank))
            continue;
        w->weight_at[input] = w->weight_at[i];
        return NULL;
    }
    tc_tensor whole;
    TC_TRY(tc_tensor_contiguous(t, &whole));
    while (w->weights.len % 64) tc_buf_putc(&w->weights, 0);
    w->weight_at[input] = (int64_t)w->weights.len;
    tc_buf_append(&w->weights, tc_tensor_data(&whole), tc_tensor_bytes(&whole));
    tc_tensor_deinit(&whole);
    return NULL;
}

/* The address of a value's element 0, as C text. */
static tc_status address(writer *w, int id, const char **out) {
    const bound *b = w->b;
    int r = b->root_of[id];
    int64_t delta = b->delta[id];
    if (r < 0) return tc_error(TC_UNSUPPORTED, "a value without memory in a C unit");
    const root *ro = &b->roots[r];
    switch (ro->kind) {
    case ROOT_ARENA: *out = T(w, "arena + %lld", (long long)((int64_t)ro->offset + delta)); return NULL;
    case ROOT_OUTPUT:
        *out = delta ? T(w, "(char *)out->%s + %lld", w->field[w->e->program->ninputs + ro->index], (long long)delta)
                     : T(w, "out->%s", w->field[w->e->program->ninputs + ro->index]);
        return NULL;
    case ROOT_INPUT: {
        int input = program_input(w, w->f->g->inputs[ro->index]);
        if (input < 0) return tc_error(TC_UNSUPPORTED, "an input that the program does not name");
        if (w->e->program->inputs[input].kind == TC_IN_USER) {
            *out = delta ? T(w, "(char *)(uintptr_t)in->%s + %lld", w->field[input], (long long)delta)
                         : T(w, "(void *)(uintptr_t)in->%s", w->field[input]);
            return NULL;
        }
        const tc_input *all = w->e->program->inputs;
        while (all[input].alias_of >= 0 && all[input].alias_of != input) input = all[input].alias_of; /* tied */
        TC_TRY(weight(w, input));
        *out = T(w, "weights + %lld", (long long)(w->weight_at[input] + delta));
        return NULL;
    }
    default: return tc_error(TC_UNSUPPORTED, "a size that depends on data in a C unit");
    }
}

static const char *list(writer *w, const int64_t *v, int n) {
    tc_buf b = {0};
    for (int i = 0; i < n; i++) tc_buf_printf(&b, "%s%lld", i ? ", " : "", (long long)v[i]);
    const char *s = T(w, "%s", n ? tc_buf_str(&b) : "0");
    tc_buf_free(&b);
    return s;
}

/* ---- calls ---- */
static tc_status write_loop(writer *w, const call *c) {
    const tc_loop *l = c->group->loop;
    tc_group_desc d;
    int64_t extents[64], bytes;
    TC_TRY(tc_group_describe(l, &w->a, &d));
    uint8_t *dense = tc_arena_dup(&w->a, d.dense, l->buffers.len + 1);
    for (size_t i = 0; i < l->buffers.len; i++) { /* strided here: emitted for any strides, as a group of its own */
        if (!dense[i] || tc_tensor_is_contiguous(&w->b->t[c->id[i]])) continue;
        dense[i] = 0;
        d.key[i % TC_ABI_KEY_BYTES] ^= (uint8_t)(0x5a + i);
    }
    d.dense = dense;
    for (int i = 0; i < l->naxes; i++) TC_TRY(tc_sym_eval_int(l->axes[i].extent, w->e->vars, w->e->nvars, &extents[i]));
    TC_TRY(tc_unit_add(w->unit, l, &d));
    TC_TRY(tc_emit_scratch(l, &d, extents, &bytes));
    if ((size_t)bytes > w->scratch) w->scratch = (size_t)bytes;
    tc_buf *b = &w->calls;
    const char *name = tc_unit_group_name(w->unit, &d);
    tc_buf_puts(b, "    {\n");
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_tensor *t = &w->b->t[c->id[i]];
        tc_buf_printf(b, "        static const int64_t size%zu[] = {%s}, stride%zu[] = {%s};\n", i, list(w, t->size, t->rank), i,
                      list(w, t->stride, t->rank));
    }
    tc_buf_printf(b, "        static const int64_t extents[] = {%s};\n", list(w, extents, l->naxes));
    tc_buf_puts(b, "        static const tc_abi_number numbers[] = {");
    for (int i = 0; i < d.nnumbers; i++) {
        tc_symvalue v;
        TC_TRY(tc_sym_eval(d.numbers[i], w->e->vars, w->e->nvars, &v));
        if (tc_sym_type(d.numbers[i]) == TC_SYM_FLOAT) tc_buf_printf(b, "{.f = %a}, ", v.f);
        else tc_buf_printf(b, "{.i = %lld}, ", (long long)v.i);
    }
    tc_buf_puts(b, "{.i = 0}};\n        const tc_abi_buffer buffers[] = {\n");
    for (size_t i = 0; i < l->buffers.len; i++) {
        const char *at;
        TC_TRY(address(w, c->id[i], &at));
        tc_buf_printf(b, "            {%s, size%zu, stride%zu}, /* ", at, i, i);
        tc_emit_comment(b, l->buffers.data[i].value && l->buffers.data[i].value->name ? l->buffers.data[i].value->name : "");
        tc_buf_puts(b, " */\n");
    }
    tc_buf_puts(b, "        };\n        const tc_abi_call call = {.bytes = sizeof call, .workers = 1, .buffers = buffers, .extents = extents, "
                   ".numbers = numbers, .scratch = scratch, .fault = &fault};\n");
    tc_buf_printf(b, "        %s(&call);\n    }\n", name);
    return NULL;
}

static tc_status write_copy(writer *w, const tc_tensor *to, const char *to_at, const tc_tensor *from, const char *from_at) {
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_copies c = {%d, %zu, {%s}, {%s}, {%s}};\n        tc_c_copy(&c, %s, %s);\n    }\n",
                  from->rank, tc_dtype_size(from->dtype), list(w, from->size, from->rank), list(w, to->stride, to->rank),
                  list(w, from->stride, from->rank), to_at, from_at);
    return NULL;
}

/* ---- kernels ---- */
typedef struct {
    const tc_tensor *t;
    const char *at;
} operand;

static tc_status tensor_arg(writer *w, const kernel_call *k, int i, operand *out) {
    const tc_karg *a = &k->args[i];
    *out = (operand){NULL, "NULL"};
    if (a->kind != TC_K_TENSOR) return NULL;
    out->t = a->tensor;
    return address(w, (int)(a->tensor - w->b->t), &out->at);
}

static int64_t step(const tc_tensor *t, int from_right) {
    int d = t->rank - 1 - from_right;
    return d >= 0 && t->size[d] != 1 ? t->stride[d] : 0;
}

/* The matrix products: which dimensions of the operands are batch, rows and columns. */
static tc_status write_product(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    bool first = !strncmp(kind, "add", 3) || !strcmp(kind, "baddbmm"), linear = !strcmp(kind, "linear");
    operand a, b, add = {NULL, "NULL"}, o = {&k->outs[0], NULL};
    TC_TRY(tensor_arg(w, k, first, &a));
    TC_TRY(tensor_arg(w, k, first + 1, &b));
    TC_TRY(address(w, k->out_id[0], &o.at));
    double alpha = 1, beta = 1;
    if (first) {
        beta = tc_k_float(&(tc_kcall){.args = k->args}, 3), alpha = tc_k_float(&(tc_kcall){.args = k->args}, 4);
        if (beta != 0) TC_TRY(tensor_arg(w, k, 0, &add));
    } else if (linear && c->group->node->nargs > 2) TC_TRY(tensor_arg(w, k, 2, &add));
    if (a.t->dtype != TC_F32 && a.t->dtype != TC_F64) return tc_error(TC_UNSUPPORTED, "a matrix product of %s as C", tc_dtypes[a.t->dtype].torch);
    int64_t batch = 1, m = 1, n = 1, kk, as[3] = {0}, bs[3] = {0}, ds[3] = {0};
    if (linear) {
        for (int i = 0; i + 1 < a.t->rank; i++) m *= a.t->size[i];
        kk = a.t->size[a.t->rank - 1], n = b.t->rank == 1 ? 1 : b.t->size[0];
        as[1] = kk, as[2] = 1, bs[1] = 1, bs[2] = kk;
    } else {
        bool vector = b.t->rank == 1, dot = a.t->rank == 1;
        kk = a.t->size[a.t->rank - 1];
        if (!dot) m = a.t->size[a.t->rank - 2];
        if (!vector) n = b.t->size[b.t->rank - 1];
        if (a.t->rank == 3) batch = a.t->size[0], as[0] = step(a.t, 2), bs[0] = step(b.t, 2);
        as[1] = dot ? 0 : step(a.t, 1), as[2] = step(a.t, 0);
        bs[1] = vector ? step(b.t, 0) : step(b.t, 1), bs[2] = vector ? 0 : step(b.t, 0);
    }
    if (add.t) ds[0] = step(add.t, 2), ds[1] = step(add.t, 1), ds[2] = step(add.t, 0);
    if (add.t && !strcmp(kind, "addmv")) ds[0] = 0, ds[1] = step(add.t, 0), ds[2] = 0;
    const char *S = tc_dtypes[a.t->dtype].name, *ty = ctype_of(a.t->dtype);
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_product p = {%lld, %lld, %lld, %lld, %s, %s, %s, %a, %a};\n", (long long)batch,
                  (long long)m, (long long)n, (long long)kk, list(w, as, 3), list(w, bs, 3), list(w, ds, 3), alpha, beta);
    tc_buf_printf(&w->calls, "        tc_c_product_%s(&p, (const %s *)(%s), (const %s *)(%s), (const %s *)(%s), (%s *)(%s));\n    }\n", S, ty, a.at,
                  ty, b.at, ty, add.at, ty, o.at);
    return NULL;
}

static tc_status write_convolution(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args};
    operand x, wt, bias, o = {&k->outs[0], NULL};
    (void)kind;
    TC_TRY(tensor_arg(w, k, 0, &x));
    TC_TRY(tensor_arg(w, k, 1, &wt));
    TC_TRY(tensor_arg(w, k, 2, &bias));
    TC_TRY(address(w, k->out_id[0], &o.at));
    if (x.t->dtype != TC_F32 && x.t->dtype != TC_F64) return tc_error(TC_UNSUPPORTED, "a convolution of %s as C", tc_dtypes[x.t->dtype].torch);
    bool transposed = tc_k_bool(&kc, 6);
    int64_t groups = tc_k_int(&kc, 8), geo[6][3], taps = 1, cin = x.t->size[1] / groups, cout = transposed ? wt.t->size[1] : wt.t->size[0] / groups;
    int dims = x.t->rank - 2;
    for (int d = 0; d < 3; d++) {
        int i = d - (3 - dims);
        geo[0][d] = i < 0 ? 1 : x.t->size[2 + i], geo[1][d] = i < 0 ? 1 : o.t->size[2 + i], geo[2][d] = i < 0 ? 1 : wt.t->size[2 + i];
        for (int v = 0; v < 3; v++) geo[3 + v][d] = i < 0 ? v != 1 : k->args[3 + v].ints[k->args[3 + v].n == 1 ? 0 : i];
        taps *= geo[2][d];
    }
    if ((taps * cin + 255) / 256 > 512) return tc_error(TC_UNSUPPORTED, "a convolution over %lld terms as C", (long long)(taps * cin));
    int64_t row = wt.t->size[1] * taps;
    const char *S = tc_dtypes[x.t->dtype].name, *ty = ctype_of(x.t->dtype);
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_conv g = {%lld, %lld, %lld, %lld, ", (long long)x.t->size[0], (long long)groups,
                  (long long)cin, (long long)cout);
    for (int v = 0; v < 6; v++) tc_buf_printf(&w->calls, "{%s}, ", list(w, geo[v], 3));
    tc_buf_printf(&w->calls, "%lld, %lld, %lld, %d};\n", (long long)(wt.t->size[0] / groups * row), (long long)(transposed ? taps : row),
                  (long long)(transposed ? row : taps), transposed);
    tc_buf_printf(&w->calls, "        tc_c_conv_%s(&g, (const %s *)(%s), (const %s *)(%s), (const %s *)(%s), (%s *)(%s));\n    }\n", S, ty, x.at, ty,
                  wt.at, ty, bias.at, ty, o.at);
    return NULL;
}

typedef struct {
    const tc_value *v;
    bool found;
} search;
static void look(void *ctx, tc_value **place) {
    search *s = ctx;
    s->found = s->found || *place == s->v;
}
static bool is_used(const tc_graph *g, const tc_value *v) {
    search s = {v, false};
    for (tc_node *n = g->first; n; n = n->next) tc_node_each_input(n, look, &s);
    for (int i = 0; i < g->noutputs; i++) s.found = s.found || g->outputs[i] == v;
    return s.found;
}

/* query, key, value, dropout_p, is_causal, attn_mask, scale -> output, logsumexp, which nobody may ask for */
static tc_status write_attention(writer *w, const call *c, const char *kind) {
    const kernel_call *k = c->kernel;
    const tc_kcall kc = {.args = k->args, .nargs = c->group->node->nargs};
    operand x[4];
    const char *o;
    (void)kind;
    for (int i = 0; i < 4; i++) TC_TRY(tensor_arg(w, k, i < 3 ? i : 5, &x[i]));
    TC_TRY(address(w, k->out_id[0], &o));
    if (is_used(w->f->g, c->group->node->outs[1])) return tc_error(TC_UNSUPPORTED, "the logsumexp of attention as C");
    const tc_tensor *q = x[0].t, *key = x[1].t, *v = x[2].t;
    int r = q->rank;
    int64_t d = q->size[r - 1], dv = v->size[r - 1], st[4][4] = {{0}}, h = r == 4 ? q->size[1] : 1;
    if (q->dtype != TC_F32 && q->dtype != TC_F64) return tc_error(TC_UNSUPPORTED, "attention of %s as C", tc_dtypes[q->dtype].torch);
    if (d > 256 || dv > 256 || tc_k_float(&kc, 3) != 0)
        return tc_error(TC_UNSUPPORTED, "attention with more than 256 elements a head, or dropout, as C");
    for (int t = 0; t < 3; t++)
        for (int i = 0; i < r; i++) st[t][r == 3 && i == 0 ? 0 : 4 - r + i] = x[t].t->stride[i];
    for (int i = 0; x[3].t && i < 4; i++) st[3][3 - i] = step(x[3].t, i);
    if (x[3].t && r == 3) st[3][0] = st[3][1], st[3][1] = 0;
    double scale = tc_k_given(&kc, 6) ? tc_k_float(&kc, 6) : 1 / sqrt((double)d);
    int64_t sizes[7] = {r >= 3 ? q->size[0] : 1, h, r == 4 && key->size[1] ? h / key->size[1] : 1, q->size[r - 2], key->size[r - 2], d, dv};
    const char *S = tc_dtypes[q->dtype].name, *ty = ctype_of(q->dtype);
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_attention a = {%s, {%s}, {%s}, {%s}, {%s}, %d, %d, %a};\n", list(w, sizes, 7),
                  list(w, st[0], 4), list(w, st[1], 4), list(w, st[2], 4), list(w, st[3], 4), tc_k_bool(&kc, 4), x[3].t && x[3].t->dtype == TC_BOOL,
                  scale);
    tc_buf_printf(&w->calls, "        tc_c_attention_%s(&a, (const %s *)(%s), (const %s *)(%s), (const %s *)(%s), %s, (%s *)(%s));\n    }\n", S, ty,
                  x[0].at, ty, x[1].at, ty, x[2].at, x[3].at, ty, o);
    return NULL;
}

static const struct {
    const char *kernel;
    tc_status (*write)(writer *w, const call *c, const char *kind);
} kernels[] = {
    {"mm", write_product},
    {"bmm", write_product},
    {"addmm", write_product},
    {"baddbmm", write_product},
    {"addmv", write_product},
    {"mv", write_product},
    {"dot", write_product},
    {"linear", write_product},
    {"convolution", write_convolution},
    {"flash_attention", write_attention},
};

static tc_status write_kernel(writer *w, const call *c) {
    const char *name = c->group->node->op->kernel->name;
    for (size_t i = 0; i < sizeof kernels / sizeof *kernels; i++)
        if (!strcmp(kernels[i].kernel, name)) return kernels[i].write(w, c, name);
    return tc_error(TC_UNSUPPORTED, "%s as C", tc_op_name(c->group->node->op));
}

static tc_status write_call(writer *w, const call *c) {
    const char *to, *from;
    if (c->group && c->group->node->name) {
        tc_buf_puts(&w->calls, "    /* ");
        tc_emit_comment(&w->calls, c->group->node->name);
        tc_buf_puts(&w->calls, " */\n");
    }
    switch (c->kind) {
    case CALL_LOOP: return write_loop(w, c);
    case CALL_KERNEL: return write_kernel(w, c);
    case CALL_COPY: {
        const tc_tensor *t = c->copy[0].storage ? &c->copy[0] : &w->b->t[c->id[0]];
        int root_id = w->b->root_of[c->id[0]];
        TC_TRY(address(w, c->copy[0].storage ? root_id : c->id[0], &to));
        TC_TRY(address(w, c->id[1], &from));
        return write_copy(w, t, to, &w->b->t[c->id[1]], from);
    }
    default: return tc_error(TC_UNSUPPORTED, "control flow and sizes that depend on data in a C unit");
    }
}

/* ---- the two files ---- */
static void write_field(writer *w, tc_buf *h, const char *field, const tc_tensor *t, const char *qualifier) {
    tc_buf type = {0};
    tc_tensor_print_type(&type, t);
    tc_buf_printf(h, "    %s%s *%s; /* %s, contiguous */\n", qualifier, ctype_of(t->dtype), field, tc_buf_str(&type));
    tc_buf_free(&type);
    (void)w;
}

static void write_header(writer *w, tc_buf *h) {
    const tc_program *p = w->e->program;
    const char *s = w->stem;
    tc_buf_puts(h, "/* Made by ");
    tc_emit_comment(h, w->o->made_by);
    tc_buf_printf(h,
                  ". %s_run computes the program for the sizes below: no allocation, no state, libc and libm only.\n"
                  " * Returns 0; 1: an index was out of bounds; 2: compiled with flags that change results (see %s.c). */\n",
                  s, s);
    tc_buf_printf(h, "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", s, s);
    tc_buf_printf(h, "#define %s_ARENA_BYTES %zu /* intermediate results; the caller's memory, 64-byte aligned */\n", s,
                  w->b->arena_bytes + w->scratch + 64);
    tc_buf_printf(h, "#define %s_WEIGHTS_BYTES %zu\n\n", s, w->weights.len);
    tc_buf_puts(h, "typedef struct {\n");
    int n = 0;
    for (int i = 0; i < p->ninputs; i++)
        if (w->field[i]) write_field(w, h, w->field[i], &w->b->t[p->inputs[i].value->id], "const "), n++;
    if (!n) tc_buf_puts(h, "    char none;\n");
    tc_buf_printf(h, "} %s_inputs;\ntypedef struct {\n", s);
    n = 0;
    for (int i = 0; i < w->f->g->noutputs; i++)
        if (w->field[p->ninputs + i]) write_field(w, h, w->field[p->ninputs + i], &w->b->t[w->f->g->outputs[i]->id], ""), n++;
    if (!n) tc_buf_puts(h, "    char none;\n");
    tc_buf_printf(h, "} %s_outputs;\n\n", s);
    if (w->o->weights_inside || w->o->weights_path) tc_buf_printf(h, "extern const unsigned char *const %s_weights; /* of %s.c */\n", s, s);
    else tc_buf_printf(h, "/* weights: the bytes of %s.weights, 64-byte aligned */\n", s);
    tc_buf_printf(h, "int %s_run(const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena);\n\n#endif\n", s, s, s);
}

static void write_unit(writer *w, tc_buf *c) {
    const char *s = w->stem;
    tc_buf_puts(c, "/* Made by ");
    tc_emit_comment(c, w->o->made_by);
    tc_buf_printf(c, ". Compile with: cc -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -c %s.c */\n", s);
    if (!w->o->joined) tc_buf_printf(c, "#include \"%s.h\"\n\n", s);
    else {
        tc_buf_puts(c, "#pragma GCC visibility push(default)\n");
        write_header(w, c);
        tc_buf_puts(c, "#pragma GCC visibility pop\n\n");
    }
    if (w->o->filter) tc_buf_puts(c, tc_filter_text);
    tc_buf_puts(c, tc_abi_text);
    tc_buf_putc(c, '\n');
    tc_unit_body(w->unit, tc_buf_str(&w->calls), c);
    if (w->o->weights_inside) {
        tc_buf_printf(c, "static const union { uint32_t word[%zu]; double align[1]; } weight_words __attribute__((aligned(64))) = {{",
                      w->weights.len / 4 + 1);
        for (size_t i = 0; i < w->weights.len; i += 4) {
            uint32_t v = 0;
            memcpy(&v, w->weights.data + i, w->weights.len - i < 4 ? w->weights.len - i : 4);
            tc_buf_printf(c, "%s0x%x,", i % 64 ? "" : "\n", v);
        }
        tc_buf_printf(c, "\n0}};\nconst unsigned char *const %s_weights = (const unsigned char *)&weight_words;\n\n", s);
    }
    if (w->o->weights_path)
        tc_buf_printf(c,
                      "__asm__(\".section .rodata\\n.balign 64\\n%s_weight_bytes:\\n.incbin \\\"%s\\\"\\n.balign 64\\n.previous\\n\");\n"
                      "extern const unsigned char %s_weight_bytes[] __attribute__((visibility(\"hidden\")));\n"
                      "const unsigned char *const %s_weights = %s_weight_bytes;\n\n",
                      s, w->o->weights_path, s, s, s);
    tc_buf_printf(c, "int %s_run(const void *weights_, const %s_inputs *in, const %s_outputs *out, void *arena_) {\n", s, s, s);
    tc_buf_puts(c, "    char *const weights = (char *)(uintptr_t)weights_, *const arena = (char *)arena_;\n");
    tc_buf_printf(c, "    char *const scratch = arena + %zu;\n    tc_abi_fault fault = {0};\n", w->b->arena_bytes);
    tc_buf_puts(c, "    volatile float one = 0x1.001p0f;\n"
                   "    const float x = one, rest = x * x - 0x1.002p0f; /* 0 when the product is rounded: contraction is off */\n"
                   "    if (rest != 0) return 2;\n"
                   "    (void)weights, (void)in, (void)out, (void)arena, (void)scratch;\n");
    tc_buf_append(c, tc_buf_str(&w->calls), w->calls.len);
    tc_buf_puts(c, "    return fault.set;\n}\n");
}

/* ---- the filter ---- */
static tc_status write_port(tc_buf *c, const char *name, const tc_tensor *t) {
    const char *descr = tc_dtypes[t->dtype].npy;
    if (!descr) return tc_error(TC_UNSUPPORTED, "a filter with %s, which is %s: .npy has no such type", name, tc_dtypes[t->dtype].torch);
    tc_buf type = {0};
    tc_tensor_print_type(&type, t);
    tc_buf_printf(c, "        {\"%s\", \"%s\", \"%s\", \"(", name, tc_buf_str(&type), descr);
    for (int d = 0; d < t->rank; d++) tc_buf_printf(c, "%s%lld", d ? "," : "", (long long)t->size[d]);
    tc_buf_printf(c, ")\", %zu},\n", tc_tensor_bytes(t));
    tc_buf_free(&type);
    return NULL;
}

/* What codegen/filter.h asks for: the ports, and the call with their memory. */
static tc_status write_filter(writer *w, tc_buf *c) {
    const tc_program *p = w->e->program;
    const char *m = w->stem, *end = "        {0}};\n    return ports;\n}\n";
    tc_buf fields = {0};
    tc_status s = NULL;
    tc_buf_puts(c, "\nstatic filter_port *filter_inputs(void) {\n    static filter_port ports[] = {\n");
    for (int i = 0, k = 0; i < p->ninputs && !s; i++)
        if (w->field[i]) {
            s = write_port(c, w->field[i], &w->b->t[p->inputs[i].value->id]);
            tc_buf_printf(&fields, "    given.%s = in[%d].data;\n", w->field[i], k++);
        }
    tc_buf_printf(c, "%sstatic filter_port *filter_outputs(void) {\n    static filter_port ports[] = {\n", end);
    for (int i = 0, k = 0; i < w->f->g->noutputs && !s; i++)
        if (w->field[p->ninputs + i]) {
            s = write_port(c, w->field[p->ninputs + i], &w->b->t[w->f->g->outputs[i]->id]);
            tc_buf_printf(&fields, "    made.%s = out[%d].data;\n", w->field[p->ninputs + i], k++);
        }
    tc_buf_printf(c, "%sstatic const char *filter_name(void) { return \"%s\"; }\n", end, m);
    tc_buf_printf(c, "static size_t filter_arena(void) { return %s_ARENA_BYTES; }\n", m);
    tc_buf_printf(
        c, "static int filter_run(filter_port *in, filter_port *out, void *arena) {\n    %s_inputs given = {0};\n    %s_outputs made = {0};\n", m, m);
    tc_buf_append(c, tc_buf_str(&fields), fields.len);
    tc_buf_printf(c, "    (void)in, (void)out;\n    return %s_run(%s_weights, &given, &made, arena);\n}\n", m, m);
    tc_buf_free(&fields);
    return s;
}

static tc_status write_all(writer *w, tc_buf *c, tc_buf *h) {
    const tc_program *p = w->e->program;
    for (int i = 0; i < w->f->g->noutputs; i++)
        if (w->f->target[i] >= 0) return tc_error(TC_UNSUPPORTED, "a program that changes %s as C", w->f->g->inputs[w->f->target[i]]->name);
    for (int i = 0; i < p->ninputs; i++) {
        w->weight_at[i] = -1;
        if (p->inputs[i].kind == TC_IN_USER && p->inputs[i].value && p->inputs[i].value->kind == TC_V_TENSOR)
            name_field(w, 0, i, p->inputs[i].name, "in_");
    }
    for (int i = 0, k = 0; i < p->noutputs && k < w->f->g->noutputs;
         i++) { /* the graph's outputs are those of the program that have a value, in order */
        if (!p->outputs[i].value) continue;
        if (p->outputs[i].value->kind == TC_V_TENSOR) name_field(w, p->ninputs, p->ninputs + k, p->outputs[i].name, "out_");
        k++;
    }
    for (size_t i = 0; i < w->b->calls.len; i++) {
        const call *k = &w->b->calls.data[i];
        TC_TRY(write_call(w, k), "%s", k->group && k->group->node->name ? k->group->node->name : "copy");
    }
    for (size_t i = 0; i < w->b->end_copies.len; i++) {
        int o = w->b->end_copies.data[i], id = (int)w->f->g->outputs[o]->id;
        const char *from;
        tc_tensor to = w->b->t[id];
        tc_contiguous_strides(to.rank, to.size, to.stride);
        TC_TRY(address(w, id, &from));
        TC_TRY(write_copy(w, &to, T(w, "out->%s", w->field[p->ninputs + o]), &w->b->t[id], from));
    }
    write_header(w, h);
    write_unit(w, c);
    return w->o->filter ? write_filter(w, c) : NULL;
}

tc_status tc_exec_to_c(tc_exec *e, const tc_symvalue *vars, size_t nvars, const tc_to_c_options *o, tc_buf *out_c, tc_buf *out_h,
                       tc_buf *out_weights) {
    writer w = {.e = e, .f = e->main, .o = o};
    w.stem = identifier(&w, o->stem, "m_");
    w.unit = tc_unit_create(&(tc_unit_options){.made_by = o->made_by});
    w.weight_at = TC_NEWN(&w.a, int64_t, (size_t)e->program->ninputs + 1);
    w.field = TC_NEWN(&w.a, const char *, (size_t)(e->program->ninputs + e->program->graph->noutputs) + 1);
    for (size_t i = 0; i < e->nvars && i < nvars; i++) e->vars[i] = vars[i];
    tc_status s = check_guards(e);
    e->planes_only = true; /* the C forms of kernels take contiguous tensors */
    if (!s) s = frame_bind(e->main, &w.b);
    e->planes_only = false;
    if (!s) s = write_all(&w, out_c, out_h);
    if (!s && !o->weights_inside) tc_buf_append(out_weights, tc_buf_str(&w.weights), w.weights.len);
    bound_destroy(w.b);
    tc_unit_destroy(w.unit);
    tc_buf_free(&w.calls);
    tc_buf_free(&w.weights);
    tc_arena_free(&w.a);
    return s;
}
