/* The bodies of the library's own functions are passed over by their text and parsed later (tc_parse_body): the trees of parsing each file at once, with
 * names that mean the same. */
#include "base/embedded.h"
#include "capture/ast.h"
#include "capture/lang.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

typedef struct {
    const tc_embedded *source;
    int late, functions;
} job;

static void same_scopes(C *c, job *j, const scope *now, scope *later);

static void same(C *c, job *j, const ast *a, const ast *b) {
    if (!a != !b) fail_msg("%s:%d: a node is lacking", j->source->name, a ? a->line : b->line);
    if (!a) return;
    if (a->kind != b->kind || a->op != b->op || a->line != b->line || a->col != b->col || a->n != b->n || a->n2 != b->n2 || !a->name != !b->name ||
        (a->name && strcmp(a->name->s, b->name->s)))
        fail_msg("%s:%d:%d: other nodes, later at %d:%d", j->source->name, a->line, a->col, b->line, b->col);
    if (a->kind == N_NAME && a->var && a->var->kind != b->var->kind)
        fail_msg("%s:%d:%d: %s means something else", j->source->name, a->line, a->col, a->name->s);
    same(c, j, a->a, b->a), same(c, j, a->b, b->b), same(c, j, a->c, b->c);
    for (int i = 0; i < a->n; i++) same(c, j, a->list[i], b->list[i]);
    for (int i = 0; i < a->n2; i++) same(c, j, a->list2[i], b->list2[i]);
    if (a->kind == N_LAMBDA || a->kind == N_COMP || a->kind == N_DEF || a->kind == N_CLASS) same_scopes(c, j, a->sc, b->sc);
}

static void same_scopes(C *c, job *j, const scope *now, scope *later) {
    j->functions += now->kind == SC_FUNC, j->late += later->later.from != NULL;
    assert_null(now->later.from);
    if (later->later.from) tc_parse_body(c, later);
    assert_null(later->later.from);
    if (now->nbody != later->nbody || !now->doc != !later->doc || !now->yields != !later->yields || now->nfree > later->nfree)
        fail_msg("%s:%d: %s is another function", j->source->name, now->line, now->qualname->s);
    for (int i = 0; i < now->nbody; i++) same(c, j, now->body[i], later->body[i]);
    same(c, j, now->expr, later->expr);
}

static void parse_both(C *c, void *ctx) {
    job *j = ctx;
    tc_buf text = {0};
    tc_embedded_append(&text, j->source);
    file *now = tc_file_add(c, j->source->name, tc_buf_str(&text), text.len), *later = tc_file_add(c, j->source->name, tc_buf_str(&text), text.len);
    later->embedded = true;
    const scope *whole = tc_parse(c, now);
    same_scopes(c, j, whole, tc_parse(c, later));
    tc_buf_free(&text);
}

static void test_bodies(void **state) {
    (void)state;
    const tc_embedded *const lists[] = {tc_embedded_sources, tc_embedded_onnx_write};
    job j = {0};
    for (int k = 0; k < 2; k++)
        for (j.source = lists[k]; j.source->name; j.source++) {
            const size_t n = strlen(j.source->name);
            if (n < 3 || strcmp(j.source->name + n - 3, ".py")) continue;
            C *c;
            assert_null(tc_lang_create(&(tc_lang_options){0}, &c));
            tc_status s = tc_lang_run(c, parse_both, &j);
            if (s) fail_msg("%s: %s", j.source->name, tc_status_message(s));
            tc_lang_destroy(c);
        }
    assert_true(j.functions > 1000 && j.late > j.functions / 2);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_bodies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
