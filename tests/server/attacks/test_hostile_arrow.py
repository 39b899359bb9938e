"""Invalid Arrow bodies are rejected: nothing is stored, and no server memory is disclosed."""

from __future__ import annotations

import io
import struct

import numpy as np
import pyarrow as pa
import pytest

from lance_namespace_client import ipc
from lance_namespace_client.arrow import read_file_stream, to_reader
from lance_namespace_client.errors import InternalError, InvalidInputError
from lance_namespace_impls import connect
from lance_namespace_impls.server import serving
from tests.servers.echo import EchoNamespace
from tests.servers.http_client import http_client

from .hostile_arrow import STORABLE, bad_bodies, bomb, file_of, good, stream_of

BODIES = bad_bodies()
LIE = "end offset beyond the buffer"
WRITES = ("create?mode=overwrite", "insert", "merge_insert?on=a")


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with (
        connect("dir", {"path": str(tmp_path_factory.mktemp("tables"))}) as namespace,
        serving(namespace) as uri,
        http_client(uri, timeout=300) as client,
    ):
        yield namespace, client


def refused(client, body, write="create", table="t"):
    response = client.post(f"/v1/table/{table}/{write}", content=body)
    assert (response.status_code, response.json()["code"]) == (400, 13), response.text
    return response.json()["error"]


@pytest.mark.parametrize("lie", STORABLE)
def test_an_upload_with_invalid_data_is_rejected_and_creates_no_table(served, lie):
    namespace, client = served
    message = refused(client, BODIES[lie])
    assert "\n" not in message
    assert "'a' is not valid" in message
    assert list(namespace.iter_tables([])) == []
    assert client.get("/healthz").status_code == 200


def test_an_invalid_upload_changes_no_table(tmp_path):
    with (
        connect("dir", {"path": str(tmp_path)}) as namespace,
        serving(namespace) as uri,
        http_client(uri, timeout=300) as client,
    ):
        namespace.create_table({"id": ["t"]}, pa.Table.from_batches([good()]))
        before = namespace.describe_table({"id": ["t"], "load_detailed_metadata": True}).version
        lie = BODIES[LIE]
        assert client.post("/v1/table/t/create", content=lie).status_code in (400, 409)
        for write in WRITES:
            refused(client, lie, write)
        after = namespace.describe_table({"id": ["t"], "load_detailed_metadata": True})
        assert after.version == before
        rows = namespace.query_table({"id": ["t"], "vector": None, "k": 0}).read_all()
        assert rows.to_pylist() == [{"a": b"abc"}]


def test_later_batches_are_validated(served):
    _, client = served
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, good().schema) as writer:
        for _ in range(3):
            writer.write_batch(good())
    before, found, after = sink.getvalue().rpartition(struct.pack("<qq", 0, 3))
    body = before + struct.pack("<qq", 0, 1 << 16) + after
    assert found
    assert "batch 2" in refused(client, body)


@pytest.mark.parametrize("compression", ["zstd"])
def test_a_small_upload_is_not_decompressed_to_512_mib(served, compression):
    _, client = served
    body = stream_of(bomb(), compression=compression)
    assert len(body) < 32 << 10
    before = pa.default_memory_pool().max_memory()
    assert "536870912" in refused(client, body)
    # The server runs in this process: its memory pool has not grown by the claimed size.
    assert pa.default_memory_pool().max_memory() - before < 256 << 20


def test_batches_that_decompress_to_400_mib_in_total_are_rejected(served):
    _, client = served
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    values = np.random.default_rng(1).integers(0, 256, 1 << 20, "u1").tobytes() + bytes(39 << 20)
    column = pa.Array.from_buffers(pa.int64(), len(values) // 8, [None, pa.py_buffer(values)])
    batch = pa.record_batch({"a": column})
    with pa.ipc.new_stream(sink, batch.schema, options=options) as writer:
        writer.write_batch(batch)
        for _ in range(9):
            writer.write_batch(bomb(40))
    body = sink.getvalue()
    assert len(body) < 2 << 20
    assert "decompressed" in refused(client, body)


def test_growing_dictionaries_are_limited():
    sink = io.BytesIO()
    kind = pa.dictionary(pa.int32(), pa.utf8())
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    words = [f"{number:100}" for number in range(1000)]
    with pa.ipc.new_stream(sink, pa.schema([("a", kind)]), options=options) as writer:
        for count in range(100, 1001, 100):
            indices = pa.array([0], pa.int32())
            column = pa.DictionaryArray.from_arrays(indices, pa.array(words[:count]))
            writer.write_batch(pa.record_batch({"a": column}))
    body = sink.getvalue()
    assert to_reader(io.BytesIO(body), max_batch_bytes=1 << 20).read_all().num_rows == 10
    with pytest.raises(pa.ArrowInvalid, match="smaller batches"):
        to_reader(io.BytesIO(body), max_batch_bytes=50_000).read_all()


@pytest.mark.parametrize("nested", [False, True])
def test_a_schema_with_too_many_metadata_entries_is_rejected(served, nested):
    lake, client = served
    entries = {f"k{number}": "" for number in range(100_000)}
    field = pa.field("a", pa.int64(), metadata=entries if nested else None)
    schema = pa.schema([field], None if nested else entries)
    body = stream_of(pa.record_batch([pa.array([1])], schema=schema))
    response = client.post("/v1/table/t/create", content=body)
    assert response.json()["code"] == 20
    assert "metadata entries" in response.json()["error"]
    assert list(lake.iter_tables([])) == []


def test_rows_without_data_are_limited(served):
    _, client = served
    nulls = pa.Array.from_buffers(pa.null(), 1 << 30, [None])
    assert "rows" in refused(client, stream_of(pa.record_batch({"a": nulls})))
    offsets = pa.py_buffer(struct.pack("<qq", 0, 1 << 30))
    nested = pa.Array.from_buffers(pa.large_list(pa.null()), 1, [None, offsets], children=[nulls])
    assert "rows" in refused(client, stream_of(pa.record_batch({"a": nested})))


def test_repeated_views_of_one_long_value_are_limited(served):
    _, client = served
    count, long = 1 << 16, 1 << 18
    views = struct.pack("<i4sii", long, b"xxxx", 0, 0) * count
    column = pa.Array.from_buffers(
        pa.string_view(), count, [None, pa.py_buffer(views), pa.py_buffer(b"x" * long)]
    )
    assert "smaller batches" in refused(client, stream_of(pa.record_batch({"a": column})))


def test_shared_buffers_are_counted_separately(served):
    _, client = served
    value = pa.py_buffer(bytes(1 << 22))
    column = pa.Array.from_buffers(pa.int64(), 1 << 19, [None, value])
    names = [f"c{i}" for i in range(64)]
    sent = stream_of(pa.record_batch([column] * 64, names), compression="zstd")
    assert len(sent) < 1 << 20
    assert "decompressed" in refused(client, sent)


@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_valid_streams_are_stored(served, compression):
    namespace, client = served
    table = pa.table(
        {
            "n": [1, None, 3],
            "s": ["x", "", None],
            "d": pa.array(["q", None, "q"]).dictionary_encode(),
            "l": [[1.5], [], None],
            "v": pa.array([[1, 2], [3, 4], [5, 6]], pa.list_(pa.float32(), 2)),
        }
    )
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=2)
    name = f"sound_{compression}"
    response = client.post(f"/v1/table/{name}/create", content=sink.getvalue())
    assert response.status_code == 200, response.text
    rows = namespace.query_table({"id": [name], "vector": None, "k": 0}).read_all()
    assert rows.to_pylist() == table.to_pylist()
    namespace.drop_table({"id": [name]})


# --- the library's readers


# Small data in memory and files are read in different ways.
FORMS = [(body, form) for body in BODIES for form in (bytes, io.BytesIO)]
FORMS += [(LIE, form) for form in (memoryview, pa.py_buffer, pa.BufferReader)]


@pytest.mark.parametrize(("lie", "form"), FORMS)
def test_the_library_rejects_invalid_data(lie, form):
    reader = to_reader(form(BODIES[lie]))
    with pytest.raises(pa.ArrowInvalid, match="column 'a' is not valid"):
        reader.read_all()


def test_an_open_stream_is_validated():
    stream = pa.ipc.open_stream(BODIES[LIE])
    with pytest.raises(pa.ArrowInvalid, match="column 'a' is not valid"):
        to_reader(stream).read_all()


def test_a_column_name_must_be_utf8():
    body = stream_of(pa.record_batch({"abcdefgh": [1]})).replace(b"abcdefgh", b"abc\xff\xfefgh")
    with pytest.raises(InvalidInputError, match="UTF-8"):
        to_reader(body)


def test_any_changed_byte_is_detected_or_leaves_valid_data():
    body = stream_of(pa.record_batch({"s": ["x", "yy"], "n": [1, 2]}), compression="zstd")
    for at in range(len(body)):
        for value in (0, 0x7F, 0x80, 0xFF):
            changed = bytearray(body)
            changed[at] = value
            try:
                table = to_reader(bytes(changed)).read_all()
            except (pa.ArrowException, OSError, InvalidInputError):
                continue
            table.validate(full=True)


@pytest.fixture(scope="module")
def echo_client():
    with serving(EchoNamespace()) as uri, connect("rest", {"uri": uri}) as client:
        yield client


@pytest.mark.parametrize("lie", BODIES)
def test_an_invalid_response_is_an_internal_error(lie, echo_client, monkeypatch):
    body = bad_bodies(file_of)[lie]
    with pytest.raises(pa.ArrowInvalid, match="column 'a' is not valid"):
        read_file_stream(io.BufferedReader(io.BytesIO(body))).read_all()
    monkeypatch.setattr(
        "lance_namespace_impls.server.http.responses.file_chunks", lambda _: iter([body])
    )
    reader = echo_client.query_table({"id": ["t"], "vector": None, "k": 0})
    with pytest.raises(InternalError, match="column 'a' is not valid"):
        reader.read_all()


# --- sizes that a stream claims


@pytest.mark.parametrize("form", [bytes, io.BytesIO])
@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_batch_has_a_maximum_size(form, compression):
    batch = pa.record_batch({"a": pa.array([0] * 1000, pa.int64())})
    body = stream_of(batch, compression=compression)
    assert to_reader(form(body), max_batch_bytes=8000).read_all().num_rows == 1000
    with pytest.raises(
        pa.ArrowInvalid, match="has 8000 bytes, but the maximum is 7999; send smaller"
    ):
        to_reader(form(body), max_batch_bytes=7999).read_all()


@pytest.fixture
def low_limits(monkeypatch):
    """Lower the limits of decompression so that small streams exceed them."""
    monkeypatch.setattr(ipc, "DECODED_ANYWAY", 1 << 16)
    monkeypatch.setattr(ipc, "DECODED_PER_BYTE", 1)


@pytest.mark.parametrize("form", [bytes, io.BytesIO])
@pytest.mark.parametrize("where", ["values", "dictionary"])
def test_values_and_dictionaries_have_a_decompression_limit(where, form, low_limits):
    much = pa.array([0] * (1 << 14), pa.int64())
    if where == "dictionary":
        much = pa.DictionaryArray.from_arrays(pa.array([0], pa.int8()), much)
    batch = pa.record_batch({"a": much})
    assert to_reader(form(stream_of(batch))).read_all().num_rows == len(much)
    with pytest.raises(pa.ArrowInvalid, match=r"would expand to 131.* when they are decompressed"):
        to_reader(form(stream_of(batch, compression="zstd"))).read_all()


class Named(pa.ExtensionType):
    """An extension type with a view type as its storage."""

    def __init__(self):
        super().__init__(pa.string_view(), "tests.named")

    def __arrow_ext_serialize__(self):
        return b""


def _views(count: int = 64, long: int = 1 << 12) -> pa.Array:
    views = struct.pack("<i4sii", long, b"xxxx", 0, 0) * count
    data = [None, pa.py_buffer(views), pa.py_buffer(b"x" * long)]
    return pa.Array.from_buffers(pa.string_view(), count, data)


OFFSETS = pa.array([0, 64], pa.int32())
VIEWS = {
    "by themselves": _views,
    "binary": lambda: _views().cast(pa.binary_view()),
    "in a list": lambda: pa.ListArray.from_arrays(OFFSETS, _views()),
    "in a large list": lambda: pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), _views()),
    "in a list of fixed size": lambda: pa.FixedSizeListArray.from_arrays(_views(), 64),
    "in a struct": lambda: pa.StructArray.from_arrays([pa.nulls(64), _views()], ["n", "v"]),
    "as the values of a map": lambda: pa.MapArray.from_arrays(
        OFFSETS, pa.array(range(64)), _views()
    ),
    "as the keys of a map": lambda: pa.MapArray.from_arrays(OFFSETS, _views(), pa.array(range(64))),
    "in an extension": lambda: pa.ExtensionArray.from_storage(Named(), _views()),
}


@pytest.mark.parametrize("where", VIEWS)
def test_repeated_views_are_counted_in_every_type(where, low_limits):
    batch = pa.record_batch({"a": VIEWS[where]()})
    with pytest.raises(pa.ArrowInvalid, match="refer to values of 262144 bytes in a batch"):
        to_reader(io.BytesIO(stream_of(batch))).read_all()


def test_few_views_of_a_value_are_accepted(low_limits):
    batch = pa.record_batch({"a": _views(4), "none": pa.array([None] * 4, pa.string_view())})
    assert to_reader(io.BytesIO(stream_of(batch))).read_all().num_rows == 4


@pytest.mark.parametrize("form", [bytes, io.BytesIO])
def test_the_compression_of_arrow_0_17_is_rejected(form):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, good().schema) as writer:
        writer.write_batch(good(), custom_metadata={"ARROW:experimental_compression": "zstd"})
    with pytest.raises(pa.ArrowInvalid, match=r"the compression of Arrow 0\.17 is not supported"):
        to_reader(form(sink.getvalue())).read_all()


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"\xff" * 4 + struct.pack("<i", 1 << 30), "1073741824 bytes of metadata"),
        (b"\xff" * 4 + struct.pack("<i", -8), "-8 bytes of metadata"),
        (struct.pack("<i", 1 << 30), "1073741824 bytes of metadata"),
        (stream_of(good())[:20], "the stream ends within a message"),
        (b"\xff" * 4 + struct.pack("<i", 8) + bytes(8), "not an Arrow IPC stream"),
        (b"no stream at all", "not an Arrow IPC stream"),
        (b"", "not an Arrow IPC stream"),
    ],
)
def test_an_invalid_start_of_a_stream_is_invalid_input(body, said):
    with pytest.raises(InvalidInputError, match=said):
        to_reader(io.BytesIO(body))


class SlowFile(io.RawIOBase):
    """A file that returns only a few bytes from each read."""

    def __init__(self, body):
        self.rest = io.BytesIO(body)

    def read(self, size=-1):
        return self.rest.read(min(size, 3))


@pytest.mark.parametrize("compression", [None, "zstd"])
def test_a_stream_is_read_in_small_pieces(compression):
    table = pa.table({"n": [1, None, 3], "d": pa.array(["q", None, "q"]).dictionary_encode()})
    body = stream_of(table.to_batches()[0], compression=compression)
    assert to_reader(SlowFile(body)).read_all() == table
    with pytest.raises((pa.ArrowInvalid, InvalidInputError)):
        to_reader(SlowFile(body[:-40])).read_all()
