/* The cache of compiled objects, by content: the same C, compiler, flags, target and versions give the same key, so a warm compile starts
 * no compiler. One file an entry in $XDG_CACHE_HOME/tc (else ~/.cache/tc), written aside and renamed: safe under concurrent use. An entry
 * that is damaged is built again. The cache is no authority: code runs only if the trust record knows it (trust.h). */
#ifndef TC_CODEGEN_CACHE_H
#define TC_CODEGEN_CACHE_H

#include "codegen/cc.h"

/* tc_cc_build by way of the cache. *out_hit: the compiler was not started. */
tc_status tc_cc_cached(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out, bool *out_hit);

/* $VARIABLE/SUB, else ~/HOME_PART/SUB; out is empty when neither is set. */
void tc_user_path(const char *variable, const char *home_part, const char *sub, tc_buf *out);
/* The same; made with mode 0700. TC_ENV when there is no such place or it is not the user's own. */
tc_status tc_user_dir(const char *variable, const char *home_part, const char *sub, tc_buf *out);

#endif
