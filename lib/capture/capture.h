/* From a model source to programs: the one way in which tc-export, tc-train and the tests capture.
 *
 *     tc_capture_result r;
 *     TC_TRY(tc_capture_source(&(tc_capture_request){.path = "gpt.py", .text = text, .len = n, .class_name = "GPT", ...}, &r));
 *     r.model (eval), r.train (NULL where it is the same program)          programs are functional and verified; weights are shared
 *
 * The lower half (tc_capture_begin ...) captures any callable of the language: losses, optimiser steps. */
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
    const char *size[TC_MAX_RANK]; /* "B", "2*T", "64"; NULL with an example: free */
    tc_tensor example;             /* storage NULL: none. Its sizes are hints; borrowed */
    const int64_t *hints;          /* without an example: sizes to think of; NULL: none */
    const char *expr;              /* EXPR: a literal or an expression that sees the file's names */
    bool requires_grad;
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
} tc_capture_arg; /* constructor argument: an expression that sees the file's names */

typedef struct {
    const char *arg, *input, *dim;
} tc_capture_words; /* what messages call them: NULL, the options, or where a recipe has them */

typedef struct {
    const char *path; /* for messages */
    tc_capture_words said;
    const char *text;
    size_t len;             /* the source; borrowed for the life of the result's programs' names (copied) */
    const char *class_name; /* a class, or a function */
    const tc_capture_arg *args;
    int nargs;
    const tc_capture_input *inputs;
    int ninputs;
    const tc_capture_dim *dims;
    int ndims;
    bool eval, train; /* which modes; neither: both */
    int sides;        /* programs a mode at most, where the model branches on declared sizes (capture/sides.h); 0, 1: the one of the example */
    bool weights;     /* weights are loaded into what was captured */
    /* ... and are these, given to `take` one after another: by the model's own names, where they have them. Asked for when the model changes
     * what it loads, by load_state_dict hooks or a _load_from_state_dict of its own; NULL: it is not asked. */
    tc_status (*stored)(void *self, const tc_map *own, void (*take)(void *to, const char *name, const tc_tensor *t), void *to);
    void *stored_self;
    bool eval_suffices; /* of both, train may be left out, with a warning, when the model itself refuses it (an assert, a ValueError) */
    tc_observe observe; /* not NULL: a draft, decided by the examples that every input has */
    void *observe_self;
    struct tc_profile *profile;    /* capture/profile.h: time by line; NULL: none */
    bool keep_going;               /* when the capture fails: everything in the source that cannot be captured */
    const char *const *checkpoint; /* classes whose modules run under torch.utils.checkpoint */
    int ncheckpoint;
    const char *const *preserve; /* modules whose calls keep their signatures */
    int npreserve;
    bool wide; /* the module is turned to float64 when it is made (module.double()) */
    uint64_t seed;
    tc_eval run; /* executes constructors and initialisers */
    tc_lang_options limits;
    void (*warn)(void *self, const char *text);
    void *warn_self;
} tc_capture_request;

typedef struct {
    char *name;
    tc_tensor tensor;
} tc_capture_stored;

typedef struct {
    tc_program *model, *train; /* owned by the caller; train NULL when it is the same as model or was not asked for */
    tc_program **others;       /* sides: those that take the place of one of them at other sizes; owned by the caller, the list malloc'ed */
    size_t nothers;
    tc_capture_stored *stored; /* what the model made of them; NULL: it takes them as they are */
    size_t nstored;
    char *printed;       /* what print() wrote, malloc'ed; NULL when nothing */
    char *draft;         /* observe: the report, malloc'ed */
    size_t decided;      /* ... and how many places it names */
    tc_status *failures; /* keep_going: what failed, by place; the list is malloc'ed, it and the statuses are the caller's */
    size_t nfailures;
} tc_capture_result;

tc_status tc_capture_source(const tc_capture_request *r, tc_capture_result *out);
void tc_capture_stored_free(tc_capture_result *r);

/* Text for people: the classes of the source that can be captured, with the arguments of their constructors, a line each. */
tc_status tc_capture_list(const tc_capture_request *r, tc_buf *out);

/* ---- inside tc_lang_run: capturing any callable ---- */
typedef struct tc_capture tc_capture;
tc_capture *tc_capture_begin(C *c, const char *name);                     /* concrete execution stops until tc_capture_end */
void tc_capture_state(tc_capture *k, V module);                           /* parameters and buffers become inputs by FQN */
void tc_capture_ranges(tc_capture *k, const tc_capture_dim *dims, int n); /* before the inputs; borrowed */
void tc_capture_attempt(tc_capture *k, int attempt); /* which example values symbols without bounds are given: 0, 1, ... TC_CAPTURE_ATTEMPTS - 1 */
enum { TC_CAPTURE_ATTEMPTS = 5, TC_CAPTURE_MORE_ATTEMPTS = 12 };
/* Sizes in the place of all example values: of the symbols in order of their appearance; borrowed. What they force is no error. */
void tc_capture_sizes(tc_capture *k, const tc_side_size *sizes, size_t n);
/* After the inputs: their symbols as they are, in the context's arena. From here on a declared size that a branch fixes is no error of the
 * capture, but of a model without another side: tc_capture_side_forced tells. */
size_t tc_capture_sided(tc_capture *k, tc_side_size **out);
bool tc_capture_side_forced(const tc_capture *k);    /* of a capture that has ended, too */
bool tc_capture_pins(const tc_program *p, size_t i); /* the guards leave size i (in order of appearance) one value */
/* A declared size that the model forces to be the example of an axis that no --dim names: the two may be one size, as the batch of an input
 * and of its mask. Before the inputs: these axes ("pad.0"), or with none of them every one whose example is `same_as`, are symbols, too. */
void tc_capture_follow(tc_capture *k, const char *const *axes, size_t n, int64_t same_as);
int64_t tc_capture_forced(C *c);                                /* the size that a capture was refused for, before it is abandoned; 0: it was not */
size_t tc_capture_tied(tc_capture *k, const char ***out);       /* at the end: the axes among these that are another size's, in the context's arena */
V tc_capture_tensor(tc_capture *k, const tc_capture_input *in); /* a user input (sizes, example) */
V tc_capture_number(tc_capture *k, const char *name, tc_dtype d);                   /* a symbolic number as user input */
V tc_capture_counted(tc_capture *k, const char *name, tc_dtype d, tc_symvalue now); /* one from 0 up (i64) or any (f64), that is `now` at present */
/* A concrete tensor that from now on stands for a parameter or buffer of the program, sharing its memory. */
void tc_capture_weight(tc_capture *k, V t, const char *name, bool buffer, bool requires_grad);
/* Names of this module's parts, and the places of its buffers (given before by tc_capture_weight): one that is assigned anew is a buffer written. */
void tc_capture_places(tc_capture *k, V module);
/* The calls of these modules get signatures (tc_program.calls). TC_USAGE: there is none of such a name. */
void tc_capture_preserve(tc_capture *k, const char *const *names, int n);
void tc_capture_call_begins(C *c, V given, V keywords); /* hooks of such a module */
void tc_capture_call_ends(C *c, V result);
void tc_capture_parameter(tc_capture *k, V t, const char *name); /* a concrete tensor from now on stands for a parameter */
void tc_capture_lenient(tc_capture *k);                          /* sizes that the model forces are fixed with a note, not refused */
V tc_capture_eagerly(C *c, V f, args *A);                        /* f(*A) on concrete tensors: nothing is recorded, what it changes stays */
/* The node of a dict in the tree of inputs or outputs: its keys as text, in its context as they are where not all are strings. */
tc_tree *tc_capture_dict_tree(C *c, tc_arena *a, const dict *d);
void tc_capture_outputs(tc_capture *k, V result, const char *const *names, int nnames); /* flattens; names of the leaves, may be NULL */
tc_program *tc_capture_end(tc_capture *k);                                              /* functional, verified; raises what is wrong */
void tc_capture_look(tc_capture *k, V result); /* with C.keep: notes what is wrong with the outputs and the sizes; tc_capture_abandon follows */
bool tc_capture_chose_sizes(C *c);             /* a branch was decided by example sizes that tc chose */
void tc_capture_abandon(C *c);                 /* after an error: back to concrete execution */

/* ---- values at the boundary (inside tc_lang_run) ---- */
V tc_value_of_tensor(C *c, const tc_tensor *t, bool requires_grad); /* shares the storage */
const tc_tensor *tc_tensor_of_value(V v);                           /* NULL when it is no concrete tensor */
/* A context for concrete work with this executor and generator (both borrowed). */
tc_status tc_lang_create_with(const tc_lang_options *o, tc_eval run, struct tc_generator *gen, C **out);

#endif
