# importlib.machinery: no library of native code is ever found.
EXTENSION_SUFFIXES, SOURCE_SUFFIXES, BYTECODE_SUFFIXES = [".so"], [".py"], [".pyc"]


class ExtensionFileLoader:
    pass


class SourceFileLoader:
    pass


class FileFinder:
    def __init__(self, path, *loader_details):
        self.path = path

    def find_spec(self, fullname, target=None):
        return None
