import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, hidden=8):
        super().__init__()
        self.a = nn.Linear(3, hidden)
        self.norm = nn.BatchNorm1d(hidden)
        self.drop = nn.Dropout(0.25)
        self.b = nn.Linear(hidden, 4)

    def forward(self, x):
        return self.b(self.drop(F.relu(self.norm(self.a(x.float())))))
