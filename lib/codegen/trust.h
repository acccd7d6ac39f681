/* The trust record: hashes of the native code that tc-compile made for this user. A directory $XDG_DATA_HOME/tc-trusted (else
 * ~/.local/share/tc-trusted), mode 0700, owned by the user, with one empty file per hash. Code from an archive or the cache runs only if its hash is
 * recorded. */
#ifndef TC_CODEGEN_TRUST_H
#define TC_CODEGEN_TRUST_H

#include "base/status.h"

enum { TC_TRUST_BYTES = 32 };

/* BLAKE2b over the code, the ABI version, the instruction set and `scope` (what the code was made for: graph and weights layout). */
void tc_trust_hash(const void *code, size_t len, const char *isa, const void *scope, size_t scope_len, unsigned char out[TC_TRUST_BYTES]);
tc_status tc_trust_add(const unsigned char hash[TC_TRUST_BYTES]);
/* Is the hash recorded? False, without an error, when the record is missing or not this user's own. */
bool tc_trust_known(const unsigned char hash[TC_TRUST_BYTES]);

#endif
