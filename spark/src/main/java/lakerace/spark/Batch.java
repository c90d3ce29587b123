package lakerace.spark;

import java.util.concurrent.atomic.AtomicLong;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.Platform;

/** A batch in native memory, which is freed once: when all columns are closed, or by {@link #release}. */
final class Batch {
  // Offsets in `struct ArrowArray`.
  private static final int OFFSET = 16;
  private static final int CHILDREN = 48;
  /** The offset after the struct, of the batch's size in bytes. */
  private static final int BYTES = 80;

  private final AtomicLong address;
  private int openColumns;
  final ColumnarBatch columns;
  final long bytes;

  Batch(long address, StructType schema, NativeType type) {
    this.address = new AtomicLong(address);
    this.bytes = Platform.getLong(null, address + BYTES);
    StructField[] fields = schema.fields();
    ColumnVector[] vectors = new ColumnVector[fields.length];
    long shift = Platform.getLong(null, address + OFFSET);
    long children = Platform.getLong(null, address + CHILDREN);
    for (int at = 0; at < fields.length; at++) {
      int column = type.place(fields[at].name(), at);
      long array = Platform.getLong(null, children + 8L * column);
      vectors[at] = new NativeColumn(fields[at].dataType(), type.children[column], array, shift, this);
    }
    this.openColumns = fields.length;
    this.columns = new ColumnarBatch(vectors, Math.toIntExact(Platform.getLong(null, address)));
  }

  synchronized void columnClosed() {
    if (--openColumns == 0) {
      release();
    }
  }

  /** Frees the memory, unless it was freed before. */
  void release() {
    long held = address.getAndSet(0);
    if (held != 0) {
      Native.release(held);
    }
  }
}
