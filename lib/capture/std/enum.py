# enum.


# CPython stores the number of an auto() as the class body goes on; here its uses wait for it.
class auto:
    def __init__(self, number=None):
        self.number = number

    def settle(self, next_number):
        if self.number is None:
            self.number = next_number()
        return self.number


class _Later(auto):
    def __init__(self, op, *of):
        self.op, self.of = op, of

    def settle(self, next_number):
        return self.op(*[x.settle(next_number) if isinstance(x, auto) else x for x in self.of])


def _waits(op):
    return lambda self, *other: _Later(op, self, *other)


auto.__or__ = auto.__ror__ = _waits(lambda a, b: a | b)
auto.__and__ = auto.__rand__ = _waits(lambda a, b: a & b)
auto.__xor__ = auto.__rxor__ = _waits(lambda a, b: a ^ b)
auto.__add__ = auto.__radd__ = _waits(lambda a, b: a + b)
auto.__mul__ = auto.__rmul__ = _waits(lambda a, b: a * b)
auto.__sub__ = _waits(lambda a, b: a - b)
auto.__rsub__ = _waits(lambda a, b: b - a)
auto.__lshift__ = _waits(lambda a, b: a << b)
auto.__invert__ = _waits(lambda a: ~a)


def _number(cls, values):
    return max([v for v in values if isinstance(v, int)], default=0) + 1


class EnumMeta(type):
    def __call__(cls, value, names=None):
        if names is not None:
            names = names.replace(",", " ").split() if isinstance(names, str) else names
            if not isinstance(names, dict):
                names = {n: i + 1 for i, n in enumerate(names)} if all(isinstance(n, str) for n in names) else dict(names)
            return EnumMeta(value, (cls,), names)
        for m in cls._member_map_.values():
            if m is value or m._value_ == value:
                return m
        m = cls._missing_(value)
        if m is None:
            raise ValueError(f"{value!r} is not a valid {cls.__qualname__}")
        return m

    def __setattr__(cls, name, value):
        if name in cls.__dict__.get("_member_map_", ()):
            raise AttributeError(f"cannot reassign member {name!r}")
        super().__setattr__(name, value)

    def __getitem__(cls, name):
        return cls._member_map_[name]

    def __iter__(cls):
        seen = []
        for m in cls._member_map_.values():
            if not any(m is x for x in seen) and (not issubclass(cls, Flag) or m._value_.bit_count() == 1):
                seen.append(m)
        return iter(seen)

    def __reversed__(cls):
        return reversed(list(cls))

    def __len__(cls):
        return len(list(cls))

    def __contains__(cls, x):
        return any(m is x or m._value_ == x for m in cls._member_map_.values())

    def __bool__(cls):
        return True

    def __repr__(cls):
        return f"<{'flag' if issubclass(cls, Flag) else 'enum'} {cls.__name__!r}>"

    @property
    def __members__(cls):
        return cls._member_map_


EnumType = EnumMeta


class member:  # in a class body: a value, whatever it is
    def __init__(self, value):
        self.value = value


class nonmember(member):
    pass


_member, _nonmember = member, nonmember


class Enum(metaclass=EnumMeta):
    _member_map_ = {}

    def __init_subclass__(cls, **kw):
        for base in cls.mro()[1:]:
            if base.__dict__.get("_member_map_"):
                raise TypeError(f"<enum {cls.__name__!r}> cannot extend {base!r}")
        members, values = {}, []
        for name, value in list(cls.__dict__.items()):
            if isinstance(value, _nonmember):
                setattr(cls, name, value.value)
                continue
            if isinstance(value, _member):
                value = value.value
            elif isinstance(value, (type(_number), property, staticmethod, classmethod)):
                continue
            elif (name.startswith("_") and name.endswith("_")) or name.startswith(f"_{cls.__name__}__"):  # _order_, __module__, __x
                continue
            elif isinstance(value, type) and value.__qualname__ == f"{cls.__qualname__}.{name}":  # a class of its own
                continue
            if isinstance(value, auto):
                value = value.settle(lambda: cls._generate_next_value_(name, 1, len(values), values))
            values.append(value)
            same = [m for m in members.values() if m._value_ == value]
            if same:
                member = same[0]
            else:
                member = str.__new__(cls, value) if issubclass(cls, str) else object.__new__(cls)
                object.__setattr__(member, "_value_", value)
                object.__setattr__(member, "_name_", name)
                if hasattr(cls, "__init__") and cls.__init__ is not object.__init__ and isinstance(value, tuple):
                    member.__init__(*value)
            members[name] = member
            setattr(cls, name, member)
        cls._member_map_ = members

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return _number(None, last_values)

    @classmethod
    def _missing_(cls, value):
        return None

    @property
    def name(self):
        return self._name_

    @property
    def value(self):
        return self._value_

    def __repr__(self):
        return f"<{type(self).__name__}.{self._name_}: {self._value_!r}>"

    def __str__(self):
        return f"{type(self).__name__}.{self._name_}"

    def __format__(self, spec):
        return format(str(self), spec)

    def __hash__(self):
        return hash(self._value_ if isinstance(self, (int, str)) else self._name_)


class StrEnum(str, Enum):
    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return name.lower()

    def __str__(self):
        return self._value_

    def __format__(self, spec):
        return format(self._value_, spec)


class IntEnum(int, Enum):
    def __str__(self):
        return str(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)


class Flag(Enum):
    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return 1 << max([v.bit_length() for v in last_values], default=0)

    @classmethod
    def _missing_(cls, value):
        mask = 0
        for m in cls._member_map_.values():
            mask |= m._value_
        if value < 0:
            return cls(mask & value)
        if value & ~mask and not issubclass(cls, int):
            raise ValueError(f"{value!r} is not a valid {cls.__name__}")
        new = object.__new__(cls)
        object.__setattr__(new, "_value_", value)
        object.__setattr__(new, "_name_", "|".join(m._name_ for m in cls if m._value_ & value) or None)
        return new

    def _combine(self, value):
        return type(self)(value)

    def __or__(self, other):
        return self._combine(self._value_ | _bits(other))

    def __and__(self, other):
        return self._combine(self._value_ & _bits(other))

    def __xor__(self, other):
        return self._combine(self._value_ ^ _bits(other))

    __ror__ = __or__
    __rand__ = __and__
    __rxor__ = __xor__

    def __invert__(self):
        return self._combine(~self._value_)

    def __contains__(self, other):
        return other._value_ & self._value_ == other._value_

    def __iter__(self):
        return iter([m for m in type(self) if m._value_ & self._value_])

    def __len__(self):
        return self._value_.bit_count()

    def __bool__(self):
        return self._value_ != 0

    def __eq__(self, other):
        return self._value_ == (other._value_ if isinstance(other, Flag) else other) and (type(self) is type(other) or isinstance(self, int))

    def __hash__(self):
        return hash(self._value_)

    def __repr__(self):
        return f"<{type(self).__name__}{'.' + self._name_ if self._name_ else ''}: {self._value_!r}>"

    def __str__(self):
        return f"{type(self).__name__}.{self._name_}" if self._name_ else f"{type(self).__name__}({self._value_!r})"


def _bits(x):
    return x._value_ if isinstance(x, Flag) else x


class IntFlag(int, Flag):
    def __str__(self):
        return str(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)


def unique(cls):
    names = [name for name, m in cls._member_map_.items() if m._name_ != name]
    if names:
        raise ValueError(f"duplicate values found in {cls!r}: {', '.join(f'{n} -> {cls._member_map_[n]._name_}' for n in names)}")
    return cls
