"""/api/environments/… is rewritten to /api/projects/… in the process, as part 1 of the reference says."""

from django.urls import Resolver404, resolve

from .errors import no_endpoint

OLD, NEW = "/api/environments/", "/api/projects/"


def _exists(path):
    try:
        return resolve(path).func is not no_endpoint
    except Resolver404:
        return False


def rewrite(get_response):
    def middleware(request):
        if not request.path_info.startswith(OLD):
            return get_response(request)
        path = NEW + request.path_info[len(OLD):]
        if not _exists(path):
            return no_endpoint(request)
        request.path = request.path_info = path
        response = get_response(request)
        response["Deprecation"] = "true"
        response["Link"] = '<%s>; rel="successor-version"' % path
        response["Sunset"] = "Fri, 31 Jul 2026 00:00:00 GMT"
        return response

    return middleware
