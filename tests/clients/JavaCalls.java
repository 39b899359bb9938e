import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.channels.Channels;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.memory.RootAllocator;
import org.apache.arrow.vector.BigIntVector;
import org.apache.arrow.vector.FieldVector;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.complex.FixedSizeListVector;
import org.apache.arrow.vector.complex.impl.UnionFixedSizeListWriter;
import org.apache.arrow.vector.ipc.ArrowFileReader;
import org.apache.arrow.vector.ipc.ArrowReader;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.arrow.vector.util.ByteArrayReadableSeekableByteChannel;
import org.lance.Dataset;
import org.lance.WriteParams;
import org.lance.namespace.LanceNamespace;
import org.lance.namespace.RestAdapter;
import org.lance.namespace.RestNamespace;
import org.lance.namespace.client.apache.ApiClient;
import org.lance.namespace.client.apache.api.DataApi;
import org.lance.namespace.client.apache.api.NamespaceApi;
import org.lance.namespace.client.apache.api.TableApi;
import org.lance.namespace.model.*;

/**
 * The calls of the Java clients: the one in lance-core ("core") and the REST client ("apache").
 *
 * <p>java JavaCalls.java core|apache URI '["level", ...]' prints one JSON object: each call's failure, or
 * null. If the URI is a directory, lance-core's own server serves it.
 */
public class JavaCalls {
  static final int ROWS = 300;
  static final BufferAllocator MEMORY = new RootAllocator();
  static final ObjectMapper JSON = new ObjectMapper();

  interface Call {
    void make(Table table) throws Exception;
  }

  public static void main(String[] given) throws Exception {
    boolean core = given[0].equals("core");
    String uri = given[1].startsWith("/") ? serve(given[1]) : given[1];
    LanceNamespace client = core ? core(uri) : apache(uri);
    List<String> levels = Arrays.asList(JSON.readValue(given[2], String[].class));
    Map<String, Call> calls = calls();
    if (core) {
      calls.putAll(datasets());
    }
    Map<String, String> found = new LinkedHashMap<>();
    for (Map.Entry<String, Call> each : calls.entrySet()) {
      try {
        each.getValue().make(new Table(client, levels, "t_" + each.getKey()));
        found.put(each.getKey(), null);
      } catch (Throwable error) {
        String text = error.toString();
        found.put(each.getKey(), text.substring(0, Math.min(400, text.length())));
      }
    }
    System.out.println("\n" + JSON.writeValueAsString(found));
    System.exit(0);
  }

  static String serve(String folder) {
    RestAdapter server = new RestAdapter("dir", Map.of("root", folder));
    server.start();
    return "http://127.0.0.1:" + server.getPort();
  }

  static LanceNamespace core(String uri) {
    RestNamespace client = new RestNamespace();
    client.initialize(Map.of("uri", uri), MEMORY);
    return client;
  }

  /** Adapts the REST client to the interface of lance-core's client; the methods share names. */
  static LanceNamespace apache(String uri) {
    ApiClient client = new ApiClient();
    client.setBasePath(uri);
    Object[] parts = {new TableApi(client), new DataApi(client), new NamespaceApi(client)};
    InvocationHandler handler = (proxy, method, given) -> send(parts, method.getName(), given);
    return (LanceNamespace)
        Proxy.newProxyInstance(
            JavaCalls.class.getClassLoader(), new Class<?>[] {LanceNamespace.class}, handler);
  }

  static Object send(Object[] parts, String name, Object[] given) throws Throwable {
    Object request = given[0];
    Object path =
        String.join("$", (List<String>) request.getClass().getMethod("getId").invoke(request));
    Object[] wanted =
        switch (name) {
          case "listNamespaces", "listTableTags" -> of(path, null, null, null);
          case "listTables" -> of(path, null, null, null, null);
          case "listTableVersions" -> of(path, null, null, null, null);
          case "listAllTables" -> of(null, null, null, null);
          case "dropTable" -> of(path, null);
          case "dropTableIndex" -> of(path, given[1], null);
          case "describeTableIndexStats" -> of(path, given[1], request, null);
          case "describeTable" -> of(path, request, null, null, null, null);
          case "createTable" -> of(path, given[1], null, null, null, null);
          case "insertIntoTable" -> of(path, given[1], null, null);
          case "updateTableSchemaMetadata" ->
              of(path, ((UpdateTableSchemaMetadataRequest) request).getMetadata(), null);
          case "mergeInsertIntoTable" ->
              of(path, "id", given[1], null, true, null, true, null, null, null, null);
          default -> of(path, request, null);
        };
    for (Object part : parts) {
      for (Method method : part.getClass().getMethods()) {
        // Skip the overload with additional headers as its last argument.
        if (method.getName().equals(name) && method.getParameterCount() == wanted.length
            && method.getParameterTypes()[wanted.length - 1] != Map.class) {
          try {
            return method.invoke(part, wanted);
          } catch (InvocationTargetException error) {
            throw new RuntimeException(error.getCause().toString(), error.getCause());
          }
        }
      }
    }
    throw new NoSuchMethodException(name);
  }

  static Object[] of(Object... each) {
    return each;
  }

  /** A client, and the identifier of a table that does not exist. */
  static class Table {
    final LanceNamespace client;
    final List<String> levels;
    final String name;
    final List<String> id;

    Table(LanceNamespace client, List<String> levels, String name) {
      this.client = client;
      this.levels = levels;
      this.name = name;
      this.id = below(levels, name);
    }

    void create() throws Exception {
      client.createTable(new CreateTableRequest().id(id), stream(0, ROWS));
    }

    long count() {
      return client.countTableRows(new CountTableRowsRequest().id(id));
    }

    boolean listed() {
      return client.listTables(new ListTablesRequest().id(levels)).getTables().contains(name);
    }

    QueryTableRequest query() {
      QueryTableRequest request = new QueryTableRequest().id(id).k(3);
      request.setVector(new QueryTableRequestVector());
      return request;
    }

    QueryTableRequest nearest() {
      List<Float> vector = List.of(7f, 0f, 7f, 1f);
      return query().vector(new QueryTableRequestVector().singleVector(vector)).k(1);
    }

    void index() {
      client.createTableScalarIndex(
          new CreateTableIndexRequest().id(id).column("id").indexType("BTREE").name("by_id"));
    }

    long version() {
      return client.listTableVersions(new ListTableVersionsRequest().id(id)).getVersions().size();
    }
  }

  static List<String> below(List<String> levels, String name) {
    List<String> id = new java.util.ArrayList<>(levels);
    id.add(name);
    return id;
  }

  static VectorSchemaRoot rows(int from, int count) {
    BigIntVector id = new BigIntVector("id", MEMORY);
    BigIntVector x = new BigIntVector("x", MEMORY);
    FixedSizeListVector vector = FixedSizeListVector.empty("vector", 4, MEMORY);
    UnionFixedSizeListWriter writer = vector.getWriter();
    writer.allocate();
    for (int n = 0; n < count; n++) {
      id.setSafe(n, from + n);
      x.setSafe(n, 2L * (from + n));
      writer.startList();
      for (float each : new float[] {(from + n) % 13, (from + n) % 7, from + n, 1}) {
        writer.writeFloat4(each);
      }
      writer.endList();
    }
    id.setValueCount(count);
    x.setValueCount(count);
    vector.setValueCount(count);
    return new VectorSchemaRoot(List.<FieldVector>of(id, x, vector));
  }

  static byte[] stream(int from, int count) throws Exception {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    try (VectorSchemaRoot root = rows(from, count);
        ArrowStreamWriter writer = new ArrowStreamWriter(root, null, Channels.newChannel(bytes))) {
      writer.start();
      root.setRowCount(count);
      writer.writeBatch();
      writer.end();
    }
    return bytes.toByteArray();
  }

  static ArrowReader reader(int from, int count) throws Exception {
    return new ArrowStreamReader(new ByteArrayReadableSeekableByteChannel(stream(from, count)), MEMORY);
  }

  /** Returns the ids of the rows in a response, which is an Arrow file. */
  static List<Object> ids(byte[] answer) throws Exception {
    List<Object> found = new java.util.ArrayList<>();
    try (ArrowFileReader reader =
        new ArrowFileReader(new ByteArrayReadableSeekableByteChannel(answer), MEMORY)) {
      while (reader.loadNextBatch()) {
        VectorSchemaRoot root = reader.getVectorSchemaRoot();
        for (int n = 0; n < root.getRowCount(); n++) {
          found.add(root.getVector("id").getObject(n));
        }
      }
    }
    return found;
  }

  static void check(boolean fine) {
    if (!fine) {
      throw new AssertionError();
    }
  }

  static void equal(Object found, Object wanted) {
    if (!wanted.equals(found)) {
      throw new AssertionError(found + " and not " + wanted);
    }
  }

  static void fails(Runnable call) {
    try {
      call.run();
    } catch (RuntimeException error) {
      return;
    }
    throw new AssertionError("it went well");
  }

  static Map<String, Call> calls() {
    Map<String, Call> calls = new LinkedHashMap<>();
    calls.put("create_table", t -> {
      t.create();
      equal(t.count(), (long) ROWS);
    });
    calls.put("create_a_table_twice", t -> {
      t.create();
      fails(() -> {
        try {
          t.create();
        } catch (RuntimeException error) {
          throw error;
        } catch (Exception error) {
          throw new IllegalStateException(error);
        }
      });
      equal(t.count(), (long) ROWS);
    });
    calls.put("describe_table", t -> {
      t.create();
      check(t.client.describeTable(new DescribeTableRequest().id(t.id)).getLocation() != null);
    });
    calls.put("describe_a_missing_table", t ->
        fails(() -> t.client.describeTable(new DescribeTableRequest().id(t.id))));
    calls.put("list_tables", t -> {
      t.create();
      check(t.listed());
    });
    calls.put("list_all_tables", t -> {
      t.create();
      // Every table of the catalog, by its joined name.
      String name = String.join("$", t.id);
      check(t.client.listAllTables(new ListTablesRequest().id(List.of())).getTables().contains(name));
    });
    calls.put("table_exists", t -> {
      t.create();
      t.client.tableExists(new TableExistsRequest().id(t.id));
    });
    calls.put("missing_table_does_not_exist", t ->
        fails(() -> t.client.tableExists(new TableExistsRequest().id(t.id))));
    calls.put("drop_table", t -> {
      t.create();
      t.client.dropTable(new DropTableRequest().id(t.id));
      check(!t.listed());
    });
    calls.put("declare_table", t -> {
      check(t.client.declareTable(new DeclareTableRequest().id(t.id)).getLocation() != null);
      check(t.listed());
    });
    calls.put("deregister_table", t -> {
      t.create();
      t.client.deregisterTable(new DeregisterTableRequest().id(t.id));
      check(!t.listed());
    });
    calls.put("rename_table", t -> {
      t.create();
      String name = t.name + "_2";
      t.client.renameTable(new RenameTableRequest().id(t.id).newTableName(name));
      t.client.tableExists(new TableExistsRequest().id(below(t.levels, name)));
      check(!t.listed());
    });
    calls.put("insert", t -> {
      t.create();
      t.client.insertIntoTable(new InsertIntoTableRequest().id(t.id), stream(ROWS, 5));
      equal(t.count(), ROWS + 5L);
    });
    calls.put("merge_insert", t -> {
      t.create();
      t.client.mergeInsertIntoTable(
          new MergeInsertIntoTableRequest()
              .id(t.id).on("id").whenMatchedUpdateAll(true).whenNotMatchedInsertAll(true),
          stream(ROWS - 5, 10));
      equal(t.count(), ROWS + 5L);
    });
    calls.put("update", t -> {
      t.create();
      UpdateTableRequest request = new UpdateTableRequest().id(t.id).predicate("id = 7");
      t.client.updateTable(request.updates(List.of(List.of("x", "1000"))));
      CountTableRowsRequest changed = new CountTableRowsRequest().id(t.id).predicate("x = 1000");
      equal(t.client.countTableRows(changed), 1L);
    });
    calls.put("delete", t -> {
      t.create();
      t.client.deleteFromTable(new DeleteFromTableRequest().id(t.id).predicate("id < 10"));
      equal(t.count(), ROWS - 10L);
    });
    calls.put("query_with_a_filter", t -> {
      t.create();
      equal(ids(t.client.queryTable(t.query().filter("id = 7"))), List.of(7L));
    });
    calls.put("query_nearest", t -> {
      t.create();
      equal(ids(t.client.queryTable(t.nearest())), List.of(7L));
    });
    calls.put("query_columns", t -> {
      t.create();
      QueryTableRequestColumns columns = new QueryTableRequestColumns().columnNames(List.of("id"));
      equal(ids(t.client.queryTable(t.query().filter("id = 7").columns(columns))), List.of(7L));
    });
    calls.put("explain", t -> {
      t.create();
      ExplainTableQueryPlanRequest request = new ExplainTableQueryPlanRequest().id(t.id);
      check(t.client.explainTableQueryPlan(request.query(t.nearest())).contains("KNN"));
    });
    calls.put("analyze", t -> {
      t.create();
      AnalyzeTableQueryPlanRequest request = new AnalyzeTableQueryPlanRequest().id(t.id).k(1);
      request.setVector(t.nearest().getVector());
      check(t.client.analyzeTableQueryPlan(request).contains("metrics"));
    });
    calls.put("create_vector_index", t -> {
      t.create();
      t.client.createTableIndex(
          new CreateTableIndexRequest().id(t.id).column("vector").indexType("IVF_FLAT"));
      ListTableIndicesRequest request = new ListTableIndicesRequest().id(t.id);
      equal(t.client.listTableIndices(request).getIndexes().size(), 1);
    });
    calls.put("create_scalar_index", t -> {
      t.create();
      t.index();
      DescribeTableIndexStatsRequest request = new DescribeTableIndexStatsRequest().id(t.id);
      request.setIndexName("by_id");
      t.client.describeTableIndexStats(request, "by_id");
    });
    calls.put("drop_index", t -> {
      t.create();
      t.index();
      DropTableIndexRequest dropped = new DropTableIndexRequest().id(t.id);
      dropped.setIndexName("by_id");
      t.client.dropTableIndex(dropped, "by_id");
      ListTableIndicesRequest request = new ListTableIndicesRequest().id(t.id);
      equal(t.client.listTableIndices(request).getIndexes().size(), 0);
    });
    calls.put("stats", t -> {
      t.create();
      equal(t.client.getTableStats(new GetTableStatsRequest().id(t.id)).getNumRows(), (long) ROWS);
    });
    calls.put("add_columns", t -> {
      t.create();
      AddColumnsEntry column = new AddColumnsEntry().name("y").expression("id + 1");
      t.client.alterTableAddColumns(
          new AlterTableAddColumnsRequest().id(t.id).newColumns(List.of(column)));
      CountTableRowsRequest request = new CountTableRowsRequest().id(t.id).predicate("y = 8");
      equal(t.client.countTableRows(request), 1L);
    });
    calls.put("alter_columns", t -> {
      t.create();
      AlterColumnsEntry change = new AlterColumnsEntry().path("x").rename("z");
      t.client.alterTableAlterColumns(
          new AlterTableAlterColumnsRequest().id(t.id).alterations(List.of(change)));
      CountTableRowsRequest request = new CountTableRowsRequest().id(t.id).predicate("z = 14");
      equal(t.client.countTableRows(request), 1L);
    });
    calls.put("drop_columns", t -> {
      t.create();
      t.client.alterTableDropColumns(
          new AlterTableDropColumnsRequest().id(t.id).columns(List.of("x")));
      fails(() -> t.client.countTableRows(
          new CountTableRowsRequest().id(t.id).predicate("x = 14")));
    });
    calls.put("list_versions", t -> {
      t.create();
      t.client.insertIntoTable(new InsertIntoTableRequest().id(t.id), stream(ROWS, 5));
      equal(t.version(), 2L);
    });
    calls.put("describe_version", t -> {
      t.create();
      DescribeTableVersionRequest request = new DescribeTableVersionRequest().id(t.id).version(1L);
      equal(t.client.describeTableVersion(request).getVersion().getVersion(), 1L);
    });
    calls.put("restore", t -> {
      t.create();
      t.client.deleteFromTable(new DeleteFromTableRequest().id(t.id).predicate("id < 10"));
      t.client.restoreTable(new RestoreTableRequest().id(t.id).version(1L));
      equal(t.count(), (long) ROWS);
    });
    calls.put("tags", t -> {
      t.create();
      t.client.createTableTag(new CreateTableTagRequest().id(t.id).tag("first").version(1L));
      GetTableTagVersionRequest request = new GetTableTagVersionRequest().id(t.id).tag("first");
      equal(t.client.getTableTagVersion(request).getVersion(), 1L);
      ListTableTagsRequest all = new ListTableTagsRequest().id(t.id);
      check(t.client.listTableTags(all).getTags().containsKey("first"));
      t.client.deleteTableTag(new DeleteTableTagRequest().id(t.id).tag("first"));
      check(t.client.listTableTags(all).getTags().isEmpty());
    });
    calls.put("schema_metadata", t -> {
      t.create();
      UpdateTableSchemaMetadataRequest request = new UpdateTableSchemaMetadataRequest().id(t.id);
      Map<String, String> metadata = Map.of("owner", "me");
      equal(
          t.client.updateTableSchemaMetadata(request.metadata(metadata)).getMetadata().get("owner"),
          "me");
    });
    calls.put("create_and_drop_namespace", t -> {
      List<String> inner = below(t.levels, "inner");
      t.client.createNamespace(new CreateNamespaceRequest().id(inner));
      try {
        t.client.namespaceExists(new NamespaceExistsRequest().id(inner));
        ListNamespacesRequest all = new ListNamespacesRequest().id(t.levels);
        check(t.client.listNamespaces(all).getNamespaces().contains("inner"));
        t.client.describeNamespace(new DescribeNamespaceRequest().id(inner));
      } finally {
        t.client.dropNamespace(new DropNamespaceRequest().id(inner));
      }
      fails(() -> t.client.namespaceExists(new NamespaceExistsRequest().id(inner)));
    });
    return calls;
  }

  /** Returns calls of lance-core that access a table through its namespace. */
  static Map<String, Call> datasets() {
    Map<String, Call> calls = new LinkedHashMap<>();
    calls.put("write_and_open_a_dataset", t -> {
      write(t, WriteParams.WriteMode.CREATE, 0, ROWS);
      check(t.listed());
      equal(open(t), (long) ROWS);
    });
    calls.put("append_to_a_dataset", t -> {
      write(t, WriteParams.WriteMode.CREATE, 0, ROWS);
      write(t, WriteParams.WriteMode.APPEND, ROWS, 5);
      equal(open(t), ROWS + 5L);
    });
    calls.put("overwrite_a_dataset", t -> {
      write(t, WriteParams.WriteMode.CREATE, 0, ROWS);
      write(t, WriteParams.WriteMode.OVERWRITE, 0, 5);
      equal(open(t), 5L);
    });
    calls.put("change_an_open_dataset", t -> {
      t.create();
      try (Dataset dataset = dataset(t)) {
        dataset.delete("id < 10");
      }
      equal(t.count(), ROWS - 10L);
    });
    calls.put("open_a_missing_dataset", t -> fails(() -> open(t)));
    return calls;
  }

  static void write(Table t, WriteParams.WriteMode mode, int from, int count) throws Exception {
    try (ArrowReader reader = reader(from, count)) {
      Dataset.write().allocator(MEMORY).reader(reader).namespaceClient(t.client).tableId(t.id)
          .mode(mode).execute().close();
    }
  }

  static Dataset dataset(Table t) {
    return Dataset.open().allocator(MEMORY).namespaceClient(t.client).tableId(t.id).build();
  }

  static long open(Table t) {
    try (Dataset dataset = dataset(t)) {
      return dataset.countRows();
    }
  }
}
