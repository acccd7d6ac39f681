# typeguard: annotations are not run, so that what it decorates is left as it is.


def typechecked(target=None, **options):
    return (lambda decorated: decorated) if target is None else target


def typeguard_ignore(target):
    return target
