/* The main function of a filter program (tc-compile --to exe): .npy records in, .npy records out, libc only. Pasted in front of a C unit, which defines
 * the functions declared below. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const char *name, *field, *type, *descr, *shape; /* field: the C name; type: for messages; descr and shape: as in a .npy header */
    size_t bytes;
    const char *path; /* NULL: not given */
    FILE *file;
    void *data;
} tc_filter_port;

static tc_filter_port *tc_filter_inputs(void), *tc_filter_outputs(void); /* the list ends with a NULL name */
static const char *tc_filter_name(void);
static size_t tc_filter_arena(void);
static int tc_filter_run(tc_filter_port *in, tc_filter_port *out, void *arena);

static void tc_filter_fail(int code, const char *port, const char *text) {
    fprintf(stderr, "%s: %s%s%s\n", tc_filter_name(), port ? port : "", port ? ": " : "", text);
    exit(code);
}

/* Checks that the CPU has the instruction sets that the code was compiled for, before any of it runs. */
#if defined(__x86_64__)
__attribute__((target("arch=x86-64"))) static void tc_filter_check_cpu(void) {
    const char *lacks = NULL;
    __builtin_cpu_init();
#ifdef __AVX2__
    if (!__builtin_cpu_supports("avx2")) lacks = "AVX2";
#endif
#ifdef __FMA__
    if (!__builtin_cpu_supports("fma")) lacks = "FMA";
#endif
#ifdef __AVX512F__
    if (!__builtin_cpu_supports("avx512f")) lacks = "AVX-512";
#endif
    if (lacks) tc_filter_fail(1, lacks, "this processor has not what the program was compiled for");
}
#else
static void tc_filter_check_cpu(void) {}
#endif

static void *tc_filter_memory(size_t bytes) {
    void *p = aligned_alloc(64, (bytes + 64) / 64 * 64);
    if (!p) tc_filter_fail(1, NULL, "out of memory");
    return p;
}

/* The value of a key of the header, without spaces, up to `end`: "'<f4'" or "(2,3,)". */
static void tc_filter_value(const tc_filter_port *p, const char *header, const char *key, char end, char *out, size_t room) {
    const char *at = strstr(header, key);
    size_t n = 0;
    if (at) at = strchr(at + strlen(key), ':');
    if (!at) tc_filter_fail(3, p->name, "a .npy header that cannot be read");
    for (at++; *at; at++) {
        if (*at == ' ') continue;
        if (n + 1 < room) out[n++] = *at;
        if (*at == end && n > 1) break;
    }
    if (n > 2 && end == ')' && out[n - 2] == ',') out[n - 2] = out[n - 1], n--; /* (2,) is (2) */
    out[n] = 0;
}

/* 1: a record was read; 0: the stream ended where a record may end. */
static int tc_filter_read(tc_filter_port *p) {
    unsigned char h[12];
    char header[4096], text[256];
    size_t n = fread(h, 1, 10, p->file), len;
    if (n == 0 && feof(p->file)) return 0;
    if (n < 10 || memcmp(h, "\x93NUMPY", 6)) tc_filter_fail(3, p->name, "is no .npy record");
    len = h[8] | (size_t)h[9] << 8;
    if (h[6] > 1) {
        if (fread(h + 10, 1, 2, p->file) < 2) tc_filter_fail(3, p->name, "ends within a .npy header");
        len |= (size_t)h[10] << 16 | (size_t)h[11] << 24;
    }
    if (len >= sizeof header) tc_filter_fail(3, p->name, "a .npy header over 4095 bytes");
    if (fread(header, 1, len, p->file) < len) tc_filter_fail(3, p->name, "ends within a .npy header");
    header[len] = 0;
    tc_filter_value(p, header, "'descr'", '\'', text, sizeof text);
    if (strncmp(text + 1, p->descr, strlen(p->descr)) || strcmp(text + 1 + strlen(p->descr), "'")) {
        snprintf(header, sizeof header, "is of type %s, expected %s", text, p->type);
        tc_filter_fail(3, p->name, header);
    }
    tc_filter_value(p, header, "'shape'", ')', text, sizeof text);
    if (strcmp(text, p->shape)) {
        snprintf(header, sizeof header, "has sizes %s, expected %s", text, p->type);
        tc_filter_fail(3, p->name, header);
    }
    if (!strstr(header, "False")) tc_filter_fail(3, p->name, "is in Fortran order");
    if (fread(p->data, 1, p->bytes, p->file) < p->bytes) tc_filter_fail(3, p->name, "ends within a record");
    return 1;
}

static void tc_filter_write(tc_filter_port *p) {
    char h[512];
    size_t n = 10;
    memcpy(h, "\x93NUMPY\1\0", 8);
    n += (size_t)snprintf(h + 10, sizeof h - 80, "{'descr': '%s', 'fortran_order': False, 'shape': (", p->descr);
    for (const char *s = p->shape + 1; *s; s++) { /* (2,3) is (2, 3), (2) is (2,) */
        if (*s == ')' && !strchr(p->shape, ',') && s > p->shape + 1) h[n++] = ',';
        h[n++] = *s;
        if (*s == ',') h[n++] = ' ';
    }
    memcpy(h + n, ", }", 3), n += 3;
    while ((n + 1) % 64) h[n++] = ' ';
    h[n++] = '\n';
    h[8] = (char)((n - 10) & 0xff), h[9] = (char)((n - 10) >> 8);
    if (fwrite(h, 1, n, p->file) < n || fwrite(p->data, 1, p->bytes, p->file) < p->bytes || fflush(p->file)) {
        perror(tc_filter_name());
        exit(1);
    }
}

static void tc_filter_usage(FILE *f) {
    fprintf(f,
            "usage: %s [INPUT=FILE...] [-o OUTPUT=FILE...]\n\nReads .npy records, writes .npy records; - is stdin or stdout, the default where there "
            "is one.\n",
            tc_filter_name());
    for (tc_filter_port *p = tc_filter_inputs(); p->name; p++) fprintf(f, "  input   %s: %s\n", p->name, p->type);
    for (tc_filter_port *p = tc_filter_outputs(); p->name; p++) fprintf(f, "  output  %s: %s\n", p->name, p->type);
}

static void tc_filter_assign(tc_filter_port *ports, const char *text) {
    const char *eq = strchr(text, '=');
    for (int fields = 0; fields < 2; fields++)
        for (tc_filter_port *p = ports; p->name && eq; p++) {
            const char *name = fields ? p->field : p->name;
            if (strlen(name) != (size_t)(eq - text) || strncmp(name, text, strlen(name))) continue;
            p->path = eq + 1;
            return;
        }
    if (!eq && ports[0].name && !ports[1].name) {
        ports[0].path = text;
        return;
    }
    tc_filter_usage(stderr);
    tc_filter_fail(2, text, "there is no such input or output");
}

static void tc_filter_open(tc_filter_port *ports, int writes) {
    int many = ports[0].name && ports[1].name;
    for (tc_filter_port *p = ports; p->name; p++) {
        if (!p->path && many) {
            tc_filter_usage(stderr);
            tc_filter_fail(2, p->name, writes ? "say where this output goes" : "no value for this input");
        }
        if (!p->path || !strcmp(p->path, "-")) p->file = writes ? stdout : stdin;
        else if (!(p->file = fopen(p->path, writes ? "wb" : "rb"))) {
            perror(p->path);
            exit(1);
        }
        p->data = tc_filter_memory(p->bytes);
    }
}

static void tc_filter_close(tc_filter_port *ports) {
    for (tc_filter_port *p = ports; p->name; p++) {
        if (p->file != stdin && p->file != stdout && fclose(p->file)) {
            perror(p->path);
            exit(1);
        }
        free(p->data);
    }
}

int main(int argc, char **argv) {
    tc_filter_port *in = tc_filter_inputs(), *out = tc_filter_outputs();
    tc_filter_check_cpu();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help")) return tc_filter_usage(stdout), 0;
        if (!strcmp(argv[i], "-o") && i + 1 < argc) tc_filter_assign(out, argv[++i]);
        else tc_filter_assign(in, argv[i]);
    }
    tc_filter_open(in, 0);
    tc_filter_open(out, 1);
    void *arena = tc_filter_memory(tc_filter_arena());
    for (long record = 0;; record++) {
        int read = 0, ended = 0;
        for (tc_filter_port *p = in; p->name; p++) tc_filter_read(p) ? read++ : ended++;
        if (read && ended) tc_filter_fail(3, NULL, "the inputs have unequal numbers of records");
        if (ended || (!read && record)) {
            if (!record) tc_filter_fail(3, NULL, "nothing arrived: did the command before fail?");
            tc_filter_close(in);
            tc_filter_close(out);
            free(arena);
            return 0;
        }
        int code = tc_filter_run(in, out, arena);
        if (code == 1) tc_filter_fail(3, NULL, "an index was out of bounds");
        if (code == 3) tc_filter_fail(1, NULL, "this processor has not what the program was compiled for");
        if (code == 4) tc_filter_fail(3, NULL, "a number that was computed is none that the program allows");
        if (code == 5) tc_filter_fail(3, NULL, "an integer overflowed");
        if (code) tc_filter_fail(1, NULL, "compiled with flags that change results");
        for (tc_filter_port *p = out; p->name; p++) tc_filter_write(p);
    }
}
