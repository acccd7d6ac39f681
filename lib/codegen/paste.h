/* Texts that the build embeds (build/gen/paste.c). */
#ifndef TC_CODEGEN_PASTE_H
#define TC_CODEGEN_PASTE_H

extern const char tc_paste_text[];  /* codegen/prelude.h and what it includes, preprocessed */
extern const char tc_abi_text[];    /* codegen/tc_abi.h as it is */
extern const char tc_filter_text[]; /* codegen/filter.h as it is */

#endif
