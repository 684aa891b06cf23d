"""What each channel type sends, as its reader sees it.

`pytest tests/channels/test_golden.py --update-golden` writes it anew: look at what has changed before it is committed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from infra.local.endpoint import Endpoint
from redeliver.channels.transport import Transport
from redeliver.core.digest import split
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Delivered
from tests.contract.channel_cases import Described, all_described, channel_of, record, scripted

GOLDEN = Path(__file__).parent / "golden"
SEVERITIES = ("critical", "high", "medium", "low", "info", None)
KINDS = ("cve", "image_update", "price_drop")
HOSTILE_SUBJECT = "<b>bold</b> *stars* _under_ `tick` [link](https://evil.example) & <!channel> @everyone"
HOSTILE_BODY = (
    "</p><script>alert(1)</script>\n<https://evil.example|click> <@U123> @here\n"
    "```\ncode\n``` ~~gone~~ ||hidden||\n"
    "# heading\n> quote\n- item\n{{template}} ${var} %s \\ \\\\ \" '\n"
    "\u202egnp.exe zero\u200bwidth \u00e9 e\u0301 \U0001f469\u200d\U0001f680 \U0001f1ea\U0001f1fa"
)


def numbered(count: int) -> list[Notification]:
    """Return so many notifications of some kinds and severities, every third without a body."""
    return [
        record(
            dedup_key=f"key-{number}",
            kind=KINDS[number % len(KINDS)],
            subject=f"Event {number} of {count}",
            body="" if number % 3 == 2 else f"What happened, number {number}.\nhttps://example.com/events/{number}",
            payload=_payload(SEVERITIES[number % len(SEVERITIES)]),
        )
        for number in range(1, count + 1)
    ]


def _payload(severity: str | None) -> str | None:
    return None if severity is None else f'{{"severity":"{severity}"}}'


@dataclass(frozen=True)
class Scene:
    """Some notifications, one by one or as digests."""

    records: Sequence[Notification]
    digest: bool = False


LONG = " ".join(f"word{number:06}" for number in range(5500))  # just below the 64 KB that a body may have
SCENES: Mapping[str, Scene] = {
    "single": Scene(
        [
            record(
                subject="log4j 2.14 is vulnerable",
                body="Update to 2.17.\nhttps://example.com/CVE-2021-44228",
                payload='{"severity":"critical"}',
            )
        ]
    ),
    "subject-only": Scene([record(subject="Bike 90 €", body="", kind="price_drop")]),
    "hostile": Scene([record(subject=HOSTILE_SUBJECT, body=HOSTILE_BODY)]),
    "over-long": Scene([record(subject="Much to tell", body=LONG)]),
    "digest-1": Scene(numbered(1), digest=True),
    "digest-3": Scene(numbered(3), digest=True),
    "digest-200": Scene(numbered(200), digest=True),
    "digest-hostile": Scene([record(subject=HOSTILE_SUBJECT, body=HOSTILE_BODY), *numbered(1)], digest=True),
}
CASES = [
    pytest.param(described, look, scene, id="-".join(part for part in (described.name, look, scene) if part))
    for described in all_described().values()
    for look in described.looks
    for scene in SCENES
]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as running:
        yield running


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


@pytest.mark.parametrize(("described", "look", "scene"), CASES)
def test_is_rendered_as_before(
    described: Described,
    look: str,
    scene: str,
    endpoint: Endpoint,
    transport: Transport,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in described.environment(endpoint.url()).items():
        monkeypatch.setenv(name, value)
    scripted(endpoint, described, default=described.success)
    channel = channel_of(described.document(endpoint.url(), **described.looks[look]), transport, budget=10.0)
    records, digest = SCENES[scene].records, SCENES[scene].digest
    parts = split(records, channel.weigh, channel.capacity) if digest else [(each,) for each in records]
    for members in parts:
        assert isinstance(channel.deliver(Dispatch(tuple(members), digest=digest)), Delivered)
    received = endpoint.requests()
    assert all(map(described.fits, received))
    base = endpoint.url()
    shown = [abridged(described.text(each).replace(base, "https://endpoint.example")) for each in received]
    text = "".join(f"=== request {number} of {len(shown)}\n{each}\n" for number, each in enumerate(shown, 1))
    golden = GOLDEN / described.type / f"{'-'.join(part for part in (described.variant, look, scene) if part)}.txt"
    if request.config.getoption("--update-golden"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8", newline="")
    assert golden.read_bytes().decode() == text


def abridged(text: str) -> str:
    """Return the text without the middle of a long run of words."""
    return re.sub(r"((?:word\d{6}\W+){20})(?:word\d{6}\W+)+((?:word\d{6}\W+){20})", r"\1[and so on] \2", text)


def test_no_golden_file_is_left_over() -> None:
    wanted = {
        GOLDEN / d.type / f"{'-'.join(part for part in (d.variant, look, scene) if part)}.txt"
        for d in all_described().values()
        for look in d.looks
        for scene in SCENES
    }
    assert set(GOLDEN.rglob("*.txt")) == wanted
