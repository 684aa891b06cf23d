"""What an operator sees and does without a command line: look through the records, read one's story, send it again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from redeliver.core.notification import Key, Notification, Row, Unreadable
from redeliver.core.policy import Policy
from redeliver.deliver import described
from redeliver.operator.bulk import NOT_IN_STATE, OVERTAKEN, UNREADABLE, to_redrive
from redeliver.operator.paging import Cursor, Page, Timeline, page
from redeliver.operator.ports import Register
from redeliver.operator.search import Filter
from redeliver.operator.story import Facts, Story, story
from redeliver.ports import ChannelState, ChannelStates, Lanes, Ledger, Telemetry


@dataclass(frozen=True, slots=True)
class Told:
    """A row and its story."""

    row: Row | None
    story: Story


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Answers an operator; every dependency is given."""

    ledger: Ledger
    lanes: Lanes
    timeline: Timeline
    states: ChannelStates
    register: Register
    telemetry: Telemetry
    policy: Policy
    clock: Callable[[], datetime]

    def channels(self) -> Sequence[ChannelState]:
        """Return the channels, by name."""
        return self.states.all()

    def page(self, channels: Sequence[ChannelState], wanted: Filter, cursor: Cursor) -> Page:
        """Return a page of the records that a filter takes."""
        names = [state.channel for state in channels]
        return page(self.timeline, self.lanes, names, wanted, cursor, self.clock())

    def told(self, key: Key) -> Told:
        """Return what there is to tell of a notification."""
        row = self.ledger.get(key)
        finding = row.finding_id if isinstance(row, Notification) else None
        facts = Facts(
            now=self.clock(),
            policy=self.policy,
            state=next((state for state in self.states.all() if state.channel == key.channel), None),
            finding=None if finding is None else self.register.get(finding),
        )
        return Told(row, story(row, facts))

    def redrive(self, key: Key, *, insisted: bool) -> str | None:
        """Send a dead letter again; return why not, if so: what is stale or resolved goes only if it is insisted."""
        row = self.ledger.get(key)
        if row is None or isinstance(row, Unreadable):
            return NOT_IN_STATE if row is None else UNREADABLE
        after = to_redrive(self.register, stale_too=insisted, resolved_too=insisted)(row, self.clock())
        if isinstance(after, str):
            return after
        if not self.ledger.replace(row, after):
            return OVERTAKEN
        self.telemetry.log("notification_redriven", **described(after), redrive_count=after.redrive_count)
        return None
