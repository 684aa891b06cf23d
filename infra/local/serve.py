"""The local stack to work with: `make local` keeps it running, and what it holds from one time to the next.

Its state is in `.tools/local`, or the folder that is named as argument; `make clean` removes it.
"""

import contextlib
import fcntl
import json
import logging
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from infra.local.endpoint import Endpoint
from infra.local.page import HistoryPage
from infra.local.processes import CREDENTIALS, REGION, ROOT, CommandFailedError, termination_as_interrupt
from infra.local.stack import STACK, STAGE, LocalStack

STATE = ROOT / ".tools" / "local"
CHANNEL = "local-hook"
# Short waits, so that one sees retries happen; everything else as in the template.
PARAMETERS = {"RetryBaseDelaySeconds": "10", "NotConfiguredRecheckSeconds": "10"}


class AlreadyRunningError(Exception):
    """Another `make local` has the state."""


@contextlib.contextmanager
def serving(state: Path) -> Iterator[tuple[LocalStack, Endpoint]]:
    """Run the stack with its state, and an endpoint behind the channel CHANNEL, while the block lasts."""
    state.mkdir(parents=True, exist_ok=True)
    with (state / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunningError(
                f"it is running already: {running_at(state) or 'starting, or stopping'}"
            ) from None
        with Endpoint() as endpoint, LocalStack(PARAMETERS, auth=True, state=state / "state") as stack:
            _configure(stack, endpoint)
            running = _running(state)
            running.write_text(json.dumps({"endpoint_url": stack.endpoint_url}))
            try:
                yield stack, endpoint
            finally:
                running.unlink(missing_ok=True)


def running_at(state: Path = STATE) -> str | None:
    """Return the address of the stack that runs now, if one does."""
    if not _running(state).is_file():
        return None
    found: dict[str, str] = json.loads(_running(state).read_text())
    return found["endpoint_url"]


def _running(state: Path) -> Path:
    return state / "running.json"


def _configure(stack: LocalStack, endpoint: Endpoint) -> None:
    document = {"type": "webhook", "url": endpoint.url("/hook"), "allow_private_network": True}
    stack.client("ssm").put_parameter(
        Name=f"/redeliver/{STAGE}/channels/{CHANNEL}", Type="SecureString", Value=json.dumps(document), Overwrite=True
    )


def environment(stack: LocalStack) -> dict[str, str]:
    """Return what a program needs in its environment to talk to the stack."""
    return {
        "AWS_ENDPOINT_URL": stack.endpoint_url,
        "AWS_ACCESS_KEY_ID": CREDENTIALS["aws_access_key_id"],
        "AWS_SECRET_ACCESS_KEY": CREDENTIALS["aws_secret_access_key"],
        "AWS_DEFAULT_REGION": REGION,
        "REDELIVER_STACK": STACK,
    }


def _welcome(stack: LocalStack, endpoint: Endpoint, page: HistoryPage) -> None:
    exports = " ".join(f"{name}={value}" for name, value in environment(stack).items())
    sys.stdout.write(f"""
The stack {STACK} runs at {stack.endpoint_url}; sweeps run once a minute, first waits are ten seconds.
The channel {CHANNEL} leads to {endpoint.url("/hook")}; what came there: {endpoint.url("/_requests")}
The history page, as the dashboard shows it on AWS: {page.url}

In another terminal:

    export {exports}
    .venv/bin/redeliver send --channel {CHANNEL} --key hello --kind demo --subject Hello --body "It works."
    .venv/bin/redeliver status
    make local-logs

A channel of your own (docs/channels.md has the documents; a local endpoint needs "allow_private_network"):

    aws ssm put-parameter --type SecureString --name /redeliver/{STAGE}/channels/NAME --value DOCUMENT

Let the endpoint fail, and work again:

    curl -X PUT {endpoint.url("/_script")} -d '{{"/hook": {{"default": {{"status": 503}}}}}}'
    curl -X PUT {endpoint.url("/_script")} -d '{{"/hook": {{"default": {{"status": 200}}}}}}'

Ctrl-C stops it; what it holds is kept for the next time.
""")
    sys.stdout.flush()


def main(state: str = str(STATE)) -> int:
    """Serve until Ctrl-C or SIGTERM."""
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        with (
            termination_as_interrupt(),
            serving(Path(state)) as (stack, endpoint),
            HistoryPage(stack) as page,
        ):
            _welcome(stack, endpoint, page)
            threading.Event().wait()
    except KeyboardInterrupt:
        sys.stderr.write("\nstopped; what it holds is kept\n")
    except (AlreadyRunningError, CommandFailedError) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
