"""Detection of local file systems."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_namespace_impls.core import disks
from lance_namespace_impls.core.disks import on_local_disk


def test_remote_file_systems_are_not_local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text(
        "/dev/vda / ext4 rw 0 0\n"
        "host:/x /mnt/with\\040blank nfs4 rw 0 0\n"
        "tmpfs /mnt/with\\040blank/fast tmpfs rw 0 0\n"
        "sshfs /home fuse.sshfs rw 0 0\n"
        "host:/y /mnt/数据 nfs4 rw 0 0\n"
        "beegfs_nodev /scratch beegfs rw 0 0\n"
        "tmpfs /srv tmpfs rw 0 0\n"
        "host:/z /srv/tables/big nfs4 rw 0 0\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(disks, "Path", lambda _: mounts)
    assert on_local_disk("/data")
    assert on_local_disk("/mnt/with blank/fast/x")
    assert not on_local_disk("/mnt/with blank/x")
    assert not on_local_disk("/home/ana")
    assert not on_local_disk("/mnt/数据/x")
    assert not on_local_disk("/scratch/x"), "what is not known may wait for others"
    assert not on_local_disk("/srv/tables"), "another machine's disk is below it"
    assert on_local_disk("/srv/tables/small")
    mounts.unlink()
    assert not on_local_disk("/data")
