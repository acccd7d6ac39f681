/* Writes a tc-train checkpoint in the form that PyTorch training scripts save. */
#ifndef TC_CKPT_TRAINING_H
#define TC_CKPT_TRAINING_H

#include "ckpt/ckpt.h"

/* {"model": state_dict, "optimizer": state_dict, "scheduler": ..., "scaler": ..., "step": N} of a checkpoint whose tensors are content's, by their names
 * model.FQN and optim.state.FQN.KEY. *out_is false, and nothing written, when state says nothing of the optimiser's groups. */
tc_status training_write(tc_out *o, const tc_content *content, const char *state, int64_t step, bool *out_is);

#endif
