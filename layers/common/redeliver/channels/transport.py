"""HTTP: one request, one answer or the reason why there is none; nothing is raised."""

import http.client
import logging
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from http.cookiejar import DefaultCookiePolicy
from typing import Any

import certifi
import requests
import urllib3
from requests.adapters import HTTPAdapter

from redeliver.channels.connection import (
    CURRENT,
    AddressRefused,
    Phase,
    Pool,
    Resolve,
    TlsPool,
    Try,
    ask_resolver,
    tls_context,
)
from redeliver.core.outcome import Retry

USER_AGENT = "redeliver/0.1.0"
LONGEST_ANSWER = 64 * 1024  # bytes; what comes after them is not read

_FAILURES = (requests.RequestException, urllib3.exceptions.HTTPError, http.client.HTTPException, OSError, ValueError)


@dataclass(frozen=True, slots=True)
class Post:
    """A request to make; `repeatable` says that the receiver knows a message again by its id."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    allow_private: bool
    repeatable: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """A final status; `body` is what came of it within time and bounds, not decompressed."""

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return the status and the body for an error text."""
        location = self.headers.get("Location", "")
        target = f" to {location}" if location.startswith(("http://", "https://")) else ""
        return f"HTTP {self.status}{target}: {self.body.decode(errors='replace').strip()}".rstrip(": ")


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """There is no final status; `sent` says that the whole body had left.

    `again` says that another try may end otherwise.
    """

    reason: str
    error: str
    sent: bool = False
    again: bool = True

    @property
    def outcome(self) -> Retry:
        """Return what that means for the attempt."""
        return Retry(self.reason, self.error, maybe_delivered=self.sent)


class Transport:
    """Pooled connections to any number of hosts; used from many threads.

    Up to `concurrency` are kept to each host, and used again within `longest_idle` seconds. `authorities` is a PEM
    file, by default that of certifi.
    """

    def __init__(
        self,
        concurrency: int = 32,
        authorities: str | None = None,
        longest_idle: float = 20.0,
        resolve: Resolve = ask_resolver,
    ) -> None:
        """Open nothing yet."""
        # urllib3 logs paths, at DEBUG and with answers that have odd headers: Telegram's token is in the path.
        logging.getLogger("urllib3").setLevel(logging.ERROR)
        self._longest_idle = longest_idle
        self._resolve = resolve
        self._concurrency = concurrency
        self._authorities = authorities or certifi.where()
        self._sessions: dict[bool, _Session] = {}
        self._making = threading.Lock()

    def post(self, post: Post, seconds_left: Callable[[], float]) -> Answer | NoAnswer:
        """Make one request; the wall clock bounds all of it, `seconds_left` tells how far."""
        this = Try(seconds_left, post.allow_private, self._longest_idle, self._resolve)
        token = CURRENT.set(this)
        try:
            return self._exchange(post, this)
        except _FAILURES as error:
            return _no_answer(error, this.phase)
        finally:
            CURRENT.reset(token)

    def _exchange(self, post: Post, this: Try) -> Answer | NoAnswer:
        session = self._session(private=post.allow_private)
        request = _to(post.url).copy()
        request.headers.update(post.headers)
        request.prepare_body(post.body, None)
        with session.send(request, stream=True, allow_redirects=False, timeout=this.left()) as response:
            if response.status_code < 200:
                # A 101: another protocol follows (RFC 9110, section 15.2.2), which nobody has asked for. Nothing is
                # read, which makes `with` close the connection.
                return NoAnswer("unreadable_answer", f"HTTP {response.status_code} is no final answer", sent=True)
            return Answer(response.status_code, _read(response.raw), response.headers)

    def _session(self, *, private: bool) -> "_Session":
        """Return the session of a rule: a connection that was made under one is never used under the other.

        Made when it is first needed: reading the authorities takes longer than a sweep that finds nothing due.
        """
        with self._making:
            if private not in self._sessions:
                context = tls_context(self._authorities)
                self._sessions[private] = _Session(self._concurrency, context, plain=private)
            return self._sessions[private]


@lru_cache(maxsize=256)
def _to(url: str) -> requests.PreparedRequest:
    """Return an empty request to an address: taking one apart anew each time is a fifth of what a request costs."""
    return requests.Request("POST", url, {"User-Agent": USER_AGENT, "Accept-Encoding": "identity"}).prepare()


class _Adapter(HTTPAdapter):
    def __init__(self, concurrency: int, context: ssl.SSLContext) -> None:
        self._context = context
        super().__init__(pool_connections=concurrency, pool_maxsize=concurrency)

    def init_poolmanager(self, connections: int, maxsize: int, block: bool = False, **_: Any) -> None:
        self.poolmanager = urllib3.PoolManager(connections, maxsize=maxsize, block=block, ssl_context=self._context)
        self.poolmanager.pool_classes_by_scheme = {"http": Pool, "https": TlsPool}

    def cert_verify(self, *_: Any, **__: Any) -> None:
        """Leave out what requests does here: load the authorities anew for each connection, at 10 ms and more."""


class _Session(requests.Session):
    def __init__(self, concurrency: int, context: ssl.SSLContext, *, plain: bool) -> None:
        super().__init__()
        self.trust_env = False
        self.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))
        self.adapters.clear()
        for scheme in ("https://", "http://") if plain else ("https://",):
            self.mount(scheme, _Adapter(concurrency, context))

    def get_redirect_target(self, resp: requests.Response) -> None:
        """Never look: requests reads the whole body of a redirect, however long, even if it is not to follow it."""


def _read(raw: urllib3.BaseHTTPResponse) -> bytes:
    body = bytearray()
    try:
        while piece := raw.read1(LONGEST_ANSWER - len(body), decode_content=False):
            body += piece
    except _FAILURES:
        pass  # the status has been said
    return bytes(body)


_REASONS = {
    Phase.RESOLVING: "name_failed",
    Phase.CONNECTING: "connection_failed",
    Phase.SECURING: "tls_failed",
    Phase.SENDING: "connection_lost",
    Phase.WAITING: "connection_lost",
}


def _no_answer(error: BaseException, phase: Phase) -> NoAnswer:
    sent = phase is Phase.WAITING
    match _root(error):
        case AddressRefused() as root:
            remedy = "set allow_private_network in the channel document if that is meant"
            return NoAnswer("address_refused", f"{root} is not a public address: {remedy}", again=False)
        case TimeoutError():
            return NoAnswer("timeout", f"out of time while {phase.value}", sent)
        case ssl.SSLCertVerificationError() as root:
            return NoAnswer("tls_failed", f"the certificate was refused: {root.verify_message}", again=False)
        case requests.RequestException() | urllib3.exceptions.HTTPError() as root:
            return NoAnswer("request_failed", f"{type(root).__name__} while {phase.value}", sent, again=False)
        case OSError() | UnicodeError() as root:
            return NoAnswer(_REASONS[phase], f"{_words(root)} while {phase.value}", sent)
        case root:
            return NoAnswer("unreadable_answer", f"{type(root).__name__} while {phase.value}", sent)


def _root(error: BaseException) -> BaseException:
    """Return what the libraries have wrapped."""
    while isinstance(error, requests.RequestException | urllib3.exceptions.HTTPError):
        inner = error.__cause__ or error.__context__
        if inner is None:
            break
        error = inner
    return error


def _words(error: BaseException) -> str:
    # Never the message: requests and urllib3 put the whole address into it.
    if isinstance(error, ssl.SSLError):
        return str(error.reason or type(error).__name__)
    return str(getattr(error, "strerror", None) or type(error).__name__)
