/* Recipes of tc-train: YAML with the schema of this struct, and KEY=VALUE overrides (tc-recipe(5)). Expressions are kept as text; they are evaluated in
 * the model language, where they see `m`, `out`, the batch's columns and the model file's names. */
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
    bool on;
    double init_scale, growth_factor, backoff_factor;
    int64_t growth_interval;
} tc_recipe_scaler; /* of torch.amp.GradScaler */
typedef struct {
    int64_t every, keep_last, keep_every;
    double minutes;
    bool keep_best, async;
} tc_recipe_checkpoint;

typedef struct {
    tc_arena arena;
    tc_yaml *root;
    const char *file, *dir; /* dir: base of relative paths; NULL: the working directory */
    /* model */
    const char *model;                   /* "FILE.py:Class"; NULL: the program comes from stdin */
    tc_yaml *arg, *input, *dim, *source; /* as tc-export's options: maps or lists */
    const char *weights, *resume_from;
    uint64_t seed; /* torch.manual_seed's */
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
    tc_yaml *scaler_node;
    tc_recipe_scaler scaler;
    const char *precision, *backward_autocast, *saved_as; /* as written */
    tc_dtype floats;                                      /* dtype of weights and batches */
    tc_dtype backward;                                    /* autocast of the backward, or TC_DTYPE_NONE */
    tc_dtype saved;                                       /* dtype in which activations are saved for the backward; TC_DTYPE_NONE: unchanged */
    tc_dtype autocast;                                    /* autocast of forward and loss; TC_DTYPE_NONE: off */
    /* what is kept and said */
    tc_yaml *validate_node, *checkpoint_node;
    tc_recipe_validate validate; /* every 0: only at the end */
    tc_recipe_checkpoint checkpoint;
    int64_t log_every;
} tc_recipe;

/* Parses a recipe with overrides "KEY=VALUE"; *out is the caller's. TC_USAGE with file:line. */
tc_status tc_recipe_parse(const char *file, const char *text, size_t len, const char *const *overrides, int noverrides, tc_recipe **out);
void tc_recipe_free(tc_recipe *r); /* NULL is allowed */
/* Appends the recipe as YAML, overrides applied; it parses to the same recipe. */
void tc_recipe_print(const tc_recipe *r, tc_buf *b);
/* Appends "steps: 200 -> 400" for every top-level key that differs, one per line. */
void tc_recipe_diff(const tc_recipe *a, const tc_recipe *b, tc_buf *out);
/* A string or list of strings as an array (in the recipe's arena); y NULL: empty. */
tc_status tc_recipe_strings(tc_recipe *r, const tc_yaml *y, const char ***out, int *out_n);
/* activation_checkpointing: the class or list of classes, or NULL. */
const tc_yaml *tc_recipe_checkpointed(const tc_recipe *r);
/* Resolves a path of the recipe: relative ones against its folder. In the recipe's arena, or `name` itself. */
const char *tc_recipe_path(tc_recipe *r, const char *name);

#endif
