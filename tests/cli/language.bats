# The model language against CPython: each tests/language/NAME.py prints the same text under `python3 -W ignore NAME.py`, which wrote NAME.out
# (3.11 or later, with PyTorch where it imports torch), and when tc-export evaluates it.
load common

@test "the model language prints what CPython prints" {
    cd "$BATS_TEST_TMPDIR"
    for source in "$TC_ROOT"/tests/language/*.py; do
        { cat "$source"; printf 'import torch.nn as nn\nclass M(nn.Module):\n    def forward(self, x):\n        return x\n'; } >m.py
        tc-export m.py:M --input x=2xf32 -o m.pt2 2>said
        grep -v "ASan doesn't fully support makecontext" said >printed || true # which it says of every program that calls it
        diff -u "${source%.py}.out" printed
    done
}

@test "a module whose dicts have keys that are no strings, or whose walks and state_dict give something else, is refused" {
    cd "$BATS_TEST_TMPDIR"
    module() { # LINE-OF-__init__ [METHOD]
        printf 'import torch\nimport torch.nn as nn\nclass M(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.l = nn.Linear(2, 2)\n        %s\n%s\n    def forward(self, x):\n        return self.l(x)\n' "$1" "$2" >m.py
    }
    name="the name of a module, a parameter or a buffer must be a string, not int"
    module 'self._modules[0] = nn.ReLU()'
    fails 3 "$name" tc-export m.py:M --input x=2xf32 --print
    module 'self._parameters[5] = nn.Parameter(torch.ones(2))'
    fails 3 "$name" tc-export m.py:M --input x=2xf32 --print
    module 'self._buffers[5] = torch.ones(2)'
    fails 3 "$name" tc-export m.py:M --input x=2xf32 --print
    module 'list(self.named_parameters())' '    def named_modules(self, *a, **k): return iter(["ab"])'
    fails 3 "AttributeError: 'str' object has no attribute '_parameters'" tc-export m.py:M --input x=2xf32 --print
    module 'list(self.named_parameters(prefix=None, recurse=False))'
    fails 3 "TypeError: named_modules() must give pairs of a string and a module" tc-export m.py:M --input x=2xf32 --print
    module '' '    def state_dict(self, *a, **k): return None'
    fails 3 "TypeError: state_dict() must give a dict, not NoneType" tc-export m.py:M --input x=2xf32 --print
}

@test "find_spec finds a file of --source without running it; of a package only the part around it runs" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p src/pk
    echo 'raise RuntimeError("side ran")' >src/side.py
    echo 'raise RuntimeError("part ran")' >src/pk/part.py
    echo 'print("pk runs")' >src/pk/__init__.py
    cat >src/m.py <<'PY'
import importlib.util
import torch.nn as nn
found = [importlib.util.find_spec(name) is not None for name in ("side", "pk.part", "pk.no", "no", "argparse", "wandb")]
try:
    importlib.util.find_spec("no.part")
except ModuleNotFoundError:
    print(*found)
class M(nn.Module):
    def forward(self, x):
        return x
PY
    tc-export src/m.py:M --source src --input x=2xf32 -o m.pt2 2>printed
    diff printed - <<<$'pk runs\nTrue True False False True False'
}

@test "imports stay in the folders of --source, through links too" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p in/pkg out
    echo 'K = 3' | tee out/secret.py in/pkg/k.py >/dev/null
    touch in/pkg/__init__.py
    ln -s ../out/secret.py in/link.py
    ln -s ../out in/folder
    ln -s k.py in/pkg/alias.py
    uses() { # IMPORT NAME
        printf 'import torch\n%s\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x * %s\n' "$1" "$2" >in/m.py
    }
    uses 'from link import K' K
    fails 3 "link.py leads out of the folder" tc-export in/m.py:M --source in --input x=2xf32 --print
    uses 'from folder.secret import K' K
    fails 3 "No module named 'folder" tc-export in/m.py:M --source in --input x=2xf32 --print
    uses 'from pkg.alias import K' K
    tc-export in/m.py:M --source in --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 3)'
}

@test "modules of Python that the language lacks are imported, and refused where they were when they are used" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import argparse, copy, json, os.path as osp, sys, time
from pathlib import Path
import torch

assert not isinstance("x", Path) and isinstance("x", (Path, str)) and not issubclass(int, Path)
try:
    raise ValueError
except (json.JSONDecodeError, ValueError):
    pass

K = 3 if sys.version_info >= (3, 8) and sys.version_info.major == 3 else 2


class Encoder(json.JSONEncoder):
    def default(self, o):
        return str(o)


class M(torch.nn.Module):
    def __init__(self, path: Path = None, timed=False):
        super().__init__()
        self.timed, self.clock = timed, time.time

    def forward(self, x):
        return x * (time.time() if self.timed else K)

    def save(self):
        torch.save(self.state_dict(), osp.join(sys.argv[1], "m.pt"))


if __name__ == "__main__":
    argparse.ArgumentParser()
copy.deepcopy(M())
PY
    tc-export m.py:M --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 3)'
    fails 5 "m.py:1:51: 'time' is a module outside the model language" tc-export m.py:M --arg timed=True --input x=2xf32 --print
    [[ "$stderr" == *"m.py:25 uses time.time"* ]]
}

@test "an undefined name is met with the nearest one that its place sees, never with itself or a name of the class around" {
    cd "$BATS_TEST_TMPDIR"
    printf 'import torch\nclass M(torch.nn.Module):\n    def helper(self):\n        pass\n    def forward(self, x):\n        weight = x\n        return %%s\n' >form
    meant() { # EXPRESSION SUGGESTION
        printf "$(cat form)\n" "$1" >m.py
        run --separate-stderr tc-export m.py:M --input x=2xf32 --print
        [ "$status" -eq 3 ]
        [ "${stderr_lines[-1]##* }" = "$2" ]
    }
    meant 'wieght' "'weight'?"
    meant 'helperr(x)' '^'
    meant 'JetViT(x)' '^'
}

@test "a file finds itself in sys.modules, an empty environment and versions that are older than any" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import os, sys, PIL
import torch
import torch.fx as fx

os.environ["TOKENIZERS_PARALLELISM"] = "false"
OLD = tuple(int(n) for n in PIL.__version__.split(".")[:2]) < (9, 2)
TYPES = {torch.nn.Linear, fx.Tracer, PIL.Image.Image}


class Twice(torch.nn.Module):
    def forward(self, x):
        return x * (int(os.environ.get("FACTOR", 2)) if OLD else 7) + int(os.getenv("BIAS", "3"))


def make(which="Twice"):
    assert sys.modules[make.__module__] is sys.modules[__name__] and sys.modules["torch"] is torch and "_lang" not in sys.modules
    return getattr(sys.modules[__name__], which)()
PY
    FACTOR=5 tc-export m.py:make --input x=2xf32 --print >printed
    grep -q 'aten.mul.Tensor(%x, 2)' printed
    grep -q 'aten.add.Tensor(%mul, 3)' printed
}

@test "numbers of random in a constructor follow the seed of torch; in forward they are refused" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import random
import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.k = random.randrange(10**6)

    def forward(self, x):
        return x * self.k


class Drops(torch.nn.Module):
    def forward(self, x):
        return x * 2 if self.training and random.random() < 0.5 else x
PY
    drawn() { tc-export m.py:M --seed "$1" --input x=2xf32 --print | grep mul; }
    [ "$(drawn 1)" = "$(drawn 1)" ]
    [ "$(drawn 1)" != "$(drawn 2)" ]
    tc-export m.py:Drops --mode eval --input x=2xf32 --print | grep -q 'program'
    fails 3 "m.py:16:50: NotImplementedError: numbers of random in forward" tc-export m.py:Drops --mode train --input x=2xf32 --print
}

@test "packages of tools are imported for what a file does beside its model, and are not there in a try; unknown ones are refused at once" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
from tqdm.auto import tqdm, trange
from torchvision import datasets, transforms
import torch
from labml.configs import BaseConfigs, option
from torch import nn
from torch_geometric.nn import MessagePassing
from transformers import PreTrainedModel


class Fast(MessagePassing):
    pass


try:
    import wandb
except ImportError:
    wandb = None


class M(nn.Module):
    def forward(self, x):
        for i in tqdm(trange(2), desc="steps", total=2):
            x = x * (3 + i if wandb is None else 2)
        return x


class Flip(nn.Module):
    def forward(self, x):
        return transforms.functional.hflip(x)
PY
    tc-export m.py:M --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 3)'
    fails 5 "m.py:2:1: 'torchvision' is a module outside the model language" tc-export m.py:Flip --input x=2xf32 --print
    [[ "$stderr" == *"m.py:29 uses torchvision.transforms.functional.hflip"* ]]
    mkdir yaml && printf 'def load(x):\n    return x\n' >yaml/__init__.py # a package that is there is the one that counts
    printf 'import torch\nfrom yaml import load\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return sum(x + i for i in load(range(2)))\n' >n.py
    tc-export n.py:M --source . --input x=2xf32 --print | grep -q 'aten.add'
    printf 'import torch\nimport my_ops\n' >o.py
    fails 3 "o.py:2:8: ModuleNotFoundError: No module named 'my_ops'" tc-export o.py:M --input x=2xf32 --print
}

@test "modules that torch brings along are there to be asked whether a model is exported, and their use is refused by name" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
from torch.overrides import has_torch_function


class M(torch.nn.Module):
    def forward(self, x):
        if torch.onnx.is_in_onnx_export() or has_torch_function((x,)) or not hasattr(torch, "export"):
            return -x
        return x + 1
PY
    tc-export m.py:M --input x=2xf32 --print | grep -q 'aten.add.Tensor(%x, 1)'
    echo 'B = int(torch.export.Dim("B"))
class M(torch.nn.Module):
    pass' >>m.py
    fails 5 "m.py:10:15: 'torch.export' is a module outside the model language" tc-export m.py:M --input x=2xf32 --print
    printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return torch.masked.masked_tensor(x, x > 0)\n' >n.py
    fails 5 "n.py:4:29: 'torch.masked.masked_tensor' is a name outside the model language" tc-export n.py:M --input x=2xf32 --print
}

@test "a script's top level is run as far as the language goes: what stands for unknown values is refused where a value is asked for" {
    cd "$BATS_TEST_TMPDIR"
    cat >gan.py <<'PY'
import argparse, os, sys, time
import torch
import torch.nn as nn
from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter
from torchvision import datasets, transforms
sys.path.append(os.path.dirname(os.path.abspath(__file__)))
os.makedirs("images", exist_ok=True)
torch._dynamo.config.suppress_errors = True
parser = argparse.ArgumentParser()
parser.add_argument("--latent_dim", type=int, default=5)
opt = parser.parse_args()
width = 2
writer = SummaryWriter("runs")
start = time.time() / 2


class Generator(nn.Module):
    def __init__(self, tell=False):
        super().__init__()
        self.l, self.tell = nn.Linear(opt.latent_dim, 3), tell

    def forward(self, z):
        if self.tell and writer is not None:
            writer.add_scalar("z", 0)
        return self.l(z)


class Late(nn.Module):
    def forward(self, z):
        return z * width


generator = Generator()
data = DataLoader(datasets.MNIST("data", transform=transforms.Compose([transforms.ToTensor()])), batch_size=2)
for i, (images, _) in enumerate(data):
    width = images.shape[1]


class Never(nn.Module):
    pass
PY
    tc-export gan.py:Generator --seed 3 --input z=Bx5xf32 -o a.pt2 2>said
    grep -q "gan.py:36: the top level of the file is run up to here: 'torch.utils.data.DataLoader' is a name outside the model language" said
    fails 5 "gan.py:5:1: 'torch.utils.tensorboard' is a module outside the model language" tc-export gan.py:Generator --arg tell=True --input z=Bx5xf32 --print
    fails 3 "NameError: name 'width' is not defined" tc-export gan.py:Late --input z=2xf32 --print
    fails 5 "gan.py:4:1: 'torch.utils.data.DataLoader' is a name outside" tc-export gan.py:Never --input z=2xf32 --print
    sed '/^generator/d' gan.py >same.py # what the top level draws is no part of the initialisation
    tc-export same.py:Generator --seed 3 --input z=Bx5xf32 -o b.pt2 2>said
    tc-ckpt diff a.pt2 b.pt2
}

@test "results that are numbers or text have the names that forward returns" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch


class M(torch.nn.Module):
    def forward(self, x):
        label, size, none = "abc", x.shape[0], None
        return label, x * 2, size, none, [size, "d"]
PY
    tc-export m.py:M --input x=Bxf32 -o m.pt2
    tc-run m.pt2 --signature | sed -n '/outputs:/,/--input/p' | awk '{ print $1 }' | tr '\n' ' ' | grep -q '^outputs: label out.1 size none out.4 out.5 tc-run'
}

@test "a whole timm of --source is the one that is imported, its files too" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p src/timm/layers
    printf '' >src/timm/__init__.py
    printf 'from .drop import DropPath\n' >src/timm/layers/__init__.py
    printf 'import torch\nclass DropPath(torch.nn.Module):\n    def forward(self, x):\n        return x * 7\n' >src/timm/layers/drop.py
    printf 'import torch\nimport timm.layers.drop\nfrom timm.layers import DropPath as M\nassert timm.layers.drop.DropPath is M\n' >m.py
    tc-export m.py:M --source src --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 7)'
    printf 'from timm.layers import Mlp\n' >n.py
    fails 3 "cannot import name 'Mlp' from 'timm.layers'" tc-export n.py:Mlp --source src --input x=2xf32 --print
}

@test "the layers, blocks and initialisers of timm draw the same numbers and have the same names" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
from torch import nn
from timm.data import IMAGENET_DEFAULT_MEAN
from timm.models.layers import DropPath, drop_path, lecun_normal_, make_divisible, to_2tuple, trunc_normal_
from timm.models.registry import register_model
from timm.models.vision_transformer import Block, PatchEmbed, VisionTransformer, _cfg


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = PatchEmbed(img_size=None, patch_size=4, embed_dim=8, dynamic_img_pad=True)
        self.block = Block(8, 2, qkv_bias=True, qk_norm=True, init_values=0.1, drop_path=0.2)
        trunc_normal_(self.embed.proj.weight, std=0.02)
        lecun_normal_(self.block.mlp.fc1.weight)
        assert to_2tuple(3) == (3, 3) and make_divisible(30) == 32 and len(IMAGENET_DEFAULT_MEAN) == 3

    def forward(self, x):
        return self.block(self.embed(x))


@register_model
def tiny(pretrained=False, **kwargs):
    return M(**kwargs)


class Kept(nn.Module):  # stochastic depth keeps or drops whole samples, and scales what it keeps
    def __init__(self):
        super().__init__()
        self.path = DropPath(0.5)

    def forward(self, x):
        rows = self.path(x).flatten(1)
        return ((rows == 0).all(1) | (rows == 2).all(1)).all(), drop_path(x, 0.5, False)
PY
    tc-export m.py:tiny --seed 7 --input x=2x3x10x8xf32 -o m.pt2
    # 2 x 3 patches of 10 x 8 pixels, padded; the names are those of timm 1.0's state dict
    tc-export m.pt2 --print | grep -q 'f32\[2, 6, 8\]'
    [ "$(tc-ckpt ls m.pt2 --json | grep -o '"block\.[a-z0-9_.]*"' | sort -u | wc -l)" -eq 18 ]
    tc-export m.py:Kept --mode train --input x=64x2x3xf32 -o k.pt2
    tc-run k.pt2 --seed 1 --input x=64x2x3xf32=1 --output 0=@kept.npy
    [ "$(tail -c 1 kept.npy | od -An -tu1)" -eq 1 ]
}

@test "a number of sizes that PT2 archives cannot hold is refused with its line and the size" {
    cd "$BATS_TEST_TMPDIR"
    printf 'import math, torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        n = 2 ** math.ceil(math.log2(x.shape[0]))\n        return x.new_zeros(n)\n' >m.py
    tc-export m.py:M --input x=5xf32 --print | grep -q 'f32\[8\]'
    fails 5 "m.py:5: a PT2 archive has no node for the number math.log2(float(L)), which aten.new_zeros.default takes; declare a number for the size L" \
        tc-export m.py:M --input x=Lxf32 -o m.pt2
    sed -i 's/2 .. math.*/1 << (x.shape[0] - 1).bit_length()/' m.py
    fails 3 "m.py:4:35: ValueError: the size x.0 (L) was declared free, but the model forces it" tc-export m.py:M --input x=Lxf32 --print
}

@test "a number that data decide is refused as index, key and count; one of a size is looked up as itself, then by its value" {
    cd "$BATS_TEST_TMPDIR"
    printf 'import torch\nclass M(torch.nn.Module):\n    def __init__(self, how):\n        super().__init__()\n        self.how, self.layers = how, torch.nn.ModuleList([torch.nn.Linear(2, 2)] * 4)\n    def forward(self, x):\n        k = x.argmax()\n        return x * self.how(self, x, k)\n' >m.py
    for how in 'm.layers[k](x)' 'm.layers[k.item()](x)' '[1, 2][k]' '{0: 1}[k.item()]' 'len(range(k))' "len('ab'[k])"; do
        fails 3 ": DataDependentError: a loop count, list index or Python number (range, index) depends on data: the number u0" \
            tc-export m.py:M --arg "how=lambda m, x, k: $how" --input x=2xf32 --print
    done
    tc-export m.py:M --arg 'how=lambda m, x, k: {2: 5}[x.shape[0]]' --input x=2xf32 --print | grep -q 'mul.Tensor(%x, 5)'
    tc-export m.py:M --arg 'how=lambda m, x, k: {x.shape[0]: 5}[x.shape[0]]' --input x=Bxf32 --print | grep -q 'mul.Tensor(%x, 5)'
}

@test "models of huggingface_hub's mixin; paths of unknown parts and libraries that are not found at a file's top level" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import importlib.machinery
import os
import torch
from huggingface_hub import PyTorchModelHubMixin, hf_hub_download
from torch.hub import _get_torch_home

HOME = os.path.join(_get_torch_home(), "weights", "x")
assert importlib.machinery.FileFinder(".", ()).find_spec("_C") is None


class M(torch.nn.Module, PyTorchModelHubMixin, library_name="m", tags=["t"]):
    def forward(self, x, fetch=False):
        return hf_hub_download("a", "b") if fetch else x * 2
PY
    tc-export m.py:M --input x=2xf32 --print | grep -q 'mul.Tensor(%x, 2)'
    fails 5 "'huggingface_hub.hf_hub_download' is a name outside the model language" tc-export m.py:M --input x=2xf32 --input fetch=:True --print
}

@test "forward may give a parameter's .data, of its shape: the program writes the parameter, and no gradient sees it" {
    cd "$BATS_TEST_TMPDIR"
    printf 'import torch\nclass M(torch.nn.Module):\n    def __init__(self, n=3):\n        super().__init__()\n        self.a, self.b, self.n = torch.nn.Linear(2, 3), torch.nn.Linear(2, 3), n\n    def forward(self, x):\n        self.b.weight.data = (self.a.weight * 2)[:self.n]\n        return self.b(x)\n' >m.py
    tc-export m.py:M --input x=1x2xf32 --print=full >said
    grep -q 'aten.detach.default' said && grep -q 'out  parameter b.weight = %copy' said
    fails 3 "m.py:7:23: RuntimeError: the .data of a tensor from before forward is given another shape" tc-export m.py:M --arg n=1 --input x=1x2xf32 --print
}

@test "a graph inside another takes the sizes that its operands have multiples of" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch


class Rows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        B, H, W = x.shape
        return x.reshape(B, H * W).cumsum(1).reshape(B, H, W)

    @staticmethod
    def backward(ctx, g):
        return g


class Doubled(torch.nn.Module):
    def forward(self, x):
        y = x[:, : x.shape[1] // 2].repeat(1, 2, 1)
        return Rows.apply(torch.cat([y[:, :, : x.shape[2] // 3]] * 3 + [y[:, :, :2]], 2))

PY
    tc-export m.py:Doubled --input x=BxHxWxf32 -o m.pt2
    tc-run m.pt2 --input x=1x2x3xf32=1,2,3,4,5,6 | tail -c 8 | od -An -tf4 | grep -q ' 10 *12$'
}

@test "a size that says how many parts an operator makes, how wide its windows are or which dimension it takes is pinned" {
    cd "$BATS_TEST_TMPDIR"
    for cut in 'torch.unbind(x)' 'x.chunk(x.shape[0])' 'x.unfold(1, x.shape[0] - 2, 1)' 'x.cumsum(x.shape[0] - 2)' 'x.diagonal(x.shape[0])'; do
        printf 'import torch\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return sum(t.sum() for t in %s)\n' "$cut" >m.py
        fails 3 "the size x.0 (B) was declared free, but the model forces it to be a number known in advance: declare one, as 3, or" \
            tc-export m.py:M --input x=3x2xf32=1 --dim x.0=B --print
        [[ "$stderr" == *" m.py:4:"* ]]
        tc-export m.py:M --input x=3x2xf32 --print | grep -q 'out.0'
    done
}

@test "import * of a file of --source takes __all__, or what has no underscore" {
    cd "$BATS_TEST_TMPDIR"
    mkdir lib
    printf 'import torch.nn as nn\nK = 3\n_hidden = 4\n' >lib/common.py
    printf 'from common import *\n__all__ = ["J"]\nJ, L = K + 1, 5\n' >lib/more.py
    model() { printf 'from common import *\nfrom more import *\nclass M(nn.Module):\n    def forward(self, x):\n        return x * %s\n' "$1" >m.py; }
    model '(K * J)'
    tc-export m.py:M --source lib --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 12)'
    for name in _hidden L; do
        model "$name"
        fails 3 "m.py:5:20: NameError: name '$name' is not defined" tc-export m.py:M --source lib --input x=2xf32 --print
    done
    mkdir lib/parts
    printf '__all__ = ["deep"]\n' >lib/parts/__init__.py
    printf 'D = 7\n' >lib/parts/deep.py
    printf 'from common import *\nfrom parts import *\nclass M(nn.Module):\n    def forward(self, x):\n        return x * deep.D\n' >m.py
    tc-export m.py:M --source lib --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 7)'
    model J
    printf '__all__ = ["absent"]\n' >lib/more.py
    fails 3 "module 'more' has no attribute 'absent'" tc-export m.py:M --source lib --input x=2xf32 --print
}

@test "import * of modules of Python; of those of PyTorch it is refused; wrong lines, in the words of CPython" {
    cd "$BATS_TEST_TMPDIR"
    for module in math typing torch; do printf 'from %s import *\n' $module; done >m.py
    cat >>m.py <<'PY'
import torch
Pair = Optional[Tuple[int, int]]
class M(torch.nn.Module):
    def forward(self, x: Pair):
        return x * sqrt(4), cast(int, 3)
PY
    fails 3 "m.py:3:1: SyntaxError: 'from torch import *' is outside the model language" tc-export m.py:M --input x=2xf32 --print
    while IFS='|' read -r line said; do # as CPython words them
        printf "$line\n" >wrong.py
        fails 3 "wrong.py:$said [TC0101]" tc-export wrong.py:M --input x=2xf32 --print
    done <<'END'
def f()|1:8: SyntaxError: expected ':'
if x = 3:|1:6: SyntaxError: invalid syntax. Maybe you meant '==' or ':=' instead of '='?
a = 1\n  b = 2|2:3: IndentationError: unexpected indent
a = 'b|1:5: SyntaxError: unterminated string literal (detected at line 1)
None = 3|1:1: SyntaxError: cannot assign to None
f(a.b=3)|1:3: SyntaxError: expression cannot contain assignment, perhaps you meant "=="?
continue|1:1: SyntaxError: 'continue' not properly in loop
x = 1; global x|1:8: SyntaxError: name 'x' is assigned to before global declaration
def f(x):\n  def g():\n    print(x)\n    nonlocal x|4:5: SyntaxError: name 'x' is used prior to nonlocal declaration
END
    sed -i 3d m.py
    tc-export m.py:M --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 2.0)'
}

@test "generators build a model; in forward they are context managers only" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
from contextlib import contextmanager
def sizes(n):
    for i in range(n):
        yield i + 1
@contextmanager
def doubled(x):
    yield 2 * x
class M(torch.nn.Module):
    def __init__(self, walks=False):
        super().__init__()
        self.sizes, self.walks = list(sizes(3)), walks
    def forward(self, x):
        with doubled(x) as y:
            return y * sum(sizes(3) if self.walks else self.sizes)
PY
    tc-export m.py:M --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%mul, 6)'
    fails 3 "m.py:5:9: SyntaxError: 'yield' is outside the model language in forward: sizes() is a generator" tc-export m.py:M --arg walks=True --input x=2xf32 --print
}

@test "a capture that notes many changes of what the model holds takes time in proportion" {
    cd "$BATS_TEST_TMPDIR"
    cat >many.py <<'PY'
import torch


class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.n, self.items = 0, []

    def forward(self, x):
        for i in range(90000):
            self.n = i
        for i in range(90000):
            self.items.append(i)
        return x + len(self.items)
PY
    (ulimit -t 10 && tc-export -q many.py:M --input x=2xf32 -o many.pt2)
    [ "$(tc-export many.pt2 --print | grep -c 'aten.add.Tensor(%x, 90000)')" -eq 1 ] # train mode met the list as it was
}

@test "models of thousands of modules, side by side or one in another, stay within the memory limit" {
    if grep -q __asan_init "$TC_BUILD/bin/tc-export"; then skip "a sanitizer's own memory is not ours"; fi
    cd "$BATS_TEST_TMPDIR"
    cat >many.py <<'PY'
from torch import nn


class Row(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(n)])

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


class Nest(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.child = Nest(n - 1) if n > 1 else None

    def forward(self, x):
        x = self.layer(x)
        return x if self.child is None else self.child(x)
PY
    [ "$(tc-export many.py:Row --arg n=8000 --input x=2x4xf32 --mode eval --print | grep -c aten.linear)" -eq 8000 ]
    [ "$(tc-export many.py:Nest --arg n=1600 --input x=2x4xf32 --print | grep -c aten.linear)" -eq 1600 ]
}

@test "named_modules, named_children and named_parameters give what PyTorch gives for modules that are shared, absent or in a memo" {
    cd "$BATS_TEST_TMPDIR"
    cat >names.py <<'PY'
from torch import nn


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
        self.b, self.none, self.c = self.a, None, nn.BatchNorm1d(2)
        self.register_module("empty", None)
        seen = {self.a[0]}
        print([n for n, _ in self.named_modules()], [n for n, _ in self.named_modules(prefix="p", remove_duplicate=False)])
        print([n for n, _ in self.named_modules(seen)], len(seen), [n for n, _ in self.named_children()], len(list(self.modules())))
        print([n for n, _ in self.named_parameters(prefix="q")], [n for n, _ in self.named_parameters(remove_duplicate=False)])
        print([n for n, _ in self.named_buffers(recurse=False)], [n for n, _ in self.named_buffers()], len(list(self.children())))

    def forward(self, x):
        return self.c(self.b(self.a(x)))
PY
    tc-export names.py:M --input x=3x2xf32 --mode eval -o m.pt2 2>printed
    diff - printed <<'TEXT'
['', 'a', 'a.0', 'a.1', 'c'] ['p', 'p.a', 'p.a.0', 'p.a.1', 'p.b', 'p.b.0', 'p.b.1', 'p.c']
['', 'a', 'a.1', 'c'] 5 ['a', 'c'] 5
['q.a.0.weight', 'q.a.0.bias', 'q.c.weight', 'q.c.bias'] ['a.0.weight', 'a.0.bias', 'b.0.weight', 'b.0.bias', 'c.weight', 'c.bias']
[] ['c.running_mean', 'c.running_var', 'c.num_batches_tracked'] 2
TEXT
}

@test "types of numpy and the functions of one process: what files import for annotations and for training on several" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
import torch.distributed as dist
from numpy.typing import ArrayLike, NDArray
from torch.distributed import nn as dist_nn
import torch.distributed.nn as dist_nn_too
from torch.distributed.nn.functional import all_reduce


class M(torch.nn.Module):
    def forward(self, x, scale: ArrayLike | None = None, table: NDArray = None) -> torch.Tensor:
        if dist.is_initialized():
            x = x + 100
        return dist_nn.all_gather(dist_nn.all_reduce(x))[0] * 2
PY
    tc-export m.py:M --input x=2xf32 -o m.pt2
    [ "$(tc-run m.pt2 --input x=2xf32=1 --output - | tail -c 8 | od -An -tf4 | xargs)" = "2 2" ]
}

@test "what a decorator keeps of one call serves the others of its capture, and no other capture; locks do nothing" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import threading
from functools import lru_cache

import torch
from torch import nn


@lru_cache(maxsize=None)
def mask(n):
    return torch.tril(torch.ones(n, n))


def memo(f):
    kept, asked = {}, set()

    def inner(n):
        asked.add(n)
        assert len(asked) == 1
        if n not in kept:
            kept[n] = f(n)
        return kept[n]

    return inner


@memo
def scale(n):
    return torch.arange(n) + 1.0


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)  # a train program too
        self.lock = threading.RLock()

    def forward(self, x):
        with self.lock:
            return self.drop(x @ mask(x.shape[1])) * scale(x.shape[1])


class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([Block() for _ in range(12)])

    def forward(self, x):
        for b in self.blocks:
            x = b(x)
        return x


EMPTIED = {1}


class Global(nn.Module):
    def forward(self, x):
        EMPTIED.discard(1)
        return x
PY
    tc-export m.py:M --input x=2x2xf32 -o m.pt2 2>said
    grep -q "m.py:17: a list, dict or set from before forward is changed" said
    for mode in eval train; do
        tc-export m.pt2 --mode $mode --print >text
        [ "$(grep -c 'aten.tril' text) $(grep -c 'aten.arange' text)" = "1 1" ]
    done
    [ "$(tc-run m.pt2 --input x=2x2xf32=1 --output - | tail -c 16 | od -An -tf4 | xargs)" = "4096 4096 4096 4096" ]
    fails 3 "m.py:58:" tc-export m.py:Global --input x=2xf32 -o no.pt2
}

@test "a class that takes over operators is refused by name and line" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch


class Logged(torch.Tensor):
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return super().__torch_function__(func, types, args, kwargs)


class M(torch.nn.Module):
    def forward(self, x):
        return x
PY
    tc-export m.py:M --input x=2xf32 -o m.pt2 # nothing makes an instance of it
    echo 'class Kept(Logged):
    pass
class Made(torch.nn.Module):
    def forward(self, x):
        return Kept(x) + 1
class Turned(torch.nn.Module):
    def forward(self, x):
        x.__class__ = Kept
        return x + 1
class New(torch.nn.Module):
    def forward(self, x):
        return Logged.__new__(Logged, x)' >>m.py
    fails 3 "m.py:17:16: NotImplementedError: class Kept defines __torch_function__, which is not part of the model language [TC0106]" \
        tc-export m.py:Made --input x=2xf32 -o m.pt2
    fails 3 "m.py:20:11: NotImplementedError: class Kept defines" tc-export m.py:Turned --input x=2xf32 -o m.pt2
    fails 3 "m.py:24:23: NotImplementedError: class Logged defines" tc-export m.py:New --input x=2xf32 -o m.pt2
}

@test "a condition on data that is asked inside of a call is not promised by checking the call" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attend = torch.nn.MultiheadAttention(4, 2, batch_first=True)
    def forward(self, x, lengths):
        n = int(torch.max(lengths).item())
        mask = torch.arange(n).expand(x.shape[0], n) >= lengths.unsqueeze(1)
        return self.attend(x, x, x, key_padding_mask=mask, need_weights=False)[0]
PY
    fails 3 "to promise it, paste a torch._check of this condition after the line that reads the number" \
        tc-export m.py:M --input x=2x5x4xf32 --input lengths=2xi64 -o m.pt2
    sed 's/^        n = .*/&; torch._check(n == 5)/' m.py >checked.py
    tc-export checked.py:M --input x=2x5x4xf32 --input lengths=2xi64 -o m.pt2
}

@test "torch.nn.modules is torch.nn, whole and in its files, by import and by attribute" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch, torch.nn as nn
import torch.nn.modules as M0
from torch.nn.modules import Linear, Module
from torch.nn.modules.utils import _pair
from torch.nn.modules.conv import _ConvNd
import torch.nn.modules.batchnorm
class M(Module):
    def __init__(self):
        super().__init__()
        assert M0.Conv2d is nn.Conv2d and Linear is nn.Linear and nn.modules.batchnorm.BatchNorm2d is nn.BatchNorm2d
        assert issubclass(nn.Conv2d, nn.modules.conv._ConvNd) and torch.nn.modules.batchnorm._BatchNorm is nn.modules.batchnorm._BatchNorm
        assert isinstance(nn.ReLU(), torch.nn.modules.Module) and isinstance(nn.ReLU(), nn.modules.module.Module) and isinstance(nn.ReLU(), nn.modules.activation.ReLU)
        assert not hasattr(nn.modules, "nothing")
    def forward(self, x):
        return x
PY
    tc-export m.py:M --input x=2xf32 -o m.pt2
}

@test "torch.nn.modules.batchnorm is there without an import of it" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        assert issubclass(torch.nn.BatchNorm1d, torch.nn.modules.batchnorm._BatchNorm)
    def forward(self, x):
        return x
PY
    tc-export m.py:M --input x=2xf32 -o m.pt2
}

@test "an operator of torch.library.custom_op is its body, and its gradient the registered one" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
@torch.library.custom_op("my::f", mutates_args=())
def f(x: torch.Tensor, ys: list[torch.Tensor], s: float = 2.0) -> torch.Tensor:
    return x * x + ys[0] * s
def backward(ctx, g):
    return g * 3, [g * ctx.s], None
def setup(ctx, inputs, output):
    _, _, ctx.s = inputs
f.register_autograd(backward, setup_context=setup)
class M(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.v = torch.nn.Parameter(torch.ones(2))
    def forward(self, x):
        return f(x * 1, [self.v]), torch.ops.my.f.default(x.detach(), [self.v], 0.5)
PY
    tc-export m.py:M --input x=2xf32 --joint -o j.pt2
    tc-run j.pt2 --input x=2xf32=5,6 --input tangents.out.0=2xf32=1,10 --input tangents.out.1=2xf32=0,0 \
        --output out.0=@f.npy --output out.1=@g.npy --output grad.x=@x.npy --output grad.v=@v.npy
    numbers() { od -An -t f4 -j 128 "$1" | xargs; }
    [ "$(numbers f.npy)" = "27 38" ] && [ "$(numbers g.npy)" = "25.5 36.5" ]
    [ "$(numbers x.npy)" = "3 30" ] && [ "$(numbers v.npy)" = "2 20" ]
}

@test "what beartype, typeguard and jaxtyping decorate is left as it is; isinstance() with jaxtyping is refused" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
from beartype import BeartypeConf, beartype
from jaxtyping import Float, Int, jaxtyped
from typeguard import typechecked
Batch = Float[torch.Tensor, "b d"]
@beartype(conf=BeartypeConf(is_color=False))
class Twice(torch.nn.Module):
    @jaxtyped(typechecker=beartype)
    def forward(self, x: Batch | None) -> Float[torch.Tensor, "b d"]:
        return x * 2
class M(torch.nn.Module):
    def __init__(self, ask=False):
        super().__init__()
        self.twice, self.ask = Twice(), ask
    @typechecked
    def forward(self, x: Batch):
        return isinstance(x, Batch) if self.ask else self.twice(x)
PY
    tc-export m.py:M --input x=1x2xf32 -o m.pt2
    fails 3 "isinstance() with jaxtyping.Float is not part of the model language" tc-export m.py:M --arg ask=True --input x=1x2xf32 -o m.pt2
}

@test "what forward asks of generators and a run does not do is told" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
import torch.nn as nn
class M(nn.Module):
    def forward(self, x):
        torch.manual_seed(3)
        state = torch.get_rng_state()
        a = torch.randn(2)
        torch.set_rng_state(state)
        return x + a + torch.randn(2, generator=torch.Generator())
PY
    tc-export m.py:M --input x=2xf32 -o m.pt2 2>err
    grep -q 'm.py:5: the generator is seeded while forward is captured; the program does not do that' err
    grep -q 'm.py:8: the state of the generator is set while' err
    grep -q 'm.py:9: numbers are drawn from a generator of its own' err
    [ "$(wc -l <err)" -eq 3 ]
}

@test "lazy modules take their sizes from the inputs, draw their weights once, and say which size is no number" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
import torch.nn as nn
class Lazy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.LazyConv2d(6, 3), nn.LazyBatchNorm2d(), nn.Dropout(0.2), nn.Flatten(), nn.LazyLinear(7))
        print([n for n, _ in self.net.named_parameters()], self.net[4], nn.LazyInstanceNorm1d(), nn.LazyConv1d(4, 3, groups=2))
    def forward(self, x):
        return self.net(x)
class Known(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(4, 6, 3), nn.BatchNorm2d(6), nn.Dropout(0.2), nn.Flatten(), nn.Linear(72, 7))
    def forward(self, x):
        return self.net(x)
PY
    for class in Lazy Known; do tc-export m.py:$class --input x=Bx4x5x6xf32 -o $class.pt2 2>$class.err; done
    grep -qF "['0.weight', '0.bias', '1.weight', '1.bias', '4.weight', '4.bias'] LazyLinear(in_features=0, out_features=7, bias=True) \
LazyInstanceNorm1d(0, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True) LazyConv1d(0, 4, kernel_size=(3,), stride=(1,), groups=2)" Lazy.err
    for class in Lazy Known; do tc-run $class.pt2 --input x=2x4x5x6xf32=1.5 -o $class.npy; done
    cmp Lazy.npy Known.npy
    printed() { tc-export "$1" --print | sed "s/ *#.*//"; }
    diff <(printed Lazy.pt2) <(printed Known.pt2)
    fails 3 "the size x.1 (C) was declared free, but the model forces it to be a number known in advance" tc-export m.py:Lazy --input x=BxCx5x6xf32 -o no.pt2
    tc-export m.py:Lazy --input x=2x4x5x6xf32=1.5 -o shown.pt2 2>shown.err # sizes that an example gives are fixed to it
    grep -q "x.1 is fixed to 4 by m.py:9" shown.err
    tc-run shown.pt2 --input x=3x4x5x6xf32=1.5 -o shown.npy
    tc-run Known.pt2 --input x=3x4x5x6xf32=1.5 --expect @shown.npy
}

@test "a gradient goes through the steps of an optimiser made with differentiable=True, and not through a Parameter" { # expected: the gradients that PyTorch 2.15 gives
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
class Inner(torch.nn.Module):
    def forward(self, x):
        grads = []
        for name, kw in (("SGD", dict(momentum=0.9)), ("Adam", {}), ("RAdam", {}), ("Adagrad", {}), ("Adadelta", {}), ("ASGD", {})):
            first = torch.tensor([0.5, -1.0, 2.0]).requires_grad_()
            w = first * 1.0
            o = getattr(torch.optim, name)([w], lr=0.1, differentiable=True, **kw)
            for i in range(3):
                w.grad, = torch.autograd.grad(((w * x[i]).sin() * (i + 1)).sum(), w, create_graph=True)
                o.step()
            grads.append(torch.autograd.grad((w * x.sum(0)).sum(), first)[0])
        expected = torch.tensor([[5.4924831, 2.4766297, 2.5854247], [3.4461119, 2.1850393, 3.0233345], [4.8235507, 1.018815, 1.4641458],
                                 [3.4770036, 2.4149992, 3.0361695], [3.5002871, 3.2450206, 3.0001528], [6.3200316, 1.553302, 2.3376794]])
        z = x.detach().requires_grad_()
        made = torch.nn.Parameter(z * 2)  # a leaf, whatever its values were computed from
        with torch.no_grad():
            made.add_(0)
        own, = torch.autograd.grad((made * z).sum(), z)
        assert made.is_leaf and torch.optim.SGD([made])
        return torch.isclose(torch.stack(grads), expected).all() & (own == z * 2).all()
PY
    tc-export m.py:Inner --input x=3x3xf32 | tc-run --input x=3x3xf32=1,2,3,.5,.25,-1,2,1,1 --output out.0:text=- >said
    [ "$(od -An -tx1 said)" = " 01" ]
}

@test "a sparse tensor that a constructor makes can be held and made dense again; a computation with it is refused" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
from torch import nn


class M(nn.Module):
    def __init__(self, use=False):
        super().__init__()
        heads = torch.eye(3, dtype=torch.bool).to_sparse()
        self.register_buffer("heads", heads, persistent=False)
        assert heads.is_sparse and heads.layout == torch.sparse_coo and heads.to_dense().sum() == 3
        self.use = use

    def forward(self, x):
        return x + self.heads if self.use else x * 2
PY
    tc-export m.py:M --input x=Bx3xf32 -o m.pt2
    fails 5 "m.py:14:16: add of a sparse tensor is not supported" tc-export m.py:M --arg use=True --input x=Bx3xf32 -o m.pt2
}

@test "a branch on a tensor that is all ones or zeros is decided; one that was written to, or may have no elements, is not" {
    cd "$BATS_TEST_TMPDIR"
    branch() { # STATEMENTS CONDITION
        printf 'import torch\nimport torch.nn as nn\nclass M(nn.Module):\n    def forward(self, x):\n        m = torch.ones_like(x, dtype=torch.bool)\n        v = m[0]\n        e = torch.empty(3)\n        w = e[0]\n        %s\n        return x.sin() if %s else x.cos()\n' "$1" "$2" >m.py
    }
    takes() { # sin|cos
        tc-export m.py:M --input x=Bx4xf32 --dim B=2..9 --print >printed
        grep -q "aten.$1.default" printed
    }
    branch pass 'm[0].all()' && takes sin
    branch pass '(~m).any()' && takes cos
    branch pass '(m.float() == 0).any()' && takes cos
    branch pass 'm[:0].all()' && takes sin
    branch 'w.fill_(1); e.zero_()' 'torch.zeros(2, 2).new_full((3,), 1.0).any()' && takes sin
    branch 'e.zero_()' 'e.any()' && takes cos
    undecided="a branch depends on the values of a tensor"
    for case in 'm.zero_();v.any()' 'v.zero_();m.all()' 'e.zero_(), w.fill_(1);e.any()' 'pass;m[:0].any()' 'pass;m.sum() > 3'; do
        branch "${case%;*}" "${case#*;}"
        fails 3 "$undecided" tc-export m.py:M --input x=Bx4xf32 --dim B=2..9 --print
    done
}

@test "is_integer() of a quotient of sizes is a condition on its remainder" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'EOF'
import torch.nn as nn
import torch.nn.functional as F
class M(nn.Module):
    def forward(self, x):
        n = x.shape[1]
        m = n / 4
        if m.is_integer() and n.is_integer():
            return x
        return F.pad(x, (0, 4 - n % 4))
EOF
    tc-export m.py:M --input x=2xTxf32 --dim T=1..99 -o m.pt2
    tc-run m.pt2 --input x=2x8xf32=1 --output 0=@a.npy
    tc-run m.pt2 --input x=2x9xf32=1 --output 0=@b.npy
    grep -aq "(2, 8)" a.npy
    grep -aq "(2, 12)" b.npy
}

@test "parts of a tensor of known numbers are known until it is written to, and what they select has known sizes" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'EOF'
import torch
import torch.nn as nn
class M(nn.Module):
    def forward(self, x, case):
        t = torch.tensor([1, 0, 2])
        a, u = t[0], t[:2]
        if case == "crops":
            start = 0
            for end in torch.cumsum(torch.unique_consecutive(torch.tensor([4, 4, 2]), return_counts=True)[1], 0):
                x = x + x[:, start:end].sum()
                start = end
            return x
        if case == "nonzero":
            return x + torch.nonzero(t).shape[0] + t.nonzero()[1, 0].item()
        if case == "base":
            t.add_(1)
        if case == "part":
            u.fill_(7)
        return x.sin() if a == 1 and t.max() == 2 else x.cos()
EOF
    tc-export m.py:M --input x=1x4xf32 --input "case=:'crops'" --print >printed
    [ "$(grep -cw 'u[0-9]' printed)" -eq 0 ]
    [ "$(grep -c 'aten.slice.Tensor(%.*, 1, ' printed)" -eq 2 ]
    tc-export m.py:M --input x=1x4xf32 --input "case=:'nonzero'" --print >printed
    [ "$(grep -o 'aten.add.Tensor(%[a-z_0-9]*, 2)' printed | wc -l)" -eq 2 ]
    tc-export m.py:M --input x=1x4xf32 --input "case=:'none'" --print >printed
    grep -q aten.sin.default printed
    fails 3 "depends on the values of a tensor" tc-export m.py:M --input x=1x4xf32 --input "case=:'base'" --print
    fails 3 "depends on the values of a tensor" tc-export m.py:M --input x=1x4xf32 --input "case=:'part'" --print
}

@test "a symbolic size has the methods of an integer's operators" {
    cd "$BATS_TEST_TMPDIR"
    cat >named.py <<'PY'
import torch


class Named(torch.nn.Module):
    def forward(self, x):
        n = x.shape[0]
        assert n.__ge__(1)
        return x, n.__add__(2), n.__sub__(1), n.__mul__(3), n.__mod__(2), n.__truediv__(2), n.__pow__(2), int.__floordiv__(n, 2), n.__eq__(n)
PY
    run tc-export -q named.py:Named --input x=Bx3xf32 --print
    [ "$(sed -n 's/.* leaf .* = //p' <<<"$output" | paste -sd,)" = "B + 2,B - 1,3*B,B % 2,B/2,B**2,B//2,True" ]
}

@test "a package imports for all its users: what the language lacks of that is refused where it is asked for" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p zoo/io
    cat >zoo/__init__.py <<'PY'
import pkgutil, sys, warnings
from zoo.io import read, scale
from zoo import fast, slow
from .slow import *
from torch import save
del fast, save
warnings.showwarning = lambda *a: None
for _ in pkgutil.walk_packages(sys.modules[__name__].__path__):
    pass
with open("version") as f:
    __version__ = f.read()
PY
    printf 'from .files import read\nfrom .numbers import scale\n' >zoo/io/__init__.py
    printf 'import torch\nkept = torch.save\nasync def f():\n    pass\ndef read(x):\n    match x:\n        case 1:\n            return 2\n' >zoo/io/files.py
    printf 'def scale(x):\n    return 2 * x\n' >zoo/io/numbers.py
    printf 'import fast_kernels\ndef run(x):\n    return x\n' >zoo/fast.py
    printf 'from .set import settings\nsettings()\ndef run(x):\n    return x + 1\n' >zoo/slow.py # a file that is loaded calls one that has been
    printf 'def settings():\n    with open("settings", "w") as f:\n        f.write("1")\n' >zoo/set.py
    printf 'import torch\nimport zoo\nfrom zoo import scale, run\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return scale(run(x))\n' >m.py
    run -0 --separate-stderr tc-export m.py:M --source . --input x=2xf32 --print
    [[ "$output" == *'aten.add.Tensor(%x, 1)'*'aten.mul.Tensor(%add, 2)'* ]]
    [ "$stderr" = "tc-export: ./zoo/io/files.py:6: SyntaxError: the statement 'match' is outside the model language; packages are imported without what needs this
tc-export: ./zoo/fast.py:1: ModuleNotFoundError: No module named 'fast_kernels'; packages are imported without what needs this" ]
    sed 's/import scale, run/import scale, read/; s/run(x)/read(x)/' m.py >n.py
    fails 3 "files.py:6:" tc-export n.py:M --source . --input x=2xf32 --print
    [[ "$stderr" == *"SyntaxError: the statement 'match' is outside the model language [TC0102]"* ]]
    sed 's/import scale, run/import scale/; s/run(x)/zoo.fast.run(x)/' m.py >o.py
    fails 3 "fast.py:1:8: ModuleNotFoundError: No module named 'fast_kernels'" tc-export o.py:M --source . --input x=2xf32 --print
    sed 's/import scale, run/import scale/; s/run(x)/len(zoo.__version__) * x/' m.py >p.py
    fails 3 "__init__.py:10:6: NameError: 'open'" tc-export p.py:M --source . --input x=2xf32 --print
    printf 'import flash_attn\ndef f(x):\n    return flash_attn.f(x)\n' >zoo/flash.py # a try finds out what is there, through files too
    printf 'import torch\ntry:\n    from zoo.flash import f\nexcept ImportError:\n    f = torch.exp\nfrom zoo import flash\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return f(x)\n' >q.py
    tc-export q.py:M --source . --input x=2xf32 --print 2>/dev/null | grep -q aten.exp
    mkdir Zoo_Keeper-1.4.dist-info # what is installed beside it has a version
    printf 'import importlib.metadata as m\nimport torch\ntry:\n    m.version("other")\nexcept m.PackageNotFoundError:\n    n = int(m.version("zoo-keeper")[2])\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x * n\n' >r.py
    tc-export r.py:M --source . --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%x, 4)'
    printf 'raise ImportError("zoo needs a key")\n' >zoo/slow.py # what the package itself raises is raised
    fails 3 "slow.py:1:1: ImportError: zoo needs a key" tc-export m.py:M --source . --input x=2xf32 --print
}

@test "torch.arange of a few numbers is known; globals() cannot be written to by forward" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
globals()["K"] = 3
class M(torch.nn.Module):
    def forward(self, x):
        return x.sum(torch.arange(1, len(x.shape)).tolist()) * K
class Sized(torch.nn.Module):
    def forward(self, x):
        return x * torch.arange(x.shape[0])[1].item() if torch.arange(x.shape[0])[1] > 0 else x
class Global(torch.nn.Module):
    def forward(self, x):
        globals()["K"] = 4
        return x * K
PY
    tc-export m.py:M --input x=2x3x4xf32 --print | grep -q 'aten.sum.dim_IntList(%x, \[1, 2\])'
    fails 3 "m.py:8:64: DataDependentError" tc-export m.py:Sized --input x=Bxf32 --print
    fails 3 "m.py:11:9: NameError: 'globals' is not part of the model language" tc-export m.py:Global --input x=2xf32 --print
}

@test "what a file puts in its module's place in sys.modules is asked for what the module has not" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p lazy/parts
    cat >lazy/__init__.py <<'PY'
import importlib, sys
from types import ModuleType
class Lazy(ModuleType):
    def __init__(self, name, where):
        super().__init__(name)
        self.where = where
    def __getattr__(self, name):
        if name not in self.where:
            raise AttributeError(f"module {self.__name__} has no attribute {name}")
        try:
            module = importlib.import_module("." + self.where[name], self.__name__)
        except Exception as e:
            raise RuntimeError(f"cannot load {name}: {e}") from e
        return getattr(module, name)
sys.modules[__name__] = Lazy(__name__, {"twice": "parts.doubles", "lost": "parts.wrong"})
PY
    printf 'from torch._dynamo import disable\nfrom . import doubles\n' >lazy/parts/__init__.py
    printf 'def twice(x):\n    return 2 * x\n' >lazy/parts/doubles.py
    printf 'import nowhere\n' >lazy/parts/wrong.py
    printf 'class Scale:\n    by = 3\nimport sys\nsys.modules["scale"] = Scale()\n' >scales.py
    printf 'import torch\nimport lazy, scales, scale\nfrom lazy import twice\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return twice(x) + lazy.twice(x) * scale.by\n' >m.py
    tc-export m.py:M --source . --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%mul_1, 3)'
    sed 's/import twice/import lost as twice/' m.py >n.py
    fails 3 "RuntimeError: cannot load lost: No module named 'nowhere'" tc-export n.py:M --source . --input x=2xf32 --print
    sed 's/import twice/import other as twice/' m.py >o.py
    fails 3 "o.py:3:1: ImportError: cannot import name 'other' from 'lazy'" tc-export o.py:M --source . --input x=2xf32 --print
}

@test "with an environment's packages in --source, PyTorch's own files are not read, and a tool that the language cannot read is one that it lacks" {
    cd "$BATS_TEST_TMPDIR"
    mkdir -p torch/_dynamo loguru net
    printf 'raise RuntimeError("read")\n' | tee torch/__init__.py >torch/_dynamo/__init__.py
    printf 'from ._log import logger\n' >loguru/__init__.py
    printf 'from . import logger\n' >loguru/files.py
    printf 'import nowhere\nlogger = nowhere.Logger()\n' >loguru/_log.py
    printf 'from .block import double\n' >net/__init__.py
    printf 'from torch._dynamo import disable\nfrom loguru import logger\nfrom loguru.files import sink\nimport loguru.files as files\nlogger.disable("net")\ndef double(x):\n    return x * 2\ndef say(x):\n    logger.info("said")\n    return x\n' >net/block.py
    printf 'import torch\nfrom net import double\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return double(x)\n' >m.py
    run -0 --separate-stderr tc-export m.py:M --source . --input x=2xf32 --print
    [[ "$output" == *'aten.mul.Tensor(%x, 2)'* ]]
    [ "$stderr" = "tc-export: ./loguru/_log.py:1: ModuleNotFoundError: No module named 'nowhere'; packages are imported without what needs this" ]
    sed 's/import double/block/; s/from net block/import net.block/; s/double(x)/net.block.say(x)/' m.py >n.py
    fails 5 "'loguru.logger' is a name outside the model language" tc-export n.py:M --source . --input x=2xf32 --print
    printf 'import torch\nfrom loguru import logger\nclass M(torch.nn.Module):\n    def forward(self, x):\n        return x\n' >o.py # what the file itself asks for
    fails 3 "No module named 'nowhere'" tc-export o.py:M --source . --input x=2xf32 --print
}

@test "names of PyTorch's modules are bound while a file is loaded, not by what a model runs" {
    cd "$BATS_TEST_TMPDIR"
    cat >m.py <<'PY'
import torch
relu = torch.relu
torch.relu = lambda x: relu(x) * 2
class M(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
class Late(torch.nn.Module):
    def forward(self, x):
        torch.relu = relu
        return torch.relu(x)
PY
    tc-export m.py:M --input x=2xf32 --print | grep -q 'aten.mul.Tensor(%relu, 2)'
    fails 3 "m.py:9:15: TypeError: attributes of module 'torch' cannot be set in the model language" tc-export m.py:Late --input x=2xf32 --print
}
