"""What the server holds."""

import uuid

from django.db import models


def _json(**kwargs):
    return models.JSONField(null=True, **kwargs)


class Integration(models.Model):
    project = models.IntegerField()
    kind = models.TextField()
    key = models.TextField()  # what makes it the same integration again
    flavour = models.TextField(default="")
    config = models.JSONField()
    secrets = models.JSONField()
    display_name = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["created_at", "id"]
        unique_together = [("project", "kind", "key")]


class BatchExport(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.IntegerField()
    name = models.TextField()
    model = models.TextField(default="events")
    type = models.TextField()
    config = models.JSONField()
    integration = models.ForeignKey(Integration, null=True, on_delete=models.SET_NULL)
    interval = models.TextField()
    paused = models.BooleanField(default=False)
    deleted = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)
    last_updated_at = models.DateTimeField(auto_now=True)
    last_paused_at = models.DateTimeField(null=True)
    start_at = models.DateTimeField(null=True)
    end_at = models.DateTimeField(null=True)
    hogql_query = models.TextField(null=True)
    hogql_modifiers = _json()
    primary_key = _json()
    version_key = _json()
    incremental_mode = models.TextField(default="APPEND")
    filters = _json()
    timezone = models.TextField(default="UTC")
    offset_day = models.IntegerField(null=True)
    offset_hour = models.IntegerField(null=True)

    class Meta:
        ordering = ["-created_at"]


class Backfill(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    batch_export = models.ForeignKey(BatchExport, on_delete=models.CASCADE)
    project = models.IntegerField()
    start_at = models.DateTimeField(null=True)
    end_at = models.DateTimeField(null=True)
    status = models.TextField(default="Starting")
    created_at = models.DateTimeField(auto_now_add=True)
    last_updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(null=True)


class Run(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    batch_export = models.ForeignKey(BatchExport, on_delete=models.CASCADE)
    project = models.IntegerField()
    backfill = models.ForeignKey(Backfill, null=True, on_delete=models.CASCADE)
    status = models.TextField(default="Starting")
    data_interval_start = models.DateTimeField(null=True)
    data_interval_end = models.DateTimeField()
    records_completed = models.IntegerField(null=True)
    records_failed = models.IntegerField(null=True)
    records_total_count = models.IntegerField(null=True)
    bytes_exported = models.BigIntegerField(null=True)
    latest_error = models.TextField(null=True)
    cursor = models.TextField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    last_updated_at = models.DateTimeField(auto_now=True)
    finished_at = models.DateTimeField(null=True)


class FileDownload(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    project = models.IntegerField()
    request = models.JSONField()
    status = models.TextField(default="Starting")
    error = models.TextField(null=True)
    files = _json()  # ids in key order
    records_completed = models.IntegerField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]


class Dashboard(models.Model):
    project = models.IntegerField()
    name = models.TextField(null=True)
    description = models.TextField(default="")
    pinned = models.BooleanField(default=False)
    deleted = models.BooleanField(default=False)
    creation_mode = models.TextField(default="default")
    tags = models.JSONField(default=list)
    folder = models.TextField(default="")
    restriction_level = models.IntegerField(default=21)
    created_by = _json()
    created_at = models.DateTimeField(auto_now_add=True)
    last_accessed_at = models.DateTimeField(null=True)
    filters = models.JSONField(default=dict)
    variables = models.JSONField(default=dict)
    tiles = models.JSONField(default=list)
