# torch.hub: can be imported, for files that can also fetch weights; calls are refused.
_names = ("load", "load_state_dict_from_url", "download_url_to_file", "list", "help", "set_dir", "get_dir")


def __getattr__(name):
    if name not in _names:
        raise AttributeError("module 'torch.hub' has no attribute '" + name + "'")

    def refused(*args, **kwargs):
        raise NotImplementedError("torch.hub." + name + "() is not part of the model language: it reads files or runs foreign code; weights are given by --weights")

    return refused
