# urllib.parse: texts of addresses.
from collections import namedtuple

_plain = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-~"


def _octets(ch):  # of UTF-8
    n = ord(ch)
    if n < 0x80:
        return [n]
    most = 2 if n < 0x800 else 3 if n < 0x10000 else 4
    return [(0xF00 >> most & 0xFF) | n >> 6 * (most - 1)] + [0x80 | n >> 6 * i & 0x3F for i in range(most - 2, -1, -1)]


def quote(string, safe="/"):
    return "".join(ch if ch in _plain or ch in safe else "".join(f"%{b:02X}" for b in _octets(ch)) for ch in string)


def quote_plus(string, safe=""):
    return quote(string, safe + " ").replace(" ", "+")


class SplitResult(namedtuple("SplitResult", "scheme netloc path query fragment")):
    @property
    def _host(self):  # the name and port behind user@
        return self.netloc.rpartition("@")[2]

    @property
    def hostname(self):
        host = self._host
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        return name.lower() or None

    @property
    def port(self):
        port = self._host.rpartition("]")[2].partition(":")[2]
        return int(port) if port else None

    def geturl(self):
        return urlunsplit(self)


def urlsplit(url, scheme="", allow_fragments=True):
    before, colon, after = url.partition(":")
    if colon and before[:1].isalpha() and all(ch.isalnum() or ch in "+-." for ch in before):
        scheme, url = before.lower(), after
    netloc = query = fragment = ""
    if url.startswith("//"):
        end = min([i for i in (url.find(ch, 2) for ch in "/?#") if i >= 0], default=len(url))
        netloc, url = url[2:end], url[end:]
    if allow_fragments:
        url, _, fragment = url.partition("#")
    url, _, query = url.partition("?")
    return SplitResult(scheme, netloc, url, query, fragment)


def urlunsplit(parts):
    scheme, netloc, path, query, fragment = parts
    if netloc:
        path = "//" + netloc + ("/" if path and not path.startswith("/") else "") + path
    return (scheme + ":" if scheme else "") + path + ("?" + query if query else "") + ("#" + fragment if fragment else "")


class ParseResult(namedtuple("ParseResult", "scheme netloc path params query fragment")):
    _host, hostname, port = SplitResult._host, SplitResult.hostname, SplitResult.port

    def geturl(self):
        return urlunparse(self)


def urlparse(url, scheme="", allow_fragments=True):  # ;params of the last part of the path
    s = urlsplit(url, scheme, allow_fragments)
    at = s.path.find(";", max(s.path.rfind("/"), 0))
    if at < 0 or s.scheme not in ("", "ftp", "hdl", "prospero", "http", "https", "shttp", "rtsp", "rtsps", "sip", "sips", "mms", "sftp", "tel"):
        at = len(s.path)
    return ParseResult(s.scheme, s.netloc, s.path[:at], s.path[at + 1:], s.query, s.fragment)


def urlunparse(parts):
    scheme, netloc, path, params, query, fragment = parts
    return urlunsplit((scheme, netloc, path + (";" + params if params else ""), query, fragment))
