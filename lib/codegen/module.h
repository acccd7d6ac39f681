/* Loaded native modules: shared objects from an archive, checked against the trust record, loaded from a sealed memory file; groups are looked up by
 * key.
 *
 *     tc_modules *m = tc_modules_create();
 *     TC_TRY(tc_modules_load(m, &code, trust, &note));      note: why it was not loaded, or NULL
 *     const tc_abi_group *g = tc_modules_find(m, key);                                   fits tc_exec_code.find (runtime.h) */
#ifndef TC_CODEGEN_MODULE_H
#define TC_CODEGEN_MODULE_H

#include "base/mem.h"
#include "codegen/tc_abi.h"
#include "codegen/trust.h"

typedef struct tc_modules tc_modules;

tc_modules *tc_modules_create(void);
/* Unloads the code; groups found in it are invalid afterwards. NULL is allowed. */
void tc_modules_destroy(tc_modules *m);
/* Copies code into a sealed memory file, which the caller closes. out_runs: is it trusted, or is it in the user's trust record? */
tc_status tc_code_seal(const tc_native_code *code, bool trusted, int *out_fd, bool *out_runs);

/* Copies the code into a sealed memory file, checks its hash against the user's trust record (unless `trusted`) and loads it. Code that is not trusted
 * or that this processor cannot run is not loaded: *out_note (static text) says why, and the status is NULL. TC_CONTENT: damaged. */
tc_status tc_modules_load(tc_modules *m, const tc_native_code *code, bool trusted, const char **out_note);
const tc_abi_group *tc_modules_find(void *modules, const uint8_t key[TC_ABI_KEY_BYTES]);
size_t tc_modules_groups(const tc_modules *m);

#endif
