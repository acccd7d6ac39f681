/* Quoting for the shell. */
#include "base/shell.h"

#include <string.h>

void tc_shell_word(tc_buf *b, const char *word) {
    const bool plain = *word && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789%+,-./:=@_")];
    if (!plain) tc_buf_putc(b, '\'');
    for (const char *s = word; *s; s++)
        if (*s == '\'') tc_buf_puts(b, "'\\''");
        else tc_buf_putc(b, *s);
    if (!plain) tc_buf_putc(b, '\'');
}
