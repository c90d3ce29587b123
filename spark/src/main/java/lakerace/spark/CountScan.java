package lakerace.spark;

import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReader;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The number of rows, which metadata tell: one row, and nothing is read. */
final class CountScan implements Scan, Batch {
  private final String location;
  private final int columns;
  private final long rows;

  /** A row with the number in so many columns. */
  CountScan(String location, int columns, long rows) {
    this.location = location;
    this.columns = columns;
    this.rows = rows;
  }

  @Override
  public StructType readSchema() {
    StructType schema = new StructType();
    for (int at = 0; at < columns; at++) {
      schema = schema.add("count " + at, DataTypes.LongType, false);
    }
    return schema;
  }

  @Override
  public String description() {
    return "lakerace " + Locations.shown(location) + ", " + rows + " rows by metadata";
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
    return new Readers(columns, rows);
  }

  private static final class Readers implements PartitionReaderFactory {
    private static final long serialVersionUID = 1;

    private final int columns;
    private final long rows;

    Readers(int columns, long rows) {
      this.columns = columns;
      this.rows = rows;
    }

    @Override
    public PartitionReader<InternalRow> createReader(InputPartition partition) {
      Object[] values = new Object[columns];
      java.util.Arrays.fill(values, rows);
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
