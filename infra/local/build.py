"""Build the template's functions and layer with SAM, once per content, and prove that what was built can be imported.

Built for this machine and this interpreter, apart from a `sam build` done by hand in `.aws-sam`.
"""

import contextlib
import fcntl
import hashlib
import logging
import platform
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from infra.local.processes import ROOT, aws_environment, run

SAM = str(ROOT / ".tools" / "sam" / "bin" / "sam")
BUILD = ROOT / ".tools" / "build"
TEMPLATE = BUILD / "template.yaml"
STAMP = BUILD / "redeliver.stamp"
SOURCES = ("template.yaml", "infra/observability.yaml", "requirements/sam.txt", "functions", "layers")
RUNTIME = f"python{sys.version_info.major}.{sys.version_info.minor}"
ARCHITECTURE = "arm64" if platform.machine() in {"arm64", "aarch64"} else "x86_64"
# Isolated from the project's own environment: what the layer lacks must be missed here, as in Lambda.
IMPORT = "import sys; sys.path[:0] = sys.argv[1:]; import app; assert callable(app.handler)"

logger = logging.getLogger(__name__)


def platform_parameters() -> dict[str, str]:
    """The template parameters that say what was built for."""
    return {"PythonRuntime": RUNTIME, "Architecture": ARCHITECTURE}


@contextlib.contextmanager
def built() -> Iterator[Path]:
    """The built template's path; nobody else builds while it is in use."""
    BUILD.parent.mkdir(exist_ok=True)
    with (BUILD.parent / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        digest = _digest()
        if not (STAMP.is_file() and STAMP.read_text() == digest):
            _build()
            STAMP.write_text(digest)
        yield TEMPLATE


def _build() -> None:
    logger.info("building functions and layer for %s on %s", RUNTIME, ARCHITECTURE)
    overrides = [f"{name}={value}" for name, value in platform_parameters().items()]
    run(
        [
            SAM, "build", "--template-file", str(ROOT / "template.yaml"), "--build-dir", str(BUILD),
            "--cached", "--cache-dir", str(BUILD.parent / "build-cache"), "--parallel",
            "--parameter-overrides", *overrides,
        ],
        aws_environment(),
    )  # fmt: skip


def _digest() -> str:
    digest = hashlib.sha256(f"{RUNTIME} {ARCHITECTURE}".encode())
    for source in SOURCES:
        root = ROOT / source
        for path in sorted(root.rglob("*")) if root.is_dir() else [root]:
            if path.is_file() and "__pycache__" not in path.parts:
                content = path.read_bytes()
                digest.update(f"{path.relative_to(ROOT)} {len(content)}\n".encode() + content)
    return digest.hexdigest()


def import_every_function(template: Path) -> None:
    """Import each built `app.py` with only itself and the built layer on the path."""
    layer = template.parent / "CommonLayer" / "python"
    for source in sorted((ROOT / "functions").glob("*/app.py")):
        function = "".join(word.capitalize() for word in source.parent.name.split("_")) + "Function"
        logger.info("importing %s", function)
        run(
            [_bare_interpreter(), "-I", "-S", "-B", "-c", IMPORT, str(template.parent / function), str(layer)],
            aws_environment(),
        )


def _bare_interpreter() -> str:
    return shutil.which(RUNTIME, path=str(Path(sys.base_prefix, "bin"))) or sys.executable


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="build: %(message)s")
    with built() as built_template:
        import_every_function(built_template)
