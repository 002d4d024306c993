"""Runs and backfills of a batch export, as far as a wait needs them: sections 2 and 3 of service.md.

Time passes by looking: each GET of a run or a backfill moves the export's unfinished work one step on.
"""

import datetime
import re

from django.utils import timezone
from rest_framework import exceptions, mixins, pagination, serializers, status
from rest_framework.decorators import action
from rest_framework.response import Response

from . import strict
from .access import Resource
from .errors import refused
from .models import Backfill, Run

LENGTHS = {"hour": 60, "day": 1440, "week": 10080, "every 5 minutes": 5, "every 15 minutes": 15}
OPEN = ("Starting", "Running")
UUID = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"


class RunAnswer(serializers.ModelSerializer):
    batch_export_on_demand = serializers.ReadOnlyField(default=None)

    class Meta:
        model = Run
        exclude = ["project"]


class BackfillAnswer(serializers.ModelSerializer):
    team = serializers.IntegerField(source="project")
    total_records_count = serializers.ReadOnlyField(default=None)
    adjusted_start_at = serializers.ReadOnlyField(default=None)
    progress = serializers.SerializerMethodField()

    class Meta:
        model = Backfill
        exclude = ["project"]

    def get_progress(self, row):
        total = row.run_set.count()
        if not total:
            return None
        done = row.run_set.exclude(status__in=OPEN).count()
        return {"total_runs": total, "finished_runs": done, "progress": done / total}


class BackfillRequest(strict.Body):
    start_at = strict.Text(allow_null=True)
    end_at = strict.Text(allow_null=True)


def _length(export):
    return datetime.timedelta(minutes=LENGTHS[export.interval])


# Backfills that were accepted and have no row yet: the service's workflow writes it a moment later.
accepted = []


def accept(export, start, end):
    """Begins a backfill. Its row comes with the second look."""
    row = Backfill(batch_export=export, project=export.project, start_at=start, end_at=end)
    accepted.append({"row": row, "looks": 2})
    return row.id


def _arrive(export):
    for waiting in [one for one in accepted if one["row"].batch_export_id == export.id]:
        waiting["looks"] -= 1
        if waiting["looks"] == 0:
            accepted.remove(waiting)
            waiting["row"].save(force_insert=True)


def advance(export):
    """Starting becomes Running, Running ends. The runs of a backfill follow one another."""
    _arrive(export)
    for run in export.run_set.filter(status__in=OPEN):
        if run.status == "Starting":
            run.status = "Running"
        elif str(export.config.get("bucket_name", "")).startswith("missing"):
            run.status, run.latest_error, run.finished_at = "Failed", "NoSuchBucket: the bucket", timezone.now()
        else:
            run.status, run.finished_at = "Completed", timezone.now()
            run.records_completed = run.records_total_count = 10
            run.records_failed, run.bytes_exported = 0, 5 << 30
        run.save()
    for backfill in export.backfill_set.filter(status__in=OPEN):
        _advance_backfill(export, backfill)


def _advance_backfill(export, backfill):
    backfill.status = "Running"
    last = backfill.run_set.order_by("-data_interval_end").first()
    if last is None or last.status not in OPEN:
        start = last.data_interval_end if last else backfill.start_at
        end = start + _length(export)
        if end <= backfill.end_at:
            Run.objects.create(batch_export=export, project=export.project, backfill=backfill,
                               data_interval_start=start, data_interval_end=end)
        else:
            backfill.status, backfill.finished_at = "Completed", timezone.now()
    backfill.save()


def _bound(text):
    """A bound of the time window: a time, or a relative one such as -7d."""
    relative = re.match(r"^-(\d+)([mhdw])$", text)
    if relative:
        unit = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}[relative[2]]
        return timezone.now() - datetime.timedelta(**{unit: int(relative[1])})
    try:
        return serializers.DateTimeField().run_validation(text)
    except serializers.ValidationError:
        strict.strange("runs", "a window's bound: %r" % text)
        raise


class RunPages(pagination.CursorPagination):
    page_size = 100


class BackfillPages(pagination.CursorPagination):
    page_size = 50


class Nested(mixins.ListModelMixin, mixins.RetrieveModelMixin, Resource):
    """Rows of one export. An export that does not exist has none."""

    lookup_value_regex = UUID

    def get_queryset(self):
        from .models import BatchExport

        export = BatchExport.objects.filter(project=self.project, id=self.kwargs["export"], deleted=False).first()
        if export and self.request.method == "GET":
            advance(export)
        return super().get_queryset().filter(batch_export_id=self.kwargs["export"])


class Runs(Nested):
    queryset = Run.objects.all()
    serializer_class = RunAnswer
    pagination_class = RunPages
    scopes = {"list": "batch_export:read", "retrieve": "batch_export:read", "cancel": "batch_export:write",
              "retry": "batch_export:write"}
    _window = ("after", "before", "start", "end", "ordering")
    parameters = {"list": _window + ("cursor", "status"), "retrieve": _window, "cancel": _window, "retry": _window}

    @property
    def _ordering(self):
        asked = self.request.query_params.get("ordering", "")
        return asked if asked.lstrip("-") in ("created_at", "data_interval_start") else "-created_at"

    def filter_queryset(self, queryset):
        query, ordering = self.request.query_params, self._ordering
        if ordering.endswith("created_at"):
            first, last = _bound(query.get("after") or "-7d"), query.get("before")
            queryset = queryset.filter(created_at__gte=first)
            queryset = queryset.filter(created_at__lte=_bound(last)) if last else queryset
        else:
            first, last = _bound(query.get("start") or "-7d"), query.get("end")
            queryset = queryset.filter(data_interval_start__gte=first)
            queryset = queryset.filter(data_interval_end__lte=_bound(last)) if last else queryset
        statuses = query.getlist("status") if self.action == "list" else []
        if statuses:
            queryset = queryset.filter(status__in=statuses)
        self.paginator.ordering = ordering
        return queryset.order_by(ordering)

    def paginate_queryset(self, queryset):
        self.paginator.get_ordering = lambda *_: (self._ordering,)
        return super().paginate_queryset(queryset)

    @action(detail=True, methods=["post"])
    def cancel(self, request, **_):
        run = self.get_object()
        if run.status not in OPEN:
            raise refused("Cannot cancel a run that is in '%s' status" % run.status)
        run.status, run.finished_at = "Cancelled", timezone.now()
        run.save()
        return Response({"cancelled": True})

    @action(detail=True, methods=["post"])
    def retry(self, request, **_):
        run = self.get_object()
        accept(run.batch_export, run.data_interval_start, run.data_interval_end)
        name = "%s-Backfill-%s-%s" % (run.batch_export_id, run.data_interval_start, run.data_interval_end)
        return Response({"backfill_id": name}, status=status.HTTP_201_CREATED)


class Backfills(Nested):
    queryset = Backfill.objects.order_by("-created_at")
    serializer_class = BackfillAnswer
    pagination_class = BackfillPages
    scopes = {"list": "batch_export:read", "retrieve": "batch_export:read", "create": "batch_export:write",
              "cancel": "batch_export:write"}
    parameters = {"list": ("cursor", "ordering")}
    bodies = ("create",)

    def paginate_queryset(self, queryset):
        self.paginator.get_ordering = lambda *_: ("-created_at",)
        return super().paginate_queryset(queryset)

    def create(self, request, **_):
        from .batch_exports import parent

        export = parent(self)
        body = strict.read(BackfillRequest, request)
        if body["start_at"] is None or body["end_at"] is None:
            strict.strange("backfills", "a bound is null, which needs a feature flag or fails")
            raise refused("A backfill needs start_at and end_at", "start_at")
        start, end = (self._time(export, key, body[key]) for key in ("start_at", "end_at"))
        if start >= end:
            raise refused("The initial backfill datetime 'start_at' happens after 'end_at'", "start_at")
        if end > timezone.now():
            raise refused("The provided 'end_at' (%s) is in the future" % body["end_at"], "end_at")
        return Response({"backfill_id": str(accept(export, start, end))}, status=status.HTTP_201_CREATED)

    @staticmethod
    def _time(export, key, text):
        """A plain date for days and weeks, and a time with its zone for the rest."""
        if export.interval in ("day", "week"):
            if not re.match(r"^\d{4}-\d\d-\d\d$", text):
                raise refused("'%s' must be a date (YYYY-MM-DD)" % key, key)
            time = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.timezone.utc)
            if export.interval == "week" and (time.weekday() + 1) % 7 != (export.offset_day or 0):
                raise refused("'%s' must be on the export's weekday" % key, key)
            return time
        try:
            time = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
        except ValueError:
            raise refused("'%s' must be a datetime in ISO format" % key, key)
        if time.tzinfo is None:
            raise refused("'%s' is missing timezone information" % key, key)
        return time

    @action(detail=True, methods=["post"])
    def cancel(self, request, **_):
        row = self.get_object()
        if row.status not in OPEN:
            raise refused("Cannot cancel a backfill that is in '%s' status" % row.status)
        row.status, row.finished_at = "Cancelled", timezone.now()
        row.save()
        row.run_set.filter(status__in=OPEN).update(status="Cancelled", finished_at=timezone.now())
        return Response({"cancelled": True})
