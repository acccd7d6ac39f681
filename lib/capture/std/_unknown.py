# The value of what failed in a run that only looks for failures (keep_going.h): every operation on it gives it again.


class Unknown:
    def __getattr__(self, name):
        return self

    def __setattr__(self, name, value):
        pass

    def __call__(self, *args, **kwargs):
        return self

    def __getitem__(self, key):
        return self

    def __setitem__(self, key, value):
        pass

    def __iter__(self):
        return iter([self])

    def __contains__(self, x):
        return True

    def __hash__(self):
        return 0

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None

    def _same(self, *args):
        return self

    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __imul__ = _same
    __truediv__ = __rtruediv__ = __itruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _same
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = _same
    __lshift__ = __rlshift__ = __rshift__ = __rrshift__ = _same
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = __ne__ = __neg__ = __pos__ = __invert__ = __abs__ = _same
