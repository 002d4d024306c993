"""Keys, projects and scopes, and the base of all views."""

import collections

from rest_framework import authentication, exceptions, permissions, viewsets

from .strict import JSON, strange

Key = collections.namedtuple("Key", "name scopes admin")

_reads = ["batch_export:read", "integration:read", "dashboard:read", "ingestion_warning:read"]
KEYS = {
    "phx_peer_admin": Key("admin", ["*"], True),
    "phx_peer_member": Key("member", ["*"], False),
    "phx_peer_reader": Key("reader", _reads, True),
    "phx_peer_writer": Key("writer", ["batch_export:write"], False),
    "phx_peer_none": Key("none", ["feature_flag:read"], True),
}

# Project 1 has every feature flag, project 3 has none and a limit of one file download at a time. Project 2 belongs to
# another organization.
MAIN, FOREIGN, PLAIN = 1, 2, 3


class BearerKey(authentication.BaseAuthentication):
    def authenticate(self, request):
        header = request.headers.get("Authorization", "")
        if not header.startswith("Bearer "):
            return None
        key = KEYS.get(header[len("Bearer "):])
        if key is None:
            raise exceptions.AuthenticationFailed("Personal API key found in request Authorization header is invalid.")
        return key, key

    def authenticate_header(self, request):
        return 'Bearer realm="api"'


class InProject(permissions.BasePermission):
    def has_permission(self, request, view):
        if request.auth is None:
            raise exceptions.NotAuthenticated()
        text = view.kwargs["project_id"]
        if text == "@current":
            text = str(MAIN)
        if not text.isdigit() or int(text) not in (MAIN, FOREIGN, PLAIN):
            raise exceptions.NotFound("Project not found.")
        if int(text) == FOREIGN:
            raise exceptions.PermissionDenied("You don't have access to the project.")
        view.project = int(text)
        return True


class HasScope(permissions.BasePermission):
    def has_permission(self, request, view):
        if view.action is None:  # there is no such method, which is a 405
            return True
        scope = view.scopes.get(view.action)
        if scope is None:
            raise exceptions.PermissionDenied("This action does not support personal API key access")
        held = request.auth.scopes
        if "*" in held or scope in held or scope.replace(":read", ":write") in held:
            return True
        raise exceptions.PermissionDenied("API key missing required scope '%s'" % scope)


class Resource(viewsets.GenericViewSet):
    """A resource of a project.

    scopes names the scope of each action, parameters what an action reads from the query, and bodies the actions that
    read a body. What else comes is strange.
    """

    authentication_classes = [BearerKey]
    permission_classes = [InProject, HasScope]
    parser_classes = [JSON]
    scopes = {}
    parameters = {}
    bodies = ()
    project = None

    def initial(self, request, *args, **kwargs):
        super().initial(request, *args, **kwargs)
        where = "%s %s" % (request.method, request.path)
        unknown = set(request.query_params) - set(self.parameters.get(self.action, ()))
        if unknown:
            strange(where, "query parameters: %s" % ", ".join(sorted(unknown)))
        sent = int(request.META.get("CONTENT_LENGTH") or 0)
        if self.action in self.bodies:
            if not isinstance(request.data, dict):
                strange(where, "the body is not an object")
        elif sent and self.action is not None and request.data:
            strange(where, "a body of %d bytes, and none is read" % sent)

    def get_queryset(self):
        return super().get_queryset().filter(project=self.project)


PAGE = ("limit", "offset")


def flag(project, name):
    """Refuses what needs a feature flag, where the project has none."""
    if project != MAIN:
        raise exceptions.PermissionDenied("%s are not enabled for this team." % name)
