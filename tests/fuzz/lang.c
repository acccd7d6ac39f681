/* The model language on any text: parsing and running its top level ends within the limits, and everything is freed. */
#include "fuzz.h"

#include "capture/lang.h"

typedef struct {
    const char *text;
    size_t n;
} source;

static void load(C *c, void *ctx) {
    source *s = ctx;
    tc_lang_load(c, "fuzz.py", s->text, s->n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    C *c;
    tc_lang_options o = {.max_steps = 20000, .max_memory = 16u << 20, .max_tensor_bytes = 1 << 20};
    if (tc_lang_create(&o, &c)) return 0;
    source s = {(const char *)data, n};
    tc_status st = tc_lang_run(c, load, &s);
    tc_status_free(st);
    tc_lang_destroy(c);
    return 0;
}
