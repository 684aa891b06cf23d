"""The channel types, by the `type` of a channel document. A new one is one file and one line here."""

from collections.abc import Mapping

from redeliver.channels.sender import SenderType
from redeliver.channels.telegram import Telegram
from redeliver.channels.webhook import Webhook

TYPES: Mapping[str, SenderType] = {
    "telegram": Telegram,
    "webhook": Webhook,
}
