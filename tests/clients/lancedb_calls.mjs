// The API of @lancedb/lancedb, call by call, with the expected result of each call.
// usage: node lancedb_calls.mjs MODULES URI [HOST]; prints {call: null | failure} as JSON.
import { createRequire } from "node:module";
import assert from "node:assert/strict";

const [modules, uri, host] = process.argv.slice(2);
const require = createRequire(`${modules}/`);
const lancedb = require("@lancedb/lancedb");
const arrow = require("apache-arrow");
const ROWS = 512;
const DIMENSION = 8;
const WORDS = ["apple pie", "banana bread", "cherry cake", "apple juice from the apple tree"];

const rows = (start = 0, count = ROWS) =>
  Array.from({ length: count }, (_, at) => ({
    id: start + at,
    vector: Array(DIMENSION).fill(start + at),
    text: WORDS[(start + at) % WORDS.length],
    title: `title ${start + at}`,
  }));
const near = (key) => Array(DIMENSION).fill(key);
const ids = (found) => found.map((row) => Number(row.id));

const CALLS = {
  create_table: async (db) => assert.equal(await (await db.createTable("t", rows())).countRows(), ROWS),
  create_table_empty: async (db) => {
    const schema = new arrow.Schema([new arrow.Field("x", new arrow.Int32(), true)]);
    assert.equal(await (await db.createEmptyTable("t", schema)).countRows(), 0);
  },
  create_table_overwrite: async (db, table) => {
    await table();
    assert.equal(await (await db.createTable("t", rows(0, 3), { mode: "overwrite" })).countRows(), 3);
  },
  create_table_exist_ok: async (db, table) => {
    await table();
    assert.equal(await (await db.createTable("t", rows(), { existOk: true })).countRows(), ROWS);
  },
  create_table_that_is_there: async (db, table) => {
    await table();
    await assert.rejects(db.createTable("t", rows()), /already exists/);
  },
  table_names: async (db, table) => {
    await table();
    assert.deepEqual(await db.tableNames(), ["t"]);
  },
  open_table: async (db, table) => {
    await table();
    assert.equal((await db.openTable("t")).name, "t");
  },
  open_table_that_is_missing: async (db) => {
    await assert.rejects(db.openTable("nowhere"), /not found/);
  },
  drop_table: async (db, table) => {
    await table();
    await db.dropTable("t");
    assert.deepEqual(await db.tableNames(), []);
  },
  schema: async (db, table) => {
    const names = (await (await table()).schema()).fields.map((field) => field.name);
    assert.deepEqual(names, ["id", "vector", "text", "title"]);
  },
  version: async (db, table) => assert.equal(await (await table()).version(), 1),
  count_rows_with_filter: async (db, table) =>
    assert.equal(await (await table()).countRows("id < 10"), 10),
  scan: async (db, table) => assert.equal((await (await table()).query().toArray()).length, ROWS),
  scan_where_and_limit: async (db, table) => {
    const found = await (await table()).query().where("id >= 10").limit(2).toArray();
    assert.deepEqual(ids(found), [10, 11]);
  },
  scan_with_offset: async (db, table) => {
    const found = await (await table()).query().limit(2).offset(5).toArray();
    assert.deepEqual(ids(found), [5, 6]);
  },
  select_columns: async (db, table) => {
    const found = await (await table()).query().select(["title"]).limit(1).toArrow();
    assert.deepEqual(found.schema.fields.map((field) => field.name), ["title"]);
  },
  select_expressions: async (db, table) => {
    const found = await (await table()).query().select({ twice: "id * 2" }).limit(2).toArray();
    assert.deepEqual(found.map((row) => Number(row.twice)), [0, 2]);
  },
  select_row_ids: async (db, table) => {
    const found = await (await table()).query().withRowId().limit(1).toArrow();
    assert.ok(found.schema.fields.some((field) => field.name === "_rowid"));
  },
  search_vector: async (db, table) => {
    const found = await (await table()).search(near(7)).limit(3).toArray();
    assert.deepEqual(ids(found).sort(), [6, 7, 8]);
  },
  search_vector_with_offset: async (db, table) => {
    const found = await (await table()).search(near(7.2)).limit(3).offset(2).toArray();
    assert.deepEqual(ids(found), [6, 9, 5]);
  },
  search_vector_with_filter: async (db, table) => {
    const found = await (await table()).search(near(7)).where("id > 100").limit(2).toArray();
    assert.deepEqual(ids(found), [101, 102]);
  },
  search_vector_by_cosine: async (db, table) => {
    const found = await (await table()).search(near(1)).distanceType("cosine").limit(1).toArray();
    assert.ok(Math.abs(found[0]._distance) < 1e-3);
  },
  search_several_vectors: async (db, table) => {
    const query = (await table()).query().nearestTo(near(7)).addQueryVector(near(300)).limit(1);
    assert.deepEqual(ids(await query.toArray()).sort((a, b) => a - b), [7, 300]);
  },
  search_text: async (db, table) => {
    const opened = await table();
    await opened.createIndex("text", { config: lancedb.Index.fts() });
    const found = await opened.query().fullTextSearch("banana").limit(5).toArray();
    assert.deepEqual([...new Set(found.map((row) => row.text))], [WORDS[1]]);
  },
  search_phrase: async (db, table) => {
    const opened = await table();
    const config = lancedb.Index.fts({ withPosition: true, removeStopWords: false });
    await opened.createIndex("text", { config });
    const query = new lancedb.PhraseQuery("apple tree", "text");
    const found = await opened.query().fullTextSearch(query).limit(5).toArray();
    assert.deepEqual([...new Set(found.map((row) => row.text))], [WORDS[3]]);
  },
  search_hybrid: async (db, table) => {
    const opened = await table();
    await opened.createIndex("text", { config: lancedb.Index.fts() });
    const reranker = await lancedb.rerankers.RRFReranker.create();
    const query = opened.query().fullTextSearch("banana").nearestTo(near(17)).rerank(reranker);
    assert.ok(ids(await query.limit(4).toArray()).includes(17));
  },
  explain_plan: async (db, table) => {
    assert.match(await (await table()).search(near(7)).limit(1).explainPlan(true), /KNN/);
  },
  add: async (db, table) => {
    const opened = await table();
    await opened.add(rows(ROWS, 8));
    assert.equal(await opened.countRows(), ROWS + 8);
  },
  add_overwrite: async (db, table) => {
    const opened = await table();
    await opened.add(rows(0, 8), { mode: "overwrite" });
    assert.equal(await opened.countRows(), 8);
  },
  update: async (db, table) => {
    const opened = await table();
    const found = await opened.update({ where: "id < 3", values: { title: "new" } });
    assert.equal(Number(found.rowsUpdated), 3);
    assert.equal(await opened.countRows("title = 'new'"), 3);
  },
  delete: async (db, table) => {
    const opened = await table();
    await opened.delete("id < 10");
    assert.equal(await opened.countRows(), ROWS - 10);
  },
  merge_insert: async (db, table) => {
    const opened = await table();
    await opened.mergeInsert("id").whenMatchedUpdateAll().whenNotMatchedInsertAll().execute(rows(ROWS - 4, 8));
    assert.equal(await opened.countRows(), ROWS + 4);
  },
  add_columns: async (db, table) => {
    const opened = await table();
    await opened.addColumns([{ name: "twice", valueSql: "id * 2" }]);
    assert.equal(await opened.countRows("twice = id * 2"), ROWS);
  },
  alter_columns: async (db, table) => {
    const opened = await table();
    await opened.alterColumns([{ path: "title", rename: "name" }]);
    assert.ok((await opened.schema()).fields.some((field) => field.name === "name"));
  },
  drop_columns: async (db, table) => {
    const opened = await table();
    await opened.dropColumns(["title"]);
    assert.ok(!(await opened.schema()).fields.some((field) => field.name === "title"));
  },
  index_ivf_pq: async (db, table) => {
    const opened = await table();
    const config = lancedb.Index.ivfPq({ numPartitions: 2, numSubVectors: 2 });
    await opened.createIndex("vector", { config });
    assert.deepEqual((await opened.listIndices()).map((index) => index.indexType), ["IvfPq"]);
  },
  index_stats: async (db, table) => {
    const opened = await table();
    await opened.createIndex("id", { config: lancedb.Index.btree() });
    assert.equal((await opened.indexStats("id_idx")).numIndexedRows, ROWS);
  },
  drop_index: async (db, table) => {
    const opened = await table();
    await opened.createIndex("id");
    await opened.dropIndex("id_idx");
    assert.deepEqual(await opened.listIndices(), []);
  },
  checkout_and_restore: async (db, table) => {
    const opened = await table();
    await opened.add(rows(ROWS, 1));
    await opened.checkout(1);
    assert.equal(await opened.countRows(), ROWS);
    await opened.restore();
    assert.equal(await opened.version(), 3);
  },
  tags: async (db, table) => {
    const opened = await table();
    const tags = await opened.tags();
    await tags.create("v1", 1);
    assert.equal(Number((await tags.list()).v1.version), 1);
    assert.equal(Number(await tags.getVersion("v1")), 1);
    await tags.delete("v1");
    assert.deepEqual(await tags.list(), {});
  },
  prewarm_index: async (db, table) => {
    const opened = await table();
    await opened.createIndex("id", { config: lancedb.Index.btree() });
    await opened.prewarmIndex("id_idx");
  },
};

const options = host
  ? { apiKey: "k", hostOverride: host, clientConfig: { retryConfig: { retries: 0 } } }
  : {};
const db = await lancedb.connect(uri, options);
const outcomes = {};
for (const [name, call] of Object.entries(CALLS)) {
  let failure = null;
  try {
    await call(db, () => db.createTable("t", rows()));
  } catch (error) {
    failure = String(error).slice(0, 300);
  }
  for (const left of await db.tableNames()) await db.dropTable(left);
  outcomes[name] = failure;
}
process.stdout.write(`${JSON.stringify(outcomes)}\n`);
process.exit(0);
