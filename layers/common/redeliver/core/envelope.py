"""What AWS services wrap around a notification when they call a function with it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redeliver.core.json_text import decoded, encoded

DIRECT = "direct call: "


@dataclass(frozen=True, slots=True)
class Asked:
    """One notification that is asked for, not looked at yet: its value, and where it comes from.

    `given` is its text if it came as text, and `unreadable` why that is not JSON; then the value is the text.
    """

    value: object
    origin: str = ""
    given: str | None = None
    unreadable: str = ""

    @classmethod
    def of_text(cls, text: str, origin: str = "") -> "Asked":
        """Return what is asked for in the text of a message."""
        try:
            return cls(decoded(text), origin, text)
        except (ValueError, RecursionError) as error:
            return cls(text, origin, text, f"not JSON: {error}; ")

    @property
    def text(self) -> str:
        """Return what can be put into a queue."""
        return encoded(self.value) if self.given is None else self.given

    def refusal(self, why: str) -> str:
        """Return the reason why it is refused, with what an operator needs to find who asked."""
        return f"{self.origin}{self.unreadable}{why}"


def unwrapped(event: object) -> list[Asked]:
    """Return what an event asks for: that of SNS and of EventBridge without their envelopes, others as they are.

    Their shapes are AWS's: Lambda's guide, "Invoking Lambda functions with Amazon SNS notifications"; EventBridge's
    guide, "Events".
    """
    match event:
        case {"Records": [_, *_] as records, **beside} if not beside and all(_of_sns(record) for record in records):
            return [_message(record["Sns"]) for record in records]
        case {"detail-type": kind, "detail": detail, **beside}:
            return [Asked(detail, f"EventBridge event {_named(kind)} of {_named(beside.get('source'))}: ")]
    return [Asked(event, DIRECT)]


def _of_sns(record: object) -> bool:
    match record:
        case {"EventSource": "aws:sns", "Sns": {"Message": str()}}:
            return True
    return False


def _message(notification: Mapping[str, Any]) -> Asked:
    return Asked.of_text(notification["Message"], f"SNS topic {_named(notification.get('TopicArn'))}: ")


def _named(name: object) -> str:
    return ascii(str(name)[:300])
