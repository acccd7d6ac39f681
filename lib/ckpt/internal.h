/* Shared by the files of lib/ckpt. */
#ifndef TC_CKPT_INTERNAL_H
#define TC_CKPT_INTERNAL_H

#include "base/status.h"

/* BLAKE2b-256 of a file, as 64 hex digits, and its length. */
tc_status tc_ckpt_hash(const char *path, char out[65], int64_t *out_bytes);

#endif
