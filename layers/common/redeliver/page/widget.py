"""One call of the widget: what it asks for, done, and shown."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from redeliver.operator.desk import Desk
from redeliver.page.asked import Asked, InvalidAsk, View, read
from redeliver.page.detail import detail, notice_of
from redeliver.page.listing import listing
from redeliver.page.markup import Markup, button, joined, tag
from redeliver.page.style import STYLE
from redeliver.ports import Unavailable

# CloudWatch shows it to whoever adds the widget to a dashboard; Markdown.
DESCRIPTION = """## History of notifications
What was sent, is waiting, or died, newest first; the story of each; and a button that sends a dead letter again.

### Widget parameters
Parameter | Description
---|---
**channel** | show this channel only
**status** | any (default), waiting, sent, dead, suppressed, pending or retrying
**kind** | show this kind only

### Example parameters
``` yaml
channel: ops-hook
status: dead
```
"""


@dataclass(frozen=True, slots=True)
class Widget:
    """The page over the use cases."""

    desk: Desk

    def __call__(self, event: Mapping[str, Any], endpoint: str) -> str:
        """Return the HTML that answers a call; `endpoint` is the function that its buttons call."""
        if event.get("describe"):
            return DESCRIPTION
        try:
            shown = self._shown(read(event), endpoint)
        except (InvalidAsk, Unavailable) as error:
            again = button("First page", endpoint, {"do": "list"}, style="rh-quiet")
            shown = joined([tag("p", f"This did not work: {error}", class_="rh-note rh-bad"), again])
        return _framed(shown, event)

    def _shown(self, asked: Asked, endpoint: str) -> Markup:
        if asked.key is None:
            return self._list(asked.view, endpoint)
        notice = Markup()
        if asked.redrive:
            refusal = self.desk.redrive(asked.key, insisted=asked.insisted)
            notice = notice_of(refusal, asked.key, asked.view, endpoint)
        return detail(self.desk.told(asked.key), asked.key, asked.view, endpoint, notice)

    def _list(self, view: View, endpoint: str) -> Markup:
        channels = self.desk.channels()
        page = self.desk.page(channels, view.wanted, view.cursor)
        return listing(page, view, channels, endpoint, self.desk.clock())


def _framed(shown: Markup, event: Mapping[str, Any]) -> str:
    context = event.get("widgetContext")
    dark = isinstance(context, Mapping) and context.get("theme") == "dark"
    # The one class switches the dashboard's own styles off, which differ from console to console.
    return tag("div", [STYLE, shown], class_=f"redeliver-history {'rh-dark ' if dark else ''}cwdb-no-default-styles")
