/* The ZIP form and the legacy form of torch.save: finds the pickles and the storages. */
#include "file/torch.h"

#include <stdio.h>

/* ---- ZIP: ROOT/data.pkl, ROOT/data/KEY, ROOT/byteorder, ROOT/version ---- */
typedef struct {
    const tc_zip *zip;
    char *root;          /* "archive/" */
    const char *records; /* "data/", or "constants/" */
    const char *suffix;  /* suffix of a record's key: ".storage" in a package */
} zip_form;

/* "archive/data.pkl", or "data.pkl" itself. */
static const tc_zip_entry *find_pickle(const tc_zip *z) {
    for (size_t i = 0; i < z->n; i++) {
        const char *name = z->entries[i].name, *slash = strchr(name, '/');
        if (!strcmp(slash ? slash + 1 : name, "data.pkl")) return &z->entries[i];
    }
    return NULL;
}

static const char in_package[] = ".data/extern_modules";

/* .data/extern_modules marks torch.package; NULL: z is no package. */
static const tc_zip_entry *find_package(const tc_zip *z) {
    for (size_t i = 0; i < z->n; i++) {
        const char *slash = strchr(z->entries[i].name, '/');
        if (slash && !strcmp(slash + 1, in_package)) return &z->entries[i];
    }
    return NULL;
}

bool tc_saved_is_zip(const tc_zip *z) { return find_pickle(z) || find_package(z); }

static const tc_zip_entry *record(const zip_form *f, tc_saved *t, const char *folder, const char *name, const char *suffix) {
    return tc_zip_find(f->zip, tc_arena_printf(&t->out->arena, "%s%s%s%s", f->root, folder, name, suffix));
}

static tc_status open_record(tc_saved *t, const tc_saved_id *id, size_t bytes, tc_storage **out) {
    zip_form *f = t->self;
    const tc_zip_entry *e = record(f, t, f->records, id->key, f->suffix);
    if (!e) e = record(f, t, "tensors/", id->key, ""); /* the first TorchScript */
    if (!e) return tc_saved_error(t, TC_CONTENT, "record %s%s, which the pickle refers to, is missing", f->records, id->key);
    if (e->size < bytes) return tc_saved_error(t, TC_CONTENT, "record %s has %zu bytes, the storage needs %zu", e->name, e->size, bytes);
    if (e->method != 0) {
        tc_blob *b;
        TC_TRY(tc_zip_inflate(f->zip, e, &b));
        *out = tc_saved_wrap(b, 0, bytes);
        tc_blob_release(b);
        return NULL;
    }
    TC_TRY(tc_zip_check_some(f->zip, e, t->out->check_all, &t->out->checked));
    *out = tc_saved_wrap(f->zip->blob, e->offset, bytes);
    return NULL;
}

static tc_status read_pickle(tc_saved *t, const tc_zip_entry *e) {
    zip_form *f = t->self;
    tc_pickle p;
    tc_blob *unpacked = NULL;
    size_t used;
    const void *data = e->data;
    if (e->method == 0) TC_TRY(tc_zip_check(f->zip, e));
    else TC_TRY(tc_zip_inflate(f->zip, e, &unpacked));
    if (unpacked) data = unpacked->data;
    t->part = e->name;
    tc_place place = {.file = t->file, .offset = unpacked ? 0 : (int64_t)e->offset};
    tc_status st = tc_pickle_read(&p, place, data, e->size, &used);
    if (!st) {
        st = tc_saved_flatten(t, p.root);
        tc_pickle_free(&p);
    }
    tc_blob_release(unpacked);
    return st ? tc_annotate(st, "%s", e->name) : NULL;
}

/* The text of a small record, up to the first white space. */
static void small_text(const zip_form *f, tc_saved *t, const char *name, char *out, size_t room) {
    const tc_zip_entry *e = record(f, t, "", name, "");
    size_t n = e && e->method == 0 ? (e->len < room - 1 ? e->len : room - 1) : 0;
    if (n) memcpy(out, e->data, n);
    out[n] = 0;
    out[strcspn(out, " \r\n")] = 0;
}

/* Reads every pickle of a package: names in "model/net.pkl" get the prefix model.net. Code in the package is ignored. */
static tc_status read_package(tc_saved *t, const zip_form *f) {
    const size_t root = strlen(f->root);
    for (size_t i = 0; i < f->zip->n; i++) {
        const char *name = f->zip->entries[i].name;
        const size_t n = strlen(name);
        if (n < root + 5 || strcmp(name + n - 4, ".pkl") || strncmp(name, f->root, root) || !strncmp(name + root, ".data/", 6)) continue;
        char *prefix = tc_arena_strndup(&t->out->arena, name + root, n - root - 4);
        for (char *p = prefix; *p; p++)
            if (*p == '/') *p = '.';
        t->prefix = prefix;
        TC_TRY(read_pickle(t, &f->zip->entries[i]));
    }
    t->out->format = "torch.package";
    return NULL;
}

static tc_status read_form(tc_saved *t, zip_form *f, const tc_zip_entry *main) {
    char order[16], version[16];
    small_text(f, t, "byteorder", order, sizeof order);
    small_text(f, t, "version", version, sizeof version);
    if (!version[0]) small_text(f, t, ".data/version", version, sizeof version);
    if (*order && strcmp(order, "little") && strcmp(order, "big"))
        return tc_saved_error(t, TC_CONTENT, "byte order %s, expected little or big", order);
    t->swap = !strcmp(order, "big");
    char *end;
    long v = strtol(version, &end, 10);
    if (*version && (*end || v < 1 || v > 10)) return tc_saved_error(t, TC_CONTENT, "archive version %s, expected 1 to 10", version);
    if (!main) return read_package(t, f);
    TC_TRY(read_pickle(t, main));
    const tc_zip_entry *constants = record(f, t, "", "constants.pkl", "");
    if (!constants) return NULL;
    t->out->format = "TorchScript";
    return NULL;
}

tc_status tc_saved_read_zip(const tc_zip *z, tc_tensors *out) {
    const tc_zip_entry *main = find_pickle(z);
    const char *place = main ? main->name : find_package(z)->name;
    const size_t n = strlen(place) - strlen(main ? "data.pkl" : in_package);
    zip_form f = {.zip = z, .root = tc_arena_strndup(&out->arena, place, n), .records = main ? "data/" : ".data/", .suffix = main ? "" : ".storage"};
    tc_saved t = {.file = z->blob->name, .out = out, .open = open_record, .self = &f};
    out->format = z->unsummed ? "torch.save without checksums" : "torch.save";
    tc_status st = read_form(&t, &f, main);
    tc_saved_deinit(&t);
    return st;
}

/* ---- legacy: magic, protocol, system, object, keys; then the storages in the order of the keys ---- */
typedef struct {
    size_t begin; /* of the bytes in the file */
    size_t bytes;
} place_of;
typedef struct {
    tc_blob *blob;
    tc_map places; /* key -> place_of */
    tc_arena arena;
    size_t pos;
} legacy_form;

static tc_status open_legacy(tc_saved *t, const tc_saved_id *id, size_t bytes, tc_storage **out) {
    legacy_form *f = t->self;
    const place_of *p = tc_map_find(&f->places, id->key);
    if (!p) return tc_saved_error(t, TC_CONTENT, "storage %.40s, which the pickle refers to, is missing", id->key);
    if (p->bytes < bytes) return tc_saved_error(t, TC_CONTENT, "storage %.40s has %zu bytes, %zu are needed", id->key, p->bytes, bytes);
    *out = tc_saved_wrap(f->blob, p->begin, p->bytes);
    return NULL;
}

static tc_status next_pickle(tc_saved *t, tc_pickle *p, const char *what) {
    legacy_form *f = t->self;
    size_t used;
    t->part = what;
    if (f->pos >= f->blob->len) return tc_saved_error(t, TC_CONTENT, "missing: the file ends before it");
    TC_TRY(tc_pickle_read(p, (tc_place){.file = t->file, .offset = (int64_t)f->pos}, f->blob->data + f->pos, f->blob->len - f->pos, &used), "%s",
           what);
    f->pos += used;
    return NULL;
}

/* Collects every storage that the object refers to, by key: the type is needed to find the next storage. Shared values are visited once. */
typedef struct {
    tc_map ids;  /* key -> tc_saved_id */
    tc_map seen; /* address */
} id_list;
static tc_status find_ids(tc_saved *t, id_list *l, const tc_pk *v, int depth) {
    if (!v || depth > 400) return v ? tc_saved_error(t, TC_CONTENT, "nests deeper than %d", 400) : NULL;
    if (v->kind == TC_PK_PERSISTENT) {
        tc_saved_id id;
        TC_TRY(tc_saved_id_of(t, v, &id));
        void **slot = tc_map_put(&l->ids, id.key, strlen(id.key));
        if (!*slot) *slot = tc_arena_dup(&t->out->arena, &id, sizeof id);
        return NULL;
    }
    if (v->kind < TC_PK_LIST || v->kind == TC_PK_GLOBAL) return NULL;
    void **slot = tc_map_put(&l->seen, (const char *)&v, sizeof v);
    if (*slot) return NULL;
    *slot = (void *)1;
    if (v->state) TC_TRY(find_ids(t, l, v->state, depth + 1));
    if (v->kind == TC_PK_OBJECT) {
        TC_TRY(find_ids(t, l, v->arguments, depth + 1));
        if (!v->more) return NULL;
        TC_TRY(find_ids(t, l, &v->more->list, depth + 1));
        return find_ids(t, l, &v->more->dict, depth + 1);
    }
    for (uint32_t i = 0; i < v->len; i++) TC_TRY(find_ids(t, l, v->items[i], depth + 1));
    return NULL;
}

static tc_status place_storage(tc_saved *t, const id_list *l, const tc_pk *key) {
    legacy_form *f = t->self;
    if (key->kind != TC_PK_STRING) return tc_saved_error(t, TC_CONTENT, "a key that is no text");
    const tc_saved_id *id = tc_map_get(&l->ids, key->s, key->n);
    if (!id) return tc_saved_error(t, TC_CONTENT, "storage %.*s, whose type nothing says", (int)(key->n < 40 ? key->n : 40), key->s);
    uint64_t count = 0;
    size_t bytes, unit = id->dtype == TC_DTYPE_NONE ? 1 : tc_dtype_size(id->dtype);
    if (f->blob->len - f->pos < 8) return tc_saved_error(t, TC_CONTENT, "the file ends before storage %.40s", id->key);
    for (int i = 0; i < 8; i++) count |= (uint64_t)f->blob->data[f->pos + (size_t)i] << 8 * i;
    f->pos += 8;
    if (!tc_mul_size((size_t)count, unit, &bytes) || bytes > f->blob->len - f->pos)
        return tc_saved_error(t, TC_CONTENT, "storage %.40s: %llu elements of %zu bytes are announced, %zu bytes follow", id->key,
                              (unsigned long long)count, unit, f->blob->len - f->pos);
    void **slot = tc_map_put(&f->places, id->key, strlen(id->key));
    if (*slot) return tc_saved_error(t, TC_CONTENT, "storage %.40s stands twice", id->key);
    place_of *p = TC_NEW(&f->arena, place_of);
    *p = (place_of){f->pos, bytes};
    *slot = p;
    f->pos += bytes;
    return NULL;
}

static tc_status read_head(tc_saved *t) {
    static const unsigned char magic[] = {0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19};
    tc_pickle p;
    TC_TRY(next_pickle(t, &p, "magic number"));
    bool good = p.root->kind == TC_PK_LONG && p.root->n == sizeof magic && !memcmp(p.root->s, magic, sizeof magic);
    tc_pickle_free(&p);
    if (!good)
        return tc_error(TC_CONTENT, "%s: the first pickle is not the legacy magic number 0x1950a86a20f9469cfc6c: not what torch.save writes",
                        t->file);
    TC_TRY(next_pickle(t, &p, "protocol"));
    int64_t protocol = 0;
    good = tc_pk_to_int(p.root, &protocol) && protocol == 1001;
    tc_pickle_free(&p);
    if (!good) return tc_saved_error(t, TC_CONTENT, "legacy protocol %lld, expected 1001", (long long)protocol);
    TC_TRY(next_pickle(t, &p, "system"));
    tc_pickle_free(&p); /* sizes and data are little-endian on every machine */
    return NULL;
}

static tc_status read_keys(tc_saved *t, const id_list *l) {
    tc_pickle p;
    TC_TRY(next_pickle(t, &p, "keys"));
    tc_status st = NULL;
    if (p.root->kind != TC_PK_LIST && p.root->kind != TC_PK_TUPLE) st = tc_saved_error(t, TC_CONTENT, "the keys of the storages are no list");
    for (uint32_t i = 0; !st && i < p.root->len; i++) st = place_storage(t, l, p.root->items[i]);
    tc_pickle_free(&p);
    return st;
}

static tc_status read_legacy(tc_saved *t) {
    tc_pickle object;
    id_list l = {0};
    TC_TRY(read_head(t));
    TC_TRY(next_pickle(t, &object, "object"));
    tc_status st = find_ids(t, &l, object.root, 0);
    if (!st) st = read_keys(t, &l);
    legacy_form *f = t->self;
    if (!st && f->pos != f->blob->len) st = tc_saved_error(t, TC_CONTENT, "%zu more bytes after the storages", f->blob->len - f->pos);
    t->part = NULL;
    if (!st) st = tc_saved_flatten(t, object.root);
    tc_pickle_free(&object);
    tc_map_free(&l.ids);
    tc_map_free(&l.seen);
    return st;
}

tc_status tc_saved_read_legacy(tc_blob *b, tc_tensors *out) {
    legacy_form f = {.blob = b};
    tc_saved t = {.file = b->name, .out = out, .open = open_legacy, .self = &f};
    out->format = "torch.save (legacy)";
    tc_status st = read_legacy(&t);
    tc_saved_deinit(&t);
    tc_map_free(&f.places);
    tc_arena_free(&f.arena);
    return st;
}
