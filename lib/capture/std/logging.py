# logging: accepted and silent, but for warnings and errors.
from _lang import warn as _warn

DEBUG, INFO, WARNING, ERROR, CRITICAL = 10, 20, 30, 40, 50


class Logger:
    def __init__(self, name):
        self.name = name

    def debug(self, *a, **k):
        pass

    def info(self, *a, **k):
        pass

    def warning(self, message, *a, **k):
        _warn(message % a if a else message)

    def warning_once(self, message, *a, **k):
        self.warning(message, *a)

    def error(self, message, *a, **k):
        _warn(message % a if a else message)

    def setLevel(self, level):
        pass


def getLogger(name=None):
    return Logger(name)


def basicConfig(**k):
    pass
