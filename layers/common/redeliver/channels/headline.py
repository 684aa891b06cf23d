"""One line that says what a dispatch is about, for places with a subject that is a header."""

import re

from redeliver.channels.text import by_kind, heading
from redeliver.core.notification import Dispatch


def headline(dispatch: Dispatch) -> str:
    """Return the subject of a single record, or the counts of several by kind; without control characters."""
    members = dispatch.members
    if len(members) == 1:
        return one_line(members[0].subject)
    kinds = ", ".join(heading(kind, len(records)) for kind, records in by_kind(members))
    return one_line(f"{len(members)} notifications: {kinds}")


def one_line(text: str) -> str:
    """Return the text with a space for whatever ends a line or controls something."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text).strip()
