# torch.cuda.amp.
import torch
from torch.amp import custom_bwd, custom_fwd

class autocast(torch.autocast):
    def __init__(self, enabled=True, dtype=torch.float16, cache_enabled=True):
        super().__init__("cuda", dtype, enabled, cache_enabled)
