"""The Helm chart: its values, and the manifests that it renders, fit the server and Kubernetes.

The slow tests render the chart with helm and validate it with kubeconform, which Go builds once per
machine. The schemas of Kubernetes come from the package kubernetes-validate.
"""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest
import yaml

from lance_namespace_client.operations import Action
from lance_namespace_impls.core.profiles import read_profile
from lance_namespace_impls.server import Caller, PolicyFile, serving
from lance_namespace_impls.server.workers.supervisor import STOP_SECONDS
from tests.servers.echo import EchoNamespace
from tests.servers.go import built

from .commands import DEPLOY, ROOT, parsed

CHART = DEPLOY / "helm" / "lance-ns"
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
VALUES = yaml.safe_load((CHART / "values.yaml").read_text())
HELM = ("helm.sh/helm/v3/cmd/helm", "v3.22.0")
KUBECONFORM = ("github.com/yannh/kubeconform/cmd/kubeconform", "v0.8.0")
KUBERNETES = ("1.25.0", "1.30.0", "1.37.0")
"""Versions of Kubernetes that the chart supports, from the oldest to the newest."""
SAMPLES: dict[str, dict[str, Any]] = {
    "defaults": {},
    "everything": {
        "image": {"tag": "2", "pullPolicy": "Always"},
        "imagePullSecrets": [{"name": "registry"}],
        "catalog": {
            "impl": "sql",
            "uri": "postgresql://lance@postgres/lance",
            "password": "${CATALOG_PASSWORD}",
            "pool_size": 20,
            "connect_timeout": 2.5,
            "root": 's3://a bucket/"tables"\\',
            "storage": {"aws_region": "eu-west-1", "allow_http": True},
        },
        "envFrom": [{"secretRef": {"name": "lance-ns-credentials"}}],
        "env": [{"name": "AWS_REGION", "value": "eu-west-1"}],
        "server": {
            "workers": 3,
            "allowHosts": ["*"],
            "readOnly": True,
            "openMetrics": True,
            "ui": False,
            "requestLog": False,
            "limits": {"queries": 8, "batch_bytes": 1 << 30},
            "extraArgs": ["--vend-storage-options"],
        },
        "auth": {"oidc": {"issuer": "https://issuer.example", "audience": "lance"}},
        "policy": '[[grant]]\nto = ["group:a"]\nactions = ["read"]\non = [["**"]]\n',
        "tls": {"secretName": "lance-tls"},
        "autoscaling": {"enabled": True},
        "serviceAccount": {"annotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/a"}},
        "service": {"annotations": {"a": "b"}},
        "ingress": {
            "enabled": True,
            "className": "nginx",
            "annotations": {"a": "b"},
            "hosts": ["lance.example.com"],
            "tls": [{"secretName": "lance-tls", "hosts": ["lance.example.com"]}],
        },
        "podAnnotations": {"prometheus.io/scrape": "true"},
        "podLabels": {"team": "data"},
        "nodeSelector": {"kubernetes.io/arch": "amd64"},
        "tolerations": [{"key": "a", "operator": "Exists"}],
        "affinity": {"podAntiAffinity": {}},
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": "topology.kubernetes.io/zone",
                "whenUnsatisfiable": "ScheduleAnyway",
            }
        ],
    },
    "insecure": {
        "auth": {"tokens": {"secretName": ""}, "insecure": True},
        "serviceAccount": {"create": False},
        "podDisruptionBudget": {"enabled": False},
    },
}


def merged(base: Any, changes: Any) -> Any:
    """Return values with changes, as Helm merges them."""
    if not isinstance(base, dict) or not isinstance(changes, dict):
        return changes
    return base | {key: merged(base.get(key), value) for key, value in changes.items()}


@pytest.fixture(scope="module")
def schema() -> Any:
    found = json.loads((CHART / "values.schema.json").read_text())
    jsonschema.Draft7Validator.check_schema(found)
    return found


@pytest.mark.parametrize("name", SAMPLES)
def test_the_schema_accepts_the_values(schema: Any, name: str) -> None:
    jsonschema.validate(merged(VALUES, SAMPLES[name]), schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {"server": {"workerss": 2}},
        {"server": {"workers": 0}},
        {"server": {"limits": {"queries": "8"}}},
        {"server": {"extraArgs": ["read-only"]}},
        {"catalog": {"impl": "memory"}},
        {"auth": {"oidc": {"issuer": "https://issuer.example"}}},
        {"ingress": {"enabled": True}},
        {"replicas": 2},
    ],
    ids=str,
)
def test_the_schema_rejects_wrong_values(schema: Any, wrong: dict[str, Any]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(VALUES, wrong), schema)


def test_the_templates_use_only_values_that_exist() -> None:
    used = {
        match for text in TEMPLATES.values() for match in re.findall(r"\.Values\.([\w.]*\w)", text)
    }
    assert len(used) > 20
    for path in used:
        found: Any = VALUES
        for key in path.split("."):
            assert key in found, path
            found = found[key]


def test_the_templates_use_only_options_that_exist() -> None:
    options = set(re.findall(r"--[a-z][a-z-]+", TEMPLATES["deployment.yaml"]))
    assert {"--host", "--workers", "--tokens", "--policy", "--limit"} <= options
    takes_none = {"--read-only", "--open-metrics", "--no-ui", "--no-request-log", "--insecure"}
    parsed(
        ["serve", *options & takes_none]
        + [f"{each}={1 if each in ('--workers', '--port') else 'queries=1'}"
           for each in options - takes_none]
    )  # fmt: skip


def test_the_server_answers_the_probes() -> None:
    probes = re.findall(r"(\w+)Probe:\s+httpGet: \{path: (\S+), port", TEMPLATES["deployment.yaml"])
    assert [name for name, _ in probes] == ["startup", "liveness", "readiness"]
    with serving(EchoNamespace()) as uri:
        for _, path in probes:
            assert httpx.get(uri + path, headers={"host": "10.1.2.3"}).status_code == 200


def test_the_version_is_the_project_s() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert chart["appVersion"] == project["version"]


class Chart:
    """The chart, as helm renders it.

    Args:
        folder: an empty folder.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def run(self, command: str, values: dict[str, Any]) -> subprocess.CompletedProcess[str]:
        """Run a command of helm on the chart with values."""
        file = self._folder / "values.yaml"
        file.write_text(yaml.safe_dump(values))
        name = [] if command == "lint" else ["lake"]
        return subprocess.run(
            [
                *(str(built(*HELM)), command, *name, str(CHART), "--values", str(file)),
                *("--namespace", "data", "--kube-version", KUBERNETES[-1]),
                *(["--strict"] if command == "lint" else []),
            ],
            capture_output=True,
            text=True,
            check=False,
        )

    def rendered(self, values: dict[str, Any]) -> str:
        done = self.run("template", values)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def manifests(self, values: dict[str, Any]) -> dict[str, Any]:
        """Return the manifests by kind."""
        found = list(yaml.safe_load_all(self.rendered(values)))
        assert len({each["kind"] for each in found}) == len(found)
        return {each["kind"]: each for each in found}


with_go = [pytest.mark.slow, pytest.mark.needs("go"), pytest.mark.xdist_group("chart")]


def marked(test: Any) -> Any:
    """Mark a test that Go builds programs for."""
    for mark in with_go:
        test = mark(test)
    return test


@pytest.fixture
def chart(tmp_path: Path) -> Chart:
    return Chart(tmp_path)


@marked
@pytest.mark.parametrize("name", SAMPLES)
def test_helm_accepts_the_chart(chart: Chart, name: str) -> None:
    done = chart.run("lint", SAMPLES[name])
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def schemas(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the schemas of Kubernetes, in the layout that kubeconform expects.

    The schemas in the package refer to each other by the address of a server.
    """
    package = find_spec("kubernetes_validate")
    assert package is not None and package.origin is not None
    source = Path(package.origin).parent / "kubernetes-json-schema"
    folder = tmp_path_factory.mktemp("schemas")
    for version in KUBERNETES:
        target = folder / f"v{version}"
        target.mkdir()
        for path in (source / f"v{version}-local-strict").glob("*-v?.json"):
            write_schema(path, target)
        write_schema(source / f"v{version}-local-strict" / "_definitions.json", target)
    return folder


def write_schema(path: Path, folder: Path) -> None:
    found = json.loads(path.read_text().replace('"/api/_definitions.json', '"_definitions.json'))
    found.pop("$id", None)
    (folder / path.name).write_text(json.dumps(found))


@marked
@pytest.mark.parametrize("version", KUBERNETES)
def test_kubernetes_accepts_the_manifests(chart: Chart, schemas: Path, version: str) -> None:
    def check(manifests: str) -> subprocess.CompletedProcess[str]:
        layout = "{{.NormalizedKubernetesVersion}}/{{.ResourceKind}}{{.KindSuffix}}.json"
        return subprocess.run(
            [
                *(str(built(*KUBECONFORM)), "-strict", "-summary"),
                *("-kubernetes-version", version, "-schema-location", f"{schemas}/{layout}"),
            ],
            input=manifests,
            capture_output=True,
            text=True,
            check=False,
        )

    for values in SAMPLES.values():
        manifests = chart.rendered(values)
        done = check(manifests)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"Valid: {manifests.count('kind: ') - manifests.count('  kind: ')}" in done.stdout
    done = check(manifests.replace("readinessProbe", "readynessProbe"))
    assert done.returncode != 0 and "readynessProbe" in done.stdout


@marked
@pytest.mark.parametrize("name", SAMPLES)
def test_the_manifests_fit_the_server(chart: Chart, name: str, tmp_path: Path) -> None:
    found = chart.manifests(SAMPLES[name])
    values = merged(VALUES, SAMPLES[name])
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    options = parsed(container["args"])
    assert options["workers"] == values["server"]["workers"]
    assert options["read_only"] is values["server"]["readOnly"]
    assert options["ui"] is values["server"]["ui"]
    assert options["insecure"] is values["auth"]["insecure"]

    (port,) = container["ports"]
    assert port["containerPort"] == options["port"]
    (exposed,) = found["Service"]["spec"]["ports"]
    assert exposed["targetPort"] == port["name"]
    scheme = "HTTPS" if options["tls_cert"] else "HTTP"
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container[probe]["httpGet"]["port"] == port["name"]
        assert container[probe]["httpGet"]["scheme"] == scheme
    labels = found["Deployment"]["spec"]["template"]["metadata"]["labels"]
    assert found["Service"]["spec"]["selector"].items() <= labels.items()
    assert {"lake-lance-ns", "lake-lance-ns.data.svc"} <= set(options["allow_host"])
    if "Ingress" in found:
        hosts = {rule["host"] for rule in found["Ingress"]["spec"]["rules"]}
        assert hosts <= set(options["allow_host"])
    if pod["serviceAccountName"] != "default":
        assert found["ServiceAccount"]["metadata"]["name"] == pod["serviceAccountName"]
    assert ("replicas" in found["Deployment"]["spec"]) != ("HorizontalPodAutoscaler" in found)

    # All files that the options name are in a volume.
    mounts = {each["mountPath"]: each["name"] for each in container["volumeMounts"]}
    volumes = {each["name"]: each for each in pod["volumes"]}
    assert set(mounts.values()) == set(volumes)
    files = [options[key] for key in ("config", "tokens", "policy", "tls_cert", "tls_key")]
    for file in filter(None, files):
        assert str(Path(file).parent) in mounts
    written = found["ConfigMap"]["data"]
    assert volumes[mounts["/etc/lance-ns/config"]]["configMap"] == {
        "name": found["ConfigMap"]["metadata"]["name"]
    }
    assert Path(options["config"]).name in written
    assert bool(options["policy"]) == ("policy.toml" in written) == bool(values["policy"])
    if options["policy"]:
        policy = tmp_path / "policy.toml"
        policy.write_text(written["policy.toml"])
        assert PolicyFile(policy).allows(
            Caller("ana", groups=frozenset({"a"})), Action.READ, ("t",)
        )


@marked
def test_the_catalog_is_a_profile(
    chart: Chart, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "config.toml"
    file.write_text(chart.manifests(SAMPLES["everything"])["ConfigMap"]["data"]["config.toml"])
    monkeypatch.setenv("CATALOG_PASSWORD", "secret")
    assert read_profile(file, "prod") == {
        "impl": "sql",
        "uri": "postgresql://lance@postgres/lance",
        "password": "secret",
        "pool_size": "20",
        "connect_timeout": "2.5",
        "root": 's3://a bucket/"tables"\\',
        "storage.aws_region": "eu-west-1",
        "storage.allow_http": "true",
    }


@marked
def test_the_pod_is_confined(chart: Chart) -> None:
    pod = chart.manifests({})["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    user = re.search(r"^USER (\d+):(\d+)$", (DEPLOY / "Dockerfile").read_text(), re.MULTILINE)
    assert user
    ids = (pod["securityContext"]["runAsUser"], pod["securityContext"]["runAsGroup"])
    assert tuple(map(str, ids)) == user.groups()
    assert pod["terminationGracePeriodSeconds"] >= STOP_SECONDS + 5


@marked
@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"auth": {"tokens": {"secretName": ""}}}, "set auth.tokens.secretName"),
        ({"auth": {"insecure": True}}, "contradicts"),
        (merged(SAMPLES["insecure"], {"policy": "a = 1"}), "policy requires authentication"),
        ({"server": {"workers": "two"}}, "/server/workers"),
    ],
    ids=["no authentication", "contradiction", "policy", "schema"],
)
def test_wrong_values_are_rejected(chart: Chart, values: dict[str, Any], message: str) -> None:
    done = chart.run("template", values)
    assert done.returncode != 0 and message in done.stderr, done.stderr
