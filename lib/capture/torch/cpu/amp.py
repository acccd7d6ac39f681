# torch.cpu.amp.
import torch


class autocast(torch.autocast):
    def __init__(self, enabled=True, dtype=torch.bfloat16, cache_enabled=True):
        super().__init__("cpu", dtype, enabled, cache_enabled)
