"""Follow the functions' logs of the stack that `make local` runs."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import boto3
from botocore.exceptions import ConnectionClosedError, EndpointConnectionError

from infra.local.processes import CREDENTIALS, REGION
from infra.local.serve import STATE, running_at
from infra.local.stack import LOG_GROUPS, STAGE

PAUSE_SECONDS = 1.0


def lines(address: str, since: float) -> Iterator[str]:
    """Return log lines as they are written, for ever; each begins with its function's name."""
    client = boto3.client("logs", endpoint_url=address, region_name=REGION, **CREDENTIALS)  # type: ignore[call-overload]
    begin, seen = int(since * 1000), set[tuple[int, str, str]]()
    while True:
        for name in LOG_GROUPS.values():
            pages = client.get_paginator("filter_log_events").paginate(
                logGroupName=f"/redeliver/{STAGE}/{name}", startTime=begin
            )
            for event in (event for page in pages for event in page["events"]):
                one = (event["timestamp"], event["logStreamName"], event["message"])  # the stack gives them no id
                if one not in seen:
                    seen.add(one)
                    yield f"{name:14} {event['message'].rstrip()}"
        time.sleep(PAUSE_SECONDS)


def main(state: str = str(STATE)) -> int:
    """Print what is logged from now on, until Ctrl-C."""
    address = running_at(Path(state))
    if address is None:
        sys.stderr.write("no local stack is running: start one with `make local`\n")
        return 1
    sys.stderr.write(f"following the functions of {address}; Ctrl-C ends it\n")
    try:
        for line in lines(address, time.time()):
            sys.stdout.write(f"{line}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        pass
    except (EndpointConnectionError, ConnectionClosedError):
        sys.stderr.write("the stack has stopped\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
