# jaxtyping: words for annotations, which are not run. To ask whether a tensor is of such a shape is refused.


class _Kind:
    def __init__(self, name):
        self._name = name

    def __getitem__(self, what):
        return self

    def __or__(self, other):
        return self

    __ror__ = __or__

    def __instancecheck__(self, x):
        raise NotImplementedError(f"isinstance() with jaxtyping.{self._name} is not part of the model language: compare shape and dtype")

    def __repr__(self):
        return self._name


_kinds = {name: _Kind(name) for name in (
    "Float Float16 Float32 Float64 BFloat16 Int Int8 Int16 Int32 Int64 UInt UInt8 UInt16 UInt32 UInt64 Integer Bool Complex Complex64 Complex128 "
    "Inexact Num Real Shaped Key PRNGKeyArray Scalar ScalarLike Array ArrayLike PyTree").split()}


def __getattr__(name):
    if name not in _kinds:
        raise AttributeError("module 'jaxtyping' has no attribute '" + name + "'")
    return _kinds[name]


def jaxtyped(fn=None, *, typechecker=None):
    return (lambda decorated: decorated) if fn is None or isinstance(fn, str) else fn
