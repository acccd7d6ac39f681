import torch.n nas nn
from .
