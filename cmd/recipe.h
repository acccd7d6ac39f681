/* The recipe that a command line names, of tc-train and tc-bench. */
#ifndef TC_CMD_RECIPE_H
#define TC_CMD_RECIPE_H

#include "cmd/cmd.h"
#include "train/recipe.h"

/* The recipe at path with overrides "KEY=VALUE"; of a run directory, its recipe.yaml, whose relative names start where they did then.
 * *out_commands: whether it may name commands as data: it is a file that the command line names, or --trust is given; not what a pipe or a
 * run directory brings. *out_run: the run directory, or NULL. */
tc_status tc_cmd_recipe(const tc_cmd *c, const char *path, const char *const *overrides, int n, tc_recipe **out_recipe, bool *out_commands,
                        const char **out_run);

#endif
