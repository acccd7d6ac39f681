/* Trains a program by a recipe; tc-train's main.c calls this.
 *
 *     tc_trainer *t;
 *     TC_TRY(tc_trainer_create(recipe, train program, eval program, &options, &t));
 *     TC_TRY(tc_trainer_resume(t, path));            // or not
 *     TC_TRY(tc_trainer_run(t, &hooks));             // to the end, a signal or a limit
 *
 *     micro    batch -> loss, gradients, changed buffers          captured from forward: and loss:, differentiated
 *     update   gradients, lr, step -> changed weights and state   captured from the optimiser's step()
 *     eval     batch -> loss, metrics
 *
 * The three share the storage of weights, buffers and optimizer state and mutate it in place. Schedulers run on the host in the model language. */
#ifndef TC_TRAIN_TRAIN_H
#define TC_TRAIN_TRAIN_H

#include "base/pool.h"
#include "data/data.h"
#include "dist/dist.h"
#include "runtime/runtime.h"
#include "train/recipe.h"

#include <signal.h>

typedef struct tc_trainer tc_trainer;

typedef struct {
    tc_pool *pool;
    tc_dist *dist; /* NULL: alone */
    tc_numerics numerics;
    bool saves;                                                  /* checkpoints will be written */
    bool commands;                                               /* the recipe may name commands as data */
    void (*note)(void *ctx, const char *text);                   /* notes for the user; may be NULL */
    void (*log)(void *ctx, const char *topic, const char *text); /* reports of programs; may be NULL */
    void (*phase)(void *ctx, const char *what);                  /* for --stats: names what the time since the last call was spent on; may be NULL */
    void *ctx;
} tc_train_options;

/* The programs must be functional and verified; eval may be NULL (train is used for both). They are retained; their weights are replaced by those of
 * weights: or resume_from:, if given, and trained in place. */
tc_status tc_trainer_create(tc_recipe *r, tc_program *train, tc_program *eval, const tc_train_options *options, tc_trainer **out);
void tc_trainer_destroy(tc_trainer *t); /* NULL is allowed */

typedef enum { TC_STOP_NOT, TC_STOP_SAVE /* and go on */, TC_STOP_SAVE_AND_END } tc_stop;
typedef struct {
    const char *out;                                                       /* run directory, or NULL: nothing is kept */
    const char *operators;                                                 /* tc_train_operators' digest of the model, for `environment`, or NULL */
    volatile sig_atomic_t *stop;                                           /* a tc_stop set by signal handlers, reset when handled; or NULL */
    double until;                                                          /* tc_now() before which it must have saved and ended; 0: no limit */
    void (*begin)(void *ctx);                                              /* before every step; may be NULL */
    void (*progress)(void *ctx, int64_t step, int64_t total, double loss); /* after every step; may be NULL */
    void *ctx;
} tc_train_run;

/* Restores weights, optimizer state, scheduler and position from the checkpoint at path. TC_CONTENT: it belongs to another model. */
tc_status tc_trainer_resume(tc_trainer *t, const char *path);
/* From resume_from: in the recipe, a checkpoint of PyTorch in any form that ckpt/ckpt.h opens, when there is one: the state of its optimiser
 * ("optimizer.state.0.exp_avg" beside "optimizer.param_groups.0.params", under any name, parameters by number or by name), the numbers of
 * its groups, and a scheduler's ("scheduler.last_epoch"). The weights were loaded with the model. */
tc_status tc_trainer_resume_from(tc_trainer *t);
/* TC_STOPPED after a signal or the time limit, once the checkpoint is on disk; TC_DIVERGED naming step and operator. */
tc_status tc_trainer_run(tc_trainer *t, const tc_train_run *run);

/* Sets the profile callback for the groups of all three programs; fn NULL: none. */
void tc_trainer_set_profile(tc_trainer *t, tc_exec_profile fn, void *ctx);

int64_t tc_trainer_step(const tc_trainer *t); /* number of completed steps */
int64_t tc_trainer_total(const tc_trainer *t);
double tc_trainer_loss(const tc_trainer *t); /* of the last step, over all ranks */
/* The current weight or buffer of that name, owned by the trainer; NULL: none. */
const tc_tensor *tc_trainer_weight(const tc_trainer *t, const char *fqn);
/* Sets the weights of a program of the same model to the trained ones, sharing storage. */
tc_status tc_trainer_fill(const tc_trainer *t, tc_program *p);

#endif
