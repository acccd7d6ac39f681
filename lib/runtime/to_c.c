/* Writes a bound program as C (to_c.h): names, addresses of values, and the calls. to_c_unit.c writes the text around them. */
#include "runtime/to_c.h"

#include "base/ints.h"
#include "runtime/to_c_write.h"

#include <ctype.h>

const char *to_c_type(tc_dtype d) {
    static const char *const names[TC_DTYPE_COUNT] = {
        [TC_U8] = "uint8_t",   [TC_I8] = "int8_t",    [TC_I16] = "int16_t",  [TC_I32] = "int32_t",  [TC_I64] = "int64_t",
        [TC_U16] = "uint16_t", [TC_U32] = "uint32_t", [TC_U64] = "uint64_t", [TC_F16] = "uint16_t", [TC_F32] = "float",
        [TC_F64] = "double",   [TC_BOOL] = "uint8_t", [TC_BF16] = "uint16_t"};
    return names[d] ? names[d] : "unsigned char";
}

/* ---- names ---- */
/* Is it a keyword of C (up to C23) or of compilers, or a macro that a program may have defined when it includes the header? */
static bool is_reserved(const char *s) {
    static const char *const words[] = {"alignas",  "alignof",       "asm",           "auto",     "bool",     "break",        "case",   "char",
                                        "const",    "constexpr",     "continue",      "default",  "do",       "double",       "else",   "enum",
                                        "extern",   "false",         "float",         "for",      "goto",     "if",           "inline", "int",
                                        "long",     "main",          "nullptr",       "register", "restrict", "return",       "short",  "signed",
                                        "sizeof",   "static",        "static_assert", "struct",   "switch",   "thread_local", "true",   "typedef",
                                        "typeof",   "typeof_unqual", "union",         "unsigned", "void",     "volatile",     "while",  "EOF",
                                        "INFINITY", "NAN",           "NULL",          "errno",    "linux",    "unix"};
    if (s[0] == '_' && (s[1] == '_' || isupper((unsigned char)s[1]))) return true; /* _Bool, __asm */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(s, words[i])) return true;
    return false;
}

static const char *identifier(writer *w, const char *s, const char *prefix) {
    char *out = tc_arena_strdup(&w->a, s && *s ? s : "x");
    bool plain = isalpha((unsigned char)out[0]) || out[0] == '_';
    for (char *c = out; *c; c++)
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && *c != '_')) *c = '_';
    return plain && !is_reserved(out) ? out : TC_TEXT(w, "%s%s", prefix, out);
}

/* Names field number `at`, different from those from `first` on, and from the field `state`. */
static void name_field(writer *w, int first, int at, const char *s, const char *prefix) {
    const char *name = identifier(w, s, prefix), *base = name;
    for (int k = 2, again = 1; again; k++) {
        again = at < w->e->program->ninputs && w->state_bytes && !strcmp(name, "state");
        for (int i = first; i < at; i++) again |= w->field[i] && !strcmp(w->field[i], name);
        if (again) name = TC_TEXT(w, "%s_%d", base, k);
    }
    w->field[at] = name;
    w->named[at] = s;
}

/* ---- addresses of values ---- */
static int program_input(const writer *w, const tc_value *v) {
    const tc_program *p = w->e->program;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].value == v) return i;
    return -1;
}

/* The input whose memory a tied input shares (alias_of). */
static int untied(const writer *w, int input) {
    const tc_input *all = w->e->program->inputs;
    while (all[input].alias_of >= 0 && all[input].alias_of != input) input = all[input].alias_of;
    return input;
}

/* Adds a weight, unless it was added before, and sets weight_at. */
static tc_status add_weight(writer *w, int input) {
    const tc_tensor *t = &w->e->state[input];
    if (w->weight_at[input] >= 0) return NULL;
    if (!t->storage) return tc_error(TC_CONTENT, "%s has no data: --weights gives it", w->e->program->inputs[input].name);
    for (int i = 0; i < w->e->program->ninputs && !w->changes[input]; i++) { /* tied weights are written once */
        const tc_tensor *u = &w->e->state[i];
        if (w->weight_at[i] < 0 || w->changes[i] || u->storage != t->storage || u->offset != t->offset || u->dtype != t->dtype ||
            u->rank != t->rank || memcmp(u->size, t->size, sizeof *u->size * (size_t)t->rank))
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

static const char *beyond(writer *w, const char *at, int64_t bytes) { return bytes ? TC_TEXT(w, "%s + %lld", at, (long long)bytes) : at; }

tc_status to_c_address(writer *w, int id, const char **out) {
    const bound *b = w->b;
    int r = b->root_of[id];
    int64_t delta = b->delta[id];
    if (r < 0) return tc_error(TC_UNSUPPORTED, "a value without memory in a C unit");
    const root *ro = &b->roots[r];
    switch (ro->kind) {
    case ROOT_ARENA: *out = TC_TEXT(w, "arena + %lld", (long long)((int64_t)(w->base + ro->offset) + delta)); return NULL;
    case ROOT_OUTPUT:
        if (w->out_at) return *out = beyond(w, w->out_at[ro->index], delta), NULL;
        *out = delta ? TC_TEXT(w, "(char *)out->%s + %lld", w->field[w->e->program->ninputs + ro->index], (long long)delta)
                     : TC_TEXT(w, "out->%s", w->field[w->e->program->ninputs + ro->index]);
        return NULL;
    case ROOT_INPUT: {
        if (w->in_at) return *out = beyond(w, w->in_at[ro->index], delta), NULL;
        int input = program_input(w, w->f->g->inputs[ro->index]);
        if (input < 0) return tc_error(TC_UNSUPPORTED, "an input that the program does not name");
        if (w->e->program->inputs[input].kind == TC_IN_USER) {
            *out = delta ? TC_TEXT(w, "(char *)(uintptr_t)in->%s + %lld", w->field[input], (long long)delta)
                         : TC_TEXT(w, "(void *)(uintptr_t)in->%s", w->field[input]);
            return NULL;
        }
        input = untied(w, input);
        TC_TRY(add_weight(w, input));
        *out = TC_TEXT(w, w->changes[input] ? "state + %lld" : "weights + %lld", (long long)(w->weight_at[input] + delta));
        return NULL;
    }
    default: return tc_error(TC_UNSUPPORTED, "a size that depends on data in a C unit");
    }
}

const char *to_c_list(writer *w, const int64_t *v, int n) {
    tc_buf b = {0};
    for (int i = 0; i < n; i++) tc_buf_printf(&b, "%s%lld", i ? ", " : "", (long long)v[i]);
    const char *s = TC_TEXT(w, "%s", n ? tc_buf_str(&b) : "0");
    tc_buf_free(&b);
    return s;
}

/* ---- calls ---- */
static tc_status write_loop(writer *w, const call *c, const tc_loop *l) {
    tc_group_desc d;
    int64_t extents[64], bytes;
    TC_TRY(tc_group_describe(l, &w->a, &d));
    uint8_t *dense = tc_arena_dup(&w->a, d.dense, l->buffers.len + 1);
    for (size_t i = 0; i < l->buffers.len; i++) { /* not so here: the group is emitted again for other strides, under another key */
        const tc_tensor *t = &w->b->t[c->id[i]];
        if (strides_fit(dense[i], t)) continue;
        dense[i] = strides_fit(2, t) ? 2 : 0;
        d.key[i % TC_ABI_KEY_BYTES] ^= (uint8_t)((dense[i] ? 0xa5 : 0x5a) + i);
    }
    d.dense = dense;
    for (int i = 0; i < l->naxes; i++) TC_TRY(tc_sym_eval_int(l->axes[i].extent, w->e->vars, w->e->nvars, &extents[i]));
    TC_TRY(tc_unit_add(w->unit, l, &d));
    TC_TRY(tc_emit_scratch(l, &d, extents, &bytes));
    if ((size_t)bytes > w->each) w->each = (size_t)bytes;
    tc_buf *b = &w->calls;
    const char *name = tc_unit_group_name(w->unit, &d);
    tc_buf_puts(b, "    {\n");
    for (size_t i = 0; i < l->buffers.len; i++) {
        const tc_tensor *t = &w->b->t[c->id[i]];
        tc_buf_printf(b, "        static const int64_t size%zu[] = {%s}, stride%zu[] = {%s};\n", i, to_c_list(w, t->size, t->rank), i,
                      to_c_list(w, t->stride, t->rank));
    }
    tc_buf_printf(b, "        static const int64_t extents[] = {%s};\n", to_c_list(w, extents, l->naxes));
    bool late = false;
    for (int i = 0; i < d.nnumbers; i++) late |= !to_c_known(w, d.numbers[i]);
    tc_buf_printf(b, "        %sconst tc_abi_number numbers[] = {", late ? "" : "static ");
    for (int i = 0; i < d.nnumbers; i++) {
        const char *text;
        TC_TRY(to_c_number(w, d.numbers[i], &text));
        tc_buf_printf(b, "{.%c = %s}, ", tc_sym_type(d.numbers[i]) == TC_SYM_FLOAT ? 'f' : 'i', text);
    }
    tc_buf_puts(b, "{.i = 0}};\n        const tc_abi_buffer buffers[] = {\n");
    for (size_t i = 0; i < l->buffers.len; i++) {
        const char *at;
        TC_TRY(to_c_address(w, c->id[i], &at));
        tc_buf_printf(b, "            {%s, size%zu, stride%zu}, /* ", at, i, i);
        tc_emit_comment(b, l->buffers.data[i].value && l->buffers.data[i].value->name ? l->buffers.data[i].value->name : "");
        tc_buf_puts(b, " */\n");
    }
    tc_buf_puts(
        b, "        };\n        const tc_abi_call call = {.bytes = sizeof call, .workers = threads.workers, .buffers = buffers, .extents = extents, "
           ".numbers = numbers, .scratch = scratch, .parallel_for = threads.parallel_for, .pool = threads.pool, .fault = &fault};\n");
    tc_buf_printf(b, "        %s(&call);\n    }\n", name);
    return NULL;
}

tc_status to_c_copy(writer *w, const tc_tensor *to, const char *to_at, const tc_tensor *from, const char *from_at) {
    if (tc_tensor_is_contiguous(to) && tc_tensor_is_contiguous(from)) {
        tc_buf_printf(&w->calls, "    tc_c_bytes(%s, %s, %zu);\n", to_at, from_at, tc_tensor_bytes(from));
        return NULL;
    }
    tc_buf_printf(&w->calls, "    {\n        static const tc_c_copies c = {%d, %zu, {%s}, {%s}, {%s}};\n        tc_c_copy(&c, %s, %s);\n    }\n",
                  from->rank, tc_dtype_size(from->dtype), to_c_list(w, from->size, from->rank), to_c_list(w, to->stride, to->rank),
                  to_c_list(w, from->stride, from->rank), to_at, from_at);
    return NULL;
}

/* An epilogue, which otherwise runs on parts, over the whole. */
static tc_status write_whole(writer *w, const call *c, const tc_loop *l) {
    tc_loop *whole = tc_arena_dup(&w->a, l, sizeof *whole);
    whole->region = false;
    whole->columns = 0;
    return write_loop(w, c, whole);
}

static tc_status write_call(writer *w, const call *c) {
    const char *to, *from;
    if (c->group && c->group->node->name) {
        tc_buf_puts(&w->calls, "    /* ");
        tc_emit_comment(&w->calls, c->group->node->name);
        tc_buf_puts(&w->calls, " */\n");
    }
    switch (c->kind) {
    case CALL_LOOP: return write_loop(w, c, c->group->loop);
    case CALL_KERNEL: TC_TRY(to_c_kernel(w, c)); return c->group->epilogue ? write_whole(w, c, c->group->epilogue) : NULL;
    case CALL_COPY: {
        const tc_tensor *t = c->copy[0].storage ? &c->copy[0] : &w->b->t[c->id[0]];
        int root_id = w->b->root_of[c->id[0]];
        TC_TRY(to_c_address(w, c->copy[0].storage ? root_id : c->id[0], &to));
        TC_TRY(to_c_address(w, c->id[1], &from));
        return to_c_copy(w, t, to, &w->b->t[c->id[1]], from);
    }
    case CALL_CONTROL: return to_c_control(w, c->group->node);
    case CALL_ITEM: return to_c_item(w, c->group->node);
    case CALL_TILE:
    case CALL_DYNAMIC: break;
    }
    return tc_error(TC_UNSUPPORTED, "sizes that depend on data in a C unit");
}

static tc_status write_calls(writer *w) {
    for (size_t i = 0; i < w->b->calls.len; i++) {
        const call *k = &w->b->calls.data[i];
        TC_TRY(write_call(w, k), "%s", k->group && k->group->node->name ? k->group->node->name : "copy");
    }
    return NULL;
}

/* ---- the whole ---- */
/* Names the results that are numbers: sizes, or elements of tensors. */
static void name_numbers(writer *w) {
    const tc_program *p = w->e->program;
    w->number = TC_NEWN(&w->a, tc_sym, (size_t)p->noutputs + 1);
    for (int i = 0; i < p->noutputs; i++) {
        const tc_output *o = &p->outputs[i];
        const bool leaf = o->kind == TC_OUT_LEAF && (o->leaf.kind == TC_A_INT || (o->leaf.kind == TC_A_SCALAR && o->leaf.is_sym));
        const tc_sym s = leaf ? o->leaf.sym : o->kind == TC_OUT_USER && o->value && o->value->kind == TC_V_SYM ? o->value->sym : 0;
        if (!s || tc_sym_opcode(s) == TC_S_CONST) continue;
        name_field(w, p->ninputs, p->ninputs + w->f->g->noutputs + w->nnumber, o->name, "out_");
        w->number[w->nnumber++] = s;
    }
}

static tc_status write_numbers(writer *w) {
    const char *text;
    for (int i = 0; i < w->nnumber; i++) {
        TC_TRY(to_c_number(w, w->number[i], &text));
        tc_buf_printf(&w->calls, "    *out->%s = %s;\n", w->field[w->e->program->ninputs + w->f->g->noutputs + i], text);
    }
    return NULL;
}

/* Finds what a run changes, and names the fields. Weights that a run changes are added first, so that the state is contiguous. */
static tc_status prepare(writer *w) {
    const tc_program *p = w->e->program;
    const frame *f = w->f;
    for (int i = 0; i < p->ninputs; i++) w->weight_at[i] = -1;
    for (int o = 0; o < f->g->noutputs; o++)
        if (f->target[o] >= 0) {
            int input = program_input(w, f->g->inputs[f->target[o]]);
            if (input < 0) return tc_error(TC_UNSUPPORTED, "a program that changes what it does not name, as C");
            w->changes[untied(w, input)] = true;
        }
    for (int i = 0; i < p->ninputs; i++)
        if (w->changes[i] && p->inputs[i].kind != TC_IN_USER) TC_TRY(add_weight(w, i));
    w->state_bytes = w->weights.len;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].kind == TC_IN_USER && p->inputs[i].value && p->inputs[i].value->kind == TC_V_TENSOR)
            name_field(w, 0, i, p->inputs[i].name, "in_");
    for (int i = 0, k = 0; i < p->noutputs && k < f->g->noutputs; i++) { /* the graph's outputs are those of the program with a value, in order */
        if (!p->outputs[i].value) continue;
        if (p->outputs[i].value->kind == TC_V_TENSOR && f->target[k] < 0) name_field(w, p->ninputs, p->ninputs + k, p->outputs[i].name, "out_");
        k++;
    }
    name_numbers(w);
    return NULL;
}

/* The end copies (run.c): results, then mutations that are not computed in place. A value that is an input, which another mutation may overwrite, is
 * copied aside before. */
static tc_status write_end(writer *w) {
    const tc_program *p = w->e->program;
    const frame *f = w->f;
    const char *from, *to;
    const char **aside = TC_NEWN(&w->a, const char *, w->b->end_copies.len + 1);
    for (int step = 0; step < 3; step++) /* results; copies aside; mutations */
        for (size_t i = 0; i < w->b->end_copies.len; i++) {
            int o = w->b->end_copies.data[i], id = (int)f->g->outputs[o]->id;
            bool change = f->target[o] >= 0;
            if (change != (step > 0)) continue;
            tc_tensor dense = w->b->t[id];
            tc_contiguous_strides(dense.rank, dense.size, dense.stride);
            TC_TRY(to_c_address(w, id, &from));
            if (step == 0) {
                TC_TRY(to_c_copy(w, &dense, w->out_at ? w->out_at[o] : TC_TEXT(w, "out->%s", w->field[p->ninputs + o]), &w->b->t[id], from));
            } else if (step == 1) {
                if (w->b->roots[w->b->root_of[id]].kind != ROOT_INPUT) continue;
                aside[i] = TC_TEXT(w, "kept + %zu", w->late);
                w->late += tc_pad64(tc_tensor_bytes(&dense));
                TC_TRY(to_c_copy(w, &dense, aside[i], &w->b->t[id], from));
            } else {
                int target = (int)f->g->inputs[f->target[o]]->id;
                TC_TRY(to_c_address(w, target, &to));
                TC_TRY(to_c_copy(w, &w->b->t[target], to, aside[i] ? &dense : &w->b->t[id], aside[i] ? aside[i] : from));
            }
        }
    return NULL;
}

void to_c_indent(writer *w, size_t from) {
    const char *text = TC_TEXT(w, "%s", tc_buf_str(&w->calls) + from);
    w->calls.len = from;
    while (*text) {
        const size_t n = strcspn(text, "\n");
        if (n) tc_buf_printf(&w->calls, "    %.*s", (int)n, text);
        tc_buf_putc(&w->calls, '\n');
        text += n + (text[n] == '\n');
    }
}

tc_status to_c_graph(writer *w, frame *f, const char *const *in_at, const char *const *out_at) {
    const writer outer = *w;
    tc_status s = frame_bind(f, &w->b);
    if (s) return w->b = outer.b, s;
    w->f = f, w->in_at = in_at, w->out_at = out_at;
    w->base = outer.end, w->end = w->base + tc_pad64(w->b->arena_bytes);
    if (w->end > w->top) w->top = w->end;
    s = write_calls(w);
    if (!s) s = write_end(w);
    bound_destroy(w->b);
    w->f = outer.f, w->b = outer.b, w->in_at = outer.in_at, w->out_at = outer.out_at, w->base = outer.base, w->end = outer.end;
    return s;
}

static tc_status write_all(writer *w, tc_buf *c, tc_buf *h) {
    TC_TRY(prepare(w));
    w->end = w->top = tc_pad64(w->b->arena_bytes);
    TC_TRY(write_calls(w));
    TC_TRY(write_end(w));
    TC_TRY(write_numbers(w));
    to_c_header(w, h);
    to_c_unit(w, c);
    if (!w->o->filter) return NULL;
    bool several = w->o->ntargets > 1;
    if (several) tc_buf_puts(c, "#ifndef TC_TARGET\n");
    tc_status s = to_c_filter(w, c);
    if (several) tc_buf_puts(c, "#endif\n");
    return s;
}

tc_status tc_exec_to_c(tc_exec *e, const tc_symvalue *vars, size_t nvars, const tc_to_c_options *o, tc_buf *out_c, tc_buf *out_h,
                       tc_buf *out_weights) {
    writer w = {.e = e, .f = e->main, .o = o};
    if (strpbrk(o->stem, "\"\\\n\r")) return tc_error(TC_USAGE, "a file name with a quote, a backslash or a line break cannot stand in C");
    w.stem = identifier(&w, o->prefix ? o->prefix : o->stem, "m_");
    w.file = o->stem;
    w.variable = TC_NEWN(&w.a, bool, e->nvars + 1);
    w.changes = TC_NEWN(&w.a, bool, (size_t)e->program->ninputs + 1);
    w.named = TC_NEWN(&w.a, const char *, (size_t)(e->program->ninputs + e->program->graph->noutputs + e->program->noutputs) + 1);
    w.unit = tc_unit_create(&(tc_unit_options){.made_by = o->made_by, .sanitize = o->sanitize});
    w.weight_at = TC_NEWN(&w.a, int64_t, (size_t)e->program->ninputs + 1);
    w.field = TC_NEWN(&w.a, const char *, (size_t)(e->program->ninputs + e->program->graph->noutputs + e->program->noutputs) + 1);
    for (size_t i = 0; i < e->nvars && i < nvars; i++) e->vars[i] = vars[i];
    tc_status s = check_guards(e);
    e->for_c = true; /* the C forms of kernels take contiguous tensors */
    if (!s) s = frame_bind(e->main, &w.b);
    if (!s) s = write_all(&w, out_c, out_h);
    e->for_c = false;
    if (!s && !o->weights_inside) tc_buf_free(out_weights), *out_weights = w.weights, w.weights = (tc_buf){0}; /* moved, not copied */
    bound_destroy(w.b);
    tc_unit_destroy(w.unit);
    tc_buf_free(&w.calls);
    tc_buf_free(&w.weights);
    tc_arena_free(&w.a);
    return s;
}
