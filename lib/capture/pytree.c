/* Dicts in the trees of inputs and outputs (pytree): string keys are used as they are, others as the JSON that PyTorch writes for them:
 *
 *     {3: x, "a": y}        ->        "[3, \"a\"]"
 */
#include "base/json_write.h"
#include "capture/capture.h"

/* A key as PyTorch's pytree writes it. Types that its JSON lacks are written as text. */
static void write_key(C *c, tc_json *j, V key) {
    const char *text = tc_to_str(c, key)->s;
    switch (tc_kind_of(key)) {
    case K_INT: tc_json_raw(j, text, strlen(text)); break;
    case K_FLOAT: tc_json_double(j, tc_flt(key)); break;
    case K_BOOL: tc_json_bool(j, key == c->true_); break;
    case K_NONE: tc_json_null(j); break;
    default: tc_json_string(j, text);
    }
}

tc_tree *tc_capture_dict_tree(C *c, tc_arena *a, const dict *d) {
    tc_tree *t = TC_NEW(a, tc_tree);
    tc_buf context = {0};
    tc_json j = {.b = &context};
    bool strings = true;
    V key, x;
    int i = 0;
    *t = (tc_tree){.kind = TC_TREE_DICT, .n = (int)d->live};
    t->children = TC_NEWN(a, tc_tree *, d->live + 1);
    t->keys = TC_NEWN(a, const char *, d->live + 1);
    tc_json_array(&j);
    for (size_t at = 0; tc_dict_next(d, &at, &key, &x); i++) {
        t->keys[i] = tc_arena_strdup(a, tc_to_str(c, key)->s);
        strings &= tc_kind_of(key) == K_STR;
        write_key(c, &j, key);
    }
    tc_json_end(&j);
    if (!strings) t->context = tc_arena_strdup(a, context.data);
    tc_buf_free(&context);
    return t;
}
