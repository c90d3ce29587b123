package lakerace.spark;

import java.util.Map;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.TaskCompletionListener;

/** Reads a task. Killing the task reaches the engine within {@link #POLL_MILLIS}. */
final class BatchReader implements PartitionReader<ColumnarBatch> {
  /** The interval at which a wait for a batch checks whether the task was killed. */
  private static final long POLL_MILLIS = 100;

  private final StructType schema;
  private final NativeType type;
  private final TaskContext task;
  /** Null where Spark does not account for off-heap memory. */
  private final NativeMemory memory;
  private long reader;
  private Batch batch;

  BatchReader(String location, Map<String, String> options, String part, StructType schema) {
    this.schema = schema;
    this.task = TaskContext.get();
    this.memory = NativeMemory.of(task);
    S3aCredentials.keepLoader();
    try {
      this.reader = Native.open(Native.bytes(location), Native.options(options), Native.bytes(part));
    } catch (NativeException error) {
      throw error.forSpark();
    }
    try {
      this.type = new NativeType(Native.schema(reader));
    } catch (RuntimeException error) {
      close();
      throw error;
    }
    if (task != null) {
      // Not every operator of Spark closes a reader that a limit or a failure ends early: the end of the task closes
      // it.
      task.addTaskCompletionListener((TaskCompletionListener) context -> close());
    }
  }

  @Override
  public boolean next() {
    release();
    while (true) {
      if (task != null && task.isInterrupted() || Thread.currentThread().isInterrupted()) {
        close();
        throw new TaskKilledException("lakerace has stopped reading");
      }
      if (poll()) {
        return batch != null;
      }
    }
  }

  /**
   * Waits for a batch, and returns whether one came or the rows have ended. {@link #close} may be called on another
   * thread, where Python reads the rows: it waits for this call.
   */
  private synchronized boolean poll() {
    if (reader == 0) {
      throw new TaskKilledException("lakerace has stopped reading");
    }
    long next;
    try {
      next = Native.next(reader, POLL_MILLIS);
    } catch (NativeException error) {
      throw error.forSpark();
    }
    if (next == Native.NOT_YET) {
      return false;
    }
    batch = next == Native.NO_MORE ? null : new Batch(next, schema, type);
    if (batch != null && memory != null) {
      memory.holdBatches(batch.bytes, ", or lower option(\"batch_rows\", ...)");
    }
    return true;
  }

  @Override
  public ColumnarBatch get() {
    return batch.columns;
  }

  private synchronized void release() {
    if (batch != null) {
      batch.release();
      batch = null;
    }
  }

  @Override
  public synchronized void close() {
    release();
    if (reader != 0) {
      Native.close(reader);
      reader = 0;
      if (memory != null) {
        memory.release();
      }
    }
  }

  @Override
  public synchronized CustomTaskMetric[] currentMetricsValues() {
    return reader == 0 ? new CustomTaskMetric[0] : Metrics.of(reader);
  }
}
