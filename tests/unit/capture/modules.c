/* The small modules of Python and the packages that models import, as std/ gives them: results under CPython with the real packages. */
#include "snippets.h"

#define EINOPS "import torch\nfrom einops import rearrange, reduce, repeat, einsum, pack, unpack, parse_shape\nx = torch.arange(24.).view(2, 3, 4)\n"
#define NUMPY "import numpy as np, torch\n"

static const snippet table[] = {
    /* contextlib.contextmanager: what is raised in the body passes through the yield; return leaves through it */
    {"from contextlib import contextmanager\nr = []\n@contextmanager\ndef f(a):\n    r.append(a)\n    try:\n        yield a * 2\n    except "
     "KeyError:\n"
     "        r.append('caught')\n    finally:\n        r.append('out')\nwith f(1) as v, f(5):\n    r.append(v)\nwith f(3):\n    raise "
     "KeyError('k')\n"
     "def g():\n    for i in range(4):\n        with f(i):\n            if i == 1: return i\nr.append(g())\n",
     "[1, 5, 2, 'out', 'out', 3, 'caught', 'out', 0, 'out', 1, 'out', 1]"},
    {"from contextlib import contextmanager\n@contextmanager\ndef f():\n    yield 1\n    yield 2\nwith f():\n    r = 1\n", "generator didn't stop"},
    {"from contextlib import contextmanager\n@contextmanager\ndef f(a):\n    if a: yield\nwith f(0):\n    r = 1\n", "generator didn't yield"},
    /* modes as contexts and decorators, in recursion */
    {"import torch\nr = [torch.is_inference_mode_enabled()]\nwith torch.inference_mode():\n    r.append(torch.is_inference_mode_enabled())\n"
     "    with torch.inference_mode(False):\n        r += [torch.is_inference_mode_enabled(), torch.is_grad_enabled()]\n"
     "@torch.inference_mode()\ndef f(n):\n    return [torch.is_inference_mode_enabled()] + (f(n - 1) if n else [])\nr += f(1)\n"
     "@torch.set_grad_enabled(False)\ndef g():\n    return torch.is_grad_enabled()\n"
     "r += [g(), torch.is_inference_mode_enabled(), torch.is_grad_enabled()]\n",
     "[False, True, False, True, True, True, False, False, True]"},
    {"def gen():\n    yield 1\nr = 'defined, never called'\n", "'defined, never called'"},
    {"def f(a, *, b=2, **k):\n    c = a + b\n    d = lambda: c\n    return {n: v for n, v in locals().items() if n != 'd'}\nr = [f(1, z=3), vars() "
     "is locals()]\n",
     "[{'a': 1, 'b': 2, 'k': {'z': 3}, 'c': 3}, True]"},
    {"from packaging import version\nr = [version.parse(a) < version.parse(b) for a, b in [('1.10', '1.9'), ('2.0a1', '2.0'), ('2.0', '2.0.0'), "
     "('2.0', '2.0.post1'), ('1.13.1+cu117', '2')]]\n",
     "[False, True, False, True, True]"},
    {"from types import SimpleNamespace\nr = SimpleNamespace(a=1, b='x')\n", "namespace(a=1, b='x')"},
    /* importable, refused where used */
    {"from random import betavariate\nr = betavariate(1, 2)\n", "random.betavariate() is not part of the model language"},
    {"import re, json, struct\nr = re.compile('a('); ", "missing ), unterminated subpattern at position 2"},
    {"from torch.hub import load_state_dict_from_url as load\nr = load('x')\n", "load_state_dict_from_url() is not part"},
    {"import torch.utils.model_zoo as z\nfrom torch.utils.data import Dataset, DataLoader\nclass D(Dataset): pass\nr = DataLoader(D())\n",
     "'torch.utils.data.DataLoader' is a name outside the model language"},
    {"import torch.multiprocessing as mp, torch.utils.tensorboard, torch.backends.cudnn as cudnn\nfrom torch import onnx\n"
     "from torch.utils.data.dataloader import DataLoader\nfrom torch.nn.parallel import DistributedDataParallel as DDP\n"
     "from torch.optim.lr_scheduler import _LRScheduler, LRScheduler\nfrom torch.optim.adamw import AdamW\n"
     "from torch.nn.modules.batchnorm import _BatchNorm\nfrom torch.nn.modules.loss import _Loss\nfrom torch import nn\n"
     "import torch.distributed as dist\ncudnn.benchmark = True\ndef f(op=dist.ReduceOp.SUM): pass\n"
     "r = [isinstance(nn.Linear(1, 1), (DDP, nn.DataParallel)), isinstance(nn.BatchNorm2d(1), _BatchNorm), isinstance(nn.MSELoss(), _Loss),\n"
     "     _LRScheduler is LRScheduler, torch.version.cuda]\n",
     "[False, True, True, True, None]"},
    {"import torch\nfrom torch.cuda.amp import autocast\nr = []\nwith torch.autocast('cpu'):\n    with autocast():\n"
     "        r += [torch.is_autocast_enabled(), torch.is_autocast_enabled('cpu'), torch.get_autocast_dtype('cuda')]\n",
     "[False, True, torch.float16]"},
    {"import torch\nx = torch.ones(2)\nr = [x.type(torch.LongTensor).dtype, x.type('torch.cuda.DoubleTensor').dtype, x.type(torch.float16).type(),\n"
     "     x.type(torch.Tensor) is x, torch.complex(x, x).type(), isinstance(x, torch.FloatTensor), isinstance(x, (int, torch.LongTensor))]\n",
     "[torch.int64, torch.float64, 'torch.HalfTensor', True, 'torch.ComplexFloatTensor', True, False]"},
    {"import torch\ntorch.ones(2).type('FloatTensor')\n", "invalid type: 'FloatTensor'"},
    {"import torch\ntorch.ones(2).type(3)\n", "invalid type: '3'"},
    {"import torch.nm\n", "No module named 'torch.nm'"},
    {"import torch.profiler, atexit\nfrom torch.nn.parallel import DataParallel as P\n@torch.profiler.record_function('a', 1 / 0)\n"
     "def g(): pass\n@atexit.register\ndef h(): pass\nclass C(P): pass\n"
     "try:\n    import flash\nexcept ImportError:\n    flash = None\n"
     "try:\n    from torch.nn.attention.varlen import varlen_attn\nexcept ImportError as e:\n    flex = str(e)\n"
     "r = [flash, 'No module named' in flex, isinstance(3, P)]\n",
     "[None, True, False]"},
    {"import atexit\n@atexit.register\ndef g(): pass\nr = str(g())\n", "'atexit' is a module outside the model language"},
    {"import torch\nimport torch.fx\ntorch.fx.wrap('f')\nr = torch.nn.parameter.Parameter is torch.nn.Parameter\n", "True"},
    /* orthogonal weights: columns (or rows) of length 1, right after registration and after a step; a weight that is orthogonal stays */
    {"import torch\nfrom torch import nn\nfrom torch.nn.utils.parametrizations import orthogonal\ntorch.manual_seed(0)\nr = []\n"
     "for kind, base in [(None, True), ('cayley', True), ('householder', True), ('matrix_exp', False), ('householder', False)]:\n"
     "    for i, o in [(4, 4), (3, 5), (5, 3)]:\n        l = nn.Linear(i, o)\n"
     "        if kind == 'matrix_exp':\n            try:\n                orthogonal(l, 'weight', kind, use_trivialization=base).weight = "
     "torch.eye(o, i)\n"
     "            except NotImplementedError as e:\n                r.append('not possible to assign' in str(e))\n            continue\n"
     "        l = orthogonal(l, 'weight', kind, use_trivialization=base)\n"
     "        for step in (0, 0.1):\n            with torch.no_grad():\n                x = l.parametrizations.weight.original\n"
     "                x += step * torch.rand_like(x).tril(-1)\n            w = l.weight if i <= o else l.weight.mT\n"
     "            r.append(torch.allclose(w.mT @ w, torch.eye(min(i, o)), atol=1e-5))\n"
     "q = torch.eye(3).roll(1, 0)\nl = nn.Linear(3, 3)\nl.weight.data.copy_(q)\nr = [[k for k, ok in enumerate(r) if not ok], len(r), "
     "orthogonal(l).weight.equal(q)]\n",
     "[[], 27, True]"},
    /* what inference mode makes is written to only in it; what it only looks at stays what it was */
    {"import torch\nx = torch.ones(2)\nwith torch.inference_mode():\n    y, v, z = x * 2, x[:1], torch.zeros(2).view(2)\n    x.add_(1)\n    "
     "y.add_(1)\n"
     "v.add_(1)\nw = y.clone()\nw.add_(1)\n"
     "r = [t.is_inference() for t in (x, y, v, z, w, y[1:], y + 1, y.split(1)[0])]\n",
     "[False, True, False, True, False, True, False, True]"},
    /* ... nor is what shows its elements; what has its own elements is a normal tensor outside of it */
    {"import torch\nx = torch.ones(2)\nwith torch.inference_mode():\n    z = torch.ones(2)\n    a = [x.float(), x.positive(), x.double()]\n"
     "b = [z.data, z.detach(), z.double(), z.half().float()]\nb[2].add_(1)\nr = [[t.is_inference() for t in l] for l in (a, b)]\n",
     "[[False, False, True], [True, True, False, False]]"},
    {"import torch\nfrom torch import nn\nx = torch.ones(2, 2)\nd = nn.Dropout().eval()\nwith torch.inference_mode():\n    z = torch.tensor([1.0])\n"
     "    a = [d(x), d(z), torch.atleast_1d(x), *torch.broadcast_tensors(x, z), *torch.meshgrid(x[0], z, indexing='ij'), x.T.contiguous()]\n"
     "    b = [nn.Parameter(x), nn.Parameter(z), x.view(torch.int32), torch.view_as_complex(x), torch.scalar_tensor(1), torch.as_tensor([1]),\n"
     "         torch.as_tensor(x), d.train()(x)]\n"
     "r = [[t.is_inference() for t in l] for l in (a, b)]\n",
     "[[False, True, False, False, True, False, True, True], [False, True, True, False, True, True, False, True]]"},
    {"import torch\nimport torch.nn.functional as F\nx = torch.ones(2)\nwith torch.inference_mode():\n"
     "    r = [F.dropout(x, 0.0, True).is_inference(), F.dropout(x, 0.5, True).is_inference()]\n",
     "[False, True]"},
    /* 0.7 is 0.69921875 in bfloat16, and no number of [-0.3, 0.7) */
    {"import torch\ntorch.manual_seed(1)\nx = torch.empty(20000, dtype=torch.bfloat16).uniform_(-0.3, 0.7)\n"
     "r = [x.max().item(), (x == -0.30078125).sum().item() > 60]\n",
     "[0.6953125, True]"},
    {"class Y:\n    def __mro_entries__(self, bases):\n        return 5\nclass R(Y()):\n    pass\n", "__mro_entries__ must return a tuple"},
    {"import torch\nwith torch.inference_mode():\n    y = torch.ones(2)\ny.data.add_(1)\n", "Inplace update to inference tensor"},
    {"import torch\nwith torch.inference_mode():\n    y = torch.ones(2)\ny[0] = 1\n", "it was made in inference mode at test.py:3)"},
    {"import torch\nwith torch.inference_mode():\n    y = torch.ones(2)\ntorch.add(torch.ones(2), 1, out=y)\n", "Inplace update to inference tensor"},
    {"import torch\nwith torch.inference_mode():\n    y = torch.ones(2)\ny.requires_grad_()\n", "Setting requires_grad=True on inference tensor"},
    /* what PyTorch refuses of types: it works in place on 1 - target, and in the target's type */
    {"import torch\nimport torch.nn.functional as F\nx = torch.ones(2)\nF.binary_cross_entropy_with_logits(x, torch.ones(2).long())\n",
     "result type float32 can't be cast to the desired output type int64"},
    {"import torch\nimport torch.nn.functional as F\nF.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2) > 0)\n",
     "with a bool tensor is not supported"},
    {"import torch\nimport torch.nn.functional as F\nr = F.binary_cross_entropy_with_logits(torch.ones(2), torch.ones(2).half()).dtype\n",
     "torch.float16"},
    {"import torch\nimport torch.nn.functional as F\nx, w = torch.ones(1, 3), torch.ones(2, 3)\nF.binary_cross_entropy(x, x, weight=w)\n",
     "the weight has shape [2, 3], which does not broadcast to that of the target, [1, 3]"},
    {"import torch\nimport torch.nn.functional as F\nx, w = torch.ones(3), torch.ones(1, 3)\nF.binary_cross_entropy_with_logits(x, x, "
     "pos_weight=w)\n",
     "the weight has shape [1, 3], which does not broadcast to that of the target, [3]"},
    {"import torch\nimport torch.nn.functional as F\nx, w = torch.ones(2, 3), torch.ones(2, 1)\n"
     "r = F.binary_cross_entropy_with_logits(x, x, w, reduction='none').shape == (2, 3)\n",
     "True"},
    /* log_weight is multiplied into log_sigmoid(x), in its type */
    {"import torch\nimport torch.nn.functional as F\nx, t, p = torch.tensor([0.3, -1.7]), torch.tensor([0.1, 0.7], dtype=torch.float64), "
     "torch.tensor([1.3, 0.9])\nr = F.binary_cross_entropy_with_logits(x, t, reduction='none', pos_weight=p).equal((1 - t) * x - "
     "F.logsigmoid(x).mul_((p - 1) * t + 1))\n",
     "True"},
    {"import torch\ntorch.result_type('a', 1)\n", "takes tensors and numbers, not str"},
    {"import torch\nx = torch.ones(2)\nw = torch.ones(2, requires_grad=True)\ntorch.autograd.grad((x * w).sum(), x)\n",
     "One of the differentiated Tensors does not require grad"},
    /* the default generator by its module */
    {"import torch\ntorch.random.manual_seed(3)\na = torch.rand(1)\ntorch.manual_seed(3)\nwith torch.random.fork_rng(devices=[]):\n    "
     "torch.rand(7)\n"
     "r = [torch.rand(1).equal(a), torch.random.initial_seed()]\n",
     "[True, 3]"},
    /* einops */
    {EINOPS "y = rearrange(x, 'b (h p) w -> b h (p w)', h=3)\nr = (tuple(y.shape), y[1, 2].tolist(), tuple(rearrange(x, '... w -> w ...').shape))\n",
     "((2, 3, 4), [20.0, 21.0, 22.0, 23.0], (4, 2, 3))"},
    {EINOPS "r = rearrange([x[0], x[1]], 'b c w -> c (b w)').tolist()[0]\n", "[0.0, 1.0, 2.0, 3.0, 12.0, 13.0, 14.0, 15.0]"},
    {EINOPS "r = [reduce(x, 'b c w -> c', 'sum').tolist(), reduce(x, 'b c (w 2) -> b w', 'max').tolist(), reduce(x, '... -> ()', 'mean').tolist(), "
            "reduce(x, 'b c w -> b 1 w', 'min').shape]\n",
     "[[60.0, 92.0, 124.0], [[9.0, 11.0], [21.0, 23.0]], [11.5], torch.Size([2, 1, 4])]"},
    {EINOPS "r = repeat(x[0, :2, :2], 'a b -> (a 2) (b k)', k=2).tolist()\n",
     "[[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [4.0, 4.0, 5.0, 5.0], [4.0, 4.0, 5.0, 5.0]]"},
    {EINOPS "p, s = pack([x, x[:, 0]], 'b * w')\na, b = unpack(p, s, 'b * w')\nr = [p.shape, s, a.equal(x), b.shape, "
            "[t.shape for t in unpack(p, [[2], [-1]], 'b * w')]]\n",
     "[torch.Size([2, 4, 4]), [torch.Size([3]), torch.Size([])], True, torch.Size([2, 4]), [torch.Size([2, 2, 4]), torch.Size([2, 2, 4])]]"},
    {EINOPS "r = [einsum(x, x, 'batch i d, batch j d -> batch i j').shape, parse_shape(x, 'b _ width')]\n",
     "[torch.Size([2, 3, 3]), {'b': 2, 'width': 4}]"},
    {EINOPS "from einops.layers.torch import EinMix\nm = EinMix('b (h p) w -> b h (p o)', weight_shape='p w o', bias_shape='o', p=3, w=4, o=5)\n"
            "y = m(x)\nr = [y.shape, m.weight.shape, m.bias.shape, list(m.state_dict())]\n",
     "[torch.Size([2, 1, 15]), torch.Size([3, 4, 5]), torch.Size([1, 1, 1, 5]), ['weight', 'bias']]"},
    {EINOPS "r = rearrange(x, 'b c -> c b')\n", "expected 2 dims. Received 3-dim tensor"},
    {EINOPS "r = rearrange(x, 'b (c k) w -> b c k w', k=2)\n", "can't divide axis of length 3 in chunks of 2"},
    {EINOPS "r = rearrange(x, 'b c w -> b c')\n", "only on one side"},
    {EINOPS "r = reduce(x, 'b c w -> b', 'middle')\n", "Unknown reduction middle"},
    /* numpy */
    {NUMPY "t = np.array([[p / np.power(10000, 2 * (j // 2) / 4) for j in range(4)] for p in range(2)])\nt[:, 0::2] = np.sin(t[:, 0::2])\n"
           "r = [np.round(t, 3).tolist(), torch.FloatTensor(t).dtype, torch.tensor(t).dtype, t.dtype is np.float64]\n",
     "[[[0.0, 0.0, 0.0, 0.0], [0.841, 1.0, 0.01, 0.01]], torch.float32, torch.float64, True]"},
    {NUMPY
     "g = np.stack(np.meshgrid(np.arange(3, dtype=np.float32), np.arange(2)), axis=0).reshape([2, 1, 3, 2])\nr = [g.shape, g[1].sum(), g.T.shape]\n",
     "[(2, 1, 3, 2), 3.0, (2, 3, 1, 2)]"},
    {NUMPY "r = [np.linspace(0, 1, 5).tolist(), np.arange(0, 1, 0.25).tolist(), (np.arange(3) / 2).tolist(), (2 ** np.arange(3)).tolist(), "
           "np.cumsum([1, 2, 3])[-1], np.prod((2, 3)), np.sqrt(16), float(np.float32(0.1)), np.mean([1, 2])]\n",
     "[[0.0, 0.25, 0.5, 0.75, 1.0], [0.0, 0.25, 0.5, 0.75], [0.0, 0.5, 1.0], [1, 2, 4], 6, 6, 4.0, 0.10000000149011612, 1.5]"},
    {NUMPY "m = np.triu(np.ones((1, 2, 2)), k=1).astype('uint8')\nr = (torch.from_numpy(m) == 0).tolist()\n", "[[[True, False], [True, True]]]"},
    {NUMPY "r = [(torch.ones(2).numpy() + 1).tolist(), torch.tensor([np.arange(2), np.arange(2)]).tolist(), torch.arange(3)[:, np.newaxis].shape]\n",
     "[[2.0, 2.0], [[0, 1], [0, 1]], torch.Size([3, 1])]"},
    {NUMPY "torch.manual_seed(7)\nb = np.random.rand(2)\nr = b.tolist() == np.random.RandomState(7).rand(2).tolist(), "
           "np.random.RandomState().rand() == b[0], np.random.seed(), np.random.rand() == b[0]\n",
     "(True, True, None, True)"},
    {NUMPY "g = np.random.default_rng(12345)\nr = [g.random(), g.integers(0, 10, 3).tolist(), g.integers(2**40), g.permutation(5).tolist(), "
           "g.choice(9, 3, replace=False).tolist(), g.uniform(-1, 1, 2).tolist(), np.random.default_rng(2**150 + 17).choice(20000, 500, "
           "replace=False)[:3].tolist()]\n",
     "[0.22733602246716966, [7, 3, 2], 743549873828, [4, 3, 0, 1, 2], [4, 5, 2], [0.3455120880292426, 0.8836057305398743], [17810, 4127, 1981]]"},
    {NUMPY "np.float = float\nr = [np.float(3), np.dtype('float32') is torch.float32, np.uint16 is np.float32, np.dtype | None is None]\n",
     "[3.0, True, False, False]"},
    {"import torch\nx, y, z = torch.ones(2, 2), torch.full((2, 2), 3.0), torch.eye(2)\n"
     "r = [f.tolist() for f in (torch.add(x, 2, y), x.clone().add_(2, y), torch.sub(x, 2, y), torch.addcmul(x, 2, y, z), x.clone().addcdiv_(0.5, x, "
     "y), "
     "torch.addmm(2, x, y, z), x.addmm(2, 3, y, z), torch.addmm(2, x, 3, y, z), torch.addmv(2, x[0], 3, y, z[0]), torch.addr(2, x, 3, x[0], "
     "x[0]))]\n",
     "[[[7.0, 7.0], [7.0, 7.0]], [[7.0, 7.0], [7.0, 7.0]], [[-5.0, -5.0], [-5.0, -5.0]], [[7.0, 1.0], [1.0, 7.0]], [[1.1666666269302368, "
     "1.1666666269302368], [1.1666666269302368, 1.1666666269302368]], [[5.0, 5.0], [5.0, 5.0]], [[11.0, 11.0], [11.0, 11.0]], [[11.0, 11.0], [11.0, "
     "11.0]], [11.0, 11.0], [[5.0, 5.0], [5.0, 5.0]]]"},
    {"import torch\nr = torch.add(torch.ones(2), torch.ones(2), 2)\n", "add() received an invalid combination of arguments"},
    {"import types, math, enum, warnings, keyword, traceback, pkgutil\nclass L(types.ModuleType):\n    pass\nclass E(enum.Enum):\n"
     "    A = enum.member(len)\n    B = enum.nonmember(4)\n    _C = 5\n    _order_ = 'A _C'\nsaid = []\n"
     "warnings.showwarning = lambda message, category, *rest: said.append((str(message), category.__name__))\nwarnings.warn('late')\n"
     "try:\n    {}[1]\nexcept KeyError as e:\n    text = traceback.format_exception(type(e), e, e.__traceback__)\n"
     "r = [isinstance(L('x'), types.ModuleType), isinstance(math, types.ModuleType), isinstance(3, types.ModuleType), isinstance(math, L), "
     "E.A.value is len, E.B, E._C.value, len(E), said, keyword.iskeyword('if'), text, list(pkgutil.walk_packages(['x'])), isinstance(int | str, "
     "types.UnionType), "
     "__import__('os.path' if False else 'math') is math, globals()['L'] is L]\n",
     "[True, True, False, False, True, 4, 5, 2, [('late', 'UserWarning')], True, ['KeyError: 1\\n'], [], True, True, True]"},
    {"import torch, urllib.request\nfrom operator import __add__\nfrom urllib.parse import quote, urlparse\nfrom torch.distributions import "
     "constraints\n"
     "x = torch.autograd.forward_ad.unpack_dual(torch.ones(1))\n"
     "r = [quote('a b/\xc3\xbc\xe2\x82\xac~x'), quote('a/b', safe=''), __add__(1, 2), constraints.interval(0, 1) is None, x.tangent, "
     "torch._dynamo.allow_in_graph(len) is len]\n",
     "['a%20b/%C3%BC%E2%82%AC~x', 'a%2Fb', 3, False, None, True]"},
    {"import math\ndef area():\n    return math.pi\nfirst = area()\nmath.pi = 3\nr = [first > area(), math.pi]\n", "[True, 3]"},
    {NUMPY "r = np.random.default_rng(1).normal()\n", "for normal numbers"},
    {NUMPY "r = np.random.zipf(3)\n", "numpy.random.zipf() is not part of the model language"},
    {NUMPY "r = np.load('x.npy')\n", "numpy.load is not part of the model language"},
    /* names that older files use */
    {"import torch\nfrom torch.autograd import Variable\nx = torch.ones(2)\nr = [Variable(x) is x, isinstance(x, Variable), isinstance(1, Variable), "
     "Variable(x, requires_grad=True).requires_grad, torch.spmm(torch.eye(2), torch.ones(2, 1)).tolist()]\n",
     "[True, True, False, True, [[1.0], [1.0]]]"},
    {"import torch\ntorch.manual_seed(0)\nfrom torch.nn.utils import weight_norm, remove_weight_norm, spectral_norm, remove_spectral_norm\n"
     "l = torch.nn.Linear(3, 2)\nw = l.weight.data.clone()\nm = weight_norm(l)\nr = [sorted(m.state_dict()), torch.allclose(m.weight, w)]\n"
     "m.weight_g.data.mul_(2)\nx = torch.ones(1, 3)\ny = m(x)\nr.append(torch.allclose(y, torch.nn.functional.linear(x, 2 * w, m.bias)))\n"
     "remove_weight_norm(m)\nr += [sorted(m.state_dict()), torch.equal(m(x), y)]\ns = spectral_norm(torch.nn.Linear(3, 3))\n"
     "for i in range(60): s(x)\ns.eval()\ns(x)\nr += [sorted(s.state_dict()), abs(torch.linalg.matrix_norm(s.weight, 2).item() - 1) < 1e-3]\n"
     "r.append(sorted(remove_spectral_norm(s).state_dict()))\n",
     "[['bias', 'weight_g', 'weight_v'], True, True, ['bias', 'weight'], True, ['bias', 'weight_orig', 'weight_u', 'weight_v'], True, ['bias', "
     "'weight']]"},
    /* the names of the package are the functions, whichever was asked for first, and with the module of the same name imported */
    {"import torch\nfrom torch.nn.utils import spectral_norm, weight_norm\nfrom torch.nn.utils.weight_norm import WeightNorm\n"
     "r = [callable(f) for f in (weight_norm, torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm, WeightNorm)]\n",
     "[True, True, True, True]"},
    /* packed sequences: each step runs the sequences that are that long */
    {"import torch\nfrom torch.nn.utils.rnn import *\n", "*"},
    {"import torch\nfrom torch.nn.utils.rnn import pad_sequence, pack_padded_sequence, pad_packed_sequence, pack_sequence, unpack_sequence\n"
     "x = torch.arange(12.).view(2, 3, 2)\np = pack_padded_sequence(x, [1, 3], batch_first=True, enforce_sorted=False)\ny, n = "
     "pad_packed_sequence(p, True, -1)\n"
     "r = [p.batch_sizes.tolist(), p.data[:, 0].tolist(), y[0].tolist(), n.tolist(), pad_sequence([x[0, :1, 0], x[0, :, 0]], True, 9).tolist(), "
     "[t.tolist() for t in unpack_sequence(pack_sequence([x[0, :2, 0], x[0, :1, 1]]))]]\n",
     "[[2, 1, 1], [6.0, 0.0, 8.0, 10.0], [[0.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]], [1, 3], [[0.0, 9.0, 9.0], [0.0, 2.0, 4.0]], [[0.0, 2.0], [1.0]]]"},
    {"import torch\nfrom torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence\ntorch.manual_seed(0)\n"
     "m = torch.nn.LSTM(3, 4, 2, bidirectional=True)\nx = torch.randn(5, 3, 3)\no, (h, c) = m(pack_padded_sequence(x, [5, 3, 2]))\n"
     "y = pad_packed_sequence(o)[0]\nr = []\nfor i, n in enumerate([5, 3, 2]):\n    one, (g, d) = m(x[:n, i:i + 1])\n"
     "    r.append([torch.allclose(one[:, 0], y[:n, i], atol=1e-6), torch.allclose(g[:, 0], h[:, i], atol=1e-6), torch.allclose(d[:, 0], c[:, i], "
     "atol=1e-6)])\n",
     "[[True, True, True], [True, True, True], [True, True, True]]"},
};

static void test_table(void **state) {
    (void)state;
    snippets_check("", table, sizeof table / sizeof *table);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_table)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
