"""One DynamoDB connection per process: its conditional writes, and its errors translated once, by their codes."""

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError
from pynamodb.connection import TableConnection
from pynamodb.constants import ALL_OLD, ITEM, PUT_ITEM, UPDATE_ITEM
from pynamodb.exceptions import PynamoDBException
from pynamodb.expressions.condition import Condition
from pynamodb.expressions.operand import Path
from pynamodb.expressions.update import Action
from pynamodb.models import Model

from redeliver.ports import Unavailable

_CONNECT_SECONDS = 1
_READ_SECONDS = 3
# Of botocore's standard mode: throttling, server errors and lost connections only, with full jitter. Few, since they
# know nothing of the invocation's deadline: who has time left repeats the call.
_RETRIES = 2
_CONDITION_FAILED = "ConditionalCheckFailedException"
_NOT_VALID = "ValidationException"
_SIGNATURE = "write_token"  # the attribute that says which write made the item as it is
_DRAWN = 12  # bytes of a token, 16 characters: no two writers ever draw the same


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


def put(
    table: TableConnection,
    hash_key: str,
    range_key: str | None = None,
    *,
    item: Mapping[str, Any],
    condition: Condition,
) -> bool:
    """Put an item on a condition; tell whether it was done, see `_written`."""
    token = secrets.token_urlsafe(_DRAWN)
    given = table.get_operation_kwargs(
        hash_key,
        range_key,
        key=ITEM,
        attributes={**item, _SIGNATURE: {"S": token}},
        condition=condition,
        return_values_on_condition_failure=ALL_OLD,
    )
    return _written(table, PUT_ITEM, given, token)


def update(
    table: TableConnection,
    hash_key: str,
    range_key: str | None = None,
    *,
    actions: Sequence[Action],
    condition: Condition | None = None,
    signed: bool = True,
) -> bool:
    """Update an item, on a condition if there is one; tell whether it was done, see `_written`.

    Not `signed` is what leaves the work of the writer before as it is: his token stays. If its own answer is lost, it
    counts as refused.
    """
    token = secrets.token_urlsafe(_DRAWN)
    given = table.get_operation_kwargs(
        hash_key,
        range_key,
        actions=[*actions, Path(_SIGNATURE).set(token)] if signed else actions,
        condition=condition,
        return_values_on_condition_failure=ALL_OLD,
    )
    return _written(table, UPDATE_ITEM, given, token)


def _written(table: TableConnection, operation: str, given: dict[str, Any], token: str) -> bool:
    """Make a conditional write; tell whether it was done.

    When the answer to a write is lost, botocore asks again, and the condition fails on what the first try wrote. The
    refusal brings the item as it is, so its token tells whose it is; two writers never both believe that it is theirs.
    """
    with translated():
        try:
            table.connection.dispatch(operation, given)
        except ClientError as error:
            if _said(error).get("Code") != _CONDITION_FAILED:
                raise
            # pynamodb's own error leaves the item out; the one of botocore that it comes from has it.
            item = getattr(error.__cause__, "response", {}).get("Item", {})
            return bool(item.get(_SIGNATURE) == {"S": token})
    return True


@contextmanager
def translated() -> Iterator[None]:
    """Raise what DynamoDB could not do as Unavailable."""
    try:
        yield
    except (PynamoDBException, ClientError, BotoCoreError) as error:
        cause, said = getattr(error, "cause", error), _said(error)
        code = said.get("Code") or type(cause).__name__
        kind = Refused if code == _NOT_VALID else Unavailable
        raise kind(f"DynamoDB: {code}: {said.get('Message') or getattr(error, 'msg', '')}".rstrip(": ")) from error


def _said(error: Exception) -> Mapping[str, str]:
    # Not pynamodb's own properties: they fail on botocore's errors of connections that broke and of reads that timed
    # out, which have a response, and it is None.
    response = getattr(getattr(error, "cause", error), "response", None) or {}
    said: Mapping[str, str] = response.get("Error", {})
    return said
