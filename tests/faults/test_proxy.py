import http.client
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from urllib.parse import urlsplit

import pytest
from pynamodb.connection import TableConnection

from infra.local.endpoint import Endpoint, Step
from infra.local.faults.plan import Fault, FaultPlan
from infra.local.faults.proxy import FaultProxy
from infra.local.faults.service import DYNAMODB, HOOK, Service
from redeliver.ports import Unavailable
from redeliver.store.connection import connect
from redeliver.store.models import NotificationModel
from redeliver.store.notifications import DynamoNotifications
from tests.builders import record

HANG = 0.5


@contextmanager
def proxied(endpoint: Endpoint, rates: Mapping[Fault, float], service: Service = HOOK) -> Iterator[FaultProxy]:
    with FaultProxy(FaultPlan(1, rates), service, hang=HANG, keep=True) as proxy:
        proxy.target = endpoint.url()
        yield proxy


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as serving:
        yield serving


def connection(proxy: FaultProxy, timeout: float = 5) -> http.client.HTTPConnection:
    return http.client.HTTPConnection("127.0.0.1", urlsplit(proxy.url).port, timeout=timeout)


def post(proxy: FaultProxy, headers: Mapping[str, str] | None = None, timeout: float = 5) -> tuple[int, bytes]:
    client = connection(proxy, timeout)
    try:
        client.request("POST", "/hook?a=1", b"body", dict(headers or {}))
        answer = client.getresponse()
        return answer.status, answer.read()
    finally:
        client.close()


def test_what_meets_no_fault_is_forwarded_as_it_came(endpoint: Endpoint) -> None:
    endpoint.script("/hook?a=1", default=Step(201, {"X-Says": "yes"}, "done"))
    with proxied(endpoint, {}) as proxy:
        client = connection(proxy)
        for _ in range(2):  # over one connection
            client.request("POST", "/hook?a=1", b"body", {"Host": "signed.example", "X-Amz-Target": "T", "A-b": "c d"})
            answer = client.getresponse()
            assert (answer.status, answer.headers["X-Says"], answer.read()) == (201, "yes", b"done")
        client.close()
    first, second = endpoint.requests()
    assert (first.method, first.path, first.body) == ("POST", "/hook?a=1", "body")
    assert first.headers["Host"] == "signed.example"
    assert first.headers == second.headers
    assert first.headers["A-b"] == "c d"


@pytest.mark.parametrize("fault", [Fault.RESET, Fault.ERROR, Fault.THROTTLE])
def test_a_request_that_fails_before_the_work_does_not_reach_the_target(fault: Fault, endpoint: Endpoint) -> None:
    with proxied(endpoint, {fault: 1}) as proxy:
        if fault is Fault.RESET:
            with pytest.raises(ConnectionError):
                post(proxy)
        else:
            assert post(proxy)[0] in ([429] if fault is Fault.THROTTLE else [500, 502, 503])
        assert proxy.exchanges == ()
        assert proxy.plan.met() == (1, Counter({fault: 1}))
    assert endpoint.requests() == []


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.DONE_ERROR, Fault.HANG])
def test_a_request_that_fails_after_the_work_has_reached_the_target(fault: Fault, endpoint: Endpoint) -> None:
    with proxied(endpoint, {fault: 1}) as proxy:
        if fault is Fault.DONE_ERROR:
            assert post(proxy)[0] >= 500
        else:
            with pytest.raises(ConnectionError):
                post(proxy)
        (exchange,) = proxy.exchanges
    assert (exchange.path, exchange.body, exchange.status) == ("/hook?a=1", b"body", 200)
    assert exchange.met is not None
    assert exchange.met.fault is fault
    assert len(endpoint.requests()) == 1


def test_a_request_that_hangs_is_done_though_nobody_waits(endpoint: Endpoint) -> None:
    with proxied(endpoint, {Fault.HANG: 1}) as proxy:
        with pytest.raises(TimeoutError):
            post(proxy, timeout=HANG / 5)
        assert not endpoint.requests()
        end = time.monotonic() + 10
        while not endpoint.requests() and time.monotonic() < end:
            time.sleep(0.02)
    assert len(endpoint.requests()) == 1


def test_a_delayed_request_is_answered(endpoint: Endpoint) -> None:
    with proxied(endpoint, {Fault.DELAY: 1}) as proxy:
        assert post(proxy)[0] == 200


def test_a_request_whose_client_died_while_sending_is_not_forwarded(endpoint: Endpoint) -> None:
    with proxied(endpoint, {}) as proxy:
        client = connection(proxy)
        client.putrequest("POST", "/hook")
        client.putheader("Content-Length", "9")
        client.endheaders(b"half")
        assert client.sock is not None
        client.sock.shutdown(1)
        with pytest.raises(ConnectionError):
            client.getresponse()
        client.close()
    assert endpoint.requests() == []


def test_a_target_that_is_not_there_is_a_bad_gateway(endpoint: Endpoint) -> None:
    with proxied(endpoint, {}) as proxy:
        assert post(proxy)[0] == 200
        with Endpoint() as gone:
            proxy.target = gone.url()
        assert post(proxy)[0] == 502


def test_only_dynamodb_is_disturbed(endpoint: Endpoint) -> None:
    with proxied(endpoint, {Fault.THROTTLE: 1}, DYNAMODB) as proxy:
        assert post(proxy, {"X-Amz-Target": "AmazonSSM.GetParameter"})[0] == 200
        status, body = post(proxy, {"X-Amz-Target": "DynamoDB_20120810.PutItem"})
    assert status == 400
    assert b"ThroughputExceeded" in body or b"ThrottlingException" in body


@pytest.fixture
def table() -> Iterator[FaultProxy]:
    """The proxy of a table of which nobody needs the answers."""
    with FaultProxy(FaultPlan(1, {}), DYNAMODB, hang=HANG) as proxy:
        yield proxy


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (Fault.RESET, "Connection.*Error"),
        (Fault.ERROR, "InternalServerError|ServiceUnavailable"),
        (Fault.THROTTLE, "ProvisionedThroughputExceededException|ThrottlingException"),
    ],
)
def test_the_store_takes_each_fault_for_what_it_stands_for(
    fault: Fault, said: str, table: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", table.url)
    table.plan.rates = {fault: 1}
    connected: TableConnection = connect(NotificationModel, "notifications")
    with pytest.raises(Unavailable, match=f"DynamoDB: ({said}): "):
        DynamoNotifications(connected).get(record().key)
    requests, met = table.plan.met()
    assert met == {fault: requests}
    assert requests >= 2  # it was tried again


def test_a_seed_fixes_the_draws() -> None:
    rates = {Fault.DELAY: 0.3, Fault.LOST: 0.3}
    plans = [FaultPlan(seed, rates) for seed in (1, 1, 2)]
    drawn = [[plan.draw() for _ in range(100)] for plan in plans]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_faults_come_as_often_as_their_rates_say() -> None:
    plan = FaultPlan(1, {Fault.DELAY: 0.1, Fault.LOST: 0.2})
    for _ in range(10_000):
        plan.draw()
    requests, met = plan.met()
    assert requests == 10_000
    assert met[Fault.DELAY] == pytest.approx(1000, rel=0.15)
    assert met[Fault.LOST] == pytest.approx(2000, rel=0.15)


def test_other_rates_move_no_later_draw() -> None:
    one, other = FaultPlan(1, {}), FaultPlan(1, {Fault.RESET: 1})
    for _ in range(10):
        one.draw(), other.draw()
    one.rates = other.rates = {Fault.LOST: 0.5}
    assert [one.draw() for _ in range(50)] == [other.draw() for _ in range(50)]
