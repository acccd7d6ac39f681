/* Passing over large parts of JSON text, 64 bytes at a time. */
#ifndef TC_BASE_JSON_BLOCKS_H
#define TC_BASE_JSON_BLOCKS_H

/* Skips blocks of 64 bytes from p, which is outside strings and at bracket depth *io_depth, while the depth stays above `base` and within `limit`.
 * Stops outside a string; the caller reads on byte by byte. */
const char *tc_json_skip_blocks(const char *p, const char *end, int base, int limit, int *io_depth);

#endif
