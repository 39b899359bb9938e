package io.github.lancenamespacekit.spark;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.SupportsRead;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** The version of a table that a DataFrame loaded. Scans share only this version. */
class LanceTable implements SupportsRead, SupportsWrite {
  private final StructType schema;
  private final CaseInsensitiveStringMap options;
  protected Snapshot snapshot;

  /**
   * @param schema the columns to read, or those of the rows to write
   * @param options the options of the reader or writer
   * @param snapshot the version to read, or null to look it up before the first scan
   */
  LanceTable(StructType schema, CaseInsensitiveStringMap options, Snapshot snapshot) {
    this.schema = schema;
    this.options = options;
    this.snapshot = snapshot;
  }

  @Override
  public String name() {
    return LanceSource.NAME;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(
        TableCapability.BATCH_READ,
        TableCapability.BATCH_WRITE,
        TableCapability.MICRO_BATCH_READ,
        TableCapability.STREAMING_WRITE,
        TableCapability.TRUNCATE);
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap unused) {
    return new LanceScanBuilder(this);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    return new PythonSource().table(schema).newWriteBuilder(info);
  }

  CaseInsensitiveStringMap options() {
    return options;
  }

  /** The version that all scans of this table read. */
  synchronized Snapshot snapshot() {
    if (snapshot == null) {
      snapshot = Snapshot.of(options, schema);
    }
    return snapshot;
  }
}
