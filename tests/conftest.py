"""What holds for every test: no real account, no network beyond this machine."""

import ipaddress
import os
import signal
import sys

import pytest

# Enough for Python, its temporary files and the programs some tests start; everything else is replaced.
KEPT = ("PATH", "HOME", "TMPDIR", "LANG", "LC_ALL")
FAKE = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_SESSION_TOKEN": "testing",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_REGION": "eu-central-1",
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_EC2_METADATA_DISABLED": "true",
}


# A shell starts its background jobs with Ctrl-C ignored, and so would be every program that a test starts and stops.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="write what is rendered into tests/channels/golden")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let one process have all tests of the deployed stack, since it is deployed once for each."""
    for item in items:
        if "stack" in getattr(item, "fixturenames", ()) and item.path.parent.name == "stack":
            item.add_marker(pytest.mark.xdist_group("stack"))


class NetworkUsedError(Exception):
    """A test reached for the network; not an OSError, so that no error handling of the code under test hides it."""


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole environment of a test: whatever the developer's shell holds is not in it."""
    for name in set(os.environ) - set(KEPT):
        monkeypatch.delenv(name)
    for name, value in FAKE.items():
        monkeypatch.setenv(name, value)


def _refuse_the_network(event: str, arguments: tuple[object, ...]) -> None:
    if event == "socket.getaddrinfo":
        host = arguments[0]
    elif event in {"socket.connect", "socket.sendto"}:
        address = arguments[1]
        # A path or bytes: a Unix socket.
        host = address[0] if isinstance(address, tuple) else None
    else:
        return
    if host is not None and not _may_be_asked_for(event, host):
        raise NetworkUsedError(f"{event} {host!r}")


def _may_be_asked_for(event: str, host: object) -> bool:
    name = host.decode() if isinstance(host, bytes) else str(host)
    try:
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        return name in {"localhost", ""}
    # Looking up what is an address already asks nobody.
    return event == "socket.getaddrinfo" or address.is_loopback


sys.addaudithook(_refuse_the_network)
