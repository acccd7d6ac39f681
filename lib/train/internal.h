/* Internal to lib/train: the trainer's state, and what its files offer each other.
 *
 *     trainer.c    creation: data, weights, objects of the model language
 *     graphs.c     micro, update and eval as programs and executables
 *     draws.c      random draws with several ranks
 *     batches.c    micro-batches, prefetched
 *     step.c       one optimiser step, validation
 *     scaler.c     the scale of the loss (float16)
 *     anomaly.c    finds the operator that made the first NaN
 *     loop.c       the training loop: metrics, checkpoints, signals
 *     memory.c     memory of the run, for -v
 *     state.c      checkpoint contents, resuming
 *     state_value.c    values of the model language as JSON
 *     state_foreign.c  resuming from a PyTorch checkpoint
 *     saver.c      background checkpoints */
#ifndef TC_TRAIN_INTERNAL_H
#define TC_TRAIN_INTERNAL_H

#include "base/json_write.h"
#include "base/rng.h"
#include "capture/lang.h"
#include "data/loader.h"
#include "file/tensors.h"
#include "runtime/runtime.h"
#include "train/train.h"

/* A parameter or buffer of the model: the storage that all three programs share. */
typedef struct {
    const char *fqn;
    tc_tensor data; /* writable, owned */
    bool buffer, persistent, requires_grad;
    int alias_of; /* tied: index of the weight that owns the storage; -1: this one does */
    V object;     /* in the language */
} weight;

/* A tensor of the optimizer's state, or (key NULL) a parameter's running average. */
typedef struct {
    char *buffer, *param, *key; /* owned */
    tc_tensor data;
} opt_state;
typedef TC_VEC(opt_state) opt_states;

/* A number of the optimizer's groups (learning rate, ...) that is an input of the update program. */
typedef struct {
    int group;
    const char *key;
    int index;
    double value;
    bool varies;
} opt_number;

/* The scale of the loss: scaler.c. */
typedef struct {
    bool on;
    float scale;
    double growth, backoff;
    int64_t interval, good; /* good: steps that were not skipped since the scale changed */
} loss_scale;

struct tc_trainer {
    tc_recipe *r;
    tc_train_options o;
    tc_program *train_p, *eval_p;
    tc_arena arena;
    C *lang;
    size_t language_limit; /* bytes of the language's objects from which on its context is renewed */
    module *names;         /* of the expressions: torch, nn, F, the model file's, functions: */
    V written;             /* list of those that functions: made */
    module *file_names;    /* the model file's; NULL: the program carries no source */
    tc_evaluator *evaluator;
    struct tc_generator eager_gen, step_gen;
    TC_VEC(weight) weights;
    tc_map by_fqn; /* -> index + 1 */

    tc_dataset *train, *val;
    tc_sampler sampler;
    tc_loader *loader;      /* from the first step on */
    int64_t *numbers_given; /* of the micro-batches of this step */
    int64_t *taken;         /* of the checkpoint that it goes on from: batches.c */
    int ntaken;
    int64_t batch, local_batch, first_sample; /* samples of a micro-batch: on all ranks, on this one, on those before it */

    bool runs_source; /* m calls forward of the model's source, not the captured program */
    V m, micro, update, eval, opt, scheduler, groups;
    const char *given;       /* JSON of what the recipe makes of optimiser and scheduler, before any step */
    const char *step_place;  /* of scheduler_step, for messages */
    tc_exec_profile profile; /* profile callback for all tc_execs */
    void *profile_ctx;
    tc_exec *micro_exec, *eval_exec, *update_exec, *first_exec; /* first: the update that makes the state */
    V first_leaves;                                             /* what first makes: [(parameter, key, value)] */
    const char **metric;
    int nmetrics;
    int loss_at;  /* micro: output index of the loss */
    int *grad_of; /* micro: output index of the gradient of update.params[k], -1: none */
    int nparams;
    const char **param_names;           /* of update.params */
    tc_tensor *grads;                   /* accumulated; storage NULL: no gradient */
    opt_states state, averages, others; /* others: further tensors that uncaptured steps or scheduler_step change; param: name */
    TC_VEC(opt_number) numbers;
    bool eager;          /* the optimizer evaluates the loss itself (LBFGS): updates run eagerly */
    tc_tensor *columns;  /* eager: of every micro-batch of the step, for the next call */
    bool by_operators;   /* the next update runs eagerly: it cannot be captured */
    bool never_captured; /* no later update can be captured either */
    bool stepped;        /* optimizer state and averages exist: update can be captured */

    int64_t step, total, per_epoch;
    int64_t skipped; /* steps that made no update of this optimiser */
    double loss, norm, best;
    int64_t best_step, resumed_from;
    struct tc_saver *saver; /* saver.c; NULL: no background checkpoint yet */
    loss_scale scale;
    const char *scaler; /* of a checkpoint that came from PyTorch, as JSON, where this run does not scale; NULL: it has none */
    double *lrs;
    int nlrs; /* used by the last step */
};

static inline int64_t tc_train_updates(const tc_trainer *t) { return t->step - t->skipped; } /* steps of the optimiser */

/* trainer.c */
tc_status tc_train_make_language(tc_trainer *t); /* recreates the language's objects from the recipe, with initial state and averages */
/* graphs.c */
tc_status tc_train_build_micro(tc_trainer *t);
tc_status tc_train_build_eval(tc_trainer *t);
tc_status tc_train_build_update(tc_trainer *t);
tc_status tc_train_build_first(tc_trainer *t);                                                 /* error: it branches on data */
tc_status tc_train_make_exec(tc_trainer *t, const tc_program *p, bool no_fuse, tc_exec **out); /* its state is the trainer's */
/* draws.c */
tc_status tc_train_share_draws(tc_trainer *t, tc_program *p); /* p: a micro program whose first size is this rank's part of the batch */
/* batches.c */
tc_status tc_train_start_data(tc_trainer *t);
tc_status tc_train_next_batch(tc_trainer *t, int64_t k, tc_tensor *columns);  /* micro-batch k of the step, of this rank */
tc_status tc_train_batch_again(tc_trainer *t, int64_t k, tc_tensor *columns); /* the same micro-batch again */
bool tc_train_data_is_there(tc_trainer *t);                                   /* are a step's micro-batches ready? Waits up to 50 ms */
void tc_train_write_position(tc_trainer *t, tc_json *w);                      /* writes the loader's position beyond the step count */
tc_status tc_train_read_position(tc_trainer *t, const tc_yaml *state);
/* uses.c: what an expression of the recipe does */
bool tc_train_reads(const ast *e, const char *name);
/* Does the expression call the model: m(...), a method with arguments, or m passed to a function? Not m.x or m.x.mean(), which read what a call left
 * there. */
bool tc_train_calls_model(const ast *e);
/* step.c */
tc_status tc_train_run_micro(tc_trainer *t, tc_exec *e, int64_t k, const tc_tensor *columns, tc_tensor *out); /* k: index of the micro-batch */
tc_status tc_train_plan_update(tc_trainer *t);   /* makes the program of the next update */
tc_status tc_train_step(tc_trainer *t);          /* one optimiser step; advances t->step */
tc_status tc_train_collect_state(tc_trainer *t); /* the optimiser's tensors, once they are there */
/* the tensors that this method of Update lists; storage is shared */
void tc_train_list_tensors(C *c, tc_trainer *t, const char *what, opt_states *out);
void tc_train_set_closure(C *c, tc_trainer *t); /* gives Update a closure that evaluates the loss */
/* After `p.data = x` gave a parameter new storage: copies the values into the programs' storage and gives that back to the parameter. */
void tc_train_take_data(C *c, tc_trainer *t);
void tc_train_free_tensors(opt_states *s);
tc_status tc_train_validate(tc_trainer *t, double *out /* loss, then metrics */);
/* scaler.c */
tc_status tc_train_scaler_init(tc_trainer *t);
/* Divides the step's gradients by the scale of the loss; if one is not finite: *out_skip, or the error without a scale. */
tc_status tc_train_take_gradients(tc_trainer *t, bool *out_skip);
void tc_train_scaler_write(const tc_trainer *t, tc_json *w); /* as GradScaler.state_dict() */
tc_status tc_train_scaler_read(tc_trainer *t, const tc_yaml *y);
/* anomaly.c */
bool tc_train_all_finite(const tc_tensor *x, tc_pool *pool); /* of a contiguous tensor */
double tc_train_worst(const tc_tensor *x);                   /* of a contiguous tensor: NaN when it has one, else INFINITY when it has one, else 0 */
/* Returns the error for a step whose loss or gradient `what` is `value`: runs its micro-batches again, operator by operator, and names the first that
 * made a NaN (or else an infinity from finite operands). Weights must be unchanged since. */
tc_status tc_train_diverged(tc_trainer *t, const char *what, double value);
/* memory.c: lines of the topic "memory" */
tc_status tc_train_say_needed(tc_trainer *t); /* plans the next update for it */
void tc_train_say_taken(const tc_trainer *t);
/* state.c */
/* Objects of the model language live as long as their context. When it has grown too large a new one replaces it; optimizer and scheduler move over as
 * through a checkpoint; weights, state and programs stay. */
void tc_train_limit_language(tc_trainer *t); /* sets language_limit, of a context that has just been made */
tc_status tc_train_renew_language(tc_trainer *t);

void tc_train_remember_given(C *c, tc_trainer *t); /* sets `given` of objects that have just been made */
/* What a checkpoint holds of the scheduler, and the way back. */
V tc_train_schedule(C *c, tc_trainer *t);
void tc_train_reschedule(C *c, tc_trainer *t, V state);
tc_status tc_train_gather(tc_trainer *t, tc_tensors *all, tc_buf *state); /* the checkpoint's tensors by name (storage shared), and its JSON state */
tc_status tc_train_save(tc_trainer *t, const char *dir);
/* state_value.c */
void tc_train_write_value(C *c, V v, tc_json *w);
/* `like`: the value that is replaced, or NULL. Its kinds decide where JSON has fewer (tuples, floats that are whole, tensors, keys that are ints). */
V tc_train_read_value(C *c, const tc_yaml *y, V like);
V tc_train_like_number(C *c, double value, V like); /* a number, as a tensor where `like` is one */
bool tc_train_keys_are_numbers(const dict *d);      /* as of MultiStepLR's milestones; a file has names there, which stand for numbers */
/* saver.c: background checkpoints. begin starts one (dir must outlive the run); end waits for it and returns its status (NULL: also when none was begun)
 * and duration, before the next begin. */
typedef struct tc_saver tc_saver;
tc_status tc_saver_prepare(tc_trainer *t); /* once the optimizer state exists: allocates memory for copies in the background */
tc_status tc_saver_begin(tc_trainer *t, const char *dir);
void tc_saver_let_write(tc_trainer *t); /* call before weights and optimizer state are mutated: waits until they are copied */
tc_status tc_saver_end(tc_trainer *t, double *out_seconds);
void tc_saver_free(tc_trainer *t);
void tc_train_phase(const tc_trainer *t, const char *what); /* ends here */
/* TC_CONTENT unless what a file holds for the weight or average `name` has the shape, and with typed the element type, of want. */
tc_status tc_train_fits(const tc_tensor *found, const tc_tensor *want, bool typed, const char *name);
void tc_train_note(tc_trainer *t, const char *fmt, ...) TC_PRINTF(2, 3);

#endif
