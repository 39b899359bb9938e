package io.github.lancenamespacekit.spark;

import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.StructType;

/** Counts that the table's metadata contains: one row, without a task. */
final class MetadataScan implements LocalScan {
  private final StructType schema;
  private final Object[] counts;

  MetadataScan(StructType schema, List<?> counts) {
    this.schema = schema;
    this.counts = counts.stream().map(each -> ((Number) each).longValue()).toArray();
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    return "Lance metadata";
  }

  @Override
  public InternalRow[] rows() {
    return new InternalRow[] {new GenericInternalRow(counts)};
  }
}
