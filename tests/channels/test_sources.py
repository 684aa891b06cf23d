import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError
from moto import mock_aws

from redeliver.channels.sources import File, ParameterStore
from redeliver.ports import NotConfigured, Unavailable

DOCUMENT = {"type": "webhook", "url": "https://example.com/in"}


def why(found: object) -> str:
    assert isinstance(found, NotConfigured)
    return found.why


class TestFile:
    def test_a_document(self, tmp_path: Path) -> None:
        path = tmp_path / "channels.json"
        path.write_text(json.dumps({"ops": DOCUMENT}))
        assert File(path).fetch("ops") == DOCUMENT
        assert "no document" in why(File(path).fetch("other"))

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ('{"ops": {"secret": "s3cret" x}}', "line 1, column 29"),
            ("[1]", "JSON object"),
            ("[" * 100_000, "nested too deeply"),
            ("1" * 5000, "too many digits"),
        ],
    )
    def test_a_bad_file_says_where_without_its_text(self, text: str, said: str, tmp_path: Path) -> None:
        path = tmp_path / "channels.json"
        path.write_text(text)
        message = why(File(path).fetch("ops"))
        assert said in message
        assert "s3cret" not in message

    def test_a_byte_order_mark_is_no_part_of_it(self, tmp_path: Path) -> None:
        path = tmp_path / "channels.json"
        path.write_text(json.dumps({"ops": DOCUMENT}), encoding="utf-8-sig")
        assert File(path).fetch("ops") == DOCUMENT

    def test_a_file_that_cannot_be_read_is_no_absent_document(self, tmp_path: Path) -> None:
        with pytest.raises(Unavailable, match="FileNotFoundError"):
            File(tmp_path / "none.json").fetch("ops")


class TestParameterStore:
    @pytest.fixture
    def ssm(self) -> Iterator[Any]:
        with mock_aws():
            yield boto3.client("ssm")

    def test_a_document(self, ssm: Any) -> None:
        ssm.put_parameter(Name="/redeliver/dev/channels/ops", Type="SecureString", Value=json.dumps(DOCUMENT))
        windows = "\ufeff" + json.dumps(DOCUMENT)  # --value file://document.json
        ssm.put_parameter(Name="/redeliver/dev/channels/windows", Type="SecureString", Value=windows)
        store = ParameterStore("dev")
        assert store.fetch("ops") == store.fetch("windows") == DOCUMENT
        assert "/redeliver/dev/channels/other" in why(store.fetch("other"))
        assert "/redeliver/prod/channels/ops" in why(ParameterStore("prod").fetch("ops"))

    def test_a_bad_document_says_where(self, ssm: Any) -> None:
        ssm.put_parameter(Name="/redeliver/dev/channels/ops", Type="SecureString", Value="{'a': 1}")
        assert "line 1, column 2" in why(ParameterStore("dev").fetch("ops"))

    @pytest.mark.parametrize("code", ["ThrottlingException", "AccessDeniedException", "InternalServerError"])
    def test_trouble_is_no_absent_document(self, code: str) -> None:
        error = ClientError({"Error": {"Code": code, "Message": "arn:aws:iam::1:role/secret"}}, "GetParameter")
        with pytest.raises(Unavailable, match=code) as caught:
            failing(error).fetch("ops")
        assert "arn:" not in str(caught.value)

    def test_no_answer_is_no_absent_document(self) -> None:
        error = ConnectTimeoutError(endpoint_url="https://ssm.eu-central-1.amazonaws.com")
        with pytest.raises(Unavailable, match="ConnectTimeoutError"):
            failing(error).fetch("ops")

    def test_a_name_that_ssm_does_not_take_has_no_document(self) -> None:
        error = ClientError({"Error": {"Code": "ValidationException", "Message": "bad name"}}, "GetParameter")
        assert "no SSM parameter" in why(failing(error).fetch("a//b"))


class Failing:
    """An SSM client whose calls fail."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    def get_parameter(self, **_: Any) -> Any:
        raise self._error


def failing(error: Exception) -> ParameterStore:
    """Return a store whose client fails."""
    client: Any = Failing(error)
    return ParameterStore("dev", lambda: client)
