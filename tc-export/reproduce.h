/* Reproduces a failure from DIR/crash.pt2, which --dump DIR wrote (cmd/crash_dump.c). */
#ifndef TC_EXPORT_REPRODUCE_H
#define TC_EXPORT_REPRODUCE_H

#include "cmd/program.h"
#include "transform.h"

/* Sets the options that the archive records (unless given) and runs the recorded stages that have no option. Does nothing for other archives. arena:
 * owns the option values; must outlive c. TC_CONTENT, TC_USAGE: the record is malformed. */
tc_status reproduce_crash(tc_cmd *c, const tc_archive *a, tc_arena *arena, programs *all);

#endif
