"""`send`, `finding`, `channels`, `audit`: what applications do by hand, and whether all is in order."""

import json
from pathlib import Path

import pytest

from redeliver.core.finding import FindingStatus
from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import Status
from redeliver.core.outcome import Delivered, Gone, Reject, Retry
from redeliver.ports import Mode
from tests.builders import NOW, at, final, raw, record
from tests.cli.desks import HOOK, Person
from tests.fakes import FakeChannel

ONE = ["--channel", "ops", "--key", "k1", "--kind", "disk_full", "--subject", "Full", "--body", "97 %"]


def lines(*requests: object) -> str:
    return "\n".join(each if isinstance(each, str) else json.dumps(each) for each in requests)


def test_one_is_sent_by_options() -> None:
    person = Person()
    more = ["--recipient", "42", "--finding", "CVE-1", "--payload", '{"a": 1}', "--deliver-by", "2027-01-01T00:00:00Z"]
    found = person.types("send", *ONE, *more)
    assert (found.exit_code, found.output) == (0, "ops k1: sent\n")
    stored = person.world.get()
    assert (stored.recipient, stored.finding_id, stored.payload) == ("42", "CVE-1", '{"a":1}')
    assert stored.deliver_by is not None
    assert (found := person.types("send", *ONE)).output == "ops k1: duplicate of one that is sent\n"
    assert found.exit_code == 0
    assert person.asks("send", *ONE)["result"] == "duplicate"


def test_one_that_cannot_be_delivered_is_1() -> None:
    person = Person()
    person.world.channel.always(Reject("too_long", "HTTP 413"))
    assert person.types("send", *ONE).exit_code == 1
    person.world.channel.always(Retry("http_503", "HTTP 503"))
    found = person.types("send", *ONE[:3], "k2", *ONE[4:])
    assert (found.exit_code, "retrying" in found.output) == (0, True)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "LINES"),
        (ONE[:6], "--subject: is required"),
        ([*ONE[:5], "Über", *ONE[6:]], "--kind: must be 1 to 64 of"),
        ([*ONE, "--payload", "{"], "--payload: must be JSON"),
        ([*ONE, "--recipient", "https://x/y"], "--recipient: "),
        (["-", *ONE], "name one"),
    ],
)
def test_a_wrong_option_is_named_and_nothing_is_sent(words: list[str], says: str) -> None:
    person = Person()
    found = person.types("send", *words, given="")
    assert (found.exit_code, found.stdout, person.functions.calls) == (2, "", [])
    assert says in found.stderr


def test_many_are_sent_a_hundred_a_call_and_accounted_for() -> None:
    person = Person()
    found = person.types("send", "-", given=lines(*[raw(dedup_key=f"k{number}") for number in range(250)], ""))
    assert (found.exit_code, found.stdout) == (0, "250 sent\n")
    assert [len(event["notifications"]) for _, event in person.functions.calls] == [100, 100, 50]
    assert found.stderr.splitlines() == ["… 100 done", "… 200 done", "… 250 done"]


def test_large_ones_are_split_before_a_call_becomes_too_large_for_lambda() -> None:
    person = Person()
    body = "\u20ac" * 21_000  # three bytes each as text, six as JSON
    found = person.types("send", "-", given=lines(*[raw(dedup_key=f"k{number}", body=body) for number in range(60)]))
    assert (found.exit_code, found.stdout) == (0, "60 sent\n")
    assert [len(json.dumps(event)) < 6_000_000 for _, event in person.functions.calls] == [True, True]


def test_lines_that_cannot_be_delivered_are_named_with_their_key_and_why() -> None:
    person = Person()
    person.world.channel.will(Delivered(), Reject("too_long", "HTTP 400: no"))
    found = person.types(
        "send", "-", given=lines(raw(), raw(dedup_key="b"), raw(dedup_key="c", deliver_by="2020-01-01T00:00:00Z"))
    )
    assert found.exit_code == 1
    assert found.stderr.splitlines()[:2] == [
        "line 2: ops b: dead_lettered: HTTP 400: no",
        "line 3: ops c: dead_lettered: expired: its deliver_by has passed",
    ]


def test_invalid_lines_are_named_by_number_and_the_others_sent() -> None:
    person = Person()
    given = lines(raw(), "{not json", "", raw(dedup_key="b", kind="K"), "[]", raw(dedup_key="c"))
    found = person.types("send", "-", given=given)
    assert found.exit_code == 1
    refused = found.stderr.splitlines()
    assert refused[0].startswith("line 2: is not JSON: ")
    assert refused[1].startswith("line 4: kind: must be 1 to 64 of")
    assert refused[2].startswith("line 5: a notification is a JSON object")
    assert sorted(found.stdout.strip().split(", ")) == ["2 sent", "3 invalid"]
    answer = person.types("send", "-", "--json", given=given)
    document = json.loads(answer.stdout)
    assert document["results"] == {"invalid": 3, "duplicate": 2}
    assert [each["line"] for each in document["refused"]] == [2, 4, 5]


def test_many_come_from_a_file_too(tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_bytes(lines(raw()).encode() + b"\n\xff\xfe\n")
    found = Person().types("send", str(file))
    assert (found.exit_code, "line 2: is not JSON" in found.stderr) == (1, True)
    assert Person().types("send", str(tmp_path / "none")).exit_code == 2


@pytest.mark.parametrize("source", ["-", "file"])
def test_a_byte_order_mark_in_front_of_a_file_is_no_part_of_its_first_line(tmp_path: Path, source: str) -> None:
    person, text = (
        Person(),
        "\ufeff" + lines(raw()) + "\n\ufeff" + lines(raw(dedup_key="of a file behind it")) + "\n\ufeff\n",
    )
    file = tmp_path / "many.jsonl"
    file.write_text(text, encoding="utf-8")
    found = person.types("send", "-" if source == "-" else str(file), given=text if source == "-" else "")
    assert (found.exit_code, found.stdout) == (0, "2 sent\n"), found.output


def test_a_payload_from_a_file_with_a_byte_order_mark_is_taken() -> None:
    person = Person()
    assert person.types("send", *ONE, "--payload", '\ufeff{"a": 1}').exit_code == 0
    assert person.world.get().payload == '{"a":1}'


def test_a_function_that_fails_is_3_and_what_was_done_is_told() -> None:
    person = Person()
    person.functions.fails = "Unavailable: DynamoDB: ThrottlingException"
    found = person.types("send", *ONE)
    assert (found.exit_code, "ThrottlingException; see its log" in found.stderr) == (3, True)
    found = person.types("send", "-", "--json", given=lines(raw()))
    assert (found.exit_code, json.loads(found.stdout)["results"]) == (3, {})


def test_news_of_a_finding_answers_with_what_retention_did() -> None:
    person = Person()
    person.world.send(finding_id="CVE-1")
    found = person.types("finding", "CVE-1", "resolved", "--changed-at", "2026-11-30T12:00:00Z")
    assert (found.exit_code, found.output) == (
        0,
        "CVE-1 is resolved since 2026-11-30 12:00:00 UTC: "
        "1 more records may be forgotten in time, 0 are kept again, 0 were kept already\n",
    )
    known = person.world.known.get("CVE-1")
    assert known is not None
    assert known.status is FindingStatus.RESOLVED
    person.world.clock.pass_by(1)
    assert person.asks("finding", "CVE-1", "active")["released"] == 1
    old = person.types("finding", "CVE-1", "resolved", "--changed-at", "2026-11-30T11:00:00Z")
    assert old.output == "ignored: CVE-1 is active since 2026-11-30 12:00:01 UTC, which is newer\n"
    assert (
        person.asks("finding", "CVE-1", "resolved", "--changed-at", "2026-11-30T11:00:00Z")["stored"]["status"]
        == "active"
    )
    assert person.types("finding", "CVE-1", "open").exit_code == 2


def test_the_channels_are_listed_with_their_secrets_masked() -> None:
    person = Person()
    person.documents.stored |= {
        "chat": {"type": "telegram", "bot_token": "123456:ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefgh", "chat_id": "-1001"},
        "bad": {"type": "webhook", "url": "ftp://x"},
        "held": {**HOOK, "mode": "digest"},
    }
    person.world.put(final(channel="renamed"), final())
    person.world.rows.impose("held", Hold(at(60), OPERATOR), "n")
    found = person.types("channels")
    assert found.exit_code == 0
    for secret in ("secret-path", "whsec_", "ABCDEFGH", "ftp://x"):
        assert secret not in found.output + person.types("channels", "--json").output
    listed = {each["channel"]: each for each in person.asks("channels")}
    assert listed["ops"] == {
        "channel": "ops",
        "type": "webhook",
        "mode": "immediate",
        "target": "url=https://example.com/*** secret=***",
        "state": "ready",
    }
    assert listed["chat"]["target"] == "bot_token=*** chat_id=-1001"
    assert listed["chat"]["state"] == "ready, never used"
    assert listed["bad"]["state"].startswith("not configured: url must be an https:// address")
    assert listed["held"]["state"] == "on hold: operator for 1 min"
    assert listed["renamed"]["state"].startswith("not configured: there is no SSM parameter")


def test_documents_that_cannot_be_read_are_3() -> None:
    person = Person()
    person.documents.stored = {}
    assert "there are none: put a document into SSM, /redeliver/dev/channels/<name>" in person.types("channels").output
    person.documents.down = True
    assert person.types("channels", "check", "ops").exit_code == 3


@pytest.mark.parametrize(
    ("document", "code", "says"),
    [
        (HOOK, 0, "valid, webhook, immediate, url=https://example.com/*** secret=***"),
        ({"type": "webhook"}, 1, "not valid: url is missing: it must be an https:// address"),
        ({"type": "web"}, 1, "not valid: type must be one of apprise, discord"),
        ({**HOOK, "urls": "x"}, 1, "not valid: unknown field 'urls'"),
        ([], 1, "not valid: the channel document must be a JSON object"),
        ({**HOOK, "enabled": False}, 1, "enabled is false"),
    ],
)
def test_a_document_is_checked_stored_or_not(tmp_path: Path, document: object, code: int, says: str) -> None:
    person = Person()
    person.documents.stored["ops"] = document
    file = tmp_path / "doc.json"
    file.write_text(json.dumps(document))
    for words in (["ops"], ["--file", str(file)]):
        found = person.types("channels", "check", *words)
        assert found.exit_code == code, found.output
        assert says in found.output
        assert person.asks("channels", "check", *words, code=code)["valid"] is (code == 0)


def test_a_document_with_a_byte_order_mark_is_as_good_as_without(tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    file.write_text(json.dumps(HOOK), encoding="utf-8-sig")
    assert Person().types("channels", "check", "--file", str(file)).exit_code == 0


def test_a_file_that_is_no_json_says_where_and_shows_nothing(tmp_path: Path) -> None:
    file = tmp_path / "doc.json"
    file.write_text('{"type": "webhook",\n "secret": whsec_AAAA}')
    found = Person().types("channels", "check", "--file", str(file))
    assert (found.exit_code, "line 2, column" in found.stderr, "AAAA" in found.output) == (2, True, False)
    file.write_text("[" * 200_000)
    assert "nested too deeply" in Person().types("channels", "check", "--file", str(file)).stderr
    file.write_bytes(b"\xff\xfe")
    assert "UTF-8" in Person().types("channels", "check", "--file", str(file)).stderr
    assert Person().types("channels", "check").exit_code == 2


def test_a_test_notification_arrives() -> None:
    person = Person()
    found = person.types("channels", "test", "ops")
    assert (found.exit_code, found.output) == (0, "ops: it arrived\n")
    person.types("channels", "test", "ops")
    keys = {each[0] for each in person.world.channel.sent}
    assert len(keys) == 2  # each has a key of its own
    assert person.asks("channels", "test", "ops", "--recipient", "7")["arrived"] is True
    assert person.types("channels", "test", "ops", "--recipient", "https://x").exit_code == 2


def test_a_test_that_did_not_arrive_is_told_as_it_is_stored() -> None:
    person = Person()
    person.world.channel.will(Retry("http_503", "HTTP 503: down"))
    found = person.asks("channels", "test", "ops", code=1)
    assert found["status"] == "suppressed"
    assert found.keys() == {"channel", "dedup_key", "result", "status", "arrived", "why"}


@pytest.mark.parametrize(
    ("outcome", "says", "after"),
    [
        (Retry("http_503", "HTTP 503: down"), "it did not arrive: http_503: HTTP 503: down", Status.SUPPRESSED),
        (Gone("http_410", "HTTP 410: gone"), "it did not arrive: http_410: HTTP 410: gone", Status.DEAD_LETTERED),
    ],
)
def test_a_test_that_does_not_arrive_says_what_the_endpoint_answered(
    outcome: Retry | Gone, says: str, after: Status
) -> None:
    person = Person()
    person.world.channel.always(outcome)
    found = person.types("channels", "test", "ops")
    assert (found.exit_code, says in found.output) == (1, True)
    [record_] = person.world.memory.rows.values()
    assert getattr(record_, "status", None) is after  # nothing of it goes out later


def test_a_test_of_a_digest_waits_for_its_sweep() -> None:
    person = Person()
    person.world.add_channel("daily", FakeChannel(mode=Mode.DIGEST))
    person.documents.stored["daily"] = {**HOOK, "mode": "digest"}
    person.while_waiting = person.world.sweep
    found = person.types("channels", "test", "daily")
    assert (found.exit_code, found.stdout) == (0, "daily: it arrived\n")
    person.while_waiting = lambda: None
    found = person.types("channels", "test", "daily", "--wait", "10")
    assert (found.exit_code, "no sweep has taken it in time" in found.output) == (1, True)
    person.world.rows.impose("daily", Hold(at(9999), OPERATOR), "n")
    found = person.types("channels", "test", "daily", "--wait", "0")
    assert (found.exit_code, "on hold (operator); `redeliver release daily`" in found.output) == (1, True)


def test_a_test_of_a_channel_without_a_document_says_what_is_missing() -> None:
    person = Person()
    found = person.types("channels", "test", "nope")
    assert (found.exit_code, "there is no channel 'nope'" in found.stderr) == (2, True)
    assert not person.functions.calls  # it would have a row for good
    person.world.rows.open("nope")
    found = person.types("channels", "test", "nope")
    assert found.exit_code == 1
    assert "the channel is not configured: there is no SSM parameter /redeliver/dev/channels/nope" in found.output


def test_the_audit_of_what_is_in_order_and_of_what_is_not() -> None:
    person = Person()
    for number in range(150):
        person.world.send(dedup_key=f"k{number}")
    found = person.types("audit")
    assert (found.exit_code, found.output) == (0, "150 rows were looked at; none breaks a rule\n")
    person.world.put(record(dedup_key="bad\x1b[31m", expires_at=at(9)))
    found = person.types("audit")
    assert found.exit_code == 1
    assert r"ops bad\x1b[31m" in found.output
    assert "151 rows were looked at; 1 breach" in found.output
    answer = person.asks("audit", code=1)
    assert answer["rows"] == 151
    assert answer["breaches"] == [
        {"rule": "what is open is not forgotten", "subject": "ops bad\x1b[31m", "detail": "status pending"}
    ]
    assert person.world.clock.now == NOW
