/* Compiled code inside an archive (packed.h). */
#include "codegen/packed.h"

#include "base/cpu.h"

const char tc_packed_scope[] = "groups by key";

const char tc_packed_variants[] = "extra/tc/variants";
const char tc_packed_tuning[] = "extra/tc/tuning";

const char *tc_packed_path(tc_arena *a, const char *isa) { return tc_arena_printf(a, "tc/code/%d/%s.so", TC_ABI_VERSION, isa); }

tc_status tc_packed_load(const tc_archive *a, const char *cap, bool trusted, tc_modules *m, tc_packed *out) {
    tc_arena arena = {0};
    tc_status s = NULL;
    tc_isa_row top = TC_ROW_COUNT - 1;
    tc_isa_tiles tiles;
    if (cap) tc_isa_find(cap, &top, &tiles); /* an unknown name is refused where kernels are chosen */
    *out = (tc_packed){0};
    for (int row = TC_ROW_COUNT - 1; row >= 0 && !s; row--) {
        const char *isa = tc_isa_name((tc_isa_row)row), *note;
        const unsigned char *data;
        size_t len;
        bool found;
        const char *path = tc_packed_path(&arena, isa);
        s = tc_archive_entry(a, path, &data, &len, &found);
        if (!s && !found) { /* where version 0.1.0 put it */
            path = tc_arena_printf(&arena, "extra/%s", path);
            s = tc_archive_entry(a, path, &data, &len, &found);
        }
        if (s || !found) continue;
        out->variants++;
        if (row > (int)top || out->isa) continue;
        s = tc_modules_load(m, &(tc_native_code){data, len, isa, tc_packed_scope}, trusted, &note);
        if (s) s = tc_annotate(s, "%s", path);
        else if (!note) out->isa = isa;
        else if (!out->note) out->note = note;
    }
    if (out->isa) out->note = NULL;
    tc_arena_free(&arena);
    return s;
}
