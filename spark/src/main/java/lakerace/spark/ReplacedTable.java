package lakerace.spark;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.util.CharVarcharUtils;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * A table that {@code REPLACE TABLE}, or {@code saveAsTable} in overwrite mode, replaces in one commit. Its earlier versions
 * stay.
 */
final class ReplacedTable extends LakeraceTable implements StagedTable {
  /** The operation of a statement, in the log; null of {@code saveAsTable}. */
  private final String operation;
  /** The difference of columns or partitions that only {@code overwriteSchema} allows; null without one. */
  private final String difference;
  private boolean isWritten;

  private ReplacedTable(LakeraceTable table, Target target, String operation, String difference) {
    super(table, target);
    this.operation = operation;
    this.difference = difference;
  }

  private ReplacedTable(LakeraceTable table) {
    super(table);
    this.operation = null;
    this.difference = null;
  }

  /** The table of a statement, which describes it as {@code CREATE TABLE} does. */
  static ReplacedTable ofStatement(LakeraceTable table, StructType schema, Map<String, String> described, String operation) {
    Map<String, String> all = new HashMap<>(table.options);
    all.putAll(described);
    Target target = Target.replaced(table.location, all, CharVarcharUtils.replaceCharVarcharWithStringInSchema(schema));
    return new ReplacedTable(table, target, operation, null);
  }

  /**
   * The table of {@code saveAsTable}, which keeps its columns, partitions and properties, unless the option
   * {@code overwriteSchema} is given later.
   */
  static ReplacedTable ofWriter(LakeraceTable table, StructType schema, String[] partitions) {
    String difference = difference(table, schema, partitions);
    if (difference == null) {
      return new ReplacedTable(table);
    }
    return new ReplacedTable(table, SchemaWrites.replaced(table.location, table.options, schema, partitions), null, difference);
  }

  private static String difference(LakeraceTable table, StructType schema, String[] partitions) {
    StructField[] known = table.schema().fields();
    StructField[] wanted = schema.fields();
    boolean isSame = known.length == wanted.length;
    for (int at = 0; isSame && at < known.length; at++) {
      DataType before = known[at].dataType();
      // A column that is never null stays so, and the table can't enforce a new NOT NULL.
      isSame = known[at].name().equals(wanted[at].name()) && before.catalogString().equals(wanted[at].dataType().catalogString())
          && (wanted[at].nullable() || !known[at].nullable())
          && (!wanted[at].getComment().isDefined() || wanted[at].getComment().equals(known[at].getComment()));
    }
    if (!isSame) {
      return "it has the columns " + table.schema().toDDL() + ", and the rows " + schema.toDDL();
    }
    String[] columns = columnsOf(table.partitioning());
    return Arrays.equals(partitions, columns) ? null
        : "it is partitioned by (" + String.join(", ", columns) + "), and the write by (" + String.join(", ", partitions) + ")";
  }

  @Override
  public WriteBuilder newWriteBuilder(LogicalWriteInfo info) {
    isWritten = true;
    WritePlan plan = (WritePlan) super.newWriteBuilder(info);
    if (difference != null && !plan.isSet(SchemaWrites.OVERWRITE)) {
      throw LakeraceException.unsupported(Locations.shown(location) + ": an overwrite keeps the columns and partitions of the table: " + difference
          + ": option(\"overwriteSchema\", \"true\") replaces them").forAnalysis();
    }
    return (operation == null ? plan : plan.ofStatement(operation + " AS SELECT")).wholly();
  }

  /** The rows of {@code AS SELECT} have been committed by their write. Without a write, this empties the table. */
  @Override
  public void commitStagedChanges() {
    if (isWritten) {
      return;
    }
    Map<String, String> all = new HashMap<>(options);
    String version = all.remove("at");
    putPlanned(all);
    putVersion("write.version", version, all);
    all.put("write.replaces", "table");
    all.put("write.operation", operation);
    new DriverCommit(location, all, schema()).commit(new WriterCommitMessage[0]);
  }

  /** The table has not changed before the commit. */
  @Override
  public void abortStagedChanges() {}
}
