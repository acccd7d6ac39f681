/* Graphs and nodes in the PT2 schema: operators by their PyTorch names, arguments by the names of their schemas. */
#include "file/pt2_write.h"

#include "base/text.h"

static void write_target(tc_json *j, const tc_op *op) {
    tc_buf b = {0};
    const char *name = tc_op_name(op);
    size_t n = strlen(name);
    bool higher = !strncmp(name, "higher_order.", 13); /* higher-order operators have no overload name */
    if (higher && n > 8 && !strcmp(name + n - 8, ".default")) n -= 8;
    tc_buf_printf(&b, "torch.ops.%.*s", (int)n, name);
    tc_json_string(j, b.data);
    tc_buf_free(&b);
}

static void write_inputs(tc_pt2_writer *w, tc_json *j, const tc_node *n) {
    const tc_schema *s = tc_op_schema(n->op);
    tc_json_array(j);
    for (int i = 0; i < n->nargs; i++) {
        const tc_param *p = s->variadic ? NULL : &s->params[i];
        if (p && n->args[i].kind == TC_A_NONE && p->kw_only && p->has_default) continue;
        tc_json_object(j);
        tc_json_key(j, "name");
        tc_json_string(j, p ? p->name : "");
        tc_json_key(j, "arg");
        tc_pt2_write_arg(w, j, &n->args[i], p && p->type == TC_T_OPT_TENSORS);
        tc_json_key(j, "kind");
        tc_json_int(j, p && p->kw_only ? 2 : 1);
        tc_json_end(j);
    }
    tc_json_end(j);
}

/* "b;b.lin@1" as PyTorch writes it: KEY,FQN,CLASS of the model, which torch.export.unflatten needs for every node, and of each module, with the
 * number of the call in the key. */
static void write_calls(tc_buf *b, const char *calls) {
    tc_buf_puts(b, "L__self__,,torch.nn.Module");
    for (size_t n; *calls; calls += n + (calls[n] == ';')) {
        const char *end = strchr(calls, ';'), *number;
        n = end ? (size_t)(end - calls) : strlen(calls);
        number = memchr(calls, '@', n);
        tc_buf_puts(b, ";L__self__");
        tc_buf_append(b, calls, n);
        tc_buf_putc(b, ',');
        tc_buf_append(b, calls, number ? (size_t)(number - calls) : n);
        tc_buf_puts(b, ",torch.nn.Module");
    }
}

static void write_metadata(tc_json *j, const tc_node *n) {
    if (n->annotations) {
        tc_json_raw(j, n->annotations, strlen(n->annotations));
        return;
    }
    tc_buf b = {0};
    tc_json_object(j);
    if (n->source.file) {
        tc_buf_printf(&b, "File \"%s\", line %d, in forward", n->source.file, n->source.line);
        tc_json_key(j, "stack_trace");
        tc_json_string(j, b.data);
    }
    b.len = 0;
    write_calls(&b, n->source.calls ? n->source.calls : "");
    tc_json_key(j, "nn_module_stack");
    tc_json_string(j, b.data);
    if (n->source.checkpoint) {
        b.len = 0;
        tc_buf_printf(&b, "{\"recompute\": %d}", n->source.checkpoint);
        tc_json_key(j, "custom");
        tc_json_string(j, b.data);
    }
    tc_json_end(j);
    tc_buf_free(&b);
}

static bool returns_bare_tensor(const tc_node *n) {
    for (int i = n->nargs; i-- > 0;)
        if (n->args[i].kind == TC_A_GRAPH) return n->args[i].graph->single_tensor_return;
    return false;
}

/* The name of a node whose results have names of their own. torch.export.load() calls one that is named like a Python built-in NAME_1, though another
 * may have that name. */
static const char *tuple_name(tc_pt2_writer *w, const tc_node *n) {
    static const char builtins[] =
        " abs all any bin bool bytes chr complex dict dir divmod filter float format hash hex id input int iter len list map max "
        "min next object oct open ord pow print property range repr reversed round set slice sorted str sum super tuple type vars zip ";
    const char *name = n->name ? n->name : "node";
    return tc_pt2_fresh_name(w, tc_word_in(builtins, name) ? tc_arena_printf(w->arena, "%s_1", name) : name);
}

static void write_node(tc_pt2_writer *w, const tc_node *n) {
    tc_buf text = {0}; /* nodes that compute its symbolic arguments are written before it */
    tc_json j = {.b = &text};
    tc_json_object(&j);
    tc_json_key(&j, "target");
    write_target(&j, n->op);
    tc_json_key(&j, "inputs");
    w->at = n;
    write_inputs(w, &j, n);
    w->at = NULL;
    tc_json_key(&j, "outputs");
    tc_json_array(&j);
    for (int i = 0; i < n->nouts; i++) {
        tc_pt2_write_ref(w, &j, n->outs[i]);
        tc_pt2_declare(w, n->outs[i]);
    }
    tc_json_end(&j);
    tc_json_key(&j, "metadata");
    write_metadata(&j, n);
    tc_json_key(&j, "is_hop_single_tensor_return");
    if (tc_op_schema(n->op)->variadic) tc_json_bool(&j, returns_bare_tensor(n));
    else tc_json_null(&j);
    tc_json_key(&j, "name");
    bool single = n->nouts == 1 && (n->outs[0]->kind == TC_V_TENSOR || n->outs[0]->kind == TC_V_SYM) &&
                  (!tc_op_schema(n->op)->variadic || returns_bare_tensor(n));
    if (single) tc_json_string(&j, tc_pt2_value_name(w, n->outs[0]));
    else tc_json_string(&j, tuple_name(w, n));
    tc_json_end(&j);
    if (w->nodes.len) tc_buf_puts(&w->nodes, ", ");
    tc_buf_append(&w->nodes, text.data, text.len);
    tc_buf_free(&text);
}

static void write_table(tc_json *j, const char *key, const tc_buf *members) {
    tc_buf b = {0};
    tc_buf_putc(&b, '{');
    tc_buf_append(&b, members->data, members->len);
    tc_buf_putc(&b, '}');
    tc_json_key(j, key);
    tc_json_raw(j, b.data, b.len);
    tc_buf_free(&b);
}

/* The main graph's inputs are those of the signature, including constants. */
static void write_graph_inputs(tc_pt2_writer *w, tc_json *j) {
    const tc_program *p = w->program;
    tc_json_array(j);
    for (int i = 0; w->graph != p->graph && i < w->graph->ninputs; i++) {
        tc_pt2_declare(w, w->graph->inputs[i]);
        tc_pt2_write_ref(w, j, w->graph->inputs[i]);
    }
    for (int i = 0; w->graph == p->graph && i < p->ninputs; i++) {
        if (p->inputs[i].value) {
            tc_pt2_declare(w, p->inputs[i].value);
            tc_pt2_write_ref(w, j, p->inputs[i].value);
        } else {
            tc_pt2_write_arg(w, j, &p->inputs[i].leaf, false);
        }
    }
    tc_json_end(j);
}

static void write_output_value(tc_pt2_writer *w, tc_json *j, tc_value *v) {
    tc_arg a = {.kind = v ? TC_A_VALUE : TC_A_NONE, .value = v}; /* None: a missing gradient */
    tc_pt2_write_arg(w, j, &a, false);
}

static void write_graph_outputs(tc_pt2_writer *w, tc_json *j) {
    const tc_program *p = w->program;
    tc_json_array(j);
    for (int i = 0; w->graph != p->graph && i < w->graph->noutputs; i++) write_output_value(w, j, w->graph->outputs[i]);
    for (int i = 0; w->graph == p->graph && i < p->noutputs; i++) {
        if (p->outputs[i].value) write_output_value(w, j, p->outputs[i].value);
        else tc_pt2_write_arg(w, j, &p->outputs[i].leaf, false);
    }
    tc_json_end(j);
}

void tc_pt2_write_graph(tc_pt2_writer *w, tc_json *j) {
    tc_buf outputs = {0};
    tc_json o = {.b = &outputs};
    tc_json_object(j);
    tc_json_key(j, "inputs");
    write_graph_inputs(w, j);
    for (const tc_node *n = w->graph->first; n && !w->status; n = n->next) write_node(w, n);
    write_graph_outputs(w, &o); /* may add further nodes that compute numbers */
    tc_json_key(j, "outputs");
    tc_json_raw(j, outputs.data, outputs.len);
    tc_json_key(j, "nodes");
    tc_json_array(j);
    if (w->nodes.len) tc_json_raw(j, w->nodes.data, w->nodes.len);
    tc_json_end(j);
    write_table(j, "tensor_values", &w->tensors);
    write_table(j, "sym_int_values", &w->ints);
    write_table(j, "sym_bool_values", &w->bools);
    tc_json_key(j, "is_single_tensor_return");
    tc_json_bool(j, w->graph != w->program->graph && w->graph->single_tensor_return);
    tc_json_key(j, "custom_obj_values");
    tc_json_object(j);
    tc_json_end(j);
    write_table(j, "sym_float_values", &w->floats);
    tc_json_end(j);
    tc_buf_free(&outputs);
}
