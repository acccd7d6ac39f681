# contextlib. A generator under contextmanager runs in a `with` statement, which the evaluator knows by __with_generator__.
from functools import wraps


class AbstractContextManager:
    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        return None


class nullcontext(AbstractContextManager):
    def __init__(self, enter_result=None):
        self.enter_result = enter_result

    def __enter__(self):
        return self.enter_result


class suppress(AbstractContextManager):
    def __init__(self, *exceptions):
        self.exceptions = exceptions

    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self.exceptions)


class ContextDecorator:
    def __call__(self, func):
        def inner(*args, **kwargs):
            with self:
                return func(*args, **kwargs)

        return inner


class ExitStack(AbstractContextManager):
    def __init__(self):
        self.exits = []

    def enter_context(self, cm):
        value = cm.__enter__()
        self.exits.append(cm.__exit__)
        return value

    def push(self, exit):
        self.exits.append(exit if not hasattr(exit, "__exit__") else exit.__exit__)
        return exit

    def callback(self, f, *args, **kwargs):
        self.exits.append(lambda kind, value, trace: f(*args, **kwargs) and False)
        return f

    def close(self):
        self.__exit__(None, None, None)

    def __exit__(self, kind, value, trace):
        handled = False
        while self.exits:
            if self.exits.pop()(kind, value, trace):
                handled, kind, value, trace = True, None, None, None
        return handled


class _GeneratorContextManager(ContextDecorator):
    def __init__(self, func, args, kwds):
        self.func, self.args, self.kwds = func, args, kwds

    def __with_generator__(self):
        return self.func(*self.args, **self.kwds)

    def __enter__(self):
        raise NotImplementedError("a context manager made by contextlib.contextmanager is entered by a with statement only")

    def __exit__(self, kind, value, trace):
        return None


def contextmanager(func):
    @wraps(func)
    def helper(*args, **kwds):
        return _GeneratorContextManager(func, args, kwds)

    return helper
