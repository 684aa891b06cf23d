"""No text of any kind makes a message that its provider would refuse for its length."""

from collections.abc import Iterator

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from infra.local.endpoint import Endpoint
from redeliver.channels.transport import Transport
from redeliver.core.digest import split
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Delivered
from tests.contract.channel_cases import Described, all_described, channel_of, record, scripted

CASES = [
    pytest.param(described, look, id="-".join(part for part in (described.name, look) if part))
    for described in all_described().values()
    for look in described.looks
]
LONGEST_SUBJECT, LONGEST_BODY = 1024, 65_536  # bytes, of a request: SPEC 4
# What one code point, or one address, becomes most by: escapes of HTML, Markdown, JSON and JSON within JSON.
UNITS = (
    st.sampled_from(["x", "&", "<", '"', "\\", "*", "_", ":", "'", "\n", "\x01", "\x7f", "x ", "1. ", " \n", "\r\n"])
    | st.sampled_from(
        ["\u00e9", "\u20ac", "\u0e01\u0e33", "\u0915\u094d\u0937", "\U0001f680", "\U0001f469\u200d\U0001f680"]
    )
    | st.sampled_from(["https://x.example/a ", "https://x.example/?a&b ", f"https://x.example/{'&' * 980} "])
    | st.just(f"https://x.example/{'a' * 1700}( ")
)
TEXTS = st.lists(st.tuples(UNITS | st.text(max_size=4), st.integers(1, LONGEST_BODY)), min_size=1, max_size=4)
Parts = list[tuple[str, int]]


def text(parts: Parts, longest: int) -> str:
    """Return the parts, each as often as it says, up to so many bytes."""
    whole = "".join(unit * min(times, longest) for unit, times in parts)[:longest]
    return whole.encode("utf-8", "surrogatepass")[:longest].decode("utf-8", "ignore")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def patched() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


TRANSPORT = Transport()


def records(subject: Parts, body: Parts, count: int) -> list[Notification]:
    one_line = text(subject, LONGEST_SUBJECT).replace("\n", " ").replace("\r", " ")
    return [
        record(dedup_key=str(number), kind="k" * 64, subject=f"s{one_line}", body=text(body, LONGEST_BODY // number))
        for number in range(1, count + 1)
    ]


@pytest.mark.parametrize(("described", "look"), CASES)
@settings(deadline=None, max_examples=12)
@given(subject=TEXTS, body=TEXTS, count=st.integers(1, 6), digest=st.booleans())
@example(subject=[("&", 1024)], body=[(f"https://x.example/{'&' * 980} ", 3)], count=1, digest=False)
@example(subject=[('"', 1024)], body=[('"', 65_536)], count=1, digest=False)
@example(subject=[("\u00e9", 512)], body=[("\u0e01\u0e33", 65_536)], count=1, digest=False)
@example(subject=[("\\", 1024)], body=[("\\", 65_536)], count=6, digest=True)
def test_every_message_fits(
    described: Described,
    look: str,
    endpoint: Endpoint,
    patched: pytest.MonkeyPatch,
    subject: Parts,
    body: Parts,
    count: int,
    digest: bool,
) -> None:
    for name, value in described.environment(endpoint.url()).items():
        patched.setenv(name, value)
    scripted(endpoint, described, default=described.success)
    channel = channel_of(described.document(endpoint.url(), **described.looks[look]), TRANSPORT, budget=10.0)
    members = records(subject, body, count)
    for part in split(members, channel.weigh, channel.capacity) if digest else [members[:1]]:
        assert isinstance(channel.deliver(Dispatch(tuple(part), digest=digest)), Delivered)
    assert all(map(described.fits, endpoint.requests()))
