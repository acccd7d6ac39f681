/* Training a program by a recipe.
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
 * The three share the storage of weights, buffers and optimiser state, and change it in place. The first update of a run runs
 * eagerly, since it makes the optimiser's state. Schedulers run in the language on the host. */
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
    void (*note)(void *ctx, const char *text);                   /* what people should know; may be NULL */
    void (*log)(void *ctx, const char *topic, const char *text); /* reports of programs; may be NULL */
    void (*phase)(void *ctx, const char *what);                  /* the time since the last call went into this; may be NULL */
    void *ctx;
} tc_train_options;

/* The programs are functional and verified; eval may be NULL (train serves both). They are retained, and their weights become the run's:
 * those of weights: or resume_from:, trained in place. */
tc_status tc_trainer_create(tc_recipe *r, tc_program *train, tc_program *eval, const tc_train_options *options, tc_trainer **out);
void tc_trainer_destroy(tc_trainer *t); /* NULL is allowed */

typedef enum { TC_STOP_NOT, TC_STOP_SAVE /* and go on */, TC_STOP_SAVE_AND_END } tc_stop;
typedef struct {
    const char *out;                                                       /* run directory, or NULL: nothing is kept */
    volatile sig_atomic_t *stop;                                           /* a tc_stop, set by signal handlers; taken back when obeyed; or NULL */
    double until;                                                          /* tc_now() before which it must have saved and ended; 0: no limit */
    void (*begin)(void *ctx);                                              /* before every step; may be NULL */
    void (*progress)(void *ctx, int64_t step, int64_t total, double loss); /* after every step; may be NULL */
    void *ctx;
} tc_train_run;

/* From the checkpoint at path: weights, state, scheduler, position. TC_CONTENT when it is of another model. */
tc_status tc_trainer_resume(tc_trainer *t, const char *path);
/* From resume_from: in the recipe, a checkpoint of PyTorch in any form that ckpt/ckpt.h opens, when there is one: the state of its optimiser
 * ("optimizer.state.0.exp_avg" beside "optimizer.param_groups.0.params", under any name, parameters by number or by name), the numbers of
 * its groups, and a scheduler's ("scheduler.last_epoch"). The weights were loaded with the model. */
tc_status tc_trainer_resume_from(tc_trainer *t);
/* TC_STOPPED after a signal or the time limit, once the checkpoint is on disk; TC_DIVERGED naming step and operator. */
tc_status tc_trainer_run(tc_trainer *t, const tc_train_run *run);

/* Who is told of the groups of all three programs from now on; NULL: nobody. */
void tc_trainer_set_profile(tc_trainer *t, tc_exec_profile fn, void *ctx);

int64_t tc_trainer_step(const tc_trainer *t); /* steps made */
int64_t tc_trainer_total(const tc_trainer *t);
double tc_trainer_loss(const tc_trainer *t); /* of the last step, over all ranks */
/* The weights and buffers by their names, as they are now; owned by the trainer. */
const tc_tensor *tc_trainer_weight(const tc_trainer *t, const char *fqn);
/* Puts the trained weights into a program's inputs (of the same model). Shares their storage. */
tc_status tc_trainer_fill(const tc_trainer *t, tc_program *p);

#endif
