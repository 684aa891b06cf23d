"""A function that shows how functions are run."""

import importlib
import os


def handler(event: dict[str, object], context: object) -> object:
    """Answer with so many letters, or with this process and the one that started it, a module having been imported."""
    if isinstance(letters := event.get("letters"), int):
        return "x" * letters
    importlib.import_module(str(event.get("module", "os")))
    return [os.getpid(), os.getppid()]
