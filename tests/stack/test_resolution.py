"""An alert and what resolves it, over the deployed functions: retention asks the queue, `send` tells PagerDuty."""

import json

from infra.local.endpoint import Endpoint
from infra.local.stack import LocalStack
from tests.contract.channel_pagerduty import DESCRIPTIONS, PATH, ROUTING_KEY
from tests.stack.scene import new_channel, news, until

(PAGERDUTY,) = DESCRIPTIONS


def test_an_alert_is_resolved_when_its_finding_is(stack: LocalStack, endpoint: Endpoint) -> None:
    endpoint.script(PATH, default=PAGERDUTY.success)
    scene = new_channel(
        stack, endpoint, type="pagerduty", routing_key=ROUTING_KEY, api_base=endpoint.url(), url=None, secret=None
    )
    (answer,) = scene.send("cve-20", finding_id="f-20")
    assert answer["result"] == "sent"
    assert "expires_at" not in scene.stored("cve-20")
    news(scene, "f-20", "resolved")
    until(lambda: len(endpoint.requests(PATH)) == 2)
    trigger, resolve = (json.loads(request.body) for request in endpoint.requests(PATH))
    assert (trigger["event_action"], resolve["event_action"]) == ("trigger", "resolve")
    assert trigger["dedup_key"] == resolve["dedup_key"] == "cve-20"
    until(lambda: "expires_at" in scene.stored("cve-20"))
