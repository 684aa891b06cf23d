"""What goes out together: grouping, splitting, narrowing."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from redeliver.core.notification import Dispatch, Notification

# Of one digest: claiming and settling each has to fit into one run, however much the channel takes.
MOST_MEMBERS = 500


def by_recipient(records: Iterable[Notification]) -> list[list[Notification]]:
    """Return the records of each channel and recipient together, groups and members in the order of arrival."""
    groups: dict[tuple[str, str | None], list[Notification]] = {}
    for record in records:
        groups.setdefault((record.channel, record.recipient), []).append(record)
    return list(groups.values())


def split(
    records: Sequence[Notification], weigh: Callable[[Notification], int], capacity: int
) -> Iterator[tuple[Notification, ...]]:
    """Return the records in runs that fit a digest; one that fits none goes alone, to be cut by its channel."""
    run: list[Notification] = []
    filled = 0
    for record in records:
        weight = weigh(record)
        if run and (filled + weight > capacity or len(run) == MOST_MEMBERS):
            yield tuple(run)
            run, filled = [], 0
        run.append(record)
        filled += weight
    if run:
        yield tuple(run)


def halves(dispatch: Dispatch) -> tuple[Dispatch, Dispatch]:
    """Return a rejected digest of several members as two smaller ones, each a dispatch batch of its own."""
    middle = len(dispatch.members) // 2
    return Dispatch(dispatch.members[:middle], digest=True), Dispatch(dispatch.members[middle:], digest=True)
