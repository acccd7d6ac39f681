/* Chooses for each attention of a program the fused kernel or products and a softmax: --sdpa, --log sdpa. */
#ifndef TC_OP_ATTENTION_CHOICE_H
#define TC_OP_ATTENTION_CHOICE_H

#include "op/decompose.h"

typedef enum {
    TC_SDPA_AUTO, /* the fused kernel where it applies, also for attention written out in the model */
    TC_SDPA_MATH, /* always products and softmax: PyTorch's SDPBackend.MATH */
    TC_SDPA_FLASH /* always the kernel; an error where it does not apply */
} tc_sdpa;

/* Why the fused kernel does not apply to this scaled_dot_product_attention (static text); NULL: it does. */
const char *tc_attention_misses_kernel(const tc_node *n);
tc_status tc_attention_written_out(tc_emit *e, const tc_node *n); /* its composition of products and a softmax */
/* Applies the choice to a program before decomposition. TC_SDPA_FLASH: TC_UNSUPPORTED names the first attention to which the kernel does not apply. */
tc_status tc_attention_choose(tc_program *p, tc_sdpa how);

/* The attention nodes before decomposition. */
typedef TC_VEC(const tc_node *) tc_attention_list;
void tc_attention_collect(const tc_program *p, tc_attention_list *out);
/* One line per attention of the decomposed program: location, implementation, and why not the kernel. */
void tc_attention_report(const tc_program *planned, const tc_attention_list *asked, tc_sdpa how, tc_buf *out);

#endif
