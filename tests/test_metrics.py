"""The names of metrics, log lines and alarms: what the code writes, what is documented and what is shown agree."""

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from redeliver.core.notification import Key
from redeliver.core.outcome import Reject, Retry
from redeliver.core.policy import Policy
from redeliver.intake import direct
from tests.builders import NOW, at, record
from tests.test_template import METRICS, OBSERVABILITY, dashboard
from tests.world import World

ROOT = Path(__file__).parents[1]
OPERATE = (ROOT / "docs" / "operate.md").read_text(encoding="utf-8")
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text(encoding="utf-8")
NAMES = {f"notifications.{name}" for name in METRICS} | {"channels.held"}
Dimensions = frozenset[str]


def written() -> set[tuple[str, Dimensions]]:
    """Return every metric that the use cases write, by its dimensions: all is done here that counts something."""
    world = World(policy=Policy(max_attempts=2))
    world.channel.will(Retry("down", "x", maybe_delivered=True), Reject("bad", "x"))
    for channel in ("ops", "nowhere"):
        for key in ("k1", "k2", "k3", "k1"):
            world.send(channel=channel, dedup_key=key)
        world.send(channel=channel, dedup_key="seen", suppress="x")
        world.send(channel=channel, dedup_key="late", deliver_by=at(-1).isoformat())
        world.memory.plant(Key(channel, "damaged"), next_attempt_at=NOW)
        world.send(channel=channel, dedup_key="damaged")
        world.memory.plant(Key(channel, "damaged too"), next_attempt_at=NOW)
    direct(world.accept, {"channel": "no name"}, world.refused, world.deadline())
    world.put(record(dedup_key="taken"))
    world.ledger.on_write = lambda: world.memory.replace(
        record(dedup_key="taken"), record(dedup_key="taken", attempt_count=1, claimed_until=at(65))
    )
    world.sweep()
    world.retain().removed(["ops"])
    counted = {(name, frozenset(key for key, _ in by)) for name, by in world.telemetry.counts}
    return counted | {(name, frozenset()) for name in world.telemetry.gauges}


def documented() -> Iterator[tuple[str, Dimensions]]:
    """Return the metrics of the guide's table; where it says "if configured", with and without the dimension."""
    table = OPERATE.partition("## Metrics")[2]
    for names, more in re.findall(r"^\| (`(?:notifications|channels)\..*?) \| (.*?) \|", table, re.MULTILINE):
        for name in re.findall(r"`([\w.]+)`", names):
            dimensions = frozenset(re.findall(r"`(\w+)`", more.partition(":")[0]))
            full = f"notifications{name}" if name.startswith(".") else name
            yield full, dimensions
            if "if configured" in more:
                yield full, frozenset()


def shown() -> Iterator[tuple[str, Dimensions]]:
    """Return the metrics on the dashboard: a search finds those that have exactly its dimensions."""
    for widget in dashboard()["widgets"]:
        for one in widget["properties"].get("metrics", []):
            if isinstance(one[0], dict):
                schema = re.findall(r"\{redeliver,([\w,]+)\}", one[0]["expression"])
                for name in re.findall(r'"((?:notifications|channels)\.\w+)"', one[0]["expression"]):
                    yield name, frozenset(schema[0].split(",")) - {"service"}
            elif one[0] == "redeliver":
                yield one[1], frozenset()


def constants(*folders: str) -> Iterator[str]:
    """Return the texts in the code of some folders."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def test_what_is_written_is_documented_with_its_dimensions() -> None:
    assert set(documented()) == written()


def test_the_dashboard_shows_all_that_is_written() -> None:
    assert set(shown()) == written()


def test_every_name_is_known_wherever_it_stands() -> None:
    pattern = re.compile(r"\b(?:notifications|channels)\.[a-z_]+\b(?![(/*\"'])")
    code = {text for text in constants("layers/common/redeliver", "functions", "cli") if pattern.fullmatch(text)}
    assert code <= NAMES
    assert set(re.findall(r'"((?:notifications|channels)\.\w+)', json.dumps(OBSERVABILITY).replace("\\", ""))) <= NAMES
    for path in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        named = set(re.findall(r"`((?:notifications|channels)\.[a-z_]+)`", path.read_text(encoding="utf-8")))
        assert named <= NAMES, path.name


def lines() -> Iterator[str]:
    """Return the names of the lines that the code logs."""
    for folder in ("layers/common/redeliver", "functions"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                match node:
                    case ast.Call(func=ast.Attribute(attr="log" | "warn"), args=[ast.Constant(value=str(name)), *_]):
                        yield name


def test_every_line_of_the_log_is_documented() -> None:
    table = OPERATE.partition("**Logs**")[2].partition("## ")[0]
    rows = re.findall(r"^\| (.*?`) ?\**? \|", table, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", " ".join(rows))) == set(lines())


def test_every_alarm_has_an_entry_in_the_runbook() -> None:
    alarms = {name for name in OBSERVABILITY["Resources"] if name.endswith("Alarm")}
    assert set(re.findall(r"^## (\w+)$", RUNBOOK, re.MULTILINE)) == alarms
