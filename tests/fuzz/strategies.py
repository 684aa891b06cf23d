"""Input of any shape, and input that is valid but for one thing."""

import json
import os
from collections.abc import Mapping
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

# `FUZZ_TIMES=50 pytest tests/fuzz` looks further, and elsewhere in each run.
TIMES = int(os.environ.get("FUZZ_TIMES", "1"))


def examples(number: int) -> settings:
    """Return the settings of a test; the same examples in every run, unless more are asked for."""
    return settings(
        max_examples=number * TIMES,
        derandomize=TIMES == 1,
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    )


ANY_CHARACTER = st.characters(exclude_categories=())  # half surrogate pairs too, which JSON can spell
ODD = ["", " ", "\x00", "a\nb", "\ud800", "é" * 600, "x" * 70_000, "NaN", "https://user:sesame@host/", "\u2028", "null"]
TEXTS = st.text(ANY_CHARACTER, max_size=20) | st.sampled_from(ODD)
NUMBERS = st.integers() | st.sampled_from([-1, 0, 2**63, -(10**30), 10**4000]) | st.floats()
SCALARS = st.none() | st.booleans() | NUMBERS | TEXTS


class Nested(list[object]):
    """A list of lists and objects so deep that its own repr would not end well."""

    def __init__(self, depth: int) -> None:
        value: object = None
        for level in range(depth):
            value = [value] if level % 2 else {"a": value}
        super().__init__([value])
        self.depth = depth

    def __repr__(self) -> str:
        return f"Nested({self.depth})"


DEEP = st.sampled_from([20, 400, 900, 3000, 9000, 100_000]).map(Nested)
JSON = DEEP | st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4), max_leaves=8
)


SPOILS = TEXTS | st.sampled_from(ODD) | JSON


def spoiled(
    valid: Mapping[str, object], values: st.SearchStrategy[object] = SPOILS
) -> st.SearchStrategy[dict[str, Any]]:
    """Return a valid object with one field replaced, left out, or added."""
    names = st.sampled_from(sorted(valid))
    return (
        st.builds(lambda name, value: {**valid, name: value}, names, values)
        | st.builds(lambda name, value: {**valid, name: value}, names, values)
        | names.map(lambda name: {field: value for field, value in valid.items() if field != name})
        | st.builds(lambda name, value: {**valid, name: value}, TEXTS, values)
    )


def as_sent(value: object) -> bool:
    """Tell whether a value can leave a function: Lambda writes UTF-8."""
    json.dumps(value, ensure_ascii=False).encode()
    return True
