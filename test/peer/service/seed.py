"""What is there when the server starts: dashboards and ingestion warnings, and one old export."""

import datetime

from django.core.management import call_command
from django.utils import timezone

from .access import MAIN
from .models import BatchExport, Dashboard

WARNINGS = []

_user = {"id": 7, "uuid": "0190a1b2-0000-7000-8000-000000000007", "distinct_id": None, "first_name": "Ada",
         "last_name": "L", "email": "ada@example.com", "is_email_verified": None, "hedgehog_config": None,
         "role_at_organization": None}


def _tile(number, **kind):
    tile = {"id": number, "insight": None, "text": None, "button_tile": None, "widget": None,
            "layouts": {"sm": {"x": 0, "y": 0, "w": 6, "h": 5}, "xs": {"x": 0, "y": 0, "w": 1, "h": 5}},
            "color": None, "filters_overrides": None, "show_description": None, "transparent_background": None,
            "order": number, "last_refresh": None, "is_cached": False}
    tile.update(kind)
    return tile


def _dashboards():
    tiles = [
        _tile(1, insight={"id": 11, "short_id": "aB3", "name": None, "derived_name": "Pageviews", "result": None,
                          "query": {"kind": "InsightVizNode", "big": 9007199254740993}}, is_cached=True,
              last_refresh="2026-10-01T00:00:00.123456Z", color="blue"),
        _tile(2, text={"id": 5, "body": "# Hello", "created_by": _user, "last_modified_at": "2026-10-01T00:00:00Z",
                       "last_modified_by": None, "team": MAIN, "dashboard_tiles": [2]}, layouts={}),
        _tile(3, button_tile={"id": "0190a1b2-0000-7000-8000-000000000001", "url": "https://example.com",
                              "text": "Go", "placement": "left", "style": "primary"}, show_description=True),
        _tile(4, insight={"id": 12, "short_id": "cD4", "name": "Broken", "derived_name": None, "result": None},
              error={"type": "ValidationError", "message": "The query does not parse."}, filters_overrides={"a": 1}),
    ]
    make = Dashboard.objects.create
    make(project=MAIN, name="Website", pinned=True, created_by=_user, tags=["web", "team"], tiles=tiles,
         filters={"date_from": "-7d"}, variables={"v": {"code_name": "x", "value": 1}})
    make(project=MAIN, name=None, description="no name", folder="Unfiled/Dashboards")
    make(project=MAIN, name="Generated", creation_mode="template", restriction_level=37, tags=["web"])
    make(project=MAIN, name="Hidden", creation_mode="unlisted")
    make(project=MAIN, name="Gone", deleted=True)


def _warnings():
    now = timezone.now().replace(microsecond=250)
    sample = {"timestamp": now, "source": "ingestion", "pipeline_step": "process-persons", "event_uuid": None,
              "distinct_id": "u<1>", "person_id": None, "group_key": None, "details": {"eventUuid": "x", "n": 2**53 + 1}}

    def row(kind, category, severity, count, age):
        seen = now - datetime.timedelta(hours=age)
        points = [{"timestamp": seen - datetime.timedelta(hours=1), "count": 0}, {"timestamp": seen, "count": count}]
        WARNINGS.append({"type": kind, "category": category, "severity": severity, "count": count, "last_seen": seen,
                         "sparkline": points, "samples": [sample] * 7})

    row("cannot_merge_already_identified", "merge", "warning", 12, 1)
    row("event_dropped_too_old", "event", "info", 3, 2)
    row("message_size_too_large", "size", "error", 40, 3)
    row("group_key_too_long", "size", "error", 1, 72)


def fill():
    """Makes the server as it is when it starts."""
    call_command("flush", verbosity=0, interactive=False)
    WARNINGS.clear()
    _dashboards()
    _warnings()
    BatchExport.objects.create(
        project=MAIN, name="old inline Postgres", type="Postgres", interval="hour",
        config={"user": "u", "password": "kept", "host": "db.example.com", "port": 5432, "database": "d"})
