package lakerace.spark;

import org.apache.spark.sql.connector.read.InputPartition;

/** A part of a plan. */
final class ScanTask implements InputPartition {
  private static final long serialVersionUID = 1;

  final String part;

  ScanTask(String part) {
    this.part = part;
  }
}
