# What classes and functions know of each other: subclasses, dispatch on annotations, specifications of arguments.
import functools
import inspect
import typing
import torch
class A:
    def f(self, a, b=3, *c, d=4, e, **g): return a
s = inspect.getfullargspec(A().f); print(s.args, s.varargs, s.varkw, s.defaults, s.kwonlyargs, s.kwonlydefaults)
s = inspect.getfullargspec(A.f); print(s.args, s[0])
class B:
    def __init__(self, x, /, y): pass
print(inspect.getfullargspec(B).args)
print([p.default is p.empty for p in inspect.signature(A.f).parameters.values()], inspect.signature(A.f).parameters["a"].default)
