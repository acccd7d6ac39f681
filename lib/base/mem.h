/* Memory: arenas for what lives as long as a phase, growing buffers and vectors, overflow-safe sizes.
 * Small allocations never return NULL (real exhaustion ends the process); sizes that come from a file are checked by their
 * reader, and tensor storage is allocated with a status (tensor/tensor.h). */
#ifndef TC_BASE_MEM_H
#define TC_BASE_MEM_H

#include "base/status.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* Called when n bytes cannot be allocated: aborts, unless the program defines its own (cmd/signals.c: exit 1, temporary files removed). */
_Noreturn void tc_no_memory(size_t n);
void *tc_xmalloc(size_t n);
void *tc_xcalloc(size_t count, size_t size);
void *tc_xrealloc(void *p, size_t n);
char *tc_xstrdup(const char *s);

/* ---- arena: zeroed allocations, 16-byte aligned, freed together ---- */
typedef struct tc_arena_block tc_arena_block;
typedef struct {
    tc_arena_block *head;
    size_t used; /* bytes handed out so far, for callers with a limit */
} tc_arena;      /* {0} is a valid empty arena */

void *tc_arena_alloc(tc_arena *a, size_t n);
void *tc_arena_array(tc_arena *a, size_t count, size_t size); /* count * size checked; TC_BUG on overflow */
char *tc_arena_strdup(tc_arena *a, const char *s);
char *tc_arena_strndup(tc_arena *a, const char *s, size_t n);
void *tc_arena_dup(tc_arena *a, const void *p, size_t n);
char *tc_arena_printf(tc_arena *a, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_arena_free(tc_arena *a);  /* the arena is empty and usable afterwards */
void tc_arena_reset(tc_arena *a); /* the same, but that a first block is kept for use again */
#define TC_NEW(arena, T) ((T *)tc_arena_alloc((arena), sizeof(T)))
#define TC_NEWN(arena, T, n) ((T *)tc_arena_array((arena), (n), sizeof(T)))

/* ---- text and byte buffer ---- */
typedef struct {
    char *data; /* always NUL-terminated once something was appended */
    size_t len, cap;
} tc_buf; /* {0} is empty */

void tc_buf_append(tc_buf *b, const void *p, size_t n);
void tc_buf_puts(tc_buf *b, const char *s);
void tc_buf_putc(tc_buf *b, char c);
void tc_buf_printf(tc_buf *b, const char *fmt, ...) TC_PRINTF(2, 3);
void tc_buf_vprintf(tc_buf *b, const char *fmt, va_list ap);
void tc_buf_reserve(tc_buf *b, size_t extra);
const char *tc_buf_str(const tc_buf *b); /* "" when empty */
void tc_buf_free(tc_buf *b);

/* ---- vectors: struct { T *data; size_t len, cap; } v = {0}; tc_vec_push(&v, x) ---- */
#define TC_VEC(T)        \
    struct {             \
        T *data;         \
        size_t len, cap; \
    }
void *tc_vec_grow_(void *data, size_t *cap, size_t need, size_t elem);
#define tc_vec_reserve(v, n) ((n) > (v)->cap ? (void)((v)->data = tc_vec_grow_((v)->data, &(v)->cap, (n), sizeof *(v)->data)) : (void)0)
#define tc_vec_push(v, x) (tc_vec_reserve((v), (v)->len + 1), (void)((v)->data[(v)->len++] = (x)))
#define tc_vec_free(v) (free((v)->data), (v)->data = NULL, (v)->len = (v)->cap = 0)

/* ---- hash map from byte strings to pointers; iteration is in insertion order ---- */
typedef struct {
    const char *key;
    size_t key_len;
    void *value;
} tc_map_entry;
typedef struct {
    tc_map_entry *entries;
    size_t len, cap;
    uint64_t *slots; /* 0: empty, else half of the hash and 1 + the index of the entry */
    size_t nslots;
    uint64_t seed; /* of the hash, random for each process, so that nobody can choose colliding keys */
    bool borrows;  /* keys are not copied: they live as long as the map */
    tc_arena keys;
} tc_map;                                                     /* {0} is empty and copies its keys */
void tc_map_reserve(tc_map *m, size_t n);                     /* room for n entries in all */
void **tc_map_put(tc_map *m, const char *key, size_t n);      /* the place of the value; it is NULL for a new key */
void *tc_map_get(const tc_map *m, const char *key, size_t n); /* NULL when absent */
void tc_map_set(tc_map *m, const char *key, void *value);     /* key NUL-terminated */
void *tc_map_find(const tc_map *m, const char *key);          /* key NUL-terminated */
void tc_map_free(tc_map *m);
void tc_map_clear(tc_map *m);                             /* empty, with its memory kept for use again */
uint64_t tc_hash(const void *p, size_t n, uint64_t seed); /* for tables only; not for content addresses */

/* ---- sizes from outside ---- */
static inline bool tc_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool tc_add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool tc_mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool tc_add_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

#endif
