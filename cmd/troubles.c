/* The second line of an error: what it usually means and what to do, by a part of the message (troubles.txt, tc-troubleshooting(7)).
 *
 *     tc-run: x.pt2: cannot open: No such file or directory
 *     the name is misspelt, or relative to another folder than this one: ls shows what is here
 */
#include "base/embedded.h"
#include "cmd/internal.h"

extern const tc_embedded tc_troubles; /* lines of a pattern, a tab and a line to print */

/* Are the parts of the pattern, between its stars, in the text, in their order? */
static bool matches(const char *text, const char *pattern, const char *end) {
    for (const char *part = pattern; part < end; part++) {
        const char *star = memchr(part, '*', (size_t)(end - part));
        const size_t n = (size_t)((star ? star : end) - part);
        text = memmem(text, strlen(text), part, n);
        if (!text) return false;
        text += n;
        part += n;
    }
    return true;
}

void tc_cmd_trouble(const char *message, tc_buf *out) {
    tc_buf all = {0};
    bool found = false;
    tc_embedded_append(&all, &tc_troubles);
    for (const char *line = tc_buf_str(&all), *end; !found && (end = strchr(line, '\n')); line = end + 1) {
        const char *tab = memchr(line, '\t', (size_t)(end - line));
        found = tab && matches(message, line, tab);
        if (found) tc_buf_append(out, tab + 1, (size_t)(end - tab - 1));
    }
    tc_buf_free(&all);
}
