"""Every route of the server. What is not here does not exist, app_metrics among it."""

import json

from django.http import HttpResponse, JsonResponse
from django.urls import include, re_path
from rest_framework.routers import SimpleRouter

from . import runs, seed, storage
from .batch_exports import BatchExports
from .dashboards import Dashboards
from .errors import no_endpoint
from .file_downloads import FileDownloads
from .ingestion_warnings import Warnings
from .integrations import Integrations
from .runs import Backfills, Runs
from .strict import StrangeView


def _objects(request):
    return JsonResponse(storage.listing(), safe=False)


def _reset(request):
    seed.fill()
    runs.accepted.clear()
    storage.objects.clear()
    storage.set_faults({})
    return HttpResponse(status=204)


def _faults(request):
    storage.set_faults(json.loads(request.body))
    return HttpResponse(status=204)


router = SimpleRouter()
router.trailing_slash = "/?"
router.register("batch_exports", BatchExports)
router.register(r"batch_exports/(?P<export>[^/]+)/runs", Runs)
router.register(r"batch_exports/(?P<export>[^/]+)/backfills", Backfills)
router.register("integrations", Integrations)
router.register("file_download_batch_exports", FileDownloads)
router.register("dashboards", Dashboards)
router.register("ingestion_warnings_v2", Warnings, basename="ingestion_warnings")

urlpatterns = [
    re_path(r"^__strange$", StrangeView.as_view()),
    re_path(r"^__objects$", _objects),
    re_path(r"^__faults$", _faults),
    re_path(r"^__reset$", _reset),
    re_path(r"^api/projects/(?P<project_id>[^/]+)/", include(router.urls)),
    re_path(r"^.*$", no_endpoint),
]
