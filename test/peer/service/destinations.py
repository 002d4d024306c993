"""Validation of a destination: parts 2.1 and 3 of the reference."""

import re

from .errors import refused
from .models import Integration
from .strict import strange

REQUIRED, OPTIONAL = True, False
KEEP, RESEND, DROP = "keep", "resend", "drop"

_codecs = {"Parquet": ["zstd", "lz4", "snappy", "gzip", "brotli"], "JSONLines": ["gzip", "brotli"]}
_file = {"compression": str, "file_format": str, "max_file_size_mb": int, "legacy_parquet_extension": bool}
_base = {"include_events": list, "exclude_events": list}
_bucket = dict(_file, bucket_name=str, region=str, prefix=str)


class Type:
    """What a destination type needs: its keys, the kind of its integration, and what a PATCH does without one."""

    def __init__(self, required, optional, kind=None, patch=KEEP, label=None, wrong=None):
        self.required, self.keys = required.split(), dict(_base, **optional)
        for key in self.required:
            self.keys.setdefault(key, str)
        self.kind, self.patch, self.label, self.wrong = kind, patch, label, wrong


_inline = {"user": str, "password": str, "host": str, "port": int}
TYPES = {
    "AwsS3": Type("bucket_name region prefix", dict(_bucket, encryption=str, kms_key_id=str), "aws-s3",
                  wrong="Integration provided is not an AWS S3 integration (got kind='%s')"),
    "S3Compatible": Type("bucket_name region prefix", dict(_bucket, use_virtual_style_addressing=bool), "s3-compatible",
                         wrong="Integration provided is not an AWS S3 integration (got kind='%s')"),
    "Snowflake": Type("database warehouse schema", {"table_name": str, "role": str}, "snowflake",
                      wrong="Integration provided is not a Snowflake integration (got kind='%s')"),
    "Postgres": Type("database", dict(_inline, schema=str, table_name=str, has_self_signed_cert=bool), "postgresql",
                     DROP, wrong="Integration is not a PostgreSQL integration."),
    "Redshift": Type("database", dict(_inline, schema=str, table_name=str, properties_data_type=str, mode=str,
                                      copy_inputs=dict), "aws-redshift", RESEND,
                     wrong="Integration is not a Redshift integration."),
    "BigQuery": Type("dataset_id", {"table_id": str, "use_json_type": bool, "project_id": str, "private_key": str,
                                    "private_key_id": str, "token_uri": str, "client_email": str},
                     "google-cloud-service-account", RESEND,
                     wrong="Integration is not a Google Cloud service account integration."),
    "Databricks": Type("http_path catalog schema table_name",
                       {"use_variant_type": bool, "use_automatic_schema_evolution": bool}, "databricks", RESEND,
                       wrong="Integration is not a Databricks integration."),
    "AzureBlob": Type("container_name", dict(_file, prefix=str), "azure-blob", RESEND, "Azure Blob",
                      "Integration is not a Azure Blob integration."),
    "HTTP": Type("url token", {}),
    "NoOp": Type("", {}),
}
_legacy = {"BigQuery": {"project_id", "private_key", "private_key_id", "token_uri", "client_email"},
           "Postgres": {"user", "password", "host", "port"}, "Redshift": {"user", "password"}}
_secret = {"HTTP": {"token"}, "Postgres": {"user", "password"}, "Redshift": {"user", "password"},
           "BigQuery": {"private_key", "private_key_id", "client_email", "token_uri"}}
_clouds = ("https://us.i.posthog.com/batch/", "https://eu.i.posthog.com/batch/",
           "https://app.posthog.com/batch/", "https://eu.posthog.com/batch/")


def shown(kind, config):
    """The config as an answer has it: no secrets."""
    config = {key: value for key, value in config.items() if key not in _secret.get(kind, ())}
    copy = config.get("copy_inputs")
    if copy:
        copy = dict(copy)
        for key in ("bucket_credentials", "authorization"):
            if isinstance(copy.get(key), dict):
                copy[key] = {k: v for k, v in copy[key].items() if not k.startswith("aws_")}
            elif isinstance(copy.get(key), str) and copy[key].isdigit():
                copy[key] = int(copy[key])
        config["copy_inputs"] = copy
    return config


def merge(old, new):
    """new written over old, key by key."""
    out = dict(old)
    for key, value in new.items():
        out[key] = merge(out[key], value) if isinstance(value, dict) and isinstance(out.get(key), dict) else value
    return out


def integration(kind, sent, project, stored, creating):
    """The integration that the destination has after the write. sent is the destination as it came."""
    rule = TYPES[kind]
    if "integration" in sent and "integration_id" in sent:
        strange("destination", "both integration and integration_id")
    given = "integration_id" in sent or "integration" in sent
    value = sent.get("integration_id", sent.get("integration"))
    if rule.kind is None:
        if value is not None:
            strange("destination", "an integration for %s" % kind)
        return None
    old = stored.integration if stored else None
    if value is None:
        if not creating and not given and (rule.patch in (KEEP, DROP) or kind == "Redshift" and old is None):
            return old
        if not creating and kind == "Postgres":
            return None
        if not creating and kind == "Redshift":
            if old is None:
                return None
            raise refused("Cannot remove the integration from a Redshift batch export that uses one. Re-send its "
                          "`integration` to keep it or give another one.", "destination")
        raise refused("Integration is required for %s batch exports" % (rule.label or kind), "destination")
    row = Integration.objects.filter(project=project, id=value).first()
    if row is None:
        raise refused('Invalid pk "%s" - object does not exist.' % value, "destination__integration_id",
                      "does_not_exist")
    if row.kind != rule.kind:
        text = rule.wrong % row.kind if "%s" in rule.wrong else rule.wrong
        raise refused(text, "destination")
    return row


def _typed(kind, config):
    keys = TYPES[kind].keys
    unknown = [key for key in config if key not in keys]
    if unknown:
        strange("destination.config of " + kind, "unknown keys: %s" % ", ".join(unknown))
        names = ", ".join("'%s'" % key for key in unknown)
        raise refused("Configuration has unknown field/s: %s" % names, "destination")
    for key, value in config.items():
        right = isinstance(value, keys[key]) and not (keys[key] is int and isinstance(value, bool))
        if value is not None and not right:
            strange("destination.config of " + kind, "%s: %s" % (key, type(value).__name__))
            raise refused("Configuration has invalid type for field '%s'" % key, "destination")


def config(kind, sent, stored, row, creating, project):
    """The config that the destination has after the write."""
    _typed(kind, sent)
    rule, old = TYPES[kind], stored.config if stored else {}
    if creating:
        legacy = set(sent) & _legacy.get(kind, set())
        if kind == "Redshift" and row is not None and row.flavour == "server":
            legacy |= set(sent) & {"host", "port"}
        if legacy - {"port"}:
            strange("destination.config of " + kind, "legacy keys in a new export: %s" % ", ".join(sorted(legacy)))
        for key in rule.required:
            if key not in sent:
                strange("destination.config of " + kind, "no " + key)
                raise refused("Configuration missing required field: '%s'" % key, "destination")
    copy = sent.get("copy_inputs")
    merged = merge(old, sent)
    if kind in ("AwsS3", "S3Compatible"):
        empty = [key for key in ("bucket_name", "region", "prefix") if not merged.get(key)]
        if empty:
            raise refused("The following inputs are empty: %s" % empty, "destination")
    if "file_format" in rule.keys:
        _format(merged)
        _extension(sent, old, merged, creating)
    if kind == "HTTP" and merged.get("url") not in _clouds:
        raise refused("Invalid destination URL: %s" % merged.get("url"), "destination")
    if kind == "Redshift":
        _redshift(merged, old, copy, row, project)
    return merged


def _format(merged):
    name, codec = merged.get("file_format") or "JSONLines", merged.get("compression")
    if name not in _codecs:
        raise refused("File format %s is not supported. Supported file formats are %s" % (name, sorted(_codecs)),
                      "destination")
    if codec is not None and codec not in _codecs[name]:
        raise refused("Compression %s is not supported for file format %s. Supported compressions are %s"
                      % (codec, name, _codecs[name]), "destination")


def _extension(sent, old, merged, creating):
    key = "legacy_parquet_extension"
    had = old.get(key)
    if had is None:
        had = not creating and old.get("file_format") == "Parquet" and old.get("compression") is not None
    if sent.get(key) and not had:
        raise refused("'legacy_parquet_extension' can only stay on for exports that already have it", "destination")
    if sent.get(key) is None:
        merged[key] = had


def _redshift(merged, old, copy, row, project):
    if row is not None and row.flavour in ("role", "keys") and not merged.get("host"):
        raise refused("A 'host' is required when using an AWS Redshift integration: set it to the cluster or workgroup "
                      "endpoint.", "destination")
    host = merged.get("host")
    if host and not re.match(r"^[A-Za-z0-9.-]+$", host):
        raise refused("Invalid host. Enter a hostname or IP address without credentials, scheme, or path.",
                      "destination")
    if merged.get("mode", "INSERT") not in ("INSERT", "COPY"):
        raise refused("Invalid mode", "destination")
    if merged.get("mode") == "COPY":
        _copy(merged.get("copy_inputs"), old.get("copy_inputs") or {}, copy or {}, project)


_copy_keys = {"s3_bucket", "region_name", "s3_key_prefix", "bucket_credentials", "authorization"}


def _copy(inputs, old, sent, project):
    if not inputs:
        raise refused("Missing required inputs for 'COPY'", "destination")
    unknown = set(inputs) - _copy_keys
    if unknown:
        strange("copy_inputs", "unknown keys: %s" % ", ".join(sorted(unknown)))
        raise refused("Configuration has unknown field/s: %s" % sorted(unknown), "destination")
    for key in ("s3_bucket", "region_name"):
        if not isinstance(inputs.get(key), str) or not inputs[key]:
            raise refused("Missing required input for 'COPY'", "destination")
    if "s3_key_prefix" not in inputs:
        strange("copy_inputs", "no s3_key_prefix, which is documented as required")
    for key in ("bucket_credentials", "authorization"):
        before, now = old.get(key), sent.get(key)
        if isinstance(now, dict) and (isinstance(before, int) or isinstance(before, str) and before.isdigit()):
            raise refused("Cannot switch '%s' from an integration to inline credentials. Omit it to keep it." % key,
                          "destination")
        _credential(key, inputs.get(key), project)


def _credential(key, value, project):
    if value is None or value == "":
        text = "bucket credentials" if key == "bucket_credentials" else "credentials"
        raise refused("Missing required %s for 'COPY'" % text, "destination")
    if isinstance(value, int) and not isinstance(value, bool) or isinstance(value, str) and value.isdigit():
        if not Integration.objects.filter(project=project, kind="aws-s3", id=int(value)).exists():
            raise refused("'%s' does not reference an AWS S3 integration of this project." % key, "destination")
    elif isinstance(value, dict):
        if set(value) != {"aws_access_key_id", "aws_secret_access_key"}:
            strange("copy_inputs." + key, "keys: %s" % ", ".join(sorted(value)))
            raise refused("Missing required credentials for 'COPY'", "destination")
    elif key == "bucket_credentials" or not (isinstance(value, str) and value.startswith("arn:aws")):
        raise refused("Authorization for 'COPY' must be an IAM role ARN, AWS credentials, or an integration ID.",
                      "destination")
