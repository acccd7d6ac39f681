# logging: accepted and silent, but for warnings and errors.
from _lang import warn as _warn

NOTSET, DEBUG, INFO, WARNING, ERROR, CRITICAL = 0, 10, 20, 30, 40, 50
WARN, FATAL = WARNING, CRITICAL


class Logger:
    def __init__(self, name):
        self.name, self.level, self.handlers, self.propagate, self.disabled, self.parent = name, 0, [], True, False, None
        self.filters = []

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

    critical = exception = fatal = warn = error

    def log(self, level, message, *a, **k):
        if level >= WARNING:
            self.error(message, *a)

    def setLevel(self, level):
        self.level = level

    def isEnabledFor(self, level):
        return level >= WARNING

    def getEffectiveLevel(self):
        return self.level or WARNING

    def addHandler(self, handler):
        self.handlers = self.handlers + [handler]

    def removeHandler(self, handler):
        self.handlers = [h for h in self.handlers if h is not handler]

    def hasHandlers(self):
        return len(self.handlers) > 0

    def addFilter(self, filter):  # kept, and not asked
        self.filters = self.filters + [filter]

    def removeFilter(self, filter):
        self.filters = [f for f in self.filters if f is not filter]


class LoggerAdapter:
    def __init__(self, logger, extra=None, merge_extra=False):
        self.logger, self.extra = logger, extra

    def __getattr__(self, name):
        return getattr(self.logger, name)

    def process(self, msg, kwargs):
        kwargs["extra"] = self.extra
        return msg, kwargs

    def log(self, level, msg, *a, **k):
        if self.isEnabledFor(level):
            msg, k = self.process(msg, k)
            self.logger.log(level, msg, *a, **k)

    def info(self, msg, *a, **k):
        self.log(INFO, msg, *a, **k)

    def debug(self, msg, *a, **k):
        self.log(DEBUG, msg, *a, **k)

    def warning(self, msg, *a, **k):
        self.log(WARNING, msg, *a, **k)

    def error(self, msg, *a, **k):
        self.log(ERROR, msg, *a, **k)

    critical = exception = fatal = warn = error


class Filter:
    def __init__(self, name=""):
        self.name = name

    def filter(self, record):
        return True


class Handler:  # takes what is told to it, and shows nothing
    def __init__(self, *a, **k):
        pass

    setLevel = setFormatter = set_name = addFilter = flush = close = lambda self, *a: None


StreamHandler = NullHandler = Handler
_loggers = {}


def getLogger(name=None):
    if name not in _loggers:
        _loggers[name] = Logger(name or "root")
    return _loggers[name]


def basicConfig(**k):
    pass


class Manager:
    loggerDict, disable = _loggers, 0
    getLogger = staticmethod(getLogger)


disable = shutdown = basicConfig
root = getLogger()
Logger.root, Logger.manager = root, Manager()
debug, info, warning, error, critical, exception, warn, log = (root.debug, root.info, root.warning, root.error, root.critical, root.exception, root.warn,
                                                               root.log)


def getLevelName(level):
    names = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
    return names[level] if level in names else {v: k for k, v in names.items()}.get(level, f"Level {level}")
