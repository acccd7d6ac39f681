/* Rules whose calls fail: of every sample in the operator table the decomposition and the gradient are emitted again and again, each time with
 * another call refused, as sizes that do not fit would be. The rule says so; it does not go on with values that were never made.
 * LIBS: -Wl,--wrap=tc_graph_call */
#include "grad/grad.h"
#include "op/decompose.h"
#include "op/functionalise.h"
#include "op/sample.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Of operators called by overload PyTorch takes numbers for tensors of these only (torch/csrc/utils/python_arg_parser.cpp). */
static void numbers_for_tensors(const tc_op *op, const tc_arg *args, int nargs) {
    static const char *const arithmetic[] = {"add",      "sub",         "mul",          "div", "divide",   "multiply",
                                             "subtract", "true_divide", "floor_divide", "to",  "_to_copy", "copy"};
    const tc_schema *s = tc_op_schema(op);
    for (size_t i = 0; i < sizeof arithmetic / sizeof *arithmetic; i++)
        if (!strcmp(s->name, arithmetic[i])) return;
    for (int i = 0; i < nargs && i < s->nparams; i++)
        if (s->params[i].type == TC_T_TENSOR && args[i].kind == TC_A_SCALAR)
            fprintf(stderr, "%s: a number for %s\n", tc_op_name(op), s->params[i].name), _exit(1);
}

static int64_t left; /* calls that are made before one is refused; -1: all */
static bool met;     /* one was refused */

tc_status __real_tc_graph_call(tc_graph *g, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_node *before, tc_node **out_node);
tc_status __wrap_tc_graph_call(tc_graph *g, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_node *before, tc_node **out_node);
tc_status __wrap_tc_graph_call(tc_graph *g, const tc_op *op, const tc_arg *args, int nargs, tc_source src, tc_node *before, tc_node **out_node) {
    numbers_for_tensors(op, args, nargs);
    if (left == 0) return met = true, tc_error(TC_CONTENT, "refused");
    if (left > 0) left--;
    return __real_tc_graph_call(g, op, args, nargs, src, before, out_node);
}

static tc_status gradient(tc_program *p) {
    tc_value *ys[16], *xs[16], *grads[16];
    int ny = 0, nx = 0;
    for (int i = 0; i < p->ninputs && nx < 16; i++)
        if (p->inputs[i].value && p->inputs[i].value->kind == TC_V_TENSOR && tc_is_float(p->inputs[i].value->meta.dtype))
            xs[nx++] = p->inputs[i].value;
    for (int i = 0; i < p->noutputs && ny < 16; i++)
        if (p->outputs[i].value && p->outputs[i].value->kind == TC_V_TENSOR && tc_is_float(p->outputs[i].value->meta.dtype))
            ys[ny++] = p->outputs[i].value;
    tc_value *cots[16];
    for (int i = 0; i < ny; i++) cots[i] = ys[i]; /* of its type, which is all that counts here */
    return nx && ny
               ? tc_grad_build(&(tc_grad_request){.graph = p->graph, .outputs = ys, .cotangents = cots, .noutputs = ny, .wrt = xs, .nwrt = nx}, grads)
               : NULL;
}

/* Call number k is refused. 0: it has fewer; 1: that was said; 2: it was not. */
static int refuse(const tc_op *op, const char *call, size_t len, int64_t k, bool backward) {
    tc_sample s;
    left = -1, met = false;
    tc_status st = tc_sample_parse(op, call, len, &s);
    if (!st) st = tc_functionalise(s.program);
    if (!st) {
        left = k;
        st = backward ? gradient(s.program) : tc_decompose(s.program);
        left = -1;
    }
    const int how = !met ? 0 : st ? 1 : 2;
    tc_status_free(st);
    tc_program_release(s.program);
    return how;
}

static int all_of(const tc_op *op, bool backward) {
    size_t len;
    for (int i = 0;; i++) {
        const char *call = tc_sample_call(op->samples, i, &len);
        if (!call) return 0;
        int how = 1;
        for (int64_t k = 0; k < 400 && how == 1; k++) how = refuse(op, call, len, k, backward);
        if (how == 2) return 1;
    }
}

static void rules_say_what_failed(void **state) {
    (void)state;
    const char *only = getenv("OP");
    int bad = 0;
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        if (!op->samples || (only && !strstr(tc_op_name(op), only))) continue;
        for (int backward = 0; backward < 2; backward++) {
            if (backward ? !op->grad && !op->decompose : !op->decompose) continue;
            fflush(NULL);
            pid_t child = fork();
            if (!child) _exit(all_of(op, backward));
            int how;
            assert_int_equal(waitpid(child, &how, 0), child);
            if (how)
                fprintf(stderr, "%s: the %s does not survive a call that fails\n", tc_op_name(op), backward ? "gradient" : "decomposition"), bad++;
        }
    }
    assert_int_equal(bad, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(rules_say_what_failed)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
