/* Passing over large parts of JSON text, 64 bytes at a time. */
#ifndef TC_BASE_JSON_BLOCKS_H
#define TC_BASE_JSON_BLOCKS_H

/* From p, outside of strings and at bracket depth *io_depth: how far blocks of 64 bytes can be passed while the depth stays above `base` and
 * within `limit`. Ends outside a string; what follows is for the caller to read byte by byte. */
const char *tc_json_skip_blocks(const char *p, const char *end, int base, int limit, int *io_depth);

#endif
