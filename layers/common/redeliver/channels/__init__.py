"""The channel types, by the `type` of a channel document. A new one is a file of that name and one line here."""

from collections.abc import Iterator, Mapping
from importlib import import_module

from redeliver.channels.sender import SenderType


class Registry(Mapping[str, SenderType]):
    """Types by name, each imported when it is first asked for: a function pays for the types that its channels have."""

    def __init__(self, classes: Mapping[str, str]) -> None:
        """Take the name of the class in each type's module."""
        self._classes = classes

    def __getitem__(self, type_: str) -> SenderType:
        """Return a type; raises KeyError if there is none of that name."""
        class_ = self._classes[type_]
        found: SenderType = getattr(import_module(f"{__name__}.{type_}"), class_)
        return found

    def __iter__(self) -> Iterator[str]:
        """Iterate over the names; nothing is imported."""
        return iter(self._classes)

    def __len__(self) -> int:
        """Return how many types there are."""
        return len(self._classes)

    def __contains__(self, type_: object) -> bool:
        """Tell whether there is a type of that name; nothing is imported."""
        return type_ in self._classes


TYPES: Mapping[str, SenderType] = Registry(
    {
        "apprise": "Apprise",
        "discord": "Discord",
        "email": "Email",
        "gotify": "Gotify",
        "ntfy": "Ntfy",
        "pagerduty": "PagerDuty",
        "pushover": "Pushover",
        "slack": "Slack",
        "sns": "Sns",
        "teams": "Teams",
        "telegram": "Telegram",
        "webhook": "Webhook",
    }
)
