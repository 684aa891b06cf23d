"""What endpoints may answer, and what notifications may hold: each comes to an outcome that gives nothing away."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.channels import TYPES
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Directory
from redeliver.channels.transport import Answer, NoAnswer, Post, Transport
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import LONGEST_WAIT, Delivered, Outcome, Retry
from redeliver.core.request import InvalidRequest, parse
from redeliver.ports import Channel, NotConfigured
from tests.builders import raw
from tests.contract.channel_cases import NOW, Described, Documents, all_described, record
from tests.fuzz.strategies import JSON, ODD, SPOILS, TEXTS, Nested, examples

ALL = all_described()
OVER_HTTP = [name for name, each in ALL.items() if each.http]
STATUSES = st.sampled_from([200, 201, 204, 302, 400, 401, 403, 404, 408, 410, 413, 422, 429, 500, 503]) | st.integers(
    200, 999
)
WAITS = TEXTS | st.sampled_from(
    ["-1", "1e999", "9" * 400, "7.5", "Sun, 01 Mar 9999 12:00:30 +2359", "Mon, 1 Jan 0001 0:0:0 GMT"]
)
HEADERS = st.dictionaries(
    st.sampled_from(["Retry-After", "Location", "X-RateLimit-Reset-After", "Content-Type"]), WAITS
)


@dataclass
class Replies(Transport):
    """A transport that answers as it is told, the last answer again and again."""

    answers: list[Answer | NoAnswer]
    posts: list[Post] = field(default_factory=list)

    def post(self, post: Post, seconds_left: Callable[[], float]) -> Answer | NoAnswer:
        self.posts.append(post)
        return self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]


def channel_over(described: Described, *answers: Answer | NoAnswer) -> Channel:
    attempts = Attempts(Replies(list(answers)), sleep=lambda _: None, chance=lambda: 0.5, clock=lambda: NOW)
    documents = Documents({"ops": described.document("https://example.com")})
    found = Directory(documents, attempts, timedelta(minutes=15)).look_up("ops", NOW)
    assert not isinstance(found, NotConfigured), found.why
    return found


def sound(outcome: Outcome, described: Described) -> bool:
    """Check what may be stored and logged of an attempt."""
    if isinstance(outcome, Delivered):
        return outcome.resolve_with is None or bool(json.loads(outcome.resolve_with))
    outcome.error.encode()
    assert len(outcome.error) <= 1024
    assert not [secret for secret in described.secrets if secret in outcome.error]
    assert re.fullmatch(r"[a-z0-9_]{1,64}", outcome.reason)
    assert not isinstance(outcome, Retry) or outcome.wait is None or timedelta() <= outcome.wait <= LONGEST_WAIT
    return True


def _spoilt(value: Any, path: list[int], by: object) -> Any:
    """Return a JSON value with what lies at the end of a path replaced."""
    if not path or not isinstance(value, dict | list) or not value:
        return by
    names = sorted(value) if isinstance(value, dict) else range(len(value))
    name: Any = names[path[0] % len(names)]
    changed = _spoilt(value[name], path[1:], by)
    if isinstance(value, dict):
        return {**value, name: changed}
    return [changed if at == name else each for at, each in enumerate(value)]


def _bytes(value: object) -> bytes:
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):
        return b"[" * 9000


def bodies(described: Described) -> st.SearchStrategy[bytes]:
    """Return bodies that its provider sends, those but for one value, and any others."""
    sent = [
        step.raw or step.body.encode() for step in (described.success, *(a.step for a in described.answers.values()))
    ]
    parsed = []
    for body in sent:
        try:
            parsed.append(json.loads(body))
        except ValueError:
            continue
    nearly = st.builds(_spoilt, st.sampled_from(parsed or [{}]), st.lists(st.integers(0, 9), max_size=3), SPOILS)
    others = st.sampled_from(
        [described.echo().encode(), b"[" * 200_000, b'{"a":1' + b"0" * 5000 + b"}", b"<html>", b"\xff\xfe"]
    )
    return (
        st.sampled_from(sent)
        | nearly.map(_bytes)
        | nearly.map(_bytes)
        | JSON.map(_bytes)
        | st.binary(max_size=20)
        | others
    )


def answers(described: Described) -> st.SearchStrategy[Answer | NoAnswer]:
    """Return what may come of one request."""
    lost = st.builds(NoAnswer, st.just("timeout"), TEXTS, sent=st.booleans(), again=st.booleans())
    return (
        st.builds(Answer, STATUSES, bodies(described), HEADERS)
        | st.builds(Answer, STATUSES, bodies(described), HEADERS)
        | lost
    )


@pytest.mark.parametrize("name", OVER_HTTP)
@examples(80)
@given(data=st.data())
def test_every_answer_of_an_endpoint_comes_to_an_outcome(name: str, data: st.DataObject) -> None:
    described = ALL[name]
    told = data.draw(st.lists(answers(described), min_size=1, max_size=4))
    members = tuple(record(dedup_key=str(number)) for number in range(data.draw(st.integers(1, 2))))
    outcome = channel_over(described, *told).deliver(Dispatch(members, digest=len(members) > 1))
    assert sound(outcome, described)


@pytest.mark.parametrize("name", ALL)
@examples(60)
@given(data=st.data())
def test_every_table_of_answers_decides_about_every_answer(name: str, data: st.DataObject) -> None:
    described = ALL[name]
    for table in TYPES[described.type].answers:
        told = data.draw(answers(described))
        outcome = table.outcome(told, NOW)
        assert sound(outcome if isinstance(outcome, Delivered) else replace(outcome, error="as redacted"), described)
        assert not isinstance(told, Answer) or table.worth_retrying(told) in (True, False)


PAYLOADS = JSON | st.dictionaries(st.sampled_from(["severity", "event_action", "dedup_key", "title", "click"]), SPOILS)
LINES = st.text(st.characters(exclude_categories=["Cs", "Cc", "Zl", "Zp"]), min_size=1, max_size=300)
MARKUP = st.sampled_from(
    [*ODD, "<b>&amp;*_`[x](y)~|>#+-=.!{}", "https://e.com/a_(b)?c=*d* <@U1> @everyone", "👩‍👩‍👧" * 900, "\\" * 5000]
)


def notified(data: st.DataObject, number: int) -> Notification | None:
    """Return a record of any valid request; None if the request is not valid."""
    fields = {
        "dedup_key": f"{number} {data.draw(LINES)}"[:60],
        "subject": data.draw(LINES | MARKUP),
        "body": data.draw(st.text(max_size=200) | MARKUP),
        "payload": data.draw(st.none() | PAYLOADS),
    }
    try:
        request = parse(raw(**fields))
    except InvalidRequest:
        return None
    return record(**{name: getattr(request, name) for name in fields})


@pytest.mark.parametrize("name", OVER_HTTP)
@examples(60)
@given(data=st.data())
def test_every_valid_notification_can_be_sent(name: str, data: st.DataObject) -> None:
    described = ALL[name]
    made = [notified(data, number) for number in range(data.draw(st.integers(1, 3)))]
    members = tuple(each for each in made if each is not None)
    if not members:
        return
    channel = channel_over(described, described.answer(described.success))
    assert all(0 < channel.weigh(each) <= channel.capacity for each in members)
    outcome = channel.deliver(Dispatch(members[:1]) if len(members) == 1 else Dispatch(members, digest=True))
    assert isinstance(outcome, Delivered)
    assert sound(outcome, described)


@pytest.mark.parametrize("name", OVER_HTTP)
@pytest.mark.parametrize("depth", [50, 400, 900, 3000, 9000])
def test_a_deep_payload_is_refused_or_can_be_sent(name: str, depth: int) -> None:
    described = ALL[name]
    try:
        payload = parse(raw(payload=Nested(depth))).payload
    except InvalidRequest:
        return
    channel = channel_over(described, described.answer(described.success))
    assert isinstance(channel.deliver(Dispatch((record(payload=payload),))), Delivered)
