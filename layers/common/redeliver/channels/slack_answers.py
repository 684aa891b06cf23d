"""What Slack's answers mean: the words of its incoming webhooks, and the errors of `chat.postMessage`."""

from datetime import datetime, timedelta

from redeliver.channels.answers import SUCCESS, UNREADABLE, Answers, Means, Row
from redeliver.channels.attempt import header_wait
from redeliver.channels.http import body_text, reply, seconds, text
from redeliver.channels.transport import Answer


def _wait(answer: Answer, now: datetime) -> timedelta | None:
    return header_wait(answer, now) or seconds(reply(answer).get("retry_after"), now)


def _error(answer: Answer) -> str:
    """Return `ok`, the error, or "" for what is no answer of the Web API."""
    parsed = reply(answer)
    if parsed.get("ok") is True:
        return "ok"
    return text(parsed.get("error")) or ("not ok" if "ok" in parsed else "")


def _rows(means: Means, reason: str, *codes: str, note: str = "") -> tuple[Row, ...]:
    """Return a row for each code; a reason that is "" is the code itself. Slack's words decide, not the status."""
    return tuple(Row(None, code, means, reason or code.rstrip("*"), note) for code in codes)


WEBHOOK_ANSWERS = Answers(
    title="Incoming webhook",
    # With the statuses, of before 2016 and since:
    # https://api.slack.com/changelog/2016-05-17-changes-to-errors-for-incoming-webhooks. `invalid_blocks` and
    # `invalid_attachments`: https://github.com/slackapi/java-slack-sdk/issues/1017 and /415;
    # `missing_text_or_fallback_or_attachments`: https://github.com/slackapi/slack-github-action/issues/117.
    source="https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks#handling_errors",
    code=body_text,
    code_name="body",
    wait=_wait,
    rows=(
        Row(SUCCESS, "ok", Means.DELIVERED),
        *_rows(
            Means.REJECT,
            "",
            "invalid_payload",
            "no_text",
            "missing_text_or_fallback_or_attachments",
            "invalid_blocks",
            "invalid_attachments",
            "too_many_attachments",
        ),
        *_rows(Means.GONE, "", "user_not_found", "channel_not_found", "channel_is_archived"),
        *_rows(
            Means.GONE, "", "action_prohibited", "posting_to_general_channel_denied", note="an admin does not allow it"
        ),
        *_rows(
            Means.GONE, "", "no_service", "no_service_id", "no_active_hooks", note="the webhook is disabled or removed"
        ),
        *_rows(Means.GONE, "", "no_team", "team_disabled", note="the workspace is gone or disabled"),
        *_rows(Means.CREDENTIALS, "", "invalid_token"),
        *_rows(Means.RETRY, "", "rollup_error", note='"something strange", likely Slack\'s own'),
        Row(SUCCESS, None, Means.UNKNOWN, UNREADABLE, "a success without its `ok`"),
        Row(429, None, Means.BUSY, note="`Retry-After`, or `retry_after` of a JSON body"),
    ),
)

METHOD_ANSWERS = Answers(
    title="`chat.postMessage`",
    # `msg_blocks_too_long` is not listed there: https://github.com/slackapi/bolt-js/issues/2509.
    source="https://docs.slack.dev/reference/methods/chat.postMessage#errors",
    code=_error,
    code_name="error",
    wait=_wait,
    rows=(
        Row(SUCCESS, "ok", Means.DELIVERED),
        *_rows(
            Means.REJECT,
            "",
            "msg_too_long",
            "msg_blocks_too_long",
            "no_text",
            "invalid_blocks",
            "invalid_blocks_format",
            "invalid_attachments",
            "too_many_attachments",
        ),
        *_rows(Means.GONE, "", "channel_not_found", "is_archived"),
        *_rows(Means.GONE, "", "not_in_channel", note="invite the app to the channel"),
        *_rows(Means.GONE, "", "restricted_action*", note="a workspace's preference, a read-only channel"),
        *_rows(
            Means.CREDENTIALS,
            "",
            "not_authed",
            "invalid_auth",
            "account_inactive",
            "token_revoked",
            "token_expired",
            "missing_scope",
            "no_permission",
            "not_allowed_token_type",
        ),
        *_rows(Means.BUSY, "ratelimited", "ratelimited", "rate_limited"),
        *_rows(
            Means.UNKNOWN,
            "",
            "fatal_error",
            "internal_error",
            note='"some aspect of the operation" may have succeeded',
        ),
        *_rows(Means.RETRY, "", "service_unavailable", "request_timeout"),
        *_rows(
            Means.RETRY, "", "team_added_to_org", "org_login_required", note="the workspace moves to an organization"
        ),
        *_rows(Means.RETRY, "", "ekm_access_denied", note="administrators have suspended posting"),
        Row(SUCCESS, "", Means.UNKNOWN, UNREADABLE, "no `ok` and no error"),
        Row(SUCCESS, None, Means.RETRY, "unlisted_error", "`ok: false` with any other error"),
        Row(429, None, Means.BUSY, note="`Retry-After`, or `retry_after` of the body"),
    ),
)
