/* Command lines that a user may paste, or a file keeps: names in them are those of models and files, which may hold anything. */
#ifndef TC_BASE_SHELL_H
#define TC_BASE_SHELL_H

#include "base/mem.h"

/* Appends a word, quoted where the shell would read it otherwise. */
void tc_shell_word(tc_buf *b, const char *word);

#endif
