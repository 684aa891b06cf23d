"""What importing and initialising each handler costs beside its libraries alone (SPEC 10): fresh processes, one run.

`python -m tests.benchmarks.cold_start`. As in Lambda, only the built function and the built layer are on the path.
"""

import os
import subprocess
import sys

from infra.local.build import built
from infra.local.processes import ROOT

ROUNDS = 15
GOAL = 1.3
BARE = "import pynamodb.models, requests, aws_lambda_powertools.logging, aws_lambda_powertools.metrics"
BATCH = BARE + "; import aws_lambda_powertools.utilities.batch"
LIBRARIES = {"send": BATCH}  # the others do without batches
CLIENT = "import botocore.session; botocore.session.get_session().create_client('dynamodb', region_name='eu-central-1')"
ENVIRONMENT = {
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "NOTIFICATIONS_TABLE": "notifications",
    "CHANNELS_TABLE": "channels",
    "FINDINGS_TABLE": "findings",
    "SEND_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/1/s",
    "SEND_DEAD_LETTER_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/1/q",
    "POWERTOOLS_SERVICE_NAME": "redeliver-dev",
    "POWERTOOLS_METRICS_NAMESPACE": "redeliver",
}


def seconds(code: str, *path: str) -> float:
    """Return the processor seconds that a fresh interpreter spends on some code, its own start left out."""
    clock = "time.process_time()"
    program = f"import sys, time; sys.path[:0] = {list(path)!r}; t = {clock}; {code}; print({clock} - t)"
    command = [sys.executable, "-I", "-S", "-c", program]
    done = subprocess.run(command, env=os.environ | ENVIRONMENT, check=True, capture_output=True, text=True)
    return float(done.stdout)


def main(rounds: int = ROUNDS) -> None:
    """Measure each handler, alternating with their libraries, and tell the ratios of the fastest of each.

    The fastest, since whatever else the machine does only ever adds.
    """
    with built() as template:
        layer = str(template.parent / "CommonLayer" / "python")
        for folder in sorted((ROOT / "functions").iterdir()):
            name = "".join(word.capitalize() for word in folder.name.split("_")) + "Function"
            function = str(template.parent / name)
            alone, whole = [], []
            for _ in range(rounds):
                alone.append(seconds(f"{LIBRARIES.get(folder.name, BARE)}; {CLIENT}", layer))
                whole.append(seconds(f"import app; app.wired(); {CLIENT}", layer, function))
            ratio = min(whole) / min(alone)
            print(
                f"{folder.name}: {min(whole) * 1000:.0f} ms, libraries alone {min(alone) * 1000:.0f} ms,"
                f" ratio {ratio:.2f} (goal {GOAL})"
            )


if __name__ == "__main__":
    main()
