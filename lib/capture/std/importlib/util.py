# importlib.util: whether there is a module of a name.
from collections import namedtuple
from importlib import import_module

ModuleSpec = namedtuple("ModuleSpec", "name")


def find_spec(name, package=None):
    try:
        import_module(name, package)
    except ModuleNotFoundError:
        return None
    return ModuleSpec(name)
