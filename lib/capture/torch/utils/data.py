# torch.utils.data: base classes, so that files which define data sets beside their model can be read. Reading data is tc-train's.


class Dataset:
    def __getitem__(self, index):
        raise NotImplementedError("Subclasses of Dataset should implement __getitem__.")


class IterableDataset(Dataset):
    pass


class Sampler:
    def __init__(self, data_source=None):
        pass
