"""The image: built without a container engine, it serves as an ordinary user and read-only.

Its base is a root file system of Debian packages, because no registry of images is available to the
tests. buildah runs the Dockerfile, and runc the image, with the restrictions of the compose file. The
tests require root.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
import pytest

from lance_namespace_impls import connect
from tests.servers.cache import cache_folder, fetching
from tests.servers.ports import free_port
from tests.servers.process import START_SECONDS, wait_until

from .commands import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.needs("buildah"),
    pytest.mark.needs("mmdebstrap"),
    pytest.mark.needs("runc"),
]
PACKAGES = "python3,python3-venv,ca-certificates"
SUITE = "bookworm"
MOST_BYTES = 800 << 20
"""Maximum size of the image without its base."""


def run(*command: str, **options: Any) -> str:
    """Return the output of a command, which must succeed."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


def base() -> Path:
    """Return an archive of the base; it is created once per machine."""
    target = cache_folder() / "debian" / SUITE
    with fetching(target) as folder:
        if folder is not None:
            command = ["mmdebstrap", "--variant=minbase", f"--include={PACKAGES}", SUITE]
            run(*command, str(folder / "base.tar"))
    return target / "base.tar"


class Images:
    """Images in a folder.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._buildah = [
            *("buildah", "--storage-driver", "vfs"),
            *("--root", str(folder / "storage"), "--runroot", str(folder / "run")),
        ]

    def run(self, *command: str) -> str:
        environment = {**os.environ, "BUILDAH_ISOLATION": "chroot"}
        return run(*self._buildah, *command, cwd=ROOT, env=environment).strip()

    def build(self) -> None:
        container = self.run("from", "scratch")
        self.run("add", container, str(base()), "/")
        self.run("commit", "--rm", container, "base")
        self.run(
            # The builder may need the machine's authorities to reach a package registry.
            *("bud", "--volume", "/etc/ssl/certs:/etc/ssl/certs:ro", "--format", "docker"),
            *("--build-arg", "BASE=localhost/base", "--file", "deploy/Dockerfile"),
            *("--ignorefile", "deploy/Dockerfile.dockerignore", "--tag", "lance-ns", "."),
        )

    def config(self) -> Any:
        """Return the image's configuration."""
        return json.loads(self.run("inspect", "--type", "image", "lance-ns"))["Docker"]["config"]

    def root(self, image: str) -> Path:
        """Return the folder with the files of an image."""
        return Path(self.run("mount", self.run("from", f"localhost/{image}")))


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Images:
    found = Images(tmp_path_factory.mktemp("images"))
    found.build()
    return found


def size(root: Path) -> int:
    return int(run("du", "--summarize", "--bytes", str(root)).split()[0])


def test_the_image_has_no_build_tools_and_no_java(images: Images) -> None:
    root = images.root("lance-ns")
    own = size(root) - size(images.root("base"))
    print(f"{size(root) >> 20} MiB, {own >> 20} MiB of them in addition to the base")
    assert own < MOST_BYTES
    programs = {path.name for path in root.glob("**/bin/*")}
    assert {"lance-ns", "python3"} <= programs
    assert programs.isdisjoint({"pip", "pip3", "gcc", "cc", "make", "java"})
    assert not list(root.glob("opt/lance-ns/lib/python3*/site-packages/pyspark"))
    assert not list(root.glob("opt/lance-ns/lib/python3*/site-packages/pip"))
    assert (root / "src").exists() is False


@pytest.fixture
def served(images: Images, tmp_path: Path) -> Iterator[tuple[str, list[str]]]:
    """Run the image; yield the server's address and the command to run another in its container."""
    config, port = images.config(), free_port()
    data, name = tmp_path / "data", f"lance-ns-{os.getpid()}"
    data.mkdir()
    user, group = map(int, config["User"].split(":"))
    os.chown(data, user, group)
    run("runc", "spec", "--bundle", str(tmp_path))
    spec = json.loads((tmp_path / "config.json").read_text())
    spec["root"] = {"path": str(images.root("lance-ns")), "readonly": True}
    spec["process"].update(
        terminal=False,
        user={"uid": user, "gid": group},
        args=[*config["Entrypoint"], "serve", "--port", str(port), "--workers", "2"],
        env=[*config["Env"], "LANCE_NS_IMPL=dir", "LANCE_NS_PROPERTIES=path=/data"],
        cwd=config["WorkingDir"],
        capabilities={kind: [] for kind in spec["process"]["capabilities"]},
        noNewPrivileges=True,
    )
    # The container shares the loopback interface of the machine.
    spec["linux"]["namespaces"] = [
        each for each in spec["linux"]["namespaces"] if each["type"] not in ("network", "cgroup")
    ]
    spec["mounts"] = [
        each for each in spec["mounts"] if each["destination"] in ("/proc", "/dev", "/dev/shm")
    ]
    spec["mounts"] += [
        {"destination": "/tmp", "type": "tmpfs", "source": "tmpfs", "options": ["mode=1777"]},
        {"destination": "/data", "type": "bind", "source": str(data), "options": ["rbind", "rw"]},
    ]
    (tmp_path / "config.json").write_text(json.dumps(spec))
    runc = ["runc", "--root", str(tmp_path / "state")]
    process = subprocess.Popen(
        [*runc, "run", "--no-pivot", "--bundle", str(tmp_path), name],
        stdout=subprocess.PIPE,
        stderr=sys.stderr,
        text=True,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        address = re.search(r"http://\S+", line)
        assert address, line
        yield address[0], [*runc, "exec", name]
    finally:
        process.terminate()
        process.wait(START_SECONDS)
        process.stdout.close()


def test_the_image_serves(images: Images, served: tuple[str, list[str]]) -> None:
    uri, inside = served
    wait_until(lambda: httpx.get(f"{uri}/readyz").status_code == 200)
    with connect("rest", {"uri": uri}) as client:
        client.create_table({"id": ["t"]}, pa.table({"a": [1, 2, 3]}))
        assert client.count_table_rows({"id": ["t"]}).count == 3

    config = images.config()
    status = run(*inside, "cat", "/proc/self/status")
    assert f"Uid:\t{config['User'].partition(':')[0]}\t" in status
    assert "CapEff:\t0000000000000000" in status
    for path in ("/x", "/opt/lance-ns/x"):
        written = subprocess.run([*inside, "touch", path], capture_output=True, check=False)
        assert b"Read-only file system" in written.stderr
    kind, *check = config["Healthcheck"]["Test"]
    port = uri.rpartition(":")[2]
    assert kind == "CMD"
    run(*inside, *(part.replace("2333", port) for part in check))


def test_the_image_does_not_serve_without_authentication(images: Images) -> None:
    config = images.config()
    command = [*config["Entrypoint"], *config["Cmd"]]
    done = subprocess.run(
        ["chroot", f"--userspec={config['User']}", str(images.root("lance-ns")), *command],
        env={**dict(each.split("=", 1) for each in config["Env"]), "LANCE_NS_IMPL": "dir",
             "LANCE_NS_PROPERTIES": "path=/tmp"},
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode != 0 and "--tokens" in done.stderr, done.stderr
