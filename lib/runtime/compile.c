/* Compiles the loops of planned programs (compile.h). */
#include "runtime/compile.h"

#include "codegen/cache.h"
#include "codegen/packed.h"
#include "codegen/trust.h"
#include "version.h"

tc_status tc_exec_emit(const tc_exec *e, tc_unit *u, void (*note)(void *, const char *, const char *), void *ctx, tc_emit_count *count) {
    tc_arena a = {0};
    tc_loop_list loops = {0};
    tc_status s = NULL;
    tc_exec_loops(e, &loops);
    for (size_t k = 0; !s && k < loops.len; k++) {
        const tc_loop *l = loops.data[k];
        tc_group_desc d;
        s = tc_group_describe(l, &a, &d);
        if (!s) s = tc_unit_add(u, l, &d);
        count->loops++;
        if (tc_status_code(s) != TC_UNSUPPORTED) continue;
        if (note) note(ctx, l->nnodes && l->nodes[l->nnodes - 1]->name ? l->nodes[l->nnodes - 1]->name : "a group", tc_status_message(s));
        tc_status_free(s);
        s = NULL;
        count->left++;
    }
    tc_vec_free(&loops);
    tc_arena_free(&a);
    return s;
}

tc_status tc_exec_compile(const tc_exec *e, const tc_cc_options *o, tc_modules *m, tc_emit_count *count) {
    tc_unit *u = tc_unit_create(&(tc_unit_options){.isa = o->isa, .made_by = "tc " TC_VERSION});
    tc_buf text = {0}, code = {0};
    const char *why = NULL;
    *count = (tc_emit_count){0};
    tc_status s = tc_exec_emit(e, u, NULL, NULL, count);
    if (!s && tc_unit_groups(u)) {
        tc_unit_finish(u, &text);
        s = tc_cc_cached(text.data, text.len, TC_CC_SHARED, o, &code, &count->cached);
        const char *isa = o->isa ? o->isa : "portable";
        const tc_native_code made = {code.data, code.len, isa, tc_packed_scope};
        if (!s) s = tc_trust_add(&made);
        if (!s) s = tc_modules_load(m, &made, false, &why);
        if (!s && why) s = tc_error(TC_ENV, "the code just compiled is not loaded: %s", why);
    }
    tc_buf_free(&text);
    tc_buf_free(&code);
    tc_unit_destroy(u);
    return s;
}
