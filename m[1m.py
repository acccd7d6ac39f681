import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.l = torch.nn.Linear(3, 2)
        self.register_buffer('w', torch.ones(2))
    def forward(self, x):
        print("said\x1b[31m")
        return (self.l(x).exp() + self.w).sum(0)
