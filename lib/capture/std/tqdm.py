# tqdm: what it goes over, without the bar.
class tqdm:
    def __init__(self, iterable=None, desc=None, total=None, *args, **kwargs):
        self.iterable, self.desc, self.total, self.n = iterable, desc, total, 0

    def __iter__(self):
        return iter(self.iterable)

    def __len__(self):
        return len(self.iterable) if self.total is None else self.total

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False

    def update(self, n=1):
        self.n += n

    def _shows(self, *args, **kwargs):
        pass

    set_description = set_description_str = set_postfix = set_postfix_str = refresh = clear = close = write = _shows


def trange(*args, **kwargs):
    return tqdm(range(*args), **kwargs)
