"""/api/projects/{id}/ingestion_warnings_v2/: section 4 of verify.md."""

import datetime
import re

from django.utils import timezone
from rest_framework import serializers
from rest_framework.response import Response

from . import seed, strict
from .access import Resource
from .errors import refused


class Query(strict.Body):
    category = strict.Text(required=False)
    type = strict.Text(required=False)
    severity = serializers.ChoiceField(choices=["info", "warning", "error"], required=False)
    q = strict.Text(required=False)
    since = strict.Text(default="-24h")
    until = strict.Text(required=False)
    order_by = serializers.ChoiceField(choices=["count", "last_seen"], default="count")
    limit = serializers.IntegerField(min_value=1, max_value=500, default=100)
    samples = serializers.IntegerField(min_value=1, max_value=50, default=5)


class Sample(serializers.Serializer):
    timestamp = serializers.DateTimeField()
    source = serializers.CharField()
    pipeline_step = serializers.CharField()
    event_uuid = serializers.CharField(allow_null=True)
    distinct_id = serializers.CharField(allow_null=True)
    person_id = serializers.CharField(allow_null=True)
    group_key = serializers.CharField(allow_null=True)
    details = serializers.JSONField()


class Point(serializers.Serializer):
    timestamp = serializers.DateTimeField()
    count = serializers.IntegerField()


class Answer(serializers.Serializer):
    type = serializers.CharField()
    category = serializers.CharField()
    severity = serializers.CharField()
    count = serializers.IntegerField()
    last_seen = serializers.DateTimeField()
    sparkline = Point(many=True)
    samples = Sample(many=True)


def _time(text, attr):
    relative = re.match(r"^-(\d+)([mhdw])$", text)
    if relative:
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[relative[2]]
        return timezone.now() - datetime.timedelta(**{unit: int(relative[1])})
    try:
        return serializers.DateTimeField().run_validation(text)
    except serializers.ValidationError:
        strict.strange("ingestion_warnings_v2", "%s: %r" % (attr, text))
        raise refused("Invalid time", attr)


class Warnings(Resource):
    scopes = {"list": "ingestion_warning:read"}
    parameters = {"list": tuple(Query().fields)}

    def list(self, request, **_):
        query = Query(data=request.query_params.dict())
        if not query.is_valid():
            strict.strange("ingestion_warnings_v2", str(query.errors))
            raise serializers.ValidationError(query.errors)
        asked = query.validated_data
        since = _time(asked["since"], "since")
        until = _time(asked["until"], "until") if "until" in asked else timezone.now()
        if since >= until:
            raise refused("'since' must be before 'until'", "since")
        rows = [self._matching(row, asked, since, until) for row in seed.WARNINGS]
        rows = [row for row in rows if row]
        rows.sort(key=lambda row: row[asked["order_by"]], reverse=True)
        return Response(Answer(rows[: asked["limit"]], many=True).data)

    @staticmethod
    def _matching(row, asked, since, until):
        if any(row[key] != asked[key] for key in ("category", "type", "severity") if key in asked):
            return None
        if not since <= row["last_seen"] <= until:
            return None
        if asked.get("q") and asked["q"] not in row["type"] + str([sample["details"] for sample in row["samples"]]):
            return None
        return dict(row, samples=row["samples"][: asked["samples"]])
