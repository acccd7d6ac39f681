/* The memory of this process: bytes that are resident, files mapped included. */
#ifndef TC_BASE_RESIDENT_H
#define TC_BASE_RESIDENT_H

#include <stddef.h>

/* 0 where the system does not say. */
size_t tc_resident_now(void);
size_t tc_resident_most(void); /* at most so far */

#endif
