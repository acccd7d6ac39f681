/* The text around the calls of a program that is written as C (to_c.h): the header, the unit with its weights and functions, and the filter's ports. */
#include "codegen/cc.h"
#include "codegen/paste.h"
#include "runtime/to_c_write.h"

/* ---- the header ---- */
static void write_field(tc_buf *h, const char *field, const tc_tensor *t, const char *qualifier, const char *note) {
    tc_buf type = {0};
    tc_tensor_print_type(&type, t);
    tc_buf_printf(h, "    %s%s *%s; /* %s, contiguous%s */\n", qualifier, to_c_type(t->dtype), field, tc_buf_str(&type), note);
    tc_buf_free(&type);
}

/* The type of result i: of a tensor, or after these, of a number, which is a 0-d tensor. False: it is not in the structure. */
static bool result_type(const writer *w, int i, tc_tensor *out) {
    const int tensors = w->f->g->noutputs;
    if (!w->field[w->e->program->ninputs + i]) return false;
    if (i < tensors) return *out = w->b->t[w->f->g->outputs[i]->id], true;
    const tc_symtype t = tc_sym_type(w->number[i - tensors]);
    *out = (tc_tensor){.dtype = t == TC_SYM_FLOAT ? TC_F64 : t == TC_SYM_BOOL ? TC_BOOL : TC_I64};
    return true;
}

static size_t arena_bytes(const writer *w) { return w->top + w->late + (w->scratch > w->each ? w->scratch : w->each) + 64; }

/* A C string literal. */
static void write_string(tc_buf *c, const char *s) {
    tc_buf_putc(c, '"');
    for (; *s; s++) /* octal, because it ends after three digits */
        tc_buf_printf(c, *s == '"' || *s == '\\' || *s == '?' || (unsigned char)*s < 32 || (unsigned char)*s > 126 ? "\\%03o" : "%c",
                      (unsigned char)*s);
    tc_buf_putc(c, '"');
}

/* Names, types and offsets of the weights, for callers that replace them. */
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
/* The structures of inputs and outputs that the caller fills. */
static void write_structures(writer *w, tc_buf *h) {
    const tc_program *p = w->e->program;
    const char *s = w->stem;
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
}

void to_c_header(writer *w, tc_buf *h) {
    const char *s = w->stem;
    tc_buf_puts(h, "/* Made by ");
    tc_emit_comment(h, w->o->made_by);
    tc_buf_printf(
        h,
        ". %s_run computes the program for the sizes below: no allocation, no state of its own, libc and libm only.\n"
        " * Any number of threads may call it, each with memory of its own for results, arena and state; weights are only read, so that other\n"
        " * weights may stand at another address for the next call.\n"
        " * Returns 0; 1: an index was out of bounds; 2: compiled with flags that change results (see %s.c); 3: this processor lacks the\n"
        " * instructions that it was compiled for; 4: a number that was computed is none that the program allows%s%s. */\n",
        s, w->file, w->o->sanitize ? "; 5: an integer overflowed" : "", w->ranks ? "; 6: no ranks, or they failed" : "");
    tc_buf_printf(h, "#ifndef %s_H\n#define %s_H\n\n#include <stddef.h>\n#include <stdint.h>\n\n", s, s);
    tc_buf_printf(h, "#define %s_ARENA_BYTES %zu /* intermediate results; the caller's memory, 64-byte aligned */\n", s, arena_bytes(w));
    tc_buf_printf(h, "#define %s_ARENA_BYTES_FOR(workers) (%s_ARENA_BYTES + (size_t)((workers)-1) * %zu) /* for %s_run_on */\n", s, s, w->each, s);
    tc_buf_printf(h, "#define %s_WEIGHTS_BYTES %zu\n", s, w->weights.len);
    if (w->state_bytes) tc_buf_printf(h, "#define %s_STATE_BYTES %zu\n", s, w->state_bytes);
    tc_buf_putc(h, '\n');
    write_structures(w, h);
    if (w->o->weights_inside || w->o->weights_beside) tc_buf_printf(h, "extern const unsigned char *const %s_weights; /* of %s.c */\n", s, w->file);
    else
        tc_buf_printf(h,
                      "/* weights: the bytes of %s.weights, 64-byte aligned; without that file as much memory, in which %s_set_weight() has set\n"
                      " * all of %s_weight_list */\n",
                      w->file, s, s);
    tc_buf_printf(h, "int %s_run(const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena);\n\n", s, s, s);
    if (w->ranks) to_c_ranks_type(w, h);
    tc_buf_printf(
        h,
        "/* The same on threads of the caller%s, with the same bits. parallel_for calls fn for ranges of at least `grain` items, each of\n"
        " * [0, count) once, and returns when all are done; worker is in 0..workers-1 and unique among concurrent calls. */\n"
        "typedef struct {\n    int workers;\n    void (*parallel_for)(void *pool, int64_t count, int64_t grain, void (*fn)(void *ctx, int64_t "
        "begin, int64_t end, int worker), void *ctx);\n    void *pool;\n%s} %s_threads;\n"
        "int %s_run_on(const %s_threads *threads, const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena);\n\n",
        w->ranks ? " and on ranks" : "", w->ranks ? TC_TEXT(w, "    const %s_ranks *ranks;\n", s) : "", s, s, s, s, s);
    tc_buf_printf(
        h,
        "/* What the weights hold, ended by a NULL name. To replace some while runs go on: copy the block, set them in the copy, give its address\n"
        " * to the runs that follow, and free the old block when the last run that was given it is done. */\n"
        "typedef struct {\n    const char *name, *type;\n    size_t offset, bytes;\n} %s_weight;\n"
        "extern const %s_weight %s_weight_list[];\n"
        "int %s_set_weight(void *weights, const char *name, const void *data, size_t bytes); /* 1: no such name, 2: not its size */\n\n#endif\n",
        s, s, s, s);
}

/* ---- the unit ---- */
static void write_weights(writer *w, tc_buf *c) {
    const char *s = w->stem;
    if (w->o->weights_inside) {
        tc_buf_printf(c, "static const union { uint32_t word[%zu]; double align[1]; } weight_words __attribute__((aligned(64))) = {{",
                      (w->weights.len + 3) / 4 + 1);
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

/* A C condition: does the processor have the extensions of the compiler's flags for `isa`? "1" if there are none. */
static void write_condition(tc_buf *c, const char *isa) {
    const char *flag = tc_cc_isa_flags(isa);
    int n = 0;
    for (flag = flag ? strstr(flag, "-m") : NULL; flag; flag = strstr(flag + 2, "-m")) {
        size_t len = strcspn(flag, " ");
        if (memchr(flag, '=', len) || !strncmp(flag, "-mf16c", len))
            continue; /* every processor with avx2 has f16c, and clang does not know the name */
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
    if (w->ranks) to_c_ranks_given(w, c);
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

/* STEM_run, on one thread. */
static void write_serial(writer *w, tc_buf *c) {
    const char *s = w->stem;
    tc_buf_printf(
        c,
        "int %s_run(const void *weights, const %s_inputs *in, const %s_outputs *out, void *arena) {\n    return %s_run_on(NULL, weights, in, "
        "out, arena);\n}\n",
        s, s, s, s);
}

/* STEM_run_on for several instruction sets, each of which was compiled separately (codegen/cc.h): calls the first that the processor has; the best
 * come first. */
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

void to_c_unit(writer *w, tc_buf *c) {
    const char *s = w->stem;
    bool several = w->o->joined && w->o->ntargets > 1;
    tc_buf_puts(c, "/* Made by ");
    tc_emit_comment(c, w->o->made_by);
    tc_buf_printf(c, ". Compile with: cc -std=c11 -O3 -march=native -ffp-contract=off -fno-math-errno -fno-trapping-math -c %s.c */\n", w->file);
    if (several) /* with TC_TARGET: the code for one instruction set; without: the choice among them, and everything else */
        tc_buf_printf(c,
                      "#ifdef TC_TARGET\n#define TC_JOIN_(a, b) a##b\n#define TC_JOIN(a, b) TC_JOIN_(a, b)\n#define %s_run_on TC_JOIN(%s_run_on_, "
                      "TC_TARGET)\n#pragma GCC visibility push(hidden)\n#else\n#pragma GCC visibility push(default)\n#endif\n",
                      s, s);
    else if (w->o->joined) tc_buf_puts(c, "#pragma GCC visibility push(default)\n");
    if (w->o->joined) to_c_header(w, c);
    else tc_buf_printf(c, "#include \"%s.h\"\n\n", w->file);
    if (w->o->joined) tc_buf_puts(c, "#pragma GCC visibility pop\n\n");
    if (w->o->filter) tc_buf_puts(c, several ? "#ifndef TC_TARGET\n" : "");
    if (w->o->filter) tc_embedded_append(c, &tc_filter_text);
    if (w->o->filter) tc_buf_puts(c, several ? "#endif\n" : "");
    if (several) tc_buf_puts(c, "#ifdef TC_TARGET\n");
    tc_embedded_append(c, &tc_abi_text);
    tc_buf_putc(c, '\n');
    tc_unit_body(w->unit, TC_TEXT(w, "%s tc_c_threads%s", tc_buf_str(&w->calls), w->ranks ? " tc_comm" : ""), c);
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

/* The functions that codegen/filter.h needs: the ports, and the call. */
tc_status to_c_filter(writer *w, tc_buf *c) {
    if (w->ranks) return tc_error(TC_UNSUPPORTED, "collectives in a filter are not supported: a .so, .a, .o or .c gets its ranks from its caller");
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
    if (w->state_bytes) /* kept after the arena, from record to record */
        tc_buf_printf(c,
                      "    static void *state;\n    if (!state) state = memcpy((char *)arena + (%s_ARENA_BYTES + 63) / 64 * 64, %s_weights, "
                      "%s_STATE_BYTES);\n    given.state = state;\n",
                      m, m, m);
    tc_buf_append(c, tc_buf_str(&fields), fields.len);
    tc_buf_printf(c, "    (void)in, (void)out;\n    return %s_run(%s_weights, &given, &made, arena);\n}\n", m, m);
    tc_buf_free(&fields);
    return s;
}
