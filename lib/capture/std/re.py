# re: importable, for files that use it in functions that load weights; a call is refused.
IGNORECASE = I = 2
MULTILINE = M = 8
DOTALL = S = 16
VERBOSE = X = 64
_names = ("compile", "match", "search", "fullmatch", "sub", "subn", "split", "findall", "finditer", "escape")


def __getattr__(name):
    if name in ("Pattern", "Match"):
        return object
    if name not in _names:
        raise AttributeError("module 're' has no attribute '" + name + "'")

    def refused(*args, **kwargs):
        raise NotImplementedError("re." + name + "() is not part of the model language: use the methods of strings")

    return refused
