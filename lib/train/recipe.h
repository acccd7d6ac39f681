/* Recipes: what tc-train is told, as YAML typed by this schema and KEY=VALUE overrides (tc-recipe(5)).
 * Expressions are text here; they are evaluated in the model language with `m`, `out`, the batch's names and the model file's own. */
#ifndef TC_TRAIN_RECIPE_H
#define TC_TRAIN_RECIPE_H

#include "base/yaml.h"
#include "tensor/dtype.h"

typedef struct {
    int64_t every, batch;
} tc_recipe_validate;
typedef struct {
    int64_t start, every; /* start 0: none */
} tc_recipe_swa;
typedef struct {
    int64_t every, keep_last, keep_every;
    double minutes;
    bool keep_best, async;
} tc_recipe_checkpoint;

typedef struct {
    tc_arena arena;
    tc_yaml *root;
    const char *file, *dir; /* dir: where relative names start; NULL: the working directory */
    /* model */
    const char *model;                   /* "FILE.py:Class"; NULL: the program comes from stdin */
    tc_yaml *arg, *input, *dim, *source; /* as tc-export's options: maps or lists */
    const char *weights, *resume_from;
    int64_t seed;
    /* data and steps */
    tc_yaml *data;
    int64_t steps, epochs, batch, accumulate;
    /* what is computed */
    const char *forward, *loss, *param_groups, *optimizer, *scheduler, *scheduler_step, *functions;
    tc_yaml *metrics;                       /* {name: expression} */
    double clip_grad_norm, clip_grad_value; /* 0: none */
    tc_yaml *activation_checkpointing;      /* names of classes, or {modules: names} */
    double ema_decay;                       /* 0: none */
    tc_yaml *swa_node;
    tc_recipe_swa swa;
    const char *precision, *backward_autocast, *saved_as; /* as written */
    tc_dtype floats;                                      /* of weights and batches */
    tc_dtype backward;                                    /* autocast of the backward, or TC_DTYPE_NONE */
    tc_dtype saved;                                       /* what the forward hands over to the backward in, or TC_DTYPE_NONE: as it is */
    tc_dtype autocast;                                    /* of forward and loss; TC_DTYPE_NONE: they run in `floats` */
    /* what is kept and said */
    tc_yaml *validate_node, *checkpoint_node;
    tc_recipe_validate validate; /* every 0: only at the end */
    tc_recipe_checkpoint checkpoint;
    int64_t log_every;
} tc_recipe;

/* overrides: "KEY=VALUE". TC_USAGE with file:line. */
tc_status tc_recipe_parse(const char *file, const char *text, size_t len, const char *const *overrides, int noverrides, tc_recipe **out);
void tc_recipe_free(tc_recipe *r); /* NULL is allowed */
/* As YAML that reads back to the same recipe (overrides applied). */
void tc_recipe_print(const tc_recipe *r, tc_buf *b);
/* "steps: 200 -> 400" for every top-level key that differs, one a line. */
void tc_recipe_diff(const tc_recipe *a, const tc_recipe *b, tc_buf *out);
/* A string, or a list of strings, as an array; 0 for NULL. */
tc_status tc_recipe_strings(tc_recipe *r, const tc_yaml *y, const char ***out, int *out_n);
/* activation_checkpointing: the class or list of classes, or NULL. */
const tc_yaml *tc_recipe_checkpointed(const tc_recipe *r);
/* A file name of the recipe, relative ones from its folder; in the recipe's arena, or the name itself. */
const char *tc_recipe_path(tc_recipe *r, const char *name);

#endif
