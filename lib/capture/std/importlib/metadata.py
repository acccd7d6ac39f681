# importlib.metadata: no package but PyTorch is installed where models are captured; one that a file takes for granted, in no try, is version 0.0.0,
# as it is for an import.
from _lang import trying


class PackageNotFoundError(ModuleNotFoundError):
    def __str__(self):
        return f"No package metadata was found for {self.args[0]}"


def version(name):
    if name != "torch":
        if not trying():
            return "0.0.0"
        raise PackageNotFoundError(name)
    return __import__("torch").__version__


def packages_distributions():
    return {"torch": ["torch"]}
