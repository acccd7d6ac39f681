/* Record files and pipes as sources of inputs, advanced in step (run.h). */
#include "tc-run/run.h"

#include "file/literal.h"

#include <unistd.h>

void split_spec(const char *spec, char **out_name, char **out_hint, const char **out_value) {
    const char *equal = strchr(spec, '=');
    size_t type = tc_literal_type(spec, true); /* symbols are those of --dim */
    *out_name = *out_hint = NULL;
    *out_value = spec;
    /* a dtype followed by numbers is a literal: i64=5; followed by @ it is the name of an input: i64=@x.npy */
    bool literal = equal && type && spec + type == equal && equal[1] != '@' && strcmp(equal + 1, "-");
    if (!equal || *spec == '@' || *spec == ':' || literal) return;
    char *name = tc_xstrdup(spec);
    name[equal - spec] = 0;
    char *colon = strrchr(name, ':');
    if (colon && (!strcmp(colon + 1, "text") || !strcmp(colon + 1, "raw"))) {
        *out_hint = tc_xstrdup(colon + 1);
        *colon = 0;
    }
    *out_name = name;
    *out_value = equal + 1;
}

tc_status feed_open(tc_cmd *c, feeds *f, const char *spec, const char *who, feed **out_feed, const char **out_key) {
    const char *hash = strrchr(spec, '#');
    if (hash && access(spec, F_OK) == 0) hash = NULL; /* the file name itself contains '#' */
    size_t n = hash ? (size_t)(hash - spec) : strlen(spec);
    *out_key = hash ? hash + 1 : NULL;
    for (size_t i = 0; i < f->list.len; i++)
        if (strlen(f->list.data[i]->path) == n && !memcmp(f->list.data[i]->path, spec, n)) {
            *out_feed = f->list.data[i];
            return NULL;
        }
    feed *e = tc_xcalloc(1, sizeof *e);
    e->path = tc_xstrdup(spec);
    e->path[n] = 0;
    bool in = !strcmp(e->path, "-");
    tc_status st = in ? tc_cmd_claim_stdin(c, who) : NULL;
    if (!st) st = in ? tc_stream_open_fd(STDIN_FILENO, "stdin", &e->stream) : tc_stream_open(e->path, &e->stream);
    if (st) {
        free(e->path);
        free(e);
        return st;
    }
    tc_vec_push(&f->list, e);
    *out_feed = e;
    return NULL;
}

/* Large records of pipes are not kept: they would double what a run needs. */
static bool is_large(const tc_tensors *r) {
    size_t n = 0;
    for (size_t i = 0; i < r->items.len; i++)
        if (!r->items.data[i].tensor.storage->read_only) n += tc_tensor_bytes(&r->items.data[i].tensor);
    return n > (size_t)1 << 20;
}

static tc_status advance(feed *e) {
    bool end;
    if (e->ended) return NULL;
    TC_TRY(tc_stream_next(e->stream, &e->old, &end));
    if (end) {
        e->ended = true;
        return NULL;
    }
    const tc_tensors next = e->old;
    e->old = e->record;
    e->record = next;
    if (is_large(&e->old)) tc_tensors_deinit(&e->old);
    e->count++;
    return NULL;
}

tc_status feeds_next(feeds *f, int64_t record, bool *out_end) {
    const feed *longest = NULL;
    for (size_t i = 0; i < f->list.len; i++) {
        feed *e = f->list.data[i];
        TC_TRY(advance(e));
        if (e->count == record + 1) longest = e;
    }
    *out_end = record > 0 && !longest;
    for (size_t i = 0; i < f->list.len && longest; i++) {
        const feed *e = f->list.data[i];
        if (e->count <= record && e->count > 1)
            return tc_error(TC_CONTENT, "%s has %lld records, %s has record %lld", tc_stream_name(e->stream), (long long)e->count,
                            tc_stream_name(longest->stream), (long long)record);
    }
    for (size_t i = 0; i < f->list.len && *out_end; i++) { /* all ended: check that they have equal lengths */
        const feed *e = f->list.data[i];
        if (e->count > 1 && e->count != record)
            return tc_error(TC_CONTENT, "%s ends after %lld records, others have %lld", tc_stream_name(e->stream), (long long)e->count,
                            (long long)record);
    }
    return NULL;
}

tc_status feed_pick(const feed *f, const char *key, const char *name, const tc_tensor **out) {
    const tc_tensors *r = &f->record;
    *out = key ? tc_tensors_find(r, key) : r->items.len == 1 ? &r->items.data[0].tensor : tc_tensors_find(r, name);
    if (*out) return NULL;
    tc_buf b = {0};
    for (size_t i = 0; i < r->items.len && i < 12; i++) tc_buf_printf(&b, "%s%s", i ? ", " : "", r->items.data[i].name);
    tc_status st = tc_error(TC_CONTENT, "%s has no tensor %s; it has %s%s", tc_stream_name(f->stream), key ? key : name, tc_buf_str(&b),
                            r->items.len > 12 ? ", ..." : "");
    tc_buf_free(&b);
    return st;
}

void feeds_close(feeds *f) {
    for (size_t i = 0; i < f->list.len; i++) {
        feed *e = f->list.data[i];
        tc_tensors_deinit(&e->record);
        tc_tensors_deinit(&e->old);
        tc_stream_close(e->stream);
        free(e->path);
        free(e);
    }
    tc_vec_free(&f->list);
}
