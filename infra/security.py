"""Look for known vulnerabilities in every pin, secrets in every tracked file, weaknesses in every template.

`make security` runs it, after making the environments of the scanners. What may pass, and for which reason, is in
infra/security.yaml and .checkov.yaml.
"""

import hashlib
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatch
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
import yaml

ROOT = Path(__file__).resolve().parents[1]
TOOLS = ROOT / ".tools"
ALLOWANCES = ROOT / "infra" / "security.yaml"
TEMPLATES = [ROOT / name for name in ("template.yaml", "infra/observability.yaml", "infra/apprise_layer.yaml")]
OSV = "https://api.osv.dev/v1/query"
# A release with vulnerabilities known for years: whoever does not know them has not been asked.
CANARY = ("jinja2", "2.4.1")

Pin = tuple[str, str]


class ScanError(Exception):
    """A scanner did not do its work; the message says what it said."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What one scan came to; it is bad if there are `findings`."""

    text: str
    findings: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowance:
    """Strings that look like secrets and are none: these values, or what one detector finds in these paths."""

    reason: str
    values: tuple[str, ...] = ()
    detector: str = ""
    paths: tuple[str, ...] = ()

    def covers(self, finding: Mapping[str, Any]) -> bool:
        """Tell whether a finding of detect-secrets is meant; it names a value by its SHA-1 only."""
        if finding["hashed_secret"] in {_sha1(value) for value in self.values}:
            return True
        return finding["type"] == self.detector and any(fnmatch(finding["filename"], each) for each in self.paths)


def locks() -> list[Path]:
    """Return every file of pins."""
    return [*sorted((ROOT / "requirements").glob("*.txt")), *sorted((ROOT / "layers").glob("*/requirements.txt"))]


def pins(files: Iterable[Path]) -> set[Pin]:
    """Return what is pinned, for whichever platform; raises ScanError at a line that pins nothing."""
    found = set()
    for file in files:
        for line in file.read_text().splitlines():
            if not line.strip() or line.startswith("#"):
                continue
            pin = re.match(r"([a-z0-9-]+)(?:\[[^]]*\])?==([^\s;]+)", line)
            if pin is None:
                raise ScanError(f"{file}: {line!r} is no pin")
            found.add((pin[1], pin[2]))
    return found


def vulnerabilities(files: Iterable[Path], accepted: Iterable[str] = (), service: str = OSV) -> Verdict:
    """Ask a vulnerability service of OSV's kind about every pin; without one nothing is checked, which is said."""
    host = urlsplit(service).hostname
    unreachable = Verdict(f"not checked, {host} cannot be reached")
    wanted = pins(files)
    if not _knows_canary(service):
        return unreachable
    try:
        answers = _audit(wanted | {CANARY}, accepted, service)
    except ScanError:
        if _knows_canary(service):
            raise
        return unreachable  # any more
    if not answers.pop(CANARY, None):
        raise ScanError(f"pip-audit does not report what {host} knows of {' '.join(CANARY)}")
    unanswered = sorted(wanted - answers.keys() - {CANARY})
    if unanswered:
        raise ScanError(f"pip-audit did not look at {unanswered}")
    bad = [f"{name} {version}: {', '.join(ids)}" for (name, version), ids in sorted(answers.items()) if ids]
    return Verdict(f"{len(bad) or 'none'} of {len(wanted)} pins has any that {host} knows", bad)


def _knows_canary(service: str) -> bool:
    question = {"package": {"name": CANARY[0], "ecosystem": "PyPI"}, "version": CANARY[1]}
    try:
        return bool(requests.post(service, json=question, timeout=10).json()["vulns"])
    except (requests.RequestException, ValueError, KeyError, TypeError):
        return False


def _audit(wanted: Iterable[Pin], accepted: Iterable[str], service: str) -> dict[Pin, list[str]]:
    """Return the ids of the known vulnerabilities of each pin that pip-audit looked at."""
    rounds: list[dict[str, str]] = []  # pip-audit takes one version of a package at a time
    for name, version in sorted(wanted):
        if all(name in each for each in rounds):
            rounds.append({})
        next(each for each in rounds if name not in each)[name] = version
    ignored = [f"--ignore-vuln={each}" for each in accepted]
    found: dict[Pin, list[str]] = {}
    for each in rounds:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.writelines(f"{name}=={version}\n" for name, version in each.items())
            file.flush()
            answer = _json_of(
                TOOLS / "security" / "bin" / "pip-audit", "--no-deps", "--disable-pip", "--progress-spinner=off",
                "--format=json", "--vulnerability-service=osv", f"--osv-url={service}", *ignored,
                f"--cache-dir={TOOLS / 'security' / 'cache'}", f"--requirement={file.name}",
            )  # fmt: skip
        looked_at = [one for one in answer["dependencies"] if "vulns" in one]
        found |= {(one["name"], one["version"]): [known["id"] for known in one["vulns"]] for one in looked_at}
    return found


def secrets(root: Path, files: Sequence[str], allowances: Sequence[Allowance]) -> Verdict:
    """Look into files, named from their root, for what looks like a secret and is no known made-up one."""
    # Without --no-verify it would try what it finds at the service that it looks made for.
    answer = _json_of(
        TOOLS / "security" / "bin" / "detect-secrets", "scan", "--no-verify", "--all-files", *files, folder=root
    )
    bad = [
        f"{found['filename']}:{found['line_number']}: {found['type']}"
        for each in answer["results"].values()
        for found in each
        if not any(allowance.covers(found) for allowance in allowances)
    ]
    return Verdict(f"{len(bad) or 'none'} in {len(files)} files", sorted(bad))


def tracked(root: Path) -> list[str]:
    """Return the files that git knows and that are there, but for the list of what may look like a secret."""
    known = _output("git", "ls-files", "-z", folder=root)
    names = [name for name in known.stdout.split("\0") if (root / name).is_file() and root / name != ALLOWANCES]
    if not names:
        raise ScanError(f"git knows no file in {root}: {known.stderr}")
    return names


def templates(files: Sequence[Path]) -> Verdict:
    """Let checkov look at templates of CloudFormation and SAM."""
    arguments = [argument for file in files for argument in ("--file", str(file))]
    config = f"--config-file={ROOT / '.checkov.yaml'}"
    answer = _json_of(TOOLS / "checkov" / "bin" / "checkov", config, "--output=json", *arguments)
    summary = answer["summary"]
    if summary["parsing_errors"] or not summary["resource_count"]:
        raise ScanError(f"checkov could not read every template: {summary}")
    bad = [
        f"{each['file_path'].lstrip('/')}:{each['file_line_range'][0]}: {each['resource']}: {each['check_id']}"
        f" {each['check_name']}"
        for each in answer["results"]["failed_checks"]
    ]
    return Verdict(f"{len(bad) or 'no'} weaknesses in {len(files)} files, {summary['passed']} checks passed", bad)


def _json_of(program: Path, *arguments: str, folder: Path = ROOT) -> dict[str, Any]:
    """Return what a scanner prints; its exit code says whether it found something, and that is in there too."""
    done = _output(str(program), *arguments, folder=folder)
    try:
        answer: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise ScanError(f"{program.name} failed: {(done.stdout + done.stderr)[-2000:]}") from None
    return answer


def _output(*command: str, folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # noqa: S603 - the scanners and git
    except OSError as error:
        raise ScanError(f"{command[0]}: {error.strerror}") from None


def _sha1(value: str) -> str:
    return hashlib.sha1(value.encode(), usedforsecurity=False).hexdigest()


def main() -> int:
    """Scan, say in one line each what it came to, and what was found."""
    allowed = yaml.safe_load(ALLOWANCES.read_text())
    allowances = [Allowance(**{**each, **_tuples(each)}) for each in allowed["secrets"]]
    scans: dict[str, Callable[[], Verdict]] = {
        "vulnerabilities": lambda: vulnerabilities(locks(), allowed["vulnerabilities"]),
        "secrets": lambda: secrets(ROOT, tracked(ROOT), allowances),
        "templates": lambda: templates(TEMPLATES),
    }
    with ThreadPoolExecutor() as pool:
        running = {name: pool.submit(scan) for name, scan in scans.items()}
    good = True
    for name, scan in running.items():
        try:
            verdict = scan.result()
        except ScanError as error:
            verdict = Verdict("not checked, the scanner failed", [str(error)])
        sys.stdout.write("".join(f"{line}\n" for line in (f"{name}: {verdict.text}", *verdict.findings)))
        good &= not verdict.findings
    return 0 if good else 1


def _tuples(raw: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(value) for name, value in raw.items() if isinstance(value, list)}


if __name__ == "__main__":
    sys.exit(main())
