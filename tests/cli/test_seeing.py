"""`status`, `list`, `show`: what people read, what programs get, and that nothing in a record does anything."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest

from redeliver.core.finding import FindingStatus
from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import Key, Notification, Status
from redeliver.core.outcome import Retry
from tests.builders import NOW, at, final, finding, record
from tests.cli.desks import Counted, Person

DEAD = Status.DEAD_LETTERED
HOSTILE = "k\x1b[31m\x07[red]x[/red]:boom:\u202egnp\r\nnext"
SHOWN = r"k\x1b[31m\x07[red]x[/red]:boom:\u202egnp\r\nnext"


def dead(key: str, seconds: float = 0, **changes: Any) -> Notification:
    return final(DEAD, dedup_key=key, dead_lettered_at=at(seconds), last_reason="http_503", **changes)


def lines(output: str) -> list[str]:
    return [line.rstrip() for line in output.strip().splitlines()]


def test_the_status_for_people() -> None:
    person = Person(deliveries=Counted({"ops": 12}))
    person.world.put(record(dedup_key="a", next_attempt_at=at(-3661)), dead("d"), dead("e"), final(channel="quiet"))
    person.world.put(record(dedup_key="r", status=Status.RETRYING, attempt_count=1, next_attempt_at=at(60)))
    person.world.rows.impose("ops", Hold(at(7200), OPERATOR), "upgrade")
    found = person.types("status")
    assert found.exit_code == 0
    assert lines(found.output) == [
        "channel   pending   retrying   due now   oldest due   dead letters   sent, 1 h   held",
        "─" * 107,
        "ops             1          1         1   1 h 1 min               2          12   operator for 2 h (upgrade)",
        "quiet           0          0         0                           0           ?",
        "",
        "Not everything gets through; look closer with: redeliver list --channel ops",
    ]


def test_the_status_for_programs() -> None:
    person = Person(deliveries=Counted({"ops": 12}))
    person.world.put(record(next_attempt_at=at(-9)))
    person.world.rows.impose("ops", Hold(at(60), OPERATOR), "n")
    [found] = person.asks("status")
    assert found == {
        "channel": "ops",
        "pending": 1,
        "retrying": 0,
        "due": 1,
        "oldest_due_seconds": 9,
        "dead_letters": 0,
        "sent_last_hour": 12,
        "hold_until": "2026-11-30T12:01:00Z",
        "hold_reason": "operator",
        "hold_note": "n",
        "complete": True,
    }


def test_the_status_of_what_gets_through_and_of_nothing() -> None:
    person = Person()
    assert "no notification has ever come" in person.types("status").output
    person.world.put(final())
    assert "Everything gets through." in person.types("status").output


@pytest.mark.parametrize(("seconds", "well"), [(0, True), (100, True), (151, False), (9999, False)])
def test_what_no_sweep_takes_does_not_get_through(seconds: float, well: bool) -> None:
    person = Person()
    person.world.put(record(next_attempt_at=at(-seconds)))
    assert ("Everything gets through." in person.types("status").output) is well


def test_every_channel_in_trouble_is_named() -> None:
    person = Person()
    for name, keys in (("a", "1"), ("b", "12"), ("fine", "")):
        person.world.put(*(dead(key, channel=name) for key in keys), final(channel=name, dedup_key="x"))
    assert "redeliver list --channel b (and of a)\n" in person.types("status").output


def test_a_channel_that_nobody_knows_is_wrong_usage_that_names_those_that_are() -> None:
    person = Person()
    person.world.put(final())
    found = person.types("status", "--channel", "opps")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr == "redeliver: --channel: no notification has ever come for 'opps': known are ops\n"


def test_watching_looks_again_until_it_is_interrupted() -> None:
    person = Person()
    person.world.put(record())

    def third_time() -> None:
        person.world.send(dedup_key=f"new {person.world.clock.now}")
        if person.world.clock.now >= NOW + timedelta(seconds=21):
            raise KeyboardInterrupt

    person.while_waiting = third_time
    found = person.types("status", "--watch", "7")
    assert found.exit_code == 130
    assert found.stdout.count("channel   pending") == 3


def test_the_list_is_newest_first_and_says_that_there_is_more() -> None:
    person = Person()
    person.world.put(dead("old", 1), dead("new", 3), final(dedup_key="sent", sent_at=at(2)))
    found = person.types("list", "--limit", "2")
    assert lines(found.stdout) == [
        "since (UTC)           channel   key    kind         status          attempts   reason     next attempt",
        "─" * 102,
        "2026-11-30 12:00:03   ops       new    price_drop   dead_lettered          1   http_503",
        "2026-11-30 12:00:02   ops       sent   price_drop   sent                   1",
    ]
    assert found.stderr == "there are more than 2: --limit, --all, or a narrower filter\n"
    assert person.types("list", "--limit", "3").stderr == ""


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--channel", "chat"], ["c"]),
        (["--status", "sent"], ["s"]),
        (["--status", "sent", "--status", "retrying"], ["s", "r"]),
        (["--kind", "cve"], ["d"]),
        (["--reason", "http_503"], ["d"]),
        (["--finding", "CVE-1"], ["c"]),
        (["--since", "2026-11-30T12:00:05Z"], ["s"]),
        (["--until", "2026-11-30T13:00:01+01:00", "--channel", "ops"], ["d", "r"]),
        (["--all", "--channel", "ops"], ["d", "r", "s"]),
    ],
    ids=str,
)
def test_the_list_takes_filters(words: list[str], expected: list[str]) -> None:
    person = Person()
    person.world.put(dead("d", 1, kind="cve"), final(dedup_key="s", sent_at=at(5)))
    person.world.put(
        record(dedup_key="r", status=Status.RETRYING), record(dedup_key="c", channel="chat", finding_id="CVE-1")
    )
    found = person.types("list", "--json", *words)
    assert found.exit_code == 0, found.output
    assert [json.loads(line)["dedup_key"] for line in found.stdout.splitlines()] == expected


def test_a_moment_may_be_so_long_ago() -> None:
    person = Person()
    hour_ago = datetime.now().astimezone() - timedelta(hours=1)
    person.world.put(final(dedup_key="then", sent_at=hour_ago.replace(microsecond=0)))
    assert "then" in person.types("list", "--since", "2h").output
    assert "nothing found" in person.types("list", "--since", "30m").output
    assert "then" in person.types("list", "--since", "3d", "--until", "30m").output


def test_a_list_of_any_size_comes_in_pieces_with_one_heading() -> None:
    person = Person()
    person.world.put(*[dead(f"k{number:04}") for number in range(1201)])
    found = person.types("list", "--all")
    assert found.stdout.count("since (UTC)") == 1
    assert sum("http_503" in line for line in found.stdout.splitlines()) == 1201
    assert len(person.types("list", "--all", "--json").stdout.splitlines()) == 1201


def test_a_row_that_cannot_be_read_is_listed_with_its_problem() -> None:
    person = Person()
    person.world.put(final(channel="ops"))
    person.world.memory.plant(Key("ops", "bad"))
    assert "status has a value that no record has" in person.types("list").output
    first = json.loads(person.types("list", "--json").stdout.splitlines()[0])
    assert (first["dedup_key"], first["parked"]) == ("bad", False)
    assert "cannot be read as a record" in person.types("show", "ops", "bad").output
    assert person.asks("show", "ops", "bad")["record"] is None


def test_hostile_text_does_nothing_but_be_read() -> None:
    person = Person()
    hostile = {"subject": HOSTILE, "body": HOSTILE, "last_error": HOSTILE, "last_reason": HOSTILE, "recipient": HOSTILE}
    person.world.put(final(DEAD, dedup_key=HOSTILE, kind=HOSTILE, **hostile))
    person.world.rows.impose("ops", Hold(at(60), OPERATOR), HOSTILE)
    texts = [
        person.types(*words).output
        for words in (["status"], ["list"], ["show", "ops", HOSTILE, "--body"], ["list", "--all"])
    ]
    for text in texts:
        assert SHOWN in text
        assert all(character.isprintable() or character == "\n" for character in text)
    for words in (["status"], ["list"], ["show", "ops", HOSTILE, "--body"]):
        answer = person.types(*words, "--json").stdout
        assert answer.isascii()
        assert HOSTILE in str(json.loads(answer)) or repr(HOSTILE)[1:-1] in str(json.loads(answer))


def test_the_story_for_people() -> None:
    person = Person()
    person.world.channel.always(Retry("http_503", "HTTP 503: try later", status=503))
    person.world.send(dedup_key="disk", subject="web-1 is full", body="97 %\nof /", finding_id="CVE-1")
    person.world.known.put(finding(FindingStatus.ACTIVE))
    found = person.types("show", "ops", "disk", "--body")
    assert found.exit_code == 0
    assert lines(found.output) == [
        "ops disk",
        "status     retrying since 2026-11-30 12:00:00",
        "kind       price_drop",
        "subject    web-1 is full",
        "finding    CVE-1",
        "asked for  2026-11-30 12:00:00",
        "attempts   1 of 5",
        "",
        "attempt ended (UTC)   outcome   reason     code   took",
        "─" * 54,
        "2026-11-30 12:00:00   failed    http_503    503   0 ms",
        "",
        "next             the next attempt is at 2026-11-30 12:05:00 UTC; 4 of 5 attempts are left",
        "why not sent     its last attempt failed: http_503: HTTP 503: try later",
        "what would help  mend the endpoint, or wait",
        "kept             it is kept until it has ended",
        "",
        "97 %",
        "of /",
    ]


def test_the_story_for_programs_has_the_texts_only_if_asked() -> None:
    person = Person()
    person.world.channel.always(Retry("http_503", "HTTP 503", status=503))
    person.world.send(payload={"a": 1})
    found = person.asks("show", "ops", "k1")
    assert found["attempts"] == [
        {"at": "2026-11-30T12:00:00Z", "outcome": "retry", "reason": "http_503", "status_code": 503, "milliseconds": 0}
    ]
    assert (found["record"]["status"], "body" in found["record"]) == ("retrying", False)
    record_ = person.asks("show", "ops", "k1", "--body")["record"]
    assert (record_["body"], record_["payload"]) == ("Now 99", '{"a":1}')


def test_what_is_not_there_or_forgotten_is_exit_code_1() -> None:
    person = Person()
    found = person.types("show", "ops", "nope")
    assert (found.exit_code, "no such notification" in found.output) == (1, True)
    person.world.put(final(expires_at=at(9)))
    assert person.types("show", "ops", "k1").exit_code == 0
    person.world.clock.pass_by(9)
    assert person.types("show", "ops", "k1").exit_code == 1


def test_the_story_looks_the_document_up_as_the_functions_do() -> None:
    person = Person()
    person.world.put(record(), record(channel="gone"))
    del person.documents.stored["ops"]
    assert "there is no SSM parameter /redeliver/dev/channels/ops" in person.types("show", "ops", "k1").output
    person.documents.stored["ops"] = {"type": "webhook"}
    assert "url is missing: it must be an https:// address" in person.types("show", "ops", "k1").output
    person.documents.down = True
    found = person.types("show", "ops", "k1")
    assert (found.exit_code, "could not be found out: SSM answered AccessDenied" in found.stderr) == (0, True)


def test_a_channels_own_age_limit_is_known() -> None:
    person = Person()
    person.documents.stored["ops"] = {"type": "webhook", "url": "https://example.com/h", "max_age": 60}
    person.world.put(record(created_at=at(-61)))
    assert "parks it instead of sending it: expired" in person.types("show", "ops", "k1").output


def test_the_story_of_a_mistyped_channel_is_wrong_usage_and_of_a_mistyped_key_a_story() -> None:
    person = Person()
    person.world.put(final())
    found = person.types("show", "opps", "k1")
    assert (found.exit_code, "CHANNEL: there is no channel 'opps'" in found.stderr) == (2, True)
    found = person.types("show", "ops", "nothing")
    assert (found.exit_code, "there is no such notification" in found.stdout) == (1, True)
