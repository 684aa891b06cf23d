"""Settings from any environment, and events of any shape at the function that keeps expiry right."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from functions.retention import app
from redeliver.core.finding import FindingStatus
from redeliver.retain import InvalidFinding, parse_finding
from redeliver.settings import InvalidSetting, Settings, read
from tests.builders import NOW, news
from tests.fuzz.strategies import JSON, SPOILS, TEXTS, examples, spoiled
from tests.test_settings import NUMBERS
from tests.world import World

VARIABLES = [*NUMBERS, "RETRY_JITTER", "RETENTION_DAYS", "STAGE", "CHANNELS_TABLE", "CHANNELS_FILE", "SEND_QUEUE_URL"]
VALUES = (
    TEXTS
    | st.integers().map(str)
    | st.floats().map(str)
    | st.sampled_from(["1_0", "٣", "1e3", "-0", "0x10", "nan", "inf", "9" * 5000, " 5 "])
)


@examples(300)
@given(st.dictionaries(st.sampled_from(VARIABLES), VALUES, max_size=5), st.booleans() | VALUES)
def test_settings_are_read_or_the_variable_is_named(environment: dict[str, str], table: Any) -> None:
    try:
        found = read(environment if table is False else {**environment, "NOTIFICATIONS_TABLE": str(table)})
    except InvalidSetting as error:
        named = str(error).split(":")[0]
        refusal = str(error)
    else:
        assert isinstance(found, Settings)
        assert 1 <= found.sweep_concurrency <= 256
        assert found.policy.base_delay <= found.policy.max_delay
        assert 0 <= found.policy.jitter <= 1
        return
    assert named in (*environment, "NOTIFICATIONS_TABLE", "RETRY_BASE_DELAY_SECONDS")
    refusal.encode()


NEWS = JSON | spoiled(news()) | st.just(news())


@examples(300)
@given(NEWS)
def test_news_of_a_finding_is_valid_or_refused_by_the_name_of_its_field(detail: Any) -> None:
    try:
        found = parse_finding(detail, NOW)
    except InvalidFinding as error:
        refusal = str(error)
    else:
        assert found.status in FindingStatus
        assert len(found.changed_at) == len("2026-11-30T12:00:00.000000000Z")
        found.finding_id.encode()
        return
    refusal.encode()
    assert len(refusal) < 400
    assert refusal.split(":")[0] in ("detail", "finding_id", "status", "changed_at") or "unknown field" in refusal


DETAIL_TYPES = st.sampled_from([app.FINDING_CHANGED, app.FINDING_CHANGED, "Scheduled Event", ""]) | SPOILS
ENVELOPES = st.fixed_dictionaries(
    {"detail-type": DETAIL_TYPES, "detail": NEWS}, optional={"source": SPOILS, "version": SPOILS, "id": SPOILS}
)


class Context:
    """Lambda's."""

    aws_request_id = "1"

    def get_remaining_time_in_millis(self) -> int:
        return 60_000


@examples(150)
@given(ENVELOPES)
def test_an_event_of_the_bus_is_taken_in_or_refused_before_anything_is_written(event: dict[str, Any]) -> None:
    world = World()
    try:
        report = app._run(world.retain(), event, Context())
    except InvalidFinding:
        assert not world.known.rows
    else:
        assert set(report.as_json().values()) == {0}


BY_TTL = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
RECORDS = st.builds(
    lambda name, identity, keys, more: {
        "eventName": name,
        "userIdentity": identity,
        "dynamodb": {"Keys": keys, **more},
    },
    st.sampled_from(["REMOVE", "REMOVE", "INSERT", "MODIFY"]),
    st.sampled_from([BY_TTL, BY_TTL, None, {"type": "IAMUser", "principalId": "AIDA"}]),
    st.builds(lambda channel, key: {"channel": {"S": channel}, "dedup_key": {"S": key}}, TEXTS, TEXTS),
    st.dictionaries(st.sampled_from(["OldImage", "NewImage", "SizeBytes"]), SPOILS),
)


@examples(150)
@given(st.lists(RECORDS, max_size=4))
def test_of_a_stream_what_ttl_removed_is_counted_whatever_it_was(records: list[dict[str, Any]]) -> None:
    world = World()
    report = app._run(world.retain(), {"Records": records}, Context())
    assert report.removed == sum(r["eventName"] == "REMOVE" and r["userIdentity"] == BY_TTL for r in records)
    assert world.telemetry.counted("forgotten") == report.removed
