# pathlib: what paths are as texts (posixpath.py); the user's files are not looked at, and no path exists.
import posixpath as _p
from _lang import lacking as _lacking


class PurePath:
    def __init__(self, *parts):
        text = _p.join(*parts) if parts else "."
        root = "/" if text.startswith("/") else ""
        self._text = root + "/".join([p for p in text.split("/") if p not in ("", ".")]) or "."

    def __str__(self):
        return self._text

    def __repr__(self):
        return f"{'PosixPath' if isinstance(self, Path) else 'PurePosixPath'}('{self._text}')"

    def __fspath__(self):
        return self._text

    def __truediv__(self, other):
        return type(self)(self._text, other)

    def __rtruediv__(self, other):
        return type(self)(other, self._text)

    def __eq__(self, other):
        return isinstance(other, PurePath) and self._text == other._text

    def __lt__(self, other):
        return self.parts < other.parts

    def __hash__(self):
        return hash(self._text)

    parts = property(lambda self: (("/",) if self._text.startswith("/") else ()) + tuple([p for p in self._text.split("/") if p not in ("", ".")]))
    name = property(lambda self: "" if self._text in ("/", ".") else _p.basename(self._text))
    stem = property(lambda self: _p.splitext(self.name)[0])
    suffix = property(lambda self: _p.splitext(self.name)[1])
    suffixes = property(lambda self: ["." + s for s in self.name.lstrip(".").split(".")[1:]])
    parent = property(lambda self: type(self)(_p.dirname(self._text) or "."))
    root = anchor = property(lambda self: "/" if self._text.startswith("/") else "")

    @property
    def parents(self):
        all, p = [], self
        while p.parent != p:
            p = p.parent
            all.append(p)
        while len(all) < 16 and not self.root:
            all.append(all[-1] / ".." if all else type(self)(".."))
        return all

    def joinpath(self, *parts):
        return type(self)(self._text, *parts)

    def with_name(self, name):
        return self.parent / name

    def with_suffix(self, suffix):
        return self.parent / (self.stem + suffix)

    def with_stem(self, stem):
        return self.parent / (stem + self.suffix)

    def as_posix(self):
        return self._text

    def is_absolute(self):
        return self._text.startswith("/")

    def relative_to(self, other, *more):
        to = type(self)(other, *more).parts
        if self.parts[:len(to)] != to:
            raise ValueError(f"{str(self)!r} is not in the subpath of {str(other)!r}")
        return type(self)(*self.parts[len(to):])


class Path(PurePath):
    def resolve(self, strict=False):
        return Path(_p.normpath(self._text))

    absolute = expanduser = lambda self: self
    exists = is_file = is_dir = is_symlink = lambda self: False

    def glob(self, pattern):
        return iter(())

    rglob = glob

    @classmethod
    def cwd(cls):
        return cls()

    @classmethod
    def home(cls):
        return cls("~")

    def __getattr__(self, name):
        if name in ("open", "read_text", "read_bytes", "write_text", "write_bytes", "mkdir", "unlink", "rename", "iterdir", "stat",
                    "touch", "rmdir"):
            return _lacking("pathlib.Path." + name, "a name")
        raise AttributeError(f"'PosixPath' object has no attribute '{name}'")


PurePosixPath, PosixPath = PurePath, Path
