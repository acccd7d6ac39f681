/* --time of tc-export: where the wall time of a capture goes, by the lines of the model's own files. A line has the time of what the library
 * does for it; what no line asks for stands under a phase. A switch costs a clock reading; without a profile nothing is asked. */
#ifndef TC_CAPTURE_PROFILE_H
#define TC_CAPTURE_PROFILE_H

#include "base/mem.h"

struct scope;
typedef struct tc_profile tc_profile;
typedef struct tc_profile_row tc_profile_row;

tc_profile *tc_profile_create(double started); /* seconds of tc_now; what came before the first switch is "starting" */
void tc_profile_destroy(tc_profile *p);
void tc_profile_phase(tc_profile *p, const char *name); /* from now on; p NULL: nothing */
void tc_profile_line(tc_profile *p, const struct scope *sc, int line);
tc_profile_row *tc_profile_here(const tc_profile *p);
void tc_profile_back(tc_profile *p, tc_profile_row *row); /* from now on again */
/* Rows by time, the largest first, those under a thousandth together; they add up to the time from `started` to now. */
void tc_profile_print(tc_profile *p, tc_buf *out);

#endif
