"""What an address in a channel document may be: one that can be asked, as `requests` reads it."""

import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from urllib3.util import parse_url

from redeliver.channels.addresses import is_public
from redeliver.channels.rules import Schema

# RFC 1123, section 2.1, and RFC 1035, section 2.3.4; underscores too, which names of containers and in DNS have.
_LABEL = r"(?!-)[A-Za-z0-9_-]{1,63}(?<!-)"
_NAME = re.compile(rf"(?=.{{1,253}}\.?\Z){_LABEL}(?:\.{_LABEL})*\.?", re.ASCII)
_NUMBER = re.compile(r"\d+|0[xX][0-9a-fA-F]*", re.ASCII)

# No address stands in what is allowed: redaction would take it for one with a secret.
_PRIVATE = "http://, or an address that is not public, only with allow_private_network"


@dataclass(frozen=True, slots=True)
class Url:
    """An absolute address; plain http and what is not public only where private networks are allowed."""

    allowed: str = f"an https:// address without user and password ({_PRIVATE})"

    @property
    def schema(self) -> Schema:
        """Return its shape."""
        return {"type": "string", "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^\s@\\/?#]+([/?#][^\s\\]*)?\s*$"}

    def read(self, value: Any) -> str:
        """Return the address."""
        if not isinstance(value, str) or re.search(r"[\s\x00-\x1f\x7f\\]", value):
            raise ValueError
        parts = urlsplit(value)
        if parts.scheme not in ("https", "http") or "@" in parts.netloc or parts.port == 0:
            raise ValueError
        _literal(host_of(value))
        return value

    def is_public(self, value: str) -> bool:
        """Tell whether a valid address may be asked without `allow_private_network`, as far as it says itself."""
        literal = _literal(host_of(value))
        return urlsplit(value).scheme == "https" and (literal is None or is_public(literal))

    def secrets(self, value: Any) -> Iterator[str]:
        """Return the address, its path and query, and their parts: providers keep the secret in one of them."""
        parts = urlsplit(value)
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        yield from (value, target, *re.split(r"[/?&=]", target))


@dataclass(frozen=True, slots=True)
class Base(Url):
    """The address of a server, to which its type appends `path`; read without the slash at its end.

    `official` is the provider's own: on its host there is no other.
    """

    path: str = ""
    official: str = ""

    @property
    def schema(self) -> Schema:
        """Return its shape."""
        return {"type": "string", "pattern": r"^\s*[Hh][Tt][Tt][Pp][Ss]?://[^\s@\\/?#]+(/[^\s\\?#]*)?\s*$"}

    def read(self, value: Any) -> str:
        """Return the address without the slash at its end."""
        url = Url.read(self, value).rstrip("/")
        path = urlsplit(url).path
        if "?" in url or "#" in url or path.endswith(self.path):
            raise ValueError
        if self.official and host_of(url) == host_of(self.official) and path != urlsplit(self.official).path:
            raise ValueError
        return url


def base(path: str, official: str = "") -> Base:
    """Return the rule for the address of a server to which a path is appended; `official` is the provider's own."""
    default = ", such as the default" if official else ""
    allowed = (
        f"an https:// address without user, password, query and fragment{default}; {path} is appended ({_PRIVATE})"
    )
    return Base(allowed, path, official)


def host_of(url: str) -> str:
    """Return the host that is connected to, in lower case and A-labels; raises ValueError if there is none."""
    return (parse_url(url).host or "").lower().removesuffix(".")


def _literal(host: str) -> str | None:
    """Return the IP address that a host is, None if it is a name; raises ValueError if it is neither."""
    if host.startswith("["):
        return str(ip_address(host.strip("[]")))
    if not _NAME.fullmatch(host):
        raise ValueError
    if not _NUMBER.fullmatch(host.rpartition(".")[2]):
        return None
    try:
        return socket.inet_ntoa(socket.inet_aton(host))  # in any spelling that getaddrinfo takes
    except OSError:
        raise ValueError from None
