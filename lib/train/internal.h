/* Inside of lib/train: the trainer's state, and what its files do for each other.
 *
 *     trainer.c    making it: data, weights, the language's objects
 *     graphs.c     micro, update and eval as programs and executables
 *     draws.c      random draws of one of several ranks
 *     batches.c    micro-batches, made ahead
 *     step.c       one optimiser step, validation
 *     anomaly.c    which operator made the first NaN
 *     loop.c       the run: metrics, checkpoints, signals
 *     memory.c     what the run needs, for -v
 *     state.c      what a checkpoint holds
 *     saver.c      a checkpoint written while training goes on */
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
    int alias_of; /* index of the weight whose storage this is (tied), or -1 */
    V object;     /* in the language */
} weight;

/* A tensor of the optimiser's state, or (key NULL) the average of a parameter. */
typedef struct {
    char *buffer, *param, *key; /* owned */
    tc_tensor data;
} opt_state;
typedef TC_VEC(opt_state) opt_states;

/* A number of the optimiser's groups that is an input of the update program. */
typedef struct {
    int group;
    const char *key;
    int index;
    double value;
    bool varies;
} opt_number;

struct tc_trainer {
    tc_recipe *r;
    tc_train_options o;
    tc_program *train_p, *eval_p;
    tc_arena arena;
    C *lang;
    size_t language_bytes; /* what it took when it was made */
    module *names;         /* of the expressions: torch, nn, F, the model file's, functions: */
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
    int64_t local_batch, first_sample; /* samples of a micro-batch on this rank, and before them on other ranks */

    bool runs_source; /* m runs the forward of the model's file, not the captured program */
    V m, micro, update, eval, opt, scheduler, groups;
    const char *step_place;  /* of scheduler_step, for messages */
    tc_exec_profile profile; /* of the tc_execs, those that are made later too */
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
    opt_states state, averages, others; /* others: what a step that is not captured changes beside them; param is its name */
    TC_VEC(opt_number) numbers;
    bool eager;          /* the optimiser calls the loss again (LBFGS): no update is captured */
    tc_tensor *columns;  /* eager: of every micro-batch of the step, for the next call */
    bool by_operators;   /* the next update cannot be captured */
    bool never_captured; /* nor can those behind it */
    bool stepped;        /* the optimiser has its state, and the averages theirs: update can be captured */

    int64_t step, total, per_epoch;
    double loss, norm, best;
    int64_t best_step, resumed_from;
    struct tc_saver *saver; /* saver.c; NULL: nothing was written behind the training yet */
    const char *scaler;     /* of a checkpoint that came from PyTorch, as JSON; NULL: it has none */
    double *lrs;
    int nlrs; /* used by the last step */
};

/* trainer.c */
tc_status tc_train_make_language(tc_trainer *t); /* the language's objects anew, by the recipe: state and averages as at the start */
/* graphs.c */
tc_status tc_train_build_micro(tc_trainer *t);
tc_status tc_train_build_eval(tc_trainer *t);
tc_status tc_train_build_update(tc_trainer *t);
tc_status tc_train_build_first(tc_trainer *t);                                                 /* an error: a branch of it looks at data */
tc_status tc_train_make_exec(tc_trainer *t, const tc_program *p, bool no_fuse, tc_exec **out); /* its state is the trainer's */
/* draws.c */
tc_status tc_train_share_draws(tc_trainer *t, tc_program *p); /* of a micro program whose first size is this rank's share of the batch */
/* batches.c */
tc_status tc_train_start_data(tc_trainer *t);
tc_status tc_train_next_batch(tc_trainer *t, int64_t k, tc_tensor *columns);  /* micro-batch k of the step, of this rank */
tc_status tc_train_batch_again(tc_trainer *t, int64_t k, tc_tensor *columns); /* the one that was given as k */
bool tc_train_data_is_there(tc_trainer *t);                                   /* those of a step; waits for them some 50 ms */
void tc_train_write_position(tc_trainer *t, tc_json *w);                      /* what the number of steps does not tell, as a key */
tc_status tc_train_read_position(tc_trainer *t, const tc_yaml *state);
/* uses.c: what an expression of the recipe does */
bool tc_train_reads(const ast *e, const char *name);
/* m(...) or a method with data, or m as an argument of what will call it; not m.x alone, nor m.x.mean(), which looks at what a call left there. */
bool tc_train_calls_model(const ast *e);
/* step.c */
tc_status tc_train_run_micro(tc_trainer *t, tc_exec *e, int64_t k, const tc_tensor *columns, tc_tensor *out); /* k: which micro-batch */
tc_status tc_train_plan_update(tc_trainer *t);                                      /* makes the program of the next update */
tc_status tc_train_step(tc_trainer *t);                                             /* one optimiser step; advances t->step */
tc_status tc_train_collect_state(tc_trainer *t);                                    /* the optimiser's tensors, once they are there */
void tc_train_list_tensors(C *c, tc_trainer *t, const char *what, opt_states *out); /* what this method of Update lists, shared */
void tc_train_set_closure(C *c, tc_trainer *t);                                     /* gives Update its way to evaluate the loss again */
/* Where `p.data = x` gave a parameter other storage than the programs have, theirs takes its values, and is the parameter's again. */
void tc_train_take_data(C *c, tc_trainer *t);
void tc_train_free_tensors(opt_states *s);
tc_status tc_train_validate(tc_trainer *t, double *out /* loss, then metrics */);
/* anomaly.c */
bool tc_train_all_finite(const tc_tensor *x, tc_pool *pool); /* of a contiguous tensor */
double tc_train_worst(const tc_tensor *x);                   /* of a contiguous tensor: NaN when it has one, else INFINITY when it has one, else 0 */
/* The error of a step whose loss or gradient is `value`: runs the step's micro-batches again, operator by operator, and names the first
 * that made a NaN (or, without one, an infinity from finite tensors). Nothing may have been updated since. */
tc_status tc_train_diverged(tc_trainer *t, const char *what, double value);
/* memory.c: lines of the topic "memory" */
tc_status tc_train_say_needed(tc_trainer *t); /* plans the next update for it */
void tc_train_say_taken(const tc_trainer *t);
/* state.c */
/* Everything that the language makes lives as long as its context: when that has grown, a new one takes its place, the optimiser and the
 * scheduler going over as they do through a checkpoint. Weights, state and programs stay where they are. */
tc_status tc_train_renew_language(tc_trainer *t);
tc_status tc_train_gather(tc_trainer *t, tc_tensors *all, tc_buf *state); /* what it holds, by name; tensors are shared */
tc_status tc_train_save(tc_trainer *t, const char *dir);
/* saver.c: the same behind the training. dir lives as long as the trainer's run. end waits, and tells what became of it (NULL: also where none was
 * begun) and how long it took; begin may be called after it only. */
typedef struct tc_saver tc_saver;
tc_status tc_saver_prepare(tc_trainer *t); /* once, when the optimiser has its state: memory for the first one, made while training goes on */
tc_status tc_saver_begin(tc_trainer *t, const char *dir);
void tc_saver_let_write(tc_trainer *t); /* before weights and the optimiser's state are written: waits for their copies */
tc_status tc_saver_end(tc_trainer *t, double *out_seconds);
void tc_saver_free(tc_trainer *t);
void tc_train_phase(const tc_trainer *t, const char *what); /* ends here */
void tc_train_note(tc_trainer *t, const char *fmt, ...) TC_PRINTF(2, 3);

#endif
