"""The web pages: their contents, access control, and escaping."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from html import unescape
from pathlib import Path
from urllib.parse import quote

import httpx
import lance
import numpy as np
import pyarrow as pa
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from lance_namespace_client.errors import (
    ErrorCode,
    InvalidInputError,
    LanceNamespaceError,
    PermissionDeniedError,
    ServiceUnavailableError,
    UnauthenticatedError,
    UnsupportedError,
)
from lance_namespace_impls import connect
from lance_namespace_impls.catalog.namespace import Namespace
from lance_namespace_impls.server import (
    PolicyFile,
    ServerOptions,
    TokenFile,
    create_app,
    new_token,
    serving,
)
from lance_namespace_impls.server.ui import explorer
from lance_namespace_impls.server.ui.cells import cell

BAD = "<script>alert('x')</script>"
PNG = b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNg+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src data:; form-action 'self'; "
        "frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "cache-control": "no-store",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
}


@contextmanager
def without_tables(root: Path) -> Iterator[Namespace]:
    with connect("memory", {"root": str(root)}) as found:
        found.create_namespace({"id": ["prod"], "properties": {"owner": BAD}})
        found.create_namespace({"id": ["a & b/c?d"]})
        found.create_namespace({"id": ["secret"]})
        yield found


@contextmanager
def filled(root: Path) -> Iterator[Namespace]:
    with without_tables(root) as found:
        found.declare_table({"id": ["top"]})
        table = found.table(["prod", "notes"]).create(
            {
                "id": list(range(30)),
                "text": [f"{BAD} word{n}" for n in range(30)],
                BAD: [None] * 30,
                "vector": np.eye(30, 16, dtype="float32"),
                "picture": [PNG] * 30,
            }
        )
        table.create_index("text", index_type="FTS")
        table.tags.create("first", table.version)
        for name in ("hidden", "other"):
            found.table(["secret", name]).create({"x": [1]})
        yield found


@contextmanager
def client_of(namespace: Namespace) -> Iterator[httpx.Client]:
    with serving(namespace) as uri, httpx.Client(base_url=uri, follow_redirects=True) as client:
        yield client


@pytest.fixture(scope="module")
def namespace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Namespace]:
    """Yield a namespace with tables for tests that change nothing."""
    with filled(tmp_path_factory.mktemp("filled")) as found:
        yield found


@pytest.fixture(scope="module")
def browser(namespace: Namespace) -> Iterator[httpx.Client]:
    with client_of(namespace) as client:
        yield client


@pytest.fixture
def changed(tmp_path: Path) -> Iterator[Namespace]:
    """Yield a namespace without tables for a test that adds objects."""
    with without_tables(tmp_path) as found:
        yield found


@pytest.fixture
def changed_browser(changed: Namespace) -> Iterator[httpx.Client]:
    with client_of(changed) as client:
        yield client


def page(client: httpx.Client, path: str, status: int = 200, **more: str) -> str:
    answer = client.get(path, headers=more)
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "www-authenticate" not in answer.headers
    assert "<script" not in answer.text
    return answer.text


def test_the_tree(browser: httpx.Client) -> None:
    root = page(browser, "/", accept="text/html,*/*")
    assert browser.get("/").json()["code"] == 0
    links = re.findall(r'href="(/ui\?id=[^"]+)"', root)
    assert len(links) == 3
    assert "a &amp; b/c?d" in root
    for link in links:
        page(browser, link)
    prod = page(browser, "/ui?id=prod")
    assert "/ui/table?id=prod&amp;id=notes" in prod
    assert "&lt;script&gt;" in prod


def test_names_are_searched(browser: httpx.Client) -> None:
    assert "No names match" in page(browser, "/ui?id=prod&q=zzz")
    assert ">notes<" in page(browser, "/ui?id=prod&q=NOT")
    assert f'value="{"&lt;i&gt;"}"' in page(browser, "/ui?q=<i>")


def test_many_tables_are_paged(changed_browser: httpx.Client, changed: Namespace) -> None:
    for number in range(230):
        changed.declare_table({"id": ["a & b/c?d", f"t{number:03}"]})
    first = page(changed_browser, "/ui?id=" + quote("a & b/c?d", safe=""))
    names = re.findall(r">(t\d{3})<", first)
    assert len(names) == 200
    [more] = re.findall(r'rel="next" href="([^"]+)"', first)
    names += re.findall(r">(t\d{3})<", page(changed_browser, more.replace("&amp;", "&")))
    assert names == [f"t{number:03}" for number in range(230)]


def test_a_table(browser: httpx.Client) -> None:
    text = page(browser, "/ui/table?id=prod&id=notes")
    for part in ("word0", "word9", "text_idx", "version 2", "data:image/png;base64,", "<polyline"):
        assert part in text
    assert "word10" not in text
    assert "namespace.table([&#39;prod&#39;, &#39;notes&#39;])" in text
    assert "lance-ns head &#39;prod$notes&#39; --impl rest" in text
    assert "fixed_size_list&lt;float32&gt;[16]" in text  # the notation of lance-ns schema
    assert ">_rowid<" in text and "<dt>rows</dt><dd>30</dd>" in text
    assert ">_rowid<" not in page(browser, "/ui/table?id=prod&id=notes&text=word7")


def test_the_newest_versions_and_a_page_of_indices(
    changed_browser: httpx.Client, changed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = changed.table(["prod", "other"]).create({"id": range(40), "a": range(40)})
    for column in ("id", "a"):
        table.create_index(column, index_type="BTREE")
    for number in range(20):
        table.delete(f"id = {number}")
    address = "/ui/table?id=prod&id=other"
    shown = ", ".join(str(number) for number in range(23, 3, -1))
    text = page(changed_browser, address)
    assert f"<p>{shown}, …</p>" in text
    assert "id_idx" in text and "a_idx" in text and "More entries exist" not in text
    monkeypatch.setattr(explorer, "PAGE_NAMES", 1)
    text = page(changed_browser, address)
    assert ("id_idx" in text) != ("a_idx" in text) and "More entries exist" in text


def rows(client: httpx.Client, query: str) -> list[str]:
    text = page(client, "/ui/table?id=prod&id=notes&" + query)
    return re.findall(r"<tr><td>(\d+)</td>", text)


def test_rows_are_searched(browser: httpx.Client) -> None:
    assert rows(browser, "where=id+in+(3,5)") == ["3", "5"]
    assert rows(browser, "text=word7") == ["7"]
    assert rows(browser, "near=4")[0] == "4"
    assert rows(browser, "near=4&where=id>10")[0] != "4"
    # The filter is applied before the search: this row is not one of the ten nearest.
    assert rows(browser, "near=4&where=id=3") == ["3"]
    for wrong, said in (
        ("where=nonsense+", "nonsense"),
        ("near=x", "near: specify the id of a row"),
        ("near=999", "there is no row 999 with a vector"),
        ("near=1&column=id", "column: specify a vector column; this table has vector"),
    ):
        text = page(browser, "/ui/table?id=prod&id=notes&" + wrong)
        assert said in text.partition('role="alert">')[2].partition("</p>")[0]


def test_one_of_several_vector_columns(changed_browser: httpx.Client, changed: Namespace) -> None:
    kind = pa.list_(pa.float32(), 2)
    near = {"v": [[0, 0], [9, 9], None], "w": [[0, 0], [9, 9], [0, 1]]}
    vectors = {name: pa.array(rows, kind) for name, rows in near.items()}
    changed.table(["prod", "both"]).create(pa.table({"id": [10, 11, 12], **vectors}))
    changed.table(["prod", "none"]).create({"id": [10]})
    for column, first_two in (("v", ["10", "11"]), ("w", ["10", "12"])):
        text = page(changed_browser, f"/ui/table?id=prod&id=both&near=0&column={column}")
        assert re.findall(r"<tr><td>(\d+)</td>", text)[:2] == first_two
    for wrong, said in (
        ("id=both&near=0", "specify a vector column; this table has v, w"),
        ("id=both&near=2&column=v", "there is no row 2 with a vector"),
        ("id=none&near=0", "specify a vector column; this table has none"),
    ):
        assert said in page(changed_browser, f"/ui/table?id=prod&{wrong}")


def test_a_table_that_does_not_exist(browser: httpx.Client) -> None:
    assert "does not exist" in page(browser, "/ui/table?id=prod&id=none", 404)
    page(browser, "/ui/table", 400)


def test_a_table_without_data(changed_browser: httpx.Client, changed: Namespace) -> None:
    changed.declare_table({"id": ["prod", "later"]})
    assert "has no data yet" in page(changed_browser, "/ui/table?id=prod&id=later")


def test_a_failed_section_of_a_table_shows_its_error(
    browser: httpx.Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Namespace, request: object) -> None:
        raise ServiceUnavailableError(f"no {type(request).__name__} today")

    operations = {
        "Versions": "list_table_versions",
        "Tags": "list_table_tags",
        "Indices": "list_table_indices",
    }
    for operation in (*operations.values(), "query_table"):
        monkeypatch.setattr(type(namespace), operation, fail)
    text = page(browser, "/ui/table?id=prod&id=notes")
    assert 'role="alert">no QueryTableRequest today</p>' in text
    for heading in operations:
        assert f'<h2>{heading}</h2>\n<p class="note">no ListTable{heading}Request today</p>' in text


@pytest.mark.parametrize(
    ("error", "at", "status"),
    [
        (UnsupportedError, "", 200),
        (UnsupportedError, "?id=prod", 200),
        (InvalidInputError, "", 200),
        (InvalidInputError, "?id=prod", 200),
        (PermissionDeniedError, "", 403),
        (PermissionDeniedError, "?id=prod", 200),
        (ServiceUnavailableError, "", 503),
        (ServiceUnavailableError, "?id=prod", 503),
        (UnauthenticatedError, "", 401),
    ],
)
def test_a_failed_listing_of_namespaces_shows_its_error(
    browser: httpx.Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch,
    error: type[LanceNamespaceError], at: str, status: int,
) -> None:  # fmt: skip
    def fail(_: Namespace, request: object) -> None:
        raise error("no namespaces today")

    monkeypatch.setattr(type(namespace), "list_namespaces", fail)
    text = page(browser, f"/ui{at}", status)
    assert "no namespaces today" in text
    if status == 200:
        assert '<p class="note">no namespaces today</p>' in text
        assert (">notes<" if at else ">top<") in text


def test_a_namespace_that_cannot_be_described_is_listed(
    browser: httpx.Client, namespace: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: Namespace, request: object) -> None:
        raise ServiceUnavailableError("no properties today")

    assert "owner" in page(browser, "/ui?id=prod")
    monkeypatch.setattr(type(namespace), "describe_namespace", fail)
    text = page(browser, "/ui?id=prod")
    assert '<p class="note">no properties today</p>' in text and ">notes<" in text


def test_a_search_reads_many_names_and_links_to_the_rest(
    changed_browser: httpx.Client, changed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(1005):
        changed.declare_table({"id": ["secret", f"t{number:04}"]})
    assert ">t1004<" in page(changed_browser, "/ui?id=secret&q=T1004")
    monkeypatch.setattr(explorer, "SEARCHED_NAMES", 500)
    first = page(changed_browser, "/ui?id=secret&q=T1004")
    assert ">t1004<" not in first
    [more] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = page(changed_browser, more.replace("&amp;", "&"))
    assert ">t1004<" in second and ">t1003<" not in second


def test_the_stylesheet_is_cacheable(browser: httpx.Client) -> None:
    answer = browser.get("/ui/style.css")
    assert (answer.status_code, answer.headers["cache-control"]) == (200, "max-age=300")
    assert answer.headers["content-type"].startswith("text/css") and "body" in answer.text


def test_the_operations(browser: httpx.Client) -> None:
    text = page(browser, "/docs")
    assert "<code>new_table_name</code> (required)</li>" in text
    assert "<code>new_namespace_id</code></li>" in text
    assert f"<dt>{int(ErrorCode.TABLE_NOT_FOUND)}</dt><dd>table not found</dd>" in text
    assert "POST /v1/table/{id}/query" in text
    assert 'id="CreateTable"' in text


def test_other_sites(browser: httpx.Client) -> None:
    cross = {"sec-fetch-site": "cross-site"}
    page(browser, "/ui", 403, **cross)
    page(browser, "/ui", **cross, **{"sec-fetch-mode": "navigate", "sec-fetch-dest": "document"})
    framed = {"sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    page(browser, "/ui", 403, **cross, **framed)
    page(browser, "/ui", 403, host="evil.example")


def test_the_pages_can_be_disabled(namespace: Namespace) -> None:
    with serving(namespace, ServerOptions(ui=False)) as uri, httpx.Client(base_url=uri) as client:
        for path in ("/ui", "/ui/table", "/docs", "/"):
            assert client.get(path).json()["code"] == 0


def test_pages_show_only_permitted_objects(namespace: Namespace, tmp_path: Path) -> None:
    ana = new_token("ana")
    (tmp_path / "tokens.toml").write_text(ana.entry)
    policy = tmp_path / "policy.toml"
    policy.write_text('[[grant]]\nto = ["ana"]\nactions = ["read"]\non = [["prod", "**"]]\n')
    options = ServerOptions(
        callers=[TokenFile(tmp_path / "tokens.toml")], policy=PolicyFile(policy)
    )
    with serving(namespace, options) as uri, httpx.Client(base_url=uri) as client:
        answer = client.get("/ui")
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Basic ")
        assert client.get("/ui", auth=("x", "wrong")).status_code == 401
        root = client.get("/ui", auth=("anybody", ana.token))
        assert root.status_code == 200
        assert "www-authenticate" not in root.headers
        for given in (
            {"authorization": f"Bearer {ana.token}"},
            {"authorization": f"bearer {ana.token}"},
            {"x-api-key": ana.token},
        ):
            assert client.get("/ui", headers=given).text == root.text
        assert ">prod<" in root.text
        assert "secret" not in root.text
        table = client.get("/ui/table?id=prod&id=notes", auth=("", ana.token))
        assert "word0" in table.text
        denied = client.get("/ui/table?id=secret&id=hidden", auth=("", ana.token))
        missing = client.get("/ui/table?id=secret&id=none", auth=("", ana.token))
        assert denied.status_code == missing.status_code == 403
        assert denied.text == missing.text
        for header in ("Basic ===", "Basic !"):
            assert client.get("/ui", headers={"authorization": header}).status_code == 401


def test_links_contain_the_mount_path(namespace: Namespace) -> None:
    mounted = Starlette(routes=[Mount("/lance", create_app(namespace))])

    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(mounted)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            home = await client.get("/lance/", headers={"accept": "text/html"})
            return [home, *[await client.get(at) for at in ("/lance/ui", "/lance/ui?id=prod")]]

    home, root, prod = asyncio.run(ask())
    assert home.is_redirect and home.headers["location"] == "/lance/ui"
    assert 'href="/lance/ui?id=prod"' in root.text
    assert 'href="/lance/ui/table?id=prod&amp;id=notes"' in prod.text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        ("x" * 500, "x" * 119 + "…"),
        ("x" * 120, "x" * 120),
        (b"\x00\x01", "2 bytes: 00 01"),
        (b"\x00" * 12, "12 bytes:" + " 00" * 12),
        (b"\x00" * 13, "13 bytes:" + " 00" * 12 + " …"),
        (b"RIFF\x00\x00\x00\x00WAVE", "12 bytes: 52 49 46 46 00 00 00 00 57 41 56 45"),
        ([1, 2, 3], "[1, 2, 3]"),
        ([1, 2, 3, 4], "4 numbers: 1, 2, 3, …"),
        ([1 / 3, 2, 3, 4.0], "4 numbers: 0.3333, 2, 3, …"),
        ([True, False, True, True], "[True, False, True, True]"),
        (["a", "b", "c", "d"], "['a', 'b', 'c', 'd']"),
        ([1.0, 2.0], "[1.0, 2.0]"),
        ({"a": 1}, "{'a': 1}"),
    ],
)
def test_the_text_of_a_value(value: object, text: str) -> None:
    assert cell(value).text == text


def test_the_pictures_of_vectors_and_images() -> None:
    numbers = pa.array(np.arange(1000.0)).to_pylist()
    assert len(cell(numbers).points.split()) <= 96
    assert cell([float("nan")] * 8).points == ""
    assert cell([0, 1, 2, 3]).points == "0.0,23.0 32.0,15.7 64.0,8.3 96.0,1.0"
    assert cell([5.0] * 4).points == "0.0,23.0 32.0,23.0 64.0,23.0 96.0,23.0"
    assert cell([0.0, float("inf"), 2.0, 4.0]).points == "0.0,23.0 64.0,12.0 96.0,1.0"
    assert len(cell([0.0] * 96).points.split()) == 96
    assert len(cell([0.0] * 97).points.split()) == 49
    assert cell(PNG).picture.startswith("data:image/png")
    for start, kind in (
        (b"\xff\xd8\xff", "jpeg"), (b"GIF87a", "gif"), (b"GIF89a", "gif"),
        (b"RIFF1234WEBP", "webp"),
    ):  # fmt: skip
        picture = cell(start + b"more")
        assert picture.picture.startswith(f"data:image/{kind};base64,")
        assert picture.text == f"{kind}, {len(start) + 4} bytes"
    assert cell(PNG.ljust(256 << 10, b"0")).picture != ""
    assert cell(PNG.ljust((256 << 10) + 1, b"0")).picture == ""
    assert cell(PNG + b"0" * (1 << 20)).picture == ""


def test_many_namespaces_are_paged(changed_browser: httpx.Client, changed: Namespace) -> None:
    for number in range(230):
        changed.create_namespace({"id": ["prod", f"n{number:03}"]})
    changed.declare_table({"id": ["prod", "notes"]})
    first = page(changed_browser, "/ui?id=prod")
    names = re.findall(r">(n\d{3})<", first)
    assert len(names) == 200 and ">notes<" in first
    [more] = re.findall(r'rel="next" href="([^"]+)"', first)
    second = page(changed_browser, more.replace("&amp;", "&"))
    names += re.findall(r">(n\d{3})<", second)
    assert names == [f"n{number:03}" for number in range(230)]
    assert ">notes<" not in second, "the tables stand on their own pages"


def test_values_without_a_python_equivalent(
    changed_browser: httpx.Client, changed: Namespace
) -> None:
    odd = pa.table(
        {
            "id": [1],
            "year": pa.array([10_000_000], pa.int32()).cast(pa.date32()),
            "time": pa.array([2**62], pa.int64()).cast(pa.timestamp("s", tz="UTC")),
            "nested": pa.array([[2**62]], pa.list_(pa.int64())).cast(pa.list_(pa.timestamp("us"))),
            "ns": pa.array([1], pa.int64()).cast(pa.timestamp("ns")),
        }
    )
    changed.create_table({"id": ["prod", "odd"]}, odd)
    text = page(changed_browser, "/ui/table?id=prod&id=odd")
    assert "<td>1</td>" in text and text.count("cannot be shown") >= 2


def test_an_unknown_time_zone(changed_browser: httpx.Client, changed: Namespace) -> None:
    """Other tools can store any string as the time zone of a column."""
    location = changed.declare_table({"id": ["prod", "mars"]}).location
    zoned = pa.array([1], pa.timestamp("s", tz="Mars/Olympus"))
    lance.write_dataset(pa.table({"id": [1], "time": zoned}), location)
    text = page(changed_browser, "/ui/table?id=prod&id=mars")
    assert "<td>1</td>" in text
    assert "cannot be shown" in text


def test_a_command_is_safe_to_paste(changed_browser: httpx.Client, changed: Namespace) -> None:
    changed.declare_table({"id": ["prod", "it's; $(touch x)"]})
    text = unescape(page(changed_browser, "/ui/table?id=prod&id=" + quote("it's; $(touch x)")))
    [line] = [each for each in text.splitlines() if "curl -X" in each]
    *_, given = shlex.split(line.removeprefix("<pre><code>"))
    assert json.loads(given) == {"id": ["prod", "it's; $(touch x)"]}


def test_snippets_open_the_table(browser: httpx.Client) -> None:
    text = unescape(page(browser, "/ui/table?id=prod&id=notes"))
    assert "db.open_table('notes', namespace_path=['prod'])" in text
    for snippet in text.split("<pre><code>")[1:]:
        assert "connect(" not in snippet or "import connect\n" in snippet or "lancedb" in snippet


def test_rows_too_large_for_a_page(
    changed_browser: httpx.Client, changed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lance_namespace_impls.server.ui.explorer.LARGEST_ROWS", 100_000)
    wide = pa.table({"id": range(10), "blob": [bytes(60_000)] * 10})
    changed.create_table({"id": ["prod", "wide"]}, wide)
    text = page(changed_browser, "/ui/table?id=prod&id=wide")
    assert "rows exceed" in text and "<p>1</p>" in text
    assert "rows exceed" not in page(changed_browser, "/ui/table?id=prod&id=wide&where=id < 1")


def test_too_many_tags(
    changed_browser: httpx.Client, changed: Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = changed.table(["prod", "notes"]).create({"id": [1]})
    table.tags.create("first", table.version)
    for number in range(5):
        table.tags.create(f"tag{number}", table.version)
    assert "More entries exist" not in page(changed_browser, "/ui/table?id=prod&id=notes")
    monkeypatch.setattr("lance_namespace_impls.server.ui.explorer.PAGE_NAMES", 3)
    text = page(changed_browser, "/ui/table?id=prod&id=notes")
    assert "More entries exist" in text
    assert re.findall(r"<dt>((?:first|tag)\d?)</dt>", text) == ["first", "tag0", "tag1"]
