# importlib: modules by a name that a file computes, under the rules of the import statement.
from _lang import __import__


def _absolute(name, package):
    dots = len(name) - len(name.lstrip("."))
    if dots:
        if not package:
            raise TypeError(f"the 'package' argument is required to perform a relative import for '{name}'")
        parts = package.split(".")
        if dots > len(parts):
            raise ImportError("attempted relative import beyond top-level package")
        name = ".".join(parts[:len(parts) - dots + 1] + ([name[dots:]] if name[dots:] else []))
    return name


def _builtin(name, globals=None, locals=None, fromlist=(), level=0):  # the function __import__ of a file
    try:
        whole = __import__(name)
        return whole if fromlist else __import__(name.split(".")[0])
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(f"__import__('{name}'): {e}", name=name) from None


def import_module(name, package=None):
    return __import__(_absolute(name, package))
