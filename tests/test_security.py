"""What `make security` looks for is found, by the real scanners; what could not be asked is said to be unasked."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from infra import security
from infra.security import CANARY, Allowance, Pin, ScanError

scanners = pytest.mark.skipif(
    not all((security.TOOLS / name / "redeliver.stamp").is_file() for name in ("security", "checkov")),
    reason="`make security` makes the environments of the scanners",
)
Known = dict[Pin, str]


class _Service(ThreadingHTTPServer):
    """Answers as OSV does, from what it knows."""

    def __init__(self, known: Mapping[Pin, str]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.known = known
        self.answers_left = 1_000
        self.url = f"http://127.0.0.1:{self.server_port}/v1/query"


class _Handler(BaseHTTPRequestHandler):
    server: _Service

    def do_POST(self) -> None:
        self.server.answers_left -= 1
        if self.server.answers_left < 0:
            self.send_error(503)
            return
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        name, version = asked["package"]["name"], asked["version"]
        affected = [{"package": {"name": name, "ecosystem": "PyPI"}}]
        found = self.server.known.get((name, version))
        answer = json.dumps({"vulns": [{"id": found, "affected": affected}]} if found else {}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


@pytest.fixture
def known() -> Known:
    """What the vulnerability service knows."""
    return {CANARY: "CVE-2016-10745"}


@pytest.fixture
def server(known: Known) -> Iterator[_Service]:
    """The vulnerability service."""
    with _Service(known) as serving:
        Thread(target=serving.serve_forever, args=(0.05,), daemon=True).start()
        yield serving
        serving.shutdown()


@pytest.fixture
def service(server: _Service) -> str:
    """The address of the vulnerability service."""
    return server.url


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """A file of pins, one of them for another platform."""
    file = tmp_path / "lock.txt"
    file.write_text("six==1.17.0\ncolorama==0.4.6 ; sys_platform == 'win32'\n")
    return file


def test_every_line_of_every_lock_is_a_pin() -> None:
    files = security.locks()
    assert {file.name for file in files} == {
        "dev.txt", "stack.txt", "sam.txt", "security.txt", "checkov.txt", "requirements.txt",
    }  # fmt: skip
    lines = {line.partition(" ;")[0] for file in files for line in file.read_text().splitlines() if line[:1] != "#"}
    assert {f"{name}=={version}" for name, version in security.pins(files)} == {
        line.partition("[")[0] + line.partition("]")[2] if "[" in line else line for line in lines
    }


@pytest.mark.parametrize("line", ["requests", "requests>=2", "-e .", "git+https://example.com/x"])
def test_what_is_not_pinned_cannot_be_checked_and_is_refused(tmp_path: Path, line: str) -> None:
    file = tmp_path / "lock.txt"
    file.write_text(f"six==1.17.0\n{line}\n")
    with pytest.raises(ScanError, match="is no pin"):
        security.pins([file])


@scanners
def test_a_known_vulnerability_is_found_on_whichever_platform_it_is(service: str, known: Known, lock: Path) -> None:
    known["colorama", "0.4.6"] = "CVE-2026-1"
    verdict = security.vulnerabilities([lock], service=service)
    assert verdict.findings == ["colorama 0.4.6: CVE-2026-1"]
    assert not security.vulnerabilities([lock], ["CVE-2026-1"], service).findings


@scanners
def test_two_versions_of_one_package_are_both_asked_about(service: str, known: Known, lock: Path) -> None:
    lock.write_text("six==1.16.0 ; python_version < '3.12'\nsix==1.17.0 ; python_version >= '3.12'\n")
    known["six", "1.16.0"] = known["six", "1.17.0"] = "CVE-2026-1"
    assert security.vulnerabilities([lock], service=service).findings == [
        "six 1.16.0: CVE-2026-1",
        "six 1.17.0: CVE-2026-1",
    ]


@scanners
def test_without_a_known_vulnerability_all_is_well(service: str, lock: Path) -> None:
    verdict = security.vulnerabilities([lock], service=service)
    assert (verdict.text, verdict.findings) == ("none of 2 pins has any that 127.0.0.1 knows", [])


def test_a_service_that_cannot_be_reached_is_no_finding_and_no_pass(lock: Path) -> None:
    with _Service({}) as closed:
        url = closed.url
    verdict = security.vulnerabilities([lock], service=url)
    assert (verdict.text, verdict.findings) == ("not checked, 127.0.0.1 cannot be reached", [])


@scanners
def test_a_service_that_goes_away_meanwhile_is_no_finding_and_no_pass(server: _Service, lock: Path) -> None:
    server.answers_left = 2
    assert security.vulnerabilities([lock], service=server.url).text == "not checked, 127.0.0.1 cannot be reached"


def test_a_service_that_knows_nothing_is_not_believed(service: str, known: Known, lock: Path) -> None:
    known.clear()
    assert security.vulnerabilities([lock], service=service).text == "not checked, 127.0.0.1 cannot be reached"


def test_where_git_knows_no_file_nothing_passes(tmp_path: Path) -> None:
    (tmp_path / "untracked.txt").write_text("nothing to see\n")
    with pytest.raises(ScanError, match="git"):
        security.tracked(tmp_path)


# In pieces, so that this file holds none.
SECRETS = {
    "AWS Access Key": "AKIA" + "Z7Q4WX2JHN5TYB3R",
    "Slack Token": "xoxb-" + "27653672482-" + "29874698324-" + "qeGALWfUvF9t" + "l8pPdIsarrhz",
    "Telegram Bot Token": "987654321:" + "BBIgjrltLZ9XnS3aT" + "kjR8_w5UNpGKaHi8lF",
    "Private Key": "-----BEGIN RSA " + "PRIVATE KEY-----",
    "Hex High Entropy String": f'"{hashlib.sha256(b"a key").hexdigest()}"',
}


@scanners
def test_what_looks_like_a_secret_is_found_in_every_kind_of_file(tmp_path: Path) -> None:
    names = ["config.py", "notes.md", "settings.yaml", "event.json"]
    for name in names:
        (tmp_path / name).write_text("".join(f"value = {secret}\n" for secret in SECRETS.values()))
    (tmp_path / "clean.txt").write_text("nothing to see\n")
    verdict = security.secrets(tmp_path, [*names, "clean.txt"], [])
    for name in names:
        for number, kind in enumerate(SECRETS, start=1):
            assert f"{name}:{number}: {kind}" in verdict.findings
    assert not [each for each in verdict.findings if each.startswith("clean.txt")]


@scanners
def test_an_allowance_covers_its_value_or_its_detector_in_its_files_and_nothing_else(tmp_path: Path) -> None:
    token, hexadecimal = SECRETS["Telegram Bot Token"], SECRETS["Hex High Entropy String"]
    (tmp_path / "golden").mkdir()
    (tmp_path / "golden" / "one.txt").write_text(f"{token}\nvalue = {hexadecimal}\n")
    (tmp_path / "other.txt").write_text(f"{token[:-1]}x\nvalue = {hexadecimal}\n")
    allowances = [
        Allowance(reason="made up", values=(token,)),
        Allowance(reason="ids", detector="Hex High Entropy String", paths=("golden/*",)),
    ]
    verdict = security.secrets(tmp_path, ["golden/one.txt", "other.txt"], allowances)
    assert verdict.findings == ["other.txt:1: Telegram Bot Token", "other.txt:2: Hex High Entropy String"]


@scanners
def test_a_weak_template_is_found(tmp_path: Path) -> None:
    file = tmp_path / "weak.yaml"
    file.write_text("Resources:\n  Open:\n    Type: AWS::S3::Bucket\n    Properties: {AccessControl: PublicRead}\n")
    assert any("AWS::S3::Bucket.Open: CKV_AWS_20 " in each for each in security.templates([file]).findings)


@scanners
def test_a_template_that_cannot_be_read_does_not_pass(tmp_path: Path) -> None:
    file = tmp_path / "broken.yaml"
    file.write_text("Resources:\n  Open: [\n")
    with pytest.raises(ScanError, match="could not read every template"):
        security.templates([file])
