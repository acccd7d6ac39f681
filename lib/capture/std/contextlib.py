# contextlib.
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


class closing(AbstractContextManager):
    def __init__(self, thing):
        self.thing = thing

    def __enter__(self):
        return self.thing

    def __exit__(self, kind, value, trace):
        self.thing.close()


class suppress(AbstractContextManager):
    def __init__(self, *exceptions):
        self.exceptions = exceptions

    def __exit__(self, kind, value, trace):
        return kind is not None and issubclass(kind, self.exceptions)


class ContextDecorator:
    def __call__(self, func):
        @wraps(func)
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


class _GeneratorContextManager(AbstractContextManager, ContextDecorator):
    def __init__(self, func, args, kwds):
        self.func, self.args, self.kwds = func, args, kwds
        self.gen = func(*args, **kwds)

    def __call__(self, func):
        @wraps(func)
        def inner(*args, **kwargs):
            with _GeneratorContextManager(self.func, self.args, self.kwds):
                return func(*args, **kwargs)

        return inner

    def __enter__(self):
        for value in self.gen:
            return value
        raise RuntimeError("generator didn't yield")

    def __exit__(self, kind, value, trace):
        if kind is None:
            for _ in self.gen:
                self.gen.close()
                raise RuntimeError("generator didn't stop")
            return False
        try:
            self.gen.throw(value)
        except StopIteration as stop:
            return stop is not value
        except BaseException as raised:
            if raised is value or (isinstance(value, StopIteration) and raised.__cause__ is value):
                return False
            raise
        self.gen.close()
        raise RuntimeError("generator didn't stop after throw()")


def contextmanager(func):
    @wraps(func)
    def helper(*args, **kwds):
        return _GeneratorContextManager(func, args, kwds)

    return helper
