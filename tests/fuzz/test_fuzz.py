"""Whatever comes in: a clear refusal or a valid record, never an unhandled exception, never half of something."""

import json
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from redeliver.channels import TYPES
from redeliver.channels.document import InvalidDocument, read_document
from redeliver.channels.transport import Answer
from redeliver.core.notification import Key, Notification, Unreadable
from redeliver.core.outcome import LONGEST_WAIT, Delivered, Gone, Reject, Retry
from redeliver.core.request import InvalidRequest, parse
from redeliver.intake import direct, message
from redeliver.operator.commands import InvalidCommand
from redeliver.retain import InvalidFinding, parse_finding
from redeliver.settings import InvalidSetting, read
from redeliver.store import items
from tests.builders import NOW, record
from tests.contract.channel_cases import all_described
from tests.fuzz.shapes import ANYTHING, BODIES, CHANGES, KEYS, NEWS, REQUEST_FIELDS, REQUESTS, TEXT, spoiled
from tests.stores import dynamo
from tests.world import World

EXAMPLE = "tk_AgQdq7mVBoFD37zQVN29RhuMzNIz2"  # of ntfy's own documents; what is wrong is told with it
fuzzed = settings(
    max_examples=40,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


class Aside:
    """Keeps what is refused."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []

    def put(self, body: str, reason: str) -> None:
        self.messages.append((body, reason))


@fuzzed
@given(REQUESTS)
def test_a_request_is_valid_or_refused_by_the_name_of_its_field(value: Any) -> None:
    try:
        request = parse(value)
    except InvalidRequest as error:
        problem = str(error)
    else:
        assert request.dedup_key
        return
    assert len(problem) < 400
    assert not isinstance(value, dict) or any(name in problem for name in (*REQUEST_FIELDS, "unknown field"))


@fuzzed
@given(st.lists(REQUESTS, max_size=3) | ANYTHING)
def test_a_call_answers_each_and_stores_what_it_says(listed: Any) -> None:
    world = World()
    answers = direct(world.accept, {"notifications": listed}, world.deadline())["results"]
    assert isinstance(answers, list)
    json.dumps(answers, ensure_ascii=False).encode()
    stored = [one for one in answers if one["status"] is not None]
    assert {Key(one["channel"], one["dedup_key"]) for one in stored} == set(world.memory.rows)
    assert all(one["error"] for one in answers if one["result"] == "invalid")


@fuzzed
@given(BODIES)
def test_a_message_is_stored_or_put_aside_with_its_reason(body: str) -> None:
    world, aside = World(), Aside()
    answer = message(world.accept, body, aside, world.deadline())
    if answer.result == "invalid":
        ((kept, reason),) = aside.messages
        assert kept == body
        assert reason
        assert not world.memory.rows
    else:
        assert len(world.memory.rows) == 1


@fuzzed
@given(NEWS | ANYTHING)
def test_news_is_taken_or_refused_before_anything_is_written(detail: Any) -> None:
    world = World()
    try:
        parse_finding(detail, NOW)
    except InvalidFinding:
        with pytest.raises(InvalidFinding, match=r"finding_id|status|changed_at|detail"):
            world.retain().news(detail)
        assert not world.known.rows
    else:
        world.retain().news(detail)
        assert len(world.known.rows) == 1


@fuzzed
@given(CHANGES)
def test_any_row_is_a_record_or_says_what_is_wrong(changes: dict[str, Any]) -> None:
    item = {**KEYS, **items.to_item(record()), **changes, **KEYS}
    row = items.from_item({name: value for name, value in item.items() if value is not None})
    if isinstance(row, Notification):
        again = items.from_item({**KEYS, **items.to_item(row)})
        assert again == row
    else:
        assert row.key == Key("ops", "k1")
        assert row.problem


@settings(fuzzed, max_examples=15)
@given(CHANGES.filter(lambda c: "S" in (c.get("lane") or {"S": 1}) and "N" in (c.get("next_attempt_at") or {"N": 1})))
def test_no_row_of_the_table_stops_a_sweep(changes: dict[str, Any]) -> None:
    with dynamo() as store:
        world = World(store=store)
        item = {**KEYS, **items.to_item(record()), **changes, **KEYS}
        with suppress(
            store.client.exceptions.ClientError, UnicodeEncodeError, ValueError
        ):  # DynamoDB would not take it
            store.client.put_item(
                TableName="NotificationsTable", Item={name: value for name, value in item.items() if value is not None}
            )
        world.put(record(dedup_key="good"))
        assert world.sweep().failed_items == 0
        assert world.get("good").sent_at is not None
        before = store.ledger.get(Key("ops", "k1"))
        world.sweep(1)
        if isinstance(before, Unreadable):
            assert store.ledger.get(Key("ops", "k1")) == before


@pytest.mark.parametrize("name", [name for name, each in all_described().items() if each.http])
@fuzzed
@given(
    status=st.integers(200, 599),
    body=st.binary(max_size=300) | ANYTHING.map(lambda value: json.dumps(value).encode()),
    wait=TEXT | st.sampled_from(["-1", "nan", "1e400", "9" * 500, "Wed, 21 Oct 2015 07:28:00 GMT"]),
)
def test_any_answer_of_a_provider_comes_to_something(name: str, status: int, body: bytes, wait: str) -> None:
    for answers in TYPES[all_described()[name].type].answers:
        outcome = answers.outcome(Answer(status, body, {"Retry-After": wait}), NOW)
        assert isinstance(outcome, Delivered | Retry | Reject | Gone)
        if isinstance(outcome, Delivered):
            assert status < 300
        if isinstance(outcome, Retry) and outcome.wait is not None:
            assert timedelta() <= outcome.wait <= LONGEST_WAIT


@pytest.mark.parametrize("name", all_described())
@fuzzed
@given(data=st.data())
def test_a_channel_document_is_valid_or_refused_without_its_secrets(name: str, data: st.DataObject) -> None:
    described = all_described()[name]
    valid = described.document("https://example.com")
    value = data.draw(spoiled(st.just(valid), sorted(valid)) | ANYTHING)
    try:
        document = read_document(value, TYPES)
        TYPES[document.type](document)
    except InvalidDocument as error:
        problem = str(error).replace(EXAMPLE, "")
    else:
        return
    assert not any(secret in problem for secret in described.secrets)
    assert len(problem) < 1000


@fuzzed
@given(
    spoiled(
        st.just({"command": "redrive", "channel": "ops", "dedup_keys": ["k"]}), ["command", "channel", "dedup_keys"]
    )
)
def test_a_command_is_carried_out_or_refused(command: dict[str, Any]) -> None:
    with suppress(InvalidCommand):
        json.dumps(World().operate(**{"command": None, **command}))


NUMBERS = (
    "RETRY_BASE_DELAY_SECONDS", "RETRY_MAX_DELAY_SECONDS", "RETRY_JITTER", "MAX_DELIVERY_ATTEMPTS", "RETENTION_DAYS",
    "SWEEP_MAX_RECORDS", "SWEEP_CONCURRENCY", "NOT_CONFIGURED_RECHECK_SECONDS", "STAGE", "CHANNELS_FILE",
)  # fmt: skip


@fuzzed
@given(st.dictionaries(st.sampled_from(NUMBERS), TEXT | st.integers().map(str)))
def test_an_environment_is_read_or_the_variable_is_named(environment: dict[str, str]) -> None:
    try:
        read({"NOTIFICATIONS_TABLE": "n", **environment})
    except InvalidSetting as error:
        problem = str(error)
    else:
        return
    assert any(name in problem for name in NUMBERS)
