# What modules print, against PyTorch 2.15.
import torch
from torch import nn

print(nn.Sequential(nn.BatchNorm1d(4, bias=False), nn.InstanceNorm2d(3), nn.GroupNorm(2, 4, affine=False), nn.SyncBatchNorm(2, bias=False)))
print(nn.ModuleList([nn.Linear(1, 2), nn.Linear(1, 2), nn.ReLU(), nn.ModuleList([nn.ReLU(), nn.ReLU()])]), nn.ModuleList())
print(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16), 2, enable_nested_tensor=False))
print(nn.RNNCell(2, 3, nonlinearity="relu"), nn.GRUCell(2, 3), nn.LinearCrossEntropyLoss(3, 4))
print(nn.ParameterList([torch.ones(2, 3), 5]), nn.ParameterDict({"x": torch.ones(2), "n": 3}))
