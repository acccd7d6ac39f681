/* The interpreter's context (lang.h): built-in types and singletons, the deep stack that it runs on, loading of sources. */
#include "capture/lang.h"
#include "capture/keep_going.h"

#include "capture/ast.h"
#include "capture/fiber.h"
#include "capture/torch.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_DEPTH = 10000 };
static const size_t STACK_BYTES = (size_t)128 << 20,
                    STACK_SPARE =
                        (size_t)68 << 20; /* reserved, and the part that must stay free: 60 MiB may be used, below what sanitizers can unwind */
static const size_t STACK_KEPT = (size_t)256 << 10; /* its part that stays in memory between runs */

file *tc_file_add(C *c, const char *name, const char *text, size_t len) {
    file *f = tc_arena_alloc(&c->arena, sizeof *f);
    f->name = tc_arena_strdup(&c->arena, name);
    f->text = text, f->len = len;
    f->next = c->files;
    c->files = f;
    return f;
}

static V singleton(C *c, kind k) { return tc_new(c, k, sizeof(obj)); }

static void setup(C *c, void *unused) {
    (void)unused;
    static const char *const names[] = {
#define X(id, name) name,
        TC_LANG_KINDS(X)
#undef X
    };
    /* the type of types first, then names, which all types need */
    c->types[K_TYPE] = tc_arena_alloc(&c->arena, sizeof(type));
    c->types[K_TYPE]->h.type = c->types[K_TYPE];
    c->types[K_TYPE]->kind = K_TYPE;
    c->types[K_DICT] = tc_arena_alloc(&c->arena, sizeof(type));
    c->types[K_STR] = tc_arena_alloc(&c->arena, sizeof(type));
    c->types[K_STR]->kind = K_STR;
    c->type_version = 1;
    for (int k = 0; k < K_COUNT; k++) {
        type *base = k == K_OBJECT ? NULL : k == K_BOOL ? c->types[K_INT] : k == K_SIZE ? c->types[K_TUPLE] : c->types[K_OBJECT];
        type *t = tc_type_new(c, names[k], (kind)k, base), *early = c->types[k];
        if (early) {
            *early = *t;
            early->mro[0] = early;
            t = early;
        }
        c->types[k] = t;
        t->h.type = c->types[K_TYPE];
        t->d->h.type = c->types[K_DICT];
    }
    c->none = singleton(c, K_NONE), c->true_ = singleton(c, K_BOOL), c->false_ = singleton(c, K_BOOL);
    c->ellipsis = singleton(c, K_ELLIPSIS), c->notimpl = singleton(c, K_NOTIMPL);
#define X(n) c->n_##n = tc_intern(c, #n, strlen(#n));
    TC_LANG_NAMES(X)
#undef X
    c->builtins = tc_dict(c);
    c->modules = tc_dict(c);
    tc_classes_init(c);
    tc_builtins_init(c);
    tc_errors_init(c);
    tc_generators_init(c);
    tc_str_init(c);
    tc_containers_init(c);
    tc_protocol_init(c);
    tc_std_init(c);
    tc_torch_init(c);
}

/* Checks that the folders of --source exist, so that a mistyped one is reported. */
static tc_status check_folders(const tc_lang_options *o) {
    for (int i = 0; i < o->nsource_dirs; i++) {
        struct stat st;
        const int bad = stat(o->source_dirs[i], &st) ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
        if (bad) return tc_error(TC_ENV, "%s: cannot open the folder of sources: %s", o->source_dirs[i], strerror(bad));
    }
    return NULL;
}

tc_status tc_lang_create(const tc_lang_options *o, C **out) {
    TC_TRY(check_folders(o));
    C *c = tc_xcalloc(1, sizeof *c);
    c->max_steps = o->max_steps ? o->max_steps : 5000000;
    c->ranks = o->ranks, c->rank = o->rank;
    c->max_memory = o->max_memory ? o->max_memory : (size_t)256 << 20;
    c->all_types = o->all_types;
    c->watch = o->watch;
    c->max_tensor_bytes = o->max_tensor_bytes ? o->max_tensor_bytes : (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    c->max_graph_nodes = o->max_graph_nodes ? o->max_graph_nodes : 100000;
    c->max_depth = MAX_DEPTH;
    c->source_dirs = o->source_dirs, c->nsource_dirs = o->nsource_dirs;
    c->vcap = (size_t)1 << 20;
    void *m = mmap(NULL, c->vcap * sizeof(V), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (m == MAP_FAILED) {
        free(c);
        return tc_error(TC_ENV, "no memory for the model language's frames");
    }
    c->vstack = m;
    tc_status s = tc_lang_run(c, setup, NULL);
    if (s) {
        tc_lang_destroy(c);
        return s;
    }
    *out = c;
    return NULL;
}

void tc_torch_deinit(C *c);

void tc_lang_destroy(C *c) {
    if (!c) return;
    tc_keep_release(c);
    tc_torch_deinit(c);
    munmap(c->vstack, c->vcap * sizeof(V));
    if (c->stack) munmap(c->stack, STACK_BYTES);
    tc_side_stacks_free(c);
    tc_map_free(&c->interned);
    tc_buf_free(&c->printed);
    tc_arena_free(&c->arena);
    free(c);
}

typedef struct {
    C *c;
    void (*fn)(C *, void *);
    void *ctx;
    tc_status status;
    const char *lowest;
} job;

static void on_stack(void *arg) {
    job *j = arg;
    C *c = j->c;
    c->stack_limit = j->lowest;
    trap t;
    if (TC_TRAP_PASSING(c, t)) {
        j->fn(c, j->ctx);
        tc_untrap(c, &t);
    } else j->status = tc_exc_status(c, c->exc);
}

/* The stack is mapped once; what a deep run used of it is given back. */
static void keep_stack(C *c, char *stack) {
    madvise(stack, STACK_BYTES - STACK_KEPT, MADV_DONTNEED);
    c->stack = stack;
}

tc_status tc_lang_run(C *c, void (*fn)(C *, void *), void *ctx) {
    job j = {.c = c, .fn = fn, .ctx = ctx};
    c->steps = 0;
    char *stack = c->stack;
    c->stack = NULL; /* taken */
    if (!stack) stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED) return tc_error(TC_ENV, "no memory for the stack of the model language");
    j.lowest = stack + STACK_SPARE;
    tc_fiber self, caller;
    tc_fiber_begin(&self, stack, STACK_BYTES, on_stack, &j);
    tc_fiber_cross(&caller, &self);
    tc_fiber_end(&self);
    keep_stack(c, stack);
    if (c->torch) c->torch->nscratch = 0;
    c->fr = NULL;
    c->traps = NULL;
    c->vtop = 0, c->depth = 0, c->repr_depth = 0;
    c->capturing = false;
    return j.status;
}

/* ---- sources ---- */
/* ---- a file that goes on, behind its classes, to what the language lacks ---- */
static void unbind(module *m, C *c, const ast *target) {
    if (!target) return;
    if (target->kind == N_NAME) tc_dict_del(c, m->d, (V)target->name);
    if (target->kind == N_TUPLE || target->kind == N_LIST)
        for (int i = 0; i < target->n; i++) unbind(m, c, target->list[i]);
    if (target->kind == N_STAR) unbind(m, c, target->a);
}

/* The names that a statement would bind are unknown. */
static void unbind_all(module *m, C *c, const ast *n) {
    if (!n) return;
    switch (n->kind) {
    case N_ASSIGN:
        for (int i = 0; i < n->n; i++) unbind(m, c, n->list[i]);
        return;
    case N_AUG:
    case N_ANN:
    case N_FOR:
    case N_ALIAS:
    case N_DEF:
    case N_CLASS: unbind(m, c, n->a); break;
    case N_ITEM:
    case N_HANDLER: unbind(m, c, n->b); break;
    case N_DEL:
        for (int i = 0; i < n->n; i++) unbind(m, c, n->list[i]);
        return;
    default: break;
    }
    if (n->kind < N_EXPR) return; /* expressions bind nothing, except for := */
    for (int i = 0; i < n->n; i++) unbind_all(m, c, n->list[i]);
    for (int i = 0; i < n->n2 && n->kind != N_CLASS && n->kind != N_DEF; i++) unbind_all(m, c, n->list2[i]);
    if (n->kind == N_TRY) unbind_all(m, c, n->a), unbind_all(m, c, n->b);
}

/* A script may create data and train after its classes. The first statement that needs an unsupported feature ends it, as an exception would in
 * Python, but the classes before it can be used. Names bound by this statement and later ones are undefined. */
static void run_top(C *c, module *m, frame *fr, bool may_stop) {
    trap t;
    if (!may_stop || c->keep) tc_run_code(c, fr); /* --keep-going reports the statement and continues after it */
    else if (TC_TRAP(c, t)) {
        tc_run_code(c, fr);
        tc_untrap(c, &t);
    } else {
        const exc *e = (exc *)c->exc;
        const scope *s = fr->sc;
        if (e->code != TC_UNSUPPORTED || e->limit || !fr->at) tc_raise_again(c, c->exc);
        m->stopped = c->exc;
        int i = 0;
        while (i + 1 < s->nbody && s->body[i + 1]->line <= fr->at->line) i++;
        if (c->warn && e->args && tc_is_seq(e->args)) {
            size_t n;
            V *a = tc_items(e->args, &n);
            tc_warn(c, tc_arena_printf(&c->arena, "%s:%d: the top level of the file is run up to here: %s", s->file->name, fr->at->line,
                                       n && tc_kind_of(a[0]) == K_STR ? tc_as_str(a[0])->s : "what follows is not supported"));
        }
        for (; i < s->nbody; i++) unbind_all(m, c, s->body[i]);
    }
}

static module *module_run(C *c, module *m, file *f, bool may_stop) {
    m->file = f;
    scope *s = tc_parse(c, f);
    if (s->doc) tc_dict_set(c, m->d, (V)c->n___doc__, s->doc);
    if (c->vtop + (size_t)s->nslots > c->vcap) tc_raise_depth(c);
    V *slots = c->vstack + c->vtop;
    memset(slots, 0, sizeof(V) * (size_t)s->nslots);
    size_t vtop = c->vtop;
    c->vtop += (size_t)s->nslots;
    frame fr = {.prev = c->fr, .sc = s, .slots = slots, .globals = m->d, .module = m, .depth = ++c->depth};
    c->fr = &fr;
    bool capturing = c->capturing;
    c->capturing = false; /* a module that is imported while forward runs may fill its own globals */
    m->loading = true;
    m->trying = c->trying;
    run_top(c, m, &fr, may_stop);
    m->loading = false;
    c->capturing = capturing;
    c->fr = fr.prev;
    c->depth--;
    c->vtop = vtop;
    return m;
}

module *tc_module_run(C *c, module *m, file *f) { return module_run(c, m, f, false); }

static module *load(C *c, const char *name, const char *text, size_t len, bool may_stop) {
    module *m = tc_new(c, K_MODULE, sizeof *m);
    m->name = tc_intern(c, "model", 5);
    m->d = tc_dict(c);
    tc_dict_set(c, m->d, (V)c->n___name__, (V)m->name);
    tc_dict_set(c, m->d, (V)c->n___file__, tc_strz(c, name));
    m->package = tc_package_of(c, name);
    return module_run(c, m, tc_file_add(c, name, text, len), may_stop);
}

module *tc_lang_load(C *c, const char *name, const char *text, size_t len) { return load(c, name, text, len, false); }

module *tc_lang_load_script(C *c, const char *name, const char *text, size_t len) { return load(c, name, text, len, true); }

static V eval_file(C *c, module *m, dict *names, file *f) {
    scope *s = tc_parse_expr(c, f);
    dict *g = m ? m->d : tc_dict(c);
    if (names) {
        g = tc_dict_copy(c, g);
        V k, v;
        for (size_t i = 0; tc_dict_next(names, &i, &k, &v);) tc_dict_set(c, g, k, v);
    }
    V *slots = tc_mem(c, sizeof(V) * (size_t)(s->nslots + 1));
    frame fr = {.prev = c->fr, .sc = s, .slots = slots, .globals = g, .module = m, .at = s->expr, .depth = ++c->depth};
    c->fr = &fr;
    V v = tc_eval_expr(c, &fr, s->expr);
    c->fr = fr.prev;
    c->depth--;
    return v;
}

V tc_lang_eval(C *c, module *m, dict *names, const char *label, const char *text) {
    return eval_file(c, m, names, tc_file_add(c, label, tc_arena_strdup(&c->arena, text), strlen(text)));
}

V tc_lang_function(C *c, module *m, const char *label, const char *params, const char *text) {
    const char *all = tc_arena_printf(&c->arena, "lambda %s:\n%s", params, text);
    file *f = tc_file_add(c, label, all, strlen(all));
    f->before = 1;
    V v = eval_file(c, m, NULL, f);
    if (tc_kind_of(v) != K_FUNC) tc_raise(c, "TypeError", "%s: found several values, expected one: %s", label, text);
    return v;
}
