# textwrap: what takes the indentation from a text or gives it one.


def dedent(text):
    lines = [line if line.strip() else "" for line in text.split("\n")]
    margin = None
    for line in lines:
        if line:
            indent = line[:len(line) - len(line.lstrip())]
            margin = indent if margin is None else margin
            while not indent.startswith(margin):
                margin = margin[:-1]
    return "\n".join(line[len(margin or ""):] for line in lines)


def indent(text, prefix, predicate=None):
    return "".join(prefix + line if (predicate(line) if predicate else line.strip()) else line for line in text.splitlines(True))
