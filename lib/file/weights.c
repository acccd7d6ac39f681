/* Loads weights from files into programs: matches names, then checks types and sizes; the program changes only if all fit. */
#include "file/weights.h"

bool tc_takes_weight(const tc_input *in) { return in->kind == TC_IN_PARAMETER || (in->kind == TC_IN_BUFFER && in->persistent); }

/* ---- names ---- */
/* Prefixes that wrappers add to names: DataParallel and DDP in front, torch.compile, FSDP and activation checkpointing anywhere. */
static void strip_wrappers(const char *name, tc_buf *out) {
    static const char *const anywhere[] = {"_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."};
    out->len = 0;
    for (const char *p = name; *p;) {
        size_t skip = 0;
        for (size_t i = 0; i < sizeof anywhere / sizeof *anywhere && !skip; i++)
            if (!strncmp(p, anywhere[i], strlen(anywhere[i]))) skip = strlen(anywhere[i]);
        if (!skip && !out->len && !strncmp(p, "module.", 7)) skip = 7;
        if (!skip) {
            skip = strcspn(p, ".");
            if (p[skip]) skip++;
            tc_buf_append(out, p, skip);
        }
        p += skip;
    }
    tc_buf_puts(out, "");
}

/* The wanted name for a name of the file: the same, or the same without wrapper prefixes; else NULL. */
static const char *meaning(const tc_map *wanted, const char *name, tc_buf *scratch) {
    if (tc_map_find(wanted, name)) return name;
    strip_wrappers(name, scratch);
    return scratch->len && tc_map_find(wanted, scratch->data) ? scratch->data : NULL;
}

/* The dict of a checkpoint that has the most wanted names; "" if none has, or if they are at the top. */
static const char *choose_container(const tc_tensors *w, char *const *names, const tc_map *wanted, tc_arena *a) {
    tc_map counts = {0};
    tc_buf scratch = {0};
    const char *best = "";
    uintptr_t most = 0;
    for (size_t i = 0; i < w->items.len; i++) {
        const tc_named *n = &w->items.data[i];
        if (!names[i]) continue;
        for (size_t len = n->container + 1; len-- > 0;) { /* the innermost dict and those around it: names may be nested too */
            if (len && (len > n->container || n->name[len - 1] != '.' || strncmp(names[i], n->name, len))) continue;
            if (!meaning(wanted, names[i] + len, &scratch)) continue;
            void **slot = tc_map_put(&counts, names[i], len);
            *slot = (void *)((uintptr_t)*slot + 1);
        }
    }
    for (size_t i = 0; i < counts.len; i++)
        if ((uintptr_t)counts.entries[i].value > most) most = (uintptr_t)counts.entries[i].value, best = counts.entries[i].key;
    best = tc_arena_strdup(a, best);
    tc_map_free(&counts);
    tc_buf_free(&scratch);
    return best;
}

static bool has_containers(const tc_tensors *w) {
    for (size_t i = 0; i < w->items.len; i++)
        if (w->items.data[i].container) return true;
    return false;
}

tc_status tc_weights_names(const tc_tensors *w, const tc_map *wanted, const tc_rename *rename, tc_map *out) {
    tc_arena a = {0};
    tc_buf b = {0};
    char **names = TC_NEWN(&a, char *, w->items.len + 1);
    tc_status st = NULL;
    for (size_t i = 0; i < w->items.len; i++)
        if (tc_rename_apply(rename, w->items.data[i].name, &b)) names[i] = tc_arena_strdup(&a, tc_buf_str(&b));
    const char *container = has_containers(w) ? choose_container(w, names, wanted, &a) : "";
    size_t skip = strlen(container);
    bool wrapped = false;
    for (size_t i = 0; i < w->items.len; i++) {
        if (names[i] && strncmp(names[i], container, skip)) names[i] = NULL; /* in another dict of the checkpoint, such as the optimizer's */
        wrapped |= names[i] && meaning(wanted, names[i] + skip, &b) == b.data && b.data;
    }
    for (size_t i = 0; i < w->items.len && !st; i++) {
        if (!names[i]) continue;
        const char *name = meaning(wanted, names[i] + skip, &b);
        if (!name && wrapped) strip_wrappers(names[i] + skip, &b), name = tc_buf_str(&b); /* the model may know it without the wrapper */
        if (!name) name = names[i] + skip;
        void **slot = tc_map_put(out, name, strlen(name));
        if (*slot)
            st = tc_error(rename->rules.len ? TC_USAGE : TC_CONTENT, "two tensors of the file are named %s%s", name,
                          rename->rules.len ? " after --rename" : "");
        *slot = (void *)(uintptr_t)(i + 1);
    }
    tc_buf_free(&b);
    tc_arena_free(&a);
    return st;
}

static tc_status name_all(const tc_map *wanted, const tc_tensors *w, tc_weights_rules r, tc_map *out) {
    tc_rename rules = {0};
    tc_status st = NULL;
    for (int i = 0; i < r.nrename && !st; i++) st = tc_rename_add(&rules, r.rename[i]);
    if (!st) st = tc_weights_names(w, wanted, &rules, out);
    tc_rename_deinit(&rules);
    return st;
}

/* Sets the index of names that the patterns exclude to 0. TC_CONTENT: they exclude all. */
static tc_status select_names(const tc_tensors *w, tc_weights_rules r, tc_map *names) {
    tc_select select = {0};
    tc_status st = NULL;
    size_t left = 0;
    for (int i = 0; i < r.nselect && !st; i++) st = tc_select_add(&select, r.select[i]);
    for (size_t i = 0; i < names->len && !st && r.nselect; i++) {
        size_t at = (size_t)(uintptr_t)names->entries[i].value;
        if (tc_select_takes(&select, w->items.data[at - 1].name)) left++;
        else names->entries[i].value = NULL;
    }
    if (!st && r.nselect && names->len && !left)
        st = tc_error(TC_CONTENT, "--select %s: none of the %zu weights that are loaded is left", r.select[r.nselect - 1], names->len);
    tc_select_deinit(&select);
    return st;
}

tc_status tc_weights_rename(tc_program *p, const tc_rename *rename) {
    tc_map names = {0};
    tc_buf b = {0};
    tc_status st = NULL;
    for (int i = 0; i < p->ninputs && !st; i++) {
        tc_input *in = &p->inputs[i];
        if (in->kind != TC_IN_PARAMETER && in->kind != TC_IN_BUFFER) continue;
        if (!tc_rename_apply(rename, in->name, &b)) st = tc_error(TC_USAGE, "--rename leaves %s without a name", in->name);
        else if (tc_map_find(&names, b.data)) st = tc_error(TC_USAGE, "--rename makes two weights %s", b.data);
        else tc_map_set(&names, in->name = tc_arena_strdup(&p->arena, b.data), (void *)1);
    }
    tc_map_free(&names);
    tc_buf_free(&b);
    return st;
}

/* ---- matching ---- */
static void add_name(tc_buf *list, int *count, const char *name) {
    if (*count < 8) tc_buf_printf(list, "%s%s", *count ? ", " : "", name);
    else if (*count == 8) tc_buf_puts(list, ", ...");
    ++*count;
}

static tc_status check_shape(const tc_input *in, const tc_tensor *t, const char *from) {
    const tc_meta *m = &in->value->meta;
    bool same = m->rank == t->rank;
    for (int d = 0; same && d < t->rank; d++) same = tc_sym_is_int(m->size[d], t->size[d]);
    if (same) return NULL;
    tc_buf found = {0}, want = {0};
    tc_tensor_print_type(&found, t);
    tc_value_print_type(&want, in->value);
    tc_status st = tc_error(TC_CONTENT, "%s: %s is %s, the program has %s", from, in->name, found.data, want.data);
    tc_buf_free(&found);
    tc_buf_free(&want);
    return st;
}

/* The prefix of the file's names that every weight's name lacks, such as "model." of a LightningModule: its length in name; 0: none. */
static size_t prefix_in(const tc_program *p, const tc_map *names, const char *name) {
    tc_buf b = {0};
    size_t n = 0;
    for (int i = 0; i < p->ninputs && !n; i++) { /* the weight whose name is a suffix of it */
        const char *own = p->inputs[i].name;
        size_t k = tc_takes_weight(&p->inputs[i]) ? strlen(own) : 0, len = strlen(name);
        if (k && len > k + 1 && name[len - k - 1] == '.' && !strcmp(name + len - k, own)) n = len - k;
    }
    for (int i = 0; i < p->ninputs && n; i++) {
        if (!tc_takes_weight(&p->inputs[i]) || p->inputs[i].alias_of >= 0) continue;
        b.len = 0;
        tc_buf_append(&b, name, n);
        tc_buf_puts(&b, p->inputs[i].name);
        if (!tc_map_find(names, b.data)) n = 0;
    }
    tc_buf_free(&b);
    return n;
}

/* Suggests a --rename rule: removing a common prefix, if the shell needs no quoting for it. */
static void add_cure(tc_status st, const tc_program *p, const tc_map *names) {
    size_t n = 0;
    tc_buf b = {0};
    for (size_t at = 0; at < names->len && at < 1000 && !n; at++) {
        const char *name = names->entries[at].key;
        n = prefix_in(p, names, name), b.len = 0;
        for (size_t i = 0; i < n; i++) {
            if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.", name[i])) n = 0;
            else tc_buf_printf(&b, name[i] == '.' ? "\\%c" : "%c", name[i]);
        }
    }
    if (n) tc_status_add(st, "--rename 's/^%s//' takes away what stands in front of every name", b.data);
    else tc_status_add(st, "--rename 's/REGEX/TO/' changes the names of the file");
    tc_buf_free(&b);
}

/* May a file lack the input? The count of batches of a batch norm, as in load_state_dict: states of PyTorch before 0.4.1 lack it. */
static bool may_lack(const char *name) {
    const char *last = strrchr(name, '.');
    return !strcmp(last ? last + 1 : name, "num_batches_tracked");
}

/* The tensor of the file for each input: index + 1, 0: none. */
static tc_status match(const tc_program *p, const tc_tensors *w, const tc_map *names, const char *from, bool strict, size_t *take) {
    tc_buf missing = {0}, unexpected = {0};
    int nmissing = 0, nunexpected = 0;
    bool *used = tc_xcalloc(w->items.len + 1, sizeof *used);
    tc_status st = NULL;
    for (int i = 0; i < p->ninputs; i++) {
        if (!tc_takes_weight(&p->inputs[i])) continue;
        take[i] = (size_t)(uintptr_t)tc_map_find(names, p->inputs[i].name);
        if (take[i]) used[take[i] - 1] = true;
    }
    for (int i = 0; i < p->ninputs;
         i++) /* tied weights: any of the names will do; if several are present the last wins, as load_state_dict copies in turn */
        if (tc_takes_weight(&p->inputs[i]) && p->inputs[i].alias_of >= 0 && take[i]) take[p->inputs[i].alias_of] = take[i];
    for (int i = 0; i < p->ninputs; i++)
        if (tc_takes_weight(&p->inputs[i]) && p->inputs[i].alias_of >= 0) take[i] = take[p->inputs[i].alias_of];
    for (int i = 0; i < p->ninputs && !st; i++) {
        if (!tc_takes_weight(&p->inputs[i])) continue;
        if (!take[i] && strict && !may_lack(p->inputs[i].name)) add_name(&missing, &nmissing, p->inputs[i].name);
        else if (take[i]) st = check_shape(&p->inputs[i], &w->items.data[take[i] - 1].tensor, from);
    }
    for (size_t k = 0; k < names->len; k++)
        if (names->entries[k].value && !used[(size_t)(uintptr_t)names->entries[k].value - 1])
            add_name(&unexpected, &nunexpected, names->entries[k].key);
    if (!st && (nmissing || nunexpected)) {
        st = tc_error(TC_CONTENT, "%s does not fit the program: %d missing, %d unexpected", from, nmissing, nunexpected);
        if (nmissing) tc_status_add(st, "missing: %s", missing.data);
        if (nunexpected) tc_status_add(st, "unexpected: %s", unexpected.data);
        add_cure(st, p, names);
    }
    tc_buf_free(&missing);
    tc_buf_free(&unexpected);
    free(used);
    return st;
}

tc_status tc_weights_apply(tc_program *p, const tc_tensors *weights, tc_weights_rules rules, const char *from) {
    tc_map names = {0}, wanted = {0};
    size_t *take = tc_xcalloc((size_t)p->ninputs + 1, sizeof *take);
    for (int i = 0; i < p->ninputs; i++)
        if (tc_takes_weight(&p->inputs[i])) tc_map_set(&wanted, p->inputs[i].name, (void *)1);
    tc_status st = name_all(&wanted, weights, rules, &names);
    tc_map_free(&wanted);
    if (!st) st = select_names(weights, rules, &names);
    if (!st) st = match(p, weights, &names, from, !rules.nselect, take);
    for (int i = 0; i < p->ninputs && !st; i++) {
        if (!take[i]) continue;
        tc_input *in = &p->inputs[i];
        const tc_tensor *t = &weights->items.data[take[i] - 1].tensor;
        tc_tensor data = {0};
        int other = in->alias_of;
        if (other >= 0 && other < i && p->inputs[other].data.dtype == in->value->meta.dtype) data = tc_tensor_share(&p->inputs[other].data);
        else if (t->dtype == in->value->meta.dtype) data = tc_tensor_share(t);
        else st = tc_tensor_cast(t, in->value->meta.dtype, &data);
        if (st) break;
        tc_tensor_deinit(&in->data);
        in->data = data;
    }
    tc_map_free(&names);
    free(take);
    return st;
}

tc_status tc_weights_each(const tc_tensors *w, const tc_map *wanted, tc_weights_rules rules, void (*take)(void *, const char *, const tc_tensor *),
                          void *to) {
    tc_map names = {0};
    tc_status st = name_all(wanted, w, rules, &names);
    if (!st) st = select_names(w, rules, &names);
    for (size_t i = 0; i < names.len && !st; i++) {
        const size_t at = (size_t)(uintptr_t)names.entries[i].value;
        if (at) take(to, names.entries[i].key, &w->items.data[at - 1].tensor);
    }
    tc_map_free(&names);
    return st;
}
