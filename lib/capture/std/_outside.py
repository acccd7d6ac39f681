# What stands for a module of Python's own library or of PyTorch that the model language lacks, and for its attributes: a file may import it for
# what it does outside its model (paths, timing, arguments, training). While a file is loaded, calls and operators give more of the same, which
# stands for what the language does not know: writer = SummaryWriter() is a line like any other. Whatever a model does with it, but for its few
# constants, is refused where it was imported; so is what asks for its value: a branch, a loop, a text.
from _lang import loaded, loading, namedtuple, place, refuse_import
_version = namedtuple("version_info", "major minor micro releaselevel serial")
_dual = namedtuple("UnpackedDualTensor", "primal tangent")
_float = namedtuple("float_info", "max min epsilon")


class _Modules:  # sys.modules, for files that look themselves up, or put a module or an object with its attributes in a module's place
    def __setitem__(self, name, value):
        place(name, value)

    def get(self, name, default=None):
        return default if loaded(name) is None else loaded(name)

    def __contains__(self, name):
        return loaded(name) is not None

    def __getitem__(self, name):
        if loaded(name) is None:
            raise KeyError(name)
        return loaded(name)


class _Stream:  # sys.stdout and sys.stderr
    encoding, closed = "utf-8", False

    def write(self, text):
        print(text, end="")
        return len(text)

    def flush(self):
        pass

    def isatty(self):
        return False


_constants = {"sys.stdout": _Stream(), "sys.stderr": _Stream(), "torch.accelerator.is_available": lambda: False,
              "torch._dynamo.allow_in_graph": lambda fn: fn,
              "sys.maxsize": 2**63 - 1, "sys.version_info": _version(3, 11, 0, "final", 0), "sys.byteorder": "little",
              "sys.float_info": _float((2.0 - 2.0**-52) * 2.0**1023, 2.0**-1022, 2.0**-52), "sys.platform": "linux", "sys.modules": _Modules(),
              "sys.path": [""], "sys.argv": [""], "sys.getdefaultencoding": lambda: "utf-8", "sys.version": "3.11.0", "os.name": "posix",
              "os.linesep": "\n", "platform.system": lambda: "Linux", "platform.python_version": lambda: "3.11.0", "os.cpu_count": lambda: 1, "platform.machine": lambda: "x86_64", "os.sep": "/",
              "os.environ": {}, "os.getenv": lambda key, default=None: _constants["os.environ"].get(key, default),  # no model knows the user's
              "torch.onnx.is_in_onnx_export": lambda: False, "torch.__config__.show": lambda: "", "torch.overrides.has_torch_function": lambda args: False,
              "torch.autograd.forward_ad.unpack_dual": lambda tensor, level=None: _dual(tensor, None),
              "torch.overrides.has_torch_function_unary": lambda x: False, "torch.overrides.has_torch_function_variadic": lambda *args: False}


def _path():
    import posixpath
    return posixpath


class Outside:
    def __init__(self, name, what, *place):  # what: "a module" or "a name"
        self._name, self._whole, self._what, self._place = name, name, what, place

    def __getattr__(self, name):
        name = self._name + "." + name
        if name in _constants:
            return _constants[name]
        if name == "os.listdir" and loading():  # no files are in a folder; what imports them one by one goes on
            return lambda path=".": []
        if name == "os.path.os":
            return self._more("os")
        if name.startswith("os.path.") and hasattr(_path(), name[8:]):
            return getattr(_path(), name[8:])
        if name.endswith(".__version__"):  # older than whatever a file asks about
            return "0.0.0"
        return self._more(name)

    def _more(self, name, kind=None):
        part = (kind or type(self))(name, self._what, *self._place)
        part._whole = self._whole
        return part

    def _use(self, *args, **kwargs):
        refuse_import(self._name, self._whole, self._what, *self._place)

    def _call(self, *args, **kwargs):
        return self._more(f"{self._name}()", Result) if loading() else self._use()

    def _operate(self, *args):
        return self._more(self._name, Result) if loading() else self._use()

    def _set(self, *args):
        if not loading():
            self._use()

    def __instancecheck__(self, x):  # nothing that the language makes is of a type of such a module
        return self._use() if type(x) is Outside else False

    def __mro_entries__(self, bases):  # a class may derive from it; an instance is like the result of any call
        class Base:
            def __new__(cls, *args, **kwargs):
                return self._call()

        return (Base,)

    def __hash__(self):  # of tables of types
        return hash(self._name)

    def __copy__(self, memo=None):  # of what holds it: modules, configurations
        return self

    __deepcopy__ = __copy__
    __call__ = _call
    __setitem__ = __delitem__ = _set
    __iter__ = __contains__ = __len__ = __bool__ = __int__ = __float__ = __index__ = __str__ = __repr__ = __eq__ = __ne__ = _use
    __getitem__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __floordiv__ = __mod__ = _operate
    __rfloordiv__ = __rmod__ = __pow__ = __rpow__ = __or__ = __ror__ = __and__ = __rand__ = __xor__ = __lt__ = __le__ = __gt__ = __ge__ = _operate
    __neg__ = __invert__ = __abs__ = __enter__ = _operate
    __exit__ = _set


class Result(Outside):  # of a call or an operation: nothing is known of it, not even whether it is None
    __hash__ = Outside._use
