/* Compiled code inside an archive (packed.h). */
#include "codegen/packed.h"

#include "base/cpu.h"

const char tc_packed_scope[] = "groups by key";

const char tc_packed_variants[] = "tc/variants";
const char tc_packed_tuning[] = "tc/tuning";

const char *tc_packed_path(tc_arena *a, const char *isa) { return tc_arena_printf(a, "tc/code/%d/%s.so", TC_ABI_VERSION, isa); }

tc_status tc_packed_load(const tc_archive *a, const char *cap, bool trusted, tc_modules *m, tc_packed *out) {
    tc_arena arena = {0};
    tc_status s = NULL;
    tc_isa_row top = TC_ROW_COUNT - 1;
    tc_isa_tiles tiles;
    if (cap) tc_isa_find(cap, &top, &tiles); /* what is no name is refused where kernels are chosen */
    *out = (tc_packed){0};
    for (int row = TC_ROW_COUNT - 1; row >= 0 && !s; row--) {
        const char *isa = tc_isa_name((tc_isa_row)row), *note;
        const unsigned char *data;
        size_t len;
        bool found;
        s = tc_archive_extra(a, tc_packed_path(&arena, isa), &data, &len, &found);
        if (s || !found) continue;
        out->variants++;
        if (row > (int)top || out->isa) continue;
        s = tc_modules_load(m, data, len, isa, tc_packed_scope, strlen(tc_packed_scope), trusted, &note);
        if (s) s = tc_annotate(s, "extra/tc/code/%d/%s.so", TC_ABI_VERSION, isa);
        else if (!note) out->isa = isa;
        else if (!out->note) out->note = note;
    }
    if (out->isa) out->note = NULL;
    tc_arena_free(&arena);
    return s;
}
