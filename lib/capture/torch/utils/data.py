# torch.utils.data: base classes, so that files which define data sets beside their model can be read. Reading data is tc-train's.


class Dataset:
    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


class IterableDataset(Dataset):
    pass


class Sampler:
    def __init__(self, data_source=None):
        pass


def __getattr__(name):
    if name not in ("DataLoader", "TensorDataset", "ConcatDataset", "Subset", "random_split", "RandomSampler", "SequentialSampler", "BatchSampler",
                    "WeightedRandomSampler", "DistributedSampler", "default_collate", "get_worker_info"):
        raise AttributeError("module 'torch.utils.data' has no attribute '" + name + "'")

    def refused(*args, **kwargs):
        raise NotImplementedError("torch.utils.data." + name + " is not part of the model language: tc-train(1) reads data as its recipe says")

    return refused
