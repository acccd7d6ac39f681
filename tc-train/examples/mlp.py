"""A multilayer perceptron for 28x28 images. A plain PyTorch file: the same file runs under PyTorch and under tc."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class MLP(nn.Module):
    def __init__(self, features=784, hidden=(128, 64), classes=10):
        super().__init__()
        sizes = [features, *hidden]
        self.layers = nn.ModuleList([nn.Linear(a, b) for a, b in zip(sizes[:-1], sizes[1:])])
        self.head = nn.Linear(sizes[-1], classes)

    def forward(self, x):
        x = x.flatten(1)
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.head(x)
