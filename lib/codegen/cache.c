/* The cache of compiled objects (cache.h). An entry: "tc-cache 2\n", 32 bytes of BLAKE2b over its key and the rest, the object. */
#include "codegen/cache.h"

#include "base/file.h"
#include "codegen/tc_abi.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <sodium.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char magic[] = "tc-cache 2\n";
enum { MAGIC = sizeof magic - 1, HASH = 32 };

void tc_user_path(const char *variable, const char *home_part, const char *sub, tc_buf *out) {
    const char *base = getenv(variable), *home = getenv("HOME");
    struct passwd *pw = base && *base == '/' ? NULL : home && *home == '/' ? NULL : getpwuid(geteuid());
    if (pw) home = pw->pw_dir;
    out->len = 0;
    if (base && *base == '/') tc_buf_printf(out, "%s/%s", base, sub);
    else if (home && *home == '/') tc_buf_printf(out, "%s/%s/%s", home, home_part, sub);
}

tc_status tc_user_dir(const char *variable, const char *home_part, const char *sub, tc_buf *out) {
    tc_user_path(variable, home_part, sub, out);
    if (!out->len) return tc_error(TC_ENV, "no place for %s: neither %s nor HOME is set", sub, variable);
    char *slash = strrchr(out->data, '/');
    *slash = 0;
    tc_status s = tc_make_dirs(out->data);
    *slash = '/';
    if (s) return s;
    if (mkdir(out->data, 0700) && errno != EEXIST) return tc_error(TC_ENV, "%s: %s", out->data, strerror(errno));
    struct stat st;
    if (lstat(out->data, &st)) return tc_error(TC_ENV, "%s: %s", out->data, strerror(errno));
    if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 077)
        return tc_status_add(tc_error(TC_ENV, "%s: expected a folder of this user with mode 0700", out->data), "chmod 700 it, or set %s", variable);
    return NULL;
}

void tc_hash_field(crypto_generichash_state *h, const void *p, size_t n) {
    uint64_t len = n;
    crypto_generichash_update(h, (const unsigned char *)&len, sizeof len);
    crypto_generichash_update(h, p, n);
}

void tc_user_clear(const char *path) {
    struct stat st;
    if (!stat(path, &st) && !S_ISREG(st.st_mode)) tc_status_free(tc_remove_tree(path));
}

/* The checksum of the entry for this key. */
static void sum_of(const unsigned char *key, const char *object, size_t len, unsigned char *sum) {
    crypto_generichash(sum, HASH, (const unsigned char *)object, len, key, HASH);
}

/* False: the entry is missing, damaged or another's. */
static bool load(const char *path, const unsigned char *key, tc_buf *out) {
    tc_buf file = {0};
    tc_status s = tc_file_read(path, SIZE_MAX / 2, &file);
    unsigned char sum[HASH];
    bool ok = !s && file.len > MAGIC + HASH && !memcmp(file.data, magic, MAGIC);
    if (ok) {
        sum_of(key, file.data + MAGIC + HASH, file.len - MAGIC - HASH, sum);
        ok = !memcmp(sum, file.data + MAGIC, HASH);
    }
    if (ok) tc_buf_append(out, file.data + MAGIC + HASH, file.len - MAGIC - HASH);
    tc_status_free(s);
    tc_buf_free(&file);
    return ok;
}

static tc_status save(const char *path, const unsigned char *key, const tc_buf *object) {
    unsigned char sum[HASH];
    tc_out *o;
    sum_of(key, object->data, object->len, sum);
    TC_TRY(tc_out_open(path, &o));
    tc_status s = tc_out_write(o, magic, MAGIC);
    if (!s) s = tc_out_write(o, sum, sizeof sum);
    if (!s) s = tc_out_write(o, object->data, object->len);
    return tc_out_finish(o, s);
}

/* ---- the limit of the cache's size ---- */
typedef struct {
    char name[2 * HASH + 1];
    int64_t bytes;
    struct timespec used;
} entry;

static bool is_key(const char *s) { return strspn(s, "0123456789abcdef") == 2 * HASH; }

static int by_use(const void *a, const void *b) {
    const struct timespec *x = &((const entry *)a)->used, *y = &((const entry *)b)->used;
    if (x->tv_sec != y->tv_sec) return x->tv_sec < y->tv_sec ? -1 : 1;
    return (x->tv_nsec > y->tv_nsec) - (x->tv_nsec < y->tv_nsec);
}

/* Removes the entries that were not used for longest until the rest has at most `most` bytes, and what writers left that were killed more than a day
 * ago. Without a lock: who reads an entry has opened it; two that remove at the same time may remove a little more than they must. */
static void shrink(const char *folder, int64_t most) {
    enum { DAY = 24 * 60 * 60 };
    DIR *d = opendir(folder);
    TC_VEC(entry) all = {0};
    int64_t total = 0;
    for (struct dirent *e; d && (e = readdir(d));) {
        const bool temporary = e->d_name[0] == '.' && is_key(e->d_name + 1) && !strncmp(e->d_name + 1 + 2 * HASH, ".tmp", 4);
        struct stat st;
        if (!temporary && !(is_key(e->d_name) && !e->d_name[2 * HASH])) continue;
        if (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode)) continue;
        if (temporary) {
            if (time(NULL) - st.st_mtim.tv_sec > DAY) unlinkat(dirfd(d), e->d_name, 0);
            continue;
        }
        entry new = {.bytes = st.st_size, .used = st.st_mtim};
        memcpy(new.name, e->d_name, sizeof new.name);
        tc_vec_push(&all, new);
        total += st.st_size;
    }
    if (total > most) qsort(all.data, all.len, sizeof *all.data, by_use);
    for (size_t i = 0; i < all.len && total > most; i++) {
        unlinkat(dirfd(d), all.data[i].name, 0);
        total -= all.data[i].bytes;
    }
    tc_vec_free(&all);
    if (d) closedir(d);
}

/* Saves a new entry and keeps the cache within its limit. A cache that cannot be written costs time only. */
static void add(char *path, const unsigned char *key, const tc_buf *object) {
    tc_status s = save(path, key, object);
    char *slash = strrchr(path, '/');
    *slash = 0;
    if (!s) shrink(path, tc_cc_limit("TC_CACHE_SIZE", 1024) << 20);
    *slash = '/';
    tc_status_free(s);
}

/* Adds a C text to a hash, without its comments but with their line breaks. */
static void hash_text(crypto_generichash_state *h, const char *s, size_t len) {
    tc_buf code = {0};
    char quote = 0; /* of the literal around s[i] */
    bool comment = false;
    for (size_t i = 0; i < len; i++) {
        const char c = s[i], next = i + 1 < len ? s[i + 1] : 0;
        if (comment) {
            if (c == '\n') tc_buf_putc(&code, c);
            comment = c != '*' || next != '/';
            i += !comment;
        } else if (!quote && c == '/' && next == '*') comment = true, i++;
        else {
            tc_buf_putc(&code, c);
            if (quote && c == '\\') tc_buf_putc(&code, next), i++;
            else if (c == quote) quote = 0;
            else if (!quote && (c == '"' || c == '\'')) quote = c;
        }
    }
    tc_hash_field(h, tc_buf_str(&code), code.len);
    tc_buf_free(&code);
}

tc_status tc_cc_cached(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out, bool *out_hit) {
    tc_buf id = {0}, path = {0};
    unsigned char key[HASH];
    *out_hit = false;
    if (o->weights && o->weights->len > TC_CACHE_WEIGHTS) return tc_cc_build(text, len, kind, o, out);
    tc_status s = tc_cc_identity(kind, o, &id);
    if (!s) s = tc_user_dir("XDG_CACHE_HOME", ".cache", "tc", &path);
    if (!s) {
        crypto_generichash_state h;
        int abi = TC_ABI_VERSION;
        crypto_generichash_init(&h, NULL, 0, sizeof key);
        tc_hash_field(&h, TC_VERSION, strlen(TC_VERSION));
        tc_hash_field(&h, &abi, sizeof abi);
        tc_hash_field(&h, id.data, id.len);
        hash_text(&h, text, len);
        if (o->weights) tc_hash_field(&h, tc_buf_str(o->weights), o->weights->len);
        crypto_generichash_final(&h, key, sizeof key);
        tc_buf_putc(&path, '/');
        for (int i = 0; i < HASH; i++) tc_buf_printf(&path, "%02x", key[i]);
        tc_user_clear(path.data);
        *out_hit = load(path.data, key, out);
        if (*out_hit) utimensat(AT_FDCWD, path.data, NULL, 0); /* used now */
    }
    if (!s && !*out_hit) {
        s = tc_cc_build(text, len, kind, o, out);
        if (!s) add(path.data, key, out);
    }
    tc_buf_free(&id);
    tc_buf_free(&path);
    return s;
}
