/* Insertion-ordered dicts: a dense array of entries and a hash table of indices into it. Sets are dicts without values. */
#include "capture/object.h"

const void *tc_maker_here(const C *c) {
    if (c->capturing) return NULL;
    return c->fr && !c->fr->fn ? (const void *)c->fr->module : c;
}

dict *tc_dict(C *c) {
    dict *d = tc_new(c, K_DICT, sizeof *d);
    d->module = tc_maker_here(c);
    return d;
}

set *tc_set(C *c, bool frozen) {
    set *s = tc_new(c, frozen ? K_FROZENSET : K_SET, sizeof *s);
    s->d = tc_dict(c);
    s->frozen = frozen;
    return s;
}

enum { SMALL = 8 };                      /* up to here a linear search is faster than a table */
static const uint32_t GONE = UINT32_MAX; /* a slot whose entry was deleted: searches continue after it */

static void index_entries(C *c, dict *d, size_t nslots) {
    if (nslots != d->nslots) d->slot = tc_mem(c, nslots * sizeof *d->slot);
    else memset(d->slot, 0, nslots * sizeof *d->slot);
    d->nslots = nslots, d->filled = d->live;
    for (size_t i = 0; i < d->used; i++) {
        if (!d->e[i].key) continue;
        size_t at = d->e[i].hash & (nslots - 1);
        while (d->slot[at]) at = (at + 1) & (nslots - 1);
        d->slot[at] = (uint32_t)i + 1;
    }
}

static void grow(C *c, dict *d) {
    size_t live = 0;
    if (d->live < d->used / 2) { /* many deleted: compact in place */
        for (size_t i = 0; i < d->used; i++)
            if (d->e[i].key) d->e[live++] = d->e[i];
        d->used = live;
        if (d->nslots) index_entries(c, d, d->nslots);
        return;
    }
    size_t cap = d->cap ? d->cap * 2 : 4;
    dentry *e = tc_mem(c, cap * sizeof *e);
    if (d->used) memcpy(e, d->e, d->used * sizeof *e);
    d->e = e, d->cap = cap;
    if (cap > SMALL) index_entries(c, d, cap * 2);
}

static bool key_equal(C *c, const dentry *e, V key, uint64_t h) {
    if (e->key == key) return true;
    if (e->hash != h) return false;
    if (!tc_is_small(key) && !tc_is_small(e->key) && key->type->kind == K_STR && e->key->type->kind == K_STR) {
        const str *a = (const str *)key, *b = (const str *)e->key;
        return a->len == b->len && !memcmp(a->s, b->s, a->len);
    }
    if (!tc_is_small(key) && !tc_is_small(e->key) && (key->type->kind == K_TENSOR || e->key->type->kind == K_TENSOR)) return false;
    return tc_equal(c, e->key, key);
}

static dentry *find(C *c, const dict *d, V key, uint64_t h) {
    if (!d->slot) {
        for (size_t i = 0; i < d->used; i++)
            if (d->e[i].key && key_equal(c, &d->e[i], key, h)) return &d->e[i];
        return NULL;
    }
    size_t probes = 0;
    for (size_t at = h & (d->nslots - 1); d->slot[at] && probes <= d->nslots; at = (at + 1) & (d->nslots - 1), probes++) {
        if (d->slot[at] == GONE) continue;
        dentry *e = &d->e[d->slot[at] - 1];
        if (e->key && key_equal(c, e, key, h)) return e;
    }
    return NULL;
}

/* A symbolic number as key is compared by identity (caches keyed by size). If a number is already a key, the symbolic one must be fixed. */
static bool has_number(const dict *d) {
    for (size_t i = 0; i < d->used; i++)
        if (d->e[i].key && tc_is_int(d->e[i].key)) return true;
    return false;
}

V tc_dict_get(C *c, dict *d, V key) {
    if (!d->live) {
        if (!tc_is_small(key) && key->type->kind != K_STR)
            (void)tc_hash_value(c, key); /* an unhashable key raises an error even if the dict is small */
        return NULL;
    }
    dentry *e = find(c, d, key, tc_hash_value(c, key));
    if (!e && tc_kind_of(key) == K_SYM && has_number(d)) return tc_dict_get(c, d, tc_sym_force_as(c, key, ""));
    return e ? e->val : NULL;
}

V tc_dict_gets(C *c, dict *d, str *key) {
    if (!d->slot) {
        for (size_t i = 0; i < d->used; i++)
            if (d->e[i].key == (V)key) return d->e[i].val;
    }
    dentry *e = find(c, d, (V)key, key->hash ? key->hash : tc_hash_value(c, (V)key));
    return e ? e->val : NULL;
}

void tc_dict_set(C *c, dict *d, V key, V val) {
    uint64_t h = tc_hash_value(c, key);
    dentry *e = find(c, d, key, h);
    if (e) {
        e->val = val;
        return;
    }
    if (d->used == d->cap) grow(c, d);
    else if (d->slot && d->filled + d->filled / 4 >= d->nslots) index_entries(c, d, d->nslots);
    if (d->used >= UINT32_MAX / 4) tc_raise_limit(c, "a dict of %zu entries is over the limit", d->used);
    d->e[d->used] = (dentry){key, val, h};
    if (d->slot) {
        size_t at = h & (d->nslots - 1);
        while (d->slot[at]) at = (at + 1) & (d->nslots - 1);
        d->slot[at] = (uint32_t)d->used + 1;
        d->filled++;
    }
    d->used++, d->live++;
}

bool tc_dict_del(C *c, dict *d, V key) {
    dentry *e = find(c, d, key, tc_hash_value(c, key));
    if (!e) return false;
    if (d->slot) {
        size_t at = e->hash & (d->nslots - 1);
        while (d->slot[at] != (uint32_t)(e - d->e) + 1) at = (at + 1) & (d->nslots - 1);
        d->slot[at] = GONE;
    }
    e->key = NULL;
    e->val = NULL;
    d->live--;
    while (d->used && !d->e[d->used - 1].key) d->used--;
    return true;
}

void tc_dict_clear(C *c, dict *d) {
    (void)c;
    d->used = d->live = d->cap = d->nslots = d->filled = 0;
    d->e = NULL, d->slot = NULL;
}

dict *tc_dict_copy(C *c, dict *d) {
    dict *r = tc_dict(c);
    V k, v;
    for (size_t i = 0; tc_dict_next(d, &i, &k, &v);) tc_dict_set(c, r, k, v);
    return r;
}

void tc_dict_setc(C *c, dict *d, const char *key, V val) { tc_dict_set(c, d, (V)tc_intern(c, key, strlen(key)), val); }

bool tc_dict_next(const dict *d, size_t *i, V *key, V *val) {
    for (; *i < d->used; ++*i)
        if (d->e[*i].key) {
            *key = d->e[*i].key, *val = d->e[*i].val;
            ++*i;
            return true;
        }
    return false;
}
