"""Teams: a webhook of Workflows, and a connector of old."""

import json

from infra.local.endpoint import Received, Step
from redeliver.core.outcome import CREDENTIALS_REFUSED, Delivered, Gone, Outcome, Reject, Retry
from tests.contract.channel_cases import Described, Expected

SIGNATURE = "gQ2vN1pXzR8kLw5TbY7cJh3"
FLOW = f"/workflows/0ec499be/triggers/manual/paths/invoke?api-version=2016-06-01&sv=1.0&sig={SIGNATURE}"
GROUP = "892e8ed3997c4b6e8f8a7f32728a8a87"
HOOK = f"/webhookb2/{GROUP}/IncomingWebhook/fcc6565ec7a944928bd43d6fc193b258"


def failed(status: int, code: str) -> Step:
    """Return an error as the trigger of a flow spells it."""
    return Step(status, body=json.dumps({"error": {"code": code, "message": "The workflow could not be triggered."}}))


def inner(status: int) -> Step:
    """Return a 200 of a connector that is none."""
    failure = "Webhook message delivery failed with error: Microsoft Teams endpoint returned"
    return Step(body=f"{failure} HTTP error {status} with ContextId tcid=0,server=msgapi,cv=h3ya2/H5Fk6NjffrwlaWTQ..")


def bad(step: Step, outcome: type[Outcome], reason: str, wait: float | None = None) -> Expected:
    return Expected(step=step, outcome=outcome, reason=reason, wait=wait)


def text(received: Received) -> str:
    """Return what a card says, a line for its looks above each text."""
    content = json.loads(received.body)["attachments"][0]["content"]
    shown = [f"{len(received.body)} bytes, version {content['version']}, {content['msteams']}"]
    for block in content["body"]:
        looks = " ".join(f"{name}={value}" for name, value in block.items() if name not in ("type", "text", "wrap"))
        shown += [f"[{block['type']} {looks}]", block["text"]]
    return "\n".join(shown)


def fits(received: Received) -> bool:
    """Tell whether Teams takes it, as it is sent and as JSON within JSON."""
    return len(received.body.encode()) < 20_811 and len(json.dumps(received.body)) <= 28_672


WORKFLOW_ANSWERS = {
    "a flow with a response": Expected(step=Step(200, body="thanks"), outcome=Delivered, reason=""),
    "off": bad(failed(400, "WorkflowTriggerIsNotEnabled"), Gone, "workflow_off"),
    "deleted": bad(failed(404, "WorkflowNotFound"), Gone, "workflow_not_found"),
    "another version": bad(failed(404, "WorkflowTriggerVersionNotFound"), Gone, "workflow_not_found"),
    "another 404": bad(Step(404, body="<html>"), Retry, "http_404"),
    "schema": bad(failed(400, "TriggerInputSchemaMismatch"), Retry, "schema_mismatch"),
    "something new": bad(failed(400, "SomethingNew"), Retry, "http_400"),
    "not for anyone": bad(failed(401, "DirectApiAuthorizationRequired"), Retry, CREDENTIALS_REFUSED),
    "forbidden": bad(Step(403), Retry, CREDENTIALS_REFUSED),
    "too long": bad(Step(413), Reject, "too_long"),
    "busy": bad(Step(429, {"Retry-After": "12"}), Retry, "http_429", wait=12),
    "bad gateway": bad(failed(502, "NoResponse"), Retry, "http_502"),
}

CONNECTOR_ANSWERS = {
    "busy inside": bad(inner(429), Retry, "http_429"),
    "too long inside": bad(inner(413), Reject, "too_long"),
    "no channel inside": bad(inner(404), Gone, "channel_not_found"),
    "gone inside": bad(inner(410), Retry, "delivery_failed"),
    "unauthorized inside": bad(inner(401), Retry, "delivery_failed"),
    "forbidden inside": bad(inner(403), Retry, CREDENTIALS_REFUSED),
    "bad request inside": bad(inner(400), Retry, "delivery_failed"),
    "server error inside": bad(inner(502), Retry, "delivery_failed"),
    "no contact": bad(
        Step(body="Webhook message delivery failed with error: Error contacting Microsoft Teams endpoint"),
        Retry,
        "delivery_failed",
    ),
    "another text": bad(Step(body="11"), Retry, "unreadable_answer"),
    "bad payload": bad(Step(400, body="Bad payload received by generic incoming webhook."), Reject, "bad_payload"),
    "another 400": bad(Step(400, body="Newtonsoft.Json.JsonReaderException"), Retry, "http_400"),
    "no webhook": bad(Step(404), Gone, "webhook_not_found"),
    "removed": bad(Step(410), Gone, "http_410"),
    "too long": bad(Step(413), Reject, "too_long"),
    "busy": bad(Step(429, {"Retry-After": "12"}), Retry, "http_429", wait=12),
    "unauthorized": bad(Step(401), Retry, CREDENTIALS_REFUSED),
    "forbidden": bad(Step(403), Retry, CREDENTIALS_REFUSED),
}

DESCRIPTIONS = (
    Described(
        type="teams",
        variant="workflow",
        own=lambda base: {"url": f"{base}{FLOW}"},
        path=FLOW,
        secrets=(SIGNATURE,),
        success=Step(202),
        answers=WORKFLOW_ANSWERS,
        body_decides=False,
        fits=fits,
        text=text,
    ),
    Described(
        type="teams",
        variant="connector",
        own=lambda base: {"url": f"{base}{HOOK}", "flavor": "connector"},
        path=HOOK,
        secrets=(GROUP,),
        success=Step(body="1"),
        answers=CONNECTOR_ANSWERS,
        body_decides=True,
        fits=fits,
        text=text,
    ),
)
