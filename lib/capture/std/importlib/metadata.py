# importlib.metadata: no package but PyTorch is installed where models are captured.


class PackageNotFoundError(ModuleNotFoundError):
    def __str__(self):
        return f"No package metadata was found for {self.args[0]}"


def version(name):
    if name != "torch":
        raise PackageNotFoundError(name)
    return __import__("torch").__version__


def packages_distributions():
    return {"torch": ["torch"]}
