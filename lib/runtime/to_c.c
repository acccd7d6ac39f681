/* Writes a bound program as C (to_c.h). */
#include "runtime/to_c.h"

#include "base/ints.h"
#include "codegen/cc.h"
#include "codegen/paste.h"
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
/* Words of C to C23 and of compilers beside it, and macros that a program which includes the header may have. */
static bool taken(const char *s) {
    static const char *const words[] = {"alignas",  "alignof",       "asm",           "auto",     "bool",     "break",        "case",   "char",
                                        "const",    "constexpr",     "continue",      "default",  "do",       "double",       "else",   "enum",
                                        "extern",   "false",         "float",         "for",      "goto",     "if",           "inline", "int",
                                        "long",     "main",          "nullptr",       "register", "restrict", "return",       "short",  "signed",
                                        "sizeof",   "static",        "static_assert", "struct",   "switch",   "thread_local", "true",   "typedef",
                                        "typeof",   "typeof_unqual", "union",         "unsigned", "void",     "volatile",     "while",  "EOF",
                                        "INFINITY", "NAN",           "NULL",          "errno",    "linux",    "unix"};
    if (s[0] == '_' && (s[1] == '_' || isupper((unsigned char)s[1]))) return true; /* reserved: _Bool, __asm */
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(s, words[i])) return true;
    return false;
}

static const char *identifier(writer *w, const char *s, const char *prefix) {
    char *out = tc_arena_strdup(&w->a, s && *s ? s : "x");
    bool plain = isalpha((unsigned char)out[0]) || out[0] == '_';
    for (char *c = out; *c; c++)
        if (!isascii((unsigned char)*c) || (!isalnum((unsigned char)*c) && *c != '_')) *c = '_';
    return plain && !taken(out) ? out : TC_TEXT(w, "%s%s", prefix, out);
}

/* A name that no earlier field has, nor the state beside the inputs. */
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

/* ---- where values are ---- */
static int program_input(const writer *w, const tc_value *v) {
    const tc_program *p = w->e->program;
    for (int i = 0; i < p->ninputs; i++)
        if (p->inputs[i].value == v) return i;
    return -1;
}

static int untied(const writer *w, int input) {
    const tc_input *all = w->e->program->inputs;
    while (all[input].alias_of >= 0 && all[input].alias_of != input) input = all[input].alias_of;
    return input;
}

static tc_status weight(writer *w, int input) {
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
        TC_TRY(weight(w, input));
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
    for (size_t i = 0; i < l->buffers.len; i++) { /* strided here: emitted for any strides, as a group of its own */
        if (!dense[i] || tc_tensor_is_contiguous(&w->b->t[c->id[i]])) continue;
        dense[i] = 0;
        d.key[i % TC_ABI_KEY_BYTES] ^= (uint8_t)(0x5a + i);
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

/* An epilogue, as a loop over the whole result behind the kernel. */
static tc_status write_epilogue(writer *w, const call *c) {
    tc_loop *whole = tc_arena_dup(&w->a, c->group->epilogue, sizeof *whole);
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
    case CALL_KERNEL: TC_TRY(to_c_kernel(w, c)); return c->group->epilogue ? write_epilogue(w, c) : NULL;
    case CALL_COPY: {
        const tc_tensor *t = c->copy[0].storage ? &c->copy[0] : &w->b->t[c->id[0]];
        int root_id = w->b->root_of[c->id[0]];
        TC_TRY(to_c_address(w, c->copy[0].storage ? root_id : c->id[0], &to));
        TC_TRY(to_c_address(w, c->id[1], &from));
        return to_c_copy(w, t, to, &w->b->t[c->id[1]], from);
    }
    case CALL_CONTROL: return to_c_control(w, c->group->node);
    case CALL_ITEM: return to_c_item(w, c->group->node);
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

/* ---- the two files ---- */
static void write_field(tc_buf *h, const char *field, const tc_tensor *t, const char *qualifier, const char *note) {
    tc_buf type = {0};
    tc_tensor_print_type(&type, t);
    tc_buf_printf(h, "    %s%s *%s; /* %s, contiguous%s */\n", qualifier, to_c_type(t->dtype), field, tc_buf_str(&type), note);
    tc_buf_free(&type);
}

/* The type of result i, a tensor's or behind these a number's, which is one element. false: it is not in the structure. */
static bool result_type(const writer *w, int i, tc_tensor *out) {
    const int tensors = w->f->g->noutputs;
    if (!w->field[w->e->program->ninputs + i]) return false;
    if (i < tensors) return *out = w->b->t[w->f->g->outputs[i]->id], true;
    const tc_symtype t = tc_sym_type(w->number[i - tensors]);
    *out = (tc_tensor){.dtype = t == TC_SYM_FLOAT ? TC_F64 : t == TC_SYM_BOOL ? TC_BOOL : TC_I64};
    return true;
}

static size_t arena_bytes(const writer *w) { return w->top + w->late + (w->scratch > w->each ? w->scratch : w->each) + 64; }

/* A string of C. */
static void write_string(tc_buf *c, const char *s) {
    tc_buf_putc(c, '"');
    for (; *s; s++) /* octal: it ends after three digits */
        tc_buf_printf(c, *s == '"' || *s == '\\' || *s == '?' || (unsigned char)*s < 32 || (unsigned char)*s > 126 ? "\\%03o" : "%c",
                      (unsigned char)*s);
    tc_buf_putc(c, '"');
}

/* Names, types and places of the weights, for those who replace them. */
static void write_weight_list(writer *w, tc_buf *c) {
    const tc_program *p = w->e->program;
    tc_buf_printf(c, "const %s_weight %s_weight_list[] = {\n", w->stem, w->stem);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_tensor *t = &w->e->state[i];
        if (w->weight_at[i] < 0 || !t->storage) continue;
        tc_buf type = {0};
        tc_tensor_print_type(&type, t);
        tc_buf_puts(c, "    {");
        write_string(c, p->inputs[i].name);
        tc_buf_printf(c, ", \"%s\", %lld, %zu},\n", tc_buf_str(&type), (long long)w->weight_at[i], tc_tensor_bytes(t));
        tc_buf_free(&type);
    }
    tc_buf_puts(c, "    {NULL, NULL, 0, 0}};\n");
    tc_buf_printf(c,
                  "int %s_set_weight(void *weights, const char *name, const void *data, size_t bytes) {\n"
                  "    for (const %s_weight *w = %s_weight_list; w->name; w++) {\n"
                  "        const char *a = w->name, *b = name;\n"
                  "        while (*a && *a == *b) a++, b++;\n"
                  "        if (*a != *b) continue;\n"
                  "        if (bytes != w->bytes) return 2;\n"
                  "        for (size_t i = 0; i < bytes; i++) ((unsigned char *)weights)[w->offset + i] = ((const unsigned char *)data)[i];\n"
                  "        return 0;\n"
                  "    }\n"
                  "    return 1;\n}\n\n",
                  w->stem, w->stem, w->stem);
}

static void write_header(writer *w, tc_buf *h) {
    const tc_program *p = w->e->program;
    const char *s = w->stem;
    tc_buf_puts(h, "/* Made by ");
    tc_emit_comment(h, w->o->made_by);
    tc_buf_printf(
        h,
        ". %s_run computes the program for the sizes below: no allocation, no state of its own, libc and libm only.\n"
        " * Any number of threads may call it, each with memory of its own for results, arena and state; weights are only read, so that other\n"
        " * weights may stand at another address for the next call.\n"
        " * Returns 0; 1: an index was out of bounds; 2: compiled with flags that change results (see %s.c); 3: this processor lacks the\n"
        " * instructions that it was compiled for; 4: a number that was computed is none that the program allows%s. */\n",
        s, w->file, w->o->sanitize ? "; 5: an integer overflowed" : "");
    tc_buf_printf(h, "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", s, s);
    tc_buf_printf(h, "#define %s_ARENA_BYTES %zu /* intermediate results; the caller's memory, 64-byte aligned */\n", s, arena_bytes(w));
    tc_buf_printf(h, "#define %s_ARENA_BYTES_FOR(workers) (%s_ARENA_BYTES + (size_t)((workers)-1) * %zu) /* for %s_run_on */\n", s, s, w->each, s);
    tc_buf_printf(h, "#define %s_WEIGHTS_BYTES %zu\n", s, w->weights.len);
    if (w->state_bytes) tc_buf_printf(h, "#define %s_STATE_BYTES %zu\n", s, w->state_bytes);
    tc_buf_putc(h, '\n');
    tc_buf_puts(h, "typedef struct {\n");
    int n = 0;
    for (int i = 0; i < p->ninputs; i++)
        if (w->field[i]) {
            bool changes = w->changes[i];
            write_field(h, w->field[i], &w->b->t[p->inputs[i].value->id], changes ? "" : "const ", changes ? "; a run changes it" : ""), n++;
        }
    if (w->state_bytes)
        tc_buf_printf(h, "    void *state; /* %s_STATE_BYTES, 64-byte aligned: what a run changes; begins as the first bytes of the weights */\n", s),
            n++;
    if (!n) tc_buf_puts(h, "    char none;\n");
    tc_buf_printf(h, "} %s_inputs;\ntypedef struct {\n", s);
    n = 0;
    tc_tensor type;
    for (int i = 0; i < w->f->g->noutputs + w->nnumber; i++)
        if (result_type(w, i, &type)) write_field(h, w->field[p->ninputs + i], &type, "", ""), n++;
    if (!n) tc_buf_puts(h, "    char none;\n");
    tc_buf_printf(h, "} %s_outputs;\n\n", s);
    if (w->o->weights_inside || w->o->weights_beside) tc_buf_printf(h, "extern const unsigned char *const %s_weights; /* of %s.c */\n", s, w->file);
    else tc_buf_printf(h, "/* weights: the bytes of %s.weights, 64-byte aligned */\n", w->file);
    tc_buf_printf(h, "int %s_run(const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena);\n\n", s, s, s);
    tc_buf_printf(
        h,
        "/* The same on threads of the caller, with the same bits. parallel_for calls fn for ranges of at least `grain` items, each of\n"
        " * [0, count) once, and returns when all are done; worker is in 0..workers-1 and unique among concurrent calls. */\n"
        "typedef struct {\n    int workers;\n    void (*parallel_for)(void *pool, int64_t count, int64_t grain, void (*fn)(void *ctx, int64_t "
        "begin, int64_t end, int worker), void *ctx);\n    void *pool;\n} %s_threads;\n"
        "int %s_run_on(const %s_threads *threads, const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena);\n\n",
        s, s, s, s, s);
    tc_buf_printf(
        h,
        "/* What the weights hold, ended by a NULL name. To replace some while runs go on: copy the block, set them in the copy, give its address\n"
        " * to the runs that follow, and free the old block when the last run that was given it is done. */\n"
        "typedef struct {\n    const char *name, *type;\n    size_t offset, bytes;\n} %s_weight;\n"
        "extern const %s_weight %s_weight_list[];\n"
        "int %s_set_weight(void *weights, const char *name, const void *data, size_t bytes); /* 1: no such name, 2: not its size */\n\n#endif\n",
        s, s, s, s);
}

static void write_weights(writer *w, tc_buf *c) {
    const char *s = w->stem;
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
    if (w->o->weights_beside)
        tc_buf_printf(c,
                      "__asm__(\".section .rodata\\n.balign 64\\n%s_weight_bytes:\\n.incbin \" TC_WEIGHTS \"\\n.balign 64\\n.previous\\n\");\n"
                      "extern const unsigned char %s_weight_bytes[] __attribute__((visibility(\"hidden\")));\n"
                      "const unsigned char *const %s_weights = %s_weight_bytes;\n\n",
                      s, s, s, s);
}

/* Whether the processor has what the compiler's flags for `isa` ask for, as a C condition: "1" where nothing is asked. */
static void write_condition(tc_buf *c, const char *isa) {
    const char *flag = tc_cc_isa_flags(isa);
    int n = 0;
    for (flag = flag ? strstr(flag, "-m") : NULL; flag; flag = strstr(flag + 2, "-m")) {
        size_t len = strcspn(flag, " ");
        if (memchr(flag, '=', len) || !strncmp(flag, "-mf16c", len)) continue; /* f16c: every processor with avx2 has it, and clang has no word */
        tc_buf_printf(c, "%s__builtin_cpu_supports(\"%.*s\")", n++ ? " && " : "", (int)len - 2, flag + 2);
    }
    if (!n) tc_buf_puts(c, "1");
}

static void write_signature(writer *w, tc_buf *c, const char *name) {
    tc_buf_printf(c, "int %s(const %s_threads *threads_, const void *weights_, const %s_inputs *in, const %s_outputs *out, void *arena_)", name,
                  w->stem, w->stem, w->stem);
}

const char *to_c_fault(const writer *w) { return w->o->sanitize ? "fault.dim < 0 ? 5 : 1" : "1"; }

static void write_run(writer *w, tc_buf *c) {
    write_signature(w, c, TC_TEXT(w, "%s_run_on", w->stem));
    tc_buf_puts(c, " {\n    char *const weights = (char *)(uintptr_t)weights_, *const arena = (char *)arena_;\n");
    if (w->state_bytes) tc_buf_puts(c, "    char *const state = (char *)in->state;\n");
    tc_buf_printf(c, "    char *const scratch = arena + %zu;\n    tc_abi_fault fault = {0};\n", w->top + w->late);
    tc_buf_puts(c, "    const tc_c_threads threads = {threads_ ? threads_->workers : 1, threads_ ? threads_->parallel_for : NULL, threads_ ? "
                   "threads_->pool : NULL};\n");
    if (w->late) tc_buf_printf(c, "    char *const kept = arena + %zu;\n", w->top);
    to_c_variables(w, c);
    if (w->o->joined && w->o->ntargets == 1) {
        tc_buf_puts(c, "#if defined(__x86_64__)\n    if (!(");
        write_condition(c, w->o->targets[0]);
        tc_buf_puts(c, ")) return 3;\n#endif\n");
    }
    tc_buf_puts(c, "    volatile float one = 0x1.001p0f;\n"
                   "    const float x = one, rest = x * x - 0x1.002p0f; /* 0 when the product is rounded: contraction is off */\n"
                   "    if (rest != 0) return 2;\n"
                   "    (void)weights, (void)in, (void)out, (void)arena, (void)scratch, (void)threads;\n");
    tc_buf_append(c, tc_buf_str(&w->calls), w->calls.len);
    tc_buf_printf(c, "    if (fault.set) return %s;\n    return %s;\n}\n", to_c_fault(w), w->numbers ? "broken ? 4 : 0" : "0");
}

/* STEM_run: one thread. */
static void write_serial(writer *w, tc_buf *c) {
    const char *s = w->stem;
    tc_buf_printf(
        c,
        "int %s_run(const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena) {\n    return %s_run_on(NULL, weights, in, "
        "out, arena);\n}\n",
        s, s, s, s);
}

/* Of several instruction sets, compiled one by one (codegen/cc.h), the first that this processor has: the best ones come first. */
static void write_choice(writer *w, tc_buf *c) {
    for (int i = 0; i < w->o->ntargets; i++) {
        write_signature(w, c, TC_TEXT(w, "%s_run_on_%s", w->stem, w->o->targets[i]));
        tc_buf_puts(c, ";\n");
    }
    write_signature(w, c, TC_TEXT(w, "%s_run_on", w->stem));
    tc_buf_puts(c, " {\n#if defined(__x86_64__)\n    __builtin_cpu_init();\n#endif\n");
    for (int i = 0; i < w->o->ntargets; i++) {
        tc_buf_puts(c, "    if (");
        write_condition(c, w->o->targets[i]);
        tc_buf_printf(c, ") return %s_run_on_%s(threads_, weights_, in, out, arena_);\n", w->stem, w->o->targets[i]);
    }
    tc_buf_puts(c, "    return 3;\n}\n");
}

static void write_unit(writer *w, tc_buf *c) {
    const char *s = w->stem;
    bool several = w->o->joined && w->o->ntargets > 1;
    tc_buf_puts(c, "/* Made by ");
    tc_emit_comment(c, w->o->made_by);
    tc_buf_printf(c, ". Compile with: cc -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -c %s.c */\n", w->file);
    if (several) /* with TC_TARGET: the code for one instruction set; without: the choice among them and the rest */
        tc_buf_printf(c,
                      "#ifdef TC_TARGET\n#define TC_JOIN_(a, b) a##b\n#define TC_JOIN(a, b) TC_JOIN_(a, b)\n#define %s_run_on TC_JOIN(%s_run_on_, "
                      "TC_TARGET)\n#pragma GCC visibility push(hidden)\n#else\n#pragma GCC visibility push(default)\n#endif\n",
                      s, s);
    else if (w->o->joined) tc_buf_puts(c, "#pragma GCC visibility push(default)\n");
    if (w->o->joined) write_header(w, c);
    else tc_buf_printf(c, "#include \"%s.h\"\n\n", w->file);
    if (w->o->joined) tc_buf_puts(c, "#pragma GCC visibility pop\n\n");
    if (w->o->filter) tc_buf_puts(c, several ? "#ifndef TC_TARGET\n" : "");
    if (w->o->filter) tc_embedded_append(c, &tc_filter_text);
    if (w->o->filter) tc_buf_puts(c, several ? "#endif\n" : "");
    if (several) tc_buf_puts(c, "#ifdef TC_TARGET\n");
    tc_embedded_append(c, &tc_abi_text);
    tc_buf_putc(c, '\n');
    tc_unit_body(w->unit, TC_TEXT(w, "%s tc_c_threads", tc_buf_str(&w->calls)), c);
    if (!several) write_weights(w, c);
    if (!several) write_weight_list(w, c);
    write_run(w, c);
    if (!several) write_serial(w, c);
    if (!several) return;
    tc_buf_puts(c, "#else\n");
    write_weights(w, c);
    write_weight_list(w, c);
    write_choice(w, c);
    write_serial(w, c);
    tc_buf_puts(c, "#endif\n");
}

/* ---- the filter ---- */
static tc_status write_port(tc_buf *c, const char *name, const char *field, const tc_tensor *t) {
    const char *descr = tc_dtypes[t->dtype].npy;
    if (!descr) return tc_error(TC_UNSUPPORTED, "a filter with %s, which is %s: .npy has no such type", name, tc_dtypes[t->dtype].torch);
    tc_buf type = {0};
    tc_tensor_print_type(&type, t);
    tc_buf_puts(c, "        {");
    write_string(c, name);
    tc_buf_printf(c, ", \"%s\", \"%s\", \"%s\", \"(", field, tc_buf_str(&type), descr);
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
    tc_buf_puts(c, "\nstatic tc_filter_port *tc_filter_inputs(void) {\n    static tc_filter_port ports[] = {\n");
    for (int i = 0, k = 0; i < p->ninputs && !s; i++)
        if (w->field[i]) {
            s = write_port(c, w->named[i], w->field[i], &w->b->t[p->inputs[i].value->id]);
            tc_buf_printf(&fields, "    given.%s = in[%d].data;\n", w->field[i], k++);
        }
    tc_buf_printf(c, "%sstatic tc_filter_port *tc_filter_outputs(void) {\n    static tc_filter_port ports[] = {\n", end);
    tc_tensor type;
    for (int i = 0, k = 0; i < w->f->g->noutputs + w->nnumber && !s; i++)
        if (result_type(w, i, &type)) {
            s = write_port(c, w->named[p->ninputs + i], w->field[p->ninputs + i], &type);
            tc_buf_printf(&fields, "    made.%s = out[%d].data;\n", w->field[p->ninputs + i], k++);
        }
    tc_buf_printf(c, "%sstatic const char *tc_filter_name(void) { return \"%s\"; }\n", end, m);
    if (w->state_bytes) tc_buf_printf(c, "static size_t tc_filter_arena(void) { return %s_ARENA_BYTES + %s_STATE_BYTES + 64; }\n", m, m);
    else tc_buf_printf(c, "static size_t tc_filter_arena(void) { return %s_ARENA_BYTES; }\n", m);
    tc_buf_printf(
        c,
        "static int tc_filter_run(tc_filter_port *in, tc_filter_port *out, void *arena) {\n    %s_inputs given = {0};\n    %s_outputs made = {0};\n",
        m, m);
    if (w->state_bytes) /* behind the arena, from record to record */
        tc_buf_printf(c,
                      "    static void *state;\n    if (!state) state = memcpy((char *)arena + (%s_ARENA_BYTES + 63) / 64 * 64, %s_weights, "
                      "%s_STATE_BYTES);\n    given.state = state;\n",
                      m, m, m);
    tc_buf_append(c, tc_buf_str(&fields), fields.len);
    tc_buf_printf(c, "    (void)in, (void)out;\n    return %s_run(%s_weights, &given, &made, arena);\n}\n", m, m);
    tc_buf_free(&fields);
    return s;
}

/* Results that are numbers: of a size, or read from a tensor. */
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

/* Names of the fields, and what a run changes. What it changes of the weights is written first, so that it is one piece. */
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
        if (w->changes[i] && p->inputs[i].kind != TC_IN_USER) TC_TRY(weight(w, i));
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

/* Results that lie elsewhere, then what the run changes and could not change in place; what reads an input that another of these writes is
 * kept aside before. */
static tc_status write_end(writer *w) {
    const tc_program *p = w->e->program;
    const frame *f = w->f;
    const char *from, *to;
    const char **aside = TC_NEWN(&w->a, const char *, w->b->end_copies.len + 1);
    for (int step = 0; step < 3; step++) /* results; kept aside; changes */
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
    write_header(w, h);
    write_unit(w, c);
    if (!w->o->filter) return NULL;
    bool several = w->o->ntargets > 1;
    if (several) tc_buf_puts(c, "#ifndef TC_TARGET\n");
    tc_status s = write_filter(w, c);
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
    if (!s && !o->weights_inside) tc_buf_append(out_weights, tc_buf_str(&w.weights), w.weights.len);
    bound_destroy(w.b);
    tc_unit_destroy(w.unit);
    tc_buf_free(&w.calls);
    tc_buf_free(&w.weights);
    tc_arena_free(&w.a);
    return s;
}
