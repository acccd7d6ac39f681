# importlib, and what each thread has of its own.
import importlib
import importlib.util
import threading
from importlib.metadata import PackageNotFoundError, version

print(importlib.import_module("math").pi, importlib.import_module(".nn", "torch").Linear.__name__)
print(importlib.util.find_spec("no_such_module"), importlib.util.find_spec("functools").name, importlib.util.find_spec("no_such_module") is not None)
try:
    version("no-such-package")
except PackageNotFoundError as e:
    print(e, isinstance(e, ImportError))
for name, package in (("no_such_module", None), (".x", None), ("..x", "a")):
    try:
        importlib.import_module(name, package)
    except ImportError as e:
        print(type(e).__name__)
    except TypeError as e:
        print(e)


class State(threading.local):
    depth = 0


state = State()
state.depth += 1
state.stack = [1]
print(state.depth, State.depth, state.stack, hasattr(threading.local(), "stack"))

# import * of Python's modules
import gc
from collections import *
from functools import *
from itertools import *

print(list(islice(chain([1], count(3)), 3)), reduce(lambda a, b: a * b, (2, 3)), Counter("aab"), gc.collect() >= 0, gc.isenabled())

# import a.b as c is the attribute b of a, which a function may hide
import uuid
import torch
import torch.nn.utils.spectral_norm as spectral
import torch.nn.utils.weight_norm as weight
import torch.nn.functional as functional
from torch.nn.utils import spectral_norm
from torch.nn.utils.spectral_norm import SpectralNorm

print(SpectralNorm.__name__)
print(spectral is spectral_norm, callable(weight), functional.__name__, uuid.uuid4() == uuid.uuid4(), len(str(uuid.uuid4())), len(uuid.uuid4().hex))
print(torch.cuda._initialized, torch.cuda.is_initialized())


import importlib.metadata

from torch import TensorType


def kinds(types: TensorType):
    return importlib.metadata.packages_distributions().get("torch")


print(kinds(None))

# Parts of packages of Python's own.
from collections.abc import Mapping, Sequence
from inspect import isgeneratorfunction
from json.decoder import JSONDecodeError
from json.encoder import JSONEncoder
import json
from urllib.parse import urlparse, urlsplit, urlunparse, urlunsplit

print(JSONEncoder is json.JSONEncoder, JSONDecodeError is json.JSONDecodeError)
for text in ("https://u:p@Ab.c:80/x;k/y;p=1?q=1#f", "a/b;c", "//h/p", "mailto:me@x;y", "https://[::1]:8/", "x?y", "C#d", ""):
    s, p = urlsplit(text), urlparse(text)
    print(tuple(s), s.hostname, s.port, urlunsplit(s), s.geturl())
    print(tuple(p), p.hostname, p.port, urlunparse(p), p.geturl())


class Table(dict):
    pass


print(Mapping.register(Table) is Table, isinstance(Table(), Mapping))

# A file may put its own in the place of PyTorch's while it is loaded.
index_select = torch.index_select


def counted(x, dim, index):
    print("index_select")
    return index_select(x, dim, index)


torch.index_select = counted
print(torch.index_select(torch.tensor([1.0, 2.0]), 0, torch.tensor([1])), torch.tensor([3.0]).index_select(0, torch.tensor([0])))
torch.index_select = index_select
print(torch.index_select(torch.tensor([1.0, 2.0]), 0, torch.tensor([0])), torch._C._is_tracing())
