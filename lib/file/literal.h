/* Tensors written on a command line: "2x2xf32=1,2,3,4", "i64=5", "3xbool=true" (one value fills). */
#ifndef TC_FILE_LITERAL_H
#define TC_FILE_LITERAL_H

#include "tensor/tensor.h"

/* Length of the sizes and dtype that text begins with ("2x2xf32" of "2x2xf32=1"), or 0 when it begins with something else. Sizes may
 * also be symbols in capitals ("BxTxi64") when `symbols` is set. */
size_t tc_literal_type(const char *text, bool symbols);
/* TC_USAGE naming the place. */
tc_status tc_literal_parse(const char *text, tc_tensor *out);

#endif
