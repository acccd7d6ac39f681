/* Functions that tc does not use, each with what to use instead. `make lint` reads the names from the lines below; the header
 * itself, included by a file, makes gcc and clang refuse them. */
#ifndef TC_BASE_BANNED_H
#define TC_BASE_BANNED_H

#pragma GCC poison strcpy    /* tc_buf, memcpy with a length */
#pragma GCC poison strcat    /* tc_buf_puts */
#pragma GCC poison strncpy   /* memcpy */
#pragma GCC poison strncat   /* tc_buf_append */
#pragma GCC poison sprintf   /* snprintf, tc_buf_printf */
#pragma GCC poison vsprintf  /* vsnprintf, tc_buf_vprintf */
#pragma GCC poison gets      /* getline */
#pragma GCC poison atoi      /* tc_parse_i64 */
#pragma GCC poison atol      /* tc_parse_i64 */
#pragma GCC poison atof      /* tc_parse_double */
#pragma GCC poison strtok    /* strcspn */
#pragma GCC poison alloca    /* arena */
#pragma GCC poison tmpnam    /* mkostemp */
#pragma GCC poison mktemp    /* mkostemp */
#pragma GCC poison setlocale /* numbers are read and written in the C locale */
#pragma GCC poison asctime   /* strftime */
#pragma GCC poison ctime     /* strftime */
#pragma GCC poison rand      /* base/rng.h */
#pragma GCC poison random    /* base/rng.h */

#endif
