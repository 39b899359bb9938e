package io.github.lancenamespacekit.spark;

import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/** The tasks of a read, and the function that executors run for each. */
record PythonRead(InputPartition[] partitions, PartitionReaderFactory factory) {}
