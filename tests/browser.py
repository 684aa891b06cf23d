"""A real browser without a window, driven over Chromium's own DevTools protocol."""

import base64
import contextlib
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WHY_NOT = "no Chromium on this machine (Debian: apt-get install chromium; .ci/run installs it where it may)"
_PATIENCE_SECONDS = 60
_FLAGS = (
    "--headless=new", "--remote-debugging-port=0", "--no-first-run", "--no-default-browser-check", "--disable-gpu",
    "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--no-proxy-server", "--hide-scrollbars", "--force-color-profile=srgb",
)  # fmt: skip


def installed() -> str | None:
    """Return the path of a Chromium on this machine."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@dataclass
class Tab:
    """One page in the browser; `complaints` is what the console has of errors, `dialogs` what scripts popped up."""

    connection: ClientConnection
    complaints: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    _number: int = 0

    def tell(self, method: str, **parameters: object) -> dict[str, Any]:
        """Give a command of the protocol and return its result."""
        number = self._send(method, parameters)
        while True:
            message = json.loads(self.connection.recv(timeout=_PATIENCE_SECONDS))
            if message.get("id") == number:
                assert "error" not in message, f"{method}: {message['error']}"
                result: dict[str, Any] = message["result"]
                return result
            self._noticed(message)

    def _send(self, method: str, parameters: dict[str, Any]) -> int:
        self._number += 1
        self.connection.send(json.dumps({"id": self._number, "method": method, "params": parameters}))
        return self._number

    def _noticed(self, event: dict[str, Any]) -> None:
        details = event.get("params", {})
        match event.get("method"):
            case "Page.javascriptDialogOpening":
                self.dialogs.append(details["message"])
                # A page waits for its dialog, and so would every later command.
                self._send("Page.handleJavaScriptDialog", {"accept": False})
            case "Runtime.exceptionThrown":
                self.complaints.append(json.dumps(details["exceptionDetails"]))
            case "Runtime.consoleAPICalled" if details["type"] in ("error", "warning", "assert"):
                self.complaints.append(json.dumps(details["args"]))
            case "Log.entryAdded" if details["entry"]["level"] in ("error", "warning"):
                self.complaints.append(json.dumps(details["entry"]))

    def run(self, expression: str) -> Any:
        """Return what a JavaScript expression comes to."""
        answer = self.tell("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + _PATIENCE_SECONDS
        while not self.run(expression):
            assert time.monotonic() < end, f"it did not come to pass: {expression}"
            time.sleep(0.02)

    def open(self, url: str) -> None:
        """Go to a page whose `body` has data-state=shown when it is ready."""
        self.tell("Page.navigate", url=url)
        self.until("document.readyState === 'complete' && document.body.dataset.state === 'shown'")

    def click(self, selector: str, text: str = "") -> None:
        """Click with the mouse on the first element that a selector and a part of its text find."""
        found = f"[...document.querySelectorAll({json.dumps(selector)})]"
        find = f"{found}.find(e => e.textContent.includes({json.dumps(text)}))"
        self.until(f"!!({find})")
        self.run(f"{find}.scrollIntoView({{block: 'center'}})")
        box = self.run(f"(r => [r.left + r.width / 2, r.top + r.height / 2])({find}.getClientRects()[0])")
        for kind in ("mousePressed", "mouseReleased"):
            self.tell("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def turn(self, act: Callable[[], None]) -> None:
        """Do something that makes the page call the function, and wait for what it shows."""
        self.run("document.body.dataset.state = 'before'")
        act()
        self.until("document.body.dataset.state === 'shown'")

    def picture(self, path: Path) -> None:
        """Write what the window shows as a PNG."""
        path.write_bytes(base64.b64decode(self.tell("Page.captureScreenshot", format="png")["data"]))


@contextlib.contextmanager
def browser(program: str, width: int = 1280, height: int = 860) -> Iterator[Tab]:
    """Run a browser with a profile of its own while the block lasts, and yield its one tab."""
    flags = [*_FLAGS, f"--window-size={width},{height}"]
    if os.geteuid() == 0:
        flags.append("--no-sandbox")  # it refuses to run as root otherwise
    # Its processes write into the profile until the last of them has gone.
    with tempfile.TemporaryDirectory(prefix="redeliver-browser-", ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [program, *flags, f"--user-data-dir={profile}", "about:blank"],
            env={**os.environ, "HOME": profile},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            process_group=0,
        )
        try:
            with connect(_address(Path(profile), process), max_size=None, proxy=None) as connection:
                tab = Tab(connection)
                for domain in ("Page", "Runtime", "Log"):
                    tab.tell(f"{domain}.enable")
                yield tab
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the first tab, as soon as the browser has said on which port it listens."""
    end = time.monotonic() + _PATIENCE_SECONDS
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    while time.monotonic() < end and process.poll() is None:
        with contextlib.suppress(OSError, IndexError, StopIteration):
            port = (profile / "DevToolsActivePort").read_text().splitlines()[0]
            with opener.open(f"http://127.0.0.1:{port}/json/list", timeout=5) as answer:
                address: str = next(t["webSocketDebuggerUrl"] for t in json.load(answer) if t["type"] == "page")
                return address
        time.sleep(0.05)
    raise AssertionError("the browser did not start")
