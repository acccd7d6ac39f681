# argparse: a model's file is called without arguments, so a parser gives its defaults; a list of arguments is parsed.
SUPPRESS, OPTIONAL, ZERO_OR_MORE, ONE_OR_MORE, REMAINDER = "==SUPPRESS==", "?", "*", "+", "..."


class ArgumentError(Exception):
    pass


class ArgumentTypeError(Exception):
    pass


class HelpFormatter:
    pass


ArgumentDefaultsHelpFormatter = RawTextHelpFormatter = RawDescriptionHelpFormatter = MetavarTypeHelpFormatter = HelpFormatter


class Namespace:
    def __init__(self, **kwargs):
        for name, value in kwargs.items():
            setattr(self, name, value)

    def __repr__(self):
        return "Namespace(" + ", ".join([f"{name}={value!r}" for name, value in self.__dict__.items()]) + ")"

    def __eq__(self, other):
        return isinstance(other, Namespace) and self.__dict__ == other.__dict__

    def __contains__(self, name):
        return name in self.__dict__


class Action:
    def __init__(self, option_strings=(), dest=None, nargs=None, const=None, default=None, type=None, choices=None, required=False, help=None,
                 metavar=None, action="store"):
        self.option_strings, self.dest, self.nargs, self.const, self.default = list(option_strings), dest, nargs, const, default
        self.type, self.choices, self.required, self.help, self.metavar, self.action = type, choices, required, help, metavar, action


class BooleanOptionalAction(Action):
    pass


def _destination(names, dest):
    if dest is not None:
        return dest
    long = [n for n in names if n.startswith("--")]
    return (long + list(names))[0].lstrip("-").replace("-", "_")


class _Group:
    def __init__(self, parser):
        self._parser = parser

    def add_argument(self, *names, **options):
        return self._parser.add_argument(*names, **options)

    def add_argument_group(self, *args, **kwargs):
        return self

    add_mutually_exclusive_group = add_argument_group

    def set_defaults(self, **kwargs):
        self._parser.set_defaults(**kwargs)


class _Subparsers:
    def __init__(self):
        self.choices = {}

    def add_parser(self, name, **kwargs):
        self.choices[name] = ArgumentParser(prog=name)
        return self.choices[name]


class ArgumentParser:
    def __init__(self, prog=None, usage=None, description=None, epilog=None, parents=(), argument_default=None, add_help=True, **kwargs):
        self.prog, self.usage, self.description, self.epilog, self.argument_default = prog, usage, description, epilog, argument_default
        self._actions, self._defaults = [], {}
        for parent in parents:
            self._actions += parent._actions
            self._defaults.update(parent._defaults)

    def add_argument(self, *names, dest=None, action="store", default=None, **options):
        constants = {"store_true": (True, False), "store_false": (False, True), "store_const": (options.get("const"), None)}
        if isinstance(action, str) and action in constants:
            const, off = constants[action]
            options["const"] = const
            default = off if default is None and off is not None else default
        if default is None:
            default = self.argument_default
        if isinstance(action, type) and not issubclass(action, BooleanOptionalAction):
            raise NotImplementedError("an action of argparse of a class of its own is not part of the model language")
        kept = ("nargs", "const", "type", "choices", "required", "help", "metavar")
        made = Action(names, _destination(names, dest), default=default, action=action, **{k: v for k, v in options.items() if k in kept})
        self._actions.append(made)
        return made

    def add_argument_group(self, *args, **kwargs):
        return _Group(self)

    add_mutually_exclusive_group = add_argument_group

    def add_subparsers(self, **kwargs):
        return _Subparsers()

    def set_defaults(self, **kwargs):
        self._defaults.update(kwargs)

    def get_default(self, name):
        found = [a.default for a in self._actions if a.dest == name]
        return self._defaults[name] if name in self._defaults else found[0] if found else None

    def error(self, message):
        raise SystemExit(f"{self.prog or 'the model'}: error: {message}")

    def _convert(self, action, text):
        value = action.type(text) if action.type is not None else text
        if action.choices is not None and value not in action.choices:
            self.error(f"argument {'/'.join(action.option_strings)}: invalid choice: {value!r} (choose from "
                       + ", ".join([repr(c) for c in action.choices]) + ")")
        return value

    def _values(self, action, args):  # takes those of the action from the front of args
        if action.nargs is None:
            if not args:
                self.error(f"argument {'/'.join(action.option_strings)}: expected one argument")
            return self._convert(action, args.pop(0))
        taken = []
        most = action.nargs if isinstance(action.nargs, int) else 1 if action.nargs == "?" else len(args)
        while args and len(taken) < most and (action.nargs == "..." or not args[0].startswith("-") or args[0][1:2].isdigit()):
            taken.append(self._convert(action, args.pop(0)))
        if action.nargs == "+" and not taken or isinstance(action.nargs, int) and len(taken) < action.nargs:
            self.error(f"argument {'/'.join(action.option_strings)}: expected {'at least one' if action.nargs == '+' else action.nargs} argument")
        return (taken[0] if taken else action.const) if action.nargs == "?" else taken

    def _take(self, action, args, space, negated):
        if isinstance(action.action, type):
            setattr(space, action.dest, not negated)
        elif action.action in ("store_true", "store_false", "store_const"):
            setattr(space, action.dest, action.const)
        elif action.action == "count":
            setattr(space, action.dest, (getattr(space, action.dest, None) or 0) + 1)
        elif action.action in ("append", "extend"):
            value = self._values(action, args)
            setattr(space, action.dest, list(getattr(space, action.dest, None) or []) + (value if action.action == "extend" else [value]))
        else:
            setattr(space, action.dest, self._values(action, args))

    def parse_known_args(self, args=None, namespace=None):
        space, args, rest, seen = namespace if namespace is not None else Namespace(), list(args or []), [], []
        for a in self._actions:
            default = self.get_default(a.dest)
            if a.action not in ("help", "version") and default != SUPPRESS and not hasattr(space, a.dest):
                setattr(space, a.dest, self._convert(a, default) if isinstance(default, str) and a.type is not None else default)
        for name, value in self._defaults.items():
            if not hasattr(space, name):
                setattr(space, name, value)
        places = [a for a in self._actions if a.option_strings and not a.option_strings[0].startswith("-")]
        while args:
            arg = args.pop(0)
            name, eq, value = arg.partition("=")
            found = [a for a in self._actions if name in a.option_strings and name.startswith("-")]
            negated = [a for a in self._actions if isinstance(a.action, type) and name.startswith("--no-") and "--" + name[5:] in a.option_strings]
            if found or negated:
                if eq:
                    args.insert(0, value)
                self._take((found + negated)[0], args, space, not found)
                seen.append((found + negated)[0])
            elif places and not arg.startswith("-"):
                args.insert(0, arg)
                seen.append(places[0])
                self._take(places.pop(0), args, space, False)
            else:
                rest.append(arg)
        lacking = [a for a in self._actions if a not in seen and (a.required or a in places and a.nargs not in ("?", "*", "..."))]
        if lacking:
            self.error("the following arguments are required: " + ", ".join(["/".join(a.option_strings) for a in lacking]))
        return space, rest

    def parse_args(self, args=None, namespace=None):
        space, rest = self.parse_known_args(args, namespace)
        if rest:
            self.error("unrecognized arguments: " + " ".join(rest))
        return space

    def print_help(self, file=None):
        pass

    print_usage = print_help
