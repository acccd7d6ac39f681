/* --ops: loads extensions, which define operators (runtime/extension.h). */
#include "cmd/cmd.h"

#include "runtime/extension.h"

tc_status tc_cmd_ops(tc_cmd *c) {
    for (int i = 0; i < tc_cmd_count(c, TC_OPT_ops); i++) {
        const char *path = tc_cmd_value(c, TC_OPT_ops, i);
        const size_t n = strlen(path);
        if (n > 2 && !strcmp(path + n - 2, ".c"))
            return tc_usage(c, "--ops %s is source: tc-compile --ops %s -o %.*s.so builds the library that is expected here", path, path, (int)n - 2,
                            path);
        TC_TRY(tc_extension_load(path, tc_cmd_has(c, TC_OPT_trust)), "--ops");
    }
    return NULL;
}
