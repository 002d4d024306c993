"""The service's error bodies: {"type", "code", "detail", "attr"}, with the first error only."""

import traceback

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from rest_framework import exceptions, status
from rest_framework.response import Response


class Conflict(exceptions.APIException):
    status_code = status.HTTP_409_CONFLICT
    default_code = "conflict"


class TooMany(exceptions.APIException):
    """A 429 that is not a rate limit."""

    status_code = status.HTTP_429_TOO_MANY_REQUESTS


def refused(detail, attr=None, code="invalid_input"):
    """A 400 with this text, which the reference names. It is not strange."""
    detail = exceptions.ErrorDetail(detail, code=code)
    tree = [detail]
    for key in reversed(attr.split("__") if attr else []):
        tree = {key: tree}
    return exceptions.ValidationError(tree)


def _first(detail, path=()):
    if isinstance(detail, dict):
        key, value = next(iter(detail.items()))
        return _first(value, path if key == "non_field_errors" else path + (str(key),))
    if isinstance(detail, list):
        for index, value in enumerate(detail):
            if isinstance(value, dict) and value:
                return _first(value, path + (str(index),))
            if value:
                return _first(value, path)
    return detail, path


def _type(exc):
    if isinstance(exc, exceptions.ValidationError):
        return "validation_error"
    if isinstance(exc, (exceptions.NotAuthenticated, exceptions.AuthenticationFailed, exceptions.PermissionDenied)):
        return "authentication_error"
    if isinstance(exc, exceptions.Throttled):
        return "throttled_error"
    if exc.status_code in (400, 404, 405, 406, 415):
        return "invalid_request"
    return "server_error"


def handle(exc, context):
    """The exception handler of the REST framework."""
    if isinstance(exc, Http404):
        exc = exceptions.NotFound()
    elif isinstance(exc, PermissionDenied):
        exc = exceptions.PermissionDenied()
    elif not isinstance(exc, exceptions.APIException):
        traceback.print_exception(type(exc), exc, exc.__traceback__)
        exc = exceptions.APIException()
    detail, path = _first(exc.detail)
    code = getattr(detail, "code", None) or exc.default_code
    headers = {}
    if getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = exc.auth_header
    if getattr(exc, "wait", None):
        headers["Retry-After"] = "%d" % exc.wait
    body = {
        "type": _type(exc),
        "code": "invalid_input" if code == "invalid" else code,
        "detail": str(detail),
        "attr": "__".join(path) or None,
    }
    return Response(body, status=exc.status_code, headers=headers)


def no_endpoint(request, *args, **kwargs):
    """The answer for a path that this server does not have."""
    body = {"type": "invalid_request", "code": "not_found", "detail": "Endpoint not found.", "attr": None}
    return JsonResponse(body, status=404)
