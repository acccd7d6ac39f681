/* Texts that the build embeds (build/gen/paste.c). */
#ifndef TC_CODEGEN_PASTE_H
#define TC_CODEGEN_PASTE_H

#include "base/embedded.h"

extern const tc_embedded tc_prelude_text; /* codegen/prelude.h and what it includes, preprocessed */
extern const tc_embedded tc_abi_text;     /* codegen/tc_abi.h as it is */
extern const tc_embedded tc_filter_text;  /* codegen/filter.h as it is */
extern const tc_embedded tc_ops_text;     /* tc_ops.h without comments */

#endif
