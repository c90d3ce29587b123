package lakerace.spark;

import java.util.HashMap;
import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Writes the rows of a task with the engine. */
final class RowWriter implements DataWriter<InternalRow> {
  private static final int BATCH_ROWS = 1 << 14;
  private static final long BATCH_BYTES = 16 << 20;
  /** Rows after which the size of a batch is checked. */
  private static final int LOOK_ROWS = 1 << 8;

  /** Bytes that a task of an upsert keeps in memory of its rows, before it uses the disk. */
  private static final long UPSERT_BYTES = 256 << 20;
  private static final long LEAST_UPSERT_BYTES = 16 << 20;

  private final String location;
  private final Map<String, String> options;
  private final ColumnBuilder[] columns;
  private final Words words = new Words();
  /** Bytes of the batch's texts. They are checked after each row: one may be as large as a batch. */
  private final long[] copied = new long[1];
  /** Null where Spark does not account for off-heap memory. */
  private final NativeMemory memory;
  private final boolean isUpsert;
  private long writer;
  private int rows;

  RowWriter(String location, Map<String, String> options, StructType schema) {
    this.location = location;
    this.options = options;
    StructField[] fields = schema.fields();
    this.columns = new ColumnBuilder[fields.length];
    this.memory = NativeMemory.of(TaskContext.get());
    this.isUpsert = options.containsKey("write.upsert");
    Map<String, String> own = options;
    S3aCredentials.keepLoader();
    if (isUpsert && memory != null) {
      own = new HashMap<>(own);
      own.put("write.memory_bytes", Long.toString(memory.takeHalf(UPSERT_BYTES, LEAST_UPSERT_BYTES)));
    }
    try {
      this.writer = Native.begin(Native.bytes(location), Native.options(own), Native.bytes(schema.json()));
    } catch (NativeException error) {
      close();
      throw error.forSpark();
    }
    for (int at = 0; at < fields.length; at++) {
      columns[at] = new ColumnBuilder(fields[at].dataType(), copied);
    }
  }

  @Override
  public void write(InternalRow row) {
    for (int at = 0; at < columns.length; at++) {
      columns[at].append(row, at);
    }
    rows++;
    if (rows == BATCH_ROWS || copied[0] > BATCH_BYTES || rows % LOOK_ROWS == 0 && size() > BATCH_BYTES) {
      flush();
    }
  }

  private long size() {
    long size = 0;
    for (ColumnBuilder column : columns) {
      size += column.size();
    }
    return size;
  }

  private void flush() {
    if (rows == 0) {
      return;
    }
    if (memory != null && !isUpsert) {
      memory.holdBatches(size(), "");
    }
    for (ColumnBuilder column : columns) {
      column.describe(words);
    }
    try {
      Native.write(writer, rows, words.take());
    } catch (NativeException error) {
      throw error.forSpark();
    }
    for (ColumnBuilder column : columns) {
      column.clear();
    }
    rows = 0;
    copied[0] = 0;
  }

  /**
   * Ends the write, and returns the message for the engine's commit. A killed task leaves no file, as its message is
   * lost.
   */
  String finish() {
    flush();
    long ended = writer;
    writer = 0;
    try {
      String message = Native.records(Native.finish(ended))[0];
      TaskContext task = TaskContext.get();
      if (task != null && task.isInterrupted()) {
        Native.discard(Native.bytes(location), Native.options(options), Native.bytes(message));
        throw new TaskKilledException("its write ended after its job");
      }
      return message;
    } catch (NativeException error) {
      throw error.forSpark();
    }
  }

  @Override
  public WriterCommitMessage commit() {
    return new TaskMessage(finish());
  }

  @Override
  public void abort() {
    if (writer != 0) {
      long ended = writer;
      writer = 0;
      Native.abort(ended);
    }
  }

  @Override
  public void close() {
    abort();
    for (ColumnBuilder column : columns) {
      if (column != null) {
        column.free();
      }
    }
    if (memory != null) {
      memory.release();
    }
  }
}
