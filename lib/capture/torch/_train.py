# What tc-train captures: one micro-batch, the optimiser's step, and the program that came in an archive as a module.
# lib/train calls these; nothing here is PyTorch's.
import copy
from inspect import signature
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import clip_grad_value_, clip_grads_with_norm_, get_total_norm


class Part(nn.Module):
    """A level of the names of a program's weights; what is below it is found by key and index, as in PyTorch's containers."""

    def _entries(self):
        return {**self._parameters, **self._modules}

    def __getitem__(self, key):
        entries = self._entries()
        if isinstance(key, int):
            key = str(key if key >= 0 else key + len(entries))
        if key not in entries:
            raise KeyError(key)
        return entries[key]

    def __contains__(self, key):
        return key in self._entries()

    def __len__(self):
        return len(self._entries())

    def __iter__(self):
        return iter(self._entries().values())

    def keys(self):
        return self._entries().keys()

    def values(self):
        return self._entries().values()

    def items(self):
        return self._entries().items()

    def forward(self, *args):
        raise RuntimeError("only the whole program can be called: this part of it is names of weights; a recipe with model: has the modules themselves")


def tensor_of(module, name):
    """The parameter or buffer of that name, or None."""
    path = name.split(".")
    for part in path[:-1]:
        module = module._modules.get(part)
        if module is None:
            return None
    found = module._parameters.get(path[-1])
    return module._buffers.get(path[-1]) if found is None else found


class Captured:
    """What runs a captured program with the tensors of a module: call(module, ...) -> native function."""

    def __init__(self, call, module):
        self.call = call
        self.module = module

    def __call__(self, *args, **kwargs):
        return self.call(self.module, *args, **kwargs)

    def __deepcopy__(self, memo):
        return Captured(self.call, copy.deepcopy(self.module, memo))


def adopt(module, call):
    """The model file's module with the run's tensors; calling it runs the captured program."""
    module.__dict__["forward"] = Captured(call, module)
    module.__dict__["_forward_pre_hooks"] = {}  # the captured program has what they did
    module.__dict__["_forward_hooks"] = {}
    return module


class Program(nn.Module):
    """A program as a module: parameters and buffers by their names, the graph as forward."""

    def __init__(self, call, tensors):
        super().__init__()
        adopt(self, call)
        for is_buffer, persistent, fqn, t in tensors:
            path = fqn.split(".")
            owner = self
            for part in path[:-1]:
                if part not in owner._modules:
                    owner.add_module(part, Part())
                owner = owner._modules[part]
            if is_buffer:
                owner.register_buffer(path[-1], t, persistent=persistent)
            else:
                owner.register_parameter(path[-1], t)


class Micro(nn.Module):
    """One micro-batch: the recipe's forward (None: the loss calls the model), loss and metrics of the model and the columns; the loss is divided
    by `parts` for accumulation. scaled: the last of `columns` is a scale, and the loss comes with it and without."""

    def __init__(self, m, forward, loss, metrics, parts, scaled):
        super().__init__()
        self.m = m
        self.out_of = forward
        self.loss_of = loss
        self.metrics = metrics
        self.parts = parts
        self.scaled = scaled

    def forward(self, *columns):
        if self.scaled:
            *columns, scale = columns
        hooks = torch.autograd._leaf_hooks if self.training else []
        own = {id(p) for p in self.m.parameters()} if hooks else ()
        for p, hook in hooks:
            if id(p) in own:
                torch._C.rebind(p, torch.autograd._Hook.apply(p, hook))
        out = self.out_of(self.m, *columns) if self.out_of is not None else None
        loss = self.loss_of(self.m, *columns, out)
        metrics = [f(self.m, *columns, out) for f in self.metrics]
        if self.parts != 1:
            loss = loss / self.parts
        return (loss * scale, loss) if self.scaled else (loss, *metrics)


def _holders(opt):
    """{place: object}: the recipe's optimiser under "", and the optimisers in its attributes, in lists and dicts there, and in those."""
    found, waiting = {"": opt}, [("", opt)]
    while waiting:
        place, holder = waiting.pop(0)
        for name, v in vars(holder).items():
            inside = enumerate(v) if isinstance(v, (list, tuple)) else v.items() if isinstance(v, dict) and name != "state" else []
            for key, o in [("", v), *inside]:
                if isinstance(o, torch.optim.Optimizer) and not any(o is f for f in found.values()):
                    at = ".".join(str(part) for part in (place, name, key) if part != "")
                    found[at] = o
                    waiting.append((at, o))
    return found


def _optimisers(opt):
    """The recipe's optimiser, or the optimisers inside a wrapper class of the recipe."""
    return [o for o in _holders(opt).values() if isinstance(o, torch.optim.Optimizer)]


def _groups(opt):
    """The groups of the recipe's optimiser, and those that wrapped optimisers do not share with it."""
    found = []
    for o in _holders(opt).values():
        found += [g for g in o.param_groups if not any(g is f for f in found)]
    return found


def _parameters(groups):
    return [id(p) for g in groups for p in g["params"]]


def _by_parameter(opt):
    """{place: dict} of the dicts keyed by parameter: the state of optimisers, and other attributes."""
    found = {}
    for place, o in _holders(opt).items():
        for name, v in vars(o).items():
            if isinstance(v, dict) and not any(v is f for f in found.values()) and (name == "state" or any(isinstance(k, torch.Tensor) for k in v)):
                found[".".join(part for part in (place, "" if name == "state" else name) if part != "")] = v
    return found


def _needs_closure(o):
    return any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in signature(o.step).parameters.values())


def _put(old, value):
    """The new value of a number of a group, with its type if it was a tensor, as lr=torch.tensor(1e-3)."""
    typed = isinstance(old, torch.Tensor) and not isinstance(value, torch.Tensor)
    return torch.full(old.shape, value, dtype=old.dtype) if typed else value


def _is_number(v):
    return isinstance(v, (int, float)) and not isinstance(v, bool) or isinstance(v, torch.Tensor) and v.numel() == 1


def _segment(key):
    """A dict key as part of a name: unchanged, or as [3], ['a.b'] if it would be read as a list index or as several keys."""
    if isinstance(key, int):
        return f"[{key}]"
    if not isinstance(key, str) or "'" in key or "\\" in key:
        raise NotImplementedError(f"the optimiser's state has the key {key!r}, expected a text or a whole number")
    return f"['{key}']" if key == "" or "." in key or "[" in key or key.isdigit() else key


def _path(name):
    """Splits a name that _leaves gives: [(is it a list index, key)]."""
    out = []
    while name != "":
        if name.startswith("['"):
            end = name.index("']") + 1
            out.append((False, name[2 : end - 1]))
        elif name[0] == "[":
            end = name.index("]")
            out.append((False, int(name[1:end])))
        else:
            end = name.find(".") - 1 if "." in name else len(name) - 1
            key = name[: end + 1]
            out.append((True, int(key)) if key.isdigit() else (False, key))
        name = name[end + 2 :]
    return out


def _walk(v, name, out):
    if isinstance(v, (list, dict)) and len(v) == 0 and name != "":
        out.append((name[1:], v))
    elif isinstance(v, dict):
        for part, x in sorted([(_segment(k), x) for k, x in v.items()], key=lambda e: e[0]):
            _walk(x, f"{name}.{part}", out)
    elif isinstance(v, (list, tuple)):
        for k, x in enumerate(v):
            _walk(x, f"{name}.{k}", out)
    else:
        out.append((name[1:], v))


def _leaves(state):
    """Names and values in order, with the elements of lists and dicts one by one: old_dirs.0, old_dirs.1, ..."""
    out = []
    _walk(state, "", out)
    return out


def _set(box, path, v):
    """Stores a leaf at its place; missing lists and dicts are created."""
    (is_place, key), rest = path[0], path[1:]
    there = key < len(box) if is_place else key in box
    if len(rest) > 0:
        child = box[key] if there else None
        if isinstance(child, tuple):
            child = list(child)
        elif not isinstance(child, (list, dict)):
            child = [] if rest[0][0] else {}
        _set(child, rest, v)
        v = child
    if is_place and not there:
        box.append(v)
    else:
        box[key] = v


def _kept(v):
    return v is None or isinstance(v, (int, float, str)) or isinstance(v, (list, dict)) and len(v) == 0


def _whole(value):
    """An int if the value is one."""
    return int(value) if abs(value) < 2**53 and value == int(value) else value


def _containers(v):
    """All lists and dicts inside."""
    inside = v.values() if isinstance(v, dict) else v if isinstance(v, (list, tuple)) else []
    return [x for part in inside for x in _containers(part)] + ([v] if isinstance(v, (list, dict)) else [])


def _plain(v):
    """A tensor, number, text or None, or a list or dict of them whose keys can stand in a name?"""
    if isinstance(v, dict):
        return all(isinstance(k, (int, str)) and "'" not in str(k) and "\\" not in str(k) for k in v) and _plain(list(v.values()))
    return all(_plain(x) for x in v) if isinstance(v, (list, tuple)) else _kept(v) or isinstance(v, torch.Tensor)


def _plain_parts(d, keys):
    return {k: d[k] for k in keys if k in d and _plain(d[k])}


def _counts(opt, states):
    """{name: number or text} that a step may change, besides the step count and the numbers that are inputs."""
    found = [(f"state[{i}]['{k}']", v) for i, s in enumerate(states) for k, v in s.items() if k != "step"]
    found += [(f"param_groups[{i}]['{k}']", v) for i, g in enumerate(_groups(opt)) for k, v in g.items()]
    found += [(k, v) for o in _holders(opt).values() for k, v in vars(o).items() if not (k == "state" and isinstance(v, dict))]
    return {k: v for k, v in found if _kept(v)}


def _same(a, b):
    if isinstance(a, (list, tuple, set, dict)) and type(a) is type(b) and len(a) == len(b):
        pairs = zip(a.items(), b.items()) if isinstance(a, dict) else zip(a, b)
        return a == b if isinstance(a, set) else all(_same(x, y) for x, y in pairs)
    return a is b or isinstance(a, (int, float, str)) and type(a) is type(b) and a == b


def _keeps(v):
    """Can a checkpoint hold it?"""
    if isinstance(v, (list, tuple)):
        return all(_keeps(x) for x in v)
    return all(_keeps(x) for x in v.values()) if isinstance(v, dict) else _kept(v) or isinstance(v, torch.Tensor)


def _refuse_changes(opt, known, holders):
    """Refuses changes of a step to other existing objects: a capture would make them once, and --resume would lose them. known: objects that are
    saved; holders: objects whose attributes are."""
    states = {id(box) for box in _by_parameter(opt).values()}
    known = {id(k) for k in known}
    seen = set()
    for owner, name, before, now in torch._C.changed():
        first = (id(owner), name) not in seen
        seen.add((id(owner), name))
        if id(owner) in states:  # a parameter's state is known; other keys may map to anything
            before, now = ({k: v for k, v in d.items() if not isinstance(k, torch.Tensor)} for d in (before, now))
        elif id(owner) in known:
            continue
        if any(owner is h for h in holders) and _keeps(now):
            continue
        if first and not _same(before, now):
            kind = type(owner).__name__
            what = f"a {kind}" if name is None else f"the variable {name}" if kind == "cell" else f"the attribute {name}"
            raise NotImplementedError(f"step() changes {what} that was there before it: what changes belongs into the optimiser's state, groups or attributes")


class Update(nn.Module):
    """Clipping, the optimiser's step on given gradients, and the average of the weights. The optimiser's state tensors and the averages
    are buffers, so that they are outputs of the captured program; the group numbers that vary and the step count are inputs."""

    def __init__(self, m, opt, clip_norm, clip_value, average, names, written):
        """average: None, the decay of an exponential average, or (start, every) of a plain one. written: those of the recipe's names that `functions:`
        made."""
        super().__init__()
        self.recipe, self.written = names, written
        self.m = m
        self.opt = opt
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.swa = average if isinstance(average, tuple) else None
        self.decay = None if self.swa else average
        self.averaging = False
        self.made = 0  # number of steps so far
        self.by_operators = False  # steps cannot be captured
        self.shift = 0  # how many more weights the plain average includes than the recipe's steps so far account for
        # An optimiser that calls the loss again: its steps run eagerly, with the micro-batches' program as the closure.
        self.eager = any(_needs_closure(o) for o in _holders(opt).values())
        self.evaluate = None  # () -> (loss, gradients), set by lib/train
        self.first = None  # the result of the step's first evaluation
        owners = {}  # of several optimisers that hold a parameter, the first
        for o in _optimisers(opt):
            for p in [p for g in o.param_groups for p in g["params"] if p.requires_grad]:
                owners.setdefault(p, o)
        self.params, self.held_at_first = list(owners), _parameters(_groups(opt))
        self.state = [o.state[p] for p, o in owners.items()]
        # The norm is that of all gradients. A parameter outside every optimiser has a gradient too, which nothing zeroes: it accumulates, as state.
        self.owned = len(self.params)
        held = {id(p) for p in self.params}
        self.params += [p for p in m.parameters() if p.requires_grad and id(p) not in held]
        self.state += [{} for _ in range(len(self.params) - len(self.state))]
        names = {id(p): n for n, p in m.named_parameters()}
        if any(id(p) not in names for p in self.params):
            raise NotImplementedError("the optimiser holds a parameter that the model does not have, as that of a loss: expected parameters of the model alone")
        self.names = [names[id(p)] for p in self.params]
        self.averaged = [] if average is None else list(m.named_parameters())
        for i, (_, p) in enumerate(self.averaged):
            self.register_buffer(f"average_{i}", p.detach().clone())
        self.refuse_views()
        self.built = {name: v for name, v in self.others() if _kept(v)}
        self.tensors = {name: v.clone() for _, _, leaves in self.parts() for name, v in leaves
                        if isinstance(v, torch.Tensor) and name.startswith(("functions.", "objects."))}
        self.had = {name: [leaf for leaf, _ in leaves] for name, _, leaves in self.parts()}

    def ready(self):
        """Does every state tensor exist, so that a step can be captured?"""
        return not self.eager and not self.by_operators and (self.averaging or self.decay is None)

    def go_by_operators(self, step):
        """After that many steps: from here on steps are not captured."""
        self.by_operators = True
        self.made, since = step, step - self.made  # captured steps are not counted in the state
        for s in self.state:
            if isinstance(s.get("step"), (int, float)):
                s["step"] += since

    def boxes(self):
        """[(name, value, where to restore it)] of what steps change besides parameter state and group numbers: attributes, other state, groups."""
        found = []
        for i, o in enumerate(_holders(self.opt).values()):
            found.append((f"attributes.{i}", {k: v for k, v in vars(o).items() if k not in ("state", "param_groups", "defaults")}, vars(o)))
            state = getattr(o, "state", {})
            found.append((f"state.{i}", {k: v for k, v in state.items() if not isinstance(k, torch.Tensor)}, state))
        for i, g in enumerate(_groups(self.opt)):
            found.append((f"groups.{i}", {k: v for k, v in g.items() if k != "params" and not _is_number(v)}, g))
        return found + self.written_boxes()

    def written_boxes(self):
        """The same of the data among the names of `functions:`, and in attributes of its functions and of objects of its classes."""
        own = {k: self.recipe[k] for k in self.written}
        classes = [type(_plain), *[v for v in own.values() if isinstance(v, type)]]
        objects = {k: vars(v) for k, v in own.items() if type(v) in classes}
        found = [(f"objects.{k}", _plain_parts(d, d), d) for k, d in objects.items()]
        return [("functions", _plain_parts(self.recipe, self.written), self.recipe), *found]

    def schedule(self, scheduler):
        """What a checkpoint holds of it: its state_dict, or what is data in the attributes of an object without one."""
        return scheduler.state_dict() if hasattr(scheduler, "state_dict") else _plain_parts(vars(scheduler), vars(scheduler))

    def reschedule(self, scheduler, state):
        if hasattr(scheduler, "load_state_dict"):
            scheduler.load_state_dict(state)
        else:
            vars(scheduler).update(state)

    def parts(self):
        """[(name, value, its leaves)] of the contents of `boxes`."""
        found = []
        for name, inside, _ in self.boxes():
            for k, v in inside.items():
                if isinstance(v, dict) and any(isinstance(x, torch.Tensor) for x in v):
                    continue
                part = f"{name}.{_segment(k)}"
                leaves = []
                _walk(v, "." + part, leaves)
                found.append((part, v, leaves))
        return found

    def others(self):
        """[(name, value)] of the leaves in `boxes`."""
        params = {id(p) for p in self.m.parameters()}
        return [(name, v) for _, _, leaves in self.parts() for name, v in leaves if id(v) not in params]

    def other_tensors(self):
        """Like attach(), for everything besides parameter state."""
        found = [(name, v) for name, v in self.others() if isinstance(v, torch.Tensor) and self.may_change(name, v)]
        return [(f"other_{i}", name, None, v) for i, (name, v) in enumerate(found)]

    def may_change(self, name, v):
        """May the tensor have changed since the recipe made it? scheduler_step changes what functions keep, any step that is not captured the rest."""
        if not name.startswith(("functions.", "objects.")):
            return self.eager or self.by_operators
        old = self.tensors.get(name)
        return old is None or old.shape != v.shape or old.dtype != v.dtype or not torch.equal(old, v)

    def other_numbers(self):
        """{name: value} of what changed since the recipe made it; a list or dict that lost elements is given as empty and with all contents."""
        found = {}
        params = {id(p) for p in self.m.parameters()}
        for part, v, leaves in self.parts():
            names = {name for name, _ in leaves}
            anew = isinstance(v, (list, dict)) and _keeps(v) and not any(id(x) in params for _, x in leaves)
            anew = anew and any(name not in names for name in self.had.get(part, []))
            if anew:
                found[part] = type(v)()
            for name, x in leaves:
                if _kept(x) and (anew or not (name in self.built and _same(self.built[name], x))):
                    found[name] = x
        return found

    def restore_others(self, entries):
        """[(name, tensor or number)]"""
        boxes = self.boxes()
        for name, v in sorted(entries, key=lambda e: [k for place, k in _path(e[0]) if place]):
            for head, _, box in boxes:
                if name.startswith(head + "."):
                    _set(box, _path(name[len(head) + 1 :]), v)

    def points(self, step):
        """How many of the first `step` steps contribute their weights to the plain average."""
        start, every = self.swa
        return max((step - start) // every + 1, 0)

    def taken(self, step):
        """The number of weights in the plain average after that many steps; None: there is none."""
        return self.points(step) + self.shift if self.swa else None

    def begin_at(self, step):
        """Resumes after that many steps; averages start anew unless go_on_averaging follows."""
        self.made = step
        if self.swa:
            self.shift = -self.points(step)

    def go_on_averaging(self, taken):
        """Resumes the averages of a checkpoint, with the value that `taken` gave for it."""
        self.averaging = True
        if taken is not None:
            self.shift = taken - self.points(self.made)

    def averages(self):
        """[(name, parameter's name, None, tensor)]"""
        return [(f"average_{i}", n, None, self._buffers[f"average_{i}"]) for i, (n, _) in enumerate(self.averaged)]

    def take_averages(self, tensors):
        for (name, _, _, _), t in zip(self.averages(), tensors):
            self._buffers[name] = t

    def average(self):
        """torch.optim.swa_utils.AveragedModel, plain or with get_ema_multi_avg_fn(decay): the first time a copy. Buffers are not averaged."""
        if self.swa:
            self.average_plainly()
            return
        for i, (_, p) in enumerate(self.averaged):
            a = self._buffers[f"average_{i}"]
            if not self.averaging:
                a.copy_(p)
            elif p.is_floating_point() or p.is_complex():
                a.lerp_(p, 1 - self.decay)
            else:
                a.copy_(a * self.decay + p * (1 - self.decay))
        self.averaging = True

    def average_plainly(self):
        """A copy until the step `start`; then the mean of the weights after it and after every `every`-th one since."""
        start, every = self.swa
        since = torch.full((), self.made + 1.0 - start, dtype=torch.float64)
        turns = torch.ceil(since / every)
        taken = torch.clamp(turns, min=0) + self.shift
        now = (since >= 0) & (since == turns * every)
        for i, (_, p) in enumerate(self.averaged):
            a = self._buffers[f"average_{i}"]
            a.copy_(torch.where(taken <= 0, p, torch.where(now, a + (p - a) / (taken + 1), a)))

    def attach(self):
        """Registers the state tensors that the optimiser has by now; returns [(name, key, tensor)]."""
        found, leaves = [], self.leaves()
        for i, p in enumerate(self.params):
            for key, t in leaves[i]:
                if isinstance(t, torch.Tensor):
                    name = f"state_{i}_{key}".replace(".", ":")  # a buffer's name has no points
                    if not self.eager and name not in self._buffers:
                        self.register_buffer(name, t)
                    found.append((name, self.names[i], key, t))
        return found

    def state_numbers(self):
        """Numbers in the state, without the step count of captured steps: {parameter's name: {key: number}}."""
        found = {}
        for n, leaves in zip(self.names, self.leaves()):
            for k, v in leaves:
                if not _kept(v) and not isinstance(v, torch.Tensor):
                    raise NotImplementedError(f"state[...]['{k}'] is of type {type(v).__name__}: a checkpoint keeps tensors, numbers, texts, and lists and dicts of them")
            numbers = {k: v for k, v in leaves if _kept(v) and (k != "step" or self.by_operators)}
            if numbers:
                found[n] = numbers
        return found

    def leaves(self):
        """For each parameter the names and values kept for it: its state, and entries of other dicts by parameter, named [PLACE]...."""
        all_found, boxes = [], _by_parameter(self.opt)
        for p, state in zip(self.params, self.state):
            found = _leaves(state)
            for place, box in boxes.items():
                kept = box.get(p)
                if kept is not None and kept is not state and kept is not p:
                    _walk(kept, f".[{place}]", found)
            all_found.append(found)
        return all_found

    def held(self):
        return [dict(leaves) for leaves in self.leaves()]

    def _home(self, i, key, boxes):
        """The place of a leaf of the i-th parameter: a dict, its key there or None, and the name inside. boxes: _by_parameter; a dict created by a
        step is added."""
        if not key.startswith("[") or key[1 : key.index("]")].isdigit() or key.startswith("['"):
            return self.state[i], None, key
        place, _, rest = key[1:].partition("]")
        if place not in boxes:  # created by a step
            path, _, name = place.rpartition(".")
            boxes[place] = vars(_holders(self.opt)[path]).setdefault(name, {})
        return boxes[place], self.params[i], rest[1:]

    def _put_leaves(self, entries):
        """[(number of a parameter, key, value)], keys as in leaves()."""
        boxes = _by_parameter(self.opt)
        found = [(*self._home(i, key, boxes), v) for i, key, v in entries]
        for box, p, name, v in sorted(found, key=lambda e: [k for place, k in _path(e[2]) if place]):
            if p is None:
                _set(box, _path(name), v)
            elif name == "":
                box[p] = v
            else:
                if p not in box:
                    box[p] = [] if _path(name)[0][0] else {}
                _set(box[p], _path(name), v)

    def restore(self, entries, step, by_operators):
        """Restores state from a checkpoint: [(parameter's name, key, tensor or number)], the number of steps, and whether `entries` has every 'step'
        (of steps that were not captured)."""
        for s in self.state:
            if not by_operators and not isinstance(s.get("step"), torch.Tensor):
                s["step"] = step
        by_name = {n: i for i, n in enumerate(self.names)}
        self._put_leaves([(by_name[name], key, t) for name, key, t in entries])
        self.begin_at(step)

    def groups(self):
        """param_groups as in the optimiser's state_dict(), with parameters by name."""
        names = {id(p): n for n, p in self.m.named_parameters()}
        return [{k: [names[id(p)] for p in v] if k == "params" else v for k, v in g.items()} for g in self.opt.param_groups]

    def numbers(self):
        """The floats of the groups as [(group, key, index, value)]; index: position in a tuple (betas), or -1."""
        groups = _groups(self.opt)
        if _parameters(groups) != self.held_at_first:
            raise NotImplementedError("the optimiser's groups have other parameters than when the run began: expected all of them from the start, those that rest with lr 0")
        out = []
        for i, g in enumerate(groups):
            for key in sorted(g):
                v = g[key]
                if isinstance(v, (tuple, list)) and key != "params":
                    out += [(i, key, k, float(x)) for k, x in enumerate(v) if _is_number(x) and not isinstance(x, int)]
                elif _is_number(v):
                    out.append((i, key, -1, float(v)))
        return out

    def given(self, scheduler):
        """The optimiser's class and numbers and the scheduler's state, as the recipe makes them."""
        return {"optimizer": type(self.opt).__name__, "groups": self.numbers(), "schedule": None if scheduler is None else self.schedule(scheduler)}

    def changed(self, before, scheduler, steps):
        """What the recipe gives otherwise than it gave the checkpoint's run, `before`: [(place, number)] and a part of the scheduler's state.
        steps: the scheduler goes by steps alone; it makes that many, and all that it moves is in the result."""
        was = {(i, key, k): v for i, key, k, v in before["groups"]}
        first = {(i, key, k): v for i, key, k, v in self.numbers()}
        for _ in range(steps or 0):
            scheduler.step()
        now = {(i, key, k): v for i, key, k, v in self.numbers()}
        numbers = [(place, v) for place, v in now.items() if place not in first or place not in was or v != first[place] or first[place] != was[place]]
        if scheduler is None or steps is not None:
            return numbers, {}
        old = before["schedule"] or {}
        return numbers, copy.deepcopy({k: v for k, v in self.schedule(scheduler).items() if k not in old or v != old[k]})

    def is_another(self, before):
        """Is the optimiser of another class than `before`, and neither derived from the other? None has the other's state."""
        was = getattr(torch.optim, before["optimizer"], None)
        related = isinstance(was, type) and issubclass(was, type(self.opt))
        return not related and before["optimizer"] not in [k.__name__ for k in type(self.opt).__mro__]

    def change(self, stored, before, changes, scheduler):
        """Puts what `changed` gave in the place of what the checkpoint has; stored: its numbers, of which another class of optimiser takes its own."""
        own = [place for *place, _ in self.numbers()]
        for *place, value in stored:
            if before["optimizer"] == type(self.opt).__name__ or place in own:
                self.put_back(place, value)
        numbers, schedule = changes
        for place, value in numbers:
            self.put_back(place, value)
        if len(schedule) > 0:
            self.reschedule(scheduler, {**self.schedule(scheduler), **schedule})

    def put(self, where, value):
        i, key, k = where
        g = _groups(self.opt)[i]
        if k < 0:
            g[key] = _put(g[key], value)
        else:
            v = list(g[key])
            v[k] = _put(v[k], value)
            g[key] = type(g[key])(v)

    def put_back(self, where, value, tensor=None):
        """Restores a number from a checkpoint: as an int if the setting is one (ns_steps, max_iter), or into its tensor (groups may share one).
        tensor: dtype and rank of a tensor that a step added to the group."""
        i, key, k = where
        group = _groups(self.opt)[i]
        old = group.get(key)
        if k >= 0 and not (isinstance(old, (tuple, list)) and k < len(old)):  # an element that a step appended to a list
            return
        if key not in group:
            group[key] = _whole(value) if tensor is None else torch.full([1] * tensor[1], value, dtype=getattr(torch, tensor[0]))
            return
        old = self.get(where)
        if isinstance(old, torch.Tensor):
            old.fill_(value)
        else:
            self.put(where, _whole(value) if isinstance(old, int) else value)

    def take_away(self, number):
        """A number of the recipe's groups that a step before the checkpoint removed or replaced."""
        i, key, k, _ = number
        if k < 0:  # elements of lists are restored with the other leaves
            del _groups(self.opt)[i][key]

    def get(self, where):
        i, key, k = where
        v = _groups(self.opt)[i][key]
        return v if k < 0 else v[k]

    def clip(self, norm):
        if self.clip_norm is not None:
            clip_grads_with_norm_(self.params, self.clip_norm, norm)
        if self.clip_value is not None:
            clip_grad_value_(self.params, self.clip_value)

    def closure(self):
        """The closure of step(closure): loss and gradients at the current weights; the first call finds those of the step, unless step() has changed
        the weights before it, as SAM does."""
        first, self.first = self.first, None
        if first is not None and all(torch.equal(p, before) for p, before in zip(self.params, first[2])):
            loss, grads = first[:2]
        else:
            loss, grads = self.evaluate()
        self.put_gradients(grads)
        return torch.tensor(loss, dtype=self.params[0].dtype)

    def put_gradients(self, grads):
        for p, g in zip(self.params, grads):
            p.grad = g
        with torch.no_grad():
            self.clip(get_total_norm([g for g in grads if g is not None]))

    def run_eagerly(self, loss, grads):
        """A step of an optimiser that calls the closure several times; the norm is that of the first evaluation."""
        torch._C.scratch_begin()
        norm = get_total_norm([g for g in grads if g is not None])
        self.first = (loss, grads, [p.detach().clone() for p in self.params])
        self.put_gradients([None if g is None else g.clone() for g in grads])  # for steps that use them before they call the closure
        self.opt.step(self.closure)
        with torch.no_grad():
            self.average()
        self.made += 1
        for p in self.params:
            p.grad = None
        self.refuse_lost()
        torch._C.scratch_end(norm, self.state, grads, [[vars(o), getattr(o, "state", None), o.param_groups] for o in _holders(self.opt).values()])
        return norm

    def begin_first(self):
        """Called before `make_state`: keeps the state that the constructor made (Adagrad)."""
        self.before = self.held()

    def make_state(self, grads):
        """The step that creates the optimiser's state, for a capture: the norm, and the new state as [(index, key, value)]."""
        counts, tensors = _counts(self.opt, []), self.group_tensors()
        norm = self.run(grads)
        self.refuse_group_tensors(tensors)
        self.refuse_changes(counts, _counts(self.opt, []))
        leaves = [(i, key, v) for i, found in enumerate(self.leaves()) for key, v in found]
        return norm, [(i, key, v) for i, key, v in leaves if not (isinstance(v, torch.Tensor) and v is self.before[i].get(key))]

    def take_first(self, leaves, tensors):
        """Replaces the state that `make_state` made by `tensors`."""
        made = iter(tensors)
        self._put_leaves([(i, key, next(made) if isinstance(v, torch.Tensor) else v) for i, key, v in leaves])
        self.averaging = self.decay is not None
        self.made += 1

    def forget_first(self):
        boxes = _by_parameter(self.opt)
        for p, state in zip(self.params, self.state):
            state.clear()
            for box in boxes.values():
                if p in box and box[p] is not state:
                    box.pop(p)
        self._put_leaves([(i, key, v) for i, before in enumerate(self.before) for key, v in before.items()])
        for p in self.params:
            p.grad = None
        self.averaging = False

    def run_first(self, grads):
        """The same operator by operator, for steps that branch on data; frees the intermediate results."""
        torch._C.scratch_begin()
        numbers = self.numbers()
        norm = self.run(grads)
        self.made += 1
        if not _same(numbers, self.numbers()):  # an input of a captured step would keep its value from before the step
            self.by_operators = True
        self.refuse_lost()
        torch._C.scratch_end(norm, self.state, grads, [[vars(o), getattr(o, "state", None), o.param_groups] for o in _holders(self.opt).values()])
        return norm

    def run(self, grads):
        grads = list(grads)
        with torch.no_grad():
            for i in range(self.owned, len(grads)):
                if grads[i] is not None and "grad" in self.state[i]:
                    self.state[i]["grad"].add_(grads[i])
                elif grads[i] is not None:
                    self.state[i]["grad"] = grads[i].clone()
                grads[i] = self.state[i].get("grad")
        for p, g in zip(self.params, grads):
            p.grad = g
        present = [g for g in grads if g is not None]
        norm = get_total_norm(present)
        with torch.no_grad():
            self.clip(norm)
            self.opt.step()
            self.average()
        for p in self.params:
            p.grad = None
        return norm

    def write_back(self, held):
        """A step may replace a tensor of its state, also in a list, by another: the buffer with its key in `held` takes the new
        value."""
        new = [(key, old.get(key), v.clone()) for old, leaves in zip(held, self.leaves()) for key, v in leaves
               if isinstance(v, torch.Tensor) and v is not old.get(key)]
        for key, to, v in new:
            if not isinstance(to, torch.Tensor) or to.shape != v.shape or to.dtype != v.dtype:
                raise NotImplementedError(f"step() makes state[...]['{key}'] anew, not as the step before did: expected a tensor of the same type and shape")
            to.copy_(v)
        back = []
        for i, (old, now) in enumerate(zip(held, self.held())):
            lost = [key for key, v in old.items() if isinstance(v, torch.Tensor) and key not in now]
            if lost:
                raise NotImplementedError(f"step() takes state[...]['{lost[0]}'] away, which the step before left")
            back += [(i, key, v) for key, v in old.items() if key in now]
        self._put_leaves(back)

    def kept_containers(self):
        """Lists and dicts kept by parameter."""
        return _containers([self.state, *[v for box in _by_parameter(self.opt).values() for p, v in box.items() if isinstance(p, torch.Tensor)]])

    def containers(self):
        """Everything that the recipe's optimiser keeps."""
        return [*self.kept_containers(), *_groups(self.opt), *_containers([box for _, box, _ in self.boxes()]), *_by_parameter(self.opt).values()]

    def refuse_lost(self):
        """After a step that ran operator by operator: it may change the contents of `boxes` only."""
        owners = list(_holders(self.opt).values())
        self.refuse_views()
        _refuse_changes(self.opt, [self, *self.containers()], [*owners, *[getattr(o, "state", None) for o in owners]])

    def refuse_views(self):
        """`p.data = flat[a:b]`: after a step the data of a parameter is its own again, so nothing else may share it."""
        own = {p.data_ptr(): (n, p) for n, p in self.m.named_parameters()}
        for name, t in [*self.others(), *[leaf for leaves in self.leaves() for leaf in leaves]]:
            n, p = own.get(t.data_ptr(), (None, None)) if isinstance(t, torch.Tensor) else (None, None)
            if p is not None and t.numel() != p.numel():
                raise NotImplementedError(f"the optimiser makes {n} a part of another tensor ({name}), expected tensors of their own: copy_ updates them")

    def group_tensors(self):
        """{name: tensor} of the groups, without the parameters."""
        groups = [{k: v for k, v in g.items() if k != "params"} for g in _groups(self.opt)]
        return {name: v for name, v in _leaves(groups) if isinstance(v, torch.Tensor)}

    def refuse_group_tensors(self, before):
        """A tensor that a step adds to a group or removes from it would stay as the capture left it: refused."""
        now = self.group_tensors()
        for name in {**before, **now}:
            if now.get(name) is not before.get(name):
                i, _, key = name.partition(".")
                raise NotImplementedError(f"step() changes the tensor param_groups[{i}]['{key}']")

    def refuse_changes(self, before, now):
        """Side effects that a captured step would have once only: such steps run operator by operator."""
        for name in {**before, **now}:
            old, v = before.get(name), now.get(name)
            if v is not old and v != old:
                raise NotImplementedError(f"step() changes {name}, which is no tensor of the state, nor its 'step'")
        _refuse_changes(self.opt, [self, *self.kept_containers(), *_groups(self.opt)], [])

    def refuse_steps(self, grads, fit):
        """A captured step receives the number of steps for the 'step' entry of every state."""
        if any(g is not None and not ok for g, ok in zip(grads, fit)):
            raise NotImplementedError("step() changes state[...]['step'] in another way than by one a step")

    def forward(self, grads, where, values, step):
        """where: the numbers that vary; values: their symbolic values; step: number of earlier steps, symbolic."""
        kept = [self.get(w) for w in where]
        steps = [s.get("step") if isinstance(s.get("step"), (int, float)) else None for s in self.state]
        for w, v in zip(where, values):
            self.put(w, v)
        for state, s in zip(self.state, steps):
            if s is not None:
                state["step"] = step
        self.refuse_steps(grads, [s is None or s == self.made for s in steps])
        made, self.made = self.made, step
        held, tensors = self.held(), self.group_tensors()
        counts = _counts(self.opt, held)
        norm = self.run(grads)
        self.made = made
        self.refuse_group_tensors(tensors)
        self.refuse_changes(counts, _counts(self.opt, self.held()))
        self.refuse_steps(grads, [s is None or state["step"] is step or state["step"] == step + 1 for state, s in zip(self.state, steps)])
        self.write_back(held)
        for w, v in zip(where, kept):
            self.put(w, v)
        for state, s in zip(self.state, steps):
            if s is not None:
                state["step"] = s
        return norm
