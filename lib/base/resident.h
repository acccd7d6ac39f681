/* The resident memory of this process in bytes, including mapped files. */
#ifndef TC_BASE_RESIDENT_H
#define TC_BASE_RESIDENT_H

#include <stddef.h>

/* 0 if the system does not tell. */
size_t tc_resident_now(void);
size_t tc_resident_most(void); /* the largest so far */

#endif
