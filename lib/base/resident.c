/* Reads /proc/self/statm and getrusage. */
#include "base/resident.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

size_t tc_resident_now(void) {
    FILE *f = fopen("/proc/self/statm", "re");
    unsigned long size, resident = 0;
    if (!f) return 0;
    if (fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0;
    fclose(f);
    return resident * (size_t)sysconf(_SC_PAGESIZE);
}

size_t tc_resident_most(void) {
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) ? 0 : (size_t)u.ru_maxrss << 10;
}
