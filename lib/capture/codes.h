/* Identifiers of what a capture can fail with: TC0101 and so on, the same for the same cause in every version. One table holds
 * which error has which identifier, its cause and its cure; tc-model(7) and --help=TC0101 say what the table says. */
#ifndef TC_CAPTURE_CODES_H
#define TC_CAPTURE_CODES_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct {
    const char *id;    /* "TC0101" */
    const char *type;  /* the class of the exception; NULL: any */
    const char *words; /* a part of its message; NULL: any */
    const char *cause, *cure;
} tc_capture_code;
extern const tc_capture_code tc_capture_codes[]; /* id NULL last; the first row that fits an error is its own */

/* The identifier of an error. raised: a raise or assert of the model's own made it. */
const char *tc_capture_code_of(const char *type, const char *message, bool raised);
bool tc_capture_explain(tc_buf *out, const char *id); /* cause and cure as text for people; false: there is no such identifier */
void tc_capture_codes_mdoc(tc_buf *out);              /* the list in tc-model(7) */

#endif
