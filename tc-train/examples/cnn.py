"""A small residual convnet with batch normalisation for 28x28 images."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    """Two 3x3 convolutions and a shortcut; a 1x1 convolution where the shape changes."""

    def __init__(self, cin, cout, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        if stride != 1 or cin != cout:
            self.short = nn.Sequential(nn.Conv2d(cin, cout, 1, stride=stride, bias=False), nn.BatchNorm2d(cout))
        else:
            self.short = nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.short(x))


class CNN(nn.Module):
    def __init__(self, channels=(8, 16, 32), classes=10):
        super().__init__()
        self.stem = nn.Conv2d(1, channels[0], 3, padding=1, bias=False)
        self.bn = nn.BatchNorm2d(channels[0])
        blocks = [Block(channels[0], channels[0])]
        for a, b in zip(channels[:-1], channels[1:]):
            blocks.append(Block(a, b, stride=2))
        self.blocks = nn.ModuleList(blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(channels[-1], classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def forward(self, x):
        x = F.relu(self.bn(self.stem(x)))
        for block in self.blocks:
            x = block(x)
        return self.fc(self.pool(x).flatten(1))
