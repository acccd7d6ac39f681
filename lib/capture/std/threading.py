# threading: locks, which do nothing while a model is captured, and what each thread has of its own, of which there is one.
class RLock:
    def acquire(self, blocking=True, timeout=-1):
        return True

    def release(self):
        pass

    def __enter__(self):
        return True

    def __exit__(self, kind, value, trace):
        pass


class Lock(RLock):
    def locked(self):
        return False


class local:
    pass
