package lakerace.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/** A scan that returns one row of answers from metadata, and reads nothing. */
final class MetadataScan implements Scan, Batch {
  private final String location;
  private final StructType schema;
  private final Object[] values;

  MetadataScan(String location, StructType schema, Object[] values) {
    this.location = location;
    this.schema = schema;
    this.values = values;
  }

  @Override
  public StructType readSchema() {
    return schema;
  }

  @Override
  public String description() {
    StringBuilder text = new StringBuilder("lakerace " + Locations.shown(location) + ", by metadata");
    for (int at = 0; at < values.length; at++) {
      text.append(at == 0 ? " " : ", ").append(schema.fieldNames()[at]).append(' ').append(values[at]);
    }
    return text.toString();
  }

  @Override
  public Batch toBatch() {
    return this;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    return new InputPartition[] {new ScanTask("")};
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new Readers(values);
  }

  private static final class Readers implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;

    private final Object[] values;

    Readers(Object[] values) {
      this.values = values;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      return new OneRow(new GenericInternalRow(values));
    }
  }

  private static final class OneRow implements PartitionReader<InternalRow> {
    private final InternalRow row;
    private boolean isRead;

    OneRow(InternalRow row) {
      this.row = row;
    }

    @Override
    public boolean next() {
      boolean isFirst = !isRead;
      isRead = true;
      return isFirst;
    }

    @Override
    public InternalRow get() {
      return row;
    }

    @Override
    public void close() {}
  }
}
