/* Writes PT2 archives: each storage once, the configs that map tensors to views of storages, the programs, and tc's own state.
 *
 * Tensors whose bytes overlap in one storage (tied weights, views) share a file, as in PyTorch; tensors that are only
 * parts of the same mapped file (safetensors) do not. */
#include "file/pt2_write.h"

#include "base/crc32.h"
#include "file/weights.h"
#include "op/decompose.h"

#include <stdio.h>

/* A run of bytes of one storage that becomes one file. */
typedef struct {
    const tc_tensor *tensor;
    uintptr_t begin, end;
    int group;
} span;
typedef struct {
    uintptr_t begin, end;
} group;
typedef struct {
    TC_VEC(span) spans;
    TC_VEC(group) groups;
    tc_map by_tensor;
    const char *folder, *stem;
} folder;

static bool is_constant(const tc_input *in) { return in->kind == TC_IN_CONSTANT || (in->kind == TC_IN_BUFFER && !in->persistent); }

static span span_of(const tc_tensor *t) {
    uintptr_t begin = (uintptr_t)tc_tensor_data(t);
    return (span){.tensor = t, .begin = begin, .end = begin + tc_tensor_span(t), .group = -1};
}

static int by_begin(const void *a, const void *b) {
    const span *x = *(const span *const *)a, *y = *(const span *const *)b;
    if (x->begin != y->begin) return x->begin < y->begin ? -1 : 1;
    return x->end > y->end ? -1 : x->end < y->end;
}

static int by_group_order(const void *a, const void *b) { /* files are numbered in the order in which the programs refer to them */
    const span *x = *(const span *const *)a, *y = *(const span *const *)b;
    return x < y ? -1 : x > y;
}

static void collect(folder *f, const tc_archive_content *c, bool (*wanted)(const tc_input *)) {
    for (int p = 0; p < c->nprograms; p++)
        for (int i = 0; i < c->programs[p]->ninputs; i++) {
            const tc_input *in = &c->programs[p]->inputs[i];
            if (!wanted(in) || !in->data.storage) continue;
            span s = span_of(&in->data);
            tc_vec_push(&f->spans, s);
        }
    size_t n = f->spans.len;
    span **order = tc_xcalloc(n + 1, sizeof *order);
    for (size_t i = 0; i < n; i++) order[i] = &f->spans.data[i];
    qsort(order, n, sizeof *order, by_begin);
    TC_VEC(group) merged = {0};
    for (size_t i = 0; i < n; i++) {
        span *s = order[i];
        bool empty = s->begin == s->end;
        size_t skew = merged.len ? (s->begin - merged.data[merged.len - 1].begin) % tc_dtype_size(s->tensor->dtype) : 0;
        if (!empty && merged.len && s->begin < merged.data[merged.len - 1].end && skew == 0) {
            group *g = &merged.data[merged.len - 1];
            if (s->end > g->end) g->end = s->end;
        } else {
            group g = {s->begin, s->end};
            tc_vec_push(&merged, g);
        }
        s->group = (int)merged.len - 1;
    }
    qsort(order, n, sizeof *order, by_group_order);
    int *number = tc_xcalloc(merged.len + 1, sizeof *number);
    for (size_t i = 0; i < n; i++) {
        span *s = order[i];
        if (!number[s->group]) {
            tc_vec_push(&f->groups, merged.data[s->group]);
            number[s->group] = (int)f->groups.len;
        }
        s->group = number[s->group] - 1;
        *tc_map_put(&f->by_tensor, (const char *)&s->tensor, sizeof s->tensor) = (void *)(uintptr_t)(i + 1);
    }
    free(number);
    tc_vec_free(&merged);
    free(order);
}

static void free_folder(folder *f) {
    tc_vec_free(&f->spans);
    tc_vec_free(&f->groups);
    tc_map_free(&f->by_tensor);
}

static tc_status add(tc_zip_writer *z, const char *path, const void *data, size_t n) {
    tc_buf b = {0};
    tc_buf_printf(&b, "archive/%s", path);
    tc_status st = tc_zip_add(z, b.data, data, n);
    tc_buf_free(&b);
    return st;
}

static tc_status add_config(tc_zip_writer *z, const folder *f, const tc_program *p, const char *name, bool (*wanted)(const tc_input *)) {
    tc_buf b = {0}, path = {0};
    tc_json j = {.b = &b};
    char file[32];
    tc_json_object(&j);
    tc_json_key(&j, "config");
    tc_json_object(&j);
    for (int i = 0; i < p->ninputs; i++) {
        const tc_input *in = &p->inputs[i];
        if (!wanted(in) || !in->data.storage) continue;
        const tc_tensor *key = &in->data;
        size_t at = (size_t)(uintptr_t)tc_map_get(&f->by_tensor, (const char *)&key, sizeof key) - 1;
        const span *s = &f->spans.data[at];
        snprintf(file, sizeof file, "%s_%d", f->stem, s->group);
        tc_json_key(&j, in->name);
        tc_json_object(&j);
        tc_json_key(&j, "path_name");
        tc_json_string(&j, file);
        tc_json_key(&j, "is_param");
        tc_json_bool(&j, in->kind == TC_IN_PARAMETER);
        tc_json_key(&j, "use_pickle");
        tc_json_bool(&j, false);
        tc_json_key(&j, "tensor_meta");
        tc_pt2_write_concrete_meta(&j, p, key, (int64_t)((s->begin - f->groups.data[s->group].begin) / tc_dtype_size(key->dtype)),
                                   in->value->meta.requires_grad);
        tc_json_end(&j);
    }
    tc_json_end(&j);
    tc_json_end(&j);
    tc_buf_printf(&path, "data/%s/%s_%s_config.json", f->folder, name, f->folder);
    tc_status st = add(z, path.data, b.data, b.len);
    tc_buf_free(&b);
    tc_buf_free(&path);
    return st;
}

static tc_status add_folder(tc_zip_writer *z, const folder *f, const tc_archive_content *c, bool (*wanted)(const tc_input *)) {
    char path[64];
    bool left_out = c->without_weights && !strcmp(f->folder, "weights"); /* constants are always written */
    for (size_t g = 0; g < f->groups.len && !left_out; g++) {
        snprintf(path, sizeof path, "data/%s/%s_%zu", f->folder, f->stem, g);
        TC_TRY(add(z, path, (const void *)f->groups.data[g].begin, f->groups.data[g].end - f->groups.data[g].begin));
    }
    for (int p = 0; p < c->nprograms; p++) TC_TRY(add_config(z, f, c->programs[p], tc_pt2_stored_name(c, p), wanted));
    return NULL;
}

/* Operators of tc's own that are compositions of PyTorch's: a torch.autograd.Function is the nodes of its forward. */
static bool unknown_to_pytorch(void *ctx, const tc_node *n) {
    const bool own = n->op->decompose && !strcmp(tc_op_schema(n->op)->ns, "tc");
    *(bool *)ctx |= own;
    return own;
}

/* models/NAME.json has the program in PyTorch's operators. One that has others too, whose backward may be the user's, also stands in extra/, under the
 * checksum of that text: it is not taken for the program of an archive that something else has changed. */
static tc_status add_program(tc_zip_writer *z, const tc_program *p, const char *name, tc_buf *json, tc_buf *path) {
    bool any = false;
    tc_program *plain = tc_program_clone(p);
    tc_status st = tc_decompose_some(plain, unknown_to_pytorch, &any);
    if (!st) st = tc_pt2_write_program(any ? plain : p, json);
    tc_program_release(plain);
    tc_buf_printf(path, "models/%s.json", name);
    if (!st) st = add(z, path->data, json->data, json->len);
    if (st || !any) return st;
    path->len = 0;
    tc_buf_printf(path, "extra/tc/%s.%08x.json", p->name, tc_crc32(0, json->data, json->len));
    json->len = 0;
    TC_TRY(tc_pt2_write_program(p, json));
    return add(z, path->data, json->data, json->len);
}

static tc_status add_programs(tc_zip_writer *z, const tc_archive_content *c, uint64_t *io_hash) {
    tc_buf json = {0}, path = {0};
    tc_status st = NULL;
    for (int p = 0; p < c->nprograms && !st; p++) {
        json.len = path.len = 0;
        st = add_program(z, c->programs[p], tc_pt2_stored_name(c, p), &json, &path);
        *io_hash = tc_hash(json.data, json.len, *io_hash);
    }
    for (int p = 0; p < c->nprograms && !st; p++) { /* PyTorch wants the entry; empty means no example inputs */
        json.len = path.len = 0;
        if (c->from) st = tc_pt2_write_examples(c->from, c->programs[p], &json);
        tc_buf_printf(&path, "data/sample_inputs/%s.pt", tc_pt2_stored_name(c, p));
        if (!st) st = add(z, path.data, json.data, json.len);
    }
    for (int p = 0; p < c->nprograms && !st; p++) {
        json.len = path.len = 0;
        tc_pt2_write_state(c->programs[p], &json);
        tc_buf_printf(&path, "extra/tc/%s.json", c->programs[p]->name);
        st = add(z, path.data, json.data, json.len);
    }
    tc_buf_free(&json);
    tc_buf_free(&path);
    return st;
}

static tc_status add_extra(tc_zip_writer *z, const tc_archive_content *c) {
    tc_buf path = {0};
    tc_status st = NULL;
    for (int p = 0; p < c->nprograms && !st; p++) {
        const char *text = c->programs[p]->source_text;
        if (!text) continue;
        path.len = 0;
        tc_buf_printf(&path, "extra/tc/%s.py", c->programs[p]->name);
        st = add(z, path.data, text, strlen(text));
    }
    for (int i = 0; i < c->nextra && !st; i++) st = add(z, c->extra[i].path, c->extra[i].data, c->extra[i].len);
    tc_buf_free(&path);
    return st;
}

static tc_status add_all(tc_zip_writer *z, const tc_archive_content *c, const folder *weights, const folder *constants) {
    uint64_t hash = 0;
    char id[48];
    TC_TRY(add_folder(z, weights, c, tc_takes_weight));
    TC_TRY(add_folder(z, constants, c, is_constant));
    TC_TRY(add_programs(z, c, &hash));
    TC_TRY(add_extra(z, c));
    TC_TRY(add(z, "archive_format", "pt2", 3));
    TC_TRY(add(z, "archive_version", "0", 1));
    TC_TRY(add(z, ".data/version", "6\n", 2));
    TC_TRY(add(z, "byteorder", "little", 6));
    snprintf(id, sizeof id, "%020llu%020llu", (unsigned long long)hash, (unsigned long long)tc_hash(&hash, sizeof hash, 1));
    return add(z, ".data/serialization_id", id, strlen(id));
}

tc_status tc_archive_write(tc_out *o, const tc_archive_content *content) {
    folder weights = {.folder = "weights", .stem = "weight"}, constants = {.folder = "constants", .stem = "tensor"};
    tc_zip_writer *z = tc_zip_writer_create(o, true);
    collect(&weights, content, tc_takes_weight);
    collect(&constants, content, is_constant);
    tc_status st = tc_zip_writer_finish(z, add_all(z, content, &weights, &constants));
    free_folder(&weights);
    free_folder(&constants);
    return st;
}
