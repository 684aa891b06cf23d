"""Connections that end when the time of their attempt is over, and that go to allowed addresses only.

urllib3's time-outs start anew with every read. These sockets set theirs from what is left before each call instead;
a single call of the socket or TLS layer, the handshake included, is bounded as a whole by Python itself.
"""

import http.client
import socket
import ssl
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from enum import Enum
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from redeliver.channels.addresses import is_public
from redeliver.channels.bounded import within

Address = tuple[int, tuple[Any, ...]]  # family, and what `connect` takes
Resolve = Callable[[str, int], list[Address]]


class AddressRefused(OSError):
    """The name leads to an address that the channel may not reach."""


class Phase(Enum):
    """How far a try has come."""

    RESOLVING = "looking up the name"
    CONNECTING = "connecting"
    SECURING = "setting up TLS"
    SENDING = "sending"
    WAITING = "waiting for the answer"


@dataclass(slots=True)
class Try:
    """One request on its way: how long it may still take, where it may go, how far it has come."""

    seconds_left: Callable[[], float]
    allow_private: bool
    longest_idle: float
    resolve: Resolve
    phase: Phase = Phase.RESOLVING

    def left(self) -> float:
        """Return the seconds left; raises TimeoutError when there are none."""
        left = self.seconds_left()
        if left <= 0:
            raise TimeoutError
        return left


# requests has no way to hand something down to the socket; a try stays in the thread that makes it.
CURRENT: ContextVar[Try] = ContextVar("current_try")


class _Socket(socket.socket):
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(CURRENT.get().left())
        return super().recv_into(*args, **kwargs)

    def sendall(self, *args: Any, **kwargs: Any) -> None:
        self.settimeout(CURRENT.get().left())
        super().sendall(*args, **kwargs)


class _TlsSocket(ssl.SSLSocket):
    def recv_into(self, *args: Any, **kwargs: Any) -> int:
        self.settimeout(CURRENT.get().left())
        return super().recv_into(*args, **kwargs)

    def send(self, *args: Any, **kwargs: Any) -> int:  # sendall calls it for each piece
        self.settimeout(CURRENT.get().left())
        return super().send(*args, **kwargs)


def tls_context(authorities: str) -> ssl.SSLContext:
    """Return a context that trusts the authorities of a file and makes bounded sockets."""
    context = ssl.create_default_context(cafile=authorities)
    context.sslsocket_class = _TlsSocket
    return context


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        """Read up to the head of the final answer, over any number of interim ones: RFC 9110, section 15.2.

        http.client does so for 100 alone. 101 stays, as the end of HTTP on this connection. Each read is bounded by
        the time that is left, so a server that never comes to an end is too.
        """
        super().begin()
        while 100 <= self.status < 200 and self.status != http.HTTPStatus.SWITCHING_PROTOCOLS:
            self.headers = self.msg = None  # type: ignore[assignment]  # what makes it read the next head
            super().begin()


class _Connection(HTTPConnection):
    response_class = _Response
    _used_at = 0.0

    @property
    def is_connected(self) -> bool:
        # A frozen Lambda does not hear that the other side, or a NAT gateway, has dropped a connection: the reset
        # would come after the body was sent, and look as if that might have been delivered.
        return super().is_connected and time.time() - self._used_at < CURRENT.get().longest_idle

    def connect(self) -> None:
        super().connect()
        CURRENT.get().phase = Phase.SENDING

    def request(self, *args: Any, **kwargs: Any) -> None:
        current = CURRENT.get()
        current.phase = Phase.SENDING
        self._used_at = time.time()  # the wall clock: it is the one that goes on while Lambda is frozen
        super().request(*args, **kwargs)
        # urllib3 swallows a reset that comes before this and looks for an answer; the body had not left then.
        current.phase = Phase.WAITING

    def _new_conn(self) -> socket.socket:
        current = CURRENT.get()
        current.phase = Phase.RESOLVING
        # getaddrinfo takes no time-out.
        addresses = within(current.left(), lambda: current.resolve(self._dns_host, self.port), "resolve")
        refused = [address for _, address in addresses if not is_public(address[0])]
        if refused and not current.allow_private:
            raise AddressRefused(refused[0][0])
        current.phase = Phase.CONNECTING
        sock = _connect_first(addresses, current)
        current.phase = Phase.SECURING
        return sock


class _TlsConnection(_Connection, HTTPSConnection):
    pass


class Pool(HTTPConnectionPool):
    """A pool of bounded connections."""

    ConnectionCls = _Connection


class TlsPool(HTTPSConnectionPool):
    """A pool of bounded TLS connections."""

    ConnectionCls = _TlsConnection


def ask_resolver(host: str, port: int) -> list[Address]:
    """Return the addresses of a name; raises OSError or UnicodeError."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(family, address) for family, _, _, _, address in found]


def _connect_first(addresses: list[Address], current: Try) -> socket.socket:
    failure: OSError = OSError("the name has no address")
    for index, (family, address) in enumerate(addresses):
        sock = _Socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sock.settimeout(current.left() / (len(addresses) - index))  # a dead address leaves time for the next
            sock.connect(address)
            sock.settimeout(current.left())  # bounds the TLS handshake
            return sock
        except OSError as error:
            sock.close()
            failure = error
    raise failure
