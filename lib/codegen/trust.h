/* The user's own record of native code: what tc-compile made for this user. $XDG_DATA_HOME/tc-trusted (else ~/.local/share/tc-trusted),
 * mode 0700, owned by the user; an empty file for each hash. Code from an archive or the cache runs only if its hash stands there. */
#ifndef TC_CODEGEN_TRUST_H
#define TC_CODEGEN_TRUST_H

#include "base/status.h"

enum { TC_TRUST_BYTES = 32 };

/* BLAKE2b over the code, the version of its interface, its instruction set and what it was made for (`scope`: graph and weights layout). */
void tc_trust_hash(const void *code, size_t len, const char *isa, const void *scope, size_t scope_len, unsigned char out[TC_TRUST_BYTES]);
tc_status tc_trust_add(const unsigned char hash[TC_TRUST_BYTES]);
/* A record that is missing, or not the user's own, knows nothing: false, without an error. */
bool tc_trust_known(const unsigned char hash[TC_TRUST_BYTES]);

#endif
