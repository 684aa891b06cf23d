"""One DynamoDB connection per process, and the translation of its errors: once, by their codes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pynamodb.connection import TableConnection
from pynamodb.exceptions import PynamoDBException
from pynamodb.models import Model

from redeliver.ports import Unavailable

_CONNECT_SECONDS = 1
_READ_SECONDS = 3
# Of botocore's standard mode: throttling, server errors and lost connections only, with full jitter. Few, since they
# know nothing of the invocation's deadline: who has time left repeats the call.
_RETRIES = 2
_CONDITION_FAILED = "ConditionalCheckFailedException"
_NOT_VALID = "ValidationException"


class Refused(Unavailable):
    """DynamoDB will never take this request: what it leads to is too large, or is no item."""


def connect(model: type[Model], table: str, *, threads: int = 10, read_seconds: int = _READ_SECONDS) -> TableConnection:
    """Return a model's connection to a table, with a pool for that many threads; who has no deadline may wait longer.

    Raw items are read through it: pynamodb's own reading of a page stops at the first item that does not fit.
    """
    model.Meta.table_name = table
    model.Meta.connect_timeout_seconds = _CONNECT_SECONDS
    model.Meta.read_timeout_seconds = read_seconds
    model.Meta.max_retry_attempts = _RETRIES
    model.Meta.max_pool_connections = threads
    model._connection = None  # an earlier one is of another table, or of another test's endpoint
    return model._get_connection()


@contextmanager
def translated() -> Iterator[None]:
    """Raise what DynamoDB could not do as Unavailable."""
    try:
        yield
    except PynamoDBException as error:
        said = _said(error)
        code = said.get("Code") or type(error.cause).__name__
        kind = Refused if code == _NOT_VALID else Unavailable
        raise kind(f"DynamoDB: {code}: {said.get('Message') or error.msg}") from error


@contextmanager
def conditional() -> Iterator[list[bool]]:
    """Run one conditional write; afterwards the list holds whether the condition was met."""
    met = [True]
    with translated():
        try:
            yield met
        except PynamoDBException as error:
            if _said(error).get("Code") != _CONDITION_FAILED:
                raise
            met[0] = False


def _said(error: PynamoDBException) -> Mapping[str, str]:
    # Not pynamodb's own properties: they fail on botocore's errors of connections that broke and of reads that timed
    # out, which have a response, and it is None.
    response = getattr(error.cause, "response", None) or {}
    said: Mapping[str, str] = response.get("Error", {})
    return said
