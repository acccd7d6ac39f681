/* Protocol buffers wire format: a bounded pull reader over bytes in memory, with file offsets in errors.
 *
 *     tc_pb m = tc_pb_open(name, data, n);
 *     while (tc_pb_next(&m)) switch (m.field) {
 *         case 1: version = tc_pb_int(&m); break;
 *         case 7: { tc_pb sub = tc_pb_message(&m); ... tc_pb_close(&m, &sub); } break;
 *         default: break;                      // unknown fields are skipped
 *     }
 *     TC_TRY(m.status);
 *
 * Nothing is copied or allocated. Lengths are checked before use, messages nest at most TC_PB_DEPTH deep, groups (obsolete) are refused. The first error
 * is kept and ends reading. */
#ifndef TC_FILE_PROTOBUF_H
#define TC_FILE_PROTOBUF_H

#include "base/status.h"

enum { TC_PB_DEPTH = 100, TC_PB_MAX_FIELD = (1 << 29) - 1 };
typedef enum { TC_PB_VARINT = 0, TC_PB_I64 = 1, TC_PB_LEN = 2, TC_PB_GROUP = 3, TC_PB_END_GROUP = 4, TC_PB_I32 = 5 } tc_pb_wire;

typedef struct {
    const char *name;           /* of the file, for messages; borrowed */
    const unsigned char *whole; /* its first byte: positions count from here */
    const unsigned char *at, *end;
    int depth;
    uint32_t field; /* of the record that tc_pb_next found */
    tc_pb_wire wire;
    uint64_t number;            /* VARINT, I64, I32 */
    const unsigned char *bytes; /* LEN */
    size_t len;
    tc_status status;
} tc_pb;

tc_pb tc_pb_open(const char *name, const void *data, size_t n);
/* The next record; false at the end or after a failure. */
bool tc_pb_next(tc_pb *m);
/* Records an error at the last record; the first error is kept. */
void tc_pb_fail(tc_pb *m, tc_code code, const char *fmt, ...) TC_PRINTF(3, 4);

/* The record's value; another wire type than the schema's is a failure and gives 0. */
int64_t tc_pb_int(tc_pb *m);                                   /* int32, int64, bool, enum */
float tc_pb_float(tc_pb *m);                                   /* float */
bool tc_pb_bytes(tc_pb *m, const char **out, size_t *out_len); /* string, bytes: borrowed from the file, not terminated */
/* Opens the record as a nested message; tc_pb_close propagates its error. */
tc_pb tc_pb_message(tc_pb *m);
void tc_pb_close(tc_pb *m, tc_pb *sub);
/* Elements of a repeated number, packed (a LEN record) or one a record: how many this record holds, and each of them in turn.
 *     size_t n = tc_pb_count(&m, 8); for (size_t i = 0; i < n; i++) x = tc_pb_element(&m, 8);
 * width: bytes of an element; 0: varints. */
size_t tc_pb_count(tc_pb *m, int width);
uint64_t tc_pb_element(tc_pb *m, int width);

#endif
