/* A program that a failure left (--dump DIR, DIR/crash.pt2): what failed with it is done again. */
#ifndef TC_EXPORT_AGAIN_H
#define TC_EXPORT_AGAIN_H

#include "cmd/program.h"
#include "rework.h"

/* As the archive says: options that are not given are set, stages that are no options are run here. Nothing for other archives. */
tc_status do_again(tc_cmd *c, const tc_archive *a, programs *all);

#endif
