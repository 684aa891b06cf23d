import contextlib
import gzip
import ipaddress
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.connection import Address
from redeliver.channels.transport import Answer, NoAnswer, Post, Transport

BUDGET = 0.6
SLACK = 0.5


def loopback(host: str, port: int) -> list[Address]:
    """Resolve every name to this machine."""
    return [(socket.AF_INET, ("127.0.0.1", port))]


def post(
    transport: Transport, url: str, *, allow_private: bool = True, budget: float = BUDGET, body: bytes = b"{}"
) -> Answer | NoAnswer:
    """Make a request, and see that it ended in time."""
    began = time.monotonic()
    ends = began + budget
    result = transport.post(Post(url, body, {}, allow_private), lambda: ends - time.monotonic())
    assert time.monotonic() - began < budget + SLACK
    return result


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A PEM file with a key and a certificate for `hook.test`, its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "hook.test")])
    now = datetime.now(UTC)
    usage = x509.KeyUsage(True, False, False, False, False, True, False, False, False)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("hook.test")]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
    path = tmp_path_factory.mktemp("tls") / "authority.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        + certificate.public_bytes(serialization.Encoding.PEM)
    )
    return path


@pytest.fixture
def secure(authority: Path) -> Iterator[Endpoint]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority)
    with Endpoint(context=context) as running:
        yield running


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


class TestTls:
    """Names are checked and the budget holds under TLS too."""

    def url(self, endpoint: Endpoint, host: str = "hook.test") -> str:
        return f"https://{host}:{endpoint.port}/in"

    def test_the_name_is_kept_although_the_address_is_connected_to(self, secure: Endpoint, authority: Path) -> None:
        transport = Transport(authorities=str(authority), resolve=loopback)
        for _ in range(2):
            assert post(transport, self.url(secure), budget=2.0) == Answer(200, b"", {"Content-Length": "0"})
        assert secure.requests()[0].headers["Host"] == f"hook.test:{secure.port}"

    def test_another_name_is_refused(self, secure: Endpoint, authority: Path) -> None:
        transport = Transport(authorities=str(authority), resolve=loopback)
        result = post(transport, self.url(secure, "other.test"), budget=2.0)
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent, result.again) == ("tls_failed", False, False)
        assert "certificate" in result.error

    def test_an_unknown_authority_is_refused(self, secure: Endpoint) -> None:
        result = post(Transport(resolve=loopback), self.url(secure), budget=2.0)
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent, result.again) == ("tls_failed", False, False)

    def test_a_server_without_tls_fails(self, endpoint: Endpoint) -> None:
        result = post(Transport(resolve=loopback), self.url(endpoint), budget=2.0)
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent) == ("tls_failed", False)

    @pytest.mark.parametrize(
        "step",
        [Step(failure="hang"), Step(drip=0.05, drip_headers=True), Step(100)],
        ids=["silence", "a byte every so often", "interim answers"],
    )
    def test_the_budget_holds(self, step: Step, secure: Endpoint, authority: Path) -> None:
        transport = Transport(authorities=str(authority), resolve=loopback)
        secure.script("/in", default=step)
        result = post(transport, self.url(secure))
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent) == ("timeout", True)

    def test_the_budget_holds_in_the_handshake(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:  # the kernel accepts, nobody speaks
            result = post(Transport(resolve=loopback), f"https://hook.test:{silent.getsockname()[1]}/")
        assert result == NoAnswer("timeout", "out of time while setting up TLS")


EARLY = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\nContent-Length: 5\r\n\r\n"
INTERIM = {
    "100": b"HTTP/1.1 100 Continue\r\n\r\n",
    "102": b"HTTP/1.1 102 Processing\r\n\r\n",
    "103 with headers": EARLY,
    "one that nobody has defined": b"HTTP/1.1 199 Soon\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n",
    "several": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n" + EARLY,
    "very many": EARLY * 1000,
}


class TestInterimResponses:
    """RFC 9110, section 15.2: a client reads on after any of them."""

    @pytest.mark.parametrize("in_pieces", [False, True])
    @pytest.mark.parametrize("tls", [False, True])
    @pytest.mark.parametrize("interim", INTERIM.values(), ids=INTERIM)
    def test_the_final_answer_counts_and_the_connection_is_used_again(
        self, interim: bytes, tls: bool, in_pieces: bool, authority: Path
    ) -> None:
        transport = Transport(authorities=str(authority), resolve=loopback)
        with Counting(before=interim, pieces=7 if in_pieces else 0, certificate=authority if tls else None) as server:
            for _ in range(2):
                assert post(transport, server.url, budget=3.0) == Answer(200, b"done", {"Content-Length": "4"})
            assert server.connections == 1

    @pytest.mark.parametrize("tls", [False, True])
    def test_interim_responses_without_end_are_out_of_time(self, tls: bool, authority: Path) -> None:
        transport = Transport(authorities=str(authority), resolve=loopback)
        with Counting(before=EARLY, endless=True, certificate=authority if tls else None) as server:
            result = post(transport, server.url)
        assert result == NoAnswer("timeout", "out of time while waiting for the answer", sent=True)

    def test_an_interim_response_that_the_connection_ends_after_is_no_answer(self) -> None:
        with Counting(before=EARLY, answer=b"", keep=False) as server:
            result = post(Transport(), server.url)
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent) == ("connection_lost", True)

    def test_another_protocol_was_never_asked_for(self) -> None:
        with Counting(answer=b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n") as server:
            results = [post(Transport(), server.url) for _ in range(2)]
            assert server.connections == 2  # what comes after a 101 is no HTTP
        assert results == [NoAnswer("unreadable_answer", "HTTP 101 is no final answer", sent=True)] * 2


class TestAddresses:
    """What is checked is what is connected to."""

    @pytest.mark.parametrize(
        "address",
        ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::1", "fe80::1%eth0", "::ffff:10.0.0.1", "fd00:ec2::254"],
    )
    def test_special_addresses_are_refused(self, address: str) -> None:
        host = address.partition("%")[0]
        family = socket.AF_INET6 if ipaddress.ip_address(host).version == 6 else socket.AF_INET
        public = (socket.AF_INET, ("1.1.1.1", 443))
        transport = Transport(resolve=lambda _, port: [public, (family, (address, port))])
        result = post(transport, "https://rebinding.test/", allow_private=False)
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent, result.again) == ("address_refused", False, False)
        assert address in result.error
        assert "allow_private_network" in result.error

    @pytest.mark.parametrize(
        "host", ["127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1", "[::1]", "[::ffff:127.0.0.1]"]
    )
    def test_odd_spellings_of_loopback_are_refused(self, host: str) -> None:
        result = post(Transport(resolve=lambda _, port: loopback(_, port)), f"https://{host}/", allow_private=False)
        assert isinstance(result, NoAnswer)
        assert result.reason == "address_refused"

    def test_plain_http_is_refused(self, endpoint: Endpoint) -> None:
        result = post(Transport(), endpoint.url("/in"), allow_private=False)
        assert isinstance(result, NoAnswer)
        assert not result.sent
        assert endpoint.requests() == []

    def test_a_connection_made_for_a_private_channel_serves_no_other(self, secure: Endpoint, authority: Path) -> None:
        transport = Transport(authorities=str(authority), resolve=loopback)
        url = f"https://hook.test:{secure.port}/in"
        assert isinstance(post(transport, url, budget=2.0), Answer)
        refused = post(transport, url, allow_private=False)
        assert isinstance(refused, NoAnswer)
        assert refused.reason == "address_refused"

    def test_the_name_is_resolved_once_for_a_connection(self, endpoint: Endpoint) -> None:
        asked: list[str] = []

        def resolve(host: str, port: int) -> list[Address]:
            asked.append(host)
            return loopback(host, port)

        transport = Transport(resolve=resolve)
        for _ in range(3):
            assert isinstance(post(transport, f"http://hook.test:{endpoint.port}/in"), Answer)
        assert asked == ["hook.test"]

    def test_a_dead_address_leaves_time_for_the_next(self, endpoint: Endpoint) -> None:
        with socket.create_server(("127.0.0.2", 0), backlog=0) as full, socket.create_connection(full.getsockname()):
            dead = full.getsockname()
            transport = Transport(resolve=lambda host, port: [(socket.AF_INET, dead), *loopback(host, port)])
            assert isinstance(post(transport, f"http://hook.test:{endpoint.port}/in", budget=1.0), Answer)


class TestNames:
    """Looking up a name can fail or hang."""

    @pytest.mark.parametrize("error", [socket.gaierror(-2, "Name or service not known"), UnicodeError("idna")])
    def test_a_name_that_cannot_be_found(self, error: Exception) -> None:
        def resolve(host: str, port: int) -> list[Address]:
            raise error

        result = post(Transport(resolve=resolve), "https://nowhere.test/")
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent, result.again) == ("name_failed", False, True)

    def test_a_resolver_that_hangs(self) -> None:
        released = threading.Event()

        def resolve(host: str, port: int) -> list[Address]:
            released.wait(5)
            return []

        result = post(Transport(resolve=resolve), "https://slow.test/")
        released.set()
        assert result == NoAnswer("timeout", "out of time while looking up the name")

    def test_a_name_without_addresses(self) -> None:
        result = post(Transport(resolve=lambda *_: []), "https://empty.test/")
        assert isinstance(result, NoAnswer)
        assert not result.sent


class TestConnections:
    """Kept, but not for too long."""

    def opened(self, transport: Transport, url: str, pause: float = 0.0) -> list[Any]:
        results = []
        for _ in range(2):
            results.append(post(transport, url))
            time.sleep(pause)
        return results

    def test_a_connection_is_used_again(self) -> None:
        with Counting() as server:
            self.opened(Transport(), server.url)
            assert server.connections == 1

    def test_one_that_was_idle_for_long_is_not(self) -> None:
        with Counting() as server:
            self.opened(Transport(longest_idle=0.0), server.url)
            assert server.connections == 2

    def test_one_that_the_server_closed_costs_nothing(self) -> None:
        with Counting(keep=False) as server:
            results = self.opened(Transport(), server.url, pause=0.05)
            assert [result.status for result in results] == [200, 200]
            assert server.connections == 2

    def test_a_reset_before_the_body_had_left_has_delivered_nothing(self) -> None:
        with Counting(reset=True) as server:
            result = post(Transport(), server.url, body=b"x" * 30_000_000, budget=3.0)
        assert isinstance(result, NoAnswer)
        assert (result.reason, result.sent) == ("connection_lost", False)

    def test_no_body_is_kept_beyond_64_kib(self, endpoint: Endpoint) -> None:
        endpoint.script("/in", default=Step(body="x" * 100_000))
        result = post(Transport(), endpoint.url("/in"))
        assert isinstance(result, Answer)
        assert len(result.body) == 64 * 1024

    def test_a_body_is_not_decompressed(self, endpoint: Endpoint) -> None:
        endpoint.script("/in", default=Step(raw=gzip.compress(b"x"), headers={"Content-Encoding": "gzip"}))
        result = post(Transport(), endpoint.url("/in"))
        assert isinstance(result, Answer)
        assert gzip.decompress(result.body) == b"x"

    @pytest.mark.parametrize("url", ["gopher://x/", "http://", "https://[::1", "https://a..b/", "https://x:99999/", ""])
    def test_an_impossible_address_is_a_value(self, url: str) -> None:
        result = post(Transport(), url)
        assert isinstance(result, NoAnswer)
        assert not result.sent

    def test_the_environment_is_not_asked_for_a_proxy(
        self, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
        assert isinstance(post(Transport(), endpoint.url("/in")), Answer)

    def test_libraries_do_not_log_addresses(self, endpoint: Endpoint, caplog: pytest.LogCaptureFixture) -> None:
        caplog.set_level(logging.DEBUG)
        endpoint.script("/t0ken", Step(headers={"a b": "c", " odd": "x"}), Step(status=503))
        transport = Transport()
        for _ in range(2):
            post(transport, endpoint.url("/t0ken"))
        assert "t0ken" not in caplog.text


class Counting:
    """A server that counts connections and gives each request the same answer, or resets as soon as it can.

    `before` comes ahead of the answer, without end if `endless`; all of it in `pieces` of so many bytes.
    """

    def __init__(
        self,
        *,
        keep: bool = True,
        reset: bool = False,
        before: bytes = b"",
        answer: bytes = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone",
        endless: bool = False,
        pieces: int = 0,
        certificate: Path | None = None,
    ) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context = None
        if certificate is not None:
            self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._context.load_cert_chain(certificate)
        self._keep = keep
        self._reset = reset
        self._before, self._reply, self._endless, self._pieces = before, answer, endless, pieces
        self.connections = 0
        port = self._listener.getsockname()[1]
        self.url = f"https://hook.test:{port}/" if certificate else f"http://127.0.0.1:{port}/"

    def __enter__(self) -> "Counting":
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with contextlib.suppress(OSError):  # clients go away
            if self._context is not None:
                connection = self._context.wrap_socket(connection, server_side=True)
            with connection:
                self._talk(connection)

    def _talk(self, connection: socket.socket) -> None:
        if self._reset:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
            connection.recv(10)
            return
        received = b""
        while data := connection.recv(65536):
            received += data
            if not received.endswith(b"{}"):
                continue
            received = b""
            while self._endless:
                connection.sendall(self._before)
            whole = self._before + self._reply
            size = self._pieces or len(whole)
            for start in range(0, len(whole), size):
                connection.sendall(whole[start : start + size])
            if not self._keep:
                return
