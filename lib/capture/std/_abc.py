# The classes of collections.abc that give methods to those which derive from them.


class Iterator:
    def __iter__(self):
        return self


class Sequence:
    def __iter__(self):
        return (self[i] for i in range(len(self)))

    def __contains__(self, value):
        return any(v is value or v == value for v in self)

    def __reversed__(self):
        return (self[i] for i in range(len(self) - 1, -1, -1))

    def index(self, value, start=0, stop=None):
        for i in range(*slice(start, stop).indices(len(self))):
            if self[i] is value or self[i] == value:
                return i
        raise ValueError

    def count(self, value):
        return sum(v is value or v == value for v in self)


class MutableSequence(Sequence):
    def append(self, value):
        self.insert(len(self), value)

    def extend(self, values):
        for v in list(values):
            self.append(v)

    def __iadd__(self, values):
        self.extend(values)
        return self

    def pop(self, index=-1):
        v = self[index]
        del self[index]
        return v

    def remove(self, value):
        del self[self.index(value)]

    def clear(self):
        while len(self):
            self.pop()

    def reverse(self):
        for i, v in enumerate(list(self)[::-1]):
            self[i] = v


class Mapping:
    def __contains__(self, key):
        try:
            self[key]
        except KeyError:
            return False
        return True

    def get(self, key, default=None):
        try:
            return self[key]
        except KeyError:
            return default

    def keys(self):
        return {k: self[k] for k in self}.keys()

    def values(self):
        return {k: self[k] for k in self}.values()

    def items(self):
        return {k: self[k] for k in self}.items()

    def __eq__(self, other):
        return dict(self) == dict(other) if isinstance(other, (dict, Mapping)) else NotImplemented


class MutableMapping(Mapping):
    def pop(self, key, *default):
        if default and key not in self:
            return default[0]
        v = self[key]
        del self[key]
        return v

    def popitem(self):
        for key in self:
            return key, self.pop(key)
        raise KeyError

    def clear(self):
        for key in list(self):
            del self[key]

    def update(self, other=(), /, **kwargs):
        for key, v in dict(other, **kwargs).items():
            self[key] = v

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]
