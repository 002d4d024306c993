"""/api/projects/{id}/batch_exports/: parts 2.1 and 4 of the reference, and sections 1 and 3 of service.md."""

import re
import zoneinfo

from django.utils import timezone
from rest_framework import exceptions, mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.response import Response

from . import destinations, strict
from .access import PAGE, Resource, flag
from .errors import refused
from .models import BatchExport
from .runs import RunAnswer

MODELS = ["events", "persons", "sessions", "hogql"]
INTERVALS = ["hour", "day", "week", "every 5 minutes", "every 15 minutes"]
HOGQL_ONLY = ("hogql_query", "hogql_modifiers", "primary_key", "version_key")


class DestinationRequest(strict.Body):
    type = strict.Choice(choices=[name for name in destinations.TYPES if name != "NoOp"])
    config = strict.AnyObject()
    integration_id = strict.Whole(required=False, allow_null=True)
    integration = strict.Whole(required=False, allow_null=True)


class FilterRequest(strict.Body):
    key = strict.Text()
    operator = strict.Text()
    type = strict.Choice(choices=["event", "person", "hogql"])
    value = serializers.JSONField()


class Request(strict.Body):
    name = strict.Text()
    model = strict.Choice(choices=MODELS, required=False)
    destination = DestinationRequest()
    interval = strict.Choice(choices=INTERVALS)
    paused = strict.Truth(required=False)
    last_paused_at = strict.Time(required=False, allow_null=True)
    start_at = strict.Time(required=False, allow_null=True)
    end_at = strict.Time(required=False, allow_null=True)
    hogql_query = strict.Text(required=False, allow_null=True)
    hogql_modifiers = strict.AnyObject(required=False, allow_null=True)
    primary_key = strict.Texts(required=False, allow_null=True)
    version_key = strict.Texts(required=False, allow_null=True)
    incremental_mode = strict.Choice(choices=["APPEND", "MERGE"], required=False)
    filters = FilterRequest(many=True, required=False, allow_null=True)
    timezone = strict.Text(required=False, allow_null=True)
    offset_day = strict.Whole(required=False, allow_null=True, min_value=0, max_value=6)
    offset_hour = strict.Whole(required=False, allow_null=True, min_value=0, max_value=23)


class TestRequest(Request):
    step = strict.Whole(default=0, min_value=0)


class UnpauseRequest(strict.Body):
    backfill = strict.Truth(default=False)


class Answer(serializers.ModelSerializer):
    team_id = serializers.IntegerField(source="project")
    destination = serializers.SerializerMethodField()
    schema = serializers.ReadOnlyField(default=None)
    latest_runs = serializers.SerializerMethodField()
    offset_day = serializers.SerializerMethodField()
    offset_hour = serializers.SerializerMethodField()

    class Meta:
        model = BatchExport
        fields = (
            "id team_id name model destination interval paused created_at last_updated_at last_paused_at start_at "
            "end_at latest_runs hogql_query schema filters timezone offset_day offset_hour hogql_modifiers primary_key "
            "version_key incremental_mode"
        ).split()

    def get_destination(self, row):
        return {"type": row.type, "config": destinations.shown(row.type, row.config), "integration": row.integration_id}

    def get_latest_runs(self, row):
        return RunAnswer(row.run_set.order_by("-created_at")[:10], many=True).data

    def get_offset_day(self, row):
        return (row.offset_day or 0) if row.interval == "week" else None

    def get_offset_hour(self, row):
        return (row.offset_hour or 0) if row.interval in ("day", "week") else None


def _times(row, body, creating):
    """interval, timezone and the offsets: part 4.1."""
    day, hour = body.get("offset_day"), body.get("offset_hour")
    if "interval" not in body:
        if "offset_day" in body or "offset_hour" in body:
            strict.strange("batch export", "an offset without the interval")
            raise KeyError("interval")
    else:
        row.interval = body["interval"]
        if row.interval.startswith("every"):
            flag(row.project, "Higher frequency batch exports")
        if row.interval != "week" and day is not None:
            raise refused("offset_day is not applicable for non-weekly intervals", "offset_day")
        if row.interval not in ("day", "week") and hour is not None:
            raise refused("offset_hour is not applicable for non-daily/weekly intervals", "offset_hour")
        if creating or "offset_day" in body or "offset_hour" in body:
            row.offset_day, row.offset_hour = day, hour
    if "timezone" in body:
        row.timezone = body["timezone"] or "UTC"
        if row.timezone not in zoneinfo.available_timezones():
            raise refused('"%s" is not a valid choice.' % row.timezone, "timezone", "invalid_choice")


def _query(row, body):
    """model and the keys of hogql: part 4.2."""
    if row.model == "hogql":
        if "model" in body:
            flag(row.project, "HogQL batch exports")
        if row.hogql_query is None:
            raise refused("'hogql_query' is required when 'model' is 'hogql'", "hogql_query")
        check_hogql(row.hogql_query)
        if row.incremental_mode == "MERGE" and not row.primary_key:
            raise refused("'primary_key' is required when 'incremental_mode' is 'MERGE'", "primary_key")
        return
    for key in HOGQL_ONLY:
        if body.get(key) is not None:
            raise refused("'%s' is only supported for 'hogql' not '%s' model" % (key, row.model), key)
    if body.get("filters") and row.model != "events":
        raise refused("'filters' is only supported for 'events' not '%s' model" % row.model, "filters")


def check_hogql(query):
    if not re.match(r"(?is)^\s*(select|with)\b", query):
        raise refused("Failed to parse HogQL query: expected SELECT", "hogql_query")
    for name in re.findall(r"\{([^}]*)\}", query):
        if name not in ("data_interval_start", "data_interval_end"):
            raise refused("Unknown placeholder '{%s}'. Use {data_interval_start} and {data_interval_end}." % name,
                          "hogql_query")


def fill(row, body, sent, creating):
    """Writes the checked body into the row. sent is the body as it came, which knows what was absent."""
    if not creating and "model" in body and body["model"] != row.model:
        raise refused("Changing models is not supported. Create a new batch export instead.", "model")
    for key in ("name", "model", "paused", "last_paused_at", "start_at", "end_at", "filters", "incremental_mode") + (
        HOGQL_ONLY
    ):
        if key in body:
            setattr(row, key, body[key])
    _times(row, body, creating)
    _query(row, body)
    if "destination" in body:
        fill_destination(row, body["destination"], sent["destination"], creating)


def fill_destination(row, body, sent, creating):
    kind = body["type"]
    stored = None if creating else row
    if kind == "HTTP" and row.model != "events":
        raise refused("HTTP batch exports only support the events model", "destination")
    if stored and kind != stored.type:
        raise refused("Cannot change destination type from '%s' to '%s'. Delete this batch export and create a new one "
                      "of the other type." % (stored.type, kind), "destination")
    integration = destinations.integration(kind, sent, row.project, stored, creating)
    row.config = destinations.config(kind, sent["config"], stored, integration, creating, row.project)
    row.type, row.integration = kind, integration


class PatchRequest(Request):
    """As Request, but a destination without type or config gets past this and fails later, as on the service."""

    class Destination(DestinationRequest):
        type = strict.Choice(choices=DestinationRequest().fields["type"].choices, required=False)
        config = strict.AnyObject(required=False)

    destination = Destination()


class StoredTestRequest(TestRequest):
    """The stored config is the base, so that only config itself must be there."""

    destination = PatchRequest.Destination()


def check_parts(sent):
    for key in ("type", "config"):
        if "destination" in sent and key not in sent["destination"]:
            strict.strange("batch export", "a destination without " + key)
            raise KeyError(key)


class BatchExports(mixins.ListModelMixin, mixins.RetrieveModelMixin, Resource):
    queryset = BatchExport.objects.filter(deleted=False)
    serializer_class = Answer
    scopes = {
        "list": "batch_export:read", "retrieve": "batch_export:read", "create": "batch_export:write",
        "update": "batch_export:write", "partial_update": "batch_export:write", "destroy": "batch_export:write",
        "pause": "batch_export:write", "unpause": "batch_export:write", "test": "batch_export:read",
        "run_test_step_new": "batch_export:write", "run_test_step": "batch_export:write",
    }
    parameters = {"list": PAGE, "test": ("destination",)}
    bodies = ("create", "update", "partial_update", "unpause", "run_test_step_new", "run_test_step")

    def create(self, request, **_):
        row = self.unsaved(Request, request)
        if row.paused:
            row.last_paused_at = row.last_paused_at or timezone.now()
        row.save()
        return Response(Answer(row).data, status=status.HTTP_201_CREATED)

    def unsaved(self, kind, request):
        body = strict.read(kind, request)
        row = BatchExport(project=self.project)
        fill(row, body, request.data, creating=True)
        row.step = body.get("step", 0)
        return row

    def partial_update(self, request, **_):
        row = self.get_object()
        body = strict.read(PatchRequest, request, partial=True)
        check_parts(request.data)
        fill(row, body, request.data, creating=False)
        row.save()
        return Response(Answer(row).data)

    def update(self, request, **_):
        row = self.get_object()
        body = dict(strict.read(Request, request))
        body.setdefault("offset_day", None)
        body.setdefault("offset_hour", None)
        fill(row, body, request.data, creating=False)
        row.save()
        return Response(Answer(row).data)

    def destroy(self, request, **_):
        row = self.get_object()
        row.deleted = row.paused = True
        row.save()
        row.run_set.filter(status__in=["Starting", "Running"]).update(status="Cancelled", finished_at=timezone.now())
        row.backfill_set.filter(status__in=["Starting", "Running"]).update(status="Cancelled")
        return Response(status=status.HTTP_204_NO_CONTENT)

    @action(detail=True, methods=["post"])
    def pause(self, request, **_):
        row = self.get_object()
        if not row.paused:
            row.paused, row.last_paused_at = True, timezone.now()
            row.save()
        return Response({"paused": True})

    @action(detail=True, methods=["post"])
    def unpause(self, request, **_):
        row = self.get_object()
        strict.read(UnpauseRequest, request)
        row.paused = False
        row.save()
        return Response({"paused": False})

    @action(detail=False, methods=["get"])
    def test(self, request, **_):
        from . import destination_tests

        return destination_tests.listed(request.query_params.get("destination"))

    @action(detail=False, methods=["post"])
    def run_test_step_new(self, request, **_):
        from . import destination_tests

        row = self.unsaved(TestRequest, request)
        return destination_tests.run(row, row.step)

    @action(detail=True, methods=["post"])
    def run_test_step(self, request, **_):
        from . import destination_tests

        row = self.get_object()
        body = strict.read(StoredTestRequest, request)
        check_parts(request.data)
        fill(row, body, request.data, creating=False)
        sent = request.data["destination"]
        configured = sent.get("integration_id", sent.get("integration")) is not None
        return destination_tests.run(row, body["step"], configured)


def parent(view):
    """The batch export of a nested route."""
    row = BatchExport.objects.filter(project=view.project, id=view.kwargs["export"], deleted=False).first()
    if row is None:
        raise exceptions.NotFound()
    return row
