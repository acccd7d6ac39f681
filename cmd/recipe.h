/* The recipe operand of tc-train and tc-bench --data. */
#ifndef TC_CMD_RECIPE_H
#define TC_CMD_RECIPE_H

#include "cmd/cmd.h"
#include "train/recipe.h"

/* Reads the recipe at path with overrides "KEY=VALUE"; for a run directory its recipe.yaml, with relative paths resolved as in the original run.
 * *out_commands: may the recipe run commands as data sources? Only a file named on the command line may, or any with --trust; not a pipe or a run
 * directory. *out_run: the run directory, or NULL. */
tc_status tc_cmd_recipe(const tc_cmd *c, const char *path, const char *const *overrides, int n, tc_recipe **out_recipe, bool *out_commands,
                        const char **out_run);

#endif
