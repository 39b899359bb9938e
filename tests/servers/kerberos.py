"""A real Kerberos realm for tests: MIT's key distribution center from the Debian package krb5-kdc."""

from __future__ import annotations

import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import define

from .process import ServerProcess

__all__ = ["PROGRAMS", "REALM", "Realm"]

REALM = "KIT.TEST"
# Debian installs the server's programs in a folder that is not on the PATH of all users.
SERVER_PROGRAMS = "/usr/sbin"
PROGRAMS = ("kinit", "kadmin.local", "krb5kdc")
"""The programs that these tests need, from krb5-user, krb5-admin-server and krb5-kdc."""


@define(kw_only=True)
class Realm(ServerProcess):
    """A realm whose key distribution center runs as the current user, on a loopback port.

    All files are in its folder, and `environment` directs programs and libraries to them, so the
    configuration of the machine is neither read nor changed.

    Args:
        clock_offset: seconds by which the clock of the key distribution center is ahead.
    """

    NOT_YET = (OSError,)

    clock_offset: int = 0

    @property
    def name(self) -> str:
        return REALM

    def client_environment(self) -> Mapping[str, str]:
        """Return the environment variable that directs Kerberos libraries to this realm."""
        return {"KRB5_CONFIG": str(self.folder / "krb5.conf")}

    def environment(self) -> Mapping[str, str]:
        return {
            **self.client_environment(),
            "KRB5_KDC_PROFILE": str(self.folder / "kdc.conf"),
            "PATH": f"{os.environ.get('PATH', '')}:{SERVER_PROGRAMS}",
            "LC_ALL": "C.UTF-8",
        }

    def command(self) -> Sequence[str]:
        self._write_configuration()
        if not (self.folder / "principal").exists():
            self._run("kdb5_util", "create", "-s", "-r", REALM, "-P", "master")
        command = ("krb5kdc", "-n", "-r", REALM, "-P", str(self.folder / "krb5kdc.pid"))
        return [*command, *(["-T", str(self.clock_offset)] if self.clock_offset else [])]

    def look(self) -> None:
        socket.create_connection(("127.0.0.1", self.port), 10).close()

    def add(self, principal: str, *options: str) -> Path:
        """Add a principal with a random key, and return a keytab that contains only its key.

        Args:
            principal: name of the principal, without the realm.
            options: further options of kadmin's ``add_principal``.
        """
        keytab = self.folder / f"{principal.replace('/', '-')}.keytab"
        self.admin(f"add_principal -randkey {' '.join(options)} {principal}")
        self.admin(f"ktadd -k {keytab} {principal}")
        return keytab

    def admin(self, query: str) -> None:
        """Run a query of kadmin, which prints errors but does not report them as its status."""
        answer = self._run("kadmin.local", "-r", REALM, "-q", query)
        assert "while" not in answer, answer

    def kinit(self, keytab: Path, principal: str, cache: Path, *options: str) -> None:
        """Write a ticket to a cache."""
        self._run("kinit", *options, "-c", str(cache), "-k", "-t", str(keytab), principal)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command,
            env={**os.environ, **self.environment()},
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, (command, done.stdout)
        return done.stdout

    def _write_configuration(self) -> None:
        (self.folder / "krb5.conf").write_text(
            f"""
[libdefaults]
    default_realm = {REALM}
    dns_lookup_kdc = false
    dns_lookup_realm = false
    dns_canonicalize_hostname = false
    rdns = false
    kdc_timesync = 0
    # Java reads it too; the server listens only on TCP.
    udp_preference_limit = 1

[realms]
    {REALM} = {{
        kdc = 127.0.0.1:{self.port}
    }}
    UNREACHABLE.TEST = {{
        kdc = 127.0.0.1:1
    }}
"""
        )
        (self.folder / "kdc.conf").write_text(
            f"""
[kdcdefaults]
    kdc_listen = ""
    kdc_tcp_listen = 127.0.0.1:{self.port}

[realms]
    {REALM} = {{
        database_name = {self.folder}/principal
        key_stash_file = {self.folder}/stash
        acl_file = {self.folder}/kadm5.acl
        supported_enctypes = aes256-cts-hmac-sha1-96:normal aes128-cts-hmac-sha1-96:normal
        max_life = 10h
        max_renewable_life = 0
        default_principal_flags = +preauth
    }}

[logging]
    kdc = FILE:{self.folder}/kdc.log
"""
        )
