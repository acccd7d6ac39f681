/* Writes tc-ops(7) from the operator table: each row with its schema, what it computes, the types that its sample takes, its gradient and
 * how it is executed. `make install` runs it; nothing in the page is written by hand but its frame. */
#include "op/sample.h"
#include "runtime/runtime.h"

#include <stdio.h>
#include <string.h>

#include "kernel/kernel.h"

static const tc_dtype types[] = {TC_BOOL, TC_U8, TC_I8, TC_I16, TC_I32, TC_I64, TC_F16, TC_BF16, TC_F32, TC_F64, TC_C64, TC_C128};
enum { NTYPES = sizeof types / sizeof *types };

/* A line of mdoc text: backslashes escaped, no control character at its beginning. */
static void text(const char *s) {
    if (*s == '.' || *s == '\'') fputs("\\&", stdout);
    for (; *s; s++)
        if (*s == '\\') fputs("\\e", stdout);
        else if (*s == '-') fputs("\\-", stdout);
        else putchar(*s == '\n' ? ' ' : *s);
}

static bool starts_type(const char *p, const char *begin, size_t n, const char *name) {
    size_t k = strlen(name);
    return n > k && !strncmp(p, name, k) && p[k] == '[' && (p == begin || strchr("(, [", p[-1]));
}

/* The type of the first tensor of a call; TC_DTYPE_NONE: it has none. */
static tc_dtype first_type(const char *call, size_t n) {
    for (size_t i = 0; i < n; i++)
        for (int t = 0; t < NTYPES; t++)
            if (starts_type(call + i, call, n - i, tc_dtypes[types[t]].name)) return types[t];
    return TC_DTYPE_NONE;
}

/* The call with every tensor of type `from` made one of type `to`; owned by the caller. */
static char *retyped(const char *call, size_t n, tc_dtype from, tc_dtype to) {
    tc_buf b = {0};
    for (size_t i = 0; i < n;) {
        if (starts_type(call + i, call, n - i, tc_dtypes[from].name)) {
            tc_buf_puts(&b, tc_dtypes[to].name);
            i += strlen(tc_dtypes[from].name);
        } else tc_buf_putc(&b, call[i++]);
    }
    tc_buf_puts(&b, "");
    return b.data;
}

/* Shape rule, decomposition and plan take the call. */
static bool takes(const tc_op *op, const char *call) {
    tc_sample s = {0};
    tc_exec *e = NULL;
    tc_status st = tc_sample_parse(op, call, strlen(call), &s);
    if (!st) st = tc_exec_create(s.program, &(tc_exec_options){.threads = 1}, &e);
    bool ok = !st;
    tc_exec_destroy(e);
    if (s.program) tc_program_release(s.program);
    tc_status_free(st);
    return ok;
}

static void write_types(const tc_op *op) {
    size_t n = 0;
    const char *call = op->samples ? tc_sample_call(op->samples, 0, &n) : NULL;
    tc_dtype from = call ? first_type(call, n) : TC_DTYPE_NONE;
    if (from == TC_DTYPE_NONE) return;
    bool any = false;
    for (int t = 0; t < NTYPES; t++) {
        char *one = retyped(call, n, from, types[t]);
        if (takes(op, one)) printf("%s%s", any ? " " : "Types: ", tc_dtypes[types[t]].name), any = true;
        free(one);
    }
    if (any) puts(".");
}

static const char *gradient(const tc_op *op) {
    if (op->flags & TC_OP_NONDIFF) return "none";
    if (op->grad) return "its own rule";
    return op->decompose ? "that of its parts" : "refused by name";
}

static void write_execution(const tc_op *op) {
    if (op->view_alias) printf("a view");
    else if (op->kernel) printf("the kernel %s", op->kernel->name);
    else if (op->lower) printf("a loop, fused with its neighbours");
    else if (op->decompose) printf("other operators");
    else printf("a call");
    if (op->lower && op->kernel) printf(" or a loop");
    if (op->complex) printf("; complex numbers by other operators");
}

static int by_schema(const void *a, const void *b) { return strcmp((*(const tc_op *const *)a)->schema, (*(const tc_op *const *)b)->schema); }

int main(void) {
    size_t n = tc_op_count();
    const tc_op **rows = calloc(n + 1, sizeof *rows);
    if (!rows) return 1;
    for (size_t i = 0; i < n; i++) rows[i] = tc_op_at(i);
    qsort(rows, n, sizeof *rows, by_schema);
    printf(".Dd November 22, 2026\n.Dt TC-OPS 7\n.Os\n.Sh NAME\n.Nm tc-ops\n.Nd the operators of tc\n.Sh DESCRIPTION\n"
           "The %zu operators that tc executes, by their ATen schemas.\n"
           "In-place forms and forms with\n.Fa out\nfollow from them.\n"
           "Types are those that the sample of an operator takes in place of the type it is written with; the gradient is the operator's\n"
           "own rule or that of the operators it is made of; it runs as a loop that is fused and compiled, a kernel, a view that moves\n"
           "nothing, or other operators.\n.Bl -tag -width Ds\n",
           n);
    for (size_t i = 0; i < n; i++) {
        printf(".It ");
        text(rows[i]->schema);
        putchar('\n');
        if (rows[i]->doc) text(rows[i]->doc), puts(".");
        write_types(rows[i]);
        printf("Gradient: %s.\nRuns as ", gradient(rows[i]));
        write_execution(rows[i]);
        puts(".");
    }
    printf(".El\n.Sh SEE ALSO\n.Xr tc-model 7 ,\n.Xr tc-numerics 7\n");
    free(rows);
    return fclose(stdout) ? 1 : 0;
}
