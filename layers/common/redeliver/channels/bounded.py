"""Work of libraries that cannot be held to a total time: done in a thread that is left behind when it takes longer."""

from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import TypeVar

T = TypeVar("T")


def within(seconds: float, work: Callable[[], T], name: str) -> T:
    """Return what the work returns, or raise what it raises; raises TimeoutError when the time is over.

    The work should end by itself some time later: until then it keeps its thread, of that name.
    """
    results: SimpleQueue[tuple[T | None, Exception | None]] = SimpleQueue()

    def run() -> None:
        try:
            results.put((work(), None))
        except Exception as error:  # noqa: BLE001 - handed over, whatever it is
            results.put((None, error))

    Thread(target=run, name=f"redeliver-{name}", daemon=True).start()
    try:
        result, error = results.get(timeout=max(seconds, 0))
    except Empty:
        raise TimeoutError from None
    if error is not None:
        raise error
    return result  # type: ignore[return-value]
