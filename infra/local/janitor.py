"""Run a program in a folder until standard input ends; then end all it started, and remove the folder.

    python janitor.py FOLDER PROGRAM ARGUMENT...

With GENTLY=SECONDS in the environment the program is asked to end first, and given so long to write down what it keeps.

The one who starts the janitor holds the other end of that input, so it ends with its starter, however that died.
"""

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys


def main(folder: str, *command: str) -> None:
    """Look after the program; return when nothing of it is left."""
    program = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, process_group=0)
    try:
        while program.poll() is None and not select.select([sys.stdin], [], [], 0.1)[0]:
            pass
    finally:
        if gently := float(os.environ.get("GENTLY", "0")):
            program.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                program.wait(gently)
        # First the processes: what still runs would write into the folder while it is being removed.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(program.pid, signal.SIGKILL)
        program.wait()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
