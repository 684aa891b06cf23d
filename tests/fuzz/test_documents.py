"""Channel documents of any shape: a channel, or why there is none, by the name of the field and without its value."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from redeliver.channels import TYPES
from redeliver.channels.attempt import Attempts
from redeliver.channels.directory import Directory
from redeliver.channels.document import COMMON, Document, InvalidDocument, read_document
from redeliver.channels.sources import File
from redeliver.channels.transport import Transport
from redeliver.ports import NotConfigured, Unavailable
from redeliver.settings import read
from tests.contract.channel_cases import NOW, all_described
from tests.fuzz.strategies import ANY_CHARACTER, JSON, ODD, SPOILS, examples

ALL = all_described()
RECHECK = read({"NOTIFICATIONS_TABLE": "n"}).not_configured_recheck
ADDRESSES = st.sampled_from(
    [
        *(
            f"https://{host}/x"
            for host in ("[::1", "[fe80::1%25eth0]", "xn--", "a..b", "\u3002", "é" * 70, "1.2.3.4:0", "a:b", "%00")
        ),
        "https://user:sesame@example.com",
        "HTTPS://EXAMPLE.COM:65536/",
        "//example.com",
        "https:///x",
        "javascript:alert(1)",
    ]
)
UNKNOWN = st.text(ANY_CHARACTER, max_size=10)
VALUES = SPOILS | ADDRESSES | st.integers(-1, 200).map(lambda number: "a" * number)


def named(error: str, document: object) -> bool:
    """Tell whether a refusal names what is wrong with a document, and shows no value of it."""
    error.encode()
    assert len(error) < 1200
    assert "sesame" not in error
    fields = [*COMMON, *(name for type_ in TYPES for name in TYPES[type_].fields), "type", "document", "unknown field"]
    assert any(field in error for field in fields)
    if isinstance(document, dict):
        long = [value for value in document.values() if isinstance(value, str) and len(value.strip()) > 12]
        assert not [value for value in long if value in error]
    return True


@pytest.mark.parametrize("name", ALL)
@examples(60)
@given(data=st.data())
def test_a_document_with_one_bad_field_is_refused_by_its_name(name: str, data: st.DataObject) -> None:
    described = ALL[name]
    valid = described.document("https://example.com")
    names = sorted({*valid, *COMMON, *TYPES[described.type].fields})
    document = {**valid, data.draw(st.sampled_from(names) | UNKNOWN): data.draw(VALUES)}
    try:
        found = read_document(document, TYPES)
        TYPES[found.type](found)
    except InvalidDocument as error:
        refusal = str(error)
    else:
        assert isinstance(found, Document)
        return
    assert named(refusal, document)


@examples(150)
@given(JSON | st.dictionaries(st.sampled_from(["type", *COMMON]) | UNKNOWN, VALUES, max_size=4))
def test_a_document_of_any_shape_is_refused(document: Any) -> None:
    with pytest.raises(InvalidDocument) as caught:
        read_document(document, TYPES)
    assert named(str(caught.value), document)


CONTENTS = (
    st.binary(max_size=40)
    | JSON.map(lambda value: _encoded(value))
    | st.dictionaries(st.just("ops"), SPOILS | st.fixed_dictionaries({"type": st.sampled_from(sorted(TYPES))})).map(
        lambda value: _encoded(value)
    )
    | st.sampled_from(
        [b"\xff\xfe{}", b"[" * 200_000, b'{"ops": ' * 60_000, b'{"ops": 1e999}', b'{"ops": NaN', b"\xef\xbb\xbf{}"]
    )
    | st.sampled_from(ODD).map(lambda text: text.encode(errors="surrogatepass"))
)


def _encoded(value: object) -> bytes:
    try:
        return json.dumps(value).encode()
    except (ValueError, RecursionError):
        return b"{"


@examples(150)
@given(content=CONTENTS)
def test_a_broken_file_of_documents_stops_nothing(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "channels.json"
    path.write_bytes(content)
    directory = Directory(File(path), Attempts(Transport(1)), RECHECK)
    try:
        found = directory.look_up("ops", NOW)
    except Unavailable as error:
        why = str(error)
    else:
        assert isinstance(found, NotConfigured)
        why = found.why
    why.encode()
    assert len(why) <= 1024
    assert "sesame" not in why
