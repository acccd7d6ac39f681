/* Builds a program while the model language runs: inputs with symbols, parameters and buffers by name, final checks of guards.
 * Outputs and their tree: capture_outputs.c. */
#include "capture/capture_state.h"

#include "capture/draft.h"
#include "capture/keep_going.h"
#include "capture/torch.h"
#include "capture/undrawn.h"
#include "op/functionalise.h"
#include "op/watch.h"

#include <stdio.h>

/* ---- symbols ---- */
/* Example sizes: large multiples of 16, all different, so that they equal no fixed size and divide well; inside the declared range. */
static tc_symvalue *hint_of(tc_capture *k, tc_sym symb) {
    struct tc_torch *T = k->c->torch;
    size_t i = (size_t)tc_sym_var_index(symb);
    if (i >= T->nhint) {
        tc_symvalue *grown = tc_mem(k->c, 2 * (i + 8) * sizeof *grown);
        if (T->nhint) memcpy(grown, T->hint, T->nhint * sizeof *grown);
        T->hint = grown, T->nhint = 2 * (i + 8);
    }
    return &T->hint[i];
}

static void set_hint(tc_capture *k, tc_sym symb, int64_t example, int64_t lo, int64_t hi) {
    size_t i = (size_t)tc_sym_var_index(symb);
    tc_symvalue *hint = hint_of(k, symb);
    if (hint->bound) return;
    static const int scale[TC_CAPTURE_MORE_ATTEMPTS][2] = {{32, 48}, {4, 6},   {1, 2},    {16, 16}, {4, 4},  {0, 1}, /* step and first */
                                                           {0, 512}, {0, 256}, {0, 1024}, {0, 160}, {0, 64}, {0, 224}};
    int a = k->attempt % (int)(sizeof scale / sizeof *scale);
    int64_t v = example >= 0 ? example : (int64_t)i * scale[a][0] + scale[a][1];
    if (v < lo) v = lo;
    if (v > hi) v = hi;
    *hint = (tc_symvalue){.i = v, .bound = true};
}

static void remember_dim(tc_capture *k, tc_sym symb, const char *where, bool declared) {
    size_t i = (size_t)tc_sym_var_index(symb);
    while (k->dims.len <= i) {
        tc_avec_push(k->c, &k->dims, NULL);
        tc_avec_push(k->c, &k->declared, false);
    }
    if (!k->dims.data[i]) k->dims.data[i] = where, k->declared.data[i] = declared;
}

static tc_sym symbol(tc_capture *k, const char *name, const char *where, int64_t example, bool declared) {
    int64_t lo = 0, hi = TC_SYM_NO_HI;
    for (int i = 0; i < k->nranges; i++) /* 0 is used as an example only if it is requested */
        if (k->ranges[i].symbol && !strcmp(k->ranges[i].symbol, name) && k->ranges[i].hi && k->ranges[i].lo == 0) lo = 0;
    for (int i = 0; i < k->nranges; i++)
        if (k->ranges[i].symbol && !strcmp(k->ranges[i].symbol, name) && k->ranges[i].hi) {
            if (k->ranges[i].lo > lo) lo = k->ranges[i].lo;
            if (k->ranges[i].hi < hi) hi = k->ranges[i].hi;
        }
    if (lo > hi) tc_raise(k->c, "ValueError", "the range of %s is empty: %lld..%lld", name, (long long)lo, (long long)hi);
    tc_sym v = tc_sym_var(k->p->sym, name, TC_SYM_INT, lo, hi);
    if ((size_t)tc_sym_var_index(v) < k->nsizes) example = k->sizes[tc_sym_var_index(v)].value;
    set_hint(k, v, example, lo, hi);
    if (example >= 0) tc_program_set_example(k->p, v, example);
    remember_dim(k, v, where, declared);
    return v;
}

/* "64", "B", "2*T": symbols in an expression are declared as they appear. */
static tc_sym size_of(tc_capture *k, const char *text, const char *where, int64_t example) {
    char *end;
    int64_t n = strtoll(text, &end, 10);
    if (!*end && end != text) return tc_sym_int(k->p->sym, n);
    bool plain = true;
    for (const char *p = text; *p; p++)
        plain = plain && ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || *p == '_' || (p > text && *p >= '0' && *p <= '9'));
    if (plain) return symbol(k, text, where, example, true);
    for (const char *p = text; *p;) {
        if ((*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') || *p == '_') {
            const char *q = p;
            while ((*q >= 'A' && *q <= 'Z') || (*q >= 'a' && *q <= 'z') || *q == '_' || (*q >= '0' && *q <= '9')) q++;
            symbol(k, tc_arena_strndup(&k->c->arena, p, (size_t)(q - p)), where, -1, true);
            p = q;
        } else p++;
    }
    tc_sym s;
    tc_status st = tc_sym_parse(k->p->sym, text, strlen(text), &s);
    if (st) tc_raise_status(k->c, "ValueError", st);
    return s;
}

/* ---- inputs ---- */
static tc_value *lift(C *c, tensor *t);

tc_capture *tc_capture_begin(C *c, const char *name) {
    tc_capture *k = tc_mem(c, sizeof *k);
    struct tc_torch *T = c->torch;
    k->c = c;
    k->p = tc_program_create(name);
    k->p->watch = c->watch;
    k->p->graph = tc_graph_create(k->p, NULL, "main");
    k->root = tc_mem(c, sizeof(region));
    T->capture = k;
    T->lift = lift;
    T->hint = NULL, T->nhint = 0, T->simplified = 0;
    T->reads.len = 0, T->writes = 0;
    k->was_capturing = c->capturing;
    c->graph_full = false;
    tc_torch_enter(c, k->root, k->p->graph);
    return k;
}

void tc_capture_ranges(tc_capture *k, const tc_capture_dim *dims, int n) { k->ranges = dims, k->nranges = n; }
void tc_capture_attempt(tc_capture *k, int attempt) { k->attempt = attempt; }
void tc_capture_lenient(tc_capture *k) { k->lenient = true; }

void tc_capture_sizes(tc_capture *k, const tc_side_size *sizes, size_t n) { k->sizes = sizes, k->nsizes = n, k->lenient = true; }

void tc_capture_follow(tc_capture *k, const char *const *axes, size_t n, int64_t same_as) { k->follow = axes, k->nfollow = n, k->same_as = same_as; }

int64_t tc_capture_forced(C *c) { return tc_capture_active(c) ? tc_capture_active(c)->forced : 0; }

size_t tc_capture_tied(tc_capture *k, const char ***out) {
    tc_symctx *s = k->p->sym;
    size_t n = 0;
    *out = tc_mem(k->c, sizeof **out * (k->dims.len + 1));
    for (size_t i = 0; i < k->dims.len; i++) {
        tc_sym v = tc_sym_var_at(s, i), now = tc_sym_simplify(s, v);
        int64_t value;
        if (!k->dims.data[i] || k->declared.data[i] || tc_sym_const_int(now, &value)) continue;
        bool tied = now != v;
        for (size_t j = 0; j < k->dims.len; j++) tied |= k->dims.data[j] && k->declared.data[j] && tc_sym_simplify(s, tc_sym_var_at(s, j)) == v;
        if (tied) (*out)[n++] = k->dims.data[i];
    }
    return n;
}

static bool follows(const tc_capture *k, const char *axis, int64_t example) {
    for (size_t i = 0; i < k->nfollow; i++)
        if (!strcmp(axis, k->follow[i])) return true;
    return !k->nfollow && example == k->same_as && k->same_as;
}

size_t tc_capture_sided(tc_capture *k, tc_side_size **out) {
    const struct tc_torch *T = k->c->torch;
    const size_t n = tc_sym_var_count(k->p->sym) < k->dims.len ? tc_sym_var_count(k->p->sym) : k->dims.len;
    *out = tc_mem(k->c, sizeof **out * (n + 1));
    for (size_t i = 0; i < n; i++) {
        tc_side_size *s = &(*out)[i];
        tc_sym v = tc_sym_var_at(k->p->sym, i);
        *s = (tc_side_size){.declared = k->declared.data[i] && T->hint[i].bound && tc_sym_type(v) == TC_SYM_INT, .value = T->hint[i].i};
        if (s->declared) tc_sym_range(k->p->sym, v, &s->lo, &s->hi);
    }
    k->sided = true;
    return n;
}

bool tc_capture_side_forced(const tc_capture *k) { return k->side_forced; }

static void reset(tc_capture *k) {
    struct tc_torch *T = k->c->torch;
    k->c->capturing = k->was_capturing, k->c->graph_full = false;
    tc_undo_all(k->c);
    for (size_t i = 0; i < k->touched.len; i++) k->touched.data[i].t->v = k->touched.data[i].before;
    for (size_t i = 0; i < k->slots.len; i++) {
        slot *s = &k->slots.data[i];
        tc_dict_set(k->c, (dict *)s->owner, (V)s->key, s->value);
    }
    if (k->root->functional) tc_functional_destroy(k->root->functional);
    k->root->functional = NULL;
    tc_map_free(&T->modules);
    tc_map_free(&T->freed);
    T->modules = T->freed = (tc_map){0};
    T->region = NULL, T->graph = NULL, T->capture = NULL, T->hint = NULL, T->nhint = 0;
    T->here_program = NULL; /* the next program may have the same address */
}

bool tc_capture_chose_sizes(C *c) {
    tc_capture *k = tc_capture_active(c);
    return k && k->p->guards.len > 0 && c->torch->nhint > 0;
}

void tc_capture_abandon(C *c) {
    tc_capture *k = tc_capture_active(c);
    if (!k) return;
    tc_torch_unwind(c, k->root);
    reset(k);
    tc_program_release(k->p);
}

static tc_value *tensor_input(tc_capture *k, const char *hint, const tc_tensor *t, bool requires_grad) {
    tc_sym size[TC_MAX_RANK], stride[TC_MAX_RANK];
    for (int i = 0; i < t->rank; i++) size[i] = tc_sym_int(k->p->sym, t->size[i]), stride[i] = tc_sym_int(k->p->sym, t->stride[i]);
    tc_value *v = tc_graph_value(k->p->graph, TC_V_TENSOR, hint);
    v->meta = tc_meta_make(&k->p->arena, t->dtype, t->rank, size, tc_tensor_is_contiguous(t) ? NULL : stride);
    v->meta.requires_grad = requires_grad;
    return tc_graph_add_input(k->p->graph, v);
}

/* Value names are identifiers: "blocks.0.weight" is p_blocks_0_weight, as in PyTorch. For deeply nested modules only the end of the name is kept,
 * because every use of the value repeats it. */
static const char *mangled(tc_capture *k, const char *prefix, const char *name) {
    enum { LONGEST = 160 };
    size_t n = strlen(name);
    if (n > LONGEST) {
        const char *end = name + n - LONGEST, *whole = strchr(end, '.');
        name = whole && whole[1] ? whole + 1 : end;
    }
    char *s = tc_arena_printf(&k->p->arena, "%s%s", prefix, name);
    for (char *p = s; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') || (*p >= '0' && *p <= '9'))) *p = '_';
    return s;
}

static void stands_for(tc_capture *k, tensor *t, tc_value *v) {
    touched x = {t, t->v};
    tc_avec_push(k->c, &k->touched, x);
    t->v = v;
}

static void add_state(tc_capture *k, const char *name, V value, tc_input_kind role, bool requires_grad, bool persistent) {
    if (!tc_is_tensor(value)) return;
    tensor *t = (tensor *)value;
    if (!t->t.storage) tc_raise(k->c, "RuntimeError", "%s is not a concrete tensor", name);
    int tied = -1;
    if (t->v && t->v->graph == k->p->graph)
        for (int i = 0; i < k->p->ninputs && tied < 0; i++)
            if (k->p->inputs[i].value == t->v) tied = i;
    tc_value *v = tensor_input(k, mangled(k, role == TC_IN_PARAMETER ? "p_" : "b_", name), &t->t, role == TC_IN_PARAMETER && requires_grad);
    tc_input in = {.kind = role, .value = v, .name = tc_arena_strdup(&k->p->arena, name), .persistent = persistent, .alias_of = tied};
    in.data = tc_tensor_share(tied >= 0 ? &k->p->inputs[tied].data : &t->t);
    tc_program_add_input(k->p, in);
    if (tied < 0) stands_for(k, t, v);
}

void tc_capture_parameter(tc_capture *k, V t, const char *name) {
    ((tensor *)t)->requires_grad = tc_is_float(((tensor *)t)->t.dtype);
    add_state(k, name, t, TC_IN_PARAMETER, ((tensor *)t)->requires_grad, true);
}

void tc_capture_weight(tc_capture *k, V t, const char *name, bool buffer, bool requires_grad) {
    add_state(k, name, t, buffer ? TC_IN_BUFFER : TC_IN_PARAMETER, requires_grad, true);
}

V tc_capture_eagerly(C *c, V f, args *A) {
    struct tc_torch *T = c->torch;
    region *r = T->region;
    tc_graph *g = T->graph;
    const bool capturing = c->capturing;
    V volatile result = NULL;
    trap t;
    T->region = NULL, T->graph = NULL, c->capturing = false;
    if (TC_TRAP_PASSING(c, t)) {
        result = tc_call(c, f, A);
        tc_untrap(c, &t);
    }
    T->region = r, T->graph = g, c->capturing = capturing;
    if (!result) tc_raise_again(c, c->exc);
    return result;
}

static dict *held(C *c, V m, const char *which) {
    V d = m->attrs ? tc_dict_gets(c, m->attrs, tc_intern(c, which, strlen(which))) : NULL;
    return d && tc_kind_of(d) == K_DICT ? (dict *)d : NULL;
}

static void remember_buffers(tc_capture *k, V m) {
    C *c = k->c;
    dict *d = held(c, m, "_buffers");
    if (!d) return;
    d->module = NULL; /* changes that forward makes to older lists and dicts are not part of the program, except for these */
    V key, v;
    for (size_t j = 0; tc_dict_next(d, &j, &key, &v);) {
        slot s = {.owner = (V)d, .key = tc_torch_joined(c, NULL, key), .value = v, .input = -1};
        if (tc_is_tensor(v))
            for (int n = 0; n < k->p->ninputs; n++)
                if (k->p->inputs[n].value && k->p->inputs[n].value == ((tensor *)v)->v) s.input = n;
        tc_avec_push(c, &k->slots, s);
    }
}

/* The name of each module of m, and the buffers that it holds now. */
static void places(tc_capture *k, list *modules) {
    for (size_t i = 0; i < modules->n; i++) {
        size_t n;
        V *pair = tc_items(modules->a[i], &n);
        void **at = tc_map_put(&k->c->torch->modules, (const char *)&pair[1], sizeof pair[1]);
        if (*at) continue;
        const str *name = tc_as_str(pair[0]);
        tc_module_place *own = *at = TC_NEW(&k->p->arena, tc_module_place);
        *own = (tc_module_place){.name = name->s, .n = name->len, .plain = name->len && !strpbrk(name->s, ";,@")};
        remember_buffers(k, pair[1]);
    }
}

/* The module whose method runs in f; NULL: no module of the model. */
static tc_module_place *place_of(C *c, const frame *f) {
    const scope *s = f->sc;
    if (s->kind != SC_FUNC || !s->nparams || s->params[0].name != c->n_self) return NULL;
    V self = f->slots[s->params[0].var->slot];
    if (self && s->params[0].var->cell) self = ((cell *)self)->v;
    return self && !tc_is_small(self) ? tc_map_get(&c->torch->modules, (const char *)&self, sizeof self) : NULL;
}

/* Storing all levels at every node would be cubic in the depth: beyond this depth the innermost level replaces the last one. */
enum { MODULE_LEVELS = 32 };

/* The bytes of the stack that are kept when a level is added. */
static size_t outer_levels(const char *calls) {
    int levels = *calls != 0;
    for (const char *p = calls; (p = strchr(p, ';')); p++) levels++;
    return levels < MODULE_LEVELS ? strlen(calls) : (size_t)(strrchr(calls, ';') - calls);
}

/* A call of a method by another method of the same module belongs to that module's call. */
static const char *calls_of(C *c, frame *f) {
    tc_module_place *own = NULL;
    while (f && !(own = place_of(c, f))) f = f->prev;
    if (!f || f->calls) return f ? f->calls : "";
    const char *outer = calls_of(c, f->prev), *last = strrchr(outer, ';');
    last = last ? last + 1 : outer;
    if (!own->plain || (!strncmp(last, own->name, own->n) && (!last[own->n] || last[own->n] == '@'))) return f->calls = outer;
    char number[24] = "";
    if (f->fn && (f->fn->name == c->n_forward || f->fn->name == c->n___call__) && own->times++)
        snprintf(number, sizeof number, "@%lld", (long long)own->times - 1);
    const size_t stay = outer_levels(outer), tail = strlen(number);
    char *text = tc_arena_alloc(&tc_torch_program(c)->arena, stay + 1 + own->n + tail + 1), *to = text;
    memcpy(to, outer, stay), to += stay;
    if (stay) *to++ = ';';
    memcpy(to, own->name, own->n), to += own->n;
    memcpy(to, number, tail + 1);
    return f->calls = text;
}

const char *tc_torch_calls(C *c) {
    const char *calls = c->torch && c->torch->modules.len ? calls_of(c, c->fr) : "";
    return *calls ? calls : NULL;
}

void tc_capture_places(tc_capture *k, V m) {
    if (tc_type_of(k->c, m)->kind == K_OBJECT && held(k->c, m, "_modules")) places(k, tc_torch_named_modules(k->c, m, tc_intern(k->c, "", 0)));
}

/* The result of state_dict() if a module overrides it; NULL if none does: then it is every parameter and persistent buffer. */
static V own_state_dict(C *c, V m, list *modules) {
    static const char *const ways[] = {"state_dict", "_save_to_state_dict"};
    V base = tc_module_attr(c, tc_import(c, "torch.nn.module", true), tc_intern(c, "Module", 6));
    bool own = false;
    for (size_t i = 0; i < modules->n && !own; i++) {
        size_t n;
        V sub = tc_items(modules->a[i], &n)[1];
        const dict *before = held(c, sub, "_state_dict_pre_hooks"), *hooks = held(c, sub, "_state_dict_hooks");
        own = (before && before->live) || (hooks && hooks->live);
        for (int w = 0; w < 2; w++) {
            str *name = tc_intern(c, ways[w], strlen(ways[w]));
            own |= tc_type_lookup(c, sub->type, name) != tc_type_lookup(c, (type *)base, name);
        }
    }
    if (!own) return NULL;
    V saved = tc_call0(c, tc_getattr(c, m, tc_intern(c, "state_dict", 10)));
    if (tc_kind_of(saved) != K_DICT) tc_raise(c, "TypeError", "state_dict() must give a dict, not %s", tc_type_name(c, saved));
    return saved;
}

static void state_of(tc_capture *k, V pair, bool buffers, V saved) {
    C *c = k->c;
    size_t n;
    V *item = tc_items(pair, &n), key, value;
    V passing = tc_dict_gets(c, item[1]->attrs, tc_intern(c, "_non_persistent_buffers_set", 27));
    const dict *d = held(c, item[1], buffers ? "_buffers" : "_parameters");
    for (size_t i = 0; d && tc_dict_next(d, &i, &key, &value);) {
        if (!tc_is_tensor(value)) continue;
        const str *path = tc_as_str(item[0]);
        bool kept =
            saved ? tc_dict_get(c, (dict *)saved, (V)tc_torch_joined(c, path, key)) != NULL : !buffers || !passing || !tc_contains(c, passing, key);
        add_state(k, tc_torch_joined_text(c, path, key), value, buffers ? TC_IN_BUFFER : TC_IN_PARAMETER, ((tensor *)value)->requires_grad, kept);
    }
}

void tc_capture_state(tc_capture *k, V m) {
    C *c = k->c;
    struct tc_torch *T = c->torch;
    region *r = T->region;
    T->region = NULL, T->graph = NULL; /* reading names must not add nodes */
    list *modules = tc_torch_named_modules(c, m, tc_intern(c, "", 0));
    V saved = own_state_dict(c, m, modules);
    for (int buffers = 0; buffers < 2; buffers++)
        for (size_t i = 0; i < modules->n; i++) state_of(k, modules->a[i], buffers, saved);
    places(k, modules);
    T->region = r, T->graph = r ? r->graph : NULL;
}

/* The name of a module attribute that holds t, as PyTorch names such a constant: "blocks.0.mask"; NULL: none. */
static const char *attribute_of(tc_capture *k, const tensor *t) {
    const tc_map *modules = &k->c->torch->modules;
    for (size_t i = 0; i < modules->len; i++) {
        const char *path = ((const tc_module_place *)modules->entries[i].value)->name;
        V m, key, v;
        memcpy(&m, modules->entries[i].key, sizeof m);
        for (size_t at = 0; m->attrs && tc_dict_next(m->attrs, &at, &key, &v);)
            if (v == (V)t && tc_kind_of(key) == K_STR) return tc_arena_printf(&k->p->arena, "%s%s%s", path, *path ? "." : "", tc_as_str(key)->s);
    }
    return NULL;
}

/* A concrete tensor that is neither parameter nor buffer becomes a constant of the program. Values of outer graphs become operands of branches. */
static tc_value *lift(C *c, tensor *t) {
    tc_capture *k = tc_capture_active(c);
    if (t->v) return tc_torch_lift_region(c, t->v);
    const char *name = attribute_of(k, t);
    for (int i = 0; name && i < k->p->ninputs; i++) /* the attribute held another tensor before */
        if (k->p->inputs[i].kind == TC_IN_CONSTANT && !strcmp(k->p->inputs[i].name, name)) name = NULL;
    if (!name) name = tc_arena_printf(&k->p->arena, "lifted_tensor_%d", k->nconstants++);
    tc_undrawn_touch(c, &t->t); /* a constant may decide the graph */
    tc_value *v = tensor_input(k, mangled(k, "c_", name), &t->t, t->requires_grad);
    tc_program_add_input(k->p, (tc_input){.kind = TC_IN_CONSTANT, .value = v, .name = name, .alias_of = -1, .data = tc_tensor_share(&t->t)});
    stands_for(k, t, v);
    return c->torch->graph == k->p->graph ? v : tc_torch_lift_region(c, v);
}

V tc_capture_tensor(tc_capture *k, const tc_capture_input *in) {
    tc_sym size[TC_MAX_RANK];
    int rank = in->example.storage ? in->example.rank : in->rank;
    tc_dtype d = in->example.storage ? in->example.dtype : in->dtype;
    for (int i = 0; i < rank; i++) {
        char *where = tc_arena_printf(&k->c->arena, "%s.%d", in->name, i);
        int64_t example = in->example.storage ? in->example.size[i] : in->hints ? in->hints[i] : -1;
        const char *text = in->size[i];
        for (int j = 0; j < k->nranges; j++)
            if (k->ranges[j].path && !strcmp(k->ranges[j].path, in->name) && (k->ranges[j].axis == i || k->ranges[j].axis == i - rank))
                text = k->ranges[j].symbol;
        bool named = false; /* if any axis is named, the other axes have the size of the example */
        for (int j = 0; j < k->nranges; j++) named |= k->ranges[j].path != NULL;
        if (text) size[i] = size_of(k, text, where, example);
        else if (named && in->example.storage && !follows(k, where, example)) size[i] = tc_sym_int(k->p->sym, example);
        else if (in->example.storage) size[i] = symbol(k, tc_arena_printf(&k->c->arena, "s%zu", tc_sym_var_count(k->p->sym)), where, example, false);
        else tc_raise(k->c, "ValueError", "input %s: dimension %d has no size", in->name, i);
    }
    tc_value *v = tc_graph_value(k->p->graph, TC_V_TENSOR, mangled(k, "", in->name));
    v->meta = tc_meta_make(&k->p->arena, d, rank, size, NULL);
    v->meta.requires_grad = in->requires_grad;
    tc_graph_add_input(k->p->graph, v);
    tc_program_add_input(k->p, (tc_input){.kind = TC_IN_USER, .value = v, .name = tc_arena_strdup(&k->p->arena, in->name), .alias_of = -1});
    V t = tc_torch_wrap_value(k->c, v);
    ((tensor *)t)->computed = in->writable;
    return t;
}

static tc_sym number_input(tc_capture *k, const char *name, tc_dtype d, int64_t lo) {
    tc_symtype t = d == TC_BOOL ? TC_SYM_BOOL : tc_is_float(d) ? TC_SYM_FLOAT : TC_SYM_INT;
    tc_value *v = tc_graph_value(k->p->graph, TC_V_SYM, mangled(k, "", name));
    v->sym = tc_sym_var(k->p->sym, name, t, lo, TC_SYM_NO_HI);
    tc_graph_add_input(k->p->graph, v);
    tc_program_add_input(k->p, (tc_input){.kind = TC_IN_USER, .value = v, .name = tc_arena_strdup(&k->p->arena, name), .alias_of = -1});
    return v->sym;
}

V tc_capture_number(tc_capture *k, const char *name, tc_dtype d) { return tc_symv(k->c, number_input(k, name, d, TC_SYM_NO_LO)); }

V tc_capture_counted(tc_capture *k, const char *name, tc_dtype d, tc_symvalue now) {
    tc_sym s = number_input(k, name, d, tc_is_float(d) ? TC_SYM_NO_LO : 0);
    now.bound = true;
    *hint_of(k, s) = now;
    return tc_symv(k->c, s);
}

/* A size after all guards: another expression, or the only number within its bounds. The size itself if it is free. */
static tc_sym narrowed(tc_symctx *ctx, tc_sym size) {
    const tc_sym s = tc_sym_simplify(ctx, size);
    int64_t lo, hi;
    if (s != size || tc_sym_type(size) != TC_SYM_INT) return s;
    tc_sym_range(ctx, size, &lo, &hi);
    return lo == hi ? tc_sym_int(ctx, lo) : s;
}

bool tc_capture_pins(const tc_program *p, size_t i) {
    int64_t value;
    return tc_sym_const_int(narrowed(p->sym, tc_sym_var_at(p->sym, i)), &value);
}

/* A size that was declared dynamic and that a guard fixes: an error at the guard's line. */
static void check_forced(tc_capture *k) {
    tc_program *p = k->p;
    C *c = k->c;
    for (size_t i = 0; i < k->dims.len && i < tc_sym_var_count(p->sym); i++) {
        if (!k->dims.data[i]) continue;
        tc_sym symb = tc_sym_var_at(p->sym, i), s = narrowed(p->sym, symb);
        if (s == symb) continue;
        tc_buf b = {0};
        tc_sym_print(&b, s);
        const char *text = tc_arena_strndup(&c->arena, tc_buf_str(&b), b.len);
        tc_buf_free(&b);
        int64_t value;
        bool constant = tc_sym_const_int(s, &value);
        tc_source at = {0};
        bool side = false, any = false;
        for (size_t g = 0; g < p->guards.len; g++) {
            tc_sym cond = p->guards.data[g].cond;
            tc_buf t = {0};
            tc_sym_print(&t, cond);
            bool names = strstr(tc_buf_str(&t), tc_sym_var_name(symb)) != NULL;
            tc_buf_free(&t);
            if (names) at = p->guards.data[g].source, side = p->guards.data[g].branch, any = p->guards.data[g].value;
        }
        if (constant && !at.file) continue; /* declared so */
        if (side && k->sided && k->declared.data[i] && !c->draft) {
            k->side_forced = true;
            continue;
        }
        if (c->draft)
            tc_draft_note(c, at, tc_arena_printf(&c->arena, "the size %s (%s) is fixed to %s", k->dims.data[i], tc_sym_var_name(symb), text));
        if (!k->declared.data[i] || k->lenient || c->draft) {
            if (c->warn)
                tc_warn(c, tc_arena_printf(&c->arena, "%s is fixed to %s by %s:%d", k->dims.data[i], text, at.file ? at.file : "the model", at.line));
            continue;
        }
        if (!constant) continue;
        k->forced = value;
        V e = tc_exc_new(c, (type *)tc_dict_gets(c, c->exceptions, tc_intern(c, "ValueError", 10)), c->none);
        V msg = tc_strf(c, "the size %s (%s) was declared free, but the model forces it to be %s: declare %s%s, or change this line", k->dims.data[i],
                        tc_sym_var_name(symb), any ? "a number known in advance" : text, any ? "one, as " : "", text);
        ((exc *)e)->args = tc_tuple(c, 1, &msg);
        for (file *f = c->files; f; f = f->next)
            if (at.file && !strcmp(f->name, at.file)) ((exc *)e)->file = f, ((exc *)e)->line = at.line, ((exc *)e)->col = at.col;
        if (!c->keep) tc_raise_value(c, e);
        tc_keep_point at_point = tc_keep_mark(c, NULL);
        c->exc = e;
        tc_keep_note(c, at_point);
    }
}

void tc_capture_look(tc_capture *k, V result) {
    C *c = k->c;
    tc_keep_point at = tc_keep_mark(c, NULL);
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        tc_capture_outputs(k, result, NULL, 0);
        tc_untrap(c, &t);
    } else tc_keep_note(c, at);
    check_forced(k);
}

tc_program *tc_capture_end(tc_capture *k) {
    C *c = k->c;
    tc_program *p = k->p;
    check_forced(k);
    if (!k->root->functional) k->root->functional = tc_functional_create(p->graph);
    tc_pass pass = tc_pass_begin(p, "functionalise", NULL);
    tc_status st = tc_functional_finish(k->root->functional);
    const tc_source *failed = st ? tc_functional_failed(k->root->functional) : NULL;
    p->functional = !st;
    if (!st) st = tc_detach_no_grad(p->graph);
    if (!st) tc_program_simplify(p);
    st = tc_pass_end(&pass, p, st);
    if (!st) st = tc_program_verify(p);
    if (st) tc_raise_status_at(c, "RuntimeError", st, failed);
    reset(k);
    return p;
}

/* ---- boundary ---- */
V tc_value_of_tensor(C *c, const tc_tensor *t, bool requires_grad) { return tc_torch_wrap(c, tc_tensor_share(t), requires_grad); }

const tc_tensor *tc_tensor_of_value(V v) { return tc_is_tensor(v) && ((tensor *)v)->t.storage ? &((tensor *)v)->t : NULL; }

tc_status tc_lang_create_with(const tc_lang_options *o, tc_eval run, struct tc_generator *gen, C **out) {
    TC_TRY(tc_lang_create(o, out));
    (*out)->torch->eval = run;
    (*out)->torch->gen = gen;
    return NULL;
}
