"""A source of documents that is silent, slow or throttled costs a run little, and old documents serve on (SPEC 9)."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.config import Config
from botocore.session import Session

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import FRESH, STALE, Directory
from redeliver.channels.patient import PATIENCE, PERIOD, SPARED
from redeliver.channels.sources import ParameterStore, SourceUnavailable
from redeliver.channels.transport import Transport
from redeliver.core.outcome import Retry
from redeliver.ports import Channel, NotConfigured, Unavailable
from tests.builders import NOW, record
from tests.contract.channel_cases import Documents, single
from tests.fakes import Clock
from tests.world import World

HOOK = {"type": "webhook", "url": "https://example.com/in"}
NAMES = [f"ops-{number:03}" for number in range(200)]
SILENCE = SourceUnavailable("SSM did not answer: ReadTimeoutError")
SECOND = timedelta(seconds=1)


@dataclass
class Taking(Documents):
    """A source that takes its time; all of it fails with `down`, if that is given."""

    clock: Clock = field(default_factory=Clock)
    seconds: float = 0.0
    down: Exception | None = None

    def fetch(self, name: str) -> object:
        self.clock.pass_by(self.seconds)
        if self.down is not None:
            self.asked += 1
            raise self.down
        return super().fetch(name)


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


@dataclass
class Run:
    """A directory over a source, and a clock that passes only while the source is asked."""

    source: Taking
    directory: Directory

    @property
    def clock(self) -> Clock:
        return self.source.clock

    def look_up(self, *names: str) -> list[Channel | NotConfigured | Unavailable]:
        """Look channels up as a sweep does: one after the other, with the moment at which it began."""
        now = self.clock.now
        return [self._one(name, now) for name in names]

    def _one(self, name: str, now: datetime) -> Channel | NotConfigured | Unavailable:
        try:
            return self.directory.look_up(name, now)
        except Unavailable as error:
            return error


@pytest.fixture
def run(transport: Transport) -> Run:
    source = Taking(dict.fromkeys(NAMES, HOOK))
    attempts = Attempts(transport, monotonic=lambda: source.clock.now.timestamp(), clock=source.clock)
    return Run(source, Directory(source, attempts, timedelta(seconds=900)))


def test_silence_is_waited_for_once_and_not_once_a_channel(run: Run) -> None:
    run.source.seconds, run.source.down = 2.8, SILENCE
    found = run.look_up(*NAMES)
    assert all(isinstance(each, Unavailable) for each in found)
    assert "SSM did not answer" in str(found[-1])
    assert run.source.asked == 1
    assert run.clock.now - NOW == timedelta(seconds=2.8)


@pytest.mark.parametrize("age", [FRESH, STALE - SECOND])
def test_old_documents_serve_at_once_while_the_source_is_silent(run: Run, age: timedelta) -> None:
    first = run.look_up(*NAMES)
    run.clock.now += age
    run.source.asked, run.source.seconds, run.source.down = 0, 2.8, SILENCE
    found = run.look_up(*NAMES)
    assert all(old is new for old, new in zip(first, found, strict=True))
    assert run.source.asked == 1


def test_older_ones_do_not(run: Run) -> None:
    run.look_up(*NAMES)
    run.clock.now += STALE
    run.source.down = SILENCE
    assert all(isinstance(each, Unavailable) for each in run.look_up(*NAMES))


def test_channels_with_a_document_are_found_behind_others_without(run: Run) -> None:
    (known,) = run.look_up(NAMES[-1])
    run.clock.now += FRESH
    run.source.seconds, run.source.down = 2.8, SILENCE
    assert run.look_up(*NAMES)[-1] is known
    assert run.source.asked == 2


@pytest.mark.parametrize(("later", "asked"), [(SPARED - SECOND, 1), (SPARED, 2)])
def test_a_silent_source_is_asked_again_so_long_after_it_was_given_up(run: Run, later: timedelta, asked: int) -> None:
    run.source.seconds, run.source.down = 2.8, SILENCE
    run.look_up(NAMES[0])
    run.clock.now += later
    run.look_up(NAMES[1])
    assert run.source.asked == asked


def test_what_answers_again_is_used_again(run: Run) -> None:
    run.source.down = SILENCE
    run.look_up(NAMES[0])
    run.source.down = None
    run.clock.now += SPARED
    assert not any(isinstance(each, Unavailable) for each in run.look_up(*NAMES))


def test_a_name_that_is_refused_costs_itself_only(run: Run) -> None:
    run.source.documents[NAMES[0]] = Unavailable("SSM answered AccessDeniedException")
    refused, *others = run.look_up(*NAMES)
    assert isinstance(refused, Unavailable)
    assert not any(isinstance(each, Unavailable | NotConfigured) for each in others)
    asked = run.source.asked
    run.look_up(NAMES[0])
    assert run.source.asked == asked  # it is spared, too
    run.clock.now += SPARED
    run.look_up(NAMES[0])
    assert run.source.asked == asked + 1


def test_a_slow_source_leaves_time_to_deliver_and_is_read_to_the_end_by_the_next_runs(run: Run) -> None:
    run.source.seconds = 1.3
    known = 0
    for _ in range(50):
        began = run.clock.now
        found = run.look_up(*NAMES)
        assert run.clock.now - began <= PATIENCE + timedelta(seconds=1.3)
        assert sum(not isinstance(each, Unavailable) for each in found) >= known
        known = sum(not isinstance(each, Unavailable) for each in found)
        run.clock.now = began + timedelta(minutes=1)
    assert known == len(NAMES)


@pytest.mark.parametrize(("later", "asked"), [(PERIOD - SECOND, 0), (PERIOD, 1)])
def test_patience_comes_back_with_the_next_period(run: Run, later: timedelta, asked: int) -> None:
    run.source.seconds = PATIENCE.total_seconds()
    run.look_up(NAMES[0])
    run.source.asked, run.source.seconds = 0, 0
    run.clock.now = NOW + later
    run.look_up(NAMES[1])
    assert run.source.asked == asked


class Waiting(Documents):
    """A source that answers when it is told to."""

    def __init__(self) -> None:
        super().__init__({"ops": HOOK})
        self.begun, self.answer = threading.Event(), threading.Event()
        self.answer.set()

    def fetch(self, name: str) -> object:
        self.begun.set()
        assert self.answer.wait(10)
        return super().fetch(name)


def test_while_one_thread_renews_a_document_the_old_one_serves_the_others(transport: Transport) -> None:
    source = Waiting()
    directory = Directory(source, Attempts(transport), timedelta(seconds=900))
    old = directory.look_up("ops", NOW)
    source.begun.clear()
    source.answer.clear()
    renewing = threading.Thread(target=lambda: directory.look_up("ops", NOW + FRESH))
    renewing.start()
    assert source.begun.wait(10)
    assert directory.look_up("ops", NOW + FRESH) is old  # and does not wait: the source has not answered
    source.answer.set()
    renewing.join()
    assert directory.look_up("ops", NOW + FRESH) is not old
    assert source.asked == 2


def test_refused_credentials_do_not_wait_for_a_silent_source_once_a_channel(transport: Transport) -> None:
    with Endpoint() as endpoint:
        endpoint.script("/in", default=Step(401))
        names, clock = NAMES[:20], Clock()
        documents: dict[str, Any] = {
            name: {"type": "webhook", "url": endpoint.url("/in"), "allow_private_network": True} for name in names
        }
        source = Taking(documents, clock=clock)
        attempts = Attempts(transport, clock=clock)
        directory = Directory(source, attempts, timedelta(seconds=900))
        channels = [directory.look_up(name, clock.now) for name in names]
        source.asked, source.down = 0, SILENCE
        for channel in channels:
            assert not isinstance(channel, NotConfigured)
            assert isinstance(channel.deliver(single()), Retry)
        assert source.asked == 1


# over HTTP, to a server that never answers


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    with Endpoint() as endpoint:
        endpoint.script("/", default=Step(failure="hang"))
        monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint.url())
        yield endpoint


def store() -> ParameterStore:
    """Return the real one; its client gives up sooner, so that the test does."""
    config = Config(connect_timeout=1, read_timeout=0.1, retries={"total_max_attempts": 2, "mode": "standard"})
    client: Any = Session().create_client("ssm", config=config)
    return ParameterStore("dev", lambda: client)


def test_a_server_that_never_answers_hears_of_one_channel(silent: Endpoint, transport: Transport) -> None:
    directory = Directory(store(), Attempts(transport, monotonic=lambda: 0.0), timedelta(seconds=900))
    for name in NAMES:
        with pytest.raises(Unavailable, match="did not answer"):
            directory.look_up(name, NOW)
    assert len(silent.requests()) == 2  # the client's two tries


@pytest.mark.parametrize(
    ("step", "about"),
    [
        (Step(500, body='{"__type": "InternalServerError"}'), SourceUnavailable),
        (Step(503, body="<html>busy</html>"), SourceUnavailable),
        (Step(400, body='{"__type": "ThrottlingException"}'), SourceUnavailable),
        (Step(200, body="<html>sign in</html>"), SourceUnavailable),
        (Step(200, body="{}"), SourceUnavailable),
        (Step(200, body="[1]"), SourceUnavailable),
        (Step(200, body="5"), SourceUnavailable),
        (Step(200, body='{"Parameter": null}'), SourceUnavailable),
        (Step(200, body='{"Parameter": {}}'), SourceUnavailable),
        (Step(200, body='{"Parameter": {"Value": null}}'), SourceUnavailable),
        (Step(200, body='{"Parameter": {"Value": "{}", "LastModifiedDate": "soon"}}'), SourceUnavailable),
        (Step(500, body="[1]"), SourceUnavailable),
        (Step(failure="close"), SourceUnavailable),
        (Step(failure="garbage", body="\0" * 1000), SourceUnavailable),
        (Step(400, body='{"__type": "AccessDeniedException"}'), Unavailable),
        (Step(400, body='{"__type": "InvalidKeyId"}'), Unavailable),
    ],
    ids=lambda value: f"{value.status} {value.body[:40]}" if isinstance(value, Step) else "",
)
def test_an_answer_is_about_the_source_or_about_the_name(
    silent: Endpoint, step: Step, about: type[Unavailable]
) -> None:
    silent.script("/", default=step)
    with pytest.raises(Unavailable) as caught:
        store().fetch("ops")
    assert type(caught.value) is about


def test_a_sweep_delivers_all_channels_whose_documents_it_has(transport: Transport) -> None:
    with Endpoint() as endpoint:
        document = {"type": "webhook", "url": endpoint.url("/in"), "allow_private_network": True}
        source = Taking(dict.fromkeys(NAMES[:25], document))
        world = World(clock=source.clock, concurrency=8)
        attempts = Attempts(transport, monotonic=lambda: source.clock.now.timestamp(), clock=source.clock)
        world.channels = Directory(source, attempts, timedelta(seconds=900))  # type: ignore[assignment] # the real one
        world.put(*(record(channel=name) for name in NAMES[:25]), record(channel="new"))
        for name in NAMES[:25]:
            world.channels.look_up(name, source.clock.now)
        source.clock.now += FRESH
        source.seconds, source.down = 2.8, SILENCE
        began = source.clock.now
        assert world.sweep().sent == 25
        assert source.clock.now - began == timedelta(seconds=2.8)
        assert [line["channel"] for line in world.telemetry.of("channel_unavailable")] == ["new"]
