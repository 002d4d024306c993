"""/api/projects/{id}/integrations/: part 2.2 of the reference."""

import re

from rest_framework import exceptions, mixins, serializers, status
from rest_framework.response import Response

from . import strict
from .access import PAGE, Resource
from .errors import refused
from .models import BatchExport, Integration

NAMED, OVERWRITTEN = "named", "overwritten"
FRIENDLY = {
    "name": "A name",
    "aws_access_key_id": "Access key ID",
    "aws_secret_access_key": "Secret access key",
    "aws_role_arn": "A valid role ARN",
    "endpoint_url": "Endpoint URL",
    "host": "Host",
    "user": "A username",
    "password": "A password",
}
ROLE = re.compile(r"^arn:aws[a-z-]*:iam::\d{12}:role/.+$")
BROWSER = ("slack", "hubspot", "salesforce", "google-ads", "google-sheets", "linkedin-ads", "github", "linear", "jira")


class Request(strict.Body):
    kind = strict.Text()
    config = strict.AnyObject()


class Answer(serializers.ModelSerializer):
    created_by = serializers.SerializerMethodField()
    errors = serializers.ReadOnlyField(default="")
    files_write_requestable = serializers.ReadOnlyField(default=False)
    installation_shared = serializers.ReadOnlyField(default=None)
    installation_status = serializers.ReadOnlyField(default=None)

    class Meta:
        model = Integration
        fields = (
            "id kind config created_at created_by errors display_name files_write_requestable installation_shared "
            "installation_status"
        ).split()

    def get_created_by(self, row):
        return {"id": 7, "uuid": "0190a1b2-0000-7000-8000-000000000007", "distinct_id": "u7", "first_name": "Ada",
                "last_name": "", "email": "ada@example.com", "is_email_verified": None, "hedgehog_config": None,
                "role_at_organization": None}


class Config:
    """The config of one request. Everything that no take has asked for is strange."""

    def __init__(self, kind, given, where):
        self.kind, self.given, self.where, self.asked = kind, given, where, set()

    def text(self, key, friendly=None, default=None):
        """A required text, or an optional one when there is a default."""
        self.asked.add(key)
        value = self.given.get(key)
        if isinstance(value, str) and value:
            return value
        if value is not None:
            strict.strange(self.where, "config.%s: %r is not a text with characters" % (key, type(value).__name__))
        if default is not None:
            return default
        raise refused("%s is required for %s integration" % (friendly or FRIENDLY[key], self.kind))

    def texts(self, text, *keys):
        """Required texts that share one error text."""
        self.asked.update(keys)
        values = [self.given.get(key) for key in keys]
        if not all(isinstance(value, str) and value for value in values):
            raise refused(text)
        return values

    def optional(self, key, kind):
        self.asked.add(key)
        value = self.given.get(key)
        if value is not None and not isinstance(value, kind):
            strict.strange(self.where, "config.%s: has the wrong type" % key)
            raise refused("Invalid value for '%s'" % key)
        return value

    def left(self):
        return sorted(set(self.given) - self.asked)


def _made(way, key, public, secrets=None, flavour="", shown=None):
    return {"way": way, "key": key, "config": public, "secrets": secrets or {}, "flavour": flavour,
            "display_name": shown or key}


def _aws(c):
    """Either a role or keys: what goes into the answer, and the secrets."""
    if c.given.get("aws_role_arn") is not None:
        role = c.text("aws_role_arn")
        if not ROLE.match(role):
            raise refused("AWS role ARN is not valid")
        if role.endswith("/of-another-organization"):
            raise refused("Cannot create AWS integration: Invalid role")
        return "role", {"aws_role_arn": role}, {}
    key, secret = c.text("aws_access_key_id"), c.text("aws_secret_access_key")
    if key.startswith("AKIAWRONG"):
        raise refused("AWS credentials are not valid: InvalidClientTokenId")
    return "keys", {"aws_account_id": "123456789012"}, {"aws_access_key_id": key, "aws_secret_access_key": secret}


def aws_s3(c):
    name = c.text("name")
    flavour, public, secrets = _aws(c)
    return _made(NAMED, name, dict(name=name, **public), secrets, flavour)


def s3_compatible(c):
    name = c.text("name")
    secrets = {key: c.text(key) for key in ("aws_access_key_id", "aws_secret_access_key")}
    url = c.text("endpoint_url")
    if not re.match(r"^https?://[^/]", url) or re.match(r"^https?://(localhost|127\.|10\.|192\.168\.|169\.254\.)", url):
        raise refused("Invalid endpoint URL: URL is not allowed")
    return _made(NAMED, name, {"name": name, "endpoint_url": url}, secrets)


def snowflake(c):
    name, account, user = c.texts("Name, account, and user must be provided", "name", "account", "user")
    if not re.match(r"^[A-Za-z0-9_.-]+$", account):
        raise refused("Snowflake integration is not valid: invalid account identifier '%s'" % account)
    way = c.text("authentication_type", default="password")
    if way == "password":
        (secret,) = c.texts("Password is required for password authentication", "password")
        secrets = {"password": secret}
    elif way == "keypair":
        (secret,) = c.texts("Private key is required for key-pair authentication", "private_key")
        secrets = {"private_key": secret, "private_key_passphrase": c.optional("private_key_passphrase", str)}
    else:
        raise refused("Invalid authentication type: %s" % way)
    return _made(NAMED, name, {"name": name, "account": account, "user": user, "authentication_type": way}, secrets)


def _server(c):
    host = c.text("host")
    c.asked.add("port")
    port = c.given.get("port")
    if isinstance(port, bool) or not re.match(r"^\d+$", str(port)):
        raise refused("Port must be an integer")
    user, password = c.text("user"), c.text("password")
    mode = c.text("ssl_mode", default="require")
    if mode not in ("require", "verify-ca", "verify-full"):
        raise refused("SSL mode must be one of: require, verify-ca, verify-full")
    cert = c.optional("ssl_root_cert", str)
    if mode != "require" and not cert:
        raise refused("SSL root certificate must be provided when verifying server certificates")
    public = {"host": host, "port": int(port), "user": user, "ssl_mode": mode, "ssl_root_cert": cert}
    shown = "%s@%s:%s" % (user, host, port)
    return _made(OVERWRITTEN, shown, public, {"password": password}, "server")


def aws_redshift(c):
    given = c.given
    keys = given.get("aws_access_key_id") is not None or given.get("aws_secret_access_key") is not None
    if given.get("aws_role_arn") is None and not keys:
        if any(given.get(key) is not None for key in ("host", "port", "user", "password")):
            return _server(c)
        raise refused("Missing required inputs")
    name = c.text("name")
    flavour, public, secrets = _aws(c)
    public = dict(name=name, **public)
    public["user"] = c.text("user", "Username")
    groups = c.optional("groups", list)
    if groups is not None and not (groups and all(isinstance(group, str) for group in groups)):
        raise refused("Invalid value for 'groups'")
    more = {"groups": groups, "auto_create": c.optional("auto_create", bool),
            "workgroup_arn": c.optional("workgroup_arn", str)}
    public.update({key: value for key, value in more.items() if value is not None})
    return _made(NAMED, name, public, secrets, flavour)


def databricks(c):
    text = "Server hostname, client ID, and client secret must be provided"
    host, client, secret = c.texts(text, "server_hostname", "client_id", "client_secret")
    if "/" in host:
        raise refused("Server hostname must not be a URL")
    return _made(OVERWRITTEN, host, {"server_hostname": host}, {"client_id": client, "client_secret": secret})


def azure_blob(c):
    (connection,) = c.texts("Connection string must be provided", "connection_string")
    parts = dict(part.split("=", 1) for part in connection.split(";") if "=" in part)
    account = parts.get("AccountName")
    if not account:
        raise refused("Could not extract AccountName from connection string. Check its format.")
    if parts.get("DefaultEndpointsProtocol", "https") != "https":
        raise refused("Connection string must use https endpoints")
    return _made(OVERWRITTEN, account, {}, {"connection_string": connection})


def google(c):
    text = "Service account email and project ID must be provided"
    email, project = c.texts(text, "service_account_email", "project_id")
    keys = {key: c.optional(key, str) for key in ("private_key", "private_key_id", "token_uri")}
    held = [key for key, value in keys.items() if value]
    if held and len(held) < 3:
        strict.strange(c.where, "config: only %s of a key file" % ", ".join(held))
        raise refused(text)
    if held and not re.match(r"^https://([a-z0-9]+\.)*googleapis\.com/", keys["token_uri"]):
        raise refused("Invalid token URI")
    if not held and "of-another-organization" in email:
        raise refused("Cannot create Google Cloud service account integration: Invalid service account")
    way = "keys" if held else "impersonated"
    public = {"project_id": project, "service_account_email": email}
    return _made(OVERWRITTEN, "%s %s %s" % (email, project, way), public, keys, way, email)


KINDS = {
    "aws-s3": aws_s3,
    "s3-compatible": s3_compatible,
    "snowflake": snowflake,
    "aws-redshift": aws_redshift,
    "postgresql": _server,
    "databricks": databricks,
    "azure-blob": azure_blob,
    "google-cloud-service-account": google,
}


class Integrations(mixins.ListModelMixin, mixins.RetrieveModelMixin, Resource):
    queryset = Integration.objects.all()
    serializer_class = Answer
    scopes = {"list": "integration:read", "retrieve": "integration:read", "create": "integration:write",
              "destroy": "integration:write"}
    parameters = {"list": PAGE + ("kind",)}
    bodies = ("create",)

    def filter_queryset(self, queryset):
        kind = self.request.query_params.get("kind")
        return queryset.filter(kind=kind) if kind and self.action == "list" else queryset

    def create(self, request, **_):
        body = strict.read(Request, request)
        kind = body["kind"]
        if kind in BROWSER:
            raise refused("Kind not configured")
        if kind not in KINDS:
            raise refused("Kind not supported")
        config = Config(kind, request.data["config"], "POST integrations " + kind)
        made = KINDS[kind](config)
        if config.left():
            # The service ignores such keys. Here they are refused, so that a misspelt one is seen.
            strict.strange(config.where, "config has keys that are not read: %s" % ", ".join(config.left()))
            raise refused("config has keys that are not read: %s" % ", ".join(config.left()), "config")
        way = made.pop("way")
        row = Integration.objects.filter(project=self.project, kind=kind, key=made["key"]).first()
        if row and way == NAMED:
            raise refused("An integration named '%s' already exists" % made["key"])
        if row and not request.auth.admin:
            raise exceptions.PermissionDenied("Editing an existing integration requires project admin access.")
        row = row or Integration(project=self.project, kind=kind)
        for field, value in made.items():
            setattr(row, field, value)
        row.save()
        return Response(Answer(row).data, status=status.HTTP_201_CREATED)

    def destroy(self, request, **_):
        row = self.get_object()
        if not request.auth.admin:
            raise exceptions.PermissionDenied("You don't have sufficient permissions in the project.")
        users = BatchExport.objects.filter(integration=row, deleted=False).order_by("created_at")
        if users:
            raise refused(
                "This integration is used by batch exports: %s. Update them to use a different integration before "
                "disconnecting it." % ", ".join(export.name for export in users)
            )
        row.delete()
        return Response(status=status.HTTP_204_NO_CONTENT)
