"""File stamps: every change of a file or directory is detected."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from lance_namespace_impls.core import file_stamps
from lance_namespace_impls.core.file_stamps import Stamp


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(file_stamps, "RECENT_NANOSECONDS", 0)
    made = tmp_path / "folder"
    made.mkdir()
    (made / "file").write_text("a")
    return made


def replaced(folder):
    aside = folder.with_name("aside")
    folder.rename(aside)
    folder.mkdir()
    return aside


CHANGES = {
    "a new file": lambda folder: (folder / "new").write_text(""),
    "a file gone": lambda folder: (folder / "file").unlink(),
    "a file renamed": lambda folder: (folder / "file").rename(folder / "other"),
    "a file written in its place": lambda folder: (folder / "file").write_text("b"),
    "rights": lambda folder: folder.chmod(0o700),
    "another directory": replaced,
    "gone": lambda folder: folder.rename(folder.with_name("aside")),
    "a link": lambda folder: folder.symlink_to(replaced_by_link(folder)),
    "times set back": lambda folder: written_and_set_back(folder / "file"),
}


def replaced_by_link(folder):
    aside = folder.with_name("aside")
    folder.rename(aside)
    return aside


def written_and_set_back(file):
    before = file.stat()
    file.write_text("b")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_detected(folder, change):
    stamp = Stamp.take(str(folder), str(folder / "file"))
    assert stamp.is_current()
    change(folder)
    assert not stamp.is_current()


def test_a_recently_changed_directory_has_no_stamp(tmp_path):
    assert Stamp.take(str(tmp_path)) is None


def test_a_missing_file_or_a_link_has_no_stamp(folder):
    (folder / "link").symlink_to(folder / "file")
    assert Stamp.take(str(folder), str(folder / "missing")) is None
    assert Stamp.take(str(folder), str(folder / "link")) is None


@pytest.mark.parametrize(("ago", "stamped"), [(0, False), (2.5, False), (3, True)])
def test_a_change_within_the_time_resolution_has_no_stamp(tmp_path, monkeypatch, ago, stamped):
    """The coarsest file systems have a time resolution of two seconds."""
    now = tmp_path.lstat().st_ctime_ns + int(ago * 1e9)
    monkeypatch.setattr(file_stamps, "time", SimpleNamespace(time_ns=lambda: now))
    assert (Stamp.take(str(tmp_path)) is not None) is stamped
