# struct: importable, for files that also write weights; a call is refused.
_names = ("pack", "unpack", "pack_into", "unpack_from", "calcsize")


def __getattr__(name):
    if name not in _names:
        raise AttributeError("module 'struct' has no attribute '" + name + "'")

    def refused(*args, **kwargs):
        raise NotImplementedError("struct." + name + "() is not part of the model language: it works on bytes and files")

    return refused
