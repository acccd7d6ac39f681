/* Reads the recipe operand (recipe.h). */
#include "cmd/recipe.h"

#include "base/file.h"
#include "train/rundir.h"

#include <sys/stat.h>

tc_status tc_cmd_recipe(const tc_cmd *c, const char *path, const char *const *overrides, int n, tc_recipe **out_recipe, bool *out_commands,
                        const char **out_run) {
    struct stat st;
    tc_buf text = {0}, file = {0};
    const bool found = stat(path, &st) == 0, run = found && S_ISDIR(st.st_mode);
    tc_buf_printf(&file, run ? "%s/recipe.yaml" : "%s", path);
    tc_status s = tc_annotate(tc_file_read(file.data, 16 << 20, &text), "reading the recipe");
    if (!s) s = tc_recipe_parse(file.data, tc_buf_str(&text), text.len, overrides, n, out_recipe);
    tc_buf_free(&text);
    tc_buf_free(&file);
    if (!s && run) s = tc_train_recorded(path, "directory", &(*out_recipe)->arena, &(*out_recipe)->dir);
    /* /dev/fd/63 of <(sed ... r.yaml): names are those of the folder where the command was given. */
    if (!s && found && !run && (!S_ISREG(st.st_mode) || strncmp(path, "/dev/", 5) == 0)) (*out_recipe)->dir = NULL;
    *out_run = run ? path : NULL;
    *out_commands = tc_cmd_has(c, TC_OPT_trust) || (found && S_ISREG(st.st_mode));
    return s;
}
