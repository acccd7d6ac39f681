/* Binds the arguments of a Python call to an overload's schema, by the rules of PyTorch's argument parser; checks of tensors that a call writes. */
#ifndef TC_CAPTURE_TORCH_BIND_H
#define TC_CAPTURE_TORCH_BIND_H

#include "capture/torch.h"

enum { TC_MAX_PARAMS = 40 };

typedef struct {
    tc_arg arg[TC_MAX_PARAMS]; /* schema order; TC_A_VALUE entries have value NULL until the tensors are known as values */
    V object[TC_MAX_PARAMS];   /* the tensor, or the list of tensors, of each argument; NULL for others */
    bool given[TC_MAX_PARAMS];
    int n;
    bool wide;                /* a number beyond int64 was bound as a float */
    const char *too_big;      /* an int beyond 64 bits was given: what the call raises; NULL: none */
    struct tc_generator *gen; /* of generator= */
    bool on_device, on_meta;  /* device= was given; it is "meta" */
    V out;                    /* out=: a tensor or a tuple of them; NULL */
    int requires_grad;        /* requires_grad= of a factory: -1 not given */
    bool reads;               /* 0-d tensors may be read out where a number is asked for: tried when no overload takes them as they are */
    bool strict;              /* of torch.ops in the user's source: by the rules of TorchScript, which convert more */
    tc_buf why;               /* when binding failed: what does not fit; free it */
} tc_binding;

/* Binds A to op's schema in b; false, with b->why, when they do not match. Missing arguments take their defaults. is_method: A->a[0] is self.
 * strict_names: only the schema's parameter names (torch.ops). */
bool tc_torch_bind(C *c, const tc_op *op, args *A, bool is_method, bool strict_names, tc_binding *b);

/* Raises where PyTorch has no CPU kernel for the dtype of the first tensor (torch_types.c). */
void tc_torch_check_type(C *c, const tc_op *op, const tc_arg *arg, const V *objects);

/* What the results of the call that was looked at last show; {0} at first. */
typedef struct {
    const tc_node *at;
    struct tc_result_alias *aliases;
    int count;
} tc_looked;
/* The argument whose elements r, a result, shows; NULL: it has its own, or is another type of the same bytes, which is new in inference mode. */
const tensor *tc_inference_looked_at(C *c, tc_looked *last, const tc_schema *s, const tc_binding *b, const tensor *r);

/* Tensors of torch.inference_mode (inference.c). Before a call: raises where it writes to one outside that mode. After it: which of its
 * results are such tensors, and raises where a backward outside that mode would have to keep one. made: v is new, and one of them in that
 * mode. no_grad: raises where t is one that must not require a gradient now. */
void tc_inference_check(C *c, const tc_schema *s, const tc_binding *b);
void tc_inference_mark(C *c, const tc_op *op, const tc_binding *b, V result);
V tc_inference_made(C *c, V v);
void tc_inference_no_grad(C *c, const tensor *t);

/* out= (torch_out.c), a tensor or a sequence of them, of a call that is about to be made: raises where PyTorch does not write there, and says
 * in the arguments what type is computed in. */
void tc_torch_out_before(C *c, const tc_op *op, tc_binding *b);
/* The result r goes into out=, which is returned: its type stays, its size becomes that of r. */
V tc_torch_out(C *c, const tc_op *op, const tc_binding *b, V r);
/* Raises where a call must not write to this tensor: its elements overlap in memory, or partially overlap an operand. */
void tc_torch_check_written(C *c, const tc_op *op, const tc_binding *b, V written);
/* Raises where the result r of an in-place call does not have the size of the tensor written to. */
void tc_torch_check_size(C *c, const tc_op *op, V written, V r);

#endif
