"""What the functions' logs say: how invocations ended, batches of the queue included, and what was noted on the way."""

import json
import re
from collections import Counter
from collections.abc import Iterable

INVOCATIONS, KILLED, TIMED_OUT = "invocations", "killed in mid-work", "timed out"
# How a function may end when its store fails: it says so, and has done the rest.
FORESEEN = {INVOCATIONS, KILLED, TIMED_OUT}
FORESEEN |= {"redeliver.ports.Unavailable", "app.SweepIncomplete", "app.RetentionIncomplete"}
# Of an item that failed in a sweep, the kind of its error.
ITEM = "item: "
ITEMS_FORESEEN = {f"{ITEM}Unavailable"}
EVENTS = ("write_lost", "settle_not_written", "notification_not_stored", "message_returned", "channel_held")
_ERROR = re.compile(r"((?:[a-z_]\w*\.)*[A-Z]\w*)(?:: .*)?")


def ends(lines: Iterable[str]) -> Counter[str]:
    """Return how invocations ended, if not by themselves, and what kinds of error sweeps met with items."""
    found: Counter[str] = Counter()
    last, in_traceback = "", False
    for line in lines:
        if line.startswith("END RequestId"):
            found.update(filter(None, [INVOCATIONS, last]))
            last, in_traceback = "", False
        elif line.startswith("Worker process"):
            last = KILLED
        elif line.startswith("Task timed out"):
            last = TIMED_OUT
        elif line.startswith("Traceback"):
            in_traceback = True
        elif in_traceback and (error := _ERROR.fullmatch(line)):
            last, in_traceback = error[1], False
        elif '"message":"item_failed"' in line:
            found[ITEM + json.loads(line)["error"].partition("(")[0]] += 1
    return found


def unforeseen(found: Iterable[str]) -> list[str]:
    """Return the ends that no fault of the store or of the endpoint should lead to."""
    return sorted(set(found) - FORESEEN - ITEMS_FORESEEN)


def events(lines: Iterable[str]) -> Counter[str]:
    """Return how often each of EVENTS was logged."""
    found: Counter[str] = Counter(dict.fromkeys(EVENTS, 0))
    for line in lines:
        for event in EVENTS:
            found[event] += f'"message":"{event}"' in line
    return found
