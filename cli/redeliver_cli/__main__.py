"""`python -m redeliver_cli` is `redeliver`."""

from redeliver_cli.program import main

main(prog_name="redeliver")
