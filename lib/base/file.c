/* Mapping, spooling and atomic replacement of files. See file.h. */
#include "base/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

enum { SPOOL_MEMORY = 64 << 20, OUT_BUFFER = 256 << 10 };

static tc_status env_error(const char *name, const char *what) {
    int e = errno;
    return tc_error(TC_ENV, "%s: cannot %s: %s", name, what, strerror(e));
}

const char *tc_path_last(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- inputs ---- */

static tc_blob *new_blob(const char *name) {
    tc_blob *b = tc_xcalloc(1, sizeof *b);
    b->name = tc_xstrdup(name);
    b->refs = 1;
    return b;
}

static tc_status map_fd(tc_blob *b, int fd, size_t len) {
    if (len == 0) return NULL;
    void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    if (p == MAP_FAILED) return env_error(b->name, "map");
    b->data = p;
    b->len = len;
    b->mapped = true;
    return NULL;
}

/* An unlinked temporary file with the bytes of `have`, then the rest of fd. */
static tc_status spool(tc_blob *b, int fd, tc_buf *have) {
    const char *dir = getenv("TMPDIR");
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s/tc-spool-XXXXXX", dir && *dir ? dir : "/tmp");
    if (n < 0 || (size_t)n >= sizeof path) return tc_error(TC_ENV, "TMPDIR is too long");
    int tmp = mkostemp(path, O_CLOEXEC);
    if (tmp < 0) return env_error(path, "create");
    unlink(path);
    tc_status s = tc_write_all(tmp, have->data, have->len, path);
    size_t total = have->len;
    tc_buf_free(have);
    char *chunk = tc_xmalloc(1 << 20);
    while (!s) {
        ssize_t r = read(fd, chunk, 1 << 20);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) s = env_error(b->name, "read");
        if (r <= 0) break;
        s = tc_write_all(tmp, chunk, (size_t)r, path);
        total += (size_t)r;
    }
    free(chunk);
    if (!s) s = map_fd(b, tmp, total);
    close(tmp);
    return s;
}

/* /dev/zero and its like never end, and a pipe of no known format may not: what they give is not spooled. */
static tc_status check_spool(const tc_blob *b, int fd, const tc_buf *have, tc_blob_known *known) {
    struct stat st;
    if (!fstat(fd, &st) && S_ISCHR(st.st_mode))
        return tc_error(TC_CONTENT, "%s: a device that gives more than %d MiB, expected a file or a pipe", b->name, SPOOL_MEMORY >> 20);
    if (!known || known(have->data, have->len)) return NULL;
    return tc_error(TC_CONTENT, "%s: more than %d MiB that begin like no known file", b->name, SPOOL_MEMORY >> 20);
}

static tc_status read_pipe(tc_blob *b, int fd, tc_blob_known *known) {
    tc_buf buf = {0};
    for (;;) {
        if (buf.len >= SPOOL_MEMORY) {
            tc_status s = check_spool(b, fd, &buf, known);
            if (!s) return spool(b, fd, &buf);
            tc_buf_free(&buf);
            return s;
        }
        tc_buf_reserve(&buf, buf.len < 65536 ? 65536 : buf.len / 2);
        ssize_t r = read(fd, buf.data + buf.len, buf.cap - buf.len - 1);
        if (r < 0 && errno == EINTR) continue;
        if (r < 0) {
            tc_status s = env_error(b->name, "read");
            tc_buf_free(&buf);
            return s;
        }
        if (r == 0) break;
        buf.len += (size_t)r;
    }
    if (buf.len) {
        b->data = (unsigned char *)buf.data;
        b->len = buf.len;
        b->data[b->len] = 0;
    } else {
        tc_buf_free(&buf);
    }
    return NULL;
}

static tc_status blob_from_fd(int fd, const char *name, tc_blob_known *known, tc_blob **out_blob) {
    *out_blob = NULL;
    struct stat st;
    if (fstat(fd, &st)) return env_error(name, "read");
    if (S_ISDIR(st.st_mode)) return tc_error(TC_ENV, "%s: is a directory, expected a file", name);
    tc_blob *b = new_blob(name);
    bool whole = S_ISREG(st.st_mode) && lseek(fd, 0, SEEK_CUR) == 0 && st.st_size > 0; /* files in /proc report 0 bytes: they are read */
    tc_status s = whole ? map_fd(b, fd, (size_t)st.st_size) : read_pipe(b, fd, known);
    if (s) {
        tc_blob_release(b);
        return s;
    }
    *out_blob = b;
    return NULL;
}

tc_status tc_blob_from_fd(int fd, const char *name, tc_blob **out_blob) { return blob_from_fd(fd, name, NULL, out_blob); }

tc_status tc_blob_open_known(const char *path, tc_blob_known *known, tc_blob **out_blob) {
    *out_blob = NULL;
    if (strcmp(path, "-") == 0) return blob_from_fd(STDIN_FILENO, "stdin", known, out_blob);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return env_error(path, "open");
    tc_status s = blob_from_fd(fd, path, known, out_blob);
    close(fd);
    return s;
}

tc_status tc_blob_open(const char *path, tc_blob **out_blob) { return tc_blob_open_known(path, NULL, out_blob); }

tc_blob *tc_blob_adopt(void *data, size_t n, const char *name) {
    tc_blob *b = new_blob(name);
    b->data = data;
    b->len = n;
    return b;
}

tc_blob *tc_blob_slice(tc_blob *b, size_t offset, size_t n, const char *name) {
    tc_blob *s = new_blob(name);
    TC_ASSERT(offset <= b->len && n <= b->len - offset);
    s->data = n ? b->data + offset : NULL;
    s->len = n;
    s->mapped = b->mapped;
    s->whole = tc_blob_retain(b);
    return s;
}

void tc_blob_forget(const tc_blob *b, const void *p, size_t n) {
    while (b->whole) b = b->whole;
    if (!b->mapped || !n) return;
    uintptr_t page = 4096, begin = (uintptr_t)p & ~(page - 1), end = ((uintptr_t)p + n + page - 1) & ~(page - 1);
    madvise((void *)begin, end - begin, MADV_DONTNEED); /* the mapping is private and was never written */
}

tc_blob *tc_blob_retain(tc_blob *b) {
    __atomic_fetch_add(&b->refs, 1, __ATOMIC_RELAXED);
    return b;
}

void tc_blob_release(tc_blob *b) {
    if (!b || __atomic_sub_fetch(&b->refs, 1, __ATOMIC_ACQ_REL)) return;
    if (b->whole) tc_blob_release(b->whole);
    else if (b->mapped) munmap(b->data, b->len);
    else free(b->data);
    free(b->name);
    free(b);
}

void tc_blob_deleter(void *blob, void *data) {
    (void)data;
    tc_blob_release(blob);
}

tc_status tc_file_read(const char *path, size_t limit, tc_buf *out) {
    tc_blob *b;
    TC_TRY(tc_blob_open(path, &b));
    tc_status s = NULL;
    if (b->len > limit) s = tc_error(TC_CONTENT, "%s: %zu bytes, expected at most %zu", path, b->len, limit);
    else tc_buf_append(out, b->data, b->len);
    tc_blob_release(b);
    return s;
}

/* ---- outputs ---- */

struct tc_out {
    int fd;
    char *name;   /* as given, for messages */
    char *target; /* resolved path; NULL: written directly */
    char *temporary;
    uint64_t offset;
    size_t fill;
    bool close_fd;
    tc_buf *memory; /* written to instead of fd; NULL: none */
    char buffer[OUT_BUFFER];
};

tc_status tc_write_all(int fd, const void *p, size_t n, const char *name) {
    const char *s = p;
    while (n) {
        ssize_t w = write(fd, s, n);
        if (w < 0 && errno == EINTR) continue;
        if (w < 0) return env_error(name, "write");
        s += w;
        n -= (size_t)w;
    }
    return NULL;
}

char *tc_path_follow(const char *path) {
    char *cur = tc_xstrdup(path);
    for (int depth = 0; depth < 40; depth++) {
        char link[PATH_MAX];
        ssize_t n = readlink(cur, link, sizeof link - 1);
        if (n < 0) return cur;
        link[n] = 0;
        char *slash = strrchr(cur, '/');
        tc_buf b = {0};
        if (link[0] != '/' && slash) tc_buf_append(&b, cur, (size_t)(slash - cur) + 1);
        tc_buf_puts(&b, link);
        free(cur);
        cur = b.data;
    }
    return cur;
}

/* ---- temporary files and folders ----
 * Each is locked by its writer while it lives, so that one whose writer was killed is known by its free lock. */

__attribute__((weak)) void tc_temporary_made(const char *path) { (void)path; }
__attribute__((weak)) void tc_temporary_gone(const char *path) { (void)path; }
__attribute__((weak)) void tc_temporary_hold_signals(bool hold) { (void)hold; }

/* Removes the temporary of a killed writer at path, if it has this type (S_IFREG or S_IFDIR). */
static void remove_left(const char *path, mode_t type) {
    struct stat opened, there;
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0) return;
    bool left = !fstat(fd, &opened) && (opened.st_mode & S_IFMT) == type && !flock(fd, LOCK_EX | LOCK_NB);
    /* its writer may have been alive, renamed it and started another */
    if (left && !lstat(path, &there) && opened.st_ino == there.st_ino && opened.st_dev == there.st_dev) tc_status_free(tc_remove_tree(path));
    close(fd);
}

/* Is the new temporary still this writer's? Another writer may have removed it as abandoned before it was locked. */
static bool held(int fd) {
    struct stat st;
    if (flock(fd, LOCK_EX | LOCK_NB)) return errno != EWOULDBLOCK; /* the file system has no locks */
    return fstat(fd, &st) || st.st_nlink > 0;
}

/* Creates, opens and locks a file or folder; -1 with errno EEXIST if the name is taken. */
static int make_held(const char *path, mode_t type) {
    bool folder = type == S_IFDIR;
    if (folder && mkdir(path, 0777)) return -1;
    int fd = folder ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd >= 0 && held(fd)) return fd;
    int why = fd >= 0 || (folder && errno == ENOENT) ? EEXIST : errno;
    if (fd >= 0) close(fd);
    else if (folder) rmdir(path);
    errno = why;
    return -1;
}

/* The temporaries of a target are .NAME.tmp0, .NAME.tmp1, ..., of a NAME near the file system's limit its first bytes; each writer takes the first
 * that no living writer holds. The first few are always checked, so that those of killed writers are removed, however large the folder is. The caller
 * frees out_path and closes out_fd, which holds the lock. */
static tc_status open_temporary(const char *target, const char *name, mode_t type, char **out_path, int *out_fd) {
    enum { LOOKED_AT = 4, MOST = 10000, SUFFIX = sizeof ".tmp9999" };
    const char *base = tc_path_last(target);
    const int dir = (int)(base - target);
    tc_buf b = {0};
    *out_path = NULL;
    for (unsigned i = 0; i < LOOKED_AT + MOST; i++) { /* no failure may follow its creation: nobody else would remove it */
        b.len = 0;
        tc_buf_printf(&b, "%.*s.%.*s.tmp%u", dir, target, NAME_MAX - SUFFIX, base, i < LOOKED_AT ? i : i - LOOKED_AT);
        remove_left(b.data, type);
        if (i < LOOKED_AT) continue;
        tc_temporary_hold_signals(true);
        *out_fd = make_held(b.data, type);
        const int why = errno;
        if (*out_fd >= 0) tc_temporary_made(b.data);
        tc_temporary_hold_signals(false);
        if (*out_fd >= 0) {
            *out_path = b.data;
            return NULL;
        }
        errno = why;
        if (why != EEXIST) return tc_buf_free(&b), env_error(name, "create");
    }
    tc_buf_free(&b);
    return tc_error(TC_ENV, "%s: cannot create a temporary %s beside it", name, type == S_IFDIR ? "folder" : "file");
}

static void remove_temporary(const char *path) {
    tc_temporary_hold_signals(true);
    tc_status_free(tc_remove_tree(path));
    tc_temporary_gone(path);
    tc_temporary_hold_signals(false);
}

/* Renames the temporary to the target, or removes it; makes the rename durable. */
static tc_status rename_to(const char *temporary, const char *target, const char *name) {
    const char *base = tc_path_last(target);
    char parent[PATH_MAX]; /* on the stack: no allocation may fail between the renames of files that belong together */
    snprintf(parent, sizeof parent, "%.*s", base > target + 1 ? (int)(base - target) - 1 : 1, base > target ? target : ".");
    tc_temporary_hold_signals(true);
    tc_status s = rename(temporary, target) ? env_error(name, "rename the temporary to") : NULL;
    if (!s) tc_temporary_gone(temporary);
    tc_temporary_hold_signals(false);
    if (s) remove_temporary(temporary);
    else s = tc_annotate(tc_fsync_dir(parent), "%s: complete, but its name may not outlast a crash of the system", name);
    return s;
}

tc_status tc_out_open(const char *path, tc_out **out_file) {
    *out_file = NULL;
    bool to_stdout = !path || strcmp(path, "-") == 0;
    tc_out *o = tc_xmalloc(sizeof *o);
    memset(o, 0, offsetof(tc_out, buffer));
    o->name = tc_xstrdup(to_stdout ? "stdout" : path);
    o->fd = STDOUT_FILENO;
    tc_status s = NULL;
    if (!to_stdout) {
        struct stat st;
        bool exists = stat(path, &st) == 0, loops = !exists && errno == ELOOP;
        o->close_fd = true;
        if (loops) {
            s = env_error(path, "create");
        } else if (exists && S_ISDIR(st.st_mode)) {
            s = tc_error(TC_ENV, "%s: is a directory, expected a file", path);
        } else if (exists && !S_ISREG(st.st_mode)) {
            o->fd = open(path, O_WRONLY | O_CLOEXEC);
            if (o->fd < 0) s = env_error(path, "open");
        } else {
            o->target = tc_path_follow(path);
            s = open_temporary(o->target, o->name, S_IFREG, &o->temporary, &o->fd);
            if (!s && exists) fchmod(o->fd, st.st_mode & 07777);
        }
    }
    if (s) {
        free(o->target);
        free(o->name);
        free(o);
        return s;
    }
    *out_file = o;
    return NULL;
}

tc_out *tc_out_memory(tc_buf *to) {
    tc_out *o = tc_xmalloc(sizeof *o);
    memset(o, 0, offsetof(tc_out, buffer));
    o->memory = to;
    return o;
}

static tc_status pass_on(tc_out *o, const void *p, size_t n) {
    if (!o->memory) return tc_write_all(o->fd, p, n, o->name);
    tc_buf_append(o->memory, p, n);
    return NULL;
}

tc_status tc_out_flush(tc_out *o) {
    size_t n = o->fill;
    o->fill = 0;
    return pass_on(o, o->buffer, n);
}

tc_status tc_out_sync(tc_out *o) {
    TC_TRY(tc_out_flush(o));
    return o->temporary && fsync(o->fd) ? env_error(o->name, "write to disk") : NULL;
}

tc_status tc_out_write(tc_out *o, const void *p, size_t n) {
    o->offset += n;
    if (n > OUT_BUFFER - o->fill) {
        TC_TRY(tc_out_flush(o));
        if (n >= OUT_BUFFER) return pass_on(o, p, n);
    }
    if (n) memcpy(o->buffer + o->fill, p, n);
    o->fill += n;
    return NULL;
}

uint64_t tc_out_offset(const tc_out *o) { return o->offset; }

tc_status tc_fsync_dir(const char *dir) {
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    /* A folder that cannot be read cannot be synced, and some network file systems refuse it; the rename is then as durable as the system makes it. */
    if (fd < 0) return errno == EACCES ? NULL : env_error(dir, "open");
    bool bad = fsync(fd) && errno != EINVAL && errno != EROFS;
    tc_status s = bad ? env_error(dir, "sync") : NULL;
    close(fd);
    return s;
}

static tc_status commit(tc_out *o) {
    int lock = o->close_fd ? dup(o->fd) : -1; /* keeps the lock until the file has its final name */
    bool closed = !o->close_fd || !close(o->fd);
    o->close_fd = false;
    tc_status st = closed ? NULL : env_error(o->name, "close");
    if (st) remove_temporary(o->temporary);
    else st = rename_to(o->temporary, o->target, o->name);
    if (lock >= 0) close(lock); /* the temporary name may be reused from here on */
    free(o->temporary);
    o->temporary = NULL;
    return st;
}

void tc_out_executable(tc_out *o) {
    struct stat st;
    if (o->temporary && !fstat(o->fd, &st)) fchmod(o->fd, (st.st_mode | (st.st_mode & 0444) >> 2) & 07777);
}

tc_status tc_out_finish(tc_out *o, tc_status s) {
    if (!o) return s;
    if (!s) s = tc_out_sync(o);
    if (!s && o->temporary) s = commit(o);
    if (o->temporary) remove_temporary(o->temporary);
    if (o->close_fd && close(o->fd) && !s) s = env_error(o->name, "close");
    free(o->temporary);
    free(o->target);
    free(o->name);
    free(o);
    return s;
}

tc_status tc_file_write(const char *path, const void *p, size_t n) {
    tc_out *o;
    TC_TRY(tc_out_open(path, &o));
    return tc_out_finish(o, tc_out_write(o, p, n));
}

/* ---- folders ---- */

tc_status tc_path_type(const char *path, mode_t *out_type) {
    struct stat st;
    const bool seen = stat(path, &st) == 0;
    *out_type = seen ? st.st_mode & S_IFMT : 0;
    return seen || errno == ENOENT || errno == ENOTDIR ? NULL : env_error(path, "look at");
}

tc_status tc_file_found(const char *path, bool *out_there) {
    mode_t type = 0;
    TC_TRY(tc_path_type(path, &type));
    *out_there = type != 0;
    return !type || type == S_IFREG || type == S_IFDIR ? NULL : tc_error(TC_CONTENT, "%s: is a pipe or a device, expected a file", path);
}

static int by_bytes(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

tc_status tc_folder_names(tc_arena *a, const char *dir, bool (*want)(const char *name), char ***out, size_t *out_n) {
    DIR *d = opendir(dir);
    if (!d) return env_error(dir, "open the folder");
    TC_VEC(char *) v = {0};
    errno = 0; /* readdir reports errors through errno only */
    for (struct dirent *e; (e = readdir(d)); errno = 0)
        if (want(e->d_name)) tc_vec_push(&v, tc_arena_strdup(a, e->d_name));
    tc_status s = errno ? env_error(dir, "read the folder") : NULL;
    closedir(d);
    if (v.len) qsort(v.data, v.len, sizeof *v.data, by_bytes);
    *out = tc_arena_dup(a, v.data, v.len * sizeof *v.data);
    *out_n = v.len;
    tc_vec_free(&v);
    return s;
}

tc_status tc_make_dirs(const char *dir) {
    char *p = tc_xstrdup(dir);
    tc_status s = NULL;
    for (char *c = p + 1; !s; c++) {
        if (*c != '/' && *c) continue;
        char end = *c;
        *c = 0;
        struct stat st;
        if (mkdir(p, 0777) && (errno != EEXIST || (stat(p, &st) == 0 && !S_ISDIR(st.st_mode)))) s = env_error(p, "make the folder");
        *c = end;
        if (!end) break;
    }
    free(p);
    return s;
}

static tc_status remove_at(int parent, const char *name, const char *path, int depth) {
    if (unlinkat(parent, name, 0) == 0 || errno == ENOENT) return NULL;
    if (errno != EISDIR && errno != EPERM) return env_error(path, "remove");
    if (depth > 100) return tc_error(TC_ENV, "%s: folders nested too deep to remove", path);
    int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    if (!d) {
        tc_status s = env_error(path, "open");
        if (fd >= 0) close(fd);
        return s;
    }
    tc_status s = NULL;
    for (struct dirent *e; !s && (e = readdir(d));)
        if (strcmp(e->d_name, ".") && strcmp(e->d_name, "..")) s = remove_at(dirfd(d), e->d_name, path, depth + 1);
    closedir(d);
    if (!s && unlinkat(parent, name, AT_REMOVEDIR)) s = env_error(path, "remove");
    return s;
}

tc_status tc_remove_tree(const char *dir) { return remove_at(AT_FDCWD, dir, dir, 0); }

struct tc_out_dir {
    char *name;   /* as given, for messages */
    char *target; /* where it leads */
    char *temporary;
    int lock; /* the open folder */
};

/* `target` must not exist or be an empty folder, whose mode is stored in out_mode (0: none). */
static tc_status replaceable(const char *target, const char *name, mode_t *out_mode) {
    struct stat st;
    *out_mode = 0;
    DIR *d = opendir(target);
    if (!d) return errno == ENOENT ? NULL : env_error(name, "open the folder");
    int entries = 0;
    while (readdir(d)) entries++;
    if (!fstat(dirfd(d), &st)) *out_mode = st.st_mode & 07777;
    closedir(d);
    return entries > 2 ? tc_error(TC_ENV, "%s: exists and is not empty", name) : NULL;
}

tc_status tc_out_dir_open(const char *path, tc_out_dir **out_dir) {
    mode_t mode;
    *out_dir = NULL;
    tc_out_dir *d = tc_xmalloc(sizeof *d);
    *d = (tc_out_dir){.name = tc_xstrdup(path)};
    for (size_t n = strlen(path); n > 1 && d->name[n - 1] == '/'; n--) d->name[n - 1] = 0;
    d->target = tc_path_follow(d->name);
    tc_status s = replaceable(d->target, d->name, &mode);
    if (!s) s = open_temporary(d->target, d->name, S_IFDIR, &d->temporary, &d->lock);
    if (!s) {
        if (mode) fchmod(d->lock, mode);
        return *out_dir = d, NULL;
    }
    free(d->target);
    free(d->name);
    free(d);
    return s;
}

const char *tc_out_dir_path(const tc_out_dir *d) { return d->temporary; }

tc_status tc_out_dir_finish(tc_out_dir *d, tc_status s) {
    if (!d) return s;
    if (!s) s = tc_fsync_dir(d->temporary);
    if (s) remove_temporary(d->temporary);
    else s = rename_to(d->temporary, d->target, d->name);
    close(d->lock);
    free(d->temporary);
    free(d->target);
    free(d->name);
    free(d);
    return s;
}
