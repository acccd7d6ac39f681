/* PT2 archives: their entries, weights as views of shared storages, and the outermost object of models/NAME.json. */
#include "file/pt2_read.h"
#include "file/pt2_write.h"
#include "file/source.h"

/* The programs that tc makes beside or from a model. Where no program is called "model" the file calls the first so, if it is one of these, because
 * torch.export.load looks for that name alone; its state keeps the name: extra/tc/train.json. */
static const char *const own_names[] = {"train", "joint", "forward"};

const char *tc_pt2_stored_name(const tc_archive_content *c, int p) {
    const char *name = c->programs[p]->name;
    bool own = false;
    for (size_t i = 0; i < sizeof own_names / sizeof *own_names; i++) own |= !strcmp(name, own_names[i]);
    for (int i = 0; i < c->nprograms; i++) own &= strcmp(c->programs[i]->name, "model") != 0;
    return own && p == 0 ? "model" : name;
}

static bool holds(const tc_archive *a, const char *fmt, const char *name) {
    tc_buf b = {0};
    tc_buf_puts(&b, a->root);
    tc_buf_printf(&b, fmt, name);
    const bool found = tc_zip_find(a->zip, b.data);
    tc_buf_free(&b);
    return found;
}

static void own_name(tc_archive *a) {
    for (size_t k = 0; k < a->names.len; k++)
        for (size_t i = 0; i < sizeof own_names / sizeof *own_names && !strcmp(a->names.data[k], "model"); i++)
            if (holds(a, "extra/tc/%s.json", own_names[i]) && !holds(a, "models/%s.json", own_names[i])) a->own = a->names.data[k] = own_names[i];
}

const char *tc_pt2_name_of(const tc_archive *a, const char *name) { return a->own && !strcmp(name, a->own) ? "model" : name; }

/* The user's files of extra/. */
static void read_extras(tc_archive *a) {
    const char *folder = a->older ? "extra_files/" : "extra/";
    const size_t root = strlen(a->root), n = strlen(folder);
    for (size_t k = 0; k < a->zip->n; k++) {
        const char *name = a->zip->entries[k].name;
        if (strncmp(name, a->root, root) || strncmp(name + root, folder, n)) continue;
        const char *key = name + root + n;
        if (*key && key[strlen(key) - 1] != '/' && strncmp(key, "tc/", 3)) tc_vec_push(&a->extras, tc_arena_printf(&a->arena, "extra/%s", key));
    }
}

static tc_status read_names(tc_archive *a) {
    const tc_zip *z = a->zip;
    const char *first = z->n ? z->entries[0].name : "", *slash = strchr(first, '/');
    a->older = tc_zip_find(z, TC_PT2_OLDER) != NULL;
    if (a->older) {
        a->root = "";
        tc_vec_push(&a->names, "model");
        read_extras(a);
        return NULL;
    }
    if (!slash) return tc_error(TC_CONTENT, "%s: not a PT2 archive: its entries have no root folder", z->blob->name);
    size_t root = (size_t)(slash - first) + 1;
    a->root = tc_arena_strndup(&a->arena, first, root);
    for (size_t i = 0; i < z->n; i++) {
        const char *name = z->entries[i].name;
        size_t n = strlen(name);
        if (strncmp(name, a->root, root) != 0) return tc_error(TC_CONTENT, "%s: %s is not under the root folder %s", z->blob->name, name, a->root);
        if (strncmp(name + root, "models/", 7) == 0 && n > root + 12 && strcmp(name + n - 5, ".json") == 0)
            tc_vec_push(&a->names, tc_arena_strndup(&a->arena, name + root + 7, n - root - 12));
    }
    own_name(a);
    read_extras(a);
    return NULL;
}

static tc_status read_small(const tc_archive *a, const char *path, const tc_zip_entry **out) {
    tc_buf b = {0};
    *out = NULL;
    if (!a->zip) return NULL;
    if (a->older && !strncmp(path, "extra/", 6)) tc_buf_printf(&b, "extra_files/%s", path + 6);
    else tc_buf_printf(&b, "%s%s", a->root, a->older ? tc_pt2_older_path(a, path) : path);
    *out = tc_zip_find(a->zip, b.data);
    tc_buf_free(&b);
    return *out ? tc_zip_check(a->zip, *out) : NULL;
}

static tc_status check_byte_order(const tc_archive *a) {
    const tc_zip_entry *e;
    TC_TRY(read_small(a, "byteorder", &e));
    if (e && !(e->len == 6 && memcmp(e->data, "little", 6) == 0))
        return tc_error(TC_UNSUPPORTED, "%s: byte order %.*s, expected little", a->zip->blob->name, (int)(e->len < 16 ? e->len : 16), e->data);
    return NULL;
}

tc_status tc_archive_open(tc_blob *b, tc_archive **out_archive) {
    tc_archive *a = tc_xcalloc(1, sizeof *a);
    tc_status st = tc_zip_open(b, &a->zip);
    if (!st) a->file = a->zip->blob->name;
    if (!st) st = read_names(a);
    if (!st) st = check_byte_order(a);
    if (st) {
        tc_archive_close(a);
        return st;
    }
    *out_archive = a;
    return NULL;
}

tc_status tc_archive_open_file(const char *path, tc_archive **out_archive) {
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    tc_status st = tc_archive_open(b, out_archive);
    tc_blob_release(b);
    return st;
}

tc_archive *tc_archive_of_programs(tc_program *const *p, size_t n, const char *file) {
    tc_archive *a = tc_xcalloc(1, sizeof *a);
    a->file = tc_arena_strdup(&a->arena, file);
    a->root = "";
    for (size_t i = 0; i < n; i++) {
        tc_vec_push(&a->ready, tc_program_retain(p[i]));
        tc_vec_push(&a->names, p[i]->name);
    }
    return a;
}

void tc_archive_close(tc_archive *a) {
    if (!a) return;
    for (size_t i = 0; i < a->ready.len; i++) tc_program_release(a->ready.data[i]);
    tc_vec_free(&a->ready);
    for (size_t i = 0; i < a->storages.len; i++) tc_storage_release(a->storages.entries[i].value);
    tc_map_free(&a->storages);
    tc_vec_free(&a->names);
    tc_vec_free(&a->extras);
    if (a->zip) tc_zip_close(a->zip);
    tc_arena_free(&a->arena);
    free(a);
}

size_t tc_archive_count(const tc_archive *a) { return a->names.len; }
const char *tc_archive_name(const tc_archive *a, size_t i) { return a->names.data[i]; }
const tc_zip *tc_archive_zip(const tc_archive *a) { return a->zip; }
const char *tc_archive_path(const tc_archive *a) { return a->zip ? a->zip->blob->name : a->file; }

tc_status tc_archive_entry(const tc_archive *a, const char *path, const unsigned char **out_data, size_t *out_len, bool *out_found) {
    const tc_zip_entry *e;
    tc_status st = read_small(a, path, &e);
    *out_found = e != NULL;
    if (e && !st) *out_data = e->data, *out_len = e->len;
    return st;
}

const char *tc_archive_user_extra(const tc_archive *a, size_t i) { return i < a->extras.len ? a->extras.data[i] : NULL; }

/* ---- weights ---- */

/* The storage of one entry for elements of type d: mapped where the element size allows, else an aligned copy. Owned by the archive. */
static tc_status storage_of(tc_archive *a, const char *folder, tc_str file, tc_dtype d, tc_storage **out) {
    tc_buf b = {0};
    tc_buf_printf(&b, "%sdata/%s/%.*s", a->root, folder, (int)file.n, file.s);
    const tc_zip_entry *e = tc_zip_find(a->zip, b.data);
    if (d == TC_BOOL) tc_buf_puts(&b, " as bools");
    void **slot = e ? tc_map_put(&a->storages, b.data, b.len) : NULL;
    tc_buf_free(&b);
    *out = slot ? *slot : NULL;
    if (!e || *out) return NULL;
    if (e->method) return tc_error(TC_UNSUPPORTED, "%s: %s is compressed, expected stored weights", a->zip->blob->name, e->name);
    if ((uintptr_t)e->data % tc_dtype_size(d)) {
        TC_TRY(tc_storage_alloc(e->len, out));
        tc_blob_copy(a->zip->blob, (*out)->data, e->data, e->len);
    } else {
        *out = tc_storage_wrap((void *)(uintptr_t)e->data, e->len, tc_blob_deleter, tc_blob_retain(a->zip->blob));
        (*out)->read_only = true;
    }
    tc_status st = d == TC_BOOL ? tc_storage_bools(out) : NULL;
    *slot = *out;
    return st;
}

static int64_t constant_size(tc_jread *j) { /* {"as_int": 3} */
    int64_t v = 0;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "as_int")) v = tc_jr_int(j);
        else tc_jr_fail(j, TC_CONTENT, "a weight has a symbolic size");
    }
    return v;
}

static int constant_sizes(tc_jread *j, int64_t *out) {
    int n = 0;
    for (tc_jr_array(j); tc_jr_item(j);) {
        int64_t v = constant_size(j);
        if (n < TC_MAX_RANK) out[n] = v;
        else tc_jr_fail(j, TC_UNSUPPORTED, "a tensor of more than %d dimensions", TC_MAX_RANK);
        n++;
    }
    return n;
}

static void weight_meta(tc_jread *j, tc_pt2_weight *w) {
    int strides = 0, code;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "dtype")) {
            code = (int)tc_jr_int(j);
            w->dtype = tc_dtype_from_pt2(code);
            if (w->dtype == TC_DTYPE_NONE && tc_jr_ok(j)) tc_jr_fail(j, TC_UNSUPPORTED, "element type %d of the PT2 schema", code);
        } else if (tc_str_is(key, "sizes")) {
            w->rank = constant_sizes(j, w->size);
        } else if (tc_str_is(key, "strides")) {
            strides = constant_sizes(j, w->stride);
        } else if (tc_str_is(key, "storage_offset")) {
            w->offset = constant_size(j);
        } else if (tc_str_is(key, "requires_grad")) {
            w->requires_grad = tc_jr_bool(j);
        } else if (tc_str_is(key, "layout")) {
            if (tc_jr_int(j) != 7 && tc_jr_ok(j)) tc_jr_fail(j, TC_UNSUPPORTED, "a weight whose layout is not strided");
        } else {
            tc_jr_skip(j);
        }
    }
    if (strides != w->rank && tc_jr_ok(j)) tc_jr_fail(j, TC_CONTENT, "%d sizes but %d strides", w->rank, strides);
}

/* PayloadMeta. */
static void read_weight(tc_archive *a, tc_jread *j, const char *folder, const char *fqn, tc_arena *arena, tc_pt2_weight *w) {
    char file[256] = "";
    bool pickled = false;
    w->dtype = TC_DTYPE_NONE;
    w->constant = !strcmp(folder, "constants");
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "path_name")) {
            tc_str s = tc_jr_string(j);
            if (s.n >= sizeof file) tc_jr_fail(j, TC_CONTENT, "a file name of %zu bytes", s.n);
            else memcpy(file, s.s, s.n), file[s.n] = 0;
        } else if (tc_str_is(key, "is_param")) {
            w->parameter = tc_jr_bool(j);
        } else if (tc_str_is(key, "use_pickle")) {
            pickled = tc_jr_bool(j);
        } else if (tc_str_is(key, "tensor_meta") && !tc_jr_null(j)) {
            weight_meta(j, w);
        } else if (!tc_str_is(key, "tensor_meta")) {
            tc_jr_skip(j);
        }
    }
    if (!tc_jr_ok(j)) return;
    if (pickled) {
        tc_jr_fail(j, TC_UNSUPPORTED, "%s is a pickled tensor subclass", fqn);
    } else if (w->dtype == TC_DTYPE_NONE) {
        tc_jr_fail(j, TC_CONTENT, "%s has no tensor_meta", fqn);
    } else {
        if (*file) w->file = tc_arena_printf(arena, "%s/%s", folder, file);
        tc_jr_fail_with(j, storage_of(a, folder, (tc_str){file, strlen(file)}, w->dtype, &w->storage));
        tc_tensor t;
        if (!tc_jr_ok(j) || !w->storage) return;
        tc_status st = tc_tensor_view(w->storage, w->dtype, w->rank, w->size, w->stride, w->offset, &t);
        if (st) {
            tc_jr_fail(j, TC_CONTENT, "%s: %s", fqn, tc_status_message(st));
            tc_status_free(st);
        } else {
            tc_tensor_deinit(&t);
        }
    }
}

static tc_status read_config(tc_archive *a, const char *folder, const char *suffix, const char *name, tc_arena *arena, tc_map *out) {
    tc_buf b = {0};
    const tc_zip_entry *e;
    tc_jread j;
    if (a->older) return tc_pt2_older_weights(a, folder[0] == 'w' ? "data/weights" : "data/constants", arena, out);
    tc_buf_printf(&b, "data/%s/%s_%s", folder, tc_pt2_name_of(a, name), suffix);
    tc_status st = read_small(a, b.data, &e);
    if (!st && e) {
        char *where = tc_arena_printf(arena, "%s:%s", a->zip->blob->name, b.data);
        tc_jr_init(&j, where, (const char *)e->data, e->len);
        tc_jr_object(&j);
        for (tc_str key; tc_jr_member(&j, &key);) {
            if (!tc_str_is(key, "config")) {
                tc_jr_skip(&j);
                continue;
            }
            tc_jr_object(&j);
            for (tc_str fqn; tc_jr_member(&j, &fqn);) {
                char *owned = tc_arena_strndup(arena, fqn.s, fqn.n);
                tc_pt2_weight *w = TC_NEW(arena, tc_pt2_weight);
                read_weight(a, &j, folder, owned, arena, w);
                void **slot = tc_map_put(out, owned, strlen(owned));
                if (*slot) tc_jr_fail(&j, TC_CONTENT, "%s stands twice", owned);
                *slot = w;
            }
        }
        st = tc_jr_finish(&j);
    }
    tc_buf_free(&b);
    return st;
}

/* The weights and constants of program NAME by FQN -> tc_pt2_weight in `arena`. Storage is borrowed from the archive; NULL if the bytes are not in the archive. */
static tc_status read_weights(tc_archive *a, const char *name, tc_arena *arena, tc_map *out) {
    TC_TRY(read_config(a, "weights", "weights_config.json", name, arena, out));
    return read_config(a, "constants", "constants_config.json", name, arena, out);
}

static tc_status ready_weights(const tc_program *p, tc_tensors *out) {
    tc_status st = NULL;
    for (int i = 0; i < p->ninputs && !st; i++)
        if (p->inputs[i].data.storage && !tc_tensors_find(out, p->inputs[i].name))
            st = tc_tensors_add(out, p->inputs[i].name, tc_tensor_share(&p->inputs[i].data));
    return st;
}

tc_status tc_archive_weights(tc_archive *a, const char *name, tc_tensors *out) {
    if (a->ready.len) return ready_weights(a->ready.data[0], out);
    tc_arena arena = {0};
    tc_map weights = {0};
    tc_status st = read_config(a, "weights", "weights_config.json", name, &arena, &weights);
    for (size_t i = 0; !st && i < weights.len; i++) {
        const tc_pt2_weight *w = weights.entries[i].value;
        tc_tensor t;
        if (tc_tensors_find(out, weights.entries[i].key)) continue;
        if (!w->storage) {
            tc_vec_push(&out->outside, tc_arena_strdup(&out->arena, weights.entries[i].key));
            continue;
        }
        st = tc_tensor_view(w->storage, w->dtype, w->rank, w->size, w->stride, w->offset, &t);
        if (!st) st = tc_tensors_add(out, weights.entries[i].key, t);
    }
    tc_map_free(&weights);
    tc_arena_free(&arena);
    return st;
}

/* ---- a program ---- */
/* The default program: the only one, or the one whose name all others extend (train-2: train at other sizes), or "model". */
static const char *meant(const tc_archive *a) {
    for (size_t k = 0; k < a->names.len; k++) {
        const char *name = a->names.data[k];
        const size_t n = strlen(name);
        size_t sides = 0;
        for (size_t i = 0; i < a->names.len; i++)
            sides += !strncmp(a->names.data[i], name, n) && (!a->names.data[i][n] || a->names.data[i][n] == '-');
        if (sides == a->names.len) return name;
    }
    return "model";
}

/* Did torch._inductor.aoti_compile_and_package write it? */
static bool is_compiled(const tc_archive *a) {
    bool any = false;
    for (size_t i = 0; i < a->zip->n; i++) any |= strstr(a->zip->entries[i].name, "/data/aotinductor/") != NULL;
    return any;
}

tc_status tc_archive_choose(const tc_archive *a, const char **io_name) {
    const char *want = *io_name ? *io_name : meant(a);
    tc_buf b = {0};
    for (size_t i = 0; i < a->names.len; i++) {
        if (strcmp(a->names.data[i], want) == 0) {
            *io_name = a->names.data[i];
            tc_buf_free(&b);
            return NULL;
        }
        tc_buf_printf(&b, "%s%s", i ? ", " : "", a->names.data[i]);
    }
    tc_status st;
    if (a->names.len) st = tc_error(TC_USAGE, "%s has no program named %s; it has %s (--model NAME)", a->file, want, tc_buf_str(&b));
    else if (is_compiled(a))
        st = tc_error(TC_UNSUPPORTED, "%s is a package of AOTInductor: it holds machine code and no program; torch.export.save writes one", a->file);
    else st = tc_error(TC_CONTENT, "%s holds no program (no models/NAME.json)", a->file);
    tc_buf_free(&b);
    return st;
}

static void schema_version(tc_jread *j) {
    int64_t major = 8;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "major")) major = tc_jr_int(j);
        else tc_jr_skip(j);
    }
    if (major != 8 && major != 0) tc_jr_fail(j, TC_UNSUPPORTED, "schema version %lld, expected 8", (long long)major);
}

/* Declares the symbols of sizes in the file's order. Their ranges are set after the guards are read, because guards may depend on the unbounded
 * symbol and say more than its range. Symbols from data are declared by the operator that makes them. */
static void range_constraints(tc_pt2_reader *r) {
    tc_jread *j = &r->j;
    tc_jr_object(j);
    for (tc_str name; tc_jr_member(j, &name);) {
        tc_pt2_range range = {TC_SYM_NO_LO, TC_SYM_NO_HI};
        const char *owned = tc_arena_strndup(&r->scratch, name.s, name.n);
        tc_jr_object(j);
        for (tc_str key; tc_jr_member(j, &key);) {
            bool lo = tc_str_is(key, "min_val"), hi = tc_str_is(key, "max_val");
            int64_t v;
            double d;
            if (!lo && !hi) tc_jr_skip(j);
            else if (!tc_jr_null(j) && tc_jr_peek(j) == TC_JR_NUMBER && tc_jr_number(j, &v, &d)) *(lo ? &range.lo : &range.hi) = v;
        }
        if (range.lo > range.hi) tc_jr_fail(j, TC_CONTENT, "the range of %s is empty", owned);
        if (owned[0] != 'u' && owned[0] != 'z') tc_sym_var(r->program->sym, owned, TC_SYM_INT, 0, TC_SYM_NO_HI);
        tc_map_set(&r->ranges, owned, tc_arena_dup(&r->scratch, &range, sizeof range));
    }
}

/* Do the guards say more of the sizes? A guard of what depends on data checks it, and does not replace it. */
static bool bound_by_guards(const tc_program *p) {
    bool data = false;
    for (size_t i = 0; i < p->guards.len; i++) data = data || tc_sym_holds_data(p->guards.data[i].cond);
    return p->guards.len && !data;
}

static void exported_program(tc_pt2_reader *r, const tc_map *weights) {
    tc_jread *j = &r->j;
    tc_jr_mark guards = {0};
    bool module = false;
    tc_jr_object(j);
    for (tc_str key; tc_jr_member(j, &key);) {
        if (tc_str_is(key, "schema_version")) schema_version(j);
        else if (tc_str_is(key, "range_constraints")) range_constraints(r);
        else if (tc_str_is(key, "graph_module") && !module) tc_pt2_graph_module(r), module = true;
        else if (tc_str_is(key, "guards_code")) guards = tc_jr_tell(j), tc_jr_skip(j);
        else tc_jr_skip(j);
    }
    tc_jr_mark end = tc_jr_tell(j);
    if (tc_jr_ok(j) && !module) tc_jr_fail(j, TC_CONTENT, "no graph_module");
    if (tc_jr_ok(j)) tc_pt2_build(r, weights);
    if (tc_jr_ok(j) && guards.p) {
        tc_jr_seek(j, guards);
        tc_pt2_guards_code(r);
        if (bound_by_guards(r->program)) tc_program_simplify(r->program);
    }
    if (tc_jr_ok(j)) tc_jr_seek(j, end);
}

/* Renames data-dependent symbols to the file's names for them. */
static void call_as_the_file(tc_pt2_reader *r) {
    const char **names = TC_NEWN(&r->scratch, const char *, r->from.len + 1);
    for (size_t i = 0; i < r->from.len; i++) names[i] = tc_sym_var_name(r->from.data[i]);
    tc_sym_rename(r->program->sym, r->to.data, names, r->from.len);
}

/* The entry with operators that PyTorch lacks, which the archive has beside entry e as long as that is the one tc wrote. */
static tc_status program_itself(const tc_archive *a, const char *name, tc_arena *arena, char **io_path, const tc_zip_entry **io_e) {
    const tc_zip_entry *own;
    char *path = tc_arena_printf(arena, "extra/tc/%s.%08x.json", name, (*io_e)->crc);
    TC_TRY(read_small(a, path, &own));
    if (own) *io_path = path, *io_e = own;
    return NULL;
}

tc_status tc_archive_program(tc_archive *a, const char *name, tc_program **out_program) {
    TC_TRY(tc_archive_choose(a, &name));
    for (size_t i = 0; i < a->ready.len; i++)
        if (!strcmp(a->ready.data[i]->name, name)) {
            *out_program = tc_program_clone(a->ready.data[i]);
            return NULL;
        }
    tc_pt2_reader r = {.archive = a};
    tc_map weights = {0};
    const tc_zip_entry *e = NULL;
    tc_status st = read_weights(a, name, &r.scratch, &weights);
    char *path = tc_arena_printf(&r.scratch, "models/%s.json", tc_pt2_name_of(a, name));
    if (!st) st = read_small(a, path, &e);
    if (!st) st = program_itself(a, name, &r.scratch, &path, &e);
    if (!st) { /* the name came from the ZIP directory, so the entry exists */
        r.program = tc_program_create(name);
        r.main.graph = r.program->graph;
        r.main.autocast = TC_DTYPE_NONE;
        tc_jr_init(&r.j, tc_arena_printf(&r.scratch, "%s:%s", a->zip->blob->name, path), (const char *)e->data, e->len);
        exported_program(&r, &weights);
        st = tc_jr_finish(&r.j);
        if (!st) st = tc_pt2_read_state(&r);
        if (!st) call_as_the_file(&r);
        if (st) tc_program_release(r.program);
        else *out_program = r.program;
    }
    tc_pt2_close_scope(&r.main);
    tc_map_free(&weights);
    tc_map_free(&r.ranges);
    tc_map_free(&r.targets);
    tc_vec_free(&r.from);
    tc_vec_free(&r.hints);
    tc_vec_free(&r.to);
    tc_arena_free(&r.scratch);
    return st;
}
