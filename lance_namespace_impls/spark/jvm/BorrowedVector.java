package io.github.lancenamespacekit.spark;

import org.apache.arrow.vector.ValueVector;
import org.apache.spark.sql.vectorized.ArrowColumnVector;

/**
 * A column of a batch that ignores {@code close}, because its reader reuses it for the next batch.
 * Spark closes the columns of each batch after reading it, and a closed struct loses its fields.
 */
final class BorrowedVector extends ArrowColumnVector {
  BorrowedVector(ValueVector vector) {
    super(vector);
  }

  @Override
  public void close() {}

  @Override
  public void closeIfFreeable() {}
}
