/* Extensions: shared libraries of operators that a user wrote against tc_ops.h, and asked for by name (--ops). What such an operator is to the graph:
 * op/extension.h. */
#ifndef TC_RUNTIME_EXTENSION_H
#define TC_RUNTIME_EXTENSION_H

#include "graph/graph.h"

/* Loads the library at `path`, which runs code of it, and registers its operators; it stays loaded. TC_USAGE: neither `trusted` nor in this user's trust
 * record (codegen/trust.h); TC_ENV: no such file; TC_CONTENT, one line: it is no extension, is for a later version of tc, or what is wrong with an
 * operator. */
tc_status tc_extension_load(const char *path, bool trusted);
/* Records the bytes of a library that this user built. */
tc_status tc_extension_trust(const void *code, size_t len);

/* A line for each operator of the extensions that are loaded, tabs between: its schema, its shape rule, its gradient, the file whose kernel it has. */
void tc_extension_list(tc_buf *out);

/* Runs the kernel of n, a call of an extension's functional row with constant numbers, on tensors by value id; outs: its results. pool may be NULL. */
struct tc_pool;
tc_status tc_extension_call(const tc_node *n, tc_tensor *t, tc_tensor *outs, struct tc_pool *pool);

#endif
