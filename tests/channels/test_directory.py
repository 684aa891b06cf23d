import threading
import time
from datetime import timedelta
from typing import Any

import pytest

from infra.local.endpoint import Endpoint, Step
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import FRESH, MOST_ENTRIES, STALE, Directory
from redeliver.channels.patient import SPARED
from redeliver.channels.transport import Transport
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Retry
from redeliver.ports import Mode, NotConfigured, Unavailable
from tests.contract.channel_cases import NOW, Documents, directory_of, record, single

HOOK = {"type": "webhook", "url": "https://example.com/in"}
SECOND = timedelta(seconds=1)


@pytest.fixture(scope="module")
def transport() -> Transport:
    return Transport()


def directory(source: Documents, transport: Transport) -> Directory:
    return directory_of(source, transport)


def test_a_document_is_read_anew_after_five_minutes(transport: Transport) -> None:
    source = Documents({"ops": HOOK})
    channels = directory(source, transport)
    first = channels.look_up("ops", NOW)
    assert not isinstance(first, NotConfigured)
    assert (first.mode, first.digest_seconds, first.max_age) == (Mode.IMMEDIATE, 0, None)
    assert first.weigh(record()) <= first.capacity
    assert channels.look_up("ops", NOW + FRESH - SECOND) is first
    assert source.asked == 1
    source.documents["ops"] = {**HOOK, "mode": "digest"}
    later = channels.look_up("ops", NOW + FRESH)
    assert not isinstance(later, NotConfigured)
    assert later.mode is Mode.DIGEST


@pytest.mark.parametrize("recheck", [60, 900])
def test_absence_is_believed_no_longer_than_the_recheck(recheck: int, transport: Transport) -> None:
    source = Documents({})
    channels = Directory(source, Attempts(transport), timedelta(seconds=recheck))
    believed = min(timedelta(seconds=recheck), FRESH)
    assert isinstance(channels.look_up("ops", NOW), NotConfigured)
    source.documents["ops"] = HOOK
    assert isinstance(channels.look_up("ops", NOW + believed - SECOND), NotConfigured)
    assert not isinstance(channels.look_up("ops", NOW + believed), NotConfigured)


def test_a_bad_document_says_what_is_wrong(transport: Transport) -> None:
    found = directory(Documents({"ops": {"type": "webhook"}}), transport).look_up("ops", NOW)
    assert isinstance(found, NotConfigured)
    assert found.why.startswith("url is missing")


def test_an_unavailable_source_is_spared_and_is_not_an_absent_document(transport: Transport) -> None:
    source = Documents({"ops": Unavailable("throttled")})
    channels = directory(source, transport)
    for moment in (NOW, NOW + SPARED - SECOND):
        with pytest.raises(Unavailable, match="throttled"):
            channels.look_up("ops", moment)
    assert source.asked == 1
    source.documents["ops"] = HOOK
    assert not isinstance(channels.look_up("ops", NOW + SPARED), NotConfigured)


def test_an_old_document_serves_while_the_source_is_unavailable_but_not_for_ever(transport: Transport) -> None:
    source = Documents({"ops": HOOK})
    channels = directory(source, transport)
    first = channels.look_up("ops", NOW)
    source.documents["ops"] = Unavailable("denied")
    assert channels.look_up("ops", NOW + FRESH) is first
    assert channels.look_up("ops", NOW + STALE - SECOND) is first
    with pytest.raises(Unavailable, match="denied"):
        channels.look_up("ops", NOW + STALE + SPARED)


def test_of_many_threads_one_asks(transport: Transport) -> None:
    class Slow(Documents):
        def fetch(self, name: str) -> object:
            time.sleep(0.05)
            return super().fetch(name)

    source = Slow({"ops": HOOK})
    channels = directory(source, transport)
    found: list[Any] = []
    threads = [threading.Thread(target=lambda: found.append(channels.look_up("ops", NOW))) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert source.asked == 1
    assert len({id(channel) for channel in found}) == 1


def test_names_do_not_pile_up(transport: Transport) -> None:
    source = Documents({})
    channels = directory(source, transport)
    for number in (*range(MOST_ENTRIES + 1), MOST_ENTRIES, 0):
        channels.look_up(str(number), NOW)
    assert source.asked == MOST_ENTRIES + 2  # the last name was still known, the first one not


class TestRefusedCredentials:
    """The document is read again within the same attempt."""

    def documents(self, endpoint: Endpoint, path: str) -> dict[str, Any]:
        return {"ops": {"type": "webhook", "url": endpoint.url(path), "allow_private_network": True}}

    def test_a_changed_document_is_tried_in_the_same_attempt(self, transport: Transport) -> None:
        with Endpoint() as endpoint:
            endpoint.script("/old-path", default=Step(401))
            source = Documents(self.documents(endpoint, "/old-path"))
            channels = directory(source, transport)
            channel = channels.look_up("ops", NOW)
            assert not isinstance(channel, NotConfigured)
            source.documents = self.documents(endpoint, "/new-path")
            assert channel.deliver(single()) == Delivered()
            assert (len(endpoint.requests()), source.asked) == (2, 2)
            assert channels.look_up("ops", NOW) is not channel  # the next attempt starts with the new one

    def test_the_new_document_is_tried_once(self, transport: Transport) -> None:
        with Endpoint() as endpoint:
            for path in ("/old-path", "/new-path"):
                endpoint.script(path, default=Step(403, body=f"no entry by {path}"))
            source = Documents(self.documents(endpoint, "/old-path"))
            channel = directory(source, transport).look_up("ops", NOW)
            assert not isinstance(channel, NotConfigured)
            source.documents = self.documents(endpoint, "/new-path")
            outcome = channel.deliver(single())
            assert isinstance(outcome, Retry)
            assert (outcome.reason, outcome.error) == (CREDENTIALS_REFUSED, "HTTP 403: no entry by ***")
            assert len(endpoint.requests()) == 2

    @pytest.mark.parametrize("now_there", ["the same", None, Unavailable("throttled")])
    def test_without_a_changed_document_it_stays_refused(self, now_there: Any, transport: Transport) -> None:
        with Endpoint() as endpoint:
            endpoint.script("/in", default=Step(401))
            source = Documents(self.documents(endpoint, "/in"))
            channels = directory(source, transport)
            channel = channels.look_up("ops", NOW)
            assert not isinstance(channel, NotConfigured)
            if now_there != "the same":
                source.documents["ops"] = now_there or NotConfigured("no document")
            outcome = channel.deliver(single())
            assert isinstance(outcome, Retry)
            assert outcome.reason == CREDENTIALS_REFUSED
            assert (len(endpoint.requests()), source.asked) == (1, 2)
            if now_there is None:
                assert isinstance(channels.look_up("ops", NOW), NotConfigured)

    def test_many_refused_attempts_read_once(self, transport: Transport) -> None:
        with Endpoint() as endpoint:
            endpoint.script("/in", default=Step(401, delay=0.2))
            source = Documents(self.documents(endpoint, "/in"))
            channel = directory(source, transport).look_up("ops", NOW)
            assert not isinstance(channel, NotConfigured)
            threads = [threading.Thread(target=lambda: channel.deliver(single())) for _ in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert source.asked == 2

    def test_there_must_be_time_for_it(self, transport: Transport) -> None:
        with Endpoint() as endpoint:
            endpoint.script("/in", default=Step(401))
            source = Documents(self.documents(endpoint, "/in"), longest_seconds=5.0)
            channel = directory(source, transport).look_up("ops", NOW)
            assert not isinstance(channel, NotConfigured)
            channel.deliver(single())
            assert source.asked == 1
