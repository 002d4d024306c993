"""A small Django REST framework app: what the framework, and not this project, decides about a list, a body and an error.

python3 -B service.py prints its address as the first line, and ends when its stdin does. PostHog's API is built of these
parts: its paginators, filters, throttles, parsers and serializers are the framework's own.
"""

import datetime
import os
import socketserver
import sys
import threading
import uuid
import wsgiref.simple_server

import django
from django.conf import settings

settings.configure(
    ALLOWED_HOSTS=["*"],
    APPEND_SLASH=True,
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:peer?mode=memory&cache=shared"}},
    INSTALLED_APPS=["rest_framework"],
    LOGGING_CONFIG=None,
    MIDDLEWARE=["django.middleware.common.CommonMiddleware"],
    ROOT_URLCONF=__name__,
    SECRET_KEY="of a server that lives for one test",
    USE_TZ=True,
    REST_FRAMEWORK={
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_THROTTLE_RATES": {"writes": "2/second"},
        "EXCEPTION_HANDLER": __name__ + ".handle",
        "UNAUTHENTICATED_USER": None,
    },
)
django.setup()

from django.db import connection, models  # noqa: E402
from django.urls import include, path  # noqa: E402
from rest_framework import authentication, exceptions, filters, pagination, permissions  # noqa: E402
from rest_framework import serializers, throttling, viewsets  # noqa: E402
from rest_framework.decorators import action  # noqa: E402
from rest_framework.response import Response  # noqa: E402
from rest_framework.routers import SimpleRouter  # noqa: E402
from rest_framework.views import exception_handler  # noqa: E402

BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)


class Export(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=40)
    model = models.CharField(max_length=20, default="events")
    interval = models.CharField(max_length=20)
    destination = models.JSONField()
    paused = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=lambda: BEGIN)
    last_updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "peer"


class Run(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    batch_export = models.ForeignKey(Export, models.CASCADE)
    status = models.CharField(max_length=20)
    data_interval_start = models.DateTimeField()
    data_interval_end = models.DateTimeField()
    created_at = models.DateTimeField()
    last_updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        app_label = "peer"


def first(detail, at=()):
    """The first error of the framework's tree, and the path to it."""
    if isinstance(detail, dict):
        key, value = next(iter(detail.items()))
        return first(value, at if key == "non_field_errors" else at + (str(key),))
    if isinstance(detail, list):
        index, value = next((pair for pair in enumerate(detail) if pair[1]), (0, ""))
        return first(value, at + (str(index),) if isinstance(value, dict) else at)
    return detail, at


def handle(exc, context):
    """The framework's own status and headers, with the body that PostHog's handler makes of its detail."""
    response = exception_handler(exc, context)
    if response is None:
        return None
    detail, at = first(exc.detail if isinstance(exc, exceptions.APIException) else response.data["detail"])
    response.data = {"type": exc.__class__.__name__, "code": getattr(detail, "code", "error"), "detail": str(detail), "attr": "__".join(at) or None}
    return response


class Key(authentication.BaseAuthentication):
    def authenticate(self, request):
        name = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if name not in ("phx_peer", "phx_reader"):
            raise exceptions.AuthenticationFailed("Personal API key found in request Authorization header is invalid.")
        return name, name

    def authenticate_header(self, request):
        return "Bearer"


class Writes(permissions.BasePermission):
    def has_permission(self, request, view):
        return request.method in permissions.SAFE_METHODS or request.auth == "phx_peer"


class Throttle(throttling.SimpleRateThrottle):
    scope = "writes"

    def get_cache_key(self, request, view):
        return "x" if request.method == "POST" and view.basename == "throttled" else None


class Config(serializers.Serializer):
    bucket_name = serializers.CharField(max_length=20)
    region = serializers.CharField()
    prefix = serializers.CharField(required=False, allow_blank=True)


class Destination(serializers.Serializer):
    type = serializers.ChoiceField(choices=["S3", "AwsS3"])
    config = Config()


class ExportBody(serializers.ModelSerializer):
    destination = Destination()
    model = serializers.ChoiceField(choices=["events", "persons", "sessions"], required=False)
    interval = serializers.ChoiceField(choices=["hour", "day", "week"])
    team_id = serializers.ReadOnlyField(default=1)
    latest_runs = serializers.ReadOnlyField(default=[])

    class Meta:
        model = Export
        fields = "id team_id name model destination interval paused created_at last_updated_at latest_runs".split()
        read_only_fields = ["id", "created_at", "last_updated_at"]

    def create(self, data):
        return Export.objects.create(**data)

    def update(self, row, data):
        for key, value in data.items():
            setattr(row, key, value)
        row.save()
        return row


class RunBody(serializers.ModelSerializer):
    class Meta:
        model = Run
        fields = "__all__"


class Pages(pagination.LimitOffsetPagination):
    default_limit, max_limit = 100, 10_000


class Resource(viewsets.ModelViewSet):
    authentication_classes, permission_classes, throttle_classes = [Key], [Writes], [Throttle]


class Exports(Resource):
    queryset = Export.objects.order_by("name")
    serializer_class, pagination_class = ExportBody, Pages

    def get_queryset(self):
        return super().get_queryset().exclude(name__startswith="throttled")

    @action(detail=True, methods=["post"])
    def pause(self, request, **_):
        Export.objects.filter(pk=self.get_object().pk).update(paused=True)
        return Response({"paused": True})


class Throttled(Exports):
    """The same rows, with two writes a second."""


class RunPages(pagination.CursorPagination):
    page_size, ordering = 100, "-created_at"


class Runs(Resource):
    queryset = Run.objects.all()
    serializer_class, pagination_class = RunBody, RunPages
    filter_backends, ordering_fields = [filters.OrderingFilter], ["created_at", "data_interval_start"]
    ordering = "-created_at"

    def get_queryset(self):
        return super().get_queryset().filter(batch_export_id=self.kwargs["export"])


router = SimpleRouter()
router.register("batch_exports", Exports, "exports")
router.register("throttled", Throttled, "throttled")
router.register(r"batch_exports/(?P<export>[^/.]+)/runs", Runs, "runs")
urlpatterns = [path("api/projects/1/", include(router.urls))]


def fill():
    """Seven exports. The first has 250 runs; many were created in the same moment, more than a page holds."""
    with connection.schema_editor() as editor:
        editor.create_model(Export)
        editor.create_model(Run)
    s3 = {"type": "S3", "config": {"bucket_name": "b", "region": "eu-west-1"}}
    exports = [Export.objects.create(name="export %d" % n, interval="hour", destination=s3) for n in range(7)]
    hour = datetime.timedelta(hours=1)
    Run.objects.bulk_create(
        Run(batch_export=exports[0], status="Failed" if n % 5 == 0 else "Completed", created_at=BEGIN + (n // 130) * hour,
            last_updated_at=BEGIN, data_interval_start=BEGIN + n * hour, data_interval_end=BEGIN + (n + 1) * hour)
        for n in range(250)
    )


class Server(socketserver.ThreadingMixIn, wsgiref.simple_server.WSGIServer):
    daemon_threads = True


class Quiet(wsgiref.simple_server.WSGIRequestHandler):
    def log_message(self, *_):
        pass


def main():
    from django.core.wsgi import get_wsgi_application

    fill()
    server = Server(("127.0.0.1", 0), Quiet)
    app, one = get_wsgi_application(), threading.Lock()

    def whole(environ, start):  # one request at a time: SQLite in memory has one writer
        with one:
            return list(app(environ, start))

    server.set_app(whole)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print("http://127.0.0.1:%d" % server.server_port, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
