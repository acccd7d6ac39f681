/* tc-export --time: wall time of a capture by line of the model's files. A line includes the library work that it causes; other time is booked under
 * phases. Each switch reads the clock once; without a profile there is no cost. */
#ifndef TC_CAPTURE_PROFILE_H
#define TC_CAPTURE_PROFILE_H

#include "base/mem.h"

struct scope;
typedef struct tc_profile tc_profile;
typedef struct tc_profile_row tc_profile_row;

tc_profile *tc_profile_create(double started); /* seconds of tc_now; what came before the first switch is "starting" */
void tc_profile_destroy(tc_profile *p);
void tc_profile_phase(tc_profile *p, const char *name); /* books time under this phase from now on; p may be NULL */
void tc_profile_line(tc_profile *p, const struct scope *sc, int line);
tc_profile_row *tc_profile_here(const tc_profile *p);
void tc_profile_back(tc_profile *p, tc_profile_row *row); /* from now on again */
/* Prints rows by time, largest first, those under 0.1 % combined; they add up to the time since `started`. */
void tc_profile_print(tc_profile *p, tc_buf *out);

#endif
