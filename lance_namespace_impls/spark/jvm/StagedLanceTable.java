package io.github.lancenamespacekit.spark;

import java.util.EnumSet;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.SupportsWrite;
import org.apache.spark.sql.connector.catalog.TableCapability;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.types.StructType;

/** A table that is created or replaced by the commit of its first rows, not before. */
final class StagedLanceTable implements StagedTable, SupportsWrite {
  private final String name;
  private final StructType schema;
  private final String planned;
  private final Runnable create;
  private final Runnable finish;
  private boolean written;

  /**
   * @param name the name in SQL
   * @param schema the columns
   * @param planned the option that describes the write
   * @param create creates the table without rows
   * @param finish sets the properties of a table that has the rows
   */
  StagedLanceTable(
      String name, StructType schema, String planned, Runnable create, Runnable finish) {
    this.name = name;
    this.schema = schema;
    this.planned = planned;
    this.create = create;
    this.finish = finish;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  @SuppressWarnings("deprecation")
  public StructType schema() {
    return schema;
  }

  @Override
  public Set<TableCapability> capabilities() {
    return EnumSet.of(TableCapability.BATCH_WRITE, TableCapability.TRUNCATE);
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    written = true;
    return new CatalogWrite(info, info.schema(), planned);
  }

  @Override
  public void commitStagedChanges() {
    (written ? finish : create).run();
  }

  @Override
  public void abortStagedChanges() {} // the writer has deleted what it wrote
}
