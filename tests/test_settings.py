from datetime import timedelta

import pytest

from redeliver.core.policy import Policy
from redeliver.settings import InvalidSetting, read

TABLE = {"NOTIFICATIONS_TABLE": "n"}
NUMBERS = {
    "RETRY_BASE_DELAY_SECONDS": (0, 86400),
    "RETRY_MAX_DELAY_SECONDS": (1, 30 * 86400),
    "MAX_DELIVERY_ATTEMPTS": (1, 100),
    "SWEEP_MAX_RECORDS": (1, 10_000),
    "SWEEP_CONCURRENCY": (1, 256),
    "NOT_CONFIGURED_RECHECK_SECONDS": (1, 86400),
}


def test_defaults() -> None:
    settings = read(TABLE)
    assert settings.policy == Policy()
    assert (settings.stage, settings.notifications_table) == ("dev", "n")
    assert (settings.sweep_max_records, settings.sweep_concurrency) == (500, 32)
    assert settings.not_configured_recheck == timedelta(minutes=15)
    assert settings.channels_table is settings.findings_table is settings.channels_file is None
    assert settings.send_queue_url is settings.dead_letter_queue_url is settings.notification_bus is None


def test_everything_given() -> None:
    settings = read(
        {
            "STAGE": "prod",
            "NOTIFICATIONS_TABLE": " n ",
            "CHANNELS_TABLE": "c",
            "FINDINGS_TABLE": "f",
            "SEND_QUEUE_URL": "https://s",
            "NOTIFICATION_BUS": "b",
            "SEND_DEAD_LETTER_QUEUE_URL": "https://q",
            "CHANNELS_FILE": "channels.json",
            "RETRY_BASE_DELAY_SECONDS": "60",
            "RETRY_MAX_DELAY_SECONDS": "3600",
            "RETRY_JITTER": "0.25",
            "MAX_DELIVERY_ATTEMPTS": "6",
            "RETENTION_DAYS": "30",
            "SWEEP_MAX_RECORDS": "50",
            "SWEEP_CONCURRENCY": "8",
            "NOT_CONFIGURED_RECHECK_SECONDS": "60",
        }
    )
    assert settings.policy == Policy(
        base_delay=timedelta(minutes=1),
        max_delay=timedelta(hours=1),
        jitter=0.25,
        max_attempts=6,
        retention=timedelta(days=30),
    )
    assert (settings.stage, settings.notifications_table, settings.channels_table) == ("prod", "n", "c")
    assert (settings.findings_table, settings.channels_file) == ("f", "channels.json")
    assert (settings.send_queue_url, settings.dead_letter_queue_url) == ("https://s", "https://q")
    assert settings.notification_bus == "b"
    assert (settings.sweep_max_records, settings.sweep_concurrency) == (50, 8)


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_blank_is_missing(blank: str) -> None:
    assert read({**TABLE, **dict.fromkeys([*NUMBERS, "RETENTION_DAYS"], blank), "CHANNELS_FILE": blank}) == read(TABLE)


@pytest.mark.parametrize("environment", [{}, {"NOTIFICATIONS_TABLE": " "}], ids=["missing", "blank"])
def test_the_table_is_required(environment: dict[str, str]) -> None:
    with pytest.raises(InvalidSetting, match="NOTIFICATIONS_TABLE: is required"):
        read(environment)


@pytest.mark.parametrize(("name", "bounds"), NUMBERS.items(), ids=NUMBERS)
def test_a_number_out_of_bounds_is_named_with_what_is_allowed(name: str, bounds: tuple[int, int]) -> None:
    least, most = bounds
    for value in (least - 1, most + 1, "five", "1.5", "NaN", "inf", "1e3", "--1"):
        with pytest.raises(InvalidSetting) as caught:
            read({**TABLE, name: str(value)})
        assert str(caught.value) == f"{name}: must be a whole number from {least} to {most}; got {str(value)!r}"


@pytest.mark.parametrize(("name", "bounds"), NUMBERS.items(), ids=NUMBERS)
def test_bounds_themselves_are_allowed(name: str, bounds: tuple[int, int]) -> None:
    wide = {"RETRY_BASE_DELAY_SECONDS": "1"} if name == "RETRY_MAX_DELAY_SECONDS" else {}
    for value in bounds:
        read({**TABLE, **wide, name: str(value)})


@pytest.mark.parametrize("value", ["-0.01", "1.01", "nan", "inf", "half"])
def test_bad_jitter(value: str) -> None:
    with pytest.raises(InvalidSetting, match="RETRY_JITTER: must be a number from 0 to 1"):
        read({**TABLE, "RETRY_JITTER": value})


@pytest.mark.parametrize("value", ["-0.01", "3650.01", "nan", "inf", "long"])
def test_bad_retention(value: str) -> None:
    with pytest.raises(InvalidSetting, match="RETENTION_DAYS: must be a number from 0 to 3650"):
        read({**TABLE, "RETENTION_DAYS": value})


@pytest.mark.parametrize(("value", "number"), [("0", 0.0), ("1", 1.0), ("0.5", 0.5)])
def test_fractions(value: str, number: float) -> None:
    policy = read({**TABLE, "RETRY_JITTER": value, "RETENTION_DAYS": value}).policy
    assert (policy.jitter, policy.retention) == (number, timedelta(days=number))


@pytest.mark.parametrize(("base", "fits"), [(3600, True), (3601, False)])
def test_the_first_wait_is_not_longer_than_the_longest(base: int, fits: bool) -> None:
    environment = {**TABLE, "RETRY_BASE_DELAY_SECONDS": str(base), "RETRY_MAX_DELAY_SECONDS": "3600"}
    if fits:
        assert read(environment).policy.base_delay == timedelta(hours=1)
        return
    with pytest.raises(InvalidSetting, match="RETRY_BASE_DELAY_SECONDS: must not exceed RETRY_MAX_DELAY_SECONDS"):
        read(environment)
