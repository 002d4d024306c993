"""Django's settings: one application, an in-memory database, the error format and the keys of the service."""

import logging

import django
from django.conf import settings


def configure():
    settings.configure(
        DEBUG=False,
        ALLOWED_HOSTS=["*"],
        APPEND_SLASH=False,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}},
        DEFAULT_AUTO_FIELD="django.db.models.AutoField",
        INSTALLED_APPS=["rest_framework", "service"],
        LOGGING_CONFIG=None,
        MIDDLEWARE=["service.environments.rewrite"],
        ROOT_URLCONF="service.urls",
        SECRET_KEY="of a server that lives for one test",
        TIME_ZONE="UTC",
        USE_TZ=True,
        REST_FRAMEWORK={
            "DEFAULT_AUTHENTICATION_CLASSES": [],  # access.Resource names its own
            "DEFAULT_PERMISSION_CLASSES": [],
            "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
            "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.LimitOffsetPagination",
            "PAGE_SIZE": 100,
            "EXCEPTION_HANDLER": "service.errors.handle",
            "UNAUTHENTICATED_USER": None,
        },
    )
    django.setup()
    logging.getLogger("django.request").setLevel(logging.CRITICAL)  # answers of 400 and more
