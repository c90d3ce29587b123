package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DeltaWriter;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;

/** Creates the writers of a change's tasks in the executors. */
final class RowChangeWriters implements DeltaWriterFactory {
  private static final long serialVersionUID = 1;

  private final String location;
  private final HashMap<String, String> options;
  private final StructType schema;

  RowChangeWriters(String location, HashMap<String, String> options, StructType schema) {
    this.location = location;
    this.options = options;
    this.schema = schema;
  }

  @Override
  public DeltaWriter<InternalRow> createWriter(int partition, long task) {
    return new Writer(location, options, schema);
  }

  /** Collects the rows to hide, and writes new ones. */
  private static final class Writer implements DeltaWriter<InternalRow> {
    private final String location;
    private final Map<String, String> options;
    private final StructType schema;
    /** The numbers of rows, as text, by file. */
    private final Map<String, StringBuilder> hidden = new HashMap<>();
    private long updatedRows;
    private RowWriter rows;

    Writer(String location, Map<String, String> options, StructType schema) {
      this.location = location;
      this.options = options;
      this.schema = schema;
    }

    @Override
    public void delete(InternalRow metadata, InternalRow id) {
      StringBuilder numbers = hidden.computeIfAbsent(id.getUTF8String(0).toString(), file -> new StringBuilder());
      numbers.append(numbers.length() == 0 ? "" : ",").append(id.getLong(1));
    }

    @Override
    public void update(InternalRow metadata, InternalRow id, InternalRow row) {
      // The row is hidden in its file, and a new one is written to any file.
      delete(metadata, id);
      insert(row);
      updatedRows++;
    }

    @Override
    public void insert(InternalRow row) {
      if (rows == null) {
        rows = new RowWriter(location, options, schema);
      }
      rows.write(row);
    }

    @Override
    public WriterCommitMessage commit() {
      StringBuilder text = new StringBuilder(rows == null ? "" : rows.finish());
      text.append(Native.RECORD).append("{\"updated_rows\":").append(updatedRows).append('}');
      hidden.forEach((file, numbers) -> text.append(Native.RECORD).append(file).append(Native.UNIT).append(numbers));
      return new TaskMessage(text.toString());
    }

    @Override
    public void abort() {
      if (rows != null) {
        rows.abort();
      }
    }

    @Override
    public void close() {
      if (rows != null) {
        rows.close();
      }
    }
  }
}
