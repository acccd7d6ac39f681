# torch.version: the PyTorch that the language follows, built for no other device.
from torch import __version__

cuda = hip = xpu = None
debug = False
git_version = "Unknown"
