# json: importable, for files that read configurations and weights elsewhere; a call is refused.
_names = ("load", "loads", "dump", "dumps")


def __getattr__(name):
    if name not in _names:
        raise AttributeError("module 'json' has no attribute '" + name + "'")

    def refused(*args, **kwargs):
        raise NotImplementedError("json." + name + "() is not part of the model language: it works on bytes and files")

    return refused
