package lakerace.spark;

import java.util.HashMap;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.read.ScanBuilder;
import org.apache.spark.sql.connector.write.DeltaBatchWrite;
import org.apache.spark.sql.connector.write.DeltaWrite;
import org.apache.spark.sql.connector.write.DeltaWriteBuilder;
import org.apache.spark.sql.connector.write.DeltaWriterFactory;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.PhysicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDelta;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/** {@code MERGE}, {@code UPDATE} and {@code DELETE}: rows are hidden by their ids, and new ones are written, in one commit. */
final class RowChanges implements SupportsDelta {
  private final DeltaTable table;
  private final Command command;
  /** The scan of the rows to change, whose conditions go to the log. */
  private ScanSketch scan;

  RowChanges(DeltaTable table, Command command) {
    this.table = table;
    this.command = command;
  }

  @Override
  public Command command() {
    return command;
  }

  @Override
  public String description() {
    return "lakerace " + command;
  }

  @Override
  public ScanBuilder newScanBuilder(CaseInsensitiveStringMap options) {
    // The rows are hidden in the version that was analysed.
    scan = table.newScanBuilder(options, table.options.get("at")).ofChange();
    return scan;
  }

  @Override
  public NamedReference[] rowId() {
    return new NamedReference[] {Expressions.column(DeltaTable.FILE), Expressions.column(DeltaTable.POSITION)};
  }

  @Override
  public DeltaWriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    HashMap<String, String> options = new HashMap<>(table.options);
    // The ids are those of the version that is read.
    table.putVersion("write.version", options.get("at"), options);
    table.putPlanned(options);
    options.put("write.rows", command.name());
    if (command != Command.MERGE && scan != null && scan.conditions() != null) {
      options.put("write.conditions", scan.conditions());
    }
    return new DeltaWriteBuilder() {
      @Override
      public DeltaWrite build() {
        return new Changes(table.location, options, info.schema());
      }
    };
  }

  /** The write. */
  private static final class Changes implements DeltaWrite, DeltaBatchWrite {
    private final String location;
    private final HashMap<String, String> options;
    private final StructType schema;
    private final DriverCommit commit;

    Changes(String location, HashMap<String, String> options, StructType schema) {
      this.location = location;
      this.options = options;
      this.schema = schema;
      this.commit = new DriverCommit(location, options, schema);
    }

    @Override
    public DeltaBatchWrite toBatch() {
      return this;
    }

    @Override
    public DeltaWriterFactory createBatchWriterFactory(PhysicalWriteInfo info) {
      return new RowChangeWriters(location, options, schema);
    }

    @Override
    public void commit(WriterCommitMessage[] messages) {
      commit.commit(messages);
    }

    @Override
    public void abort(WriterCommitMessage[] messages) {
      commit.abort(messages);
    }
  }
}
