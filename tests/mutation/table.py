"""Which tests answer for which modules, and which functions of a module are broken: none named, all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Group:
    """Tests that are run in one session, and the modules that they answer for."""

    tests: Sequence[str]
    modules: Mapping[str, Sequence[str]]


GROUPS = (
    Group(
        ("tests/core", "tests/usecases/test_resolution.py"),
        {
            "core/lifecycle": (),
            "core/retention": (),
            "core/hold": (),
            "core/backoff": (),
            "core/finding": (),
            "core/history": (),
            "core/digest": (),
            "core/policy": (),
            "core/arrows": (),
            "core/outcome": (),
            "core/moments": (),
            "core/redaction": (),
            "core/request": (),
            "core/notification": (),
        },
    ),
    Group(
        (
            *("tests/contract/test_store_ledger.py", "tests/contract/test_store_dynamo.py"),
            *("tests/contract/test_store_large.py", "-k", "not channel and not page and not backlog and not batch"),
        ),
        {"store/notifications": ("_DECIDING", "add", "replace", "park", "_park", "unmoved", "as_requested")},
    ),
    Group(
        (
            *("tests/contract/test_store_lanes.py", "tests/contract/test_store_dynamo.py"),
            *("-k", "finding or news or settle or stamp or release or anew or expiry or transaction"),
        ),
        {"store/findings": ("put", "stamp", "settle", "release", "_transact", "_as_read")},
    ),
    Group(
        (
            "tests/contract/test_store_ledger.py",
            "tests/contract/test_store_operator.py",
            "-k",
            "hold or held or release or prob or channel",
        ),
        {"store/channels": ("hold", "probe", "free", "impose", "release", "_as_read")},
    ),
)

# What a module does when it is imported costs an import of everything for each fault: fewer tests answer for it.
ON_IMPORT: Mapping[str, Sequence[str]] = {
    "core/lifecycle": ("tests/core/test_lifecycle.py",),
    "core/retention": ("tests/core/test_retention.py",),
    "core/hold": ("tests/core/test_hold.py", "tests/usecases/test_failing.py"),
    "core/backoff": ("tests/core/test_backoff.py",),
    "core/history": ("tests/core/test_history.py",),
    "core/digest": ("tests/core/test_digest.py",),
    "core/policy": ("tests/core/test_lifecycle.py", "tests/core/test_retention.py", "tests/test_settings.py"),
    "core/arrows": ("tests/core/test_arrows_documented.py",),
    "core/outcome": ("tests/core/test_outcome.py",),
    "core/moments": ("tests/core/test_moments.py",),
    "core/redaction": ("tests/core/test_redaction.py",),
    "core/request": ("tests/core/test_request.py", "tests/usecases/test_intake.py"),
    "core/notification": ("tests/core/test_notification.py", "tests/core/test_lifecycle.py"),
    "store/notifications": ("tests/contract/test_store_ledger.py", "-k", "old_reading and not memory"),
}
