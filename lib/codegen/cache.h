/* The cache of compiled objects, by content: the same C, compiler, flags, target and versions give the same key, so a warm compile starts
 * no compiler. One file per entry in $XDG_CACHE_HOME/tc (else ~/.cache/tc), written to a temporary file and renamed, so concurrent use is safe. A
 * damaged entry is rebuilt. Entries together have at most $TC_CACHE_SIZE MiB (default 1024): a new one removes those not used for longest. Comments of the text, which name lines of the model's source, are no part of the key. The cache grants no trust: code runs
 * only if its hash stands in the trust record (trust.h). */
#ifndef TC_CODEGEN_CACHE_H
#define TC_CODEGEN_CACHE_H

#include "codegen/cc.h"

#include <sodium/crypto_generichash.h>

/* tc_cc_build through the cache; out: the object. *out_hit: it came from the cache, no compiler was started. Objects that hold more than
 * TC_CACHE_WEIGHTS bytes of weights are built each time. Errors: those of tc_cc_build. */
enum { TC_CACHE_WEIGHTS = 4 << 20 };
tc_status tc_cc_cached(const char *text, size_t len, tc_cc_kind kind, const tc_cc_options *o, tc_buf *out, bool *out_hit);

/* The path $VARIABLE/SUB, else ~/HOME_PART/SUB; empty when neither the variable nor a home directory is known. Nothing is created. */
void tc_user_path(const char *variable, const char *home_part, const char *sub, tc_buf *out);
/* The same directory, created with mode 0700. TC_ENV: no path is known, or it exists and is not a private directory of this user. */
tc_status tc_user_dir(const char *variable, const char *home_part, const char *sub, tc_buf *out);
/* Removes what stands at the path of a file of tc's own in such a directory and is no file: a FIFO would stop its reader for ever. */
void tc_user_clear(const char *path);

/* Adds a field to a hash: its length (8 bytes), then its bytes, so that different divisions of the same bytes hash differently. */
void tc_hash_field(crypto_generichash_state *h, const void *p, size_t n);

#endif
