"""`redrive` and `cancel`: counted first, asked for, paced, told to the end, whatever comes between."""

from typing import Any

import pytest

from redeliver.core.hold import OPERATOR, Hold
from redeliver.core.notification import Key, Notification, Status, Unreadable
from redeliver.ports import Unavailable
from tests.builders import at, final, finding, record
from tests.cli.desks import Person

DEAD = Status.DEAD_LETTERED


def dead(key: str, seconds: float = -60, **changes: Any) -> Notification:
    usual: dict[str, Any] = {"dead_lettered_at": at(seconds), "last_reason": "http_503", "attempt_count": 5}
    return final(DEAD, dedup_key=key, **(usual | changes))


def pending(person: Person) -> list[str]:
    rows = person.world.memory.rows.values()
    return sorted(row.dedup_key for row in rows if isinstance(row, Notification) and row.status is Status.PENDING)


@pytest.fixture
def person() -> Person:
    person = Person()
    person.world.put(
        dead("a"), dead("b", kind="cve"), dead("late", last_reason="expired"), dead("over", finding_id="CVE-1")
    )
    person.world.put(dead("timed", last_reason="timeout"), dead("chat", channel="chat"), final(dedup_key="sent"))
    person.world.known.put(finding())
    return person


def test_by_filter_it_counts_and_does_nothing_where_nobody_can_be_asked(person: Person) -> None:
    found = person.types("redrive", "--channel", "ops")
    assert (found.exit_code, found.stdout) == (2, "")
    assert found.stderr.splitlines() == [
        "3 would be sent again; left: 1 stale (--stale sends these too),"
        " 1 finding resolved (--resolved sends these too)",
        "redeliver: nothing has been done: --yes is needed where nobody can be asked",
    ]
    assert pending(person) == []


@pytest.mark.parametrize(
    ("words", "moved"),
    [
        (["--channel", "ops"], ["a", "b", "timed"]),
        (["--channel", "ops", "--stale"], ["a", "b", "late", "timed"]),
        (["--channel", "ops", "--resolved"], ["a", "b", "over", "timed"]),
        (["--kind", "cve"], ["b"]),
        (["--reason", "timeout"], ["timed"]),
        (["--finding", "CVE-1", "--resolved"], ["over"]),
        (["--since", "2026-11-30T11:00:00Z"], ["a", "b", "chat", "timed"]),
        (["--until", "2026-11-30T11:00:00Z"], []),
    ],
    ids=str,
)
def test_a_filter_moves_what_it_takes(person: Person, words: list[str], moved: list[str]) -> None:
    answer = person.asks("redrive", *words, "--yes")
    assert pending(person) == moved
    assert (answer["moved"], answer["complete"]) == (len(moved), True)


def test_what_dies_from_the_start_of_the_run_on_is_not_taken(person: Person) -> None:
    person.world.put(dead("now", 0), dead("after", 1))
    person.types("redrive", "--channel", "ops", "--until", "2026-11-30T13:00:00Z", "--yes")
    assert pending(person) == ["a", "b", "now", "timed"]


def test_it_is_paced_by_its_rate(person: Person) -> None:
    began = person.world.clock.now
    person.types("redrive", "--channel", "ops", "--yes", "--rate", "2")
    assert (person.world.clock.now - began).total_seconds() == 1.5
    person.world.put(dead("again"), dead("again2"))
    began = person.world.clock.now
    person.types("redrive", "--channel", "ops", "--yes", "--rate", "0")
    assert person.world.clock.now == began


@pytest.mark.parametrize("words", [["ops", "a"], ["--channel", "ops", "--yes"], ["--kind", "price_drop", "--yes"]])
def test_a_hold_that_keeps_it_from_going_out_is_told(person: Person, words: list[str]) -> None:
    person.world.rows.impose("ops", Hold(at(60), OPERATOR), "n")
    person.world.rows.impose("other", Hold(at(-1), OPERATOR), "n")
    found = person.types("redrive", *words)
    assert found.exit_code == 0
    assert found.stderr.endswith(
        "ops is on hold (operator) until 2026-11-30 12:01:00 UTC, and sends nothing before; "
        "`redeliver release ops` ends that\n"
    )


@pytest.mark.parametrize("words", [["redrive", "--yes"], ["cancel", "--because", "x", "--yes"], ["list"]])
def test_a_mistyped_channel_is_wrong_usage(person: Person, words: list[str]) -> None:
    found = person.types(*words, "--channel", "opps")
    assert (found.exit_code, "--channel: there is no channel 'opps'" in found.stderr) == (2, True)


def test_a_channel_without_a_document_is_not_said_to_send(person: Person) -> None:
    person.world.rows.impose("nowhere", Hold(at(60), OPERATOR), "n")
    assert "has no document: see `redeliver channels check nowhere`" in person.types("release", "nowhere").output


def test_one_by_name_needs_no_yes(person: Person) -> None:
    found = person.types("redrive", "ops", "a")
    assert (found.exit_code, found.output) == (0, "ops a is redriven\n")
    assert pending(person) == ["a"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ops", "sent"], "nothing was done: its status is sent"),
        (["ops", "late"], "nothing was done: stale (--stale sends these too)"),
        (["ops", "over"], "nothing was done: finding resolved (--resolved sends these too)"),
        (["ops", "nope"], "there is no notification ops nope"),
    ],
)
def test_one_that_cannot_be_redriven_says_why(person: Person, words: list[str], says: str) -> None:
    found = person.types("redrive", *words)
    assert (found.exit_code, found.output) == (1, f"{says}\n")
    assert person.asks("redrive", *words, code=1)["moved"] == 0


@pytest.mark.parametrize("command", [["redrive"], ["cancel", "--because", "x"]])
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "name one record with CHANNEL KEY, or at least one of --channel, --kind"),
        (["--yes"], "at least one of"),
        (["ops"], "a whole channel is --channel ops"),
        (["ops", "a", "--kind", "cve"], "not both"),
        (["--channel", "ops", "--rate", "-1"], "--rate"),
        (["--since", "1h", "--until", "2h"], "must not be before"),
    ],
)
def test_a_filter_is_required_and_has_to_make_sense(
    person: Person, command: list[str], words: list[str], says: str
) -> None:
    found = person.types(*command, *words)
    assert (found.exit_code, found.stdout) == (2, "")
    assert says in found.stderr
    assert pending(person) == []


def test_interrupted_it_says_how_far_it_came_and_again_goes_on(person: Person) -> None:
    person.world.put(*[dead(f"k{number}") for number in range(10)])

    def on_the_third() -> None:
        if len(pending(person)) == 3:
            raise KeyboardInterrupt

    person.while_waiting = on_the_third
    found = person.types("redrive", "--channel", "ops", "--yes", "--rate", "1")
    assert found.exit_code == 130
    assert found.stdout == "3 redriven\n"
    assert "the same command again goes on" in found.stderr
    person.while_waiting = lambda: None
    assert person.asks("redrive", "--channel", "ops", "--yes")["moved"] == 10


def test_a_table_that_fails_in_the_middle_is_3_and_accounted_for(person: Person) -> None:
    class Failing:
        def __init__(self) -> None:
            self.reads = 0

        def __call__(self, *arguments: Any, **options: Any) -> Any:
            self.reads += 1
            yield [person.world.get("a")]
            if self.reads > 1:
                raise Unavailable("DynamoDB: ThrottlingException: slow")

    person.world.memory.dead_letters_of = Failing()  # type: ignore[method-assign] # a table that fails
    found = person.types("redrive", "--channel", "ops", "--yes", "--json")
    assert found.exit_code == 3
    assert found.stdout == '{"moved": 1, "left": {}, "complete": false}\n'
    assert "ThrottlingException" in found.stderr


def test_what_another_moves_meanwhile_is_in_the_account(person: Person) -> None:
    other = person.world.get("a")

    def moves_first() -> None:
        person.world.operate(command="redrive", channel="ops", dedup_keys=[other.dedup_key])

    person.world.ledger.on_write = moves_first
    answer = person.asks("redrive", "--channel", "ops", "--yes")
    assert answer["left"]["moved by another"] == 1
    assert [person.world.get(key).redrive_count for key in ("a", "b", "timed")] == [1, 1, 1]


def test_a_row_that_cannot_be_read_is_left_and_in_the_account(person: Person) -> None:
    person.world.memory.plant(Key("ops", "bad"))
    person.world.memory.park(Unreadable(Key("ops", "bad"), "x"), at(-5))
    answer = person.asks("redrive", "--channel", "ops", "--since", "2026-11-30T11:59:50Z", "--yes")
    assert answer == {"moved": 0, "left": {"unreadable": 1}, "complete": True}


def test_nothing_to_send_again_is_fine(person: Person) -> None:
    found = person.types("redrive", "--reason", "nothing")
    assert (found.exit_code, found.stderr) == (0, "0 would be sent again\n")


def test_cancel_writes_down_why(person: Person) -> None:
    person.world.put(record(dedup_key="w"), record(dedup_key="leased", claimed_until=at(60), attempt_count=1))
    found = person.types("cancel", "--channel", "ops", "--because", "false alarm", "--yes")
    assert found.exit_code == 0
    assert "1 suppressed; left: 1 being attempted" in found.stdout
    assert (person.world.get("w").status, person.world.get("w").last_reason) == (Status.SUPPRESSED, "false alarm")
    assert "its status is suppressed" in person.types("cancel", "ops", "w", "--because", "again").output


def test_cancel_needs_a_reason_of_its_own_which_is_not_the_filter(person: Person) -> None:
    person.world.put(record(dedup_key="w", last_reason="http_503"), record(dedup_key="x", last_reason="timeout"))
    assert "--because" in person.types("cancel", "--reason", "http_503").stderr
    assert person.types("cancel", "--reason", "http_503", "--because", " ", "--yes").exit_code == 2
    assert person.asks("cancel", "--reason", "http_503", "--because", "withdrawn", "--yes")["moved"] == 1
    assert pending(person) == ["x"]


def test_a_hold_is_imposed_seen_and_released(person: Person) -> None:
    found = person.types("hold", "ops", "--for", "2h", "--note", "maintenance")
    assert found.output == ("ops is on hold until 2026-11-30 14:00:00 UTC; `redeliver release ops` ends it before\n")
    state = person.world.rows.open("ops")
    assert (state.hold_until, state.hold_reason, state.hold_note) == (at(7200), OPERATOR, "maintenance")
    assert person.types("release", "ops").output == "ops is free: the next sweep sends what waits\n"
    assert person.world.rows.open("ops").hold_until is None
    assert person.types("release", "ops").output == "ops was not on hold\n"
    assert person.asks("hold", "ops", "--until", "2026-12-01T00:00:00Z", "--note", "n", code=0)["hold_until"] == (
        "2026-12-01T00:00:00Z"
    )
    assert person.asks("release", "ops") == {"channel": "ops", "released": True}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["ops", "--note", "n"], "one of --for and --until"),
        (["ops", "--note", "n", "--for", "1h", "--until", "2h"], "one of --for and --until"),
        (["ops", "--note", "n", "--for", "soon"], "30m, 2h or 3d"),
        (["ops", "--note", "n", "--for", "999999w"], "calendar"),
        (["ops", "--note", "n", "--for", "4000d"], "within the next ten years"),
        (["ops", "--note", "n", "--until", "2020-01-01T00:00:00Z"], "--until: 2020-01-01 00:00:00 UTC is past"),
        (["ops", "--note", " ", "--for", "1h"], "--note"),
        (["ops", "--for", "1h"], "--note"),
        (["opps", "--note", "n", "--for", "1h"], "there is no channel 'opps'"),
    ],
)
def test_a_hold_that_makes_no_sense_is_refused(person: Person, words: list[str], says: str) -> None:
    found = person.types("hold", *words)
    assert (found.exit_code, person.world.rows.open("ops").hold_until) == (2, None)
    assert says in found.stderr


def test_a_channel_with_a_document_can_be_held_before_its_first_notification() -> None:
    person = Person()
    assert person.types("hold", "ops", "--for", "1h", "--note", "n").exit_code == 0
    assert person.types("release", "unknown").exit_code == 2
