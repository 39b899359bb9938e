"""The source distribution has all files that the nox sessions need, and a README for PyPI."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
from email.message import Message
from pathlib import Path

import pytest

import hatch_build

from .build import ROOT, built

URLS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["urls"]
# Version-controlled files that are not part of a release.
NOT_SHIPPED = {".gitignore", hatch_build.JAR.as_posix()}


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> tarfile.TarFile:
    return tarfile.open(built("sdist", tmp_path_factory.mktemp("sdist")))


@pytest.fixture(scope="module")
def metadata(sdist: tarfile.TarFile) -> Message:
    (name,) = (name for name in sdist.getnames() if name.endswith("PKG-INFO"))
    text = sdist.extractfile(name)
    assert text is not None
    return email.message_from_binary_file(text)


def test_it_contains_every_file_that_the_sessions_read(sdist: tarfile.TarFile) -> None:
    shipped = {name.partition("/")[2] for name in sdist.getnames()}
    wanted = {
        path.relative_to(ROOT).as_posix()
        for folder in ("tests", "demo", "docs", "benchmarks", "codegen", "lance_namespace_impls")
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
    }
    wanted |= {"noxfile.py", "constraints.txt", "pyproject.toml", "rest.yaml", "README.md"}
    assert wanted - shipped - NOT_SHIPPED == set()


def test_it_regenerates_the_same_client(sdist: tarfile.TarFile, tmp_path: Path) -> None:
    # Python before 3.11.4 has no extraction filters.
    sdist.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (folder,) = tmp_path.iterdir()
    command = [sys.executable, "-m", "codegen", "--check"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_no_link_of_the_readme_needs_the_repository(metadata: Message) -> None:
    text = metadata.get_payload()
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert [link for link in links if not re.match(r"https?://|#", link)] == []
    own = [link for link in links if link.startswith(URLS["Source"])]
    assert own
    for link in own:
        path = link.removeprefix(f"{URLS['Source']}/blob/main/").partition("#")[0]
        assert (ROOT / path).exists(), link


def test_metadata_for_the_package_index(metadata: Message) -> None:
    urls = dict(item.split(", ", 1) for item in metadata.get_all("Project-URL", []))
    assert {"Homepage", "Documentation", "Source", "Issues", "Changelog"} <= urls.keys()
    minors = {
        row.rpartition(" :: ")[2]
        for row in metadata.get_all("Classifier", [])
        if row.startswith("Programming Language :: Python :: 3.")
    }
    assert minors == {"3.11", "3.12", "3.13"}
    assert metadata["Description-Content-Type"] == "text/markdown"
