# Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict.
from collections import OrderedDict

import torch
from torch.nn.module import Module, _indent
from torch._C import Parameter


def _position(index, n):
    i = index.__index__()
    if not -n <= i < n:
        raise IndexError("index " + str(i) + " is out of range")
    return i % n if n else 0


class Sequential(Module):
    def __init__(self, *args):
        super().__init__()
        if len(args) == 1 and isinstance(args[0], dict):
            for name, m in args[0].items():
                self.add_module(name, m)
        else:
            for i, m in enumerate(args):
                self.add_module(str(i), m)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(OrderedDict(list(self._modules.items())[index]))
        return list(self._modules.values())[_position(index, len(self))]

    def __setitem__(self, index, module):
        key = list(self._modules)[_position(index, len(self))]
        setattr(self, key, module)

    def __delitem__(self, index):
        keys = list(self._modules)
        for key in keys[index] if isinstance(index, slice) else [keys[_position(index, len(keys))]]:
            delattr(self, key)
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(self._modules.values())}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __add__(self, other):
        return Sequential(*(list(self) + list(other)))

    def append(self, module):
        return self.insert(len(self), module)

    def insert(self, index, module):
        if not isinstance(module, Module):
            raise AssertionError("module should be of type: " + str(Module))
        ms = list(self._modules.values())
        ms.insert(index, module)
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(ms)}
        return self

    def extend(self, sequential):
        for m in sequential:
            self.append(m)
        return self

    def pop(self, key):
        v = self[key]
        del self[key]
        return v

    def forward(self, input):
        for module in self._modules.values():
            input = module(input)
        return input


class ModuleList(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.extend(modules)

    def __repr__(self):
        """Equal neighbours are one entry: (0-2): 3 x Linear(...)."""
        runs = []
        for i, text in enumerate(repr(m) for m in self):
            if runs and runs[-1][2] == text:
                runs[-1][1] = i
            else:
                runs.append([i, i, text])
        lines = [f"({a}): {text}" if a == b else f"({a}-{b}): {b - a + 1} x {text}" for a, b, text in runs]
        return self._get_name() + "(" + ("\n  " + "\n  ".join(_indent(line, 2) for line in lines) + "\n" if lines else "") + ")"

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)(list(self._modules.values())[index])
        return self._modules[str(_position(index, len(self)))]

    def __setitem__(self, index, module):
        setattr(self, str(_position(index, len(self))), module)

    def __delitem__(self, index):
        ms = list(self._modules.values())
        del ms[index]
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(ms)}

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules.values()))

    def __contains__(self, module):
        return any([m is module for m in self._modules.values()])

    def __iadd__(self, modules):
        return self.extend(modules)

    def __add__(self, other):
        return ModuleList(list(self) + list(other))

    def insert(self, index, module):
        ms = list(self._modules.values())
        ms.insert(index, module)
        self.__dict__["_modules"] = {str(i): m for i, m in enumerate(ms)}

    def append(self, module):
        self.add_module(str(len(self)), module)
        return self

    def pop(self, key):
        v = self[key]
        del self[key]
        return v

    def extend(self, modules):
        if isinstance(modules, (bool, int, float)) or modules is None:
            raise TypeError("ModuleList.extend should be called with an iterable, but got " + type(modules).__name__)
        for m in list(modules):
            self.append(m)
        return self


class ModuleDict(Module):
    def __init__(self, modules=None):
        super().__init__()
        if modules is not None:
            self.update(modules)

    def __getitem__(self, key):
        return self._modules[key]

    def __setitem__(self, key, module):
        self.add_module(key, module)

    def __delitem__(self, key):
        del self._modules[key]

    def __len__(self):
        return len(self._modules)

    def __iter__(self):
        return iter(list(self._modules))

    def __contains__(self, key):
        return key in self._modules

    def clear(self):
        self._modules.clear()

    def pop(self, key):
        v = self._modules[key]
        del self._modules[key]
        return v

    def keys(self):
        return self._modules.keys()

    def items(self):
        return self._modules.items()

    def values(self):
        return self._modules.values()

    def update(self, modules):
        if isinstance(modules, (dict, ModuleDict)):
            for k, m in modules.items():
                self[k] = m
        else:
            for k, m in modules:
                self[k] = m


# An entry of a list or dict of parameters, as a line of its repr().
def _describe(key, v, dtype):
    if isinstance(v, torch.Tensor):
        kind = f"  ({key}): Parameter" if isinstance(v, Parameter) else f"  ({key}): Tensor"
        return kind + " containing: [" + dtype(v) + " of size " + "x".join([str(s) for s in v.shape]) + "]"
    return f"  ({key}): Object of type: " + type(v).__name__


class ParameterList(Module):
    def __init__(self, values=None):
        super().__init__()
        object.__setattr__(self, "_size", 0)
        if values is not None:
            self.extend(values)

    def __getitem__(self, index):
        if isinstance(index, slice):
            return type(self)([getattr(self, str(i)) for i in range(*index.indices(len(self)))])
        return getattr(self, str(_position(index, len(self))))

    def __setitem__(self, index, param):
        if isinstance(param, torch.Tensor) and not isinstance(param, Parameter):
            param = Parameter(param)
        setattr(self, str(_position(index, len(self))), param)

    def __len__(self):
        return self._size

    def __iter__(self):
        return iter([self[i] for i in range(len(self))])

    def __iadd__(self, values):
        return self.extend(values)

    def append(self, value):
        i = len(self)
        object.__setattr__(self, "_size", i + 1)
        self[i] = value
        return self

    def extend(self, values):
        for v in values:
            self.append(v)
        return self

    def extra_repr(self):
        return "\n".join([_describe(i, p, lambda t: str(t.dtype)) for i, p in enumerate(self)])


class ParameterDict(Module):
    def __init__(self, parameters=None):
        super().__init__()
        object.__setattr__(self, "_keys", {})
        if parameters is not None:
            self.update(parameters)

    def __getitem__(self, key):
        if key not in self._keys:
            raise KeyError(key)
        return getattr(self, str(key))

    def __setitem__(self, key, value):
        self._keys[key] = None
        if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
            value = Parameter(value)
        setattr(self, str(key), value)

    def __delitem__(self, key):
        del self._keys[key]
        delattr(self, str(key))

    def __len__(self):
        return len(self._keys)

    def __iter__(self):
        return iter(list(self._keys))

    def __contains__(self, key):
        return key in self._keys

    def keys(self):
        return self._keys.keys()

    def items(self):
        return [(k, self[k]) for k in self._keys]

    def values(self):
        return [self[k] for k in self._keys]

    def get(self, key, default=None):
        return self[key] if key in self else default

    def setdefault(self, key, default=None):
        if key not in self:
            self[key] = default
        return self[key]

    def pop(self, key):
        v = self[key]
        del self[key]
        return v

    def copy(self):
        return ParameterDict(self.items())

    def __reversed__(self):
        return reversed(list(self._keys))

    def clear(self):
        for k in list(self._keys):
            del self[k]

    def popitem(self):
        k = list(self._keys)[-1]
        return k, self.pop(k)

    def fromkeys(self, keys, default=None):
        return ParameterDict((k, default) for k in keys)

    def update(self, parameters):
        if isinstance(parameters, (OrderedDict, ParameterDict)):
            for k, v in parameters.items():
                self[k] = v
        elif isinstance(parameters, dict):
            for k, v in sorted(parameters.items()):
                self[k] = v
        else:
            for k, v in parameters:
                self[k] = v

    def extra_repr(self):
        return "\n".join([_describe(k, v, torch.typename) for k, v in self.items()])
