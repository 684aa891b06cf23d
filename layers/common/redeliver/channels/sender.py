"""What a channel type has to provide."""

from collections.abc import Mapping
from typing import Protocol

from redeliver.channels.answers import Answers
from redeliver.channels.attempt import Attempt
from redeliver.channels.document import Document, Field
from redeliver.core.notification import Dispatch, Notification
from redeliver.core.outcome import Outcome


class Sender(Protocol):
    """A way out made from one channel document; called from many threads."""

    @property
    def capacity(self) -> int:
        """Return how much `weigh` may add up to in one digest."""

    def weigh(self, record: Notification) -> int:
        """Return what a record takes of a digest's capacity; never more than all of it."""

    def send(self, dispatch: Dispatch, attempt: Attempt) -> Outcome:
        """Send, and say what it came to. Error texts may be raw: whoever holds the channel redacts them.

        Never longer than `attempt.left()`; what is not HTTP of ours runs inside `bounded.within`.
        """


class SenderType(Protocol):
    """A channel type: its own fields of a document, and how to make a sender from one."""

    @property
    def fields(self) -> Mapping[str, Field]:
        """Return the fields of a document beside the common ones."""

    @property
    def answers(self) -> tuple[Answers, ...]:
        """Return what the answers of its endpoints mean: `docs/channels.md` is made from them."""

    def __call__(self, document: Document) -> Sender:
        """Make a sender from a valid document; raises InvalidDocument if its fields do not go together.

        Opens nothing, and imports no library that the channel alone needs: that waits for the first `send`.
        """
