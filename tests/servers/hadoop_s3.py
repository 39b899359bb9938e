"""S3 for servers that access storage through Hadoop: jars and settings of its S3 file system."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import escape

from .maven import jars
from .s3 import GuardedS3

__all__ = ["AWS_SDK", "HADOOP", "as_xml", "hadoop_s3_jars", "hadoop_s3_settings"]

# The release in PySpark's jars, which the metastore of Hive 2.3 uses.
HADOOP = "3.5.0"
# Single modules, because the bundle that hadoop-aws depends on has 600 MB.
AWS_SDK = [
    f"software.amazon.awssdk:{module}:2.57.8"
    for module in (
        "s3",
        "sts",
        "kms",
        "glue",
        "dynamodb",
        "s3-transfer-manager",
        "apache-client",
        "url-connection-client",
    )
]


def hadoop_s3_jars() -> list[Path]:
    """Return the jars to add to the class path of a server with Hadoop release `HADOOP`."""
    return [
        *jars(
            [
                f"org.apache.hadoop:hadoop-aws:{HADOOP}",
                "software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3:1.3.1",
            ],
            exclude=["*:*"],
        ),
        *jars(AWS_SDK, exclude=["org.slf4j:slf4j-api"]),
    ]


def hadoop_s3_settings(s3: GuardedS3) -> dict[str, str]:
    """Return Hadoop settings that send all S3 requests to a test double."""
    file_system = "org.apache.hadoop.fs.s3a.S3AFileSystem"
    return {
        **{f"fs.{scheme}.impl": file_system for scheme in ("s3", "s3a", "s3n")},
        "fs.s3a.endpoint": s3.uri,
        "fs.s3a.endpoint.region": "us-east-1",
        "fs.s3a.path.style.access": "true",
        "fs.s3a.connection.ssl.enabled": "false",
        "fs.s3a.access.key": "testing",
        "fs.s3a.secret.key": "testing",
        # A missing bucket is reported by the first request, not after minutes of retries.
        "fs.s3a.attempts.maximum": "1",
        "fs.s3a.retry.limit": "1",
    }


def as_xml(settings: Mapping[str, str]) -> str:
    """Return settings as the text of a Hadoop configuration file."""
    rows = "".join(
        f"<property><name>{name}</name><value>{escape(value)}</value></property>\n"
        for name, value in settings.items()
    )
    return f"<configuration>\n{rows}</configuration>\n"
