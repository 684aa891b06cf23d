"""`python -m infra.local.demo`: the whole story on the local stack, and an honest verdict as the exit code."""

import logging
import sys
import time
from collections.abc import Iterable

from infra.local.demo import cast, report, story, witness
from infra.local.demo.evidence import Evidence
from infra.local.demo.promises import judge
from infra.local.demo.stage import Stage, StalledError
from infra.local.endpoint import Endpoint
from infra.local.processes import CommandFailedError
from infra.local.stack import FunctionFailedError, LocalStack

NOT_AS_PROMISED, NOT_FINISHED, INTERRUPTED = 1, 2, 130

logger = logging.getLogger("infra.local.demo")


class Elapsed(logging.Formatter):
    """A line with the seconds since the start."""

    def __init__(self) -> None:
        super().__init__("%(message)s")
        self.began = time.time()

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return f"{record.created - self.began:5.1f} s  {super().format(record)}"


def main() -> int:
    """Play, report, judge; 0 only if every promise was kept."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(Elapsed())
    ours = logging.getLogger("infra.local")
    ours.addHandler(handler)
    ours.setLevel(logging.INFO)
    try:
        evidence = gather()
    except CommandFailedError as error:
        print(f"\nThe demo could not begin. {error}", file=sys.stderr)
        return NOT_FINISHED
    except KeyboardInterrupt:
        print("\nInterrupted; everything it had started is gone.", file=sys.stderr)
        return INTERRUPTED
    return conclude(evidence)


def gather() -> Evidence:
    """Deploy, play the story, and collect what there is to see, also if the story got stuck."""
    own, problem = cast.Secrets.fresh(), None
    with Endpoint() as endpoint, LocalStack(cast.PARAMETERS, auth=True) as stack:
        stage = Stage(stack, endpoint, own)
        story.set_up_trouble(endpoint, own)
        stage.write_documents()
        logger.info("deployed, IAM enforced; backoff %d s, retention %.0f s", cast.BASE_DELAY, cast.RETENTION_SECONDS)
        try:
            story.tell(stage)
        except (StalledError, FunctionFailedError) as error:
            problem = str(error)
            logger.info("stuck: %s", problem)
        logger.info("collecting what table, stream, endpoint, queues, logs and CloudWatch have to say")
        return witness.collect(stage, problem)


def conclude(evidence: Evidence) -> int:
    """Print the report and return the exit code."""
    verdicts = judge(evidence)
    show(report.notifications(evidence))
    show(report.metrics(evidence))
    show(report.verdict(verdicts))
    return 0 if all(each.kept for each in verdicts) else NOT_AS_PROMISED


def show(lines: Iterable[str]) -> None:
    """Print a part of the report."""
    print("", *lines, sep="\n", flush=True)


if __name__ == "__main__":
    sys.exit(main())
