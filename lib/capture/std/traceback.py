# traceback: an exception's own line; the frames that it passed are not kept.


def format_exception_only(exc, value=None):
    value = exc if value is None else value
    text = str(value)
    return [type(value).__name__ + (": " + text if text else "") + "\n"]


def format_exception(exc, value=None, tb=None, limit=None, chain=True):
    return format_exception_only(exc, value)


def format_tb(tb=None, limit=None):
    return []


format_stack = extract_stack = extract_tb = format_tb


def format_exc(limit=None, chain=True):
    return ""


def print_exc(*a, **k):
    pass


print_exception = print_last = print_stack = print_tb = print_exc
