# functorch: what torch.func was called before it was part of PyTorch.
from torch.func import (functional_call, functionalize, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, linearize, replace_all_batch_norm_modules_,
                        stack_module_state, vjp, vmap)
