/* Numbers in variables of the environment, checked before a program works: the library takes its default for what is none. */
#include "base/pool.h"
#include "base/text.h"
#include "cmd/internal.h"

#include <stdlib.h>

static const struct {
    const char *name;
    int64_t most;
} numbers[] = {
    {"TC_NUM_THREADS", TC_MAX_THREADS}, {"TC_CC_SECONDS", (1 << 30) - 1}, {"TC_CC_MEMORY", (1 << 30) - 1}, {"TC_CACHE_SIZE", (1 << 30) - 1}};

tc_status tc_cmd_check_environment(const tc_cmd *c) {
    const char *v;
    double seconds;
    int64_t n;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if ((v = getenv(numbers[i].name)) && *v && !(tc_parse_i64(v, &n) && n > 0 && n <= numbers[i].most))
            return tc_usage(c, "%s '%s': expected a whole number from 1 to %lld", numbers[i].name, v, (long long)numbers[i].most);
    if ((v = getenv("TC_DIST_TIMEOUT")) && *v && !(tc_parse_double(v, &seconds) && seconds > 0))
        return tc_usage(c, "TC_DIST_TIMEOUT '%s': expected seconds above 0", v);
    return NULL;
}
