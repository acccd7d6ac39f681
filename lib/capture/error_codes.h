/* Identifiers of capture errors, TC0101 and so on, stable across versions. One table maps errors to identifiers with cause and remedy; tc-model(7) and
 * --help=TC0101 print it. */
#ifndef TC_CAPTURE_ERROR_CODES_H
#define TC_CAPTURE_ERROR_CODES_H

#include "base/mem.h"

#include <stdbool.h>

typedef struct {
    const char *id;    /* "TC0101" */
    const char *type;  /* the class of the exception; NULL: any */
    const char *words; /* a part of its message; NULL: any */
    const char *cause, *cure;
} tc_capture_code;
extern const tc_capture_code tc_capture_codes[]; /* id NULL last; the first matching row identifies an error */

/* The identifier of an error. raised: by a raise or assert statement of the model. */
const char *tc_capture_code_of(const char *type, const char *message, bool raised);
bool tc_capture_explain(tc_buf *out, const char *id); /* appends cause and remedy; false: unknown identifier */
void tc_capture_codes_mdoc(tc_buf *out);              /* the list in tc-model(7) */

#endif
