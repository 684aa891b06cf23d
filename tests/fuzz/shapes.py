"""What comes in from outside, in every shape that it may have, and nearly valid ones with one thing spoiled."""

import json
from typing import Any

from hypothesis import strategies as st

from redeliver.store import items
from tests.builders import raw

TEXT = st.text(st.characters(codec=None), max_size=60)  # half surrogate pairs too
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63, -1, 10**400, 1e308])
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=12
)
DEEP = st.integers(1, 3000).map(lambda depth: json.loads("[" * min(depth, 900) + "]" * min(depth, 900)))


def spoiled(valid: st.SearchStrategy[dict[str, Any]], fields: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Return what is valid but for one field, which holds anything, is missing, or is new."""
    change = st.tuples(st.sampled_from(fields) | TEXT, ANYTHING | DEEP)
    without = st.tuples(valid, st.sampled_from(fields)).map(
        lambda both: {k: v for k, v in both[0].items() if k != both[1]}
    )
    return st.tuples(valid, change).map(lambda both: {**both[0], both[1][0]: both[1][1]}) | without


REQUEST_FIELDS = ["channel", "dedup_key", "kind", "subject", "body", "recipient", "payload", "finding_id", "suppress",
                  "deliver_by"]  # fmt: skip
REQUESTS = spoiled(st.just(raw()), REQUEST_FIELDS) | ANYTHING | DEEP
BODIES = (
    st.binary(max_size=200).map(lambda data: data.decode("utf-8", "replace"))
    | REQUESTS.map(lambda value: json.dumps(value))
    | st.sampled_from(["[" * 100_000, '{"channel":' * 9_000, "NaN", "1e999", '{"a":1,"a":2}', "", "\x00"])
)
NEWS = spoiled(
    st.just({"finding_id": "CVE-1", "status": "active", "changed_at": "2026-11-30T12:00:00Z"}),
    ["finding_id", "status", "changed_at"],
)

# Every type that DynamoDB has, well formed, as botocore hands it on.
NUMERALS = st.integers(-(10**37), 10**37).map(str) | st.sampled_from(["1.5", "-1E+20", "1E-100", "253402300800", "0"])
SIMPLE = (
    st.fixed_dictionaries({"S": TEXT})
    | st.fixed_dictionaries({"N": NUMERALS})
    | st.fixed_dictionaries({"B": st.binary(max_size=9)})
    | st.fixed_dictionaries({"BOOL": st.booleans()})
    | st.fixed_dictionaries({"NULL": st.just(True)})
    | st.fixed_dictionaries({"SS": st.lists(TEXT, min_size=1, max_size=3)})
    | st.fixed_dictionaries({"NS": st.lists(NUMERALS, min_size=1, max_size=3)})
)
NAMES = st.text("abc", min_size=1, max_size=3)  # moto cannot give back an empty one
ATTRIBUTES = st.recursive(
    SIMPLE,
    lambda inner: (
        st.fixed_dictionaries({"L": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"M": st.dictionaries(NAMES, inner, max_size=3)})
    ),
    max_leaves=6,
)
KEYS = {"channel": {"S": "ops"}, "dedup_key": {"S": "k1"}}
CHANGES = st.dictionaries(st.sampled_from([*items.CODECS, "lane", "new"]), st.none() | ATTRIBUTES, max_size=4)
