# importlib.util: whether there is a module of a name.
from _lang import finds
from collections import namedtuple
from importlib import _absolute

ModuleSpec = namedtuple("ModuleSpec", "name")


def find_spec(name, package=None):
    name = _absolute(name, package)
    return ModuleSpec(name) if finds(name) else None
