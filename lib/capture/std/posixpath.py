# os.path: what it does with texts. The user's files are not looked at: none is there, as no environment is, and a relative path stays one.
sep, curdir, pardir, extsep, pathsep = "/", ".", "..", ".", ":"


from _outside import Outside, Result


def _unknown(x):
    return type(x) in (Outside, Result)


def fspath(path):
    if _unknown(path):
        return path
    return path.__fspath__() if hasattr(path, "__fspath__") else path


def join(path, *parts):
    path = fspath(path)
    for part in parts:
        part = fspath(part)
        if _unknown(path) or _unknown(part):
            path = path + part
        elif part.startswith("/"):
            path = part
        else:
            path += part if not path or path.endswith("/") else "/" + part
    return path


def split(path):
    path = fspath(path)
    head, tail = path[:path.rfind("/") + 1], path[path.rfind("/") + 1:]
    return head if head == "/" * len(head) else head.rstrip("/"), tail


def dirname(path):
    return split(path)[0]


def basename(path):
    return split(path)[1]


def splitext(path):
    path = fspath(path)
    dot, start = path.rfind("."), path.rfind("/") + 1
    return (path[:dot], path[dot:]) if dot > start and path[start:dot].strip(".") else (path, "")


def normpath(path):
    path = fspath(path)
    root, parts = "/" if path.startswith("/") else "", []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in ("", ".") and not (part == ".." and root):
            parts.append(part)
    return root + "/".join(parts) or "."


def abspath(path):
    return normpath(path)


def expanduser(path):
    return fspath(path)


def isabs(path):
    return fspath(path).startswith("/")


def commonprefix(paths):
    first, last = min(paths), max(paths)
    n = 0
    while n < min(len(first), len(last)) and first[n] == last[n]:
        n += 1
    return first[:n]


def exists(path):
    return False


normcase, realpath, expandvars, isfile, isdir, islink, lexists = fspath, abspath, expanduser, exists, exists, exists, exists
