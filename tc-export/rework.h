/* What tc-export makes of programs before it writes them: --decompose, --joint, --partition, --split. */
#ifndef TC_EXPORT_REWORK_H
#define TC_EXPORT_REWORK_H

#include "cmd/cmd.h"
#include "graph/graph.h"

typedef TC_VEC(tc_program *) programs; /* owned */

tc_status rework(tc_cmd *c, programs *all);
void release_programs(programs *all);

#endif
