/* Rows picked and added without storing them, for execution. */
#ifndef TC_OP_PICKED_H
#define TC_OP_PICKED_H

#include "op/decompose.h"

/* Replaces index_add(self, 0, index, source[picked]), where nothing else reads the rows that were picked (by embedding, index_select or an index), by
 * tc::index_add_picked, which reads them where they are. */
tc_status tc_picked(tc_program *p);
bool tc_picked_any(tc_program *p); /* Is there such a sum? */

#endif
