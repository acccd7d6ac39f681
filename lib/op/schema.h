/* Schema strings to tc_schema, and the list of every schema that PyTorch has (aten_schemas.txt, part of the library). Inside lib/op. */
#ifndef TC_OP_SCHEMA_H
#define TC_OP_SCHEMA_H

#include "op/op.h"

/* Parses "aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"; "NAME(...)" gives a variadic schema. Everything in `out` is
 * allocated in `a`. TC_CONTENT naming an unknown type or the place of the error. */
tc_status tc_schema_parse(tc_arena *a, const char *text, size_t n, tc_schema *out);

/* One line of the list, without newline; NULL if there is none. key: "aten::add.Tensor", "aten::relu". A schema may be followed by a space and
 * marks, and by a space, '!' and types: see op.h. Includes the out forms that PyTorch's build generates, which only torch.ops has;
 * tc_aten_each skips them. */
const char *tc_aten_line(const char *key, size_t n, size_t *out_len);
/* Visits the lines that begin with "PREFIX." or "PREFIX(", in order, until fn returns false. */
void tc_aten_each(const char *prefix, size_t n, bool (*fn)(void *ctx, const char *line, size_t len), void *ctx);

#endif
