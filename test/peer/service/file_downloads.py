"""/api/projects/{id}/file_download_batch_exports/: part 5 of the reference.

Each GET of a download moves it one step on: Starting, Running, Running without its list of files, Completed.
"""

import datetime
import uuid

from django.utils import timezone
from rest_framework import mixins, serializers, status
from rest_framework.decorators import action
from rest_framework.exceptions import NotFound
from rest_framework.response import Response

from . import storage, strict
from .access import MAIN, PAGE, Resource, flag
from .batch_exports import MODELS, check_hogql
from .errors import TooMany, refused
from .models import FileDownload
from .runs import OPEN, UUID

CODECS = ["zstd", "gzip", "brotli", "lz4", "snappy"]
LIMITS = {MAIN: 100}  # at the same time; 1 in any other project
HOGQL_ONLY = ("hogql_query", "hogql_modifiers")


class FileRequest(strict.Body):
    format = strict.Choice(choices=["Parquet", "JSONLines"], default="Parquet")
    compression = strict.Choice(choices=CODECS, allow_null=True, default=None)
    max_size_mb = strict.Whole(min_value=0, allow_null=True, default=1024)


class CountRequest(strict.Body):
    model = strict.Choice(choices=MODELS)
    data_interval_start = strict.Time(required=False)
    data_interval_end = strict.Time(required=False)
    hogql_query = strict.Text(required=False)
    hogql_modifiers = strict.AnyObject(required=False)


class CreateRequest(CountRequest):
    file = FileRequest()
    include = strict.Texts(required=False)
    exclude = strict.Texts(required=False)


class ListAnswer(serializers.ModelSerializer):
    class Meta:
        model = FileDownload
        fields = ["id", "status"]


def _bounds(body):
    start, end = body.get("data_interval_start"), body.get("data_interval_end")
    if body["model"] == "hogql":
        for key in ("data_interval_start", "data_interval_end"):
            if "{%s}" % key in body["hogql_query"] and key not in body:
                raise refused("'%s' is required by the query" % key, key)
    elif start is None or end is None:
        raise refused("'data_interval_start' and 'data_interval_end' are required. Provide both bounds.")
    if start and end:
        if start > end:
            raise refused("'data_interval_end' must occur after 'data_interval_start'")
        if end - start > datetime.timedelta(days=7):
            raise refused("data interval range too big. Choose an interval of at most seven days.")
    for key, time in (("data_interval_start", start), ("data_interval_end", end)):
        if time and time > timezone.now():
            raise refused("The provided '%s' (%s) is in the future" % (key, time.isoformat()), key)


def _check(project, body):
    if body["model"] == "hogql":
        flag(project, "HogQL batch exports")
        if "hogql_query" not in body:
            raise refused("'hogql_query' is required when 'model' is 'hogql'", "hogql_query")
        check_hogql(body["hogql_query"])
        for key in ("include", "exclude"):
            if key in body:
                raise refused("'%s' is not supported when 'model' is 'hogql'" % key, key)
    else:
        for key in HOGQL_ONLY:
            if key in body:
                raise refused("'%s' is only supported when 'model' is 'hogql'" % key, key)
    _bounds(body)


class FileDownloads(mixins.ListModelMixin, Resource):
    queryset = FileDownload.objects.all()
    serializer_class = ListAnswer
    lookup_value_regex = UUID
    scopes = {"list": "batch_export:read", "retrieve": "batch_export:read", "create": "batch_export:write",
              "download": "batch_export:read", "part": "batch_export:read", "cancel": "batch_export:write",
              "count_rows": "batch_export:write", "logs": "batch_export:read"}
    parameters = {"list": PAGE, "logs": ("limit", "after", "before", "level", "search", "instance_id")}
    bodies = ("create", "count_rows")

    def create(self, request, **_):
        body = strict.read(CreateRequest, request)
        _check(self.project, body)
        running = self.get_queryset().filter(status__in=OPEN).count()
        if running >= LIMITS.get(self.project, 1):
            raise TooMany("Too many concurrent file download batch exports for this team.",
                          "too_many_concurrent_file_downloads")
        row = FileDownload(project=self.project, request=request.data)
        if "fail to start" in body.get("include", ()):
            row.status, row.error = "Failed", "The batch export failed to start."
            row.save()
            return Response({"detail": "The batch export failed to start. Try again later."}, status=500)
        row.save()
        return Response({"id": str(row.id)}, status=status.HTTP_202_ACCEPTED)

    def retrieve(self, request, **_):
        row = self.get_object()
        self._advance(row)
        body = {"status": row.status}
        if row.status == "Completed" and row.files is None:
            body["status"] = "Running"  # until the files are listed
        elif row.status == "Completed":
            body.update(files=row.files, records_completed=row.records_completed)
        if row.error:
            body["error"] = row.error
        return Response(body)

    @staticmethod
    def _advance(row):
        if row.status == "Starting":
            row.status = "Running"
        elif row.status == "Running" and "fail" in row.request.get("include", ()):
            row.status, row.error = "Failed", "MemoryError: out of memory"
        elif row.status == "Running" and "wait" not in row.request.get("include", ()):
            row.status = "Completed"
        elif row.status == "Completed" and row.files is None:
            count, row.records_completed = storage.fill(row)
            row.files = sorted(str(uuid.uuid4()) for _ in range(count))
        row.save()

    @action(detail=True, methods=["get"])
    def download(self, request, **kwargs):
        return self._redirect(None)

    @action(detail=True, methods=["get"], url_path=r"download/(?P<part>[^/]+)")
    def part(self, request, part, **kwargs):
        return self._redirect(part)

    def _redirect(self, part):
        row = self.get_object()
        if row.status == "Cancelled":
            raise refused("Batch export run was cancelled")
        if row.status not in OPEN + ("Completed",):
            raise refused("Batch export run has failed")
        if row.files is None:
            raise refused("Batch export run is still in progress")
        if "expired" in row.request.get("include", ()):
            raise refused("This file download has expired")
        if part in row.files:
            index = row.files.index(part)
        elif part is None or part.isdigit():
            index = int(part or 0)
        else:
            raise refused("Invalid file id or index: '%s'" % part)
        if index >= len(row.files):
            raise NotFound("No files with index %d" % index)
        headers = {"Location": storage.sign(row.id, index), "Cache-Control": "no-store"}
        return Response(status=status.HTTP_302_FOUND, headers=headers)

    @action(detail=True, methods=["post"])
    def cancel(self, request, **_):
        row = self.get_object()
        if row.status not in OPEN:
            raise refused("Cannot cancel a run that is in '%s' status" % row.status)
        row.status = "Cancelled"
        row.save()
        return Response({"status": row.status})

    @action(detail=False, methods=["post"])
    def count_rows(self, request, **_):
        body = strict.read(CountRequest, request)
        if body["model"] != "hogql":
            strict.strange("count_rows", "model %s" % body["model"])
            raise refused("Only the 'hogql' model can be counted", "model")
        _check(self.project, body)
        if "sleep" in body["hogql_query"]:
            raise refused("The query took too long. Try a smaller range.", code="timeout_exceeded")
        return Response({"count": 1 << 40})

    @action(detail=True, methods=["get"])
    def logs(self, request, **_):
        self.get_object()
        return Response({"count": 0, "next": None, "previous": None, "results": []})
