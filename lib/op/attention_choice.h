/* Which attentions of a program run as one kernel, and which as products and a softmax: --sdpa, --log sdpa. */
#ifndef TC_OP_ATTENTION_CHOICE_H
#define TC_OP_ATTENTION_CHOICE_H

#include "op/decompose.h"

typedef enum {
    TC_SDPA_AUTO, /* the kernel wherever it fits, for attention written by hand too */
    TC_SDPA_MATH, /* written out, everywhere: PyTorch's SDPBackend.MATH */
    TC_SDPA_FLASH /* the kernel everywhere; what it does not fit is an error */
} tc_sdpa;

/* Why no kernel computes this scaled_dot_product_attention as it stands; NULL: one does. The text lives for ever. */
const char *tc_attention_misses_kernel(const tc_node *n);
tc_status tc_attention_written_out(tc_emit *e, const tc_node *n); /* its composition of products and a softmax */
/* In a program that is not decomposed yet. TC_SDPA_FLASH: TC_UNSUPPORTED naming the first that has no kernel. */
tc_status tc_attention_choose(tc_program *p, tc_sdpa how);

/* What was asked for, before it was decomposed. */
typedef TC_VEC(const tc_node *) tc_attention_list;
void tc_attention_collect(const tc_program *p, tc_attention_list *out);
/* A line for each attention of the decomposed program, in its order: where it stands, what it runs as, and why not as the kernel. */
void tc_attention_report(const tc_program *planned, const tc_attention_list *asked, tc_sdpa how, tc_buf *out);

#endif
