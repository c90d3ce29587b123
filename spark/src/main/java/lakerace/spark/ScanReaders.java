package lakerace.spark;

import java.util.HashMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Creates the readers of a scan's tasks in the executors. */
final class ScanReaders implements PartitionReaderFactory {
  private static final long serialVersionUID = 1;

  private final String location;
  private final HashMap<String, String> options;
  private final StructType schema;

  ScanReaders(String location, HashMap<String, String> options, StructType schema) {
    this.location = location;
    this.options = options;
    this.schema = schema;
  }

  @Override
  public boolean supportColumnarReads(InputPartition partition) {
    return true;
  }

  @Override
  public PartitionReader<ColumnarBatch> createColumnarReader(InputPartition partition) {
    return new BatchReader(location, options, ((ScanTask) partition).part, schema);
  }

  @Override
  public PartitionReader<InternalRow> createReader(InputPartition partition) {
    throw new UnsupportedOperationException("lakerace reads columns");
  }
}
