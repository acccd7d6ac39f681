/* Objects of the model language and the interpreter's internal interface: included by every file of lib/capture.
 *
 *     V  --- odd bits: an int of 63 bits
 *        '-- pointer to { type, attrs, payload }, in the arena of the context: nothing is freed before the context is
 *
 * An error (an exception of the language, or an exceeded limit) leaves through tc_raise, a longjmp to the innermost handler: a `try` of the model, or
 * tc_lang_run, which converts it to a tc_status. So functions return plain values, and must not own malloc'ed memory across a call that may raise. */
#ifndef TC_CAPTURE_OBJECT_H
#define TC_CAPTURE_OBJECT_H

#include "base/mem.h"
#include "graph/graph.h"
#include "sym/sym.h"
#include "tensor/tensor.h"

#include <setjmp.h>

typedef struct tc_obj *V;
typedef struct tc_lang C;

/* X(id, Python's name of the type) */
#define TC_LANG_KINDS(X)                                                                                                                         \
    X(OBJECT, "object")                                                                                                                          \
    X(NONE, "NoneType")                                                                                                                          \
    X(INT, "int")                                                                                                                                \
    X(BOOL, "bool")                                                                                                                              \
    X(FLOAT, "float")                                                                                                                            \
    X(COMPLEX, "complex")                                                                                                                        \
    X(STR, "str")                                                                                                                                \
    X(TUPLE, "tuple")                                                                                                                            \
    X(LIST, "list")                                                                                                                              \
    X(DICT, "dict")                                                                                                                              \
    X(SET, "set")                                                                                                                                \
    X(FROZENSET, "frozenset")                                                                                                                    \
    X(RANGE, "range")                                                                                                                            \
    X(SLICE, "slice")                                                                                                                            \
    X(ELLIPSIS, "ellipsis")                                                                                                                      \
    X(NOTIMPL, "NotImplementedType")                                                                                                             \
    X(FUNC, "function") X(NATIVE, "builtin_function_or_method") X(METHOD, "method") X(TYPE, "type") X(MODULE, "module") X(PROPERTY, "property")  \
        X(STATIC, "staticmethod") X(CLASSM, "classmethod") X(SUPER, "super") X(ITER, "iterator") X(GENEXPR, "generator") X(EXC, "BaseException") \
            X(CELL, "cell") X(ALIAS, "GenericAlias") X(MAPPROXY, "dict_view") X(TENSOR, "Tensor") X(DTYPE, "dtype") X(DEVICE, "device")          \
                X(SYM, "SymInt") X(OPFN, "operator") X(GENERATOR, "Generator") X(LAYOUT, "layout") X(SIZE, "Size")

typedef enum {
#define X(id, name) K_##id,
    TC_LANG_KINDS(X)
#undef X
        K_COUNT
} kind;

typedef struct type type;
typedef struct dict dict;
typedef struct str str;
typedef struct ast ast;
typedef struct scope scope;
typedef struct frame frame;
typedef struct running_loop running_loop;

struct tc_obj {
    type *type;
    dict *attrs;
};
typedef struct tc_obj obj;

struct str {
    obj h;
    const char *s;
    uint32_t len, nchars, hash;
    bool interned;
};
typedef struct {
    obj h;
    double f;
} flt;
typedef struct {
    obj h;
    double re, im;
} cplx;
typedef struct {
    obj h;
    bool neg;
    uint32_t n;
    uint32_t *d;
} big; /* magnitude in base 2^32, little-endian; only for values that do not fit 63 bits */
typedef struct {
    obj h;
    V *a;
    size_t n;
} tuple; /* also Size */
typedef struct {
    obj h;
    V *a;
    size_t n, cap;
    const void *module;
} list; /* module: of tc_maker_here when it was made */
typedef struct {
    V key, val;
    uint64_t hash;
} dentry; /* key NULL: deleted */
struct dict {
    obj h;
    dentry *e;
    size_t used, cap, live;
    uint32_t *slot;
    size_t nslots, filled; /* filled: slots that are not 0 */
    const void *module;
};
typedef struct {
    obj h;
    dict *d;
    bool frozen;
} set;
typedef struct {
    obj h;
    int64_t start, stop, step;
} range;
typedef struct {
    obj h;
    V start, stop, step;
} slice;
typedef struct {
    obj h;
    V v;
    const void *module; /* of tc_maker_here when it was made */
} cell;

/* Arguments of a call: positional, then keywords. */
typedef struct {
    V *a;
    int n;
    str **kn;
    V *kv;
    int nk;
} args;
typedef V (*native_fn)(C *c, args *A);
typedef struct {
    const char *name;
    native_fn fn;
} native_def;
typedef struct {
    obj h;
    str *name;
    native_fn fn;
    void *data;
    V owner;
} native; /* data: for closures in C */
typedef struct {
    obj h;
    V func, self;
} method;
typedef struct {
    obj h;
    str *name, *qualname, *module_name;
    scope *sc;
    dict *globals;
    struct module *module;
    V *cells;
    V *defaults;
    V *kwdefaults;
    V doc;
} func;
typedef struct module {
    obj h;
    str *name;
    dict *d;
    V (*missing)(C *c, struct module *m, str *name);
    struct file *file;
    str *package; /* base of relative imports: "a.b"; "": the folder of --source itself */
    bool loading, embedded;
    V stopped;  /* the error that stopped the module's top level; later lines were not run */
    int trying; /* C.trying when its top level began */
    V stand_in; /* the object that a file put in the module's place in sys.modules, asked for what the module has not; or NULL */
    dict *lost; /* names that a package's imports could not bind: the errors, the first of import * under "*"; or NULL */
} module;
typedef struct {
    obj h;
    V get, set, del;
    V doc;
} property;
typedef struct {
    obj h;
    V f;
} wrapper; /* staticmethod, classmethod */
typedef struct {
    obj h;
    type *cls;
    V self;
    type *self_type;
} superobj;
typedef struct {
    obj h;
    V args, cause, context;
    struct file *file;
    int line, col;
    const char *trace, *loops; /* loops: "line 12, iteration 3", or NULL */
    const char *detail;        /* what an uncaught exception says behind its text, or NULL */
    const char *cure;          /* lines that help, or NULL */
    str *missing;              /* the name not found: an attribute of owner, or, without owner, a variable */
    V owner;
    scope *scope;
    dict *globals;
    bool limit;
    bool raised; /* raised by the model's own raise or assert */
    bool from;   /* raise ... from ... */
    tc_code code;
} exc;
typedef struct {
    obj h;
    V origin, params;
    str *name;
} alias;
typedef struct {
    obj h;
    tc_sym s;
} symobj;
typedef struct {
    obj h;
    tc_dtype d;
} dtypeobj;
typedef struct {
    obj h;
    str *kindname;
    list *left; /* stack of the previous torch.device("meta") state for `with`; NULL: never entered */
    V index;
} device;
typedef struct {
    obj h;
    dict *d;
    int what;
} mapview; /* what: 0 keys, 1 values, 2 items */

/* Iterators: one struct; next returns NULL at the end. */
typedef struct iter iter;
struct iter {
    obj h;
    V (*next)(C *c, iter *it);
    V src, f;
    int64_t i, n, step;
    iter **sub;
    int nsub;
};

struct type {
    obj h;
    str *name, *module_name;
    kind kind; /* memory layout of instances */
    type **bases;
    int nbases;
    type **mro;
    int nmro;
    dict *d;
    bool user;        /* created by a class statement */
    bool closed;      /* instances have the attributes of __slots__ alone */
    str *takes_over;  /* __torch_function__ or __torch_dispatch__, by which it or a base takes over operators; NULL: neither */
    list *subclasses; /* of a class with user, in the order they were made; NULL: none */
    V doc;
    struct file *file;
    V (*instance_attr)(C *c, V self, str *name); /* native attributes, looked up after the type's dict; or NULL */
    V (*unbound_attr)(C *c, str *name);          /* native attributes of the type itself: torch.Tensor.add */
    bool (*instance_setattr)(C *c, V self, str *name, V v);
    struct {
        str *name;
        V v;
    } cache[32]; /* tc_type_lookup, valid while version is the context's */
    uint64_t version;
};

struct frame {
    frame *prev;
    scope *sc;
    V *slots;
    dict *globals;
    dict *locals; /* of a class body, else NULL */
    module *module;
    const ast *at; /* the node being evaluated: location of errors */
    const ast *statement;
    V ret;
    V handling; /* the exception being handled, for a bare raise */
    func *fn;
    struct generator *generator; /* the generator whose body it runs; NULL: a function */
    const running_loop *loop;    /* innermost running loop, or NULL */
    const char *calls;           /* cached stack of module calls (tc_torch_calls) */
    int depth;
};

/* A running loop, for messages. */
struct running_loop {
    const ast *at;
    int64_t i; /* iteration, from 0 */
    const running_loop *outer;
};

typedef struct trap {
    jmp_buf jb;
    struct trap *prev;
    frame *fr;
    const running_loop *loop;
    size_t vtop;
    int depth;
    bool passes;       /* everything caught is raised again */
    const char *drops; /* exceptions of this type are swallowed, so that their location need not be computed; NULL: none */
} trap;
/* if (TC_TRAP(c, t)) { body } else { handler: c->exc }; leave the body with tc_untrap(c, &t). */
#define TC_TRAP(c, t) (tc_trap_push((c), &(t)), setjmp((t).jb) == 0)
#define TC_TRAP_DROPPING(c, t, type) (tc_trap_push((c), &(t)), (t).drops = (type), setjmp((t).jb) == 0)
#define TC_TRAP_PASSING(c, t) (tc_trap_push((c), &(t)), (t).passes = true, setjmp((t).jb) == 0)

typedef struct file {
    const char *name;
    const char *text;
    size_t len;
    int before; /* number of lines prepended to the user's text */
    bool embedded;
    struct file *next;
} file;

/* ---- interned names, compared by pointer ---- */
#define TC_LANG_NAMES(X)                                                                                                                            \
    X(__init__)                                                                                                                                     \
    X(__new__)                                                                                                                                      \
    X(__call__)                                                                                                                                     \
    X(__class__)                                                                                                                                    \
    X(__dict__)                                                                                                                                     \
    X(__name__)                                                                                                                                     \
    X(__qualname__)                                                                                                                                 \
    X(__module__)                                                                                                                                   \
    X(__doc__)                                                                                                                                      \
    X(__getattr__)                                                                                                                                  \
    X(__getattribute__)                                                                                                                             \
    X(__setattr__)                                                                                                                                  \
    X(__delattr__)                                                                                                                                  \
    X(__get__)                                                                                                                                      \
    X(__set__)                                                                                                                                      \
    X(__delete__)                                                                                                                                   \
    X(__set_name__) X(__init_subclass__) X(__class_getitem__) X(__getitem__) X(__setitem__) X(__delitem__) X(__len__) X(__iter__) X(__next__)       \
        X(__contains__) X(__bool__) X(__eq__) X(__ne__) X(__lt__) X(__le__) X(__gt__) X(__ge__) X(__hash__) X(__repr__) X(__str__) X(__format__)    \
            X(__enter__) X(__exit__) X(__neg__) X(__pos__) X(__invert__) X(__abs__) X(__int__) X(__float__) X(__index__) X(__reversed__)            \
                X(__missing__) X(__annotations__) X(__post_init__) X(__bases__) X(__mro__) X(__file__) X(__all__) X(__round__) X(__copy__)          \
                    X(__deepcopy__) X(__torch_function__) X(__wrapped__) X(__defaults__) X(__self__) X(__func__) X(__instancecheck__)               \
                        X(__mro_entries__) X(__floor__) X(__ceil__) X(__trunc__) X(__divmod__) X(__match_args__) X(__slots__)                       \
                            X(__dataclass_fields__) X(__array_priority__) X(_tensor) X(__dir__) X(self) X(args) X(_fields) X(name) X(value) X(sort) \
                                X(key) X(reverse) X(_parameters) X(_buffers) X(_modules) X(forward) X(training) X(data) X(grad) X(requires_grad)

struct tc_torch; /* torch_*.c: state of the tensor side */

struct tc_lang {
    tc_arena arena;
    tc_map interned; /* text -> str* */
    type *types[K_COUNT];
    V none, true_, false_, ellipsis, notimpl;
#define X(n) str *n_##n;
    TC_LANG_NAMES(X)
#undef X
    dict *builtins;
    dict *modules;    /* dotted name -> module */
    dict *exceptions; /* name -> type */
    trap *traps;
    V exc; /* what was raised last */
    frame *fr;
    V *vstack;
    size_t vtop, vcap;       /* slots of running frames */
    const char *stack_limit; /* lowest address that the C stack may reach */
    int depth;
    int trying;   /* number of active try bodies */
    dict *failed; /* files that could not be imported: their errors; or NULL */
    uint64_t steps;
    /* limits */
    uint64_t max_steps;
    int ranks, rank; /* of torch.distributed (lang.h) */
    size_t max_memory, max_tensor_bytes, max_graph_nodes, tensor_bytes;
    int max_depth;
    file *files;
    const struct tc_embedded *more_sources; /* further embedded sources, or NULL */
    const char *const *source_dirs;         /* --source */
    int nsource_dirs;
    tc_buf printed;
    size_t forward_printed; /* where in it the text of the last capture of forward begins */
    struct tc_watch *watch;
    bool all_types; /* see tc_lang_options */
    bool capturing; /* forward is being captured: globals must not be changed */
    struct tc_torch *torch;
    int repr_depth;
    V repr_of[200];                    /* objects being formatted by repr(), to detect recursion */
    char *stack;                       /* what tc_lang_run runs on; NULL while it does */
    struct tc_side_stack *side_stacks; /* of generators */
    const scope *blame;                /* function whose arguments are being bound: location of errors without a user line */
    bool graph_full;                   /* node limit exceeded: reported at the next loop iteration */
    uint64_t type_version;             /* bumped when the dict of a class changes */
    void (*warn)(void *self, const char *text);
    void *warn_self;
    dict *warned;               /* warnings already printed; NULL: none */
    struct tc_profile *profile; /* profile.h, or NULL */
    struct tc_draft *draft;     /* draft.h; NULL: data-dependent questions are errors */
    struct tc_keep *keep;       /* keep_going.h; NULL: the first failure ends the capture */
};

/* ---- object.c: creation and basic queries ---- */
static inline bool tc_is_small(V v) { return (uintptr_t)v & 1; }
static inline int64_t tc_small(V v) { return (int64_t)(intptr_t)v >> 1; }
static inline kind tc_kind_of(V v) { return tc_is_small(v) ? K_INT : v->type->kind; }
static inline type *tc_type_of(C *c, V v) { return tc_is_small(v) ? c->types[K_INT] : v->type; }
static inline bool tc_is_int(V v) {
    kind k = tc_kind_of(v);
    return k == K_INT || k == K_BOOL;
}
V tc_int(C *c, int64_t i);
V tc_float(C *c, double f);
V tc_complex(C *c, double re, double im);
static inline V tc_bool(C *c, bool b) { return b ? c->true_ : c->false_; }
V tc_strz(C *c, const char *s);
V tc_strn(C *c, const char *s, size_t n);
V tc_strf(C *c, const char *fmt, ...) TC_PRINTF(2, 3);
str *tc_intern(C *c, const char *s, size_t n);
str *tc_intern_str(C *c, str *s);
V tc_buf_to_str(C *c, tc_buf *b); /* frees b */
static inline str *tc_as_str(V v) { return (str *)v; }
static inline double tc_flt(V v) { return ((flt *)v)->f; }
void *tc_new(C *c, kind k, size_t size);
void *tc_mem(C *c, size_t n);            /* allocates from the arena, within the memory limit */
void tc_memory_check(C *c, size_t more); /* raises when `more` bytes would exceed the limit */
V tc_tuple(C *c, size_t n, V const *a);  /* copies a; a NULL: filled with None */
V tc_tuple_of(C *c, int n, ...);
list *tc_list(C *c, size_t cap);
void tc_list_push(C *c, list *l, V v);
V tc_list_of(C *c, size_t n, V const *a);
V tc_cell(C *c, V v);
V tc_native(C *c, const char *name, native_fn fn, void *data);
V tc_method(C *c, V f, V self);
bool tc_truth(C *c, V v);
const char *tc_type_name(C *c, V v); /* for messages */
uint64_t tc_hash_value(C *c, V v);
bool tc_equal(C *c, V a, V b);     /* ==, as a truth */
bool tc_same(V a, V b);            /* is */
V tc_rich(C *c, int op, V a, V b); /* op: '<' 'l'(<=) '>' 'g'(>=) '=' '!' */
str *tc_repr(C *c, V v);
/* What the built-in type of v gives where its class has methods of its own: super().__repr__(), super().__str__(). */
str *tc_repr_built_in(C *c, V v);
str *tc_str_built_in(C *c, V v);
str *tc_to_str(C *c, V v);
V tc_slice(C *c, V start, V stop, V step);
void tc_slice_bounds(C *c, slice *s, int64_t len, int64_t *start, int64_t *stop, int64_t *step, int64_t *count);
int64_t tc_index(C *c, V v, const char *what); /* __index__, within int64 */
bool tc_is_seq(V v);                           /* tuple, list or Size */
V *tc_items(V v, size_t *n);                   /* of a tuple, list or Size */

/* Vectors in the arena: as tc_vec_push, never freed. */
void *tc_avec_grow_(C *c, void *data, size_t len, size_t *cap, size_t elem);
#define tc_avec_push(c, v, x)                                                                                                    \
    ((v)->len == (v)->cap ? (void)((v)->data = tc_avec_grow_((c), (v)->data, (v)->len, &(v)->cap, sizeof *(v)->data)) : (void)0, \
     (void)((v)->data[(v)->len++] = (x)))

/* ---- dict.c ---- */
dict *tc_dict(C *c);
V tc_dict_get(C *c, dict *d, V key);     /* NULL when absent */
V tc_dict_gets(C *c, dict *d, str *key); /* interned key: by pointer first */
void tc_dict_set(C *c, dict *d, V key, V val);
bool tc_dict_del(C *c, dict *d, V key);
void tc_dict_clear(C *c, dict *d);
dict *tc_dict_copy(C *c, dict *d);
void tc_dict_setc(C *c, dict *d, const char *key, V val);
set *tc_set(C *c, bool frozen);
/* for (size_t i = 0; tc_dict_next(d, &i, &k, &v);) */
bool tc_dict_next(const dict *d, size_t *i, V *key, V *val);

/* ---- errors.c ---- */
void tc_trap_push(C *c, trap *t);
void tc_untrap(C *c, trap *t);
_Noreturn void tc_raise_value(C *c, V exc);
_Noreturn void tc_raise(C *c, const char *type, const char *fmt, ...) TC_PRINTF(3, 4); /* type: "TypeError" */
#define TC_DETAIL "\v" /* in fmt: what follows is no part of the text that the model sees (Python's), but told if nobody catches it */
/* Raises for a missing name: an attribute of owner, or (NULL) a variable; the final error message suggests a similar name. */
_Noreturn void tc_raise_missing(C *c, V owner, str *name, const char *type, const char *fmt, ...) TC_PRINTF(5, 6);
const char *tc_nearest_name(C *c, const exc *e); /* NULL: no similar name, or another kind of error */
_Noreturn void tc_raise_limit(C *c, const char *fmt, ...) TC_PRINTF(2, 3);
/* RecursionError: calls, or what C does for them, are nested too deep. */
_Noreturn void tc_raise_depth(C *c);
_Noreturn void tc_raise_code(C *c, tc_code code, const char *fmt, ...) TC_PRINTF(3, 4);
/* DataDependentError; cure: lines that help, or NULL */
_Noreturn void tc_raise_data(C *c, const char *cure, const char *fmt, ...) TC_PRINTF(3, 4);
_Noreturn void tc_raise_status(C *c, const char *type, tc_status s);    /* takes s; an exception type named in its message overrides `type` */
_Noreturn void tc_raise_status_as(C *c, const char *type, tc_status s); /* takes s; always of that type */
_Noreturn void tc_raise_status_at(C *c, const char *type, tc_status s, const tc_source *at); /* the same with the location of an earlier line */
_Noreturn void tc_syntax(C *c, file *f, int line, int col, const char *fmt, ...) TC_PRINTF(5, 6);
_Noreturn void tc_raise_again(C *c, V exc); /* keeps its place */
V tc_exc_new(C *c, type *t, V args);
void tc_errors_init(C *c);
tc_status tc_exc_status(C *c, V exc);
const char *tc_exc_line(C *c, V exc); /* its place, class and text; in the arena */
bool tc_exc_is(C *c, V exc, const char *type);
void tc_step(C *c);
void tc_steps(C *c, uint64_t n);
void tc_stack_check(C *c);
void tc_warn(C *c, const char *text); /* each text is printed once, since modes are captured one after another */
bool tc_is_loading(const C *c);       /* is the top level of a user's file running, or a call from it? */
frame *tc_user_frame(C *c);           /* the innermost of the user's own files; NULL: none */
bool tc_is_embedded(const C *c);      /* is the running source one of the library's? */
tc_source tc_here(C *c);              /* current location in the user's file, for graph nodes */

/* ---- bigint.c: ints of any size ---- */
V tc_int_op(C *c, int op, V a, V b); /* '+' '-' '*' '/'(floor) '%' '&' '|' '^' 'l'(<<) 'r'(>>) '*'*'*' */
V tc_int_pow(C *c, V a, V b, V mod);
V tc_int_neg(C *c, V a);
V tc_int_invert(C *c, V a);
int tc_int_cmp(V a, V b);
int tc_int_sign(V a);
double tc_int_to_double(C *c, V a);                                    /* correctly rounded; raises OverflowError */
V tc_int_from_double(C *c, double f);                                  /* truncates */
V tc_int_parse(C *c, const char *s, size_t n, int base, bool literal); /* NULL: not a number */
str *tc_int_text(C *c, V a, int base);
bool tc_int_fits(V a, int64_t *out);
V tc_int_from_u64(C *c, uint64_t u);
int tc_int_cmp_double(C *c, V a, double f);
double tc_int_truediv(C *c, V a, V b);
int64_t tc_int_bits(V a);
uint64_t tc_int_hash(V a);

/* ---- number.c: numbers as text ---- */
void tc_float_repr(tc_buf *b, double f);
str *tc_format_value(C *c, V v, const char *spec, size_t n); /* format(v, spec) */
V tc_percent(C *c, str *fmt, V args);
V tc_str_format(C *c, str *fmt, const args *A, V map); /* map NULL: format; else format_map */
double tc_parse_float(C *c, str *s);
V tc_parse_complex(C *c, const str *s);
double tc_to_double(C *c, V v); /* int, bool, float, __float__ */
double tc_round_half_even(double f, int64_t digits);

/* ---- attribute.c ---- */
V tc_getattr(C *c, V o, str *name);    /* raises AttributeError */
V tc_getattr_or(C *c, V o, str *name); /* NULL when absent */
void tc_setattr(C *c, V o, str *name, V v);
list *tc_slot_names(C *c, V slots);
void tc_delattr(C *c, V o, str *name);
void tc_object_setattr(C *c, V o, str *name, V v);
V tc_object_getattr(C *c, V o, str *name);  /* without __getattr__; NULL when absent */
V tc_bind(C *c, V attr, V self, type *cls); /* the descriptor protocol's get */
void tc_attributes_init(C *c);

/* ---- class.c ---- */
V tc_type_lookup(C *c, type *t, str *name); /* along the mro */
V tc_special(C *c, V o, str *name);         /* dunder on the type of a user object, unbound; NULL when absent */
bool tc_isinstance(C *c, V o, V cls);
bool tc_issubtype(type *a, type *b);
bool tc_issubclass(C *c, V a, V cls);
type *tc_type_new(C *c, const char *name, kind k, type *base);
/* A class of the given metaclass. kw: the arguments of __init_subclass__. */
V tc_class_make(C *c, type *meta, str *name, V bases, dict *ns, args *kw);
void tc_class_rebase(C *c, type *t, V bases);                   /* t.__bases__ = bases */
type *tc_metaclass(C *c, type *meta, const V *bases, size_t n); /* the most derived of meta (NULL: type) and those of the bases */
V tc_instantiate(C *c, type *t, args *A);                       /* type.__call__: __new__ and __init__, whatever the metaclass */
void tc_refuse_taking_over(C *c, const type *t);                /* instances of t would run its __torch_function__ in place of operators */
void tc_type_methods(C *c, kind k, const native_def *defs);
void tc_type_changed(C *c);
void tc_classes_init(C *c);

/* ---- namedtuple.c ---- */
V tc_namedtuple(C *c, str *name, dict *fields_defaults, V fields, dict *ns);
bool tc_is_namedtuple_new(const native *f);           /* f is __new__ of a named tuple, its data the class */
V tc_namedtuple_defaults(C *c, const type *t);        /* a tuple or None */
void tc_namedtuple_set_defaults(C *c, type *t, V to); /* raises TypeError */

/* ---- call.c ---- */
V tc_call(C *c, V f, args *A);
V tc_call0(C *c, V f);
V tc_call1(C *c, V f, V a);
V tc_call2(C *c, V f, V a, V b);
V tc_call3(C *c, V f, V a, V b, V d);
V tc_call_method(C *c, V o, str *name, int n, V *a); /* o.name(a...) */
V tc_func_new(C *c, scope *sc, frame *f, V *defaults, V *kwdefaults);
V tc_func_signature(C *c, func *f); /* list of (name, kind 0..4 as in ast.h, default or Ellipsis) */
/* Arguments of a native by a spec: "x y= *, key= reverse=": '=' optional (NULL in out), '*' keyword-only from here. */
void tc_take(C *c, args *A, const char *fname, const char *spec, V *out);

/* ---- eval.c ---- */
V tc_eval_expr(C *c, frame *f, const ast *n);
V tc_eval_node(C *c, frame *f, const ast *n);          /* its walk, without C.keep */
void tc_store(C *c, frame *f, const ast *target, V v); /* to a name, attribute, item or tuple of them */
V tc_run_code(C *c, frame *f);                         /* body of f->sc; value of return */
V tc_keys_as_set(C *c, V v);                           /* keys() and items() of a dict as a set; other values as they are */
V tc_binary(C *c, int op, V a, V b);                   /* op as in ast.h */
const char *tc_binary_symbol(int op);
V tc_unary(C *c, int op, V a);
V tc_getitem(C *c, V o, V key);
void tc_setitem(C *c, V o, V key, V v);
void tc_delitem(C *c, V o, V key);
bool tc_contains(C *c, V o, V x);
int64_t tc_len(C *c, V o);
V tc_genexpr(C *c, frame *f, const ast *n);

/* ---- generator.c ---- */
V tc_generator_new(C *c, frame fr); /* what a call of a function with `yield` gives; fr: of the call, copied */
V tc_yield(C *c, frame *f, const ast *n);
V tc_generator_result(C *c, V it);            /* what `return` gave when it ended; None of other iterators */
_Noreturn void tc_stop_iteration(C *c, V it); /* raises StopIteration with that */
void tc_generators_init(C *c);
void tc_side_stacks_free(C *c);
V tc_inplace(C *c, int op, V a, V b);
void tc_side_effect(C *c, const char *what);        /* "FILE:LINE: WHAT while forward is captured; the program does not do that" */
const void *tc_maker_here(const C *c);              /* of a list, dict or set made now: the module whose top level runs, NULL in forward, else c */
void tc_global_guard(C *c, const void *owner, V o); /* raises when a global object is changed while forward runs; keeps what others held */
/* Called before an attribute is set or deleted, and before a list, dict or set from before forward is changed: undo.c. */
void tc_undo_attr(C *c, obj *o, str *name);
void tc_undo_container(C *c, V o);
void tc_undo_cell(C *c, cell *o, str *name); /* a variable of an enclosing function; said where that ran before forward */

/* ---- iter.c ---- */
V tc_iter(C *c, V o);
V tc_iter_object(V it);                 /* what iter() gives, of what tc_iter() gave */
V tc_iter_until(C *c, V f, V sentinel); /* iter(f, sentinel) */
V tc_next(C *c, V it);                  /* NULL at the end */
list *tc_to_list(C *c, V o);
void tc_list_extend(C *c, list *l, V o);     /* l.extend(o), l += o */
void tc_dict_update(C *c, dict *d, args *A); /* as d.update(): A is of d, what to add, keywords */
dict *tc_mapping(C *c, V o);                 /* a dict, or what keys() and [] of another object give; NULL: o is no mapping */
iter *tc_iter_new(C *c, V (*next)(C *, iter *), V src);

/* ---- modules ---- */
module *tc_module(C *c, const char *name);
module *tc_import(C *c, const char *name, bool required); /* loads it; NULL when absent and not required */
const char *tc_import_version(C *c, const char *name);    /* of NAME-VERSION.dist-info in a folder of --source; or NULL */
void tc_import_lost(C *c, const module *m, str *name);    /* raises the error, if name is one that an import in m could not bind */
/* A module, an object that is part of one, or what stands for a module of Python's own library or of PyTorch that the language lacks: a file may
 * import it for what it does outside its model. Imported at `at` of f; ModuleNotFoundError for others, and where a try may choose another way. */
bool tc_import_finds(C *c, const char *name); /* without running it: only the packages that it lies in are imported */
V tc_import_any(C *c, const char *name, const file *f, const ast *at);
V tc_import_part(C *c, V from, str *part, const file *f, const ast *at); /* of `from FROM import PART` */
void tc_known(C *c, V v); /* refuses what a module that the language lacks may have made: whether it is None or of a type is not known */
V tc_lacking(C *c, const char *name, const char *what); /* what stands for such a part, which the user's line asks for */
bool tc_is_outside(C *c, V v);                          /* v stands for a module that the language lacks, or for a part of one */
/* "..a" as the absolute name that it has in `from`; the package of a model file: "" outside the folders of --source. */
const char *tc_import_name(C *c, const module *from, const char *name);
str *tc_package_of(C *c, const char *path);
V tc_module_attr(C *c, module *m, str *name); /* NULL when absent */
V tc_module_stand_in(C *c, const module *m, str *name); /* the attribute of what stands in its place in sys.modules; NULL when absent */
void tc_module_replace(C *c, str *name, V v);           /* sys.modules[name] = v */
module *tc_module_run(C *c, module *m, file *f);
void tc_builtins_init(C *c);
void tc_str_init(C *c);
void tc_containers_init(C *c);
void tc_protocol_init(C *c);
void tc_std_init(C *c);
void tc_define(C *c, dict *d, const native_def *defs);
file *tc_file_add(C *c, const char *name, const char *text, size_t len);

/* ---- symbolic numbers: symint.c ---- */
V tc_symv(C *c, tc_sym s);               /* an int, float or bool object when constant */
tc_sym tc_to_sym(C *c, V v);             /* of a number or SYM; NULL otherwise */
V tc_sym_binary(C *c, int op, V a, V b); /* NULL: not for it */
V tc_sym_compare(C *c, int op, V a, V b);
V tc_sym_unary(C *c, int op, V a);
bool tc_sym_truth(C *c, V v); /* decides, recording a guard */
/* The same of a condition that the source demands: a size without example that breaks it takes another value where there is one. */
bool tc_sym_require(C *c, V v);
V tc_sym_force_as(C *c, V v, const char *part); /* the number itself, pinned with a guard; part: ".shape[0]" of what is evaluated, or "" */
bool tc_sym_from_data(C *c, V v);               /* a condition that nothing known decides, on numbers that come from data */
V tc_sym_math(C *c, tc_symop op, V a);
V tc_sym_is_integer(C *c, V a);

/* ---- tensors: torch_*.c ---- */
void tc_torch_init(C *c);
V tc_tensor_binary(C *c, int op, V a, V b, bool inplace);
V tc_tensor_unary(C *c, int op, V a);
V tc_tensor_compare_op(C *c, int op, V a, V b);
bool tc_tensor_truth(C *c, V t, const char *what);
V tc_tensor_getitem(C *c, V t, V key);
void tc_tensor_setitem(C *c, V t, V key, V v);
V tc_tensor_attr(C *c, V t, str *name);
int64_t tc_tensor_len(C *c, V t);
V tc_tensor_iter(C *c, V t);
str *tc_tensor_repr(C *c, V t);
V tc_op_call(C *c, V f, args *A);
V tc_tensor_number(C *c, V t, const char *what); /* int(), float() of a tensor */
V tc_tensor_index(C *c, V t, const char *what);
bool tc_tensor_contains(C *c, V t, V x);
bool tc_tensor_formats_as_number(C *c, V t); /* f"{t}": a tensor of no dimensions, not a parameter, outside of captures */

#endif
