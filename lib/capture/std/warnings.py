# warnings: shown on stderr by the program that runs the model.
from _lang import warn as _warn


_settable = "showwarning", "formatwarning"
_filters = []  # (action, category, pattern of the message); the last that fits decides


def _fits(pattern, text):
    if not pattern:
        return True
    import re
    return re.match(pattern, text, re.IGNORECASE) is not None


def warn(message, category=None, stacklevel=1, source=None):
    kind = type(message) if isinstance(message, Warning) else category or UserWarning
    for action, of, pattern in reversed(_filters):
        if issubclass(kind, of) and _fits(pattern, str(message)):
            if action == "error":
                raise message if isinstance(message, Warning) else kind(message)
            if action == "ignore":
                return
            break
    showwarning(message, kind, "", 0)


def showwarning(message, category, filename, lineno, file=None, line=None):
    _warn(message)


def formatwarning(message, category, filename, lineno, line=None):
    return f"{filename}:{lineno}: {category.__name__}: {message}\n"


def filterwarnings(action, message="", category=Warning, module="", lineno=0, append=False):
    _filters.append((action, category, message))


def simplefilter(action, category=Warning, lineno=0, append=False):
    _filters.append((action, category, ""))


def resetwarnings():
    _filters.clear()


class catch_warnings:
    def __init__(self, **kw):
        pass

    def __enter__(self):
        self._kept = list(_filters)
        return []

    def __exit__(self, *a):
        _filters[:] = self._kept
