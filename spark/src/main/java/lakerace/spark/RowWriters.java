package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.DataWriterFactory;
import org.apache.spark.sql.connector.write.streaming.StreamingDataWriterFactory;
import org.apache.spark.sql.types.StructType;

/** Creates the writers of a write's tasks in the executors. */
final class RowWriters implements DataWriterFactory, StreamingDataWriterFactory {
  private static final long serialVersionUID = 1;

  private final String location;
  private final HashMap<String, String> options;
  private final StructType schema;

  RowWriters(String location, HashMap<String, String> options, StructType schema) {
    this.location = location;
    this.options = options;
    this.schema = schema;
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task) {
    return new RowWriter(location, optionsOf(options, partition, task), schema);
  }

  @Override
  public DataWriter<InternalRow> createWriter(int partition, long task, long batch) {
    return createWriter(partition, task);
  }

  /** Options with the file that a task stages its rows in, which differs for each attempt. */
  static Map<String, String> optionsOf(Map<String, String> options, int partition, long task) {
    Map<String, String> own = new HashMap<>(options);
    String folder = options.get("write.folder");
    if (folder != null) {
      own.put("write.file", String.format("%s/part-%05d-%d.parquet", folder, partition, task));
    }
    return own;
  }
}
