/* A program that a failure left (--dump DIR, DIR/crash.pt2): what failed with it is done again. */
#ifndef TC_EXPORT_AGAIN_H
#define TC_EXPORT_AGAIN_H

#include "cmd/program.h"
#include "rework.h"

/* As the archive says: options that are not given are set, stages that are no options are run here. Nothing for other archives. arena: holds the
 * values of options, which c reads as long as it works. TC_CONTENT, TC_USAGE: what it says is nothing that tc leaves. */
tc_status do_again(tc_cmd *c, const tc_archive *a, tc_arena *arena, programs *all);

#endif
