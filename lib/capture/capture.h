/* Captures programs from model sources, for tc-export, tc-train and tests.
 *
 *     tc_capture_result r;
 *     TC_TRY(tc_capture_source(&(tc_capture_request){.path = "gpt.py", .text = text, .len = n, .class_name = "GPT", ...}, &r));
 *     r.model (eval), r.train (NULL where it is the same program)          programs are functional and verified; weights are shared
 *
 * The lower-level functions (tc_capture_begin ...) capture any callable of the language: losses, optimizer steps. */
#ifndef TC_CAPTURE_CAPTURE_H
#define TC_CAPTURE_CAPTURE_H

#include "capture/draft.h"
#include "capture/lang.h"
#include "capture/sides.h"
#include "op/op.h"

/* ---- inputs ---- */
typedef enum { TC_INPUT_TENSOR, TC_INPUT_EXPR, TC_INPUT_NUMBER } tc_capture_input_kind;
typedef struct {
    const char *name; /* "idx", "past.0", "batch.cat.0"; NULL or "": the next parameter of forward */
    tc_capture_input_kind kind;
    tc_dtype dtype; /* TENSOR, NUMBER (i64, f64 or bool) */
    int rank;
    const char *size[TC_MAX_RANK]; /* "B", "2*T", "64"; NULL with an example: dynamic */
    tc_tensor example;             /* storage NULL: none. Its sizes are the symbols' example values; borrowed */
    const int64_t *hints;          /* example sizes without an example tensor; NULL: none */
    const char *expr;              /* EXPR: a literal or an expression that sees the file's names */
    bool requires_grad;
    bool writable; /* with requires_grad: no leaf, so that the model may write to it in place */
} tc_capture_input;
/* --dim x.0=B:1..64 (path and axis) or --dim B=1..64 (path NULL). */
typedef struct {
    const char *path;
    int axis;
    const char *symbol;
    int64_t lo, hi;
} tc_capture_dim;
typedef struct {
    const char *name, *text;
} tc_capture_arg; /* a constructor argument: an expression in which the file's names are visible */

typedef struct {
    const char *arg, *input, *dim, *checkpoint;
} tc_capture_words; /* names of the settings in messages: NULL (the options), or their places in a recipe */

typedef struct {
    const char *path; /* for messages */
    tc_capture_words said;
    const char *text;
    size_t len;             /* length of text; borrowed during the call */
    const char *class_name; /* a class, or a function */
    const tc_capture_arg *args;
    int nargs;
    const tc_capture_input *inputs;
    int ninputs;
    const tc_capture_dim *dims;
    int ndims;
    bool eval, train; /* which modes; neither: both */
    int sides;        /* most programs per mode for a model that branches on declared sizes (sides.h); 0, 1: only that of the example */
    bool weights;     /* the caller will load weights into the programs */
    /* Callback for models that change what they load (load_state_dict hooks, an own _load_from_state_dict): calls `take` for each tensor of the weight
     * file, by the model's names where it has them. May be NULL. */
    tc_status (*stored)(void *self, const tc_map *own, void (*take)(void *to, const char *name, const tc_tensor *t), void *to);
    void *stored_self;
    bool
        eval_suffices; /* when both modes are asked for, omit train, with a warning, if only train mode fails (targets not given, a branch on data) */
    tc_observe observe; /* not NULL: draft mode (draft.h); every input must have an example */
    void *observe_self;
    struct tc_profile *profile;    /* capture/profile.h: time by line; NULL: none */
    bool keep_going;               /* on failure, continue and collect all errors (keep_going.h) */
    const char *const *checkpoint; /* classes whose modules run under torch.utils.checkpoint */
    int ncheckpoint;
    const char *const *preserve; /* modules whose call signatures are recorded */
    int npreserve;
    bool wide;    /* convert the module to float64 after construction (module.double()) */
    bool undrawn; /* the caller draws initial values: tc_undrawn_draw */
    uint64_t seed;
    tc_eval run; /* executor for constructors and initialisers */
    tc_lang_options limits;
    void (*warn)(void *self, const char *text);
    void *warn_self;
} tc_capture_request;

typedef struct {
    char *name;
    tc_tensor tensor;
} tc_capture_stored;

typedef struct tc_undrawn tc_undrawn; /* initial values of parameters and buffers that the capture did not need */

typedef struct {
    tc_program *model, *train; /* owned by the caller; train NULL when it is the same as model or was not asked for */
    tc_program **others;       /* sides: programs that replace one of them at other sizes; the caller's, in a malloc'ed list */
    size_t nothers;
    tc_capture_stored *stored; /* the weights as changed by the model's hooks; NULL: unchanged */
    size_t nstored;
    char *printed;       /* output of print(), malloc'ed; NULL: none */
    char *draft;         /* observe: the report, malloc'ed */
    size_t decided;      /* number of locations in the report */
    tc_status *failures; /* keep_going: the errors, by location; the malloc'ed list and the statuses are the caller's */
    size_t nfailures;
    tc_undrawn *undrawn; /* request.undrawn: initial values that nothing has read; NULL: none */
} tc_capture_result;

tc_status tc_capture_source(const tc_capture_request *r, tc_capture_result *out);
void tc_capture_stored_free(tc_capture_result *r);
/* Draws them if inputs of the n programs wait for some; once. */
tc_status tc_undrawn_draw(tc_undrawn *u, tc_eval run, tc_program *const *p, size_t n);
void tc_undrawn_free(tc_undrawn *u); /* NULL is allowed; what still waits keeps memory without values */

/* Lists the classes of the source that can be captured, with their constructor arguments, one per line. */
tc_status tc_capture_list(const tc_capture_request *r, tc_buf *out);

/* ---- inside tc_lang_run: capturing any callable ---- */
typedef struct tc_capture tc_capture;
tc_capture *tc_capture_begin(C *c, const char *name);                     /* operators are recorded until tc_capture_end */
void tc_capture_state(tc_capture *k, V module);                           /* parameters and buffers become inputs by FQN */
void tc_capture_ranges(tc_capture *k, const tc_capture_dim *dims, int n); /* call before declaring inputs; borrowed */
void tc_capture_attempt(tc_capture *k, int attempt); /* selects the example values of symbols without bounds: 0, 1, ... TC_CAPTURE_ATTEMPTS - 1 */
enum { TC_CAPTURE_ATTEMPTS = 5, TC_CAPTURE_MORE_ATTEMPTS = 12 };
/* Overrides all example values, in order of appearance of the symbols; borrowed. Sizes that the model then forces are not errors. */
void tc_capture_sizes(tc_capture *k, const tc_side_size *sizes, size_t n);
/* After the inputs: returns their symbols, in the context's arena. From then on a branch that fixes a declared size is not an error at once, only if the
 * model has no other side: tc_capture_side_forced tells. */
size_t tc_capture_sided(tc_capture *k, tc_side_size **out);
bool tc_capture_side_forced(const tc_capture *k);    /* also after the capture ended */
bool tc_capture_pins(const tc_program *p, size_t i); /* do the guards allow only one value for size i (in order of appearance)? */
/* For a declared size that the model forces to equal the example size of an undeclared axis, since both are the same size (batch of an input and of its
 * mask). Before the inputs: makes these axes ("pad.0"), or, with n 0, all axes whose example size is `same_as`, symbols, too. */
void tc_capture_follow(tc_capture *k, const char *const *axes, size_t n, int64_t same_as);
/* the forced size for which the capture was refused (before tc_capture_abandon); 0: none */
int64_t tc_capture_forced(C *c);
size_t tc_capture_tied(tc_capture *k, const char ***out);       /* at the end: those of these axes that equal another size; in the context's arena */
V tc_capture_tensor(tc_capture *k, const tc_capture_input *in); /* declares a user input */
V tc_capture_number(tc_capture *k, const char *name, tc_dtype d); /* declares a symbolic number as user input */
/* declares a number, at least 0 if i64, with current value `now` */
V tc_capture_counted(tc_capture *k, const char *name, tc_dtype d, tc_symvalue now);
/* Makes a concrete tensor a parameter or buffer of the program, sharing its memory. */
void tc_capture_weight(tc_capture *k, V t, const char *name, bool buffer, bool requires_grad);
/* Registers the names of module's submodules and the slots of its buffers (added by tc_capture_weight before): assigning a tensor to a slot mutates that
 * buffer. */
void tc_capture_places(tc_capture *k, V module);
/* Records signatures of the calls of these modules (tc_program.calls). TC_USAGE: no such module. */
void tc_capture_preserve(tc_capture *k, const char *const *names, int n);
void tc_capture_call_begins(C *c, V given, V keywords); /* called by the hooks of such a module */
void tc_capture_call_ends(C *c, V result);
void tc_capture_parameter(tc_capture *k, V t, const char *name); /* makes a concrete tensor a parameter of the program */
void tc_capture_lenient(tc_capture *k);                          /* sizes that the model forces are fixed with a note instead of an error */
V tc_capture_eagerly(C *c, V f, args *A);                        /* runs f(*A) on concrete tensors without recording; its side effects stay */
/* The tree node for a dict among inputs or outputs; keys as strings, and in the context as JSON where not all are strings. */
tc_tree *tc_capture_dict_tree(C *c, tc_arena *a, const dict *d);
/* flattens the result into outputs; names of leaves may be NULL */
void tc_capture_outputs(tc_capture *k, V result, const char *const *names, int nnames);
tc_program *tc_capture_end(tc_capture *k);     /* ends the capture: functional and verified; raises errors */
void tc_capture_look(tc_capture *k, V result); /* with C.keep: notes errors of outputs and sizes; then call tc_capture_abandon */
bool tc_capture_chose_sizes(C *c);             /* was a branch decided by example sizes that tc chose? */
void tc_capture_abandon(C *c);                 /* after an error: back to concrete execution */

/* ---- values at the boundary (inside tc_lang_run) ---- */
V tc_value_of_tensor(C *c, const tc_tensor *t, bool requires_grad); /* shares the storage */
const tc_tensor *tc_tensor_of_value(V v);                           /* NULL: not a concrete tensor */
/* Creates a language context with this executor and generator (both borrowed). */
tc_status tc_lang_create_with(const tc_lang_options *o, tc_eval run, struct tc_generator *gen, C **out);

#endif
