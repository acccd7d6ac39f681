/* Random programs: graphs of operators of the table with random arguments, in which pointwise chains broadcast, reductions, slices, cats, pads,
 * permutes, gathers, products and writes to values and their views follow each other. What each gives with nothing fused, interpreted on one thread
 * with the portable primitives, it gives fused, as loops and compiled, for every instruction set of this machine and any number of threads, and
 * again where what is made of the state alone is kept between runs. In every second program one size is a symbol: it runs at two of its values.
 * Some nodes are cond, while_loop, scan and map, with graphs of random nodes; of every fourth program the gradients are results too.
 * TC_TEST_PROGRAMS says how many (default 30), TC_TEST_SEED from which on. */
#include "base/file.h"
#include "base/rng.h"
#include "grad/grad.h"
#include "kernel/narrow.h"
#include "op/functionalise.h"
#include "op/sample.h"
#include "runtime/tuning.h"
#include "scratch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "module.h"

enum { MOST_VALUES = 64, MOST_INPUTS = 5, MOST_ELEMENTS = 60000, MOST_RUNS = 2 };

typedef struct {
    uint64_t seed;
    tc_generator gen;
    tc_program *p;
    tc_graph *graph; /* where nodes are made: p's, or one of control flow */
    tc_value *values[MOST_VALUES];
    int nvalues, ninputs;
    int64_t sizes[4]; /* what sizes are made of: they meet often */
    tc_sym symbol;    /* the first of them, or NULL */
    bool writes;      /* operators in place are drawn, too: inputs are copied first */
    int64_t values_of[MOST_RUNS];
    int nruns;
    tc_tensor inputs[MOST_RUNS][MOST_INPUTS], *want[MOST_RUNS];
} kase;
static TC_VEC(kase *) cases;
static size_t controls, differentiated; /* nodes of control flow, programs with gradients */
static TC_VEC(const tc_op *) table;

/* What models are made of; the rest of the table comes as often as all of these. */
static const char *const usual[] = {"add.Tensor",
                                    "mul.Tensor",
                                    "sub.Tensor",
                                    "div.Tensor",
                                    "exp",
                                    "sigmoid",
                                    "tanh",
                                    "relu",
                                    "gelu",
                                    "where.self",
                                    "neg",
                                    "sum.dim_IntList",
                                    "mean.dim",
                                    "amax",
                                    "var.correction",
                                    "_softmax",
                                    "_log_softmax",
                                    "argmax",
                                    "cumsum",
                                    "cumprod",
                                    "logcumsumexp",
                                    "cummax",
                                    "cat",
                                    "stack",
                                    "constant_pad_nd",
                                    "slice.Tensor",
                                    "select.int",
                                    "permute",
                                    "transpose.int",
                                    "expand",
                                    "unsqueeze",
                                    "flip",
                                    "roll",
                                    "gather",
                                    "index_select",
                                    "mm",
                                    "bmm",
                                    "matmul",
                                    "addmm",
                                    "linear",
                                    "native_layer_norm",
                                    "clamp",
                                    "maximum",
                                    "gt.Tensor",
                                    "slice.Tensor",
                                    "cat",
                                    "mul.Scalar",
                                    "add.Scalar",
                                    "_to_copy",
                                    "view",
                                    "reshape",
                                    "repeat",
                                    "scatter_add",
                                    "rsqrt",
                                    "add_.Tensor",
                                    "mul_.Tensor",
                                    "copy_",
                                    "relu_",
                                    "neg_",
                                    "clamp_",
                                    "fill_.Scalar",
                                    "sub_.Tensor",
                                    "abs"};

static int below(kase *k, int n) { return (int)tc_rng_below(&k->gen, (uint64_t)n); }
static tc_sym size_of(kase *k, int which) { return which == 0 && k->symbol ? k->symbol : tc_sym_int(k->p->sym, k->sizes[which]); }
/* The number that a size is where the symbol has its value of that run; -1: none. */
static int64_t number_of(const kase *k, tc_sym size, int run) {
    const tc_symvalue is = {.i = k->values_of[run], .bound = true};
    int64_t n;
    tc_status s = tc_sym_eval_int(size, &is, 1, &n);
    const bool good = !s;
    tc_status_free(s);
    return good ? n : -1;
}

/* ---- arguments ---- */
static tc_value *any_value(kase *k) {
    const int at = below(k, 3) ? k->nvalues - 1 - below(k, k->nvalues < 4 ? k->nvalues : 4) : below(k, k->nvalues);
    return k->values[at];
}
static bool index_named(const char *name) { return !strncmp(name, "ind", 3); }
static tc_value *tensor_for(kase *k, const tc_param *p) {
    for (int i = 0; i < 20; i++) {
        tc_value *v = any_value(k);
        if (index_named(p->name) == (v->meta.dtype == TC_I64)) return v;
    }
    return any_value(k);
}
static int64_t int_for(kase *k, const tc_param *p, const tc_meta *first) {
    const int rank = first ? first->rank : 1;
    if (!strncmp(p->name, "dim", 3)) return rank ? below(k, 2 * rank) - rank : 0;
    return below(k, 5) - 1;
}
static tc_arg ints_for(kase *k, const tc_param *p, const tc_op *op, const tc_meta *first) {
    const int rank = first ? first->rank : 1;
    const bool dims = !strncmp(p->name, "dim", 3), sizes = !strcmp(p->name, "size") || !strcmp(p->name, "shape");
    int64_t order[TC_MAX_RANK];
    int n = p->fixed_len ? p->fixed_len : dims || sizes ? 1 + below(k, rank + 1) : 2 * (1 + below(k, 2));
    if (dims) n = !strcmp(tc_op_name(op), "aten.permute.default") || n > rank ? rank : n;
    if (n > TC_MAX_RANK) n = TC_MAX_RANK;
    if (dims) tc_rng_permutation(&k->gen, rank, order);
    tc_sym *s = TC_NEWN(&k->p->arena, tc_sym, (size_t)n + 1);
    for (int i = 0; i < n; i++) {
        s[i] = sizes && below(k, 3) ? size_of(k, below(k, 4)) : tc_sym_int(k->p->sym, dims ? order[i] : sizes ? -1 : below(k, 3));
        if (!sizes || !first || n < rank || i < n - rank || !below(k, 4)) continue;
        s[i] = first->size[i - (n - rank)];
        if (tc_sym_is_int(s[i], 1)) s[i] = size_of(k, below(k, 4));
    }
    return (tc_arg){.kind = TC_A_INTS, .syms = s, .n = n};
}
static tc_scalar number_for(kase *k, bool whole) {
    static const double numbers[] = {0, 1, 2, 0.5, -1.5, 3, -2, 0.1};
    const double v = numbers[below(k, 8)];
    return whole ? tc_scalar_int((int64_t)v) : tc_scalar_float(v);
}
static const bool masks[3][3] = {{true, true, true}, {true, false, true}, {false, true, false}};
static const char *const words[] = {"none", "tanh", "sum", "mean", "prod"};
static bool argument(kase *k, const tc_op *op, int at, const tc_meta *first, tc_arg *out) {
    const tc_param *p = &tc_op_schema(op)->params[at];
    const bool choice = !p->has_default || (p->type != TC_T_DTYPE && !p->kw_only && below(k, 2));
    if (!choice || (p->optional && !below(k, 3))) {
        if (p->has_default || p->optional) {
            *out = (tc_arg){.kind = TC_A_NONE};
            tc_status s = p->has_default ? tc_op_default(k->p, op, at, out) : NULL;
            tc_status_free(s);
            return !s;
        }
    }
    switch (p->type) {
    case TC_T_TENSOR:
    case TC_T_OPT_TENSOR: *out = (tc_arg){.kind = TC_A_VALUE, .value = tensor_for(k, p)}; return true;
    case TC_T_TENSORS: {
        const int n = 1 + below(k, 3);
        *out = (tc_arg){.kind = TC_A_VALUES, .values = TC_NEWN(&k->p->arena, tc_value *, (size_t)n), .n = n};
        for (int i = 0; i < n; i++) out->values[i] = any_value(k);
        return true;
    }
    case TC_T_INT: *out = (tc_arg){.kind = TC_A_INT, .sym = tc_sym_int(k->p->sym, int_for(k, p, first))}; return true;
    case TC_T_INTS: *out = ints_for(k, p, op, first); return true;
    case TC_T_FLOAT: *out = (tc_arg){.kind = TC_A_SCALAR, .scalar = number_for(k, false)}; return true;
    case TC_T_SCALAR: *out = (tc_arg){.kind = TC_A_SCALAR, .scalar = number_for(k, below(k, 2))}; return true;
    case TC_T_BOOL: *out = (tc_arg){.kind = TC_A_SCALAR, .scalar = tc_scalar_bool(below(k, 2))}; return true;
    case TC_T_BOOLS:
        *out = (tc_arg){.kind = TC_A_BOOLS, .bools = masks[below(k, 3)], .n = p->fixed_len};
        return p->fixed_len > 0 && p->fixed_len <= 3;
    case TC_T_STRING: *out = (tc_arg){.kind = TC_A_STRING, .string = words[below(k, 5)]}; return true;
    case TC_T_DTYPE: *out = (tc_arg){.kind = TC_A_DTYPE, .dtype = (tc_dtype[]){TC_F32, TC_F64, TC_BF16, TC_F16}[below(k, 4)]}; return true;
    default: return false;
    }
}

/* ---- programs ---- */
static bool fits(const kase *k, const tc_value *v) {
    if (v->kind != TC_V_TENSOR) return false;
    for (int run = 0; run < MOST_RUNS; run++) {
        int64_t n = 1, d;
        for (int i = 0; i < v->meta.rank; i++)
            if ((d = number_of(k, v->meta.size[i], run)) < 0 || (n *= d > 0 ? d : 1) > MOST_ELEMENTS) return false;
    }
    return v->meta.rank <= 5;
}
/* One node more, if the operator takes what is made up for it. */
static bool add_node(kase *k, const tc_op *op) {
    const tc_schema *s = tc_op_schema(op);
    tc_arg args[24];
    const tc_meta *first = NULL;
    tc_node *n;
    if (s->nparams > 24) return false;
    for (int i = 0; i < s->nparams; i++) {
        if (!argument(k, op, i, first, &args[i])) return false;
        if (!first && args[i].kind == TC_A_VALUE && args[i].value) first = &args[i].value->meta;
    }
    tc_value outs[8] = {{0}};
    const int nouts = tc_op_nouts(op, args, s->nparams);
    if (nouts > 8) return false;
    tc_status st = tc_op_infer(k->p, op, args, s->nparams, (tc_source){0}, outs, nouts);
    bool good = !st;
    for (int i = 0; good && i < nouts; i++) good = fits(k, &outs[i]);
    if (good) st = tc_graph_call(k->graph, op, args, s->nparams, (tc_source){0}, NULL, &n);
    good = good && !st;
    tc_status_free(st);
    for (int i = 0; good && i < n->nouts && k->nvalues < MOST_VALUES; i++) k->values[k->nvalues++] = n->outs[i];
    return good;
}

/* ---- control flow ---- */
static tc_arg of_values(kase *k, tc_value *const *v, int n) {
    return (tc_arg){
        .kind = TC_A_VALUES, .values = n ? tc_arena_dup(&k->p->arena, v, sizeof *v * (size_t)n) : TC_NEW(&k->p->arena, tc_value *), .n = n};
}
static tc_value *call(kase *k, const char *name, const tc_arg *args, int n) {
    tc_node *made;
    tc_status s = tc_graph_call(k->graph, tc_op_find(name), args, n, (tc_source){0}, NULL, &made);
    tc_value *v = s ? NULL : made->outs[0];
    tc_status_free(s);
    return v;
}
static tc_value *with_number(kase *k, const char *name, tc_value *v, int64_t number) {
    return call(k, name, (tc_arg[]){{.kind = TC_A_VALUE, .value = v}, {.kind = TC_A_SCALAR, .scalar = tc_scalar_int(number)}}, 2);
}
static tc_value *alone(kase *k, const char *name, tc_value *v) { return call(k, name, &(tc_arg){.kind = TC_A_VALUE, .value = v}, 1); }

static bool same_type(const tc_value *a, const tc_value *b) {
    bool same = a->meta.dtype == b->meta.dtype && a->meta.rank == b->meta.rank;
    for (int d = 0; same && d < a->meta.rank; d++) same = a->meta.size[d] == b->meta.size[d];
    return same;
}
static const tc_op *any_operator(kase *k);
/* A graph of random nodes over inputs of these types, those of v[first..] without their leading dimension from `slices` on. Its outputs are
 * something of the type of each of the first `carried` inputs, then any value. */
static tc_graph *body_of(kase *k, tc_value *const *v, int n, int slices, int carried, bool more) {
    tc_graph *g = tc_graph_create(k->p, k->p->graph, tc_graph_unique(k->p->graph, "body"));
    kase in = *k;
    in.graph = g, in.nvalues = 0;
    for (int i = 0; i < n; i++) {
        const bool slice = i >= slices;
        tc_value *x = tc_graph_value(g, TC_V_TENSOR, "a");
        x->meta = tc_meta_make(&k->p->arena, v[i]->meta.dtype, v[i]->meta.rank - slice, v[i]->meta.size + slice, NULL);
        tc_graph_add_input(g, x);
        in.values[in.nvalues++] = x;
    }
    const int nodes = 1 + below(&in, 5);
    for (int made = 0, tries = 0; made < nodes && tries < 60; tries++) {
        const tc_op *op = any_operator(&in);
        if (!tc_op_schema(op)->inplace) made += add_node(&in, op);
    }
    for (int i = 0; i < carried; i++) {
        int at = in.nvalues - 1;
        while (!same_type(in.values[at], g->inputs[i])) at--;
        tc_graph_add_output(g, alone(&in, "aten::clone", in.values[at]));
    }
    if (more) tc_graph_add_output(g, alone(&in, "aten::clone", in.values[in.nvalues - 1]));
    k->gen = in.gen;
    return g;
}

static tc_value *predicate(kase *k, tc_value *v) {
    if (v->meta.dtype == TC_BOOL) return alone(k, "aten::any", v);
    v = with_number(k, "aten::gt.Scalar", v, below(k, 2));
    return v ? alone(k, below(k, 2) ? "aten::any" : "aten::all", v) : NULL;
}
/* while (i < 3): the first value carried counts. */
static tc_graph *counting(kase *k, tc_graph *body, tc_value *const *v, int n) {
    tc_graph *test = tc_graph_create(k->p, k->p->graph, tc_graph_unique(k->p->graph, "test"));
    kase in = *k;
    for (int i = 0; i < n; i++) {
        tc_value *x = tc_graph_value(test, TC_V_TENSOR, "c");
        x->meta = v[i]->meta;
        tc_graph_add_input(test, x);
    }
    in.graph = test;
    tc_graph_add_output(test, with_number(&in, "aten::lt.Scalar", test->inputs[0], below(k, 4)));
    test->single_tensor_return = true;
    in.graph = body;
    body->outputs[0] = with_number(&in, "aten::add.Scalar", body->inputs[0], 1);
    return test;
}

static bool add_control(kase *k) {
    tc_value *v[4];
    const int n = 1 + below(k, 3), kind = below(k, 4);
    for (int i = 0; i < n; i++) v[i] = any_value(k);
    tc_arg args[4];
    const char *name;
    const tc_arg none = of_values(k, v, 0);
    if (kind == 0) {
        tc_value *p = predicate(k, any_value(k));
        if (!p) return false;
        tc_graph *yes = body_of(k, v, n, n, 1, false), *no = body_of(k, v, n, n, 1, false);
        name = "higher_order::cond", args[0] = (tc_arg){.kind = TC_A_VALUE, .value = p}, args[1] = (tc_arg){.kind = TC_A_GRAPH, .graph = yes};
        args[2] = (tc_arg){.kind = TC_A_GRAPH, .graph = no}, args[3] = of_values(k, v, n);
    } else if (kind == 1) {
        tc_value *count = alone(k, "aten::zeros_like", alone(k, "aten::sum", alone(k, "aten::isnan", v[0])));
        if (!count) return false;
        memmove(v + 1, v, sizeof *v * (size_t)n), v[0] = count;
        const int carried = 1 + below(k, n + 1);
        tc_graph *body = body_of(k, v, n + 1, n + 1, carried, false), *test = counting(k, body, v, n + 1);
        name = "higher_order::while_loop", args[0] = (tc_arg){.kind = TC_A_GRAPH, .graph = test},
        args[1] = (tc_arg){.kind = TC_A_GRAPH, .graph = body};
        args[2] = of_values(k, v, carried), args[3] = of_values(k, v + carried, n + 1 - carried);
    } else {
        if (n < 2 || !v[n - 1]->meta.rank) return false;
        const bool scan = kind == 2;
        const int64_t least = number_of(k, v[n - 1]->meta.size[0], 0);
        if (least < 1 || least > 40) return false;
        if (scan) {
            args[0] = (tc_arg){.kind = TC_A_GRAPH, .graph = body_of(k, v, n, n - 1, n - 1, true)};
            args[1] = of_values(k, v, n - 1), args[2] = of_values(k, v + n - 1, 1), args[3] = none;
        } else {
            args[0] = (tc_arg){.kind = TC_A_GRAPH, .graph = body_of(k, v + n - 1, 1, 0, 0, true)};
            args[1] = of_values(k, v + n - 1, 1), args[2] = none;
        }
        name = scan ? "higher_order::scan" : "higher_order::map_impl";
    }
    tc_node *made;
    tc_status st = tc_graph_call(k->graph, tc_op_find(name), args, kind == 3 ? 3 : 4, (tc_source){0}, NULL, &made);
    if (st && getenv("TC_TEST_VERBOSE")) print_message("%s: %s\n", name, tc_status_message(st));
    const bool good = !st;
    controls += good;
    tc_status_free(st);
    for (int i = 0; good && i < made->nouts && k->nvalues < MOST_VALUES; i++)
        if (fits(k, made->outs[i])) k->values[k->nvalues++] = made->outs[i];
    return good;
}

/* ---- gradients ---- */
/* The sum of all results of floating point is one more, and the gradients of the inputs follow; where an operator has none, all stays. */
static void add_gradients(kase *k) {
    tc_program *p = tc_program_clone(k->p);
    tc_emit e = {.graph = p->graph};
    tc_value *loss = NULL;
    for (int i = 0; i < p->noutputs; i++) {
        tc_value *v = p->outputs[i].value;
        if (p->outputs[i].kind != TC_OUT_USER || !v || !tc_is_float(v->meta.dtype)) continue;
        v = tc_emit_call(&e, "aten::sum", "v", tc_e_cast(&e, v, TC_F64));
        loss = loss ? tc_e_add(&e, loss, v) : v;
    }
    tc_status s = e.status;
    if (loss && !s) {
        tc_program_add_output(p, (tc_output){.kind = TC_OUT_USER, .value = loss, .name = "loss", .target = -1});
        s = tc_grad_program(p, p->noutputs - 1, TC_DTYPE_NONE, NULL, 0, NULL);
        if (!s) s = tc_program_verify(p);
    }
    const bool good = loss && !s;
    differentiated += good;
    if (s && getenv("TC_TEST_VERBOSE")) print_message("seed %llu has no gradients: %s\n", (unsigned long long)k->seed, tc_status_message(s));
    tc_status_free(s);
    tc_program_release(good ? k->p : p);
    if (good) k->p = p;
}

static tc_status copy_value(kase *k, tc_value **v) {
    tc_node *n;
    const tc_arg arg = {.kind = TC_A_VALUE, .value = *v};
    TC_TRY(tc_graph_call(k->p->graph, tc_op_find("aten::clone"), &arg, 1, (tc_source){0}, NULL, &n));
    *v = n->outs[0];
    return NULL;
}

static bool is_fixed(const tc_value *v) {
    int64_t n;
    for (int d = 0; d < v->meta.rank; d++)
        if (!tc_sym_const_int(v->meta.size[d], &n)) return false;
    return true;
}
static tc_status add_input(kase *k, int at) {
    static const tc_dtype types[] = {TC_F32, TC_F32, TC_F32, TC_F32, TC_F64, TC_BF16, TC_F16, TC_BOOL, TC_I32, TC_I16, TC_U8, TC_I8};
    const tc_dtype d = at == 1 ? TC_I64 : types[at ? below(k, 12) : 0];
    int rank = at ? below(k, 4) : 2;
    tc_sym size[4];
    for (int i = 0; i < rank; i++) size[i] = below(k, 5) ? size_of(k, below(k, 4)) : tc_sym_int(k->p->sym, 1);
    k->graph = k->p->graph;
    tc_value *v = tc_graph_value(k->p->graph, TC_V_TENSOR, "x");
    v->meta = tc_meta_make(&k->p->arena, d, rank, tc_arena_dup(&k->p->arena, size, sizeof *size * (size_t)(rank + 1)), NULL);
    tc_graph_add_input(k->p->graph, v);
    tc_program_add_input(k->p, (tc_input){.kind = TC_IN_USER, .value = v, .name = v->name, .alias_of = -1});
    k->values[k->nvalues++] = v;
    for (int run = 0; run < MOST_RUNS; run++) {
        int64_t n[4];
        for (int i = 0; i < rank; i++) n[i] = number_of(k, size[i], run);
        TC_TRY(tc_tensor_empty(d, rank, n, &k->inputs[run][at]));
        tc_sample_fill(&k->inputs[run][at], d == TC_I64 || d == TC_BOOL || d == TC_U8 ? 0 : -3, d == TC_BOOL ? 2 : 3, k->seed * 8 + (uint64_t)at);
    }
    tc_input *in = &k->p->inputs[at];
    if (at && is_fixed(v)) in->kind = TC_IN_BUFFER, in->data = tc_tensor_share(&k->inputs[0][at]); /* the same in every run */
    return NULL;
}

/* Values that nothing reads, and some that something does. */
static void add_outputs(kase *k) {
    bool *is_read = tc_xcalloc(k->p->graph->nvalues + 1, sizeof *is_read);
    for (const tc_node *n = k->p->graph->first; n; n = n->next)
        for (int i = 0; i < n->nargs; i++) {
            if (n->args[i].kind == TC_A_VALUE && n->args[i].value) is_read[n->args[i].value->id] = true;
            for (int e = 0; n->args[i].kind == TC_A_VALUES && e < n->args[i].n; e++) is_read[n->args[i].values[e]->id] = true;
        }
    for (int i = k->ninputs; i < k->nvalues; i++) {
        tc_value *v = k->values[i];
        if (is_read[v->id] && below(k, 6)) continue;
        tc_program_add_output(k->p, (tc_output){.kind = TC_OUT_USER, .value = v, .name = v->name, .target = -1});
    }
    free(is_read);
}

static void drop(const kase *k, tc_tensor *t) {
    for (int i = 0; t && i < k->p->noutputs; i++) tc_tensor_deinit(&t[i]);
    free(t);
}
static tc_status run_once(const kase *k, int at, tc_exec *e, tc_tensor *out) {
    tc_tensor in[MOST_INPUTS];
    tc_generator g;
    int n = 0;
    for (int i = 0; i < k->ninputs; i++)
        if (k->p->inputs[i].kind == TC_IN_USER) in[n++] = k->inputs[at][i];
    tc_generator_seed(&g, 3);
    return tc_exec_run(e, in, n, &g, out, k->p->noutputs);
}
/* Where values are kept between runs, the last of four: one at the other size, if there are two, the others at this one. */
static tc_status run(const kase *k, int at, const tc_exec_options *o, const tc_tuning *tuning, tc_tensor *out) {
    tc_exec *e;
    TC_TRY(tc_exec_create(k->p, o, &e));
    tc_exec_set_tuning(e, tuning);
    tc_status s = NULL;
    for (int before = 0; o->keep_packed && before < 3 && !s; before++) {
        tc_tensor *any = tc_xcalloc((size_t)k->p->noutputs + 1, sizeof *any);
        s = run_once(k, before ? at : k->nruns - 1 - at, e, any);
        drop(k, any);
    }
    if (!s) s = run_once(k, at, e, out);
    tc_exec_destroy(e);
    return s;
}

static void free_case(kase *k) {
    for (int at = 0; at < MOST_RUNS; at++) {
        drop(k, k->want[at]);
        for (int i = 0; i < k->ninputs; i++) tc_tensor_deinit(&k->inputs[at][i]);
    }
    tc_program_release(k->p);
    free(k);
}

static const tc_op *any_operator(kase *k) {
    return below(k, 3) ? tc_op_find(usual[below(k, (int)(sizeof usual / sizeof *usual))]) : table.data[below(k, (int)table.len)];
}

/* NULL: what the program computes is refused, an index for instance. */
static kase *make_case(uint64_t seed) {
    kase *k = tc_xcalloc(1, sizeof *k);
    k->seed = seed;
    tc_generator_seed(&k->gen, seed);
    k->p = tc_program_create("random");
    static const int64_t some[] = {1, 2, 3, 5, 7, 16, 17, 33, 64, 130};
    for (int i = 0; i < 4; i++) k->sizes[i] = some[below(k, 10)];
    k->writes = seed % 3 == 0;
    if (seed % 2) k->symbol = tc_sym_var(k->p->sym, "B", TC_SYM_INT, 0, 200);
    for (int i = 0; i < MOST_RUNS; i++) k->values_of[i] = i ? some[below(k, 10)] : k->sizes[0];
    tc_status s = NULL;
    const int ninputs = 3 + below(k, MOST_INPUTS - 2), nnodes = 4 + below(k, 14);
    for (; k->ninputs < ninputs && !s; k->ninputs++) s = add_input(k, k->ninputs);
    for (int i = 0; i < k->ninputs && !s && k->writes; i++) s = copy_value(k, &k->values[i]);
    for (int made = 0, tries = 0; made < nnodes && tries < 400; tries++) {
        if (!below(k, 8)) {
            made += add_control(k);
            continue;
        }
        const tc_op *op = any_operator(k);
        if (k->writes || !tc_op_schema(op)->inplace) made += add_node(k, op);
    }
    add_outputs(k);
    if (!s) s = tc_functionalise(k->p);
    if (!s) s = tc_program_verify(k->p);
    if (!s && seed % 4 == 1) add_gradients(k);
    tc_exec_options o = {.threads = 1, .isa = tc_isa_ops_of(TC_ROW_portable), .no_fuse = true};
    for (; !s && k->nruns < (k->symbol ? MOST_RUNS : 1); k->nruns += !s) {
        k->want[k->nruns] = tc_xcalloc((size_t)k->p->noutputs + 1, sizeof *k->want[0]);
        s = run(k, k->nruns, &o, NULL, k->want[k->nruns]);
    }
    if (k->nruns) { /* another value of the symbol may be refused: by a guard, or by an index */
        tc_status_free(s);
        return k;
    }
    if (getenv("TC_TEST_VERBOSE")) print_message("seed %llu is left out: %s\n", (unsigned long long)seed, tc_status_message(s));
    tc_status_free(s);
    free_case(k);
    return NULL;
}

static void list_operators(void) {
    for (size_t i = 0; i < tc_op_count(); i++) {
        const tc_op *op = tc_op_at(i);
        const tc_schema *s = tc_op_schema(op);
        bool good = !strcmp(s->ns, "aten") && !s->variadic && !s->has_out && s->nparams > 0 && s->params[0].type == TC_T_TENSOR &&
                    !(op->flags & (TC_OP_RANDOM | TC_OP_IMPURE | TC_OP_HIGHER_ORDER | TC_OP_DATA_SHAPE | TC_OP_COMPOSITE)) &&
                    !strstr(s->name, "empty");
        for (int k = 0; k < s->nparams; k++) good = good && (!s->params[k].mutated || (k == 0 && s->inplace));
        if (good) tc_vec_push(&table, op);
    }
}

static int64_t from_environment(const char *name, int64_t otherwise) {
    const char *v = getenv(name);
    return v && *v ? strtoll(v, NULL, 10) : otherwise;
}

static int setup(void **state) {
    (void)state;
    if (!scratch_home("tc-random")) return -1;
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
        if (!tc_op_find(usual[i])) return print_error("no operator is called %s\n", usual[i]), -1;
    list_operators();
    const uint64_t first = (uint64_t)from_environment("TC_TEST_SEED", 1), n = (uint64_t)from_environment("TC_TEST_PROGRAMS", 30);
    for (uint64_t i = first; i < first + n; i++) {
        kase *k = make_case(i);
        if (k) tc_vec_push(&cases, k);
    }
    return 0;
}

static int teardown(void **state) {
    (void)state;
    for (size_t i = 0; i < cases.len; i++) free_case(cases.data[i]);
    tc_vec_free(&cases);
    tc_vec_free(&table);
    tc_status_free(tc_remove_tree(getenv("XDG_CACHE_HOME")));
    return 0;
}

/* Of 16-bit floats the bits of products hold for one instruction set. */
static bool narrow_graph(const tc_graph *g) {
    for (const tc_node *n = g->first; n; n = n->next) {
        for (int i = 0; i < n->nouts; i++)
            if (n->outs[i]->kind == TC_V_TENSOR && tc_is_narrow(n->outs[i]->meta.dtype)) return true;
        for (int i = 0; i < n->nargs; i++)
            if (n->args[i].kind == TC_A_GRAPH && narrow_graph(n->args[i].graph)) return true;
    }
    return false;
}
static bool narrow(const kase *k) { return narrow_graph(k->p->graph); }

/* Whether what it gives so is not want: what it gives with nothing fused. */
static int differs(const kase *k, int at, const tc_tensor *want, tc_exec_options o, const tc_tuning *tuning, const char *by) {
    tc_tensor *got = tc_xcalloc((size_t)k->p->noutputs + 1, sizeof *got);
    tc_status s = run(k, at, &o, tuning, got);
    tc_diff d = {0};
    int r = 0;
    while (!s && r < k->p->noutputs) {
        if (want[r].storage) s = tc_tensor_compare(&got[r], &want[r], 0, 0, &d);
        if (s || d.count) break;
        r++;
    }
    const bool bad = s || d.count;
    if (bad) {
        tc_buf b = {0};
        tc_program_print(&b, k->p, TC_PRINT_SHORT);
        print_error("seed %llu, B = %lld, %s %s, %d threads: result %d: %s, %lld elements, the first at %lld, by %g\n%s\n",
                    (unsigned long long)k->seed, (long long)k->values_of[at], by, o.isa->name, o.threads, r, s ? tc_status_message(s) : "differs",
                    (long long)d.count, (long long)d.first, d.max_abs, tc_buf_str(&b));
        tc_buf_free(&b);
    }
    tc_status_free(s);
    drop(k, got);
    return bad;
}

/* What the case gives with nothing fused by these primitives. */
static tc_tensor *wanted(const kase *k, int at, const tc_isa_ops *isa) {
    const tc_exec_options o = {.threads = 1, .isa = isa, .no_fuse = true};
    tc_tensor *want = tc_xcalloc((size_t)k->p->noutputs + 1, sizeof *want);
    assert_null(run(k, at, &o, NULL, want));
    return want;
}

static int every_way(const kase *k, int at, const tc_isa_ops *isa, tc_tuning *tuning) {
    tc_tensor *own = narrow(k) ? wanted(k, at, isa) : NULL;
    const tc_tensor *want = own ? own : k->want[at];
    int failed = differs(k, at, want, (tc_exec_options){.isa = isa, .threads = 1}, NULL, "fused");
    failed += differs(k, at, want, (tc_exec_options){.isa = isa, .threads = 2, .no_fuse = true}, NULL, "not fused");
    failed += differs(k, at, want, (tc_exec_options){.isa = isa, .threads = 7, .loops = true}, NULL, "as loops");
    failed += differs(k, at, want, (tc_exec_options){.isa = isa, .threads = 2}, tuning, "tuned");
    failed += differs(k, at, want, (tc_exec_options){.isa = isa, .threads = 1, .keep_packed = true}, NULL, "again");
    drop(k, own);
    return failed;
}

static void test_interpreted(void **state) {
    (void)state;
    tc_tuning *tuning;
    int failed = 0;
    assert_true(cases.len > 0);
    assert_null(tc_tuning_create(2, &tuning));
    for (size_t i = 0; i < cases.len; i++) {
        const kase *k = cases.data[i];
        tc_tuning_try(tuning, i % 2 ? "block" : "columns", i % 2 ? 512 : 64);
        for (int at = 0; at < k->nruns; at++) {
            for (int row = 0; row <= (int)best_row(); row++)
                if (tc_isa_supported((tc_isa_row)row)) failed += every_way(k, at, tc_isa_ops_of((tc_isa_row)row), tuning);
            for (int tiles = 1; tiles < TC_TILES_COUNT && narrow(k); tiles++)
                if (tc_isa_tiles_supported((tc_isa_tiles)tiles))
                    failed += every_way(k, at, tc_isa_ops_of_tiles(best_row(), (tc_isa_tiles)tiles), tuning);
        }
    }
    tc_tuning_destroy(tuning);
    assert_int_equal(failed, 0);
}

static void test_compiled(void **state) {
    (void)state;
    const tc_isa_row row = best_row();
    const tc_isa_ops *isa = tc_isa_ops_of(row);
    tc_unit *u = tc_unit_create(&(tc_unit_options){.isa = tc_isa_name(row)});
    tc_emit_count count = {0};
    for (size_t i = 0; i < cases.len; i++) {
        tc_exec *e;
        assert_null(tc_exec_create(cases.data[i]->p, &(tc_exec_options){.threads = 1, .isa = isa}, &e));
        assert_null(tc_exec_emit(e, u, NULL, NULL, &count));
        tc_exec_destroy(e);
    }
    tc_modules *m = load_unit(u, "gcc", row);
    tc_exec_code find = {tc_modules_find, m};
    int failed = 0;
    for (size_t i = 0; i < cases.len; i++) {
        const kase *k = cases.data[i];
        for (int at = 0; at < k->nruns; at++) {
            tc_tensor *own = narrow(k) ? wanted(k, at, isa) : NULL;
            for (int threads = 1; threads < 3; threads++)
                failed += differs(k, at, own ? own : k->want[at], (tc_exec_options){.isa = isa, .code = &find, .threads = threads}, NULL, "compiled");
            drop(k, own);
        }
    }
    print_message("%zu nodes of control flow, %zu programs with gradients\n", controls, differentiated);
    print_message("%zu programs, %zu loops, %zu groups, %zu interpreted\n", cases.len, count.loops, tc_unit_groups(u), count.left);
    assert_int_equal(failed, 0);
    tc_modules_destroy(m);
    tc_unit_destroy(u);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_interpreted), cmocka_unit_test(test_compiled)};
    return cmocka_run_group_tests(tests, setup, teardown);
}
