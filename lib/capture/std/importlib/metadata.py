# importlib.metadata: PyTorch is installed, and what has a folder NAME-VERSION.dist-info beside it in a folder of --source. Another package that a file
# takes for granted, in no try, is version 0.0.0, as it is for an import.
from _lang import trying, version as _installed


class PackageNotFoundError(ModuleNotFoundError):
    def __str__(self):
        return f"No package metadata was found for {self.args[0]}"


def version(name):
    if name != "torch":
        found = _installed(name) or (None if trying() else "0.0.0")
        if found is None:
            raise PackageNotFoundError(name)
        return found
    return __import__("torch").__version__


def packages_distributions():
    return {"torch": ["torch"]}
