/* The trust record: hashes of the native code that tc-compile made for this user. A directory $XDG_DATA_HOME/tc-trusted (else
 * ~/.local/share/tc-trusted), mode 0700, owned by the user, with one empty file per hash. Code from an archive or the cache runs only if its hash is
 * recorded. */
#ifndef TC_CODEGEN_TRUST_H
#define TC_CODEGEN_TRUST_H

#include "base/status.h"

/* The bytes of a shared object, the instruction set that it is for ("": whichever the compiler chose), and what it was made for: code that is trusted
 * in one scope is not trusted in another. */
typedef struct {
    const void *data;
    size_t len;
    const char *isa, *scope;
} tc_native_code;

/* Records that this user made the code. */
tc_status tc_trust_add(const tc_native_code *code);
/* Is the code recorded? False, without an error, when the record is missing or not this user's own. */
bool tc_trust_known(const tc_native_code *code);

#endif
