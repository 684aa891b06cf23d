"""The tables as pynamodb models: keys, indexes, attribute paths for conditions (SPEC 2).

Attributes that are only carried, never a key or a part of a condition, are known to `items` alone.
"""

from pynamodb.attributes import MapAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection
from pynamodb.models import Model


class DueIndex(GlobalSecondaryIndex["NotificationModel"]):
    """What waits, by lane; sparse: final records have no `next_attempt_at`."""

    class Meta:
        """Index settings."""

        index_name = "due"
        projection = KeysOnlyProjection()

    lane = UnicodeAttribute(hash_key=True)
    next_attempt_at = NumberAttribute(range_key=True)


class DeadLetterIndex(GlobalSecondaryIndex["NotificationModel"]):
    """Dead letters by channel; sparse: only they have `dead_lettered_at`."""

    class Meta:
        """Index settings."""

        index_name = "dead_letters"
        projection = KeysOnlyProjection()

    channel = UnicodeAttribute(hash_key=True)
    dead_lettered_at = NumberAttribute(range_key=True)


class FindingIndex(GlobalSecondaryIndex["NotificationModel"]):
    """Notifications by finding; sparse: most have none."""

    class Meta:
        """Index settings."""

        index_name = "by_finding"
        projection = KeysOnlyProjection()

    finding_id = UnicodeAttribute(hash_key=True)
    dedup_key = UnicodeAttribute(range_key=True)


class NotificationModel(Model):
    """The notifications."""

    class Meta:
        """Table settings; `store.connection` gives the name."""

        table_name = ""
        billing_mode = "PAY_PER_REQUEST"

    channel = UnicodeAttribute(hash_key=True)
    dedup_key = UnicodeAttribute(range_key=True)
    status = UnicodeAttribute()
    lane = UnicodeAttribute()
    attempt_count = NumberAttribute()
    redrive_count = NumberAttribute()
    finding_id = UnicodeAttribute(null=True)
    requested_at = NumberAttribute()
    next_attempt_at = NumberAttribute(null=True)
    claimed_until = NumberAttribute(null=True)
    last_reason = UnicodeAttribute(null=True)
    dead_lettered_at = NumberAttribute(null=True)
    updated_at = NumberAttribute()
    expires_at = NumberAttribute(null=True)

    due = DueIndex()
    dead_letters = DeadLetterIndex()
    by_finding = FindingIndex()


class FindingModel(Model):
    """The findings."""

    class Meta:
        """Table settings; `store.connection` gives the name."""

        table_name = ""
        billing_mode = "PAY_PER_REQUEST"

    finding_id = UnicodeAttribute(hash_key=True)
    status = UnicodeAttribute()
    changed_at = UnicodeAttribute()
    unsettled = NumberAttribute(null=True)
    expires_at = NumberAttribute(null=True)


class ChannelModel(Model):
    """The run-time rows of the channels."""

    class Meta:
        """Table settings; `store.connection` gives the name."""

        table_name = ""
        billing_mode = "PAY_PER_REQUEST"

    channel = UnicodeAttribute(hash_key=True)
    hold_until = NumberAttribute(null=True)
    hold_reason = UnicodeAttribute(null=True)
    hold_note = UnicodeAttribute(null=True)
    failures = NumberAttribute(null=True)
    moved: MapAttribute[str, str] = MapAttribute(null=True)
