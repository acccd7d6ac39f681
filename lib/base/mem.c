/* Arenas, buffers, vectors and the hash map of mem.h. */
#include "base/mem.h"

#include <stdio.h>
#include <sys/auxv.h>

__attribute__((weak)) _Noreturn void tc_no_memory(size_t n) { TC_BUG("out of memory: %zu bytes", n); }

void *tc_xmalloc(size_t n) {
    void *p = malloc(n ? n : 1);
    if (!p) tc_no_memory(n);
    return p;
}

void *tc_xcalloc(size_t count, size_t size) {
    void *p = calloc(count ? count : 1, size ? size : 1);
    if (!p) tc_no_memory(count > SIZE_MAX / (size ? size : 1) ? SIZE_MAX : count * size);
    return p;
}

void *tc_xrealloc(void *p, size_t n) {
    void *q = realloc(p, n ? n : 1);
    if (!q) tc_no_memory(n);
    return q;
}

char *tc_xstrdup(const char *s) {
    size_t n = strlen(s) + 1;
    return memcpy(tc_xmalloc(n), s, n);
}

/* ---- arena ---- */

struct tc_arena_block {
    tc_arena_block *next;
    size_t used, cap; /* of data; bytes beyond used are zero */
    _Alignas(16) unsigned char data[];
};

enum { ARENA_FIRST = 4096, ARENA_MAX = 1 << 20 };

void *tc_arena_alloc(tc_arena *a, size_t n) {
    size_t need;
    if (!tc_add_size(n ? n : 1, 15, &need)) TC_BUG("arena: %zu bytes", n);
    need &= ~(size_t)15;
    tc_arena_block *b = a->head;
    if (!b || b->cap - b->used < need) {
        size_t cap = b ? (b->cap < ARENA_MAX ? b->cap * 2 : ARENA_MAX) : ARENA_FIRST;
        bool alone = need > cap / 2; /* a large request gets its own block, and the current one stays in use */
        if (alone) cap = need;
        tc_arena_block *nb = tc_xcalloc(1, sizeof *nb + cap);
        nb->cap = cap;
        if (alone && b) {
            nb->next = b->next;
            b->next = nb;
        } else {
            nb->next = b;
            a->head = nb;
        }
        b = nb;
    }
    void *p = b->data + b->used;
    b->used += need;
    a->used += need;
    return p;
}

void *tc_arena_array(tc_arena *a, size_t count, size_t size) {
    size_t n;
    if (!tc_mul_size(count, size, &n)) TC_BUG("arena: %zu times %zu bytes", count, size);
    return tc_arena_alloc(a, n);
}

char *tc_arena_strndup(tc_arena *a, const char *s, size_t n) {
    char *p = tc_arena_alloc(a, n + 1);
    if (n) memcpy(p, s, n);
    return p;
}

char *tc_arena_strdup(tc_arena *a, const char *s) { return tc_arena_strndup(a, s, strlen(s)); }

void *tc_arena_dup(tc_arena *a, const void *p, size_t n) {
    void *q = tc_arena_alloc(a, n);
    if (n) memcpy(q, p, n);
    return q;
}

/* Formats directly into the head block; if it has no room, the length is known and the text is formatted again. */
char *tc_arena_printf(tc_arena *a, const char *fmt, ...) {
    const size_t room = a->head ? a->head->cap - a->head->used : 0;
    char *p = room ? (char *)a->head->data + a->head->used : NULL;
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(p, room, fmt, ap);
    va_end(ap);
    TC_ASSERT(n >= 0);
    if ((size_t)n >= room && room) memset(p, 0, room); /* unused bytes of blocks must be zero */
    char *q = tc_arena_alloc(a, (size_t)n + 1);
    if (q != p) vsnprintf(q, (size_t)n + 1, fmt, again);
    va_end(again);
    return q;
}

void tc_arena_free(tc_arena *a) {
    for (tc_arena_block *b = a->head, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    *a = (tc_arena){0};
}

void tc_arena_reset(tc_arena *a) {
    tc_arena_block *b = a->head;
    if (!b || b->next) {
        tc_arena_free(a);
        return;
    }
    memset(b->data, 0, b->used);
    a->used = b->used = 0;
}

/* ---- buffer ---- */

void tc_buf_reserve(tc_buf *b, size_t extra) {
    size_t need;
    if (!tc_add_size(b->len, extra, &need) || !tc_add_size(need, 1, &need)) TC_BUG("buffer: %zu more bytes", extra);
    if (need <= b->cap) return;
    size_t cap = b->cap ? b->cap : 64;
    while (cap < need) cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    b->data = tc_xrealloc(b->data, cap);
    b->cap = cap;
}

void tc_buf_append(tc_buf *b, const void *p, size_t n) {
    if (n >= b->cap - b->len) tc_buf_reserve(b, n);
    if (n) memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = 0;
}

void tc_buf_puts(tc_buf *b, const char *s) { tc_buf_append(b, s, strlen(s)); }
void tc_buf_putc(tc_buf *b, char c) {
    if (b->cap - b->len < 2) tc_buf_reserve(b, 1);
    b->data[b->len++] = c;
    b->data[b->len] = 0;
}

void tc_buf_vprintf(tc_buf *b, const char *fmt, va_list ap) {
    va_list again;
    va_copy(again, ap);
    tc_buf_reserve(b, 64);
    int n = vsnprintf(b->data + b->len, b->cap - b->len, fmt, ap);
    TC_ASSERT(n >= 0);
    if ((size_t)n >= b->cap - b->len) {
        tc_buf_reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, b->cap - b->len, fmt, again);
    }
    va_end(again);
    b->len += (size_t)n;
}

void tc_buf_printf(tc_buf *b, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tc_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

const char *tc_buf_str(const tc_buf *b) { return b->data ? b->data : ""; }

void tc_buf_free(tc_buf *b) {
    free(b->data);
    *b = (tc_buf){0};
}

/* ---- vectors ---- */

void *tc_vec_grow_(void *data, size_t *cap, size_t need, size_t elem) {
    size_t n = *cap ? *cap : 8, bytes;
    while (n < need) n = n > SIZE_MAX / 2 ? need : n * 2;
    if (!tc_mul_size(n, elem, &bytes)) TC_BUG("vector: %zu elements of %zu bytes", n, elem);
    *cap = n;
    return tc_xrealloc(data, bytes);
}

/* ---- map: open addressing ---- */

static uint64_t word_at(const unsigned char *s) {
    uint64_t w;
    memcpy(&w, s, sizeof w);
    return w;
}

/* The n < 8 bytes before `end` as a little-endian number; `before`: the eight bytes before `end` are readable. */
static uint64_t tail_before(const unsigned char *end, size_t n, bool before) {
    uint64_t w = 0;
    if (n && before && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return word_at(end - 8) >> (64 - 8 * n);
    for (size_t i = 1; i <= n; i++) w = w << 8 | end[-(ptrdiff_t)i];
    return w;
}

/* The high and low half of a 64-by-64-bit product, combined. */
static uint64_t folded(uint64_t a, uint64_t b) {
    __extension__ typedef unsigned __int128 wide;
    const wide w = (wide)a * b;
    return (uint64_t)w ^ (uint64_t)(w >> 64);
}

uint64_t tc_hash(const void *p, size_t n, uint64_t seed) {
    const unsigned char *s = p;
    uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15u);
    /* A factor of 0 would hide the other factor: because of the seed, no input is known to give it. */
    const uint64_t k = (seed ^ 0xff51afd7ed558ccdu) * 0xc4ceb9fe1a85ec53u;
    const bool before = n >= 8;
    for (; n >= 16; n -= 16, s += 16) h = folded(word_at(s) ^ k, word_at(s + 8) ^ h);
    if (n >= 8) h = folded(word_at(s) ^ k, h ^ 0x2545f4914f6cdd1du), n -= 8, s += 8;
    uint64_t w = tail_before(s + n, n, before);
    h = (h ^ w) * 0xc4ceb9fe1a85ec53u;
    h ^= h >> 29;
    h *= 0xff51afd7ed558ccdu;
    return h ^ (h >> 32);
}

/* A slot holds the upper half of its key's hash and the index, so that most other keys are rejected without reading their entries. */
static uint64_t slot_of(uint64_t hash, size_t k) { return (hash & UINT64_C(0xffffffff00000000)) | (k + 1); }

/* The slot of the key, or the empty slot where it belongs. */
static size_t find_slot(const tc_map *m, const char *key, size_t n, uint64_t hash) {
    size_t mask = m->nslots - 1, i = hash & mask;
    for (;; i = (i + 1) & mask) {
        if (!m->slots[i]) return i;
        if ((m->slots[i] ^ hash) >> 32) continue;
        const tc_map_entry *e = &m->entries[(uint32_t)m->slots[i] - 1];
        if (e->key_len == n && memcmp(e->key, key, n) == 0) return i;
    }
}

static void rehash(tc_map *m, size_t nslots) {
    const unsigned char *random = m->nslots ? NULL : (const unsigned char *)(uintptr_t)getauxval(AT_RANDOM);
    if (random) m->seed = word_at(random);
    free(m->slots);
    m->slots = tc_xcalloc(nslots, sizeof *m->slots);
    m->nslots = nslots;
    for (size_t k = 0; k < m->len; k++) {
        uint64_t hash = tc_hash(m->entries[k].key, m->entries[k].key_len, m->seed);
        size_t i = hash & (nslots - 1);
        while (m->slots[i]) i = (i + 1) & (nslots - 1);
        m->slots[i] = slot_of(hash, k);
    }
}

void tc_map_reserve(tc_map *m, size_t n) {
    size_t nslots = m->nslots ? m->nslots : 16;
    while (nslots / 4 * 3 < n && nslots < SIZE_MAX / 4) nslots *= 2;
    if (nslots > m->nslots) rehash(m, nslots);
    if (n > m->cap) m->entries = tc_vec_grow_(m->entries, &m->cap, n, sizeof *m->entries);
}

void **tc_map_put(tc_map *m, const char *key, size_t n) {
    if ((m->len + 1) * 4 > m->nslots * 3) rehash(m, m->nslots ? m->nslots * 2 : 16); /* at most three quarters are used */
    uint64_t hash = tc_hash(key, n, m->seed);
    size_t i = find_slot(m, key, n, hash);
    if (!m->slots[i]) {
        if (m->len == UINT32_MAX - 1) TC_BUG("map: too many entries");
        if (m->len == m->cap) m->entries = tc_vec_grow_(m->entries, &m->cap, m->len + 1, sizeof *m->entries);
        m->entries[m->len] = (tc_map_entry){m->borrows ? key : tc_arena_strndup(&m->keys, key, n), n, NULL};
        m->slots[i] = slot_of(hash, m->len++);
    }
    return &m->entries[(uint32_t)m->slots[i] - 1].value;
}

void *tc_map_get(const tc_map *m, const char *key, size_t n) {
    if (!m->len) return NULL;
    uint64_t slot = m->slots[find_slot(m, key, n, tc_hash(key, n, m->seed))];
    return slot ? m->entries[(uint32_t)slot - 1].value : NULL;
}

void tc_map_set(tc_map *m, const char *key, void *value) { *tc_map_put(m, key, strlen(key)) = value; }
void *tc_map_find(const tc_map *m, const char *key) { return tc_map_get(m, key, strlen(key)); }

void tc_map_free(tc_map *m) {
    free(m->entries);
    free(m->slots);
    tc_arena_free(&m->keys);
    *m = (tc_map){0};
}

void tc_map_clear(tc_map *m) {
    if (m->nslots) memset(m->slots, 0, m->nslots * sizeof *m->slots);
    m->len = 0;
    tc_arena_reset(&m->keys);
}
