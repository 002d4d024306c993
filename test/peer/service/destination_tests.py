"""Tests of a destination: part 7 of the reference. A step fails when a name in the config begins with "missing"."""

from rest_framework.response import Response

ROLE = ("Assume AWS role", "Ensure that the role can be assumed.", None)
BUCKET = ("Check bucket exists", "Ensure the bucket exists and can be reached.", "bucket_name")

STEPS = {
    "AwsS3": [ROLE, BUCKET],
    "S3Compatible": [BUCKET],
    "BigQuery": [
        ("Impersonate service account", "Ensure the account can be impersonated.", None),
        ("Verify service account ownership", "Ensure the account belongs to you.", None),
        ("Check project", "Ensure the project exists.", None),
        ("Check dataset", "Ensure the dataset exists.", "dataset_id"),
        ("Check table", "Ensure a table can be created.", "table_id"),
    ],
    "Snowflake": [
        ("Connect", "Ensure a connection can be made.", None),
        ("Check warehouse", "Ensure the warehouse exists.", "warehouse"),
        ("Check database", "Ensure the database exists.", "database"),
        ("Check schema", "Ensure the schema exists.", "schema"),
    ],
    "Databricks": [
        ("Connect", "Ensure a connection can be made.", "http_path"),
        ("Check catalog", "Ensure the catalog exists.", "catalog"),
        ("Check schema", "Ensure the schema exists.", "schema"),
        ("Check table", "Ensure a table can be created.", "table_name"),
        ("Check volume", "Ensure a volume can be created.", None),
    ],
    "AzureBlob": [("Check container exists", "Ensure the container exists.", "container_name")],
}


def _skipped(row, index):
    flavour = row.integration.flavour
    return row.type == "AwsS3" and index == 0 and flavour == "keys" or (
        row.type == "BigQuery" and index < 2 and flavour == "keys"
    )


def listed(kind):
    if not kind:
        return Response(status=400)
    if kind not in STEPS:
        return Response(status=404)
    return Response({"steps": [{"name": name, "description": text, "result": None} for name, text, _ in STEPS[kind]]})


def run(row, index, configured=True):
    """The answer of one step. A type without tests and a step out of range are errors of the server."""
    name, text, key = STEPS[row.type][index]
    result = {"status": "Passed", "message": None}
    if not configured:
        result = {"status": "Failed", "message": "The test step cannot run as it's not configured."}
    elif _skipped(row, index):
        result = {"status": "Skipped", "message": "Not needed with these credentials."}
    elif key and str(row.config.get(key, "")).startswith("missing"):
        result = {"status": "Failed", "message": "%s '%s' does not exist" % (key, row.config[key])}
    return Response({"name": name, "description": text, "result": result})
