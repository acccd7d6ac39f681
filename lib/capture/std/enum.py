# enum.


class auto:
    pass


def _number(cls, values):
    return max([v for v in values if isinstance(v, int)], default=0) + 1


class Enum:
    def __init_subclass__(cls, **kw):
        members = {}
        for base in reversed(cls.mro()[1:]):
            members.update(base.__dict__.get("_member_map_", {}))
        values = []
        for name, value in list(cls.__dict__.items()):
            if name.startswith("_") or callable(value) or isinstance(value, (property, staticmethod, classmethod)):
                continue
            if isinstance(value, auto):
                value = cls._generate_next_value_(name, 1, len(values), values)
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
        cls.__members__ = members

    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return _number(None, last_values)

    @classmethod
    def __meta_call__(cls, value):
        for m in cls._member_map_.values():
            if m._value_ == value or m is value:
                return m
        if hasattr(cls, "_missing_"):
            m = cls._missing_(value)
            if m is not None:
                return m
        raise ValueError(f"{value!r} is not a valid {cls.__name__}")

    @classmethod
    def __meta_getitem__(cls, name):
        return cls._member_map_[name]

    @classmethod
    def __meta_iter__(cls):
        out = []
        for m in cls._member_map_.values():
            if not any(m is x for x in out):
                out.append(m)
        return iter(out)

    @classmethod
    def __meta_len__(cls):
        return len(list(cls.__meta_iter__()))

    @classmethod
    def __meta_contains__(cls, x):
        return any(m is x or m._value_ == x for m in cls._member_map_.values())

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

    def __eq__(self, other):
        return self is other or (isinstance(self, str) and isinstance(other, str) and str.__eq__(self, other))

    def __hash__(self):
        return hash(self._name_)


class StrEnum(str, Enum):
    @staticmethod
    def _generate_next_value_(name, start, count, last_values):
        return name.lower()

    def __str__(self):
        return self._value_

    def __eq__(self, other):
        return self is other or self._value_ == other

    def __hash__(self):
        return hash(self._value_)


class IntEnum(Enum):
    def __int__(self):
        return self._value_

    def __index__(self):
        return self._value_

    def __float__(self):
        return float(self._value_)

    def __str__(self):
        return str(self._value_)

    def __format__(self, spec):
        return format(self._value_, spec)

    def __bool__(self):
        return self._value_ != 0

    def __hash__(self):
        return hash(self._value_)

    def __eq__(self, other):
        return self._value_ == (other._value_ if isinstance(other, IntEnum) else other)

    def __lt__(self, other):
        return self._value_ < int(other)

    def __le__(self, other):
        return self._value_ <= int(other)

    def __gt__(self, other):
        return self._value_ > int(other)

    def __ge__(self, other):
        return self._value_ >= int(other)

    def __add__(self, other):
        return self._value_ + other

    def __radd__(self, other):
        return other + self._value_

    def __sub__(self, other):
        return self._value_ - other

    def __rsub__(self, other):
        return other - self._value_

    def __mul__(self, other):
        return self._value_ * other

    def __rmul__(self, other):
        return other * self._value_

    def __and__(self, other):
        return self._value_ & int(other)

    def __or__(self, other):
        return self._value_ | int(other)


IntFlag = IntEnum
Flag = IntEnum


def unique(cls):
    return cls
